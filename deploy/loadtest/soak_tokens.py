"""Prints tokens by HMAC, one to a line, which cost little to make: soak_tokens.py ISSUER SECRET COUNT LIFETIME

They are of the size of a user pool's, about 1 KB. No two are the same.
"""

import base64
import hashlib
import hmac
import json
import secrets
import sys
import time


def encoded(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def main() -> None:
    issuer, secret, count, lifetime = sys.argv[1], sys.argv[2].encode(), int(sys.argv[3]), int(sys.argv[4])
    now = int(time.time())
    head = encoded(b'{"alg":"HS256","typ":"JWT"}')
    claims = {"iss": issuer, "aud": "api", "iat": now - 10_800, "exp": now + lifetime, "note": "x" * 600}
    for _ in range(count):
        payload = encoded(json.dumps({**claims, "sub": secrets.token_hex(16)}, separators=(",", ":")).encode())
        text = head + b"." + payload
        print((text + b"." + encoded(hmac.digest(secret, text, hashlib.sha256))).decode())


if __name__ == "__main__":
    main()
