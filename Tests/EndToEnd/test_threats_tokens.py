"""Tokens that must not pass, one test for each row of the list of threats: what the origin sees counts, not the status."""

import base64
import json
import socket
import time
import urllib.parse

import jwt
import pytest
from cryptography.hazmat.primitives import hashes, hmac, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa, utils
from harness import raw
from harness.account import assert_refusal, bearer
from harness.backend import Request
from harness.keys import CLIENT_ID, ISSUER, Issuer, KeyServer, SigningKey, base64url
from harness.process import wait_until

SUBJECT = "8c3b1c52-0000-4000-8000-1234567890ab"
REQUIRED = "/recorded/required/x"
OTHER_ISSUER = "https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_EXAMPLE02"
P256_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
ED25519_ORDER = 2**252 + 27742317777372353535851937790883648493


def refused(gateway, recorder, token: str, reasons: str | set[str], error: str = "NotAuthorizedException") -> None:
    """401 that does not say why, one line in the log that does, and not a byte at the origin."""
    answer = raw.exchange(gateway.port, "GET", REQUIRED, bearer(token))
    body = assert_refusal(answer, 401, error)
    reason = gateway.access_line(body["requestId"])["denial_reason"]
    assert reason in ({reasons} if isinstance(reasons, str) else reasons), reason
    assert reason == "expired" or reason not in answer.body.decode()
    assert recorder.requests == []


def accepted(gateway, recorder, token: str) -> Request:
    """200; what the origin got."""
    recorder.forget()
    assert raw.exchange(gateway.port, "GET", REQUIRED, bearer(token)).status == 200
    request = recorder.last(REQUIRED)
    assert len(recorder.requests) == 1
    recorder.forget()
    return request


def header(issuer: Issuer, **changes) -> dict:
    made = {"alg": "RS256", "kid": issuer.access_key.kid, "typ": "JWT"} | changes
    return {name: value for name, value in made.items() if value is not ...}


def signed(issuer: Issuer, head: dict | bytes, claims: dict | bytes | None = None, key: SigningKey | None = None) -> str:
    """RS256 over exactly this, whatever the header says."""
    parts = [head, issuer.access_claims() if claims is None else claims]
    text = ".".join(base64url(part if isinstance(part, bytes) else json.dumps(part).encode()) for part in parts)
    signature = (key or issuer.access_key).private.sign(text.encode(), padding.PKCS1v15(), hashes.SHA256())
    return note(issuer, f"{text}.{base64url(signature)}")


def note(issuer: Issuer, token: str) -> str:
    """Remembers a token for the search of the logs."""
    issuer.minted.append(token)
    return token


def with_member(issuer: Issuer, name: str, text: str) -> str:
    """An access token with this claim written exactly so."""
    claims = json.dumps(issuer.access_claims(**{name: ...}))
    return signed(issuer, header(issuer), f'{claims[:-1]}, "{name}": {text}}}'.encode())


def decoded(segment: str) -> bytes:
    return base64.urlsafe_b64decode(segment + "=" * (-len(segment) % 4))


def resigned(token: str, signature: bytes) -> str:
    return f"{token.rsplit('.', 1)[0]}.{base64url(signature)}"


def signature_of(token: str) -> bytes:
    return decoded(token.rsplit(".", 1)[1])


def test_row_01_alg_none_in_any_spelling_is_refused(gateway, recorder, issuer):
    for spelling in ("none", "None", "NONE", "nOnE", "none ", " none", "no\u0000ne", "ｎｏｎｅ"):
        head = header(issuer, alg=spelling)
        refused(gateway, recorder, issuer.raw(head, issuer.access_claims()), "bad-signature")
        refused(gateway, recorder, issuer.raw(head, issuer.access_claims(), b"x" * 256), "algorithm-not-allowed")
        refused(gateway, recorder, signed(issuer, head), "algorithm-not-allowed")


def test_row_02_an_empty_signature_is_refused(gateway, recorder, issuer):
    token = issuer.access()
    refused(gateway, recorder, token.rsplit(".", 1)[0] + ".", "bad-signature")
    refused(gateway, recorder, token.rsplit(".", 1)[0], "malformed-token")


