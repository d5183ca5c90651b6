"""Text that takes long to compare as characters costs no more than other text in tokens, Cognito's answers and backends'."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from harness import raw
from harness.account import bearer
from harness.backend import RecordingBackend, answer
from harness.costly import Meter
from harness.gateway import ADA, POOL_CLIENT_ID, Gateway, gateway_config, merged
from harness.keys import CLIENT_ID, ISSUER, base64url
from test_costly_bodies import LIMITS, filled

# A token has 8 KiB at most, in Base64.
TOKEN = 4_500
ANSWER = 60_000

CLAIMS = [
    {"sub": "@"}, {"sub": ["@"]}, {"username": "@"}, {"client_id": CLIENT_ID + "@"}, {"client_id": "@"}, {"iss": ISSUER + "@"},
    {"scope": "@"}, {"scope": "openid @ @"}, {"cognito:groups": ["@"]}, {"cognito:groups": ["beta@", "@"]}, {"token_use": "access@"},
    {"origin_jti": "@"}, {"jti": "@"}, {"sid": "@"}, {"custom:tenant": "acme@"}, {"custom:list": ["acme@", "@"]}, {"@": 1},
    {"email": "@", "email_verified": "true@"}, {"exp": "@"}, {"auth_time": "@"},
]  # fmt: skip
ID_CLAIMS = [{"aud": CLIENT_ID + "@"}, {"aud": ["@", CLIENT_ID + "@"]}, {"email": "@"}, {"cognito:username": "@"}, {"token_use": "id@"}]
HEADERS = [{"kid": "access-key-1=@"}, {"alg": "RS256@"}, {"typ": "JWT@"}, {"crit": ["@"]}, {"b64": "@"}, {"@": 1}, {"jku": "@"}]
REQUIRE = {
    "scopes": {"all": ["openid"]}, "groups": {"any": ["beta"]},
    "claims": [{"claim": "custom:tenant", "equals": "acme"}, {"claim": "custom:list", "in": ["acme", "other"]}],
}  # fmt: skip


class ScriptedCognito:
    """Answers every call as it is told to."""

    def __init__(self):
        self.status = 200
        self.headers: dict[str, str] = {}
        self.body: object = {}
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # Head and body are two writes, and the second must not wait for an acknowledgement of the first.
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                body = json.dumps(outer.body, ensure_ascii=False).encode()
                lines = [f"HTTP/1.1 {outer.status} Scripted", f"Content-Length: {len(body)}"]
                lines += [f"{name}: {value}" for name, value in outer.headers.items()]
                self.wfile.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)

            def log_message(self, *_) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture(scope="module")
def cognito():
    cognito = ScriptedCognito()
    yield cognito
    cognito.stop()


@pytest.fixture(scope="module")
def backend():
    backend = RecordingBackend()
    yield backend
    backend.stop()


@pytest.fixture(scope="module")
def gateway(run_directory, backend, issuer, pool, cognito):
    directory = run_directory / "costly-tokens"
    directory.mkdir()
    routes = [
        {"name": "open", "path": "/open/**", "access": "public", "upstream": "recorder"},
        {"name": "own", "path": "/own/{sub}", "access": "required", "upstream": "recorder"},
        {"name": "ruled", "path": "/ruled", "access": "required", "upstream": "recorder", "require": REQUIRE},
        {"name": "any", "path": "/any", "access": "required", "upstream": "recorder"},
    ]
    config = gateway_config(directory, backend.url, issuer.server.url, pool=pool)
    changes = {
        "account_limits": LIMITS, "direct_cognito": {"mode": "translate"}, "routes": routes,
        "identity": {"claims": {"X-Tenant": "custom:tenant", "X-List": "custom:list"}},
        "sign_in": {"cognito": {"endpoint": cognito.url}},
    }  # fmt: skip
    gateway = Gateway(directory, "gateway", merged(config, changes))
    yield gateway
    gateway.stop()


@pytest.fixture(scope="module")
def meter(gateway):
    meter = Meter(gateway.process)
    plain = json.dumps({"email": ADA[0], "password": "x" * 62_000}).encode()
    meter.calibrate(lambda: raw.exchange(gateway.port, "POST", "/api/v1/auth/login", {}, plain))
    return meter


def size_of(value, size: int) -> int:
    return 200 if "sub" in value else size // json.dumps(value).count("@")


@pytest.mark.parametrize("path", ["/any", "/ruled", "/own/8c3b1c52-0000-4000-8000-1234567890ab"])
@pytest.mark.parametrize("changes", CLAIMS)
def test_claims_of_access_tokens(gateway, meter, issuer, path, changes):
    whole = {"custom:tenant": "acme", "custom:list": ["acme"], **changes}
    meter.assert_cheap(
        lambda text: raw.exchange(gateway.port, "GET", path, bearer(issuer.access(**filled(whole, text)))), size_of(changes, TOKEN)
    )


@pytest.mark.parametrize("changes", ID_CLAIMS)
def test_claims_of_id_tokens(gateway, meter, issuer, changes):
    meter.assert_cheap(
        lambda text: raw.exchange(gateway.port, "GET", "/any", bearer(issuer.id(**filled(changes, text)))), size_of(changes, TOKEN)
    )


@pytest.mark.parametrize("changes", HEADERS)
def test_headers_of_tokens(gateway, meter, issuer, changes):
    def send(text: str) -> None:
        header = {"alg": "RS256", "kid": issuer.access_key.kid, **filled(changes, text)}
        head, claims = json.dumps(header, ensure_ascii=False).encode(), json.dumps(issuer.access_claims()).encode()
        raw.exchange(gateway.port, "GET", "/any", bearer(f"{base64url(head)}.{base64url(claims)}.{base64url(b'x' * 256)}"))

    meter.assert_cheap(send, TOKEN)


# ---- What Cognito answers


def token(claims: dict, text: str) -> str:
    whole = {"sub": "s", "username": "u", "token_use": "access", **filled(claims, text)}
    return f"{base64url(b'{}')}.{base64url(json.dumps(whole, ensure_ascii=False).encode())}.x"


def tokens(claims: dict):
    def answer(text: str) -> dict:
        result = {"AccessToken": token(claims, text), "IdToken": token(claims, text), "ExpiresIn": 3600, "TokenType": "Bearer"}
        device = {"DeviceKey": "k", "DeviceGroupKey": "g"}
        return {"AuthenticationResult": {**result, "RefreshToken": "r", "NewDeviceMetadata": device}}

    return answer


# Status, headers and body, in which the text stands for `@`.
ANSWERS = {
    "type": (400, {}, {"__type": "@", "message": "x"}),
    "type-with-a-namespace": (400, {}, {"__type": "com.amazonaws#@:x", "message": "x"}),
    "known-type": (400, {}, {"__type": "NotAuthorizedException@", "message": "x"}),
    "message": (400, {}, {"__type": "NotAuthorizedException", "message": "@"}),
    "message-of-a-parameter": (400, {}, {"__type": "InvalidParameterException", "message": "1 validation error: '@' at 'username'"}),
    "message-of-a-resource": (400, {}, {"__type": "ResourceNotFoundException", "message": "@"}),
    "message-of-a-policy": (400, {}, {"__type": "InvalidPasswordException", "message": "Password did not conform with policy: @"}),
    "name": (400, {}, {"__type": "x", "@": 1}),
    "header": (400, {"x-amzn-ErrorType": "NotAuthorizedException@", "x-amzn-ErrorMessage": "@", "X-@": "@"}, {}),
    "challenge": (200, {}, {"ChallengeName": "SMS_MFA@", "Session": "s", "ChallengeParameters": {"USERNAME": "u"}}),
    "challenge-session": (200, {}, {"ChallengeName": "SMS_MFA", "Session": "@", "ChallengeParameters": {}}),
    "challenge-parameters": (200, {}, {"ChallengeName": "SMS_MFA", "Session": "s", "ChallengeParameters": {"@": "@", "USERNAME": "@"}}),
    "user": (200, {}, {"UserSub": "@", "CodeDeliveryDetails": {"Destination": "@", "DeliveryMedium": "EMAIL@"}}),
    "attributes": (200, {}, {"Username": "@", "UserAttributes": [{"Name": "custom:@", "Value": "@"}]}),
    "status": (200, {}, {"Status": "SUCCESS@", "SecretCode": "@"}),
    "tokens": (200, {}, tokens({"username": "@", "sub": "@"})),
    "claims": (200, {}, tokens({"@": "x", "custom:@": "x", "email": "@", "email_verified": "true@", "cognito:groups": ["@"]})),
}  # fmt: skip
CALLS = [("login", {"email": ADA[0], "password": "x"}), ("register", {"email": ADA[0], "password": "x"})]
DIRECT = {"AuthFlow": "USER_PASSWORD_AUTH", "ClientId": POOL_CLIENT_ID, "AuthParameters": {"USERNAME": ADA[0], "PASSWORD": "x"}}


@pytest.mark.parametrize("name", ANSWERS)
@pytest.mark.parametrize("call", ["login", "register", "direct"])
def test_answers_of_cognito(gateway, meter, cognito, name, call):
    status, headers, body = ANSWERS[name]
    count = json.dumps([headers, body]).count("@") if isinstance(body, dict) else 4

    def send(text: str) -> None:
        cognito.status, cognito.headers = status, filled(headers, text)
        cognito.body = body(text) if callable(body) else filled(body, text)
        if call == "direct":
            fields = {"X-Amz-Target": "AWSCognitoIdentityProviderService.InitiateAuth"}
            raw.exchange(gateway.port, "POST", "/", fields, json.dumps(DIRECT).encode())
        else:
            raw.exchange(gateway.port, "POST", f"/api/v1/auth/{call}", {}, json.dumps(dict(CALLS)[call]).encode())

    meter.assert_cheap(send, (12_000 if headers else ANSWER) // count)


# ---- What backends answer

FIELDS = ["Connection", "Content-Type", "Set-Cookie", "Vary", "Upgrade", "Location", "X-Request-Id", "Access-Control-Allow-Origin", "X-Any"]


@pytest.mark.parametrize("name", FIELDS)
def test_fields_of_backends(gateway, meter, backend, name):
    def send(text: str) -> None:
        backend.on("/open/x", answer(headers={name: text.encode().decode("latin-1")}))
        raw.exchange(gateway.port, "GET", "/open/x")

    meter.assert_cheap(send, 12_000)
