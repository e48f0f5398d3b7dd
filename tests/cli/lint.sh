#!/bin/sh
# Every kernel file is clean OpenCL C 1.2 by itself, in every storage and size that it tells apart.
set -u
source=$1 failed=0
command -v clang >/dev/null || { echo "FAILED: clang is not installed; tools/check installs it"; exit 1; }
# OpenCL C has no macros of any number of arguments, which some compilers take and NVIDIA's refuses
if grep -n '^ *# *define.*(\.\.\.)\|__VA_ARGS__' "$source"/kernels/*.cl "$source"/kernels/common.h; then
  echo "FAILED: macros of any number of arguments in kernels"
  failed=1
fi
for file in "$source"/kernels/*.cl; do
  for defines in "" "-DREAL_HALF -DHEIGHT=40 -DWIDTH=32" "-DHEIGHT=33 -DWIDTH=45" "-DHEIGHT=64 -DWIDTH=64" "-DHEIGHT=256 -DWIDTH=256" \
    $(grep -q __x86_64__ "$file" && echo "-U__x86_64__") \
    $(grep -q __AVX512F__ "$file" && [ "$(uname -m)" = x86_64 ] && echo "-mavx512f"); do # what GPUs compile where CPUs have their own
    # shellcheck disable=SC2086
    clang -x cl -cl-std=CL1.2 -Xclang -fdeclare-opencl-builtins -Xclang -finclude-default-header -fsyntax-only -Wall -Wextra -Werror \
      -Wno-unused-function -Wno-unknown-pragmas $defines -include "$source/kernels/common.h" "$file" || failed=1
  done
done
# A file is not built anew for a macro of which it has no word (kernels/kernels.c, `macros`): it must mean nothing to it.
# compiled FILE FLAGS...: without what the prelude has and the file does not use, which is not compiled
into_llvm() {
  clang -x cl -cl-std=CL1.2 -emit-llvm -S -o - -w -Xclang -disable-llvm-passes -DL2SR_EMULATED "$@"
}
compiled() {
  into_llvm -Xclang -fdeclare-opencl-builtins -Xclang -finclude-default-header -include "$source/kernels/common.h" "$@"
}
types=$(clang -print-resource-dir)/include/opencl-c-base.h
words=$(sed -n 's/^    {"\([A-Z_]*\)", "\([^"]*\)", .*}.*/\1 \2/p' "$source/kernels/kernels.c")
[ "$(echo "$words" | wc -l)" -ge 5 ] || { echo "FAILED: the words of macros are not found in kernels/kernels.c"; failed=1; }
others=0
for file in "$source"/kernels/*.cl; do
  flags=$(echo "$words" | while read -r macro all; do
    # shellcheck disable=SC2086 # they are words
    grep -q $(printf -- "-e %s " $all) "$file" || case $macro in
    HEIGHT) echo -DHEIGHT=45 ;;
    WIDTH) echo -DWIDTH=64 ;;
    ACTIONS) echo -DACTIONS=777 ;;
    *) echo -D$macro ;;
    esac
  done)
  plain=$(compiled "$file")
  # the emulated lanes of AMD have others
  ! grep -q L2SR_MATRIX "$file" ||
    [ "$(into_llvm -include "$types" -DDECLARES_BUILTINS -DL2SR_AMD -include "$source/kernels/common.h" "$file")" = "$(compiled -DL2SR_AMD "$file")" ] ||
    { echo "FAILED: $file does not compile to the same for AMD by what DECLARES_BUILTINS declares in kernels/common.h"; failed=1; }
  # what the prelude declares in place of a driver's header (engine/device/kernel.c) is the same functions
  [ "$(into_llvm -include "$types" -DDECLARES_BUILTINS -include "$source/kernels/common.h" "$file")" = "$plain" ] ||
    { echo "FAILED: $file does not compile to the same by what DECLARES_BUILTINS declares in kernels/common.h"; failed=1; }
  [ -n "$flags" ] || continue
  others=$((others + 1))
  # shellcheck disable=SC2086
  [ -n "$plain" ] && [ "$(compiled $flags "$file")" = "$plain" ] ||
    { echo "FAILED: $file has no word for one of" $flags "and is another with them"; failed=1; }
done
[ "$others" -gt 20 ] || { echo "FAILED: only $others files are without a word of a macro"; failed=1; }
# the parts for NVIDIA, with the instructions written out: assembler is looked at by the driver only
for file in $(grep -l L2SR_MATRIX "$source"/kernels/*.cl); do
  clang -x cl -cl-std=CL1.2 -target nvptx64-nvidia-cuda -Xclang -fdeclare-opencl-builtins -Xclang -finclude-default-header -fsyntax-only -Wall -Wextra \
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
  for card in "-mcpu=gfx1100" "-mcpu=gfx90a -DL2SR_CDNA -include $source/kernels/cdna.h"; do
    # shellcheck disable=SC2086
    "$amd" -x cl -cl-std=CL1.2 -target amdgcn-amd-amdhsa -nogpulib -fsyntax-only -Xclang -fdeclare-opencl-builtins \
      -Xclang -finclude-default-header -Wall -Wextra -Werror -Wno-unused-function -Wno-unused-parameter -Wno-sign-compare -Wno-constant-logical-operand \
      -Wno-unknown-pragmas -DL2SR_AMD -include "$source/kernels/common.h" $card "$file" || failed=1
  done
done
exit $failed