def test_row_03_hmac_keyed_with_the_public_key_is_refused(gateway, recorder, issuer):
    public = issuer.access_key.private.public_key()
    formats = serialization.PublicFormat
    secrets = [
        public.public_bytes(encoding, form)
        for encoding in (serialization.Encoding.PEM, serialization.Encoding.DER)
        for form in (formats.SubjectPublicKeyInfo, formats.PKCS1)
    ]
    secrets += [secrets[0].strip(), decoded(issuer.access_key.jwk()["n"]), issuer.access_key.jwk()["n"].encode()]
    secrets += [json.dumps(issuer.access_key.jwk()).encode(), b"", bytes(32)]
    for secret in secrets:
        for algorithm, reason in (("HS256", "algorithm-not-allowed"), ("RS256", "bad-signature")):
            unsigned = issuer.raw(header(issuer, alg=algorithm), issuer.access_claims())
            code = hmac.HMAC(secret or b"\0", hashes.SHA256())
            code.update(unsigned[:-1].encode())
            refused(gateway, recorder, note(issuer, unsigned + base64url(code.finalize())), reason)


def test_row_04_a_valid_signature_under_an_unlisted_algorithm_is_refused(gateway, recorder, issuer):
    for algorithm in ("RS384", "RS512", "PS256", "PS384", "PS512"):
        token = issuer.sign(issuer.access_claims(), issuer.access_key, algorithm=algorithm)
        refused(gateway, recorder, token, "algorithm-not-allowed")
        # The same signature under the listed algorithm's name.
        lying = resigned(issuer.raw(header(issuer), issuer.access_claims()), signature_of(token))
        refused(gateway, recorder, note(issuer, lying), "bad-signature")


def test_row_05_alg_is_one_text_in_its_exact_case(gateway, recorder, issuer):
    for value in (["RS256"], None, ..., "rs256", "Rs256", {"alg": "RS256"}, 256, True, "RS256 ", ""):
        refused(gateway, recorder, signed(issuer, header(issuer, alg=value)), "algorithm-not-allowed")


def test_row_06_a_strange_kid_reaches_no_file_no_query_and_no_second_log_line(gateway, recorder, issuer):
    def files() -> set[str]:
        return {str(path) for path in gateway.config_path.parent.rglob("*")}

    assert raw.exchange(gateway.port, "GET", REQUIRED, bearer(issuer.access())).status == 200
    recorder.forget()
    before = files()
    strange = [
        "../../../../dev/null", "/dev/null", "file:///etc/passwd", "access-key-1=\0", "\0", "' OR '1'='1", "|/bin/true",
        '"}\r\n{"status":200,"method":"GET"}', "a\r\nb", "\x1b[31m", "ACCESS-KEY-1=", "access\u212aey-1=",
    ]
    for kid in strange:
        refused(gateway, recorder, signed(issuer, header(issuer, kid=kid)), "unknown-key")
    long = {"key-id-invalid", "token-too-large"}
    for kid in ("k" * 257, "k" * 5_000, "", None, ..., 1, ["access-key-1="], {"kid": "access-key-1="}):
        refused(gateway, recorder, signed(issuer, header(issuer, kid=kid)), long)
    assert files() == before
    # Every line of the log is one JSON object (access_log reads them), and none tells a kid.
    assert not [line for line in gateway.access_log() if "kid" in str(line).lower()]
    assert "\x1b" not in gateway.log() and "OR '1'" not in gateway.log()


