/* How noise of the data comes through least squares with maps of coils: the geometry factor g (K. Pruessmann et al. 1999,
 * Magnetic Resonance in Medicine 42:952, equation 23; with a weight as in F. Lin et al. 2004, Magnetic Resonance in Medicine
 * 51:559), for any choice of lines, of the solution itself: of as many steps as it takes to converge. */
#ifndef L2SR_SYSTEMS_NOISE_H
#define L2SR_SYSTEMS_NOISE_H

#include "engine/base/error.h"

#include <complex.h>
#include <stddef.h>
#include <stdint.h>

struct noise_data {
  size_t coils, height, width;
  const float complex *maps; /* [coils][height][width] */
  const uint8_t *mask;       /* [width]: columns of k-space that are acquired, the centre at width / 2 */
  double weight;             /* half of it times the squared image is added to half the squared error */
};

/* g [height][width]: the deviation of a pixel's noise over that of a full scan of equal noise a sample, over the root of
 * the acceleration; 0 where no coil sees anything. 1 is the least without a weight. Refuses lines that leave the
 * solution open. */
bool noise_map(const struct noise_data *data, float *g, struct error *error);

#endif
