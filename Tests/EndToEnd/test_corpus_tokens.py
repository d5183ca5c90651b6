"""Public token cases through the command line and through a running gateway (`GATEHOUSE_CORPORA`), and the project's own
through `gatehouse token` and `gatehouse jws`."""

import json
import os
import subprocess
import time
import urllib.parse
from datetime import UTC, datetime
from pathlib import Path

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from harness import raw
from harness.gateway import binary
from harness.keys import CLIENT_ID, base64url
from harness.sanitizer import PATIENCE

# Verdicts that depend on the clock. Everything else comes before it, so that a verdict at another time has the same reason.
OF_TIME = {"expired", "not-yet-valid", "issued-in-future"}


def corpus(name: str) -> Path:
    directory = os.environ.get("GATEHOUSE_CORPORA")
    path = Path(directory) / name if directory else None
    if path is None or not path.exists():
        pytest.skip(f"GATEHOUSE_CORPORA names no directory with {name}")
    return path


def command(arguments: list, text: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [str(binary()), *map(str, arguments)], input=text.encode(), capture_output=True, timeout=120 * PATIENCE
    )


def verdicts(arguments: list, tokens: list[str]) -> list[dict]:
    """One verdict for each token; what spans lines or is empty is asked about by itself."""
    plain = [token for token in tokens if token and not {"\n", "\r"} & set(token)]
    result = command([*arguments, "--lines"], "\n".join(plain))
    assert result.returncode in (0, 1), result.stderr
    found = dict(zip(plain, map(json.loads, result.stdout.splitlines()), strict=True))
    for token in tokens:
        if token not in found:
            result = command([*arguments, "--json"], token)
            assert result.returncode in (0, 1), result.stderr
            found[token] = json.loads(result.stdout)
    return [found[token] for token in tokens]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("published", [False, True], ids=["own-keys", "published-keys"])
def test_every_public_signature_case_has_its_verdict(tmp_path, published):
    cases = json.loads(corpus("jws_cases.json").read_text())["cases"]
    sets: dict[str, list[dict]] = {}
    for case in cases:
        sets.setdefault(json.dumps(case["jwks"], sort_keys=True), []).append(case)
    wrong = []
    for number, (keys, group) in enumerate(sets.items()):
        path = tmp_path / f"{number}.json"
        path.write_text(keys)
        arguments = ["jws", "verify", "--jwks", path, *(["--published"] if published else [])]
        # The gateway leaves a key without a name out; the command takes it where it is somebody's own.
        nameless = published and any("kid" not in key for key in json.loads(keys)["keys"])
        for case, verdict in zip(group, verdicts(arguments, [case["jws"] for case in group]), strict=True):
            expected = case["expect_asym_only" if published else "expect"]
            if expected == "accept" and nameless:
                expected = "reject"
            if expected in ("accept", "reject") and verdict["verdict"] != f"{expected}ed":
                wrong.append((case["id"], case["name"], expected, verdict))
    assert len(cases) > 400 and not wrong, wrong


def test_the_cookbooks_compact_signatures_verify(tmp_path):
    directory = corpus("jose-cookbook")
    checked = 0
    for path in sorted(directory.glob("4_*.json")):
        example = json.loads(path.read_text())
        compact, key = example["output"].get("compact"), example["input"]["key"]
        if not isinstance(key, dict) or not compact:
            continue
        kept = ("kty", "kid", "use", "alg", "crv", "n", "e", "x", "y", "k")
        keys = tmp_path / path.name
        keys.write_text(json.dumps({"keys": [{name: key[name] for name in kept if name in key}]}))
        result = command(["jws", "verify", "--jwks", keys, "--json"], compact)
        if ".." in compact:
            # The payload is detached, so the signed bytes are missing.
            assert json.loads(result.stdout) == {"verdict": "rejected", "reason": "bad-signature"}
            continue
        assert result.returncode == 0, (path.name, result.stdout, result.stderr)
        assert json.loads(result.stdout)["algorithm"] == example["input"]["alg"]
        header, payload, signature = compact.split(".")
        for altered in (f"{header}.{payload[:-2]}AA.{signature}", f"{header}..{signature}", f"{header}.{payload}."):
            assert command(["jws", "verify", "--jwks", keys], altered).returncode == 1, path.name
        checked += 1
    assert checked >= 4


