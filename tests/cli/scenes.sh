#!/bin/sh
# The scenes of the paper hold the numbers of its protocol (PROTOCOL 1.1, 1.4, 1.7, 1.11, 2): scenes.sh L2SR SOURCE
set -u
scenes=$2/scenes
. "${0%/*}/setup.sh"
export L2SR_CACHE=off OCL_ICD_VENDORS="$dir"

# holds TEXT ARGUMENTS...: l2sr describe scene ARGUMENTS prints the line; said once for the lines that are asked for in a row
said=
holds() {
  text=$1
  shift
  tried=$((tried + 1))
  [ "$said" = "$*" ] || "$l2sr" describe scene "$@" --json >out 2>err || complain "$* is refused"
  said="$*"
  grep -qxF -e "$text" out || complain "$*: no $text"
}
key() { # key KEY VALUE ARGUMENTS...
  text="{\"key\":\"$1\",\"value\":\"$2\"}"
  shift 2
  holds "$text" "$@"
}
scans() { # scans ACCELERATION HORIZON INITIAL START BUDGET ARGUMENTS...
  text="{\"acceleration\":$1,\"horizon\":\"$2\",\"initial_lines\":$3,\"initial_start\":$4,\"budget\":$5}"
  shift 5
  holds "$text" "$@"
}

count=0
while read -r body size acceleration horizon ratio initial start budget; do
  case $body in radial) methods='_l2s _l2s_fast _l2sr _l2sr_fast _lbcs _pgmri' ;; *) methods='_l2s _l2s_fast _l2sr _l2sr_fast _lbcs _loupe _pgmri _slbcs _straight_through _suno _evaluator _tau2 _tau4' ;; esac
  case $body$horizon in kneelong) methods="$methods _ddqn _ddqn_fast" ;; esac
  for method in '' $methods; do
    name=${body}_x${acceleration}_$horizon$method scene=$scenes/$name.yaml
    count=$((count + 1))
    scans "$acceleration" "$horizon" "$initial" "$start" "$budget" "$scene"
    key data.size "$size" "$scene"
    pairs="[$acceleration]" first="[$ratio]"
    case $method$acceleration in
    _pgmri4 | _lbcs4 | _slbcs4 | _ddqn4 | _ddqn_fast4) pairs='[4,4,4,6,6,8]' first='[4,6,8,6,8,8]' ;;
    _pgmri8 | _lbcs8 | _slbcs8 | _ddqn8 | _ddqn_fast8) pairs='[8,8,8,12,12,16]' first='[8,12,16,12,16,16]' ;;
    _pgmri16 | _lbcs16 | _slbcs16) pairs='[16,16,16,24,24,32]' first='[16,24,32,24,32,32]' ;;
    esac
    case $method$horizon in
    _evaluatorbase) pairs="[$acceleration,$((acceleration * 5 / 4)),$((acceleration * 3 / 2)),$((acceleration * 7 / 4))]" first="[$ratio,$ratio,$ratio,$ratio]" ;;
    _evaluatorlong)
      pairs="[$acceleration,$((acceleration * 5 / 4)),$((acceleration * 3 / 2)),$((2 * acceleration)),$((3 * acceleration)),$((4 * acceleration)),$((6 * acceleration))]"
      first="[$ratio,$ratio,$ratio,$ratio,$ratio,$ratio,$ratio]"
      ;;
    esac
    key train.accelerations "$pairs" "$scene"
    key train.initial_accelerations "$first" "$scene"
    case $method in
    '') method=reconstructor ;;
    _tau*)
      key tau.steps "${method#_tau}" "$scene"
      method=tau_step
      ;;
    _slbcs)
      key lbcs.slices 128 "$scene"
      method=lbcs
      ;;
    *)
      method=${method#_}
      method=${method%_fast}
      ;;
    esac
    key train.method "$method" "$scene"
    case $body in radial) key acquisition.geometry spokes "$scene" ;; *) key acquisition.geometry lines "$scene" ;; esac
    case $body in knee | radial) batch=16 rate=0.0003 entropy=0.001 ;; *) batch=4 rate=0.0001 entropy=0.03 ;; esac
    group=1 baseline=critic from=sparse scans=$batch
    case $name in *_ddqn_fast) from=dense ;; *_fast) group=8 baseline=group from=dense scans=64 ;; esac
    case $name in *_l2sr_fast) rate=0 entropy=-1 batch=16 ;; *_suno) batch=16 ;; esac
    key learn.group $group "$scene"
    key learn.baseline $baseline "$scene"
    key alternate.start "\\\"$from\\\"" "$scene"
    key learn.scans $scans "$scene"
    key alternate.batch $batch "$scene"
    key alternate.policy_rate $rate "$scene"
    key alternate.entropy $entropy "$scene"
    case $acceleration$method$body in 16* | *pgmribrain) channels=8 ;; *) channels=16 ;; esac
    key policy.channels $channels "$scene"
  done
