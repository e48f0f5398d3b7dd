#!/bin/sh
# K-space as it was measured (data.kspace): tables, policies and oracles on multi-coil phantoms, and on measured data where
# L2SR_DATA names a folder of them; refusals. measured.sh L2SR SOURCE
set -u
scenes=$2/scenes
. "${0%/*}/setup.sh"

cat >scene.yaml <<'Y'
data: {size: 32, path: data, source: kspace, kspace: measured, order: permuted}
acquisition: {acceleration: [8], horizon: [long]}
network: {channels: 4, pools: 2}
policy: {channels: 2, pools: 2, hidden: 16}
reward: {scale: 100}
train: {method: l2s, epochs: 10, batch: 5, rate: 0.01, rate_every: 8, accelerations: [8], initial_accelerations: [32]}
learn: {steps: 8064, scans: 16, rate: 0.002, validations: 4, save_every: 50, log_every: 10}
evaluate: {samplers: [random], metrics: [ssim], curves: false}
Y
run "phantom" "$l2sr" phantom data --train 8 --val 1 --test 4 --slices 5 --coils 3 --size 32 --rows 64 --columns 38
ssim() { sed -n "s/.*\"sampler\":\"$1\",.*\"ssim\":{\"mean\":\\([0-9.]*\\).*/\\1/p" out; }
for geometry in lines spokes; do
  set="--set acquisition.geometry=$geometry"
  # shellcheck disable=SC2086
  run "train by $geometry" "$l2sr" train scene --output $geometry $set
  # shellcheck disable=SC2086
  run "table of $geometry" "$l2sr" evaluate scene $set --samplers random,oracle,policy --policy $geometry/policy_1/last.h5 \
    --reconstructor $geometry/reconstructor/best.h5 --json
  tried=$((tried + 1))
  echo "test SSIM by $geometry: Random $(ssim random), L2S $(ssim policy), oracle $(ssim oracle)"
  least=$(ssim random) # of four lines, random ones are as good as those that so short a training finds
  [ $geometry = spokes ] || least=0
  awk "BEGIN { exit !($(ssim policy) > $least && $(ssim oracle) > $(ssim policy) && $(ssim oracle) > $(ssim random)) }" ||
    complain "$geometry: Random $(ssim random), L2S $(ssim policy) and oracle $(ssim oracle) do not follow"
done
run "few at a time" "$l2sr" evaluate scene --samplers random,oracle --set evaluate.curves=true --set world.envs=3 --output few
run "many at a time" "$l2sr" evaluate scene --samplers random,oracle --set evaluate.curves=true --output many
run "the same" "$l2sr" compare few/results.h5 many/results.h5
run "render" "$l2sr" render scene --slices 0 --output pictures
sense='--set reconstruct.method=cg_sense --set coils.maps=prescan --set coils.lines=16'
# shellcheck disable=SC2086
run "noise maps" "$l2sr" render scene --slices 0 --output pictures --noise $sense
tried=$((tried + 1))
[ "$(ls pictures/*_noise.png | wc -l)" = 1 ] || complain "render --noise wrote no picture of its own"
refuse 2 '--noise draws how noise comes through least squares; set reconstruct.method to cg_sense' render scene --noise
# shellcheck disable=SC2086
refuse 2 '--noise knows scans of lines that have an action each' render scene --noise $sense --set acquisition.geometry=points
refuse 2 'coils.sets is 2, and coils.maps file, whose dataset sensitivity_maps is one set; set coils.maps to prescan' \
  evaluate scene --set coils.maps=file --set coils.sets=2
refuse 2 'coils.sets is 2, and varnet.sense maps: the variational network makes one image, which coils see through one set' \
  train scene --quiet --output none --method reconstructor --set coils.maps=prescan --set coils.sets=2 --set reconstruct.method=varnet --set varnet.sense=maps