@pytest.mark.timeout(300)
def test_row_07_ten_thousand_unknown_kids_cause_one_fetch(start_gateway, own_recorder):
    issuer = Issuer()
    try:
        # However long it takes, the interval does not end meanwhile.
        settings = {"logging": {"access_log": False}, "key_sets": {"unknown_key_interval": "1h"}}
        gateway = start_gateway(settings, jwks_url=issuer.server.url)
        assert raw.exchange(gateway.port, "GET", REQUIRED, bearer(issuer.access())).status == 200
        fetches = issuer.server.fetches
        text = issuer.raw(header(issuer), issuer.access_claims(), b"x" * 256).split(".", 1)[1]
        own_recorder.forget()
        with raw.RawConnection(gateway.port, timeout=60) as connection:
            for start in range(0, 10_000, 50):
                heads = (header(issuer, kid=f"made-up-{number}") for number in range(start, start + 50))
                tokens = (f"{base64url(json.dumps(head).encode())}.{text}" for head in heads)
                connection.send(b"".join(raw.request_bytes("GET", REQUIRED, bearer(token)) for token in tokens))
                assert {connection.response().status for _ in range(50)} == {401}
        assert issuer.server.fetches - fetches <= 1
        assert own_recorder.requests == []
        assert raw.exchange(gateway.port, "GET", REQUIRED, bearer(issuer.access())).status == 200
    finally:
        issuer.server.stop()


def test_row_08_a_key_that_the_token_brings_along_is_not_used(gateway, recorder, issuer):
    own = SigningKey(issuer.access_key.kid)
    for changes in ({"jwk": own.jwk()}, {"jwk": None}, {"x5c": ["MIIB"]}, {"x5c": []}, {"kid": "own", "jwk": own.jwk()}):
        refused(gateway, recorder, signed(issuer, header(issuer, **changes), key=own), "key-in-header")
        refused(gateway, recorder, signed(issuer, header(issuer, **changes)), "key-in-header")


def test_row_09_no_socket_is_opened_for_jku_or_x5u(gateway, recorder, issuer):
    own = SigningKey("own")
    with socket.create_server(("127.0.0.1", 0)) as trap:
        url = f"http://127.0.0.1:{trap.getsockname()[1]}/jwks.json"
        for name in ("jku", "x5u"):
            for changes in ({name: url}, {name: url, "kid": "own"}, {name: [url]}, {name: None}):
                refused(gateway, recorder, signed(issuer, header(issuer, **changes), key=own), "key-in-header")
                refused(gateway, recorder, signed(issuer, header(issuer, **changes)), "key-in-header")
        # An `iss` is no address either.
        claims = issuer.access_claims(iss=url.removesuffix("/jwks.json"))
        refused(gateway, recorder, signed(issuer, header(issuer, kid="own"), claims, key=own), "unknown-issuer")
        # Whatever would have been fetched was asked for before this one, which waits for the issuer's own key set.
        refused(gateway, recorder, signed(issuer, header(issuer, kid="asked-for-last")), "unknown-key")
        trap.setblocking(False)
        with pytest.raises(BlockingIOError):
            trap.accept()


def test_row_10_crit_is_refused_whatever_it_names(gateway, recorder, issuer):
    for changes in (
        {"crit": ["x"], "x": 1}, {"crit": []}, {"crit": ["exp"], "exp": 1}, {"crit": ["alg"]}, {"crit": None},
        {"crit": "x"}, {"crit": ["b64"], "b64": False},
    ):
        refused(gateway, recorder, signed(issuer, header(issuer, **changes)), "critical-header")


def test_row_11_an_unencoded_payload_is_refused(gateway, recorder, issuer):
    for value in (False, True, None, "false"):
        refused(gateway, recorder, signed(issuer, header(issuer, b64=value)), "unencoded-payload")
    head = base64url(json.dumps(header(issuer, b64=False, crit=["b64"])).encode())
    claims = json.dumps(issuer.access_claims()).replace(".", "\\u002e").replace(" ", "")
    text = f"{head}.{claims}".encode()
    signature = issuer.access_key.private.sign(text, padding.PKCS1v15(), hashes.SHA256())
    refused(gateway, recorder, note(issuer, f"{text.decode()}.{base64url(signature)}"), "malformed-token")


def test_row_12_a_repeated_member_is_refused_also_by_escape(gateway, recorder, issuer):
    for member in ('"alg":"none"', '"\\u0061lg":"RS256"', '"kid":"x"', '"k\\u0069d":"access-key-1="'):
        text = json.dumps(header(issuer))[:-1] + f",{member}}}"
        refused(gateway, recorder, signed(issuer, text.encode()), "malformed-header")
    for member in ('"sub":"admin"', '"s\\u0075b":"admin"', '"exp":9999999999', '"\\u0065xp":1', '"iss":"x"', '"\\u0069ss":1'):
        text = json.dumps(issuer.access_claims())[:-1] + f",{member}}}"
        refused(gateway, recorder, signed(issuer, header(issuer), text.encode()), "malformed-payload")
    nested = with_member(issuer, "address", '{"a":1,"\\u0061":2}')
    refused(gateway, recorder, nested, "malformed-payload")


