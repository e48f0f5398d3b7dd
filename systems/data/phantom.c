#include "systems/data/phantom.h"

#include "components/scan_shape.h"
#include "components/streams.h"
#include "engine/base/hash.h"
#include "engine/base/log.h"
#include "engine/base/random.h"
#include "engine/files/store.h"

#include <complex.h>
#include <math.h>
#include <string.h>

/* Coordinates: x to the right, y downwards, z through the slices; the stored image spans -1 to 1. */

enum { SPLITS = 3, AXIS_MOST = 1024, LATTICE = 32, SHAPES = 96, FIRST_FILE = 1000001 };

static const char *const split_names[SPLITS] = {"train", "val", "test"};

/* ---- tissues ------------------------------------------------------------------------------------------ */

struct look {
  float level, coarse, fine; /* brightness, and the relative depth of its slow and its fast texture */
};

/*  tissue     level, coarse, fine   the same with fat suppression */
#define TISSUES(X)                                                                                           \
  X(SKIN,      0.42f, 0.10f, 0.10f,  0.34f, 0.10f, 0.10f)                                                    \
  X(FAT,       0.74f, 0.20f, 0.16f,  0.15f, 0.30f, 0.30f)                                                    \
  X(MUSCLE,    0.34f, 0.20f, 0.30f,  0.40f, 0.20f, 0.28f)                                                    \
  X(FASCIA,    0.20f, 0.10f, 0,      0.26f, 0.10f, 0)                                                        \
  X(CORTEX,    0.06f, 0.10f, 0,      0.05f, 0.10f, 0)                                                        \
  X(MARROW,    0.66f, 0.16f, 0.18f,  0.17f, 0.20f, 0.40f)                                                    \
  X(CARTILAGE, 0.56f, 0.10f, 0.08f,  0.66f, 0.10f, 0.08f)                                                    \
  X(FLUID,     0.72f, 0.10f, 0,      0.95f, 0.10f, 0)                                                        \
  X(MENISCUS,  0.12f, 0.20f, 0,      0.14f, 0.20f, 0)                                                        \
  X(LIGAMENT,  0.14f, 0.30f, 0.20f,  0.12f, 0.30f, 0.20f)                                                    \
  X(VESSEL,    0.20f, 0.10f, 0,      0.85f, 0.10f, 0)                                                        \
  X(GREY,      0.72f, 0.08f, 0.08f,  0.55f, 0.09f, 0.08f)                                                    \
  X(WHITE,     0.55f, 0.07f, 0.06f,  0.38f, 0.08f, 0.08f)                                                    \
  X(CSF,       0.44f, 0.06f, 0,      0.92f, 0.06f, 0)                                                        \
  X(LESION,    0.48f, 0.20f, 0.10f,  0.72f, 0.20f, 0.10f)

enum tissue {
#define X(name, ...) name,
  TISSUES(X)
#undef X
      TISSUE_COUNT
};

static const struct look looks[][TISSUE_COUNT] = {
#define X(name, level, coarse, fine, ...) {level, coarse, fine},
    {TISSUES(X)},
#undef X
#define X(name, level, coarse, fine, ...) {__VA_ARGS__},
    {TISSUES(X)},
#undef X
};

struct contrast {
  const char *acquisition;
  double peak, noise; /* the stored image's peak; a factor of phantom.noise */
  const struct look *look;
};

static const struct contrast contrasts[] = {{"CORPD_FBK", 5e-4, 1, looks[0]},
                                            {"CORPDFS_FBK", 3e-4, 1.6, looks[1]}};

/* ---- anatomy ------------------------------------------------------------------------------------------ */

/* An ellipsoid (boxy: of the fourth power), painted over the shapes before it: its rim, then its inside. */
struct shape {
  enum tissue rim, inside;
  bool boxy, joins; /* joins: one body with the next shape, whose other fields then count */
  float thick;      /* the rim's thickness */
  float fold;       /* depth of the wavy surface */
  float ridge;      /* depth of the clefts in the surface */
  float soft, opacity;
  float centre[3], radius[3], angle; /* turned about z */
  float cosine, sine, reach;
};

#define BODY(outer, inner, width, ...)                                                                       \
  { .rim = outer, .inside = inner, .thick = width, .opacity = 1, __VA_ARGS__ }
#define AT(x, y, z) .centre = {x, y, z}
#define SIZE(x, y, z) .radius = {x, y, z}
#define JOINS .joins = true, .opacity = 1

