"""The documents: generated pages are current, links lead somewhere, code blocks work, and the text is plain.

Code that does something is run by tests of its own, which find it by the tag <!-- test: NAME --> before it."""

import ast
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from harness import documentation, shell_lines, written_configuration
from harness.deployment import checked
from harness.gateway import REPOSITORY, binary, check, gatehouse

PAGES = documentation.pages()
# Documents in the form of pages. README and those under .github have forms of their own.
DOCS = [page for page in PAGES if page.startswith("docs/")]
LONGEST = {"README.md": 250}
FORMS = {page: text for page in PAGES if not (text := documentation.text(page)).startswith("<!-- Generated")}


@pytest.fixture(scope="module")
def reference() -> dict:
    return json.loads(gatehouse("reference").stdout)


def each_block(*languages: str):
    blocks = [block for page in PAGES for block in documentation.blocks(page) if block.language in languages]
    return pytest.mark.parametrize("block", blocks, ids=str)


# MARK: Generated pages


def test_the_generated_pages_are_current():
    """After a change of the program or its words: docs/generate.py"""
    command = [sys.executable, str(REPOSITORY / "docs" / "generate.py"), "--check", "--binary", str(binary())]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr


def test_words_for_what_does_not_exist_are_an_error(reference):
    sys.path.insert(0, str(REPOSITORY / "docs"))
    from generator import markdown, reasons

    words = yaml.safe_load((REPOSITORY / "docs" / "reasons.yaml").read_text())
    reasons.pages(reference, words)
    for changed in (words[1:], [*words, {**words[0], "reasons": {"no-such-code": {"cause": "", "remedy": ""}}}], [*words, words[0]]):
        with pytest.raises(markdown.Mismatch):
            reasons.pages(reference, changed)


@pytest.mark.parametrize("description", ["", "Required", "Required.", "A section can replace true:"])
def test_a_key_without_a_meaning_is_an_error(description):
    sys.path.insert(0, str(REPOSITORY / "docs"))
    from generator import configuration, markdown

    schema = json.loads((REPOSITORY / "Config" / "gatehouse.schema.json").read_text())
    configuration.pages(schema)
    schema["properties"]["routes"]["items"]["properties"]["upstream"]["description"] = description
    with pytest.raises(markdown.Mismatch):
        configuration.pages(schema)


@pytest.mark.parametrize(
    ("text", "page"),
    [
        ("Its paths: apple, apple/nonce", "Its paths: apple, apple/nonce"),
        ("JSON lines: gatehouse, ecs", "JSON lines: gatehouse, ecs"),
        ("with mode: translate alone", "with `mode: translate` alone"),
        ("for remember_me: false", "for `remember_me: false`"),
    ],
)
def test_a_key_and_its_value_are_code(text, page):
    sys.path.insert(0, str(REPOSITORY / "docs"))
    from generator import markdown

    assert markdown.plain(text) == page


@pytest.mark.parametrize(
    ("description", "meaning"),
    [
        ("Required: the name of an issuer", "The name of an issuer."),
        ("Required, at most 16", "At most 16."),
        ("Required: postgresql://ROLE@HOST", "postgresql://ROLE@HOST."),
    ],
)
def test_the_meaning_of_a_required_key_begins_with_its_subject(description, meaning):
    sys.path.insert(0, str(REPOSITORY / "docs"))
    from generator import configuration

    assert configuration.key_row("a", "b", {"type": "string", "description": description}, True)[-1] == meaning


def test_the_fields_of_the_gateways_own_log_are_those_of_the_code():
    code = "".join(path.read_text() for path in (REPOSITORY / "Sources").rglob("*.swift") if "LocalPool" not in path.parts)
    texts, numbers = set(re.findall(r'"([a-z_]+)": "\\\(', code)), set(re.findall(r'"([a-z_]+)": \.stringConvertible\(', code))
    assert texts & numbers == set(), "a field is either a number or a text"
    assert (texts | numbers) & {"time", "type", "level", "message"} == set(), "a line has a field of this name"
    fields = texts | numbers | set(re.findall(r'metadata\["([a-z_]+)"\]', code))
    described = yaml.safe_load((REPOSITORY / "docs" / "log-fields.yaml").read_text())["application"]
    # The line's own, those that a reload sums changes up by, and those that a crash leaves.
    others = {"time", "type", "level", "message", "listeners", "upstreams", "routes", "settings", "secrets", "signal", "under_way"}
    assert set(described) - others == fields - others
    assert others - set(described) == set()


