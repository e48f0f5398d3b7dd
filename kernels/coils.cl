/* Complex images of several coils as planes, [image][coil][2][pixels]: spread over coils and summed by maps, sums of
 * squares, and what keeps to acquired frequencies. A strip is eight values of a line or plane, of which the last may be
 * short. */

#define STRIP 8
#define GROUP 64
#define STEP_GROUP 256 /* of consistency_step */

/* Every coil's map times the image, or times its conjugate, and a factor. A row is a strip of a coil. */
__kernel void coils_spread(__global const float *restrict maps, __global const float *restrict image,
                           __global float *restrict output, uint coils, uint pixels, uint conjugate,
                           float factor, uint add, uint rows) {
  uint row = (uint)get_global_id(0), strips = (pixels + STRIP - 1u) / STRIP;
  if (row >= rows) return;
  uint start = row % strips * STRIP, coil = row / strips, own = 2u * coil * pixels, from = 2u * (coil / coils) * pixels;
  float8 map_re = load_eight(maps + own, start, pixels), map_im = load_eight(maps + own + pixels, start, pixels);
  float8 re = load_eight(image + from, start, pixels), im = load_eight(image + from + pixels, start, pixels);
  re *= factor;
  im *= conjugate ? -factor : factor;
  add_eight(output + own, start, pixels, map_re * re - map_im * im, add);
  add_eight(output + own + pixels, start, pixels, map_re * im + map_im * re, add);
}

/* The sum over coils of the values times the maps' conjugates, times a factor. A row is a strip of an image. */
__kernel void coils_gather(__global const float *restrict maps, __global const float *restrict input,
                           __global float *restrict output, uint coils, uint pixels, float factor, uint add, uint rows) {
  uint row = (uint)get_global_id(0), strips = (pixels + STRIP - 1u) / STRIP;
  if (row >= rows) return;
  uint start = row % strips * STRIP, image = row / strips;
  float8 sum_re = (float8)0.0f, sum_im = (float8)0.0f;
  for (uint coil = image * coils; coil < (image + 1u) * coils; coil++) {
    uint own = 2u * coil * pixels;
    float8 map_re = load_eight(maps + own, start, pixels), map_im = load_eight(maps + own + pixels, start, pixels);
    float8 re = load_eight(input + own, start, pixels), im = load_eight(input + own + pixels, start, pixels);
    sum_re += map_re * re + map_im * im;
    sum_im += map_re * im - map_im * re;
  }
  add_eight(output + 2u * image * pixels, start, pixels, factor * sum_re, add);
  add_eight(output + (2u * image + 1u) * pixels, start, pixels, factor * sum_im, add);
}

/* The square of the norm over an image's planes; with `slopes` also the inner product. */
INLINE float8 sum_of_squares(__global const float *planes, uint count, uint start, uint pixels) {
  float8 sum = (float8)0.0f;
  for (uint plane = 0u; plane < count; plane++) {
    float8 value = load_eight(planes + plane * pixels, start, pixels);
    sum = fma(value, value, sum);
  }
  return sum;
}

/* 1 / sqrt(square); 0 where that is 0. */
INLINE float8 inverse_of(float8 square) {
  return select((float8)0.0f, 1.0f / sqrt(square), square > 0.0f);
}

/* Root of the sum of squares over `planes` planes. A row is a strip of an image. */
__kernel void planes_root(__global const float *restrict input, __global float *restrict output, uint planes,
                          uint pixels, uint rows) {
  uint row = (uint)get_global_id(0), strips = (pixels + STRIP - 1u) / STRIP;
  if (row >= rows) return;
  uint start = row % strips * STRIP, image = row / strips;
  store_eight(output + image * pixels, start, pixels,
              sqrt(sum_of_squares(input + image * planes * pixels, planes, start, pixels)));
}

/* Its gradient along the values; 0 where the root is 0. */
__kernel void planes_root_backward(__global const float *restrict input, __global const float *restrict output_gradient,
                                   __global float *restrict input_gradient, uint planes, uint pixels, uint add,
                                   uint rows) {
  uint row = (uint)get_global_id(0), strips = (pixels + STRIP - 1u) / STRIP;
  if (row >= rows) return;
  uint start = row % strips * STRIP, image = row / strips, first = image * planes * pixels;
  float8 slope = load_eight(output_gradient + image * pixels, start, pixels) *
                 inverse_of(sum_of_squares(input + first, planes, start, pixels));
  for (uint place = first; place < first + planes * pixels; place += pixels)
    add_eight(input_gradient + place, start, pixels, slope * load_eight(input + place, start, pixels), add);
}

