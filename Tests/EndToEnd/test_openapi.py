"""`deploy/openapi.yaml` says what the gateway's own calls take and answer; schemathesis tries to prove it wrong."""

import subprocess
import sys

import pytest
import yaml
from harness import raw
from harness.account import Account
from harness.gateway import REPOSITORY, LocalPool
from harness.sanitizer import PATIENCE
from harness.sessions import State, session_settings
from harness.user import signed_in_user

DESCRIPTION = REPOSITORY / "deploy" / "openapi.yaml"
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


def declared() -> dict[str, set[str]]:
    paths = yaml.safe_load(DESCRIPTION.read_text())["paths"]
    return {path: {method.upper() for method in METHODS if method in item} for path, item in paths.items()}


def test_every_declared_call_is_there_and_each_path_has_no_other(start_gateway, pool, issuer):
    gateway = start_gateway(session_settings(issuer.server.url), pool=pool)
    for path, methods in declared().items():
        if path.startswith("/.well-known"):
            continue
        refusal = raw.exchange(gateway.port, "PUT", path)
        assert refusal.status == 405, path
        assert set(refusal.header("allow").split(", ")) - {"HEAD"} == methods, path


@pytest.fixture
def quiet_pool(run_directory):
    """A pool that never says that something was tried too often."""
    pool = LocalPool(run_directory, "openapi-pool", {"hourly_limits": False, "prevent_user_existence_errors": False})
    yield pool
    pool.stop()


@pytest.mark.timeout(300)
@pytest.mark.parametrize("who", ["nobody", "account", "session"])
def test_schemathesis_finds_no_other_answer(start_gateway, quiet_pool, issuer, ledger, tmp_path, who):
    changes = {"identity": {"assertion": {"issuer": "https://gateway.example"}}, **session_settings(issuer.server.url)}
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
    run = subprocess.run(
        [
            sys.executable, "-m", "schemathesis.cli", "run", str(DESCRIPTION), "--url", gateway.url,
            "--checks", ",".join(CHECKS), "--phases", "examples,coverage,fuzzing", "--max-examples", "20",
            "--seed", "1", "--continue-on-failure", "--warnings", "off", "--no-color", *options,
        ],
        cwd=tmp_path, capture_output=True, text=True, timeout=240 * PATIENCE,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout[-8000:] + run.stderr[-2000:]
