"""The user as an app's own model has it: members from attributes and constants, and the backend's own user."""

import json

import pytest
from harness.account import Account, assert_refusal
from harness.apple_app import AppleApp, apple_settings
from harness.backend import RecordingBackend, answer
from harness.gateway import POOL_CLIENT_ID, check, gateway_config
from harness.local_apple import LocalApple
from harness.process import wait_until
from harness.user import PASSWORD, confirmed_user

FIELDS = {
    "firstName": "given_name",
    "plan": {"from": "custom:plan"},
    "seats": {"from": "custom:seats", "as": "number"},
    "beta": {"from": "custom:beta", "as": "boolean"},
    "preferences": {"from": "custom:preferences", "as": "json"},
    "role": {"constant": "customer"},
    "version": {"constant": "2", "as": "number"},
    "name": "nickname",
    "client": "client_id",
    "missing": "custom:missing",
}
ATTRIBUTES = {
    **{"given_name": "Ada", "nickname": "Countess", "custom:plan": "gold", "custom:seats": "5"},
    **{"custom:beta": "true", "custom:preferences": '{"dark":true}'},
}
SHAPED = {
    **{"firstName": "Ada", "plan": "gold", "seats": 5, "beta": True, "preferences": {"dark": True}},
    **{"role": "customer", "version": 2, "name": "Countess", "missing": None},
}


@pytest.fixture(scope="module")
def apple(run_directory):
    local = LocalApple(run_directory, "user-shape")
    yield local
    local.stop()


def cognito(pool, **more) -> dict:
    writable = [*ATTRIBUTES, "name"]
    return {"sign_in": {"cognito": pool.sign_in_settings("pool", writable_attributes=writable, **more)}}


def test_attributes_claims_and_constants_become_members_of_the_user(start_gateway, pool, ledger):
    gateway = start_gateway(cognito(pool, user_fields=FIELDS), pool=pool)
    account = Account(gateway.port, ledger)
    email = confirmed_user(account, pool, attributes=ATTRIBUTES)
    tokens = account.login(email, PASSWORD).json()
    me = account.me(tokens["access_token"])
    changed = account.send("PATCH", "me", {"attributes": {"custom:plan": "basic"}}, tokens["access_token"])
    for user, plan in ((tokens["user"], "gold"), (me.json(), "gold"), (changed.json(), "basic")):
        assert {name: user[name] for name in SHAPED} == {**SHAPED, "plan": plan}
        assert user["client"] == POOL_CLIENT_ID
        assert user["id"] == tokens["user"]["id"] and user["email"] == email and user["attributes"]["nickname"] == "Countess"
    refreshed = account.refresh(tokens["refresh_token"]).json()
    assert "user" not in refreshed


def test_apples_users_have_the_same_members_in_every_response(start_gateway, apple, ledger):
    fields = {"fullName": "name", "verified": {"from": "email_verified", "as": "boolean"}, "kind": {"constant": "apple"}}
    gateway = start_gateway(apple_settings(apple, {"user_fields": {**fields, "phone": "phone_number", "appRole": "role"}}))
    app = AppleApp(gateway.port, apple, ledger)
    signed_in = app.signed_in("shape@example.com", name="Ada Lovelace")
    me = app.send("GET", "me", token=signed_in["token"]).json()
    validated = app.post("validate", token=signed_in["token"]).json()
    expected = {"fullName": "Ada Lovelace", "verified": True, "kind": "apple", "phone": None, "appRole": "customer"}
    for user in (signed_in["user"], me["user"], validated["user"]):
        assert {name: user[name] for name in expected} == expected
        assert user["role"] == "customer" and user["name"] == "Ada Lovelace"


@pytest.mark.parametrize(
    "fields, error",
    [
        ({"id": "email"}, "user_fields.id: id is always the user's sub"),
        ({"a": {"as": "number"}}, "user_fields.a: needs either from or constant"),
        ({"a": {"from": "b", "constant": "c"}}, "user_fields.a: needs either from or constant"),
        ({"a": {"constant": "x", "as": "number"}}, "user_fields.a.constant: is no number"),
        ({"a": {"from": "b", "as": "date"}}, "user_fields.a.as: must be one of text, number, boolean, json"),
        ({"a": {"form": "b"}}, 'user_fields.a.form: unknown key (did you mean "from"?)'),
        ({f"m{number}": "b" for number in range(33)}, "user_fields: must not hold more than 32"),
    ],
    ids=str,
)
def test_what_is_no_member_is_named(tmp_path, pool, fields, error):
    config = gateway_config(
        tmp_path, "http://127.0.0.1:1", "http://127.0.0.1:1/jwks.json", None, pool, cognito(pool, user_fields=fields)
    )
    (tmp_path / "gatehouse.yaml").write_text(json.dumps(config))
    result = check(tmp_path / "gatehouse.yaml")
    assert result.returncode != 0 and error in result.stdout + result.stderr, result.stdout + result.stderr


