"""README, the pages for contributors, and the files by which a stranger joins: they are true, and what they name is there."""

import fnmatch
import importlib.util
import json
import re
import shutil
import ssl
import subprocess
import urllib.request
import xml.etree.ElementTree as tree
from pathlib import Path

import pytest
import yaml
from fastapi.testclient import TestClient
from harness import documentation
from harness.certificates import Authority
from harness.deployment import checked, tool
from harness.gateway import ADA, POOL_CLIENT_ID, POOL_CLIENT_SECRET, POOL_ID, REPOSITORY, Gateway, LocalPool
from harness.process import free_port

SOURCES = REPOSITORY / "Sources"
MEDIA = REPOSITORY / "docs" / "media"
WORKFLOWS = sorted((REPOSITORY / ".github" / "workflows").glob("*.yml"))
FORMS = [REPOSITORY / ".github" / "ISSUE_TEMPLATE" / f"{name}.yml" for name in ("bug", "feature")]
LOOPBACK = ("127.", "[::1]", "localhost", "unix:")


def text(name: str) -> str:
    return (REPOSITORY / name).read_text()


def rows(page: str, heading: str) -> list[list[str]]:
    """The cells of the first table below a heading, without its head."""
    section = page.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


# ---- README


def test_readme_is_short():
    assert text("README.md").count("\n") <= 250


def configuration(tmp_path: Path, pool: LocalPool, example: str, of: str) -> dict:
    """README's configuration as it stands, but for ports, directories, the pool's ids and where the pool is."""
    config = yaml.safe_load(of)
    config["admin"] = {"address": f"127.0.0.1:{free_port()}"}
    config["state_directory"] = str(tmp_path / "state")
    config["upstreams"]["api"]["url"] = example
    ids = {"user_pool_id": POOL_ID, "client_ids": [POOL_CLIENT_ID]}
    assert set(ids) <= set(config["issuers"]["pool"])
    config["issuers"]["pool"] |= pool.issuer_settings() | ids | {"token_uses": config["issuers"]["pool"]["token_uses"]}
    config["sign_in"]["cognito"] |= {"client_id": POOL_CLIENT_ID, "endpoint": pool.url, "allow_insecure_http": True}
    return config


def sign_in_and_call(base: str, context: ssl.SSLContext | None = None) -> dict:
    """The two calls that README shows."""

    def send(path: str, headers: dict, body: bytes | None = None) -> dict:
        request = urllib.request.Request(base + path, body, headers)
        with urllib.request.urlopen(request, timeout=20, context=context) as answer:
            return json.load(answer)

    login = documentation.blocks("README.md")
    call = next(block.text for block in login if "auth/login" in block.text and block.language == "sh")
    body = re.search(r"-d '(\{.*\})'", call)[1]
    assert json.loads(body) == {"email": ADA[0], "password": ADA[1]}
    tokens = send("/api/v1/auth/login", {"Content-Type": "application/json"}, body.encode())
    return send("/api/v1/whoami", {"Authorization": f"Bearer {tokens['access_token']}"})


def test_the_configuration_of_readme_runs_behind_loopback(tmp_path, pool, example, ledger):
    ledger.note(ADA[1], POOL_CLIENT_SECRET)
    config = configuration(tmp_path, pool, example, documentation.block("README.md", "configuration"))
    config["listeners"][0]["address"] = f"127.0.0.1:{free_port()}"
    gateway = Gateway(tmp_path, "gateway", config, {"COGNITO_CLIENT_SECRET": POOL_CLIENT_SECRET})
    try:
        assert sign_in_and_call(gateway.url)["identity"]["x-auth-subject"]
    finally:
        gateway.stop()


def test_the_configuration_of_readme_runs_with_tls(tmp_path, pool, example, ledger):
    """The commented lines in the place of the loopback address."""
    ledger.note(ADA[1], POOL_CLIENT_SECRET)
    shown = documentation.block("README.md", "configuration")
    loopback = re.search(r"  - address: 127\S+.*\n", shown)[0]
    address, tls = re.findall(r"    # ((?:address|tls): .*\n)", shown)
    config = configuration(tmp_path, pool, example, shown.replace(loopback, f"  - {address}    {tls}"))
    authority = Authority(tmp_path / "authority")
    issued = authority.issue("localhost")
    (listener,) = config["listeners"]
    certificate = listener["tls"]["certificates"][0]
    assert set(certificate) == {"certificate", "key"}
    certificate |= issued.settings()
    listener["address"] = f"{listener['address'].split(':')[0]}:{free_port()}"
    gateway = Gateway(tmp_path, "gateway", config, {"COGNITO_CLIENT_SECRET": POOL_CLIENT_SECRET})
    try:
        context = ssl.create_default_context(cafile=str(authority.pem))
        assert sign_in_and_call(f"https://localhost:{gateway.port}", context)["identity"]["x-auth-subject"]
    finally:
        gateway.stop()


