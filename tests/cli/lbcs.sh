#!/bin/sh
# LBCS from the command line: its mask beats Random with the same reconstructor, and equals the average oracle on the
# training slices; a policy imitates it; killed and gone on with, compared with one never stopped; refusals. lbcs.sh L2SR
set -u
. "${0%/*}/setup.sh"

cat >scene.yaml <<'Y'
data: {size: 32, path: data, order: permuted}
acquisition: {horizon: [long]}
network: {channels: 4, pools: 2}
train: {method: lbcs, epochs: 8, batch: 5, rate: 0.01, rate_every: 6, accelerations: [4, 8], initial_accelerations: [16, 32]}
evaluate: {name: LBCS, samplers: [fixed_mask], metrics: [ssim]}
Y
run "phantom" "$l2sr" phantom data --train 8 --val 1 --test 4 --slices 5 --size 32 --rows 64 --columns 38
run "train" "$l2sr" train scene --output whole --json
grep -q '"stage":"reconstructor"' out && grep -q '"stage":"mask_1"' out || complain "--json does not tell the stages"
mask=whole/mask_1/last.h5 dense=whole/reconstructor/best.h5
[ ! -e whole/mask_1/best.h5 ] || complain "a mask has a best.h5 beside its last one"
[ "$(grep -c '"kind":"validation","steps"' whole/mask_1/log.jsonl)" = 7 ] || complain "log.jsonl has not one validation a step"
[ "$(grep -c '"kind":"look"' whole/mask_1/log.jsonl)" = 7 ] || complain "log.jsonl has not one line a step"

# ---- the table ----------------------------------------------------------------------------------------------

ssim() { sed -n 's/.*"ssim":{"mean":\([0-9.]*\).*/\1/p' out; }
last() { sed -n "s/.*\"kind\":\"$1\".*\"score\":\\([0-9.]*\\).*/\\1/p" whole/mask_1/log.jsonl | tail -n 1; }
same() { awk "BEGIN { d = $1 - $2; exit !(d * d < 1e-10) }" || complain "$3: $1 and $2 differ"; }
run "Random" "$l2sr" evaluate scene --samplers random --reconstructor $dense --json
random=$(ssim)
run "LBCS" "$l2sr" evaluate scene --set sampler.mask=$mask --reconstructor $dense --json --output results
grown=$(ssim)
echo "test SSIM: Random $random, LBCS $grown"
awk "BEGIN { exit !($grown > $random + 0.02) }" || complain "LBCS's mask ($grown) does not beat Random ($random)"
run "on the training slices" "$l2sr" evaluate scene --set sampler.mask=$mask --reconstructor $dense --json --set data.split=train
same "$(ssim)" "$(last look)" "the score of the log on training slices, and evaluate's"
of_train=$(ssim)
run "the average oracle there" "$l2sr" evaluate scene --samplers average_oracle --reconstructor $dense --json --set data.split=train
same "$(ssim)" "$of_train" "the average oracle on training slices, and LBCS"
run "on the validation slices" "$l2sr" evaluate scene --set sampler.mask=$mask --reconstructor $dense --json --set data.split=val
same "$(ssim)" "$(last validation)" "the score of the log on validation slices, and evaluate's"
run "describe schedule" "$l2sr" describe schedule scene
says out 'take_action'

# ---- killed -------------------------------------------------------------------------------------------------

part="--set lbcs.slices=20 --set lbcs.candidates=8 --set learn.reconstructor=$dense"
# shellcheck disable=SC2086
run "parts of slices and candidates" "$l2sr" train scene --output parts $part
# shellcheck disable=SC2086
kill_at mask_1/log.jsonl look 2 $part
# shellcheck disable=SC2086
kill_at mask_1/log.jsonl look 4 $part
[ "$(grep -c '"kind":"look"' cut/mask_1/log.jsonl)" -lt 7 ] || complain "the training was killed too late"
# shellcheck disable=SC2086
run "going on" "$l2sr" train scene --output cut --resume $part
run "killed and gone on with equals never stopped" "$l2sr" compare cut/mask_1/last.h5 parts/mask_1/last.h5
for folder in cut parts; do
  sed 's/,"images_per_second.*//' $folder/mask_1/log.jsonl >$folder/lines
