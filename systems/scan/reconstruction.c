#include "systems/scan/reconstruction.h"

#include "systems/scan/systems.h"

enum { ZERO_FILLED, UNET, COMPLEX_UNET };

const struct reconstruction reconstruction_list[] = {
    [ZERO_FILLED] = {.name = "zero_filled",
                     .doc = "magnitude of the inverse transform, with zeros for what is not acquired",
                     .systems = {&system_reconstruct}},
    [UNET] = {.name = "unet",
              .doc = "the U-Net of the standardised zero-filled magnitude",
              .network = &network_unet,
              .systems = {&system_repeat_reconstructor, &system_encode, &system_forward_reconstructor,
                          &system_restore, &system_end},
              .encode = &system_encode},
    [COMPLEX_UNET] = {.name = "complex_unet",
                      .doc = "the U-Net of the complex zero-filled image, added to its magnitude",
                      .network = &network_complex_unet,
                      .systems = {&system_repeat_reconstructor, &system_encode_complex,
                                  &system_forward_reconstructor, &system_restore, &system_end},
                      .encode = &system_encode_complex,
                      .views = true},
    {.name = NULL}};

const struct reconstruction *reconstruction_chosen(const struct options *options, bool network) {
  if (!network) return &reconstruction_list[ZERO_FILLED];
  return &reconstruction_list[options->network.input == INPUT_COMPLEX ? COMPLEX_UNET : UNET];
}