def test_passwords_travel_in_plain_text_over_loopback_only():
    listeners = [
        listener
        for block in documentation.blocks("README.md")
        if block.info == "yaml"
        for listener in (yaml.safe_load(block.text) or {}).get("listeners", [])
    ]
    assert listeners
    assert all("tls" in each or each["address"].startswith(LOOPBACK) for each in listeners)
    urls = re.findall(r"http://([\w.\[\]:-]+)", "".join(each.text for each in documentation.blocks("README.md")))
    assert urls and all(url.startswith(LOOPBACK) for url in urls)


@pytest.mark.parametrize(
    "headers, status, subject",
    [({"X-Auth-Subject": "ada"}, 200, "ada"), ({"X-Auth-Subject": "%C3%A9"}, 200, "é"), ({}, 401, None)],
)
def test_the_backend_of_readme_reads_the_identity(headers, status, subject):
    names: dict = {}
    exec(compile(documentation.block("README.md", "backend"), "README.md", "exec"), names)
    answer = TestClient(names["app"]).get("/api/v1/orders", headers=headers)
    assert answer.status_code == status
    if subject:
        assert answer.json() == {"orders_of": subject}


# ---- The tables beside other proxies

PROXIES = ("nginx", "haproxy", "envoy", "gatehouse")


def results() -> dict[str, dict[str, str]]:
    """The figures of the last whole comparison: for each case and column, those of the four proxies."""
    comparison = text("deploy/loadtest/RESULTS.md").split("\n## Beside nginx, HAProxy and Envoy\n")[1].split("\n## ")[0]
    found: dict[str, dict[str, str]] = {}
    names = {"requests/s": 2, "99th percentile": 4, "CPU µs/request": 5}
    for line in re.findall(rf"^\| [\w-]+ \| (?:{'|'.join(PROXIES)}) \|.*$", comparison, re.MULTILINE):
        case, proxy, *_ = columns = [cell.strip() for cell in line.strip("|").split("|")]
        if len(columns) != 8:
            continue
        for name, number in names.items():
            found.setdefault(f"{case} {name}", {})[proxy] = columns[number]
    for label, rest in re.findall(r"^\| (idle[\w ]*), KiB \|(.*)\|$", comparison, re.MULTILINE):
        found[label] = dict(zip(PROXIES, (cell.strip() for cell in rest.split("|"))))
    return found


def test_the_figures_of_readme_are_measured():
    measured, shown = results(), rows(text("README.md"), "Cost")
    assert len(shown) >= 10
    for label, *figures in shown:
        case = re.search(r"\(`([\w-]+)`\)", label)
        key = next(key for key in ("requests/s", "99th percentile", "CPU µs/request", "idle") if key in label)
        name = f"{case[1]} {key}" if case else label.removesuffix(", KiB")
        assert [figure.strip("*") for figure in figures] == [measured[name][proxy] for proxy in PROXIES], label
        nginx, own = float(measured[name]["nginx"]), float(measured[name]["gatehouse"])
        loses = own < nginx / 1.1 if key == "requests/s" else own > nginx * 1.1
        assert figures[3].startswith("**") == loses, f"{label}: bold is what loses by more than a tenth"


def test_what_loses_is_told():
    measured = results()
    losing = {
        name
        for name, figures in measured.items()
        if "CPU" in name and float(figures["gatehouse"]) > 1.5 * float(figures["nginx"])
    }
    cost = text("README.md").split("\n## Cost\n")[1].split("\n## ")[0]
    assert losing and all(f"`{name.split()[0]}`" in cost for name in losing)
    for figure in re.findall(r"([\d.]+) times", cost):
        assert re.search(rf"\*\*{re.escape(figure)} × nginx\*\*", text("deploy/loadtest/RESULTS.md")), figure


