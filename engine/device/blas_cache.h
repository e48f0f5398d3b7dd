/* CLBlast keeps the programs that it has built, and with them their contexts. */
#ifndef L2SR_ENGINE_BLAS_CACHE_H
#define L2SR_ENGINE_BLAS_CACHE_H

void blas_cache_clear(void); /* releases what CLBlast keeps; for when no device is open */

#endif
