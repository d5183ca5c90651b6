"""User-visible text uses the field's words: help, messages, the dashboard, descriptions and documents."""

import re
from collections.abc import Iterator

import pytest
import yaml
from harness import documentation, vocabulary
from harness.gateway import REPOSITORY, gatehouse

SOURCES = REPOSITORY / "Sources"


def wrong(texts: Iterator[tuple[str, str]]) -> list[str]:
    return [f"{where}: {found}" for where, text in texts for found in vocabulary.denied(text)]


def swift_texts() -> Iterator[tuple[str, str]]:
    for path in sorted(SOURCES.rglob("*.swift")):
        for text in vocabulary.phrases(path.read_text()):
            yield str(path.relative_to(REPOSITORY)), text


def dashboard_texts() -> Iterator[tuple[str, str]]:
    for path in sorted((SOURCES / "Admin" / "Dashboard").iterdir()):
        if path.suffix == ".html":
            yield path.name, re.sub(r"<!--.*?-->|<[^>]*>", " ", path.read_text(), flags=re.DOTALL)
        elif path.suffix == ".js":
            code = re.sub(r"/\*.*?\*/|//[^\n]*", "", path.read_text(), flags=re.DOTALL)
            for match in re.finditer(r"""(["'`])((?:[^\\\n]|\\.)*?)\1""", code):
                if " " in match[2]:
                    yield path.name, re.sub(r"\$\{[^}]*\}", "…", match[2])


def helps(*command: str) -> Iterator[tuple[str, str]]:
    text = gatehouse(*command, "--help").stdout
    yield f"gatehouse {' '.join(command)} --help", " ".join(text.split())
    for name in re.findall(r"(?m)^  ([a-z][a-z-]*)(?:\s{2,}|$)", text.partition("SUBCOMMANDS:")[2]):
        yield from helps(*command, name)


def descriptions() -> Iterator[tuple[str, str]]:
    """The comments of shipped configurations, which are the schema's descriptions as well, and those of the APIs."""
    for name in ("Config/gatehouse.yaml", "Config/local-pool.yaml", "Config/quickstart.yaml", "deploy/debian/gatehouse.yaml"):
        yield name, "\n".join(re.findall(r"(?:^|\s)# ?(.*)$", (REPOSITORY / name).read_text(), re.MULTILINE))
    for path in sorted((REPOSITORY / "deploy").glob("openapi*.yaml")):
        for text in described(yaml.safe_load(path.read_text())):
            yield str(path.relative_to(REPOSITORY)), text


def described(value) -> Iterator[str]:
    if isinstance(value, dict):
        for key, each in value.items():
            if key in ("summary", "description", "title") and isinstance(each, str):
                yield re.sub(r"`[^`]*`", "…", each)
            else:
                yield from described(each)
    elif isinstance(value, list):
        for each in value:
            yield from described(each)


def documents() -> Iterator[tuple[str, str]]:
    for page in documentation.pages():
        for line, text in documentation.sentences(page):
            yield f"{page}:{line}", text


@pytest.mark.parametrize("texts", [swift_texts, dashboard_texts, helps, descriptions, documents], ids=lambda texts: texts.__name__)
def test_text_that_people_read_has_the_fields_words(texts):
    found = wrong(texts())
    assert not found, "\n".join(found)


def test_the_manual_has_the_fields_words():
    text = (REPOSITORY / "deploy" / "release" / "manual.py").read_text()
    assert not [found for literal in re.findall(r'"([^"\n]* [^"\n]*)"', text) for found in vocabulary.denied(literal)]


def test_texts_are_found_where_they_are():
    assert len(list(swift_texts())) > 400 and len(list(dashboard_texts())) > 50 and len(list(helps())) > 20
    assert "a token could not be sealed" in [text for _, text in swift_texts()]
    code = 'let a = "it \\(name(of: "x")) is held" // "told"\nlet b = """\n    a fault\n    """\nlet c = "kept"'
    assert [found for text in vocabulary.phrases(code) for found in vocabulary.denied(text)] == [
        "'held' (write stored, cached): it … is held",
        "'fault' (write error): a fault",
    ]


@pytest.mark.parametrize("text, count", [("The answer is yes.", 0), ("No answer came.", 1), ("Answer the challenge.", 0), ("either way", 0), ("the way to Cognito", 1), ("gateway", 0)])
def test_a_word_is_allowed_where_it_is_right(text, count):
    assert len(vocabulary.denied(text)) == count
