#!/bin/sh
# What runs is what `l2sr describe schedule` prints: list by list, system by system, with the columns that each asked for.
# trace.sh L2SR [CASE...]
set -u
cases=$(sed -n 's/^case_\([a-z0-9_]*\)().*/\1/p' "$0")
. "${0%/*}/setup.sh"
shift
export L2SR_STRICT=1 L2SR_TRACE=trace
cat >scene.yaml <<'Y'
data: {size: 32, path: data}
acquisition: {horizon: [long]}
network: {channels: 4, pools: 2}
policy: {channels: 2, pools: 2, hidden: 16}
train: {epochs: 1, batch: 5, initial_accelerations: [32], accelerations: [4]}
learn: {steps: 112, scans: 8, validations: 1, log_every: 1}
alternate: {rounds: 1, steps: 112, epochs: 1, batch: 5}
pgmri: {epochs: 1, batch: 2, trajectories: 3}
loupe: {rate: 0.05}
tau: {steps: 2, hidden: 16, channels: 2, pools: 2}
lbcs: {slices: 2, candidates: 3}
suno: {log_every: 3}
ddqn: {steps: 80, scans: 3, replay: 80, first: 40, batch: 5, ahead: 2, target_every: 5, validate_every: 1, log_every: 4}
sampler: {candidates: 3}
evaluate: {samplers: [random], metrics: [ssim]}
Y
run phantom "$l2sr" phantom data --train 3 --val 1 --test 1 --slices 4 --size 32 --rows 64 --columns 38 --coils 1 --lesions 0.9 --quiet

# sets KEY=VALUE...: as flags
sets() {
  for set; do printf ' --set %s' "$set"; done
}

names() { sed -n 's/.*"name":"\([^"]*\)".*/\1/p' "$@" | sort -u; }
run systems "$l2sr" describe systems --json
names out >systems

# same NAME: the trace since the last, and the described lists in `told`; what ran, but for the host's, is among the systems
same() {
  sort -u trace >ran
  grep -v '"list":"host"' ran >out
  names out | comm -23 - systems >short
  mv short out
  [ ! -s out ] || complain "$1: these are not in describe systems"
  [ -s ran ] && sort -u told | diff ran - >out || { cut -d , -f 1-5,8- out >short; mv short out; complain "$1: what ran (<) is not what is described (>)"; }
}

# Flags of what runs beside the scene's.
plugin=
# train NAME KEY=VALUE...: a training, beside its description; its files are in run
train() {
  case_name=$1
  shift
  rm -rf run trace
  run "train $case_name" "$l2sr" train scene.yaml --quiet --output run $plugin $(sets "$@")
  run "describe $case_name" "$l2sr" describe schedule scene.yaml --json $(sets "$@")
  grep '"list":' out | grep -v '"stage":"evaluate"' >told
  same "$case_name"
}

# evaluate NAME KEY=VALUE...: likewise an evaluation
evaluate() {
  case_name="$1, evaluated"
  shift
  rm -rf results trace
  run "$case_name" "$l2sr" evaluate scene.yaml --quiet --output results $plugin $(sets "$@")
  run "describe $case_name" "$l2sr" describe schedule scene.yaml --json $(sets "$@")
  grep '"stage":"evaluate","list":' out >told
  same "$case_name"
}

unet=evaluate.reconstructor=run/reconstructor/best.h5
policy="$unet evaluate.policy=run/policy_1/last.h5"

# Where a method scores by a reconstructor, one that is there is taken, but for one case of each kind: its training is the
# same list of systems.
start() {
  [ -f lines.h5 ] || run "a reconstructor" "$l2sr" train scene.yaml --quiet --output start
  [ -f lines.h5 ] || cp start/last.h5 lines.h5
}
lines=learn.reconstructor=lines.h5

# ---- methods -----------------------------------------------------------------------------------------------

