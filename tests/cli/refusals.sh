#!/bin/sh
# Everything that is refused: exit status, one line that names the thing, and nothing half-written left.
# usage: refusals.sh PATH_OF_L2SR
set -u

. "${0%/*}/setup.sh"

# good ARGUMENTS...: l2sr succeeds
good() {
  what="l2sr $*"
  tried=$((tried + 1))
  "$l2sr" "$@" >out 2>err
  got=$?
  [ "$got" -eq 0 ] || complain "$what: exit status $got, expected 0"
}

# ---- good files to start from --------------------------------------------------------------------------

good phantom data --train 1 --val 0 --test 2 --slices 3 --size 40 --rows 80 --columns 44
volume=data/test/file1000003.h5
cat >scene.yaml <<END
data: {path: data, size: 40}
world: {envs: 4}
evaluate: {samplers: [random], metrics: [nmse], curves: false}
END
good evaluate scene --output results
no_part 'a good run'
for file in results.h5 slices.csv curves.csv; do
  tried=$((tried + 1))
  [ -s "results/$file" ] || complain "a good run: no $file"
done
good inspect data
good inspect $volume
good evaluate scene --quiet
tried=$((tried + 1))
[ ! -s out ] && [ ! -s err ] || complain 'evaluate --quiet prints more than errors'

# ---- names of any bytes --------------------------------------------------------------------------------

# A file name may hold all but a slash and the zero byte.
odd=$(printf 'a\nb",=c \377\033[31m.h5')
mkdir bytes
cp $volume "bytes/$odd"
good evaluate scene --data bytes --output named
good compare named/slices.csv named/slices.csv
tried=$((tried + 1))
python3 - "$odd" >out 2>err <<'END' || complain 'names of any bytes: slices.csv has other rows or another name'
import csv, sys
rows = list(csv.reader(open("named/slices.csv", newline="", encoding="utf-8")))
assert len(rows) == 4 and {len(row) for row in rows} == {len(rows[0])}, rows
shown = sys.argv[1].replace("\udcff", r"\xff").replace("\x1b", r"\x1b") # what steers a terminal, or is no UTF-8
assert {row[rows[0].index("volume")] for row in rows[1:]} == {shown}, rows
END
what="a name that a spreadsheet would compute"
cp $volume "bytes/=cmd|calc.h5"
good evaluate scene --data bytes --output formula --set data.volumes=1
says formula/slices.csv ",'=cmd|calc.h5,"
rm "bytes/=cmd|calc.h5"
# json_lines: the last output is JSON of UTF-8, an object a line
json_lines() {
  tried=$((tried + 1))
  python3 -c 'import json; [dict(json.loads(l)) for l in open("out", "rb").read().decode().splitlines()]' 2>err ||
    complain "$what: not JSON"
}
# harmless FILE: no byte that steers a terminal or is no UTF-8
harmless() {
  tried=$((tried + 1))
  ! LC_ALL=C grep -q "$(printf '[\001-\010\013-\037\177\377]')" "$1" || complain "$what: $1 holds other bytes"
}
good inspect bytes --json
json_lines
harmless out
says out 'a\u000ab\",=c \\xff\u001b[31m.h5'
good inspect bytes
says out '  a\x0ab",=c \xff\x1b[31m.h5'
harmless out
good inspect "bytes/$odd"
harmless out
mkdir "bytes$odd"
echo text >"bytes$odd/a.h5"
refuse 1 'bytesa\x0ab",=c \xff\x1b[31m.h5/a.h5 has no HDF5 signature' inspect "bytes$odd/a.h5"
harmless err
good compare named/results.h5 named/results.h5
good report named --output "named$odd"
harmless out
for file in report.txt report.html ssim.tex; do [ ! -e "named$odd/$file" ] || harmless "named$odd/$file"; done
good evaluate scene --data bytes --json --set evaluate.name="$odd"
json_lines
harmless out

# ---- folders and files that cannot be used -------------------------------------------------------------

# refuse_data TEXT PATH: as a data set and for inspect
refuse_data() {
  refuse 1 "$1" evaluate scene --data "$2" --output refused
  refuse 1 "$1" inspect "$2"
}

mkdir empty other
echo text >other/README
refuse 1 'cannot open nowhere: No such file or directory' evaluate scene --data nowhere
refuse 1 'nowhere: No such file' inspect nowhere
refuse 1 'no data were named; --data (data.path) must name' evaluate scene --set data.path=
refuse_data 'no .h5 file in empty (0 other files)' empty
refuse_data 'no .h5 file in other (1 other file)' other
refuse 1 'README is neither a folder nor a volume' evaluate scene --data other/README
refuse 1 'README has no HDF5 signature' inspect other/README

# broken NAME: a folder NAME with the file NAME/a.h5, which the caller then spoils
broken() {
  mkdir -p "$1"
  cp $volume "$1/a.h5"
}

