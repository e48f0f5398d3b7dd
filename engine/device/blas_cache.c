#include "engine/device/blas_cache.h"

#include "engine/base/lock.h"

#include <clblast_c.h>

void blas_cache_clear(void) {
  HOLD(LOCK_PRODUCTS);
  CLBlastClearCache();
}
