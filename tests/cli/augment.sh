#!/bin/sh
# Moved training slices (data.augment): gone on with, by a window, of every method that trains a reconstructor; what
# validation sees; refusals. augment.sh L2SR
set -u
. "${0%/*}/setup.sh"

cat >scene.yaml <<'Y'
data: {size: 32, path: data, order: permuted, augment: [flips, shifts, turns]}
acquisition: {acceleration: [4], horizon: [long]}
network: {channels: 2, pools: 2}
policy: {channels: 2, pools: 2, hidden: 8}
train: {epochs: 3, batch: 5, rate: 0.01, accelerations: [4], initial_accelerations: [32]}
learn: {steps: 112, scans: 16, validations: 1}
alternate: {rounds: 2, steps: 112, epochs: 2, batch: 5}
world: {envs: 8}
Y
run "phantom" "$l2sr" phantom data --train 6 --val 1 --test 1 --slices 5 --size 32 --rows 64 --columns 38

# ---- the same epochs, however they are come to ----------------------------------------------------------------

# same_as_whole FOLDER FILES...
same_as_whole() {
  folder=$1
  shift
  for file in "$@"; do
    run "$folder ends as never stopped" "$l2sr" compare "$folder/$file" "whole/$file"
  done
}
run "train" "$l2sr" train scene --output whole
run "two epochs" "$l2sr" train scene --output parts --epochs 2
run "and one" "$l2sr" train scene --output parts --resume
same_as_whole parts best.h5 last.h5
run "a window" "$l2sr" train scene --output window --set data.window=1
says err ' of them on the device at a time'
same_as_whole window best.h5 last.h5
rm -r whole window
run "policy and reconstructor" "$l2sr" train scene --method l2sr --output whole
cp -r whole cut
rm -r cut/reconstructor_2 cut/policy_2
run "one round more" "$l2sr" train scene --method l2sr --output cut --resume
run "a window of rounds" "$l2sr" train scene --method l2sr --output window --set data.window=1
for folder in cut window; do
  same_as_whole $folder policy_1/last.h5 reconstructor_1/best.h5 policy_2/last.h5 reconstructor_2/last.h5
done

# ---- what is moved ------------------------------------------------------------------------------------------

# lines FOLDER KEY: the values of the key in the epochs' lines of the log
lines() { sed -n "s/.*\"kind\":\"epoch\".*\"$2\":\\([-0-9.e]*\\).*/\\1/p" "$1/log.jsonl"; }
still='--set train.rate=0 --set data.augment='
run "moved, nothing learned" "$l2sr" train scene --output moved --set train.rate=0
# shellcheck disable=SC2086
run "not moved" "$l2sr" train scene --output still $still
[ "$(lines moved val_loss | sort -u)" = "$(lines still val_loss | sort -u)" ] || complain "validation slices are moved"
[ "$(lines moved loss)" != "$(lines still loss)" ] || complain "training slices are not moved"
for set in 'acquisition.geometry=spokes' 'train.method=loupe' 'train.method=tau_step tau.steps=2 tau.hidden=16' \
  'network.input=complex' 'train.masks=exact'; do
  flags=
  for assignment in $set; do flags="$flags --set $assignment"; done
  # shellcheck disable=SC2086
  run "$set" "$l2sr" train scene --output other --epochs 2 $flags
  # shellcheck disable=SC2086
  run "$set by a window" "$l2sr" train scene --output other_window --epochs 2 --set data.window=1 $flags
  run "$set is the same by a window" "$l2sr" compare other/last.h5 other_window/last.h5
  rm -r other other_window
done
run "the list" "$l2sr" describe schedule scene
says out 'move_slices: images turned, flipped and shifted anew, as data.augment says'

# ---- rounds alone ------------------------------------------------------------------------------------------

rounds='--method l2sr --set alternate.rounds=1 --set alternate.augment=rounds'
# shellcheck disable=SC2086
run "moved in rounds" "$l2sr" train scene --output moved_rounds $rounds
# shellcheck disable=SC2086
run "nowhere" "$l2sr" train scene --output unmoved $rounds --set data.augment=
run "the first is not moved" "$l2sr" compare moved_rounds/reconstructor/last.h5 unmoved/reconstructor/last.h5
run "the policy is the same" "$l2sr" compare moved_rounds/policy_1/last.h5 unmoved/policy_1/last.h5
[ "$(lines moved_rounds/reconstructor_1 loss)" != "$(lines unmoved/reconstructor_1 loss)" ] || complain "a round is not moved"
# shellcheck disable=SC2086
run "its list" "$l2sr" describe schedule scene --set train.method=l2sr --set alternate.augment=rounds
[ "$(grep -c '^ *move_slices' out)" -eq 1 ] || complain "slices are moved in $(grep -c '^ *move_slices' out) lists, not in the rounds' alone"

# ---- refusals -----------------------------------------------------------------------------------------------

refuse 2 "data.augment has 'turn'; it must be a list of flips, shifts and turns" train scene --quiet --output none \
  --set data.augment=flips,turn
refuse 2 'data.augment is [flips,shifts,turns] and data.kspace measured' train scene --quiet --output none \
  --method l2sr --set data.source=kspace --set data.kspace=measured
[ ! -e none ] || complain "what is refused leaves a folder"
refuse 1 'data.augment was [flips,shifts,turns] and is [flips] now' train scene --quiet --output parts --resume --epochs 4 \
  --set data.augment=flips
finish
