"""Users and sessions on the admin listener: who may see them, what ends, and how soon."""

import base64
import json
import time
from urllib.parse import quote

import pytest
from harness import raw
from harness.account import Account, assert_refusal, bearer
from harness.gateway import ADA, POOL_CLIENT_ID, Gateway, LocalPool
from harness.local_pool_control import control
from harness.process import wait_until
from harness.sessions import App, Session, State, session_settings

TOKEN = "an-admin-token-of-some-length"
REQUIRED = "/recorded/required/a"
SUBJECT = "8c3b1c52-0000-4000-8000-1234567890ab"


class Admin:
    """An operator with a token, at one gateway's admin listener."""

    def __init__(self, gateway: Gateway, token: str | None = TOKEN):
        self.gateway = gateway
        self.headers = {"Host": "localhost", **(bearer(token) if token else {})}

    def call(self, method: str, path: str, body: object = None) -> raw.Response:
        data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        return raw.exchange(self.gateway.admin_port, method, path, self.headers, data)

    def done(self, method: str, path: str, body: object = None) -> dict:
        answer = self.call(method, path, body)
        assert answer.status == 200, answer.body
        assert answer.header("content-type") == "application/json" and answer.header("cache-control") == "no-store"
        return answer.json()


@pytest.fixture
def start(start_gateway, issuer, ledger):
    """A gateway with an admin token that keeps users: the operator, the gateway's state and an app."""

    def start(changes: dict | None = None, pool=None):
        settings = {**session_settings(issuer.server.url), "admin": {"token": TOKEN}, **(changes or {})}
        gateway = start_gateway(settings, pool=pool)
        return Admin(gateway), State(gateway), App(gateway.port, ledger)

    return start


@pytest.fixture
def kept(start):
    return start()


def proxied(gateway: Gateway, token: str) -> int:
    return raw.exchange(gateway.port, "GET", REQUIRED, bearer(token)).status


def audited(gateway: Gateway, event: str, count: int = 1) -> list[dict]:
    return wait_until(lambda: len(found := gateway.audit_log(event)) >= count and found, f"{count} {event}")


# ---- Who may


CALLS = [
    ("GET", "/users"), ("GET", "/users/x"), ("PUT", "/users/x/role"), ("POST", "/users/x/disable"),
    ("DELETE", "/users/x/disable"), ("GET", "/sessions?subject=x"), ("DELETE", "/sessions?subject=x"),
    ("DELETE", "/sessions/x"),
]  # fmt: skip


@pytest.mark.parametrize("method, path", CALLS)
def test_users_and_sessions_take_the_token(gateway, kept, method, path):
    admin, _, _ = kept
    for token in (None, TOKEN[:-1], TOKEN + "x"):
        assert_refusal(Admin(admin.gateway, token).call(method, path), 401, "NotAuthorizedException")
    # Where there is none, nobody sees them, while metrics and status are for whoever can connect.
    assert_refusal(Admin(gateway, None).call(method, path), 403, "AccessDeniedException")
    assert_refusal(Admin(gateway).call(method, path), 403, "AccessDeniedException")
    assert Admin(gateway, None).call("GET", "/status").status == 200


# ---- Users


def test_users_are_found_by_what_an_operator_knows_of_them(kept):
    admin, state, _ = kept
    ada, ben = state.begin(), state.begin("apple-ben")
    for matching in ("apple-ada@", "apple-ada", ada.user):
        (found,) = admin.done("GET", f"/users?matching={quote(matching)}")["users"]
        assert (found["id"], found["email"], found["role"]) == (ada.user, "apple-ada@example.com", "customer")
    assert admin.done("GET", "/users?matching=nobody") == {"users": [], "next": None}
    shown = admin.done("GET", f"/users/{ben.user}")
    assert (shown["subject"], shown["sessions"], shown["disabled_at"]) == ("apple-ben", 1, None)


def test_users_come_in_pages(kept):
    admin, state, _ = kept
    users = sorted(state.user(f"apple-{number}") for number in range(5))
    seen, after = [], ""
    while after is not None:
        page = admin.done("GET", f"/users?limit=2&after={after}")
        seen += [user["id"] for user in page["users"]]
        after = page["next"]
    assert seen == users


