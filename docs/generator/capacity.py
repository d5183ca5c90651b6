"""The tables of the page about capacity, which deploy/loadtest/capacity.py computes."""

import re
import sys
from pathlib import Path

from .markdown import Mismatch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "deploy" / "loadtest"))

import capacity

SECTION = re.compile(r"(<!-- capacity: (?P<name>[\w ]+) -->\n\n)(?:\|.*\n)*")


def page(text: str) -> str:
    """The page with its tables as they are computed now; its words stay."""
    tables = capacity.sections()
    if sorted(match["name"] for match in SECTION.finditer(text)) != sorted(tables):
        raise Mismatch(f"docs/capacity.md has other tables than {sorted(tables)}")
    return SECTION.sub(lambda match: match[1] + tables[match["name"]], text)
