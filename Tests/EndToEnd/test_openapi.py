"""`deploy/openapi.yaml` and `deploy/openapi-admin.yaml` say what the gateway's own calls take and return: schemathesis tries
to prove it wrong, and a client that a generator makes of it signs in."""

import json
import re
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
import yaml
from harness import raw
from harness.account import Account, bearer
from harness.gateway import ADA, REPOSITORY, Gateway, LocalPool, merged
from harness.hosted import hosted_settings
from harness.sanitizer import PATIENCE
from harness.sessions import State, session_settings
from harness.user import signed_in_user

CLIENT = REPOSITORY / "deploy" / "openapi.yaml"
ADMIN = REPOSITORY / "deploy" / "openapi-admin.yaml"
ADMIN_TOKEN = "an-admin-token-of-some-length"
METHODS = ("get", "post", "patch", "put", "delete")
CHECKS = [
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "unsupported_method",
    "allow_header_conformance",
]


# ---- The descriptions themselves


def expanded(document: dict, value: object) -> object:
    """Without references."""
    while isinstance(value, dict) and "$ref" in value:
        target = document
        for part in value["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        value = {**target, **{name: each for name, each in value.items() if name != "$ref"}}
    if isinstance(value, dict):
        return {name: expanded(document, each) for name, each in value.items()}
    return [expanded(document, each) for each in value] if isinstance(value, list) else value


def read(description: Path) -> dict:
    document = yaml.safe_load(description.read_text())
    return expanded(document, document)


def operations(description: Path) -> list[tuple[str, dict]]:
    paths = read(description)["paths"]
    return [(f"{method} {path}", item[method]) for path, item in paths.items() for method in METHODS if method in item]


def examples(content: dict) -> list:
    return [content["example"]] if "example" in content else [each["value"] for each in content.get("examples", {}).values()]


@pytest.mark.parametrize("description", [CLIENT, ADMIN], ids=lambda path: path.stem)
def test_every_call_has_words_and_examples_that_fit(description):
    names = [operation["operationId"] for _, operation in operations(description)]
    assert len(set(names)) == len(names)
    tags = {tag["name"] for tag in read(description)["tags"]}
    for call, operation in operations(description):
        assert operation["summary"] and operation["description"] and set(operation["tags"]) <= tags, call
        assert not operation["summary"].endswith("."), call
        bodies = list(operation.get("requestBody", {}).get("content", {}).values())
        for response in operation["responses"].values():
            assert response["description"], call
            bodies += response.get("content", {}).values()
        for body in bodies:
            # A body that is no JSON may have no example.
            if body["schema"] != {"type": "string"}:
                assert examples(body), call
            for example in examples(body):
                jsonschema.Draft202012Validator(body["schema"]).validate(example)


@pytest.mark.parametrize("description", [CLIENT, ADMIN], ids=lambda path: path.stem)
def test_every_field_is_described(description):
    def undescribed(value: object, where: str) -> list[str]:
        found = []
        if isinstance(value, dict):
            properties = value.get("properties", {})
            found = [f"{where}.{name}" for name, each in properties.items() if not each.get("description")]
            for name, each in value.items():
                found += undescribed(each, f"{where}.{name}")
        elif isinstance(value, list):
            for each in value:
                found += undescribed(each, where)
        return found

    assert undescribed(read(description)["paths"], "paths") == []


def declared(description: Path = CLIENT) -> dict[str, set[str]]:
    paths = yaml.safe_load(description.read_text())["paths"]
    return {path: {method.upper() for method in METHODS if method in item} for path, item in paths.items()}


# ---- The calls


def every_call(pool: LocalPool, issuer) -> dict:
    """The settings that switch all calls on."""
    hosted = {"sign_in": {"cognito": {"hosted": hosted_settings(pool, 1)}}}
    return merged(session_settings(issuer.server.url), hosted)


def test_every_declared_call_is_there_and_each_path_has_no_other(start_gateway, pool, issuer):
    gateway = start_gateway(every_call(pool, issuer), pool=pool)
    for path, methods in declared().items():
        if path.startswith("/.well-known"):
            continue
        refusal = raw.exchange(gateway.port, "PUT", path.replace("{", "").replace("}", ""))
        assert refusal.status == 405, path
        assert set(refusal.header("allow").split(", ")) - {"HEAD"} == methods, path


def administered(start_gateway, issuer) -> Gateway:
    return start_gateway({**session_settings(issuer.server.url), "admin": {"token": ADMIN_TOKEN}})


def test_every_declared_admin_call_is_there_and_each_path_has_no_other(start_gateway, issuer):
    gateway = administered(start_gateway, issuer)
    for path, methods in declared(ADMIN).items():
        refusal = raw.exchange(gateway.admin_port, "PATCH", path.replace("{", "").replace("}", ""))
        assert refusal.status == 405, path
        assert set(refusal.header("allow").split(", ")) - {"HEAD"} == methods, path
    # Every name that the listener knows is a part of a path or a parameter.
    parameters = {each["name"] for item in read(ADMIN)["paths"].values() for part in [item, *item.values()]
                  for each in (part.get("parameters", []) if isinstance(part, dict) else [])}  # fmt: skip
    known = parameters | {segment for path in declared(ADMIN) for segment in path.split("/")}
    for file in ("AdminCall.swift", "AdminUserCall.swift"):
        assert set(re.findall(r'"([a-z-]+)"', (REPOSITORY / "Sources/Admin" / file).read_text())) <= known


@pytest.fixture
def quiet_pool(run_directory):
    """A pool that never says that something was tried too often."""
    pool = LocalPool(run_directory, "openapi-pool", {"hourly_limits": False, "prevent_user_existence_errors": False})
    yield pool
    pool.stop()


@pytest.fixture
def effort(request) -> list[str]:
    """The described examples, and bodies made up for each call. The edges of each value take longest: without --long they
    are tried only for who may do most."""
    is_long = request.config.getoption("--long")
    edges = ",coverage" if is_long or request.node.callspec.params["who"] in ("account", "operator") else ""
    return ["--phases", f"examples,fuzzing{edges}", "--max-examples", "50" if is_long else "5"]


@pytest.mark.timeout(900)
@pytest.mark.parametrize("who", ["nobody", "account", "session"])
def test_schemathesis_finds_no_other_answer(start_gateway, quiet_pool, issuer, ledger, tmp_path, who, effort):
    changes = {"identity": {"assertion": {"issuer": "https://gateway.example"}}, **every_call(quiet_pool, issuer)}
    gateway = start_gateway(changes, pool=quiet_pool)
    options = []
    if who == "account":
        _, tokens = signed_in_user(Account(gateway.port, ledger), quiet_pool)
        options += ["-H", f"Authorization: Bearer {tokens['access_token']}"]
        # After these there would be nobody left to be.
        for operation in ("deleteMe", "logout"):
            options += ["--exclude-operation-id", operation]
    if who == "session":
        options += ["-H", f"Authorization: Bearer {State(gateway).begin().token}"]
        for operation in ("deleteSessionUser", "endSession", "refreshSession"):
            options += ["--exclude-operation-id", operation]
    try_to_prove_wrong(CLIENT, gateway.url, tmp_path, options + effort)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("who", ["nobody", "operator", "operator without a token"])
def test_schemathesis_finds_no_other_answer_of_the_admin_listener(start_gateway, issuer, tmp_path, who, effort):
    settings = session_settings(issuer.server.url)
    gateway = start_gateway(settings) if "without" in who else administered(start_gateway, issuer)
    gateway.wait_until_ready()
    State(gateway).begin()
    options = []
    if who == "operator":
        # After a drain /readyz is 503, as a server's error would be.
        options = ["-H", f"Authorization: Bearer {ADMIN_TOKEN}", "--exclude-operation-id", "drain"]
    try_to_prove_wrong(ADMIN, f"http://127.0.0.1:{gateway.admin_port}", tmp_path, options + effort)


def try_to_prove_wrong(description: Path, url: str, directory: Path, options: list[str]) -> None:
    run = subprocess.run(
        [
            sys.executable, "-m", "schemathesis.cli", "run", str(description), "--url", url,
            "--checks", ",".join(CHECKS), "--seed", "1", "--continue-on-failure", "--warnings", "off", "--no-color",
            *options,
        ],
        cwd=directory, capture_output=True, text=True, timeout=740 * PATIENCE,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout[-8000:] + run.stderr[-2000:]


# ---- A client that a generator makes


# A program of an app's developer on the generated client: signs in, reads the profile, refreshes, meets an error.
APP = """
import json, sys
from gatehouse_client import AuthenticatedClient, Client
from gatehouse_client.api.profile import me
from gatehouse_client.api.sign_in import login, refresh
from gatehouse_client.models import Error, LoginBody, RefreshBody

url, email, password = sys.argv[1:]
with Client(base_url=url) as client:
    signed_in = login.sync(client=client, body=LoginBody(email=email, password=password))
    refreshed = refresh.sync(client=client, body=RefreshBody(refresh_token=signed_in.refresh_token))
    wrong = login.sync(client=client, body=LoginBody(email=email, password="wrong"))
    assert isinstance(wrong, Error), wrong
with AuthenticatedClient(base_url=url, token=refreshed.access_token) as client:
    profile = me.sync(client=client)
print(json.dumps({
    "signed_in": signed_in.to_dict(), "refreshed": refreshed.to_dict(), "wrong": wrong.to_dict(), "me": profile.to_dict()
}))
"""


@pytest.fixture(scope="module")
def generated_client(tmp_path_factory) -> Path:
    """The folder with the package `gatehouse_client` that openapi-python-client makes of the description."""
    folder = tmp_path_factory.mktemp("generated")
    (folder / "config.yaml").write_text("post_hooks: []\n")
    run = subprocess.run(
        [
            sys.executable, "-m", "openapi_python_client", "generate", "--path", str(CLIENT), "--meta", "none",
            "--config", str(folder / "config.yaml"), "--output-path", str(folder / "gatehouse_client"),
        ],
        capture_output=True, text=True, timeout=60 * PATIENCE,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
    return folder


def test_a_generated_client_signs_in_and_refreshes(generated_client, gateway, ledger):
    ledger.note(ADA[1])
    run = subprocess.run(
        [sys.executable, "-c", APP, gateway.url, *ADA],
        cwd=generated_client, capture_output=True, text=True, timeout=30 * PATIENCE,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    seen = json.loads(run.stdout)
    assert seen["signed_in"]["user"]["email"] == seen["me"]["email"] == ADA[0]
    assert seen["refreshed"]["refresh_token"] != seen["signed_in"]["refresh_token"]
    assert seen["wrong"]["error"] == "NotAuthorizedException"
    ledger.note(*(seen[step][name] for step in ("signed_in", "refreshed") for name in ("access_token", "refresh_token")))
    answer = raw.exchange(gateway.port, "GET", "/recorded/required/generated", bearer(seen["refreshed"]["access_token"]))
    assert answer.status == 200
