#!/bin/sh
# A header for the sources of the store: each call of libhdf5 is told to `noted` first. usage: noted.sh SOURCE...
set -eu
names=$(grep -hoE '\bH5[A-Z][a-z]+[A-Za-z0-9_]*\(' "$@" | tr -d '(' | sort -u)
echo '#include <hdf5.h>'
echo 'void noted(const char *function);'
for name in $names; do # some names are macros for a version's
  echo "static __typeof__(&$name) const noted_$name __attribute__((unused)) = $name;"
  echo "#undef $name"
  echo "#define $name(...) (noted(\"$name\"), noted_$name(__VA_ARGS__))"
done
printf '#define NOTED'
for name in $names; do printf ' "%s",' "$name"; done
echo
