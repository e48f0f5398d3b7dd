/* Pulseq files of version 1.4 (pulseq.github.io/specification.pdf; Layton et al., MRM 77, 2017): a 2-D
 * gradient echo that acquires one column of k-space after the other. Every block is on the raster of
 * gradients; a line is
 *
 *   excitation with slice selection | prephasing of readout, phase encoding, rephasing of the slice | wait
 * for TE | readout | spoiling of readout and slice, rewinding of the phase encoding | wait for TR
 *
 * The phase of excitation and readout goes by multiples of 117 degrees (RF spoiling). */
#include "engine/files/part.h"
#include "tools/exports/exports.h"

#include <math.h>
#include <string.h>

#define GAMMA 42.576e6    /* Hz/T */
#define RASTER 10e-6      /* s: of gradients and of blocks */
#define RF_RASTER 1e-6    /* s */
#define DWELL_RASTER 1e-7 /* s */
enum {
  RF_SAMPLES = 3000 /* of the pulse, on its raster */,
  LOBES = 4 /* its time-bandwidth product */,
  SPOIL = 117
};

struct trapezoid {
  double amplitude;       /* Hz/m */
  long rise, flat, delay; /* us */
};

struct sequence {
  const struct exported_mask *mask;
  const struct pulseq_plan *plan;
  FILE *file;
  size_t lines;
  double dwell;
  long rf_delay, rf_block, prephase, echo_wait, readout, spoil, repeat_wait; /* us: lengths of blocks */
  double pulse;                                                              /* amplitude, Hz */
  struct trapezoid slice, rephase, forward, read, end, slice_end;
};

/* Up to the next multiple of the raster, in us. */
static long raster_up(double seconds) {
  return 10 * (long)ceil(seconds / RASTER - 1e-6);
}

/* ---- gradients ----------------------------------------------------------------------------------------- */

/* The time, in us on the raster, of the ramp to an amplitude in Hz/m. */
static long ramp_of(const struct sequence *sequence, double amplitude) {
  long ramp = raster_up(fabs(amplitude) / (GAMMA * sequence->plan->slew));
  return ramp < 10 ? 10 : ramp;
}

/* The shortest trapezoid of the area (1/m) that the system plays. */
static struct trapezoid shortest(const struct sequence *sequence, double area) {
  double most = 0.98 * GAMMA * sequence->plan->gradient, slew = 0.98 * GAMMA * sequence->plan->slew;
  double peak = fmin(sqrt(fabs(area) * slew), most);
  struct trapezoid shape = {.rise = ramp_of(sequence, peak / 0.98)};
  double ramps = (double)shape.rise * 1e-6;
  shape.flat = raster_up(fmax(fabs(area) / most - ramps, 0));
  shape.amplitude = area / (ramps + (double)shape.flat * 1e-6);
  return shape;
}

static long length_of(const struct trapezoid *shape) {
  return shape->delay + 2 * shape->rise + shape->flat;
}

/* The same area over a longer time: ramps stay. */
static struct trapezoid stretched(struct trapezoid shape, double area, long length) {
  shape.flat = length - 2 * shape.rise;
  shape.amplitude = area / ((double)(shape.rise + shape.flat) * 1e-6);
  return shape;
}

static double area_of(const struct trapezoid *shape) {
  return shape->amplitude * (double)(shape->rise + shape->flat) * 1e-6;
}

/* ---- the plan ------------------------------------------------------------------------------------------ */

/* A sinc of four lobes under a Hann window, at 0 <= t < 1. */
static double envelope(double t) {
  double x = LOBES * (t - 0.5);
  return (0.5 + 0.5 * cos(2 * M_PI * (t - 0.5))) * (fabs(x) < 1e-9 ? 1 : sin(M_PI * x) / (M_PI * x));
}

/* What the plan alone says, before ramps are reckoned from it. */
static void plan_amplitudes(struct sequence *sequence) {
  const struct pulseq_plan *plan = sequence->plan;
  sequence->dwell = DWELL_RASTER * round(plan->dwell / DWELL_RASTER);
  sequence->read.amplitude = 1 / (plan->view * sequence->dwell);
  sequence->slice.amplitude = LOBES / (RF_SAMPLES * RF_RASTER) / plan->slice;
}

