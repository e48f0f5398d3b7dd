#!/bin/sh
# Every kernel file is clean OpenCL C 1.2 by itself, in every storage and size that it tells apart.
set -u
source=$1 failed=0
command -v clang >/dev/null || { echo "FAILED: clang is not installed; tools/check installs it"; exit 1; }
for file in "$source"/kernels/*.cl; do
  for defines in "" "-DREAL_HALF -DHEIGHT=40 -DWIDTH=32" "-DHEIGHT=33 -DWIDTH=45" "-DHEIGHT=64 -DWIDTH=64" "-DHEIGHT=256 -DWIDTH=256"; do
    # shellcheck disable=SC2086
    clang -x cl -cl-std=CL1.2 -Xclang -finclude-default-header -fsyntax-only -Wall -Wextra -Werror \
      -Wno-unused-function -Wno-unknown-pragmas $defines -include "$source/kernels/common.h" "$file" || failed=1
  done
done
# the parts for NVIDIA, with the instructions written out: assembler is looked at by the driver only
for file in $(grep -l L2SR_MATRIX "$source"/kernels/*.cl); do
  clang -x cl -cl-std=CL1.2 -target nvptx64-nvidia-cuda -Xclang -finclude-default-header -fsyntax-only -Wall -Wextra \
    -Werror -Wno-unused-function -Wno-unused-parameter -Wno-sign-compare -Wno-constant-logical-operand \
    -Wno-unknown-pragmas -DL2SR_NVIDIA -include "$source/kernels/common.h" "$file" || failed=1
done
# the parts for AMD, whose builtins a clang from 15 on knows
amd=
for clang in clang clang-16 clang-15; do
  if "$clang" -x cl -target amdgcn-amd-amdhsa -mcpu=gfx1100 -nogpulib -fsyntax-only /dev/null 2>/dev/null; then
    amd=$clang
    break
  fi
done
[ -n "$amd" ] || echo "did not run: lint of the kernels for AMD; no clang here knows gfx1100 (clang 15 does)"
for file in ${amd:+$(grep -l L2SR_MATRIX "$source"/kernels/*.cl)}; do
  "$amd" -x cl -cl-std=CL1.2 -target amdgcn-amd-amdhsa -mcpu=gfx1100 -nogpulib -fsyntax-only \
    -Xclang -finclude-default-header -Wall -Wextra -Werror -Wno-unused-function -Wno-unused-parameter -Wno-sign-compare -Wno-constant-logical-operand \
    -Wno-unknown-pragmas -DL2SR_AMD -include "$source/kernels/common.h" "$file" || failed=1
done
exit $failed
