"""Every account call of the API, against LocalPool through the real wire protocol."""

import sqlite3
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from harness import raw
from harness.account import Account, assert_refusal, bearer
from harness.gateway import ADA, Gateway, LocalPool
from harness.local_pool_control import control
from harness.process import wait_until
from harness.user import PASSWORD, confirmed_user, new_email, register, signed_in_user


def backend_status(account: Account, token: str) -> int:
    return raw.exchange(account.port, "GET", "/api/v1/whoami", bearer(token)).status


# MARK: Registration


def test_a_life_from_registration_to_deletion(account, pool):
    email = new_email()
    registered = register(account, email, name="Niko", attributes={"locale": "de"})
    assert registered["user_id"] and registered["confirmed"] is False
    assert registered["delivery"]["medium"] == "EMAIL" and "***" in registered["delivery"]["destination"]
    assert_refusal(account.login(email, PASSWORD), 403, "UserNotConfirmedException")

    assert account.post("resend-code", {"email": email}).status == 202
    code = pool.confirmation_code(email)
    confirmed = account.post("confirm", {"email": email, "code": code, "password": PASSWORD})
    assert confirmed.status == 200, confirmed.body
    tokens = confirmed.json()
    assert tokens["user"]["id"] == registered["user_id"]
    assert tokens["user"]["email"] == email and tokens["user"]["email_verified"] is True
    assert tokens["user"]["name"] == "Niko" and tokens["user"]["attributes"]["locale"] == "de"

    assert account.send("DELETE", "me", token=tokens["access_token"]).status == 204
    assert_refusal(account.login(email, PASSWORD), 401, "NotAuthorizedException")


def test_a_registered_address_is_taken(account, pool):
    email = confirmed_user(account, pool)
    refusal = account.post("register", {"email": email, "password": PASSWORD})
    assert_refusal(refusal, 409, "UsernameExistsException")


def test_a_registered_address_can_be_concealed(start_gateway, pool, ledger):
    changes = {"sign_in": {"cognito": pool.sign_in_settings("pool", conceal_existing_users=True)}}
    account = Account(start_gateway(changes, pool=pool).port, ledger)
    email = new_email()
    first, second = (account.post("register", {"email": email, "password": PASSWORD}) for _ in range(2))
    assert (first.status, second.status) == (201, 201)
    assert first.json().keys() == second.json().keys()
    assert first.json()["delivery"] == second.json()["delivery"]
    assert first.json()["user_id"] is None and second.json()["user_id"] is None
    assert [name for name, _ in first.headers] == [name for name, _ in second.headers]
    # Of the two only one is there.
    assert account.post("confirm", {"email": email, "code": pool.confirmation_code(email)}).status == 204


def test_a_password_against_the_policy_is_refused_with_it(account):
    refusal = account.post("register", {"email": new_email(), "password": "short1"})
    body = assert_refusal(refusal, 422, "InvalidPasswordException")
    assert "not long enough" in body["message"]


def test_a_wrong_confirmation_code_is_422(account, pool):
    email = new_email()
    register(account, email)
    right = pool.confirmation_code(email)
    wrong = "000000" if right != "000000" else "000001"
    assert_refusal(account.post("confirm", {"email": email, "code": wrong}), 422, "CodeMismatchException")
    assert account.post("confirm", {"email": email, "code": right}).status == 204


def test_confirming_an_address_that_is_confirmed_tells_nothing(account, pool):
    email = confirmed_user(account, pool)
    assert_refusal(account.post("confirm", {"email": email, "code": "123456"}), 422, "CodeMismatchException")


@pytest.mark.parametrize("call", ["resend-code", "forgot-password"])
def test_a_code_is_promised_to_everyone_alike(account, pool, call):
    """Known, unknown, and for resend-code one who needs none: the same status and members, and no way to tell."""
    known = confirmed_user(account, pool)
    answers = [account.post(call, {"email": email}) for email in (known, "xunknown@example.com")]
    assert [answer.status for answer in answers] == [202, 202]
    first, second = (answer.json() for answer in answers)
    assert first["delivery"].keys() == second["delivery"].keys()
    assert first["delivery"]["medium"] == second["delivery"]["medium"] == "EMAIL"
    assert first["delivery"]["destination"][1:] == second["delivery"]["destination"][1:]


# MARK: Passwords


def test_a_forgotten_password_is_reset(account, pool):
    email = confirmed_user(account, pool)
    delivery = account.post("forgot-password", {"email": email})
    assert delivery.status == 202 and delivery.json()["delivery"]["medium"] == "EMAIL"
    code = pool.confirmation_code(email)
    reset = {"email": email, "code": code, "new_password": "Reset-Horse-11"}
    assert account.post("reset-password", reset).status == 204
    assert_refusal(account.login(email, PASSWORD), 401, "NotAuthorizedException")
    assert account.login(email, "Reset-Horse-11").status == 200