static bool check_limits(const struct sequence *sequence, struct error *error) {
  double most = GAMMA * sequence->plan->gradient;
  if (sequence->dwell <= 0)
    return fail_usage(
        error, "a dwell time of %.4g us is none on the raster of %.4g us; set --dwell to that at least",
        sequence->plan->dwell * 1e6, DWELL_RASTER * 1e6);
  if (sequence->slice.amplitude > most)
    return fail_usage(
        error,
        "a slice of %.4g mm needs a gradient of %.4g mT/m, and --max-gradient is %.4g; take a thicker one",
        sequence->plan->slice * 1000, sequence->slice.amplitude / GAMMA * 1000,
        sequence->plan->gradient * 1000);
  if (sequence->read.amplitude <= most) return true;
  return fail_usage(
      error,
      "a dwell time of %.4g us needs a gradient of %.4g mT/m, and --max-gradient is %.4g; take a longer one",
      sequence->dwell * 1e6, sequence->read.amplitude / GAMMA * 1000, sequence->plan->gradient * 1000);
}

static void plan_pulse(struct sequence *sequence) {
  const struct pulseq_plan *plan = sequence->plan;
  double sum = 0, length = RF_SAMPLES * RF_RASTER;
  for (int i = 0; i < RF_SAMPLES; i++) sum += envelope((i + 0.5) / RF_SAMPLES) * RF_RASTER;
  sequence->pulse = plan->flip / 360 / sum;
  sequence->slice.rise = ramp_of(sequence, sequence->slice.amplitude);
  sequence->slice.flat = raster_up(length + plan->rf_ringdown);
  long dead = raster_up(plan->rf_dead);
  sequence->slice.delay = dead > sequence->slice.rise ? dead - sequence->slice.rise : 0;
  sequence->rf_delay = sequence->slice.delay + sequence->slice.rise;
  sequence->rf_block = length_of(&sequence->slice);
}

/* Samples begin with the flat top; the one of index height / 2 lies at the echo. */
static void plan_readout(struct sequence *sequence) {
  const struct pulseq_plan *plan = sequence->plan;
  double samples = (double)sequence->mask->height;
  sequence->read.rise = ramp_of(sequence, sequence->read.amplitude);
  long dead = raster_up(plan->adc_dead);
  sequence->read.delay = dead > sequence->read.rise ? dead - sequence->read.rise : 0;
  sequence->read.flat = raster_up(samples * sequence->dwell + plan->adc_dead);
  sequence->readout = length_of(&sequence->read);
}

/* From the beginning of the ramp to the middle of sample height / 2. */
static double area_before(const struct sequence *sequence) {
  double samples = floor((double)sequence->mask->height / 2) + 0.5;
  return sequence->read.amplitude * ((double)sequence->read.rise * 1e-6 / 2 + samples * sequence->dwell);
}

static long longest(long a, long b) {
  return a > b ? a : b;
}

/* Gradients between the pulse and the readout, and after it, each as long as the longest of its block. */
static void plan_between(struct sequence *sequence) {
  const struct pulseq_plan *plan = sequence->plan;
  double most = (double)(sequence->mask->width / 2) / plan->view, slice = area_of(&sequence->slice);
  double ramp = sequence->slice.amplitude * (double)sequence->slice.rise * 1e-6 / 2;
  double after =
      ramp + sequence->slice.amplitude * ((double)sequence->slice.flat * 1e-6 - RF_SAMPLES * RF_RASTER / 2);
  struct trapezoid phase = shortest(sequence, most);
  sequence->forward = shortest(sequence, area_before(sequence));
  sequence->rephase = shortest(sequence, after);
  sequence->prephase =
      longest(longest(length_of(&phase), length_of(&sequence->forward)), length_of(&sequence->rephase));
  sequence->forward = stretched(sequence->forward, -area_before(sequence), sequence->prephase);
  sequence->rephase = stretched(sequence->rephase, -after, sequence->prephase);
  double spoil = 2 * (double)sequence->mask->height / plan->view;
  sequence->end = shortest(sequence, spoil);
  sequence->slice_end = shortest(sequence, 2 * slice);
  sequence->spoil =
      longest(longest(length_of(&phase), length_of(&sequence->end)), length_of(&sequence->slice_end));
  sequence->end = stretched(sequence->end, spoil, sequence->spoil);
  sequence->slice_end = stretched(sequence->slice_end, 2 * slice, sequence->spoil);
}

