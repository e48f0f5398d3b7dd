#!/bin/sh
# Slices of which the device holds a few at a time (data.window): trainings and tables are the same as with all of them,
# byte for byte. window.sh L2SR
set -u
. "${0%/*}/setup.sh"

cat >scene.yaml <<'Y'
data: {size: 32, path: data, order: permuted}
acquisition: {acceleration: [8], horizon: [long]}
network: {channels: 2, pools: 2}
policy: {channels: 2, pools: 2, hidden: 8}
train: {method: l2sr, epochs: 3, batch: 5, accelerations: [8], initial_accelerations: [32]}
learn: {steps: 384, scans: 16, validations: 2, save_every: 3, log_every: 2}
alternate: {rounds: 1, epochs: 3, batch: 5}
pgmri: {trajectories: 3, batch: 4, accumulation: 2, epochs: 2, log_every: 2}
world: {envs: 8}
evaluate: {samplers: [random, oracle], metrics: [ssim], keep: [1, 13], trajectories: 2}
Y
run "phantom" "$l2sr" phantom data --train 6 --val 3 --test 4 --slices 5 --size 32 --rows 64 --columns 38

# same STAGES TRAINING...: with a window and without, a training ends in the same files
same() {
  stages=$1
  shift
  run "all: $*" "$l2sr" train scene --output all "$@"
  run "a window: $*" "$l2sr" train scene --output few --set data.window=1 "$@"
  what="a window: $*"
  says err ' of them on the device at a time'
  for stage in $stages; do
    for file in all/"$stage"/*.h5; do
      run "a window changes nothing: $*" "$l2sr" compare "$file" "few/$stage/${file##*/}"
    done
  done
}
same 'reconstructor policy_1 reconstructor_1'
policy=all/policy_1/last.h5 reconstructor=all/reconstructor/best.h5
mv all kept
policy=kept/${policy#all/} reconstructor=kept/${reconstructor#all/}
rm -r few
same 'reconstructor policy_1' --set acquisition.geometry=spokes --set train.method=l2s
rm -r all few
same policy_1 --set train.method=pgmri --set reward.form=dense --set learn.reconstructor=$reconstructor
rm -r all few
same . --set train.method=loupe --set acquisition.horizon=base
rm -r all few
same . --set train.method=tau_step --set tau.steps=2 --set tau.hidden=16
rm -r all few
same . --set train.method=reconstructor --set train.masks=exact
run "gone on with, all at a time" "$l2sr" train scene --output few --set train.method=reconstructor \
  --set train.masks=exact --epochs 4 --resume

for window in 0 8 9; do
  run "evaluate by $window" "$l2sr" evaluate scene --policy $policy --reconstructor $reconstructor \
    --set data.window=$window --output table/$window
  run "the same table" "$l2sr" compare table/0/results.h5 table/$window/results.h5
done
run "report" "$l2sr" report table --output page
what="the page"
says page/report.txt '20 slices'
finish
