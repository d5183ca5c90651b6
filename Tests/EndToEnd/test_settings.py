"""Issue item "Settings and CLI": every fault at once with file, line and key; secrets never shown."""

import json

import pytest
from harness import raw
from harness.account import bearer
from harness.gateway import check, gateway_config, merged, run
from harness.process import wait_until

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
    # The replacement of a line of GOOD → the key's path that must be named.
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
    # Text behind the routes → the fault reported at its line.
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


WEBHOOKS = [
    # Each has what only its receiver and the gateway may know, and a fault.
    f"htps://hooks.example/{SECRET}", f"https://hooks.example/{SECRET}?x=1", f"https://hooks.example/{SECRET}#x",
    f"https://user:pass@hooks.example/{SECRET}", f"http://hooks.example/{SECRET}", f"https://hooks.example/{SECRET} x",
    f"hooks.example/{SECRET}",
]  # fmt: skip


@pytest.mark.parametrize("url", WEBHOOKS)
@pytest.mark.parametrize("section", ["audit: {{webhook: {{url: '{}'}}}}", "user_sync: {{url: '{}'}}"])
def test_a_faulty_url_that_is_a_secret_is_not_printed(tmp_path, url, section):
    text = GOOD + "identity: {assertion: {issuer: 'https://api.example'}}\n" + section.format(url) + "\n"
    line = text.rstrip("\n").count("\n") + 1
    for command in ("check", "serve"):
        result = run(command, written(tmp_path, text), ENVIRONMENT)
        output = result.stdout + result.stderr
        assert result.returncode == 78, output
        assert f"gatehouse.yaml:{line}: " in output and ".url: " in output, output
        assert SECRET not in output


def test_the_query_of_a_faulty_url_is_not_printed(tmp_path):
    """Where a query is not allowed, what stands in it is a key more often than not."""
    text = GOOD.replace("url: http://127.0.0.1:9000", f"url: http://127.0.0.1:9000/?key={SECRET}")
    result = check(written(tmp_path, text), ENVIRONMENT)
    output = result.stdout + result.stderr
    assert result.returncode == 78 and "upstreams.api.url: must have no query" in output, output
    assert "http://127.0.0.1:9000/" in output and SECRET not in output


def test_a_reload_with_a_faulty_url_that_is_a_secret_does_not_print_it(start_gateway):
    token = "an-admin-token-of-some-length"
    gateway = start_gateway({"admin": {"token": token}})
    gateway.write_config({"audit": {"webhook": {"url": f"https://hooks.example/{SECRET}?x=1"}}})
    headers = {"Host": "localhost", **bearer(token)}
    answers = [raw.exchange(gateway.admin_port, "POST", "/reload", headers)]
    answers += [raw.exchange(gateway.admin_port, "GET", page, headers) for page in ("/status", "/", "/metrics")]
    assert answers[0].status >= 400 and [answer.status for answer in answers[1:]] == [200] * 3
    told = [answer.body.decode() for answer in answers]
    assert all("audit.webhook.url" in text for text in told[:2]), told[:2]
    told.append(wait_until(lambda: "audit.webhook.url" in (log := gateway.log()) and log, "the log to tell of it"))
    assert not any(SECRET in each for each in told)


SENSELESS = {
    # Text behind GOOD, and the fault reported at its last line.
    "former clients that nobody serves": (
        "direct_cognito:\n  mode: block\n  client_ids: [4example0client0id000000009]\n",
        "direct_cognito.client_ids: are served by mode: translate only",
    ),
    "former clients without a mode": (
        "direct_cognito:\n  client_ids: [4example0client0id000000009]\n",
        "direct_cognito.client_ids: are served by mode: translate only",
    ),
    "a former client whose tokens are refused": (
        "direct_cognito:\n  mode: translate\n  client_ids: [4example0client0id000000009]\n",
        "direct_cognito.client_ids[0]: must be one of issuers.pool.client_ids",
    ),
    "a wait for what is not told": (
        "identity: {assertion: {issuer: 'https://api.example'}}\n"
        "user_sync:\n  url: https://api.example/users\n  events: [deleted, confirmed]\n  mode: required\n",
        "user_sync.mode: required is about signed_in, which events leaves out",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", SENSELESS)
def test_settings_that_can_have_no_effect_are_faults(tmp_path, case):
    more, fault = SENSELESS[case]
    text = GOOD + more
    line = text.rstrip("\n").count("\n") + 1
    result = check(written(tmp_path, text), ENVIRONMENT)
    assert result.returncode == 78, result.stdout
    assert f"gatehouse.yaml:{line}: {fault}" in result.stdout + result.stderr


def test_sealing_keys_that_are_none_are_a_fault(tmp_path):
    text = GOOD.replace("client_secret: ${CLIENT_SECRET}", "client_secret: ${CLIENT_SECRET}\n    sealing_keys: []")
    result = check(written(tmp_path, text), ENVIRONMENT)
    assert result.returncode == 78, result.stdout
    line = text[: text.index("    sealing_keys")].count("\n") + 1
    assert f"gatehouse.yaml:{line}: sign_in.cognito.sealing_keys: must hold at least one" in result.stdout + result.stderr


def test_translating_takes_a_user_pool_to_sign_in_to(tmp_path):
    start, end = GOOD.index("sign_in:"), GOOD.index("routes:")
    apple = "sign_in:\n  apple: {issuer: apple, mode: forward, upstream: api}\ndirect_cognito:\n  mode: translate\n"
    text = GOOD[:start] + apple + GOOD[end:]
    text = text.replace("issuers:\n", "issuers:\n  apple: {profile: apple, audiences: [com.example.app]}\n")
    result = check(written(tmp_path, text), ENVIRONMENT)
    output = result.stdout + result.stderr
    assert result.returncode == 78, output
    line = text[: text.index("  mode: translate")].count("\n") + 1
    assert f"gatehouse.yaml:{line}: direct_cognito.mode: translate needs sign_in.cognito" in output, output


def test_an_address_in_use_is_told_and_ends_the_start(tmp_path, gateway, shared_recorder, issuer):
    changes = {"listeners": [{"address": f"127.0.0.1:{gateway.port}"}]}
    config = gateway_config(tmp_path, shared_recorder.url, issuer.server.url, changes=changes)
    result = run("serve", written(tmp_path, json.dumps(config)))
    assert result.returncode not in (0, 78)
    assert str(gateway.port) in result.stdout + result.stderr
