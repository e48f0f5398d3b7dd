#include "systems/classifier/net_classifier.h"

#include "systems/networks/net_pgmri.h"

#include <stddef.h>

/* Whatever lies anywhere shows: halving goes on until a row or a column is left. */
static tensor largest(struct graph *graph, tensor maps) {
  tensor x = maps;
  while (!graph->failed && graph_node(graph, x)->shape.height > 1 && graph_node(graph, x)->shape.width > 1)
    x = max_pool(graph, x);
  return x;
}

tensor net_classifier_logits(struct graph *graph, tensor maps, int hidden, int classes) {
  return net_pgmri_logits(graph, largest(graph, maps), hidden, classes);
}

/* ---- the row ------------------------------------------------------------------------------------------- */

#define WHOLE(attribute, member, least, most)                                                                \
  {                                                                                                          \
    .name = attribute, .kind = FACT_WHOLE, .place = offsetof(struct network_facts, member), .low = least,    \
    .high = most, .key = NULL                                                                                \
  }

static const struct fact facts[] = {{.name = "network",
                                     .kind = FACT_NAME,
                                     .text = "classifier",
                                     .what = "a classifier",
                                     .make = "train one with train.method classifier"},
                                    WHOLE("network_channels", channels, 1, 1024),
                                    WHOLE("network_pools", pools, 1, 12),
                                    WHOLE("network_hidden", hidden, 1, 65536),
                                    WHOLE("network_classes", classes, 2, 256),
                                    {.name = "network_size",
                                     .kind = FACT_SIDES,
                                     .place = offsetof(struct network_facts, shape),
                                     .low = 1,
                                     .high = 65536,
                                     .key = "data.size"},
                                    {.name = NULL}};

static bool append(struct graph *graph, const struct options *options, struct error *error) {
  const struct scan_shape shape = scan_shape_of(options);
  (void)error;
  tensor image = graph_input(graph, "image", 1, (int)shape.height, (int)shape.width);
  tensor maps = net_pgmri_maps(graph, image, (int)options->classifier.channels, (int)options->classifier.pools);
  net_classifier_logits(graph, maps, (int)options->classifier.hidden, (int)options->classifier.classes);
  return true;
}

const struct network_desc network_classifier = {
    .name = "classifier",
    .dense = true,
    .doc = "classifier: from an image to the probability of each class, in single precision",
    .paper = "PROTOCOL 4.4; as the task networks of C.-S. Yen et al. 2024, arXiv 2406.04318",
    .in = SET(BATCH_observation) | SET(BATCH_taken) | SET(BATCH_logits_gradient),
    .out = SET(BATCH_logits),
    .facts = facts,
    .keys = {"classifier.channels", "classifier.pools", "classifier.hidden", "data.size"},
    .batch = offsetof(struct options, policy.batch),
    .append = append};
