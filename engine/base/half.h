/* IEEE 754 half precision on the host, rounded to nearest even. */
#ifndef L2SR_ENGINE_HALF_H
#define L2SR_ENGINE_HALF_H

#include <stddef.h>
#include <stdint.h>

uint16_t half_from_float(float value);
float half_to_float(uint16_t half);

#endif
