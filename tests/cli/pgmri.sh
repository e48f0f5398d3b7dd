#!/bin/sh
# PG-MRI and the oracles from the command line: trained with its reconstructor to the table in which it beats Random
# and the oracle beats both; killed and gone on with, compared with one never stopped; refusals. pgmri.sh L2SR
set -u
. "${0%/*}/setup.sh"

cat >scene.yaml <<'Y'
data: {size: 32, path: data, order: permuted}
acquisition: {horizon: [long]}
network: {channels: 4, pools: 2}
policy: {channels: 2, pools: 2, hidden: 16}
reward: {form: dense}
train: {method: pgmri, epochs: 12, batch: 5, rate: 0.01, rate_every: 9, accelerations: [4, 8], initial_accelerations: [16, 32]}
pgmri: {trajectories: 6, batch: 4, accumulation: 2, epochs: 8, rate: 0.01, milestones: [6], keep: [0, 5], save_every: 3, log_every: 2}
evaluate: {name: PG-MRI, samplers: [policy], metrics: [ssim], actions: drawn, trajectories: 4}
Y
run "phantom" "$l2sr" phantom data --train 8 --val 1 --test 4 --slices 5 --size 32 --rows 64 --columns 38
run "train" "$l2sr" train scene --output whole --json
grep -q '"stage":"reconstructor"' out && grep -q '"stage":"policy_1"' out || complain "--json does not tell the stages"
policy=whole/policy_1 dense=whole/reconstructor/best.h5
for file in last.h5 epoch_0.h5 epoch_5.h5 log.jsonl; do
  [ -s $policy/$file ] || complain "train wrote no $file"
done
[ "$(grep -c '"kind":"look"' $policy/log.jsonl)" = 24 ] || complain "log.jsonl has not 3 lines for the 5 updates of an epoch"
[ "$(grep -c '"kind":"validation"' $policy/log.jsonl)" = 8 ] || complain "log.jsonl has not one line an epoch"
[ "$(sed -n 's/.*"kind":"look".*"rate":\([0-9.]*\).*/\1/p' $policy/log.jsonl | sort -u | tr '\n' ' ')" = '0.005 0.01 ' ] ||
  complain "the rate is not halved at the milestone"

# ---- the table ----------------------------------------------------------------------------------------------

ssim() { sed -n 's/.*"ssim":{"mean":\([0-9.]*\).*/\1/p' out; }
run "PG-MRI" "$l2sr" evaluate scene --policy $policy/last.h5 --reconstructor $dense --json --output results
learned=$(ssim)
[ "$(wc -l <results/slices.csv)" = 81 ] || complain "20 slices scanned 4 times do not give 80 lines"
run "at the end only" "$l2sr" evaluate scene --policy $policy/last.h5 --reconstructor $dense --set evaluate.curves=false --output end
run "it sees every reconstruction all the same" "$l2sr" compare end/slices.csv results/slices.csv
run "few at a time" "$l2sr" evaluate scene --policy $policy/last.h5 --reconstructor $dense --set world.envs=7 --output few
run "draw the same" "$l2sr" compare few/results.h5 results/results.h5
run "Random" "$l2sr" evaluate scene --samplers random --reconstructor $dense --json
random=$(ssim)
run "Oracle" "$l2sr" evaluate scene --samplers oracle --reconstructor $dense --json
oracle=$(ssim)
run "average oracle" "$l2sr" evaluate scene --samplers average_oracle --set world.envs=3 --reconstructor $dense --json
average=$(ssim)
echo "test SSIM: Random $random, PG-MRI $learned, average oracle $average, oracle $oracle"
awk "BEGIN { exit !($learned > $random + 0.01 && $oracle > $average && $average > $random && $oracle > $learned) }" ||
  complain "Random $random, PG-MRI $learned, average oracle $average and oracle $oracle do not follow"
for name in Random Oracle; do
  echo "{extends: scene, evaluate: {name: $name, samplers: [$(echo $name | tr RO ro)], reconstructor: $dense}}" >$name.yaml
