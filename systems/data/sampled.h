/* What of a slice's k-space was never measured: lines or samples that are empty and are no padding. */
#ifndef L2SR_SYSTEMS_SAMPLED_H
#define L2SR_SYSTEMS_SAMPLED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sampled {
  size_t coils, height, width;
  const float *kspace;  /* [coils][height][width], float pairs */
  double *column_energy, *row_energy; /* [width], [height]: energies over all coils, which sampled_sum fills */
  size_t zeros;         /* samples */
  const uint8_t
      *mask; /* what the file says of columns [width], or of samples [height][width]; NULL: nothing */
  size_t mask_entries;
};

void sampled_sum(struct sampled *sampled);
/* The fraction that was not measured, and of what ("columns"); 0: all was. A slice of zeros tells nothing: 0.
 */
double sampled_missing(const struct sampled *sampled, const char **what);

#endif