/* The planes over the root of their sum of squares; 0 where that is 0. A row is a strip of an image. */
__kernel void planes_unit(__global const float *restrict input, __global float *restrict output, uint planes,
                          uint pixels, uint rows) {
  uint row = (uint)get_global_id(0), strips = (pixels + STRIP - 1u) / STRIP;
  if (row >= rows) return;
  uint start = row % strips * STRIP, first = row / strips * planes * pixels;
  float8 inverse = inverse_of(sum_of_squares(input + first, planes, start, pixels));
  for (uint place = first; place < first + planes * pixels; place += pixels)
    store_eight(output + place, start, pixels, inverse * load_eight(input + place, start, pixels));
}

/* With y the unit planes and g their gradient: (g - y sum(y g)) / root. */
__kernel void planes_unit_backward(__global const float *restrict input, __global const float *restrict output_gradient,
                                   __global float *restrict input_gradient, uint planes, uint pixels, uint add,
                                   uint rows) {
  uint row = (uint)get_global_id(0), strips = (pixels + STRIP - 1u) / STRIP;
  if (row >= rows) return;
  uint start = row % strips * STRIP, first = row / strips * planes * pixels, end = first + planes * pixels;
  float8 inverse = inverse_of(sum_of_squares(input + first, planes, start, pixels)), product = (float8)0.0f;
  for (uint place = first; place < end; place += pixels)
    product += load_eight(input + place, start, pixels) * load_eight(output_gradient + place, start, pixels);
  product *= inverse * inverse;
  for (uint place = first; place < end; place += pixels) {
    float8 slope = load_eight(output_gradient + place, start, pixels) - load_eight(input + place, start, pixels) * product;
    add_eight(input_gradient + place, start, pixels, slope * inverse, add);
  }
}

/* Values less `step` times their gap from the reference where the mask of their image says so. An image has `lines`
 * lines of `width` values, each as long as the mask. A row is a strip of a line. */
__kernel void consistency_forward(__global const float *restrict input, __global const float *restrict reference,
                                  __global const float *restrict mask, __global const float *restrict step,
                                  __global float *restrict output, uint lines, uint width, uint rows) {
  uint row = (uint)get_global_id(0), strips = (width + STRIP - 1u) / STRIP;
  if (row >= rows) return;
  uint line = row / strips, start = row % strips * STRIP, place = line * width;
  float8 value = load_eight(input + place, start, width);
  float8 weight = step[0] * load_eight(mask + line / lines * width, start, width);
  store_eight(output + place, start, width, value - weight * (value - load_eight(reference + place, start, width)));
}

/* The gradient g of the values, g - step mask g, or of the reference, step mask g. */
__kernel void consistency_backward(__global const float *restrict mask, __global const float *restrict step,
                                   __global const float *restrict output_gradient,
                                   __global float *restrict input_gradient, uint lines, uint width, uint reference,
                                   uint add, uint rows) {
  uint row = (uint)get_global_id(0), strips = (width + STRIP - 1u) / STRIP;
  if (row >= rows) return;
  uint line = row / strips, start = row % strips * STRIP, place = line * width;
  float8 slope = load_eight(output_gradient + place, start, width);
  float8 taken = step[0] * load_eight(mask + line / lines * width, start, width) * slope;
  add_eight(input_gradient + place, start, width, reference ? taken : slope - taken, add);
}

/* The gradient of `step`, -sum of mask (value - reference) g, in parts. Of `all` lines, those of all images, a shard has
 * `each`, and a work-group sums every parts-th of them. */
__kernel __attribute__((reqd_work_group_size(STEP_GROUP, 1, 1))) void
consistency_step(__global const float *restrict input, __global const float *restrict reference,
                 __global const float *restrict mask, __global const float *restrict output_gradient,
                 __global float *restrict part, uint lines, uint width, uint all, uint each, uint parts, uint rows) {
  __local float scratch[STEP_GROUP];
  uint row = (uint)get_group_id(0), item = (uint)get_local_id(0);
  if (row >= rows) return;
  uint shard = row / parts, first = shard * each + row % parts, last = min((shard + 1u) * each, all);
  uint count = first < last ? (last - first + parts - 1u) / parts * width : 0u; /* values of its lines */
  float sum = 0.0f;
  FOUR_TURNS for (uint i = item; i < count; i += STEP_GROUP) {
    uint line = first + i / width * parts, x = i % width, place = line * width + x;
    sum -= mask[line / lines * width + x] * (input[place] - reference[place]) * output_gradient[place];
  }
  sum = group_sum(sum, scratch);
  if (item == 0u) part[row] = sum;
}

