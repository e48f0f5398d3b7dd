#!/bin/sh
# What is generated from rows is current: docs.sh L2SR SOURCE
set -u
l2sr=$1 source=$2 failed=0
same() { # same NAME FILE COMMAND...
  name=$1 file=$2
  shift 2
  "$@" >"$temp/now" 2>"$temp/err" || { echo "FAILED: $name: $(cat "$temp/err")"; failed=1; return; }
  diff -u "$file" "$temp/now" || { echo "FAILED: $name is stale: $* >$file"; failed=1; }
}
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT
same "scenes/base.yaml" "$source/scenes/base.yaml" "$l2sr" describe options --yaml
for text in "$source"/tests/schedules/*.txt; do
  scene=$(basename "$text" .txt)
  same "schedule of $scene" "$text" "$l2sr" describe schedule "$source/scenes/$scene.yaml"
done
# every scene is accepted, and every sampler, system, kernel and command is described
for scene in "$source"/scenes/*.yaml; do
  "$l2sr" describe scene "$scene" >/dev/null || { echo "FAILED: $scene is refused"; failed=1; }
done
for what in components kernels systems samplers options commands; do
  [ "$("$l2sr" describe $what | wc -l)" -gt 3 ] || { echo "FAILED: describe $what is empty"; failed=1; }
done
# what README tells people to type exists
for word in $(sed -n "s/^build\/l2sr \\([a-z]*\\).*/\\1/p" "$source/README.md" | sort -u); do
  "$l2sr" "$word" --help >/dev/null || { echo "FAILED: README names l2sr $word"; failed=1; }
done
for file in $(grep -oh 'scenes/[a-z0-9_]*\.yaml' "$source/README.md" "$source/tools/quickstart" | sort -u); do
  [ -f "$source/$file" ] || { echo "FAILED: README or quickstart names $file"; failed=1; }
done
exit $failed
