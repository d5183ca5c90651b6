"""Installs the documentation as a release has it: documents.py DIRECTORY.

README.md, SECURITY.md and docs/ with their pictures, and the files of deploy/ that they describe. They stand to each other
as in the repository, but for SECURITY.md, which is in .github there, and examples. A link to what no release has, such as
a test, becomes its text.
"""

import os
import posixpath
import re
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
# In the repository, and in a release where that differs.
FILES = {
    "README.md": "README.md",
    "CHANGELOG.md": "CHANGELOG.md",
    ".github/SECURITY.md": "SECURITY.md",
    "Config/gatehouse.yaml": "examples/gatehouse.yaml",
    "Config/local-pool.yaml": "examples/local-pool.yaml",
}
PATTERNS = (
    "docs/**/*.md",
    "docs/media/*.svg",
    "docs/media/*.png",
    "deploy/openapi*.yaml",
    "deploy/prometheus/gatehouse.rules.yaml",
    "deploy/grafana/gatehouse.json",
    "deploy/kubernetes/*.yaml",
    "deploy/ecs/gatehouse.yaml",
    "deploy/loadtest/*.md",
)
FENCE = re.compile(r"^ *(`{3,}|~{3,})")
LINK = re.compile(r"(?P<picture>!?)\[(?P<text>(?:[^\[\]]|\[[^\[\]]*\])*)\]\(\s*(?P<target>[^()\s]+)\s*\)")


def shipped() -> dict[str, str]:
    """The place of each file in a release, by its path in the repository."""
    found = {source: place for source, place in FILES.items() if (REPOSITORY / source).is_file()}
    for pattern in PATTERNS:
        for path in sorted(REPOSITORY.glob(pattern)):
            name = path.relative_to(REPOSITORY).as_posix()
            found[name] = name
    return found


def place_of(target: str, places: dict[str, str]) -> str | None:
    """Where a release has a file, or a directory with files of its own; None if nowhere."""
    if target in places:
        return places[target]
    inside = [(source, place) for source, place in places.items() if source.startswith(f"{target}/")]
    return target if inside and all(source == place for source, place in inside) else None


def relinked(text: str, source: str, places: dict[str, str]) -> str:
    """A document's text, whose links lead to where a release has their targets."""

    def link(found: re.Match) -> str:
        path, mark, anchor = found["target"].partition("#")
        if not path or re.match(r"[a-z]+:", path):
            return found[0]
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        place = place_of(target, places)
        if place is None:
            return found["text"]
        leads = posixpath.relpath(place, posixpath.dirname(places[source]) or ".")
        return f"{found['picture']}[{found['text']}]({leads}{mark}{anchor})"

    parts, prose, fence = [], [], None
    for line in text.splitlines(keepends=True):
        opening = FENCE.match(line)
        if fence is None and not opening:
            prose.append(line)
            continue
        # A link may be broken over lines, so prose is looked at as a whole.
        parts += [LINK.sub(link, "".join(prose)), line]
        prose = []
        if fence is None:
            fence = opening[1]
        elif line.strip().startswith(fence) and not line.strip().strip(fence[0]):
            fence = None
    return "".join([*parts, LINK.sub(link, "".join(prose))])


def main(directory: Path) -> None:
    places = shipped()
    for source, place in places.items():
        content = (REPOSITORY / source).read_bytes()
        if source.endswith(".md"):
            content = relinked(content.decode(), source, places).encode()
        target = directory / place
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        os.chmod(target, 0o644)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
