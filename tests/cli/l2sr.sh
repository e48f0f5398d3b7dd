#!/bin/sh
# Policies from the command line: a small L2SR from the first reconstructor to the table in which it beats Random;
# killed inside its stages and gone on with, compared with one never stopped; refusals. l2sr.sh L2SR
set -u
. "${0%/*}/setup.sh"

cat >scene.yaml <<'Y'
data: {size: 32, path: data, order: permuted}
acquisition: {horizon: [long]}
network: {channels: 4, pools: 2}
policy: {channels: 2, pools: 2, hidden: 16}
reward: {scale: 100}
train:
  {method: l2sr, epochs: 7, batch: 5, rate: 0.01, rate_every: 5, accelerations: [4], initial_accelerations: [32]}
learn: {steps: 4032, scans: 16, rate: 0.002, validations: 6, save_every: 9, log_every: 3}
alternate: {rounds: 2, steps: 2016, policy_rate: 0.003, policy_divisor: 3, entropy: 0.01, epochs: 8, batch: 5, rate: 0.01, rate_every: 6}
evaluate: {samplers: [random], metrics: [ssim], curves: false}
Y
run "phantom" "$l2sr" phantom data --train 8 --val 1 --test 4 --slices 5 --size 32 --rows 64 --columns 38
run "train" "$l2sr" train scene --output whole --json
cp out json
stages='reconstructor policy_1 reconstructor_1 policy_2 reconstructor_2'
events=events.out.tfevents.l2sr
for stage in $stages; do
  for file in best.h5 last.h5 log.jsonl $events curves.png; do
    [ -s "whole/$stage/$file" ] || complain "train wrote no $stage/$file"
  done
  grep -q "\"stage\":\"$stage\"" json || complain "--json does not tell the end of $stage"
done
[ "$(grep -c '"kind":"stage"' whole/stages.jsonl)" = 5 ] || complain "stages.jsonl has not one line a stage"
[ "$(grep -c '"kind":"look"' whole/policy_1/log.jsonl)" = 12 ] || complain "log.jsonl has not one line every 3 rollouts"
[ "$(grep -c '"kind":"validation"' whole/policy_1/log.jsonl)" = 6 ] || complain "log.jsonl has not one line a validation"
for round in 1 2; do # a picture a validation; its PNG is one
  tried=$((tried + 1))
  [ "$(grep -ao policy/choices whole/policy_$round/$events | wc -l)" = "$(grep -c '"kind":"validation"' whole/policy_$round/log.jsonl)" ] ||
    complain "TensorBoard has not one picture of choices a validation of round $round"
done
run "report" "$l2sr" report whole --output page --figures pdf
what="what the policy chose"
says page/report.html 'Share of the 5 validation scans that chose each action'
for file in training_1_choices_policy_1.pdf training_1_choices_policy_2.csv; do
  [ -s page/$file ] || complain "report wrote no $file"
done
tried=$((tried + 1))
[ "$(wc -l <page/training_1_choices_policy_1.csv)" = 8 ] || complain "not one line a step"

# ---- the table ----------------------------------------------------------------------------------------------

ssim() { sed -n 's/.*"ssim":{"mean":\([0-9.]*\).*/\1/p' out; }
run "Random" "$l2sr" evaluate scene --reconstructor whole/reconstructor/best.h5 --json
random=$(ssim)
run "L2SR" "$l2sr" evaluate scene --samplers policy --policy whole/policy_2/last.h5 \
  --reconstructor whole/reconstructor_2/best.h5 --json
learned=$(ssim)
for what in '"initial_lines":1,' '"budget":7,'; do
  grep -q "$what" out || complain "L2SR's scans have another budget than Random's: no $what"
