"""The project's own token cases (cases/tokens.json): what a case says is made into a token with keys that are made here.

A case names the kind of token that it begins with ("of"), and what is different about it:
  header, claims    members that are set; null removes one, {"now": 60} is a time, {"text": "a", "times": 9} a long text
  header_text, claims_text    members as they are written, added to the others
  key, alg          who signs, and how; nobody with "none"
  spelt             how the finished token is written otherwise: the name of a function below
  now               how many seconds later it is looked at; those without are looked at by a running gateway too
"expect" is "accept", or the reason code.
"""

import base64
import functools
import hashlib
import hmac
import json
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa, utils
from harness.keys import base64url

SECRET = b"a secret of thirty-two bytes, and more"
ISSUERS = {name: f"https://{name}.test/issuer" for name in ("pool", "second", "api", "ids", "hmac", "sessions")}
ISSUERS["apple"] = "https://appleid.apple.com"
# Which algorithm each key is for; its kid is its name.
KEYS = {
    "pool": "RS256",
    "second": "RS256",
    "apple": "RS256",
    "rs384": "RS384",
    "rs512": "RS512",
    "ps256": "PS256",
    "ps384": "PS384",
    "ps512": "PS512",
    "es256": "ES256",
    "es384": "ES384",
    "es512": "ES512",
    "eddsa": "EdDSA",
    "ids": "ES256",
    "sessions": "ES256",
    "stranger": "RS256",
}
CURVES = {"ES256": ec.SECP256R1, "ES384": ec.SECP384R1, "ES512": ec.SECP521R1}


def hash_of(algorithm: str) -> hashes.HashAlgorithm:
    return {"256": hashes.SHA256, "384": hashes.SHA384, "512": hashes.SHA512}[algorithm[2:]]()