# refuse_file NAME TEXT: alone by its path, alone in its folder, and skipped beside a good one
refuse_file() {
  refuse 1 "$2" inspect "$1/a.h5"
  refuse_data "$2" "$1"
  says err "$1/a.h5"
  cp $volume "$1/b.h5"
  good evaluate scene --data "$1"
  says err "warning: skipped: "
  says err "$2"
  says out '1 file broken, skipped'
  good inspect "$1"
  says out "$2"
  refuse 1 'data.strict: ' evaluate scene --data "$1" --set data.strict=true
}

mkdir text
echo '<html>403 Forbidden</html>' >text/a.h5
refuse_file text 'a.h5 has no HDF5 signature'
mkdir zero
: >zero/a.h5
refuse_file zero 'a.h5 is empty'
# The first text of variable length claims 256 MiB: libhdf5 1.10 copies as many, from beyond its buffer. A later
# libhdf5 may see that; then the text is missing, and what it would say is not known.
broken text_size
at=$(grep -abo GCOL text_size/a.h5 | head -n 1 | cut -d: -f1)
printf '\000\000\000\020\000\000\000\000' |
  dd of=text_size/a.h5 bs=1 seek=$((at + 24)) conv=notrunc 2>/dev/null
if "$l2sr" inspect text_size/a.h5 >out 2>err; then
  says out 'header recon size'
else
  refuse_file text_size 'a.h5: it is damaged, libhdf5 '
fi
broken short
dd if=$volume of=short/a.h5 bs=1000 count=4 2>/dev/null
refuse_file short 'the file may be cut short'

# A data set's extent in the file: version 1, rank 3, flags, five zeros, then the sizes as 64-bit numbers.
# place FILE SIZE SIZE SIZE: where it starts; the sizes as two hexadecimal digits
place() {
  sizes=$(printf '\\x%s\\x00{7}\\x%s\\x00{7}\\x%s\\x00{7}' "$2" "$3" "$4")
  LC_ALL=C grep -obUaP "\\x01\\x03[\\x00\\x01]\\x00{5}$sizes" "$1" | head -n 1 | cut -d: -f1
}

# patch FILE PLACE OCTAL: overwrites a byte
patch() {
  # shellcheck disable=SC2059 # the octal escape is the format
  printf "\\$3" | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
}

at=$(place $volume 03 28 28)
tried=$((tried + 1))
if [ -n "$at" ]; then
  broken rank
  patch rank/a.h5 $((at + 1)) 002
  refuse_file rank 'reconstruction_esc in rank/a.h5 has rank 2; it must be [slices, height, width]'
  broken nothing
  patch nothing/a.h5 $((at + 8)) 000
  refuse_file nothing 'reconstruction_esc in nothing/a.h5 has size zero'
else
  complain 'the extent of reconstruction_esc is not found in a phantom: rank and size zero are not tested'
fi

# rename FILE OLD NEW: a data set gets another name of the same length and place in the order
rename() {
  LC_ALL=C sed "s/$2/$3/g" "$1" >renamed && mv renamed "$1"
}

broken unnamed
rename unnamed/a.h5 reconstruction_esc reconstruction_xyz
rename unnamed/a.h5 kspace kspaze
refuse_file unnamed 'has no dataset reconstruction_esc, reconstruction_rss or kspace'
broken mask # what was the reconstruction becomes a mask: of which all k-space is there
rename mask/a.h5 'reconstruction_esc' 'mask\x00struction_esc'
good evaluate scene --data mask
good inspect mask/a.h5 --size 40
refuse 1 'has no dataset reconstruction_rss' evaluate scene --set data.source=reconstruction_rss
refuse 2 'data.crop is kspace, and data.source names reconstructions; set data.source to kspace' evaluate scene \
  --set data.crop=kspace --set data.source=reconstruction_esc
good evaluate scene --set data.crop=kspace
refuse 1 'has k-space of 80 x 44, smaller than data.size 48; set data.size to at most 44' evaluate scene \
  --set data.crop=kspace --set data.source=kspace --set data.size=48
good evaluate scene --set data.crop=kspace --set data.source=kspace
refuse 1 'no usable slice' evaluate scene --set data.acquisition=AXT2
says err 'by data.acquisition'
refuse 1 'left out by data.fraction' evaluate scene --set data.fraction=0.1

# a value that is not finite: seen when the slices are read. 0x7fc00000 in the middle of slice 1
broken nan
offset=$(wc -c <nan/a.h5)
what='the pixels of reconstruction_esc'
tried=$((tried + 1))
"$l2sr" inspect nan/a.h5 >out 2>err
if grep -q 'reconstruction_esc .* contiguous' out; then
  offset=$((offset / 4 * 4))
  # the reconstruction is written last: 3 x 40 x 40 floats before the end hold its middle
  middle=$((offset - 2 * 4 * 40 * 40))
  i=0
  while [ $i -lt 40 ]; do
    patch nan/a.h5 $((middle + 4 * i)) 000
    patch nan/a.h5 $((middle + 4 * i + 1)) 000
    patch nan/a.h5 $((middle + 4 * i + 2)) 300
    patch nan/a.h5 $((middle + 4 * i + 3)) 177
    i=$((i + 1))
  done
  refuse 1 'no usable slice in nan: 1 broken volume, 0 constant slices; `l2sr inspect nan/a.h5` tells more' \
    evaluate scene --data nan
  says err 'holds values that are not finite'
  cp $volume nan/b.h5
  good evaluate scene --data nan --output results --overwrite
  says out '1 volume broken, skipped while loading'
  good evaluate scene --data nan --json
  says out '"broken_files":0,"broken_volumes":1,"constant":0,"excluded":0'
  good inspect nan/a.h5
  says out 'usable               no: it holds values that are not finite'
  says out 'slices not finite'
