#!/bin/sh
# A search: killed and gone on with, what it leaves, trials that fail, late ones, refusals. search.sh L2SR
set -u
. "${0%/*}/setup.sh"
cat >space.yaml <<'Y'
data: {size: 32, path: data, folds: 2}
acquisition: {acceleration: [8], horizon: [long]}
network: {channels: 2, pools: 1}
train: {epochs: 4, batch: 4, log_every: 100}
search: {log: [train.rate 1e-4 1e-1], integer: [train.epochs 2 5], choice: [train.loss ssim mse], trials: 6, even: 3}
Y
run phantom "$l2sr" phantom data --train 3 --val 1 --test 0 --slices 4 --size 32 --rows 32 --columns 32 --quiet
rm -r data/val # folds validate: no other slices are looked at

# killed while its second trial runs; what has ended stays, and the second goes on
"$l2sr" search space --output found >out 2>err &
child=$!
await tells found/search.jsonl point 5
kill -9 $child
wait $child 2>/dev/null
ended=$(grep '"kind":"end"' found/search.jsonl)
tried=$((tried + 1))
[ "$(echo "$ended" | wc -l)" = 1 ] && [ "$(grep -c '"kind":"trial"' found/search.jsonl)" = 2 ] || complain "it was not killed in its second trial"
run "the search goes on" "$l2sr" search space --output found
says err 'trial 2 goes on'
says out "the scene's own values: score 0."
says out 'best: trial '
tried=$((tried + 1))
[ "$(grep '"kind":"end","trial":1,' found/search.jsonl)" = "$ended" ] || complain "the trial that had ended is another now"
for file in front.csv front.svg front.png trial_0006/best.h5 trial_0006.log; do
  tried=$((tried + 1))
  [ -s found/$file ] || complain "there is no found/$file"
done
tried=$((tried + 1))
[ "$(sed 1d found/search.csv | grep -cE '^[1-6],(done|stopped),0\.[0-9]+,[0-9.]+,[01],0,0,[0-9.e-]+,[2-5],(ssim|mse),$')" = 6 ] ||
  { cp found/search.csv out; complain "search.csv has not six trials"; }
# the first is the scene's own, and its score that of the best validation in its log
score() { sed -n "s/^$1,[a-z]*,\([0-9.]*\),.*/\1/p" found/search.csv; }
tried=$((tried + 1))
best=$(sed -n 's/.*"kind":"epoch".*"val_loss":\([^,]*\),"val_ssim":\([0-9.]*\).*/\1 \2/p' found/trial_0001/log.jsonl | sort -g | head -n 1)
awk "BEGIN { exit !(($(score 1) - ${best#* })^2 < 1e-12) }" || complain "trial 1 has the score $(score 1), and its log ${best#* }"
# the front is what is better than all that is as quick
tried=$((tried + 1))
front=$(sed 1d found/search.csv | awk -F, '$5 == 1' | wc -l)
[ "$front" = "$(sed 1d found/front.csv | wc -l)" ] && [ "$front" -ge 1 ] || { cp found/front.csv out; complain "the front has not $front trials"; }
touch done
run "a search that is done" "$l2sr" search space --output found --json
tried=$((tried + 1))
[ "$(grep -c '"state":"[a-z]*","score":0' out)" = 6 ] && [ -z "$(find found -name last.h5 -newer done)" ] || complain "what is done is done again"
no_part "the search"
refuse 2 'found/search.jsonl is of a search of other options, data or ranges' search space --output found --set 'search.log=[train.rate 1e-4 1e-2]'

# one that takes too long has the score that it has then; a rate at which training diverges is a trial like others
set -- search space --output others --set 'search.log=[train.rate 1e8 1e9]' --set 'search.choice=[]' --set train.loss=mse \
  --set train.epochs=100000 --set 'search.integer=[train.batch 4 5]'
"$l2sr" "$@" --set search.trials=1 >out 2>err &
child=$!
await tells others/search.jsonl point 1
kill -9 $child
wait $child 2>/dev/null
# what stops by --seconds keeps its seconds since the last validation
"$l2sr" "$@" --set search.trials=1 --seconds 1 >out 2>err
tried=$((tried + 1))
grep -q '"kind":"cut","trial":1,"seconds":' others/search.jsonl || complain "a trial that the end of the search cut does not keep its seconds"
run "a trial that is late" "$l2sr" "$@" --set search.trials=1 --set search.limit=1
run "trials that fail" "$l2sr" "$@" --set search.trials=3
tried=$((tried + 1))
grep -q '^1,late,0\.[0-9]*,' others/search.csv && [ "$(grep -c ',failed,,.*,the validation loss is inf ' others/search.csv)" = 2 ] &&
  [ -z "$(find others -name '*.part')" ] || { cp others/search.csv out; complain "trials are not late and failed"; }
run "the best and the first by other seeds" "$l2sr" search space --output repeated --set search.trials=2 --set search.repeats=1 \
  --set train.rate=1e-9 --set train.epochs=1 --set 'search.integer=[]' --set 'search.choice=[]'
says out "by 1 other seed: the scene's own 0."
says repeated/search.csv '3,done,0.'
tried=$((tried + 1))
grep -q '"trial":4,"again":2,"seed":1,' repeated/search.jsonl || complain "the best is not trained by another seed"

# ---- refusals -------------------------------------------------------------------------------------------------
no() { # no TEXT LIST: a space of that list
  refuse 2 "$1" search space --output other --set "$2"
}
no 'unknown key train.rat at search.log; did you mean train.rate?' 'search.log=[train.rat 1 2]'
no 'the range of train.rate from 1 to 1 is empty' 'search.log=[train.rate 1 1]'
no 'the range of train.rate begins at 0, which has no logarithm' 'search.log=[train.rate 0 1]'
no "search.log has 'train.rate' with 1 word" 'search.log=[train.rate 1]'
no "train.rate is 'x' at search.log; it must be a number" 'search.log=[train.rate x 1]'
no 'search.integer has learn.clip, which takes more than whole numbers' 'search.integer=[learn.clip 1 2]'
no 'the space has train.rate twice' 'search.linear=[train.rate 1 2]'
no 'search.linear has train.masks, which is no number' 'search.linear=[train.masks bernoulli exact]'
no 'train.loss has 1 value to choose from' 'search.choice=[train.loss ssim]'
no "train.loss is 'huber' at search.choice" 'search.choice=[train.loss ssim huber]'
no 'search.choice has data.fold, which says what is scored' 'search.choice=[data.fold 0 1]'
no 'search.choice has train.start, which is a text' 'search.choice=[train.start a b]'
printf 'extends: space\nreconstruct: {method: zero_filled}\n' >plain.yaml
refuse 2 'there is nothing to search; name a scene that trains' search plain --output other
printf 'data: {path: data}\n' >empty.yaml
refuse 2 'the space is empty; name keys and their ranges' search empty --output other
refuse 2 'train.output is empty' search space
refuse 2 '--device names one' search space --output other --device 0
refuse 2 "--devices has 'x'" search space --output other --devices x
refuse 1 'cannot open nowhere: No such file or directory; --data (data.path) must name' search space --output other --data nowhere
refuse 1 'learn.reconstructor: cannot open none.h5' search space --output other --set train.method=l2s --set learn.reconstructor=none.h5
refuse 2 'there is no scene nofile.yaml: it is neither here nor in ' search nofile.yaml
tried=$((tried + 1))
[ ! -e other ] || complain "what is refused leaves a folder"
finish
