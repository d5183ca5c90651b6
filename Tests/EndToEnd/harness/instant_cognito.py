"""A Cognito that answers every sign-in and refresh at once: what is left is the gateway's own time."""

import asyncio
import base64
import json
import threading


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


class InstantCognito:
    def __init__(self):
        self.calls = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        server = asyncio.run_coroutine_threadsafe(asyncio.start_server(self._serve, "127.0.0.1", 0), self._loop).result()
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/x-amz-json-1.1\r\nContent-Length: {len(ANSWER)}\r\n\r\n"
        try:
            while True:
                request = (await reader.readuntil(b"\r\n\r\n")).lower()
                await reader.readexactly(int(request.split(b"content-length:")[1].split(b"\r\n")[0]))
                self.calls += 1
                writer.write(head.encode() + ANSWER)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def _end(self) -> None:
        connections = asyncio.all_tasks() - {asyncio.current_task()}
        for connection in connections:
            connection.cancel()
        await asyncio.gather(*connections, return_exceptions=True)

    def stop(self) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
