"""Three gateways get the same proof, code or token at the same moment: it counts once, whoever is first."""

import asyncio
import time

import jwt
import pytest
from harness.apple_app import PREFIX as SESSIONS
from harness.apple_app import AppleApp
from harness.at_once import Answer, Connections
from harness.hosted import PREFIX as HOSTED
from harness.hosted import App, Browser
from harness.local_pool_control import control

REFRESH = "/api/v1/auth/refresh"
# Of each kind; the five kinds together are 100 000 with --long.
RACES = pytest.mark.parametrize("races", [60, pytest.param(20_000, marks=[pytest.mark.long, pytest.mark.timeout(7200)])])


def statuses(answers: list[Answer]) -> list[int]:
    return sorted(answer.status for answer in answers)


def refresh_calls(pool) -> int:
    return control(pool, "GET", "calls")["counts"].get("GetTokensFromRefreshToken", 0)


@pytest.fixture
def app(replicas) -> AppleApp:
    return replicas[0].apple_app


@RACES
def test_an_identity_token_signs_in_once(replicas, app, races):
    async def race() -> None:
        async with Connections(replicas.ports) as connections:
            for number in range(races):
                body = app.body(f"racing-{number % 50}@example.com")
                answers = await connections.post(f"{SESSIONS}/apple", [body] * 3)
                assert statuses(answers) == [200, 401, 401], (number, answers)

    asyncio.run(race())


@RACES
def test_a_nonce_of_the_gateways_counts_once(replicas, app, races):
    async def race() -> None:
        async with Connections(replicas.ports) as connections:
            for number in range(races):
                nonce = replicas[number % 3].apple_app.post("apple/nonce").json()["nonce"]
                bodies = [app.body(f"racing-{number % 50}-{place}@example.com", nonce) for place in range(3)]
                answers = await connections.post(f"{SESSIONS}/apple", bodies)
                assert statuses(answers) == [200, 401, 401], (number, answers)

    asyncio.run(race())


@RACES
def test_a_refresh_token_has_one_successor_and_cognito_is_asked_once(replicas, races):
    pool = replicas.surroundings.apple
    token = replicas[0].sign_in(replicas.user())["refresh_token"]

    async def race(token: str) -> None:
        async with Connections(replicas.ports) as connections:
            for number in range(races):
                answers = await connections.post(REFRESH, [{"refresh_token": token}] * 3)
                assert statuses(answers) == [200] * 3, (number, answers)
                successors = {answer.body["refresh_token"] for answer in answers}
                assert len(successors) == 1 and token not in successors, number
                token = successors.pop()

    before = refresh_calls(pool)
    asyncio.run(race(token))
    assert refresh_calls(pool) == before + races


def test_the_parent_of_an_unused_token_brings_that_one_at_all_gateways(replicas, cluster):
    """A minute later the response is forgotten: one gateway asks Cognito once more, the others give what it got."""
    pool = replicas.surroundings.apple
    token = replicas[0].sign_in(replicas.user())["refresh_token"]

    async def race(token: str) -> None:
        async with Connections(replicas.ports) as connections:
            for number in range(20):
                lost = replicas[number % 3].account.refresh(token).json()["refresh_token"]
                cluster.primary.sql("UPDATE sessions SET answer = NULL, refreshed_at = refreshed_at - 62")
                before = refresh_calls(pool)
                answers = await connections.post(REFRESH, [{"refresh_token": token}] * 3)
                assert statuses(answers) == [200] * 3, (number, answers)
                assert len({answer.body["refresh_token"] for answer in answers}) == 1, number
                assert refresh_calls(pool) == before + 1
                answers = await connections.post(REFRESH, [{"refresh_token": lost}] * 3)
                assert statuses(answers) == [200] * 3, (number, answers)
                assert len({answer.body["refresh_token"] for answer in answers}) == 1, number
                token = answers[0].body["refresh_token"]

    asyncio.run(race(token))
    assert [len(gateway.audit_log("refresh_reused")) for gateway in replicas] == [0] * 3


@RACES
def test_a_session_with_apple_has_one_successor(replicas, app, races):
    token = app.signed_in(f"racing-{time.time_ns()}@example.com")["token"]

    async def race(token: str) -> None:
        async with Connections(replicas.ports) as connections:
            for number in range(races):
                answers = await connections.post(f"{SESSIONS}/refresh", [{}] * 3, token)
                assert statuses(answers) == [200] * 3, (number, answers)
                rotations = {claims(answer.body["token"])["jti"] for answer in answers}
                assert len(rotations) == 1 and claims(token)["jti"] not in rotations, number
                token = answers[0].body["token"]

    asyncio.run(race(token))


def claims(token: str) -> dict:
    return jwt.decode(token, options={"verify_signature": False})


@RACES
def test_the_code_of_a_hosted_sign_in_is_redeemed_once(replicas, races):
    user = replicas.user()
    front, browser = replicas.surroundings.front, Browser()
    front.target = replicas[0].port
    base = f"http://127.0.0.1:{front.port}{HOSTED}"
    # The pool knows the browser from then on, and shows no page.
    browser.fill_in(browser.go(App(base).authorize_url(prompt="login")), username=user[0], password=user[1])

    async def race() -> None:
        async with Connections(replicas.ports) as connections:
            for number in range(races):
                app = App(base)
                form = app.token_form(app.code(browser.go(app.authorize_url())))
                browser.visited.clear()
                answers = await connections.post(f"{HOSTED}/token", [form] * 3)
                assert statuses(answers) == [200, 400, 400], (number, answers)

    try:
        asyncio.run(race())
    finally:
        browser.close()


@RACES
def test_the_first_sign_ins_of_a_user_make_one_user(replicas, app, races):
    async def race() -> None:
        async with Connections(replicas.ports) as connections:
            for number in range(races // 10):
                name = f"new-{time.time_ns()}@example.com"
                answers = await connections.post(f"{SESSIONS}/apple", [app.body(name) for _ in range(3)])
                assert statuses(answers) == [200] * 3, (number, answers)
                assert len({answer.body["user"]["id"] for answer in answers}) == 1, number

    asyncio.run(race())