/* The middle of the pulse to that of the echo, and from line to line. */
static bool plan_waits(struct sequence *sequence, struct error *error) {
  const struct pulseq_plan *plan = sequence->plan;
  double pulse = (double)sequence->rf_block - (double)sequence->rf_delay - RF_SAMPLES * RF_RASTER * 1e6 / 2;
  double echo = (double)(sequence->read.delay + sequence->read.rise) +
                (floor((double)sequence->mask->height / 2) + 0.5) * sequence->dwell * 1e6;
  double least = pulse + (double)sequence->prephase + echo, wanted = plan->echo * 1e6;
  sequence->echo_wait = 10 * lround((wanted - least) / 10);
  if (wanted < least - 5)
    return fail_usage(error,
                      "an echo time of %.4g ms is too short: these gradients and this readout take %.4g ms; "
                      "set --te to at least that, or a shorter "
                      "--dwell",
                      wanted / 1000, ceil(least / 10) / 100);
  if (sequence->echo_wait < 0) sequence->echo_wait = 0;
  long taken =
      sequence->rf_block + sequence->prephase + sequence->echo_wait + sequence->readout + sequence->spoil;
  sequence->repeat_wait = 10 * lround(plan->repetition * 1e5) - taken;
  if (sequence->repeat_wait >= 0) return true;
  return fail_usage(
      error, "a repetition time of %.4g ms is too short: a line takes %.4g ms; set --tr to at least that",
      plan->repetition * 1000, (double)taken / 1000);
}

/* ---- the file ------------------------------------------------------------------------------------------ */

/* Events are numbered: pulses and readouts of a line have its number, for their phases differ; trapezoids 1
 * to 6 are those of all lines, and those of line n are 2 n + 7 (encoding) and 2 n + 8 (rewinding). */
enum { SLICE = 1, REPHASE, FORWARD, READ, END, SLICE_END, FIRST_PHASE };

static double phase_of(size_t line) {
  return fmod(SPOIL * (double)(line * (line + 1) / 2), 360) * M_PI / 180;
}

static double encoding_of(const struct sequence *sequence, size_t line) {
  return ((double)sequence->mask->order[line] - (double)(sequence->mask->width / 2)) / sequence->plan->view;
}

static void write_definitions(const struct sequence *sequence) {
  const struct pulseq_plan *plan = sequence->plan;
  fprintf(sequence->file,
          "# Pulseq sequence file\n# Created by l2sr %s from %s\n\n[VERSION]\nmajor 1\nminor 4\nrevision "
          "0\n\n[DEFINITIONS]\n"
          "AdcRasterTime 1e-07 \nBlockDurationRaster 1e-05 \nEchoTime %.9g \nFOV %.9g %.9g %.9g "
          "\nGradientRasterTime 1e-05 \nName gre_l2sr \n"
          "RadiofrequencyRasterTime 1e-06 \nRepetitionTime %.9g \nTotalDuration %.9g \n\n",
          L2SR_VERSION, sequence->mask->of, plan->echo, plan->view, plan->view, plan->slice, plan->repetition,
          plan->repetition * (double)sequence->lines);
}

static void write_block(const struct sequence *sequence, size_t *number, long length, size_t rf, size_t x,
                        size_t y, size_t z, size_t adc) {
  if (length)
    fprintf(sequence->file, "%zu %ld %zu %zu %zu %zu %zu 0\n", ++*number, length / 10, rf, x, y, z, adc);
}

static void write_blocks(const struct sequence *sequence) {
  size_t number = 0;
  fprintf(sequence->file, "# Format of blocks:\n# NUM DUR RF  GX  GY  GZ  ADC  EXT\n[BLOCKS]\n");
  for (size_t line = 0; line < sequence->lines; line++) {
    bool middle = encoding_of(sequence, line) == 0;
    size_t phase = middle ? 0 : FIRST_PHASE + 2 * line;
    write_block(sequence, &number, sequence->rf_block, line + 1, 0, 0, SLICE, 0);
    write_block(sequence, &number, sequence->prephase, 0, FORWARD, phase, REPHASE, 0);
    write_block(sequence, &number, sequence->echo_wait, 0, 0, 0, 0, 0);
    write_block(sequence, &number, sequence->readout, 0, READ, 0, 0, line + 1);
    write_block(sequence, &number, sequence->spoil, 0, END, middle ? 0 : phase + 1, SLICE_END, 0);
    write_block(sequence, &number, sequence->repeat_wait, 0, 0, 0, 0, 0);
  }
}

