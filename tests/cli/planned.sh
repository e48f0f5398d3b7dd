#!/bin/sh
# Straight-through policies, SUNO and evaluators from the command line: the first beat random lines by the same
# reconstructor in one table; killed and gone on with, compared with one never stopped; training slices take their own
# masks; refusals. planned.sh L2SR
set -u
. "${0%/*}/setup.sh"

cat >scene.yaml <<'Y'
data: {size: 32, path: data, order: permuted}
acquisition: {horizon: [long]}
network: {channels: 4, pools: 2}
policy: {channels: 2, pools: 2, hidden: 16}
train: {method: straight_through, epochs: 8, batch: 6, rate: 0.01, rate_every: 6, initial_accelerations: [32]}
alternate: {rounds: 1, epochs: 2, batch: 6, rate: 0.01}
suno: {log_every: 3}
evaluate: {metrics: [ssim]}
Y
run "phantom" "$l2sr" phantom data --train 4 --val 1 --test 3 --slices 5 --size 32 --rows 64 --columns 38
ssim() { sed -n "s/.*\"sampler\":\"$1\".*\"ssim\":{\"mean\":\([0-9.]*\).*/\1/p" out; }

# ---- straight-through ---------------------------------------------------------------------------------------

run "train" "$l2sr" train scene --output whole
run "the reconstructor of Random" "$l2sr" train scene --method reconstructor --output plain
own="--set sampler.mask=whole/best.h5 --reconstructor whole/best.h5"
# shellcheck disable=SC2086
run "its scans" "$l2sr" evaluate scene $own --samplers straight_through,straight_through_best --json --output results \
  --set evaluate.name=through
drawn=$(ssim straight_through) best=$(ssim straight_through_best)
run "Random" "$l2sr" evaluate scene --samplers random --reconstructor plain/best.h5 --json --output Random
random=$(ssim random)
echo "test SSIM: Random $random, straight-through $drawn, its most probable lines $best"
tried=$((tried + 1))
awk "BEGIN { exit !($drawn > $random && $best > $random) }" || complain "straight-through ($drawn, $best) does not beat Random ($random)"
# shellcheck disable=SC2086
run "few at a time" "$l2sr" evaluate scene $own --samplers straight_through --set world.envs=4 --set network.batch=3 --output few
# shellcheck disable=SC2086
run "or all" "$l2sr" evaluate scene $own --samplers straight_through --output all
run "draw the same" "$l2sr" compare few/results.h5 all/results.h5 --tolerance 1e-5
run "report" "$l2sr" report results Random --output page
tried=$((tried + 1))
grep -A1 'Joint training' page/report.txt | grep -q through || complain "the report does not say that it was trained jointly"
run "describe network" "$l2sr" describe network scene
what='its network'
says out fc_out.4
run "bench train" "$l2sr" bench train scene --slices 6 --json
grep -q '"passes_ratio":[0-9]' out || complain "bench train gives no ratio to the networks' passes alone"
kill_at log.jsonl epoch 3
run "going on" "$l2sr" train scene --output cut --resume
run "equals never stopped" "$l2sr" compare cut/last.h5 whole/last.h5

# ---- SUNO ---------------------------------------------------------------------------------------------------

echo '{extends: scene, train: {method: suno}, learn: {reconstructor: plain/best.h5}}' >suno.yaml
run "masks" "$l2sr" train suno --output suno
grep -q '"policy":"masks_1","reconstructor":"reconstructor_1"' suno/stages.jsonl || complain "the best round does not name its stages"
scans="--samplers random,suno --set sampler.mask=suno/masks_1/last.h5 --json"
# shellcheck disable=SC2086
run "scans by it" "$l2sr" evaluate scene $scans --reconstructor suno/reconstructor_1/best.h5 --output nearest
nearest=$(ssim suno)
# shellcheck disable=SC2086
run "training slices" "$l2sr" evaluate scene $scans --reconstructor plain/best.h5 --set data.split=train
told=$(sed -n 's/.*"kind":"look","exchanges":7,.*"score":\([0-9.]*\).*/\1/p' suno/masks_1/log.jsonl)
echo "test SSIM of nearest masks $nearest; training slices' own: told $told, found $(ssim suno)"
tried=$((tried + 1))
awk "BEGIN { d = $(ssim suno) - $told; exit !(d * d < 1e-10 && $nearest > $random) }" ||
  complain "training slices do not take their own masks, or nearest masks do not beat Random"