def test_a_reset_with_a_wrong_code_looks_the_same_for_nobody(account, pool):
    email = confirmed_user(account, pool)
    account.post("forgot-password", {"email": email})
    bodies = []
    for address in (email, "nobody@example.com"):
        body = {"email": address, "code": "000000", "new_password": "Reset-Horse-11"}
        refusal = assert_refusal(account.post("reset-password", body), 422, "CodeMismatchException")
        del refusal["requestId"]
        bodies.append(refusal)
    assert bodies[0] == bodies[1]


def test_a_password_is_changed(account, pool):
    email, tokens = signed_in_user(account, pool)
    token = tokens["access_token"]
    wrong = {"current_password": "Not-The-Horse-1", "new_password": "Changed-Horse-10"}
    refusal = account.post("change-password", wrong, token)
    assert_refusal(refusal, 422, "InvalidParameterException")
    assert list(refusal.json()["fields"]) == ["current_password"]
    weak = {"current_password": PASSWORD, "new_password": "short"}
    assert_refusal(account.post("change-password", weak, token), 422, "InvalidPasswordException")
    right = {"current_password": PASSWORD, "new_password": "Changed-Horse-10"}
    assert account.post("change-password", right, token).status == 204
    assert account.login(email, "Changed-Horse-10").status == 200


# MARK: Profile


def test_the_profile_is_changed(account, pool):
    _, tokens = signed_in_user(account, pool)
    change = {"name": "Niko the Second", "attributes": {"locale": "de", "nickname": "N"}}
    changed = account.send("PATCH", "me", change, tokens["access_token"])
    assert changed.status == 200, changed.body
    assert changed.json()["name"] == "Niko the Second"
    assert changed.json()["attributes"]["locale"] == "de"
    assert account.me(tokens["access_token"]).json() == changed.json()


@pytest.mark.parametrize(
    "change, field",
    [
        ({"attributes": {"sub": "other"}}, "attributes.sub"),
        ({"attributes": {"email_verified": "true"}}, "attributes.email_verified"),
        ({"attributes": {"cognito:groups": "admins"}}, "attributes.cognito:groups"),
        ({"attributes": {"nickname": 7}}, "attributes.nickname"),
        ({"attributes": ["nickname"]}, "attributes"),
        ({"email": "other@example.com"}, "email"),
        ({"name": "\u202eevil"}, "name"),
    ],
    ids=str,
)
def test_what_is_not_the_users_to_change_is_refused(account, change, field):
    token = account.login(*ADA).json()["access_token"]
    refusal = assert_refusal(account.send("PATCH", "me", change, token), 422, "InvalidParameterException")
    assert list(refusal["fields"]) == [field]


def test_an_export_has_everything_that_is_held(account, pool):
    email, tokens = signed_in_user(account, pool, device_info={"device_id": "phone-1", "platform": "ios"})
    account.refresh(tokens["refresh_token"])
    answer = account.send("GET", "me/export", token=tokens["access_token"])
    assert answer.status == 200 and answer.header("cache-control") == "no-store"
    export = answer.json()
    assert export["user"]["email"] == email
    (session,) = export["sessions"]
    assert (session["device_id"], session["platform"], session["ended_at"]) == ("phone-1", "ios", None)
    assert session["signed_in_at"].endswith("Z") and session["ends_at"] > session["signed_in_at"]
    assert export["devices"] == []


def test_deletion_ends_every_session(account, pool):
    email, first = signed_in_user(account, pool)
    second = account.login(email, PASSWORD).json()
    assert account.send("DELETE", "me", token=first["access_token"]).status == 204
    for tokens in (first, second):
        assert backend_status(account, tokens["access_token"]) == 401
        assert_refusal(account.refresh(tokens["refresh_token"]), 401, "TokenRefreshException")


@pytest.mark.parametrize(
    "method, call",
    [
        ("GET", "me"),
        ("PATCH", "me"),
        ("DELETE", "me"),
        ("GET", "me/export"),
        ("POST", "change-password"),
        ("POST", "mfa/totp"),
        ("POST", "mfa/totp/verify"),
        ("DELETE", "mfa/totp"),
        ("POST", "logout"),
    ],
)
def test_calls_for_a_user_need_a_token_of_the_pool(account, issuer, method, call):
    """Also one of another issuer that the gateway trusts elsewhere is not enough, and Cognito never sees it."""
    for token in (None, "no.such.token", issuer.access()):
        assert_refusal(account.send(method, call, {}, token), 401, "NotAuthorizedException")


