#!/bin/sh
# LOUPE from the command line: its mask, exported and evaluated with its reconstructor, beats Random in one table; killed
# and gone on with, compared with one never stopped; refusals. loupe.sh L2SR
set -u
. "${0%/*}/setup.sh"

cat >scene.yaml <<'Y'
data: {size: 32, path: data, order: permuted}
acquisition: {horizon: [long]}
network: {channels: 4, pools: 2}
train: {method: loupe, epochs: 8, batch: 6, rate: 0.01, rate_every: 6, initial_accelerations: [32]}
loupe: {rate: 0.05}
evaluate: {name: LOUPE, samplers: [fixed_mask], metrics: [ssim]}
Y
run "phantom" "$l2sr" phantom data --train 8 --val 1 --test 4 --slices 5 --size 32 --rows 64 --columns 38
run "train" "$l2sr" train scene --output whole
for file in last.h5 best.h5 log.jsonl curves.png; do
  [ -s whole/$file ] || complain "train wrote no $file"
done
[ "$(grep -c '"kind":"epoch"' whole/log.jsonl)" = 8 ] || complain "log.jsonl has not one line an epoch"
run "describe network" "$l2sr" describe network scene
grep -q 'probability.weight' out || complain "describe network does not print the mask's graph"

# ---- the table ----------------------------------------------------------------------------------------------

ssim() { sed -n 's/.*"ssim":{"mean":\([0-9.]*\).*/\1/p' out; }
run "LOUPE" "$l2sr" evaluate scene --set sampler.mask=whole/best.h5 --reconstructor whole/best.h5 --json --output results
learned=$(ssim)
run "the reconstructor of Random" "$l2sr" train scene --method reconstructor --output plain
run "Random" "$l2sr" evaluate scene --samplers random --reconstructor plain/best.h5 --json
random=$(ssim)
echo "test SSIM: Random $random, LOUPE $learned"
awk "BEGIN { exit !($learned > $random + 0.03) }" || complain "LOUPE's mask ($learned) does not beat Random ($random)"
echo "{extends: scene, evaluate: {name: Random, samplers: [random], reconstructor: plain/best.h5}}" >Random.yaml
echo "{extends: scene, sampler: {mask: whole/best.h5}, evaluate: {reconstructor: whole/best.h5}}" >LOUPE.yaml
run "one table" "$l2sr" evaluate Random LOUPE --output table
what='the table over two scenes'
says out "                                            Random           LOUPE"
[ -s table/LOUPE/results.h5 ] || complain "a scene of several has no folder of its own"

# drawn by the probabilities, as published: exact budgets, the same ones whatever runs side by side
drawn="--samplers learned_mask --set sampler.mask=whole/best.h5 --reconstructor whole/best.h5"
# shellcheck disable=SC2086
run "drawn masks" "$l2sr" evaluate scene $drawn --set evaluate.trajectories=2 --json --output drawn
others=$(ssim)
awk "BEGIN { exit !($others > $random && $others <= $learned + 0.02) }" ||
  complain "drawn masks ($others) are not between Random ($random) and the most probable one ($learned)"
[ "$(wc -l <drawn/slices.csv)" = 41 ] || complain "20 slices scanned twice do not give 40 lines"
# shellcheck disable=SC2086
run "few at a time" "$l2sr" evaluate scene $drawn --set evaluate.trajectories=2 --set world.envs=7 --output few
run "draw the same" "$l2sr" compare few/results.h5 drawn/results.h5
# ---- killed -------------------------------------------------------------------------------------------------

kill_at log.jsonl epoch 2
kill_at log.jsonl epoch 5
[ "$(grep -c '"kind":"epoch"' cut/log.jsonl)" -lt 8 ] || complain "the training was killed too late"
run "going on" "$l2sr" train scene --output cut --resume
for file in last best; do
  run "killed and gone on with equals never stopped" "$l2sr" compare cut/$file.h5 whole/$file.h5
done
for folder in cut whole; do
  sed 's/,"images_per_second.*//' $folder/log.jsonl >$folder/lines
done
run "and so do the lines of the log" cmp cut/lines whole/lines
no_part "killed and gone on with"
run "bench train" "$l2sr" bench train scene --json
grep -q '"method":"loupe",.*"batch":6,.*"ratio":[0-9]' out || complain "bench train gives no ratio to the reconstructor alone"
run "a mask a sample" "$l2sr" train scene --output each --set loupe.masks=sample --epochs 1
run "keys of the mixture mean nothing" "$l2sr" train scene --output mixture --set train.initial_accelerations=128 \
  --set train.sampler=oracle --set train.masks=exact --epochs 1
run "an initial line anywhere" "$l2sr" train scene --output three --set acquisition.initial_lines=3 --epochs 1

# ---- refusals -----------------------------------------------------------------------------------------------

refuse 1 'loupe.slope was 10 and is 5 now' train scene --quiet --output whole --resume --set loupe.slope=5
refuse 1 'it was trained with train.method loupe; go on with that' train scene --quiet --output whole --resume --method reconstructor
refuse 1 'train.method was reconstructor and is loupe now' train scene --quiet --output plain --resume
refuse 1 'has probabilities for 7 lines beside the 1 initial one, the budget is 3' evaluate scene --samplers learned_mask \
  --set sampler.mask=whole/best.h5 --set acquisition.acceleration=8
refuse 2 'sampler.mask is empty; name a checkpoint of train.method loupe' evaluate scene --samplers learned_mask
refuse 2 'the scene has 2 settings' train scene --quiet --output none --set acquisition.acceleration=4,8
refuse 2 'no line is left to acquire' train scene --quiet --output none --set acquisition.initial_lines=8
refuse 1 'is of lines and acquisition.geometry is spokes' evaluate scene --samplers fixed_mask \
  --set sampler.mask=whole/best.h5 --set acquisition.geometry=spokes
refuse 2 "loupe.masks is 'line'" train scene --quiet --output none --set loupe.masks=line
refuse 1 'has 8 lines and misses' evaluate scene --set sampler.mask=whole/best.h5 --set acquisition.acceleration=8
finish
