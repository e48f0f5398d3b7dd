#include "systems/networks/networks.h"

#include "systems/networks/net_loupe.h"
#include "systems/networks/net_pgmri.h"
#include "systems/networks/net_policy.h"
#include "systems/networks/net_tau.h"
#include "systems/networks/net_unet.h"
#include "systems/networks/net_varnet.h"
#include "systems/sampling/geometry.h"

#include <stddef.h>
#include <string.h>

/* ---- what checkpoints say ------------------------------------------------------------------------------ */

#define PLACE(member) .place = offsetof(struct network_facts, member)
#define KIND(attribute, is, whose, how)                                                                      \
  { .name = attribute, .kind = FACT_NAME, .text = is, .what = whose, .make = how }
#define WHOLE(attribute, member, least, most, ...)                                                           \
  { .name = attribute, .kind = FACT_WHOLE, PLACE(member), .low = least, .high = most, __VA_ARGS__ }
#define WORD(attribute, member, ...)                                                                         \
  { .name = attribute, .kind = FACT_TEXT, PLACE(member), __VA_ARGS__ }
#define LAST                                                                                                 \
  { .name = NULL }

#define UNET_KIND                                                                                            \
  KIND("network", "unet", "a reconstructor",                                                                 \
       "train one with train.method reconstructor, or convert one by tools/convert_checkpoint.py; for a "       \
       "variational network set reconstruct.method to varnet")
#define CHANNELS(least) WHOLE("network_channels", channels, least, 1024, .key = NULL)
#define POOLS WHOLE("network_pools", pools, 1, 12, .key = NULL)
#define SIZE(...)                                                                                            \
  {                                                                                                          \
    .name = "network_size", .kind = FACT_SIDES, PLACE(shape), .low = 1, .high = 65536, .key = "data.size",   \
    __VA_ARGS__                                                                                              \
  }
/* Checkpoints of before there were complex images say nothing of them. */
#define INPUT(...)                                                                                           \
  WORD("network_input", input, .key = "network.input", .may_lack = true, .text = "magnitude", __VA_ARGS__)

static const struct fact unet_facts[] = {UNET_KIND, CHANNELS(2), POOLS, SIZE(.may_lack = true),
                                         INPUT(.unwritten = true), LAST};

/* A complex network works in the units of its images. */
static const struct fact complex_unet_facts[] = {
    UNET_KIND,
    CHANNELS(2),
    POOLS,
    SIZE(.may_lack = true),
    INPUT(.unwritten = false),
    WHOLE("network_absolute", absolute, 0, 1, .key = NULL),
    {.name = "data_scale", .kind = FACT_NUMBER, PLACE(scale), .high = 1e38, .key = "data.scale", .may_lack = true},
    LAST};

/* Its parameters are for images of any size and any number of coils. */
static const struct fact varnet_facts[] = {
    KIND("network", "varnet", "a variational network (reconstruct.method varnet)",
         "train one with train.method reconstructor and reconstruct.method varnet, or convert one by "
         "tools/convert_checkpoint.py; for a U-Net set reconstruct.method to auto"),
    WHOLE("network_cascades", cascades, 1, 64, .key = NULL),
    WHOLE("network_channels", channels, 1, 1024, .key = NULL),
    WHOLE("network_pools", pools, 1, 12, .key = NULL),
    WHOLE("network_maps", maps, 0, 1, .key = NULL),
    WHOLE("network_sense_channels", sense_channels, 1, 1024, .key = NULL),
    WHOLE("network_sense_pools", sense_pools, 1, 12, .key = NULL),
    LAST};