case_reconstructor() {
  train reconstructor train.loss=l1 train.masks=exact train.sampler=poisson_disc
  evaluate reconstructor evaluate.reconstructor=run/last.h5 evaluate.metrics=[ssim,ssim_uniform,psnr,nmse] evaluate.keep=[0] \
    evaluate.samplers=[random,low_bias,variable_density,variable_density_gaussian,poisson_disc,equispaced_one_sided,equispaced_two_sided,lowest_index]
  evaluate end evaluate.reconstructor=run/last.h5 evaluate.curves=false reward.metric=psnr
}
case_varnet() {
  net='reconstruct.method=varnet varnet.cascades=2 varnet.channels=2 varnet.pools=2 varnet.sense_channels=2 varnet.sense_pools=2'
  train "variational network and a policy for it" $net train.method=l2s
  evaluate "variational network" $net $unet evaluate.samplers=[random,oracle]
  train "masks learned through it" $net train.method=loupe
  train "variational network of measured k-space" $net data.source=kspace data.kspace=measured varnet.sense=maps
  train "tau steps of coils" $net train.method=tau_step coils.simulate=2 coils.maps=prescan varnet.sense=maps
  evaluate "tau steps of coils" $net coils.simulate=2 coils.maps=prescan varnet.sense=maps evaluate.samplers=[tau_step] \
    sampler.tau_step=run/last.h5 evaluate.reconstructor=run/last.h5
}
case_l2sr() {
  train l2sr train.method=l2sr alternate.actions=drawn alternate.augment=rounds data.augment=[flips]
  evaluate l2sr $policy evaluate.samplers=[random,policy,low_bias]
  evaluate "l2sr, drawn" evaluate.policy=run/policy_1/last.h5 evaluate.actions=drawn evaluate.trajectories=2
}
# where the device can keep them
case_kept() {
  start
  kept="train.method=l2s $lines train.keep_activations=always policy.channels=16 policy.pools=1"
  rm -rf run
  "$l2sr" train scene.yaml --quiet --output run $(sets $kept) >out 2>err
  if grep -q 'cannot be kept' err; then echo "kept: not on this device"; else train kept $kept; fi
}
case_group() {
  start
  train "group and critic" train.method=l2s $lines learn.group=2 learn.baseline=group_critic reward.form=dense world.envs=4
}
case_pgmri() {
  train nongreedy train.method=pgmri pgmri.estimator=nongreedy
  evaluate pgmri $policy evaluate.curves=false
  evaluate "pgmri under another method" $policy evaluate.curves=false train.method=reconstructor
}
case_loupe() {
  train loupe train.method=loupe
  evaluate "learned masks" evaluate.samplers=[fixed_mask,learned_mask] sampler.mask=run/last.h5
  train "loupe of samples" train.method=loupe loupe.masks=sample network.batch=3
}
case_tau() {
  train tau_step train.method=tau_step
  evaluate "tau steps" evaluate.samplers=[tau_step,tau_step_best] sampler.tau_step=run/last.h5
  train "tau steps that see nothing" train.method=tau_step tau.adaptive=false
}
case_through() {
  train straight_through train.method=straight_through
  evaluate "planned scans" evaluate.samplers=[straight_through,straight_through_best] sampler.mask=run/last.h5
  train "straight-through steps" train.method=straight_through straight_through.steps=2 straight_through.probability=softplus
  net='reconstruct.method=varnet varnet.cascades=2 varnet.channels=2 varnet.pools=2 varnet.sense_channels=2 varnet.sense_pools=2'
  train "straight-through variational network" $net train.method=straight_through
}
case_evaluator() {
  train evaluator train.method=evaluator evaluator.channels=2
  evaluate "by an evaluator" evaluate.reconstructor=run/last.h5 evaluate.policy=run/last.h5
}
case_classifier() {
  labels='data.label=lesion reconstruct.method=zero_filled classifier.channels=2 classifier.pools=2 classifier.hidden=8'
  train classifier train.method=classifier $labels
  cp run/classifier_1/last.h5 classifier.h5
  train "l2s by a classifier" train.method=l2s $labels reward.metric=log_likelihood reward.classifier=classifier.h5
  evaluate "by a classifier" $labels evaluate.metrics=[cross_entropy] evaluate.samplers=[random,oracle] reward.metric=log_likelihood reward.classifier=classifier.h5
}
case_suno() {
  start
  train suno train.method=suno $lines
  evaluate suno evaluate.samplers=[suno] sampler.mask=run/masks_1/last.h5
}
case_lbcs() {
  start
  train lbcs train.method=lbcs
  evaluate lbcs evaluate.samplers=[fixed_mask] sampler.mask=run/mask_1/last.h5
  cp run/mask_1/last.h5 mask.h5
  train "clone lbcs" train.method=l2s $lines learn.clone=lbcs learn.clone_steps=20 learn.algorithm=ppo learn.rows=20 sampler.mask=mask.h5
}
case_ddqn() {
  start
  train ddqn train.method=ddqn $lines
  evaluate ddqn evaluate.reconstructor=lines.h5 evaluate.policy=run/policy_1/last.h5
  train "ddqn by priorities" train.method=ddqn $lines ddqn.observes=reconstruction ddqn.priority=0.6 ddqn.estimator=single
  train "ddqn of a data set" train.method=ddqn $lines ddqn.specific=data_set
  evaluate "its mask" evaluate.samplers=[fixed_mask] sampler.mask=run/policy_1/best.h5
}