@functools.cache
def private_key(name: str):
    algorithm = KEYS[name]
    if algorithm in CURVES:
        return ec.generate_private_key(CURVES[algorithm]())
    if algorithm == "EdDSA":
        return ed25519.Ed25519PrivateKey.generate()
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def jwk(name: str) -> dict:
    public = private_key(name).public_key()
    common = {"kid": name, "use": "sig"}
    if isinstance(public, rsa.RSAPublicKey):
        modulus = public.public_numbers().n
        return {**common, "kty": "RSA", "n": base64url(modulus.to_bytes(modulus.bit_length() // 8, "big")), "e": "AQAB"}
    if isinstance(public, ed25519.Ed25519PublicKey):
        return {**common, "kty": "OKP", "crv": "Ed25519", "x": base64url(public.public_bytes_raw())}
    numbers, size = public.public_numbers(), (public.curve.key_size + 7) // 8
    x, y = (base64url(number.to_bytes(size, "big")) for number in (numbers.x, numbers.y))
    return {**common, "kty": "EC", "crv": f"P-{public.curve.key_size}", "x": x, "y": y}


def signature(algorithm: str, name: str, message: bytes) -> bytes:
    if algorithm == "none":
        return b""
    if algorithm.startswith("HS"):
        # The confusions: a public key's text as the secret.
        secret = SECRET if name == "hmac" else public_pem(name)
        return hmac.new(secret, message, getattr(hashlib, f"sha{algorithm[2:]}")).digest()
    key = private_key(name)
    if isinstance(key, ed25519.Ed25519PrivateKey):
        return key.sign(message)
    if isinstance(key, ec.EllipticCurvePrivateKey):
        size = (key.curve.key_size + 7) // 8
        numbers = utils.decode_dss_signature(key.sign(message, ec.ECDSA(hash_of(algorithm))))
        return b"".join(number.to_bytes(size, "big") for number in numbers)
    digest = hash_of(algorithm)
    pss = padding.PSS(mgf=padding.MGF1(digest), salt_length=digest.digest_size)
    return key.sign(message, pss if algorithm.startswith("PS") else padding.PKCS1v15(), digest)


def public_pem(name: str) -> bytes:
    form = (serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    return private_key(name).public_key().public_bytes(*form)


# MARK: Claims of each kind of token


def claims_of(kind: str, now: int) -> dict:
    common = {"sub": "user-1", "iat": now - 10, "exp": now + 3600, "auth_time": now - 60}
    match kind:
        case "access":
            return {**common, "iss": ISSUERS["pool"], "client_id": "app-1", "token_use": "access", "scope": "openid a/b", "jti": "t-1"}
        case "id":
            return {**common, "iss": ISSUERS["pool"], "aud": "app-1", "token_use": "id", "cognito:username": "ada"}
        case "apple":
            return {**common, "iss": ISSUERS["apple"], "aud": "com.example.app", "email_verified": "true"}
        case "session":
            return {**common, "iss": ISSUERS["sessions"], "aud": "gateway", "sid": "s-1", "jti": "t-1"}
        case "api" | "ids" | "hmac":
            return {**common, "iss": ISSUERS[kind], "aud": "https://api.test", "tenant": "acme"}
    raise ValueError(kind)


def header_of(kind: str) -> dict:
    match kind:
        case "access" | "id":
            return {"kid": "pool", "alg": "RS256"}
        case "api":
            return {"kid": "es256", "alg": "ES256", "typ": "at+jwt"}
        case "hmac":
            return {"alg": "HS256"}
        case "session":
            return {"kid": "sessions", "alg": "ES256", "typ": "session+jwt"}
    return {"kid": kind, "alg": KEYS[kind]}


def value_of(value, now: int):
    match value:
        case {"now": seconds}:
            return now + seconds
        case {"text": text, "times": times}:
            return text * times
        case {"jwk": name}:
            return jwk(name)
    return value


def changed(members: dict, changes: dict, now: int) -> dict:
    made = {**members, **{name: value_of(value, now) for name, value in changes.items()}}
    return {name: value for name, value in made.items() if value is not None}


def text_of(members: dict, more: str) -> bytes:
    text = json.dumps(members, ensure_ascii=False, separators=(",", ":"))
    return (f"{text[:-1]},{more}}}" if more else text).encode()


# MARK: Other spellings


def decoded(segment: str) -> bytes:
    return base64.urlsafe_b64decode(segment + "=" * (-len(segment) % 4))


def with_signature(token: str, change) -> str:
    head, payload, last = token.split(".")
    return f"{head}.{payload}.{base64url(change(decoded(last)))}"


def altered(segment: str) -> str:
    data = bytearray(decoded(segment))
    data[len(data) // 2] ^= 1
    return base64url(bytes(data))


def part(token: str, index: int, change) -> str:
    parts = token.split(".")
    parts[index] = change(parts[index])
    return ".".join(parts)


ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
ORDER = {
    "es256": 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551,
    "eddsa": 2**252 + 27742317777372353535851937790883648493,
}


def twin(signature: bytes) -> bytes:
    """ECDSA's other signature of the same message, which is right as well."""
    return signature[:32] + (ORDER["es256"] - int.from_bytes(signature[32:], "big")).to_bytes(32, "big")


def der(signature: bytes) -> bytes:
    return utils.encode_dss_signature(*(int.from_bytes(half, "big") for half in (signature[:32], signature[32:])))


def next_last(segment: str) -> str:
    """Other bits in the last character that belong to no byte."""
    return segment[:-1] + ALPHABET[ALPHABET.index(segment[-1]) + 1]


SPELLINGS = {
    "padded": lambda token: part(token, 2, lambda segment: segment + "=" * (-len(segment) % 4)),
    "payload-padded": lambda token: part(token, 1, lambda segment: segment + "="),
    "standard-alphabet": lambda token: part(token, 2, lambda segment: segment.replace("-", "+").replace("_", "/") + "+"),
    "space-before": lambda token: part(token, 0, lambda segment: " " + segment),
    "space-inside": lambda token: part(token, 1, lambda segment: segment[:9] + " " + segment[9:]),
    "trailing-bits": lambda token: part(token, 2, next_last),
    "two-segments": lambda token: token.rsplit(".", 1)[0],
    "four-segments": lambda token: token + ".AA",
    "five-segments": lambda token: token + "..",
    "empty-payload": lambda token: part(token, 1, lambda _: ""),
    "empty-header": lambda token: part(token, 0, lambda _: ""),
    "no-signature": lambda token: part(token, 2, lambda _: ""),
    "only-dots": lambda _: "..",
    "serialized": lambda token: json.dumps(dict(zip(("protected", "payload", "signature"), token.split("."), strict=True))),
    "doubled": lambda token: f"{token}.{token}",
    "not-ascii": lambda token: part(token, 2, lambda segment: segment[:-1] + "\u212a"),
    "header-array": lambda token: part(token, 0, lambda segment: base64url(b"[" + decoded(segment) + b"]")),
    "header-trailing": lambda token: part(token, 0, lambda segment: base64url(decoded(segment) + b"{}")),
    "header-altered": lambda token: part(token, 0, lambda segment: base64url(decoded(segment).replace(b",", b", ", 1))),
    "payload-altered": lambda token: part(token, 1, lambda segment: base64url(decoded(segment).replace(b"user-1", b"user-2"))),
    "payload-byte-order-mark": lambda token: part(token, 1, lambda segment: base64url(b"\xef\xbb\xbf" + decoded(segment))),
    "payload-of-16-bits": lambda token: part(token, 1, lambda segment: base64url(decoded(segment).decode().encode("utf-16-le"))),
    "signature-altered": lambda token: part(token, 2, altered),
    "signature-longer": lambda token: with_signature(token, lambda signature: signature + b"\0"),
    "signature-shorter": lambda token: with_signature(token, lambda signature: signature[:-1]),
    "signature-of-zeros": lambda token: with_signature(token, lambda signature: bytes(len(signature))),
    "signature-der": lambda token: with_signature(token, der),
    "signature-twin": lambda token: with_signature(token, twin),
    "signature-of-orders": lambda token: with_signature(token, lambda _: ORDER["es256"].to_bytes(32, "big") * 2),
    "signature-plus-order": lambda token: with_signature(
        token, lambda it: it[:32] + (int.from_bytes(it[32:], "little") + ORDER["eddsa"]).to_bytes(32, "little")
    ),
}


@dataclass
class TokenCase:
    id: str
    why: str
    of: str
    expect: str
    header: dict = field(default_factory=dict)
    claims: dict = field(default_factory=dict)
    header_text: str = ""
    claims_text: str = ""
    key: str = ""
    alg: str = ""
    spelt: str = ""
    now: int = 0

    def token(self, now: int) -> str:
        header = changed(header_of(self.of), self.header, now)
        claims = changed(claims_of(self.of, now), self.claims, now)
        segments = (text_of(header, self.header_text), text_of(claims, self.claims_text))
        message = ".".join(map(base64url, segments))
        plain = header_of(self.of)
        made = signature(self.alg or plain["alg"], self.key or plain.get("kid", "hmac"), message.encode())
        token = f"{message}.{base64url(made)}"
        return SPELLINGS[self.spelt](token) if self.spelt else token


def load(path: Path) -> list[TokenCase]:
    return [TokenCase(**case) for case in json.loads(path.read_text())]


def issuers(directory: Path) -> dict:
    """The configuration for the cases, with the key sets as files."""

    def keys(*names: str) -> str:
        path = directory / f"{'-'.join(names)}.json"
        path.write_text(json.dumps({"keys": [jwk(name) for name in names]}))
        return str(path)

    secret = directory / "secret"
    secret.write_bytes(SECRET)
    pool = {"profile": "cognito", "client_ids": ["app-1", "app-2"], "token_uses": ["access", "id"]}
    several = [name for name, algorithm in KEYS.items() if name not in ("pool", "second", "apple", "ids", "sessions", "stranger")]
    listed = ["RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
    api = {"profile": "oidc", "audiences": ["https://api.test"], "required_claims": ["tenant"]}
    return {
        "pool": {**pool, "user_pool_id": "eu-central-1_A", "issuer": ISSUERS["pool"], "jwks_file": keys("pool")},
        "second": {**pool, "user_pool_id": "eu-central-1_B", "issuer": ISSUERS["second"], "jwks_file": keys("second")},
        "apple": {"profile": "apple", "audiences": ["com.example.app"], "jwks_file": keys("apple")},
        "api": {**api, "issuer": ISSUERS["api"], "algorithms": listed, "jwks_file": keys(*several)},
        "ids": {**api, "issuer": ISSUERS["ids"], "algorithms": ["ES256"], "token_use": "id", "jwks_file": keys("ids")},
        "hmac": {**api, "issuer": ISSUERS["hmac"], "algorithms": ["HS256"], "secret": f"file:{secret}"},
        "sessions": {
            "profile": "gatehouse",
            "issuer": ISSUERS["sessions"],
            "audiences": ["gateway"],
            "jwks_file": keys("sessions"),
        },
    }
