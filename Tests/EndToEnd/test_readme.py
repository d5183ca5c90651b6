"""What the README shows is true: its configuration is good, its backend code reads the identity, its app code compiles,
its links lead somewhere. The code that verifies assertions is tested in test_assertion.py."""

import re
import shutil

import pytest
from fastapi.testclient import TestClient
from harness.assertions import readme_blocks
from harness.deployment import checked
from harness.gateway import REPOSITORY, check, gatehouse


def test_the_configuration_is_good(tmp_path):
    path = tmp_path / "gatehouse.yaml"
    path.write_text(readme_blocks("yaml")[0])
    result = check(path, {"COGNITO_CLIENT_SECRET": "not-a-real-secret"})
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize(
    "headers, status, subject",
    [({"X-Auth-Subject": "ada"}, 200, "ada"), ({"X-Auth-Subject": "%C3%A9"}, 200, "é"), ({}, 401, None)],
)
def test_the_backend_code_reads_the_identity(headers, status, subject):
    names: dict = {}
    exec(compile(readme_blocks("python")[0], "README.md", "exec"), names)
    answer = TestClient(names["app"]).get("/api/v1/orders", headers=headers)
    assert answer.status_code == status
    if subject:
        assert answer.json() == {"orders_of": subject}


def test_the_flask_code_reads_the_identity():
    names: dict = {"__name__": "__main__"}
    exec(compile(readme_blocks("python")[2], "README.md", "exec"), names)
    client = names["app"].test_client()
    headers = {"X-Auth-Subject": "%C3%A9", "X-Auth-Groups": "a%2Cb,staff"}
    assert client.get("/api/v1/orders", headers=headers).json == {"orders_of": "é", "groups": ["a,b", "staff"]}
    assert client.get("/api/v1/orders").status_code == 401


@pytest.mark.skipif(not shutil.which("node"), reason="no node")
def test_the_express_code_is_javascript(tmp_path):
    path = tmp_path / "server.js"
    path.write_text(readme_blocks("js")[0])
    checked("node", "--check", path)


@pytest.mark.skipif(not shutil.which("swiftc"), reason="no Swift compiler")
def test_the_apps_swift_code_compiles(tmp_path):
    path = tmp_path / "GatehouseClient.swift"
    path.write_text(readme_blocks("swift")[0])
    checked("swiftc", "-typecheck", "-swift-version", "6", "-warnings-as-errors", path)


@pytest.mark.parametrize("name", ["README.md", ".github/SECURITY.md", "deploy/runbook.md"])
def test_links_lead_somewhere(name):
    def anchors(path) -> set[str]:
        headings = re.findall(r"(?m)^#+ (.*)$", path.read_text())
        return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}

    document = REPOSITORY / name
    # A link may be broken over two lines, and code is no link.
    text = re.sub(r"```.*?```", "", document.read_text(), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)]+)\)", text):
        path, _, anchor = re.sub(r"\s+", "", target).partition("#")
        if path.startswith("http"):
            continue
        file = (document.parent / path).resolve() if path else document
        assert file.exists(), target
        assert not anchor or anchor in anchors(file), target


def test_the_exit_statuses_are_those_of_the_help():
    text = (REPOSITORY / "README.md").read_text()
    table = text[text.index("| status | means |") :].partition("\n\n")[0]
    assert re.findall(r"(?m)^\| (\d+) \|", table) == re.findall(r"(?m)^  (\d+)\s", gatehouse("--help").stdout)


def test_files_that_are_named_are_there():
    text = (REPOSITORY / "README.md").read_text() + (REPOSITORY / "deploy/runbook.md").read_text()
    for name in set(re.findall(r"`((?:deploy|Config|Tests|\.github)/[\w./-]+)", text)):
        assert (REPOSITORY / name).exists(), name
