"""The example services of deploy/examples, behind a gateway: they read the identity headers, and believe no assertion
but the gateway's. The code of docs/identity.md reads the headers in the same way."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from harness import documentation, examples, raw
from harness.account import bearer
from harness.assertions import ISSUER, JWKS_PATH, Forger, claims_for, invalid, signed
from harness.backend import answer
from harness.deployment import checked
from harness.examples import SERVICES, Example
from harness.gateway import REPOSITORY, Gateway, gateway_config
from harness.process import SILENT_PORT, Process, accepts_connections, free_port

SUBJECT = "é+ü %41"
GROUPS = ["a,b", "staff", "r+d"]
ENCODED = {"X-Auth-Subject": "%C3%A9+%C3%BC %2541", "X-Auth-Groups": "a%2Cb,staff,r+d"}
ORDERS = "/api/v1/orders"
WHOAMI = "/api/v1/whoami"


def settings(url: str, example: Example) -> dict:
    paths = "case_insensitive" if example.ignores_case else "case_sensitive"
    return {
        "threads": 1,
        "upstreams": {"api": {"url": url, "paths": paths}},
        "identity": {"assertion": {"issuer": ISSUER, "audiences": {"recorder": "api"}}},
        "routes": [
            {"name": "api", "path": "/api/v1/**", "upstream": "api"},
            {"name": "recorded", "path": "/recorded", "upstream": "recorder"},
        ],
    }


@pytest.fixture(scope="module", params=SERVICES, ids=lambda example: example.name)
def behind(request, run_directory, issuer, shared_recorder):
    """An example's gateway, and the example's own port."""
    example: Example = request.param
    directory = run_directory / f"example-{example.name}"
    port = free_port()
    config = gateway_config(
        directory, shared_recorder.url, issuer.server.url, changes=settings(f"http://127.0.0.1:{port}", example)
    )
    gateway = Gateway(directory, "gateway", config)
    try:
        with example.running(directory / "service", gateway.url, port):
            yield gateway, port
    finally:
        gateway.stop()


@pytest.fixture
def token(issuer) -> str:
    return issuer.access(**{"sub": SUBJECT, "cognito:groups": GROUPS})


def test_it_reads_the_identity_headers(behind, token):
    gateway, port = behind
    answer = raw.exchange(gateway.port, "GET", WHOAMI, headers={**bearer(token), "X_Auth_Subject": "mallory"})
    assert (answer.status, answer.json()) == (200, {"subject": SUBJECT, "groups": GROUPS})
    assert raw.exchange(gateway.port, "GET", WHOAMI).status == 401
    # Past the gateway: nobody, until somebody claims to be someone. Hence the assertion.
    assert examples.ask(port, WHOAMI, {}).status == 401
    assert examples.ask(port, WHOAMI, ENCODED).json() == {"subject": SUBJECT, "groups": GROUPS}


def test_it_believes_the_gateways_assertions_and_no_others(behind, recorder, token):
    gateway, port = behind
    answer = raw.exchange(gateway.port, "GET", ORDERS, headers=bearer(token))
    assert (answer.status, answer.json()) == (200, {"orders_of": SUBJECT, "groups": GROUPS})

    assert raw.exchange(gateway.port, "GET", "/recorded", headers=bearer(token)).status == 200
    genuine = recorder.last("/recorded").header("x-auth-assertion")
    for assertion in (genuine, signed(gateway, claims_for("api"))):
        assert examples.ask(port, ORDERS, {"X-Auth-Assertion": assertion}).status == 200
    for what, assertion in invalid(gateway, genuine, token).items():
        headers = {**ENCODED, **({} if assertion is None else {"X-Auth-Assertion": assertion})}
        assert examples.ask(port, ORDERS, headers).status == 401, what


@pytest.mark.parametrize("example", SERVICES, ids=lambda example: example.name)
def test_without_a_key_set_it_refuses_nobody_as_unknown(example, run_directory):
    """503, which tells a client to try again: the assertion may be right."""
    well_formed = Forger().sign(claims_for("api"), "some-key")
    with example.running(run_directory / f"example-alone-{example.name}", f"http://127.0.0.1:{SILENT_PORT}") as port:
        assert examples.ask(port, ORDERS, {"X-Auth-Assertion": well_formed}).status == 503
        assert examples.ask(port, ORDERS, {"X-Auth-Assertion": "hunter2"}).status == 401


def test_while_the_key_set_fails_go_does_not_fetch_it_for_each_request(own_recorder, run_directory):
    own_recorder.on(JWKS_PATH, answer(500))
    well_formed = Forger().sign(claims_for("api"), "some-key")
    example = next(each for each in SERVICES if each.name == "go")
    with example.running(run_directory / "example-failing-go", own_recorder.url) as port:
        for _ in range(20):
            assert examples.ask(port, ORDERS, {"X-Auth-Assertion": well_formed}).status == 503
    assert 1 <= len(own_recorder.requests_to(JWKS_PATH)) < 20


def test_the_packages_are_those_that_the_tests_have():
    tested = (REPOSITORY / "Tests/EndToEnd/requirements.txt").read_text().splitlines()
    for line in (examples.EXAMPLES / "django/requirements.txt").read_text().splitlines():
        assert line in tested, line


def test_the_go_files_are_formatted():
    formatter = shutil.which("gofmt") or str(Path(examples.program("go", "golang-go")).with_name("gofmt"))
    assert checked(formatter, "-l", examples.EXAMPLES / "go") == ""


# ---- The code of docs/identity.md

HEADERS = [(ENCODED, 200, {"orders_of": SUBJECT, "groups": GROUPS}), ({}, 401, None)]


def namespace(name: str) -> dict:
    """The names that a page's Python code defines."""
    names: dict = {"__name__": "identity"}
    exec(compile(documentation.block("identity.md", name), "identity.md", "exec"), names)
    return names


