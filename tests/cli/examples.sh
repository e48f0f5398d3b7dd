#!/bin/sh
# Programs of others (tools/examples) do what they say: examples.sh L2SR RANDOM_AGENT REINFORCE SOURCE
set -u
l2sr=$(realpath "$1") agent=$(realpath "$2") reinforce=$(realpath "$3") source=$4 failed=0
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT
complain() { echo "FAILED: $*"; failed=1; }
cd "$temp" || exit 1
"$l2sr" phantom DATA --train 0 --val 0 --test 1 --slices 4 >/dev/null || complain "no phantoms"
echo "extends: $source/scenes/knee_x4_long
data: {source: auto, fraction: 1, slices: all, size: 128}" >own.yaml
"$agent" own.yaml DATA >out 2>err || complain "the random agent fails: $(cat err)"
grep -q '^32 actions of 128, 128 scans on .*: mean SSIM 0\.[0-9]*$' out || complain "the random agent says: $(cat out)"
"$agent" own.yaml nowhere >out 2>err && complain "the random agent takes no data"
grep -q 'random_agent: .*nowhere' err || complain "the random agent says of no data: $(cat err)"
[ "$(wc -l <"$source/tools/examples/random_agent.c")" -le 40 ] || complain "the random agent has more than 40 lines"
"$reinforce" >out 2>err || complain "REINFORCE does not learn: $(cat out err)"
exit $failed