done
echo "{extends: scene, evaluate: {policy: $policy/last.h5, reconstructor: $dense}}" >PG-MRI.yaml
run "one table" "$l2sr" evaluate Random Oracle PG-MRI --output table
what='the table over three scenes'
says out "                                            Random          Oracle          PG-MRI"
row=$(tail -n 1 out | sed 's/  */ /g')
short() { printf %.4f "$1"; }
case $row in
"N=32 x4 long, 1 + 7 lines, 20 slices ("*") $(short "$random")"*" $(short "$oracle")"*" $(short "$learned")"*) ;;
*) complain "$what ends in '$row'" ;;
esac
[ -s table/Random/results.h5 ] || complain "a scene of several has no folder of its own"
run "render" "$l2sr" render scene --samplers policy,oracle --policy $policy/last.h5 --reconstructor $dense --slices 0 --output pictures
run "bench inference" "$l2sr" bench inference scene scene --envs 1 --set acquisition.budget=2 --json
flops() { sed -n "s/.*\"method\":\"$1\".*\"flops\":\([0-9.e+]*\).*/\1/p" out | head -n 1; }
awk "BEGIN { exit !($(flops Random) < $(flops 'L2S, L2SR') && $(flops 'L2S, L2SR') < $(flops PG-MRI) && $(flops PG-MRI) < $(flops Oracle)) }" ||
  complain "L2S does not cost less than PG-MRI"

run "bench pgmri" "$l2sr" bench pgmri scene --set acquisition.budget=2 --set pgmri.trajectories=3 --json
grep -q '"slices":8,"trajectories":3,"budget":2,.*"share":[0-9]' out || complain "bench pgmri gives no share"
run "bench ddqn" "$l2sr" bench ddqn scene --set acquisition.budget=2 --set ddqn.scans=4 --set ddqn.first=8 --set ddqn.batch=4 --slices 8 --json
grep -q '"scans":4,"budget":2,"updates":1,"batch":4,.*"share":[0-9]' out || complain "bench ddqn gives no share"
refuse 2 'bench ddqn times passes of images: set it to subject' bench ddqn scene --set ddqn.specific=data_set

# ---- killed -------------------------------------------------------------------------------------------------

kill_at policy_1/log.jsonl look 2
kill_at policy_1/log.jsonl look 7
kill_at policy_1/log.jsonl validation 4
[ ! -e cut/policy_1/epoch_5.h5 ] || complain "the training was killed too late"
run "going on" "$l2sr" train scene --output cut --resume
for file in last epoch_0 epoch_5; do
  run "killed and gone on with equals never stopped" "$l2sr" compare cut/policy_1/$file.h5 $policy/$file.h5
done
for folder in cut whole; do
  sed 's/,"images_per_second.*//' $folder/policy_1/log.jsonl >$folder/lines
done
run "and so do the lines of the log" cmp cut/lines whole/lines
no_part "killed and gone on with"
run "more epochs go on" "$l2sr" train scene --output cut --resume --set pgmri.epochs=9

# ---- greedy -------------------------------------------------------------------------------------------------

greedy="--set pgmri.estimator=greedy --set learn.reconstructor=$dense --set pgmri.epochs=1"
# shellcheck disable=SC2086
run "greedy" "$l2sr" train scene --output greedy $greedy
# shellcheck disable=SC2086
run "greedy without a baseline" "$l2sr" train scene --output bare $greedy --set pgmri.baseline=false --set pgmri.trajectories=1
[ ! -e greedy/reconstructor ] || complain "a reconstructor was trained though one was given"

# ---- refusals -----------------------------------------------------------------------------------------------

given="--quiet --output none --set learn.reconstructor=$dense"
# shellcheck disable=SC2086
refuse_train() { # refuse_train STATUS TEXT ARGUMENTS...
  status=$1 text=$2
  shift 2
  refuse "$status" "$text" train scene $given "$@"
}
# refused before the reconstructor is trained
refuse 2 'learn.group is 4 and learn.baseline critic, which l2s and l2sr look at; this method has pgmri.trajectories' \
  train scene --quiet --output early --set learn.group=4
