"""The app's side of signing in: calls to the gateway's account endpoints, with every secret noted."""

import json

from . import raw


# The members of responses that are the app's secrets.
SECRET_MEMBERS = ("access_token", "refresh_token", "id_token", "device_token", "session", "secret", "otpauth_uri")


class Ledger:
    """Every password, token and refresh token a run has used, for the search of the logs afterwards."""

    def __init__(self) -> None:
        self.secrets: set[str] = set()
        # Codes are short: they are looked for as whole words, in the logs of the gateway they were used with.
        self.codes: set[str] = set()

    def note(self, *secrets: str) -> None:
        self.secrets.update(secret for secret in secrets if secret)

    def note_answer(self, answer: raw.Response) -> None:
        try:
            tokens = answer.json()
        except ValueError:
            return
        if isinstance(tokens, dict):
            self.note(*(str(tokens[name]) for name in SECRET_MEMBERS if tokens.get(name)))


class Account:
    """One app talking to one gateway."""

    def __init__(self, port: int, ledger: Ledger, prefix: str = "/api/v1/auth", headers: dict[str, str] | None = None):
        self.port = port
        self.ledger = ledger
        self.prefix = prefix
        self.headers = headers or {}

    def post(self, call: str, body: object, token: str | None = None) -> raw.Response:
        """`POST /api/v1/auth/{call}`; `body` is sent as it is when it is bytes, else as JSON."""
        return self.send("POST", call, body, token)

    def send(self, method: str, call: str, body: object = None, token: str | None = None) -> raw.Response:
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        if isinstance(body, dict):
            for name in ("password", "new_password", "current_password", "refresh_token", "session", "device_token"):
                if isinstance(body.get(name), str):
                    self.ledger.note(body[name])
            if isinstance(body.get("code"), str):
                self.ledger.codes.add(body["code"])
        headers = {**self.headers, **(bearer(token) if token else {})}
        if data is not None:
            headers["Content-Type"] = "application/json"
        answer = raw.exchange(self.port, method, f"{self.prefix}/{call}", headers, data)
        self.ledger.note_answer(answer)
        return answer

    def login(self, email: str, password: str, **more) -> raw.Response:
        self.ledger.note(password)
        return self.post("login", {"email": email, "password": password, **more})

    def refresh(self, refresh_token: str) -> raw.Response:
        self.ledger.note(refresh_token)
        return self.post("refresh", {"refresh_token": refresh_token})

    def me(self, token: str | None) -> raw.Response:
        return self.send("GET", "me", token=token)

    def logout(self, token: str | None = None, **body) -> raw.Response:
        return self.post("logout", body or None, token)

    def answer_challenge(self, asked: dict, **answer) -> raw.Response:
        """Answers what a 202 asked for."""
        return self.post("challenge", {"challenge": asked["challenge"], "session": asked["session"], **answer})


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
