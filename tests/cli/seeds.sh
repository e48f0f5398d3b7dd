#!/bin/sh
# Methods with several seeds: mean and deviation over seeds, and differences over patients, against what awk makes of
# slices.csv; the same differences as evaluate prints them. seeds.sh L2SR
set -u
. "${0%/*}/setup.sh"

cat >scene.yaml <<'Y'
data: {size: 32, path: data}
acquisition: {horizon: [base]}
network: {channels: 2, pools: 2}
train: {epochs: 1, batch: 5}
evaluate: {name: Random, samplers: [random], metrics: [ssim, psnr], curves: false}
Y
run "phantom" "$l2sr" phantom data --train 1 --val 1 --test 3 --slices 3 --size 32 --rows 64 --columns 38
for seed in 1 2 3; do
  run "seed $seed" "$l2sr" evaluate scene --set world.seed=$seed --output results/random_$seed
done
run "lowest" "$l2sr" evaluate scene --samplers lowest_index --set evaluate.name=Lowest --output results/lowest
run "report" "$l2sr" report results --baseline Random --output page
tried=$((tried + 1))
! grep -q 'Comparisons' page/report.html || complain "slice by slice, nothing is compared with a method of several seeds"

# ssim FOLDER: a line a slice: volume, slice, SSIM
ssim() { awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "ssim") c = i } NR > 1 { print $4, $5, $c }' "results/$1/slices.csv"; }

what="curves of what was scored at the end only"
tried=$((tried + 1))
[ ! -e page/curve_1.csv ] || complain "scores that were not made are drawn: $(head -3 page/curve_1.csv)"

what="the table over seeds"
says page/report.txt 'SSIM over seeds, mean ± standard deviation'
tried=$((tried + 1))
expected=$(for seed in 1 2 3; do ssim random_$seed | awk '{ s += $3 } END { printf "%.9f\n", s / NR }'; done |
  awk '{ s += $1; q += $1 * $1 } END { m = s / 3; printf "%.5f %.5f", m, sqrt((q - 3 * m * m) / 2) }')
found=$(awk -F, '$2 == "Random" { printf "%.5f %.5f", $3, $4 }' page/seeds_ssim.csv)
[ "$found" = "$expected" ] || complain "over seeds Random has $found, expected $expected"
says page/report.txt ' (3)'

# Slices are means over seeds, patients means over slices; t of 2 degrees is 4.302653. A phantom's file is a patient.
what="differences over patients"
tried=$((tried + 1))
for seed in 1 2 3; do ssim random_$seed; done >random.txt
ssim lowest >lowest.txt
pairs() { # pairs RANDOM: mean, low, high of Lowest against it
  awk 'NR == FNR { r[$1 " " $2] += $3; n[$1 " " $2]++; next }
    { k = $1 " " $2; d[$1] += $3 - r[k] / n[k]; c[$1]++ }
    END { for (v in d) { x = d[v] / c[v]; s += x; q += x * x; m++ }
      a = s / m; h = 4.302653 * sqrt((q - m * a * a) / (m - 1) / m); printf "%.4f %.4f %.4f", a, a - h, a + h }' "$1" lowest.txt
}
expected=$(pairs random.txt)
found=$(awk -F, '$1 == "Lowest" { printf "%.4f %.4f %.4f", $3, $4, $5 }' page/seeds_pairs_1.csv)
[ "$found" = "$expected" ] || complain "Lowest is better by $found, expected $expected"
tried=$((tried + 1))
ssim random_1 >random.txt
run "both" "$l2sr" evaluate scene --samplers random,lowest_index --set world.seed=1
says out 'better than random by, on the same slices [95 % interval over the means of 3 patients]'
expected=$(pairs random.txt | awk '{ printf "%s [%s, %s]", $1, $2, $3 }')
says out "  lowest_index                ssim $expected  psnr "