# MARK: Signing out


def test_signing_out_ends_this_session_and_no_other(account, pool):
    email, first = signed_in_user(account, pool)
    second = account.login(email, PASSWORD).json()
    assert backend_status(account, first["access_token"]) == 200
    out = account.logout(first["access_token"], refresh_token=first["refresh_token"])
    assert (out.status, out.body) == (204, b"")
    assert backend_status(account, first["access_token"]) == 401
    assert_refusal(account.refresh(first["refresh_token"]), 401, "TokenRefreshException")
    assert backend_status(account, second["access_token"]) == 200
    assert account.refresh(second["refresh_token"]).status == 200


@pytest.mark.parametrize("shown", ["bearer", "refresh_token"])
def test_either_token_is_enough_to_sign_out(account, pool, shown):
    _, tokens = signed_in_user(account, pool)
    newer = account.refresh(tokens["refresh_token"]).json()
    if shown == "bearer":
        assert account.logout(tokens["access_token"]).status == 204
    else:
        assert account.logout(refresh_token=newer["refresh_token"]).status == 204
    for access in (tokens, newer):
        assert backend_status(account, access["access_token"]) == 401
    assert_refusal(account.refresh(newer["refresh_token"]), 401, "TokenRefreshException")


def test_signing_out_ends_the_session_at_cognito(account, pool):
    """RevokeToken: the access token does not open Cognito any more either."""
    _, tokens = signed_in_user(account, pool)
    before = control(pool, "GET", "calls")["counts"].get("RevokeToken", 0)
    account.logout(tokens["access_token"], refresh_token=tokens["refresh_token"])
    assert control(pool, "GET", "calls")["counts"]["RevokeToken"] == before + 1


def test_signing_out_everywhere(account, pool):
    email, first = signed_in_user(account, pool)
    second = account.login(email, PASSWORD).json()
    assert account.logout(first["access_token"], all_devices=True).status == 204
    for tokens in (first, second):
        assert backend_status(account, tokens["access_token"]) == 401
        assert_refusal(account.refresh(tokens["refresh_token"]), 401, "TokenRefreshException")
    # Whoever signs in again at once is signed in.
    third = account.login(email, PASSWORD).json()
    assert backend_status(account, third["access_token"]) == 200


def test_signing_out_everywhere_with_a_refresh_token(account, pool):
    email, first = signed_in_user(account, pool)
    second = account.login(email, PASSWORD).json()
    assert account.logout(refresh_token=first["refresh_token"], all_devices=True).status == 204
    assert backend_status(account, second["access_token"]) == 401
    assert_refusal(account.refresh(second["refresh_token"]), 401, "TokenRefreshException")


def test_signing_out_twice_is_signing_out(account, pool):
    _, tokens = signed_in_user(account, pool)
    for _ in range(2):
        assert account.logout(tokens["access_token"], refresh_token=tokens["refresh_token"]).status == 204
        assert account.logout(tokens["access_token"]).status == 204
        assert account.logout(refresh_token=tokens["refresh_token"]).status == 204


def test_an_ended_access_token_signs_nobody_else_out_and_says_so(account, pool):
    email, tokens = signed_in_user(account, pool)
    other = account.login(email, PASSWORD).json()
    assert account.logout(tokens["access_token"]).status == 204
    assert_refusal(account.logout(tokens["access_token"], all_devices=True), 401, "NotAuthorizedException")
    assert backend_status(account, other["access_token"]) == 200
    assert account.logout(other["access_token"], all_devices=True).status == 204
    assert account.logout(tokens["access_token"], all_devices=True).status == 204, "now there are no others"


def test_a_refresh_token_of_another_user_is_not_ended_by_the_way(account, pool):
    _, mine = signed_in_user(account, pool)
    _, others = signed_in_user(account, pool)
    assert account.logout(mine["access_token"], refresh_token=others["refresh_token"]).status == 204
    assert account.refresh(others["refresh_token"]).status == 200


def test_a_sign_out_outlasts_a_restart(start_gateway, pool, ledger):
    gateway = start_gateway(pool=pool)
    account = Account(gateway.port, ledger)
    _, tokens = signed_in_user(account, pool)
    assert account.logout(tokens["access_token"]).status == 204
    gateway.stop()
    again = start_gateway({"state_directory": gateway.config["state_directory"]}, pool=pool)
    account = Account(again.port, ledger)
    assert_refusal(account.me(tokens["access_token"]), 401, "NotAuthorizedException")
    assert_refusal(account.refresh(tokens["refresh_token"]), 401, "TokenRefreshException")