def test_another_role_ends_the_sessions_that_say_the_old_one(kept, own_recorder):
    admin, state, app = kept
    session = state.begin()
    assert proxied(admin.gateway, session.token) == 200
    answer = admin.done("PUT", f"/users/{session.user}/role", {"role": "driver"})
    assert answer == {"user": session.user, "role": "driver", "sessions_ended": 1}
    assert proxied(admin.gateway, session.token) == 401
    assert_refusal(app.refresh(session.token), 401, "TokenRefreshException")
    assert admin.done("GET", f"/users/{session.user}")["role"] == "driver"
    assert admin.done("PUT", f"/users/{session.user}/role", {"role": None})["role"] is None
    told = audited(admin.gateway, "role_changed", 2)[0]
    assert (told["operation"], told["application"], told["client_address"]) == ("admin-set-role", "admin", "127.0.0.1")
    assert len(told["subject_hash"]) == 32 and session.user not in json.dumps(told)


def test_a_user_is_locked_out_and_let_in_again(kept, own_recorder):
    admin, state, app = kept
    session = state.begin()
    assert admin.done("POST", f"/users/{session.user}/disable")["sessions_ended"] == 1
    assert proxied(admin.gateway, session.token) == 401
    assert_refusal(app.refresh(session.token), 401, "TokenRefreshException")
    assert admin.done("GET", f"/users/{session.user}")["disabled_at"]
    other = state.begin()
    assert_refusal(app.refresh(other.token), 403, "UserDisabledException")
    assert admin.done("DELETE", f"/users/{session.user}/disable")["disabled"] is False
    assert app.refresh(other.token).status == 200
    assert audited(admin.gateway, "user_disabled") and audited(admin.gateway, "user_enabled")


# ---- Sessions of the gateway's own


def test_a_stolen_phones_session_ends_and_the_others_go_on(kept, own_recorder):
    admin, state, app = kept
    phone, tablet, other = state.begin(), state.begin(), state.begin("apple-ben")
    listed = admin.done("GET", f"/sessions?subject={phone.user}")["sessions"]
    assert {session["id"] for session in listed} == {phone.id, tablet.id}
    assert {(each["issuer"], each["device_id"], each["platform"]) for each in listed} == {("sessions", "phone-7", "ios")}
    assert phone.token not in json.dumps(listed)
    with raw.RawConnection(admin.gateway.port) as open_before:
        open_before.send(raw.request_bytes("GET", REQUIRED, bearer(phone.token)))
        assert open_before.response().status == 200
        assert admin.done("DELETE", f"/sessions/{phone.id}") == {"sessions_ended": 1, "provider_failures": 0}
        # The next request, also of a connection that is open.
        open_before.send(raw.request_bytes("GET", REQUIRED, bearer(phone.token)))
        assert open_before.response().status == 401
    assert_refusal(app.validate(phone.token), 401, "NotAuthorizedException")
    assert_refusal(app.refresh(phone.token), 401, "TokenRefreshException")
    assert [proxied(admin.gateway, each.token) for each in (tablet, other)] == [200, 200]
    assert [each["id"] for each in admin.done("GET", f"/sessions?subject={phone.user}")["sessions"]] == [tablet.id]
    assert_refusal(admin.call("DELETE", f"/sessions/{phone.id}"), 404, "NotFoundException")
    (told,) = audited(admin.gateway, "sessions_ended")
    assert told["operation"] == "admin-end-session" and told["request_id"].startswith("admin-")


def test_all_sessions_of_a_user_end_and_they_may_sign_in_again(kept, own_recorder):
    admin, state, app = kept
    mine, other = [state.begin() for _ in range(3)], state.begin("apple-ben")
    answer = admin.done("DELETE", f"/sessions?subject={mine[0].user}")
    assert answer == {"sessions_ended": 3, "provider_failures": 0}
    for session in mine:
        assert proxied(admin.gateway, session.token) == 401
        assert_refusal(app.refresh(session.token), 401, "TokenRefreshException")
    assert proxied(admin.gateway, other.token) == 200
    assert proxied(admin.gateway, state.begin().token) == 200
    assert audited(admin.gateway, "sessions_ended")[0]["operation"] == "admin-end-sessions"