/* A knee seen from the front: the thigh above, the calf below, the fibula on the right. */
static const struct shape knee[] = {
    {JOINS, AT(0, -1.7f, 0), SIZE(0.9f, 2.1f, 1)},
    {JOINS, AT(0, 0, 0), SIZE(0.78f, 1.4f, 0.85f)},
    BODY(SKIN, FAT, 0.035f, AT(0, 1.6f, 0), SIZE(0.78f, 2, 0.9f)),
    BODY(FASCIA, MUSCLE, 0.015f, AT(-0.48f, -1.05f, 0), SIZE(0.26f, 0.72f, 0.6f), .angle = 0.1f),
    BODY(FASCIA, MUSCLE, 0.015f, AT(0.5f, -1.1f, 0.1f), SIZE(0.28f, 0.74f, 0.6f), .angle = -0.1f),
    BODY(FASCIA, MUSCLE, 0.015f, AT(-0.44f, 1.2f, -0.1f), SIZE(0.26f, 0.7f, 0.6f), .angle = -0.06f),
    BODY(FASCIA, MUSCLE, 0.015f, AT(0.47f, 1.25f, 0), SIZE(0.24f, 0.75f, 0.6f), .angle = 0.05f),
    BODY(FASCIA, MUSCLE, 0.015f, AT(0, -1.3f, 0), SIZE(0.36f, 0.72f, 0.42f)),
    BODY(FASCIA, MUSCLE, 0.015f, AT(0.05f, 1.35f, 0.1f), SIZE(0.34f, 0.62f, 0.42f)),
    BODY(LIGAMENT, FLUID, 0.012f, AT(0, 0.06f, 0), SIZE(0.63f, 0.13f, 0.5f)),
    {JOINS, AT(-0.29f, -0.26f, 0), SIZE(0.32f, 0.32f, 0.57f)},
    BODY(CARTILAGE, CARTILAGE, 0, AT(0.29f, -0.26f, 0), SIZE(0.32f, 0.32f, 0.57f)),
    BODY(CARTILAGE, CARTILAGE, 0, AT(0, 0.29f, 0), SIZE(0.57f, 0.185f, 0.52f), .boxy = true),
    {JOINS, AT(0, -1.35f, 0), SIZE(0.23f, 1.25f, 0.46f)},
    {JOINS, AT(0, -0.55f, 0), SIZE(0.46f, 0.3f, 0.5f)},
    {JOINS, AT(-0.29f, -0.31f, 0), SIZE(0.33f, 0.32f, 0.6f)},
    BODY(CORTEX, MARROW, 0.022f, AT(0.29f, -0.31f, 0), SIZE(0.33f, 0.32f, 0.6f)),
    {JOINS, AT(0, 1.5f, 0), SIZE(0.24f, 1.2f, 0.46f)},
    {JOINS, AT(0, 0.58f, 0), SIZE(0.47f, 0.32f, 0.52f)},
    BODY(CORTEX, MARROW, 0.022f, AT(0, 0.34f, 0), SIZE(0.6f, 0.18f, 0.56f), .boxy = true),
    {JOINS, AT(0.53f, 1.5f, -0.1f), SIZE(0.07f, 0.9f, 0.2f)},
    BODY(CORTEX, MARROW, 0.024f, AT(0.54f, 0.78f, -0.1f), SIZE(0.11f, 0.15f, 0.3f)),
    BODY(CORTEX, CORTEX, 0, AT(0, -0.6f, 0), SIZE(0.36f, 0.013f, 0.9f), .soft = 0.02f),
    BODY(CORTEX, CORTEX, 0, AT(0, 0.6f, 0), SIZE(0.34f, 0.012f, 0.9f), .soft = 0.02f),
    BODY(FLUID, FAT, 0.02f, AT(0, -0.06f, -0.1f), SIZE(0.11f, 0.2f, 0.5f)),
    BODY(LIGAMENT, LIGAMENT, 0, AT(0.03f, -0.03f, 0.1f), SIZE(0.03f, 0.21f, 0.35f), .angle = 0.5f),
    BODY(LIGAMENT, LIGAMENT, 0, AT(-0.04f, 0, -0.25f), SIZE(0.04f, 0.2f, 0.25f), .angle = -0.35f),
    BODY(MENISCUS, MENISCUS, 0, AT(-0.5f, 0.07f, 0), SIZE(0.15f, 0.05f, 0.5f)),
    BODY(MENISCUS, MENISCUS, 0, AT(0.5f, 0.07f, 0), SIZE(0.15f, 0.05f, 0.5f)),
    BODY(LIGAMENT, LIGAMENT, 0, AT(-0.655f, 0.05f, 0), SIZE(0.018f, 0.5f, 0.35f), .angle = 0.04f),
    BODY(LIGAMENT, LIGAMENT, 0, AT(0.655f, 0.08f, -0.1f), SIZE(0.018f, 0.55f, 0.3f), .angle = 0.06f),
};

static const struct shape head[] = {
    BODY(SKIN, FAT, 0.03f, AT(0, 0, 0), SIZE(0.8f, 0.94f, 1.1f)),
    BODY(CORTEX, MARROW, 0.024f, AT(0, 0, 0), SIZE(0.735f, 0.875f, 1)),
    BODY(CORTEX, CSF, 0.02f, AT(0, 0, 0), SIZE(0.675f, 0.815f, 0.95f)),
    BODY(GREY, GREY, 0, .fold = 0.02f, .ridge = 0.2f, AT(0, 0, 0), SIZE(0.64f, 0.78f, 0.9f)),
    BODY(WHITE, WHITE, 0, .fold = 0.17f, .ridge = 0.26f, AT(0, 0, 0), SIZE(0.57f, 0.71f, 0.8f)),
    BODY(CSF, CSF, 0, AT(0, -0.56f, 0), SIZE(0.011f, 0.26f, 0.8f)),
    BODY(CSF, CSF, 0, AT(0, 0.58f, 0), SIZE(0.011f, 0.24f, 0.8f)),
    BODY(GREY, GREY, 0, AT(-0.21f, 0, 0), SIZE(0.1f, 0.17f, 0.35f), .angle = 0.3f, .soft = 0.03f),
    BODY(GREY, GREY, 0, AT(0.21f, 0, 0), SIZE(0.1f, 0.17f, 0.35f), .angle = -0.3f, .soft = 0.03f),
    BODY(GREY, GREY, 0, AT(-0.09f, 0.12f, 0), SIZE(0.08f, 0.11f, 0.3f), .soft = 0.03f),
    BODY(GREY, GREY, 0, AT(0.09f, 0.12f, 0), SIZE(0.08f, 0.11f, 0.3f), .soft = 0.03f),
    BODY(GREY, CSF, 0.01f, AT(-0.09f, -0.17f, 0), SIZE(0.045f, 0.17f, 0.45f), .angle = -0.3f),
    BODY(GREY, CSF, 0.01f, AT(0.09f, -0.17f, 0), SIZE(0.045f, 0.17f, 0.45f), .angle = 0.3f),
    BODY(GREY, CSF, 0.01f, AT(-0.2f, 0.3f, 0), SIZE(0.045f, 0.17f, 0.4f), .angle = 0.4f),
    BODY(GREY, CSF, 0.01f, AT(0.2f, 0.3f, 0), SIZE(0.045f, 0.17f, 0.4f), .angle = -0.4f),
    BODY(CSF, CSF, 0, AT(0, 0.1f, 0), SIZE(0.014f, 0.09f, 0.3f)),
};

