"""deploy/release/documents.py: the documents of a release lead to each other and nowhere else."""

import posixpath
import re
import subprocess
import sys

import pytest
from harness.gateway import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "deploy" / "release"))
import documents  # noqa: E402

PLACES = {"README.md": "README.md", "docs/a.md": "docs/a.md", ".github/SECURITY.md": "SECURITY.md", "deploy/x/b.yaml": "deploy/x/b.yaml"}


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    directory = tmp_path_factory.mktemp("documents")
    subprocess.run([sys.executable, REPOSITORY / "deploy/release/documents.py", directory], check=True, timeout=60)
    return directory


def prose(text: str) -> str:
    return re.sub(r"(?ms)^ *(`{3,}|~{3,}).*?^ *\1`*$", "", text)


def anchors(text: str) -> set[str]:
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in re.findall(r"(?m)^#+ (.*)$", prose(text))}


@pytest.mark.parametrize(
    "source, text, expected",
    [
        ("docs/a.md", "see [it](../README.md#way)", "see [it](../README.md#way)"),
        ("docs/a.md", "see [it](../.github/SECURITY.md)", "see [it](../SECURITY.md)"),
        (".github/SECURITY.md", "see [it](../docs/a.md#x)", "see [it](docs/a.md#x)"),
        ("README.md", "see [the files](deploy/x)", "see [the files](deploy/x)"),
        ("README.md", "see [the `test`](Tests/t.py), and", "see the `test`, and"),
        ("README.md", "![a picture](docs/media/none.svg)", "a picture"),
        ("README.md", "[![a picture](docs/a.md)](docs/a.md)", "[![a picture](docs/a.md)](docs/a.md)"),
        ("README.md", "[over two\nlines](docs/none.md)", "over two\nlines"),
        ("README.md", "[far](https://example.com/x) [here](#b)", "[far](https://example.com/x) [here](#b)"),
        ("README.md", "```text\n[no](link)\n```\n[a](b)", "```text\n[no](link)\n```\na"),
    ],
)
def test_links_lead_to_where_a_release_has_their_targets(source, text, expected):
    assert documents.relinked(text, source, PLACES) == expected


def test_every_page_is_installed(installed):
    pages = {path.relative_to(REPOSITORY) for path in (REPOSITORY / "docs").rglob("*.md")}
    assert len(pages) > 10 and all((installed / page).is_file() for page in pages)
    assert (installed / "README.md").is_file() and (installed / "SECURITY.md").is_file()


def test_nothing_of_them_is_a_program(installed):
    files = [path for path in installed.rglob("*") if path.is_file()]
    assert {path.suffix for path in files} <= {".md", ".yaml", ".json", ".svg", ".png"}
    assert {path.stat().st_mode & 0o777 for path in files} == {0o644}


def test_links_of_the_installed_documents_lead_somewhere(installed):
    # Those that are dead in the repository as well are another test's to find.
    for document in installed.rglob("*.md"):
        for target in re.findall(r"\]\(([^)\s]+)\)", prose(document.read_text())):
            path, _, anchor = target.partition("#")
            if re.match(r"[a-z]+:", path):
                continue
            file = installed / posixpath.normpath(posixpath.join(document.relative_to(installed).parent.as_posix(), path)) if path else document
            assert file.exists(), f"{document.name}: {target}"
            assert not anchor or file.suffix != ".md" or anchor in anchors(file.read_text()), f"{document.name}: {target}"
