#!/bin/sh
# The page of `l2sr report` from results and a training on phantoms: what is in it, that it repeats, what is refused,
# and that a browser shows it and loads nothing. report.sh L2SR
set -u
case $0 in
/*) here=${0%/*} ;;
*) here=$PWD/${0%/*} ;;
esac
. "${0%/*}/setup.sh"
pdftotext=$(command -v pdftotext) || pdftotext=
[ -n "$pdftotext" ] || echo "did not run: words of figures (no pdftotext on the path; Debian: apt install poppler-utils)"

# figures FOLDER: a report's pictures are whole, and words stand in the figures' files and beside each other
figures() {
  tried=$((tried + 1))
  [ -z "$pdftotext" ] || python3 "$here/figures.py" "$1" >out 2>err || complain "figures of $1"
}

# in_figure FILE TEXT: the figure has these words, after `figures`
in_figure() {
  [ -z "$pdftotext" ] || says "$1.words" "$2"
}

cat >scene.yaml <<'Y'
data: {size: 32, path: data}
acquisition: {horizon: [base, long]}
network: {channels: 2, pools: 2}
policy: {channels: 2, pools: 2, hidden: 8}
train: {method: l2sr, epochs: 2, batch: 5, accelerations: [4], initial_accelerations: [32]}
learn: {steps: 448, scans: 16, validations: 2, log_every: 1}
alternate: {rounds: 1, epochs: 2, batch: 5}
evaluate: {samplers: [random, lowest_index, oracle], metrics: [ssim, nmse], keep: [1, 4]}
Y
cat >named.yaml <<'Y'
extends: scene
acquisition: {horizon: [long]}
evaluate:
  {name: "<L2SR & co>", samplers: [policy], policy: run/policy_1/last.h5, reconstructor: run/reconstructor_1/best.h5}
Y
run "phantom" "$l2sr" phantom data --train 2 --val 1 --test 2 --slices 3 --size 32 --rows 64 --columns 38
run "train" "$l2sr" train scene --output run --set acquisition.horizon=long
run "evaluate" "$l2sr" evaluate scene --output results/zero --json
mean=$(sed -n 's/.*"sampler":"lowest_index",.*"horizon":"base".*"ssim":{"mean":\([0-9.]*\),.*/\1/p' out)
run "evaluate the policy" "$l2sr" evaluate named --output results/l2sr
run "bench inference" "$l2sr" bench inference scene --envs 1 --set acquisition.horizon=long --json
cp out cost.json

# trainings beside each other
run "another training" "$l2sr" train scene --method reconstructor --output other --set train.rate=0.01 --set train.epochs=1 --quiet
run "several trainings" "$l2sr" report run other --output both --figures pdf
says both/report.txt 'What the trainings differ in'
says both/differences.csv 'train.rate,0.001,0.01'
says both/differences.csv 'train.method,l2sr,reconstructor'
says both/report.txt 'Time, memory and best validation of the trainings'
tried=$((tried + 1))
[ "$(awk -F, 'NR > 1 && $4 > 0 && $5 > 0' both/totals.csv | wc -l)" -eq 2 ] || complain "time and memory of two trainings"
run "copies of a folder" cp -r other third
run "curves over one another" "$l2sr" report other third --output curves --figures pdf
figures curves
says curves/together_1.csv 'third,1,'
says curves/report.txt 'The trainings have the same options, device and version'

