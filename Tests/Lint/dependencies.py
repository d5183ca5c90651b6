#!/usr/bin/env python3
"""Finds dependencies that Package.swift names for a target and that none of its files imports. SwiftPM itself finds the
reverse (--explicit-target-dependency-import-check).

    Tests/Lint/dependencies.py [DESCRIPTION]     default: what `swift package describe --type json` prints; exit status 1
                                                 and a line for each such dependency
"""

import json
import re
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
IMPORT = re.compile(r"^(?:@\w+(?:\([^)]*\))? )*(?:(?:internal|package|public|private|fileprivate) )?import (?:\w+ )?(\w+)", re.M)


def unused(target: dict) -> list[str]:
    files = [REPOSITORY / target["path"] / name for name in target["sources"]]
    imported = {name for file in files if file.suffix == ".swift" for name in IMPORT.findall(file.read_text())}
    named = target.get("target_dependencies", []) + target.get("product_dependencies", [])
    return sorted(set(named) - imported)


def main() -> int:
    if len(sys.argv) > 1:
        text = Path(sys.argv[1]).read_text()
    else:
        command = ["swift", "package", "describe", "--type", "json"]
        text = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
    targets = [target for target in json.loads(text)["targets"] if target["module_type"] == "SwiftTarget"]
    if not targets:
        raise SystemExit("there is no target")
    found = [f"{target['name']} imports no {name}" for target in targets for name in unused(target)]
    for line in found:
        print(line)
    print(f"{len(targets)} targets, {len(found)} dependencies that are not used")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
