#!/usr/bin/env python3
"""Writes kernel files as C byte arrays: embed.py OUT.c PRELUDE FILE...; or a text: embed.py --text OUT.c NAME FILE"""
import os
import re
import sys


def read(path):
    """The bytes of a file; files can follow one another in one program, so they take back the macros that they define,
    but for those that are put before others."""
    data = open(path, "rb").read()
    macros = [] if path.endswith(".h") else re.findall(rb"(?m)^#\s*define\s+(\w+)", data)
    return data + b"".join(b"#undef %s\n" % name for name in dict.fromkeys(macros)) + b"\0"


def write_bytes(f, name, data):
    f.write("%s[] = {" % name)
    for j, byte in enumerate(data):
        f.write(("\n  " if j % 20 == 0 else "") + "%d," % (byte if byte < 128 else byte - 256))
    f.write("\n};\n")


if sys.argv[1] == "--text":
    _, _, out, name, path = sys.argv
    with open(out, "w") as f, open(path, "rb") as text:
        f.write("extern const char %s[];\n" % name)
        write_bytes(f, "const char %s" % name, text.read() + b"\0")
    sys.exit()
out, files = sys.argv[1], sys.argv[2:]
with open(out, "w") as f:
    f.write('#include "engine/device/program.h"\n\n#include <stddef.h>\n\n')
    for i, path in enumerate(files):
        data = read(path)
        write_bytes(f, "static const char file_%d" % i, data)
        f.write("\n")
    f.write("extern const struct source kernel_sources[];\nconst struct source kernel_sources[] = {\n")
    for i, path in enumerate(files):
        f.write('  {"%s", file_%d},\n' % (os.path.basename(path), i))
    f.write("  {NULL, NULL},\n};\n")
