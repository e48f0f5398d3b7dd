#!/bin/sh
# Training from the command line: killed and gone on with, compared with a training that was never stopped; the
# trained network in evaluate and render; refusals. train.sh L2SR
set -u
. "${0%/*}/setup.sh"

cat >scene.yaml <<'Y'
data: {size: 32, path: data}
network: {channels: 4, pools: 2}
train: {epochs: 30, batch: 5, rate: 0.01, rate_every: 22, log_every: 2, masks: exact}
evaluate: {samplers: [random], metrics: [ssim], curves: false}
Y
run "phantom" "$l2sr" phantom data --train 5 --val 1 --test 1 --slices 4 --size 32 --rows 64 --columns 38
run "train" "$l2sr" train scene --output whole
says out ', by the validation loss: loss '
grep -q 'written: whole/best.h5' out || complain "train names no files"
events=events.out.tfevents.l2sr
for file in best.h5 last.h5 log.jsonl $events curves.png; do [ -s "whole/$file" ] || complain "train wrote no $file"; done
[ "$(grep -c '"kind":"epoch"' whole/log.jsonl)" = 30 ] || complain "log.jsonl has not one line an epoch"
[ "$(grep -c '"kind":"update"' whole/log.jsonl)" = 60 ] ||
  complain "log.jsonl has not one line every two updates"
grep '"kind":"update"' whole/log.jsonl | grep -qv '"gradient_norm":[0-9.e-]*,' &&
  complain "an update's line lacks the gradient's norm"

# ---- played again -------------------------------------------------------------------------------------------

run "a short training" "$l2sr" train scene --output short --epochs 2 --set train.digest_every=3
run "replay" "$l2sr" replay short/
says out 'the same: 4 digests of parameters in 1 stage'
sed '$s/"parameters":"[0-9a-f]/"parameters":"x/' short/log.jsonl >changed && mv changed short/log.jsonl
refuse 1 'holds a training' replay short
"$l2sr" replay short --output third >out 2>err && complain "a replay that differs: status 0"
tried=$((tried + 1))
grep -q '^differs first at epoch 2: parameters were x' out || complain "a replay that differs"
rm -rf short short-replay third

# ---- killed -------------------------------------------------------------------------------------------------

epochs() { grep -c '"kind":"epoch"' cut/log.jsonl 2>/dev/null; }
for at in 0 1 5 10 16; do
  signal=KILL traces=
  [ $at != 10 ] || signal=INT traces='--trace trace.json'
  # shellcheck disable=SC2086 # they are words
  "$l2sr" train scene --output cut --resume $traces >out 2>err &
  child=$!
  await tells cut/log.jsonl epoch $at
  kill -s $signal $child 2>/dev/null
  wait $child 2>/dev/null
  what="interrupted at epoch $at"
  [ $signal != INT ] || says err 'interrupted; unfinished files are removed; --resume goes on from the last checkpoint'
done
what="the trace of a training that was interrupted"
tried=$((tried + 1))
python3 -c 'import json; assert {1, 2} == {s["pid"] for s in json.load(open("trace.json"))["traceEvents"] if s["ph"] == "X"}' 2>err ||
  complain "$what: not JSON, or without the host's spans or the device's"
[ "$(epochs)" -lt 30 ] || complain "the training had ended before it was killed"
run "going on" "$l2sr" train scene --output cut --resume
for file in best last; do
  run "killed and gone on with equals never stopped" "$l2sr" compare cut/$file.h5 whole/$file.h5
done
for folder in cut whole; do sed 's/,"images_per_second.*//' $folder/log.jsonl >$folder/lines; done
run "and so do the lines of the log" cmp cut/lines whole/lines
[ "$(wc -c <cut/$events)" = "$(wc -c <whole/$events)" ] || complain "the two event files differ in length"
[ -z "$(find . -name '*.part')" ] || complain "half-written files are left: $(find . -name "*.part")"
run "going on after the end" "$l2sr" train scene --output cut --resume --json
run "changes nothing" "$l2sr" compare cut/last.h5 whole/last.h5
run "more epochs" "$l2sr" train scene --output cut --resume --epochs 31 --json
[ "$(grep -c '"kind":"epoch","epoch":31,' out)" = 1 ] || complain "--json gives no line for epoch 31"

cp -r whole shorter
head -c 3000 whole/log.jsonl >shorter/log.jsonl
run "a log that was cut" "$l2sr" train scene --output shorter --resume --epochs 31
says err 'warning: shorter/log.jsonl has '
grep -v '^{.*}$' shorter/log.jsonl >out && complain "half a line stays in the log"
run "a report of it" "$l2sr" report shorter --output page