def test_claims_about_peers_are_cited():
    readme = text("README.md")
    defined = dict(re.findall(r"^\[([\w-]+)\]: (\S+)$", readme, re.MULTILINE))
    used = set(re.findall(r"\]\[([\w-]+)\]", readme))
    assert used == set(defined)
    assert all(link.startswith("https://") for link in defined.values())
    table = rows(readme, "Compared with other proxies")
    assert all(len(cells) == 8 for cells in table)
    for feature, _, *peers in table:
        assert all(cell in ("", "no") or "][" in cell for cell in peers), f"{feature}: cite what says so"


# ---- Pictures


@pytest.mark.parametrize("name, limit", [("dashboard.png", 250_000), ("quickstart.svg", 100_000)])
def test_pictures_are_small_and_shown(name, limit):
    assert 1000 < (MEDIA / name).stat().st_size <= limit
    assert f"(docs/media/{name})" in text("README.md")


def test_the_screenshot_is_a_picture():
    data = (MEDIA / "dashboard.png").read_bytes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n") and data.endswith(b"IEND\xaeB`\x82")
    assert int.from_bytes(data[16:20]) >= 1000


def test_the_recording_shows_what_the_quickstart_says():
    root = tree.fromstring((MEDIA / "quickstart.svg").read_bytes())
    shown = "\n".join("".join(element.itertext()) for element in root.iter("{http://www.w3.org/2000/svg}text"))
    # With --once it ends where it would go on for readers to try.
    script = text("deploy/quickstart.sh").partition("\n    exit 0\nfi\n")[0]
    headlines = re.findall(r'^\s*headline "([^"$]+)"$', script, re.MULTILINE)
    steps = re.findall(r'^shows "([^"$]+)"', script, re.MULTILINE)
    assert len(headlines) >= 8 and len(steps) >= 15
    position = 0
    for headline in headlines:
        position = shown.index(headline, position)
    assert [step for step in steps if f"{step}: " not in shown] == []
    # Pictures run nothing, and load nothing.
    names = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert names <= {"svg", "title", "desc", "style", "rect", "circle", "text", "tspan", "g"}
    assert not re.search(r"url\(|@import|href|javascript:", (MEDIA / "quickstart.svg").read_text())


def recording():
    specification = importlib.util.spec_from_file_location("recording", MEDIA / "recording.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_a_recording_keeps_lines_in_order_and_every_text():
    module = recording()
    long = "       " + "word " * 40
    told = [(0.0, "\x1b[1mone\x1b[0m"), (0.1, "   \x1b[32mok\x1b[0m  <&> \"é\": 1"), (9.0, long)]
    told += [(9.1, f"line {number}") for number in range(60)]
    lines = [part for at, line in told for part in module.wrapped(module.Line(at, module.styled(line)))]
    assert lines[0].parts == [("one", "bold")] and lines[1].parts[1] == ("ok", "green")
    assert all(len(line.text) <= module.COLUMNS for line in lines)
    told_words = re.sub(r"\x1b\[\d+m", "", " ".join(line for _, line in told)).split()
    assert " ".join(line.text for line in lines).split() == told_words
    times = module.schedule(lines)
    assert times == sorted(times) and max(b - a for a, b in zip(times, times[1:])) <= module.LONGEST + 0.01
    root = tree.fromstring(module.svg(lines))
    assert '<&> "é": 1' in "".join(root.itertext())


def test_the_script_for_pictures_passes_shellcheck_and_takes_their_names_only():
    checked(tool("shellcheck"), "--external-sources", "--source-path", REPOSITORY, MEDIA / "make.sh")
    result = subprocess.run(["bash", MEDIA / "make.sh", "portrait"], capture_output=True, text=True, timeout=60)
    assert result.returncode != 0 and "portrait" in result.stderr


# ---- Architecture and glossary

DECLARATION = re.compile(r"\b(?:class|struct|enum|protocol|actor|typealias)\s+(\w+)")
MEMBER = re.compile(r"\b(?:func|case|var|let)\s+(\w+)")


def module_directory(module: str) -> Path:
    return SOURCES / {"Cryptography": "Crypto"}.get(module, module)


def declared(directory: Path) -> tuple[set[str], set[str]]:
    """The types and the members that the Swift files of a directory declare."""
    code = "\n".join(path.read_text() for path in directory.rglob("*.swift"))
    return set(DECLARATION.findall(code)), set(MEMBER.findall(code)) | {"init"}


def test_every_module_is_in_the_architecture_page_with_types_of_its_own():
    table = rows(text("docs/architecture.md"), "Modules")
    named = [module for cells in table for module in re.findall(r"`(\w+)`", cells[0])]
    assert sorted(named) == sorted({path.name for path in SOURCES.iterdir()} - {"Crypto"} | {"Cryptography"})
    for modules, _, beginnings in table:
        directories = [module_directory(name) for name in re.findall(r"`(\w+)`", modules)]
        types = set().union(*(declared(directory)[0] for directory in directories))
        beginnings = re.findall(r"`(\w+)`", beginnings)
        assert beginnings or not any(any(directory.rglob("*.swift")) for directory in directories)
        assert [name for name in beginnings if name not in types] == [], modules


def test_the_jobs_of_modules_are_those_that_package_swift_allows():
    """The path that the page draws is a path of imports."""
    package = text("Package.swift")

    def imports(module: str) -> set[str]:
        (declaration,) = re.findall(rf'\.target\(\s*name: "{module}",(.*?)swiftSettings', package, re.DOTALL)
        return set(re.findall(r'"(\w+)"', declaration))

    assert {"Listener", "Pipeline", "Accounts", "Sessions", "Upstream"} <= imports("Proxy")
    assert not {"Proxy", "Listener", "Upstream", "Store"} & imports("Pipeline")
    for cells in rows(text("docs/architecture.md"), "Modules"):
        for module in re.findall(r"`(\w+)`", cells[0]):
            assert f'name: "{module}"' in package, module


# Names in diagrams that are the world's and not the gateway's.
FOREIGN = {"Client", "Backend", "App", "Cognito", "SECRET_HASH", "POST", "HTTPRequest", "HTTPRequestPart", "InitiateAuth"}


def test_diagrams_and_prose_name_what_is_in_the_sources():
    page = text("docs/architecture.md")
    types, members = declared(SOURCES)
    modules = {path.name for path in SOURCES.iterdir()} | {"Cryptography"}
    diagrams = [block.text for block in documentation.blocks("architecture.md") if block.language == "mermaid"]
    assert len(diagrams) == 2
    for diagram in diagrams:
        aliases = dict(re.findall(r"^ +participant (\w+) as (\w+)$", diagram, re.MULTILINE))
        actors = set(re.findall(r"^ +participant (\w+)$", diagram, re.MULTILINE)) | set(aliases.values())
        unknown = {name for name in actors if name not in types | FOREIGN}
        unknown |= {name for name in re.findall(r"\b[A-Z][a-z]+[A-Z]\w*\b|\bHTTP\w+\b", diagram) if name not in types | FOREIGN}
        assert unknown == set()
        # Mermaid takes them for its own words, in any case of letters.
        assert not {name.lower() for name in actors | set(aliases)} & {"loop", "alt", "opt", "par", "end", "note", "box", "break"}
        sent = set(re.findall(r"^ +(\w+)--?>>(?:\w+)", diagram, re.MULTILINE)) | set(re.findall(r"--?>>(\w+):", diagram))
        assert sent <= actors | set(aliases)
        called = re.findall(r"\b([a-z]\w*)\(", diagram) + re.findall(r"\b[A-Z]\w+\.([a-z]\w*)", diagram)
        assert [name for name in called if name not in members] == []
    for name in re.findall(r"`([A-Z]\w+)`", documentation.prose("architecture.md")):
        assert name in types | modules | {"Sources"}, name
    for owner, member in re.findall(r"`([A-Z]\w+)\.([a-z]\w+)`", page):
        assert f"{owner}.{member}" == "Package.swift" or owner in types and member in members, f"{owner}.{member}"


def test_the_glossary_is_in_order_and_explains_each_term_once():
    entries = re.findall(r"^\| ([\w -]+) \| (.+) \|$", text("docs/glossary.md"), re.MULTILINE)
    terms = [term for term, _ in entries if term not in ("term",)]
    assert len(terms) >= 40 and terms == sorted(terms, key=str.casefold) and len(set(terms)) == len(terms)
    assert all(meaning.endswith(".") for term, meaning in entries if term != "term")


# ---- The change log


def test_the_change_log_has_its_form():
    log = text("CHANGELOG.md")
    versions = re.findall(r"^## (.*)$", log, re.MULTILINE)
    assert versions[0] == "[Unreleased]"
    assert all(re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", version) for version in versions[1:])
    kinds = re.findall(r"^### (.*)$", log, re.MULTILINE)
    assert kinds and set(kinds) <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    version = re.search(r'current = "([\d.]+)"', text("Sources/Telemetry/Version.swift"))[1]
    assert version in log
    tags = subprocess.run(["git", "tag", "--list", "v*"], cwd=REPOSITORY, capture_output=True, text=True).stdout.split()
    assert all(f"## [{tag.removeprefix('v')}] - " in log for tag in tags)


# ---- Workflows and templates


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_have_their_schema_and_their_commands_pass_shellcheck(path, tmp_path):
    checked(tool("check-jsonschema"), "--builtin-schema", "vendor.github-workflows", path)
    jobs = yaml.safe_load(path.read_text())["jobs"]
    for name, job in jobs.items():
        assert set(job.get("needs", "").split()) <= set(jobs)
        for number, step in enumerate(job["steps"]):
            assert ("uses" in step) != ("run" in step), f"{name}: step {number}"
            # Actions by a version, never by a branch.
            assert re.fullmatch(r"actions/[\w-]+@v\d+", step.get("uses", "actions/none@v0"))
            script = tmp_path / f"{name}-{number}.sh"
            script.write_text(step.get("run", ""))
            checked(tool("shellcheck"), "--shell", "sh", script)


def test_workflows_run_what_is_there_with_few_rights():
    assert [path.name for path in WORKFLOWS] == ["client.yml", "release.yml", "tests.yml"]
    image = re.search(r"FROM (swift:\S+) AS build", text("deploy/Dockerfile"))[1]
    for path in WORKFLOWS:
        workflow = yaml.safe_load(path.read_text())
        assert workflow["permissions"] == {"contents": "read"}
        on_linux = path.name != "client.yml"
        assert re.findall(r"swift:[\w.-]+", path.read_text()) == ([image] if on_linux else [])
        assert all("timeout-minutes" in job for job in workflow["jobs"].values())
        commands = "\n".join(step.get("run", "") for job in workflow["jobs"].values() for step in job["steps"])
        # No command contains what an event says.
        assert "${{" not in commands
        scripts = re.findall(r"\b(deploy/\w+\.sh)((?: --\w+)*)", commands)
        assert bool(scripts) == on_linux
        for script, options in scripts:
            assert all(f"{option})" in text(script) for option in options.split()), f"{script} {options}"


def test_the_clients_workflow_builds_the_documented_code(tmp_path):
    """As far as that needs no Apple system: test_documentation_client.py compiles and runs the same code."""
    workflow = yaml.safe_load(text(".github/workflows/client.yml"))
    extract = next(step["run"] for step in workflow["jobs"]["apple"]["steps"] if step.get("name", "").startswith("Extract"))
    (tmp_path / "Tests").symlink_to(REPOSITORY / "Tests")
    subprocess.run(["sh", "-e", "-c", extract], cwd=tmp_path, check=True)
    assert (tmp_path / "GatehouseClient.swift").read_text().strip() == documentation.block("swift-client.md", "client").strip()


def test_a_tag_that_is_not_the_version_releases_nothing(tmp_path):
    workflow = yaml.safe_load(text(".github/workflows/release.yml"))
    steps = workflow["jobs"]["build"]["steps"]
    comparison = next(step["run"] for step in steps if step.get("name", "").startswith("Compare"))
    version = re.search(r'current = "([\d.]+)"', text("Sources/Telemetry/Version.swift"))[1]
    (tmp_path / "Sources/Telemetry").mkdir(parents=True)
    shutil.copy(SOURCES / "Telemetry/Version.swift", tmp_path / "Sources/Telemetry")

    def compare(tag: str, log: str) -> int:
        (tmp_path / "CHANGELOG.md").write_text(log)
        environment = {"PATH": "/usr/bin:/bin", "GITHUB_REF_NAME": tag}
        return subprocess.run(["sh", "-e", "-c", comparison], cwd=tmp_path, env=environment, capture_output=True).returncode

    log = f"## [{version}] - 2026-12-01\n"
    assert compare(f"v{version}", log) == 0
    assert compare("v9.9.9", log) != 0 and compare(f"v{version}", "## [Unreleased]\n") != 0


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.name)
def test_issue_forms_have_their_schema(path):
    checked(tool("check-jsonschema"), "--builtin-schema", "vendor.github-issue-forms", path)


def test_the_issue_chooser_has_its_schema():
    path = REPOSITORY / ".github" / "ISSUE_TEMPLATE" / "config.yml"
    checked(tool("check-jsonschema"), "--builtin-schema", "vendor.github-issue-config", path)
    assert {each.name for each in path.parent.iterdir()} == {"config.yml", *(form.name for form in FORMS)}


def test_yaml_of_the_repository_passes_yamllint():
    checked(tool("yamllint"), "--strict", "-d", YAMLLINT, REPOSITORY / ".github")


# As deploy/yamllint.yaml, but for the key `on` of workflows.
YAMLLINT = "{extends: default, rules: {line-length: {max: 170}, document-start: disable, truthy: {check-keys: false}}}"


def test_contributing_names_what_is_there():
    page = text("CONTRIBUTING.md")
    for name in set(re.findall(r"(?<![\w/.])((?:deploy|docs|Config|Tests|Sources)/[\w./-]+)", page)):
        assert (REPOSITORY / name).exists(), name
    for target in re.findall(r"--filter (\w+)", page):
        assert (REPOSITORY / "Tests" / target).is_dir()
    for name in re.findall(r"pytest -q (\w+\.py)", page):
        assert (REPOSITORY / "Tests" / "EndToEnd" / name).exists()


def test_the_development_container_has_what_the_quickstart_needs():
    container = json.loads(text(".devcontainer/devcontainer.json"))
    assert f"FROM {container['image']} AS build" in text("deploy/Dockerfile")
    *_, command = container["onCreateCommand"]
    checked("bash", "-n", "-c", command)
    needed = re.search(r"^ *need_packages (.*-dev .*)$", text("deploy/quickstart.sh"), re.MULTILINE)[1].split()
    assert set(needed) <= set(command.split())
    settings = container["customizations"]["vscode"]["settings"]["yaml.schemas"]
    assert all((REPOSITORY / name).exists() for name in settings)


# ---- .editorconfig


def editor_rules() -> list[tuple[str, dict[str, str]]]:
    sections, rules = re.split(r"(?m)^\[(.+)\]$", text(".editorconfig")), []
    for pattern, body in zip(sections[1::2], sections[2::2]):
        lines = [line for line in body.splitlines() if "=" in line and not line.startswith("#")]
        rules.append((pattern, dict(tuple(part.strip() for part in line.split("=", 1)) for line in lines)))
    return rules


def expanded(pattern: str) -> list[str]:
    """A pattern for each of the alternatives in braces."""
    found = re.search(r"\{([^{}]*)\}", pattern)
    if not found:
        return [pattern]
    return [each for part in found[1].split(",") for each in expanded(pattern.replace(found[0], part, 1))]


def test_the_repositorys_files_are_as_editorconfig_says():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=REPOSITORY, capture_output=True, text=True)
    if listed.returncode != 0:
        pytest.skip("no repository")
    rules = editor_rules()
    wrong = []
    for name in filter(None, listed.stdout.split("\0")):
        path = REPOSITORY / name
        if not path.is_file():
            continue
        data = path.read_bytes()
        if b"\0" in data:
            continue
        rule: dict[str, str] = {}
        for pattern, values in rules:
            if any(fnmatch.fnmatch(name, each) or fnmatch.fnmatch(path.name, each) for each in expanded(pattern)):
                rule |= values
        if rule["end_of_line"] == "lf" and b"\r\n" in data:
            wrong.append(f"{name}: CRLF")
        if rule["insert_final_newline"] == "true" and data and not data.endswith(b"\n"):
            wrong.append(f"{name}: no newline at its end")
        if rule["trim_trailing_whitespace"] == "true" and re.search(rb"[ \t]+$", data, re.MULTILINE):
            wrong.append(f"{name}: space at a line's end")
    assert wrong == []


# ---- The licence


def test_one_place_says_that_there_is_no_licence_yet():
    """The owner chooses it; README's last section says so, and no file grants anything."""
    readme = text("README.md")
    assert readme.count("\n## Licence\n") == 1 and readme.split("\n## ")[-1].startswith("Licence\n")
    assert not list(REPOSITORY.glob("LICEN*")) and not list(REPOSITORY.glob("COPYING*"))
    said = re.compile(r"(?i)\blicen[cs]e\b.{0,40}\b(?:chosen|chooses|granted)\b")
    assert [page for page in documentation.pages() if said.search(documentation.text(page))] == []