def test_the_environment_variables_are_those_of_the_code(reference):
    sources = [path for path in (REPOSITORY / "Sources").rglob("*.swift") if "GatehouseClient" not in path.parts]
    code = "".join(path.read_text() for path in sources if path.name != "EnvironmentVariable.swift")
    read = set(re.findall(r'(?:environment\[|value\(|variable = )"([A-Z][A-Z0-9_]+)"', code))
    assert read == {each["name"] for each in reference["environment_variables"]}


# MARK: Form


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_not_too_long(page):
    assert len(documentation.text(page).splitlines()) <= LONGEST.get(page, 300)


@pytest.mark.parametrize("page", DOCS)
def test_a_page_begins_with_its_title_and_says_what_it_is_for(page):
    title, first, *_ = [line for line in documentation.text(page).splitlines() if line and not line.startswith("<!--")]
    assert re.match(r"# \S", title)
    assert re.match(r"[A-Z`\[]", first), "a sentence follows the title"
    assert sum(line.startswith("# ") for line in documentation.prose(page).splitlines()) == 1
    assert re.fullmatch(r"(?:docs/(?:[a-z0-9-]+/)*)(?:[a-z0-9-]+|README)\.md", page)


@pytest.mark.parametrize("page", list(FORMS))
def test_prose_is_wrapped_at_120_columns(page):
    long = [
        number
        for number, line in enumerate(documentation.prose(page).splitlines(), 1)
        if len(line) > 120 and not re.match(r"\s*[|<!]|\[[^\]]+\]: ", line) and " " in re.sub(r"\]\([^)]*\)|<[^>]*>", "", line)[100:]
    ]
    assert not long


def test_every_page_is_in_the_table_of_contents():
    """There, or as part of a page that is there."""
    listed, new = set(), {"docs/README.md"}
    while new:
        listed |= new
        files = {file for page in new for link in documentation.links(page) if (file := linked(page, link))}
        parts = {str((file / "README.md" if file.is_dir() else file).relative_to(REPOSITORY)) for file in files}
        # Further pages of a reference, and parts of a page whose name begins like its name.
        new = {part for part in parts if new == {"docs/README.md"} or part.startswith(("docs/reference/", "docs/troubleshooting-"))}
        new = {part for part in new if part in DOCS} - listed
    assert set(DOCS) - listed == set()


def linked(page: str, target: str) -> Path | None:
    """The file in the repository that a link leads to."""
    name = target.partition("#")[0]
    if not name or re.match(r"[a-z]+:", name):
        return None
    file = ((REPOSITORY / page).parent / name).resolve()
    return file if file.is_relative_to(REPOSITORY) and file.exists() else None


# MARK: Links and names


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    broken = []
    for target in documentation.links(page):
        name, _, anchor = target.partition("#")
        if re.match(r"[a-z]+:", name):
            continue
        file = ((REPOSITORY / page).parent / name).resolve() if name else REPOSITORY / page
        if not file.exists():
            broken.append(target)
        elif anchor and file.suffix == ".md" and anchor not in documentation.anchors(str(file.relative_to(REPOSITORY))):
            broken.append(target)
    assert not broken


@pytest.mark.parametrize("page", PAGES)
def test_files_that_are_named_are_there(page):
    name = r"(?<![\w/.])((?:deploy|Config|Tests|Sources|docs|\.github)/[\w./-]*[\w-])"
    names = set(re.findall(name, documentation.prose(page)))
    # In code only files: deploy/gatehouse is also a deployment's name.
    code = "".join(block.text for block in documentation.blocks(page))
    names |= {each for each in re.findall(name, code) if "." in each.rsplit("/", 1)[-1]}
    assert not [each for each in sorted(names) if not (REPOSITORY / each).exists()]


@pytest.mark.parametrize("page", list(FORMS))
def test_commands_that_are_named_exist(page, reference):
    """In prose; those in code blocks are tested with them."""
    found = []
    for code in re.findall(r"`((?:sudo )?gatehouse [^`]*)`", documentation.prose(page)):
        for call in shell_lines.calls(code, reference["commands"]):
            call = [word for word in call if not re.fullmatch(r"[A-Z…<\[].*|…", word)]
            found.append(shell_lines.unknown(call, reference["commands"]))
    assert not list(filter(None, found))


