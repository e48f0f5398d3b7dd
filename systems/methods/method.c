#include "systems/methods/method.h"

#include "engine/files/scene.h"
#include "systems/sampling/geometry.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define METHOD_ADDRESS(enumerator, name) &method_##name,
const struct method *const method_list[METHOD_COUNT + 1] = {TRAIN_METHODS(METHOD_ADDRESS)};

const struct method *method_of(const struct options *options) {
  return method_list[options->train.method];
}

double method_gamma(const char *scene) {
  struct arena *arena = arena_open();
  const char *name = scene_value(scene, "train", "method", arena), *text = NULL;
  const struct method *const *method = method_list;
  while (name && *method && strcmp((*method)->name, name)) method++;
  for (size_t i = 0; name && *method && (*method)->stages[i]; i++)
    if ((*method)->stages[i]->gamma) text = scene_value(scene, (*method)->stages[i]->gamma, "gamma", arena);
  double gamma = text ? strtod(text, NULL) : NAN;
  arena_close(arena);
  return gamma;
}

const char *method_stages(const struct method *method, struct arena *arena) {
  const char *text = method->stages[0]->name;
  if (!method->stages[1]) return "one";
  for (size_t i = 1; method->stages[i]; i++)
    text = arena_text(arena, "%s%s%s", text,
                      !method->alternates ? ", "
                      : i > 1             ? " and "
                                          : ", then ",
                      method->stages[i]->name);
  return method->alternates ? arena_text(arena, "%s in turn", text) : text;
}

/* ---- networks ------------------------------------------------------------------------------------------ */

enum { PLACES = 2 * METHOD_NETWORKS };

/* Those of the reconstructor, PLACES of every method; some are NULL or named before. */
static const struct network_desc *named(size_t place) {
  if (place < RECONSTRUCTOR_NETWORKS) return network_of_reconstructor(place);
  place -= RECONSTRUCTOR_NETWORKS;
  const struct network_desc *network = method_list[place / PLACES]->beside[place % PLACES / 2];
  return network && place % 2 ? network->of_points : network;
}

static bool named_before(size_t place) {
  for (size_t i = 0; i < place; i++)
    if (named(i) == named(place)) return true;
  return false;
}

const struct network_desc *network_at(size_t place) {
  for (size_t i = 0; i < RECONSTRUCTOR_NETWORKS + PLACES * METHOD_COUNT; i++)
    if (named(i) && !named_before(i) && !place--) return named(i);
  return NULL;
}

void method_networks(const struct options *options, const struct network_desc *networks[NETWORKS_MOST + 1]) {
  const struct network_desc *const *beside = method_of(options)->beside;
  bool points = geometry_chosen(options)->points;
  *networks++ = network_chosen(options);
  for (; *beside; beside++) *networks++ = points && (*beside)->of_points ? (*beside)->of_points : *beside;
  *networks = NULL;
}

bool method_check_networks(const struct options *options, struct error *error) {
  const struct network_desc *networks[NETWORKS_MOST + 1];
  method_networks(options, networks);
  for (size_t i = 0; networks[i]; i++)
    if (!network_check(networks[i], options, error)) return false;
  return true;
}
