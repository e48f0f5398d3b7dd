#!/bin/sh
# A third implementation of OpenCL, Mesa's rusticl with llvmpipe on the CPU: the committed vectors, the golden numbers and
# every kernel. It allows work-groups of 32 to kernels that do not require another number.
set -u
l2sr=$1 source=$2
vendors=${OCL_ICD_VENDORS:-/etc/OpenCL/vendors}
data=$source/tests/data
OCL_ICD_VENDORS=$(mktemp -d)
RUSTICL_ENABLE=llvmpipe
export OCL_ICD_VENDORS RUSTICL_ENABLE
trap 'rm -rf "$OCL_ICD_VENDORS"' EXIT
cp "$vendors/rusticl.icd" "$OCL_ICD_VENDORS" 2>/dev/null ||
  { echo "did not run: Mesa's rusticl is not installed (mesa-opencl-icd; tools/packages test does)"; exit 0; }
"$l2sr" info >"$OCL_ICD_VENDORS/info"
grep -q '^device 0: llvmpipe' "$OCL_ICD_VENDORS/info" ||
  { echo "did not run: Mesa's rusticl has no llvmpipe here: $(tail -n 1 "$OCL_ICD_VENDORS/info")"; exit 0; }
"$l2sr" verify "$data"/acquisition_*.h5 "$data"/metrics_*.h5 "$data"/unet_*.h5 "$data"/policy_*.h5 \
  "$data"/gae_*.h5 2>"$OCL_ICD_VENDORS/said" || exit 1
if grep -q '^  driver  *22\.' "$OCL_ICD_VENDORS/info" && ! grep -q '^warning: llvmpipe.* ends the loops' "$OCL_ICD_VENDORS/said"; then
  echo "FAILED: no warning that this llvmpipe ends loops: $(cat "$OCL_ICD_VENDORS/said")"
  exit 1
fi
"$l2sr" verify || exit 1
