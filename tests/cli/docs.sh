#!/bin/sh
# What is generated from rows is current, and what pages name exists: docs.sh L2SR SOURCE
set -u
l2sr=$(realpath "$1") source=$2 failed=0
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
for what in components kernels systems networks reconstructors samplers options commands; do
  [ "$("$l2sr" describe $what | wc -l)" -gt 3 ] || { echo "FAILED: describe $what is empty"; failed=1; }
done
# every network that comes with the program is what its card says, and they stay small
for network in "$source"/models/*.h5; do
  name=$(basename "$network" .h5)
  "$l2sr" models "$name" >"$temp/now" 2>"$temp/err" || { echo "FAILED: $(cat "$temp/err")"; failed=1; }
  for key in kind data licence scene command seed device evaluated scores digest; do
    grep -q "^$key: ." "$temp/now" || { echo "FAILED: the card of $name has no $key"; failed=1; }
  done
  [ -f "$source/scenes/$(sed -n 's/^scene: //p' "$temp/now").yaml" ] || { echo "FAILED: the scene of $name is not there"; failed=1; }
done
[ "$(cat "$source"/models/*.h5 | wc -c)" -lt 30000000 ] || { echo "FAILED: the networks take more than 30 MB"; failed=1; }
# what the pages tell people to type and to read exists
cd "$source" || exit 1
pages="README.md models/README.md scenes/README.md scenes/PROTOCOL.md systems/data/README.md tools/README.md tools/python/README.md engine/README.md"
[ "$(wc -l <README.md)" -le 150 ] || { echo "FAILED: README has more than 150 lines"; failed=1; }
for page in $pages; do
  for word in $(sed -n 's/^ *build\/l2sr \([a-z]*\).*/\1/p' "$page" | sort -u); do
    "$l2sr" "$word" --help >/dev/null || { echo "FAILED: $page names l2sr $word"; failed=1; }
  done
  for file in $(grep -oE '\]\([^)]*\)' "$page" | sed 's/^](//; s/[#)].*//' | grep -v ':' | sort -u); do
    [ -f "${page%"${page##*/}"}$file" ] || { echo "FAILED: $page links to $file"; failed=1; }
  done
done
for file in $(grep -oh 'scenes/[a-z0-9_]*\.yaml' $pages tools/quickstart | sort -u); do
  [ -f "$file" ] || { echo "FAILED: a page or quickstart names $file"; failed=1; }
done
# every section of PROTOCOL that the code cites is there
for section in $(grep -rhoE 'PROTOCOL (section )?[0-9]+(\.[0-9]+)?' engine systems kernels components tools tests scenes |
  grep -oE '[0-9.]+$' | sort -u); do
  grep -qE "^##? $section[. ]" scenes/PROTOCOL.md || { echo "FAILED: PROTOCOL $section is cited and not written"; failed=1; }
done
exit $failed
