"""Tokens of every algorithm, made by an independent implementation (PyJWT and cryptography), through the running gateway."""

import base64
import json
import time
from pathlib import Path

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa, utils

from harness import raw
from harness.gateway import check
from harness.keys import KeySetServer, base64url
from harness.process import wait_until

ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]


@pytest.fixture
def key_server():
    server = KeySetServer()
    yield server
    server.stop()


def private_key(algorithm: str):
    match algorithm:
        case "ES256":
            return ec.generate_private_key(ec.SECP256R1())
        case "ES384":
            return ec.generate_private_key(ec.SECP384R1())
        case "ES512":
            return ec.generate_private_key(ec.SECP521R1())
        case "EdDSA":
            return ed25519.Ed25519PrivateKey.generate()
        case _:
            return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@pytest.fixture(scope="module")
def keys() -> dict:
    """One private key for each algorithm; its kid is the algorithm's name."""
    return {algorithm: private_key(algorithm) for algorithm in ALGORITHMS}


def jwk(private, kid: str, **members) -> dict:
    public = private.public_key()
    if isinstance(public, rsa.RSAPublicKey):
        numbers = public.public_numbers()
        made = {"kty": "RSA", "n": base64url(numbers.n.to_bytes((numbers.n.bit_length() + 7) // 8, "big")), "e": "AQAB"}
    elif isinstance(public, ec.EllipticCurvePublicKey):
        numbers, size = public.public_numbers(), (public.curve.key_size + 7) // 8
        made = {
            "kty": "EC",
            "crv": f"P-{public.curve.key_size}",
            "x": base64url(numbers.x.to_bytes(size, "big")),
            "y": base64url(numbers.y.to_bytes(size, "big")),
        }
    else:
        made = {"kty": "OKP", "crv": "Ed25519", "x": base64url(public.public_bytes_raw())}
    return {**made, "kid": kid, **members}


def status(gateway, token: str) -> int:
    return raw.exchange(gateway.port, "GET", "/recorded/required/x", {"Authorization": f"Bearer {token}"}).status


def signature_of(token: str) -> bytes:
    signature = token.rsplit(".", 1)[1]
    return base64.urlsafe_b64decode(signature + "=" * (-len(signature) % 4))


def with_signature(token: str, signature: bytes) -> str:
    return f"{token.rsplit('.', 1)[0]}.{base64url(signature)}"


@pytest.mark.parametrize("bound", [True, False], ids=["alg-in-the-key", "no-alg-in-the-key"])
def test_a_token_of_every_listed_algorithm_is_accepted_and_nothing_altered_is(
    start_gateway, issuer, key_server, keys, bound
):
    key_server.document = {
        "keys": [jwk(keys[name], name, **({"alg": name, "use": "sig"} if bound else {})) for name in ALGORITHMS]
    }
    gateway = start_gateway({"issuers": {"own": {"algorithms": ALGORITHMS}}}, jwks_url=key_server.url)
    for name in ALGORITHMS:
        token = jwt.encode(issuer.access_claims(), keys[name], algorithm=name, headers={"kid": name})
        issuer.minted.append(token)
        assert status(gateway, token) == 200, name
        signature = signature_of(token)
        changed = signature[:-1] + bytes([signature[-1] ^ 1])
        for wrong in (changed, signature[:-1], signature + b"\0", b"\0" + signature, bytes(len(signature))):
            assert status(gateway, with_signature(token, wrong)) == 401, name
        # Another key of the set, where the type is the same too.
        for other in ALGORITHMS:
            if other != name:
                try:
                    stray = jwt.encode(issuer.access_claims(), keys[name], algorithm=name, headers={"kid": other})
                except Exception as error:  # noqa: BLE001
                    raise AssertionError(f"PyJWT cannot make the token: {error}") from error
                assert status(gateway, stray) == 401, (name, other)
    token = jwt.encode(issuer.access_claims(), keys["ES256"], algorithm="ES256", headers={"kid": "ES256"})
    signature = signature_of(token)
    r, s = int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big")
    assert status(gateway, with_signature(token, utils.encode_dss_signature(r, s))) == 401
    # Twice the same key set was enough.
    assert gateway.metric("gatehouse_key_set_refreshes_total") == 1


def test_only_rs256_is_accepted_unless_the_issuer_lists_more(start_gateway, issuer, key_server, keys):
    key_server.document = {"keys": [jwk(keys[name], name) for name in ALGORITHMS]}
    gateway = start_gateway(jwks_url=key_server.url)
    for name in ALGORITHMS:
        token = jwt.encode(issuer.access_claims(), keys[name], algorithm=name, headers={"kid": name})
        issuer.minted.append(token)
        assert status(gateway, token) == (200 if name == "RS256" else 401), name
    # The same key, which names no algorithm, under another one.
    token = jwt.encode(issuer.access_claims(), keys["RS256"], algorithm="PS256", headers={"kid": "RS256"})
    assert status(gateway, token) == 401


@pytest.mark.parametrize("algorithms", [["HS256"], ["none"], ["rs256"], [], "RS256"])
def test_algorithms_that_no_public_key_has_are_faults_of_the_settings(start_gateway, tmp_path, algorithms):
    gateway = start_gateway()
    gateway.config["issuers"]["own"]["algorithms"] = algorithms
    path = tmp_path / "gatehouse.json"
    path.write_text(json.dumps(gateway.config))
    result = check(path)
    assert result.returncode != 0
    assert "issuers.own.algorithms" in result.stdout + result.stderr


def test_unusable_keys_are_left_out_with_one_warning_and_the_others_work(start_gateway, issuer, key_server, keys):
    small = rsa.generate_private_key(public_exponent=65537, key_size=1024)
    off_curve = jwk(keys["ES256"], "off-curve")
    off_curve["y"] = off_curve["x"]
    key_server.document = {
        "keys": [
            jwk(keys["RS256"], "good", alg="RS256", use="sig"),
            jwk(keys["RS384"], "enc", use="enc"),
            jwk(small, "small"),
            {**jwk(keys["RS512"], "e-one"), "e": "AQ"},
            off_curve,
            {"kty": "oct", "kid": "secret", "alg": "HS256", "k": base64url(bytes(32))},
            {key: value for key, value in jwk(keys["PS256"], "").items() if key != "kid"},
        ]
    }
    changes = {"issuers": {"own": {"algorithms": ["RS256", "ES256"]}}, "key_sets": {"unknown_key_interval": "1s"}}
    gateway = start_gateway(changes, jwks_url=key_server.url)
    good = jwt.encode(issuer.access_claims(), keys["RS256"], algorithm="RS256", headers={"kid": "good"})
    issuer.minted.append(good)
    assert status(gateway, good) == 200
    for kid, key, algorithm in (
        ("enc", keys["RS384"], "RS256"),
        ("e-one", keys["RS512"], "RS256"),
        ("off-curve", keys["ES256"], "ES256"),
        ("secret", bytes(32), "HS256"),
    ):
        token = jwt.encode(issuer.access_claims(), key, algorithm=algorithm, headers={"kid": kid})
        assert status(gateway, token) == 401, kid
    # Looked up anew, the same set is no news.
    fetches = key_server.fetches

    def fetched_again() -> bool:
        token = jwt.encode(issuer.access_claims(), keys["RS256"], algorithm="RS256", headers={"kid": "made-up"})
        assert status(gateway, token) == 401
        return key_server.fetches > fetches

    wait_until(fetched_again, "another fetch")
    def told() -> list[str]:
        return [line for line in gateway.log().splitlines() if "keys left out of the key set" in line]

    warnings = wait_until(told, "the warning")
    assert len(warnings) == 1, gateway.log()
    for place, reason in (
        (1, "use is not sig"),
        (2, "RSA modulus below 2048 bits"),
        (3, "RSA exponent below 65537"),
        (4, "point is not on P-256"),
        (5, "kty is oct"),
        (6, "no kid"),
    ):
        assert f"keys[{place}]: {reason}" in warnings[0]


def test_a_private_address_is_not_fetched_from_unless_it_is_allowed(start_gateway, issuer, key_server, keys):
    key_server.document = {"keys": [jwk(keys["RS256"], "RS256")]}
    token = jwt.encode(issuer.access_claims(), keys["RS256"], algorithm="RS256", headers={"kid": "RS256"})
    issuer.minted.append(token)
    changes = {"issuers": {"own": {"allow_private_addresses": False}}}
    gateway = start_gateway(changes, jwks_url=key_server.url)
    assert status(gateway, token) == 503
    assert key_server.fetches == 0
    wait_until(lambda: "allow_private_addresses" in gateway.log(), "the log to say why")
    assert gateway.metric("gatehouse_key_set_failures_total") >= 1
    gateway.reload({"issuers": {"own": {"allow_private_addresses": True}}})
    assert status(gateway, token) == 200


def test_no_connection_of_another_fetch_hides_a_private_address(start_gateway, issuer, key_server, keys):
    key_server.document = {"keys": [jwk(keys["RS256"], "RS256")]}
    changes = {"threads": 1, "issuers": {"own": {"allow_private_addresses": True}}}
    gateway = start_gateway(changes, jwks_url=key_server.url)
    # The connection of the first fetch is kept alive. The reload takes the set that was fetched from its file.
    kept = Path(gateway.config["state_directory"]) / "key-set-own.json"
    wait_until(lambda: key_server.fetches == 1 and kept.exists(), "the key set's first fetch")
    gateway.reload({"issuers": {"own": {"allow_private_addresses": False}}})
    token = jwt.encode(issuer.access_claims(), keys["PS256"], algorithm="PS256", headers={"kid": "unknown"})
    issuer.minted.append(token)
    assert status(gateway, token) == 401
    wait_until(lambda: "the host's address is private" in gateway.log(), "the refusal")
    assert key_server.fetches == 1


@pytest.mark.parametrize("fault", ["redirect", "too-large"])
def test_no_redirect_is_followed_and_no_more_is_read_than_a_set_may_take(
    start_gateway, issuer, key_server, keys, fault
):
    elsewhere = KeySetServer()
    try:
        document = {"keys": [jwk(keys["RS256"], "RS256")]}
        elsewhere.document = document
        if fault == "redirect":
            key_server.status, key_server.headers = 302, {"Location": elsewhere.url}
        else:
            key_server.document = json.dumps(document).encode() + b" " * (1 << 20)
        gateway = start_gateway(jwks_url=key_server.url)
        token = jwt.encode(issuer.access_claims(), keys["RS256"], algorithm="RS256", headers={"kid": "RS256"})
        issuer.minted.append(token)
        assert status(gateway, token) == 503
        assert elsewhere.fetches == 0
    finally:
        elsewhere.stop()


def test_a_rotated_key_is_taken_up_within_two_seconds_and_made_up_ones_cause_one_fetch(
    start_gateway, issuer, key_server, keys
):
    key_server.document = {"keys": [jwk(keys["RS256"], "old")]}
    gateway = start_gateway({"issuers": {"own": {"algorithms": ["RS256", "EdDSA"]}}}, jwks_url=key_server.url)
    # A token that comes before the first set has it fetched, and within a minute no other token has it fetched again.
    gateway.wait_until_ready()
    old = jwt.encode(issuer.access_claims(), keys["RS256"], algorithm="RS256", headers={"kid": "old"})
    new = jwt.encode(issuer.access_claims(), keys["EdDSA"], algorithm="EdDSA", headers={"kid": "new"})
    issuer.minted += [old, new]
    assert status(gateway, old) == 200
    key_server.document = {"keys": [jwk(keys["EdDSA"], "new", alg="EdDSA")]}
    start = time.monotonic()
    assert status(gateway, new) == 200
    assert time.monotonic() - start < 2
    # The key is gone, and with it what it had verified.
    assert status(gateway, old) == 401
    fetches = key_server.fetches
    for number in range(200):
        token = jwt.encode(issuer.access_claims(), keys["EdDSA"], algorithm="EdDSA", headers={"kid": f"no-{number}"})
        assert status(gateway, token) == 401
    assert key_server.fetches == fetches