else
  complain 'the layout of reconstruction_esc is not contiguous: values that are not finite are not tested'
fi

# ---- data that are not what they seem ------------------------------------------------------------------

# said: the warning is there, and before the table
said() {
  says err "warning: $1"
  tried=$((tried + 1))
  [ "$(grep -cF "$1" err)" = 1 ] || complain "$what: '$1' is not said once"
}
good evaluate scene --set data.source=kspace --set data.kspace_shift=both
said 'the zero frequency of the k-space in data/test/'
says err 'set data.kspace_shift to none (and 1 other volume like it)'
refuse 1 'data.strict: the zero frequency of the k-space in data/test/' evaluate scene --set data.source=kspace \
  --set data.kspace_shift=rows --set data.strict=true
good evaluate scene --set data.source=kspace --set data.strict=true
good inspect data --size 40 --set data.source=kspace --set data.kspace_shift=columns
says out '  note: the zero frequency of the k-space in data/test/'
good phantom large --train 0 --val 0 --test 1 --slices 2 --size 136 --rows 160 --columns 140
good inspect large
says out 'larger than data.size, which is 128 because nothing sets it: of 136x136 pixels of large/test/'
good inspect large --size 128
tried=$((tried + 1))
! grep -q 'nothing sets it' out || complain 'a size that is set is called a default'

good phantom ours --train 0 --val 0 --test 1 --slices 3 --size 40 --rows 80 --columns 44 --coils 2
mkdir -p both/singlecoil_test both/multicoil_test fast/knee_singlecoil_test
cp $volume both/singlecoil_test
cp ours/test/*.h5 both/multicoil_test/"${volume##*/}"
refuse 1 'have one name: the scan would count twice; set data.coils to single or multi' evaluate scene --data both
good evaluate scene --data both --set data.coils=multi
says out 'volumes: 1 of 1 file'
mv both/singlecoil_test fast/knee_singlecoil_test
good evaluate scene --data fast
says out 'volumes: 1 of 1 file'
good inspect fast --size 40
says out '  patients       1'

# ---- sizes ---------------------------------------------------------------------------------------------

refuse 1 'smaller than data.size 64; set data.pad to at least 64 or data.size to at most 40' \
  evaluate scene --set data.size=64
says err 'no usable slice in data: 2 of 2 files too small; the last: data/test/'
! grep -q broken err || complain 'small images are called broken'
good inspect data --size 64
says out '2 volumes smaller than data.size 64'
good inspect $volume --size 64
says out 'usable               no: smaller than data.size 64'
says out 'crop to data.size    not possible: smaller than 64; set data.pad to at least 64'
good evaluate scene --set data.size=64 --set data.pad=64
good evaluate scene --set data.size=34
refuse 2 'acquisition.budget is 39; only 36 of 40 lines are free after 4 initial ones' \
  evaluate scene --set acquisition.budget=39
refuse 2 'acquisition.initial_lines is 41; there are only 40 lines' \
  evaluate scene --set acquisition.initial_lines=41
refuse 2 'lower acquisition.initial_lines or the acceleration' evaluate scene --set acquisition.initial_lines=10
refuse 2 'no line is left to acquire: 1 initial line of 40/40 = 1 in all; lower the acceleration' evaluate scene \
  --set acquisition.acceleration=40
good render scene --set data.volumes=1 --output few # of the four slices that it draws there are three
tried=$((tried + 1))
[ "$(find few -name '*.png' | wc -l)" = 3 ] || complain 'render draws other slices than there are'
refuse 1 '--slices names row 9; the data set has rows 0 to ' render scene --slices 9 --output few
refuse 2 "acquisition.acceleration is '0'; it must be a whole number from 1 to 40" \
  evaluate scene --set acquisition.acceleration=0
refuse 2 'is an empty list' evaluate scene --set acquisition.acceleration=
refuse 2 'is an empty list' evaluate scene --set acquisition.horizon=

# ---- names that are not known --------------------------------------------------------------------------

refuse 2 "unknown sampler 'randm'; did you mean random?" evaluate scene --samplers randm
refuse 2 "unknown sampler 'xyzzyxyzzy'; \`l2sr describe samplers\` lists them" \
  evaluate scene --samplers random,xyzzyxyzzy
refuse 2 'evaluate.samplers is an empty list' evaluate scene --samplers ''
refuse 2 'evaluate.samplers names random twice; name each sampler once' \
  evaluate scene --samplers random,low_bias,random
refuse 2 'x4 base stands twice in acquisition.acceleration and acquisition.horizon' \
  evaluate scene --set acquisition.acceleration=4,8,4
