#!/bin/sh
# Spokes from the command line: tables, pictures, a page; R_sparse, L2S, L2SR and PG-MRI trained on phantoms, the policy
# beating random spokes; gone on with after a stop; refusals. radial.sh L2SR SOURCE
set -u
source=$2
. "${0%/*}/setup.sh"

cat >scene.yaml <<'Y'
data: {size: 32, path: data, order: permuted}
acquisition: {geometry: spokes, acceleration: [8], horizon: [long]}
network: {channels: 4, pools: 2}
policy: {channels: 2, pools: 2, hidden: 16}
reward: {scale: 100}
train:
  {method: l2sr, epochs: 8, batch: 5, rate: 0.01, rate_every: 6, accelerations: [8], initial_accelerations: [32]}
learn: {steps: 4608, scans: 16, rate: 0.003, validations: 6, save_every: 9, log_every: 3}
alternate: {rounds: 1, steps: 2016, policy_rate: 0.001, entropy: 0.01, epochs: 8, batch: 5, rate: 0.01, rate_every: 6}
evaluate: {samplers: [random, uniform], metrics: [ssim], curves: false}
Y
run "phantom" "$l2sr" phantom data --train 8 --val 1 --test 4 --slices 5 --size 32 --rows 64 --columns 38

# ---- heuristics and oracles ---------------------------------------------------------------------------------

ssim() { sed -n "s/.*\"sampler\":\"$1\",.*\"ssim\":{\"mean\":\\([0-9.]*\\).*/\\1/p" out; }
run "table" "$l2sr" evaluate scene --samplers random,uniform,oracle,average_oracle --output results
what=table
says out 'x8 long: 1 initial + 3 acquired of 32 spokes, 20 slices'
says out 'acceleration 8 by spokes (all / 4), 8.258 by cells where they are evenly spaced (all / cells)'
says out 'all/cells'
run "few at a time" "$l2sr" evaluate scene --samplers random,uniform,oracle --set world.envs=3 --output few
run "the same scans" "$l2sr" evaluate scene --samplers random,uniform,oracle --set world.envs=20 --output many
run "however many at a time" "$l2sr" compare few/results.h5 many/results.h5
run "json" "$l2sr" evaluate scene --samplers random,uniform,oracle,average_oracle --json
what=json
says out '"geometry":"spokes","cells":124,'
random=$(ssim random) uniform=$(ssim uniform) oracle=$(ssim oracle) average=$(ssim average_oracle)
tried=$((tried + 1))
awk "BEGIN { exit !($oracle > $average && $average > $uniform && $uniform > $random) }" ||
  complain "random $random, uniform $uniform, average oracle $average and oracle $oracle do not follow"
awk 'BEGIN { for (i = 0; i < 32; i++) print(i % 8 == 0) }' >even.txt
run "fixed mask" "$l2sr" evaluate scene --samplers fixed_mask --set sampler.mask=even.txt --json
tried=$((tried + 1))
[ "$(ssim fixed_mask)" = "$uniform" ] || complain "the mask of uniform gives $(ssim fixed_mask), uniform $uniform"
run "pictures" "$l2sr" render scene --samplers random,uniform,oracle --slices 0,3 --output pictures
[ "$(find pictures -name '*.png' | wc -l)" = 2 ] || complain "render drew no two pictures"
run "scene" "$l2sr" describe scene scene
what=scene
says out '# x8 long: 1 spoke is given, evenly spaced, then 3 are chosen: 4 of 32, acceleration 8 by spokes, 8.258 by cells'
run "bench step" "$l2sr" bench step scene --envs 20 --slices 9
what='bench step'
says out '1 + 3 spokes'
run "bench learn" "$l2sr" bench learn scene --scans 16 --envs 16
run "bench inference" "$l2sr" bench inference scene --envs 1 --set acquisition.budget=1 --json

# ---- learning -----------------------------------------------------------------------------------------------

