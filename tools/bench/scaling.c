/* How updates scale over cards: a model of what sums of gradients take, from measured sums and updates of
 * some ranks. A sum exchanges parts with ranks that are 1, 2, 4 ... away, halves first, and gathers the same
 * way back (engine/graph/rank_sum.c): each exchange costs a latency and its bytes over a bandwidth, both
 * fitted to the measured sums. What an update of several ranks takes beside that of one is waiting for sums,
 * up to all of their time; what is more than that stays as it is. */
#include "engine/base/log.h"
#include "engine/base/ranks.h"
#include "engine/base/text.h"
#include "engine/files/part.h"
#include "tools/bench/bench.h"
#include "tools/draw/chart.h"
#include "tools/report/json_line.h"
#include "tools/report/tabular.h"

#include <math.h>
#include <string.h>

enum { MEASURED_MOST = 64, CARDS_MOST = 128, COUNTS = 8 /* 1, 2, 4 ... 128 */, PIXELS = 2 };

/* A sum that was measured, or an update. */
struct summed {
  double ranks, bytes, seconds;
  bool peer; /* from card to card */
};

struct updated {
  const char *name;
  double ranks, bytes, alone, seconds;
  double waits, more; /* for this part of its sums' time; seconds beside */
};

/* An exchange takes latency + bytes / bandwidth. */
struct link {
  double latency, bandwidth; /* seconds; bytes a second. 0: nothing was measured */
};

struct scaling {
  struct arena *arena;
  const char *path; /* of what is read */
  struct summed sum[MEASURED_MOST];
  struct updated update[MEASURED_MOST];
  size_t sums, updates;
  struct link inside, between; /* a host, hosts */
  uint32_t cards;              /* of a host */
};

/* ---- what was measured --------------------------------------------------------------------------------- */

static bool see_sum(struct scaling *scaling, const json_t *line, struct error *error) {
  const char *way = json_string_value(json_object_get(line, "way"));
  struct summed *sum = &scaling->sum[scaling->sums];
  double microseconds;
  if (!way || !json_number_of(line, "ranks", &sum->ranks) || !json_number_of(line, "bytes", &sum->bytes) ||
      !json_number_of(line, "microseconds", &microseconds) || !(sum->ranks >= 2) || !(sum->bytes > 0) ||
      !(microseconds > 0))
    return fail(error, "a line of bench sums has no way, ranks, bytes and microseconds; measure it anew");
  sum->seconds = 1e-6 * microseconds;
  sum->peer = !strcmp(way, "peer");
  scaling->sums++;
  return true;
}

static bool see_update(struct scaling *scaling, const json_t *line, const char *bench, struct error *error) {
  struct updated *update = &scaling->update[scaling->updates];
  double alone, milliseconds;
  if (!json_number_of(line, "ranks", &update->ranks) ||
      !json_number_of(line, "alone_rank_milliseconds", &alone))
    return fail_usage(
        error, "bench %s was measured by one rank; measure it by several: mpirun -n 2 l2sr bench %s --json",
        bench, bench);
  if (!json_number_of(line, "gradient_bytes", &update->bytes) ||
      !json_number_of(line, "milliseconds", &milliseconds) || !(alone > 0) || !(milliseconds > 0) ||
      !(update->bytes > 0))
    return fail(
        error,
        "a line of bench %s has no gradient_bytes, milliseconds and alone_rank_milliseconds; measure it anew",
        bench);
  update->alone = 1e-3 * alone, update->seconds = 1e-3 * milliseconds;
  const char *method = json_text_of(line, "method", scaling->arena);
  update->name = arena_text(scaling->arena, "%s of %s MB", method ? method : bench,
                            text_number(1e-6 * update->bytes, 3).text);
  scaling->updates++;
  return true;
}

static bool see_measure(struct scaling *scaling, const json_t *line, struct error *error) {
  const char *bench = json_string_value(json_object_get(line, "bench"));
  if (!bench) return fail_usage(error, "a line is of no bench; give what `l2sr bench sums --json` and `l2sr bench learn --json` print");
  if (scaling->sums == MEASURED_MOST || scaling->updates == MEASURED_MOST)
    return fail_usage(error, "more than %d lines of sums or updates; give fewer files", MEASURED_MOST);
  if (!strcmp(bench, "sums")) return see_sum(scaling, line, error);
  bool several = !strcmp(bench, "train") || !strcmp(bench, "learn") || !strcmp(bench, "pgmri");
  return !several || see_update(scaling, line, bench, error);
}

static bool see_line(const json_t *line, void *context, struct error *error) {
  struct scaling *scaling = context;
  return see_measure(scaling, line, error) || fail_in(error, "%s", scaling->path);
}

/* ---- the model ----------------------------------------------------------------------------------------- */

/* Exchanges of a sum, there and back, and the bytes of them all beside the gradient's. */
static double exchanges(double ranks) {
  return 2 * log2(ranks);
}

static double moved(double ranks) {
  return 2 * (1 - 1 / ranks);
}