refuse 2 'x4 base stands twice' evaluate scene --set acquisition.horizon=base,long,base
good evaluate scene --set acquisition.initial_lines=2 --set acquisition.horizon=base,long --output results --overwrite --json
tried=$((tried + 1))
[ "$(grep -c '"horizon":"custom"' out)" = 1 ] || complain 'given initial lines: the horizons are not one'
# By the names of README and papers, however far in letters.
meant() { refuse 2 "unknown sampler '$1'; did you mean $2?" evaluate scene --set "evaluate.samplers=[$1]"; }
meant evaluator policy
meant equispaced 'equispaced_one_sided or equispaced_two_sided'
meant 'variable density' variable_density
meant 'low-bias' low_bias
meant 'Poisson' poisson_disc
meant 'lowest frequency' lowest_index
meant Gaussian variable_density_gaussian
meant LOUPE 'fixed_mask or learned_mask'
meant LBCS fixed_mask
meant 'tau-step' tau_step
meant greedy oracle
meant L2SR policy
meant PG-MRI policy
refuse 2 "unknown sampler 'equispaced'; did you mean equispaced_one_sided or equispaced_two_sided?" \
  train scene --output none --set network.pools=2 --set train.masks=exact --set train.sampler=equispaced
for name in L2SR-l2sr PG-MRI-pgmri Tau-step-tau_step LBCS-lbcs; do
  refuse 2 "train.method is '${name%-*}' at --method; did you mean ${name##*-}? it must be one of reconstructor|" \
    train scene --output none --method "${name%-*}"
done
refuse 2 "unknown metric 'SSIM'; did you mean ssim?" evaluate scene --set evaluate.metrics=SSIM
refuse 2 "unknown metric 'sim'; did you mean ssim?" evaluate scene --set evaluate.metrics=sim
refuse 2 'evaluate.metrics is an empty list' evaluate scene --set evaluate.metrics=
refuse 2 "evaluate.keep has 'one'; it must be rows of the data set" evaluate scene --set evaluate.keep=one
refuse 2 'evaluate.keep names 1 twice' evaluate scene --set evaluate.keep=1,1
refuse 1 'evaluate.keep names row 9000; the data set has rows 0 to ' evaluate scene --set evaluate.keep=9000
refuse 2 "acquisition.horizon is 'lang'; it must be base or long" \
  evaluate scene --set acquisition.horizon=lang
refuse 1 "no OpenCL device matches 'abacus'; there are: 0: " evaluate scene --device abacus
refuse 1 "no OpenCL device matches '99'" evaluate scene --device 99
refuse 1 'nowhere' evaluate scene --kernels nowhere
if "$l2sr" info | grep -q 'platform  *Portable Computing Language'; then
  : >file # PoCL has no device where it cannot make its cache
  for command in info 'evaluate scene'; do
    what="POCL_CACHE_DIR of no folder: $command"
    # shellcheck disable=SC2086
    ! POCL_CACHE_DIR=$PWD/file/x "$l2sr" $command >out 2>err || complain "$what ends well"
    says err 'the OpenCL platform Portable Computing Language is there but gives no device (CL_DEVICE_NOT_FOUND)'
    says err "cannot write its kernel cache $PWD/file/x: set POCL_CACHE_DIR to a folder that can be written"
    ! grep -q 'install a driver' err || complain "$what: a driver that is there is to be installed"
  done
fi

# ---- scenes and options --------------------------------------------------------------------------------

# refuse_scene TEXT: a scene of the lines on stdin
refuse_scene() {
  cat >bad.yaml
  refuse 2 "$1" evaluate bad
}

printf 'data:\n  sise: 40\n' | refuse_scene 'unknown key data.sise at bad.yaml:2; did you mean data.size?'
printf 'data:\n  size: 40\n  size: 64\n' | refuse_scene 'data.size stands twice in bad.yaml, the second time at line 3'
printf 'data: &all\n  size: 40\n' | refuse_scene 'bad.yaml:1'
printf 'data:\n  path: &here data\n' | refuse_scene 'bad.yaml:2'
printf 'world:\n  envs: 65537\n' | refuse_scene 'world.envs is 65537 at bad.yaml:2; it must be 1 to 65536'
printf 'world:\n  envs: many\n' | refuse_scene 'world.envs'
printf 'data:\n  split: tset\n' | refuse_scene 'it must be one of train|val|test|all'
printf 'data: {size: 40\n' | refuse_scene 'bad.yaml:'
printf 'extends: nowhere.yaml\n' | refuse_scene 'nowhere.yaml'
refuse 2 'unknown key data.sise at --set; did you mean data.size?' evaluate scene --set data.sise=40
refuse 2 "data.size is '31' at --set; it must be a whole number from 32 to 1024, or two of them" evaluate scene --set data.size=31
refuse 2 "data.size is '31' at --size; it must be a whole number from 32 to 1024" inspect data --size 31
refuse 2 "data.split is 'tset' at --split" inspect data --split tset
refuse 2 'unknown flag --jsn of l2sr inspect; did you mean --json?' inspect data --jsn
refuse 2 'an operand is missing; write l2sr inspect PATH' inspect
refuse 2 'there is no scene nowhere' evaluate nowhere

