/* A method that learns masks beside a reconstructor, from the reconstructor's loss. */
#ifndef L2SR_SYSTEMS_MASKS_H
#define L2SR_SYSTEMS_MASKS_H

#include "components/options.h"
#include "engine/ecs/schedule.h"
#include "systems/networks/network.h"

struct training;

struct masks {
  const char *name; /* attribute `sampler` of checkpoints */
  size_t rate;               /* of its optimiser: place in struct options; 0 there: train.rate */
  bool absolute;             /* of complex images the reconstructor's output is an absolute value */
  uint32_t (*passes)(const struct options *options); /* of the reconstructor, that training keeps */
  bool (*check)(const struct options *options, struct error *error);
  /* What it takes beside the reconstructor. */
  bool (*measure)(const struct masks_setup *setup, struct network_need *need, struct error *error);
  /* The reconstructor is open; says what learns. */
  bool (*open)(struct training *training, const struct masks_setup *setup, struct error *error);
  void (*close)(struct training *training);
  void (*bind)(struct training *training, struct world *world); /* its network is this world's from here on */
  void (*changed)(struct training *training); /* after a step of the parameters; NULL: nothing */
  /* Systems: from dealt slices to the reconstructor's input; back from its gradient; masks of the
   * validation samples. */
  void (*add_forward)(struct training *training, struct schedule *schedule);
  void (*add_backward)(struct training *training, struct schedule *schedule);
  void (*add_draw)(struct training *training, struct schedule *schedule);
  bool (*write)(const struct training *training, struct store *store, struct error *error);
  bool (*read)(struct training *training, struct store *store, struct error *error);
};

/* Masks are learned through the transform of an image, of lines or points. */
bool masks_check(const struct options *options, const char *method, struct error *error);

#endif
