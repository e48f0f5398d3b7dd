/* Facts say what a checkpoint's network is, as attributes beside the parameters: written, read and compared
 * by a list of facts, of which each network has one (systems/networks/networks.h). */
#ifndef L2SR_SYSTEMS_FACTS_H
#define L2SR_SYSTEMS_FACTS_H

#include "components/scan_shape.h"
#include "engine/files/store.h"

struct network_facts {
  double channels, pools, hidden;
  struct scan_shape shape;            /* its sides alone */
  double absolute, scale;             /* of complex images: systems/networks/reconstructor.h */
  double steps, adaptive, noise_seed; /* of tau steps */
  double classes;                     /* of a classifier */
  double cascades, sense_channels, sense_pools, maps; /* of the variational network; maps: it has no other two */
  double initial_lines, budget;       /* of the scans that it is for; 0: not known */
  char input[16], geometry[16];       /* as network.input and acquisition.geometry; "": not known */
};

enum fact_kind {
  FACT_NAME,  /* a text that only this kind of network has */
  FACT_TEXT,  /* a word */
  FACT_WHOLE, /* a whole number */
  FACT_SIDES, /* of images: a whole number where they are equal, else a text such as [640, 368] */
  FACT_NUMBER
};

struct fact {
  const char *name; /* of the attribute; NULL ends a list */
  enum fact_kind kind;
  size_t place;      /* in struct network_facts */
  double low, high;  /* a number lies between */
  const char *key;   /* the option that must say the same; NULL: the file decides */
  bool may_lack;     /* files without it are good: it is `text` or `number`, else what the reader expects */
  const char *text;  /* FACT_NAME: the text */
  double number;
  const char *what;  /* FACT_NAME: what has it, in words, and how to get one */
  const char *make;
  bool unwritten;    /* only others' files have it */
};

bool facts_write(const struct fact *facts, const struct network_facts *values, struct store *store,
                 struct error *error);
/* Whether the file says the same, as where a training goes on; what it lacks or says otherwise is refused by name. */
bool facts_same(const struct fact *facts, const struct network_facts *values, struct store *store,
                struct error *error);
/* Before: what the reader expects, which options must equal and files may lack; after: what the file says. Refused by
 * name: what is missing, of another type or out of bounds. */
bool facts_read(const struct fact *facts, struct network_facts *values, struct store *store, struct error *error);
/* Only whether the file is of this kind of network. */
bool facts_kind(const struct fact *facts, struct store *store, struct error *error);
bool facts_are(const struct fact *facts, struct store *store);

#endif
