#!/bin/sh
# Task rewards from the command line: a classifier of phantoms with a lesion; scans, policies, oracles and masks by its
# log-likelihoods, however many are taken at a time; AUC in tables and reports as it is counted from results; refusals. task.sh L2SR
set -u
. "${0%/*}/setup.sh"

cat >scene.yaml <<'Y'
data: {size: 32, path: data, label: lesion}
acquisition: {horizon: [long]}
reconstruct: {method: zero_filled}
policy: {channels: 2, pools: 2, hidden: 16}
classifier: {channels: 2, pools: 2, hidden: 8}
train: {method: classifier, epochs: 2, batch: 6, accelerations: [1, 4], initial_accelerations: [1, 32]}
learn: {steps: 112, scans: 8, validations: 1}
pgmri: {epochs: 1, batch: 2, trajectories: 2, accumulation: 1}
lbcs: {slices: 2, candidates: 3}
ddqn: {steps: 112, scans: 8, replay: 112, first: 56, batch: 4}
sampler: {candidates: 2}
evaluate: {metrics: [cross_entropy, accuracy, auc, ssim], curves: false}
Y
run "phantom" "$l2sr" phantom data --train 2 --val 1 --test 3 --slices 5 --size 32 --rows 64 --columns 38 --lesions 1
run "phantom without labels" "$l2sr" phantom plain --train 1 --val 1 --test 1 --slices 2 --size 32 --rows 64 --columns 38

run "classifier" "$l2sr" train scene --output whole
by="--set reward.classifier=whole/classifier_1/best.h5"
run "one epoch" "$l2sr" train scene --output cut --set train.epochs=1
run "another" "$l2sr" train scene --output other --set train.epochs=1 --seed 7
run "going on" "$l2sr" train scene --output cut --resume
run "equals never stopped" "$l2sr" compare cut/classifier_1/last.h5 whole/classifier_1/last.h5

# shellcheck disable=SC2086
run "scans" "$l2sr" evaluate scene $by --samplers random,oracle --output results --json --set reward.metric=log_likelihood
cp out table
# shellcheck disable=SC2086
run "few at a time" "$l2sr" evaluate scene $by --samplers random,oracle --output few --set reward.metric=log_likelihood --set world.envs=4 \
  --set policy.batch=3
run "score the same" "$l2sr" compare few/results.h5 results/results.h5 --tolerance 1e-5
entropy() { sed -n "s/.*\"sampler\":\"$1\".*\"cross_entropy\":{\"mean\":\([0-9.]*\).*/\1/p" table; }
tried=$((tried + 1))
awk "BEGIN { exit !($(entropy oracle) < $(entropy random)) }" || complain "the oracle ($(entropy oracle)) is not below Random ($(entropy random))"

# pairs of a slice with and one without, of the first sampler, counted by what results hold: without curves the end alone
run "labels" h5dump -y -w 1 -d slice/label results/results.h5
numbers() { sed -n 's/^ *\(-\{0,1\}[0-9][-+.0-9e]*\),\{0,1\}$/\1/p'; }
numbers <out >label
run "log-likelihoods" h5dump -y -w 1 -d x4_long/random/log_likelihood results/results.h5
numbers <out >likely
counted=$(paste label likely | awk '{ p = exp($2); score[NR] = $1 ? p : 1 - p; label[NR] = $1 }
  END { for (i = 1; i <= NR; i++) for (k = 1; k <= NR; k++) if (label[i] > label[k]) { pairs++; won += score[i] > score[k] ? 1 : score[i] < score[k] ? 0 : 0.5 }
    printf "%.4f", won / pairs }')
run "report" "$l2sr" report results --output page
tried=$((tried + 1))
[ "$(wc -l <likely)" = 15 ] && grep -A4 '^AUC, 15 slices' page/report.txt | grep -q "^random *$counted" || complain "the report's AUC is not $counted"

# ---- what is rewarded by it ---------------------------------------------------------------------------------

for method in l2s pgmri lbcs ddqn; do
  # shellcheck disable=SC2086
  run "$method" "$l2sr" train scene $by --method $method --output $method --set reward.metric=log_likelihood
done
# shellcheck disable=SC2086
run "PPO" "$l2sr" train scene $by --method l2s --output ppo --set reward.metric=log_likelihood --set learn.algorithm=ppo
# shellcheck disable=SC2086
run "SUNO" "$l2sr" train scene $by --method suno --output suno --set reward.metric=log_likelihood --set reconstruct.method=auto \
  --set network.channels=2 --set network.pools=2
for policy in ddqn/policy_1 ppo/policy_1 suno/masks_1; do # their scans get the rewards that evaluate counts
  tried=$((tried + 1))
  grep '"kind":"validation"' $policy/log.jsonl | grep -q '"metric":"log_likelihood","score":-0\.[0-9]' ||
    { cp $policy/log.jsonl out; complain "$policy: no validation has a log-likelihood below 0"; }
done
run "whose reward it was" h5dump -a origin_classifier l2s/policy_1/last.h5
what='its policy'
says out '"'

# ---- refusals -----------------------------------------------------------------------------------------------

# shellcheck disable=SC2086
{
  refuse 1 "it was trained with classifier " train scene --quiet --method l2s --output l2s --resume --set reward.metric=log_likelihood \
    --set reward.classifier=other/classifier_1/best.h5
  refuse 2 "reward.metric is log_likelihood, and reward.classifier is empty; set it to a checkpoint of train.method classifier" \
    train scene --quiet --method l2s --output none --set reward.metric=log_likelihood
  refuse 2 "evaluate.metrics names what follows from log_likelihood, and reward.classifier is empty" evaluate scene
  refuse 2 "which needs labels of slices, and data.label is empty; set it to a column of the CSV file" evaluate scene $by --set data.label=
  refuse 1 "slices have no finite label lesion" evaluate scene $by --data plain
  refuse 1 "has the label 0.0" evaluate scene $by --set data.label=max
  refuse 1 "evaluate.metrics has auc, and none of 1 slice has the label 1: it is not defined" evaluate scene $by --set data.most=1 --set evaluate.metrics=[auc]
  refuse 1 "it is no checkpoint of a classifier: its attribute network is 'policy'" evaluate scene --set reward.classifier=l2s/policy_1/last.h5
  refuse 1 "its attribute network is 'classifier'" evaluate scene $by --policy whole/classifier_1/best.h5
  refuse 1 "it was trained with data.size 32" evaluate scene $by --set data.size=40 --set data.pad=40
}
no_part "trainings and evaluations"

finish
