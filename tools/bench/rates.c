#include "tools/bench/rates.h"

#include "tools/bench/bench.h"

enum { GROUP = 256, LANES = 32, TURNS = 512, SUMS = 8 /* as kernels/rate.cl has them */ };

/* Operations of a product: of a warp's lanes together by matrix instructions, else of one work-item. */
struct way {
  const char *by[BLOCK_HALF + 1]; /* by precision; f32 splits each operand into two halves */
  double products, lanes;
};

static const struct way *way_of(const struct device *device) {
  static const struct way nvidia = {{"three mma.sync of halves", "mma.sync of halves", "mma.sync of halves"},
                                    2 * 16 * 8 * 16,
                                    LANES},
                          amd = {{"three WMMA of halves", "WMMA of halves", "WMMA of halves"},
                                 2 * 16 * 16 * 16,
                                 LANES},
                          cdna = {{"three MFMA of halves", "MFMA of halves", "MFMA of halves"},
                                  2 * 16 * 16 * 16,
                                  2 * LANES},
                          plain = {{"fused multiply-adds", "fused multiply-adds", "fused multiply-adds"},
                                   2 * 16,
                                   1};
  if (device->facts.matrix == MATRIX_AMD) return &amd;
  if (device->facts.matrix == MATRIX_CDNA) return &cdna;
  return device->facts.matrix == MATRIX_NVIDIA ? &nvidia : &plain;
}

struct rate_pass {
  struct kernels *kernels;
  struct kernel_variant variant;
  cl_mem total;
  size_t rows;
};

static void run_products(void *context) {
  const struct rate_pass *pass = context;
  kernel_variant_run(pass->kernels, &pass->variant, pass->rows,
                     ARGS(arg_buffer(ARG_OUT, ELEMENT_F32, pass->total), arg_f32(0.5F)));
}

/* Twice: what compiles first lets a card's clock fall. */
bool rates_measure(struct rates *rates, struct device *device, struct kernels *kernels,
                   enum block_precision precision, struct error *error) {
  const struct way *way = way_of(device);
  struct rate_pass pass = {.kernels = kernels, .rows = (size_t)device->facts.units * 64 * GROUP};
  double seconds;
  bool good = bench_copy(device, &rates->bytes, error) && bench_copy(device, &rates->bytes, error) &&
              kernel_variant_open(kernels, &pass.variant, "rate_products", "", GROUP, error) &&
              (pass.total = device_buffer(device, sizeof(float) * pass.rows, "sums of products", error)) &&
              bench_passes(device, run_products, &pass, &seconds, error) &&
              bench_passes(device, run_products, &pass, &seconds, error);
  if (good) {
    double parts = precision == BLOCK_F32 && way->lanes > 1 ? 3 : 1;
    rates->operations = (double)pass.rows / way->lanes * TURNS * SUMS * way->products / parts / seconds;
    rates->by = way->by[precision];
  }
  device_release(device, pass.total, sizeof(float) * pass.rows);
  kernel_variant_close(&pass.variant);
  return good;
}
