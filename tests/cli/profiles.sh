#!/bin/sh
# Scores of other papers' programs: what evaluate says of them, what tables of them are over, and that results of different
# profiles stand apart. profiles.sh L2SR
set -u
. "${0%/*}/setup.sh"

cat >scene.yaml <<'Y'
data: {size: 32, path: data}
acquisition: {horizon: [long]}
evaluate: {samplers: [random, low_bias], metrics: [ssim, psnr, nmse], profile: fastmri, keep: [0, 1]}
Y
run "phantom" "$l2sr" phantom data --train 1 --val 1 --test 4 --slices 3 --size 32 --rows 64 --columns 38

# evaluate NAME ARGS...: into the folder NAME
evaluate() {
  folder=$1
  shift
  run "evaluate $folder" "$l2sr" evaluate scene --output "$folder" "$@"
}

# column FILE NAME: its number
column() {
  awk -F, -v name="$2" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) print i }' "$1"
}

# ---- what is said -------------------------------------------------------------------------------------------

evaluate fastmri
says out 'over volumes; data range by volume'
says out "scores of fastMRI's evaluate.py (evaluate.profile fastmri), volumes: 4 whole volumes"
evaluate several --set world.envs=3 --set data.window=4
run "scans at a time and a window change nothing" "$l2sr" compare fastmri/results.h5 several/results.h5
evaluate part --set data.slices=centre
says err 'scores volumes, 4 of 4 by a part of their slices, first '
says err 'set data.slices to all'
evaluate pgmri --set evaluate.profile=pgmri
says out 'over scans (ssim, psnr) and volumes (nmse); data range by volume'
evaluate pineda --set evaluate.profile=pineda
says out 'over scans; data range by slice'
evaluate l2sr --set evaluate.profile=l2sr
run "lines of JSON" "$l2sr" evaluate scene --json
says out '"profile":"fastmri","volumes":4,"partial_volumes":0,"units":{"ssim":"volume","psnr":"volume","nmse":"volume"}'
run "a picture" "$l2sr" render scene --slices 1 --output pictures

# PG-MRI's scores of slices are l2sr's own, which are of single precision.
tried=$((tried + 1))
awk -F, -v c="$(column pgmri/slices.csv ssim)" '{ getline line <"l2sr/slices.csv"; split(line, other, ",") }
  NR > 1 { d = $c - other[c]; if (d > 1e-5 || d < -1e-5) exit 1 }' pgmri/slices.csv || complain "SSIM of pgmri and of l2sr"

# One value a volume, with its first slice: the mean of the table is theirs.
tried=$((tried + 1))
found=$(awk -F, -v c="$(column fastmri/slices.csv nmse)" '$3 == "random" && $c != "" { n++; s += $c; first += $5 == 0 }
  END { printf "%d %d %.5f", n, first, s / n }' fastmri/slices.csv)
run "the table" "$l2sr" evaluate scene
expected="4 4 $(awk '$1 == "random" { print $8 }' out)"
[ "$found" = "$expected" ] || complain "volumes, first slices and mean are $found, expected $expected"

# ---- tables, and what stands apart --------------------------------------------------------------------------

run "a report" "$l2sr" report fastmri pineda --output page
tr -s '\n ' '  ' <page/report.txt >words # its lines are wrapped
what="a report of two profiles"
says page/report.txt 'SSIM, mean ± standard deviation, 4 volumes'
says page/report.txt 'SSIM, mean ± standard deviation, 12 slices'
says words "Scores as fastMRI's evaluate.py has them (evaluate.profile fastmri), one a volume."
says page/report.txt 'SSIM against random, volume by volume'
says words 'Not compared with data set 1, for the slices are read or scored otherwise: evaluate.profile is pineda here and fastmri there'
says words '--set evaluate.profile=fastmri'
run "a report of parts" "$l2sr" report part --output parts
what="a report of parts"
tr -s '\n ' '  ' <parts/report.txt >words
says words 'Of 4 volumes not all slices are in the results'

# Intervals over 4 volumes and over the means of 3 patients: t of 3 and 2 degrees is 3.182446 and 4.302653.
tried=$((tried + 1))
expected=$(awk -F, -v c="$(column fastmri/slices.csv ssim)" -v p="$(column fastmri/slices.csv patient)" '
  function interval(d, n, t,  k, s, q, m, h) {
    for (k in d) { s += d[k]; q += d[k] * d[k] }
    m = s / n; h = t * sqrt((q - n * m * m) / (n - 1) / n)
    return sprintf("%.5f %.5f %.5f", m, m - h, m + h)
  }
  $c == "" { next }
  $3 == "random" { a[$4] = $c; of[$4] = $p }
  $3 == "low_bias" { b[$4] = $c }
  END { for (k in b) { d[k] = b[k] - a[k]; sum[of[k]] += d[k]; count[of[k]]++ }
    for (k in sum) { mean[k] = sum[k] / count[k]; patients++ }
    print interval(d, 4, 3.182446), interval(mean, 3, 4.302653), patients }' fastmri/slices.csv)
found=$(awk -F, '$1 == "low_bias" { printf "%.5f %.5f %.5f %.5f %.5f %.5f 3", $2, $3, $4, $5, $6, $7 }' page/pairs_1.csv)
[ "$found" = "$expected" ] || complain "the comparison of volumes is $found, expected $expected"

tried=$((tried + 1))
"$l2sr" compare fastmri/results.h5 l2sr/results.h5 >out 2>err
[ $? = 1 ] || complain "compare does not tell fastmri from l2sr"
what="compare"
says out 'of evaluate.profile fastmri and of l2sr, which are other measures: run l2sr evaluate for B again with --set evaluate.profile=fastmri'

# ---- what is refused ----------------------------------------------------------------------------------------

refuse 2 'evaluate.metrics names ssim_uniform, which evaluate.profile fastmri does not have' evaluate scene --output none \
  --set evaluate.metrics=ssim_uniform
refuse 2 'scores volumes and data.range is slice' evaluate scene --output none --set data.range=slice
refuse 2 "evaluate.profile" evaluate scene --output none --set evaluate.profile=skimage
run "a truth of another maximum" "$l2sr" evaluate scene --set data.range=attribute
says out 'data range by attribute max'
tried=$((tried + 1))
[ -z "$(find none -type f 2>/dev/null)" ] || complain "a refused evaluation left files"
no_part "profiles"
finish