/* Tissues of the random bodies in each. */
static const enum tissue knee_bodies[] = {FAT, MUSCLE, VESSEL, FASCIA, MARROW, FLUID, LIGAMENT, VESSEL};
static const enum tissue head_bodies[] = {WHITE, GREY, CSF, VESSEL, GREY, WHITE};

/* Values on a periodic lattice, interpolated: a band-limited random field. */
struct field {
  float value[LATTICE][LATTICE][LATTICE];
};

struct anatomy {
  struct shape shape[SHAPES];
  int count;
  struct field field;
};

static float draw(struct random *random, double low, double high) {
  return (float)(low + (high - low) * random_uniform(random));
}

static void finish_shape(struct shape *shape) {
  float longest = fmaxf(shape->radius[0], fmaxf(shape->radius[1], shape->radius[2]));
  shape->cosine = cosf(shape->angle);
  shape->sine = sinf(shape->angle);
  shape->reach = (shape->boxy ? 1.4f : 1) * longest + shape->soft + shape->fold + shape->ridge + 0.1f;
}

/* The atlas with sizes and places of this patient. Left and right change sides in half of them. */
static void build_atlas(struct anatomy *anatomy, const struct shape *atlas, size_t count,
                        struct random *random) {
  float size = draw(random, 0.92, 1.04), broad = draw(random, 0.95, 1.06);
  float side = random_uniform(random) < 0.5 ? -1 : 1;
  for (size_t i = 0; i < count; i++) {
    struct shape *shape = &anatomy->shape[anatomy->count++];
    *shape = atlas[i];
    float grow = size * draw(random, 0.97, 1.03);
    for (int k = 0; k < 3; k++) {
      shape->radius[k] *= grow * (k ? 1 : broad);
      shape->centre[k] = size * (k ? 1 : broad) * shape->centre[k] + draw(random, -0.008, 0.008);
    }
    shape->centre[0] *= side;
    shape->angle = side * shape->angle + draw(random, -0.02, 0.02);
    finish_shape(shape);
  }
}

static void add_body(struct anatomy *anatomy, enum tissue tissue, double least, double most,
                     struct random *random) {
  struct shape *shape = &anatomy->shape[anatomy->count++];
  double around = draw(random, 0, 6.2832), away = sqrt(random_uniform(random));
  float round = draw(random, least, most);
  *shape = (struct shape){.rim = tissue, .inside = tissue};
  shape->soft = draw(random, 0.01, 0.05);
  shape->opacity = draw(random, 0.4, 0.9);
  shape->centre[0] = (float)(0.58 * away * cos(around));
  shape->centre[1] = (float)(0.75 * away * sin(around));
  shape->centre[2] = draw(random, -0.5, 0.5);
  for (int k = 0; k < 3; k++) shape->radius[k] = round * draw(random, 0.6, 1.6);
  shape->radius[2] *= 2; /* slices are thick: a body shows in several */
  shape->angle = draw(random, 0, 3.1416);
  finish_shape(shape);
}

static void build_anatomy(struct anatomy *anatomy, struct random *random) {
  bool is_head = random_uniform(random) < 0.3;
  const enum tissue *bodies = is_head ? head_bodies : knee_bodies;
  uint32_t kinds =
      is_head ? sizeof head_bodies / sizeof *head_bodies : sizeof knee_bodies / sizeof *knee_bodies;
  anatomy->count = 0;
  if (is_head)
    build_atlas(anatomy, head, sizeof head / sizeof *head, random);
  else
    build_atlas(anatomy, knee, sizeof knee / sizeof *knee, random);
  uint32_t count = 8 + random_u32(random) % 13, lesions = 1 + random_u32(random) % 4;
  for (uint32_t i = 0; i < count; i++)
    add_body(anatomy, bodies[random_u32(random) % kinds], 0.015, 0.06, random);
  for (uint32_t i = 0; i < lesions; i++) add_body(anatomy, LESION, 0.025, 0.06, random);
  float *value = &anatomy->field.value[0][0][0];
  for (int i = 0; i < LATTICE * LATTICE * LATTICE; i++) value[i] = draw(random, -1, 1);
}

/* A large one, painted over all else, which shows in half of the slices. */
static void add_lesion(struct anatomy *anatomy, struct random *random) {
  struct shape *shape = &anatomy->shape[anatomy->count++];
  *shape = (struct shape){.rim = LESION, .inside = FLUID, .thick = 0.03f, .soft = 0.02f, .opacity = 0.9f};
  shape->centre[0] = draw(random, -0.4, 0.4);
  shape->centre[1] = draw(random, -0.5, 0.5);
  shape->centre[2] = draw(random, -0.25, 0.25);
  for (int k = 0; k < 2; k++) shape->radius[k] = draw(random, 0.09, 0.16);
  shape->radius[2] = draw(random, 0.22, 0.34);
  shape->angle = draw(random, 0, 3.1416);
  finish_shape(shape);
}

/* ---- drawing ------------------------------------------------------------------------------------------ */

static float mix(float a, float b, float fraction) {
  return a + (b - a) * fraction;
}

