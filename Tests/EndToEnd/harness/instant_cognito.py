"""A Cognito that answers every sign-in and refresh at once: what is left is the gateway's own time.

A password is enough, unless the user is ``SECOND_FACTOR``, whom a code is asked for as well. A sign-in that chooses its
first factor is asked for the code of an e-mail. The hosted domain takes the nonce of a sign-in for its code.
"""

import asyncio
import base64
import json
import threading
import time
import urllib.parse


def _part(value: dict) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def _token() -> str:
    """As long as Cognito's own; nobody verifies it."""
    claims = {"sub": "5" * 36, "username": "5" * 36, "token_use": "access", "origin_jti": "0" * 36, "more": "x" * 400}
    return f"{_part({'alg': 'RS256', 'kid': 'k' * 44})}.{_part(claims)}.{'A' * 342}"


ANSWER = json.dumps(
    {
        "AuthenticationResult": {
            "AccessToken": _token(),
            "IdToken": _token(),
            "RefreshToken": "R" * 1800,
            "ExpiresIn": 3600,
            "TokenType": "Bearer",
        }
    }
).encode()
SECOND_FACTOR = "second-factor@example.com"


def _challenge(name: str, **parameters: str) -> bytes:
    parameters = {"USERNAME": "5" * 36, "CODE_DELIVERY_DESTINATION": "s***@e***", **parameters}
    return json.dumps({"ChallengeName": name, "Session": "S" * 1000, "ChallengeParameters": parameters}).encode()


SECOND_FACTOR_ASKED = _challenge("SMS_MFA", CODE_DELIVERY_DELIVERY_MEDIUM="SMS")
EMAIL_CODE_ASKED = _challenge("EMAIL_OTP", CODE_DELIVERY_DELIVERY_MEDIUM="EMAIL")


class HostedTokens:
    """The hosted domain's tokens for a code, with as many claims as for a user of an identity provider."""

    def __init__(self, issuer: str, client_id: str):
        now = int(time.time())
        subject = "5" * 36
        shared = {
            "sub": subject, "iss": issuer, "origin_jti": "0" * 36, "event_id": "0" * 36, "auth_time": now,
            "iat": now, "exp": now + 86_400, "jti": "1" * 36, "cognito:groups": ["eu-central-1_EXAMPLE01_Google"],
        }
        access = {
            **shared, "token_use": "access", "client_id": client_id, "username": "google_" + "7" * 21, "version": 2,
            "scope": "openid email profile",
        }
        self.access = f"{_part({'alg': 'RS256', 'kid': 'k' * 44})}.{_part(access)}.{'A' * 342}"
        provider = {
            "userId": "7" * 21, "providerName": "Google", "providerType": "Google", "issuer": None, "primary": "true",
            "dateCreated": "1700000000000",
        }
        self.id = {
            **shared, "token_use": "id", "aud": client_id, "at_hash": "h" * 22, "email": "ada@example.com",
            "email_verified": True, "given_name": "Ada", "family_name": "Lovelace", "name": "Ada Lovelace",
            "cognito:username": "google_" + "7" * 21, "identities": [provider],
        }

    def answer(self, form: bytes) -> bytes:
        nonce = urllib.parse.parse_qs(form.decode())["code"][0]
        identity = f"{_part({'alg': 'RS256', 'kid': 'k' * 44})}.{_part({**self.id, 'nonce': nonce})}.{'A' * 342}"
        return json.dumps({
            "access_token": self.access, "id_token": identity, "refresh_token": "R" * 1800, "expires_in": 3600,
            "token_type": "Bearer",
        }).encode()


class InstantCognito:
    def __init__(self):
        self.calls = 0
        self.hosted: HostedTokens | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        server = asyncio.run_coroutine_threadsafe(asyncio.start_server(self._serve, "127.0.0.1", 0), self._loop).result()
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                request = (await reader.readuntil(b"\r\n\r\n")).lower()
                body = await reader.readexactly(int(request.split(b"content-length:")[1].split(b"\r\n")[0]))
                self.calls += 1
                answer = self._answer(request, body)
                head = f"HTTP/1.1 200 OK\r\nContent-Type: application/x-amz-json-1.1\r\nContent-Length: {len(answer)}\r\n\r\n"
                writer.write(head.encode() + answer)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    def _answer(self, head: bytes, body: bytes) -> bytes:
        if self.hosted and head.startswith(b"post /oauth2/token "):
            return self.hosted.answer(body)
        if b'"USER_AUTH"' in body:
            return EMAIL_CODE_ASKED
        if SECOND_FACTOR.encode() in body and b'"ChallengeName"' not in body:
            return SECOND_FACTOR_ASKED
        return ANSWER

    async def _end(self) -> None:
        connections = asyncio.all_tasks() - {asyncio.current_task()}
        for connection in connections:
            connection.cancel()
        await asyncio.gather(*connections, return_exceptions=True)

    def stop(self) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
