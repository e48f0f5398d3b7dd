# Sourced by the scripts beside it as `. "${0%/*}/setup.sh"`: the path of l2sr from the first argument, a folder to
# work in that goes in the end, and checks that are counted. After a run its output is in the files out and err.
[ $# -ge 1 ] || { echo "usage: ${0##*/} PATH_OF_L2SR" >&2; exit 2; }
case $1 in
/*) l2sr=$1 ;;
*) l2sr=$PWD/$1 ;;
esac
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
cd "$dir" || exit 1
failed=0
tried=0

complain() {
  failed=$((failed + 1))
  echo "FAILED: $1" >&2
  sed 's/^/  out: /' out | head -n 20 >&2
  sed 's/^/  err: /' err | head -n 20 >&2
}

# says FILE TEXT: the last run wrote TEXT to out or err
says() {
  tried=$((tried + 1))
  grep -qF -e "$2" "$1" || complain "$what: '$2' is not in $1"
}

# no_part WHAT: no unfinished file is left anywhere
no_part() {
  tried=$((tried + 1))
  [ -z "$(find . -name '*.part' -type f)" ] || complain "$1: left $(find . -name '*.part' -type f)"
}

# run NAME COMMAND...: it must end well
run() {
  name=$1
  what=$1
  shift
  tried=$((tried + 1))
  "$@" >out 2>err || complain "$name: $*"
}

# refuse STATUS TEXT ARGUMENTS...: l2sr ends with the status and one line that holds the text; what else is on
# stderr are warnings (those of the driver's compiler too), the name of the device, the progress and that kernels are compiled
refuse() {
  want=$1
  text=$2
  shift 2
  what="l2sr $*"
  tried=$((tried + 1))
  "$l2sr" "$@" >out 2>err
  got=$?
  others=$(grep -cv -e '^l2sr: ' -e '^warning: ' -e '^device ' -e '^loading ' -e '^evaluating ' -e '^training ' -e '^compiling kernels ' \
    -e '^[0-9]* warnings* generated' err)
  if [ "$got" -ne "$want" ]; then
    complain "$what: exit status $got, expected $want"
  elif [ "$(grep -c '^l2sr: ' err)" -ne 1 ] || [ "$others" -ne 0 ]; then
    complain "$what: not one line 'l2sr: ...'"
  elif ! grep '^l2sr: ' err | grep -qF -e "$text"; then
    complain "$what: the line does not hold '$text'"
  fi
  no_part "$what"
}

# has_full WHAT: there is a /dev/full, which is always full and in some containers no device; else says what did not run
has_full() {
  [ ! -c /dev/full ] || return 0
  echo "did not run: $1 (/dev/full is no device)"
  return 1
}

# await COMMAND...: until it succeeds or $child has ended, to which the processor is left meanwhile
await() {
  until "$@" || ! kill -0 $child 2>/dev/null; do sleep 0.02; done
}

# tells LOG KIND COUNT: there is the log, with at least so many lines of the kind
tells() {
  [ "$(grep -c "\"kind\":\"$2\"" "$1" 2>/dev/null)" -ge "$3" ] 2>/dev/null
}

# kill_at FILE KIND COUNT FLAGS...: `train scene --output cut --resume` goes on until cut/FILE has so many lines of the
# kind, and is killed
kill_at() {
  file=cut/$1 kind=$2 count=$3
  shift 3
  "$l2sr" train scene --output cut --resume "$@" >out 2>err &
  child=$!
  await tells "$file" "$kind" "$count"
  kill -9 $child 2>/dev/null
  wait $child 2>/dev/null
}

# The last line of a script.
finish() {
  echo "$tried checks, $failed failed"
  [ "$failed" -eq 0 ]
}
