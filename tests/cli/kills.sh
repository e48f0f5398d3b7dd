#!/bin/sh
# Trainings of every method killed at any time, over and over, and gone on with: each ends as one never stopped, and leaves
# no unfinished file. tools/check --long runs it; KILLS are those of a method.
# kills.sh L2SR KILLS [SEED]
set -u
. "${0%/*}/setup.sh"
[ $# -ge 2 ] || { echo "usage: ${0##*/} PATH_OF_L2SR KILLS [SEED]" >&2; exit 2; }
kills=$2 seed=${3:-1}

cat >scene.yaml <<'Y'
data: {size: 32, path: data, order: permuted}
acquisition: {horizon: [long]}
network: {channels: 4, pools: 2}
policy: {channels: 2, pools: 2, hidden: 16}
train: {epochs: 10, batch: 5, rate: 0.01, rate_every: 8, accelerations: [4], initial_accelerations: [32]}
learn: {steps: 4032, scans: 16, validations: 6, save_every: 9, log_every: 3}
alternate: {rounds: 2, steps: 2016, epochs: 8, batch: 5, rate: 0.01}
pgmri: {trajectories: 4, batch: 4, epochs: 6, keep: [0, 3], save_every: 3, log_every: 2}
tau: {steps: 2, hidden: 32}
ddqn: {steps: 2016, scans: 8, replay: 448, first: 100, batch: 16, ahead: 2, priority: 0.6, target_every: 20, validate_every: 70, save_every: 9, log_every: 3}
Y
run "phantom" "$l2sr" phantom data --train 8 --val 1 --test 1 --slices 5 --size 32 --rows 64 --columns 38

# moments METHOD SPAN: when kills come, in seconds: within half the time of a whole training, for one that goes on has less to
# do; more of them than kills, for some trainings end before
moments() {
  awk -v count=$((10 * kills)) -v seed="$seed$(printf %s "$1" | cksum | cut -c 1-6)" -v span="$2" \
    'BEGIN { srand(seed); for (i = 0; i < count; i++) printf "%.3f\n", rand() * span / 2000 }'
}

# kill_after SECONDS COMMAND...: in the background as $child; fails where it had ended before
kill_after() {
  wait_for=$1
  shift
  "$@" >out 2>err &
  child=$!
  sleep "$wait_for"
  kill -9 $child 2>/dev/null
  wait $child 2>/dev/null
  [ $? = 137 ]
}

# compare_ends METHOD: what was killed and went on is what was never stopped
compare_ends() {
  # shellcheck disable=SC2086 # they are words
  run "$1 goes on to its end" "$l2sr" $train --output cut --resume
  for file in $(cd whole && find . -name '*.h5'); do
    run "$1, killed and gone on with, equals one never stopped" "$l2sr" compare "cut/$file" "whole/$file"
  done
  for file in $(cd whole && find . -name '*.jsonl'); do
    for folder in cut whole; do
      sed -e 's/,"images_per_second.*//' -e 's/,"steps_per_second.*//' $folder/"$file" >$folder.lines
    done
    run "$1: and so do the lines of $file" cmp cut.lines whole.lines
  done
  no_part "$1, killed and gone on with"
  rm -rf cut
}

for method in reconstructor l2s l2sr loupe tau_step lbcs pgmri ddqn; do
  train="train scene --method $method"
  [ $method != pgmri ] || train="$train --set reward.form=dense"
  rm -rf whole cut
  # shellcheck disable=SC2086
  run "$method" "$l2sr" $train --output compiled # kernels are in the cache from here on
  rm -rf compiled
  before=$(date +%s%N)
  # shellcheck disable=SC2086
  run "$method" "$l2sr" $train --output whole
  span=$((($(date +%s%N) - before) / 1000000))
  killed=0 ends=0
  for after in $(moments $method $span); do
    [ $killed -lt "$kills" ] || break
    # shellcheck disable=SC2086
    if kill_after "$after" "$l2sr" $train --output cut --resume; then
      killed=$((killed + 1))
    else
      ends=$((ends + 1))
      compare_ends $method
    fi
  done
  compare_ends $method
  echo "$method: $killed kills, $((ends + 1)) trainings compared, $span ms each"
  tried=$((tried + 1))
  [ $killed = "$kills" ] || complain "$method: only $killed of $kills kills came before its end"
done
finish