done
awk "BEGIN { exit !($learned > $random + 0.02) }" || complain "L2SR's SSIM $learned does not beat Random's $random"
echo "test SSIM: Random $random, L2SR $learned"
run "more lines" "$l2sr" evaluate scene --policy whole/policy_2/last.h5 --set acquisition.initial_lines=2
says err 'warning: whole/policy_2/last.h5 was trained for scans of 1 initial and 7 acquired actions; x4 custom has 2 and 6'
run "the same lines" "$l2sr" evaluate scene --policy whole/policy_2/last.h5
! grep -q 'was trained for scans' err || complain "evaluate warns of the scans that the policy was trained for"
for round in 1 2; do
  tried=$((tried + 1))
  rate=$(sed -n 's/.*"kind":"look".*"rate":\([0-9.]*\).*/\1/p' whole/policy_$round/log.jsonl | sort -u)
  [ "$rate" = "$(echo 0.002 0.001 | cut -d ' ' -f $round)" ] || complain "the rate in round $round is $rate"
done
run "render" "$l2sr" render scene --samplers policy --policy whole/policy_2/last.h5 \
  --reconstructor whole/reconstructor_2/best.h5 --slices 0 --output pictures

# ---- killed -------------------------------------------------------------------------------------------------

kill_at reconstructor/log.jsonl epoch 4
[ ! -e cut/policy_1 ] || complain "the training was killed too late for the reconstructor"
kill_at policy_1/log.jsonl look 1
kill_at policy_1/log.jsonl look 8
[ ! -e cut/reconstructor_1 ] || complain "the training was killed too late for policy_1"
kill_at reconstructor_1/log.jsonl epoch 1
kill_at reconstructor_1/log.jsonl epoch 5
[ ! -e cut/policy_2 ] || complain "the training was killed too late for reconstructor_1"
kill_at policy_2/log.jsonl look 2
run "going on" "$l2sr" train scene --output cut --resume
run "killed and gone on with tells the same of its stages" cmp cut/stages.jsonl whole/stages.jsonl
for stage in $stages; do
  for file in best last; do
    run "killed and gone on with equals never stopped" "$l2sr" compare "cut/$stage/$file.h5" "whole/$stage/$file.h5"
  done
  [ "$(wc -c <cut/$stage/$events)" = "$(wc -c <whole/$stage/$events)" ] || complain "the event files of $stage differ in length"
  for folder in cut whole; do
    sed -e 's/,"images_per_second.*//' -e 's/,"steps_per_second.*//' "$folder/$stage/log.jsonl" >$folder/lines
  done
  run "and so do the lines of the log of $stage" cmp cut/lines whole/lines
done
no_part "killed and gone on with"
run "going on after the end" "$l2sr" train scene --output cut --resume
run "changes nothing" "$l2sr" compare cut/reconstructor_2/last.h5 whole/reconstructor_2/last.h5
run "and tells the same" cmp cut/stages.jsonl whole/stages.jsonl

# ---- what later stages were made from -----------------------------------------------------------------------

# stale TEXT ARGUMENTS...: going on so is refused, and every file stays as it is
stale() {
  sums=$(find cut -name '*.h5' -exec cksum {} + | sort)
  text=$1
  shift
  refuse 1 "$text" train scene --quiet --output cut --resume "$@"
  tried=$((tried + 1))
  [ "$sums" = "$(find cut -name '*.h5' -exec cksum {} + | sort)" ] || complain "$what: files have changed"
}
stale 'learn.steps was 4032 and is 5040 now' --set learn.steps=5040
stale 'it has 18 rollouts, and 9 are wanted; raise learn.steps or alternate.steps' --set alternate.steps=1000
stale 'policy_2: 18 of 36 rollouts are done, and cut/reconstructor_2 was made from it as it is' --set alternate.steps=4032
stale 'reconstructor_1: 8 of 9 epochs are done, and cut/policy_2 was made from it' --set alternate.epochs=9
stale 'reconstructor: 7 of 8 epochs are done, and cut/policy_1 was made from it' --epochs 8
stale 'it was trained with actions best, now it would be with drawn' --set alternate.actions=drawn
says err 'reconstructor_1: '
stale 'it was trained with reconstructor ' --set learn.reconstructor=whole/reconstructor_2/best.h5
says err 'policy_1: '
cp -r cut same
run "another file of the same reconstructor" "$l2sr" train scene --output same --resume \
  --set learn.reconstructor=whole/reconstructor/best.h5