# MARK: Answers that were lost


@contextmanager
def lost(pool: LocalPool, *operations: str):
    """Cognito does what it is asked, and the answers of these operations never arrive."""
    control(pool, "POST", "faults", [{"operation": operation, "drop": "after"} for operation in operations])
    try:
        yield
    finally:
        control(pool, "DELETE", "faults")


def kept_sessions(gateway: Gateway, user: str) -> list[tuple]:
    """The gateway's records of a user's sessions: when each has ended."""
    path = Path(gateway.config["state_directory"]) / "gatehouse.sqlite"
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        return database.execute("SELECT ended_at FROM sessions WHERE subject = ?", [user]).fetchall()


def test_a_deletion_whose_answer_was_lost_is_finished_by_the_next_one(gateway, account, pool):
    _, tokens = signed_in_user(account, pool)
    user = tokens["user"]["id"]
    with lost(pool, "DeleteUser"):
        assert_refusal(
            account.send("DELETE", "me", token=tokens["access_token"]), 503, "IdentityProviderUnavailableException"
        )
    assert kept_sessions(gateway, user) == [(None,)], "nothing is forgotten of a user who may still be there"
    finished = account.send("DELETE", "me", token=tokens["access_token"])
    assert finished.status == 204
    assert backend_status(account, tokens["access_token"]) == 401
    assert_refusal(account.refresh(tokens["refresh_token"]), 401, "TokenRefreshException")
    assert kept_sessions(gateway, user) == []
    told = lambda: [line["request_id"] for line in gateway.audit_log("user_deleted")]
    wait_until(lambda: finished.header("x-request-id") in told(), "the deletion to be told")


def test_a_deletion_that_was_only_refused_is_no_deletion(gateway, account, pool):
    """Of a token that Cognito takes no more it does not follow that its user is gone."""
    email, tokens = signed_in_user(account, pool)
    fault = {"operation": "DeleteUser", "error": "NotAuthorizedException", "message": "Access Token has been revoked"}
    control(pool, "POST", "faults", [{**fault, "times": 1}])
    assert_refusal(account.send("DELETE", "me", token=tokens["access_token"]), 401, "NotAuthorizedException")
    assert kept_sessions(gateway, tokens["user"]["id"]) == [(None,)]
    assert account.login(email, PASSWORD).status == 200


def test_a_password_change_whose_answer_was_lost_is_done(account, pool):
    email, tokens = signed_in_user(account, pool)
    change = {"current_password": PASSWORD, "new_password": "Changed-Horse-12"}
    with lost(pool, "ChangePassword"):
        answer = account.post("change-password", change, tokens["access_token"])
        assert_refusal(answer, 503, "IdentityProviderUnavailableException")
    assert account.post("change-password", change, tokens["access_token"]).status == 204
    assert account.login(email, "Changed-Horse-12").status == 200


def test_a_lost_answer_lets_nobody_try_out_passwords(account, pool):
    """The next call is another one, and a wrong password in it counts."""
    _, tokens = signed_in_user(account, pool)
    with lost(pool, "ChangePassword"):
        account.post(
            "change-password", {"current_password": PASSWORD, "new_password": "Changed-Horse-13"}, tokens["access_token"]
        )
    for guess in ("Not-The-Horse-1", PASSWORD):
        change = {"current_password": guess, "new_password": "Another-Horse-14"}
        refusal = account.post("change-password", change, tokens["access_token"])
        assert_refusal(refusal, 422, "InvalidParameterException")
        assert list(refusal.json()["fields"]) == ["current_password"]


@pytest.mark.parametrize(
    "shown, lost_one, asked_again",
    [
        ("bearer", "GlobalSignOut", 1),
        # The token that was signed out with is good for nothing any more.
        ("refresh_token", "GlobalSignOut", 0),
        ("refresh_token", "GetTokensFromRefreshToken", 1),
    ],
)
def test_a_sign_out_everywhere_whose_answer_was_lost_can_be_repeated(account, pool, shown, lost_one, asked_again):
    email, tokens = signed_in_user(account, pool)
    other = account.login(email, PASSWORD).json()

    def sign_out() -> raw.Response:
        if shown == "bearer":
            return account.logout(tokens["access_token"], all_devices=True)
        return account.logout(refresh_token=tokens["refresh_token"], all_devices=True)

    with lost(pool, lost_one):
        assert_refusal(sign_out(), 503, "IdentityProviderUnavailableException")
    before = control(pool, "GET", "calls")["counts"].get("GlobalSignOut", 0)
    assert sign_out().status == 204
    assert control(pool, "GET", "calls")["counts"].get("GlobalSignOut", 0) == before + asked_again
    for each in (tokens, other):
        assert backend_status(account, each["access_token"]) == 401
        assert_refusal(account.refresh(each["refresh_token"]), 401, "TokenRefreshException")
    # Also where nothing came of the last answer.
    assert sign_out().status == 204


