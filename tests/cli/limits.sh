#!/bin/sh
# Where the system limits the process, every end is one clear error: limits.sh L2SR RANDOM_AGENT
agent=$(realpath "$2")
export POCL_MAX_PTHREAD_COUNT=2 POCL_CPU_MAX_CU_COUNT=2 # what is refused depends on the memory of its threads
. "${0%/*}/setup.sh"
# and of other drivers, which a process loads beside it; ocl-icd asks PoCL for its devices itself where there are any
mkdir pocl
cp "${OCL_ICD_VENDORS:-/etc/OpenCL/vendors}"/pocl*.icd pocl && export OCL_ICD_VENDORS="$dir/pocl"

"$l2sr" phantom D --train 2 --val 1 --test 1 --slices 4 --size 32 --rows 64 --columns 38 --quiet || exit 1
"$l2sr" evaluate quickstart_l2sr --data D >/dev/null 2>&1 || exit 1 # kernels are in the driver's cache

# limited NAME LIMIT TEXT COMMAND...: it ends well, or with status 1 and an error that holds the text; sets `ended`
limited() {
  what="$1 under ulimit $2"
  limit=$2
  text=$3
  shift 3
  tried=$((tried + 1))
  (
    ulimit $limit || exit 99
    exec "$@"
  ) >out 2>err
  ended=$?
  [ "$ended" -eq 0 ] && return
  [ "$ended" -eq 1 ] || complain "$what: exit status $ended"
  says err "$text"
}

# Address space, from what no driver loads in to what is enough; and of data.
for kib in 100000 200000 300000 400000 500000 600000 700000 800000 900000 1000000 1100000 1200000 8000000; do
  limited evaluate "-v $kib" "ulimit -v, RLIMIT_AS" "$l2sr" evaluate quickstart_l2sr --data D --samplers random
  evaluated=$ended
  limited "a program" "-v $kib" "ulimit -v, RLIMIT_AS" "$agent" quickstart_l2sr D
  limited info "-v $kib" "ulimit -v, RLIMIT_AS" "$l2sr" info
done
[ "$evaluated" -eq 0 ] || complain "8 GB of address space are too few"
for kib in 50000 200000 400000 600000 800000 8000000; do
  limited evaluate "-d $kib" "ulimit -d, RLIMIT_DATA" "$l2sr" evaluate quickstart_l2sr --data D --samplers random
done
[ "$ended" -eq 0 ] || complain "8 GB of data are too few"

# A stack too small for compilers.
for kib in 64 128 512; do
  limited info "-s $kib" "ulimit -s, RLIMIT_STACK" "$l2sr" info
  [ "$ended" -eq 1 ] || complain "a stack of $kib KiB is taken"
  limited "a program" "-s $kib" "ulimit -s, RLIMIT_STACK" "$agent" quickstart_l2sr D
done

# What is advised is followed once.
cat >train.yaml <<END
data: {path: D, size: 32}
train: {method: reconstructor, epochs: 1, batch: 4}
network: {channels: 2, pools: 1}
END
# advised NAME FLAG KIB COMMAND...: it is refused, and ends well under the limit that the error names
advised() {
  what="$1 as advised of ulimit $2 $3"
  flag=$2
  kib=$3
  shift 3
  tried=$((tried + 1))
  (ulimit "$flag" "$kib"; exec "$@") >out 2>err && complain "$what: it was not refused"
  enough=$(sed -n 's/.*raise the limit to \([0-9]*\).*/\1/p' err)
  [ -n "$enough" ] || complain "$what: no limit is named"
  [ "$flag" = -n ] || enough=$((enough * 1024))
  (ulimit "$flag" "$enough"; exec "$@") >out 2>err || complain "$what: $enough do not suffice"
}
for kib in 100000 900000; do
  advised evaluate -v $kib "$l2sr" evaluate quickstart_l2sr --data D
  advised train -v $kib "$l2sr" train train.yaml --output "trained$kib"
done
advised evaluate -d 300000 "$l2sr" evaluate quickstart_l2sr --data D

# Threads count where PoCL is asked for its devices, and nowhere else.
mkdir none
for folder in none ""; do
  text=${folder:+no OpenCL platform found}
  limited "info of ${folder:-all} drivers" "-v 2000000" "${text:-64 threads (POCL_MAX_PTHREAD_COUNT)}" \
    env POCL_MAX_PTHREAD_COUNT=64 ${folder:+OCL_ICD_VENDORS="$dir/none"} "$l2sr" info
  [ "$ended" -eq 1 ] || complain "64 threads are in 2000000 KiB"
done

# Files that are open at once: from what no command runs with to what is enough.
for files in 4 5 6 8 10 12 14 16 18 20 24 32; do
  limited evaluate "-n $files" "ulimit -n, RLIMIT_NOFILE" "$l2sr" evaluate quickstart_l2sr --data D --samplers random --output "files$files"
  limited inspect "-n $files" "ulimit -n, RLIMIT_NOFILE" "$l2sr" inspect D
  limited train "-n $files" "ulimit -n, RLIMIT_NOFILE" "$l2sr" train train.yaml --output "opened$files"
done
[ "$ended" -eq 0 ] || complain "32 open files are too few"
advised evaluate -n 8 "$l2sr" evaluate quickstart_l2sr --data D
advised inspect -n 8 "$l2sr" inspect D

# What the buffers take is looked at too: 65536 environments of 128x128 are more than 4 GiB.
for kib in 1500000 2500000 3500000; do
  limited "many environments" "-v $kib" "ulimit -v, RLIMIT_AS" "$l2sr" bench env --size 128 --envs 65536 --horizon long
  [ "$ended" -eq 1 ] || complain "65536 environments are in $kib KiB"
done

# Files of 8 KiB at most.
limited phantom "-f 16" "File too large" "$l2sr" phantom E --train 1
[ "$ended" -eq 1 ] || complain "phantom writes no more than 8 KiB"
no_part phantom
limited evaluate "-f 16" "ulimit -f, RLIMIT_FSIZE" "$l2sr" evaluate quickstart_l2sr --data D --output results
[ "$ended" -eq 1 ] || complain "evaluate writes no more than 8 KiB"
no_part evaluate
for end in npy cfl mat nii nii.gz; do
  [ -e "there.$end" ] || "$l2sr" export D/test/*.h5 --output "there.$end" >out 2>&1 || grep -q 'was built without' out || complain "there.$end"
  [ -e "there.$end" ] || continue
  limited "export to .$end" "-f 16" "ulimit -f" "$l2sr" export D/test/*.h5 --output "cut.$end"
  [ "$ended" -eq 1 ] || complain "export writes no more than 8 KiB into .$end"
  [ -e "cut.$end" ] && complain "export leaves a cut file .$end"
  no_part "export to .$end"
done

# Threads, of a user who may have so many; the superuser has no such limit, and not every shell sets it.
if [ "$(id -u)" -ne 0 ] && command -v bash >/dev/null; then
  limited info "-v unlimited" "ulimit -u, RLIMIT_NPROC" bash -c 'ulimit -u 1; exec "$1" info' bash "$l2sr"
fi
finish
