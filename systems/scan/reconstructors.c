/* The rows of reconstructors, and which one a scene chooses. */
#include "systems/scan/reconstruction.h"

#include "systems/scan/callback.h"
#include "systems/scan/solve.h"
#include "systems/scan/systems.h"

enum { ZERO_FILLED, UNET, COMPLEX_UNET, CG_SENSE, TV, WAVELET, VARNET, CALLBACK };

#define SOLVED_BY(row)                                                                                       \
  .systems = {&system_repeat_solve, &system_solve_data, &row, &system_solve_store, &system_end},             \
  .encode = &system_solve_data, .views = true, .solve = &row, .open = solve_open, .close = solve_close,      \
  .check = solve_check

const struct reconstruction reconstruction_list[] = {
    [ZERO_FILLED] = {.name = "zero_filled",
                     .doc = "magnitude of the inverse transform, with zeros for what is not acquired",
                     .image = "the zero-filled image",
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
    [CG_SENSE] = {.name = "cg_sense",
                  .doc = "least squares with coil sensitivities by conjugate gradients, Tikhonov's weight",
                  .image = "the image by least squares",
                  .paper = "K. Pruessmann et al. 2001, Magnetic Resonance in Medicine 46:638",
                  SOLVED_BY(system_solve_cg)},
    [TV] = {.name = "tv",
            .doc = "least squares with total variation, by alternating directions",
            .image = "the image by total variation",
            .paper = "K. Block et al. 2007, Magnetic Resonance in Medicine 57:1086",
            SOLVED_BY(system_solve_tv)},
    [WAVELET] = {.name = "wavelet",
                 .doc = "least squares with sparse Daubechies wavelets, by accelerated proximal gradients",
                 .image = "the image by wavelets",
                 .paper = "M. Lustig et al. 2007, Magnetic Resonance in Medicine 58:1182",
                 SOLVED_BY(system_solve_wavelet)},
    [VARNET] = {.name = "varnet",
                .doc = "the variational network of acquired k-space, all coils of it",
                .network = &network_varnet,
                .paper = "A. Sriram et al. 2020, arXiv 2004.06688",
                .systems = {&system_repeat_reconstructor, &system_encode_varnet, &system_forward_reconstructor,
                            &system_restore, &system_end},
                .encode = &system_encode_varnet,
                .views = true},
    [CALLBACK] = {.name = "callback",
                  .doc = "a function of the program's own, of zero-filled images, masks and reconstruct.input",
                  .image = "the image by the callback",
                  .systems = {&system_reconstruct, &system_repeat_callback, &system_call_data, &system_call_reconstruct,
                              &system_end},
                  .encode = &system_call_data,
                  .calls = true},
    {.name = NULL}};

static bool is_complex(const struct options *options) {
  return options->network.input == INPUT_COMPLEX;
}

const struct reconstruction *reconstruction_chosen(const struct options *options, bool network) {
  static const int rows[] = {[RECONSTRUCT_ZERO_FILLED] = ZERO_FILLED,
                             [RECONSTRUCT_CG_SENSE] = CG_SENSE,
                             [RECONSTRUCT_TV] = TV,
                             [RECONSTRUCT_WAVELET] = WAVELET,
                             [RECONSTRUCT_VARNET] = VARNET,
                             [RECONSTRUCT_CALLBACK] = CALLBACK};
  uint32_t method = options->reconstruct.method;
  if (method == RECONSTRUCT_AUTO) method = network ? RECONSTRUCT_NETWORK : RECONSTRUCT_ZERO_FILLED;
  if (method == RECONSTRUCT_NETWORK) return &reconstruction_list[is_complex(options) ? COMPLEX_UNET : UNET];
  return &reconstruction_list[rows[method]];
}
