#!/bin/sh
# What the program says while kernels compile: caches of its own, which are empty. cold.sh L2SR
set -u
case $0 in
/*) here=${0%/*} ;;
*) here=$PWD/${0%/*} ;;
esac
L2SR_PROCESSES=1 # each has other caches
. "${0%/*}/setup.sh"

said='compiling kernels for '
# caches FOLDER: the only ones from here on
caches() {
  mkdir -p "$1" || exit 1
  POCL_CACHE_DIR=$1 XDG_CACHE_HOME=$1
  export POCL_CACHE_DIR XDG_CACHE_HOME
}
# cold NAME CACHE FLAGS...: evaluates with these caches alone
cold() {
  name=$1
  caches "$2"
  shift 2
  run "$name" "$l2sr" evaluate scene "$@"
}
# told COUNT: so many lines of the last run say that kernels compile
told() {
  tried=$((tried + 1))
  [ "$(grep -c "^$said" err)" = "$1" ] || complain "$what: not $1 lines '$said'"
}

unset L2SR_CACHE POCL_KERNEL_CACHE
cat >scene.yaml <<'Y'
data: {size: 32, path: data, split: test}
network: {channels: 4, pools: 2}
evaluate: {samplers: [random], curves: false}
Y
run "phantom" "$l2sr" phantom data --train 0 --val 0 --test 1 --slices 4 --size 32 --rows 32 --columns 32
start=$(date +%s)
cold "the first run" "$dir/kept"
seconds=$(($(date +%s) - start))
cp out table
tried=$((tried + 1)) # the last column is scans a second: of four scans, without what compiled meanwhile
awk -v seconds="$seconds" '$1 == "random" && 4 / $NF < seconds / 4 { good = 1 } END { exit !good }' out ||
  complain "compiling, of $seconds seconds, slows the scans"
told 1
says err "the first use of a device takes a while; they are kept in $dir/kept"
cold "the second run" "$dir/kept"
told 0
for file in out table; do sed '/random/s/ *[0-9.]*$//' $file >$file.scores; done
run "compiling changes no number" cmp out.scores table.scores

L2SR_CACHE=$dir/own
export L2SR_CACHE
caches "$dir/both" # to fill ours PoCL compiles all kernels of a program: here those of policy.cl alone
run "a cache of ours" "$l2sr" verify "$here/../data/gae_g0.9_l1.0.h5" --json
told 1
says err "they are kept in $dir/own"
tried=$((tried + 1))
! grep -v '^{.*}$' out >bad || complain "--json tells more than JSON"

POCL_KERNEL_CACHE=0
export POCL_KERNEL_CACHE
L2SR_CACHE=off
cold "nothing is kept" "$dir/none"
told 1
says err 'l2sr keeps none of them, for '

unset POCL_KERNEL_CACHE
cold "quiet" "$dir/quiet" --quiet
told 0
tried=$((tried + 1))
! grep -v '^[0-9]* warnings* generated' err >bad || complain "--quiet is not"
finish