/* The field at a point in lattice units: smooth, between -1 and 1. */
static float field_at(const struct field *field, float x, float y, float z) {
  float at[3] = {z, y, x}, fraction[3], line[4];
  unsigned low[3], high[3];
  for (int k = 0; k < 3; k++) {
    float whole = floorf(at[k]), part = at[k] - whole;
    low[k] = (unsigned)(int)whole % LATTICE;
    high[k] = (low[k] + 1) % LATTICE;
    fraction[k] = part * part * (3 - 2 * part);
  }
  for (int i = 0; i < 4; i++) {
    const float *row = field->value[i & 2 ? high[0] : low[0]][i & 1 ? high[1] : low[1]];
    line[i] = mix(row[low[2]], row[high[2]], fraction[2]);
  }
  return mix(mix(line[0], line[1], fraction[1]), mix(line[2], line[3], fraction[1]), fraction[0]);
}

/* Distance to the surface, negative inside: to first order, so exact near the edge, where it counts. */
static float distance(const struct shape *shape, const float point[3]) {
  float x = point[0] - shape->centre[0], y = point[1] - shape->centre[1], z = point[2] - shape->centre[2];
  float square = x * x + y * y + z * z;
  if (square > shape->reach * shape->reach) return sqrtf(square) - shape->reach + 0.1f;
  float local[3] = {shape->cosine * x + shape->sine * y, shape->cosine * y - shape->sine * x, z};
  float sum = 1e-12f, slope = 1e-12f, box = -1e3f;
  for (int k = 0; k < 3; k++) {
    float fraction = local[k] / shape->radius[k],
          power = shape->boxy ? fraction * fraction * fraction : fraction;
    sum += power * fraction;
    slope += power * power / (shape->radius[k] * shape->radius[k]);
    box = fmaxf(box, fabsf(local[k]) - shape->radius[k]);
  }
  float value = shape->boxy ? sqrtf(sqrtf(sum)) : sqrtf(sum);
  float lift = shape->boxy ? value * value * value : value; /* the slope of value is that of sum over this */
  return fmaxf((value - 1) * lift / sqrtf(slope), box); /* the box: beyond the ends of thin shapes */
}

/* The two joined with a fillet. */
static float join(float a, float b) {
  const float round = 0.08f;
  float near = fmaxf(round - fabsf(a - b), 0) / round;
  return fminf(a, b) - 0.25f * round * near * near;
}

/* How much of a pixel of this width is inside the edge. */
static float coverage(float distance, float width) {
  float fraction = fminf(fmaxf(0.5f - distance / width, 0), 1);
  return fraction * fraction * (3 - 2 * fraction);
}

static void paint(struct look *look, const struct look *tissue, float fraction) {
  look->level = mix(look->level, tissue->level, fraction);
  look->coarse = mix(look->coarse, tissue->coarse, fraction);
  look->fine = mix(look->fine, tissue->fine, fraction);
}

static float folded(const struct anatomy *anatomy, const struct shape *shape, const float p[3]) {
  float depth = 0;
  if (shape->fold > 0) depth += shape->fold * field_at(&anatomy->field, 10 * p[0], 10 * p[1], 6 * p[2]);
  if (shape->ridge > 0) {
    float height = fabsf(field_at(&anatomy->field, 6.5f * p[0] + 7, 6.5f * p[1] + 3, 4 * p[2] + 5));
    depth += shape->ridge * fmaxf(0, 1 - 7 * height);
  }
  return depth;
}

/* Brightness at a point of the body; `pixel` is the width of a pixel. */
static float tissue_at(const struct anatomy *anatomy, const struct contrast *contrast, const float p[3],
                       float pixel) {
  struct look look = {0};
  float body = 1e3f;
  for (int i = 0; i < anatomy->count; i++) {
    const struct shape *shape = &anatomy->shape[i];
    body = join(body, distance(shape, p));
    if (shape->joins) continue;
    float width = 1.5f * pixel + shape->soft, edge = body;
    body = 1e3f;
    if (edge > width) {
      if (look.level == 0) return 0; /* the first body is the outline */
      continue;
    }
    edge += folded(anatomy, shape, p);
    paint(&look, &contrast->look[shape->rim], shape->opacity * coverage(edge, width));
    paint(&look, &contrast->look[shape->inside], shape->opacity * coverage(edge + shape->thick, width));
  }
  float coarse = field_at(&anatomy->field, 5 * p[0], 4 * p[1], 4 * p[2] + 11);
  float fine = field_at(&anatomy->field, 26 * p[0] + 14 * p[1], 17 * p[1] - 21 * p[0], 8 * p[2] + 17);
  return look.level * (1 + look.coarse * coarse + look.fine * fine);
}

/* How the patient lies, and what the scanner makes of the body. */
struct scan {
  float shift[2], cosine, sine;
  float shade[3];  /* slopes of the bias field: rightwards, downwards, random */
  double phase[6]; /* polynomial of second order */
};

static void draw_scan(struct scan *scan, struct random *random) {
  float turn = draw(random, -0.06, 0.06);
  scan->cosine = cosf(turn);
  scan->sine = sinf(turn);
  for (int k = 0; k < 2; k++) scan->shift[k] = draw(random, -0.04, 0.04);
  for (int k = 0; k < 2; k++) scan->shade[k] = draw(random, -0.15, 0.15);
  scan->shade[2] = draw(random, 0.1, 0.25);
  for (int k = 0; k < 6; k++) scan->phase[k] = draw(random, -1, 1) * (k ? 0.6 : 3);
}

