#!/bin/sh
# Images that are no squares, of sides that no pooling halves; lines in pairs; columns that were padded. grids.sh L2SR
set -u
. "${0%/*}/setup.sh"

cat >scene.yaml <<'Y'
data: {size: [45, 38], path: data, order: permuted}
acquisition: {acceleration: [4], horizon: [base]}
network: {channels: 4, pools: 2}
policy: {channels: 2, pools: 3, hidden: 16}
reward: {scale: 100}
train: {epochs: 2, batch: 5, rate: 0.01, accelerations: [4], initial_accelerations: [16]}
learn: {steps: 240, scans: 12, rate: 0.002, validations: 1}
evaluate: {samplers: [random], metrics: [ssim, nmse], keep: [0]}
Y
run "phantom" "$l2sr" phantom data --train 4 --val 1 --test 1 --slices 3 --size '[45,38]' --rows 90 --columns 41
what='what the phantom says'
says out 'k-space 90x41, images 45x38'
run "train" "$l2sr" train scene --output lines --set train.method=l2s
run "table" "$l2sr" evaluate scene --samplers random,policy,oracle --policy lines/policy_1/last.h5 \
  --reconstructor lines/reconstructor/best.h5 --output results
what='the table'
says out 'x4 base: 4 initial + 5 acquired of 38 lines'
run "report" "$l2sr" report results lines --output page
run "pictures" "$l2sr" render scene --slices 0 --output pictures
run "a square of as many columns" "$l2sr" evaluate scene --set data.size=38 --quiet --json
refuse 1 'it was trained with data.size [45, 38] (attribute network_size), and data.size is 38' evaluate scene \
  --set data.size=38 --reconstructor lines/reconstructor/best.h5
refuse 2 'acquisition.geometry is spokes, which are of a square, and data.size is [45, 38]' evaluate scene \
  --set acquisition.geometry=spokes
refuse 2 "data.size is '[45,1025]' at --size; it must be a whole number from 32 to 1024, or two of them, [height, width]" \
  inspect data --size '[45,1025]'
refuse 1 'phantom.columns is 41; it must be at least phantom.size, which is [45, 42]' phantom other --size '[45,42]' --rows 90 \
  --columns 41

run "train pairs" "$l2sr" train scene --output pairs --set acquisition.pairs=true --set train.method=l2sr \
  --set alternate.rounds=1 --set alternate.steps=120 --set alternate.epochs=1
run "table of pairs" "$l2sr" evaluate scene --set acquisition.pairs=true --samplers random,policy,oracle --output in_pairs \
  --policy pairs/policy_1/last.h5 --reconstructor pairs/reconstructor_1/last.h5
what='the table of pairs'
says out 'x4 base: 2 initial + 3 acquired of 20 pairs'
run "report of pairs" "$l2sr" report in_pairs --output pairs_page
refuse 1 'features_extractor.extractors.reconstruction_input.fc_out.4.weight (38x16, expected 20x16)' evaluate scene --set acquisition.pairs=true \
  --samplers policy --policy lines/policy_1/last.h5
refuse 2 'acquisition.pairs is true, and acquisition.geometry is points, which have no mirror' evaluate scene \
  --set acquisition.pairs=true --set acquisition.geometry=points
refuse 2 'train.method is loupe, which learns masks of lines or points, and acquisition.geometry is lines in pairs' train scene \
  --quiet --output none --set train.method=loupe --set acquisition.pairs=true

# no column of a phantom is padded; the options say what are, and they stand in the results
measured='--set data.source=kspace --set data.kspace=measured --set data.crop=kspace --set data.size=[90,41]'
# shellcheck disable=SC2086
run "all columns" "$l2sr" evaluate scene $measured
what='all columns'
says out 'of 41 lines'
# shellcheck disable=SC2086
run "padded columns" "$l2sr" evaluate scene $measured --set acquisition.padded_left=4 --set acquisition.padded_right=3 --output padded
what='those that are not padded'
says out 'x4 base: 4 initial + 4 acquired of 34 lines'
# in stored masks they are what the profile's program has there: 1 from the start, or 0 (fastMRI)
# shellcheck disable=SC2086
run "padded columns of fastMRI" "$l2sr" evaluate scene $measured --set acquisition.padded_left=4 --set acquisition.padded_right=3 \
  --set evaluate.profile=fastmri --output fastmri --set data.most=1 --set evaluate.metrics=ssim
for profile in padded fastmri; do
  h5dump -y -w 0 -d /x4_base/random/mask -s 0,0 -c 1,41 $profile/results.h5 | tr -cd '01\n' | grep -o '^[01]\{41\}$' >mask_$profile
done
tried=$((tried + 1))
grep -q '^1111.*111$' mask_padded && grep -q '^0000.*000$' mask_fastmri || complain "masks of padded columns: $(cat mask_padded mask_fastmri)"

# the scenes of fastMRI's coils, on small phantoms of their layout: a readout that is oversampled, columns that are padded; and
# volumes of other grids beside them
run "phantom of coils" "$l2sr" phantom knee --train 0 --val 0 --test 1 --slices 1 --coils 3 --size 64 --rows 128 --columns 80 \
  --padded-left 4 --padded-right 3
small='--set data.size=[64,80] --set acquisition.initial_lines=8 --set coils.lines=16 --set coils.kernel=3 --set reconstruct.iterations=3'
# shellcheck disable=SC2086
for name in knee_multicoil_x4 brain_multicoil_x4; do
  run "$name" "$l2sr" evaluate fastmri_$name --data knee $small
  what="$name on a phantom"
  says err 'the first 4 and the last 3 of 80 columns of k-space hold zeros'
  says out 'x4 custom: 8 initial + 10 acquired of 73 lines, 1 slice'
  says out 'volumes: 1 whole volume'
done
run "phantom of others" "$l2sr" phantom other --train 0 --val 0 --test 1 --slices 1 --coils 2 --size 64 --rows 128 --columns 84
mv other/test/*.h5 knee/test/other.h5
# shellcheck disable=SC2086
run "volumes of two grids" "$l2sr" evaluate fastmri_knee_multicoil_x8 --data knee $small
what='volumes of two grids'
says err '1 of 2 volumes have k-space of another size or other coils than knee/test/file1000003.h5 (3 coils, 128x80), first knee/test/other.h5 (2 coils, 128x84)'
says out 'volumes: 2 whole volumes'
# shellcheck disable=SC2086
refuse 1 'data.strict: 1 of 2 volumes have k-space of another size' evaluate fastmri_knee_multicoil_x8 --data knee $small --set data.strict=true
# shellcheck disable=SC2086
refuse 1 'knee/test/file1000003.h5 has k-space of 128 x 80, smaller than data.size [64, 82]' evaluate fastmri_knee_multicoil_x8 --data knee \
  $small --set data.size=[64,82] --set data.strict=true
refuse 1 'phantom.padded_left is 40 and .padded_right 0 of 80 columns; each must be less than half of them' phantom none --columns 80 \
  --size 64 --padded-left 40
finish
