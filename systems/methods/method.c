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

static const struct method *method_named(const char *name) {
  for (size_t i = 0; i < METHOD_COUNT; i++)
    if (!strcmp(method_list[i]->name, name)) return method_list[i];
  return NULL;
}

double method_gamma(const char *scene) {
  struct arena *arena = arena_open();
  const char *name = scene_value(scene, "train", "method", arena), *text = NULL;
  const struct method *method = name ? method_named(name) : NULL;
  if (method && method->policy && method->policy->section)
    text = scene_value(scene, method->policy->section, "gamma", arena);
  double gamma = text ? strtod(text, NULL) : NAN;
  arena_close(arena);
  return gamma;
}

const char *method_stages(const struct method *method) {
  if (method->alternates) return "reconstructor, then both in turn";
  if (method->grows) return "reconstructor, mask";
  return method->policy ? "reconstructor, policy" : "one";
}

/* ---- networks ------------------------------------------------------------------------------------------ */

/* Two of the reconstructor, two of every method; some are NULL or named before. */
static const struct network_desc *named(size_t place) {
  if (place < 2) return network_of_reconstructor(place);
  const struct method *method = method_list[place / 2 - 1];
  return place % 2 ? method->network_of_points : method->network;
}

static bool named_before(size_t place) {
  for (size_t i = 0; i < place; i++)
    if (named(i) == named(place)) return true;
  return false;
}

const struct network_desc *network_at(size_t place) {
  for (size_t i = 0; i < 2 * (METHOD_COUNT + 1); i++)
    if (named(i) && !named_before(i) && !place--) return named(i);
  return NULL;
}

void method_networks(const struct options *options, const struct network_desc *networks[NETWORKS_MOST + 1]) {
  const struct method *method = method_of(options);
  bool points = geometry_chosen(options)->points && method->network_of_points;
  networks[0] = network_of_reconstructor(options->network.input == INPUT_COMPLEX);
  networks[1] = points ? method->network_of_points : method->network;
  networks[2] = NULL;
}

bool method_check_networks(const struct options *options, struct error *error) {
  const struct network_desc *networks[NETWORKS_MOST + 1];
  method_networks(options, networks);
  for (size_t i = 0; networks[i]; i++)
    if (!network_check(networks[i], options, error)) return false;
  return true;
}
