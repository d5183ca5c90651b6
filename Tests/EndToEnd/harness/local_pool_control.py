"""The control interface of a running LocalPool: its clock, its keys, errors on order."""

import base64
import hashlib
import hmac
import json
import urllib.request

from .gateway import LocalPool
from .sanitizer import PATIENCE


def control(pool: LocalPool, method: str, path: str, body: object = None) -> object:
    """The answer of one of the pool's `/_local/` endpoints."""
    request = urllib.request.Request(
        f"{pool.url}/_local/{path}",
        data=None if body is None else json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
        method=method,
    )
    with urllib.request.urlopen(request, timeout=10 * PATIENCE) as answer:
        return json.loads(answer.read())


def advance_clock(pool: LocalPool, seconds: int) -> None:
    control(pool, "POST", "clock", {"advance": seconds})


def one_time_code(pool: LocalPool, secret: str) -> str:
    """The code of an authenticator app with this key at the pool's time (RFC 6238)."""
    now = control(pool, "GET", "clock")["now"]
    key = base64.b32decode(secret + "=" * (-len(secret) % 8))
    digest = hmac.new(key, (now // 30).to_bytes(8, "big"), hashlib.sha1).digest()
    offset = digest[19] & 15
    number = int.from_bytes(digest[offset : offset + 4], "big") & 0x7FFFFFFF
    return f"{number % 1_000_000:06d}"
