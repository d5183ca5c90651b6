"""Issue item "Settings and CLI": every fault at once with file, line and key; secrets never shown."""

import json

import pytest
from harness.gateway import check, gateway_config, merged, run

GOOD = """\
listeners:
  - address: 127.0.0.1:8080
admin:
  address: 127.0.0.1:8081
upstreams:
  api:
    url: http://127.0.0.1:9000
issuers:
  pool:
    profile: cognito
    region: eu-central-1
    user_pool_id: eu-central-1_EXAMPLE01
    client_ids: [4example0client0id000000000]
sign_in:
  cognito:
    issuer: pool
    client_id: 4example0client0id000000000
    client_secret: ${CLIENT_SECRET}
routes:
  - name: api
    path: /api/v1/**
    access: required
    upstream: api
"""
SECRET = "hush-this-must-never-be-printed"
ENVIRONMENT = {"CLIENT_SECRET": SECRET}


def written(tmp_path, text: str):
    path = tmp_path / "gatehouse.yaml"
    path.write_text(text)
    return path


def test_a_good_configuration_is_ok(tmp_path):
    result = check(written(tmp_path, GOOD), ENVIRONMENT)
    assert result.returncode == 0, result.stderr
    assert "good" in result.stdout
    assert SECRET not in result.stdout + result.stderr


def test_the_configuration_of_these_tests_is_ok(tmp_path):
    config = gateway_config(tmp_path, "http://127.0.0.1:1", "http://127.0.0.1:1/jwks.json", "http://127.0.0.1:2")
    result = check(written(tmp_path, json.dumps(config, indent=2)))
    assert result.returncode == 0, result.stdout + result.stderr


FAULTS = {
    # What replaces a line of GOOD → the key's path that must be named.
    "unknown-key": ("admin:", "adnim:", "adnim"),
    "unknown-nested-key": ("    url: http", "    uri: http", "upstreams.api.uri"),
    "bad-address": ("127.0.0.1:8080", "127.0.0.1:eighty", "listeners[0].address"),
    "bad-url": ("url: http://127.0.0.1:9000", "url: ftp://127.0.0.1", "upstreams.api.url"),
    "unknown-access": ("access: required", "access: sometimes", "routes[0].access"),
    "unknown-upstream": ("    upstream: api", "    upstream: app", "routes[0].upstream"),
    "bad-path": ("path: /api/v1/**", "path: api/v1", "routes[0].path"),
    "unknown-issuer": ("    issuer: pool", "    issuer: lake", "sign_in.cognito.issuer"),
    "bad-profile": ("profile: cognito", "profile: other", "issuers.pool.profile"),
    "wrong-type": ("client_ids: [4example0client0id000000000]", "client_ids: 7", "issuers.pool.client_ids"),
    "missing-variable": ("${CLIENT_SECRET}", "${NO_SUCH_VARIABLE}", "sign_in.cognito.client_secret"),
    "missing-file": ("${CLIENT_SECRET}", "file:/no/such/file", "sign_in.cognito.client_secret"),
}


@pytest.mark.parametrize("case", FAULTS)
def test_a_fault_is_told_with_its_line_and_key(tmp_path, case):
    old, new, key = FAULTS[case]
    assert GOOD.count(old) == 1
    text = GOOD.replace(old, new)
    line = text[: text.index(new)].count("\n") + 1
    path = written(tmp_path, text)
    result = check(path, ENVIRONMENT)
    output = result.stdout + result.stderr
    assert result.returncode == 78, output
    assert key in output, output
    assert f"gatehouse.yaml:{line}" in output, output
    assert SECRET not in output


def test_many_faults_are_told_at_once(tmp_path):
    text = GOOD
    cases = ["unknown-key", "bad-address", "bad-url", "unknown-access", "bad-path", "unknown-issuer", "missing-variable"]
    for case in cases:
        text = text.replace(*FAULTS[case][:2])
    path = written(tmp_path, text)
    for command in ("check", "serve"):
        result = run(command, path, ENVIRONMENT)
        output = result.stdout + result.stderr
        assert result.returncode == 78, output
        for case in cases:
            assert FAULTS[case][2] in output, f"{case} is not told of in:\n{output}"
        assert SECRET not in output


