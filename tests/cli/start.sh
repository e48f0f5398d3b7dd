#!/bin/sh
# Trainings that start from another's checkpoint: with its parameters, and everything else anew; what does not fit; and
# that a refused resume names this way. start.sh L2SR
set -u
. "${0%/*}/setup.sh"

cat >scene.yaml <<'Y'
data: {size: 32, path: data, order: permuted}
acquisition: {horizon: [long]}
network: {channels: 4, pools: 2}
policy: {channels: 2, pools: 2, hidden: 16}
train: {epochs: 2, batch: 5, rate: 0.01, accelerations: [4], initial_accelerations: [32]}
learn: {steps: 700, scans: 16, rate: 0.002, validations: 2}
alternate: {rounds: 1, steps: 224, epochs: 1, batch: 5}
pgmri: {epochs: 1, batch: 2, trajectories: 3, rate: 0.001}
Y
run "phantom" "$l2sr" phantom data --train 2 --val 1 --test 0 --slices 5 --size 32 --rows 32 --columns 32

# value FOLDER KEY first|last: of a validation in log.jsonl
value() {
  case $3 in
  first) pick=1 ;;
  *) pick='$' ;;
  esac
  grep "\"$2\":" "$1/log.jsonl" | sed -n "s/.*\"$2\":\([-0-9.e]*\).*/\1/;${pick}p"
}
# same KEY FOLDER OTHER: the last validation of one is the first of the other, which learns nothing
same() {
  tried=$((tried + 1))
  before=$(value "$2" "$1" last) after=$(value "$3" "$1" first)
  [ -n "$before" ] && [ "$before" = "$after" ] || complain "$3 starts with $1 '$after', $2 ends with '$before'"
}

# ---- a reconstructor ----------------------------------------------------------------------------------------

run "a reconstructor" "$l2sr" train scene --output first
run "one that starts anew" "$l2sr" train scene --output other --set world.seed=7 --set train.rate=0 --set train.epochs=1
tried=$((tried + 1))
[ "$(value first val_loss last)" != "$(value other val_loss first)" ] || complain "two trainings give one loss"
still='--set train.rate=0 --output second'
# shellcheck disable=SC2086
run "one that starts from it" "$l2sr" train scene $still --set train.start=first/last.h5 --set train.epochs=1
same val_loss first second
cp first/last.h5 moved.h5
# shellcheck disable=SC2086
run "it goes on, wherever the checkpoint is now" "$l2sr" train scene $still --resume --set train.start=moved.h5
same val_loss first second
# shellcheck disable=SC2086
refuse 1 "it began with a checkpoint's parameters; name that in train.start again, or use another train.output" \
  train scene $still --quiet --resume
# shellcheck disable=SC2086
refuse 1 'and those that train.start names are ' train scene $still --quiet --resume --set train.start=other/last.h5
refuse 1 'it began with new parameters; leave train.start out' train scene --output first --quiet --resume \
  --set train.start=other/last.h5

# ---- a policy -----------------------------------------------------------------------------------------------

given='--set learn.reconstructor=first/last.h5'
# shellcheck disable=SC2086
run "a policy" "$l2sr" train scene --method l2s --output l2s $given
# shellcheck disable=SC2086
run "one that starts from it" "$l2sr" train scene --method l2s --output l2s_on $given --set learn.rate=0 \
  --set learn.start=l2s/policy_1/last.h5
same score l2s/policy_1 l2s_on/policy_1
# shellcheck disable=SC2086
run "the first policy of l2sr" "$l2sr" train scene --method l2sr --output l2sr $given --set learn.rate=0 \
  --set learn.start=l2s/policy_1/last.h5
same score l2s/policy_1 l2sr/policy_1
# shellcheck disable=SC2086
run "PG-MRI's" "$l2sr" train scene --method pgmri --output pgmri $given
# shellcheck disable=SC2086
run "one that starts from it" "$l2sr" train scene --method pgmri --output pgmri_on $given --set pgmri.rate=0 \
  --set learn.start=pgmri/policy_1/last.h5
