/* The fused path's own copies of images that its kernels do not take as they are. */
#include "engine/base/round.h"
#include "engine/fused/block_plan.h"

/* The image of the first layer, and how that layer's maps stand around it. */
bool block_frame_find(struct blocks *blocks, struct error *error) {
  const struct graph *graph = blocks->graph;
  const struct block_layer *first = &blocks->layer[0];
  const struct node *image = block_node(graph, block_node(graph, first->conv)->input[0].node);
  struct block_frame *frame = &blocks->frame;
  if (image->op) image = block_node(graph, image->input[0].node);
  *frame = (struct block_frame){.rows = first->own_rows,
                                .columns = (int)round_up((size_t)first->own_columns, 4),
                                .own_rows = image->shape.height,
                                .own_columns = image->shape.width,
                                .top = (first->own_rows - image->shape.height) / 2,
                                .left = (first->own_columns - image->shape.width) / 2};
  frame->used = frame->rows != frame->own_rows || frame->columns != frame->own_columns;
  return !frame->used || blocks->end == END_IMAGE ||
         fail(error, "images of %dx%d pixels, for which the fused path has to pad them; of an encoder it takes columns in "
                     "multiples of 4",
              frame->own_rows, frame->own_columns);
}

static size_t plane_bytes(const struct blocks *blocks, int channels) {
  const struct block_frame *frame = &blocks->frame;
  size_t images = blocks->batch + blocks->batch % 2;
  return frame->used ? sizeof(float) * images * (size_t)(channels * frame->rows * frame->columns) : 0;
}

size_t block_frame_bytes(const struct blocks *blocks) {
  size_t image = plane_bytes(blocks, 1), input = plane_bytes(blocks, blocks->layer[0].own_in);
  return input + image + (blocks->train ? image : 0) + (blocks->input_gradient ? input : 0);
}

bool block_frame_open(struct blocks *blocks, struct error *error) {
  struct block_frame *frame = &blocks->frame;
  size_t image = plane_bytes(blocks, 1), input = plane_bytes(blocks, blocks->layer[0].own_in);
  if (!frame->used) return true;
  return kernel_need(blocks->kernels, "window_copy", error) &&
         (frame->input = device_buffer(blocks->device, input, "padded images", error)) &&
         (frame->output = device_buffer(blocks->device, image, "the padded output", error)) &&
         (!blocks->train || (frame->gradient = device_buffer(blocks->device, image, "its gradient", error))) &&
         (!blocks->input_gradient ||
          (frame->input_gradient = device_buffer(blocks->device, input, "the padded images' gradient", error)));
}

void block_frame_close(struct blocks *blocks) {
  const struct block_frame *frame = &blocks->frame;
  size_t image = plane_bytes(blocks, 1), input = plane_bytes(blocks, blocks->layer[0].own_in);
  device_release(blocks->device, frame->input, input);
  device_release(blocks->device, frame->output, image);
  device_release(blocks->device, frame->gradient, image);
  device_release(blocks->device, frame->input_gradient, input);
}

static void copy(struct blocks *blocks, cl_mem from, cl_mem to, bool back, int channels, size_t images) {
  const struct block_frame *frame = &blocks->frame;
  int rows = back ? frame->own_rows : frame->rows, columns = back ? frame->own_columns : frame->columns;
  int sign = back ? -1 : 1;
  kernel_run(blocks->kernels, "window_copy", images * (size_t)(channels * rows) * divide_up((size_t)columns, 4),
             ARGS(arg_buffer(ARG_IN, ELEMENT_F32, from), arg_buffer(ARG_INOUT, ELEMENT_F32, to),
                  arg_u32((uint32_t)(back ? frame->rows : frame->own_rows)),
                  arg_u32((uint32_t)(back ? frame->columns : frame->own_columns)), arg_u32((uint32_t)rows),
                  arg_u32((uint32_t)columns), arg_u32((uint32_t)(sign * frame->top)), arg_u32((uint32_t)(sign * frame->left)),
                  arg_u32(false)));
}

cl_mem block_frame_in(struct blocks *blocks, cl_mem image, cl_mem into, int channels, size_t images) {
  if (!blocks->frame.used) return image;
  copy(blocks, image, into, false, channels, images);
  return into;
}

cl_mem block_frame_to(const struct blocks *blocks, cl_mem image, cl_mem from) {
  return blocks->frame.used ? from : image;
}

void block_frame_out(struct blocks *blocks, cl_mem image, cl_mem from, int channels, size_t images) {
  if (blocks->frame.used) copy(blocks, from, image, true, channels, images);
}
