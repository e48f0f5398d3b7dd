/* Trained networks that come with the program (models/README.md): `zoo:NAME` stands for the file NAME.h5 of
 * its folder, wherever an option takes a checkpoint. Beside each lies its card, NAME.txt: lines `KEY: VALUE`,
 * a value's further lines indented. */
#ifndef L2SR_SYSTEMS_MODELS_H
#define L2SR_SYSTEMS_MODELS_H

#include "components/options.h"
#include "engine/base/arena.h"
#include "engine/base/error.h"

/* The folder of the models, which lies beside that of the scenes. */
const char *models_folder(struct arena *arena, const char *scenes);
/* Names in the folder in the order of the alphabet; *count of them. Refuses a folder that holds none. */
bool models_list(const char *folder, struct arena *arena, const char *const **names, size_t *count,
                 struct error *error);

/* The value of a card's key with its lines joined by blanks; "": the card has none. */
const char *models_card_value(const char *card, const char *key, struct arena *arena);
/* The text of a model's card. */
bool models_card(const char *folder, const char *name, struct arena *arena, const char **card,
                 struct error *error);
/* The file of a model, "FOLDER/NAME.h5". Refuses a name that the folder has not, and a file whose SHA-256 is
 * not its card's. */
bool models_file(const char *folder, const char *name, struct arena *arena, const char **path,
                 struct error *error);

/* Puts the files of models in place of `zoo:NAME` in the options that take checkpoints. */
bool models_resolve(struct options *options, const char *folder, struct arena *arena, struct error *error);

/* Writes what scans need of a checkpoint: parameters in half precision, masks, and what it says of network,
 * scan, scene and data; no optimiser and no log. Refuses a file that is no checkpoint, and parameters that
 * half precision does not hold. */
bool models_pack(const char *from, const char *to, struct error *error);

#endif