# A second training in the folder of stages is refused, of whatever method.
"$l2sr" train scene --output held --epochs 100000 >first 2>&1 &
child=$!
await [ -s held/reconstructor/log.jsonl ]
for method in l2sr reconstructor; do
  what="a second training, of method $method, in a folder of stages"
  tried=$((tried + 1))
  "$l2sr" train scene --output held --resume --method $method >out 2>err
  [ $? = 1 ] || complain "$what: exit status other than 1"
  text='held is in use: another training holds held/stages.jsonl; wait for its end'
  [ $method = l2sr ] || text='held holds the stages of a train.method that has several (stages.jsonl)'
  says err "$text"
done
kill -9 $child 2>/dev/null
wait $child 2>/dev/null
rm -r held

# ---- a policy alone, PPO, launches --------------------------------------------------------------------------

cat >l2s.yaml <<'Y'
extends: scene
train: {method: l2s}
learn: {reconstructor: whole/reconstructor/best.h5, steps: 448, save_every: 2}
Y
run "l2s" "$l2sr" train l2s --output l2s
says out 'validation: mean SSIM of the slices in val at the end of a stage; best: of its best.h5'
[ "$(grep -c '^validation: ' out)" = 1 ] || complain "train explains its words more than once"
grep -q '^policy_1  *validation' out || complain "train does not tell the end of policy_1"
[ ! -e l2s/reconstructor ] || complain "a reconstructor was trained though one was given"
run "five scans at a time" "$l2sr" train l2s --output five --set world.envs=5
run "equal sixteen" "$l2sr" compare five/policy_1/last.h5 l2s/policy_1/last.h5
run "ppo" "$l2sr" train l2s --output ppo --set learn.algorithm=ppo --set learn.rows=60 --set learn.epochs=2
run "sizes come from the checkpoint" "$l2sr" train l2s --method l2sr --output sizes --set network.channels=8 \
  --set alternate.rounds=1 --set alternate.epochs=1
run "sweep" "$l2sr" sweep l2s --output grid --set learn.gamma=0.5,1 --json
[ "$(grep -c '"val_loss":null,"val_ssim":0\.' out)" = 2 ] || complain "sweep does not give the SSIM of the policies"
run "its table" "$l2sr" sweep l2s --output grid --set learn.gamma=0.5,1
says out 'val_ssim   folder'
! grep -q -e nan -e val_loss out || complain "the table of policies has columns that do not apply"
says grid/sweep.csv '0.5,,,,0.'
run "a policy of a sweep is that of train" "$l2sr" compare grid/learn.gamma=1/policy_1/last.h5 l2s/policy_1/last.h5
run "a finished l2s goes on as l2sr" "$l2sr" train l2s --method l2sr --output l2s --resume --set alternate.rounds=1 \
  --set alternate.epochs=2 --set alternate.actions=drawn
run "with the same policy" "$l2sr" compare l2s/policy_1/last.h5 five/policy_1/last.h5
[ -s l2s/reconstructor_1/best.h5 ] || complain "there is no reconstructor_1"

# ---- the start ----------------------------------------------------------------------------------------------

cat >short.yaml <<'Y'
extends: scene
train: {method: l2s, epochs: 1}
learn: {steps: 112}
alternate: {steps: 100, epochs: 1, rate: 0, policy_rate: 0}
Y
run "R_dense" "$l2sr" train short --output dense --set alternate.start=dense
run "its mixture" "$l2sr" train short --output mixture --set train.accelerations=4,4,4,6,6,8 \
  --set train.initial_accelerations=4,6,8,6,8,8
