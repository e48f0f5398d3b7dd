#!/bin/sh
# Several ranks: trainings of 1, 2 and 4 of them end in the same bytes, a rank that is killed ends all, and what was trained
# until then goes on under another number of them, within a stage too; evaluations by ranks; what is refused. ranks.sh L2SR
set -u
. "${0%/*}/setup.sh"
if ! command -v mpirun >/dev/null || ! ldd "$l2sr" | grep -q 'libmpi'; then
  echo "did not run: several ranks (no mpirun on the path, or l2sr was built without MPI)"
  exit 0
fi
starts="mpirun --bind-to none --oversubscribe"
mpirun --version | grep -q 'Open MPI' || starts=mpirun
[ "$(id -u)" != 0 ] || [ "$starts" = mpirun ] || starts="$starts --allow-run-as-root"

cat >scene.yaml <<'Y'
data: {size: 32, path: data, label: lesion}
acquisition: {acceleration: [8], horizon: [long]}
network: {channels: 2, pools: 1}
policy: {channels: 2, pools: 1, hidden: 8}
world: {envs: 4}
train: {epochs: 2, batch: 5, log_every: 2}
classifier: {channels: 2, pools: 2, hidden: 8}
learn: {scans: 12, steps: 72, validations: 1, log_every: 1}
pgmri: {batch: 3, accumulation: 1, trajectories: 2, epochs: 1, log_every: 1} # of 8 shards 3 have a slice, the last two of 4 ranks none
alternate: {rounds: 1, epochs: 2, batch: 5}
tau: {steps: 2, hidden: 8}
evaluator: {channels: 2}
Y
# what no number of ranks divides: fewer rows in an update than shards, minibatches and groups of scans that shards cut
cat >odd.yaml <<'Y'
extends: scene
data: {augment: [flips], window: 5}
train: {batch: 3, masks: exact, clip: 0.1}
learn: {scans: 9, algorithm: ppo, epochs: 2, rows: 13, group: 3, baseline: group_critic}
lbcs: {slices: 3, candidates: 7}
Y
cat >complex.yaml <<'Y'
{extends: scene, network: {input: complex, batch: 2}}
Y
cat >coils.yaml <<'Y'
extends: scene
data: {path: coils, source: kspace, kspace: measured, crop: kspace, label: ""}
Y
cat >varnet.yaml <<'Y'
extends: coils
reconstruct: {method: varnet}
varnet: {cascades: 2, channels: 2, pools: 1, sense_channels: 2, sense_pools: 1}
Y
run "phantom of coils" "$l2sr" phantom coils --train 2 --val 1 --test 0 --slices 4 --coils 3 --size 32 --rows 64 --columns 38
run "phantom" "$l2sr" phantom data --train 2 --val 1 --test 0 --slices 4 --size 32 --rows 32 --columns 32 --lesions 1

# numbers FOLDER: the log without its times, parameters' digests among it
numbers() { sed 's/,"[a-z]*_per_second.*//' "$1/log.jsonl"; }

# Stand-ins for CUDA's and OpenCL's drivers, by which the memory of ranks is shared as that of cards is.
cards="${l2sr%/*}/tests/libcuda.so.1"
[ -f "$cards" ] || { echo "did not run: sums from card to card (no stand-in at $cards)" && cards=; }

# launch RANKS COMMAND...: by so many ranks; 4p: of which each reads the others' memory
launch() {
  ranks=${1%p}
  if [ "$1" != "$ranks" ] && [ "$cards" ]; then
    shift
    LD_PRELOAD=$cards $starts -n "$ranks" "$@" --set train.exchange=peer
  else
    shift
    $starts -n "$ranks" "$@"
  fi
}

# same SCENE METHOD FOLDER RANKS...: the log of a stage, of so many ranks what it is of one
same() {
  scene=$1
  method=$2
  own=$2
  [ "$scene" = scene ] || own=$scene/$2
  stage=$own/$3
  shift 3
  run "$own by one rank" "$l2sr" train "$scene" --set train.shards=8 --method "$method" --output "$own"
  numbers "$stage" >one
  cp one alone
  for ranks; do
    by=$ranks
    cp alone one
    if [ "$by" != "${by%p}" ] && [ "$cards" ]; then # a stand-in is a card, which cuts some sums otherwise than a CPU
      run "$own by one such card" env LD_PRELOAD="$cards" "$l2sr" train "$scene" --set train.shards=8 --method "$method" \
        --output "card/$own"
      numbers "card/$stage" >one
    fi
    run "$own by $by ranks" launch "$by" "$l2sr" train "$scene" --method "$method" --output "by_$by/$own"
    says err "rank 0 of ${by%p} waited for others"
    tried=$((tried + 1))
    numbers "by_$by/$stage" | cmp -s - one ||
      complain "$own: $by ranks write other numbers than one: $(numbers "by_$by/$stage" | diff - one)"
  done
  tried=$((tried + 1))
  grep -q '"parameters":"[0-9a-f]*"' one || complain "$own: its log has no digest"
}
same scene reconstructor . 2 4p
[ ! "$cards" ] || says err 'gradients of 4 ranks are summed from card to card (CUDA)'
same scene l2s policy_1 2 4p
same scene loupe . 4
says err 'gradients of 4 ranks are summed through host memory (rank 0: '
same scene tau_step . 2 4
same scene straight_through . 2
same scene evaluator . 2
same scene pgmri policy_1 2 4
same scene lbcs mask_1 2
same scene suno masks_1 2
same scene classifier classifier_1 2
same odd l2s policy_1 4
same odd lbcs mask_1 2
same complex tau_step . 4
same coils reconstructor . 2
same varnet straight_through . 2
no_part "trainings"

