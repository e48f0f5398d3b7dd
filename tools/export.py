"""Writes the version script of libl2sr: export.py OUTPUT VERSION PUBLIC NM CORE TOOL...

PUBLIC is the script of the public functions. What the archives and objects TOOL ask for and the archive CORE
defines is added under a private version, which holds for one release: so libl2sr shows what somebody asks for,
and hides the rest.
"""
import re
import subprocess
import sys


def names(nm, options, paths):
    text = subprocess.run([nm, *options, *paths], check=True, capture_output=True, text=True).stdout
    return {line.split()[-1] for line in text.splitlines() if re.match(r"([0-9a-f]+| +) +[A-Z] \S+$", line)}


def main():
    output, version, public, nm, core, *tool = sys.argv[1:]
    wanted = names(nm, ["-u"], tool) & names(nm, ["-g", "--defined-only"], [core])
    with open(public, encoding="utf-8") as file:
        script = file.read()
    private = "".join(f"    {name};\n" for name in sorted(wanted) if not re.search(rf"\b{name};", script))
    node = "_".join(version.split(".")[:2])
    with open(output, "w", encoding="utf-8") as file:
        file.write(f"{script}\nL2SR_PRIVATE_{node} {{\n  global:\n{private}}};\n")


main()
