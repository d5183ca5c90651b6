"""A Cognito that answers every sign-in and refresh at once: what is left is the gateway's own time.

A password is enough, unless the user is ``SECOND_FACTOR``, whom a code is asked for as well. A sign-in that chooses its
first factor is asked for the code of an e-mail. The hosted domain takes the nonce of a sign-in for its code.

It stands for a pool whose settings are right: its access tokens are ones that the gateway accepts. Else the gateway
would judge the token of each sign-in anew, to tell the operator.
"""

import asyncio
import functools
import itertools
import json
import re
import threading
import time
import urllib.parse

import jwt

from .gateway import POOL_CLIENT_ID, LocalPool, merged
from .keys import SigningKey, base64url

SECOND_FACTOR = "second-factor@example.com"


def _challenge(name: str, user: int, **parameters: str) -> bytes:
    parameters = {"USERNAME": user_name(user), "CODE_DELIVERY_DESTINATION": "s***@e***", **parameters}
    return json.dumps({"ChallengeName": name, "Session": "S" * 1000, "ChallengeParameters": parameters}).encode()


# So many users, since few sessions of one user go on.
USERS = 256


def user_name(number: int) -> str:
    """The address of one of them, in turn."""
    return f"user-{number % USERS}@example.com"


class Tokens:
    """Cognito's tokens of one user, with as many claims as for a user of an identity provider. The same access token
    each time; the signature of ID tokens is none, since nobody verifies them."""

    def __init__(self, key: SigningKey, issuer: str, client_id: str, number: int):
        now = int(time.time())
        subject = f"{number:036}"
        shared = {
            "sub": subject, "iss": issuer, "origin_jti": "0" * 36, "event_id": "0" * 36, "auth_time": now,
            "iat": now, "exp": now + 86_400, "jti": "1" * 36, "cognito:groups": ["eu-central-1_EXAMPLE01_Google"],
        }
        username = f"google_{number:021}"
        access = {
            **shared, "token_use": "access", "client_id": client_id, "username": username, "version": 2,
            "scope": "openid email profile",
        }
        self.access = jwt.encode(access, key.private, algorithm="RS256", headers={"kid": key.kid})
        provider = {
            "userId": "7" * 21, "providerName": "Google", "providerType": "Google", "issuer": None, "primary": "true",
            "dateCreated": "1700000000000",
        }
        self._id_head = base64url(json.dumps({"alg": "RS256", "kid": key.kid}).encode())
        self._id = {
            **shared, "token_use": "id", "aud": client_id, "at_hash": "h" * 22, "email": user_name(number),
            "email_verified": True, "given_name": "Ada", "family_name": "Lovelace", "name": "Ada Lovelace",
            "cognito:username": username, "identities": [provider],
        }
        self._refresh = f"user-{number}@" + "R" * 1800
        result = {
            "AccessToken": self.access, "IdToken": self._id_token(), "RefreshToken": self._refresh, "ExpiresIn": 3600,
            "TokenType": "Bearer",
        }
        self.answer = json.dumps({"AuthenticationResult": result}).encode()

    def _id_token(self, **claims: str) -> str:
        return f"{self._id_head}.{base64url(json.dumps({**self._id, **claims}).encode())}.{'A' * 342}"

    def for_code(self, form: bytes) -> bytes:
        """The token endpoint's answer."""
        nonce = urllib.parse.parse_qs(form.decode())["code"][0]
        return json.dumps({
            "access_token": self.access, "id_token": self._id_token(nonce=nonce), "refresh_token": self._refresh,
            "expires_in": 3600, "token_type": "Bearer",
        }).encode()


class InstantCognito:
    """In the place of `pool`, whose issuer and app client it has."""

    def __init__(self, pool: LocalPool):
        self.calls = 0
        self._pool = pool
        key = SigningKey("instant-cognito")
        self._make = functools.cache(lambda number: Tokens(key, pool.issuer_settings()["issuer"], POOL_CLIENT_ID, number))
        self._codes = itertools.count()
        self._keys = json.dumps({"keys": [key.jwk()]}).encode()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        server = asyncio.run_coroutine_threadsafe(asyncio.start_server(self._serve, "127.0.0.1", 0), self._loop).result()
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"

    def gateway_settings(self) -> dict:
        """A gateway's, for the pool and its keys."""
        return {
            "issuers": {"pool": merged(self._pool.issuer_settings(), {"jwks_url": f"{self.url}/jwks.json"})},
            "sign_in": {"cognito": self._pool.sign_in_settings("pool", endpoint=self.url)},
        }

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                request = (await reader.readuntil(b"\r\n\r\n")).lower()
                length = request.partition(b"content-length:")[2].split(b"\r\n")[0]
                body = await reader.readexactly(int(length or 0))
                answer = self._answer(request, body)
                head = f"HTTP/1.1 200 OK\r\nContent-Type: application/x-amz-json-1.1\r\nContent-Length: {len(answer)}\r\n\r\n"
                writer.write(head.encode() + answer)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    def _answer(self, head: bytes, body: bytes) -> bytes:
        if head.startswith(b"get "):
            return self._keys
        self.calls += 1
        if head.startswith(b"post /oauth2/token "):
            return self._make(next(self._codes) % USERS).for_code(body)
        # In the name, or in the refresh token.
        named = re.search(rb'"user-(\d+)@', body)
        number = int(named[1]) if named else 0
        if b'"USER_AUTH"' in body:
            return _challenge("EMAIL_OTP", number, CODE_DELIVERY_DELIVERY_MEDIUM="EMAIL")
        if SECOND_FACTOR.encode() in body and b'"ChallengeName"' not in body:
            return _challenge("SMS_MFA", next(self._codes), CODE_DELIVERY_DELIVERY_MEDIUM="SMS")
        return self._make(number).answer

    async def _end(self) -> None:
        connections = asyncio.all_tasks() - {asyncio.current_task()}
        for connection in connections:
            connection.cancel()
        await asyncio.gather(*connections, return_exceptions=True)

    def stop(self) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