/* Least squares of what is off beside the time, so that small sums count as much as large ones. */
static struct link fit(const struct scaling *scaling, bool peer) {
  double aa = 0, ab = 0, bb = 0, a = 0, b = 0;
  for (size_t i = 0; i < scaling->sums; i++) {
    const struct summed *sum = &scaling->sum[i];
    double x = exchanges(sum->ranks) / sum->seconds, y = moved(sum->ranks) * sum->bytes / sum->seconds;
    if (sum->peer == peer) aa += x * x, ab += x * y, bb += y * y, a += x, b += y;
  }
  double determinant = aa * bb - ab * ab,
         latency = determinant > 1e-9 * aa * bb ? (a * bb - b * ab) / determinant : 0;
  if (!bb) return (struct link){0, 0};
  if (latency < 0 || b <= latency * ab) latency = 0; /* noise: then all is bandwidth */
  return (struct link){latency, bb / (b - latency * ab)};
}

/* Ranks of a host of so many cards stand beside each other: the first exchanges, of the largest parts, are inside of it. */
static double sum_seconds(const struct scaling *scaling, double bytes, uint32_t ranks, uint32_t cards) {
  double seconds = 0;
  for (uint32_t away = 1; away < ranks; away *= 2) {
    const struct link *link = away < cards ? &scaling->inside : &scaling->between;
    seconds += 2 * (link->latency + bytes / (2.0 * away) / link->bandwidth);
  }
  return seconds;
}

static double update_seconds(const struct scaling *scaling, const struct updated *update, uint32_t ranks) {
  return update->alone + (ranks > 1 ? update->more : 0) +
         update->waits * sum_seconds(scaling, update->bytes, ranks, scaling->cards);
}

static double efficiency(const struct scaling *scaling, const struct updated *update, uint32_t ranks) {
  return update->alone / update_seconds(scaling, update, ranks);
}

/* Between hosts the sums go through host memory, and all cards of a host share its network. */
static bool find_links(struct scaling *scaling, double network, double latency, struct error *error) {
  struct link peer = fit(scaling, true), host = fit(scaling, false);
  scaling->inside = peer.bandwidth > 0 ? peer : host;
  scaling->between = host.bandwidth > 0 ? host : peer;
  if (!(scaling->inside.bandwidth > 0))
    return fail_usage(error, "no sums were measured; add the lines of mpirun -n 2 l2sr bench sums --json");
  if (!scaling->updates)
    return fail_usage(error, "no updates were measured; add the lines of mpirun -n 2 l2sr bench learn "
                             "--json, or of train or pgmri");
  scaling->between.bandwidth = fmin(scaling->between.bandwidth, network / scaling->cards);
  scaling->between.latency = fmax(scaling->between.latency, latency);
  for (size_t i = 0; i < scaling->updates; i++) {
    struct updated *update = &scaling->update[i];
    double beside = fmax(update->seconds - update->alone, 0),
           sums = sum_seconds(scaling, update->bytes, (uint32_t)update->ranks, (uint32_t)update->ranks);
    update->waits = fmin(beside / sums, 1);
    update->more = fmax(beside - sums, 0);
  }
  return true;
}

/* ---- what it says -------------------------------------------------------------------------------------- */

static struct tabular table_of(const struct scaling *scaling) {
  struct tabular table = tabular_make(scaling->arena, COUNTS, 1 + 3 * scaling->updates);
  table.file = "scaling";
  table.title = "Efficiency over cards, each with as much to do: a model of what was measured";
  table.head[0] = "cards";
  for (size_t u = 0; u < scaling->updates; u++) {
    const struct updated *update = &scaling->update[u];
    const char **head = &table.head[1 + 3 * u];
    head[0] = arena_text(scaling->arena, "%s, efficiency", update->name);
    head[1] = arena_text(scaling->arena, "%s, ms", update->name);
    head[2] = arena_text(scaling->arena, "%s, sums ms", update->name);
    for (size_t c = 0; c < COUNTS; c++) {
      uint32_t ranks = 1u << c;
      tabular_number(&table, c, 0, ranks, 0);
      tabular_number(&table, c, 1 + 3 * u, efficiency(scaling, update, ranks), 3);
      tabular_number(&table, c, 2 + 3 * u, 1e3 * update_seconds(scaling, update, ranks), 3);
      tabular_number(&table, c, 3 + 3 * u, 1e3 * sum_seconds(scaling, update->bytes, ranks, scaling->cards), 3);
    }
  }
  return table;
}

/* The last count of cards at which the goal is met, and what the next one takes. */
static void tell_end(const struct scaling *scaling, const struct updated *update, double goal) {
  uint32_t last = 1;
  while (2 * last <= CARDS_MOST && efficiency(scaling, update, 2 * last) >= goal) last *= 2;
  printf("%s: ", update->name);
  if (last == CARDS_MOST)
    printf("%.0f %% or more up to %d cards, where it is %.1f %%", 100 * goal, CARDS_MOST,
           100 * efficiency(scaling, update, last));
  else
    printf("ends at %u card%s: at %u it is %.1f %%, an update of %s ms waits %s ms", last, plural(last),
           2 * last, 100 * efficiency(scaling, update, 2 * last),
           text_number(1e3 * update_seconds(scaling, update, 2 * last), 4).text,
           text_number(1e3 * (update_seconds(scaling, update, 2 * last) - update->alone), 4).text);
  printf("; measured: %.1f %% by %.0f ranks, it waits for %.0f %% of its sums' time, and takes %s ms more "
         "for other reasons\n",
         100 * update->alone / update->seconds, update->ranks, 100 * update->waits,
         text_number(1e3 * update->more, 3).text);
}