# MARK: Old refresh tokens


def let_the_window_pass(gateway: Gateway) -> None:
    """As if the last refresh of every session had been a minute ago."""
    path = Path(gateway.config["state_directory"]) / "gatehouse.sqlite"
    with closing(sqlite3.connect(path, timeout=10, isolation_level=None)) as database:
        database.execute("UPDATE sessions SET refreshed_at = refreshed_at - 62")


@pytest.mark.parametrize("old", ["ended", "superseded", "of no session"])
def test_an_old_refresh_token_signs_nobody_out_everywhere(gateway, account, pool, old):
    email, tokens = signed_in_user(account, pool)
    others = account.login(email, PASSWORD).json()
    shown = tokens["refresh_token"]
    if old == "ended":
        assert account.logout(refresh_token=shown).status == 204
    elif old == "superseded":
        assert account.refresh(shown).status == 200
        let_the_window_pass(gateway)
    else:
        shown = f"{shown[:-4]}AAAA"
    refused = account.logout(refresh_token=shown, all_devices=True)
    assert_refusal(refused, 401, "TokenRefreshException")
    assert backend_status(account, others["access_token"]) == 200
    newest = account.refresh(others["refresh_token"])
    assert newest.status == 200
    # Whoever has the newest one of a session may.
    assert account.logout(refresh_token=newest.json()["refresh_token"], all_devices=True).status == 204
    assert backend_status(account, others["access_token"]) == 401


def test_a_refresh_token_whose_successor_never_arrived_may_sign_out_everywhere(account, pool):
    """As it may still be exchanged once more."""
    email, tokens = signed_in_user(account, pool)
    others = account.login(email, PASSWORD).json()
    assert account.refresh(tokens["refresh_token"]).status == 200
    before = control(pool, "GET", "calls")["counts"].get("GlobalSignOut", 0)
    assert account.logout(refresh_token=tokens["refresh_token"], all_devices=True).status == 204
    assert control(pool, "GET", "calls")["counts"]["GlobalSignOut"] == before + 1
    assert backend_status(account, others["access_token"]) == 401
    assert_refusal(account.refresh(others["refresh_token"]), 401, "TokenRefreshException")


# MARK: Pools


def test_several_pools_by_path_and_by_host(start_gateway, run_directory, pool, ledger):
    """The same address is two users, and what one pool has made is worth nothing with the other."""
    other = LocalPool(
        run_directory, "other-pool", {"pool_id": "eu-central-1_OtherPool", "client": {"id": "9other0pool0client0000000"}}
    )
    try:
        issuer = {**other.issuer_settings(), "user_pool_id": "eu-central-1_OtherPool"}
        issuer |= {
            "issuer": f"{other.url}/eu-central-1_OtherPool",
            "jwks_url": f"{other.url}/eu-central-1_OtherPool/.well-known/jwks.json",
            "client_ids": ["9other0pool0client0000000"],
        }
        settings = other.sign_in_settings("other", client_id="9other0pool0client0000000")
        changes = {
            "issuers": {"other": issuer},
            "sign_in": {"more_pools": [{**settings, "prefix": "/other"}, {**settings, "hosts": ["other.example"]}]},
        }
        gateway = start_gateway(changes, pool=pool)
        first = Account(gateway.port, ledger)
        by_path = Account(gateway.port, ledger, prefix="/other")
        by_host = Account(gateway.port, ledger, headers={"Host": "Other.Example:8443"})
        ids = {name: account.login(*ADA).json() for name, account in
               {"first": first, "path": by_path, "host": by_host}.items()}
        assert ids["first"]["user"]["id"] != ids["path"]["user"]["id"] == ids["host"]["user"]["id"]
        assert by_path.refresh(ids["host"]["refresh_token"]).status == 200
        assert_refusal(by_path.refresh(ids["first"]["refresh_token"]), 401, "TokenRefreshException")
        assert_refusal(first.refresh(ids["path"]["refresh_token"]), 401, "TokenRefreshException")
        assert by_path.me(ids["path"]["access_token"]).status == 200
        assert_refusal(by_path.me(ids["first"]["access_token"]), 401, "NotAuthorizedException")
        assert_refusal(first.me(ids["host"]["access_token"]), 401, "NotAuthorizedException")
    finally:
        other.stop()
