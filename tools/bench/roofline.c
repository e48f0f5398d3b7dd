#include "tools/bench/roofline.h"

#include "engine/base/text.h"
#include "engine/files/part.h"
#include "kernels/kernels.h"
#include "tools/bench/bench.h"
#include "tools/bench/rates.h"
#include "tools/draw/roofline.h"

#include <math.h>
#include <string.h>

enum { PASSES = 5 };

/* Of the passes of a profile. */
struct measured {
  struct call *call;
  struct device *device;
  struct rates rates;
  struct profile *profile;
  double wall, busy; /* seconds of a pass by the host's clock, and of its launches */
};

static bool time_passes(struct measured *measured, void (*pass)(void *context), void *context,
                        struct error *error) {
  if (!bench_profiled(measured->device, measured->profile, PASSES, pass, context, error)) return false;
  profile_sort(measured->profile);
  for (int r = 0; r < measured->profile->rows; r++)
    measured->busy += measured->profile->row[r].seconds / PASSES;
  return true;
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

/* A pass's launches of a kernel for one layer, or in one system. */
struct line {
  const char *kernel, *place;
  double launches, seconds, bytes, operations; /* bytes: NaN where nobody says them */
  double bytes_share, operations_share;        /* of what the device can do in these seconds */
};

static struct line line_of(const struct measured *measured, int r) {
  const struct profile_row *row = &measured->profile->row[r];
  struct line line = {row->kernel,
                      *row->label ? row->label : row->part,
                      (double)row->launches / PASSES,
                      row->seconds / PASSES,
                      row->work.bytes / PASSES,
                      row->work.operations / PASSES,
                      NAN,
                      NAN};
  if (line.seconds <= 0) return line;
  line.bytes_share = line.bytes / line.seconds / measured->rates.bytes;
  line.operations_share = line.operations / line.seconds / measured->rates.operations;
  return line;
}

static double or_zero(double value) {
  return isnan(value) ? 0 : value;
}

static void print_line(const struct measured *measured, const struct line *line) {
  char share[32] = "-", rate[32] = "-", moved[32] = "-", computed[32] = "-";
  if (!isnan(line->bytes)) {
    snprintf(moved, sizeof moved, "%s", text_number(1e-6 * line->bytes, 4).text);
    snprintf(share, sizeof share, "%.0f %%", 100 * line->bytes_share);
  }
  if (line->operations > 0) {
    snprintf(computed, sizeof computed, "%s", text_number(1e-9 * line->operations, 4).text);
    snprintf(rate, sizeof rate, "%.0f %%", 100 * line->operations_share);
  }
  printf("  %9.4f ms %5.1f %% %8.0f  %9s MB %6s  %9s GFLOP %6s  %-22s %s\n", 1e3 * line->seconds,
         100 * line->seconds / measured->busy, line->launches, moved, share, computed, rate, line->kernel,
         line->place);
}

static void print_table(const struct measured *measured, const char *work) {
  bool cached = false;
  printf("roofline of bench %s on %s: %s GB/s by a copy, %s TFLOP/s by %s\n", work,
         measured->device->facts.name, text_number(1e-9 * measured->rates.bytes, 4).text,
         text_number(1e-12 * measured->rates.operations, 4).text, measured->rates.by);
  printf("  a pass takes %s ms, of which launches %s ms\n", text_number(1e3 * measured->wall, 4).text,
         text_number(1e3 * measured->busy, 4).text);
  printf("  %12s %7s %8s  %12s %6s  %15s %6s\n", "time", "", "launches", "bytes", "share", "operations",
         "share");
  for (int r = 0; r < measured->profile->rows; r++) {
    struct line line = line_of(measured, r);
    print_line(measured, &line);
    cached |= line.bytes_share > 1;
  }
  if (cached) printf("  shares of bytes above 100 %% are of what the device's caches hold: a copy's rate is the memory's\n");
}

static void print_object(const struct line *line) {
  printf("{\"kernel\":");
  json_text(stdout, line->kernel);
  printf(",\"place\":");
  json_text(stdout, line->place);
  printf(",\"launches\":%.6g,\"milliseconds\":%.6g,\"bytes\":", line->launches, 1e3 * line->seconds);
  json_number(stdout, line->bytes);
  printf(",\"operations\":%.6g,\"bytes_share\":", line->operations);
  json_number(stdout, line->bytes_share);
  printf(",\"operations_share\":");
  json_number(stdout, line->operations_share);
  printf("}");
}

static void print_json(const struct measured *measured, const char *work) {
  printf("{\"bench\":\"roofline\",\"work\":\"%s\",\"device\":", work);
  json_text(stdout, measured->device->facts.name);
  printf(",\"copy_bytes_per_second\":%.6g,\"operations_per_second\":%.6g,\"operations_by\":\"%s\","
         "\"milliseconds\":%.6g,"
         "\"launches_milliseconds\":%.6g,\"kernels\":[",
         measured->rates.bytes, measured->rates.operations, measured->rates.by, 1e3 * measured->wall,
         1e3 * measured->busy);
  for (int r = 0; r < measured->profile->rows; r++) {
    struct line line = line_of(measured, r);
    if (r) printf(",");
    print_object(&line);
  }
  printf("]}\n");
}

/* ---- the picture --------------------------------------------------------------------------------------- */

/* FIGURE_KINDS: the path names none. */
static enum figure_kind kind_of(const char *path) {
  const char *dot = strrchr(path, '.');
  enum figure_kind kind = FIGURE_PDF;
  while (kind < FIGURE_KINDS && (!dot || strcmp(dot + 1, figure_kinds[kind]))) kind++;
  return kind;
}

bool roofline_check(const struct call *call, struct error *error) {
  const char *path = call_flag(call, "figure");
  if (!path) return true;
  if (kind_of(path) < FIGURE_KINDS) return file_try(path, error);
  return fail_usage(error, "--figure is '%s'; its name ends in .pdf, .svg or .png", path);
}

static bool save_figure(const struct measured *measured, const char *work, const char *path,
                        struct error *error) {
  struct arena *arena = measured->call->arena;
  struct roofline_point *point = ARENA_NEW(arena, struct roofline_point, (size_t)measured->profile->rows);
  struct roofline roofline = {arena_text(arena, "bench %s on %s", work, measured->device->facts.name),
                              measured->rates.bytes, measured->rates.operations, point, 0};
  for (int r = 0; r < measured->profile->rows; r++) {
    struct line line = line_of(measured, r);
    if (or_zero(line.bytes) > 0 && line.operations > 0 && line.seconds > 0)
      point[roofline.points++] =
          (struct roofline_point){line.kernel, line.operations / line.bytes, line.operations / line.seconds,
                                  line.seconds / measured->busy};
  }
  if (roofline.points) return figure_save(path, kind_of(path), 2, roofline_draw, &roofline, error);
  return fail_usage(
      error,
      "bench %s has no kernel whose operations are counted: there is nothing to draw; take network, policy "
      "or learn",
      work);
}

bool roofline_print(struct call *call, struct device *device, enum block_precision precision, double seconds,
                    void (*pass)(void *context), void *context, struct error *error) {
  static const struct kernel_setup any = {.height = 1, .width = 1};
  const char *work = call->operand[0], *figure = call_flag(call, "figure");
  struct measured measured = {
      .call = call, .device = device, .wall = seconds, .profile = ARENA_NEW(call->arena, struct profile, 1)};
  struct kernels *kernels;
  if (!kernels_open(&kernels, device, &kernel_table, &any, error)) return false;
  bool good = time_passes(&measured, pass, context, error) &&
              rates_measure(&measured.rates, device, kernels, precision, error);
  kernels_close(kernels);
  if (good) (call_flag(call, "json") ? print_json : print_table)(&measured, work);
  return good && (!figure || save_figure(&measured, work, figure, error));
}