# The second interval: V_P of 3 patients and V_S of 3 seeds, each with t of 2 degrees; tools/README.md.
what="over patients and trainings"
tried=$((tried + 1))
means=$(for seed in 1 2 3; do ssim random_$seed | awk '{ s += $3 } END { print s / NR }'; done)
for seed in 1 2 3; do ssim random_$seed; done >random.txt
expected=$(echo "$means" | awk -v p="$(pairs random.txt)" '{ s += $1; q += $1 * $1 }
  END { split(p, x, " "); v = ((x[3] - x[2]) / 2 / 4.302653) ^ 2; u = (q - s * s / 3) / 2 / 3; h = 4.302653 * sqrt(u + v)
    printf "%.3f %.3f", x[1] - h, x[1] + h }')
found=$(awk -F, '$1 == "Lowest" { printf "%.3f %.3f", $7, $8 }' page/seeds_pairs_1.csv)
[ "$found" = "$expected" ] || complain "the second interval is $found, expected $expected"
tried=$((tried + 1))
awk -F, '$1 == "Lowest" { e = $7 > 0 ? "ahead" : $8 < 0 ? "behind" : "open"; exit $9 != e }' page/seeds_pairs_1.csv ||
  complain "the verdict is not that of the second interval: $(cat page/seeds_pairs_1.csv)"
over=$(sed -n '1s/.*"from (\([a-z]*\), trainings)".*/\1/p' page/seeds_pairs_1.csv) # patients, or files where results name none
says page/seeds_pairs_1.csv "\"from ($over, trainings)\",\"to ($over, trainings)\",verdict"
says page/seeds_pairs_1.tex "from ($over, trainings) & to ($over, trainings)"
says page/report.html "<th scope=\"col\">from ($over, trainings)</th>"
tr '\n' ' ' <page/report.txt >page/words
says page/words "the first over 3 $over"
says page/words "for the trainings that there are; the second over $over and trainings"

# With three seeds of Random the deviation is its own; two methods with one seed each have none.
what="the deviation over seeds"
run "evenly spaced" "$l2sr" evaluate scene --samplers equispaced_two_sided --set evaluate.name=Low --output results/low
run "report" "$l2sr" report results --output single --baseline Lowest
tried=$((tried + 1))
awk -F, '$1 == "Low" { low = $6 == "" } $1 == "Random" { random = $6 > 0 } END { exit !(low && random) }' \
  single/seeds_pairs_1.csv || complain "deviations over seeds: $(cat single/seeds_pairs_1.csv)"

what="origins"
run "train" "$l2sr" train scene --output run --set world.seed=7
run "evaluate a trained one" "$l2sr" evaluate scene --reconstructor run/best.h5 --output trained --set world.seed=1
run "its report" "$l2sr" report trained --output origin
says origin/origins.csv ',1 (reconstructor 7),'
tried=$((tried + 1))
! grep -q 'over seeds' origin/report.txt || complain "one seed has a table over seeds"

what="one training"
run "another sampler with it" "$l2sr" evaluate scene --reconstructor run/best.h5 --output fixed/low --set world.seed=1 \
  --samplers lowest_index --set evaluate.name=Low
cp -r trained fixed/random
run "report" "$l2sr" report fixed --output fixed_page
tr '\n' ' ' <fixed_page/report.txt >fixed_page/words
says fixed_page/words 'Each method is of one training here, which the intervals hold fixed'
run "a second draw with it" "$l2sr" evaluate scene --reconstructor run/best.h5 --output fixed/drawn --set world.seed=2
run "report" "$l2sr" report fixed --output fixed_page
tr '\n' ' ' <fixed_page/report.txt >fixed_page/words
says fixed_page/words 'Of one training, which both intervals hold fixed: Random, Low.'
says fixed_page/report.txt 'see seeds'

what="the same seed twice"
cp -r results/random_1 results/random_4
run "report" "$l2sr" report results --output again
says again/report.txt 'same seeds (4)'
refuse 2 '--baseline is Random, which no results have' report results/random_1 results/random_4 --baseline Random
refuse 2 '--baseline is Rando, which no results have' report results --baseline Rando
# ---- what keeps results apart ---------------------------------------------------------------------------------

what="keys of training"
run "trained otherwise" "$l2sr" evaluate scene --samplers lowest_index --set evaluate.name=Trained --output apart/trained \
  --set data.augment=[flips] --set train.rate=0.1 --set train.method=loupe --set learn.scans=3 --set alternate.rounds=2
run "as the others" "$l2sr" evaluate scene --output apart/random
run "report" "$l2sr" report apart --output one
tried=$((tried + 1))
[ "$(cut -d, -f1 one/pairs_1.csv | tail -1)" = Trained ] && ! grep -q 'data set 2' one/report.txt ||
  complain "keys of training keep results apart"
what="keys of tests"
run "scored otherwise" "$l2sr" evaluate scene --output apart/slice --set evaluate.name=Slice --set data.range=slice
run "of fewer slices" "$l2sr" evaluate scene --output apart/fewer --set evaluate.name=Fewer --set data.fraction=0.4
run "report" "$l2sr" report apart/random apart/slice apart/fewer --output three
tr '\n' ' ' <three/report.txt >three/words
says three/words 'read or scored otherwise: data.range is slice here and volume there. To compare the methods, run l2sr'
says three/words 'again with --set data.range=volume.'
says three/words '3 slices of 1 file here and 9 of 3 there, of which only those have '
says three/words 'data.fraction is 0.4 here and 1 there'
finish