# a packed checkpoint scans as the whole one does, up to half precision
run "a packed reconstructor" "$l2sr" models --pack run/reconstructor_1/best.h5 --output packed_r.h5
run "a packed policy" "$l2sr" models --pack run/policy_1/best.h5 --output packed_p.h5
run "a scan by packed networks" "$l2sr" evaluate named --policy packed_p.h5 --reconstructor packed_r.h5 --set evaluate.actions=drawn --output packed
run "the same by whole ones" "$l2sr" evaluate named --policy run/policy_1/best.h5 --set evaluate.actions=drawn --output whole
tried=$((tried + 1))
"$l2sr" compare packed/slices.csv whole/slices.csv --tolerance 0.02 >out 2>err || complain "half precision changes scores by more than 0.02"
tried=$((tried + 1))
[ "$(wc -c <packed_r.h5)" -lt "$(($(wc -c <run/reconstructor_1/best.h5) / 2))" ] || complain "a packed checkpoint is no smaller"
refuse 2 'packed_r.h5 is there already; remove it, or name another file' models --pack run/reconstructor_1/best.h5 --output packed_r.h5
refuse 1 'it holds no parameters of a network and no mask' models --pack results/zero/results.h5 --output none.h5
refuse 2 'go together' models --pack packed_r.h5
refuse 2 'is the checkpoint that is packed, which would be lost' models --pack packed_r.h5 --output packed_r.h5
[ ! -c /dev/full ] || refuse 2 '/dev/full is no file' models --pack packed_r.h5 --output /dev/full
run "networks that come with the program" "$l2sr" models
says out 'brain_x8_long_loupe'
run "a card" "$l2sr" models zoo:phantom_x4_long
says out 'licence: Apache-2.0'
refuse 2 'evaluate.reconstructor: zoo:brain_x8_lon: there is no such network; did you mean brain_x8_long?' evaluate scene --reconstructor zoo:brain_x8_lon
refuse 1 'evaluate.reconstructor' evaluate scene --reconstructor zoo:brain_x8_long
says err 'models/brain_x8_long.h5'

# where a mask is from stands beside the policies
seq 0 31 | awk '{ print ($1 >= 14 && $1 < 18 || $1 % 8 == 3) ? 1 : 0 }' >mask.txt
run "evaluate a mask" "$l2sr" evaluate scene --samplers random,fixed_mask --set sampler.mask=mask.txt --output masked
run "its report" "$l2sr" report masked results/l2sr --output origins
says origins/origins.csv ',mask.txt'
says origins/origins.csv ',run/policy_1/last.h5'
says origins/origins.csv '"random, fixed_mask"'

# ---- what is written ----------------------------------------------------------------------------------------

end_session # cairo numbers what it draws in a process: the same report again is compared below
run "report" "$l2sr" report results run cost.json --output page --figures pdf
says out 'every table as .csv and .tex, and every figure as .pdf'
figures page
no_part "report"
for name in report.html report.txt ssim.csv ssim.tex nmse.csv pairs_1.csv histogram_1.csv curve_1.csv stages.tex \
  initial_lines_x4.csv training_1.csv cost_gflop.csv cost_best.tex origins.csv pairs_1.pdf histogram_1.pdf curve_1.pdf \
  training_1_ssim.pdf training_1_reward.pdf images_1_row1.pdf images_2_row4.pdf; do
  tried=$((tried + 1))
  [ -s page/$name ] || complain "report wrote no $name"
done
what="report.txt"
says page/report.txt '[Zero-filled reconstruction]'
says page/report.txt '[Joint training]'
says page/report.txt '[Oracles (they see the truth)]'
says page/report.txt '==== Trainings ===='
says page/report.txt 'reconstructor_1'
what="report.html"
says page/report.html '&lt;L2SR &amp; co&gt;'
says page/report.html '<strong>'
says page/report.html 'Figure 1. '
says page/report.html 'alt="run: validation SSIM"'
what="figures"
in_figure page/training_1_ssim 'policy_1: 4 rollouts'
in_figure page/training_1_ssim 'stages, each as wide as the others, with their epochs and rollouts'
in_figure page/training_1_ssim '1 2 3 4' # rollouts of the policy, at the axis
in_figure page/curve_2 '<L2SR & co>'
in_figure page/curve_2 'acquired lines, initial ones included'
in_figure page/histogram_1 "mean $(echo "$mean" | cut -c1-5)"
in_figure page/images_1_row1 'given at the start'
in_figure page/images_1_row1 'SSIM 0.' # below the images, what the tables have: no PSNR
in_figure page/images_1_row1 'NMSE 0.'
tried=$((tried + 1))
! grep -q PSNR page/report.html page/*.words || complain "$what: a metric that no table has"
tried=$((tried + 1))
! grep -aq CreationDate page/*.pdf || complain "$what: a date, which makes other bytes of the same results"
says page/ssim.tex '<'
tried=$((tried + 1))
[ "$(grep -o 'href=%22data%3Aimage/png;base64,iVBOR' page/report.html | wc -l)" -ge 40 ] || complain "the page has too few images"
tried=$((tried + 1))
! grep -qi -e '://' -e '<script' -e '<L2SR' -e '<link' -e '@import' page/report.html ||
  complain "the page may load something, or text has become markup"
tried=$((tried + 1))
found=$(sed -n 's/^Zero-filled reconstruction,lowest_index,\([0-9.]*\),.*/\1/p' page/ssim.csv)
awk "BEGIN { d = $found - $mean; exit !(d < 1e-6 && d > -1e-6) }" || complain "the mean is $found, evaluate says $mean"

