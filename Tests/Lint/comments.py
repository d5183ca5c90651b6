#!/usr/bin/env python3
"""Finds sentences of comments that begin with a clause where the name of a thing belongs.

    comments.py [DIRECTORY...]      default: Sources, Tests, deploy, Config; exit status 1 and a line for each if any

A comment says what something is in a noun or verb phrase ("The user who asks.", "Reads the head."). A beginning of "What",
"Who" or "Whose" leaves the reader to look for the subject. Of a docstring, the first line is read.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SLASHES, HASHES = r"///?|/\*\*?", r"#+"
MARKS = {
    ".swift": SLASHES, ".h": SLASHES, ".js": SLASHES, ".py": rf'{HASHES}|"""', ".sh": HASHES, ".yaml": HASHES,
}  # fmt: skip
CLAUSE = re.compile(r"(?:^|[.:!?]\s)(?P<clause>(?:What|Who|Whose)\b.*)")


def paragraphs(text: str, marks: str) -> Iterator[tuple[int, str]]:
    """The paragraphs of comments that stand on lines of their own, each by the number of its first line."""
    comment = re.compile(rf"\s*(?:{marks})\s?(?P<text>.*)")
    first, words = 0, []
    for number, line in enumerate([*text.splitlines(), ""], 1):
        found = comment.match(line)
        if found and (part := found["text"].strip()):
            first = first if words else number
            words.append(part)
        elif words:
            yield first, " ".join(words)
            words = []


def faults(text: str, marks: str) -> Iterator[tuple[int, str]]:
    """The faulty sentences of one file, each with the number of its paragraph's first line."""
    for number, paragraph in paragraphs(text, marks):
        for clause in CLAUSE.finditer(paragraph):
            yield number, clause["clause"]


def main() -> int:
    directories = [Path(name) for name in sys.argv[1:]] or [ROOT / name for name in ("Sources", "Tests", "deploy", "Config")]
    files = sorted(path for directory in directories for path in directory.rglob("*") if path.suffix in MARKS)
    if not files:
        print(f"comments.py: no sources in {', '.join(map(str, directories))}", file=sys.stderr)
        return 2
    count = 0
    for path in files:
        for number, words in faults(path.read_text(), MARKS[path.suffix]):
            print(f"{path}:{number}: begins with a clause: {words}")
            count += 1
    print(f"{len(files)} files, {count} sentences of comments that begin with a clause")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