def test_row_13_exp_is_a_number_in_any_notation(gateway, recorder, issuer):
    later = int(time.time()) + 600
    for text in (f'"{later}"', "true", "null", "[]", "1e400", "-1e400"):
        refused(gateway, recorder, with_member(issuer, "exp", text), "expiry-invalid")
    for text in ("NaN", "Infinity", "-Infinity", f"0{later}", f"+{later}", f"{later}.", "0x7fffffff"):
        refused(gateway, recorder, with_member(issuer, "exp", text), "malformed-payload")
    for text in ("-1", "-1e9", "0", "1e-400", str(later - 1200)):
        refused(gateway, recorder, with_member(issuer, "exp", text), "expired", "TokenExpiredException")
    refused(gateway, recorder, issuer.access(exp=...), "expiry-invalid")
    for text in (f"{later}.75", f"{later}e0", f"{later / 1e9:.9f}E+9", f"{later}000e-3"):
        assert accepted(gateway, recorder, with_member(issuer, "exp", text)).header("x-auth-expires") == str(later), text


def test_row_14_an_exp_beyond_all_time_does_no_harm(gateway, recorder, issuer):
    for text in (str(2**63), str(2**63 - 1), str(-(2**63) - 1), str(10**30), "1" + "0" * 400, "9e18", "1e99999999999"):
        refused(gateway, recorder, with_member(issuer, "exp", text), "expiry-invalid")
    for _ in range(2):
        # The cache ends it after a day (VerifyCacheTests).
        assert accepted(gateway, recorder, with_member(issuer, "exp", str(2**53))).header("x-auth-expires") == str(2**53)
    assert gateway.process.exit_status is None


def test_row_15_nbf_beyond_the_skew_is_refused(gateway, recorder, issuer):
    now = int(time.time())
    refused(gateway, recorder, issuer.access(nbf=now + 120), "not-yet-valid")
    for text in (f'"{now}"', "true", "null", "[]", "1e400"):
        refused(gateway, recorder, with_member(issuer, "nbf", text), "not-before-invalid")
    accepted(gateway, recorder, issuer.access(nbf=now + 30))


def test_row_16_iat_in_the_future_is_refused(gateway, recorder, issuer):
    now = int(time.time())
    refused(gateway, recorder, issuer.access(iat=now + 3600), "issued-in-future")
    for text in (f'"{now}"', "true", "1e400"):
        refused(gateway, recorder, with_member(issuer, "iat", text), "issued-at-invalid")
    accepted(gateway, recorder, issuer.access(iat=now + 30))


def test_row_17_iss_is_compared_byte_for_byte(gateway, recorder, issuer):
    for other in (
        ISSUER + "/", ISSUER.upper(), ISSUER.replace("https", "HTTPS"), ISSUER.replace("cognito", "c\u043egnito"),
        ISSUER.replace(".com/", ".com%2f"), ISSUER + "\0", " " + ISSUER, ISSUER + "\n", ISSUER.replace("https", "http"),
        ISSUER.replace("/eu", ":443/eu"), ISSUER[:-1], "", ISSUER.replace("EXAMPLE", "EXAMPL\u0395"), ISSUER + "#x",
    ):
        refused(gateway, recorder, issuer.access(iss=other), "unknown-issuer")
    for text in ("null", "1", f'["{ISSUER}"]', f'{{"iss":"{ISSUER}"}}'):
        refused(gateway, recorder, with_member(issuer, "iss", text), "issuer-invalid")
    refused(gateway, recorder, issuer.access(iss=...), "issuer-invalid")


