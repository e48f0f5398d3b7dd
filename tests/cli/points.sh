#!/bin/sh
# Points of k-space from the command line: LOUPE's mask and tau steps of points trained on phantoms beat random points;
# tables, pictures, a page; killed and gone on with; refusals. points.sh L2SR
set -u
. "${0%/*}/setup.sh"

cat >scene.yaml <<'Y'
data: {size: 32, path: data, order: permuted}
acquisition: {geometry: points, horizon: [long]}
network: {channels: 4, pools: 2}
train: {method: loupe, epochs: 8, batch: 6, rate: 0.01, rate_every: 6, initial_accelerations: [32]}
loupe: {rate: 0.05}
tau: {steps: 2, channels: 2, rate: 0.003}
evaluate: {samplers: [fixed_mask, learned_mask], metrics: [ssim]}
Y
run "phantom" "$l2sr" phantom data --train 8 --val 1 --test 4 --slices 5 --size 32 --rows 64 --columns 38
run "scene" "$l2sr" describe scene scene
what=scene
says out '# x4 long: the 36 points of the centred square of side 6 are given, then 220 are acquired at once: 256 of 1024'
run "schedule" "$l2sr" describe schedule scene
what=schedule
says out 'decide_points: draw the points of a scan, exactly the budget'
run "network" "$l2sr" describe network scene
grep -q 'probability.weight' out || complain "describe network does not print the mask's graph"
run "network of tau steps" "$l2sr" describe network scene --set train.method=tau_step
grep -q 'unet.down_sample_layers.0' out || complain "describe network does not print the sampler"

# ---- tables -------------------------------------------------------------------------------------------------

ssim() { sed -n "s/.*\"sampler\":\"$1\",.*\"ssim\":{\"mean\":\\([0-9.]*\\).*/\\1/p" out; }
run "LOUPE" "$l2sr" train scene --output loupe
run "tau steps" "$l2sr" train scene --method tau_step --output tau
run "the reconstructor of random points" "$l2sr" train scene --method reconstructor --output plain
run "random points" "$l2sr" evaluate scene --samplers random,variable_density --reconstructor plain/best.h5 --json
random=$(ssim random)
run "exact random points to train on" "$l2sr" train scene --method reconstructor --output exact --set train.masks=exact --epochs 1
own="--set sampler.mask=loupe/best.h5 --reconstructor loupe/best.h5"
# shellcheck disable=SC2086
run "table" "$l2sr" evaluate scene $own --output results
what=table
says out 'x4 long: 36 initial + 220 acquired of 1024 points, 20 slices'
says out '4.000'
[ "$(wc -l <results/curves.csv)" = 5 ] || complain "curves of points have not their start and their end"
# shellcheck disable=SC2086
run "masks of LOUPE" "$l2sr" evaluate scene $own --json
fixed=$(ssim fixed_mask) learned=$(ssim learned_mask)
steps="--set sampler.tau_step=tau/best.h5 --reconstructor tau/best.h5"
# shellcheck disable=SC2086
run "masks of tau steps" "$l2sr" evaluate scene $steps --samplers tau_step,tau_step_best --json
drawn=$(ssim tau_step) best=$(ssim tau_step_best)
echo "test SSIM: random $random, LOUPE $fixed, drawn $learned, tau steps $drawn, their most probable points $best"
tried=$((tried + 2))
awk "BEGIN { exit !($fixed > $random + 0.05 && $learned > $random + 0.05) }" ||
  complain "LOUPE's points ($fixed, $learned) do not beat random ones ($random)"
awk "BEGIN { exit !($drawn > $random && $best > $random) }" ||
  complain "points of tau steps ($drawn, $best) do not beat random ones ($random)"

