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
find "$temp" -path '*/l2sr/scenes/*' ! -name '*.yaml' | grep . && complain "these are no scenes"
[ "$(find "$temp" -path '*/l2sr/models/*.h5' | wc -l)" = "$(find "$source/models" -name '*.h5' | wc -l)" ] || complain "not all networks are installed"
l2sr=$(find "$temp" -path '*/bin/l2sr' -type f)
mkdir "$temp/elsewhere" && cd "$temp/elsewhere" || exit 1
"$l2sr" models brain_x8_long >card 2>err && grep -q '^licence: ' card || complain "an installed network has no card: $(cat err)"
rm "$(find "$temp" -name brain_x8_long_lbcs.txt)" "$(find "$temp" -name brain_x8_long_loupe.h5)"
"$l2sr" models >list 2>err && grep -q 'brain_x8_long_lbcs.h5 has no card beside it' err &&
  grep -q 'brain_x8_long_loupe.txt has no network beside it' err || complain "what is left of a network is not said: $(cat err)"
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

# ---- the library ---------------------------------------------------------------------------------------
shared=$(find "$temp" -name libl2sr.so.0.1.0 -type f)
folder=$(dirname "$shared")
[ -n "$shared" ] || complain "libl2sr.so.0.1.0 is not installed"
for link in libl2sr.so libl2sr.so.0; do
  [ "$(readlink -f "$folder/$link")" = "$(readlink -f "$shared")" ] || complain "$link does not lead to the library"
done
readelf -d "$shared" | grep -q 'SONAME.*\[libl2sr.so.0\]' || complain "the soname is not libl2sr.so.0"
readelf -d "$l2sr" | grep -q 'NEEDED.*\[libl2sr.so.0\]' || complain "the tool does not call the library"
[ "$(env -u LD_LIBRARY_PATH ldd "$l2sr" | sed -n 's/.*libl2sr.so.0 => \(.*\) (.*/\1/p' | xargs -r readlink -f)" = "$(readlink -f "$shared")" ] ||
  complain "the installed tool takes another library: $(ldd "$l2sr" | grep libl2sr)"

# what is shown: what systems/public/l2sr.map lists, for the header declares it, and what the tool asks for
nm -D --defined-only "$shared" | awk '$2 != "A" {print $3}' >shown
sed -n 's/@@L2SR_0$//p' shown | sort >public
sed -n 's/^ *\(l2sr_[a-z_]*\);$/\1/p' "$source/systems/public/l2sr.map" | sort >listed
cmp -s public listed || complain "the public functions are $(tr '\n' ' ' <public)"
while read -r name; do
  grep -q "\b$name(" "$source/systems/public/l2sr.h" || complain "l2sr.h does not declare $name"
done <public
grep -v '@@L2SR_0$\|@@L2SR_PRIVATE_0_1$' shown && complain "these have no version of ours"
sed -n 's/@@L2SR_PRIVATE_0_1$//p' shown | sort >private
nm -D "$l2sr" | sed -n 's/.* \([A-Za-z_0-9]*\)@L2SR_PRIVATE_0_1$/\1/p' | sort >asked
cmp -s private asked || complain "the tool and the library differ in $(sort private asked | uniq -u | tr '\n' ' ')"

if nm -D "$shared" | grep -q '__[atu][sb]*san_'; then
  echo "did not run: a program by l2sr.pc, and the list of statics (the library is built with a sanitizer)"
  exit $failed
fi

# a program of somebody else, who has what is installed
cat >caller.c <<'END'
#include <l2sr.h>
#include <stdio.h>
static void line(enum l2sr_level level, const char *text, void *context) { (void)level, (void)text, (void)context; }
static void fatal(enum l2sr_code code, const char *text, void *context) { (void)code, (void)text, (void)context; }
int main(void) {
  l2sr_on_log(line, NULL, NULL);
  l2sr_on_fatal(fatal, NULL);
  return puts(l2sr_version()) < 0;
}
END
export PKG_CONFIG_PATH="$folder/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$temp"
# shellcheck disable=SC2046 # they are words
if cc -Wall -Wextra -Werror -std=c11 caller.c -o caller $(pkg-config --cflags --libs l2sr) >log 2>&1; then
  [ "$(LD_LIBRARY_PATH="$folder" ./caller 2>&1)" = "$(pkg-config --modversion l2sr)" ] ||
    complain "a program by l2sr.pc says: $(LD_LIBRARY_PATH="$folder" ./caller 2>&1)"
else
  complain "a program by l2sr.pc does not build: $(cat log)"
fi