def test_what_the_dashboards_and_alerts_name_is_there():
    for path in [*(REPOSITORY / "deploy" / "prometheus").glob("*.yaml"), *(REPOSITORY / "deploy" / "grafana").glob("*.json")]:
        for name, anchor in re.findall(r"((?:docs|deploy)/[\w./-]+\.md)(?:#([\w-]+))?", path.read_text()):
            assert (REPOSITORY / name).exists(), name
            assert not anchor or anchor in documentation.anchors(name), f"{name}#{anchor}"


# MARK: Code blocks

CHECKED = {"yaml", "sh", "python", "js", "go", "swift", "java", "ruby", "kotlin", "json", "http", "text", "mermaid"}


@pytest.mark.parametrize("page", PAGES)
def test_every_code_block_says_what_it_is(page):
    assert not [str(block) for block in documentation.blocks(page) if block.language not in CHECKED]
    names = [block.name for block in documentation.blocks(page) if block.name]
    assert len(names) == len(set(names))


def test_every_tag_is_one_that_a_test_runs():
    tests = "".join(path.read_text() for path in (REPOSITORY / "Tests" / "EndToEnd").rglob("*.py"))
    names = {block.name: str(block) for page in PAGES for block in documentation.blocks(page) if block.name}
    assert not [place for name, place in names.items() if not re.search(rf"""["']{re.escape(name)}["']""", tests)]


@each_block("yaml")
def test_configurations_are_good(block, tmp_path):
    document = list(yaml.safe_load_all(block.text))
    if "other" in block.info.split() or not any(document):
        return
    config = written_configuration.whole(document[0], tmp_path)
    path = tmp_path / "gatehouse.yaml"
    path.write_text(json.dumps(config, indent=2))
    result = check(path, written_configuration.environment(config))
    assert result.returncode == 0, result.stdout + result.stderr


@each_block("sh")
def test_shell_code_is_right(block, reference, tmp_path):
    path = tmp_path / "block.sh"
    path.write_text("#!/bin/bash\n" + block.text)
    checked("bash", "-n", path)
    if shutil.which("shellcheck"):
        checked("shellcheck", "--shell", "bash", "--severity", "error", path)
    problems = [shell_lines.unknown(call, reference["commands"]) for call in shell_lines.calls(block.text, reference["commands"])]
    assert not list(filter(None, problems))


@each_block("python")
def test_python_code_parses(block):
    ast.parse(block.text)


@each_block("js")
@pytest.mark.skipif(not shutil.which("node"), reason="no node")
def test_javascript_parses(block, tmp_path):
    path = tmp_path / ("block.mjs" if re.search(r"(?m)^(?:import|export) ", block.text) else "block.js")
    path.write_text(block.text)
    checked("node", "--check", path)


@each_block("swift")
@pytest.mark.skipif(not shutil.which("swiftc"), reason="no Swift compiler")
def test_swift_code_parses(block, tmp_path):
    path = tmp_path / "block.swift"
    path.write_text(block.text)
    checked("swiftc", "-frontend", "-parse", path)


@each_block("go")
@pytest.mark.skipif(not shutil.which("gofmt"), reason="no Go")
def test_go_code_parses(block, tmp_path):
    path = tmp_path / "block.go"
    path.write_text(block.text if re.search(r"(?m)^package ", block.text) else f"package block\n\n{block.text}")
    checked("gofmt", "-e", path)


@each_block("json")
def test_json_parses(block):
    json.loads(block.text)


@each_block("http")
def test_http_messages_have_their_form(block):
    """A request or a response: its first line, headers, and a body behind an empty line; several begin anew with one."""
    first = r"(?:(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS|CONNECT) \S+(?: HTTP/[\d.]+)?|HTTP/[\d.]+ \d{3}(?: .*)?)"
    for message in re.split(rf"\n\n(?={first}\n)", block.text.strip()):
        head, _, body = message.partition("\n\n")
        lines = head.splitlines()
        assert re.fullmatch(first, lines[0]), lines[0]
        assert all(re.fullmatch(r"[A-Za-z0-9-]+: \S.*", line) for line in lines[1:]), lines
        if body.lstrip().startswith(("{", "[")) and "…" not in body:
            json.loads(body)


# MARK: Language


