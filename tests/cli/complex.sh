#!/bin/sh
# SeqMRI's protocol in small: reconstruction from complex images with LOUPE, tau-step and random lines, of the transform
# of images and of the k-space that one coil has measured; going on; refusals. complex.sh L2SR
set -u
. "${0%/*}/setup.sh"

cat >scene.yaml <<'Y'
data: {size: 32, path: data, order: permuted, range: slice, scale: 0.0001}
acquisition: {horizon: [long]}
network: {input: complex, channels: 4, pools: 2}
train: {method: tau_step, loss: ssim_uniform, epochs: 6, batch: 6, rate: 0.006, rate_every: 4, initial_accelerations: [32]}
tau: {steps: 2, hidden: 32, rate: 0.001}
evaluate: {samplers: [tau_step], metrics: [ssim_uniform]}
Y
cat >measured.yaml <<'Y'
extends: scene
data: {source: kspace, kspace: measured, crop: kspace}
Y
run "phantom" "$l2sr" phantom data --train 8 --val 1 --test 4 --slices 5 --size 32 --rows 64 --columns 38
run "describe network" "$l2sr" describe network scene
what='describe network'
says out '2x32x32'

ssim() { sed -n 's/.*"ssim_uniform":{"mean":\([0-9.]*\).*/\1/p' out; }
for data in scene measured; do
  set="--set evaluate.trajectories=2 --json"
  # shellcheck disable=SC2086
  if [ $data = scene ]; then
    run "the zero-filled image" "$l2sr" evaluate $data --set network.input=magnitude --samplers random $set
    least=$(ssim)
  fi
  run "LOUPE of $data" "$l2sr" train $data --method loupe --output $data/loupe
  run "tau-step of $data" "$l2sr" train $data --output $data/tau
  run "random lines of $data" "$l2sr" train $data --method reconstructor --output $data/random
  # shellcheck disable=SC2086
  run "scans of random lines" "$l2sr" evaluate $data --samplers random --reconstructor $data/random/best.h5 $set
  random=$(ssim)
  # shellcheck disable=SC2086
  run "LOUPE's scans" "$l2sr" evaluate $data --samplers learned_mask --set sampler.mask=$data/loupe/best.h5 \
    --reconstructor $data/loupe/best.h5 $set
  loupe=$(ssim)
  run "its most probable lines" "$l2sr" evaluate $data --samplers fixed_mask --set sampler.mask=$data/loupe/best.h5 \
    --reconstructor $data/loupe/best.h5
  # shellcheck disable=SC2086
  run "tau-step's scans" "$l2sr" evaluate $data --set sampler.tau_step=$data/tau/best.h5 \
    --reconstructor $data/tau/best.h5 $set --output $data/results
  tau=$(ssim)
  tried=$((tried + 1))
  echo "test SSIM of $data: zero-filled $least, Random $random, LOUPE $loupe, tau-step $tau"
  awk "BEGIN { exit !($random > $least + 0.02 && $loupe > $least + 0.02 && $tau > $random + 0.02) }" ||
    complain "$data: zero-filled $least, Random $random, LOUPE $loupe and tau-step $tau do not follow"
done
run "few at a time" "$l2sr" evaluate scene --set sampler.tau_step=scene/tau/best.h5 --reconstructor scene/tau/best.h5 \
  --set evaluate.trajectories=2 --set world.envs=7 --set data.window=8 --set network.batch=3 --output few
run "scan the same" "$l2sr" compare few/results.h5 scene/results/results.h5
for method in loupe tau_step; do
  run "two epochs of $method" "$l2sr" train scene --method $method --output two --epochs 2 --quiet
  run "one" "$l2sr" train scene --method $method --output one --epochs 1 --quiet
  run "going on" "$l2sr" train scene --method $method --output one --epochs 2 --resume --quiet
  run "equals never stopping" "$l2sr" compare one/last.h5 two/last.h5
  rm -r one two
done
run "a training of magnitudes" "$l2sr" train scene --method loupe --set network.input=magnitude --output magnitude --epochs 1

# ---- refusals -----------------------------------------------------------------------------------------------

refuse 1 "trained with network.input 'complex' (attribute network_input), and network.input is 'magnitude'; set it to 'complex'" evaluate scene \
  --set network.input=magnitude --samplers random --reconstructor scene/loupe/best.h5
refuse 1 "trained with network.input 'magnitude' (attribute network_input), and network.input is 'complex'; set it to 'magnitude'" \
  evaluate scene --samplers random --reconstructor magnitude/best.h5
refuse 1 "trained with network.input 'complex' (attribute network_input), and network.input is 'magnitude'" evaluate scene \
  --set network.input=magnitude --set sampler.tau_step=scene/tau/best.h5
refuse 1 'network.input was complex and is magnitude now' train scene --quiet --output scene/tau --resume \
  --set network.input=magnitude
refuse 2 'network.input is complex, and no reconstructor is named; give --reconstructor FILE' evaluate scene --samplers random
refuse 2 'network.input is complex, and oracles look at magnitudes; set it to magnitude, or name other samplers' \
  evaluate scene --samplers oracle --reconstructor scene/loupe/best.h5
for method in l2s l2sr pgmri; do
  refuse 2 'network.input is complex, and policies look at magnitudes; set it to magnitude' train scene --quiet \
    --method $method --output "none_$method" --set reward.form=dense
done
refuse 2 'network.input is complex, which is of lines and points, and acquisition.geometry is spokes' train scene --quiet \
  --method reconstructor --output none --set acquisition.geometry=spokes
refuse 2 'data.kspace is measured; set it to image, network.input to complex' train measured --quiet --output none \
  --set network.input=magnitude
run "phantom of coils" "$l2sr" phantom coils --train 2 --val 1 --test 1 --slices 2 --coils 3 --size 32 --rows 64 --columns 38
refuse 2 'a network takes one complex image, and these files have 3 coils; set data.kspace to image' train measured --quiet \
  --output none --set data.path=coils
refuse 1 'it was trained with data.scale 0.0001 (attribute data_scale), and data.scale is 1; set it to' \
  evaluate scene --samplers random --reconstructor scene/random/best.h5 --set data.scale=1
for bench in step learn pgmri inference; do
  refuse 2 "bench $bench measures scans whose magnitude is looked at; set it to magnitude" bench $bench scene
done
refuse 2 'data.scale is' train scene --quiet --output none --set data.scale=0
finish