for stage in reconstructor policy_1; do
  run "are the same" "$l2sr" compare dense/$stage/best.h5 mixture/$stage/best.h5
done
run "a checkpoint" "$l2sr" train short --output given --set alternate.start=dense/reconstructor/best.h5
run "is where the policy starts" "$l2sr" compare given/policy_1/last.h5 dense/policy_1/last.h5
run "no reconstructor is trained beside one that is given" test ! -e given/reconstructor
run "learn.reconstructor goes before" "$l2sr" train short --output before --set alternate.start=nowhere.h5 \
  --set learn.reconstructor=dense/reconstructor/best.h5
pgmri="short --method pgmri --set reward.form=dense --set pgmri.epochs=1 --set pgmri.trajectories=2"
run "PG-MRI from R_dense" "$l2sr" train $pgmri --output pgmri --set alternate.start=dense
run "which is the same" "$l2sr" compare pgmri/reconstructor/best.h5 dense/reconstructor/best.h5
run "PG-MRI from a checkpoint" "$l2sr" train $pgmri --output same_pgmri --set alternate.start=dense/reconstructor/best.h5
run "ends the same" "$l2sr" compare same_pgmri/policy_1/last.h5 pgmri/policy_1/last.h5
refuse 2 "alternate.start is 'dens'; it must be sparse, dense, or the file of a reconstructor's checkpoint" \
  train short --quiet --output late --set alternate.start=dens
refuse 1 'it is no checkpoint of a reconstructor' train short --quiet --output late --set alternate.start=dense/policy_1/last.h5
[ ! -e late ] || complain "a start that is refused leaves a folder"
refuse 1 'train.accelerations was [4,4,4,6,6,8] and is [4] now' train short --quiet --output dense --resume

# ---- rounds -------------------------------------------------------------------------------------------------

# validation STAGE: as the folder rounds tells it
validation() { sed -n "s/.*\"stage\":\"$1\".*\"validation\":\([-0-9.e]*\).*/\1/p" rounds/stages.jsonl; }
for metric in ssim nmse; do # of which more is better, and less
  run "rounds" "$l2sr" train short --method l2sr --output rounds --set alternate.start=dense/reconstructor/best.h5 \
    --set reward.metric=$metric --set alternate.actions=drawn --set alternate.rounds=2 --set world.envs=3
  for round in 1 2; do
    tried=$((tried + 1))
    [ "$(validation policy_$round)" ] && [ "$(validation policy_$round)" = "$(validation reconstructor_$round)" ] ||
      complain "of $metric: an unchanged reconstructor's validation is $(validation reconstructor_$round), its policy's $(validation policy_$round)"
  done
  rm -r rounds
done
# The policy stays too: no round is better than the first, no epoch better than the first.
still="short --method l2sr --set alternate.start=dense/reconstructor/best.h5 --set learn.rate=0 --set alternate.rounds=9
  --set alternate.epochs=9 --set alternate.patience=2 --set alternate.early_stopping=1"
run "patience" "$l2sr" train $still --output still
says out 'best is round 1 of 3: policy_1/last.h5 with reconstructor_1/best.h5, validation 0.'
tail -n 1 still/stages.jsonl >best
says best '{"kind":"best","round":1,"policy":"policy_1","reconstructor":"reconstructor_1","rounds":3,"validation":0.'
[ "$(grep -c '"kind":"epoch"' still/reconstructor_3/log.jsonl)" = 2 ] || complain "a round's reconstructor is not stopped early"
[ ! -e still/policy_4 ] || complain "there is a round after patience"
cp -r still again
rm -r again/reconstructor_3
run "going on into the last round" "$l2sr" train $still --output again --resume
run "comes to the same end" cmp again/stages.jsonl still/stages.jsonl
run "a sweep of alternations" "$l2sr" sweep short --set train.method=l2sr --output rates --json --set alternate.start=dense/reconstructor/best.h5 \
  --set alternate.rounds=2 --set alternate.epochs=2 --set learn.rate=0.01 --set alternate.rate=0.0001,0.3