@pytest.mark.parametrize("page", PAGES)
def test_sentences_are_short_and_begin_with_their_subject(page):
    sentences = documentation.sentences(page)
    assert not [f"{page}:{line}: {text}" for line, text in sentences if len(re.findall(r"[\w…]+", text)) > 40]
    assert not [f"{page}:{line}: {text}" for line, text in sentences if re.match(r"(?:What|Who|Whose)\b.*[.:]$", text)]


# MARK: Figures


@pytest.mark.parametrize("page", ["README.md", "docs/performance.md"])
def test_figures_of_comparisons_are_the_measured_ones(page):
    """Each number in a table with nginx, HAProxy or Envoy is in RESULTS.md, and the page names that file."""
    text = documentation.text(page)
    measured = set(re.findall(r"\d+(?:\.\d+)?", re.sub(r"(?<=\d)[ ,\u00a0\u202f](?=\d{3}\b)", "", (REPOSITORY / "deploy/loadtest/RESULTS.md").read_text())))
    tables = [table for table in re.findall(r"(?m)(?:^\|.*\n)+", text) if re.search(r"nginx|HAProxy|Envoy", table.splitlines()[0])]
    rows = [row for table in tables for row in table.splitlines()[2:]]
    cells = [cell.strip() for row in rows for cell in row.strip("|").split("|")[1:]]
    numbers = [number for cell in cells for number in re.findall(r"\d+(?:\.\d+)?", re.sub(r"(?<=\d)[ ,\u00a0\u202f](?=\d{3}\b)", "", cell))]
    assert not [number for number in numbers if number not in measured]
    assert not tables or "RESULTS.md" in text


# MARK: The readers of documents

PAGE = """# A title: `code` & more

Two sentences
here. And *another* one.

- An item with [a link](other.md#it "title")
  that goes on.

<!-- test: first -->
```python title
print("not prose")
```

   ~~~sh
   gatehouse check --config x \\
     --online
   ~~~

| key | meaning |
|---|---|
| `a|b` | One cell. Two sentences. |

## A title: `code` & more
"""


@pytest.fixture
def page(tmp_path, monkeypatch):
    monkeypatch.setattr(documentation, "REPOSITORY", tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "page.md").write_text(PAGE)
    return "docs/page.md"


def test_blocks_are_found_with_their_tags(page):
    first, second = documentation.blocks("page.md")
    assert (first.language, first.info, first.name, first.line) == ("python", "python title", "first", 10)
    assert documentation.block("page.md", "first") == 'print("not prose")\n'
    assert (second.language, second.name) == ("sh", None) and second.text.startswith("gatehouse check")
    with pytest.raises(LookupError):
        documentation.block(page, "second")
    assert "not prose" not in documentation.prose(page)
    assert len(documentation.prose(page).splitlines()) == len(PAGE.splitlines())


def test_sentences_links_and_anchors_are_found(page):
    texts = [text for _, text in documentation.sentences(page)]
    assert {"Two sentences here.", "And *another* one.", "An item with a link that goes on.", "One cell.", "Two sentences."} <= set(texts)
    assert documentation.links(page) == ["other.md#it"]
    assert documentation.anchors(page) == {"a-title-code--more", "a-title-code--more-1"}


COMMAND = {
    "commandName": "gatehouse",
    "subcommands": [
        {"commandName": "check", "arguments": [{"names": [{"kind": "long", "name": "online"}]}]},
        {"commandName": "keys", "subcommands": [{"commandName": "list"}]},
    ],
}


@pytest.mark.parametrize(
    "code, problem",
    [
        ("gatehouse check --online", None),
        ("sudo -u x gatehouse check --onlin", "gatehouse check has no option --onlin"),
        ("cat x | gatehouse keys rotate > y", "gatehouse keys has no command rotate"),
        ("docker exec gatehouse gatehouse keys list", None),
        ("docker exec gatehouse gatehouse check --offline", "gatehouse check has no option --offline"),
        ("systemctl restart gatehouse && journalctl -u gatehouse --since -1h", None),
        (".build/release/gatehouse frobnicate", "gatehouse has no command frobnicate"),
        ("gatehouse --generate-completion-script bash > x", None),
    ],
)
def test_calls_of_the_program_are_found(code, problem):
    problems = [shell_lines.unknown(call, COMMAND) for call in shell_lines.calls(code, COMMAND)]
    assert next(filter(None, problems), None) == problem
