/* Tries what `l2sr report` reads of results of evaluate. */
#include "tests/fuzz/fuzz.h"
#include "tools/report/report.h"

enum { SLICES = 3, SIZE = 4, LINES = 2 };

static void put(struct store *store, const char *name, enum store_type type, int rank, const size_t *size,
                const void *from) {
  struct error error;
  FUZZ_MUST(store_write(store, name, type, rank, size, from, false, &error));
}

static void write_scans(struct store *store) {
  static const uint8_t mask[SLICES * SIZE] = {0, 1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1};
  static const uint32_t action[SLICES * LINES] = {1, 3, 0, 1, 3, 1};
  static const float ssim[SLICES * (LINES + 1)] = {0.5f, 0.6f, 0.7f, 0.4f, 0.5f, 0.6f, 0.3f, 0.4f, 0.8f};
  static const float pixels[SIZE * SIZE];
  static const uint32_t row;
  put(store, "x2_long/random/mask", STORE_U8, 2, (size_t[]){SLICES, SIZE}, mask);
  put(store, "x2_long/random/action", STORE_U32, 2, (size_t[]){SLICES, LINES}, action);
  put(store, "x2_long/random/ssim", STORE_F32, 2, (size_t[]){SLICES, LINES + 1}, ssim);
  put(store, "x2_long/random/kept", STORE_F32, 3, (size_t[]){1, SIZE, SIZE}, pixels);
  put(store, "kept/image", STORE_F32, 3, (size_t[]){1, SIZE, SIZE}, pixels);
  put(store, "kept/row", STORE_U32, 1, (size_t[]){1}, &row);
}

static void write_good(void) {
  static const char scene[] =
      "data:\n  path: \"x\"\n  size: 4\n  range: volume\nevaluate:\n  name: \"A\"\n"
      "  samplers: [random]\n  metrics: [ssim]\n  policy: \"\"\n  reconstructor: \"r.h5\"\n";
  static const uint32_t volume[SLICES] = {0, 0, 1}, number[SLICES] = {0, 1, 0};
  static const double range[SLICES] = {1, 1, 1};
  size_t slices[] = {SLICES};
  struct store *store;
  struct error error;
  FUZZ_MUST(store_create(&store, fuzz_path("good.h5"), &error));
  FUZZ_MUST(store_put_text(store, "version", "1.0", &error) &&
            store_put_text(store, "selection", "0123", &error) &&
            store_put_text(store, "scene", scene, &error) && store_put_number(store, "gamma", 0.5, &error) &&
            store_write_text(store, "volume_names", "a.h5\nb.h5", &error));
  put(store, "slice/volume", STORE_U32, 1, slices, volume);
  put(store, "slice/number", STORE_U32, 1, slices, number);
  put(store, "slice/data_range", STORE_F64, 1, slices, range);
  write_scans(store);
  FUZZ_MUST(store_commit(store, &error));
  fuzz_take();
}

/* Reads what the tables go through: every slice, its volume, the first and the last step. */
static void use(struct report *report, struct arena *arena) {
  for (size_t r = 0; r < report->runs; r++) {
    const struct report_run *run = &report->run[r];
    const struct report_set *set = &report->set[report->setting[run->setting].set];
    double *sum = ARENA_NEW(arena, double, set->volumes);
    for (size_t m = 0; m < METRICS; m++)
      for (size_t end = 0; run->metric[m] && end < 2; end++) {
        const struct report_units *units = report_units(report, report->setting[run->setting].set, m);
        const double *value = report_values(report, run, m, end * (run->steps - 1));
        for (size_t u = 0; u < units->count; u++) sum[set->volume[units->row[u]]] += value[u];
      }
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static bool ready;
  struct arena *arena = arena_open();
  struct report *report = report_make(arena);
  struct error error;
  if (!ready) write_good();
  ready = true;
  if (report_add(report, fuzz_change(data, size), &error) && report_finish(report, &error))
    use(report, arena);
  arena_close(arena);
  return 0;
}
