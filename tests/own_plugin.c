/* A plugin of a shared library (tests/cli/plugin.sh, tests/cli/trace.sh): the zero-filled image itself, and minus the mean
 * absolute difference. Built with OWN_REFUSES it refuses. */
#include <l2sr.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

int l2sr_plugin_open(struct l2sr_callbacks *callbacks, char *fault);

#ifdef OWN_REFUSES
int l2sr_plugin_open(struct l2sr_callbacks *callbacks, char *fault) {
  (void)callbacks;
  return snprintf(fault, L2SR_FAULT, "no weights");
}
#else
static int reconstruct(const struct l2sr_batch *batch, void *context) {
  (void)context;
  memcpy(batch->result, batch->observation, sizeof(float) * batch->scans * batch->height * batch->width);
  return 0;
}

static int metric(const struct l2sr_batch *batch, void *context) {
  size_t pixels = batch->height * batch->width;
  const float *image = batch->image, *target = batch->target;
  (void)context;
  for (size_t scan = 0; scan < batch->scans; scan++) {
    double sum = 0;
    for (size_t i = scan * pixels; i < (scan + 1) * pixels; i++) sum -= fabs((double)image[i] - (double)target[i]);
    ((float *)batch->result)[scan] = (float)(sum / (double)pixels);
  }
  return 0;
}

int l2sr_plugin_open(struct l2sr_callbacks *callbacks, char *fault) {
  (void)fault;
  callbacks->reconstruct = reconstruct;
  callbacks->metric = metric;
  return 0;
}
#endif