static void print_link(const char *what, const struct link *link) {
  printf("%s: %s us and %s GB/s an exchange\n", what, text_number(1e6 * link->latency, 3).text,
         text_number(1e-9 * link->bandwidth, 4).text);
}

static void print_text(const struct scaling *scaling, const struct tabular *table, double goal) {
  print_link("inside of a host", &scaling->inside);
  print_link(arena_text(scaling->arena, "between hosts of %u", scaling->cards), &scaling->between);
  tabular_plain(table, stdout);
  for (size_t u = 0; u < scaling->updates; u++) tell_end(scaling, &scaling->update[u], goal);
  printf("l2sr starts at most %d ranks\n", RANKS_MOST);
}

static void print_json(const struct scaling *scaling) {
  for (size_t u = 0; u < scaling->updates; u++)
    for (uint32_t cards = 1; cards <= CARDS_MOST; cards *= 2) {
      const struct updated *update = &scaling->update[u];
      printf("{\"bench\":\"scaling\",\"update\":");
      json_text(stdout, update->name);
      printf(",\"cards\":%u,\"efficiency\":%.4g,\"milliseconds\":%.6g,\"sums_milliseconds\":%.6g,\"waits\":%."
             "4g,\"more_milliseconds\":%.4g}\n",
             cards, efficiency(scaling, update, cards), 1e3 * update_seconds(scaling, update, cards),
             1e3 * sum_seconds(scaling, update->bytes, cards, scaling->cards), update->waits, 1e3 * update->more);
    }
}

static bool write_files(const struct scaling *scaling, const struct tabular *table, const char *folder,
                        struct error *error) {
  struct arena *arena = scaling->arena;
  struct chart_line *line = ARENA_NEW(arena, struct chart_line, scaling->updates);
  double *cards = ARENA_NEW(arena, double, COUNTS);
  struct text_file file;
  for (size_t c = 0; c < COUNTS; c++) cards[c] = 1u << c;
  for (size_t u = 0; u < scaling->updates; u++) {
    double *percent = ARENA_NEW(arena, double, COUNTS);
    for (size_t c = 0; c < COUNTS; c++) percent[c] = 100 * efficiency(scaling, &scaling->update[u], 1u << c);
    line[u] = (struct chart_line){scaling->update[u].name, cards, percent, COUNTS, u};
  }
  const struct chart chart = {.across = "cards",
                              .up = "efficiency (%)",
                              .lines = line,
                              .line_count = scaling->updates,
                              .to = CARDS_MOST};
  if (!folder_make(folder, error) || !file_create(&file, arena_text(arena, "%s/scaling.csv", folder), error))
    return false;
  tabular_csv(table, file.file);
  return file_commit(&file, error) &&
         figure_save(arena_text(arena, "%s/scaling.svg", folder), FIGURE_SVG, 1, chart_draw, &chart, error) &&
         figure_save(arena_text(arena, "%s/scaling.png", folder), FIGURE_PNG, PIXELS, chart_draw, &chart,
                     error);
}

/* ---- the command --------------------------------------------------------------------------------------- */

bool bench_scaling(struct call *call, struct error *error) {
  struct scaling *scaling = ARENA_NEW(call->arena, struct scaling, 1);
  const char *folder = call_flag(call, "output");
  uint32_t network = UINT32_MAX, latency = 0, goal = 90;
  *scaling = (struct scaling){.arena = call->arena, .cards = 8};
  if (call->operand_count < 2)
    return fail_usage(error, "bench scaling reads what was measured; name files with lines of mpirun -n 2 "
                             "l2sr bench sums --json, and of learn, train or pgmri");
  if (!call_number(call, "cards", 1, CARDS_MOST, &scaling->cards, error) ||
      !call_number(call, "network", 1, 1000000, &network, error) ||
      !call_number(call, "latency", 0, 1000000, &latency, error) ||
      !call_number(call, "goal", 1, 100, &goal, error))
    return false;
  if (scaling->cards & (scaling->cards - 1))
    return fail_usage(error, "--cards is %u; it must be 1, 2, 4 ... %d, as ranks are: sums are taken two by two", scaling->cards, CARDS_MOST);
  for (int i = 1; i < call->operand_count; i++) {
    scaling->path = call->operand[i];
    if (!json_lines(scaling->path, false, see_line, scaling, error)) return false;
  }
  if (!find_links(scaling, 1e9 / 8 * network, 1e-6 * latency, error)) return false;
  struct tabular table = table_of(scaling);
  if (folder && !write_files(scaling, &table, folder, error)) return false;
  if (call_flag(call, "json"))
    print_json(scaling);
  else
    print_text(scaling, &table, goal / 100.0);
  return true;
}
