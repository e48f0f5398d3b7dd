#include "systems/networks/loss.h"
#include "engine/base/round.h"

#include <string.h>

enum { TILE_X = 32, TILE_Y = 16 }; /* of kernels/loss.cl */

size_t loss_tiles(size_t height, size_t width) {
  return divide_up(width, TILE_X) * divide_up(height, TILE_Y);
}

static size_t image_bytes(const struct loss *loss) {
  return sizeof(float) * loss->batch * loss->height * loss->width;
}

static size_t part_bytes(const struct loss *loss) {
  return sizeof(float) * loss->batch * loss->tiles;
}

bool loss_is_ssim(enum loss_kind kind) {
  return kind == LOSS_SSIM || kind == LOSS_SSIM_UNIFORM;
}

static const struct {
  const char *forward, *backward; /* NULL: the forward kernel gives the gradient too */
} kernels_of[] = {[LOSS_SSIM] = {"loss_ssim", "loss_ssim_backward"},
                  [LOSS_L1] = {"loss_power", NULL},
                  [LOSS_MSE] = {"loss_power", NULL},
                  [LOSS_SSIM_UNIFORM] = {"loss_ssim_uniform", "loss_ssim_uniform_backward"}};

static int slopes(const struct loss *loss) {
  return loss->backward ? 3 : 1; /* the others write a gradient that nobody asked for there */
}

bool loss_open(struct loss *loss, struct device *device, struct kernels *kernels, enum loss_kind kind,
               size_t height, size_t width, size_t batch, struct error *error) {
  *loss = (struct loss){.device = device,
                        .kernels = kernels,
                        .kind = kind,
                        .forward = kernels_of[kind].forward,
                        .backward = kernels_of[kind].backward,
                        .batch = batch,
                        .height = height,
                        .width = width,
                        .tiles = loss_tiles(height, width)};
  bool good = kernel_need(kernels, loss->forward, error) &&
              (!loss->backward || kernel_need(kernels, loss->backward, error));
  for (int i = 0; good && i < slopes(loss); i++)
    good = (loss->slope[i] = device_buffer(device, image_bytes(loss), "the loss", error));
  good = good && (loss->part = device_buffer(device, part_bytes(loss), "the loss", error));
  if (!good) loss_close(loss);
  return good;
}

void loss_close(struct loss *loss) {
  for (int i = 0; i < 3; i++) device_release(loss->device, loss->slope[i], image_bytes(loss));
  device_release(loss->device, loss->part, part_bytes(loss));
  memset(loss->slope, 0, sizeof loss->slope);
  loss->part = NULL;
}

static struct arg in(cl_mem buffer) {
  return arg_buffer(ARG_IN, ELEMENT_F32, buffer);
}

static struct arg out(cl_mem buffer) {
  return arg_buffer(ARG_OUT, ELEMENT_F32, buffer);
}

static void run_ssim(struct loss *loss, const struct loss_target *t, cl_mem output, cl_mem gradient,
                     size_t rows, double share) {
  struct arg slice = arg_buffer(ARG_IN, ELEMENT_U32, t->slice);
  kernel_run(loss->kernels, loss->forward, rows,
             ARGS(slice, in(output), in(t->image), in(t->mean), in(t->std), in(t->data_range),
                  out(loss->slope[0]), out(loss->slope[1]), out(loss->slope[2]), out(loss->part)));
  if (gradient)
    kernel_run(loss->kernels, loss->backward, rows,
               ARGS(slice, in(output), in(t->image), in(t->mean), in(t->std), in(t->data_range),
                    in(loss->slope[0]), in(loss->slope[1]), in(loss->slope[2]), out(gradient),
                    arg_f32((float)-share)));
}

void loss_run(struct loss *loss, const struct loss_target *t, cl_mem output, cl_mem gradient, size_t images,
              double share) {
  REQUIRE(images <= loss->batch, "%zu images; the loss has room for %zu", images, loss->batch);
  size_t rows = images * loss->tiles;
  if (loss->backward) {
    run_ssim(loss, t, output, gradient, rows, share);
    return;
  }
  kernel_run(loss->kernels, loss->forward, rows,
             ARGS(arg_buffer(ARG_IN, ELEMENT_U32, t->slice), in(output), in(t->image), in(t->mean),
                  in(t->std), out(gradient ? gradient : loss->slope[0]), out(loss->part),
                  arg_u32(loss->kind == LOSS_L1 ? 1 : 2), arg_f32((float)share)));
}

bool loss_read(struct loss *loss, size_t images, double *each, struct error *error) {
  struct arena *arena = arena_open();
  float *parts = ARENA_NEW(arena, float, images * loss->tiles);
  device_read(loss->device, loss->part, 0, sizeof(float) * images * loss->tiles, parts);
  for (size_t i = 0; i < images; i++) {
    each[i] = 0;
    for (size_t k = 0; k < loss->tiles; k++) each[i] += parts[i * loss->tiles + k];
    if (loss->backward) each[i] = -each[i];
  }
  arena_close(arena);
  return device_finish(loss->device, error);
}