/* Policies of other programs say nothing of scans, and the first ones knew lines only. */
#define POLICY_FACTS(is)                                                                                     \
  KIND("network", is, "a policy", "train one with train.method l2s, l2sr or pgmri"), CHANNELS(1), POOLS,     \
      WHOLE("network_hidden", hidden, 1, 65536, .key = NULL), SIZE(.may_lack = false),                       \
      WORD("scan_geometry", geometry, .may_lack = true, .text = "lines"),                                    \
      WHOLE("scan_initial_lines", initial_lines, 0, UINT16_MAX, .may_lack = true),                           \
      WHOLE("scan_budget", budget, 0, UINT16_MAX, .may_lack = true), LAST

static const struct fact policy_facts[] = {POLICY_FACTS("policy")};
static const struct fact pgmri_facts[] = {POLICY_FACTS("pgmri")};

/* The first checkpoints say no geometry: there were lines only. */
#define GEOMETRY                                                                                             \
  WORD("scan_geometry", geometry, .key = "acquisition.geometry", .may_lack = true, .text = "lines")

static const struct fact loupe_facts[] = {
    KIND("sampler", "loupe", "a mask that LOUPE has learned", "train one with train.method loupe"), GEOMETRY,
    LAST};

enum { POINTS_MOST = 1 << 20 };
#define TAU_STEPS                                                                                            \
  KIND("sampler", "tau_step", "a sampler of tau steps", "train one with train.method tau_step"), GEOMETRY,   \
      WHOLE("sampler_steps", steps, 1, TAU_MOST, .key = NULL)
#define TAU_SCANS                                                                                            \
  WHOLE("sampler_adaptive", adaptive, 0, 1, .key = NULL),                                                    \
      WHOLE("sampler_noise_seed", noise_seed, 0, UINT32_MAX, .key = NULL),                                   \
      WHOLE("initial_lines", initial_lines, 0, POINTS_MOST, .key = NULL),                                    \
      WHOLE("budget", budget, 1, POINTS_MOST, .key = NULL)

static const struct fact tau_step_facts[] = {
    TAU_STEPS, WHOLE("sampler_hidden", hidden, 1, 65536, .key = NULL), TAU_SCANS, LAST};

/* The first ones of points say no pools: there were four. */
static const struct fact tau_step_points_facts[] = {
    TAU_STEPS, WHOLE("sampler_channels", channels, 2, 1024, .key = NULL), TAU_SCANS,
    WHOLE("sampler_pools", pools, 1, 12, .may_lack = true, .number = 4), LAST};

/* ---- graphs -------------------------------------------------------------------------------------------- */

static tensor image(struct graph *graph, const char *name, int channels, const struct options *options) {
  const struct scan_shape shape = scan_shape_of(options);
  return graph_input(graph, name, channels, (int)shape.height, (int)shape.width);
}

static bool append_unet(struct graph *graph, const struct options *options, struct error *error) {
  bool complex = options->network.input == INPUT_COMPLEX;
  (void)error;
  net_unet(graph, image(graph, "input", complex ? 2 : 1, options), (int)options->network.channels,
           (int)options->network.pools);
  return true;
}

static bool append_varnet(struct graph *graph, const struct options *options, struct error *error) {
  struct net_varnet_setup setup = net_varnet_setup(options, 1);
  enum acquisition_geometry geometry = scan_geometry(options);
  if (geometry != GEOMETRY_LINES && geometry != GEOMETRY_POINTS)
    return fail_usage(error, "reconstruct.method is varnet, which is of lines and points, and acquisition.geometry is %s; "
                             "set it to lines or points, or reconstruct.method to another",
                      geometry_chosen(options)->name);
  if (setup.points && !setup.maps)
    return fail_usage(error, "varnet.sense is network, which looks at lines in the middle, and acquisition.geometry is "
                             "points; set it to lines, or varnet.sense to maps");
  net_varnet(graph, &setup);
  return true;
}

static bool check_geometry(const struct options *options, struct error *error) {
  return !geometry_chosen(options)->points ||
         fail_usage(error,
                    "acquisition.geometry is points, of which a policy does not choose one after the other; "
                    "set it to lines or spokes, or train.method to reconstructor, loupe, tau_step or lbcs");
}

