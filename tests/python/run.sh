#!/bin/sh
# The Python package against the library of a build folder: run.sh L2SR LIBRARY BUILD SOURCE [TEST...]
# Packages that it needs beside Debian's go into a virtual environment in BUILD, which stays.
set -u
l2sr=$(realpath "$1") library=$(realpath "$2") build=$3 source=$4
shift 4
skip() { echo "did not run: the Python package ($*)"; exit 0; }
nm -D "$library" | grep -q '__[atu][sb]*san_' && skip "the library is built with a sanitizer"
venv=$build/python log=$build/python.log wanted=$source/tests/python/requirements.txt
if ! cmp -s "$wanted" "$venv/requirements.txt"; then
  # Debian's interpreter: its packages hold numpy and torch
  /usr/bin/python3 -m venv --clear --system-site-packages "$venv" >"$log" 2>&1 &&
    "$venv/bin/python" -m pip install --quiet --no-deps -r "$wanted" >>"$log" 2>&1 ||
    skip "no virtual environment: $(tail -n 1 "$log")"
  cp "$wanted" "$venv/requirements.txt"
fi
"$venv/bin/python" -c 'import numpy' 2>/dev/null || skip "no numpy: apt install python3-numpy"
"$venv/bin/python" -c 'import torch' 2>/dev/null || echo "did not run: stable-baselines3 and MaskablePPO (no torch: apt install python3-torch)"
for name in torchrl skrl tianshou h5py pypulseq pydicom; do
  "$venv/bin/python" -c "import importlib.util as u, sys; sys.exit(not u.find_spec('$name'))" || echo "did not run: tests of $name (it is not installed)"
done
"$source/tests/python/package.sh" "$l2sr" "$library" "$source" "$venv/site" || exit 1
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT
cd "$temp" || exit 1
"$l2sr" phantom DATA --train 40 --val 6 --test 10 --slices 6 --size 32 --rows 64 --columns 38 >log 2>&1 || { cat log; exit 1; }
"$l2sr" phantom paper/DATA --train 2 --val 1 --test 1 --slices 6 >log 2>&1 || { cat log; exit 1; }
export PYTHONPATH="$venv/site:$source/tests/python" PYTHONDONTWRITEBYTECODE=1 L2SR_SOURCE="$source" L2SR_BUILD="$build"
export OMP_NUM_THREADS=1 MPLCONFIGDIR="$temp" # threads of these small products wait for each other, and take the processor meanwhile
"$venv/bin/python" -W error::ResourceWarning -m unittest -v "${@:-tests}" 2>&1