/* Brightness of the bias field: smooth, and falling off where the receive coil ends. */
static float bias_at(const struct scan *scan, const struct field *field, float x, float y, float z) {
  float end = y * y / (1.35f * 1.35f);
  float shade = 1 + scan->shade[0] * x + scan->shade[1] * y + 0.15f * x * x;
  shade += scan->shade[2] * field_at(field, 0.8f * x + 20, 0.8f * y + 20, 0.8f * z + 20);
  return shade / (1 + end * end * end);
}

struct grid {
  size_t rows, columns;
  size_t height, width; /* of the stored images */
  float pixel;
};

/* The anatomy fills it. */
static size_t shorter_side(size_t height, size_t width) {
  return height < width ? height : width;
}

static void draw_slice(const struct grid *grid, const struct anatomy *anatomy,
                       const struct contrast *contrast, const struct scan *scan, float z, float *image) {
  for (size_t i = 0; i < grid->rows; i++)
    for (size_t j = 0; j < grid->columns; j++) {
      float x = grid->pixel * ((float)j - (float)(grid->columns / 2)) - scan->shift[0];
      float y = grid->pixel * ((float)i - (float)(grid->rows / 2)) - scan->shift[1];
      float p[3] = {scan->cosine * x + scan->sine * y, scan->cosine * y - scan->sine * x, z};
      float bend_x = field_at(&anatomy->field, 1.6f * p[0], 1.6f * p[1], z);
      float bend_y = field_at(&anatomy->field, 1.6f * p[0], 1.6f * p[1] + 13, z);
      p[0] += 0.045f * bend_x; /* no two patients have the same shape */
      p[1] += 0.045f * bend_y;
      float level = tissue_at(anatomy, contrast, p, grid->pixel);
      image[i * grid->columns + j] = level * bias_at(scan, &anatomy->field, x, y, z);
    }
}

/* ---- centred orthonormal transform, any length --------------------------------------------------------- */

struct plan {
  const struct grid *grid;
  double complex *root[2]; /* roots of unity, for lines along the rows axis and along the columns axis */
  double complex *in, *out;
};

static void build_plan(struct plan *plan, const struct grid *grid, struct arena *arena) {
  *plan = (struct plan){.grid = grid};
  plan->in = ARENA_NEW(arena, double complex, AXIS_MOST);
  plan->out = ARENA_NEW(arena, double complex, AXIS_MOST);
  for (int axis = 0; axis < 2; axis++) {
    size_t n = axis ? grid->columns : grid->rows;
    plan->root[axis] = ARENA_NEW(arena, double complex, n);
    for (size_t k = 0; k < n; k++) plan->root[axis][k] = cexp(-2 * M_PI * I * (double)k / (double)n);
  }
}

static size_t smallest_factor(size_t n) {
  for (size_t p = 2; p * p <= n; p++)
    if (n % p == 0) return p;
  return n;
}

/* Transforms n numbers `stride` apart: p shorter transforms, joined, p being the smallest factor of n. The
 * roots are those of length n * stride. */
static void transform_line(const double complex *root, size_t n, size_t stride, const double complex *in,
                           double complex *out) {
  double complex joined[AXIS_MOST];
  size_t p = smallest_factor(n), m = n / p;
  if (n == 1) {
    *out = *in;
    return;
  }
  for (size_t r = 0; r < p; r++) transform_line(root, m, stride * p, in + r * stride, out + r * m);
  for (size_t k = 0; k < m; k++) {
    for (size_t q = 0; q < p; q++) {
      size_t step = (k + q * m) * stride, at = 0;
      joined[q] = 0;
      for (size_t r = 0; r < p; r++) {
        joined[q] += root[at] * out[r * m + k];
        at = at + step >= n * stride ? at + step - n * stride : at + step;
      }
    }
    for (size_t q = 0; q < p; q++) out[k + q * m] = joined[q];
  }
}

/* All lines of an axis in place; index n/2 is the origin on both sides. */
static void transform_axis(struct plan *plan, int axis, double complex *plane) {
  const struct grid *grid = plan->grid;
  size_t n = axis ? grid->columns : grid->rows, lines = axis ? grid->rows : grid->columns;
  size_t step = axis ? 1 : grid->columns, between = axis ? grid->columns : 1;
  double scale = 1 / sqrt((double)n);
  for (size_t line = 0; line < lines; line++) {
    double complex *first = plane + line * between;
    for (size_t i = 0; i < n; i++) plan->in[(i + n - n / 2) % n] = first[i * step];
    transform_line(plan->root[axis], n, 1, plan->in, plan->out);
    for (size_t i = 0; i < n; i++) first[(i + n / 2) % n * step] = scale * plan->out[i];
  }
}

static void transform_plane(struct plan *plan, double complex *plane) {
  transform_axis(plan, 0, plane);
  transform_axis(plan, 1, plane);
}

/* ---- measuring ---------------------------------------------------------------------------------------- */

struct volume {
  struct grid grid;
  size_t slices, coils;
  size_t left, right; /* measured columns are in [left, right); the others hold zeros */
  const struct contrast *contrast;
  struct scan scan;
  struct anatomy *anatomy;
  const struct shape *lesion; /* the large one; NULL: there is none */
  float *image;          /* [slices][rows][columns] the body without phase, coils and noise */
  float complex *coil;   /* [coils][rows][columns] sensitivities */
  float complex *kspace; /* [slices][coils][rows][columns] */
  float *target;         /* [slices][height][width] */
};

