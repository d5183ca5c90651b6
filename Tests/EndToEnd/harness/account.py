"""The app's side of signing in: calls to the gateway's account endpoints, with every secret noted."""

import json

from . import raw


class Ledger:
    """Every password, token and refresh token a run has used, for the search of the logs afterwards."""

    def __init__(self) -> None:
        self.secrets: set[str] = set()

    def note(self, *secrets: str) -> None:
        self.secrets.update(secret for secret in secrets if secret)

    def note_answer(self, answer: raw.Response) -> None:
        try:
            tokens = answer.json()
        except ValueError:
            return
        if isinstance(tokens, dict):
            self.note(*(str(tokens[name]) for name in ("access_token", "refresh_token", "id_token") if tokens.get(name)))


class Account:
    """One app talking to one gateway."""

    def __init__(self, port: int, ledger: Ledger):
        self.port = port
        self.ledger = ledger

    def post(self, call: str, body: object) -> raw.Response:
        """`POST /api/v1/auth/{call}`; `body` is sent as it is when it is bytes, else as JSON."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        answer = raw.exchange(
            self.port, "POST", f"/api/v1/auth/{call}", {"Content-Type": "application/json"}, data
        )
        self.ledger.note_answer(answer)
        return answer

    def login(self, email: str, password: str, **more) -> raw.Response:
        self.ledger.note(password)
        return self.post("login", {"email": email, "password": password, **more})

    def refresh(self, refresh_token: str) -> raw.Response:
        self.ledger.note(refresh_token)
        return self.post("refresh", {"refresh_token": refresh_token})

    def me(self, token: str | None) -> raw.Response:
        return raw.exchange(self.port, "GET", "/api/v1/auth/me", bearer(token) if token else {})


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def assert_refusal(answer: raw.Response, status: int, error: str) -> dict:
    """The answer is a refusal in the shape of every refusal of the gateway; its body."""
    assert answer.status == status, f"{answer.status}, not {status}: {answer.body!r}"
    body = answer.json()
    assert body["error"] == error
    assert body["statusCode"] == status
    assert body["message"]
    assert body["requestId"] == answer.header("x-request-id")
    assert answer.header("content-type").startswith("application/json")
    assert answer.header("cache-control") == "no-store"
    if status == 401:
        assert (answer.header("www-authenticate") or "").startswith("Bearer")
    if status in (429, 503):
        assert int(answer.header("retry-after")) >= 0
    return body