# drawn the same, whatever runs side by side
all="--samplers random,learned_mask,tau_step --set sampler.mask=loupe/best.h5 $steps --set evaluate.trajectories=2"
# shellcheck disable=SC2086
run "few at a time" "$l2sr" evaluate scene $all --set world.envs=7 --output few
# shellcheck disable=SC2086
run "all at once" "$l2sr" evaluate scene $all --set world.envs=64 --output many
run "draw the same" "$l2sr" compare few/results.h5 many/results.h5
run "report" "$l2sr" report results --output page
what=report
says page/report.txt 'mean SSIM at the start and at the end at ×4 Long, points'
# shellcheck disable=SC2086
run "render" "$l2sr" render scene $own --slices 0 --output pictures
[ "$(find pictures -name '*.png' | wc -l)" = 1 ] || complain "render drew no picture"
awk 'BEGIN { for (i = 0; i < 1024; i++) print(int(i / 32) < 8) }' >lines.txt
refuse 1 'misses 36 of the 36 initial ones' evaluate scene --samplers fixed_mask --set sampler.mask=lines.txt

# ---- complex images, going on -------------------------------------------------------------------------------

complex="--set network.input=complex --set data.scale=0.0001 --epochs 1"
# shellcheck disable=SC2086
run "LOUPE of complex images" "$l2sr" train scene --output complex $complex
# shellcheck disable=SC2086
run "and its masks" "$l2sr" evaluate scene --set network.input=complex --set data.scale=0.0001 \
  --set sampler.mask=complex/best.h5 --reconstructor complex/best.h5
# shellcheck disable=SC2086
run "tau steps of complex images" "$l2sr" train scene --method tau_step --output complex_tau $complex
run "and their masks" "$l2sr" evaluate scene --set network.input=complex --set data.scale=0.0001 --samplers tau_step \
  --set sampler.tau_step=complex_tau/best.h5 --reconstructor complex_tau/best.h5
for method in loupe tau_step; do
  run "two epochs" "$l2sr" train scene --method $method --output whole_$method --epochs 2
  run "one epoch" "$l2sr" train scene --method $method --output cut_$method --epochs 1
  run "and one more" "$l2sr" train scene --method $method --output cut_$method --epochs 2 --resume
  run "gone on with equals never stopped" "$l2sr" compare cut_$method/last.h5 whole_$method/last.h5
done
no_part "gone on with"

# ---- refusals -----------------------------------------------------------------------------------------------

refuse 2 'it does not choose among points (acquisition.geometry); these do: random' evaluate scene --samplers oracle
refuse 2 'it does not choose among points (acquisition.geometry)' evaluate scene --samplers poisson_disc
refuse 2 'acquisition.geometry is points, of which a policy does not choose one after the other; set it to lines or spokes' \
  train scene --quiet --method l2s --output none
refuse 2 'acquisition.geometry is points, of which a policy does not choose one after the other' \
  train scene --quiet --method pgmri --output none
refuse 2 'set acquisition.initial_side instead' train scene --quiet --output none --set acquisition.initial_lines=4
refuse 1 'is of points and acquisition.geometry is lines' evaluate scene --samplers fixed_mask \
  --set sampler.mask=loupe/best.h5 --set acquisition.geometry=lines
refuse 1 'has probabilities for 220 points beside the 16 initial ones, the budget is 112' evaluate scene \
  --samplers learned_mask --set sampler.mask=loupe/best.h5 --set acquisition.acceleration=8
refuse 1 "it was trained with acquisition.geometry 'points' (attribute scan_geometry), and acquisition.geometry is 'lines'; set it to 'points'" evaluate scene \
  --samplers tau_step --set sampler.tau_step=tau/best.h5 --set acquisition.geometry=lines
refuse 1 'tau.channels was 2 and is 4 now' train scene --quiet --method tau_step --output tau --resume --set tau.channels=4
for bench in step learn pgmri inference; do
  refuse 2 "bench $bench measures scans that choose one action after the other: it takes lines and spokes" bench $bench scene
done
cat >lines.yaml <<'Y'
extends: scene.yaml
acquisition: {geometry: lines}
Y
refuse 2 'bench inference measures scans that choose one action after the other' bench inference lines.yaml scene.yaml
finish