/* Coils on a ring around the body; their root sum of squares is 1 everywhere. One coil sees all alike. */
static void draw_coils(struct volume *volume, struct random *random) {
  const struct grid *grid = &volume->grid;
  size_t plane = grid->rows * grid->columns;
  for (size_t c = 0; c < volume->coils; c++) {
    double around = 2 * M_PI * ((double)c + 0.3 * draw(random, -1, 1)) / (double)volume->coils;
    double x0 = 1.3 * cos(around), y0 = 1.3 * sin(around), turn = draw(random, -3, 3);
    double wave[2] = {draw(random, -0.8, 0.8), draw(random, -0.8, 0.8)};
    for (size_t i = 0; i < plane; i++) {
      double x = grid->pixel * ((double)(i % grid->columns) - (double)(grid->columns / 2));
      double y = grid->pixel * ((double)(i / grid->columns) - (double)(grid->rows / 2));
      double square = (x - x0) * (x - x0) + (y - y0) * (y - y0);
      double complex phase = cexp(I * (turn + wave[0] * x + wave[1] * y));
      volume->coil[c * plane + i] = (float complex)(phase / (0.3 + square));
    }
  }
  for (size_t i = 0; i < plane; i++) {
    double sum = 0;
    for (size_t c = 0; c < volume->coils; c++) sum += pow(cabs(volume->coil[c * plane + i]), 2);
    for (size_t c = 0; c < volume->coils; c++) volume->coil[c * plane + i] /= (float)sqrt(sum);
  }
}

static double phase_at(const struct scan *scan, double x, double y, double z) {
  const double *a = scan->phase;
  return a[0] + a[1] * x + a[2] * y + a[3] * x * x + a[4] * x * y + a[5] * y * y + a[1] * z;
}

static float slice_place(const struct volume *volume, size_t slice) {
  return 0.9f * (((float)slice + 0.5f) / (float)volume->slices - 0.5f);
}

/* The largest pixel that a reconstruction without noise would have. */
static double brightest(const struct volume *volume) {
  const struct grid *grid = &volume->grid;
  size_t top = (grid->rows - grid->height) / 2, left = (grid->columns - grid->width) / 2;
  float most = 1e-6f;
  for (size_t s = 0; s < volume->slices; s++)
    for (size_t i = 0; i < grid->height; i++)
      for (size_t j = 0; j < grid->width; j++)
        most = fmaxf(most, volume->image[(s * grid->rows + top + i) * grid->columns + left + j]);
  return most;
}

/* One slice as one coil receives it: phase, sensitivity, transform, noise. */
static void measure_plane(const struct volume *volume, struct plan *plan, size_t slice, size_t coil,
                          double gain, double noise, struct random *random, double complex *work) {
  const struct grid *grid = &volume->grid;
  size_t plane = grid->rows * grid->columns;
  float complex *kspace = volume->kspace + (slice * volume->coils + coil) * plane;
  for (size_t i = 0; i < plane; i++) {
    double x = grid->pixel * ((double)(i % grid->columns) - (double)(grid->columns / 2));
    double y = grid->pixel * ((double)(i / grid->columns) - (double)(grid->rows / 2));
    double complex phase = cexp(I * phase_at(&volume->scan, x, y, slice_place(volume, slice)));
    work[i] = gain * (double)volume->image[slice * plane + i] * phase * volume->coil[coil * plane + i];
  }
  transform_plane(plan, work);
  for (size_t i = 0; i < plane; i++) {
    double real = noise * random_normal(random), imaginary = noise * random_normal(random);
    bool measured = i % grid->columns >= volume->left && i % grid->columns < volume->right;
    kspace[i] = measured ? (float complex)(work[i] + real + I * imaginary) : 0;
  }
}

/* Adds the squared magnitude of one coil's image. The forward transform of the conjugate is the conjugate of
 * the inverse transform, which has the same magnitude. */
static void reconstruct_plane(const struct volume *volume, struct plan *plan, const float complex *kspace,
                              double complex *work, double *sum) {
  const struct grid *grid = &volume->grid;
  size_t top = (grid->rows - grid->height) / 2, left = (grid->columns - grid->width) / 2;
  for (size_t i = 0; i < grid->rows * grid->columns; i++) work[i] = conj(kspace[i]);
  transform_plane(plan, work);
  for (size_t i = 0; i < grid->height; i++)
    for (size_t j = 0; j < grid->width; j++) {
      double complex pixel = work[(top + i) * grid->columns + left + j];
      sum[i * grid->width + j] += creal(pixel) * creal(pixel) + cimag(pixel) * cimag(pixel);
    }
}

static void measure(struct volume *volume, double noise, struct random *random, struct arena *arena) {
  const struct grid *grid = &volume->grid;
  size_t plane = grid->rows * grid->columns, pixels = grid->height * grid->width;
  struct plan plan;
  double complex *work = ARENA_NEW(arena, double complex, plane);
  double *sum = ARENA_NEW(arena, double, pixels), gain = volume->contrast->peak / brightest(volume);
  build_plan(&plan, grid, arena);
  noise *= volume->contrast->noise * volume->contrast->peak;
  for (size_t s = 0; s < volume->slices; s++) {
    memset(sum, 0, pixels * sizeof *sum);
    for (size_t c = 0; c < volume->coils; c++) {
      measure_plane(volume, &plan, s, c, gain, noise, random, work);
      reconstruct_plane(volume, &plan, volume->kspace + (s * volume->coils + c) * plane, work, sum);
    }
    for (size_t i = 0; i < pixels; i++) volume->target[s * pixels + i] = (float)sqrt(sum[i]);
  }
}

/* ---- files -------------------------------------------------------------------------------------------- */