done <<'T'
knee 128 4 base 8 16 56 16
knee 128 4 long 32 4 62 28
knee 128 8 base 16 8 60 8
knee 128 8 long 64 2 63 14
brain 256 8 base 16 16 120 16
brain 256 8 long 64 4 126 28
brain 256 16 base 32 8 124 8
brain 256 16 long 128 2 127 14
radial 128 4 base 8 16 56 16
radial 128 4 long 32 4 62 28
radial 128 8 base 16 8 60 8
radial 128 8 long 64 2 63 14
T
tried=$((tried + 1))
[ "$(find "$scenes" -name 'knee_*' -o -name 'brain_*' -o -name 'radial_*' | wc -l)" = $count ] ||
  complain "$count scenes were looked at, there are others"

one=$scenes/knee_x4_long_l2sr.yaml
for pair in learn.steps=40960000 learn.rate=0.0003 learn.entropy=0.03 learn.value=0.5 learn.gamma=1 learn.lambda=0.95 \
  learn.clip=0.5 learn.optimiser=auto learn.epsilon=1e-05 reward.scale=100 reward.form=sparse reward.metric=ssim \
  data.order=permuted data.fraction=0.5 data.slices=centre alternate.rounds=5 alternate.steps=8192000 \
  alternate.epochs=10 alternate.rate=0.003 alternate.divisor=3 alternate.rate_every=5 alternate.rate_factor=0.1 \
  alternate.actions=best train.epochs=50 train.rate=0.001 train.rate_every=40; do
  key "${pair%%=*}" "${pair#*=}" "$one"
done
for pair in data.pad=384 data.fraction=0.2 data.slices=all data.source=reconstruction_rss; do
  key "${pair%%=*}" "${pair#*=}" "$scenes/brain_x8_base_l2s.yaml"
done

for pair in pgmri.estimator=nongreedy pgmri.trajectories=8 pgmri.gamma=0.9 pgmri.batch=4 pgmri.accumulation=4 \
  pgmri.epochs=50 pgmri.rate=5e-05 pgmri.schedule=milestones pgmri.rate_factor=0.5 'pgmri.milestones=[10,20,30,40]' \
  'pgmri.keep=[0,9,19,29,39,49]' pgmri.baseline=true reward.form=dense reward.scale=1 policy.pools=5 policy.hidden=256 \
  evaluate.actions=drawn evaluate.trajectories=8 train.loss=ssim; do
  key "${pair%%=*}" "${pair#*=}" "$scenes/brain_x8_long_pgmri.yaml"
done

for pair in train.optimiser=adam train.rate=5e-05 train.epochs=50 train.batch=16 train.schedule=milestones \
  train.rate_factor=0.5 'train.milestones=[11,21,31,41]' train.loss=ssim loupe.masks=batch loupe.slope=10 loupe.rate=0 \
  'evaluate.samplers=[learned_mask]'; do
  key "${pair%%=*}" "${pair#*=}" "$scenes/knee_x8_base_loupe.yaml"
done

for pair in train.optimiser=adam train.rate=5e-05 train.epochs=50 train.batch=16 train.schedule=milestones \
  train.rate_factor=0.5 'train.milestones=[11,21,31,41]' train.loss=ssim tau.hidden=512 tau.adaptive=true tau.slope=10 \
  tau.rate=0 'evaluate.samplers=[tau_step]'; do
  key "${pair%%=*}" "${pair#*=}" "$scenes/brain_x8_long_tau4.yaml"