case_solvers() {
  evaluate cg_sense reconstruct.method=cg_sense reconstruct.iterations=2 acquisition.geometry=spokes
  evaluate wavelet reconstruct.method=wavelet reconstruct.iterations=2 evaluate.samplers=[random,oracle]
  evaluate "tv of points" reconstruct.method=tv reconstruct.iterations=2 acquisition.geometry=points evaluate.curves=false
  evaluate "zero-filled images, compensated" reconstruct.compensate=true acquisition.geometry=spokes coils.simulate=2 evaluate.curves=false
  evaluate "compensated, combined by maps" reconstruct.compensate=true acquisition.geometry=points coils.simulate=2 coils.maps=file coils.combine=maps evaluate.curves=false
  evaluate "cg_sense of simulated coils" reconstruct.method=cg_sense reconstruct.iterations=2 coils.simulate=2 coils.maps=prescan evaluate.curves=false
  evaluate "simulated coils by their own maps" reconstruct.method=cg_sense reconstruct.iterations=2 coils.simulate=2 coils.maps=file coils.combine=maps evaluate.curves=false
  evaluate "one simulated coil" reconstruct.method=cg_sense reconstruct.iterations=2 coils.simulate=1 coils.maps=prescan evaluate.curves=false
  train "a policy by tv" train.method=l2s reconstruct.method=tv reconstruct.iterations=2
  train "a mask by cg_sense" train.method=lbcs reconstruct.method=cg_sense reconstruct.iterations=2
  train "a dense policy by tv" train.method=pgmri reconstruct.method=tv reconstruct.iterations=2
}

case_callback() {
  plugin="--plugin ${l2sr%/*}/tests/own_plugin.so"
  names="reconstruct.method=callback reward.metric=callback evaluate.metrics=[callback]"
  evaluate "functions of one's own" $names reconstruct.input=maps coils.maps=ones data.kspace=measured data.source=kspace \
    evaluate.samplers=[random,oracle]
  train "a policy by functions of one's own" $names reconstruct.input=kspace train.method=l2s
  plugin=
}

# ---- samplers, geometries, data ----------------------------------------------------------------------------

