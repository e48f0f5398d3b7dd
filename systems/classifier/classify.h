/* Metric log_likelihood: the logarithm of the probability that a classifier (systems/classifier/net_classifier.h) gives the label
 * of a scan's slice (data.label), by the scan's reconstruction. */
#ifndef L2SR_SYSTEMS_CLASSIFY_H
#define L2SR_SYSTEMS_CLASSIFY_H

#include "systems/scan/simulation.h"

/* Whether the simulation computes it, once its lists are built. */
bool classify_wanted(const struct simulation *simulation);
/* Refuses it where slices have no labels, or the scene names no classifier. */
bool classify_check(const struct simulation *simulation, struct error *error);
/* simulation->classifier, by reward.classifier, where it computes the metric and its plan trains none; once the world is open. */
bool classify_open(struct simulation *simulation, struct error *error);
void classify_close(struct simulation *simulation); /* one that was never opened is allowed */
/* Refuses a label that is no class; `path`, `slice`: whose label it is. */
bool classify_label(const struct simulation *simulation, float label, const char *path, size_t slice, struct error *error);

extern const struct system system_score_classes;

#endif
