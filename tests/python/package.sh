#!/bin/sh
# Lays the Python package over a build folder, as a wheel has it: package.sh L2SR LIBRARY SOURCE FOLDER; then
# PYTHONPATH=FOLDER python3
set -eu
l2sr=$(realpath "$1") library=$(realpath "$2") source=$(realpath "$3") package=$4/l2sr
rm -rf "$package"
mkdir -p "$package/bin" "$package/lib" "$package/share/l2sr"
ln -s "$source"/tools/python/l2sr/* "$package"
ln -s "$source/scenes" "$package/share/l2sr/scenes"
ln -s "$source/models" "$package/share/l2sr/models"
ln -s "$library" "$package/lib/libl2sr.so"
ln -s "$l2sr" "$package/bin/l2sr"