# ---- training a policy ---------------------------------------------------------------------------------

refuse 2 "train.method is 'l2t' at --set; it must be one of reconstructor|l2s|l2sr" train scene --output run \
  --set train.method=l2t
l2s='train scene --output run --method l2s'
# refuse_set TEXT KEY=VALUE
refuse_set() {
  # shellcheck disable=SC2086 # the words are arguments
  refuse 2 "$1" $l2s --set "$2"
}
refuse_set 'learn.scans is 0 at --set; it must be 1 to 65536' learn.scans=0
refuse_set 'learn.steps is 0 at --set; it must be 1 to' learn.steps=0
refuse_set 'learn.gamma is 1.5 at --set; it must be 0 to 1' learn.gamma=1.5
refuse_set 'learn.validations is 0 at --set' learn.validations=0
refuse_set 'learn.save_every is 0 at --set' learn.save_every=0
refuse_set "learn.algorithm is 'a3c' at --set; it must be one of a2c|ppo" learn.algorithm=a3c
refuse_set 'alternate.rounds is 0 at --set' alternate.rounds=0
refuse_set 'alternate.divisor is 0 at --set; it must be 1 to 1000' alternate.divisor=0
refuse_set "alternate.actions is 'all' at --set; it must be one of best|drawn" alternate.actions=all
refuse_set 'unknown key learn.scan at --set; did you mean learn.scans?' learn.scan=16
refuse_set 'the scene has 2 settings' acquisition.acceleration=4,8
# shellcheck disable=SC2086
refuse 1 'reconstructor: validation data: no .h5 file in data' $l2s --quiet --set policy.pools=2 --set network.pools=2
# shellcheck disable=SC2086 # once more: what was refused is no training
refuse 1 'reconstructor: validation data: no .h5 file in data' $l2s --quiet --set policy.pools=2 --set network.pools=2

# ---- masks ---------------------------------------------------------------------------------------------

# mask FILE VALUE...: 0s and 1s
refuse_mask() {
  refuse "${3-1}" "$1" evaluate scene --samplers fixed_mask --set sampler.mask="$2"
  says err 'l2sr: sampler fixed_mask: '
  tried=$((tried + 1))
  ! grep -q '^loading ' err || complain "$what: refused only after the data were read"
}

ten='0000000000000001111111111000000000000000' # the four initial lines are the middle ones
echo $ten >mask.txt
good evaluate scene --samplers fixed_mask --set sampler.mask=mask.txt
refuse 2 'sampler tau_step: sampler.tau_step is empty; name a checkpoint of train.method tau_step' evaluate scene --samplers tau_step
refuse 1 'sampler.tau_step: cannot open nowhere.h5' evaluate scene --samplers tau_step_best --set sampler.tau_step=nowhere.h5
refuse 2 'tau.steps is 9 at --set; it must be 1 to 8' train scene --output none --method tau_step --set tau.steps=9
refuse 2 'train.sampler is tau_step; exact masks are of a heuristic' train scene --output none --set train.masks=exact \
  --set train.sampler=tau_step --set network.pools=2
refuse_mask 'sampler.mask is empty; name a file of 40 values 0 or 1' '' 2
refuse_mask 'sampler.mask: cannot open data: it is a folder; name a file' data
refuse_mask 'sampler.mask: cannot open nowhere.txt' nowhere.txt
echo ${ten}0 >long.txt
refuse_mask 'long.txt holds 41 values; 40 are expected at data.size 40' long.txt
echo $ten | sed 's/^0/1/' >eleven.txt
refuse_mask 'eleven.txt has 11 lines' eleven.txt
says err 'exactly 10 lines'
echo 1111111111000000000000000000000000000000 >aside.txt
refuse_mask 'misses 4 of the 4 initial ones' aside.txt
echo $ten | sed 's/^0/2/' >two.txt
refuse_mask "two.txt holds '2'" two.txt
yes 0.5 | head -n 40 >half.txt
h5import half.txt -dims 40 -path mask -type TEXTFP -size 64 -outfile half.h5 >out 2>err
refuse_mask 'half.h5 holds 0.5; it must hold 40 values 0 or 1' half.h5
refuse_mask 'has no dataset mask; name a checkpoint of train.method loupe, or 40 values 0 or 1 as text' $volume
refuse 1 'has no dataset probability; name a checkpoint of train.method loupe' evaluate scene --samplers learned_mask \
  --set sampler.mask=$volume

# ---- what is no file --------------------------------------------------------------------------------

