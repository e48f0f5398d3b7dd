#!/bin/sh
# All pairs of choosers and reconstructors in one table: that a pair is what evaluating it alone gives, what the table, its
# file and the report say, and what is refused. cross.sh L2SR
set -u
case $0 in
/*) here=${0%/*} ;;
*) here=$PWD/${0%/*} ;;
esac
. "${0%/*}/setup.sh"

cat >scene.yaml <<'Y'
data: {size: 32, path: data}
acquisition: {horizon: [long]}
network: {channels: 2, pools: 2}
policy: {channels: 2, pools: 2, hidden: 8}
train: {method: l2sr, epochs: 1, batch: 5, accelerations: [4], initial_accelerations: [32]}
learn: {steps: 224, scans: 16, validations: 1, log_every: 1}
alternate: {rounds: 1, epochs: 1, batch: 5}
evaluate: {name: unused, samplers: [random, variable_density], metrics: [ssim, psnr], curves: false}
Y
run "phantom" "$l2sr" phantom data --train 2 --val 1 --test 3 --slices 2 --size 32 --rows 64 --columns 38
run "train" "$l2sr" train scene --output run
seq 0 31 | awk '{ print ($1 >= 12 && $1 < 20) ? 1 : 0 }' >low.txt
seq 0 31 | awk '{ print ($1 % 4 == 0) ? 1 : 0 }' >wide.txt
policies=run/policy_1/last.h5,run/policy_1/best.h5
reconstructors=none,run/reconstructor/best.h5,run/reconstructor_1/best.h5

# ---- the table ----------------------------------------------------------------------------------------------

run "all pairs" "$l2sr" evaluate scene --policies $policies --masks low.txt,wide.txt --reconstructors $reconstructors \
  --output all
what="the table"
says out 'x4 long: 1 initial + 7 acquired of 32 lines, 6 slices, mean SSIM / PSNR (dB)'
says out 'reconstructor_1'
says out 'zero-filled'
for row in random variable_density 'low.txt (fixed_mask)' 'wide.txt (fixed_mask)' 'last.h5 (policy)' 'best.h5 (policy)'; do
  says out "$row  "
done
says out 'written: all/cross.csv, and a folder of results for every pair'
cp out table
tried=$((tried + 1))
[ "$(wc -l <all/cross.csv)" = 19 ] || complain "cross.csv has not one line a pair"
says all/cross.csv '4,long,last.h5 (policy),reconstructor_1,policy,run/policy_1/last.h5,run/reconstructor_1/best.h5,6,'

# A pair is what evaluating it alone gives, byte for byte but for the two names of its place.
run "a policy alone" "$l2sr" evaluate scene --samplers policy --policy run/policy_1/last.h5 \
  --reconstructor run/reconstructor/best.h5 --output alone
line=$(grep '^4,long,last.h5 (policy),reconstructor,' all/cross.csv)
run "has its scores" cmp alone/slices.csv "all/${line##*,}/slices.csv"
run "a mask alone" "$l2sr" evaluate scene --samplers fixed_mask --set sampler.mask=low.txt --output mask --json
ssim=$(sed -n 's/.*"ssim":{"mean":\([0-9.]*\).*/\1/p' out)
line=$(grep '^4,long,low.txt (fixed_mask),zero-filled,' all/cross.csv)
run "has its scores too" cmp mask/slices.csv "all/${line##*,}/slices.csv"
tried=$((tried + 1))
echo "$line" | awk -F, "{ d = \$9 - $ssim; exit !(d < 1e-6 && d > -1e-6) }" || complain "cross.csv does not say $ssim: $line"
tried=$((tried + 1))
grep -q "^low.txt (fixed_mask) .* $(printf %.4f "$ssim") / " table || complain "the table does not say $ssim: $(cat table)"

run "JSON" "$l2sr" evaluate scene --policy run/policy_1/last.h5 --samplers random --reconstructors $reconstructors --json
what="JSON"
tried=$((tried + 1))
[ "$(grep -c '^{"sampler":' out)" = 6 ] || complain "not one object a pair"
says out '"name":"policy_1/last.h5 (policy) with reconstructor_1"'

# ---- the report ---------------------------------------------------------------------------------------------

run "report" "$l2sr" report all --output page --figures pdf
what="the page"
says page/report.txt 'Choosers by reconstructors at ×4 Long (all)'
says page/report.txt 'reconstructor_1: PSNR (dB)'
says page/report.html 'Mean SSIM of every pair, below it PSNR (dB); the darker, the better.'
[ -s page/cross_1.pdf ] || complain "the matrix is no file of its own"
if command -v pdftotext >/dev/null; then
  run "figures" python3 "$here/figures.py" page
  says page/cross_1.words 'low.txt (fixed_mask)'
else
  echo "did not run: words of figures (no pdftotext on the path; Debian: apt install poppler-utils)"
fi
tried=$((tried + 1))
awk -F, "\$1 == \"low.txt (fixed_mask)\" { d = \$2 - $ssim; f = 1; if (d > 1e-6 || d < -1e-6) exit 1 } END { exit !f }" \
  page/cross_1.csv || complain "cross_1.csv of the page does not say $ssim"

# ---- refusals -----------------------------------------------------------------------------------------------

refuse 1 'evaluate.policies names gone.h5, and there is no such file' evaluate scene --policies run/policy_1/last.h5,gone.h5
refuse 1 'evaluate.masks names gone.txt, and there is no such file' evaluate scene --masks gone.txt
refuse 1 'evaluate.reconstructors names gone.h5, and there is no such file' evaluate scene --reconstructors none,gone.h5
refuse 2 'evaluate.masks names low.txt twice' evaluate scene --masks low.txt,low.txt
refuse 2 'evaluate.policy is run/policy_1/best.h5 and evaluate.policies names files too' evaluate scene --policies $policies \
  --policy run/policy_1/best.h5
refuse 2 'evaluate.samplers names policy and evaluate.policy no file' evaluate scene --reconstructors none --samplers policy
refuse 1 'all/1_1 holds results (results.h5)' evaluate scene --masks low.txt --output all --set evaluate.samplers=random
refuse 1 'sampler.mask low.txt has 8 lines' evaluate scene --masks low.txt \
  --samplers fixed_mask --set acquisition.acceleration=8
refuse 1 'evaluate.policy: low.txt' evaluate scene --policies low.txt,run/policy_1/last.h5 --samplers policy
# checkpoints that the last pairs would end at, before the first
refuse 1 "it is no checkpoint of a policy: its attribute network is 'unet'" evaluate scene --output wrong \
  --policies run/policy_1/last.h5,run/reconstructor/best.h5
refuse 1 "it is no checkpoint of a reconstructor: its attribute network is 'policy'" evaluate scene --output wrong \
  --reconstructors none,run/policy_1/last.h5
refuse 1 'was trained to choose lines and acquisition.geometry is spokes' evaluate scene --output wrong \
  --policies run/policy_1/last.h5 --set acquisition.geometry=spokes --set acquisition.budget=5
refuse 2 'evaluate.samplers names fixed_mask and evaluate.masks no file' evaluate scene --output wrong \
  --policies run/policy_1/last.h5 --samplers fixed_mask,random
tried=$((tried + 1))
[ ! -e wrong ] || complain "what is refused leaves a folder"
refuse 2 'evaluate.masks is for the table that l2sr evaluate makes of one scene' evaluate scene scene --masks low.txt
refuse 2 'evaluate.masks is for the table that l2sr evaluate makes of one scene' render scene --set evaluate.masks=low.txt
finish