def test_an_end_outlasts_the_process_and_reaches_another_on_the_same_state(start, own_recorder):
    admin, state, _ = start()
    beside, _, _ = start({"state_directory": admin.gateway.config["state_directory"]})
    session = state.begin()
    assert proxied(beside.gateway, session.token) == 200
    admin.done("DELETE", f"/sessions/{session.id}")
    wait_until(lambda: proxied(beside.gateway, session.token) == 401, "the other to follow")
    for each in (admin, beside):
        each.gateway.stop()
    again, _, _ = start({"state_directory": admin.gateway.config["state_directory"]})
    assert proxied(again.gateway, session.token) == 401


# ---- Sessions of a user pool


def subject(tokens: dict) -> str:
    return tokens["user"]["id"]


def test_cognitos_sessions_are_listed_and_one_ends(start, pool, ledger, own_recorder):
    admin, _, _ = start(pool=pool)
    account = Account(admin.gateway.port, ledger)
    device = {"device_info": {"device_id": "stolen", "platform": "android"}}
    stolen, mine = account.login(*ADA, **device).json(), account.login(*ADA).json()
    assert [proxied(admin.gateway, each["access_token"]) for each in (stolen, mine)] == [200, 200]
    listed = admin.done("GET", f"/sessions?subject={subject(stolen)}")["sessions"]
    assert [each["issuer"] for each in listed] == ["pool", "pool"]
    (found,) = [each for each in listed if each["device_id"] == "stolen"]
    assert found["platform"] == "android" and found["subject"] == subject(stolen)
    control(pool, "DELETE", "calls")
    assert admin.done("DELETE", f"/sessions/{found['id']}") == {"sessions_ended": 1, "provider_failures": 0}
    assert proxied(admin.gateway, stolen["access_token"]) == 401
    assert account.refresh(stolen["refresh_token"]).status == 401
    assert control(pool, "GET", "calls")["counts"] == {"RevokeToken": 1}, "Cognito has heard of it"
    # The other sign-in goes on.
    assert proxied(admin.gateway, mine["access_token"]) == 200
    assert account.refresh(mine["refresh_token"]).status == 200
    assert_refusal(admin.call("DELETE", f"/sessions/{found['id']}"), 404, "NotFoundException")


def test_all_of_cognitos_sessions_end_also_those_that_are_not_kept_here(start, pool, ledger, own_recorder):
    admin, state, _ = start(pool=pool)
    account = Account(admin.gateway.port, ledger)
    tokens = [account.login(*ADA).json() for _ in range(2)]
    # As if it had begun elsewhere, at Cognito's hosted pages.
    with state.database() as database:
        database.execute("DELETE FROM sessions")
    later = account.login(*ADA).json()
    answer = admin.done("DELETE", f"/sessions?subject={subject(later)}&issuer=pool")
    assert answer == {"sessions_ended": 1, "provider_failures": 0}
    assert [proxied(admin.gateway, each["access_token"]) for each in [*tokens, later]] == [401, 401, 401]
    assert account.refresh(later["refresh_token"]).status == 401
    assert admin.done("GET", f"/sessions?subject={subject(later)}") == {"sessions": []}
    # A sign-in in this very second is meant as well.
    wait_until(lambda: proxied(admin.gateway, account.login(*ADA).json()["access_token"]) == 200, "a new sign-in", 10)


def test_a_cognito_that_does_not_answer_keeps_no_session_alive(start, pool, ledger, own_recorder):
    admin, _, _ = start(pool=pool)
    account = Account(admin.gateway.port, ledger)
    tokens = account.login(*ADA).json()
    control(pool, "POST", "faults", [{"operation": "RevokeToken", "drop": "before"}])
    try:
        answer = admin.done("DELETE", f"/sessions?subject={subject(tokens)}")
    finally:
        control(pool, "DELETE", "faults")
    assert answer["sessions_ended"] >= 1 and answer["provider_failures"] == 1
    assert proxied(admin.gateway, tokens["access_token"]) == 401
    assert account.refresh(tokens["refresh_token"]).status == 401


OTHER_CLIENT = ("8other0client000000000000", "2otheR0secReT0forthetests0a2b4c6d8e0f1g3h5j7k9m1n3")
OTHER_KEY = "other:" + base64.b64encode(bytes(range(32))).decode()


