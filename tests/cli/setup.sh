# Sourced by the scripts beside it as `. "${0%/*}/setup.sh"`: the path of l2sr from the first argument, a folder to
# work in that goes in the end, and checks that are counted. After a run its output is in the files out and err.
[ $# -ge 1 ] || { echo "usage: ${0##*/} PATH_OF_L2SR" >&2; exit 2; }
case $1 in
/*) l2sr=$1 ;;
*) l2sr=$PWD/$1 ;;
esac
pipes=
dir=$(mktemp -d) || exit 1
trap 'end_session; rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
cd "$dir" || exit 1
failed=0
tried=0

# show FILE: how it begins and ends
show() {
  sed "s/^/  $1: /" "$1" | head -n 20 >&2
  tail -n +21 "$1" | tail -n 20 | sed "s/^/  $1, its end: /" >&2
}

complain() {
  failed=$((failed + 1))
  echo "FAILED: $1" >&2
  show out
  show err
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

# Calls of the tool by `run` and `refuse` go to one process that stays (tests/session.c), where there is one: it opens the device and
# loads its programs once. "$l2sr" by itself is a process of its own, and so are all where L2SR_PROCESSES is set.
tool=$l2sr session=${l2sr%/*}/tests/session
[ -x "$session" ] && [ -z "${L2SR_PROCESSES-}" ] || session=

begin_session() {
  pipes=$(mktemp -d) || exit 1
  mkfifo "$pipes/calls" "$pipes/answers" || exit 1
  "$session" <"$pipes/calls" >"$pipes/answers" &
  session_pid=$!
  exec 8>"$pipes/calls" 9<"$pipes/answers"
  rm -r "$pipes"
}

# also for what shall be in another one, as after an export
end_session() {
  [ -n "$pipes" ] || return 0
  pipes=
  exec 8>&- 9<&-
  wait $session_pid
}

# call WORDS...: the tool, which prints into out and err; its status
call() {
  if [ -z "$session" ] || [ "$l2sr" != "$tool" ]; then
    "$l2sr" "$@" >out 2>err
    return
  fi
  [ -n "$pipes" ] || begin_session
  printf '%s\0' "$PWD" $# "$@" >&8
  read -r status <&9 && return "$status"
  pipes= # it has ended
  wait $session_pid
}

# run NAME COMMAND...: it must end well
run() {
  name=$1
  what=$1
  shift
  tried=$((tried + 1))
  if [ "$1" = "$tool" ] && [ "$l2sr" = "$tool" ]; then
    shift
    call "$@" || complain "$name: l2sr $*"
  else
    "$@" >out 2>err || complain "$name: $*"
  fi
}

# refuse STATUS TEXT ARGUMENTS...: l2sr ends with the status and one line that holds the text; what else is on
# stderr are warnings (those of the driver's compiler too), the name of the device, the progress and that kernels are compiled
refuse() {
  want=$1
  text=$2
  shift 2
  what="l2sr $*"
  tried=$((tried + 1))
  call "$@"
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