run "train" "$l2sr" train scene --output whole
run "L2S" "$l2sr" evaluate scene --samplers random,policy --policy whole/policy_1/last.h5 \
  --reconstructor whole/reconstructor/best.h5 --json
random=$(ssim random) l2s=$(ssim policy)
run "L2SR" "$l2sr" evaluate scene --samplers policy --policy whole/policy_1/last.h5 \
  --reconstructor whole/reconstructor_1/best.h5 --json
tried=$((tried + 1))
echo "test SSIM: Random $random, L2S $l2s, L2SR $(ssim policy)"
awk "BEGIN { exit !($l2s > $random + 0.02 && $(ssim policy) > $l2s) }" ||
  complain "Random $random, L2S $l2s and L2SR $(ssim policy) do not follow"
run "stopped" "$l2sr" train scene --output part --set train.method=reconstructor --epochs 4
run "gone on with" "$l2sr" train scene --output part --set train.method=reconstructor --resume
run "equals never stopped" "$l2sr" compare part/last.h5 whole/reconstructor/last.h5
l2s='--output cut --resume --set train.method=l2s --set learn.reconstructor=part/best.h5'
# shellcheck disable=SC2086
"$l2sr" train scene $l2s >out 2>err &
child=$!
await tells cut/policy_1/log.jsonl look 15
kill -9 $child 2>/dev/null
wait $child 2>/dev/null
# shellcheck disable=SC2086
run "L2S, killed and gone on with" "$l2sr" train scene $l2s
run "equals never stopped" "$l2sr" compare cut/policy_1/last.h5 whole/policy_1/last.h5
run "PG-MRI" "$l2sr" train scene --output pgmri --set train.method=pgmri --set reward.form=dense --set reward.scale=1 \
  --set learn.reconstructor=part/best.h5 --set pgmri.epochs=2 --set pgmri.trajectories=3
run "drawn by it" "$l2sr" evaluate scene --samplers policy --policy pgmri/policy_1/last.h5 --reconstructor part/best.h5 \
  --set train.method=pgmri --set evaluate.actions=drawn --set evaluate.trajectories=2 --json

# ---- the page -----------------------------------------------------------------------------------------------

for geometry in lines spokes; do
  run "$geometry" "$l2sr" evaluate scene --samplers random --set acquisition.geometry=$geometry \
    --set evaluate.keep='[1]' --set evaluate.curves=true --output page/$geometry
done
run "report" "$l2sr" report page/lines page/spokes --output page/html
what=report.txt
says page/html/report.txt '×8 Long, spokes'
says page/html/report.txt 'after every spoke'
says page/html/report.txt 'after every line'

# ---- refusals -----------------------------------------------------------------------------------------------

refuse 2 'sampler lowest_index: it does not choose among spokes' evaluate scene --samplers lowest_index
refuse 2 'sampler uniform: it does not choose among lines' evaluate scene --set acquisition.geometry=lines
refuse 2 'train.method is loupe, which learns masks of lines or points, and acquisition.geometry is spokes' \
  train scene --quiet --output none --set train.method=loupe
refuse 2 'no spoke is left to acquire: 4 initial spokes of 32/8' evaluate scene --set acquisition.initial_lines=4
refuse 1 'was trained to choose spokes and acquisition.geometry is lines' evaluate scene --samplers policy \
  --set acquisition.geometry=lines --policy whole/policy_1/last.h5
refuse 1 'acquisition.geometry was spokes and is lines now' train scene --quiet --output cut --resume \
  --set train.method=l2s --set learn.reconstructor=part/best.h5 --set acquisition.geometry=lines
refuse 2 "acquisition.geometry is 'circles'" evaluate scene --set acquisition.geometry=circles
for scene in "$source"/scenes/radial_*.yaml; do
  run "$scene" "$l2sr" describe schedule "$scene"
  what=$scene
  says out 'observe_cells'
done
finish
