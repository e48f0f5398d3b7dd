/* Reconstruction without training: x of min ||A x - y||^2 / 2 + weight R(x) for all scans at once, A = mask F S (maps of
 * coils, the orthonormal transform, the cells that a scan has acquired).
 *
 *   cg_sense  R = ||x||^2 / 2                conjugate gradients from 0, reconstruct.iterations steps
 *   tv        R = sum |G x|                  alternating directions: rounds of at most ten steps from the last x, to
 *                                            1e-3 of the right side; over-relaxation 1.6; reconstruct.rho; differences
 *                                            to the pixel before, around the edges, both axes together
 *   wavelet   R = sum |W x|                  FISTA with step 0.95; Daubechies' 4 taps, mirrored edges, an axis is split
 *                                            while it has 16 values; all coefficients shrink
 *
 * These are the numbers of BART's `pics`, and its unit of weights: the brightness of what the central cells show
 * (kernels/solve.cl, solve_scale). In cg_sense the weight is of the data themselves. A transform along an axis that is
 * acquired whole, as lines are, is its own inverse's and left out. */
#ifndef L2SR_SYSTEMS_SOLVE_H
#define L2SR_SYSTEMS_SOLVE_H

#include "engine/device/fft.h"
#include "systems/scan/simulation.h"

enum solve_buffer {
  SOLVE_TAKEN,     /* U8: acquired cells */
  SOLVE_LINES,     /* U32: of hybrid data, lists of lines (kernels/hybrid.cl): those that are acquired */
  SOLVE_STARTS,
  SOLVE_OTHERS,    /* and those that are not, where they are fewer */
  SOLVE_OTHER_STARTS,
  SOLVE_PLANES,    /* of all coils */
  SOLVE_RIGHT,     /* A^H y */
  SOLVE_PRODUCT,   /* A^H A of the direction; where there is one coil, the planes */
  SOLVE_SOLUTION,
  SOLVE_RESIDUAL,  /* of wavelets: the last shrunk image */
  SOLVE_DIRECTION, /* of wavelets: the image that is shrunk, moved */
  SOLVE_SIDE,      /* tv: the right side of a round */
  SOLVE_SPLIT,     /* tv: z, two differences a pixel; of whole scans, F128: z + u */
  SOLVE_DUAL,      /* tv: u; of whole scans, the next z + u */
  SOLVE_BANDS,     /* wavelets: coefficients of all levels */
  SOLVE_HALF,      /* wavelets: a level, one axis in its bands */
  SOLVE_PARTS,     /* of hybrid data: of every block, what the step of conjugate gradients follows from */
  SOLVE_WEIGHTS,   /* F32: zero-filled images, areas that acquired cells stand for */
  SOLVE_SCALE,     /* F32: the unit of the scan's weight */
  SOLVE_VALUES,    /* F128: kernels/solve.cl */
  SOLVE_COUNTS,
  SOLVE_REFUSED,   /* U32, one for all: the lowest scan with a pixel that is no number */
  SOLVE_BUFFERS
};

enum { SOLVE_LEVELS = 16 };

/* Where the values of an image of a scan lie. */
struct solve_layout {
  size_t pitch, first, size;
};

/* A level of wavelets: the image that is split, and its bands, which lie in SOLVE_BANDS. */
struct solve_level {
  size_t height, width, band_height, band_width;
  bool rows, columns; /* axes that are split */
  struct solve_layout bands;
};

struct solver {
  struct arena *arena;
  struct device *device;
  const struct options *options;
  size_t height, width, pixels, coils, chunk; /* scans at a time */
  size_t sets;     /* of maps: images of a scan */
  bool apart;      /* which are solved for as scans are, set after set; else one after the other, as one image of all */
  bool hybrid;                                /* the data are SLICE.hybrid, or of coils */
  bool listed;                                /* they are looked up line by line: there are no planes */
  bool mapped;                                /* coils are known by SLICE.maps */
  bool whole;                                 /* tv: a scan is solved by one launch (kernels/total.cl) */
  bool compensates;                           /* it makes zero-filled images, compensated for density */
  bool lines;                                 /* whole columns are acquired: planes are transformed along rows alone */
  struct fft data, rows;
  struct kernel_variant total; /* of whole scans */
  cl_mem buffer[SOLVE_BUFFERS];
  size_t bytes[SOLVE_BUFFERS];
  struct solve_level level[SOLVE_LEVELS];
  size_t levels, band_values, half_values; /* of wavelets, of a scan */
};

/* The zero-filled image compensated for density (PROTOCOL 1.15) is made in the same memory, for scans at a time, too. */
extern const struct system system_repeat_solve, system_compensate, system_solve_data, system_solve_cg, system_solve_tv, system_solve_wavelet,
    system_solve_store;

/* simulation->solver, for its world and its oracle's; chunks of scans as memory allows. */
bool solve_open(struct simulation *simulation, struct error *error);
void solve_close(struct simulation *simulation); /* one that was never opened is allowed */
bool solve_check(struct simulation *simulation, struct error *error);

/* ---- for the priors ------------------------------------------------------------------------------------- */

struct arg solve_arg(const struct solver *solver, enum arg_kind kind, enum element element, enum solve_buffer buffer);
#define SOLVE_IN(solver, name) solve_arg(solver, ARG_IN, ELEMENT_C64, SOLVE_##name)
#define SOLVE_OUT(solver, name) solve_arg(solver, ARG_OUT, ELEMENT_C64, SOLVE_##name)
#define SOLVE_INOUT(solver, name) solve_arg(solver, ARG_INOUT, ELEMENT_C64, SOLVE_##name)

/* Starts the scans of the pass from 0. threshold: of the prior, in parts of the scan's brightness; inner: relative
 * tolerance of conjugate gradients. */
void solve_begin(struct world *world, const struct simulation *simulation, double inner, double threshold);
/* What kernels of scans see: a row a scan, or where sets are apart an image. */
size_t solve_rows(const struct simulation *simulation);
/* SOLVE_PRODUCT becomes A^H A of the image that it holds, and `image` too. */
void solve_normal(struct world *world, const struct simulation *simulation, enum solve_buffer image);
/* The levels that the sizes have. */
void solve_find_levels(struct solver *solver);
void solve_run_wavelet(struct world *world, void *context);

#endif
