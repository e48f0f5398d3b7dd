#include "engine/fused/path.h"

void path_select(struct path *path, size_t number) {
  REQUIRE(number < path->passes, "pass %zu; there are %zu", number, path->passes);
  path->selected = number;
  if (path->blocks) blocks_select(path->blocks, number);
}

void path_forward_heads(struct path *path, size_t images) {
  const struct path_pass *pass = &path->pass[path->selected];
  graph_set_images(pass->graph, images);
  graph_forward(pass->graph);
}

void path_forward(struct path *path, size_t images) {
  const struct path_pass *pass = &path->pass[path->selected];
  REQUIRE(images <= path->batch, "%zu images; a pass takes %zu", images, path->batch);
  if (path->blocks) blocks_forward(path->blocks, pass->ends.input, pass->ends.output, images);
  graph_tell(path->graph, GRAPH_FORWARD);
  graph_tell(path->graph, GRAPH_PASSED);
  if (!path->blocks || path->heads) path_forward_heads(path, images);
}

void path_backward(struct path *path, size_t images, double scale, bool input) {
  const struct path_pass *pass = &path->pass[path->selected];
  if (!path->blocks || path->heads) {
    REQUIRE(images == pass->graph->images, "%zu images; the last forward had %zu", images,
            pass->graph->images);
    graph_backward(pass->graph);
  }
  graph_tell(path->graph, GRAPH_BACKWARD);
  graph_tell(path->graph, GRAPH_RETURNED);
  if (!path->blocks) return;
  blocks_backward(path->blocks, pass->ends.input, pass->ends.output_gradient, images, scale);
  if (input) blocks_input_gradient(path->blocks, pass->ends.input_gradient, images);
}

void path_changed(struct path *path) {
  if (path->blocks) blocks_pack(path->blocks);
}