sed -i 's/straight_through, epochs/suno, epochs/' scene.yaml
rm -rf cut
kill_at masks_1/log.jsonl look 2 --set learn.reconstructor=plain/best.h5
run "going on with masks" "$l2sr" train scene --output cut --resume --set learn.reconstructor=plain/best.h5
for file in masks_1/last reconstructor_1/best; do
  run "masks equal never stopped" "$l2sr" compare cut/$file.h5 suno/$file.h5
done
# ---- evaluator ----------------------------------------------------------------------------------------------

sed -i 's/{method: suno, epochs: 8/{method: evaluator, epochs: 4/; s/initial_accelerations: \[32\]/accelerations: [4, 6, 12], initial_accelerations: [32, 32, 32]/' scene.yaml
echo 'evaluator: {channels: 2}' >>scene.yaml
run "an evaluator" "$l2sr" train scene --output scores
scans="--samplers random,policy --reconstructor scores/best.h5 --policy scores/best.h5"
# shellcheck disable=SC2086
run "scans by it" "$l2sr" evaluate scene $scans --output by_scores --set evaluate.name=evaluator
# shellcheck disable=SC2086
run "few at a time" "$l2sr" evaluate scene $scans --output few_scores --set evaluate.name=evaluator --set world.envs=4 --set policy.batch=3
run "take the same lines" "$l2sr" compare few_scores/results.h5 by_scores/results.h5 --tolerance 1e-5
run "report" "$l2sr" report by_scores scores --output scored
tried=$((tried + 1))
grep -A2 'Joint training' scored/report.txt | grep -q evaluator || complain "the report does not say that it was trained jointly"
rm -rf cut
kill_at log.jsonl epoch 3
run "going on with scores" "$l2sr" train scene --output cut --resume
run "scores equal never stopped" "$l2sr" compare cut/last.h5 scores/last.h5
no_part "killed and gone on with"

# ---- refusals -----------------------------------------------------------------------------------------------

refuse 2 'sampler.mask is empty' evaluate scene --samplers straight_through
refuse 1 'it is no checkpoint of a policy of straight-through draws' evaluate scene --samplers straight_through --set sampler.mask=plain/best.h5
refuse 1 'it is no checkpoint of a policy' evaluate scene --samplers policy --policy plain/best.h5
refuse 1 "it is no checkpoint of a dictionary of masks" evaluate scene --samplers suno --set sampler.mask=whole/best.h5
refuse 1 'it was trained for scans of 1 initial and 7 acquired lines; x8 long has 1 and 3' evaluate scene --samplers straight_through \
  --set sampler.mask=whole/best.h5 --set acquisition.acceleration=8
refuse 1 'it was made for scans of 1 initial and 7 acquired lines' evaluate scene --samplers suno \
  --set sampler.mask=suno/masks_1/last.h5 --set acquisition.acceleration=8
refuse 2 'which take different files' evaluate scene --samplers straight_through,suno --set sampler.mask=whole/best.h5
refuse 2 'train.method is suno, which exchanges lines, and acquisition.geometry is spokes' train suno --quiet --output none \
  --set acquisition.geometry=spokes
refuse 2 'straight_through.joint is false and train.start is empty' train scene --quiet --output none \
  --method straight_through --set straight_through.joint=false
refuse 2 'reconstruct.method' train suno --quiet --output none --set reconstruct.method=tv --set learn.reconstructor=
finish
