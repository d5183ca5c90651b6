#!/usr/bin/env python3
"""Finds reasons that nothing gives: cases of the enumerations that `Reason` is composed of, and that the gateway's code
names nowhere but where they are declared or decided on. The metric of such a reason stays 0 for ever.

    Tests/Lint/reasons.py [SOURCES]      default: Sources; exit status 1 and a line for each such case

A case counts as given where its name follows a dot, in a file that neither declares the enumeration nor only decides by
reasons. A name that is also another type's case can hide an unused one; it cannot be reported wrongly.
"""

import re
import sys
from pathlib import Path

# Files that decide by reasons, and name each of them for that alone.
DECIDING = {"Reason+Calls.swift", "Reason.swift"}
COMPOSED = re.compile(r"^    case \w+\((\w+)\)$", re.MULTILINE)
CASES = re.compile(r"^    case (\w+)(?: = \"[a-z0-9-]+\")?$", re.MULTILINE)


def code_of(path: Path) -> str:
    return re.sub(r"//.*", "", path.read_text())


def unused(sources: Path) -> list[str]:
    files = {path: code_of(path) for path in sources.rglob("*.swift")}
    reason = next(code for path, code in files.items() if path.name == "Reason.swift")
    enumerations = COMPOSED.findall(reason)
    if not enumerations:
        raise SystemExit("Reason is composed of nothing")
    found = []
    for name in enumerations:
        declaration = re.compile(rf"\benum {name}\b[^{{]*\{{")
        path, code = next((path, code) for path, code in files.items() if declaration.search(code))
        body = code[declaration.search(code).end() :]
        body = body[: body.index("\n}")]
        cases = CASES.findall(body)
        if not cases:
            raise SystemExit(f"{name} has no cases")
        others = [text for other, text in files.items() if other != path and other.name not in DECIDING]
        for case in cases:
            # In the declaring file a use is one more than the declaration, which has no dot.
            use = re.compile(rf"\.{case}\b")
            if not any(use.search(text) for text in [*others, code]):
                found.append(f"{name}.{case}")
    return found


def main() -> int:
    sources = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[2] / "Sources"
    found = unused(sources)
    for case in found:
        print(f"nothing gives {case}")
    print(f"{len(found)} reasons that nothing gives")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
