#!/bin/sh
# What kernels/*.cl hold for GPUs where CPUs have their own, run on this device all the same: every kernel and quantity of
# `l2sr verify`. gpu_kernels.sh L2SR SOURCE
set -u
l2sr=$1 source=$2
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
cp "$source"/kernels/*.cl "$source"/kernels/*.h "$folder"
grep -q __x86_64__ "$folder"/*.cl || { echo "FAILED: no kernel tells CPUs from GPUs"; exit 1; }
{ echo '#undef __x86_64__'; echo '#undef __aarch64__'; echo '#undef __AVX512F__'; cat "$source/kernels/common.h"; } >"$folder/common.h"
"$l2sr" verify --kernels "$folder"