cp out json
for rate in 0.0001 0.3; do
  tried=$((tried + 1))
  best=$(sed -n 's/.*"kind":"best".*"validation":\([-0-9.e]*\).*/\1/p' rates/alternate.rate=$rate/stages.jsonl)
  [ "$best" ] && grep -q "\"val_ssim\":$best[,}]" json || complain "sweep does not tell $best, the best round's SSIM at rate $rate"
done
run "more patience" "$l2sr" train $still --output again --resume --set alternate.patience=3 --json
[ "$(grep -c '"kind":"best"' again/stages.jsonl)" = 1 ] || complain "stages.jsonl tells more than one best round"
says out '"rounds":4,'

# ---- refusals -----------------------------------------------------------------------------------------------

refuse 1 'whole holds a training (stages.jsonl); go on with --resume' train scene --quiet --output whole
refuse 1 'reward.scale was 100 and is 1 now' train scene --quiet --output whole --resume --set reward.scale=1
says err 'policy_1: '
refuse 1 'train.rate was 0.01 and is 0.02 now' train scene --quiet --output whole --resume --set alternate.rate=0.02
says err 'reconstructor_1: '
run "a refused resume leaves what the stages told" cmp cut/stages.jsonl whole/stages.jsonl
refuse 1 'whole holds the stages of a train.method that has several (stages.jsonl)' train scene --quiet --output whole --resume --method reconstructor
run "a training that is refused leaves no log among the stages" test ! -e whole/log.jsonl
refuse 2 'train.output is empty; give --output DIR' train l2s
refuse 1 'the reconstructor: cannot open nowhere.h5' train l2s --quiet --output none --set learn.reconstructor=nowhere.h5
run "a training that is refused before its first stage leaves no folder" test ! -e none
mkdir told
echo '{"kind":"stage"}' >told/stages.jsonl
refuse 1 'the reconstructor: cannot open nowhere.h5' train l2s --quiet --output told --resume --set learn.reconstructor=nowhere.h5
run "a refused resume leaves what stages that are gone have told" test -s told/stages.jsonl
refuse 1 'it is no checkpoint of a reconstructor' train l2s --quiet --output none --set learn.reconstructor=l2s/policy_1/last.h5
refuse 1 'was trained with data.size 32 (attribute network_size), and data.size is 40' train l2s --quiet --output none --set data.size=40 --set data.pad=40
refuse 2 'the scene has 2 settings' train l2s --quiet --output none --set acquisition.horizon=base,long
refuse 2 'no line is left to acquire' train l2s --quiet --output none --set acquisition.initial_lines=8
refuse 1 'training data: cannot open nowhere: No such file or directory' train l2s --quiet --output none --data nowhere
refuse 1 'policy.precision is half, and the portable path computes in f32 only' train scene --output late \
  --set policy.precision=half
refuse 2 'rollouts in 900 rounds are more than the 268435455' train scene --output late --set alternate.rounds=900 \
  --set alternate.steps=4000000000
[ ! -e late ] || complain "what is refused before the first stage leaves a folder"
refuse 1 'lower learn.rate or learn.clip (0 is no limit)' train l2s --quiet --output burst --set learn.rate=1e9 --set learn.clip=0 \
  --set learn.log_every=1 --set learn.save_every=100
mkdir taken
echo kept >taken/policy_1
refuse 1 'taken/policy_1 is not a folder' train l2s --quiet --output taken
dd if=whole/policy_1/last.h5 of=five/policy_1/last.h5 bs=1000 count=9 2>/dev/null
refuse 1 'cannot go on' train l2s --quiet --output five --resume
refuse 1 'it is no checkpoint of a policy' evaluate scene --samplers policy --policy whole/reconstructor/best.h5
finish