# A second training in the folder is refused; the lock of a killed one is gone.
"$l2sr" train scene --output held --epochs 100000 >first 2>&1 &
child=$!
held() { grep -c '"kind":"epoch"' held/log.jsonl 2>/dev/null; }
await tells held/log.jsonl epoch 1
what='a second training in a folder'
tried=$((tried + 1))
"$l2sr" train scene --output held --resume >out 2>err
[ $? = 1 ] || complain "$what: exit status other than 1"
says err 'l2sr: held is in use: another training holds held/log.jsonl; wait for its end'
kill -9 $child 2>/dev/null
wait $child 2>/dev/null
run "the lock ends with the process" "$l2sr" train scene --output held --resume --epochs $(($(held) + 1))

# ---- the trained network ------------------------------------------------------------------------------------

ssim() { sed 's/.*"ssim":{"mean":\([0-9.]*\).*/\1/' out; }
run "zero-filled" "$l2sr" evaluate scene --set data.split=train --json
zero_filled=$(ssim)
run "evaluate the network" "$l2sr" evaluate scene --set data.split=train --reconstructor whole/best.h5 --json
network=$(ssim)
awk "BEGIN { exit !($network > $zero_filled + 0.02) }" ||
  complain "the network's SSIM $network does not beat zero-filling's $zero_filled"
grep -q '"reconstructor":"reconstruction by whole/best.h5 (U-Net, 4 channels, 2 pools)"' out ||
  complain "evaluate does not name the reconstructor"
run "evaluate to files" "$l2sr" evaluate scene --reconstructor whole/best.h5 --output one
run "three at a time" "$l2sr" evaluate scene --reconstructor whole/best.h5 --output three --set network.batch=3
run "parts of the batch change nothing" "$l2sr" compare --tolerance 1e-5 one/results.h5 three/results.h5
run "render" "$l2sr" render scene --reconstructor whole/best.h5 --slices 0 --output pictures
[ -s pictures/x4_base_file1000003_0.png ] || complain "render wrote no picture"

# ---- sweeps -------------------------------------------------------------------------------------------------

sweep() {
  run "sweep" "$l2sr" sweep scene --output grid --epochs 1 --set train.rate=0.001,0.01 \
    --set train.initial_accelerations=[8] --set network.channels=2 "$@"
}
sweep
says out 'best by SSIM: train.rate=0.01'
for rate in 0.001 0.01; do
  for file in last.h5 best.h5 curves.png; do
    [ -s "grid/train.rate=$rate/$file" ] || complain "sweep wrote no $file for the rate $rate"
  done
done
run "the same by hand" "$l2sr" train scene --output hand --epochs 1 --set train.rate=0.01 \
  --set network.channels=2
run "sweep trains what train does" "$l2sr" compare hand/last.h5 \
  grid/train.rate=0.01/last.h5
says grid/sweep.csv 'train.rate,train.initial_accelerations,network.channels,epochs,best_epoch,val_loss,'
says grid/sweep.csv '0.01,[8],2,1,1,-0.'
cp grid/sweep.csv first.csv
before=$(ls -l --time-style=full-iso grid/train.rate=0.01/last.h5)
rm -r grid/train.rate=0.001
sweep --json
[ "$before" = "$(ls -l --time-style=full-iso grid/train.rate=0.01/last.h5)" ] ||
  complain "a finished one was trained again"
[ "$(grep -c '^{"folder":"grid/train.rate=.*,"failure":null}$' out)" = 2 ] ||
  complain "sweep --json has not two lines"
says out '"set":{"train.rate":"0.01","train.initial_accelerations":"[8]","network.channels":"2"},"epochs":1,'
run "a sweep that goes on gives the same table" "$l2sr" compare first.csv grid/sweep.csv
refuse 1 'grid/sweep.csv is of another sweep, of other keys or values; replace it with --overwrite' sweep scene \
  --output grid --epochs 1 --set train.batch=4,5
refuse 1 'grid/sweep.csv is of another sweep' sweep scene --output grid --epochs 1 --set train.rate=0.002,0.01 \
  --set train.initial_accelerations=[8] --set network.channels=2
