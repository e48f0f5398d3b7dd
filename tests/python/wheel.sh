#!/bin/sh
# What `pip install .` installs, on a machine that has nothing of ours: wheel.sh BUILD SOURCE
set -u
log=$1/wheel.log source=$2
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT
skip() { echo "did not run: pip install . ($*)"; exit 0; }
export PIP_NO_COMPILE=1 PIP_DISABLE_PIP_VERSION_CHECK=1 # of packages, most files are never read
command -v ccache >/dev/null && export CC="ccache ${CC:-cc}"
/usr/bin/python3 -m venv "$temp/venv" >"$log" 2>&1 || skip "no virtual environment: $(tail -n 1 "$log")"
"$temp/venv/bin/pip" install --quiet 'numpy>=1.24' 'gymnasium>=1.1' >"$log" 2>&1 || skip "no packages: $(tail -n 1 "$log")"
"$temp/venv/bin/pip" install --quiet --config-settings=setup-args=-Doptimization=0 "$source" >"$log" 2>&1 || { cat "$log"; exit 1; }
cd "$temp" && venv/bin/l2sr phantom DATA --train 1 --val 1 --test 1 --slices 6 >"$log" 2>&1 || { cat "$log"; exit 1; }
venv/bin/l2sr describe scene knee_x4_long >"$log" 2>&1 || { cat "$log"; exit 1; }
readelf -d venv/lib/python3*/site-packages/l2sr/bin/l2sr | grep -q 'RUNPATH.*\$ORIGIN/\.\./lib' ||
  { echo "FAILED: the program does not look for its library in ../lib"; exit 1; }
cat >step.py <<'END_OF_PYTHON'
import gymnasium, numpy
envs = gymnasium.make_vec("l2sr:KneeX4Long-v0", num_envs=3, data="DATA", overrides={"data.fraction": 1})
observations, info = envs.reset(seed=1)
actions = (numpy.random.rand(3, 128) * info["action_mask"]).argmax(1)
print(*envs.step(actions)[0].shape)
END_OF_PYTHON
found=$(venv/bin/python step.py 2>"$log")
[ "$found" = "3 128 128" ] || { echo "FAILED: it steps to '$found': $(cat "$log")"; exit 1; }
# a program that cannot look at files first is said
chmod a-x venv/lib/python3*/site-packages/l2sr/bin/l2sr
found=$(venv/bin/python step.py 2>&1)
case $found in
*RuntimeWarning*"does not start"*"3 128 128") ;;
*) echo "FAILED: without its program it says '$found'" && exit 1 ;;
esac
