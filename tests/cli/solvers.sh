#!/bin/sh
# Reconstruction without training (reconstruct.method): tables, policies and masks by it, its weight on validation slices,
# reports that tell it, refusals. solvers.sh L2SR SOURCE
set -u
. "${0%/*}/setup.sh"

cat >scene.yaml <<'Y'
data: {size: 32, path: data}
acquisition: {geometry: points}
network: {channels: 4, pools: 2}
policy: {channels: 2, pools: 2, hidden: 16}
train: {method: l2s}
learn: {steps: 64, scans: 4, validations: 1}
reconstruct: {iterations: 20}
evaluate: {samplers: [random], metrics: [ssim], curves: false}
Y
lines="--set acquisition.geometry=lines"
run "phantom" "$l2sr" phantom data --train 2 --val 1 --test 1 --slices 4 --size 32
ssim() { sed -n 's/.*"ssim":{"mean":\([0-9.]*\).*/\1/p' out; }

for method in zero_filled cg_sense tv wavelet; do
  run "table of $method" "$l2sr" evaluate scene --set reconstruct.method=$method --json --output $method
  echo "$method: SSIM $(ssim)"
  eval "$method=$(ssim)"
done
tried=$((tried + 1))
# shellcheck disable=SC2154
awk "BEGIN { exit !($tv > $zero_filled && $wavelet > $zero_filled) }" || complain "priors are no better than zeros"
run "few at a time" "$l2sr" evaluate scene --set reconstruct.method=tv --set world.envs=3 --output few
run "the same" "$l2sr" compare few/results.h5 tv/results.h5
run "report" "$l2sr" report tv zero_filled --output page
what='the page of both'
says page/report.txt 'random (tv)'
says page/report.txt 'tv: weight 0.01, iterations 20'

run "weights" "$l2sr" sweep scene --output weights --set train.method=reconstructor --set reconstruct.method=tv \
  --set reconstruct.weight=0.003,0.03,10
what='the best weight'
says out 'best by SSIM: reconstruct.weight=0.0'

# no network is trained for what has none
# shellcheck disable=SC2086
run "a policy" "$l2sr" train scene $lines --output policy --set reconstruct.method=tv --set reconstruct.iterations=5
tried=$((tried + 1))
[ ! -e policy/reconstructor ] && [ -e policy/policy_1/best.h5 ] || complain "a reconstructor was trained for tv"
# shellcheck disable=SC2086
run "table of the policy" "$l2sr" evaluate scene $lines --set reconstruct.method=tv --policy policy/policy_1/last.h5
# shellcheck disable=SC2086
run "a mask" "$l2sr" train scene $lines --output mask --set train.method=lbcs --set reconstruct.method=cg_sense \
  --set lbcs.candidates=4 --set acquisition.budget=2 --set reconstruct.iterations=3

printf 'no checkpoint\n' >unet.h5
refuse 2 'reconstruct.method is tv, which has no network, and evaluate.reconstructor names one' evaluate scene \
  --reconstructor unet.h5 --set reconstruct.method=tv
refuse 2 'reconstruct.method is wavelet, which has no network, and train.method l2sr trains one; set reconstruct.method to auto, or, for `l2sr sweep` to score' train scene --quiet \
  --output none --set train.method=l2sr --set reconstruct.method=wavelet
refuse 2 'reconstruct.method is tv, which has no network, and learn.reconstructor names one' train scene --quiet \
  --output none --set reconstruct.method=tv --set learn.reconstructor=unet.h5
refuse 2 'reconstruct.method is network, and no reconstructor is named' evaluate scene --set reconstruct.method=network
refuse 2 'reconstruct.method is tv, which has no network, and network.input complex' evaluate scene \
  --set reconstruct.method=tv --set network.input=complex
refuse 2 'reconstruct.weight is -1' evaluate scene --set reconstruct.method=tv --set reconstruct.weight=-1
refuse 2 'reconstruct.iterations is 0' evaluate scene --set reconstruct.method=tv --set reconstruct.iterations=0
finish
