#include "engine/files/part.h"
#include "engine/files/png.h"
#include "systems/formats/array.h"
#include "tools/exports/exports.h"

#include <string.h>

static uint8_t cell_of(const struct exported_mask *mask, size_t y, size_t x) {
  return mask->value[mask->columns ? x : y * mask->width + x];
}

static size_t values_of(const struct exported_mask *mask) {
  return mask->columns ? mask->width : mask->height * mask->width;
}

/* As sampler.mask reads it. */
static bool write_text(const char *path, const struct exported_mask *mask, struct error *error) {
  struct text_file file;
  if (!file_create(&file, path, error)) return false;
  fprintf(file.file, "# mask of %s\n", mask->of);
  for (size_t i = 0; i < values_of(mask); i++)
    fprintf(file.file, "%u%s", mask->value[i], (i + 1) % mask->width ? " " : "\n");
  return file_commit(&file, error);
}

static bool write_png(const char *path, const struct exported_mask *mask, struct error *error) {
  struct arena *arena = arena_open();
  struct text_file file;
  size_t bytes;
  unsigned char *pixel = ARENA_NEW(arena, unsigned char, mask->height * mask->width);
  for (size_t i = 0; i < mask->height * mask->width; i++)
    pixel[i] = cell_of(mask, i / mask->width, i % mask->width) ? 255 : 0;
  const unsigned char *png = png_make(arena, pixel, mask->width, mask->height, &bytes);
  bool good =
      png || fail_memory(error, "no host memory for a picture of %zu x %zu", mask->height, mask->width);
  good = good && file_create(&file, path, error);
  if (good) fwrite(png, 1, bytes, file.file);
  good = good && file_commit(&file, error);
  arena_close(arena);
  return good;
}

/* What fastMRI calls low frequencies: the most columns n that are acquired without a gap from (width - n + 1) / 2 on, where its
 * mask functions put them. */
static size_t central_columns(const struct exported_mask *mask) {
  size_t width = mask->width, n = 0;
  for (bool all = true; all && n < width; n += all)
    for (size_t first = (width - n) / 2, i = first; i <= first + n; i++) all &= mask->value[i] != 0;
  return n;
}

static bool write_python(const char *path, const struct exported_mask *mask, struct error *error) {
  struct text_file file;
  if (!mask->columns)
    return fail_usage(
        error, "%s: a mask function of fastMRI is of columns; write a mask of points as .npy, .cfl or .png",
        path);
  if (!file_create(&file, path, error)) return false;
  fprintf(file.file,
          "\"\"\"A mask of l2sr as a mask function of fastMRI: pass FixedMask() where "
          "fastmri.data.subsample.MaskFunc is wanted.\"\"\"\n\n"
          "import torch\n\nLOW_FREQUENCIES = %zu  # columns around the middle without a gap\nMASK = [",
          central_columns(mask));
  for (size_t x = 0; x < mask->width; x++)
    fprintf(file.file, "%s%s%u", x ? "," : "", x % 32 ? x ? " " : "" : "\n    ", mask->value[x]);
  fprintf(file.file,
          ",\n]\n\n\nclass FixedMask:\n"
          "    def __call__(self, shape, offset=None, seed=None):\n"
          "        \"\"\"shape: [..., height, width, 2]; returns a mask [1, ..., width, 1] of floats, and "
          "the low frequencies.\"\"\"\n"
          "        if shape[-2] != len(MASK):\n"
          "            raise ValueError(f\"the mask has {len(MASK)} columns, k-space has {shape[-2]}\")\n"
          "        mask = torch.tensor(MASK, dtype=torch.float32)\n"
          "        return mask.reshape(*[1] * (len(shape) - 2), len(MASK), 1), LOW_FREQUENCIES\n");
  return file_commit(&file, error);
}

/* [height][width]; BART takes patterns of the size of k-space. Of columns, MATLAB gets one line. */
static bool write_array(const char *path, const struct exported_mask *mask, struct error *error) {
  bool line = mask->columns && export_ends_in(path, ".mat");
  struct arena *arena = arena_open();
  size_t height = line ? 1 : mask->height;
  float *pattern = ARENA_NEW(arena, float, height * mask->width);
  for (size_t i = 0; i < height * mask->width; i++)
    pattern[i] = cell_of(mask, i / mask->width, i % mask->width);
  const struct exported array = {"mask", "hw", {height, mask->width}, false, pattern};
  bool good = export_array(path, &array, error);
  arena_close(arena);
  return good;
}

static bool write_npy(const char *path, const struct exported_mask *mask, struct error *error) {
  struct text_file file;
  const size_t cells[2] = {mask->height, mask->width};
  if (!file_create(&file, path, error)) return false;
  array_begin_npy(file.file, ARRAY_U8, false, mask->columns ? 1 : 2, mask->columns ? &mask->width : cells);
  fwrite(mask->value, 1, values_of(mask), file.file);
  return file_commit(&file, error);
}

bool export_mask(const char *path, const struct exported_mask *mask, const struct pulseq_plan *plan,
                 struct error *error) {
  if (export_ends_in(path, ".txt")) return write_text(path, mask, error);
  if (export_ends_in(path, ".png")) return write_png(path, mask, error);
  if (export_ends_in(path, ".py")) return write_python(path, mask, error);
  if (export_ends_in(path, ".npy")) return write_npy(path, mask, error);
  if (export_ends_in(path, ".seq")) return export_pulseq(path, mask, plan, error);
  if (export_ends_in(path, ".cfl") || export_ends_in(path, ".nii") || export_ends_in(path, ".gz") ||
      export_ends_in(path, ".mat"))
    return write_array(path, mask, error);
  return fail_usage(error,
                    "%s has no ending that says its kind; a mask is written as .txt, .npy, .png, .cfl "
                    "(BART's pattern), .nii, .mat, .py "
                    "(fastMRI's mask function) or .seq (Pulseq)",
                    path);
}
