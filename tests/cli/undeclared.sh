#!/bin/sh
# Takes every declaration of every system that trainings run away, one at a time: the guard must name it. tools/check --long
# runs it: some hundred trainings of seconds.
# undeclared.sh L2SR [METHOD...]; a METHOD may have settings behind it, as 'l2s reconstruct.method=tv'. L2SR_SYSTEMS='solve_*'
# tries the systems of such names alone.
set -u
. "${0%/*}/setup.sh"
shift
[ $# -gt 0 ] || set -- reconstructor l2s pgmri loupe tau_step lbcs 'ddqn ddqn.priority=0.6' 'ddqn ddqn.specific=data_set' 'evaluator evaluator.channels=2' \
  'classifier data.label=lesion classifier.channels=2 classifier.pools=2 classifier.hidden=8'
export L2SR_STRICT=1
cat >scene.yaml <<'Y'
data: {size: 32, path: data}
acquisition: {horizon: [long]}
network: {channels: 2, pools: 1}
policy: {channels: 2, pools: 1, hidden: 8}
train: {epochs: 1, batch: 4, initial_accelerations: [32], accelerations: [4]}
learn: {steps: 112, scans: 8, validations: 1}
pgmri: {epochs: 1, batch: 2, trajectories: 2, accumulation: 1}
tau: {steps: 2, hidden: 8}
lbcs: {slices: 2, candidates: 3}
ddqn: {steps: 42, scans: 3, replay: 63, first: 6, batch: 4, ahead: 2, target_every: 5, validate_every: 7, log_every: 7}
Y
run "phantom" "$l2sr" phantom data --train 1 --val 1 --test 1 --slices 4 --size 32 --rows 64 --columns 38 --lesions 1 --quiet

# value KEY: of every line of the description
value() { sed -n 's/.*"'"$1"'":"\([^"]*\)".*/\1/p' lists; }

# sets KEY=VALUE...: as flags
sets() {
  for set; do printf ' --set %s' "$set"; done
}

# uses METHOD KEY=VALUE...: "SYSTEM reads|writes TABLE.column", one a line, of the training's lists
uses() {
  method=$1
  shift
  "$l2sr" describe schedule scene.yaml --json --set train.method="$method" $(sets "$@") | grep '"list":' | grep -v '"stage":"evaluate"' >lists
  for kind in reads writes parts; do
    value name >names
    value $kind | paste -d ' ' names - | awk -v kind=$kind '{ for (i = 2; i <= NF; i++) print $1, kind == "reads" ? kind : "writes", $i }'
  done | sort -u | while read -r use; do
    case ${use%% *} in ${L2SR_SYSTEMS:-*}) echo "$use" ;; esac
  done
}

for case; do
  rm -rf whole
  set -- $case
  uses "$@" >uses
  shift
  run "$case" "$l2sr" train scene.yaml --method "$method" --output whole --quiet $(sets "$@")
  while read -r use; do
    rm -rf one
    what="$case without $use"
    tried=$((tried + 1))
    L2SR_UNDECLARED="$use" "$l2sr" train scene.yaml --method "$method" --output one --quiet $(sets "$@") >out 2>err </dev/null
    grep -q "system ${use%% *} did not declare its [a-z]* of column ${use##* }" err || complain "$what is not noticed"
  done <uses
  echo "$case: $(wc -l <uses) declarations"
done
echo "$tried tried, $failed failed"
[ $failed = 0 ]