done
for pair in train.optimiser=adam train.rate=0.001 train.epochs=50 train.batch=16 train.rate_every=40 train.rate_factor=0.1 \
  train.loss=ssim straight_through.steps=1 straight_through.probability=sigmoid straight_through.slope=10 \
  straight_through.rate=0 straight_through.joint=true 'evaluate.samplers=[straight_through]' policy.hidden=256; do
  key "${pair%%=*}" "${pair#*=}" "$scenes/knee_x4_long_straight_through.yaml"
done
for pair in evaluator.channels=128 evaluator.gamma=100 evaluator.weight=0.1 evaluator.rate=0 train.rate=0.001; do
  key "${pair%%=*}" "${pair#*=}" "$scenes/knee_x4_long_evaluator.yaml"
done
for pair in suno.passes=1 sampler.polynomial_power=4 alternate.rounds=2 reward.metric=ssim 'evaluate.samplers=[suno]'; do
  key "${pair%%=*}" "${pair#*=}" "$scenes/brain_x8_long_suno.yaml"
done
for scene in x4_base radial_x4_base_l2s; do
  key data.kspace measured "$scenes/measured_$scene.yaml"
done
key data.kspace image "$scenes/brain_x8_base.yaml"

count=0
while read -r set acceleration ratio initial start budget rate geometry; do
  for body in knee brain; do
    for method in loupe tau1 tau2 tau4; do
      scene=$scenes/seqmri_${body}_${set}_$method.yaml
      count=$((count + 1))
      scans "$acceleration" long "$initial" "$start" "$budget" "$scene"
      key acquisition.geometry "$geometry" "$scene"
      key train.rate "$rate" "$scene"
      key train.accelerations "[$acceleration]" "$scene"
      key train.initial_accelerations "[$ratio]" "$scene"
      case $method in
      loupe) key train.method loupe "$scene" ;;
      *)
        key train.method tau_step "$scene"
        key tau.steps "${method#tau}" "$scene"
        ;;
      esac
      for pair in data.size=128 data.range=slice data.slices=all data.fraction=1 world.seed=42 network.input=complex \
        network.channels=64 network.pools=4 train.epochs=50 train.batch=16 train.loss=ssim_uniform train.optimiser=adam \
        train.weight_decay=0 train.schedule=milestones train.rate_factor=0.5 'train.milestones=[11,21,31,41]' \
        tau.hidden=512 tau.channels=64 loupe.masks=batch 'evaluate.metrics=[ssim_uniform,psnr_unclamped]'; do
        key "${pair%%=*}" "${pair#*=}" "$scene"
      done
    done
  done
done <<'T'
x4 4 32 4 62 28 5e-05 lines
points_x4 4 32 484 53 3612 0.001 points
points_x8 8 64 256 56 1792 0.001 points
points_x16 16 128 144 58 880 0.001 points
T
tried=$((tried + 1))
[ "$(find "$scenes" -name 'seqmri_*_x*' | wc -l)" = $count ] || complain "$count scenes of SeqMRI were looked at, there are others"
for pair in data.source=kspace data.kspace=measured data.crop=kspace data.scale=9.052292518093242e-05; do
  key "${pair%%=*}" "${pair#*=}" "$scenes/seqmri_knee_x4_loupe.yaml"
done
for pair in data.source=reconstruction_rss data.kspace=image data.scale=1; do
  key "${pair%%=*}" "${pair#*=}" "$scenes/seqmri_brain_x4_tau4.yaml"
done

# by its name alone, from any folder, where the program stands in a folder of the clone
if [ -d "${l2sr%/*}/../scenes" ]; then
  printf "extends: knee_x4_long_l2sr\n" >own.yaml
  run "a scene by its name" "$l2sr" describe scene own
fi

# the ablation of the initial lines, as scenes/README.md says it
while read -r initial ratio start budget; do
  scans 4 custom "$initial" "$start" "$budget" "$one" --set acquisition.initial_lines="$initial" \
    --set train.initial_accelerations="$ratio"
done <<'T'
1 128 64 31
2 64 63 30
4 32 62 28
8 16 60 24
16 8 56 16
T
finish
