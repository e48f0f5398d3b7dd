/* Parameters and optimiser state in HDF5: one dataset a parameter, GROUP/NAME, with the dotted names of the
 * public implementations. Files are written beside and take their place only when whole
 * (engine/files/store.h). */
#ifndef L2SR_SYSTEMS_CHECKPOINT_H
#define L2SR_SYSTEMS_CHECKPOINT_H

#include "engine/files/store.h"
#include "engine/graph/optimise.h"

/* Every parameter of the graph from GROUP/NAME, or GROUP/module.NAME. Refused, with the list of what is
 * missing, there under both names, unexpected or of another shape, and where a number is not finite or above
 * 1e15, before any parameter changes. */
bool checkpoint_read_parameters(struct store *store, const char *group, const struct graph *graph,
                                struct error *error);
/* Refused when one of them could not be read again. */
bool checkpoint_write_parameters(struct store *store, const char *group, const struct graph *graph,
                                 struct error *error);

/* Refuses as checkpoint_read_parameters does, and what the file cannot hold, without reading: the graph needs no plan. A
 * network whose sizes a file tells is looked at so before memory is taken for it. */
bool checkpoint_check_parameters(struct store *store, const char *group, const struct graph *graph,
                                 struct error *error);

/* A number among the attributes, from low to high: for NaN lies between no two. Refused with its name. */
bool checkpoint_number(struct store *store, const char *name, double low, double high, double *value,
                       struct error *error);
/* Reads a whole number from 0 in the same way. */
bool checkpoint_whole(struct store *store, const char *name, double high, double *value, struct error *error);

/* SHA-256 of all parameters. */
bool checkpoint_hash(const struct graph *graph, char hex[65], struct error *error);

/* Moments as optimiser/first/NAME and optimiser/second/NAME; kind, step and rate as attributes. The kind must
 * be that of the optimiser. */
bool checkpoint_read_optimiser(struct store *store, struct optimiser *optimiser, struct error *error);
bool checkpoint_write_optimiser(struct store *store, const struct optimiser *optimiser, struct error *error);
/* Writes the moments alone, for an optimiser that goes on with another one, as GROUP/first/NAME and
 * GROUP/second/NAME. */
bool checkpoint_read_moments(struct store *store, const char *group, const struct optimiser *optimiser,
                             struct error *error);
bool checkpoint_write_moments(struct store *store, const char *group, const struct optimiser *optimiser,
                              struct error *error);

#endif