# MARK: The backend's user

USER = {"id": 7, "first_name": "Ada", "rides": [1, 2], "plan": None}


def user_response(user: object = USER, content_type: str = "application/json; charset=utf-8"):
    body = user if isinstance(user, bytes) else json.dumps(user).encode()
    return answer(200, body, {"Content-Type": content_type})


def sync(receiver: RecordingBackend, **changes) -> dict:
    return {
        "identity": {"assertion": {"issuer": "https://gateway.example"}},
        "user_sync": {
            **{"url": f"{receiver.url}/users", "allow_insecure_http": True, "audience": "users"},
            **{"mode": "required", "respond": True, "timeout": "2s", **changes},
        },
    }


def events(receiver: RecordingBackend) -> list[str]:
    return [json.loads(request.body)["event"] for request in receiver.requests_to("/users") if request.complete]


@pytest.fixture
def synced(start_gateway, pool, receiver, ledger) -> Account:
    receiver.on("/users", user_response())
    gateway = start_gateway({**cognito(pool, user_fields=FIELDS), **sync(receiver)}, pool=pool)
    account = Account(gateway.port, ledger)
    account.gateway = gateway
    return account


def test_the_backends_user_is_the_apps(synced, pool, receiver):
    email = confirmed_user(synced, pool)
    tokens = synced.login(email, PASSWORD).json()
    assert tokens["user"] == USER
    assert tokens["token_type"] == "Bearer" and tokens["refresh_token"]
    receiver.on("/users", user_response({**USER, "rides": [3]}))
    assert synced.me(tokens["access_token"]).json() == {**USER, "rides": [3]}
    assert synced.send("PATCH", "me", {"name": "Ada"}, tokens["access_token"]).json() == {**USER, "rides": [3]}
    told = wait_until(lambda: "updated" in (seen := events(receiver)) and seen, "the events")
    assert [event for event in told if event != "confirmed"][:2] == ["signed_in", "read"] and told.count("read") == 2
    bodies = [json.loads(request.body) for request in receiver.requests_to("/users") if request.complete]
    read = next(body for body in bodies if body["event"] == "read")
    assert read["user"]["email"] == email and read["user"]["id"]
    assert "user" not in synced.refresh(tokens["refresh_token"]).json()


@pytest.mark.parametrize(
    "response, status",
    [
        (answer(503, b""), 503),
        (answer(302, b""), 503),
        (answer(204, b""), 502),
        (user_response(b"[1]"), 502),
        (user_response(b"{"), 502),
        (user_response(USER, "text/html"), 502),
        (user_response(b'{"a":"' + b"x" * 70_000 + b'"}'), 503),
    ],
    ids=["503", "redirect", "no content", "no object", "no JSON", "HTML", "too large"],
)
def test_without_the_backends_user_there_is_no_sign_in_and_no_profile(synced, pool, receiver, response, status):
    email = confirmed_user(synced, pool)
    token = synced.login(email, PASSWORD).json()["access_token"]
    receiver.on("/users", response)
    error = {502: "UpstreamException", 503: "ServiceUnavailableException"}[status]
    refused = synced.login(email, PASSWORD)
    assert_refusal(refused, status, error)
    assert "access_token" not in refused.json()
    assert_refusal(synced.me(token), status, error)
    receiver.on("/users", user_response())
    assert len(synced.send("GET", "me/sessions", token=token).json()["sessions"]) == 1, "the refused sign-in left no session"
    assert synced.me(token).json() == USER


def test_a_change_whose_user_the_backend_does_not_return_is_in_the_audit_log(synced, pool, receiver):
    token = synced.login(confirmed_user(synced, pool), PASSWORD).json()["access_token"]
    receiver.on("/users", answer(500, b""))
    refused = synced.send("PATCH", "me", {"name": "Ada"}, token)
    assert_refusal(refused, 503, "ServiceUnavailableException")
    asked = refused.header("x-request-id")
    told = lambda: [line for line in synced.gateway.audit_log("user_changed") if line["request_id"] == asked]
    wait_until(told, "the audit event")
    receiver.on("/users", user_response())
    wait_until(lambda: "updated" in events(receiver), "the backend to be told")


