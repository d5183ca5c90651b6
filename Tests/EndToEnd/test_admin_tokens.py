"""Tokens of the admin listener: who may do what, and who has changed what."""

import json
import urllib.parse

import pytest
from harness import raw
from harness.account import bearer
from harness.gateway import check
from harness.process import wait_until

ALL, METRICS = "an-admin-token-of-some-length", "a-token-of-prometheus"
READER, DRAINER, SUPPORT = "a-token-of-a-reader", "a-token-of-who-drains", "a-token-of-support"
OPERATOR, LOUD = "a-token-of-an-operator", "a-token-of-who-debugs"
TOKENS = {
    "reader": {"token": READER, "may": ["read"]},
    "drainer": {"token": DRAINER, "may": ["drain"]},
    "support": {"token": SUPPORT, "may": ["read-users"]},
    "operator": {"token": OPERATOR, "may": ["users", "reload"]},
    "loud": {"token": LOUD, "may": ["log-level"]},
}
ADMIN = {"token": ALL, "metrics_token": METRICS, "tokens": TOKENS}

# Each call with the tokens that may. A user or server that is not there is 404 for who may ask.
CALLS = [
    ("GET", "/metrics", {ALL, METRICS, READER}),
    ("GET", "/status", {ALL, READER}),
    ("GET", "/history", {ALL, READER}),
    ("POST", "/reload", {ALL, OPERATOR}),
    ("POST", "/drain", {ALL, DRAINER}),
    ("DELETE", "/drain", {ALL, DRAINER}),
    ("POST", "/upstreams/recorder/nobody/drain", {ALL, DRAINER}),
    ("POST", "/log-level", {ALL, LOUD}),
    ("GET", "/users", {ALL, SUPPORT, OPERATOR}),
    ("GET", "/users/nobody", {ALL, SUPPORT, OPERATOR}),
    ("GET", "/sessions?subject=nobody", {ALL, SUPPORT, OPERATOR}),
    ("PUT", "/users/nobody/role", {ALL, OPERATOR}),
    ("POST", "/users/nobody/disable", {ALL, OPERATOR}),
    ("DELETE", "/sessions/nobody", {ALL, OPERATOR}),
    ("DELETE", "/sessions?subject=nobody", {ALL, OPERATOR}),
]


@pytest.fixture
def administered(start_gateway, own_recorder):
    return start_gateway({"admin": ADMIN})


def ask(gateway, method: str, path: str, token: str | None, body: bytes = b"") -> raw.Response:
    headers = {"Host": "localhost", **(bearer(token) if token else {})}
    return raw.exchange(gateway.admin_port, method, path, headers, body)


def audited(gateway, event: str) -> dict:
    """The only event of its kind."""
    (found,) = wait_until(lambda: gateway.audit_log(event), f"{event} in the audit log")
    return found


@pytest.mark.parametrize("method, path, allowed", CALLS)
def test_each_token_may_do_what_the_settings_say_and_nothing_else(administered, method, path, allowed):
    body = b'{"level": "info"}' if path == "/log-level" else b'{"role": null}' if path.endswith("/role") else b""
    for token in (ALL, METRICS, READER, DRAINER, SUPPORT, OPERATOR, LOUD):
        response = ask(administered, method, path, token, body)
        if token in allowed:
            assert response.status in (200, 404), (token, response.status, response.body)
        else:
            assert response.status == 403, (token, response.status)
            # The same for all calls: it says nothing of what another token may do.
            assert json.loads(response.body)["message"] == "This token may not do that."
    for token in (None, "x" * 30, ALL[:-1], METRICS + "x"):
        response = ask(administered, method, path, token, body)
        assert response.status == 401 and response.header("www-authenticate").startswith("Bearer")


def test_probes_and_the_empty_dashboard_take_no_token(administered):
    for path in ("/", "/healthz"):
        for token in (None, METRICS, "x" * 30):
            assert ask(administered, "GET", path, token).status == 200
    wait_until(lambda: ask(administered, "GET", "/readyz", None).status == 200, "readiness")


def test_prometheus_with_a_token_of_its_own_leaves_the_rest_to_nobody(start_gateway):
    gateway = start_gateway({"admin": {"metrics_token": METRICS}})
    assert ask(gateway, "GET", "/metrics", METRICS).status == 200
    assert [ask(gateway, "GET", path, None).status for path in ("/metrics", "/status", "/history")] == [401] * 3
    assert ask(gateway, "GET", "/status", METRICS).status == 403
    assert ask(gateway, "POST", "/drain", METRICS).status == 403


def test_a_token_too_many_rights_short_is_in_the_log_with_its_name(administered):
    assert ask(administered, "POST", "/drain", READER).status == 403
    line = "an admin token may not do what was asked client_address=127.0.0.1 operator=reader right=drain"
    wait_until(lambda: line in administered.log(), "the log to tell of it")
    assert READER not in administered.log()


def test_status_tells_a_caller_what_the_token_may(administered, start_gateway):
    def caller(gateway, token):
        return json.loads(ask(gateway, "GET", "/status", token).body)["caller"]

    rights = ["metrics", "read", "reload", "drain", "log-level", "read-users", "users"]
    assert caller(administered, ALL) == {"name": "admin.token", "may": rights}
    assert caller(administered, READER) == {"name": "reader", "may": ["metrics", "read"]}
    assert caller(start_gateway(), None) is None


