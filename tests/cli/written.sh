#!/bin/sh
# Files that another program is writing: every command names them, none reads half of one. written.sh L2SR
set -u

. "${0%/*}/setup.sh"

run "phantom" "$l2sr" phantom data --train 2 --val 1 --test 2 --slices 2 --size 32 --rows 64 --columns 38
cat >scene.yaml <<END
data: {path: data, size: 32}
evaluate: {samplers: [random], metrics: [nmse], curves: false}
END
run "evaluate" "$l2sr" evaluate scene.yaml --output results
cat >train.yaml <<END
data: {path: data, size: 32}
train: {method: reconstructor, epochs: 1, batch: 4, output: run}
network: {channels: 2, pools: 1}
END
run "train" "$l2sr" train train.yaml

real=$l2sr
# held FILE COMMAND...: the command, while another process holds a writer's lock on the file
held() {
  of=$1
  shift
  l2sr=through_flock
  "$@"
  l2sr=$real
}
through_flock() { flock "$of" "$real" "$@"; }
because='is being written: another program holds its lock'

first=data/test/file1000003.h5 second=data/test/file1000006.h5
held $first run "evaluate beside a writer" through_flock evaluate scene.yaml
says err "warning: skipped: $first $because"
says out 'volumes: 1 of 2 files (2 slices)'
says out '1 file being written by another program, skipped'
held $first run "the same in JSON" through_flock evaluate scene.yaml --json
says out '"written_files":1,"ambiguous_files":0,"broken_files":0'
held $first run "inspect beside a writer" through_flock inspect data --split test --size 32
says out "  in use: $first $because"
says out 'volumes: 1 of 2 files (2 slices)'
held $first run "the same in JSON" through_flock inspect data --split test --size 32 --json
says out '{"type":"written","split":"test"'
says out '"written":1,"ambiguous":0,"broken":0'
held $first refuse 1 "$first $because" inspect $first
held $first refuse 1 "data.strict: $first $because" evaluate scene.yaml --set data.strict=true
mkdir alone
cp $second alone
held alone/file1000006.h5 refuse 1 'no usable slice in alone: 1 of 1 file being written; the last: alone/' \
  evaluate scene.yaml --data alone
: >alone/broken.h5
held alone/file1000006.h5 refuse 1 'no usable slice in alone: 2 of 2 files broken (1) or being written (1)' \
  evaluate scene.yaml --data alone
held data/train/file1000001.h5 run "train beside a writer" through_flock train train.yaml --output other
says err "warning: skipped: data/train/file1000001.h5 $because"
held run/best.h5 refuse 1 "run/best.h5 $because" evaluate scene.yaml --reconstructor run/best.h5
held results/results.h5 refuse 1 "results/results.h5 $because" compare results/results.h5 results/results.h5
held results/results.h5 refuse 1 "results/results.h5 $because" report results --output page
run "evaluate after it" "$l2sr" evaluate scene.yaml --set data.strict=true

# File systems without locks say one of these; what fails otherwise is no such file system.
cat >nolock.c <<'END'
#include <errno.h>
#include <stdlib.h>
int flock(int f, int o) { (void)f, (void)o, errno = atoi(getenv("NOLOCK")); return -1; }
END
if ${CC:-cc} -shared -fPIC nolock.c -o nolock.so 2>/dev/null; then
  number() { python3 -c "import errno; print(errno.$1)"; }
  for name in ENOSYS EOPNOTSUPP ENOLCK; do
    run "without locks: $name" env NOLOCK="$(number $name)" LD_PRELOAD="$dir/nolock.so" "$l2sr" evaluate scene.yaml
    says out 'volumes: 2 of 2 files'
  done
  l2sr=without_locks
  without_locks() { env NOLOCK="$(number EIO)" LD_PRELOAD="$dir/nolock.so" "$real" "$@"; }
  refuse 1 "cannot lock $first: Input/output error" inspect $first
  l2sr=$real
else
  echo 'did not run: file systems without locks (no C compiler)'
fi

finish