static bool append_policy(struct graph *graph, const struct options *options, struct error *error) {
  int actions = (int)scan_shape_of(options).actions;
  if (!check_geometry(options, error)) return false;
  tensor maps = net_policy_maps(graph, image(graph, "observation", 1, options),
                                (int)options->policy.channels, (int)options->policy.pools);
  net_policy_heads(graph, maps, graph_input(graph, "mask", actions, 1, 1), (int)options->policy.hidden);
  return true;
}

static bool append_pgmri(struct graph *graph, const struct options *options, struct error *error) {
  if (!check_geometry(options, error)) return false;
  tensor maps = net_pgmri_maps(graph, image(graph, "reconstruction", 1, options),
                               (int)options->policy.channels, (int)options->policy.pools);
  net_pgmri_logits(graph, maps, (int)options->policy.hidden, (int)scan_shape_of(options).actions);
  return true;
}

static bool find_budget(const struct options *options, uint32_t *budget, struct error *error) {
  struct acquisition acquisition;
  struct arena *arena = arena_open();
  bool good = acquisition_only(&acquisition, options, arena, error);
  arena_close(arena);
  if (good) *budget = acquisition.budget;
  return good;
}

static bool append_loupe(struct graph *graph, const struct options *options, struct error *error) {
  uint32_t budget;
  if (!find_budget(options, &budget, error)) return false;
  struct net_loupe_setup setup = net_loupe_setup(options, budget);
  net_loupe(graph, &setup);
  return true;
}

/* All steps, between which the reconstructor runs. */
static bool append_tau_step(struct graph *graph, const struct options *options, struct error *error) {
  uint32_t budget;
  if (!find_budget(options, &budget, error)) return false;
  struct net_tau_setup setup = net_tau_setup(options, budget);
  net_tau(graph, &setup);
  return true;
}

