#!/bin/sh
# Runs a test under Oclgrind and fails when it found anything: oclgrind itself ends with the test's own status.
# usage: oclgrind.sh PROGRAM ARGUMENTS...
set -u
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
oclgrind --max-errors 3 --local-mem-size 65536 --log "$log" "$@"
status=$?
[ ! -s "$log" ] || { cat "$log" >&2; exit 1; }
exit $status