# A pipe that nobody writes to would be waited for.
mkfifo pipe.yaml pipe.txt pipe.csv pipe.h5 pipe.jsonl
mkdir kernels
mkfifo kernels/common.h
refuse_pipe() {
  what="l2sr $*"
  tried=$((tried + 1))
  timeout 20 "$l2sr" "$@" >out 2>err && complain "$what: exit status 0"
  grep -q "^l2sr: .*\(it is a pipe\|pipe.h5 is not a file\)" err || complain "$what: $(cat err)"
}
refuse_pipe evaluate ./pipe.yaml
echo 'extends: pipe' >extends.yaml
refuse_pipe evaluate extends.yaml
refuse_pipe evaluate scene --samplers fixed_mask --set sampler.mask=pipe.txt
refuse_pipe evaluate scene --samplers fixed_mask --set sampler.mask=pipe.h5
refuse_pipe evaluate scene --samplers learned_mask --set sampler.mask=pipe.h5
refuse_pipe evaluate scene --reconstructor pipe.h5
refuse_pipe evaluate scene --policy pipe.h5
refuse_pipe evaluate scene --data pipe.h5
refuse_pipe compare pipe.csv results/slices.csv
refuse_pipe compare results/results.h5 pipe.h5
refuse_pipe inspect pipe.h5
refuse_pipe report pipe.h5 --output none
refuse_pipe report pipe.jsonl --output none
refuse_pipe verify pipe.h5
refuse_pipe evaluate scene --kernels kernels --output none

# what the shell hands over is read
tried=$((tried + 2))
"$l2sr" describe scene /dev/stdin <scene.yaml >out 2>err || complain "/dev/stdin: $(cat err)"
cat scene.yaml | "$l2sr" describe scene /dev/stdin >out 2>err || complain "a pipe as /dev/stdin: $(cat err)"

# ---- what a file repeats ------------------------------------------------------------------------------

for i in 0 1 2 3 4; do
  awk -v n=$((i + 1)) 'BEGIN { printf "extends: ["; for (i = 0; i < 60; i++) printf "%sx%d", i ? ", " : "", n; print "]" }' >x$i.yaml
done
echo 'data: {size: 40}' >x5.yaml
refuse 2 'x5.yaml would be the 65th file that is read for one scene' evaluate x0.yaml
says err 'x0.yaml:1 extends: '

# ---- output ---------------------------------------------------------------------------------------

refuse 1 'cannot write into /proc/self' evaluate scene --output /proc/self
refuse 1 'cannot write into /proc/self' render scene --output /proc/self

# ---- benches --------------------------------------------------------------------------------------

refuse 2 'bench step takes no --batch, which network, policy, train, learn, pgmri and ddqn do' bench step --batch 3
refuse 1 'matrix instructions that a U-Net in half precision knows' bench network --set reconstruct.method=varnet --precision half
refuse 2 'train.method is l2s; bench train measures those of one stage' bench train --set train.method=l2s
refuse 2 'bench step takes no --figure, which roofline does' bench step --figure a.svg
refuse 2 "--figure is 'a.gif'; its name ends in .pdf, .svg or .png" bench roofline policy --figure a.gif
refuse 2 'bench roofline prints every kernel: it takes no --profile' bench roofline --profile
refuse 2 "bench roofline takes no bench 'train'" bench roofline train
refuse 2 "bench roofline has no work 'nonsense', and there is no such scene; works are network, policy, learn and step" bench roofline nonsense
refuse 1 'cannot write missing/trace.json: No such file or directory' bench step --size 32 --slices 1 --trace missing/trace.json
refuse 1 'cannot write missing/a.svg: No such file or directory' bench roofline step --figure missing/a.svg
refuse 1 'cannot write data: it is a folder; name a file' bench step --size 32 --slices 1 --trace data
mkfifo pipe && ln -s pipe pipe.mat
refuse 1 'cannot write pipe: nobody reads what is written into it; start its reader first' bench step --size 32 --slices 1 --trace pipe
refuse 1 'cannot write pipe.mat, a link to pipe: it is a pipe or a device, into which this kind of file' export results --output pipe.mat
if has_full 'a trace into a full device'; then
  refuse 1 'cannot finish /dev/full: No space left on device' bench step --size 32 --slices 1 --quiet --trace /dev/full
fi
refuse 2 'bench step takes no --scans, which learn does' bench step --scans 3
refuse 2 'bench step takes no --train, which network and policy do' bench step --train
refuse 2 'bench env takes no --profile, which network, policy, train, learn, pgmri and ddqn do' bench env --profile
refuse 2 'policy.batch is 0 at --batch; it must be 1 to 65536' bench policy --batch 0
refuse 2 "network.precision is 'x' at --precision" bench network --precision x
refuse 2 'network.channels 1, network.pools ' bench network --size 32 --set network.channels=1

# ---- device memory -------------------------------------------------------------------------------------

refuse 1 'rows fit; lower world.envs' bench step --envs 65536 --size 512 --slices 1
says err 'MiB'
good info --json
memory=$(sed -n 's/.*"taken":true.*"memory":\([0-9]*\).*/\1/p' out)
tried=$((tried + 1))
if [ -n "$memory" ]; then
  # a slice and its environment take 20 MiB at 1024 x 1024: more slices than the device holds. Environments
  # beyond the slices are not made, so the files must be that many; they are small and padded.
  good phantom many --train 0 --val 0 --test 1 --slices 512 --size 32 --rows 32 --columns 32
  for copy in $(seq $((memory / 16777216 / 512))); do cp many/test/file*.h5 "many/test/copy_$copy.h5"; done
  refuse 1 'set data.most or data.volumes' evaluate scene --data many --set world.envs=65536 --set data.size=1024 \
    --set data.pad=1024
  says err 'MiB'
  tried=$((tried + 1))
  grep -q 'at most [1-9][0-9]* rows fit' err || complain "$what: it does not say how many fit"
  rm -r many