def test_row_18_one_issuers_key_never_verifies_anothers_token(start_gateway, issuer, own_recorder):
    other = Issuer()
    try:
        assert other.access_key.kid == issuer.access_key.kid
        settings = {
            "profile": "cognito", "region": "eu-central-1", "user_pool_id": "eu-central-1_EXAMPLE02",
            "issuer": OTHER_ISSUER, "jwks_url": other.server.url, "allow_insecure_http": True, "client_ids": [CLIENT_ID],
        }
        gateway = start_gateway({"issuers": {"other": settings}})
        theirs = issuer.access_claims(iss=OTHER_ISSUER)
        for _ in range(2):
            assert accepted(gateway, own_recorder, issuer.access()).header("x-auth-issuer") == ISSUER
            token = other.sign(theirs, other.access_key)
            assert accepted(gateway, own_recorder, token).header("x-auth-issuer") == OTHER_ISSUER
            refused(gateway, own_recorder, other.sign(issuer.access_claims(), other.access_key), "bad-signature")
            refused(gateway, own_recorder, issuer.sign(theirs, issuer.access_key), "bad-signature")
        issuer.minted += other.minted
    finally:
        other.server.stop()


def test_row_19_an_id_token_names_our_client_exactly(gateway, recorder, issuer):
    for text in (
        '""', f'"{CLIENT_ID[:-1]}"', f'"{CLIENT_ID}x"', f'"{CLIENT_ID.upper()}"', f'"{CLIENT_ID},x"', f'"x {CLIENT_ID}"',
        f'[["{CLIENT_ID}"]]', f'{{"0":"{CLIENT_ID}"}}', "[]", "null", "1", f'["{CLIENT_ID}",1]', '"*"',
        f'["{CLIENT_ID},x"]', f'"[\\"{CLIENT_ID}\\"]"',
    ):
        claims = json.dumps(issuer.id_claims(aud=...))[:-1] + f', "aud": {text}}}'
        refused(gateway, recorder, signed(issuer, header(issuer), claims.encode()), "audience-not-allowed")
    refused(gateway, recorder, issuer.id(aud=...), "audience-not-allowed")
    for audience in (CLIENT_ID, [CLIENT_ID], ["x", CLIENT_ID]):
        assert accepted(gateway, recorder, issuer.id(aud=audience)).header("x-auth-client") == CLIENT_ID


def test_row_20_an_access_token_is_one_of_our_clients(gateway, recorder, issuer):
    for client in (..., "", "another", CLIENT_ID.upper(), CLIENT_ID + " ", [CLIENT_ID], None):
        token = issuer.access(client_id=client, aud=CLIENT_ID)
        refused(gateway, recorder, token, "client-not-allowed")
    for use in (..., "", "refresh", "ACCESS", "access ", None, ["access"]):
        refused(gateway, recorder, issuer.access(token_use=use), "token-use-invalid")
    # An ID token's claims under the name of an access token, and the other way round.
    refused(gateway, recorder, issuer.id(token_use="access"), "client-not-allowed")
    refused(gateway, recorder, issuer.access(token_use="id"), "audience-not-allowed")


HOSTILE_TEXTS = ["a\r\nX-Auth-Groups: admin\r\nY: b", "a\nb", "a\0b", "a\rb", "\x1b[31m", "\x85", "\u2028", "a\tb"]
FOREIGN_TEXTS = ["sübject", "用户", "\u202enimda", "😀", "caf\u00e9", "cafe\u0301", "100%", "%41", " a ", "\ufeffa"]


def test_row_22_a_subject_with_line_breaks_makes_no_second_line(gateway, recorder, issuer):
    for subject in HOSTILE_TEXTS:
        request = accepted(gateway, recorder, issuer.access(sub=subject, username=subject))
        lines = request.raw_head.split(b"\r\n")
        assert len([line for line in lines if line.lower().startswith(b"x-auth-subject:")]) == 1
        assert request.header("x-auth-groups") == "beta,drivers" and "y" not in request.names
        assert all(0x20 <= byte < 0x7F for line in lines for byte in line), subject
        assert urllib.parse.unquote(request.header("x-auth-subject")) == subject


