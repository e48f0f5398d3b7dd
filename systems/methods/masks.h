/* A method that learns masks beside a reconstructor, from the reconstructor's loss. */
#ifndef L2SR_SYSTEMS_MASKS_H
#define L2SR_SYSTEMS_MASKS_H

#include "components/options.h"
#include "engine/ecs/schedule.h"
#include "systems/networks/network.h"

struct training;

struct masks {
  const char *name; /* attribute `sampler` of checkpoints */
  bool absolute;             /* of complex images the reconstructor's output is an absolute value */
  uint32_t (*passes)(const struct options *options); /* of the reconstructor, that training keeps */
  bool (*check)(const struct options *options, struct error *error);
  /* Bytes beside the network's. */
  bool (*measure)(struct training *training, size_t batch, struct network_need *need, struct error *error);
  bool (*open)(struct training *training, struct error *error); /* the reconstructor is open */
  void (*close)(struct training *training);
  void (*zero)(struct training *training); /* its gradients */
  /* Systems: from dealt slices to the reconstructor's input; back from its gradient; a step of the parameters;
   * masks of the validation samples. */
  void (*add_forward)(struct training *training, struct schedule *schedule);
  void (*add_backward)(struct training *training, struct schedule *schedule);
  void (*add_optimise)(struct training *training, struct schedule *schedule);
  void (*add_draw)(struct training *training, struct schedule *schedule);
  bool (*write)(const struct training *training, struct store *store, struct error *error);
  bool (*read)(struct training *training, struct store *store, struct error *error);
};

/* Masks are learned through the transform of an image, of lines or points. */
bool masks_check(const struct options *options, const char *method, struct error *error);

#endif