# The paired comparison against one made of slices.csv: mean and interval; t of 5 degrees is 2.570582.
tried=$((tried + 1))
expected=$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "ssim") c = i }
  $2 == "base" && $3 == "random" { a[$4 "," $5] = $c }
  $2 == "base" && $3 == "lowest_index" { b[$4 "," $5] = $c }
  END { for (k in b) { d = b[k] - a[k]; n++; s += d; q += d * d }
    m = s / n; h = 2.570582 * sqrt((q - n * m * m) / (n - 1) / n)
    printf "%.5f %.5f %.5f", m, m - h, m + h }' results/zero/slices.csv)
found=$(awk -F, '$1 == "lowest_index" { printf "%.5f %.5f %.5f", $2, $3, $4 }' page/pairs_1.csv)
[ "$found" = "$expected" ] || complain "the comparison of pairs is $found, expected $expected"

end_session
run "report again" "$l2sr" report results run cost.json --output again --figures pdf
for name in report.html report.txt ssim.tex; do
  run "the same results give the same bytes: $name" cmp page/$name again/$name
done
run "against the policy" "$l2sr" report results --baseline '<L2SR & co>' --metric nmse --slices 4 --output other
what="another baseline"
says other/report.txt 'NMSE against <L2SR & co>, slice by slice'
says other/report.html 'Row 4 ('
! grep -q 'Row 1 (' other/report.html || complain "--slices 4 shows row 1 too"
run "another discount" "$l2sr" train scene --output half --method l2s --set learn.gamma=0.5 --set acquisition.horizon=long \
  --set learn.reconstructor=run/reconstructor/best.h5
for name in half run; do
  run "evaluate $name" "$l2sr" evaluate named --output discounts/$name --policy $name/policy_1/last.h5 --set evaluate.name=$name
done
run "two discounts" "$l2sr" report discounts half --output gamma
what="two discounts"
tried=$((tried + 1))
[ "$(cut -d , -f 1,2 gamma/gamma.csv | tr '\n' ' ')" = 'method,γ half,0.5 run,1 ' ] || complain "gamma.csv has other rows"
says gamma/report.txt '[half (train.method l2s)]'
# A metric has one rule on a page: that of the scene, and the image beside it is the one that was scored.
run "another PSNR" "$l2sr" evaluate scene --output rule --set evaluate.metrics=psnr_unclamped,mse --set evaluate.samplers=random
run "a report of it" "$l2sr" report rule --metric psnr_unclamped --output rules --figures pdf
figures rules
what="a report of another PSNR"
score=$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "psnr_unclamped") c = i }
  $2 == "base" && $5 == 1 && !n++ { printf "%.2f", $c }' rule/slices.csv)
