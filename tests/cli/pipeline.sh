#!/bin/sh
# The tool against itself: pipelines that end in `l2sr compare`. pipeline.sh L2SR SOURCE
set -u
l2sr=$1 source=$2 failed=0
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT
run() { # run NAME COMMAND...
  name=$1
  shift
  "$@" >"$temp/out" 2>"$temp/err" && return 0
  echo "FAILED: $name: $*"
  cat "$temp/out" "$temp/err"
  failed=1
  return 1
}
differs() { # differs NAME A B
  "$l2sr" compare "$2" "$3" >"$temp/out" 2>&1
  [ $? = 1 ] || { echo "FAILED: $1: compare does not tell $2 from $3"; failed=1; }
}
scene="$temp/scene.yaml"
cat >"$scene" <<'Y'
data: {size: 32}
acquisition: {acceleration: [4], horizon: [base, long]}
evaluate: {samplers: [random, low_bias, poisson_disc, lowest_index], metrics: [ssim, ssim_uniform, psnr, nmse], images: true}
Y
small="--train 1 --val 1 --test 2 --slices 3 --size 32 --rows 64 --columns 38"
run "phantom" "$l2sr" phantom "$temp/data" $small
run "phantom again" "$l2sr" phantom "$temp/again" $small
for file in "$temp"/data/test/*.h5; do
  run "phantoms repeat" "$l2sr" compare "$file" "$temp/again/test/$(basename "$file")"
done
run "phantoms of another seed" "$l2sr" phantom "$temp/other" $small --set world.seed=7
differs "attributes are compared" "$file" "$temp/other/test/$(basename "$file")"
grep -q 'differs  attribute max .* at the root: ' "$temp/out" || { echo "FAILED: attribute max"; failed=1; }
grep -q 'differs  attribute patient_id .*text at line 1: ' "$temp/out" || { echo "FAILED: patient_id"; failed=1; }
evaluate() { # evaluate OUTPUT ARGS...
  out=$1
  shift
  run "evaluate $*" "$l2sr" evaluate "$scene" --data "$temp/data" --output "$temp/$out" "$@"
}
evaluate one
evaluate two
run "the same run gives the same bytes" "$l2sr" compare "$temp/one/results.h5" "$temp/two/results.h5"
run "and the same tables" "$l2sr" compare "$temp/one/slices.csv" "$temp/two/slices.csv"
both() { "$l2sr" evaluate "$scene" --data "$temp/data" --output "$temp/both" --overwrite >"$temp/$1" 2>&1; }
both first &
both second || grep -q 'both is in use: another program writes there' "$temp/second" ||
  { echo "FAILED: two runs with one output: $(cat "$temp/second")"; failed=1; }
wait $! || grep -q 'both is in use: another program writes there' "$temp/first" ||
  { echo "FAILED: two runs with one output: $(cat "$temp/first")"; failed=1; }
run "two runs with one output leave a whole one" "$l2sr" compare "$temp/one/results.h5" "$temp/both/results.h5"
# The table of several scenes parts rows by the keys that say what is tested and how it is scored, and by no others.
parts() { # parts KEY-VALUE ROWS WORDS
  printf 'extends: scene.yaml\nacquisition: {horizon: [base]}\nevaluate: {samplers: [random]}\n' >"$temp/plain.yaml"
  { cat "$temp/plain.yaml"; echo "$1"; } >"$temp/other.yaml"
  run "several scenes, $1" "$l2sr" evaluate "$temp/plain.yaml" "$temp/other.yaml" --data "$temp/data"
  rows=$(sed -n '/mean and deviation$/,$p' "$temp/out" | grep -c "^N=32 x4 base.*$3 ")
  [ "$rows" = "$2" ] || { echo "FAILED: rows that differ in $1: $rows of $2"; cat "$temp/out"; failed=1; }
}
parts 'data: {pad: 40}' 2 ', pad [0-9]*'
parts 'data: {range: slice}' 2 ''
parts 'data: {scale: 2}' 2 ', scale [0-9.e-]*'
parts 'data: {most: 2}' 2 ''
parts 'data: {window: 2}' 1 ''
parts 'data: {augment: [turns]}' 1 ''
evaluate few --set world.envs=2
run "the number of environments changes nothing" "$l2sr" compare "$temp/one/results.h5" "$temp/few/results.h5"
grep -q "noted    attribute scene .* line [0-9]*: '  envs: .*' and '  envs: 2'; it says what wrote" "$temp/out" ||
  { echo "FAILED: the scene that wrote results is noted"; failed=1; }
evaluate ends --set evaluate.curves=false
run "scoring only at the end gives the same ends" "$l2sr" compare "$temp/one/slices.csv" "$temp/ends/slices.csv"
evaluate half --set world.observation=f16 --trace "$temp/half.json"
grep -q '"pid":1,.*"name":"observe"}' "$temp/half.json" && grep -q '"pid":2,.*"name":"score_ssim",.*"system":"score' "$temp/half.json" ||
  { echo "FAILED: the trace of an evaluation lacks systems of the host or launches of the device"; failed=1; }
run "f16 observations are close" "$l2sr" compare --tolerance 0.02 "$temp/one/slices.csv" "$temp/half/slices.csv"
evaluate seed --set world.seed=7
differs "another seed" "$temp/one/slices.csv" "$temp/seed/slices.csv"
evaluate folder --kernels "$source/kernels"
run "kernels from a folder" "$l2sr" compare "$temp/one/results.h5" "$temp/folder/results.h5"
# images from k-space equal the stored reconstruction they were made from
evaluate kspace --set data.source=kspace
run "k-space gives the stored images" "$l2sr" compare --tolerance 1e-3 "$temp/one/slices.csv" "$temp/kspace/slices.csv"
# a fixed mask that is a result's mask gives that result
awk -F, 'NR > 1 && $1 == 4' "$temp/one/slices.csv" >/dev/null
printf '00000000000011111111000000000000\n' >"$temp/mask.txt"
run "a fixed mask" "$l2sr" evaluate "$scene" --data "$temp/data" --samplers fixed_mask,lowest_index \
  --set sampler.mask="$temp/mask.txt" --set acquisition.horizon=base --json
[ "$(grep -c '"sampler"' "$temp/out")" = 2 ] || { echo "FAILED: fixed mask gives no two rows"; failed=1; }
[ "$(sed 's/.*"ssim":{"mean":\([0-9.]*\).*/\1/' "$temp/out" | sort -u | wc -l)" = 1 ] ||
  { echo "FAILED: the central mask from a file differs from lowest_index"; failed=1; }
