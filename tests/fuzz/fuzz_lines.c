/* JSON lines: a training's log, and the output of bench inference. */
#include "tests/fuzz/fuzz.h"
#include "tools/report/json_line.h"
#include "tools/report/report.h"

static bool see(const json_t *line, void *context, struct error *error) {
  static const char *const keys[] = {"kind", "epoch", "val_ssim", "loss", "text", ""};
  double value;
  (void)error;
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    json_number_of(line, keys[i], &value);
    json_text_of(line, keys[i], context);
  }
  return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct arena *arena = arena_open();
  struct error error;
  const char *path = arena_text(arena, "%s", fuzz_text("text", data, size));
  json_lines(path, false, see, arena, &error);
  json_lines(path, true, see, arena, &error);
  struct report *report = report_make(arena);
  if (report_add(report, path, &error)) report_finish(report, &error);
  arena_close(arena);
  return 0;
}
