"""The README's examples work: its configuration is good, its backend code reads the identity, its app code compiles,
its links lead somewhere. The code that verifies assertions is tested in test_assertion.py."""

import re
import shutil
import subprocess

import pytest
from fastapi.testclient import TestClient
from harness.assertions import readme_blocks
from harness.deployment import checked
from harness.gateway import ADA, REPOSITORY, LocalPool, check, gatehouse
from harness.process import wait_until


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


# An app around the sample: signs in, and gets a page for each line it reads.
APP = '''
let arguments = CommandLine.arguments
guard let base = URL(string: arguments[1]) else { fatalError("no URL") }
let client = GatehouseClient(base: base, tokens: nil)
try await client.signIn(email: arguments[2], password: arguments[3], deviceID: "phone-of-the-readme")
print("signed in")
fflush(nil)
while let path = readLine() {
    print(String(decoding: try await client.get(path), as: UTF8.self))
    fflush(nil)
}
'''


@pytest.mark.skipif(not shutil.which("swiftc"), reason="no Swift compiler")
def test_the_apps_swift_code_signs_in_calls_and_refreshes(tmp_path, start_gateway, ledger):
    (tmp_path / "GatehouseClient.swift").write_text(readme_blocks("swift")[0])
    (tmp_path / "main.swift").write_text("import Foundation\n" + APP)
    program = tmp_path / "app"
    checked("swiftc", "-swift-version", "6", "-o", program, tmp_path / "GatehouseClient.swift", tmp_path / "main.swift")
    ledger.note(ADA[1])
    pool = LocalPool(tmp_path, changes={"lifetimes": {"access_token": 1}})
    gateway = start_gateway({"issuers": {"pool": {"clock_skew": "0s"}}}, pool=pool)
    app = subprocess.Popen(
        [program, gateway.url, *ADA], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )

    def line() -> str:
        text = app.stdout.readline().strip()
        assert text, app.stderr.read()
        return text

    def get() -> str:
        app.stdin.write("api/v1/auth/me\n")
        app.stdin.flush()
        return line()

    try:
        assert line() == "signed in"
        refreshes = lambda: [each["status"] for each in gateway.access_log() if each["route"] == "gatehouse:refresh"]
        # A token lives for a second: until one has ended, and the app has got the next.
        wait_until(lambda: f'"email":"{ADA[0]}"' in get() and refreshes(), "a refresh", 20)
        assert refreshes()[0] == 200
        wait_until(lambda: f'"email":"{ADA[0]}"' in get(), "a call after it")
        signed_in = gateway.audit_log("signed_in")[0]
        assert signed_in["device_id"] == "phone-of-the-readme" and "device_platform" not in signed_in
    finally:
        app.kill()
        app.communicate()
        pool.stop()


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