def test_the_backends_user_is_that_of_apples_sign_in_too(start_gateway, apple, receiver, ledger):
    receiver.on("/users", user_response())
    gateway = start_gateway({**apple_settings(apple), **sync(receiver)})
    app = AppleApp(gateway.port, apple, ledger)
    signed_in = app.signed_in("backend@example.com")
    assert signed_in["user"] == USER and signed_in["success"] is True
    assert app.send("GET", "me", token=signed_in["token"]).json() == {"success": True, "user": USER}
    assert app.post("validate", token=signed_in["token"]).json()["user"]["role"] == "customer", "what its token says"


def test_the_backend_hears_of_apples_word_about_an_address(start_gateway, apple, receiver, ledger):
    receiver.on("/users", user_response())
    app = AppleApp(start_gateway({**apple_settings(apple), **sync(receiver)}).port, apple, ledger)
    email = "unreachable@example.com"
    app.signed_in(email)
    told = apple.event("email-disabled", email, send=False)
    taken = app.post("apple/notifications", {"payload": told["payload"]})
    assert (taken.status, taken.json()) == (200, {"success": True})
    wait_until(lambda: "updated" in events(receiver), "the event")
    bodies = [json.loads(request.body) for request in receiver.requests_to("/users") if request.complete]
    assert [body["event"] for body in bodies] == ["signed_in", "updated"], "nothing asks for the user"
    assert (bodies[1]["user"]["email"], bodies[1]["user"]["email_verified"]) == (email, False)


# MARK: The profile of Apple's users


def test_a_user_of_apples_changes_name_and_phone_number(start_gateway, apple, receiver, ledger):
    receiver.on("/users", answer(204, b""))
    gateway = start_gateway({**apple_settings(apple), **sync(receiver, mode="background", respond=False)})
    app = AppleApp(gateway.port, apple, ledger)
    token = app.signed_in("profile@example.com", name="Ada Lovelace")["token"]

    def me():
        return app.send("GET", "me", token=token).json()["user"]

    changed = app.send("PATCH", "me", {"name": " Ada King ", "phoneNumber": "+4915112345678"}, token)
    assert changed.status == 200, changed.body
    user = changed.json()["user"]
    assert (user["name"], user["phoneNumber"], user["email"]) == ("Ada King", "+4915112345678", "profile@example.com")
    assert changed.json()["success"] is True and me() == user
    assert app.send("PATCH", "me", {"phone_number": None}, token).json()["user"] == {**user, "phoneNumber": None}
    assert app.send("PATCH", "me", {}, token).json()["user"]["name"] == "Ada King", "what is left out stays"
    successor = app.post("refresh", token=token).json()["token"]
    assert app.post("validate", token=successor).json()["user"] == me(), "the next token says it as well"
    for body, field in (
        ({"phoneNumber": "0151 12345"}, "phoneNumber"),
        ({"phone_number": 49}, "phone_number"),
        ({"name": "<b>"}, "name"),
        ({"email": "x@example.com"}, "email"),
    ):
        refused = assert_refusal(app.send("PATCH", "me", body, token), 422, "InvalidParameterException")
        assert list(refused["fields"]) == [field] and refused["success"] is False
    again = app.signed_in("profile@example.com", name="Another Name")["user"]
    assert again["name"] == "Ada King", "a sign-in does not undo it"
    wait_until(lambda: gateway.audit_log("user_changed"), "the audit event")

    def updates() -> list[dict]:
        """As they happened: a later message may arrive first."""
        told = [json.loads(request.body) for request in receiver.requests_to("/users") if request.complete]
        return sorted((each for each in told if each["event"] == "updated"), key=lambda each: each["occurred_at_ms"])

    wait_until(lambda: len(updates()) == 3, "the messages to the backend")
    users = [each["user"] for each in updates()]
    assert [user["name"] for user in users] == ["Ada King"] * 3
    assert [user["attributes"].get("phone_number") for user in users] == ["+4915112345678", None, None]
    assert_refusal(app.send("GET", "me"), 401, "NotAuthorizedException")
