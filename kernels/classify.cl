/* A classifier of images (systems/classifier/net_classifier.h): what it sees, what its logits are worth, and the gradient of
 * its loss. Labels are whole numbers below `classes`. */

#define GROUP 256

/* Images of scans from `first` on by their own mean and sample deviation: the classifier sees neither brightness nor contrast. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
class_image(__global const float *restrict reconstruction, __global float *restrict input, uint first, uint rows) {
  __local float scratch[GROUP];
  uint row = (uint)get_group_id(0), item = (uint)get_local_id(0);
  if (row >= rows) return;
  __global const float *pixels = reconstruction + (size_t)(row + first) * PIXELS;
  float sum = 0.0f, square = 0.0f;
  for (uint i = item; i < PIXELS; i += GROUP) sum += pixels[i];
  float average = group_sum(sum, scratch) / (float)PIXELS;
  for (uint i = item; i < PIXELS; i += GROUP) square += (pixels[i] - average) * (pixels[i] - average);
  float scale = 1.0f / (sqrt(group_sum(square, scratch) / (float)(PIXELS - 1)) + 1e-11f);
  for (uint i = item; i < PIXELS; i += GROUP) input[(size_t)row * PIXELS + i] = (pixels[i] - average) * scale;
}

uint class_of(__global const float *restrict label, uint slice, uint classes) {
  return min((uint)label[slice], classes - 1u);
}

/* The logit of a class, less the logarithm of the sum of the others' exponentials. */
float class_odds(__global const float *restrict logits, uint class, uint classes) {
  float most = -INFINITY, sum = 0.0f;
  for (uint c = 0u; c < classes; c++)
    if (c != class) most = fmax(most, logits[c]);
  for (uint c = 0u; c < classes; c++)
    if (c != class) sum += exp(logits[c] - most);
  return logits[class] - most - log(sum);
}

/* The logarithm of a probability, from the logarithm of its odds: its digits stay where it is near 0. */
float class_logarithm(float odds) {
  return odds > 0.0f ? -log1p(exp(-odds)) : odds - log1p(exp(odds));
}

/* The logarithm of the true class's probability, of scans from `first` on, by logits [scan][classes]. */
__kernel void class_score(__global const uint *restrict slice, __global const float *restrict label,
                          __global const float *restrict logits, __global float *restrict log_likelihood, uint classes,
                          uint first, uint rows) {
  uint row = (uint)get_global_id(0), to = row + first;
  if (row >= rows) return;
  log_likelihood[to] =
      class_logarithm(class_odds(logits + (size_t)row * classes, class_of(label, slice[to], classes), classes));
}

/* The gradient of `share` times the cross-entropy, at logits [row][classes]. */
__kernel void class_gradient(__global const uint *restrict slice, __global const float *restrict label,
                             __global const float *restrict logits, __global float *restrict gradient, uint classes,
                             float share, uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows) return;
  __global const float *own = logits + (size_t)row * classes;
  uint class = class_of(label, slice[row], classes);
  for (uint c = 0u; c < classes; c++) {
    float odds = class_odds(own, c, classes);
    /* of the true class it is less than 0 by the probability of the others, which keeps its digits near 1 */
    gradient[(size_t)row * classes + c] = share * (c == class ? -exp(class_logarithm(-odds)) : exp(class_logarithm(odds)));
  }
}