else
  complain 'l2sr info --json names no memory: too little device memory is not tested'
fi

# ---- output that cannot be written ---------------------------------------------------------------------

echo kept >file
refuse 1 'file is not a folder' evaluate scene --output file
refuse 1 'cannot make folder file/below: Not a directory; name another place for the output' evaluate scene --output file/below
refuse 1 'file' phantom file --train 1
refuse 1 'data/test/file1000006.h5 is there already, with k-space or images of another size' phantom data --train 1 --val 0 --test 1 --slices 3 \
  --size 40 --rows 80 --columns 46
good phantom data --train 1 --val 0 --test 1 --slices 3 --size 40 --rows 80 --columns 44
says err 'data/test has 1 more volume of an earlier call, which stays: remove what is not wanted'
tried=$((tried + 1))
[ "$(cat file)" = kept ] || complain 'a file in place of the output folder was changed'
mkdir -p taken/results.h5 halfway/slices.csv
for folder in taken/results.h5 halfway/slices.csv; do
  refuse 1 "${folder%/*} holds results (${folder#*/}); replace them with --overwrite, or choose another --output" \
    evaluate scene --output "${folder%/*}"
  refuse 1 "cannot write $folder: it is a folder; name a file" evaluate scene --output "${folder%/*}" --overwrite
  [ ! -s out ] || complain "$what: it was evaluated"
done
refuse 1 'results holds results (results.h5)' evaluate scene --output results --data nowhere # before the work
mkdir several several/scene
echo kept >several/scene/curves.csv
cp scene.yaml other.yaml
refuse 1 'several/scene holds results (curves.csv)' evaluate other scene --output several
says several/scene/curves.csv kept
tried=$((tried + 1))
[ ! -e several/other ] || complain "$what: the scene before was evaluated"

# Two that write into one folder are told apart at the start.
mkdir held
held() { flock held "$real" "$@"; }
real=$l2sr l2sr=held
refuse 1 'held is in use: another program writes there; wait for its end, or name another place' \
  evaluate scene --output held
tried=$((tried + 1))
[ ! -s out ] || complain "$what: it was evaluated"
refuse 1 'held is in use: another program writes there' sweep scene --output held --set train.rate=0.1,0.2
l2sr=$real
good evaluate scene --output held

# A file system without locks, and one that takes no files where they were taken before.
printf '#include <errno.h>\nint flock(int f, int o) { (void)f, (void)o, errno = ENOLCK; return -1; }\n' >nolock.c
if ${CC:-cc} -shared -fPIC nolock.c -o nolock.so 2>/dev/null; then
  what='evaluate without locks'
  tried=$((tried + 1))
  LD_PRELOAD=$dir/nolock.so "$l2sr" evaluate scene --output unlocked >out 2>err || complain "$what"
  says err 'unlocked/results.h5 is written without a lock, as with HDF5_USE_FILE_LOCKING=FALSE: unable to lock file'
  good compare unlocked/results.h5 unlocked/results.h5
else
  echo 'did not run: a file system without locks (no C compiler)'
fi
: >empty.csv
refuse 1 'empty.csv is empty; it must start with a line of column names' compare empty.csv empty.csv
printf 'a%600s\n' | tr ' ' , >wide.csv
refuse 1 'wide.csv:1: more than 512 cells in a line' compare wide.csv wide.csv

# A disk that is full when slices.csv is flushed: the results before stay, all of them.
cat >nospace.c <<'END'
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
int fsync(int file) {
  char link[64], path[4096] = "";
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  if (readlink(link, path, sizeof path - 1) < 0 || !strstr(path, "slices.csv")) return 0;
  errno = ENOSPC;
  return -1;
}
END
if [ -d /proc/self ] && ${CC:-cc} -shared -fPIC nospace.c -o nospace.so 2>/dev/null; then
  what='evaluate --overwrite with no space for slices.csv'
  tried=$((tried + 1))
  mkdir before
  for file in results.h5 slices.csv curves.csv; do echo old >before/$file; done
  LD_PRELOAD=$dir/nospace.so "$l2sr" evaluate scene --output before --overwrite >out 2>err && complain "$what: done"
  says err 'cannot finish before/slices.csv: No space left on device'
  says out '  random  ' # the table is not lost with the file
  [ "$(cat before/* | uniq -c | tr -d ' ')" = 3old ] || complain "$what: some of the results are new"
  no_part "$what"
else
  echo 'did not run: no space for one of the results (no C compiler)'