done
run "and so do the lines of the log" cmp cut/lines parts/lines
no_part "killed and gone on with"
run "a report of the training" "$l2sr" report whole results --output page
grep -q '^mask_1,' page/training_1.csv || complain "the page does not show how the mask grew"

# ---- other geometries ---------------------------------------------------------------------------------------

for geometry in spokes points; do
  set="--set acquisition.geometry=$geometry --set acquisition.budget=5 --set lbcs.candidates=6 --set learn.reconstructor=$dense"
  # shellcheck disable=SC2086
  run "a mask of $geometry" "$l2sr" train scene --output $geometry $set
  # shellcheck disable=SC2086
  run "scans of $geometry" "$l2sr" evaluate scene --set sampler.mask=$geometry/mask_1/last.h5 --reconstructor $dense $set
done

# ---- a policy that imitates it ------------------------------------------------------------------------------

clone="--set train.method=l2s --set learn.reconstructor=$dense --set policy.channels=2 --set policy.pools=2 --set policy.hidden=16
  --set learn.scans=8 --set learn.optimiser=adam --set learn.clone_rate=0.003 --set learn.steps=1 --set learn.value=0"
# shellcheck disable=SC2086
run "a policy that imitates the mask" "$l2sr" train scene --output clone $clone --set learn.clone=lbcs --set sampler.mask=$mask \
  --set learn.clone_steps=4500 --set learn.rate=0
run "its scans" "$l2sr" evaluate scene --samplers policy --policy clone/policy_1/last.h5 --reconstructor $dense --json
same "$(ssim)" "$grown" "a policy that imitates LBCS, and its mask"
# shellcheck disable=SC2086
run "one that imitates the oracle" "$l2sr" train scene --output oracle $clone --set learn.clone=oracle --set learn.clone_steps=100 \
  --set sampler.candidates=4 --set learn.log_every=1
[ "$(grep -c '"kind":"look".*"signal":null' oracle/policy_1/log.jsonl)" = 2 ] || complain "not two rollouts were the teacher's"
# shellcheck disable=SC2086
run "its lists" "$l2sr" describe schedule scene $clone --set learn.clone=oracle
says out 'policy: imitate (after every rollout of the teacher)'
# shellcheck disable=SC2086
refuse 2 'learn.clone is lbcs and sampler.mask is empty' train scene --quiet --output early $clone --set learn.clone=lbcs
# shellcheck disable=SC2086
refuse 1 'it has no dataset order' train scene --quiet --output early $clone --set learn.clone=lbcs --set sampler.mask=$dense
refuse 2 'learn.clone is oracle, and train.method pgmri learns from rewards alone' train scene --quiet --output early \
  --method pgmri --set learn.clone=oracle
# shellcheck disable=SC2086
refuse 1 'sampler.candidates was 4 and is 5 now' train scene --quiet --output oracle --resume $clone --set learn.clone=oracle \
  --set learn.clone_steps=100 --set sampler.candidates=5 --set learn.log_every=1

# ---- refusals -----------------------------------------------------------------------------------------------

# refused before the reconstructor is trained
refuse 2 'lbcs.candidates is 32; 31 of 32 lines are free after the initial ones (acquisition.initial_lines)' \
  train scene --quiet --output early --set lbcs.candidates=32
refuse 2 'lbcs.slices is 41; data.path data has 40 training slices' train scene --quiet --output early --set lbcs.slices=41
refuse 2 'lbcs.candidates is 0 and acquisition.geometry points' train scene --quiet --output early --set acquisition.geometry=points
refuse 2 'which looks at magnitudes, and network.input is complex' train scene --quiet --output early --set network.input=complex
refuse 2 'the scene has 2 settings' train scene --quiet --output early --set acquisition.horizon=base,long
[ ! -e early ] || complain "a refused mask left something in the folder"
refuse 1 'lbcs.slices was 0 and is 20 now' train scene --quiet --output whole --resume --set lbcs.slices=20
refuse 1 "it holds a network of kind 'lbcs'" train scene --quiet --output whole/mask_1 --resume --method loupe
refuse 1 "its attribute network is 'lbcs'" evaluate scene --set sampler.mask=$mask --reconstructor $mask
refuse 1 'is of lines and acquisition.geometry is spokes' evaluate scene --set sampler.mask=$mask --set acquisition.geometry=spokes
finish