static bool write_header(const struct volume *volume, struct store *store, struct arena *arena,
                         struct error *error) {
  const struct grid *grid = &volume->grid;
  double shorter = (double)shorter_side(grid->height, grid->width); /* 140 mm */
  const char *text = arena_text(
      arena,
      "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n"
      "<ismrmrdHeader xmlns=\"http://www.ismrm.org/ISMRMRD\"><studyInformation/>"
      "<acquisitionSystemInformation>"
      "<receiverChannels>%zu</receiverChannels></acquisitionSystemInformation><experimentalConditions>"
      "<H1resonanceFrequency_Hz>123200000</H1resonanceFrequency_Hz></experimentalConditions><encoding>"
      "<encodedSpace><matrixSize><x>%zu</x><y>%zu</y><z>1</z></matrixSize><fieldOfView_mm><x>%.2f</x>"
      "<y>%.2f</y><z>4.5</z></fieldOfView_mm></encodedSpace><reconSpace><matrixSize><x>%zu</x><y>%zu</y>"
      "<z>1</z></matrixSize><fieldOfView_mm><x>%.2f</x><y>%.2f</y><z>4.5</z></fieldOfView_mm>"
      "</reconSpace>"
      "<encodingLimits><kspace_encoding_step_1><minimum>0</minimum><maximum>%zu</maximum><center>%zu</center>"
      "</kspace_encoding_step_1></encodingLimits><trajectory>cartesian</trajectory></encoding>"
      "</ismrmrdHeader>\n",
      volume->coils, grid->rows, grid->columns, 140.0 * (double)grid->rows / shorter,
      140.0 * (double)grid->columns / shorter, grid->height, grid->width,
      140.0 * (double)grid->height / shorter, 140.0 * (double)grid->width / shorter,
      volume->right - volume->left - 1, grid->columns / 2 - volume->left);
  return store_write_text(store, "ismrmrd_header", text, error);
}

static bool write_attributes(const struct volume *volume, struct store *store, const char *patient,
                             struct error *error) {
  double most = 0, square = 0;
  char hex[65];
  size_t count = volume->slices * volume->grid.height * volume->grid.width;
  for (size_t i = 0; i < count; i++) {
    most = fmax(most, volume->target[i]);
    square += (double)volume->target[i] * volume->target[i];
  }
  hash_hex(patient, strlen(patient), hex);
  return store_put_text(store, "acquisition", volume->contrast->acquisition, error) &&
         store_put_number(store, "max", most, error) &&
         store_put_number(store, "norm", sqrt(square), error) &&
         store_put_text(store, "patient_id", hex, error);
}

/* In the outer fifth of its length the lesion is too small to be seen. */
static bool write_lesions(const struct volume *volume, struct store *store, struct arena *arena, struct error *error) {
  const size_t shape[] = {volume->slices};
  const struct shape *lesion = volume->lesion;
  float *shows = ARENA_NEW(arena, float, volume->slices);
  for (size_t s = 0; lesion && s < volume->slices; s++)
    shows[s] = fabsf(slice_place(volume, s) - lesion->centre[2]) < 0.8f * lesion->radius[2];
  return store_write(store, "lesion", STORE_F32, 1, shape, shows, false, error);
}

static bool write_volume(const struct volume *volume, bool labelled, const char *path, const char *patient,
                         struct arena *arena, struct error *error) {
  const struct grid *grid = &volume->grid;
  bool single = volume->coils == 1;
  size_t one[] = {volume->slices, grid->rows, grid->columns};
  size_t many[] = {volume->slices, volume->coils, grid->rows, grid->columns};
  size_t target[] = {volume->slices, grid->height, grid->width};
  const char *name = single ? "reconstruction_esc" : "reconstruction_rss";
  struct store *store;
  if (!store_create(&store, path, error)) return false;
  if (write_header(volume, store, arena, error) &&
      store_write(store, "kspace", STORE_C64, single ? 3 : 4, single ? one : many, volume->kspace, false,
                  error) &&
      store_write(store, name, STORE_F32, 3, target, volume->target, false, error) &&
      (!labelled || write_lesions(volume, store, arena, error)) && write_attributes(volume, store, patient, error))
    return store_commit(store, error);
  store_close(store);
  return false;
}

static bool open_volume(struct volume *volume, const struct options *options, struct arena *arena,
                        struct error *error) {
  size_t rows = options->phantom.rows, columns = options->phantom.columns;
  size_t height = options->phantom.size.height, width = options->phantom.size.width;
  *volume = (struct volume){.grid = {rows, columns, height, width, 2.0f / (float)shorter_side(height, width)},
                            .left = options->phantom.padded_left,
                            .right = columns - options->phantom.padded_right,
                            .slices = options->phantom.slices,
                            .coils = options->phantom.coils};
  size_t plane = rows * columns;
  volume->anatomy = arena_try(arena, sizeof *volume->anatomy);
  volume->image = arena_try(arena, volume->slices * plane * sizeof(float));
  volume->coil = arena_try(arena, volume->coils * plane * sizeof(float complex));
  volume->kspace = arena_try(arena, volume->slices * volume->coils * plane * sizeof(float complex));
  volume->target = arena_try(arena, volume->slices * height * width * sizeof(float));
  if (volume->anatomy && volume->image && volume->coil && volume->kspace && volume->target) return true;
  return fail_memory(
      error, "a volume of %zu slice%s, %zu coil%s and %zux%zu samples does not fit in memory; ask for fewer",
      volume->slices, plural(volume->slices), volume->coils, plural(volume->coils), rows, columns);
}

/* Makes volume `index` of a split. Numbers of the patient and of the scan are drawn apart, so that two scans
 * of a patient show one anatomy. */
