"""A token's signature is verified once in the process, however many event loops its client's connections come to, and what
ends a token ends it on all of them."""

import subprocess

import jwt
import pytest

from harness import raw
from harness.account import bearer
from harness.gateway import binary
from harness.keys import KeyServer, SigningKey

LOOPS = 8
# Needs a verified token, and refuses it then: without a backend, 403 is a token that was let in by verification.
VERIFIED = {
    "name": "verified",
    "path": "/verified",
    "access": "required",
    "upstream": "down",
    "require": {"scopes": {"all": ["never"]}},
}


def results(gateway) -> dict[str, int]:
    samples = gateway.samples()
    return {name: int(samples[f'gatehouse_token_cache_total{{result="{name}"}}']) for name in ("hit", "shared", "miss")}


def statuses(gateway, token: str, connections: int = LOOPS) -> list[int]:
    """The statuses of one request on each of so many new connections, which the loops take in turn."""
    request = raw.request_bytes("GET", "/verified", {"Connection": "close", **bearer(token)})
    found = []
    for _ in range(connections):
        with raw.RawConnection(gateway.port) as connection:
            connection.send(request)
            found.append(connection.response().status)
    return found


@pytest.fixture
def loops(start_gateway):
    return start_gateway({"threads": LOOPS, "routes": [VERIFIED], "logging": {"access_log": False}})


def made(issuer, number: int) -> str:
    """A token that is not noted: searching all logs for thousands takes long."""
    claims, key = issuer.access_claims(jti=str(number)), issuer.access_key
    return jwt.encode(claims, key.private, algorithm="RS256", headers={"kid": key.kid})


@pytest.mark.timeout(300)
def test_eight_loops_verify_two_thousand_tokens_two_thousand_times(loops, issuer):
    tokens = [made(issuer, number) for number in range(2000)]
    for number, token in enumerate(tokens):
        # So many connections that each loop is the first for some tokens; a few tokens come to all.
        connections = LOOPS if number % 100 == 0 else 3
        assert statuses(loops, token, connections) == [403] * connections
    counted = results(loops)
    assert counted["miss"] == 2000
    assert counted["shared"] > 2000, "the connections came to other loops"
    for token in tokens[::200]:
        assert statuses(loops, token) == [403] * LOOPS
    assert results(loops)["miss"] == 2000


def test_what_is_revoked_is_refused_on_every_loop_from_the_next_request_on(loops, issuer):
    known, fresh = issuer.access(jti="known"), issuer.access(jti="fresh")
    # One token that each loop has in its cache, and one of which most know nothing but the signature.
    assert statuses(loops, known) == [403] * LOOPS
    with raw.RawConnection(loops.port) as connection:
        assert connection.request("GET", "/verified", bearer(fresh)).status == 403
    before = results(loops)
    for jti in ("known", "fresh"):
        subprocess.run([binary(), "revoke", "--config", loops.config_path, "--jti", jti], check=True, capture_output=True)
    # A reload reads the list before it is done, whatever the gateway would have noticed by itself.
    loops.reload()
    for token in (known, fresh):
        assert statuses(loops, token) == [401] * LOOPS
    after = results(loops)
    assert after["miss"] == before["miss"], "no signature was verified again"
    assert after["shared"] > before["shared"]


def test_a_key_that_is_gone_ends_its_tokens_on_every_loop(loops, issuer):
    token = issuer.access()
    with raw.RawConnection(loops.port) as connection:
        assert connection.request("GET", "/verified", bearer(token)).status == 403
    others = KeyServer(SigningKey(issuer.access_key.kid))
    loops.reload({"issuers": {"own": {"jwks_url": others.url}}})
    assert statuses(loops, token) == [401] * LOOPS
    assert results(loops)["shared"] == 0
    others.stop()


def test_one_loop_alone_shares_nothing(start_gateway, issuer):
    gateway = start_gateway({"threads": 1})
    for _ in range(2):
        assert raw.exchange(gateway.port, "GET", "/recorded/required/x", bearer(issuer.access())).status == 200
    assert results(gateway)["shared"] == 0
