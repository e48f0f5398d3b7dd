#!/bin/sh
# Functions of one's own (--plugin): of a shared library and of Python files, in tables, trainings and reports; what goes wrong
# there. plugin.sh L2SR SOURCE
set -u
. "${0%/*}/setup.sh"
own=${l2sr%/*}/tests/own_plugin.so source=$2

cat >scene.yaml <<'Y'
data: {size: 32, path: data, source: auto}
acquisition: {acceleration: [4], horizon: [long], initial_lines: 2}
network: {channels: 4, pools: 2, batch: 3}
policy: {channels: 2, pools: 2, hidden: 16}
reconstruct: {method: callback}
reward: {metric: callback}
pgmri: {epochs: 1, batch: 2, trajectories: 2, accumulation: 1}
learn: {steps: 24, scans: 4, validations: 1}
world: {envs: 4}
evaluate: {samplers: [random], metrics: [ssim, callback], curves: false}
Y
run "phantom" "$l2sr" phantom data --train 1 --val 1 --test 1 --slices 4 --size 32 --rows 64 --columns 38 --quiet
ssim() { sed -n 's/.*"ssim":{"mean":\([0-9.]*\).*/\1/p' "$@"; }

# ---- a shared library ---------------------------------------------------------------------------------------
refuse 2 'scene.yaml: reconstruct.method names callback, a function of your own; name the file that has reconstruct(batch): l2sr evaluate scene.yaml --plugin FILE.py (or FILE.so)' \
  evaluate scene
run "table of a library" "$l2sr" evaluate scene --plugin "$own" --json --output made
says out 'own_plugin.so"'
of_library=$(ssim out)
run "zero-filled" "$l2sr" evaluate scene --json --set reconstruct.method=auto --set reward.metric=ssim --set evaluate.metrics=[ssim]
what="a copy of the zero-filled image ($of_library)"
says out "\"ssim\":{\"mean\":$of_library"
run "report" "$l2sr" report made --output page
what='the page'
says page/report.txt Callback
refuse 2 'plugin.txt is no shared library (.so) and no Python file (.py)' evaluate scene --plugin plugin.txt
refuse 1 'none.so: there is no such file' evaluate scene --plugin none.so
refuse 1 'none.py: there is no such file' evaluate scene --plugin none.py
refuse 1 'has no function l2sr_plugin_open' evaluate scene --plugin "${l2sr%/*}/libl2sr.so"
refuse 1 'refuses: no weights' evaluate scene --plugin "${own%.so}_refuses.so"

# ---- trainings ----------------------------------------------------------------------------------------------
run "a dense policy" "$l2sr" train scene --plugin "$own" --quiet --output run --set train.method=pgmri
policy=run/policy_1/last.h5
refuse 2 'name the file that has reconstruct(batch)' train scene --output run --resume --set train.method=pgmri
refuse 2 "$policy looks at images, those of its training were made by reconstruct of $own" evaluate scene --policy $policy \
  --set reconstruct.method=auto --set reward.metric=ssim --set evaluate.metrics=[ssim]

# ---- Python files -------------------------------------------------------------------------------------------
python=${L2SR_PYTHON:-/usr/bin/python3}
export L2SR_PYTHON="$python"
end_session
if ! "$python" -c 'import numpy' 2>/dev/null; then
  echo "did not run: plugins of Python ($python has no numpy: apt install python3-numpy)"
  finish
  exit
fi
cat >own.py <<'P'
import os
def reconstruct(batch):
    print(len(batch), batch.path[0], batch.number[0])
    if "BAD" in os.environ:
        exec(os.environ["BAD"])
    return batch.observation
def metric(batch):
    assert batch.label is None or (batch.label == 10 + batch.number).all()
    return -abs(batch.image.astype("f8") - batch.target).mean((1, 2))
P
file=$(ls data/test)
printf '%s\n' file,slice,grade "$file,0,10" "$file,1,11" "$file,2,12" "$file,3,13" >labels.csv
run "labels, of a window of slices" "$l2sr" evaluate scene --plugin own.py --json --set data.labels=labels.csv --set data.label=grade \
  --set world.envs=2 --set data.window=2
what="the slices on the device"
says err '4 slices, 2 of them on the device at a time'
refuse 2 'data.label is empty, and data.labels labels.csv has columns file, slice, grade' evaluate scene --plugin own.py \
  --set data.labels=labels.csv
run "table of a file" "$l2sr" evaluate scene --plugin own.py --json
what="the file's images are the library's ($of_library)"
says out "\"ssim\":{\"mean\":$of_library"
says err 'data/test/'
export BAD
for bad in 'raise KeyError("lost")/KeyError: '"'lost'"' (own.py' 'os._exit(3)/ended with status 3' \
  'raise KeyError("x" * 99999)/xxxx (own.py, line 5)' \
  'batch.result[1, 2, 3] = float("nan"); return/gave an image with pixels that are no finite numbers for slice 1 of data/test/'; do
  BAD=${bad%%/*}
  what="a function that does: $BAD"
  tried=$((tried + 1))
  case $BAD in
  *return) sed "s/        exec.*/        batch.result[:] = 1; ${BAD}/" own.py >nan.py; "$l2sr" evaluate scene --plugin nan.py >out 2>err && complain "$what: it ended well" ;;
  *) "$l2sr" evaluate scene --plugin own.py >out 2>err && complain "$what: it ended well" ;;
  esac
  says err "${bad#*/}"
done
unset BAD
echo 'import nothing_of_that_name' >missing.py
tried=$((tried + 1))
"$l2sr" evaluate scene --plugin missing.py >out 2>err && complain "a file that does not load: it ended well"
says err "missing.py does not load in $python: ModuleNotFoundError: No module named 'nothing_of_that_name'"
printf 'def reconstruct(batch):\n    pass\ndef metric(batch):\n    pass\n' >nothing.py
echo 'reconstruct = 1' >number.py
for file in nothing:'reconstruct of nothing.py failed: TypeError: reconstruct returned None, and wrote nothing into batch.result' \
  number:'number.py does not load in '"$python"': TypeError: reconstruct in number.py is int; it must be a function of a batch'; do
  tried=$((tried + 1))
  "$l2sr" evaluate scene --plugin "${file%%:*}.py" >out 2>err && complain "${file%%:*}.py: it ended well"
  says err "${file#*:}"
done
echo 'other = 1' >empty.py
refuse 1 'has neither a function reconstruct nor a function metric' evaluate scene --plugin empty.py
# one that does not come back ends with the program; whoever inherits it may not have looked yet
lives() { grep '^State:' "/proc/$(cat child)/status" 2>/dev/null | grep -qv Z; }
tried=$((tried + 1))
printf "import os, time\ndef metric(batch):\n    pass\ndef reconstruct(batch):\n    open('child', 'w').write(str(os.getpid()))\n    time.sleep(100)\n" >hangs.py
"$l2sr" evaluate scene --plugin hangs.py >out 2>err &
program=$!
for turn in 1 2 3 4 5 6 7 8 9 10; do [ -s child ] || sleep 0.5; done
[ -s child ] || complain "the function is not called"
kill -KILL $program
wait $program 2>/dev/null
for turn in 1 2 3 4 5 6 7 8 9 10; do lives && sleep 0.3; done
lives && complain "a function that hangs outlives the program"

# ---- the example: a variational network of one's own in PyTorch ---------------------------------------------
if "$python" -c 'import torch' 2>/dev/null; then
  run "a policy for the example's network" "$l2sr" train scene --plugin "$source/tools/examples/own_network.py" --json --output l2s \
    --set train.method=l2s --set reconstruct.input=kspace --set data.kspace=measured --set data.source=kspace
  what="the example's training"
  says out '"kind":"stage","stage":"policy_1"'
else
  echo "did not run: the example in PyTorch ($python has no torch: apt install python3-torch)"
fi
finish
