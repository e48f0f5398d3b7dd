/* Losses of a reconstructor (PROTOCOL 1.8 to 1.10, 2), and the gradients from which backward starts. The
 * network's output is the normalised image; the target is the SLICE row that the scan is of. */
#ifndef L2SR_SYSTEMS_LOSS_H
#define L2SR_SYSTEMS_LOSS_H

#include "engine/device/kernel.h"

enum loss_kind {
  LOSS_SSIM,        /* minus the SSIM (11x11 Gaussian) of the un-normalised image */
  LOSS_L1,          /* mean absolute error of the normalised image */
  LOSS_MSE,         /* mean squared error of the normalised image */
  LOSS_SSIM_UNIFORM /* minus the SSIM of the 7x7 uniform window within the image (PROTOCOL 3.2) */
};

bool loss_is_ssim(enum loss_kind kind); /* minus a SSIM */

/* Parts of an image whose shares of the loss are summed apart. */
size_t loss_tiles(size_t height, size_t width);

struct loss {
  struct device *device;
  struct kernels *kernels;
  enum loss_kind kind;
  const char *forward, *backward; /* kernels; the latter of minus a SSIM alone */
  size_t batch, height, width, tiles;
  cl_mem slope[3], part; /* of SSIM's map; each tile's share of the loss */
};

/* Columns: slice (one a row of the batch) and SLICE's image, mean, std, data_range. */
struct loss_target {
  cl_mem slice, image, mean, std, data_range;
};

/* Height and width must be those that the kernels were opened with. */
bool loss_open(struct loss *loss, struct device *device, struct kernels *kernels, enum loss_kind kind,
               size_t height, size_t width, size_t batch, struct error *error);
void loss_close(struct loss *loss);

/* Enqueues the loss of `images` outputs and the gradient of share * (sum over images of the loss): share is
 * one over the images of the whole batch, of which this may be a part. gradient: NULL when only the loss is
 * wanted. */
void loss_run(struct loss *loss, const struct loss_target *target, cl_mem output, cl_mem gradient,
              size_t images, double share);
/* Waits; the losses of the images of the last run. False after a failed enqueue. */
bool loss_read(struct loss *loss, size_t images, double *each, struct error *error);

#endif
