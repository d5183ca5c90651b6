"""Compares the Swift packages that were resolved with those that releases are built of: dependencies.py [--write].

Package.swift pins direct dependencies to exact versions. Which versions of theirs come along is decided when they are
resolved, and a tag can be moved to another commit. dependencies.txt has all packages with their commits; the exit status is
1 if Package.resolved has others. With --write the list becomes what Package.resolved has.
"""

import argparse
import json
import sys
from pathlib import Path

LIST = Path(__file__).with_name("dependencies.txt")
RESOLVED = Path(__file__).resolve().parents[2] / "Package.resolved"
Pins = dict[str, tuple[str, str]]


def resolved(path: Path) -> Pins:
    """Version and commit of each package, by its name."""
    pins = json.loads(path.read_text(encoding="utf-8"))["pins"]
    return {pin["identity"]: (pin["state"].get("version", "-"), pin["state"]["revision"]) for pin in pins}


def listed(path: Path) -> Pins:
    lines = [line.split() for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    return {name: (version, commit) for name, version, commit in lines}


def differences(wanted: Pins, found: Pins) -> list[str]:
    """A line for each package that is not as it should be."""
    lines = []
    for name in sorted(wanted.keys() | found.keys()):
        if name not in found:
            lines.append(f"{name} was not resolved")
        elif name not in wanted:
            lines.append(f"{name} {found[name][0]} is new")
        elif found[name] != wanted[name]:
            (version, commit), (here, commit_here) = wanted[name], found[name]
            lines.append(f"{name} is {here} (commit {commit_here}), and not {version} (commit {commit})")
    return lines


def write(path: Path, pins: Pins) -> None:
    comments = [line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("#")]
    lines = comments + [f"{name} {version} {commit}" for name, (version, commit) in sorted(pins.items())]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--resolved", type=Path, default=RESOLVED)
    parser.add_argument("--list", type=Path, default=LIST)
    options = parser.parse_args()
    found = resolved(options.resolved)
    if options.write:
        write(options.list, found)
        return 0
    lines = differences(listed(options.list), found)
    for line in lines:
        print(line, file=sys.stderr)
    if lines:
        print("swift package resolve NAME --version VERSION takes a package to another version", file=sys.stderr)
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
