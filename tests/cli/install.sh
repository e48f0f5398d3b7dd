#!/bin/sh
# What `meson install` installs, put into another folder, works from anywhere: install.sh BUILD SOURCE
set -u
build=$1 source=$2 failed=0
command -v meson >/dev/null || { echo "did not run: the installation (no meson on the path)"; exit 0; }
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT
complain() { echo "FAILED: $*"; failed=1; }
DESTDIR="$temp" meson install -C "$build" --no-rebuild >"$temp/log" 2>&1 || { cat "$temp/log"; exit 1; }
for file in bin/l2sr man/man1/l2sr.1 bash-completion/completions/l2sr zsh/site-functions/_l2sr \
  fish/vendor_completions.d/l2sr.fish $(cd "$source" && find scenes -name '*.yaml'); do
  [ -n "$(find "$temp" -path "*/$file" -type f)" ] || complain "$file is not installed"
done
l2sr=$(find "$temp" -path '*/bin/l2sr' -type f)
mkdir "$temp/elsewhere" && cd "$temp/elsewhere" || exit 1
"$l2sr" describe scene heuristics_128 >scene 2>err || complain "an installed scene is not found: $(cat err)"
grep -q '^  size: 128' scene || complain "heuristics_128 is another scene"
printf 'extends: heuristics_128\nworld: {seed: 7}\n' >own.yaml
"$l2sr" describe scene own >scene 2>err || complain "a scene cannot extend an installed one: $(cat err)"
grep -q '^  seed: 7' scene || complain "own.yaml is not applied"
"$l2sr" describe scene brain_x16_long_l2sr >scene 2>err || complain "an installed scene extends none: $(cat err)"
if command -v bash >/dev/null; then
  bash -c '. "$1" && complete -p l2sr' sh "$(find "$temp" -path '*/completions/l2sr')" >/dev/null ||
    complain "the installed bash completion completes nothing"
fi
exit $failed