same score pgmri/policy_1 pgmri_on/policy_1
run "the reconstructor before a policy" "$l2sr" train scene --method l2s --output both --set train.rate=0 \
  --set train.start=first/last.h5
same val_loss first both/reconstructor
run "LOUPE" "$l2sr" train scene --method loupe --output loupe --set train.epochs=1

# ---- what a refused resume names ----------------------------------------------------------------------------

on='; to train on from these parameters with other options, start a new training in another train.output with --set'
refuse 1 "train.rate was 0.01 and is 0.02 now; use that value, or another train.output$on train.start=first/last.h5" \
  train scene --quiet --output first --resume --set train.rate=0.02
# shellcheck disable=SC2086
refuse 1 "learn.rate was 0.002 and is 0.001 now; use that value, or another train.output$on learn.start=l2s/policy_1/last.h5" \
  train scene --quiet --method l2s --output l2s --resume $given --set learn.rate=0.001
# shellcheck disable=SC2086
refuse 1 "train.output$on learn.reconstructor=l2sr/reconstructor_1/last.h5" train scene --quiet --method l2sr --output l2sr \
  --resume $given --set learn.rate=0 --set learn.start=l2s/policy_1/last.h5 --set alternate.rate=0.02
refuse 1 'train.rate was 0.01 and is 0.02 now; use that value, or another train.output; no option starts from its parameters' \
  train scene --quiet --method loupe --output loupe --resume --set train.rate=0.02
refuse 1 'network.channels was 4 and is 6 now' train scene --quiet --output first --resume --set network.channels=6
tried=$((tried + 1))
! grep -q 'to train on' err || complain "a way is named that is refused: another network starts from no such parameters"

# ---- refused before anything is trained ---------------------------------------------------------------------

none='--quiet --output none --set'
# shellcheck disable=SC2086
{
  refuse 1 'train.start: cannot open nowhere.h5' train scene $none train.start=nowhere.h5
  refuse 1 'it is no checkpoint of a reconstructor' train scene $none train.start=l2s/policy_1/last.h5
  refuse 2 'has network.channels 4 and network.pools 2, the scene says 6 and 2' train scene $none train.start=first/last.h5 \
    --set network.channels=6
  refuse 1 'was trained with data.size 32 (attribute network_size), and data.size is 40' train scene $none \
    train.start=first/last.h5 --set data.size=40 --set data.pad=40
  refuse 2 'train.method loupe trains none that starts so; leave it out, or take one of reconstructor, l2s, l2sr, pgmri, lbcs' train scene $none train.start=first/last.h5 --method loupe
  refuse 2 'train.method tau_step trains none that starts so' train scene $none train.start=first/last.h5 --method tau_step
  refuse 2 'none is trained by train.*: learn.reconstructor names one' train scene $none train.start=first/last.h5 --method l2s $given
  refuse 1 'learn.start: cannot open nowhere.h5' train scene $none learn.start=nowhere.h5 --method l2s
  refuse 1 'it is no checkpoint of a policy' train scene $none learn.start=first/last.h5 --method l2s
  refuse 1 'learn.start: ' train scene $none learn.start=pgmri/policy_1/last.h5 --method l2s
  refuse 1 'learn.start: ' train scene $none learn.start=l2s/policy_1/last.h5 --method pgmri
  refuse 2 'policy.hidden 16, the scene says 2, 2 and 17' train scene $none learn.start=l2s/policy_1/last.h5 --method l2sr \
    --set policy.hidden=17
  refuse 2 'its policy chooses among lines, the scene' train scene $none learn.start=l2s/policy_1/last.h5 --method l2s \
    --set acquisition.geometry=spokes
  refuse 2 'learn.start starts a policy, and train.method reconstructor trains none that starts so; leave it out, or take one of l2s, l2sr, pgmri' train scene $none learn.start=l2s/policy_1/last.h5
  refuse 2 'and train.method lbcs trains none' train scene $none learn.start=l2s/policy_1/last.h5 --method lbcs
}
run "nothing is left of what is refused" test ! -e none
finish