def issuers_of(config: dict, directory: Path) -> dict:
    issuers = {}
    for number, issuer in enumerate(config["issuers"]):
        path = directory / f"keys-{number}.json"
        path.write_text(json.dumps(config["jwks"][issuer["iss"]]))
        common = {"issuer": issuer["iss"], "jwks_file": str(path), "clock_skew": f"{config['leeway_s']}s"}
        if "client_ids" in issuer:
            pool = issuer["iss"].rsplit("/", 1)[1]
            cognito = {"profile": "cognito", "user_pool_id": pool, "client_ids": issuer["client_ids"]}
            uses = issuer.get("token_use", ["access", "id"])
            issuers[f"i{number}"] = {**common, **cognito, "token_uses": uses, "algorithms": issuer["algs"]}
        elif issuer["iss"] == "https://appleid.apple.com":
            issuers[f"i{number}"] = {**common, "profile": "apple", "audiences": issuer["aud"]}
        else:
            oidc = {"profile": "oidc", "audiences": issuer["aud"], "algorithms": issuer["algs"]}
            issuers[f"i{number}"] = {**common, **oidc}
    return issuers


@pytest.fixture
def jwt_gateway(start_gateway, tmp_path):
    """The cases, and a gateway with their configuration; its route "tokens" takes all issuers but the second."""
    path = corpus("jwt_cases.json")
    document = json.loads(path.read_text())
    issuers = issuers_of(document["config"], tmp_path)
    trusted = [name for name in issuers if name != "i1"]
    route = {"name": "tokens", "path": "/recorded/tokens", "access": "required", "upstream": "recorder"}
    gateway = start_gateway()
    del gateway.config["issuers"]["own"]
    gateway.config["routes"] = [{**route, "issuers": trusted, "token_uses": ["access", "id"]}]
    gateway.reload({"issuers": issuers, "limits": {"token_bytes": f"{document['config']['max_token_bytes']}B"}})
    return gateway, document


@pytest.mark.timeout(600)
def test_every_public_token_case_has_its_verdict_on_the_command_line_and_in_the_gateway(jwt_gateway):
    gateway, document = jwt_gateway
    cases = document["cases"]
    arguments = ["token", "verify", "--config", gateway.config_path, "--route", "tokens"]
    found = verdicts([*arguments, "--now", document["config"]["now"]], [case["token"] for case in cases])
    wrong = []
    for case, verdict in zip(cases, found, strict=True):
        if case["expect"] in ("accept", "reject") and verdict["verdict"] != f"{case['expect']}ed":
            wrong.append((case["id"], case["name"], case["expect"], verdict))
        if case["expect"] == "safe" and verdict["verdict"] == "accepted":
            for value in verdict["headers"].values():
                assert value.isascii() and value.isprintable(), case["id"]
    assert not wrong, wrong
    subject = next(verdict for case, verdict in zip(cases, found, strict=True) if case["id"] == "jwt-009")
    assert urllib.parse.unquote(subject["headers"]["X-Auth-Subject"]) == "usér-1"

    # The gateway's clock is the present, at which the accepted ones have expired: that is told only of a token that is
    # right in everything else.
    for case, verdict in zip(cases, found, strict=True):
        token, reason = case["token"], verdict.get("reason")
        if case["expect"] == "either" or reason in OF_TIME - {"expired"} or not token.isprintable() or " " in token:
            continue
        if len(token) > 12_000:
            continue  # refused for its header's length already
        request_id = f"case-{case['id']}"
        headers = {"Authorization": f"Bearer {token}", "X-Request-Id": request_id}
        answer = raw.exchange(gateway.port, "GET", "/recorded/tokens", headers)
        assert answer.status == 401, (case["id"], answer.status)
        logged = gateway.access_line(request_id)
        if logged["denial_reason"] != (reason or "expired"):
            wrong.append((case["id"], case["name"], reason, logged["denial_reason"]))
    assert not wrong, wrong
    assert gateway.process.exit_status is None


# MARK: The project's own


