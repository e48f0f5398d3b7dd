#!/bin/sh
# A suite of samplers by reconstructors by settings by seeds: what is done, what fails beside it, going on, and its page.
# benchmark.sh L2SR
set -u
. "${0%/*}/setup.sh"
cat >x4.yaml <<'Y'
data: {size: 32, path: where.the.suite.says}
acquisition: {initial_lines: 2, budget: 5}
network: {channels: 4, pools: 2}
policy: {channels: 2, pools: 2, hidden: 16}
train: {epochs: 1, batch: 6, initial_accelerations: [16], accelerations: [4]}
Y
cat >x4_values.yaml <<'Y'
extends: x4
train: {method: ddqn}
ddqn: {specific: data_set, scans: 4, steps: 60, replay: 60, first: 20, batch: 8, validate_every: 10}
Y
printf 'extends: x4\ntrain: {method: loupe, rate: 1e9}\nloupe: {rate: 1e9}\n' >x4_broken.yaml
cat >suite.yaml <<'Y'
benchmark:
  settings: [x4]
  methods: [random, values, broken]
  reconstructors: [network, zero_filled]
  seeds: [7]
  jobs: 3
data: {path: data}
world: {envs: 16}
Y
run phantom "$l2sr" phantom data --train 2 --val 1 --test 1 --slices 3 --size 32 --rows 64 --columns 38 --coils 1 --quiet

# cut at once, and gone on with: nothing is done twice
"$l2sr" benchmark suite --output bench --seconds 1 >out.first 2>err
[ $? = 1 ] && grep -q 'left: the same command goes on' out.first || { cp out.first out; complain "a suite that is cut tells what is left"; }
"$l2sr" benchmark suite --output bench >out.second 2>err
status=$?
cp out.second out.txt
tried=$((tried + 1))
[ $status = 1 ] || { cp out.second out; complain "a failed training is the command's status, which is $status"; }
tried=$((tried + 1))
grep -q '^failed: bench/x4/broken/seed_7: ' out.second || { cp out.second out; complain "the failed training is told"; }
# the reconstructor, random lines by it and without one, and what is trained
rows=$(grep -c ',done,' bench/benchmark.csv)
tried=$((tried + 1))
[ "$rows" = 4 ] && [ "$(grep -c ',failed,' bench/benchmark.csv)" = 1 ] || { cp bench/benchmark.csv out; complain "4 are done and 1 failed, not $rows"; }
refuse 2 'bench/x4/random_zero_filled/seed_7 was made by other options, data or lengths of training than the suite has now' benchmark suite --output bench \
  --set benchmark.methods=[random] --set acquisition.budget=6 --set benchmark.reconstructors=[zero_filled]
cp -r data other_data
refuse 2 'bench/x4/reconstructor/seed_7 was made by other options, data' benchmark suite --output bench --data other_data \
  --set benchmark.methods=[random] --set benchmark.reconstructors=[network]
refuse 2 'bench/x4/reconstructor/seed_7 was made by other options, data' benchmark suite --output bench --set train.epochs=2
touch done
run "a suite that is done" sh -c "'$l2sr' benchmark suite --output bench --set benchmark.methods=[random,values]"
tried=$((tried + 1))
[ -z "$(find bench/x4 \( -name 'results.h5' -o -name '*.log' \) -newer done)" ] || complain "what is done is done again"

# the page
page=bench/page/report.txt
for text in 'All methods at' 'adaptivity' 'Seconds of every training' 'zero_filled'; do
  tried=$((tried + 1))
  grep -q "$text" $page || { cp $page out; complain "'$text' is not on the page"; }
done
# method, results, score, rank, area, rank, adaptivity: one mask for all slices is not adaptive, random lines are
adaptive() { sed -n "s/^$1,.*,//p" bench/page/summary_1.csv; }
tried=$((tried + 1))
awk "BEGIN { exit !($(adaptive random) > 0.1 && $(adaptive values) == 0) }" || { cp bench/page/summary_1.csv out; complain "random lines are not adaptive, or a mask is"; }
for file in bench/x4/random/seed_7/evaluate.log bench/x4/values/seed_7/train.log; do
  tried=$((tried + 1))
  [ -s $file ] || complain "there is no log $file"
done
no_part "the suite"
# a method for one setting, a reconstructor for one method
printf 'extends: x4\n' >x8.yaml
"$l2sr" benchmark suite --output some --seconds 1 --set 'benchmark.settings=[x4,x8]' --set 'benchmark.methods=[random,equispaced_one_sided,lowest_index]' \
  --set 'benchmark.reconstructors=[zero_filled,tv]' --set 'benchmark.only=[lowest_index x8, tv random equispaced_one_sided]' >out 2>err
cut -d, -f1-3 some/benchmark.csv | sort >out
tried=$((tried + 1))
printf '%s\n' setting,method,reconstructor x4,equispaced_one_sided,tv x4,equispaced_one_sided,zero_filled x4,random,tv x4,random,zero_filled x8,equispaced_one_sided,tv \
  x8,equispaced_one_sided,zero_filled x8,lowest_index,zero_filled x8,random,tv x8,random,zero_filled | sort | cmp -s - out || complain "what is for some alone"

# ---- refusals -----------------------------------------------------------------------------------------------
refuse 2 "benchmark.settings is empty" benchmark x4 --output other
refuse 2 "benchmark.methods has 'randon': there is no scene x4_randon, and no sampler of that name" \
  benchmark suite --output other --set 'benchmark.methods=[randon]'
refuse 2 "benchmark.settings has 'x4' and 'other/x4', whose results would share the folder x4" \
  benchmark suite --output other --set 'benchmark.settings=[x4,other/x4]'
refuse 2 "benchmark.only has 'policy x4', which is in neither" benchmark suite --output other --set 'benchmark.only=[policy x4]'
refuse 2 "benchmark.only has 'x8' behind values, which is not in benchmark.settings" benchmark suite --output other --set 'benchmark.only=[values x8]'
refuse 2 "benchmark.only has 'zero_filled' alone; name the methods" benchmark suite --output other --set 'benchmark.only=[zero_filled]'
refuse 2 "benchmark.seeds has 'one'" benchmark suite --output other --set 'benchmark.seeds=[one]'
refuse 2 "benchmark.seeds has '1' twice" benchmark suite --output other --set 'benchmark.seeds=[1,1]'
refuse 2 "train.output is empty" benchmark suite
refuse 2 "benchmark.baseline is 'random', and the suite's results are called 'random, zero_filled'" benchmark suite --output other \
  --set 'benchmark.methods=[random]' --set 'benchmark.reconstructors=[zero_filled]' --set benchmark.baseline=random
refuse 2 'nothing is left of the suite' benchmark suite --output other --set 'benchmark.methods=[values]' \
  --set 'benchmark.reconstructors=[zero_filled]'
refuse 1 "benchmark.devices: no OpenCL device matches '99'" benchmark suite --output other --set 'benchmark.devices=[99]'
printf 'extends: x4\n' >x4_plain.yaml
refuse 2 "x4_plain trains a reconstructor alone" benchmark suite --output other --set 'benchmark.methods=[plain]'
finish
