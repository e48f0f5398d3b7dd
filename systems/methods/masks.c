#include "systems/methods/masks.h"

#include "systems/sampling/geometry.h"

bool masks_check(const struct options *options, const char *method, struct error *error) {
  if (options->data.kspace == KSPACE_MEASURED && options->network.input == INPUT_MAGNITUDE)
    return fail_usage(error,
                      "train.method is %s, which transforms images, and data.kspace is measured; set it to "
                      "image, network.input to complex, or train.method to reconstructor, l2s, l2sr, pgmri or lbcs",
                      method);
  if (options->acquisition.geometry != GEOMETRY_SPOKES) return true;
  return fail_usage(
      error,
      "train.method is %s, which learns masks of lines or points, and acquisition.geometry is %s; "
      "set it to one of these, or train.method to reconstructor, l2s, l2sr, pgmri or lbcs",
      method, geometry_chosen(options)->name);
}