# Where the linker does not look, l2sr.pc gives a program a run path; where it does, root's installation calls ldconfig.
grep -q rpath "$folder/pkgconfig/l2sr.pc" && complain "a prefix that the linker looks in gives a run path"
if meson setup "$temp/private" "$source" --prefix="$temp/own" >log 2>&1; then
  where=$temp/own/$(sed -n 's/^libdir=..prefix.\///p' "$temp/private/meson-private/l2sr.pc")
  mkdir -p "$where" "$temp/own/include"
  cp -P "$folder"/libl2sr.so* "$where" && cp "$source/systems/public/l2sr.h" "$temp/own/include"
  # shellcheck disable=SC2046 # they are words
  (
    unset PKG_CONFIG_SYSROOT_DIR LD_LIBRARY_PATH
    export PKG_CONFIG_PATH="$temp/private/meson-private"
    cc caller.c -o caller_own $(pkg-config --cflags --libs l2sr) && [ "$(./caller_own)" = "$(pkg-config --modversion l2sr)" ]
  ) >log 2>&1 || complain "a program of a prefix of one's own: $(cat log)"
else
  complain "no build folder with a prefix of one's own: $(cat log)"
fi
mkdir fakes
printf '#!/bin/sh\necho "$0" >>"%s/called"\n' "$PWD" >fakes/ldconfig
printf '#!/bin/sh\necho "$FAKE_ID"\n' >fakes/id
chmod +x fakes/*
for case in '0 1' '1000 0'; do
  rm -f called
  PATH="$PWD/fakes:$PATH" FAKE_ID=${case% *} DESTDIR='' "$source/tools/ldconfig" || complain "tools/ldconfig fails"
  [ "$(cat called 2>/dev/null | wc -l)" -eq "${case#* }" ] || complain "user ${case% *}: ldconfig is called $(cat called)"
done
rm -f called
PATH="$PWD/fakes:$PATH" FAKE_ID=0 DESTDIR=/packages "$source/tools/ldconfig"
[ ! -e called ] || complain "ldconfig is called for a package"

if command -v c++ >/dev/null; then
  echo '#include <l2sr.h>
int main() { l2sr_config config = {}; config.bytes = sizeof config; return l2sr_env_open(&config, nullptr) == L2SR_GOOD; }' >caller.cc
  # shellcheck disable=SC2046 # they are words
  c++ -Wall -Wextra -Werror caller.cc -o caller_cc $(pkg-config --cflags --libs l2sr) >log 2>&1 ||
    complain "a C++ program by l2sr.pc does not build: $(cat log)"
fi

# README's own example with README's own scene, on synthetic data, as they stand
block() { sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/p" "$source/README.md" | sed '1d; /^```$/,$d'; }
block c >agent.c
block yaml >mine.yaml
"$l2sr" phantom DATA --train 0 --val 0 --test 1 --slices 2 >log 2>&1 || complain "no phantoms: $(cat log)"
# shellcheck disable=SC2046 # they are words
if cc -Wall -Wextra -Werror agent.c -o agent $(pkg-config --cflags --libs l2sr) >log 2>&1; then
  LD_LIBRARY_PATH="$folder" ./agent >log 2>&1 || complain "the example of README fails: $(cat log)"
  grep -q '^SSIM 0\.[0-9]*, 0\.[0-9]*$' log || complain "the example of README says: $(cat log)"
else
  complain "the example of README does not build: $(cat log)"
fi

# It may end with a handle open, in which nothing is said.
sed 's/return l2sr_env_close(env), bad;/return bad;/' agent.c >left.c
grep -q l2sr_env_close left.c && complain "README's example closes its handle otherwise"
# shellcheck disable=SC2046 # they are words
cc left.c -o left $(pkg-config --cflags --libs l2sr) >log 2>&1 || complain "a program that leaves a handle open: $(cat log)"
LD_LIBRARY_PATH="$folder" ./left >log 2>&1 || complain "a program that leaves a handle open fails: $(cat log)"
grep -v '^SSIM 0\.[0-9]*, 0\.[0-9]*$' log && complain "a program that leaves a handle open says more"

# what lasts as long as the process and is written: CONTRIBUTING.md says of each what guards it
nm --format=sysv --defined-only "$shared" | awk -F'|' '{gsub(/ /, "")} $7 ~ /^\.t?(data|bss)$/ {print $1}' |
  sed 's/\.[0-9]*$//' | grep -v '^_\|^completed$' | sort >written
printf '%s\n' all_kept callbacks chosen depth devices drivers ending ending_mutex forked give_back handles kept landing library logging mutexes parked paused probe refusal said said said thread_at unfinished unfinished_used warm watched >guarded
cmp -s written guarded || complain "written statics are $(tr '\n' ' ' <written)"
exit $failed
