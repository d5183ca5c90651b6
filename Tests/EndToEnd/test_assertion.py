"""The signed assertion: what a backend can verify with it, and its keys. PyJWT is the independent reader."""

import json
import os
import stat
from pathlib import Path

import jwt
import pytest

from harness import raw
from harness.account import Account
from harness.assertions import ISSUER, JWKS_PATH, TYPE, VerifyingBackend, claims_for, invalid, signed
from harness.gateway import ADA, gatehouse
from harness.h2raw import H2Connection, request
from harness.process import free_port, wait_until

RECORDED = "/recorded/required/a"
ORDERS = "/api/v1/orders"


def bearer(issuer, **claims) -> dict[str, str]:
    return {"Authorization": f"Bearer {issuer.access(**claims)}"}


def settings(backend_url: str | None = None, **assertion) -> dict:
    """The recording backend and the verifying one share their audience, so that what one is told the other takes."""
    changes: dict = {
        "identity": {
            "claims": {"X-Auth-Tenant": "custom:tenant"},
            "assertion": {"issuer": ISSUER, "audiences": {"recorder": "api"}, **assertion},
        }
    }
    if backend_url:
        changes["upstreams"] = {"api": {"url": backend_url}}
    return changes


@pytest.fixture
def behind(start_gateway, run_directory, request):
    """A gateway, behind it the documentation's backend, which asks it for the keys, and what starts one more of these."""
    started = []
    name = "".join(character if character.isalnum() else "-" for character in request.node.name)

    def start(**assertion):
        # The backend must know the gateway's address and the gateway the backend's: the gateway comes first.
        port = free_port()
        gateway = start_gateway(settings(f"http://127.0.0.1:{port}", **assertion))

        def fresh() -> VerifyingBackend:
            directory = run_directory / f"verifying-{name}-{len(started)}"
            started.append(VerifyingBackend(directory, gateway.url + JWKS_PATH))
            return started[-1]

        backend = fresh()
        routes = gateway.config["routes"] + [{"path": "/api/**", "upstream": "api"}]
        gateway.reload({"upstreams": {"api": {"url": backend.url}}, "routes": routes})
        return gateway, backend, fresh

    yield start
    for backend in started:
        backend.stop()


def keys_of(gateway) -> list[dict]:
    return raw.exchange(gateway.port, "GET", JWKS_PATH).json()["keys"]


def recorded(gateway, recorder, headers, target: str = RECORDED) -> str:
    """The assertion that the recording backend got."""
    assert raw.exchange(gateway.port, "GET", target, headers=headers).status == 200
    found = recorder.last(target).header("x-auth-assertion")
    assert found
    return found


def verified(gateway, assertion: str, audience: str = "api") -> dict:
    """As any verifier would, by the published set."""
    header = jwt.get_unverified_header(assertion)
    key = next(key for key in keys_of(gateway) if key["kid"] == header["kid"])
    assert (header["typ"], header["alg"]) == (TYPE, "ES256")
    return jwt.decode(assertion, jwt.PyJWK(key), algorithms=["ES256"], audience=audience, issuer=ISSUER, leeway=5)


# ---- What it says


def test_the_backend_is_told_whose_request_it_is(start_gateway, own_recorder, issuer):
    gateway = start_gateway(settings())
    token = issuer.access(**{"custom:tenant": ["a,b", "é\r\n"], "cognito:groups": ["staff", "a b"]})
    claims = verified(gateway, recorded(gateway, own_recorder, {"Authorization": f"Bearer {token}"}))
    original = jwt.decode(token, options={"verify_signature": False})
    assert claims["sub"] == original["sub"] and claims["token_iss"] == original["iss"]
    assert claims["client_id"] == original["client_id"] and claims["token_exp"] == original["exp"]
    assert claims["groups"] == ["staff", "a b"] and claims["scope"] == original["scope"]
    assert claims["claims"] == {"X-Auth-Tenant": ["a,b", "é\r\n"]}
    assert 0 < claims["exp"] - claims["iat"] <= 60
    # The headers are there as well.
    assert own_recorder.last(RECORDED).header("x-auth-subject") == original["sub"]
    assert own_recorder.last(RECORDED).all("authorization") == []


def test_one_assertion_goes_with_the_requests_of_its_token_and_is_another_for_another(start_gateway, own_recorder, issuer):
    gateway = start_gateway({**settings(lifetime="10m"), "threads": 1})
    ada, bob = bearer(issuer), bearer(issuer, sub="bob")
    first = recorded(gateway, own_recorder, ada)
    assert recorded(gateway, own_recorder, ada) == first
    assert verified(gateway, recorded(gateway, own_recorder, bob))["sub"] == "bob"


