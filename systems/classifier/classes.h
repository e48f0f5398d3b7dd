/* What follows from a classifier's log-likelihoods of two classes, on the host. Scores of a set of slices are arrays with a
 * stride; labels are 0 or 1. */
#ifndef L2SR_SYSTEMS_CLASSES_H
#define L2SR_SYSTEMS_CLASSES_H

#include <stdbool.h>
#include <stddef.h>

/* The area under the ROC curve (Hanley and McNeil 1982): how probable it is that a slice of label 1 gets more probability of
 * class 1 than one of label 0, where equal ones count half. NaN where a label is missing or is another, or a likelihood is NaN.
 *
 * worth[i * stride], where it is not NULL, is what slice i adds: the mean over all is the area, and the mean over slices drawn
 * anew is, to first order, theirs (DeLong et al. 1988); so it is bootstrapped and paired as other scores are. */
double classes_auc(const float *likely, const float *label, size_t count, size_t stride, float *worth);

#endif