@pytest.fixture(scope="module")
def shared_pool(run_directory):
    """A pool with two app clients."""
    identifier, secret = OTHER_CLIENT
    pool = LocalPool(run_directory, "two-clients", {"more_clients": [{"id": identifier, "secret": secret}]})
    yield pool
    pool.stop()


@pytest.mark.parametrize("keys", [None, [OTHER_KEY]], ids=["common keys", "keys of its own"])
@pytest.mark.parametrize("end", ["one", "all"])
def test_each_app_client_of_a_pool_tells_cognito_of_its_own_sessions(
    start_gateway, shared_pool, ledger, own_recorder, keys, end
):
    identifier, secret = OTHER_CLIENT
    ledger.note(secret, OTHER_KEY)
    other = shared_pool.sign_in_settings("pool", client_id=identifier, client_secret=secret, prefix="/other")
    changes = {
        "admin": {"token": TOKEN},
        "issuers": {"pool": {"client_ids": [POOL_CLIENT_ID, identifier]}},
        "sign_in": {"more_pools": [other if keys is None else {**other, "sealing_keys": keys}]},
    }
    gateway = start_gateway(changes, pool=shared_pool)
    admin = Admin(gateway)
    apps = [Account(gateway.port, ledger), Account(gateway.port, ledger, prefix="/other")]
    tokens = [app.login(*ADA).json() for app in apps]
    control(shared_pool, "DELETE", "calls")
    path = f"/sessions?subject={subject(tokens[0])}"
    if end == "all":
        assert admin.done("DELETE", path) == {"sessions_ended": 2, "provider_failures": 0}
    else:
        for session in admin.done("GET", path)["sessions"]:
            assert admin.done("DELETE", f"/sessions/{session['id']}") == {"sessions_ended": 1, "provider_failures": 0}
    assert control(shared_pool, "GET", "calls")["recent"] == [{"operation": "RevokeToken"}] * 2, "without an error"
    for app, each in zip(apps, tokens):
        assert proxied(gateway, each["access_token"]) == 401
        assert app.refresh(each["refresh_token"]).status == 401


@pytest.mark.parametrize("keys", [None, [OTHER_KEY]], ids=["common keys", "keys of its own"])
def test_a_session_may_end_at_the_endpoints_of_another_client(start_gateway, shared_pool, ledger, own_recorder, keys):
    """Its access token is enough. Cognito ends the session in the name of the client whose token it is."""
    identifier, secret = OTHER_CLIENT
    ledger.note(secret, OTHER_KEY)
    other = shared_pool.sign_in_settings("pool", client_id=identifier, client_secret=secret, prefix="/other")
    changes = {
        "issuers": {"pool": {"client_ids": [POOL_CLIENT_ID, identifier]}},
        "sign_in": {"more_pools": [other if keys is None else {**other, "sealing_keys": keys}]},
    }
    gateway = start_gateway(changes, pool=shared_pool)
    owner, another = Account(gateway.port, ledger, prefix="/other"), Account(gateway.port, ledger)
    tokens = owner.login(*ADA).json()
    control(shared_pool, "DELETE", "calls")
    assert another.logout(tokens["access_token"]).status == 204
    assert control(shared_pool, "GET", "calls")["recent"] == [{"operation": "RevokeToken"}], "without an error"
    assert proxied(gateway, tokens["access_token"]) == 401
    assert owner.refresh(tokens["refresh_token"]).status == 401


def test_a_session_whose_client_is_configured_no_more_ends_here_and_is_counted(
    start_gateway, shared_pool, ledger, own_recorder
):
    identifier, secret = OTHER_CLIENT
    ledger.note(secret)
    other = shared_pool.sign_in_settings("pool", client_id=identifier, client_secret=secret, prefix="/other")
    changes = {
        "admin": {"token": TOKEN},
        "issuers": {"pool": {"client_ids": [POOL_CLIENT_ID, identifier]}},
        "sign_in": {"more_pools": [other]},
    }
    gateway = start_gateway(changes, pool=shared_pool)
    tokens = Account(gateway.port, ledger, prefix="/other").login(*ADA).json()
    gateway.write_config({"sign_in": {"more_pools": ...}})
    admin = Admin(gateway)
    assert admin.call("POST", "/reload").status == 200
    control(shared_pool, "DELETE", "calls")
    ended = admin.done("DELETE", f"/sessions?subject={subject(tokens)}")
    assert ended == {"sessions_ended": 1, "provider_failures": 1}
    assert control(shared_pool, "GET", "calls")["counts"] == {}, "no other client speaks for it"
    assert proxied(gateway, tokens["access_token"]) == 401