def test_row_23_a_subject_in_any_script_has_one_reversible_encoding(gateway, recorder, issuer):
    written = []
    for subject in FOREIGN_TEXTS:
        request = accepted(gateway, recorder, issuer.access(sub=subject))
        written.append(request.header("x-auth-subject"))
        assert written[-1].isascii() and urllib.parse.unquote(written[-1]) == subject
    assert len(set(written)) == len(FOREIGN_TEXTS)


def test_row_24_a_list_is_not_confused_once_it_is_joined(start_gateway, own_recorder, issuer):
    gateway = start_gateway({"identity": {"claims": {"X-Roles": ["realm", "roles"], "X-One": "one"}}})
    lists = [["admin,root"], ["admin", "root"], ["a\r\nX-Auth-Subject: x"], ["a%2Cb"], ["a%2cb", "c"], [" a", "b "], [","]]
    seen = []
    for names in lists:
        request = accepted(
            gateway, own_recorder, issuer.access(**{"cognito:groups": names, "realm": {"roles": names}, "one": names[0]})
        )
        for name in ("x-auth-groups", "x-roles"):
            assert [urllib.parse.unquote(part) for part in request.header(name).split(",")] == names
        # A text is never taken for a list.
        assert [urllib.parse.unquote(part) for part in request.header("x-one").split(",")] == names[:1]
        assert request.header("x-auth-subject") == SUBJECT
        seen.append(request.header("x-roles"))
    assert len(set(seen)) == len(lists)


def test_row_25_every_other_spelling_of_the_base64_is_refused(gateway, recorder, issuer):
    token = issuer.access(jti="~~~???>>>" * 3)
    accepted(gateway, recorder, token)
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    parts = token.split(".")
    assert any("-" in part or "_" in part for part in parts)
    for place, part in enumerate(parts):
        spellings = [part + "=", part + "==", "=" + part, part + "A", part + "AA", part[:4] + "%3D" + part[4:]]
        spellings += [part[:8] + blank + part[8:] for blank in (" ", "\t", "é")]
        spellings += [part.replace("-", "+").replace("_", "/")] * ("-" in part or "_" in part)
        if len(part) % 4:
            # The last character's spare bits.
            last = alphabet.index(part[-1])
            spellings += [part[:-1] + alphabet[last ^ bit] for bit in (1, 2)]
        for spelling in spellings:
            other = ".".join([*parts[:place], spelling, *parts[place + 1 :]])
            # Whole bytes more are bytes, which are then no JSON, or no signature.
            reasons = {"malformed-token", "malformed-header", "malformed-payload", "bad-signature"}
            refused(gateway, recorder, note(issuer, other.encode().decode("latin-1")), reasons)


def test_row_26_only_three_segments_are_a_token(gateway, recorder, issuer):
    token = issuer.access()
    head, claims, signature = token.split(".")
    document = json.dumps({"protected": head, "payload": claims, "signature": signature}).replace(" ", "")
    general = json.dumps({"payload": claims, "signatures": [{"protected": head, "signature": signature}]}).replace(" ", "")
    for other in (
        f"{head}.{claims}", token + ".", "." + token, f"{token}.{signature}", f"{token}.{claims}.{signature}", document,
        general, head, ".", "....", f"{head}%2E{claims}.{signature}", f"{token},{token}", f"{token};{token}",
    ):
        refused(gateway, recorder, note(issuer, other), {"malformed-token", "malformed-header"})
    for other in ("..", f"{head}..{signature}", f".{claims}.{signature}"):
        refused(gateway, recorder, other, {"bad-signature", "malformed-payload", "malformed-header"})


def test_row_27_a_token_of_great_length_or_depth_is_refused_before_any_arithmetic(start_gateway, own_recorder, issuer):
    wide = {"token_bytes": "64KiB", "header_line_bytes": "256KiB", "header_bytes": "256KiB"}
    gateway = start_gateway({"limits": wide})
    for text in ("a." + "b" * 100_000 + ".c", "." * 100_000, issuer.access() + "A" * 100_000):
        refused(gateway, own_recorder, text, "token-too-large")
    refused(gateway, own_recorder, "." * 60_000, "malformed-token")
    for opening, closing in (("[", "]"), ('{"a":', "}")):
        levels = 40_000 // len(opening + closing)
        deep = with_member(issuer, "deep", opening * levels + "1" + closing * levels)
        refused(gateway, own_recorder, deep, "malformed-payload")
        # Not even closed.
        refused(gateway, own_recorder, with_member(issuer, "deep", opening * levels), "malformed-payload")
    accepted(gateway, own_recorder, with_member(issuer, "deep", "[" * 30 + "]" * 30))
    usual = start_gateway()
    answer = raw.exchange(usual.port, "GET", REQUIRED, bearer("a." + "b" * 100_000 + ".c"))
    assert answer.status == 431
    assert own_recorder.requests == []