fi
if [ -d /proc/self ]; then refuse 1 'cannot make folder /proc/here' evaluate scene --output /proc/here; fi
if has_full "results to a full disk"; then
  for command in "evaluate scene" "inspect data" "inspect $volume --json"; do
    what="l2sr $command to a full disk"
    tried=$((tried + 1))
    : >out
    # shellcheck disable=SC2086 # the words are arguments
    "$l2sr" $command >/dev/full 2>err
    got=$?
    [ $got -eq 1 ] || complain "$what: exit status $got, expected 1"
    says err 'l2sr: cannot write the results'
  done
fi

# A disk that fills up: a small tmpfs, which root may mount, and a limit of the size of files.
good phantom wide --train 0 --val 0 --test 1 --slices 16 --size 64 --rows 128 --columns 74
filling="evaluate scene --data wide --set data.size=64 --set evaluate.images=true --output"
mkdir full
if mount -t tmpfs -o size=300k tmpfs full 2>/dev/null; then
  # shellcheck disable=SC2086 # the words are arguments
  refuse 1 'No space left on device; ' $filling full
  says err ' MiB are free there: free more, or name another place'
  says out '  random  '
  refuse 1 'No space left on device' phantom full --train 3 --size 64 --rows 128 --columns 74
  rm -rf full/*
  dd if=/dev/zero of=full/filler bs=1k count=400 2>/dev/null
  # shellcheck disable=SC2086
  refuse 1 'No space left on device' $filling full
  umount full
else
  echo 'did not run: a full disk (only root mounts a small tmpfs)'
fi
limited() (
  ulimit -f "$limit" # blocks of 512 bytes
  exec "$real" "$@"
)
good phantom broad --train 0 --val 0 --test 1 --slices 160 --size 64 --rows 64 --columns 64
# shellcheck disable=SC2086 # the words are arguments
good $filling unlimited --data broad # the driver keeps its kernels, which it could not write below
real=$l2sr l2sr=limited limit=4096
# shellcheck disable=SC2016,SC2086 # the words are arguments, the backquotes are text
refuse 1 '`ulimit -f` says how large a file may be' $filling small --data broad
says out '  random  '
limit=100
refuse 1 'File too large' phantom full --train 3 --size 64 --rows 128 --columns 74
# A report that cannot be written as a whole leaves no table of it.
limit=8
refuse 1 'File too large' report results --output page
no_part "$what"
tried=$((tried + 1))
[ -z "$(ls page)" ] || complain "$what: left $(ls page)"
l2sr=$real
good report results --output page

# ---- interrupted ---------------------------------------------------------------------------------------

is_there() { [ -e "$1" ]; }
# interrupt SIGNAL PATTERN ARGUMENTS...: sends the signal when a file of the pattern is there
interrupt() {
  signal=$1
  pattern=$2
  shift 2
  what="l2sr $* interrupted by $signal at $pattern"
  tried=$((tried + 1))
  "$l2sr" "$@" >out 2>err &
  child=$!
  # shellcheck disable=SC2086 # the pattern is for the shell
  until is_there $pattern; do
    kill -0 $child 2>/dev/null || break
    sleep 0.005 # leaves the processor to it; some files last for milliseconds
  done
  kill -s "$signal" $child 2>/dev/null
  wait $child
  got=$?
  no_part "$what"
}

# ended STATUS...: how the interrupted run may have ended
ended() {
  tried=$((tried + 1))
  case " $* " in
  *" $got "*) ;;
  *) complain "$what: exit status $got, expected $*" ;;
  esac
}

for at in 'cut/train' 'cut/train/*2.h5' 'cut/train/*9.h5.*.part'; do
  interrupt INT "$at" phantom cut --train 100000 --slices 8 --size 64 --rows 128 --columns 74
  ended 130
  says err 'l2sr: interrupted'
  for file in cut/train/*.h5; do [ ! -e "$file" ] || good inspect "$file"; done
  rm -r cut
done
interrupt TERM 'cut/train/*2.h5' phantom cut --train 100000 --size 64 --rows 128 --columns 74
ended 143
rm -r cut
interrupt HUP 'cut/train/*2.h5' phantom cut --train 500 --size 64 --rows 128 --columns 74
ended 129 0
rm -r cut

good phantom large --train 0 --val 0 --test 1 --slices 512 --size 40 --rows 40 --columns 40
for at in cut 'cut/results.h5.*.part' cut/results.h5; do
  interrupt INT "$at" evaluate scene --data large --samplers random,low_bias,lowest_index --output cut \
    --set evaluate.images=true --set world.envs=256
  ended 130 0 # 0: it had ended before the signal came
  if [ $got -eq 130 ]; then says err 'l2sr: interrupted'; fi
  if [ "$at" = cut ]; then ended 130; fi
  if [ -e cut/results.h5 ]; then good compare cut/results.h5 cut/results.h5; fi
  for file in cut/slices.csv cut/curves.csv; do
    if [ -e $file ]; then good compare $file $file; fi
  done
  rm -r cut
done

run "volumes in one folder" "$l2sr" phantom flat --train 1 --val 0 --test 0 --slices 2 --size 32 --rows 64 --columns 38
refuse 2 'train.output is flat/train, the folder of the training' train quickstart_train --data flat/train --set data.size=32 --set train.epochs=1 --output flat/train
finish