bool network_check(const struct network_desc *network, const struct options *options, struct error *error) {
  struct arena *arena = arena_open();
  struct graph *graph;
  struct error reason;
  const char *sizes = "";
  graph_open(&graph);
  bool appended = network->append(graph, options, error), good = appended && graph_good(graph, &reason);
  for (size_t k = 0; network->keys[k]; k++)
    sizes = arena_text(arena, "%s%s%s %s", sizes, k ? ", " : "", network->keys[k],
                       option_text(option_find(&option_table, network->keys[k]), options, arena));
  if (appended && !good) fail_usage(error, "%s: %.1200s", sizes, reason.text);
  graph_close(graph);
  arena_close(arena);
  return good;
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

#define UNET_PAPER "PROTOCOL 1.8; O. Ronneberger et al. 2015, arXiv 1505.04597"
#define UNET_ROW(is, about, from, facts_of_it)                                                               \
  .name = is, .doc = about, .paper = from, .in = SET(BATCH_input) | SET(BATCH_output_gradient),              \
  .out = SET(BATCH_output) | SET(BATCH_input_gradient), .facts = facts_of_it,                                \
  .keys = {"network.channels", "network.pools", "data.size"},                                                \
  .precision_key = "network.precision", .batch = offsetof(struct options, network.batch), .append = append_unet

const struct network_desc network_unet = {
    UNET_ROW("unet", "reconstructor: a U-Net from the standardised zero-filled image to the image", UNET_PAPER,
             unet_facts)};
const struct network_desc network_complex_unet = {
    UNET_ROW("complex_unet", "reconstructor: a U-Net whose output is added to the magnitude of a complex image",
             UNET_PAPER "; PROTOCOL 3.2, T. Yin et al. 2021, arXiv 2105.06460", complex_unet_facts)};

#define POLICY_ROW(facts_of_it)                                                                              \
  .facts = facts_of_it, .keys = {"policy.channels", "policy.pools", "policy.hidden", "data.size"},           \
  .precision_key = "policy.precision", .batch = offsetof(struct options, policy.batch)

const struct network_desc network_varnet = {
    .name = "varnet",
    .doc = "reconstructor: steps from acquired k-space of all coils to an image, each with a complex U-Net",
    .paper = "A. Sriram et al. 2020, arXiv 2004.06688",
    .in = SET(BATCH_input) | SET(BATCH_output_gradient),
    .out = SET(BATCH_output) | SET(BATCH_input_gradient),
    .facts = varnet_facts,
    .keys = {"varnet.cascades", "varnet.channels", "varnet.pools", "data.size"},
    .batch = offsetof(struct options, network.batch),
    .append = append_varnet};

const struct network_desc network_policy = {
    .name = "policy",
    .doc = "L2S and L2SR: an encoder of the observation, logits of actions, a critic",
    .paper = "PROTOCOL 1.6; P. Yang, B. Dong 2024, doi 10.1088/1361-6420/ad3b34",
    .in = SET(BATCH_observation) | SET(BATCH_taken) | SET(BATCH_logits_gradient) | SET(BATCH_value_gradient),
    .out = SET(BATCH_logits) | SET(BATCH_value),
    POLICY_ROW(policy_facts),
    .append = append_policy};

const struct network_desc network_pgmri = {
    .name = "pgmri",
    .dense = true,
    .doc = "PG-MRI: an encoder of the reconstruction, logits of lines, no critic",
    .paper = "PROTOCOL 2; T. Bakker, H. van Hoof, M. Welling 2020, arXiv 2010.16262",
    .in = SET(BATCH_observation) | SET(BATCH_taken) | SET(BATCH_logits_gradient),
    .out = SET(BATCH_logits),
    POLICY_ROW(pgmri_facts),
    .append = append_pgmri};

const struct network_desc network_loupe = {
    .name = "loupe",
    .doc = "LOUPE: a probability for every action, and masks drawn by them",
    .paper = "PROTOCOL 3.2; C. D. Bahadir et al. 2020, doi 10.1109/TCI.2020.3006727",
    .in = SET(BATCH_drawn_gradient),
    .out = SET(BATCH_drawn),
    .facts = loupe_facts,
    .keys = {"data.size"},
    .batch = offsetof(struct options, train.batch),
    .append = append_loupe};

#define TAU_STEP_ROW                                                                                         \
  .paper = "PROTOCOL 3.3; T. Yin et al. 2021, arXiv 2105.06460",                                             \
  .in = SET(BATCH_output) | SET(BATCH_input_gradient), .out = SET(BATCH_input) | SET(BATCH_output_gradient), \
  .batch = offsetof(struct options, train.batch), .append = append_tau_step

const struct network_desc network_tau_step = {
    .name = "tau_step",
    .doc = "tau-step sampler of lines: from reconstruction and acquired frequencies to the next lines",
    .facts = tau_step_facts,
    .keys = {"tau.steps", "tau.hidden", "data.size"},
    .of_points = &network_tau_step_points,
    TAU_STEP_ROW};

const struct network_desc network_tau_step_points = {
    .name = "tau_step_points",
    .doc = "tau-step sampler of points: a U-Net from the same to the next points",
    .facts = tau_step_points_facts,
    .keys = {"tau.steps", "tau.channels", "tau.pools", "data.size"},
    TAU_STEP_ROW};

const struct network_desc *network_of_reconstructor(size_t place) {
  static const struct network_desc *const rows[RECONSTRUCTOR_NETWORKS] = {&network_unet, &network_complex_unet,
                                                                          &network_varnet};
  return rows[place];
}

const struct network_desc *network_chosen(const struct options *options) {
  if (options->reconstruct.method == RECONSTRUCT_VARNET) return &network_varnet;
  return options->network.input == INPUT_COMPLEX ? &network_complex_unet : &network_unet;
}

const struct network_desc *network_of_sampler(bool points) {
  return points ? &network_tau_step_points : &network_tau_step;
}