in_figure rules/images_1_row1 "PSNR unclamped $score dB"
in_figure rules/images_1_row1 'MSE '
says rules/report.txt 'PSNR unclamped (dB), mean'
tried=$((tried + 1))
! grep -q 'PSNR [-0-9]' rules/report.html rules/*.words || complain "$what: a PSNR by another rule"
run "no images" "$l2sr" evaluate scene --output bare --set evaluate.keep= --set evaluate.samplers=random
run "a report without images" "$l2sr" report bare --output plain
what="a report without images"
says plain/report.html 'These results hold no images.'
says plain/report.html 'Figure 1. '
run "all images" "$l2sr" evaluate scene --output all --set evaluate.images=true --set evaluate.samplers=random
run "a report of all images" "$l2sr" report all --slices 5 --output full
what="a report of all images"
says full/report.html 'Row 5 ('
run "a report of one of them" "$l2sr" report all --slices 4 --output same
for folder in page same; do grep -v 'alt="Lines of every method' $folder/report.html | grep -o 'base64,[^%]*' | sort -u >$folder/images; done
tried=$((tried + 1))
[ "$(wc -l <same/images)" -ge 7 ] && [ -z "$(comm -23 same/images page/images)" ] ||
  complain "images of a row that is kept are not those of all rows"
run "other data" "$l2sr" evaluate scene --output few --set data.most=4 --set evaluate.keep= \
  --set evaluate.samplers=random
run "a report of two data sets" "$l2sr" report bare few --output two
what="a report of two data sets"
says two/report.txt 'Results on data set 2'
tr '\n' ' ' <two/report.txt >two/words
says two/words 'Not compared with data set 1, for it is of other slices: 4 slices '
says two/words 'data.most is 4 here and 0 there. To compare the methods, run l2sr evaluate for these results again'
says two/words 'with --set data.most=0.'
[ -s two/ssim_data2.csv ] || complain "the second data set has no table of its own"

# Names that are longer than a figure is wide are cut, and those of many lines stand below each other.
long=$(printf 'method_%.0s' 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20)
for number in 1 2 3 4 5 6 7; do
  run "method $number" "$l2sr" evaluate scene --output names/$number --set evaluate.samplers=random --set evaluate.keep=[1] \
    --set "evaluate.name=<b> $number & $(echo "$long" | cut -c1-$((number * 20)))"
done
for kind in pdf svg png; do run "figures as $kind" "$l2sr" report names --output named_$kind --figures $kind; done
figures named_pdf
what="long names"
in_figure named_pdf/curve_1 '<b> 1 & method_method_metho'
in_figure named_pdf/images_1_row1 '…'
for name in curve_1 images_2_row1 images_2_row1_2; do
  tried=$((tried + 2))
  head -c 5 named_svg/$name.svg | grep -q '<?xml' || complain "$name.svg is no SVG"
  python3 "$here/picture_colours.py" named_png/$name.png >out 2>err && read -r width height colours <out
  [ "$width" -ge 1500 ] && [ "$height" -ge 900 ] && [ "$colours" -ge 20 ] || complain "$name.png is small or empty"
done
tried=$((tried + 1))
! ls plain/*.pdf plain/*.svg plain/*.png 2>/dev/null || complain "figures have files that nobody asked for"

# Many stages: their names are all in one form, and a single validation is a marker.
many=a_folder_with_a_name_that_is_long/and_another_one/with_many_stages
for stage in reconstructor policy_1 reconstructor_1 policy_2 reconstructor_2 policy_3 reconstructor_3; do
  mkdir -p $many/$stage
  case $stage in
  policy*) echo '{"kind":"validation","updates":12680,"metric":"psnr","score":31.5}' ;;
  *) printf '{"kind":"epoch","epoch":%d,"val_ssim":0.9}\n' 1 2 ;;
  esac >$many/$stage/log.jsonl
done
: >$many/stages.jsonl
run "a report of many stages" "$l2sr" report $many --output stages --figures pdf
figures stages
what="a report of many stages"
for stage in R P1 R1 P2 R2 P3 R3; do
  [ -z "$pdftotext" ] || run "the stage $stage in a figure" grep -qw "$stage" stages/training_1_ssim.words
done
says stages/report.html 'policy_1: 12680 updates'
for metric in SSIM 'PSNR (dB)'; do
  says stages/report.html "alt=\"…e_that_is_long/and_another_one/with_many_stages: validation $metric\""
done

# ---- refusals -----------------------------------------------------------------------------------------------

mkdir empty taken
echo text >file
mkdir -p taken/report.html/in blocked/histogram_1.pdf/in
refuse 2 'an operand is missing' report
refuse 1 'cannot open nowhere' report nowhere
refuse 1 'neither empty nor a folder in it, or in these, has results.h5' report empty
refuse 1 'file:1 is no JSON object on one line' report file
refuse 1 '/dev/zero: it is not a file' report /dev/zero
mkfifo pipe.h5
refuse 1 'pipe.h5 is not a file' report pipe.h5
refuse 1 'holds no results of l2sr evaluate' report run/policy_1/last.h5
refuse 2 'results/zero/results.h5 is given twice' report results results/zero
refuse 1 'file is not a folder' report results --output file
refuse 1 'cannot write taken/report.html: it is a folder; name a file' report results --output taken
refuse 1 'cannot write blocked/histogram_1.pdf: it is a folder; name a file' report rule --output blocked --figures pdf
refuse 2 "--figures is 'jpg'; it must be pdf, svg or png" report results --figures jpg
refuse 1 '--slices names row 0, of which no results hold images; evaluate again with --set evaluate.keep=[0]' \
  report results --slices 0 --output none
refuse 1 '--slices names row 6; the results have 6 rows, from 0 on' report results --slices 6 --output none
tried=$((tried + 1))
[ ! -e none ] || complain "what is refused leaves a folder"
refuse 2 "--slices has 'x'" report results --slices x
refuse 2 '--baseline is randem, which no results have; did you mean random?' report results --baseline randem
refuse 2 "--metric is 'sim'; did you mean ssim?" report results --metric sim
head -c 3000 results/zero/results.h5 >cut.h5
refuse 1 'cannot read cut.h5' report cut.h5

# ---- a browser ----------------------------------------------------------------------------------------------

browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || browser=
case $(readlink -f "$browser") in */snap*) browser= ;; esac # it sees another /tmp
if [ -z "$browser" ]; then
  echo "did not run: the page in a browser (no chromium on the path; Debian: apt install chromium)"