CLASHES = {
    # What stands behind the routes → the fault that is told at its line.
    "the gateway's own endpoint": "  - {path: /api/v1/auth/login, methods: [POST], access: public, upstream: api}\n",
    "all methods over one method": (
        "  - {path: /x, access: public, upstream: api}\n  - {path: /x, methods: [GET], access: public, upstream: api}\n"
    ),
    "credentials for every page": (
        "  - {path: /y, access: public, upstream: api, cors: {origins: ['*'], credentials: true}}\n"
    ),
    "an origin with a path": "  - {path: /y, access: public, upstream: api, cors: {origins: ['https://a.example/']}}\n",
    "a path no request can have": "  - {path: '/a%41', access: public, upstream: api}\n",
}


@pytest.mark.parametrize("case", CLASHES)
def test_routes_that_do_not_fit_together_are_told_with_their_line(tmp_path, case):
    text = GOOD + CLASHES[case]
    line = text.rstrip("\n").count("\n") + 1
    for command in ("check", "serve"):
        result = run(command, written(tmp_path, text), ENVIRONMENT)
        output = result.stdout + result.stderr
        assert result.returncode == 78, output
        assert f"gatehouse.yaml:{line}: routes[" in output, output


def test_what_is_no_yaml_is_told_with_its_line(tmp_path):
    result = check(written(tmp_path, GOOD + "  - [unclosed\n"), ENVIRONMENT)
    output = result.stdout + result.stderr
    assert result.returncode == 78
    assert "gatehouse.yaml:" in output


def test_a_duplicate_key_is_a_fault(tmp_path):
    result = check(written(tmp_path, GOOD + "admin:\n  address: 127.0.0.1:9\n"), ENVIRONMENT)
    assert result.returncode == 78
    assert "admin" in result.stdout + result.stderr


@pytest.mark.parametrize("command", ["check", "serve"])
def test_a_missing_file_is_told(tmp_path, command):
    result = run(command, tmp_path / "nowhere.yaml")
    assert result.returncode == 78
    assert "nowhere.yaml" in result.stdout + result.stderr


@pytest.mark.parametrize("command", ["check", "serve"])
def test_an_empty_file_is_a_fault(tmp_path, command):
    assert run(command, written(tmp_path, "")).returncode == 78


def test_insecure_http_to_an_issuer_must_be_asked_for(tmp_path):
    config = gateway_config(tmp_path, "http://127.0.0.1:1", "http://127.0.0.1:1/jwks.json")
    config = merged(config, {"issuers": {"own": {"allow_insecure_http": ...}}})
    result = check(written(tmp_path, json.dumps(config, indent=2)))
    assert result.returncode == 78
    assert "issuers.own.jwks_url" in result.stdout + result.stderr


def test_a_secret_from_a_file(tmp_path):
    (tmp_path / "secret").write_text(SECRET + "\n")
    text = GOOD.replace("${CLIENT_SECRET}", f"file:{tmp_path / 'secret'}")
    result = check(written(tmp_path, text))
    assert result.returncode == 0, result.stderr
    assert SECRET not in result.stdout + result.stderr


def test_a_secret_in_a_faulty_place_is_not_printed(tmp_path):
    text = GOOD.replace("client_secret: ${CLIENT_SECRET}", f"client_secret: [{SECRET}]")
    result = check(written(tmp_path, text))
    assert result.returncode == 78
    assert SECRET not in result.stdout + result.stderr


def test_an_address_in_use_is_told_and_ends_the_start(tmp_path, gateway, shared_recorder, issuer):
    changes = {"listeners": [{"address": f"127.0.0.1:{gateway.port}"}]}
    config = gateway_config(tmp_path, shared_recorder.url, issuer.server.url, changes=changes)
    result = run("serve", written(tmp_path, json.dumps(config)))
    assert result.returncode not in (0, 78)
    assert str(gateway.port) in result.stdout + result.stderr
