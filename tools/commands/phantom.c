/* Synthetic volumes in the layout of fastMRI's files, for trying everything without the real set. */
#include "systems/data/phantom.h"
#include "tools/commands/command.h"

static void print_split(const struct options *options, const char *folder, const char *name, uint32_t count) {
  const uint32_t rows = options->phantom.rows, columns = options->phantom.columns;
  if (!count) return;
  printf("%s/%s: %u volume%s of %u slice%s, k-space %ux%u", folder, name, count, count > 1 ? "s" : "",
         options->phantom.slices, options->phantom.slices > 1 ? "s" : "", rows, columns);
  if (options->phantom.coils > 1) printf(" of %u coils", options->phantom.coils);
  printf(", images %ux%u\n", options->phantom.size.height, options->phantom.size.width);
}

static bool run_phantom(struct call *call, struct error *error) {
  const struct options *options = &call->options;
  const char *folder = call->operand[0];
  if (!phantom_write(options, folder, error)) return false;
  print_split(options, folder, "train", options->phantom.train);
  print_split(options, folder, "val", options->phantom.val);
  print_split(options, folder, "test", options->phantom.test);
  return true;
}

static const struct flag flags[] = {
    {"train", "N", "phantom.train", "volumes in DIR/train"},
    {"val", "N", "phantom.val", "volumes in DIR/val"},
    {"test", "N", "phantom.test", "volumes in DIR/test"},
    {"slices", "N", "phantom.slices", "slices in a volume"},
    {"coils", "N", "phantom.coils", "receive coils; more than one writes multi-coil volumes"},
    {"size", "N", "phantom.size",
     "side of the stored images, or [height,width]; there must be as many rows and columns at least"},
    {"rows", "N", "phantom.rows", "readout samples of the k-space (oversampled twice)"},
    {"columns", "N", "phantom.columns", "phase-encode lines of the k-space"},
    {"padded-left", "N", "phantom.padded_left", "first columns of the k-space that hold zeros, as scanners add them"},
    {"padded-right", "N", "phantom.padded_right", "last columns of it that do"},
    {"lesions", "X", "phantom.lesions", "share of the patients with a large lesion; above 0 slices have a label `lesion`"},
    {"noise", "X", "phantom.noise",
     "standard deviation of the noise in k-space, as a fraction of the image's peak"},
    {"seed", "N", "world.seed", "seed; another one makes other patients"},
    {NULL, NULL, NULL, NULL},
};

const struct command command_phantom = {
    .name = "phantom",
    .operands = "DIR",
    .doc = "writes synthetic knees and heads as fastMRI-format HDF5 files",
    .more = "The volumes go to DIR/train, DIR/val and DIR/test. The same seed gives the same files, and "
            "the content of a file does not depend on how many others are written. Files of the same "
            "names are replaced; where others are of another size or of other coils, nothing is written.",
    .operands_least = 1,
    .operands_most = 1,
    .flags = flags,
    .run = run_phantom,
};