run "nor is it touched" cmp first.csv grid/sweep.csv
what='a sweep of which one fails'
"$l2sr" sweep scene --output partly --epochs 1 --set train.loss=mse --set train.rate=1e9,0.001 >out 2>err
[ $? = 1 ] || complain "$what: exit status other than 1"
says out 'failed       -          -            partly/train.rate=1e9'
says out 'best by SSIM: train.rate=0.001'
says err 'warning: train.rate=1e9: the loss of update '
run "a sweep of which one has no SSIM" "$l2sr" sweep scene --output huge --epochs 1 --set train.loss=l1 \
  --set train.rate=1e9,0.001
says out 'best by SSIM: train.rate=0.001'
refuse 2 'no --set has more than one value' sweep scene --output none --set train.rate=1
refuse 2 'no --set has more than one value' sweep scene --output none --set train.accelerations=[4,8]
refuse 2 "train.rate is 'x' at --set" sweep scene --output none --set train.rate=1,x
refuse 2 "unknown key train.rat at --set; did you mean train.rate?" sweep scene --output none --set train.rat=1,2
refuse 2 "--set 'train.rate' has no '='" sweep scene --output none --set train.rate
refuse 2 "the value '1' twice" sweep scene --output none --set train.rate=1,1
refuse 2 '--set gives train.rate twice; join the values' sweep scene --output none --set train.rate=1 \
  --set train.rate=2
refuse 2 'train.output, in which sweep makes the folders' sweep scene --output none --set train.output=a,b
refuse 2 'train.output is empty' sweep scene --set train.rate=1,2
refuse 2 'network.channels=1: network.channels 1, network.pools 2' sweep scene --output none --set network.channels=4,1
refuse 2 'two combinations would have the folder data.path=a-b' sweep scene --output none --set data.path=a/b,a-b
refuse 2 'more than 1000 combinations' sweep scene --output none --set world.seed=$(seq -s, 40) \
  --set train.batch=$(seq -s, 40)
refuse 1 'no combination could be trained; the last one: training data: cannot open nowhere: No such file or directory' sweep scene \
  --output none --data nowhere --set train.rate=1,2

# ---- refusals -----------------------------------------------------------------------------------------------

refuse 2 'train.output is empty; give --output DIR' train scene
refuse 1 'whole holds a training (last.h5); go on with --resume' train scene --output whole
mkdir alone
cp whole/best.h5 alone
refuse 1 "alone holds best.h5 of another training and no last.h5" train scene --output alone
refuse 2 "train.milestones has 'x'" train scene --output none --set train.milestones=x
refuse 1 'network.pools was 2 and is 3 now' train scene --output whole --resume --set network.pools=3
refuse 1 'train.loss was ssim and is l1 now' train scene --output whole --resume --set train.loss=l1
cp -r data same
run "the same files elsewhere" "$l2sr" train scene --output whole --resume --data same
set -- data/train/*.h5
cp "$1" same/train/"${2##*/}"
refuse 1 "1 of $# training files changed under the same name since, same/train/${2##*/} the first; put back" \
  train scene --output whole --resume --data same
rm -r same
refuse 1 'it has 120 updates, and 12 are wanted; raise train.epochs' train scene --output whole --resume --epochs 3
refuse 1 'training data: cannot open nowhere: No such file or directory' train scene --output new --data nowhere
mkdir empty
refuse 1 'training data: no .h5 file in empty' train scene --output new --data empty
refuse 2 'network.pools is 12 at --set; it must be 1 to 6' train scene --output new \
  --set network.pools=12
refuse 2 'network.channels 1, network.pools 4' bench network --size 96 --set network.channels=1
refuse 2 'it takes 2 channels or more' train scene --output new --set network.channels=1
refuse 1 'the loss of update ' train scene --output burst --set train.rate=1e9 --set train.loss=mse
grep -q 'slices of its minibatch: file.*; no checkpoint was written before' err ||
  complain "a loss of nan names no slices"
dd if=whole/best.h5 of=short.h5 bs=1000 count=4 2>/dev/null
refuse 1 'short.h5' evaluate scene --reconstructor short.h5
refuse 1 'has no HDF5 signature' evaluate scene --reconstructor scene.yaml
refuse 1 'was trained with data.size 32 (attribute network_size), and data.size is 40' evaluate scene --reconstructor whole/best.h5 \
  --set data.size=40 --set data.pad=40
refuse 1 'it is no checkpoint of a reconstructor' evaluate scene --reconstructor data/val/file1000002.h5
dd if=whole/last.h5 of=cut/last.h5 bs=1000 count=9 2>/dev/null
refuse 1 'cut/last.h5' train scene --output cut --resume
finish