# ---- What is refused


def test_what_cannot_be_is_told_as_json(kept):
    admin, state, _ = kept
    user = state.user()
    for method, path, body, status, error in (
        ("GET", "/users/nobody", None, 404, "NotFoundException"),
        ("PUT", "/users/nobody/role", {"role": "driver"}, 404, "NotFoundException"),
        ("POST", "/users/nobody/disable", None, 404, "NotFoundException"),
        ("DELETE", "/sessions/nobody", None, 404, "NotFoundException"),
        ("GET", "/users/x/y", None, 404, "NotFoundException"),
        ("PUT", f"/users/{user}/role", {"role": "root"}, 400, "BadRequestException"),
        ("PUT", f"/users/{user}/role", {}, 400, "BadRequestException"),
        ("PUT", f"/users/{user}/role", b"driver", 400, "BadRequestException"),
        ("PUT", f"/users/{user}/role", b'{"role": "' + b"x" * 10_000 + b'"}', 400, "BadRequestException"),
        ("GET", "/users?limit=1000000", None, 400, "BadRequestException"),
        ("DELETE", "/sessions", None, 400, "BadRequestException"),
        ("DELETE", "/sessions?subject=x&issuer=nobodys", None, 400, "BadRequestException"),
        ("DELETE", "/users", None, 405, "MethodNotAllowedException"),
        ("POST", "/sessions", None, 405, "MethodNotAllowedException"),
    ):
        assert_refusal(admin.call(method, path, body), status, error)
    assert "known: customer, driver" in admin.call("PUT", f"/users/{user}/role", {"role": "root"}).json()["message"]
    assert admin.done("GET", f"/users/{user}")["role"] == "customer"


def test_a_gateway_that_keeps_no_users_says_so(start_gateway):
    admin = Admin(start_gateway({"admin": {"token": TOKEN}}))
    assert "keeps no users" in assert_refusal(admin.call("GET", "/users"), 404, "NotFoundException")["message"]
    assert admin.done("GET", "/sessions?subject=x") == {"sessions": []}


def test_tokens_of_any_issuer_end_by_their_subject(start_gateway, issuer, own_recorder):
    admin = Admin(start_gateway({"admin": {"token": TOKEN}}))
    token, other = issuer.access(), issuer.access(sub="somebody-else")
    assert [proxied(admin.gateway, each) for each in (token, other)] == [200, 200]
    assert admin.done("DELETE", f"/sessions?subject={SUBJECT}")["sessions_ended"] == 0
    assert [proxied(admin.gateway, each) for each in (token, other)] == [401, 200]


def test_a_busy_store_is_503_and_it_goes_on_by_itself(kept, own_recorder):
    admin, state, _ = kept
    session: Session = state.begin()
    lock = state.database()
    lock.execute("BEGIN EXCLUSIVE")
    started = time.monotonic()
    for method, path, body in (
        ("PUT", f"/users/{session.user}/role", {"role": "driver"}),
        ("POST", f"/users/{session.user}/disable", None),
    ):
        answer = admin.call(method, path, body)
        assert_refusal(answer, 503, "ServiceUnavailableException")
        assert int(answer.header("retry-after")) >= 1
    assert time.monotonic() - started >= 5
    (tried,) = audited(admin.gateway, "role_changed")
    assert tried["reason"] == "session-records-unavailable"
    assert proxied(admin.gateway, session.token) == 200
    lock.execute("ROLLBACK")
    assert admin.done("GET", f"/users/{session.user}")["role"] == "customer"
    assert admin.done("DELETE", f"/sessions/{session.id}")["sessions_ended"] == 1
    assert proxied(admin.gateway, session.token) == 401
