#!/bin/sh
# tau-step sampling from the command line: its scans with its reconstructor beat Random in one table; killed and gone on
# with, compared with one never stopped; refusals. tau.sh L2SR
set -u
. "${0%/*}/setup.sh"

cat >scene.yaml <<'Y'
data: {size: 32, path: data, order: permuted}
acquisition: {horizon: [long]}
network: {channels: 4, pools: 2}
train: {method: tau_step, epochs: 8, batch: 6, rate: 0.01, rate_every: 6, initial_accelerations: [32]}
tau: {steps: 2, hidden: 32, rate: 0.003}
evaluate: {name: tau-Seq, samplers: [tau_step], metrics: [ssim]}
Y
run "phantom" "$l2sr" phantom data --train 8 --val 1 --test 4 --slices 5 --size 32 --rows 64 --columns 38
run "train" "$l2sr" train scene --output whole
for file in last.h5 best.h5 log.jsonl curves.png; do
  [ -s whole/$file ] || complain "train wrote no $file"
done
run "describe network" "$l2sr" describe network scene
grep -q 'layers.8' out || complain "describe network does not print the sampler"

# ---- the table ----------------------------------------------------------------------------------------------

ssim() { sed -n 's/.*"ssim":{"mean":\([0-9.]*\).*/\1/p' out; }
own="--set sampler.tau_step=whole/best.h5 --reconstructor whole/best.h5"
# shellcheck disable=SC2086
run "tau-step" "$l2sr" evaluate scene $own --set evaluate.trajectories=2 --json --output results
drawn=$(ssim)
# shellcheck disable=SC2086
run "its most probable lines" "$l2sr" evaluate scene $own --samplers tau_step_best --set evaluate.trajectories=2 --json --output best
best=$(ssim)
run "the reconstructor of Random" "$l2sr" train scene --method reconstructor --output plain
run "Random" "$l2sr" evaluate scene --samplers random --reconstructor plain/best.h5 --set evaluate.trajectories=2 --json
random=$(ssim)
echo "test SSIM: Random $random, tau-step $drawn, its most probable lines $best"
awk "BEGIN { exit !($drawn > $random + 0.02 && $best > $random + 0.02) }" ||
  complain "tau-step's lines ($drawn, $best) do not beat Random ($random)"
[ "$(wc -l <results/slices.csv)" = 41 ] || complain "20 slices scanned twice do not give 40 lines"
[ "$(wc -l <best/slices.csv)" = 21 ] || complain "the most probable lines are scanned more than once"
# shellcheck disable=SC2086
run "few at a time" "$l2sr" evaluate scene $own --set evaluate.trajectories=2 --set world.envs=7 --output few
run "draw the same" "$l2sr" compare few/results.h5 results/results.h5
echo "{extends: scene, evaluate: {name: Random, samplers: [random], reconstructor: plain/best.h5}}" >Random.yaml
echo "{extends: scene, sampler: {tau_step: whole/best.h5}, evaluate: {reconstructor: whole/best.h5}}" >tau.yaml
run "one table" "$l2sr" evaluate Random tau --output table
what='the table over two scenes'
says out "                                            Random         tau-Seq"
run "report" "$l2sr" report table/Random table/tau --output page
grep -A1 'Joint training' page/report.txt | grep -q 'tau-Seq' || complain "the report does not say that it was trained jointly"
# shellcheck disable=SC2086
run "render" "$l2sr" render scene $own --samplers tau_step,tau_step_best --slices 0 --output pictures
[ "$(find pictures -name '*.png' | wc -l)" = 1 ] || complain "render drew no picture"
run "without its reconstructor" "$l2sr" evaluate scene --set sampler.tau_step=whole/best.h5
what='scored by another reconstructor'
says err "was trained together with its reconstructor, and the zero-filled image scores its scans"
run "the control that does not look" "$l2sr" train scene --output fixed --set tau.adaptive=false --epochs 1
run "and scans" "$l2sr" evaluate scene --set sampler.tau_step=fixed/best.h5 --reconstructor fixed/best.h5 --set world.seed=7
run "four steps" "$l2sr" train scene --output four --set tau.steps=4 --epochs 1

# ---- killed -------------------------------------------------------------------------------------------------

kill_at log.jsonl epoch 2
kill_at log.jsonl epoch 5
[ "$(grep -c '"kind":"epoch"' cut/log.jsonl)" -lt 8 ] || complain "the training was killed too late"
run "going on" "$l2sr" train scene --output cut --resume
for file in last best; do
  run "killed and gone on with equals never stopped" "$l2sr" compare cut/$file.h5 whole/$file.h5
done
no_part "killed and gone on with"

# ---- refusals -----------------------------------------------------------------------------------------------

refuse 1 'tau.slope was 10 and is 5 now' train scene --quiet --output whole --resume --set tau.slope=5
refuse 1 'it was trained with train.method tau_step; go on with that' train scene --quiet --output whole --resume --method reconstructor
refuse 1 'train.method was tau_step and is loupe now' train scene --quiet --output whole --resume --method loupe
refuse 2 'sampler.tau_step is empty; name a checkpoint of train.method tau_step' evaluate scene
run "packed" "$l2sr" models --pack whole/best.h5 --output packed.h5
run "by what was packed" "$l2sr" evaluate scene --set sampler.tau_step=packed.h5 --reconstructor packed.h5
refuse 1 'it is no checkpoint of a sampler of tau steps: its attribute sampler is missing' evaluate scene --set sampler.tau_step=plain/best.h5
refuse 1 'it was trained for scans of 1 initial and 7 acquired lines; x8 long has 1 and 3' evaluate scene \
  --set sampler.tau_step=whole/best.h5 --set acquisition.acceleration=8
refuse 1 'it was trained with data.size 32 (attribute network_size), and data.size is 64' evaluate scene --set sampler.tau_step=whole/best.h5 \
  --set data.size=64 --set data.pad=64
refuse 2 'sampler tau_step is for the one setting that it was trained for and the scene has several' evaluate scene \
  --set sampler.tau_step=whole/best.h5 --set acquisition.horizon=base,long
refuse 2 'tau.steps is 8 and 7 lines are acquired (x4 long): every step takes one at least' train scene --quiet --output none \
  --set tau.steps=8
refuse 2 'train.method is tau_step, which learns masks of lines or points, and acquisition.geometry is spokes' train scene --quiet \
  --output none --set acquisition.geometry=spokes
refuse 2 'train.method is tau_step, which transforms images, and data.kspace is measured' train scene --quiet --output none \
  --set data.kspace=measured
refuse 2 'tau_step_best transform images; set it to image' evaluate scene $own --set data.kspace=measured
refuse 2 'tau.steps is 9' train scene --quiet --output none --set tau.steps=9
refuse 2 'the scene has 2 settings' train scene --quiet --output none --set acquisition.acceleration=4,8
finish
