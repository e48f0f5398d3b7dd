/* Reads what `l2sr report` shows and writes the page: results of evaluate by data set and setting, trainings,
 * costs of inference. */
#ifndef L2SR_TOOLS_REPORT_H
#define L2SR_TOOLS_REPORT_H

#include "engine/files/part.h"
#include "systems/methods/scoring.h"
#include "systems/sampling/geometry.h"
#include "systems/scan/simulation.h"
#include "tools/draw/figure.h"
#include "tools/report/clusters.h"
#include "tools/report/tabular.h"

enum { REPORT_RUNS = 512, REPORT_SETTINGS = 64, REPORT_SETS = 16, REPORT_TRAININGS = 64, REPORT_STAGES = 64 };
/* The most slices of results, scans of a run, steps and actions of a scan; the largest side of images
 * (data.size), and number of a volume. */
enum {
  REPORT_SLICES = 1 << 22,
  REPORT_SCANS = 1 << 24,
  REPORT_STEPS = 1 << 20,
  REPORT_SIDE = 1024,
  REPORT_VOLUMES = 1 << 22
};

/* ---- what was read ------------------------------------------------------------------------------------- */

/* What scores are of: slices or volumes. */
struct report_units {
  const char *one; /* "slice" */
  size_t count;
  size_t *row;       /* [count]: of the slice that the score stands with: a volume's first */
  unsigned *cluster; /* [count]: whose it is (tools/report/clusters.h) */
};

/* The slices of results. Results are of one set where the slices are the same and keys of CONCERNS_TEST have
 * equal values (components/options.h); keys of trainings do not keep results apart. */
struct report_set {
  const char *path;              /* the path of the first results with it */
  const char *selection, *names; /* hash of the files' names; the names, a line each */
  const char **key; /* [option_table.count]: values of the keys of tests and of slices; NULL: another key */
  struct scan_shape shape;
  size_t slices, volumes;
  uint32_t *volume, *number; /* [slices] */
  double *range;             /* [slices] */
  const char *patients;      /* whose the files are, a line each; NULL: the results do not say */
  struct clusters clusters;  /* whose the slices are */
  const struct scoring *scoring; /* whose scores they are; NULL: l2sr's */
  char classifier[65];           /* hash of what scored them by their labels; "": nothing did */
  size_t partial;                /* volumes that are scored by a part of their slices */
  struct report_units by_slice, by_volume;
};

struct report_setting {
  size_t set;
  uint32_t acceleration, initial_lines, budget;
  const struct geometry *geometry;
  const char *horizon, *label;
};

/* Groups of methods that are compared, in the order of the tables. Oracles see the truth and are nobody's
 * rivals. */
enum report_group { REPORT_ZERO_FILLED, REPORT_FIXED, REPORT_JOINT, REPORT_ORACLES, REPORT_GROUPS };
extern const char *const report_group_names[REPORT_GROUPS];

/* A method at a setting. */
struct report_run {
  enum report_group group;
  const char *method, *path, *folder; /* folder: of the path, in the file's groups */
  const char *base;                   /* the method's name before those of folders told it apart */
  size_t setting;
  size_t scans, steps;     /* steps: budget + 1 */
  float *metric[METRICS];  /* [scan][steps]; NULL: not there */
  uint8_t *mask, *initial; /* [scans][lines that there are]; initial: the given ones */
  double gamma;            /* the policy's; NaN: none */
  bool curve;
  const char *device, *reconstructor; /* the file's words, or `solver`; "": none */
  const char *solver; /* what made its images where no network did, with its numbers; "": none */
  const char *seeds;                  /* of the evaluation, and of what it was trained with */
  const char *training;               /* the latter alone; "": nothing of it was trained */
  const char *cross, *row,
      *column;         /* folder of the cross table it is of, and where it stands; NULL: of none */
  const char *chooser; /* file that its sampler goes by: policy, mask or tau-step's network; "": none */
};

/* Where its training looked, and what it found. */
struct report_points {
  double *x, *y;
  size_t count;
};
struct report_stage {
  const char *name, *metric, *unit; /* metric: or another value's name, of a method that has no score; unit: what x counts */
  struct report_points validation, reward;
  double seconds, bytes; /* of learning, by the log's speeds; of the device's memory; 0: not known */
  double gamma, selected; /* of a policy; the validation that its trainer selected last. NaN: none */
  uint32_t *choices; /* [steps][actions]: validation scans that chose the action at this step; NULL: not known */
  size_t steps, actions;
};
struct report_training {
  const char *path, *method;
  const char *scene, *device, *version; /* of the first stage; of the last; NULL: not known */
  struct report_stage stage[REPORT_STAGES];
  size_t stages;
  double initial_lines; /* the last policy's; NaN: none */
};

struct report_cost {
  const char *method, *setting, *device;
  double flops, seconds, best_seconds, best_batch;
};

/* Of `l2sr benchmark`, which fills them. */
struct report_time {
  const char *setting, *method, *reconstructor;
  double trained, evaluated; /* seconds; 0: nothing was */
};

struct report {
  struct arena *arena; /* the caller's */
  const char *version; /* the version of all results */
  const char *version_path;
  struct report_set set[REPORT_SETS];
  struct report_setting setting[REPORT_SETTINGS];
  struct report_run *run;           /* [REPORT_RUNS] */
  struct report_training *training; /* [REPORT_TRAININGS] */
  struct report_cost *cost;         /* [REPORT_RUNS] */
  struct report_time *time;
  size_t sets, settings, runs, trainings, costs, times, files;
  bool shown[METRICS]; /* columns of some scene's table */
};