refuse 2 '--noise knows one set of maps, and coils.sets is 2' render scene --noise $sense --set coils.sets=2
run "PG-MRI" "$l2sr" train scene --output pgmri --set train.method=pgmri --set reward.form=dense --set reward.scale=1 \
  --set learn.reconstructor=lines/reconstructor/best.h5 --set pgmri.epochs=1 --set pgmri.trajectories=2

# what is sampled differently stands apart
printf '{extends: scene, data: {kspace: image}}\n' >image.yaml
run "two scenes" "$l2sr" evaluate scene image --output two
what='one table of both'
says out 'measured k-space'
run "report" "$l2sr" report two --output page
what='the page of both'
says page/report.txt 'data.kspace='

# coils combined by maps, fewer coils, and coils of images, which results say
run "combined" "$l2sr" evaluate scene --samplers random,oracle --set coils.maps=prescan --set coils.lines=16 \
  --set coils.combine=maps --output combined
what='a table of coils combined by maps'
says out 'maps: prescan, combined by them'
run "its maps" "$l2sr" export combined --what maps --output maps.npy
says out 'maps of combined/results.h5, [3, '
run "two virtual coils" "$l2sr" evaluate scene --set coils.compress=2 --output fewer
run "report of both" "$l2sr" report combined fewer --output coils
what='the page of both'
says coils/report.txt 'coils.combine=maps'
printf '{extends: scene, data: {source: auto, kspace: image}, coils: {simulate: 4, noise: 0.05, maps: file, combine: maps}}\n' >simulated.yaml
run "simulated coils, few at a time" "$l2sr" evaluate simulated --samplers random,oracle --set world.envs=3 --output simulated_few
run "simulated coils" "$l2sr" evaluate simulated --samplers random,oracle --output simulated
what='a table of simulated coils'
says out '4 simulated coils, maps: file, combined by them'
run "the same of simulated coils" "$l2sr" compare simulated_few/results.h5 simulated/results.h5
run "a policy of simulated coils" "$l2sr" train simulated --output simulated_run --set learn.reconstructor=lines/reconstructor/best.h5 \
  --set learn.steps=64 --set learn.validations=1
refuse 1 'has k-space of 3 coils and no dataset sensitivity_maps, which coils.maps file takes' evaluate scene \
  --set coils.maps=file --set data.strict=true
refuse 1 'has k-space of 3 coils and no dataset noise, which coils.whiten noise takes' evaluate scene --set coils.whiten=noise \
  --set data.strict=true

refuse 2 'data.kspace is measured, and data.source names reconstructions' evaluate scene \
  --set data.source=reconstruction_rss
refuse 2 'train.method is loupe, which transforms images, and data.kspace is measured' train scene --quiet --output none \
  --set train.method=loupe
refuse 2 'data.kspace is measured, and this works on images without files' bench step scene
run "bench step of simulated coils" "$l2sr" bench step --size 32 --envs 20 --slices 4 --set coils.simulate=3
what='bench step of simulated coils'
says out 'over 4 slices of 3 coils'
refuse 2 "benchmarks have the simulated coils' own; set it to none or file" bench step --size 32 --set coils.simulate=3 --set coils.maps=prescan
refuse 1 'and coils.compress is 9: virtual coils are no more than there are; set it to 3 or fewer' evaluate scene --set coils.compress=9
refuse 2 "data.coils is '8' at --set; it must be one of any|single|multi: which of fastMRI's folders" evaluate scene --set data.coils=8
refuse 1 'data.kspace was measured and is image now' train scene --quiet --output lines --resume --set data.kspace=image

if [ -d "${L2SR_DATA:-}/kspace/multicoil" ]; then
  for folder in singlecoil_brain multicoil; do
    for scene in measured_x4_base measured_radial_x4_base; do
      run "$scene on $folder" "$l2sr" evaluate "$scenes/$scene.yaml" --data "$L2SR_DATA/kspace/$folder" \
        --set data.most=2 --json
    done
  done
else
  echo "not run: measured data (L2SR_DATA names no folder with kspace/multicoil)"
fi
finish