case_oracles() {
  start
  evaluate oracles evaluate.samplers=[oracle,average_oracle] evaluate.curves=false
  evaluate "oracles with a network" evaluate.samplers=[average_oracle,oracle] evaluate.reconstructor=lines.h5 \
    evaluate.metrics=[psnr] reward.metric=nmse network.batch=3
}
case_spokes() {
  train spokes train.method=l2sr acquisition.geometry=spokes learn.clone=oracle learn.clone_steps=20
  evaluate spokes acquisition.geometry=spokes $policy evaluate.samplers=[uniform,oracle,average_oracle,random]
  cp run/reconstructor/best.h5 spokes.h5
  train "greedy, of spokes" train.method=pgmri pgmri.estimator=greedy pgmri.baseline=false acquisition.geometry=spokes \
    learn.reconstructor=spokes.h5
  train "mask of spokes" train.method=lbcs lbcs.slices=0 acquisition.geometry=spokes learn.reconstructor=spokes.h5
}
case_points() {
  train "points, exact masks" train.masks=exact train.sampler=variable_density acquisition.geometry=points
  cp run/last.h5 points.h5
  evaluate points acquisition.geometry=points evaluate.samplers=[random,variable_density_gaussian] evaluate.reconstructor=points.h5
  train "loupe of points" train.method=loupe acquisition.geometry=points
  evaluate "learned points" acquisition.geometry=points evaluate.samplers=[fixed_mask,learned_mask] sampler.mask=run/last.h5
  train "tau steps of points" train.method=tau_step acquisition.geometry=points tau.steps=1
  evaluate "points in tau steps" acquisition.geometry=points evaluate.samplers=[tau_step] sampler.tau_step=run/last.h5
  train "mask of points" train.method=lbcs acquisition.geometry=points acquisition.budget=3 learn.reconstructor=points.h5
}
case_measured() {
  measured='data.source=kspace data.kspace=measured'
  train measured train.method=l2s $measured learn.group=2 learn.baseline=group learn.normalise=on reward.form=compat
  evaluate measured $measured $policy evaluate.samplers=[random,oracle]
}
case_complex() {
  complex='network.input=complex data.scale=0.0001'
  train complex $complex
  evaluate complex $complex evaluate.reconstructor=run/last.h5
  train "complex loupe" $complex train.method=loupe
  train "complex tau steps" $complex train.method=tau_step
  evaluate "complex tau steps" $complex evaluate.samplers=[tau_step] sampler.tau_step=run/last.h5 evaluate.reconstructor=run/last.h5
  train "complex measured" $complex data.source=kspace data.kspace=measured
}
case_profiles() {
  evaluate "scores of volumes" evaluate.profile=fastmri
  evaluate "scores at the end" evaluate.profile=pgmri evaluate.curves=false evaluate.keep=[0]
  evaluate "scores by slice in a window" evaluate.profile=pineda data.window=3 world.envs=3
}
case_augment() { train augment data.augment=[flips,turns] train.masks=exact train.sampler=uniform acquisition.geometry=spokes; }
case_window() {
  window='data.window=5 learn.scans=4 world.envs=4'
  start
  train "window of training data" $window train.method=l2sr data.augment=[shifts]
  evaluate "window of less than all" data.window=3 world.envs=3 $policy evaluate.keep=[1]
  evaluate "window of all" data.window=4 world.envs=3 $policy
  train "exact masks in a window" data.window=3 train.batch=3 world.envs=3 train.masks=exact train.sampler=lowest_index
  train "mask in a window" data.window=3 world.envs=3 train.method=lbcs $lines
  train "tau steps in a window" data.window=3 train.batch=3 train.method=tau_step
  train "trajectories in a window" data.window=3 world.envs=3 train.method=pgmri $lines
  train "learned masks in a window" data.window=3 train.batch=3 train.method=loupe data.augment=[flips]
  train "a teacher in a window" $window train.method=l2s $lines learn.clone=oracle learn.clone_steps=20
  train "a part of the data" data.window=3 train.batch=3 data.most=3
}

# What a run would refuse is not described; what only data or a device tell is said.
case_told() {
  exact='--set train.masks=exact'
  refuse 2 "unknown sampler 'nonsense'" describe schedule scene.yaml $exact --set train.sampler=nonsense
  refuse 2 'train.sampler is oracle' describe schedule scene.yaml $exact --set train.sampler=oracle
  refuse 2 'does not choose among lines' describe schedule scene.yaml $exact --set train.sampler=uniform
  run "no data" "$l2sr" describe schedule scene.yaml --set data.window=3 --set data.path=none
  says out '# assumed: there are more slices than data.window'
  says out 'bring_samples'
  run "no policy" "$l2sr" describe schedule scene.yaml --set train.method=pgmri --set evaluate.policy=none.h5
  says out 'none.h5 is not there yet: it is taken for a policy of train.method pgmri'
  says out 'evaluate: scan by policy (all scans of policy)'
  says out '# assumed: all slices fit on the device'
  run "l2s" "$l2sr" describe schedule scene.yaml --set train.method=l2s
  says out '# assumed: the device keeps no activations of a rollout'
}

[ $# -gt 0 ] || set -- $cases
for case; do "case_$case"; done
echo "$tried tried, $failed failed"
[ $failed = 0 ]
