#!/usr/bin/env python3
"""Finds comments that begin with a clause where the name of a thing belongs.

    comments.py [DIRECTORY]      default: Sources; exit status 1 and a line for each comment when there are any

A comment says what something is in a noun or verb phrase ("The user who asks.", "Reads the head."). A beginning of "Who" or
"Whose" leaves the reader to look for the subject. "What" is one as well; the modules of NAMED are free of it.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

NAMED = {"CCurl", "COpenSSL", "Crypto", "Encoding", "HTTP1", "Locking"}
SUFFIXES = {".swift", ".h", ".js"}
COMMENT = re.compile(r"^\s*(?:///?|/\*\*?)\s?(?P<text>.*)")
CLAUSE = re.compile(r"(?P<word>What|Who|Whose)\b")


def beginnings(text: str) -> Iterator[tuple[int, str]]:
    """The first line of each comment that stands on lines of its own, by number; each paragraph has one."""
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        comment = COMMENT.match(line)
        words = comment["text"].strip() if comment else ""
        if words and not inside:
            yield number, words
        inside = bool(words)


def faults(text: str, module: str) -> Iterator[tuple[int, str]]:
    """The faulty comments of one file, by line."""
    for number, words in beginnings(text):
        clause = CLAUSE.match(words)
        if clause and (clause["word"] != "What" or module in NAMED):
            yield number, words


def main() -> int:
    directory = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parents[2] / "Sources")
    files = sorted(path for path in directory.rglob("*") if path.suffix in SUFFIXES)
    if not files:
        print(f"comments.py: no sources in {directory}", file=sys.stderr)
        return 2
    count = 0
    for path in files:
        for number, words in faults(path.read_text(), path.relative_to(directory).parts[0]):
            print(f"{path}:{number}: begins with a clause: {words}")
            count += 1
    print(f"{len(files)} files, {count} comments that begin with a clause")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
