"""`gatehouse audit-app`: what an app's CI runs."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from harness.gateway import binary, gatehouse
from harness.sanitizer import PATIENCE, SANITIZER
from pydantic_sarif.model import StaticAnalysisResultsFormatSarifVersion210JsonSchema as SARIF

CALL = "let result = try await Amplify.Auth.signIn(username: name, password: password)\n"
HOST = 'let host = "https://cognito-idp.eu-west-1.amazonaws.com/"\n'


@pytest.fixture
def app(tmp_path: Path) -> Path:
    tree = tmp_path / "app"
    write(tree / "App" / "Session.swift", "import Amplify\n" + CALL)
    write(tree / "package.json", '{ "dependencies": { "aws-amplify": "^6.0.0" } }\n')
    write(tree / "AppTests" / "SessionTests.swift", CALL)
    return tree


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def report(*arguments: str | Path) -> dict:
    return json.loads(gatehouse("audit-app", "--json", *arguments).stdout)


def places(document: dict) -> list[tuple]:
    return [(each["severity"], each["rule"], each["path"], each["line"]) for each in document["findings"]]


FOUND = [
    ("error", "amplify-auth", "App/Session.swift", 2),
    ("note", "amplify-auth", "AppTests/SessionTests.swift", 1),
    ("warning", "cognito-dependency", "package.json", 1),
]


def test_a_finding_names_place_rule_and_replacement(app):
    result = gatehouse("audit-app", app)
    assert result.returncode == 1 and result.stderr == ""
    lines = result.stdout.splitlines()
    assert lines[0] == "App/Session.swift:2:24: error: calls Amplify's Auth category: Amplify.Auth.signIn [amplify-auth]"
    assert lines[1] == "  instead: signIn(_:password:factor:rememberMe:clientMetadata:) of GatehouseClient (POST /api/v1/auth/login)"
    assert lines[2].startswith("AppTests/SessionTests.swift:1:24: note: ") and "(test)" in lines[2]
    assert lines[-1] == "3 files read: 1 error, 1 warning, 1 note"


def test_json_has_the_same_findings(app):
    document = report(app)
    assert places(document) == FOUND
    assert document["good"] is False
    assert (document["files"], document["errors"], document["warnings"], document["notes"]) == (3, 1, 1, 1)
    first = document["findings"][0]
    assert first["name"] == "Amplify.Auth.signIn" and first["replacement"].endswith("(POST /api/v1/auth/login)")
    assert len(first["fingerprint"]) == 16


def test_an_app_that_calls_the_gateway_alone_is_good(tmp_path):
    write(tmp_path / "Gateway.swift", 'let url = "https://api.example.com/api/v1/auth/login"\n')
    result = gatehouse("audit-app", tmp_path)
    assert (result.returncode, result.stdout) == (0, "1 file read: 0 errors, 0 warnings, 0 notes\n")


@pytest.mark.parametrize(
    ("name", "text", "weight", "status"),
    [
        ("A.swift", CALL, "error", 1),
        ("A.swift", CALL, "warning", 1),
        ("package.json", '{ "dependencies": { "aws-amplify": "6" } }\n', "error", 0),
        ("package.json", '{ "dependencies": { "aws-amplify": "6" } }\n', "warning", 1),
        ("A.swift", f"// {CALL}", "warning", 0),
    ],
)
def test_fail_on_decides_the_status(tmp_path, name, text, weight, status):
    write(tmp_path / name, text)
    assert gatehouse("audit-app", "--fail-on", weight, tmp_path).returncode == status


def test_sarif_has_rules_relative_places_and_fingerprints(app):
    result = gatehouse("audit-app", "--sarif", app)
    assert result.returncode == 1
    document = json.loads(result.stdout)
    assert document["version"] == "2.1.0" and document["$schema"].endswith("sarif-schema-2.1.0.json")
    [run] = document["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules)
    assert all(rule["shortDescription"]["text"] and rule["defaultConfiguration"]["level"] in ("error", "warning") for rule in rules)
    assert run["invocations"][0]["executionSuccessful"] is True
    found = []
    for each in run["results"]:
        place = each["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uriBaseId"] == "%SRCROOT%"
        assert each["ruleId"] in {rule["id"] for rule in rules} and each["message"]["text"]
        assert each["suppressions"] == []
        found.append((each["level"], each["ruleId"], place["artifactLocation"]["uri"], place["region"]["startLine"]))
    assert found == FOUND
    fingerprints = [each["partialFingerprints"]["gatehouse/v1"] for each in run["results"]]
    assert fingerprints == [each["fingerprint"] for each in report(app)["findings"]]


def test_sarif_is_valid_against_its_schema(app, tmp_path):
    """With findings, known findings, files that were not read, and places without a line."""
    known = tmp_path / "known.json"
    assert gatehouse("audit-app", "--write-baseline", known, app).returncode == 0
    write(app / "Later.swift", HOST)
    write(app / "amplifyconfiguration.json", "{}")
    (app / "Info.plist").write_bytes(b"bplist00 and nothing that belongs there")
    (app / "broken.apk").write_bytes(b"PK")
    for options in ([], ["--baseline", known]):
        text = gatehouse("audit-app", "--sarif", *options, app).stdout
        document = SARIF.model_validate_json(text)
        assert len(document.runs[0].results) == 5
        assert len(document.runs[0].invocations[0].toolExecutionNotifications) == 2
    # The classes refuse what the schema does.
    wrong = json.loads(text)
    wrong["runs"][0]["results"][0]["level"] = "bad"
    with pytest.raises(ValueError):
        SARIF.model_validate(wrong)


@pytest.mark.skipif(bool(SANITIZER) or "debug" in str(binary()), reason="says nothing of a build that is not optimised")
def test_100_000_files_take_two_processors_less_than_10_seconds(tmp_path):
    """Processor time for each file of 3 KB, since other work on the machine does not change it."""
    files = 5000
    source = "".join(f"func step{line}(_ value: Int) -> String {{ \"\\(value + {line})\" }}  // {line}\n" for line in range(50))
    for number in range(files):
        write(tmp_path / f"m{number % 50}" / f"A{number}.{('swift', 'kt', 'ts', 'dart')[number % 4]}", source)
    child = subprocess.Popen([str(binary()), "audit-app", "--json", str(tmp_path)], stdout=subprocess.PIPE)
    document = json.loads(child.stdout.read())
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0 and document["files"] == files
    assert (usage.ru_utime + usage.ru_stime) / files < 2 * 10 / 100_000 * PATIENCE


def test_a_baseline_leaves_new_findings_only(app, tmp_path):
    known = tmp_path / "known.json"
    result = gatehouse("audit-app", "--write-baseline", known, app)
    assert result.returncode == 0 and f"written to {known}" in result.stdout
    result = gatehouse("audit-app", "--fail-on", "warning", "--baseline", known, app)
    assert (result.returncode, result.stdout) == (0, "3 files read: 0 errors, 0 warnings, 0 notes; 3 known\n")
    # A line that moves stays known; another one is new.
    write(app / "App" / "Session.swift", "import Amplify\nimport Foundation\n\n" + CALL + HOST)
    document = report("--baseline", known, app)
    assert places(document) == [("error", "cognito-host", "App/Session.swift", 5)] and document["known"] == 3
    results = json.loads(gatehouse("audit-app", "--sarif", "--baseline", known, app).stdout)["runs"][0]["results"]
    assert [len(each["suppressions"]) for each in results] == [0, 1, 1, 1]


def test_the_audits_own_files_may_lie_in_the_tree(app):
    """As docs/audit-app.md shows it: the baseline is committed beside the sources."""

    def audit(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(binary()), "audit-app", *arguments, "."]
        return subprocess.run(command, cwd=app, env=os.environ, capture_output=True, text=True, timeout=60)

    write(app / "Host.swift", HOST)
    for _ in range(2):
        assert audit("--write-baseline", "audit-known.json").returncode == 0
        result = audit("--fail-on", "warning", "--baseline", "audit-known.json")
        assert (result.returncode, result.stdout) == (0, "4 files read: 0 errors, 0 warnings, 0 notes; 4 known\n")
    write(app / "report.json", audit("--json").stdout)
    assert audit("--fail-on", "warning", "--baseline", "audit-known.json").returncode == 0


def test_ignored_files_are_counted_and_read_if_asked_for(app):
    write(app / ".gitignore", "amplifyconfiguration.json\n")
    write(app / "amplifyconfiguration.json", "{}\n")
    write(app / "Pods" / "Some" / "A.swift", CALL)
    result = gatehouse("audit-app", app)
    assert "2 left out by .gitignore or as a build directory; --include-ignored reads them" in result.stdout
    paths = {each["path"] for each in report("--include-ignored", app)["findings"]}
    assert {"amplifyconfiguration.json", "Pods/Some/A.swift"} < paths


def test_a_custom_domain_is_an_error(tmp_path):
    write(tmp_path / "A.kt", 'val page = "https://auth.example.com/login"\n')
    assert report(tmp_path)["findings"] == []
    assert places(report("--domain", "auth.example.com", tmp_path)) == [("error", "custom-domain", "A.kt", 1)]


def test_one_file_can_be_audited(app):
    assert places(report(app / "App" / "Session.swift")) == [("error", "amplify-auth", "Session.swift", 2)]


def test_a_file_that_cannot_be_read_fails_the_audit(tmp_path):
    (tmp_path / "Info.plist").write_bytes(b"bplist00 and nothing that belongs there")
    result = gatehouse("audit-app", tmp_path)
    assert result.returncode == 1 and "Info.plist: is damaged" in result.stdout
    document = report(tmp_path)
    assert document["good"] is False and document["not_read"] == [{"path": "Info.plist", "reason": "is damaged"}]


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("/nowhere/app",),
        ("--fail-on", "note", "."),
        ("--json", "--sarif", "."),
        ("--baseline", "/nowhere/known.json", "."),
        ("--baseline", "a", "--write-baseline", "b", "."),
        ("--domain", "example", "."),
        ("--domain", "https://auth.example.com", "."),
        ("--domain", "auth.example.com/", "."),
        ("--domain", "auth.example.com:443", "."),
    ],
)
def test_a_wrong_command_line_ends_with_64(arguments):
    assert gatehouse("audit-app", *arguments).returncode == 64


def test_a_domain_of_the_gateways_settings_is_an_error(tmp_path):
    """Nothing else of the settings is needed: secrets of the gateway are not there in an app's CI."""
    write(
        tmp_path / "gatehouse.yaml",
        "direct_cognito: {mode: block, hosted_domains: [login.example.com]}\n"
        "sign_in:\n  cognito: {client_secret: '${MISSING}', hosted: {domain: 'https://auth.example.com'}}\n"
        "  more_pools: [{hosted: {domain: 'https://drivers.example.com'}}]\n",
    )
    hosts = ["login.example.com", "auth.example.com", "drivers.example.com", "other.example.com"]
    write(tmp_path / "app" / "A.kt", "".join(f'val page{number} = "https://{host}/x"\n' for number, host in enumerate(hosts)))
    assert places(report("--config", tmp_path / "gatehouse.yaml", tmp_path / "app")) == [
        ("error", "custom-domain", "A.kt", line) for line in (1, 2, 3)
    ]


