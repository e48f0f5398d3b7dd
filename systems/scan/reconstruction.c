#include "systems/scan/reconstruction.h"

#include "engine/fused/block.h"

bool reconstruction_trains(const struct options *options) {
  return reconstruction_chosen(options, true)->network;
}

bool reconstruction_check_network(const struct options *options, const char *wanted, struct error *error) {
  const struct reconstruction *chosen = reconstruction_chosen(options, true);
  return chosen->network ||
         fail_usage(error,
                    "reconstruct.method is %s, which has no network, and %s one; set reconstruct.method to auto, or "
                    "leave the other out",
                    chosen->name, wanted);
}

/* Least squares are of complex data, whose coils are told apart by their maps. */
static bool check_solver(const struct reconstruction *chosen, const struct options *options, size_t coils,
                         struct error *error) {
  if (options->network.input == INPUT_COMPLEX)
    return fail_usage(error,
                      "reconstruct.method is %s, which has no network, and network.input complex; set that to "
                      "magnitude",
                      chosen->name);
  if (options->coils.simulate) coils = options->coils.simulate;
  if (coils < 2 || options->coils.maps != MAPS_NONE) return true;
  return fail_usage(error,
                    "reconstruct.method is %s, which combines coils by their sensitivities; there are %zu "
                    "coils, and coils.maps is none: set it to prescan, acquired or file",
                    chosen->name, coils);
}

/* Maps of one coil are 1. */
static bool check_varnet(const struct options *options, size_t coils, struct error *error) {
  if (options->network.input == INPUT_COMPLEX)
    return fail_usage(error, "reconstruct.method is varnet, which takes k-space itself, and network.input complex; set "
                             "that to magnitude");
  if (options->network.precision == BLOCK_MIXED)
    return fail_usage(error, "reconstruct.method is varnet, which computes in f32 or half, and network.precision is mixed; "
                             "set it to one of these");
  if (!network_check(&network_varnet, options, error)) return false;
  if (options->coils.simulate > coils) coils = options->coils.simulate;
  if (coils < 2 || options->varnet.sense == SENSE_NETWORK || options->coils.maps != MAPS_NONE) return true;
  return fail_usage(error,
                    "varnet.sense is maps; slices have %zu coils, and coils.maps is none: set it to prescan, "
                    "acquired or file, or varnet.sense to network",
                    coils);
}

static bool check_callback(const struct options *options, struct error *error) {
  return options->network.input != INPUT_COMPLEX ||
         fail_usage(error, "reconstruct.method is callback, and network.input complex; set that to magnitude, and "
                           "reconstruct.input to kspace for complex data");
}

bool reconstruction_check(const struct options *options, bool network, size_t coils, struct error *error) {
  const struct reconstruction *chosen = reconstruction_chosen(options, network);
  if (chosen->network && !network)
    return fail_usage(error,
                      "reconstruct.method is %s, and no reconstructor is named; give --reconstructor FILE, or "
                      "set it to another method",
                      options->reconstruct.method == RECONSTRUCT_VARNET ? "varnet" : "network");
  if (chosen->calls) return check_callback(options, error);
  if (chosen->network == &network_varnet) return check_varnet(options, coils, error);
  return !chosen->solve || check_solver(chosen, options, coils, error);
}