class CurveKey:
    """A key of another type, served beside the RSA keys."""

    def __init__(self, kid: str, private):
        self.kid, self.private = kid, private

    def jwk(self) -> dict:
        public = self.private.public_key()
        if isinstance(public, ed25519.Ed25519PublicKey):
            return {"kty": "OKP", "crv": "Ed25519", "kid": self.kid, "x": base64url(public.public_bytes_raw())}
        numbers = public.public_numbers()
        x, y = (base64url(number.to_bytes(32, "big")) for number in (numbers.x, numbers.y))
        return {"kty": "EC", "crv": "P-256", "kid": self.kid, "x": x, "y": y}


@pytest.fixture
def curves(start_gateway, issuer):
    """A gateway whose issuer signs with RSA, P-256 and Ed25519, and a token for each of the curves."""
    keys = [CurveKey("ES256", ec.generate_private_key(ec.SECP256R1())), CurveKey("EdDSA", ed25519.Ed25519PrivateKey.generate())]
    server = KeyServer(issuer.access_key, *keys)
    gateway = start_gateway(
        {"issuers": {"own": {"algorithms": ["RS256", "ES256", "EdDSA"]}}}, jwks_url=server.url
    )
    tokens = {
        key.kid: note(issuer, jwt.encode(issuer.access_claims(), key.private, algorithm=key.kid, headers={"kid": key.kid}))
        for key in keys
    }
    yield gateway, tokens
    server.stop()


def test_row_28_an_es256_signature_has_one_form(curves, own_recorder):
    gateway, tokens = curves
    token = tokens["ES256"]
    accepted(gateway, own_recorder, token)
    signature = signature_of(token)
    r, s = int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big")
    zero, order, most = bytes(32), P256_ORDER.to_bytes(32, "big"), b"\xff" * 32
    wrong = [
        zero + zero, zero + signature[32:], signature[:32] + zero, order + order, order + signature[32:],
        signature[:32] + order, most + signature[32:], signature[:32] + most, utils.encode_dss_signature(r, s),
        b"\0" + signature, signature + b"\0", signature[:32] + b"\0" + signature[32:], signature[:-1], signature[32:] + signature[:32],
        bytes(31) + b"\1" + bytes(31) + b"\1", signature + signature,
    ]
    wrong += [
        first.to_bytes(32, "big") + second.to_bytes(32, "big")
        for first, second in ((r + P256_ORDER, s), (r, s + P256_ORDER), (P256_ORDER - r, s))
        if max(first, second) < 2**256
    ]
    for bad in wrong:
        refused(gateway, own_recorder, resigned(token, bad), "bad-signature")


def test_row_29_an_eddsa_signature_has_one_form(curves, own_recorder):
    gateway, tokens = curves
    token = tokens["EdDSA"]
    accepted(gateway, own_recorder, token)
    signature = signature_of(token)
    s = int.from_bytes(signature[32:], "little")
    identity = b"\1" + bytes(31)
    wrong = [bytes(64), identity + bytes(32), signature[:32] + bytes(32), bytes(32) + signature[32:], signature[:-1], signature + b"\0"]
    wrong += [
        signature[:32] + (s + times * ED25519_ORDER).to_bytes(32, "little")
        for times in range(1, 16)
        if s + times * ED25519_ORDER < 2**256
    ]
    # The bit of R that says its x is negative, and the bits of S that must be zero.
    wrong += [signature[:31] + bytes([signature[31] ^ 0x80]) + signature[32:]]
    wrong += [signature[:63] + bytes([signature[63] | bit]) for bit in (0x20, 0x40, 0x80)]
    for bad in wrong:
        refused(gateway, own_recorder, resigned(token, bad), "bad-signature")