def test_a_forged_one_of_the_clients_never_gets_through(start_gateway, own_recorder, issuer):
    gateway = start_gateway(settings(header="X-Proof"))
    forged = "".join(f"{name}: forged\r\n" for name in ("X-Proof", "x_proof", "X.Proof", "X-Auth-Assertion", "x-PROOF"))
    for target, fields in [
        ("/recorded/public/a", ""),
        ("/recorded/optional/a", ""),
        (RECORDED, f"Authorization: {bearer(issuer)['Authorization']}\r\n"),
    ]:
        with raw.RawConnection(gateway.port) as connection:
            body = "0\r\nX-Proof: forged\r\n\r\n"
            connection.send(
                f"POST {target} HTTP/1.1\r\nHost: a\r\n{fields}{forged}Connection: X-Proof\r\n"
                f"Transfer-Encoding: chunked\r\n\r\n{body}".encode()
            )
            assert connection.response(to="POST").status == 200
        got = own_recorder.last(target)
        assert b"forged" not in got.raw_head + got.raw_body
        assert len(got.all("x-proof")) == (1 if fields else 0)


# ---- The backend of docs/assertion.md


def test_the_documented_backend_takes_what_came_through_and_nothing_else(behind, own_recorder, issuer):
    gateway, backend, _ = behind()
    answer = raw.exchange(gateway.port, "GET", ORDERS, headers=bearer(issuer, **{"cognito:groups": ["staff"]}))
    subject = issuer.access_claims()["sub"]
    assert (answer.status, answer.json()) == (200, {"orders_of": subject, "groups": ["staff"]})

    genuine = recorded(gateway, own_recorder, bearer(issuer))
    assert backend.ask(genuine) == 200

    assert backend.ask(signed(gateway, claims_for("api"))) == 200
    for what, assertion in invalid(gateway, genuine, issuer.access()).items():
        assert backend.ask(assertion) == 401, what


def test_rotation_leaves_no_request_unverified(behind, own_recorder, issuer):
    gateway, backend, fresh = behind()
    headers = bearer(issuer)
    config = ["--config", gateway.config_path, "--purpose", "assertion"]

    def rotate(*flags: str) -> str:
        result = gatehouse("keys", "rotate", *config, *flags)
        assert result.returncode == 0, result.stderr
        gateway.reload()
        return jwt.get_unverified_header(recorded(gateway, own_recorder, headers))["kid"]

    first = recorded(gateway, own_recorder, headers)
    assert raw.exchange(gateway.port, "GET", ORDERS, headers=headers).status == 200
    published = [key["kid"] for key in keys_of(gateway)]
    assert len(published) == 2 and published[0] == jwt.get_unverified_header(first)["kid"]

    # The next key is published just now: a verifier's copy of the set may lack it.
    result = gatehouse("keys", "rotate", *config)
    assert result.returncode == 1 and "--now" in result.stderr
    assert [key["kid"] for key in keys_of(gateway)] == published

    second = rotate("--now")
    assert second == published[1]
    assert raw.exchange(gateway.port, "GET", ORDERS, headers=headers).status == 200
    # Assertions signed with the previous key are still good.
    assert backend.ask(first) == 200
    # The backend's copy of the set lacks this key until it is fetched again.
    third = rotate("--now")
    assert third not in published
    signed_by_third = recorded(gateway, own_recorder, headers)
    assert fresh().ask(signed_by_third) == 200

    fourth = rotate("--compromised")
    assert fourth == keys_of(gateway)[0]["kid"] and third not in [key["kid"] for key in keys_of(gateway)]
    backend = fresh()
    assert backend.ask(recorded(gateway, own_recorder, headers)) == 200
    assert backend.ask(signed_by_third) == 401

    before = [key["kid"] for key in keys_of(gateway)]
    fifth = rotate("--compromised", "--all")
    left = [key["kid"] for key in keys_of(gateway)]
    assert fifth == left[0] and len(left) == 2 and not set(left) & set(before)
    assert fresh().ask(recorded(gateway, own_recorder, headers)) == 200


def test_a_restart_goes_on_with_the_same_keys(start_gateway, own_recorder, issuer):
    gateway = start_gateway(settings())
    before = keys_of(gateway)
    gateway.stop()
    other = start_gateway({**settings(), "state_directory": gateway.config["state_directory"]})
    assert keys_of(other) == before


# ---- The key set