# summed as they come: other digests, and much the same numbers; cards that do not read each other's memory
run "sums in any order" env LD_PRELOAD="$cards" L2SR_DRIVER_REFUSES=cuMemImportFromShareableHandle $starts -n 2 "$l2sr" train scene \
  --set train.reduce=free --output free
[ ! "$cards" ] || says err "through host memory (rank 0: CUDA refuses another process's memory on "
tried=$((tried + 1))
numbers reconstructor >one
numbers free | cmp -s - one && complain "train.reduce=free writes the bytes of train.reduce=tree"
tried=$((tried + 1))
near() { grep -o '"val_ssim":0\.[0-9]\{5\}' "$1/log.jsonl"; }
[ "$(near free)" = "$(near reconstructor)" ] || complain "train.reduce=free: validations are $(near free), not $(near reconstructor)"

# images that a profile scores, of volumes too, and a mask that all scans decide on
set -- evaluate scene --samplers random,average_oracle,policy --policy l2s/policy_1/last.h5 --reconstructor l2s/reconstructor/best.h5 \
  --set data.split=train --set evaluate.keep=[0,3,5] --set evaluate.profile=fastmri --set evaluate.trajectories=2
run "an evaluation by one rank" "$l2sr" "$@" --output scores
run "an evaluation by 2 ranks" $starts -n 2 "$l2sr" "$@" --output by_2/scores
for file in slices.csv curves.csv; do
  tried=$((tried + 1))
  cmp -s scores/$file by_2/scores/$file || complain "an evaluation by 2 ranks writes another $file"
done
run "an evaluation by --devices" "$l2sr" "$@" --devices 0,0 --output by_devices
tried=$((tried + 1))
cmp -s scores/slices.csv by_devices/slices.csv || complain "an evaluation by --devices 0,0 writes another slices.csv"
run "both compared" "$l2sr" compare scores by_2/scores

# The process that started the ranks hands signals on: a trace is whole, and nothing half written is left.
what="interrupted --devices"
"$l2sr" train scene --epochs 400 --output stopped --devices 0,0 --trace stopped.json >out 2>err &
child=$!
await tells stopped/log.jsonl epoch 1
kill -s INT $child
wait $child
got=$?
tried=$((tried + 1))
[ $got = 130 ] || complain "$what: not status 130"
says err 'interrupted; unfinished files are removed; --resume goes on from the last checkpoint'
tried=$((tried + 1))
python3 -c 'import json; assert json.load(open("stopped.json"))["traceEvents"]' 2>err || complain "$what: its trace is no JSON"
no_part "$what"

# A rank is killed once there is a checkpoint; the launcher's own processes stay.
what="a rank that is killed"
tried=$((tried + 1))
set -- train scene --epochs 400
$starts -n 2 "$l2sr" "$@" --output killed >out 2>err &
child=$!
await tells killed/log.jsonl epoch 2
victim=$(pgrep -P $child -f "$l2sr" | sort -R | head -n 1)
kill -9 "$victim"
wait $child && complain "$what: the others went on"
says err "on $(hostname), process $victim, was ended; the other ranks stop"
tried=$((tried + 1))
[ -s killed/last.h5 ] || complain "$what: there is no checkpoint"
done=$(grep -c '"kind":"epoch"' killed/log.jsonl)
tried=$((tried + 1))
[ "$done" -lt 400 ] || complain "$what: it was killed after its end"
epochs=$((done + 2))
run "going on by 4 ranks" $starts -n 4 "$l2sr" train scene --epochs $epochs --output killed --resume
says err 'going on from'
run "never stopped" "$l2sr" train scene --set train.shards=8 --epochs $epochs --output whole
tried=$((tried + 1))
numbers whole >one
numbers killed | cmp -s - one || complain "$what: it went on with other numbers than a training that was never stopped"