elif ! command -v python3 >/dev/null; then
  echo "did not run: the page in a browser (no python3 on the path)"
else
  run "the browser" timeout 120 "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars --no-first-run \
    --user-data-dir="$dir/browser" --log-net-log="$dir/net.json" --window-size=700,1900 --screenshot="$dir/shot.png" \
    "file://$dir/full/report.html"
  run "the screenshot" python3 "$here/picture_colours.py" shot.png
  read -r width height colours <out
  tried=$((tried + 1))
  [ "$width $height" = "700 1900" ] && [ "$colours" -ge 300 ] ||
    complain "the screenshot has $width x $height pixels of $colours colours"
  if command -v pdftoppm >/dev/null; then
    run "print" timeout 120 "$browser" --headless --no-sandbox --disable-gpu --no-first-run --user-data-dir="$dir/browser" \
      --no-pdf-header-footer --print-to-pdf="$dir/sheets.pdf" "file://$dir/full/report.html"
    run "its sheets" pdftoppm -gray -r 20 sheets.pdf sheet
    run "sheets more than half full" python3 - "$dir" <<'END'
import pathlib, re, sys
sheets = sorted(pathlib.Path(sys.argv[1]).glob("sheet-*.pgm"))
assert len(sheets) > 3, sheets
for sheet in sheets[:-1]: # of the last one there is what is left
    head, width, height, pixels = re.match(rb"(P5)\s+(\d+)\s+(\d+)\s+255\s(.*)", sheet.read_bytes(), re.DOTALL).groups()
    rows = [row for row in range(int(height)) if min(pixels[row * int(width):(row + 1) * int(width)]) < 200]
    assert rows and max(rows) > int(height) / 2, (sheet, max(rows, default=0), height)
END
  else
    echo "did not run: printed sheets (no pdftoppm on the path; Debian: apt install poppler-utils)"
  fi
  tried=$((tried + 1)) # what is asked for beside the browser's own updates
  ! grep -o '"url":"https*://[^/"]*' net.json | grep -v -e 'google' -e 'gvt1' || complain "the page asks the network"
fi
finish