static void write_trapezoid(const struct sequence *sequence, size_t number, struct trapezoid shape) {
  fprintf(sequence->file, "%zu %.12g %ld %ld %ld %ld\n", number, shape.amplitude, shape.rise, shape.flat,
          shape.rise, shape.delay);
}

static void write_gradients(const struct sequence *sequence) {
  struct trapezoid phase = shortest(sequence, (double)(sequence->mask->width / 2) / sequence->plan->view);
  fprintf(sequence->file, "\n# Format of trapezoid gradients:\n# id amplitude rise flat fall delay\n# ..  "
                          "Hz/m     us   us  us   us\n[TRAP]\n");
  write_trapezoid(sequence, SLICE, sequence->slice);
  write_trapezoid(sequence, REPHASE, sequence->rephase);
  write_trapezoid(sequence, FORWARD, sequence->forward);
  write_trapezoid(sequence, READ, sequence->read);
  write_trapezoid(sequence, END, sequence->end);
  write_trapezoid(sequence, SLICE_END, sequence->slice_end);
  for (size_t line = 0; line < sequence->lines; line++) {
    double area = encoding_of(sequence, line);
    if (area == 0) continue;
    write_trapezoid(sequence, FIRST_PHASE + 2 * line, stretched(phase, area, sequence->prephase));
    write_trapezoid(sequence, FIRST_PHASE + 2 * line + 1, stretched(phase, -area, sequence->spoil));
  }
}

static void write_events(const struct sequence *sequence) {
  fprintf(sequence->file, "\n# Format of RF events:\n# id amplitude mag_id phase_id time_shape_id delay freq "
                          "phase\n# ..        Hz   ....     "
                          "....          ....    us   Hz   rad\n[RF]\n");
  for (size_t line = 0; line < sequence->lines; line++)
    fprintf(sequence->file, "%zu %.12g 1 2 0 %ld 0 %.9g\n", line + 1, sequence->pulse, sequence->rf_delay,
            phase_of(line));
  write_gradients(sequence);
  fprintf(
      sequence->file,
      "\n# Format of ADC events:\n# id num dwell delay freq phase\n# ..  ..    ns    us   Hz   rad\n[ADC]\n");
  for (size_t line = 0; line < sequence->lines; line++)
    fprintf(sequence->file, "%zu %zu %.0f %ld 0 %.9g\n", line + 1, sequence->mask->height,
            sequence->dwell * 1e9, sequence->read.delay + sequence->read.rise, phase_of(line));
}

/* Magnitudes from 0 to 1, and phases in turns: where the envelope is negative, half of one. As many numbers
 * as samples are not compressed. */
static void write_shapes(const struct sequence *sequence) {
  fprintf(sequence->file, "\n# Sequence Shapes\n[SHAPES]\n\nshape_id 1\nnum_samples %d\n", RF_SAMPLES);
  for (int i = 0; i < RF_SAMPLES; i++)
    fprintf(sequence->file, "%.9g\n", fabs(envelope((i + 0.5) / RF_SAMPLES)));
  fprintf(sequence->file, "\nshape_id 2\nnum_samples %d\n", RF_SAMPLES);
  for (int i = 0; i < RF_SAMPLES; i++)
    fprintf(sequence->file, "%s\n", envelope((i + 0.5) / RF_SAMPLES) < 0 ? "0.5" : "0");
  fputc('\n', sequence->file);
}

bool export_pulseq(const char *path, const struct exported_mask *mask, const struct pulseq_plan *plan,
                   struct error *error) {
  struct sequence sequence = {.mask = mask, .plan = plan, .lines = mask->count};
  struct text_file file;
  if (!mask->columns || !mask->count)
    return fail_usage(
        error,
        "%s: a sequence acquires lines one after the other, and %s holds %s; write it as .npy, .cfl or .png",
        path, mask->of, mask->columns ? "no line" : "points or spokes");
  plan_amplitudes(&sequence);
  if (!check_limits(&sequence, error)) return false;
  plan_pulse(&sequence);
  plan_readout(&sequence);
  plan_between(&sequence);
  if (!plan_waits(&sequence, error) || !file_create(&file, path, error)) return false;
  sequence.file = file.file;
  write_definitions(&sequence);
  write_blocks(&sequence);
  write_events(&sequence);
  write_shapes(&sequence);
  return file_commit(&file, error);
}
