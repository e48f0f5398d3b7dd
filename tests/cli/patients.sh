#!/bin/sh
# Whose volumes are: what results and inspect say of it, and patients of two splits. patients.sh L2SR
set -u

. "${0%/*}/setup.sh"

run "phantom" "$l2sr" phantom data --train 4 --val 1 --test 4 --slices 2 --size 32 --rows 64 --columns 38
cat >scene.yaml <<END
data: {path: data, size: 32}
evaluate: {samplers: [random], metrics: [nmse], curves: false}
END

# patient FILE: its patient_id
patient() { "$l2sr" inspect "$1" | sed -n 's/^  patient_id  *//p'; }
# lines DATASET: the lines of a text of the results
lines() {
  h5dump -d "$1" results/results.h5 | sed -n '/(0): "/,/"$/p' | sed -e 's/^ *(0): "//' -e 's/"$//' -e 's/^ *//'
}

run "evaluate" "$l2sr" evaluate scene.yaml --output results
what="the patients of results"
for file in data/test/*.h5; do patient "$file"; done >want
lines /patient >got
tried=$((tried + 2))
cmp -s want got || complain "$what: $(cat got), expected $(cat want)"
[ "$(sort -u want | wc -l)" = 3 ] || complain "of the phantom's four volumes two are of one patient"
tried=$((tried + 1))
[ "$(awk -F, 'NR == 1 { print $NF } NR > 1 && NR % 2 == 0 { print $NF }' results/slices.csv)" = "$(echo patient; cat want)" ] ||
  complain "slices.csv has other patients: $(cat results/slices.csv)"
run "inspect" "$l2sr" inspect data --size 32
says out '  patients       3 in 4 files'
says out 'patients in more than one split: 0'
tried=$((tried + 1))
! grep -q note out || complain "patients of one split are doubted"

# a patient in two splits
cp data/test/file1000003.h5 data/val/other.h5
run "inspect" "$l2sr" inspect data --size 32
says out '  note: 1 patient is in two splits, val and test (patient_id '
says out 'patients in more than one split: 1; the first: '
run "inspect, strict" "$l2sr" inspect data --size 32 --set data.strict=true
says out '  cannot be used: data.strict: 1 patient is in two splits, val and test'
run "inspect, by patient" "$l2sr" inspect data --size 32 --patient-split
tried=$((tried + 1))
! grep -q 'in two splits' out || complain "a split by patients has a patient twice"
cp data/train/file1000001.h5 data/val/another.h5
cat >train.yaml <<END
data: {path: data, size: 32, strict: true}
train: {method: reconstructor, epochs: 1, batch: 4}
network: {channels: 2, pools: 1}
END
refuse 1 'data.strict: 1 patient is in two splits, training and validation (patient_id ' train train.yaml --output run
rm data/val/another.h5
run "patients of the test are no concern of a training" "$l2sr" train train.yaml --output run

finish
