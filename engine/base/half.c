#include "engine/base/half.h"

#include <string.h>

uint16_t half_from_float(float value) {
  uint32_t bits;
  memcpy(&bits, &value, 4);
  uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
  uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude >= 0x7f800000) return (uint16_t)(sign | 0x7c00 | (magnitude > 0x7f800000 ? 0x200 : 0));
  if (magnitude >= 0x477ff000) return sign | 0x7c00; /* rounds past 65504 */
  if (magnitude < 0x33000001) return sign;           /* rounds to zero */
  int exponent = (int)(magnitude >> 23) - 112;
  uint32_t digits = (magnitude & 0x7fffff) | 0x800000;
  int shift = exponent > 0 ? 13 : 14 - exponent; /* subnormals lose more digits */
  uint32_t kept = digits >> shift, rest = digits & ((1u << shift) - 1), middle = 1u << (shift - 1);
  if (rest > middle || (rest == middle && (kept & 1))) kept++;
  if (exponent > 0) kept += (uint32_t)(exponent - 1) << 10;
  return (uint16_t)(sign | kept);
}

float half_to_float(uint16_t half) {
  uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = half >> 10 & 0x1f, digits = half & 0x3ff, bits;
  float value;
  if (exponent == 0x1f) {
    bits = 0x7f800000 | digits << 13;
  } else if (exponent) {
    bits = (exponent + 112) << 23 | digits << 13;
  } else { /* zero and subnormals: digits * 2^-24, exact */
    value = (float)digits * 0x1p-24f;
    memcpy(&bits, &value, 4);
  }
  bits |= sign;
  memcpy(&value, &bits, 4);
  return value;
}