/* The gradient of the mask, -step sum of (value - reference) g over an image's lines. A row is an entry. */
__kernel void consistency_mask(__global const float *restrict input, __global const float *restrict reference,
                               __global const float *restrict step, __global const float *restrict output_gradient,
                               __global float *restrict mask_gradient, uint lines, uint width, uint add, uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows) return;
  uint first = row / width * lines * width + row % width;
  float sum = 0.0f;
  for (uint place = first; place < first + lines * width; place += width)
    sum += (input[place] - reference[place]) * output_gradient[place];
  mask_gradient[row] = (add ? mask_gradient[row] : 0.0f) - step[0] * sum;
}

/* An image's part of the gradient of the step of kernels/rows.cl, -sum of mask products, in front of those; 0 of images that
 * are not there. An image has `parts` lines of products, from `first` on. */
__kernel __attribute__((reqd_work_group_size(STEP_GROUP, 1, 1))) void
rows_step(__global const float *restrict mask, __global float *restrict part, uint images, uint width, uint parts, uint first,
          uint rows) {
  __local float scratch[STEP_GROUP];
  uint row = (uint)get_group_id(0), item = (uint)get_local_id(0), count = row < images ? parts * width : 0u;
  if (row >= rows) return;
  float sum = 0.0f;
  FOUR_TURNS for (uint i = item; i < count; i += STEP_GROUP)
    sum -= mask[row * width + i % width] * part[first + row * parts * width + i];
  sum = group_sum(sum, scratch);
  if (item == 0u) part[row] = sum;
}

/* The gradient of the mask there, -step products. A row is an entry. */
__kernel void rows_mask(__global const float *restrict part, __global const float *restrict step,
                        __global float *restrict mask_gradient, uint width, uint parts, uint first, uint add, uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows) return;
  float sum = 0.0f;
  for (uint k = 0u; k < parts; k++) sum += part[first + (row / width * parts + k) * width + row % width];
  mask_gradient[row] = (add ? mask_gradient[row] : 0.0f) - step[0] * sum;
}

/* Values less the image's units[0], over its units[1]; 0 where that is 0. A row is a strip of an image. */
__kernel void units_forward(__global const float *restrict input, __global const float2 *restrict units,
                            __global float *restrict output, uint pixels, uint rows) {
  uint row = (uint)get_global_id(0), strips = (pixels + STRIP - 1u) / STRIP;
  if (row >= rows) return;
  uint start = row % strips * STRIP, image = row / strips;
  float scale = units[image].y > 0.0f ? 1.0f / units[image].y : 0.0f;
  store_eight(output + image * pixels, start, pixels,
              (load_eight(input + image * pixels, start, pixels) - units[image].x) * scale);
}

__kernel void units_backward(__global const float2 *restrict units, __global const float *restrict output_gradient,
                             __global float *restrict input_gradient, uint pixels, uint add, uint rows) {
  uint row = (uint)get_global_id(0), strips = (pixels + STRIP - 1u) / STRIP;
  if (row >= rows) return;
  uint start = row % strips * STRIP, image = row / strips;
  float scale = units[image].y > 0.0f ? 1.0f / units[image].y : 0.0f;
  add_eight(input_gradient + image * pixels, start, pixels,
            scale * load_eight(output_gradient + image * pixels, start, pixels), add);
}

/* Of every mask its middle: with `left` entries in a row that are not 0 just before entry width / 2, and `right` from it
 * on, 1 for the 2 min(left, right) entries, at least one, from (width - n + 1) / 2 on, and 0 for the others. */
__kernel void mask_middle(__global const float *restrict mask, __global float *restrict output, uint width, uint rows) {
  uint row = (uint)get_global_id(0), left = 0u, right = 0u, middle = width / 2u;
  if (row >= rows) return;
  __global const float *own = mask + row * width;
  while (left < middle && own[middle - 1u - left] != 0.0f) left++;
  while (middle + right < width && own[middle + right] != 0.0f) right++;
  uint count = max(2u * min(left, right), 1u), first = (width - count + 1u) / 2u;
  for (uint x = 0u; x < width; x++) output[row * width + x] = x >= first && x < first + count ? 1.0f : 0.0f;
}