@pytest.mark.parametrize(
    "text", ["direct_cognito: {hosted_domains: [a b]}", "sign_in: {cognito: {hosted: {domain: '${MISSING}'}}}", "a: [", None]
)
def test_settings_that_are_wrong_about_domains_end_with_78(app, tmp_path, text):
    settings = tmp_path / "gatehouse.yaml"
    if text is not None:
        settings.write_text(text)
    result = gatehouse("audit-app", "--config", settings, app)
    assert result.returncode == 78 and "gatehouse.yaml" in result.stderr and result.stdout == ""


def test_a_file_that_is_no_baseline_is_refused(app, tmp_path):
    (tmp_path / "known.json").write_text("{}")
    result = gatehouse("audit-app", "--baseline", tmp_path / "known.json", app)
    assert result.returncode == 64 and "is not a baseline" in result.stderr


def test_names_of_files_cannot_drive_the_terminal(tmp_path):
    write(tmp_path / "a\x1b[31mb.swift", CALL)
    result = gatehouse("audit-app", tmp_path)
    assert result.returncode == 1 and "\x1b" not in result.stdout and "\ufffd[31mb.swift" in result.stdout


def test_the_tree_is_read_from_the_working_directory(app):
    result = subprocess.run(
        [str(binary()), "audit-app", "--json", "."], cwd=app, env=os.environ, capture_output=True, text=True, timeout=60
    )
    assert places(json.loads(result.stdout)) == FOUND