def test_the_key_set_is_public_and_kept_for_a_while(start_gateway, own_recorder):
    gateway = start_gateway(settings())
    answer = raw.exchange(gateway.port, "GET", JWKS_PATH)
    assert answer.status == 200 and answer.header("cache-control") == "public, max-age=300"
    assert answer.header("content-type") == "application/jwk-set+json"
    for key in answer.json()["keys"]:
        assert set(key) == {"kty", "crv", "x", "y", "kid", "use", "alg"}
        assert (key["kty"], key["crv"], key["use"], key["alg"]) == ("EC", "P-256", "sig", "ES256")
    head = raw.exchange(gateway.port, "HEAD", JWKS_PATH)
    assert head.status == 200 and head.header("content-length") == answer.header("content-length") and head.body == b""
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        refused = raw.exchange(gateway.port, method, JWKS_PATH)
        assert refused.status == 405 and refused.header("allow") == "GET, HEAD"
    with H2Connection(gateway.port) as connection:
        response = connection.response(connection.open(request("GET", JWKS_PATH)))
        assert (response.status, response.body) == (200, answer.body)
    assert own_recorder.requests == []


def test_without_the_setting_there_is_neither_key_nor_set_nor_assertion(start_gateway, own_recorder, issuer):
    gateway = start_gateway()
    assert raw.exchange(gateway.port, "GET", JWKS_PATH).status == 404
    assert raw.exchange(gateway.port, "GET", RECORDED, headers=bearer(issuer)).status == 200
    assert own_recorder.last(RECORDED).all("x-auth-assertion") == []
    assert not Path(gateway.config["state_directory"], "assertion-keys.json").exists()
    gateway.reload(settings())
    assert len(keys_of(gateway)) == 2
    verified(gateway, recorded(gateway, own_recorder, bearer(issuer)))
    gateway.reload({"identity": {"assertion": ...}})
    assert raw.exchange(gateway.port, "GET", JWKS_PATH).status == 404
    raw.exchange(gateway.port, "GET", RECORDED, headers=bearer(issuer))
    assert own_recorder.last(RECORDED).all("x-auth-assertion") == []


# ---- Key files and commands


def test_a_key_file_that_others_may_read_stops_the_start(start_gateway, run_directory):
    state = run_directory / "readable-keys"
    first = start_gateway({**settings(), "state_directory": str(state)})
    first.stop()
    path = state / "assertion-keys.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    os.chmod(path, 0o644)
    with pytest.raises(AssertionError, match="others than its owner may read"):
        start_gateway({**settings(), "state_directory": str(state)})


def test_keys_are_made_listed_and_rotated_by_command(start_gateway, run_directory):
    gateway = start_gateway({**settings(), "state_directory": str(run_directory / "commanded-keys")})
    state = Path(gateway.config["state_directory"])

    def keys(command: str, *arguments: str):
        return gatehouse("keys", command, "--config", gateway.config_path, *arguments)

    listed = keys("list").stdout.splitlines()
    assertion = [["assertion", "next"], ["assertion", "current"]]
    assert [line.split()[:2] for line in listed] == [*assertion, ["audit", "current"], ["limits", "current"]]
    assert {line.split()[-1] for line in listed[:2]} == {key["kid"] for key in keys_of(gateway)}
    for purpose, states in (("session", ["next", "current"]), ("sealing", ["current"])):
        assert keys("rotate", "--purpose", purpose).returncode == 1
        assert keys("generate", "--purpose", purpose).returncode == 0
        assert [line.split()[1] for line in keys("list", "--purpose", purpose).stdout.splitlines()] == states
        again = keys("generate", "--purpose", purpose)
        assert again.returncode == 0 and "already" in again.stdout
    assert keys("rotate", "--purpose", "sealing").returncode == 0
    assert [line.split()[1] for line in keys("list", "--purpose", "sealing").stdout.splitlines()] == ["current", "previous"]
    assert keys("list", "--purpose", "other").returncode != 0
    secrets = [json.loads(path.read_text())["keys"][0]["key"] for path in state.glob("*-keys.json")]
    assert len(secrets) == 5 and not any(secret in keys("list").stdout for secret in secrets)
    for path in state.iterdir():
        if not path.name.startswith("key-set-"):
            assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_refresh_tokens_outlive_the_rotation_of_their_key(start_gateway, pool, ledger):
    gateway = start_gateway(pool=pool)
    account = Account(gateway.port, ledger)
    old = account.login(*ADA).json()["refresh_token"]
    assert gatehouse("keys", "rotate", "--config", gateway.config_path, "--purpose", "sealing").returncode == 0
    gateway.reload()
    new = account.login(*ADA).json()["refresh_token"]
    assert old.split(".")[1] != new.split(".")[1] or old.split(".")[0] != new.split(".")[0]
    for token in (new, old):
        assert account.refresh(token).status == 200


def test_the_age_of_the_key_is_a_metric(start_gateway):
    gateway = start_gateway(settings())
    assert 0 <= gateway.metric("gatehouse_assertion_key_age_seconds") < 60
    assert wait_until(lambda: "gatehouse_revocations 0" in gateway.admin("/metrics")[1], "the metrics")
