"""Lists objects that define and use each other's symbols in a circle: rings.py BUILD

An arrow leads from an object to every other one whose symbols it uses. Files of one subject, whose names begin alike in one
folder (store_read.c, store_type.c), may be parts of each other; a ring of more subjects is a fault: exit status 1.
"""
import collections
import pathlib
import subprocess
import sys


def symbols(path, *options):
    text = subprocess.run(["nm", *options, path], check=True, capture_output=True, text=True).stdout
    return {line.split()[-1] for line in text.splitlines() if line.strip()}


def arrows_of(objects):
    """The symbols by which each object uses each other."""
    owner = {name: path for path in objects for name in symbols(path, "-g", "--defined-only")}
    arrows = {path: collections.defaultdict(set) for path in objects}
    for path in objects:
        for name in symbols(path, "-u"):
            if owner.get(name, path) != path:
                arrows[path][owner[name]].add(name)
    return arrows


def reached_from(arrows, start):
    reached, left = set(), [start]
    while left:
        for path in arrows[left.pop()]:
            if path not in reached:
                reached.add(path)
                left.append(path)
    return reached


def subject_of(path):
    """The folder and the first word of the file's name: engine_files_store."""
    words = path.name.removesuffix(".c.o").split("_")
    return "_".join(words[: 3 if words[0] in ("engine", "systems", "tools") else 2])


def main():
    objects = sorted(pathlib.Path(sys.argv[1]).glob("libl2sr_*.a.p/*.c.o"))
    if not objects:
        sys.exit(f"rings.py: there are no objects in {sys.argv[1]}; build it first")
    arrows = arrows_of(objects)
    reached = {path: reached_from(arrows, path) for path in objects}
    faults, seen = 0, set()
    for path in objects:
        ring = [other for other in objects if other in reached[path] and path in reached[other]]
        if not ring or path in seen:
            continue
        seen.update(ring)
        mixed = len({subject_of(other) for other in ring}) > 1
        faults += mixed
        print("ring" if mixed else "ring of one subject:", *(other.name.removesuffix(".c.o") for other in ring))
        for one in ring:
            for other in arrows[one]:
                if other in ring:
                    print(f"  {one.name} -> {other.name}:", *sorted(arrows[one][other])[:6])
    sys.exit(1 if faults else 0)


main()