static bool make_volume(struct volume *volume, const struct options *options, const char *folder,
                        uint32_t split, uint32_t index, struct error *error) {
  uint32_t seed = options->world.seed, number = SPLITS * index + split;
  uint32_t owner = index % 4 == 3 ? number - SPLITS : number;
  struct arena *arena = arena_open();
  struct random random;
  random_start(&random, seed, STREAM_PHANTOM, owner);
  build_anatomy(volume->anatomy, &random);
  random_start(&random, seed, STREAM_PHANTOM, 0xc0000000u | owner);
  bool ill = random_uniform(&random) < options->phantom.lesions;
  volume->lesion = ill ? &volume->anatomy->shape[volume->anatomy->count] : NULL;
  if (ill) add_lesion(volume->anatomy, &random);
  random_start(&random, seed, STREAM_PHANTOM, 0x80000000u | number);
  draw_scan(&volume->scan, &random);
  draw_coils(volume, &random);
  volume->contrast = &contrasts[index % 2];
  for (size_t s = 0; s < volume->slices; s++)
    draw_slice(&volume->grid, volume->anatomy, volume->contrast, &volume->scan, slice_place(volume, s),
               volume->image + s * volume->grid.rows * volume->grid.columns);
  measure(volume, options->phantom.noise, &random, arena);
  bool good = write_volume(
      volume, options->phantom.lesions > 0, arena_text(arena, "%s/%s/file%u.h5", folder, split_names[split], FIRST_FILE + number),
      arena_text(arena, "phantom %u patient %u", seed, owner), arena, error);
  arena_close(arena);
  return good;
}

static bool check_options(const struct options *options, struct error *error) {
  uint32_t rows = options->phantom.rows, columns = options->phantom.columns;
  struct option_sides size = options->phantom.size;
  char text[SCAN_SHAPE_TEXT];
  if (rows < size.height || columns < size.width)
    return fail(error, "phantom.%s is %u; it must be at least phantom.size, which is %s",
                rows < size.height ? "rows" : "columns", rows < size.height ? rows : columns,
                scan_shape_text(&(struct scan_shape){.height = size.height, .width = size.width, .actions = 0}, text));
  if (options->phantom.padded_left >= columns / 2 || options->phantom.padded_right >= columns / 2)
    return fail(error, "phantom.padded_left is %u and .padded_right %u of %u columns; each must be less than half of them",
                options->phantom.padded_left, options->phantom.padded_right, columns);
  if (!options->phantom.train && !options->phantom.val && !options->phantom.test)
    return fail(error, "phantom.train, phantom.val and phantom.test are all 0; ask for at least one volume");
  return true;
}

/* Whether k-space and images of a volume that is there have our sizes; also where it has none. */
static bool is_alike(const struct volume *volume, struct store *store) {
  struct error ignored;
  struct store_shape kspace, target;
  bool single = volume->coils == 1;
  const char *name = single ? "reconstruction_esc" : "reconstruction_rss";
  if (!store_has(store, "kspace") || !store_shape(store, "kspace", &kspace, &ignored)) return true;
  if (kspace.rank != (single ? 3 : 4) || !store_has(store, name) || !store_shape(store, name, &target, &ignored)) return false;
  const size_t *sides = kspace.size + kspace.rank - 2;
  return (single || kspace.size[1] == volume->coils) && sides[0] == volume->grid.rows && sides[1] == volume->grid.columns &&
         target.rank == 3 && target.size[1] == volume->grid.height && target.size[2] == volume->grid.width;
}

static const char *volume_path(const char *folder, uint32_t split, uint32_t number, char path[4096]) {
  snprintf(path, 4096, "%s/%s/file%u.h5", folder, split_names[split], FIRST_FILE + SPLITS * number + split);
  return path;
}

/* Those of an earlier call that are not replaced stay, and would be taken for this one's. */
static void warn_left(const char *folder, uint32_t split, uint32_t count) {
  char path[4096];
  uint32_t left = 0;
  while (file_is_there(volume_path(folder, split, count + left, path))) left++;
  if (count && left)
    log_warning("%s/%s has %u more volume%s of an earlier call, which stay%s: remove what is not wanted, or name another folder", folder,
                split_names[split], left, left > 1 ? "s" : "", left > 1 ? "" : "s");
}

/* The first volume that is not replaced is of an earlier call: a folder has volumes of one size. */
static bool check_left(const struct volume *volume, const char *folder, const uint32_t counts[SPLITS], struct error *error) {
  struct error unread;
  struct store *store;
  char path[4096];
  for (uint32_t split = 0; split < SPLITS; split++) {
    if (!file_is_there(volume_path(folder, split, counts[split], path)) || !store_open(&store, path, &unread)) continue;
    bool alike = is_alike(volume, store);
    store_close(store);
    if (!alike)
      return fail(error, "%s is there already, with k-space or images of another size or of other coils; name another folder, or remove that "
                  "one", path);
    warn_left(folder, split, counts[split]);
  }
  return true;
}

static bool write_splits(struct volume *volume, const struct options *options, const char *folder,
                         struct error *error) {
  const uint32_t counts[SPLITS] = {options->phantom.train, options->phantom.val, options->phantom.test};
  struct progress progress;
  size_t done = 0;
  bool good = check_left(volume, folder, counts, error);
  if (!good) return false;
  progress_open(&progress, "phantom", "volumes", (size_t)counts[0] + counts[1] + counts[2]);
  for (uint32_t split = 0; good && split < SPLITS; split++) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, split_names[split]);
    if (counts[split]) good = folder_make(path, error);
    for (uint32_t i = 0; good && i < counts[split]; i++) {
      good = make_volume(volume, options, folder, split, i, error);
      if (good) progress_move(&progress, ++done);
    }
  }
  progress_close(&progress);
  return good;
}

bool phantom_write(const struct options *options, const char *folder, struct error *error) {
  if (!check_options(options, error)) return false;
  struct arena *arena = arena_open();
  struct volume volume;
  bool good = open_volume(&volume, options, arena, error) && write_splits(&volume, options, folder, error);
  arena_close(arena);
  return good;
}