def test_a_reload_takes_tokens_away_and_gives_others(administered):
    kept = {"admin": {"token": ALL, "metrics_token": ..., "tokens": {"reader": ..., "next": {"token": METRICS, "may": ["drain"]}}}}
    administered.write_config(kept)
    response = ask(administered, "POST", "/reload", ALL)
    assert response.status == 200
    # Which values differ is told; the tokens are not.
    told = response.body.decode()
    assert "admin.metrics_token" in told and "admin.tokens.reader.token" in told
    assert not any(secret in told + administered.log() for secret in (METRICS, READER))
    assert ask(administered, "GET", "/status", READER).status == 401
    assert ask(administered, "GET", "/metrics", METRICS).status == 403
    assert ask(administered, "POST", "/drain", METRICS).status == 200


@pytest.mark.parametrize(
    "admin, message",
    [
        ({"tokens": {"ada": {"token": "short", "may": ["read"]}}}, "admin.tokens.ada.token: must be at least 16"),
        ({"tokens": {"ada": {"token": ALL, "may": ["write"]}}}, "admin.tokens.ada.may[0]: must be one of metrics, read"),
        ({"token": ALL, "metrics_token": ALL}, "admin.metrics_token: is the same token as admin.token"),
    ],
)
def test_faulty_tokens_are_told(start_gateway, tmp_path, admin, message):
    gateway = start_gateway()
    path = tmp_path / "faulty.yaml"
    path.write_text(json.dumps({**gateway.config, "admin": {**gateway.config["admin"], **admin}}))
    result = check(path)
    assert result.returncode == 78 and message in result.stdout + result.stderr
    assert ALL not in result.stdout + result.stderr


# ---- Who has changed what


def test_the_audit_log_says_who_has_changed_what(administered, own_recorder):
    server = urllib.parse.quote(own_recorder.url, safe="")
    calls = [
        ("configuration_reloaded", "POST", "/reload", OPERATOR, "operator", "admin-reload", "settings ~limits"),
        ("gateway_drained", "POST", "/drain", DRAINER, "drainer", "admin-drain", None),
        ("gateway_drain_ended", "DELETE", "/drain", ALL, "admin.token", "admin-end-drain", None),
        ("server_drained", "POST", f"/upstreams/recorder/{server}/drain", DRAINER, "drainer", "admin-drain-server", f"recorder: {own_recorder.url}"),
        ("server_drain_ended", "DELETE", f"/upstreams/recorder/{server}/drain", DRAINER, "drainer", "admin-end-server-drain", f"recorder: {own_recorder.url}"),
        ("log_level_changed", "POST", "/log-level", LOUD, "loud", "admin-log-level", "info -> debug"),
    ]  # fmt: skip
    administered.write_config({"limits": {"header_count": 50}})
    for event, method, path, token, name, operation, change in calls:
        body = b'{"level": "debug"}' if path == "/log-level" else b""
        response = ask(administered, method, path, token, body)
        assert response.status == 200
        line = audited(administered, event)
        assert (line["operator"], line["operation"], line.get("change")) == (name, operation, change)
        assert (line["application"], line["client_address"]) == ("admin", "127.0.0.1")
        assert line["request_id"].startswith("admin-")
    # A change of the tokens themselves, and one of who may connect to a listener.
    (listener,) = administered.config["listeners"]
    tokens = {**administered.config["admin"]["tokens"], "another": {"token": "another-token-0123456789", "may": ["users"]}}
    administered.write_config({
        "admin": {**administered.config["admin"], "tokens": tokens},
        "listeners": [{**listener, "server_names": ["gateway.test", "127.0.0.1"]}],
    })  # fmt: skip
    assert ask(administered, "POST", "/reload", OPERATOR).status == 200
    change = wait_until(lambda: [
        line["change"] for line in administered.audit_log("configuration_reloaded") if "admin" in line["change"]
    ], "the second reload")[0]  # fmt: skip
    assert "settings ~admin" in change and f"listeners ~{listener['address']}" in change
    # The gateway's own log names who it was too.
    assert "reload asked for by an operator client_address=127.0.0.1 operator=operator" in administered.log()
    wait_until(lambda: "server drained client_address=127.0.0.1 operator=drainer" in administered.log(), "the log")
    assert not any(token in administered.log() for token in (ALL, DRAINER, OPERATOR, LOUD))


def test_what_is_refused_or_changes_nothing_is_no_change(administered):
    ask(administered, "POST", "/drain", READER)
    ask(administered, "POST", "/log-level", LOUD, b'{"level": "loud"}')
    ask(administered, "POST", "/upstreams/recorder/nobody/drain", DRAINER)
    administered.write_config({"threads": -1})
    assert ask(administered, "POST", "/reload", OPERATOR).status == 422
    # The last one is in the log before anything that follows.
    assert ask(administered, "POST", "/drain", DRAINER).status == 200
    assert audited(administered, "gateway_drained")["operator"] == "drainer"
    assert [line["event"] for line in administered.audit_log()] == ["gateway_drained"]


def test_who_ends_sessions_is_in_the_audit_log(administered):
    assert ask(administered, "DELETE", "/sessions?subject=somebody", OPERATOR).status == 200
    assert audited(administered, "sessions_ended")["operator"] == "operator"