struct report *report_make(struct arena *arena);
/* A file or folder of the command line. */
bool report_add(struct report *report, const char *path, struct error *error);
bool report_read_results(struct report *report, const char *path, struct error *error);
bool report_read_training(struct report *report, const char *folder, struct error *error);
bool report_read_costs(struct report *report, const char *path, struct error *error);
/* After the last one: methods of one name at one setting get the names of their folders too. */
bool report_finish(struct report *report, struct error *error);

/* Styles of lines and rows are by the method's place among all. */
size_t report_style(const struct report *report, const char *method);
/* What the metric's scores are of, in a set. */
const struct report_units *report_units(const struct report *report, size_t set, size_t metric);
/* "12 slices", "3 volumes" */
const char *report_units_text(struct arena *arena, const struct report_units *units);
/* Scores of the metric that a run has: of each unit one a trajectory. */
size_t report_count_scores(const struct report *report, const struct report_run *run, size_t metric);
/* Mean over a unit's scans after so many lines, [units]; NULL where the run has no such metric. */
double *report_values(const struct report *report, const struct report_run *run, size_t metric, size_t lines);
/* Runs of a setting that have the metric, in the order of the tables; returns how many. */
size_t report_select(const struct report *report, size_t setting, size_t metric,
                     const struct report_run **list);

/* Whether results of that name differ in their seeds. */
bool report_has_seeds(const struct report *report, const char *method);
/* How many results of that name and of different seeds there are at a setting; 1: no sample of them. */
size_t report_count_seeds(const struct report *report, size_t setting, const char *method, size_t metric);

/* ---- what is written ----------------------------------------------------------------------------------- */

struct report_config {
  size_t metric;            /* the metric of figures and comparisons */
  const char *baseline;     /* the method that others are compared with; NULL: the first */
  const uint32_t *rows;     /* rows of contact sheets */
  size_t row_count;         /* 0: the rows that are there, four at most */
  enum figure_kind figures; /* kind of the figures' files beside the page; FIGURE_KINDS: none */
};

/* Metrics of the page: in its tables and below its images. */
bool report_shows(const struct report *report, const struct report_config *config, size_t metric);

/* Files of the page, which take their places together when all are written; a list. */
struct report_file {
  struct report_file *next;
  struct text_file file;
};

struct report_page {
  struct report *report;
  const struct report_config *config;
  const char *folder;
  FILE *html, *text;
  struct report_file *files;
  size_t figures;
};
bool report_write(struct report *report, const struct report_config *config, const char *folder,
                  struct error *error);

/* Puts the table into all four kinds of files. */
bool report_put_table(struct report_page *page, struct tabular *table, struct error *error);

struct report_figure {
  const char *file;            /* name of its file, without the ending: as its table's */
  const char *title, *caption; /* title: what a screen reader says */
  double width;                /* at most, in pixels of the page; 0: as it is drawn */
  figure_draw *draw;
  const void *what;
};
/* Puts the figure into the page and, where one is asked for, a file of its own. */
bool report_put_figure(struct report_page *page, const struct report_figure *figure, struct error *error);

/* A file that takes its place with the page; the caller opens it. */
struct report_file *report_add_file(struct report_page *page);
void report_heading(struct report_page *page, int level, const char *id, const char *text);
void report_say(struct report_page *page, const char *text); /* a paragraph */

/* Why the set is not the first one, and what to do to compare them; "": it is the first one. */
const char *report_part_text(const struct report *report, size_t set);
/* The name of a set's file, as one line of UTF-8. */
const char *report_file_name(struct arena *arena, const struct report_set *set, size_t file);

bool report_put_scores(struct report_page *page, size_t set, struct error *error);    /* main tables */
bool report_put_crosses(struct report_page *page, size_t set, struct error *error);   /* all pairs */
bool report_put_ablations(struct report_page *page, size_t set, struct error *error); /* lines, gamma */
bool report_put_pairs(struct report_page *page, size_t set, struct error *error);     /* comparisons */
bool report_put_seeds(struct report_page *page, size_t set, struct error *error);     /* several seeds */
bool report_put_summary(struct report_page *page, size_t setting, struct error *error); /* ranks, adaptivity, lines */
bool report_put_times(struct report_page *page, struct error *error);
bool report_put_histograms(struct report_page *page, size_t setting, struct error *error);
bool report_put_curves(struct report_page *page, size_t setting, struct error *error);
/* Whether some results hold images of every row that is asked for. */
bool report_check_rows(const struct report *report, const struct report_config *config, struct error *error);
bool report_put_sheets(struct report_page *page, size_t set, struct error *error);
bool report_put_choices(struct report_page *page, const struct report_training *training, size_t number,
                        struct error *error);
/* The best validation of a stage; NaN: none is known. */
double report_stage_best(const struct report_stage *stage);
bool report_put_together(struct report_page *page, struct error *error); /* several trainings; nothing of one */
bool report_put_trainings(struct report_page *page, struct error *error);
bool report_put_costs(struct report_page *page, struct error *error);
bool report_put_origins(struct report_page *page, struct error *error);

#endif
