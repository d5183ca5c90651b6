"""The project's documents: which there are, and their code blocks.

A code block that a test runs by name has `<!-- test: NAME -->` on the line before its fence:

    documentation.block("identity.md", "fastapi")
"""

import re
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]
# Files and patterns, relative to the repository.
DOCUMENTS = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/**/*.md", ".github/**/*.md", "deploy/loadtest/README.md")
FENCE = re.compile(r"^(?P<indent> *)(?P<fence>`{3,}|~{3,})(?P<info>[^`]*)$")
TAG = re.compile(r"^\s*<!-- test: (?P<name>[\w.-]+) -->\s*$")


@dataclass(frozen=True)
class Block:
    """A fenced code block. `line` is the fence's number, counted from 1; `info` is the fence's whole info string."""

    page: str
    line: int
    info: str
    name: str | None
    text: str

    @property
    def language(self) -> str:
        return self.info.split()[0] if self.info else ""

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def pages() -> list[str]:
    """The paths of all documents, relative to the repository."""
    found = {path for pattern in DOCUMENTS for path in REPOSITORY.glob(pattern) if path.is_file()}
    return sorted(str(path.relative_to(REPOSITORY)) for path in found)


def path(page: str) -> Path:
    """The file of a page, named from the repository ("docs/apple.md") or from docs ("apple.md")."""
    for directory in (REPOSITORY, REPOSITORY / "docs"):
        if (directory / page).is_file():
            return directory / page
    raise FileNotFoundError(f"no page is called {page}")


def text(page: str) -> str:
    return path(page).read_text(encoding="utf-8")


def blocks(page: str) -> list[Block]:
    """The code blocks of a page in their order, without the indentation of the list items that they are in."""
    name_of_page, lines = str(path(page).relative_to(REPOSITORY)), text(page).splitlines()
    found, number = [], 0
    while number < len(lines):
        opening = FENCE.match(lines[number])
        if not opening:
            number += 1
            continue
        ending = re.compile(rf" *{opening['fence'][0]}{{{len(opening['fence'])},}} *$")
        end = next((each for each in range(number + 1, len(lines)) if ending.match(lines[each])), None)
        if end is None:
            raise ValueError(f"{name_of_page}:{number + 1}: the code block has no end")
        inside = [re.sub(rf"^ {{0,{len(opening['indent'])}}}", "", line) for line in lines[number + 1 : end]]
        before = next((line for line in reversed(lines[:number]) if line.strip()), "")
        tag = TAG.match(before)
        content = "".join(line + "\n" for line in inside)
        found.append(Block(name_of_page, number + 1, opening["info"].strip(), tag and tag["name"], content))
        number = end + 1
    return found


def block(page: str, name: str) -> str:
    """The text of the code block that `<!-- test: name -->` marks."""
    found = [each.text for each in blocks(page) if each.name == name]
    if len(found) != 1:
        raise LookupError(f"{page} has {len(found)} code blocks with the tag <!-- test: {name} -->, not one")
    return found[0]


def prose(page: str) -> str:
    """The text of a page without its code blocks. Line numbers stay."""
    lines = text(page).splitlines()
    for each in blocks(page):
        end = each.line + each.text.count("\n") + 1
        lines[each.line - 1 : end] = [""] * (end - each.line + 1)
    return "\n".join(lines) + "\n"


def sentences(page: str) -> list[tuple[int, str]]:
    """The sentences of a page with their line numbers: of paragraphs, list items, table cells and headings. Code is "…"."""
    found: list[tuple[int, str]] = []
    for number, text in _paragraphs(page):
        text = re.sub(r"`[^`]*`", "…", text)
        text = re.sub(r"!?\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])", r"\1", text)
        for sentence in re.split(r"(?<=[.!?…])(?:[\"')*_]*)\s+(?=[A-Z0-9\"'(*\[…])", text):
            if sentence.strip():
                found.append((number, sentence.strip()))
    return found


def _paragraphs(page: str) -> list[tuple[int, str]]:
    """Paragraphs, list items, table cells and headings, each in one line, with the number of its first line."""
    found: list[tuple[int, str]] = []
    is_open = False
    content = re.sub(r"<!--.*?-->", lambda match: "\n" * match[0].count("\n"), prose(page), flags=re.DOTALL)
    for number, line in enumerate(content.splitlines(), 1):
        text = line.strip()
        if not text or re.match(r"\[[^\]]+\]: ", text):
            is_open = False
        elif text.startswith("|"):
            cells = [] if re.fullmatch(r"[\s|:-]+", text) else re.split(r"(?<!\\)\|", re.sub(r"`[^`]*`", "…", text))
            found += [(number, cell.strip()) for cell in cells]
            is_open = False
        elif match := re.match(r"(?:[-*+>]|\d+\.|#+)\s+(.*)", text):
            found.append((number, match[1]))
            is_open = not text.startswith("#")
        elif is_open:
            found[-1] = (found[-1][0], f"{found[-1][1]} {text}")
        else:
            found.append((number, text))
            is_open = True
    return found


def slug(heading: str) -> str:
    """A heading's anchor, as GitHub makes it."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading.strip().lower())
    return re.sub(r"[^\w -]", "", text).replace(" ", "-")


def anchors(page: str) -> set[str]:
    """All anchors of a page: of headings, numbered where several are alike, and of <a id>."""
    found: set[str] = set()
    for heading in re.findall(r"(?m)^#{1,6} +(.*?)#* *$", prose(page)):
        anchor, number = slug(heading), 0
        while (name := f"{anchor}-{number}" if number else anchor) in found:
            number += 1
        found.add(name)
    return found | set(re.findall(r'<a (?:id|name)="([^"]+)"', prose(page)))


def links(page: str) -> list[str]:
    """The targets of a page's links and images, but for those in code. A link may be broken over two lines."""
    content = re.sub(r"`[^`\n]*`", "", prose(page))
    inline = re.findall(r"\]\(\s*<?([^)>\s]+)>?(?:\s+\"[^\"]*\")?\s*\)", content)
    return inline + re.findall(r"(?m)^\[[^\]]+\]: +(\S+)", content) + re.findall(r'(?:src|href)="([^"]+)"', content)