@pytest.mark.parametrize("headers, status, told", HEADERS)
@pytest.mark.parametrize("framework", ["fastapi", "flask", "django"])
def test_the_python_code_reads_the_identity(framework, headers, status, told):
    names = namespace(framework)
    if framework == "fastapi":
        answer = TestClient(names["app"]).get(ORDERS, headers=headers)
        assert (answer.status_code, answer.json() if told else None) == (status, told)
    elif framework == "flask":
        answer = names["app"].test_client().get(ORDERS, headers=headers)
        assert (answer.status_code, answer.json if told else None) == (status, told)
    else:
        assert django_told(headers) == (status, told)


# Django's settings are the process's, and other tests have theirs.
DJANGO = """
import json, sys
from django.conf import settings
settings.configure(ALLOWED_HOSTS=["*"])
from django.test import RequestFactory
names = {"__name__": "identity"}
exec(compile(sys.stdin.read(), "identity.md", "exec"), names)
headers = {"HTTP_" + name.upper().replace("-", "_"): value for name, value in json.loads(sys.argv[1]).items()}
answer = names["IdentityMiddleware"](names["orders"])(RequestFactory().get("/", **headers))
print(json.dumps([answer.status_code, json.loads(answer.content) if answer.content else None]))
"""


def django_told(headers: dict[str, str]) -> tuple[int, dict | None]:
    result = subprocess.run(
        [sys.executable, "-c", DJANGO, json.dumps(headers)],
        input=documentation.block("identity.md", "django"), capture_output=True, text=True, timeout=60,
    )
    assert result.returncode == 0, result.stderr
    status, told = json.loads(result.stdout)
    return status, told


def test_the_express_code_reads_the_identity(tmp_path):
    (tmp_path / "server.mjs").write_text(documentation.block("identity.md", "express"))
    reads_the_identity(examples.node(tmp_path, tmp_path / "run", 0), tmp_path)


def test_the_go_code_reads_the_identity(tmp_path):
    (tmp_path / "main.go").write_text(documentation.block("identity.md", "go"))
    (tmp_path / "go.mod").write_text("module example.com/identity\n\ngo 1.19\n")
    reads_the_identity([str(examples.go_build(tmp_path, tmp_path / "identity"))], tmp_path)


def reads_the_identity(command: list[str], directory: Path) -> None:
    port = free_port()
    environment = {"PORT": str(port), "NODE_PATH": os.pathsep.join(map(str, examples.NODE_MODULES))}
    process = Process(command, directory / "service.log", environment)
    try:
        process.wait_ready(lambda: accepts_connections(port), command[0])
        for headers, status, told in HEADERS:
            answer = examples.ask(port, ORDERS, headers)
            assert (answer.status, answer.json() if told else None) == (status, told)
    finally:
        process.stop()


# Parses the file, so that no library is needed for it.
JAVA = """
import com.sun.source.util.JavacTask;
import java.io.File;
import java.util.List;
import javax.tools.*;

class Parse {
    public static void main(String[] names) throws Exception {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        DiagnosticCollector<JavaFileObject> found = new DiagnosticCollector<>();
        StandardJavaFileManager files = compiler.getStandardFileManager(null, null, null);
        JavacTask task = (JavacTask) compiler.getTask(
            null, files, found, null, null, files.getJavaFileObjects(new File(names[0])));
        task.parse();
        found.getDiagnostics().forEach(System.out::println);
        System.exit(found.getDiagnostics().isEmpty() ? 0 : 1);
    }
}
"""


@pytest.mark.parametrize("page", ["identity.md", "assertion.md"])
def test_the_spring_code_is_java(page, tmp_path):
    java = examples.program("java", "default-jdk-headless")
    if "jdk.compiler" not in checked(java, "--list-modules"):
        pytest.skip("this Java has no compiler: Debian's default-jdk-headless has")
    (tmp_path / "Parse.java").write_text(JAVA)
    (tmp_path / "Example.java").write_text(documentation.block(page, "spring"))
    checked(java, tmp_path / "Parse.java", tmp_path / "Example.java")
