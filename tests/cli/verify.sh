#!/bin/sh
# The committed vectors, the built-in golden numbers and every kernel; the large vectors where they are.
set -u
l2sr=$1 source=$2
data=$source/tests/data
"$l2sr" verify "$data"/acquisition_*.h5 "$data"/metrics_*.h5 "$data"/unet_*.h5 "$data"/policy_*.h5 \
  "$data"/gae_*.h5 || exit 1
"$l2sr" verify || exit 1
if [ -n "${L2SR_REFERENCE-}" ] && [ -d "$L2SR_REFERENCE" ]; then
  "$l2sr" verify "$L2SR_REFERENCE"/acquisition_*.h5 "$L2SR_REFERENCE"/metrics.h5 \
    "$L2SR_REFERENCE"/policy_n128.h5 || exit 1
else
  echo "did not run: the large reference vectors (L2SR_REFERENCE names no folder)"
fi
