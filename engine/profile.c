#include "engine/profile.h"

#include "engine/log.h"

#include <stdlib.h>
#include <string.h>

static int find_row(struct profile *profile, const char *kernel, const char *label) {
  for (int r = 0; r < profile->rows; r++)
    if (profile->row[r].kernel == kernel && !strcmp(profile->row[r].label, label)) return r;
  REQUIRE(profile->rows < PROFILE_ROWS, "more than %d kernels and labels in a profile", PROFILE_ROWS);
  profile->row[profile->rows] = (struct profile_row){.kernel = kernel, .label = label};
  return profile->rows++;
}

void profile_note(struct profile *profile, const char *kernel, const char *label, cl_event event) {
  REQUIRE(profile->pendings < PROFILE_PENDING, "%d launches without profile_collect", PROFILE_PENDING);
  profile->pending[profile->pendings].event = event;
  profile->pending[profile->pendings++].row = find_row(profile, kernel, label ? label : "");
}

void profile_collect(struct profile *profile) {
  for (int p = 0; p < profile->pendings; p++) {
    struct profile_row *row = &profile->row[profile->pending[p].row];
    cl_ulong start = 0, end = 0;
    clGetEventProfilingInfo(profile->pending[p].event, CL_PROFILING_COMMAND_START, sizeof start, &start,
                            NULL);
    clGetEventProfilingInfo(profile->pending[p].event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL);
    clReleaseEvent(profile->pending[p].event);
    row->seconds += 1e-9 * (double)(end - start);
    row->launches++;
  }
  profile->pendings = 0;
}

static int compare_rows(const void *a, const void *b) {
  double x = ((const struct profile_row *)a)->seconds, y = ((const struct profile_row *)b)->seconds;
  return (x < y) - (x > y);
}

static void sort(struct profile *profile) {
  qsort(profile->row, (size_t)profile->rows, sizeof *profile->row, compare_rows);
}

void profile_print_json(struct profile *profile, FILE *file) {
  sort(profile);
  for (int r = 0; r < profile->rows; r++) {
    const struct profile_row *row = &profile->row[r];
    fprintf(file, "%s{\"kernel\":\"%s\",\"layer\":", r ? "," : "[", row->kernel);
    json_text(file, row->label);
    fprintf(file, ",\"milliseconds\":%.6g}", 1e3 * row->seconds);
  }
  fprintf(file, profile->rows ? "]" : "[]");
}

void profile_print(struct profile *profile, FILE *file) {
  double all = 0;
  for (int r = 0; r < profile->rows; r++) all += profile->row[r].seconds;
  sort(profile);
  for (int r = 0; r < profile->rows; r++) {
    const struct profile_row *row = &profile->row[r];
    fprintf(file, "  %9.4f ms %5.1f %%  %-20s %s\n", 1e3 * row->seconds, 100 * row->seconds / all,
            row->kernel, row->label);
  }
}
