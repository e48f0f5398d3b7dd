#!/bin/sh
# Every kernel that AMD's data-centre cards (CDNA: waves of 64) run, those with their matrix instructions too, compiles for them
# as their own driver does it, by clang and AMD's library of functions, and keeps its values in registers.
set -u
source=$1 failed=0
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
library=$(find /usr/lib -path '*/amdgcn/bitcode/opencl.bc' 2>/dev/null | head -n 1)
knows() { "$1" -x cl -target amdgcn-amd-amdhsa -mcpu=gfx942 -nogpulib -fsyntax-only /dev/null 2>/dev/null; }
clang=
for name in clang clang-19 clang-18 clang-17; do
  if [ -z "$clang" ] && knows "$name"; then clang=$name; fi
done
[ -n "$clang" ] || { echo "did not run: no clang here knows gfx942 (clang 17 does; tools/packages test installs clang-19)"; exit 0; }
[ -n "$library" ] || { echo "did not run: AMD's functions are not installed (rocm-device-libs; tools/packages test does)"; exit 0; }
linked=
for part in opencl ocml ockl oclc_correctly_rounded_sqrt_off oclc_daz_opt_off oclc_finite_only_off oclc_isa_version_90a \
  oclc_unsafe_math_off oclc_wavefrontsize64_on; do
  linked="$linked -Xclang -mlink-builtin-bitcode -Xclang ${library%/*}/$part.bc"
done

# spilled CARD FILE FLAGS...: a line for each kernel, its name and what it spills: scalars, vectors
spilled() {
  card=$1 file=$2
  shift 2
  # shellcheck disable=SC2086
  "$clang" -x cl -cl-std=CL1.2 -target amdgcn-amd-amdhsa -mcpu="$card" -nogpulib -O3 -cl-mad-enable -w -Xclang -fdeclare-opencl-builtins \
    -Xclang -finclude-default-header $linked "$@" -include "$source/kernels/common.h" -Rpass-analysis=kernel-resource-usage -S -o /dev/null "$file" 2>&1 || echo "broken"
}

kernels=0
# look CARD FILE FLAGS...: complains of what the file's kernels spill; adds their number to `kernels`
look() {
  told=$(spilled "$@")
  case $told in
  *broken) printf '%s\nFAILED: does not compile: %s\n' "$told" "$*"; failed=1; return ;;
  esac
  kernels=$((kernels + $(echo "$told" | grep -c 'Function Name')))
  # scalars in lanes of a vector register are in no memory: some of observe_maps_fft's of 256x256, and of block_weights
  bad=$(echo "$told" | awk '/Function Name:/ {sub(/.*Function Name: /, ""); name = $1}
    /VGPRs Spill: [1-9]/ || (/SGPRs Spill: [1-9]/ && name !~ /^(observe_maps_fft|block_weights)$/) {sub(/.*remark: */, ""); print name ":", $0}')
  [ -z "$bad" ] || { printf '%s\nFAILED: registers are spilled: %s\n' "$bad" "$*"; failed=1; }
}

for card in gfx90a gfx942; do
  for flags in "" "-DHEIGHT=45 -DWIDTH=33 -DREAL_HALF" "-DHEIGHT=256 -DWIDTH=256"; do
    for file in "$source"/kernels/*.cl; do
      # an image of total.cl, a variant of its own, has never room in their 64 KiB of local memory (systems/scan/solve.c)
      case $file in */total.cl) continue ;; esac
      [ -z "$flags" ] || { [ "$card" = gfx942 ] && grep -q -e HEIGHT -e WIDTH -e PIXELS -e FFT_FIRST -e REAL_ "$file"; } || continue
      # shellcheck disable=SC2086
      look "$card" "$file" $flags
    done
  done
  for layer in block "block SOURCE=0" "block SOURCE=3" "block PRECISION=0 STRIP=4" "block SOURCE=3 PRECISION=2" block_merge block_pack \
    block_weights "block_weights PRECISION=0" "block_weights PRECISION=2" rate; do
    file=$dir/${layer%% *}.cl
    cat "$source/kernels/cdna.h" "$source/kernels/${layer%% *}.cl" >"$file"
    for macro in ${layer#* }; do # of the layer that the file has to be compiled alone
      sed -i "s/^#define ${macro%=*} .*/#define ${macro%=*} ${macro#*=}/" "$file"
    done
    look "$card" "$file" -DL2SR_AMD -DL2SR_CDNA
  done
done
[ "$kernels" -gt 400 ] || { echo "FAILED: only $kernels kernels were looked at"; failed=1; }
exit $failed