def test_row_30_an_rsa_signature_has_one_form(gateway, recorder, issuer):
    numbers = issuer.access_key.private.public_key().public_numbers()
    # One for which s + n has no more bytes than the modulus.
    token, s = "", numbers.n
    while s + numbers.n >= 2**2048:
        token = issuer.access(jti=f"{s}"[-40:])
        s = int.from_bytes(signature_of(token), "big")
    accepted(gateway, recorder, token)
    signature = s.to_bytes(256, "big")
    for bad in (
        (s + numbers.n).to_bytes(256, "big"), (numbers.n - s).to_bytes(256, "big"), b"\0" + signature, signature + b"\0",
        signature[:-1], signature[1:], bytes(256), bytes(255) + b"\1", (numbers.n - 1).to_bytes(256, "big"),
        numbers.n.to_bytes(256, "big"), b"\xff" * 256, (s + numbers.n).to_bytes(257, "big"), signature * 2,
    ):
        refused(gateway, recorder, note(issuer, resigned(token, bad)), "bad-signature")


def test_row_31_a_weak_key_is_dropped_from_the_set_and_the_others_work(start_gateway, own_recorder, issuer):
    """More of them, with their warnings: test_algorithms."""

    class Document:
        def __init__(self, kid: str, **members):
            self.kid, self.members = kid, members

        def jwk(self) -> dict:
            return {**weak[self.kid].jwk(), **self.members}

    weak = {name: SigningKey(name) for name in ("encryption", "exponent", "small")}
    weak["small"].private = rsa.generate_private_key(public_exponent=65537, key_size=1024)
    server = KeyServer(
        Document("encryption", use="enc"), Document("exponent", e="AQ"), Document("small"), issuer.access_key
    )
    try:
        gateway = start_gateway(jwks_url=server.url)
        for key in weak.values():
            refused(gateway, own_recorder, issuer.sign(issuer.access_claims(), key), "unknown-key")
        # With e = 1 the padded digest itself is the signature.
        text = issuer.raw(header(issuer, kid="exponent"), issuer.access_claims())[:-1]
        digest = hashes.Hash(hashes.SHA256())
        digest.update(text.encode())
        information = bytes.fromhex("3031300d060960864801650304020105000420") + digest.finalize()
        forged = b"\0\1" + b"\xff" * (256 - 3 - len(information)) + b"\0" + information
        refused(gateway, own_recorder, f"{text}.{base64url(forged)}", "unknown-key")
        accepted(gateway, own_recorder, issuer.access())
    finally:
        server.stop()


def test_row_32_other_kinds_of_jwt_are_refused(gateway, recorder, issuer):
    for kind in (
        "dpop+jwt", "logout+jwt", "secevent+jwt", "token-introspection+jwt", "JWE", "", "application/dpop+jwt", None, 1,
        ["JWT"], "JWT ", "text/jwt",
    ):
        refused(gateway, recorder, signed(issuer, header(issuer, typ=kind)), "type-not-allowed")
    for kind in ("JWT", "at+jwt", "application/at+jwt", ...):
        accepted(gateway, recorder, signed(issuer, header(issuer, typ=kind)))


def test_row_33_a_respelled_es256_token_is_the_same_identity(curves, own_recorder):
    """ECDSA has a twin for each signature, n − s: nothing may go by the token's bytes that must hold for both."""
    gateway, tokens = curves
    token = tokens["ES256"]
    signature = signature_of(token)
    s = P256_ORDER - int.from_bytes(signature[32:], "big")
    twin = resigned(token, signature[:32] + s.to_bytes(32, "big"))
    identities = []
    for each in (token, twin) * 2:
        request = accepted(gateway, own_recorder, each)
        identities.append([line for line in request.headers if line[0].lower().startswith("x-auth-")])
    assert len(identities[0]) > 5 and all(identity == identities[0] for identity in identities)
    wait_until(lambda: gateway.metric("gatehouse_requests_in_flight") == 0, "the requests to end")