run "one rank goes on too" "$l2sr" train scene --epochs $((epochs + 1)) --output killed --resume
run "one more" "$l2sr" train scene --epochs $((epochs + 1)) --output whole --resume
tried=$((tried + 1))
numbers whole >one
numbers killed | cmp -s - one || complain "$what: one rank went on with other numbers"

# the same within a stage of several, the alternation's policy
what="a rank of l2sr that is killed"
set -- train scene --method l2sr --set learn.steps=3600 --set learn.save_every=1
run "l2sr by one rank" "$l2sr" "$@" --set train.shards=8 --output turns
$starts -n 2 "$l2sr" "$@" --output by_2/turns >out 2>err &
child=$!
await tells by_2/turns/policy_1/log.jsonl look 3
victim=$(pgrep -P $child -f "$l2sr" | sort -R | head -n 1)
kill -9 "$victim"
wait $child && complain "$what: the others went on"
tried=$((tried + 1))
[ ! -e by_2/turns/reconstructor_1 ] || complain "$what: it was killed after its policy"
run "going on within a policy by 4 ranks" $starts -n 4 "$l2sr" "$@" --output by_2/turns --resume
for stage in policy_1 reconstructor_1; do
  tried=$((tried + 1))
  numbers turns/$stage >one
  numbers by_2/turns/$stage | cmp -s - one || complain "$what: stage $stage has other numbers than of one rank"
done

# ends TEXT COMMAND...: it fails with a line of l2sr that holds the text
ends() {
  text=$1
  what="$*"
  shift
  tried=$((tried + 1))
  "$@" >out 2>err && complain "$what: it ended well"
  grep '^l2sr: ' err | grep -qF -e "$text" || complain "$what: no line 'l2sr: ...' holds '$text'"
}
ends '3 ranks were started; there must be 1, 2, 4' $starts -n 3 "$l2sr" train scene --output refused
tried=$((tried + 1))
[ "$(grep -c '3 ranks were started' err)" = 1 ] || complain "$what: it is told more than once"
ends 'train.method ddqn trains on one device (stage policy), and 2 ranks were started' $starts -n 2 "$l2sr" train scene \
  --method ddqn --output refused
ends "train.exchange is peer, and ranks do not read each other's memory (rank 0: " $starts -n 2 "$l2sr" train scene \
  --set train.exchange=peer --output refused
ends '2 ranks were started, and train.shards is 1: a rank takes one at least; start 1 or fewer, or set it to 0' $starts -n 2 "$l2sr" train scene --set train.shards=1 \
  --output refused
run "sums are checked and timed" launch 2 "$l2sr" bench sums --bytes 65536 --json
says out '"bench":"sums","way":"host","ranks":2,"bytes":65536,'
cp out sums.json
refuse 1 "--devices: no OpenCL device matches '99'" bench sums --devices 0,99
if has_full "sums by --devices to a full disk"; then
  tried=$((tried + 1))
  "$l2sr" bench sums --bytes 65536 --devices 0,0 >/dev/full 2>err && complain "sums that cannot be written end well"
  says err 'l2sr: cannot write the results'
fi
run "an update of several ranks" $starts -n 2 "$l2sr" bench train scene --json
cp out update.json
run "a model of both" "$l2sr" bench scaling sums.json update.json --json
says out '"update":"reconstructor of '
refuse 2 'bench sums measures several ranks, and there is one; give --devices all' bench sums
ends "rank 1 on $(hostname) has the scene" $starts -n 1 "$l2sr" train scene --output other : -n 1 "$l2sr" train scene --seed 9 \
  --output other
ends 'srun --mpi=pmix l2sr train SCENE' env SLURM_STEP_NUM_TASKS=4 "$l2sr" train scene --output refused
ends 'train.shards is 4, and what it goes on from has 8' "$l2sr" train scene --set train.shards=4 --epochs 900 --output whole \
  --resume
ends 'train.shards is 3; it must be 1, 2, 4 ... 64' "$l2sr" train scene --set train.shards=3 --output refused

# combinations side by side, each with its log
run "combinations side by side" "$l2sr" sweep scene --devices 0 --jobs 2 --output grid --set train.rate=0.001,0.0003
for rate in 0.001 0.0003; do
  tried=$((tried + 1))
  grep -q 'device' "grid/train.rate=$rate.log" || complain "the combination of rate $rate has no log"
done

# --devices starts them itself; on a host of one device both ranks share it
run "two ranks by --devices" "$l2sr" train scene --devices 0,0 --output devices
tried=$((tried + 1))
numbers reconstructor >one
numbers devices | cmp -s - one || complain "--devices 0,0 writes other numbers than one rank"
finish