def test_a_token_is_verified_as_the_gateway_does_it(gateway, issuer):
    good = issuer.access()
    arguments = ["token", "verify", "--config", gateway.config_path]
    result = command([*arguments, "--route", "required"], good + "\n")
    assert result.returncode == 0, result.stderr
    subject = jwt.decode(good, options={"verify_signature": False})["sub"]
    assert f"X-Auth-Subject: {subject}" in result.stdout.decode().splitlines()
    assert good not in result.stdout.decode() + result.stderr.decode()
    late = command([*arguments, "--now", "4000000000"], good)
    expires = jwt.decode(good, options={"verify_signature": False})["exp"]
    assert late.returncode == 1
    assert late.stdout.decode().splitlines() == [
        "rejected: expired",
        f"  exp: expected after 2096-10-02T07:05:40Z, got {text_of(expires)}, which is {4000000000 - expires} s off",
    ]
    lines = command([*arguments, "--lines"], f"{good}\nx\n\n{good}\n")
    assert lines.returncode == 1
    assert [json.loads(line)["verdict"] for line in lines.stdout.splitlines()] == ["accepted", "rejected", "accepted"]
    for route in ("nowhere", "public"):
        missing = command([*arguments, "--route", route], good)
        assert (missing.returncode, missing.stdout) == (1, b"") and b"Usage" not in missing.stderr


def text_of(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def test_a_rejected_token_is_told_with_what_it_should_have_said(gateway, issuer):
    arguments = ["token", "verify", "--config", gateway.config_path]
    changed = issuer.access(client_id="another0client")
    text = command(arguments, changed).stdout.decode().splitlines()
    assert text == ["rejected: client-not-allowed", f'  client_id: expected "{CLIENT_ID}", got "another0client"']
    told = json.loads(command([*arguments, "--json"], changed).stdout)
    difference = {"name": "client_id", "expected": [CLIENT_ID], "got": "another0client", "seconds_off": None}
    assert told == {"verdict": "rejected", "reason": "client-not-allowed", "differences": [difference]}

    rows = [
        ({"iss": "http://127.0.0.1:9229/p"}, "unknown-issuer", ["iss"]),
        ({"token_use": "refresh"}, "token-use-invalid", ["token_use"]),
        ({"nbf": int(time.time()) + 1000}, "not-yet-valid", ["nbf"]),
    ]
    for claims, reason, names in rows:
        told = json.loads(command([*arguments, "--json"], issuer.access(**claims)).stdout)
        assert (told["reason"], [each["name"] for each in told["differences"]]) == (reason, names)
        if "nbf" in claims:
            assert 990 <= told["differences"][0]["seconds_off"] <= 1000


@pytest.mark.parametrize("before", ["Bearer ", "bearer ", "Authorization: Bearer ", "  Bearer  "])
def test_a_token_is_understood_as_it_is_copied_from_a_request(gateway, issuer, before):
    arguments = ["token", "verify", "--config", gateway.config_path]
    good = issuer.access()
    assert command(arguments, f"{before}{good}\n").returncode == 0
    assert command([*arguments, "--lines"], f"{good}\n{before}{good}\r\n").returncode == 0
    assert json.loads(command(["token", "inspect", "--json"], f"{before}{good}\n").stdout)["payload"]["token_use"] == "access"


def test_a_token_that_is_looked_at_is_not_said_to_be_verified():
    header, payload = b'{"alg":"none"}', '{"sub":"\u202enimda","exp":1780000000}'
    token = f"{base64url(header)}.{base64url(payload.encode())}."
    result = command(["token", "inspect"], token)
    text = result.stdout.decode()
    assert result.returncode == 0 and text.startswith("NOT VERIFIED")
    assert '"alg": "none"' in text and "\\u202enimda" in text and "exp: 2026-05-28T20:26:40Z" in text
    assert command(["token", "inspect"], "x").returncode == 1


def test_a_signature_is_verified_with_the_keys_of_a_file(tmp_path):
    key = ec.generate_private_key(ec.SECP256R1())
    numbers = key.public_key().public_numbers()
    x, y = (base64url(number.to_bytes(32, "big")) for number in (numbers.x, numbers.y))
    path = tmp_path / "keys.json"
    path.write_text(json.dumps({"keys": [{"kty": "EC", "crv": "P-256", "kid": "k", "x": x, "y": y}]}))
    jws = jwt.api_jws.encode(b"any bytes", key, algorithm="ES256", headers={"kid": "k"})
    arguments = ["jws", "verify", "--jwks", path]
    result = command(arguments, jws)
    assert (result.returncode, result.stdout) == (0, b"accepted: ES256 signature over 9 bytes\n")
    assert command([*arguments, "--alg", "RS256"], jws).returncode == 1
    assert command(arguments, jws[:-4] + "AAAA").stdout == b"rejected: bad-signature\n"
    missing = command(["jws", "verify", "--jwks", tmp_path / "none.json"], jws)
    assert (missing.returncode, missing.stderr.decode()) == (1, f"{tmp_path}/none.json can't be read: there is no such file\n")
    path.write_text("{}")
    assert command(arguments, jws).returncode == 1
