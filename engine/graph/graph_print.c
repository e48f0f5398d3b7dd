/* A network as text and as JSON lines: nodes, shapes, parameters, bytes, operations. */
#include "engine/base/log.h"
#include "engine/graph/graph.h"

static size_t node_parameters(const struct graph *graph, const struct node *node) {
  return (node->weight >= 0 ? graph->parameter[node->weight].count : 0) +
         (node->bias >= 0 ? graph->parameter[node->bias].count : 0);
}

/* The numbers that are printed for a node; totals add up. */
struct row {
  double flops;
  size_t parameters, bytes;
};

static struct row row_of(const struct graph *graph, int i, struct row *total) {
  const struct node *node = &graph->node[i];
  tensor out = {(uint16_t)i};
  struct row row = {node->op && node->op->flops ? (double)node->copies * node->op->flops(graph, out) : 0,
                    node_parameters(graph, node), sizeof(float) * graph_values(graph, out)};
  total->flops += row.flops;
  total->parameters += row.parameters;
  total->bytes += row.bytes;
  return row;
}

static const char *op_name(const struct node *node) {
  return node->op ? node->op->name : "input";
}

void graph_print(const struct graph *graph, FILE *file) {
  struct row total = {0};
  fprintf(file, "%4s  %-16s  %-32s  %14s  %10s  %10s  %10s\n", "node", "op", "name", "shape", "parameters",
          "bytes", "MFLOP");
  for (int i = 0; i < graph->nodes; i++) {
    const struct node *node = &graph->node[i];
    struct row row = row_of(graph, i, &total);
    char shape[48];
    int written = node->copies > 1 ? snprintf(shape, sizeof shape, "%dx", node->copies) : 0;
    snprintf(shape + written, sizeof shape - (size_t)written, "%dx%dx%d", node->shape.channels, node->shape.height,
             node->shape.width);
    fprintf(file, "%4d  %-16s  %-32s  %14s  %10zu  %10zu  %10.3f\n", i, op_name(node), node->name, shape,
            row.parameters, row.bytes, row.flops * 1e-6);
  }
  fprintf(file, "an image: %.2f MFLOP forward, %.2f MiB of activations\n", total.flops * 1e-6,
          (double)total.bytes / 0x1p20);
  fprintf(file, "%d parameters of %zu values, %.2f MiB\n", graph->parameters, graph_parameter_count(graph),
          (double)sizeof(float) * (double)graph->elements / 0x1p20);
  if (graph->batch)
    fprintf(file, "a batch of %zu to %s: %.2f MiB in %d slots\n", graph->batch,
            graph->train ? "train" : "infer", (double)graph->arena_bytes / 0x1p20, graph->slots);
}

void graph_print_json(const struct graph *graph, FILE *file) {
  struct row total = {0};
  for (int i = 0; i < graph->nodes; i++) {
    const struct node *node = &graph->node[i];
    struct row row = row_of(graph, i, &total);
    fprintf(file, "{\"kind\":\"node\",\"node\":%d,\"op\":\"%s\",\"name\":", i, op_name(node));
    json_text(file, node->name);
    fprintf(file, ",\"shape\":[%d,%d,%d],\"parameters\":%zu,\"bytes\":%zu,\"mflop\":%.9g}\n",
            node->shape.channels, node->shape.height, node->shape.width, row.parameters, row.bytes,
            row.flops * 1e-6);
  }
  fprintf(file,
          "{\"kind\":\"total\",\"nodes\":%d,\"parameters\":%zu,\"parameter_bytes\":%zu,\"bytes\":%zu,"
          "\"mflop\":%.9g}\n",
          graph->nodes, total.parameters, sizeof(float) * graph->elements, total.bytes, total.flops * 1e-6);
}
