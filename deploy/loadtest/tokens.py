"""Makes an issuer: its key and key set, and tokens like those of a Cognito user pool, about 1 KB each.

tokens.py DIRECTORY ISSUER CLIENT MANY NEW LISTS [AGE LIFETIME] writes
  jwks.json, public.pem          the issuer's key, for those who verify
  hot, many                      one token; MANY tokens, one to a line
  new-1 … new-LISTS              lists of NEW tokens each, no token twice
  expired, other-issuer, other-key, altered   tokens that must be refused

AGE is how many seconds ago the tokens were issued (60), LIFETIME for how many more they are good (a day).
"""

import base64
import json
import multiprocessing
import pathlib
import sys
import time
import uuid

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

KEY_ID = "loadtest-key-1"
DAY = 86_400


def encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def number(value: int) -> str:
    return encoded(value.to_bytes((value.bit_length() + 7) // 8, "big"))


def claims(issuer: str, client: str, expires_in: int = DAY, age: int = 60) -> dict[str, object]:
    now = int(time.time())
    return {
        "sub": str(uuid.uuid4()),
        "cognito:groups": ["beta", "customers"],
        "iss": issuer,
        "version": 2,
        "client_id": client,
        "origin_jti": str(uuid.uuid4()),
        "event_id": str(uuid.uuid4()),
        "token_use": "access",
        "scope": "openid profile aws.cognito.signin.user.admin",
        "auth_time": now - age,
        "exp": now + expires_in,
        "iat": now - age,
        "jti": str(uuid.uuid4()),
        "username": str(uuid.uuid4()),
    }


def token(key: rsa.RSAPrivateKey, payload: dict[str, object]) -> str:
    header = {"kid": KEY_ID, "alg": "RS256"}
    text = ".".join(encoded(json.dumps(part, separators=(",", ":")).encode()) for part in (header, payload))
    return text + "." + encoded(key.sign(text.encode(), padding.PKCS1v15(), hashes.SHA256()))


def altered(good: str) -> str:
    """The token with one letter in the middle of its signature changed."""
    place = len(good) - 100
    return good[:place] + ("A" if good[place] != "A" else "B") + good[place + 1 :]


def write_list(
    path: pathlib.Path, pem: bytes, issuer: str, client: str, count: int, age: int, lifetime: int
) -> None:
    key = serialization.load_pem_private_key(pem, None)
    assert isinstance(key, rsa.RSAPrivateKey)
    path.write_text("".join(token(key, claims(issuer, client, lifetime, age)) + "\n" for _ in range(count)))


def main() -> None:
    directory, issuer, client = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    many, new, lists = map(int, sys.argv[4:7])
    age, lifetime = map(int, sys.argv[7:9] or (60, DAY))
    directory.mkdir(parents=True, exist_ok=True)
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    public = key.public_key()
    numbers = public.public_numbers()
    jwk = {"kty": "RSA", "alg": "RS256", "use": "sig", "kid": KEY_ID, "n": number(numbers.n), "e": number(numbers.e)}
    (directory / "jwks.json").write_text(json.dumps({"keys": [jwk]}))
    (directory / "public.pem").write_bytes(
        public.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )

    stranger = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    refused = {
        "expired": token(key, claims(issuer, client, expires_in=-3600)),
        "other-issuer": token(key, claims(issuer + "-other", client)),
        "other-key": token(stranger, claims(issuer, client)),
        "altered": altered(token(key, claims(issuer, client))),
    }
    for name, text in refused.items():
        (directory / name).write_text(text + "\n")

    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    wanted = [("hot", 1), ("many", many), *((f"new-{index}", new) for index in range(1, lists + 1))]
    with multiprocessing.Pool() as pool:
        lists_of = [(directory / name, pem, issuer, client, count, age, lifetime) for name, count in wanted if count]
        pool.starmap(write_list, lists_of)


if __name__ == "__main__":
    main()