refuse 2 "pgmri.milestones has 'late'" train scene --quiet --output early --set pgmri.milestones=late
refuse 1 'the portable path computes in f32 only' train scene --quiet --output early --set policy.precision=half
[ ! -e early ] || complain "a refused policy left something in the folder"
refuse 1 'cannot open nowhere.h5' train scene --quiet --output early --set learn.reconstructor=nowhere.h5
[ ! -e early/stages.jsonl ] || complain "a stage that never began left stages.jsonl"
refuse_train 2 'pgmri.trajectories is 1; the baseline divides by one less, it must be 2 or more' --set pgmri.trajectories=1
refuse_train 2 'only the greedy one goes without a baseline' --set pgmri.baseline=false
refuse_train 2 "pgmri.milestones has 'late'" --set pgmri.milestones=late
refuse_train 2 "pgmri.keep has '-1'" --set pgmri.keep=-1
refuse_train 2 'no line is left to acquire' --set acquisition.initial_lines=8
refuse_train 2 'the scene has 2 settings' --set acquisition.horizon=base,long
refuse_train 1 'training slices: 40, minibatches: 10 of pgmri.batch 4; an update takes pgmri.accumulation 11' \
  --set pgmri.accumulation=11
refuse_train 1 'was trained with data.size 32 (attribute network_size), and data.size is 40' --set data.size=40 --set data.pad=40
refuse 1 'is no checkpoint of a reconstructor' train scene --quiet --output none --set learn.reconstructor=$policy/last.h5
refuse 1 'pgmri.gamma was 0.9 and is 1 now' train scene --quiet --output whole --resume --set pgmri.gamma=1
refuse 1 'it has 40 updates, and 35 are wanted; raise pgmri.epochs' train scene --quiet --output whole --resume --set pgmri.epochs=7
refuse 2 'evaluate.samplers names policy and evaluate.policy no file' evaluate scene
refuse 1 'is no checkpoint of a policy' evaluate scene --policy $dense
refuse 2 'there is no scene nowhere' evaluate scene nowhere
echo '{extends: Random, evaluate: {metrics: [psnr]}}' >psnr.yaml
refuse 2 'evaluate.metrics is psnr, that of the first scene is ssim' evaluate Random psnr
mkdir sub && cp Oracle.yaml sub/Random.yaml
refuse 2 'Random.yaml would both write into two/Random' evaluate Random sub/Random.yaml --output two
echo '{extends: Random, evaluate: {reconstructor: gone.h5}}' >gone.yaml
refuse 1 'evaluate.reconstructor names gone.h5, and there is no such file' evaluate Random gone --output two
[ ! -e two ] || complain "a refused list of scenes left a folder"
refuse 1 "it holds a network of kind 'pgmri', this train.method trains 'policy'" train scene --quiet --output whole --resume --method l2s
touch $policy/epoch_5.h5.123.part
run "resume" "$l2sr" train scene --quiet --output whole --resume
[ ! -e $policy/epoch_5.h5.123.part ] || complain "a killed training's epoch_5.h5 in parts is still there"
run "a policy with another reconstructor" "$l2sr" evaluate scene --policy $policy/last.h5
says err 'there is no evaluate.reconstructor: it sees the zero-filled image'
run "describe" "$l2sr" describe network scene
grep -q fc_out out && ! grep -q value_net out || complain "describe network shows another policy than PG-MRI's"
refuse 2 'train.sampler is oracle; exact masks are of a heuristic' train scene --quiet --output other --method reconstructor \
  --set train.masks=exact --set train.sampler=oracle
refuse 2 'bench step takes one scene' bench step scene scene
refuse 2 'pgmri.trajectories is 1' bench pgmri scene --set pgmri.trajectories=1
finish
