#include "systems/scan/augment.h"

#include "systems/coils/simulated.h"

#include <string.h>

static const struct {
  const char *word;
  uint32_t kind;
} kinds[] = {{"flips", AUGMENT_FLIPS}, {"shifts", AUGMENT_SHIFTS}, {"turns", AUGMENT_TURNS}};

static uint32_t kind_of(const char *word) {
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (!strcmp(word, kinds[i].word)) return kinds[i].kind;
  return 0;
}

bool augment_read(struct augment *augment, const struct options *options, struct error *error) {
  const char *words = options->data.augment;
  char word[64];
  const struct scan_shape shape = scan_shape_of(options);
  *augment = (struct augment){.shift_rows = shape.height / AUGMENT_SHIFT,
                              .shift_columns = shape.width / AUGMENT_SHIFT,
                              .seed = options->world.seed};
  for (uint32_t kind; (words = option_next(words, word, sizeof word)); augment->kinds |= kind)
    if (!(kind = kind_of(word)))
      return fail_usage(error, "data.augment has '%s'; it must be a list of flips, shifts and turns", word);
  if (!augment->kinds || !simulated_or_measured(options)) return true;
  if (options->coils.simulate)
    return fail_usage(error,
                      "data.augment is [%s] and coils.simulate %u: coils see images that stay where they are; set "
                      "data.augment to [] or coils.simulate to 0",
                      options->data.augment, options->coils.simulate);
  return fail_usage(
      error,
      "data.augment is [%s] and data.kspace measured: images are moved before they are transformed, and "
      "measured k-space is no transform of one; set data.augment to [] or data.kspace to image",
      options->data.augment);
}