run "render" "$l2sr" render "$scene" --data "$temp/data" --slices 0 --output "$temp/pictures"
[ "$(ls "$temp"/pictures/*.png | wc -l)" = 2 ] || { echo "FAILED: render wrote no two pictures"; failed=1; }
run "bench" "$l2sr" bench step --size 32 --envs 20 --slices 4 --json
grep -q '"steps_per_second":[0-9]' "$temp/out" || { echo "FAILED: bench gives no rate"; failed=1; }
run "bench env" "$l2sr" bench env --size 32 --envs 20 --slices 4
run "bench env" "$l2sr" bench env --size 32 --envs 3 --slices 4 --observation f16 --json
grep -q '"host_actions_milliseconds":[0-9]' "$temp/out" || { echo "FAILED: bench env gives no time"; failed=1; }
run "bench policy" "$l2sr" bench policy --size 32 --batch 3 --train --json --set policy.channels=2 --set policy.pools=2
grep -q '"batch":3,"precision":"f32"' "$temp/out" || { echo "FAILED: bench policy does not take --batch"; failed=1; }
run "bench roofline" "$l2sr" bench roofline policy --size 32 --batch 3 --json --set policy.channels=2 --set policy.pools=2 \
  --figure "$temp/roofline.svg" --trace "$temp/trace.json"
# of 3 images of 32x32 floats, the twice as many that 9 x 2 weights and 2 biases make of them: read or written once
grep -q 'channel_layer.layers.0","launches":1,"milliseconds":[0-9.e-]*,"bytes":36944,"operations":110592,' "$temp/out" ||
  { echo "FAILED: bench roofline counts other bytes and operations of the first convolution"; failed=1; }
for place in norm.3 max_pool.8 value_net; do
  grep -q "\"place\":\"$place\"" "$temp/out" || { echo "FAILED: bench roofline has no $place"; failed=1; }
done
grep -q '<svg' "$temp/roofline.svg" ||
  { echo "FAILED: bench roofline draws nothing"; failed=1; }
grep -q '"pid":2,.*"name":"conv_forward","args":{"bytes":36944,"operations":110592,"layer":' "$temp/trace.json" ||
  { echo "FAILED: the trace has no launch of the first convolution"; failed=1; }
[ "$(tail -n 1 "$temp/trace.json")" = ']}' ] || { echo "FAILED: the trace does not end"; failed=1; }
run "bench learn" "$l2sr" bench learn --size 32 --scans 40 --envs 30 --slices 3 --batch 2 --profile --json \
  --set policy.channels=2 --set policy.pools=2 --set network.channels=2 --set network.pools=2
for part in observe forward_policy act forward_reconstructor score_ssim advantage; do
  grep -q "\"phase\":\"rollout\",\"part\":\"$part\"" "$temp/out" || { echo "FAILED: bench learn has no $part"; failed=1; }
done
for part in gather observe encode_policy forward_policy policy_loss backward_policy optimise_policy; do
  grep -q "\"phase\":\"update\",\"part\":\"$part\"" "$temp/out" || { echo "FAILED: bench learn has no $part"; failed=1; }
done
run "verify stored vectors" "$l2sr" verify "$source"/tests/data/acquisition_45.h5 "$source"/tests/data/metrics_50.h5
run "inspect" "$l2sr" inspect "$temp/data"
[ -z "$(find "$temp" -name '*.part')" ] || { echo "FAILED: half-written files are left"; failed=1; }
exit $failed
