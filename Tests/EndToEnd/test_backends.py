"""Several servers behind one upstream: sharing out, ejection, health, retries, limits, unix sockets, TLS."""

import contextlib
import http.server
import itertools
import re
import socketserver
import threading
from collections import Counter

import pytest
from harness import raw
from harness.account import assert_refusal
from harness.authority import Authority
from harness.backend import RecordingBackend, answer, close_without_answer, silence
from harness.process import free_port, wait_until
from harness.sanitizer import PATIENCE


@pytest.fixture
def servers():
    backends = [RecordingBackend() for _ in range(3)]
    yield backends
    for backend in backends:
        backend.stop()


@pytest.fixture
def balanced(start_gateway):
    """A gateway of one event loop whose `recorder` upstream has these servers."""

    def start(urls, changes: dict | None = None, **settings):
        urls = [url if isinstance(url, dict) else {"url": url} for url in urls]
        upstream = {"url": ..., "servers": urls, **settings}
        return start_gateway({"threads": 1, "upstreams": {"recorder": upstream}, **(changes or {})})

    return start


def ask(gateway, count: int = 1, path: str = "/recorded/public/x", **options) -> list[int]:
    return [raw.exchange(gateway.port, "GET", path, **options).status for _ in range(count)]


def of_servers(gateway, name: str) -> float:
    """A metric of the `recorder` upstream's servers, summed."""
    pattern = rf'^gatehouse_upstream_server_{name}\{{upstream="recorder",server="[^"]+"\}} (\S+)$'
    values = re.findall(pattern, gateway.admin("/metrics")[1], re.MULTILINE)
    assert values, name
    return sum(float(value) for value in values)


def counts(servers) -> list[int]:
    return [len(server.requests) for server in servers]


def test_two_servers_take_turns(balanced, servers):
    gateway = balanced([servers[0].url, servers[1].url])
    assert ask(gateway, 20) == [200] * 20
    assert counts(servers[:2]) == [10, 10]
    assert of_servers(gateway, "requests_total") == 20
    assert of_servers(gateway, "requests_in_flight") == 0
    assert of_servers(gateway, "up") == 2


def test_weights_are_kept(balanced, servers):
    gateway = balanced([{"url": servers[0].url, "weight": 3}, {"url": servers[1].url}])
    ask(gateway, 20)
    assert counts(servers[:2]) == [15, 5]


def test_least_requests_goes_around_a_busy_server(balanced, servers):
    gateway = balanced([server.url for server in servers[:2]], balance="least_requests", first_byte_timeout="30s")
    for server in servers[:2]:
        server.on("/recorded/public/long", silence)
    with raw.RawConnection(gateway.port) as held:
        held.send(raw.request_bytes("GET", "/recorded/public/long"))
        wait_until(lambda: sum(counts(servers[:2])) == 1, "the long request")
        busy = servers.index(next(server for server in servers if server.requests))
        ask(gateway, 10)
        assert counts(servers[:2])[busy] == 1
        assert sum(counts(servers[:2])) == 11


def test_one_subject_stays_with_one_server(balanced, servers, issuer):
    gateway = balanced([server.url for server in servers], balance="hash_subject")
    for number in range(12):
        token = issuer.access(sub=f"subject-{number}")
        for _ in range(3):
            headers = {"Authorization": f"Bearer {token}"}
            assert raw.exchange(gateway.port, "GET", f"/recorded/required/{number}", headers).status == 200
    for number in range(12):
        assert sorted(len(server.requests_to(f"/recorded/required/{number}")) for server in servers) == [0, 0, 3]
    assert sum(1 for server in servers if server.requests) > 1


def test_a_server_that_is_down_costs_no_request(balanced, servers):
    gateway = balanced([servers[0].url, f"http://127.0.0.1:{free_port()}"])
    assert ask(gateway, 30) == [200] * 30
    assert len(servers[0].requests) == 30
    # After five failures in a row it is not asked any more.
    assert of_servers(gateway, "ejections_total") == 1
    assert of_servers(gateway, "failures_total") == 5
    assert of_servers(gateway, "up") == 1


def test_a_body_goes_to_another_server_when_no_connection_was_made(balanced, servers):
    gateway = balanced([f"http://127.0.0.1:{free_port()}", servers[0].url])
    for _ in range(2):
        response = raw.exchange(gateway.port, "POST", "/recorded/public/x", body=b"hello")
        assert response.json()["bytes"] == 5


def test_a_get_that_a_server_drops_is_repeated_at_another_one_and_a_post_is_not(balanced, servers):
    servers[0].on("/recorded/public/dropped", close_without_answer)
    gateway = balanced([servers[0].url, servers[1].url])
    assert ask(gateway, 2, "/recorded/public/dropped") == [200, 200]
    statuses = [
        raw.exchange(gateway.port, "POST", "/recorded/public/dropped", body=b"x").status for _ in range(2)
    ]
    assert sorted(statuses) == [200, 502]


def test_retries_keep_to_their_budget(balanced, servers):
    for server in servers[:2]:
        server.on("/recorded/public/dropped", close_without_answer)
    gateway = balanced([servers[0].url, servers[1].url], ejection={"after": 0})
    assert ask(gateway, 40, "/recorded/public/dropped") == [502] * 40
    # Ten were saved, and each ten requests save another one.
    assert 40 + 10 <= sum(counts(servers[:2])) <= 40 + 10 + 4
    assert gateway.metric("gatehouse_upstream_retries_total") == sum(counts(servers[:2])) - 40


def test_which_server_it_was_and_how_often_it_was_tried_is_logged(balanced, servers):
    gone = f"http://127.0.0.1:{free_port()}"
    gateway = balanced([servers[0].url, gone], retries={"budget": "100%"}, ejection={"after": 0})
    lines = [gateway.access_line(raw.exchange(gateway.port, "GET", "/recorded/public/x").header("x-request-id")) for _ in range(4)]
    assert [(line["status"], line["server"]) for line in lines] == [(200, servers[0].url)] * 4
    assert sorted(line.get("retries", 0) for line in lines) == [0, 0, 1, 1]
    # A server that does not answer is named as well; a request that reached no server names none.
    alone = balanced([gone], ejection={"after": 0})
    line = alone.access_line(raw.exchange(alone.port, "GET", "/recorded/public/x").header("x-request-id"))
    assert (line["status"], line["server"]) == (502, gone) and "retries" not in line
    assert "server" not in alone.access_line(raw.exchange(alone.port, "GET", "/nowhere").header("x-request-id"))


def test_without_a_budget_nothing_is_retried(balanced, servers):
    gateway = balanced([servers[0].url, f"http://127.0.0.1:{free_port()}"], retries={"budget": "0%"})
    assert Counter(ask(gateway, 10)) == {200: 5, 502: 5}


def test_with_no_server_left_the_answer_is_503_at_once(balanced):
    down = [f"http://127.0.0.1:{free_port()}" for _ in range(2)]
    gateway = balanced(down, ejection={"after": 2, "first": "60s", "only_server": True})
    assert set(ask(gateway, 6)) <= {502, 503}
    response = raw.exchange(gateway.port, "GET", "/recorded/public/x")
    assert_refusal(response, 503, "ServiceUnavailableException")
    assert 1 <= int(response.header("retry-after")) <= 61
    assert of_servers(gateway, "up") == 0


def test_an_ejected_server_comes_back(balanced, servers):
    servers[0].on("/recorded/public/x", answer(503))
    gateway = balanced(
        [servers[0].url, servers[1].url],
        ejection={"after": 2, "paths": 1, "clients": 1, "first": "300ms", "longest": "300ms", "slow_return": "0s"},
    )
    # It is back after 300 ms, for two failures more.
    wait_until(lambda: ask(gateway, 8) and of_servers(gateway, "up") == 1, "the failing server to be out")
    servers[0].forget()
    wait_until(lambda: ask(gateway) and servers[0].requests, "the server to be asked again")
    assert of_servers(gateway, "up") == 2


def test_a_500_ejects_nobody(balanced, servers):
    for server in servers[:2]:
        server.on("/recorded/public/x", answer(500))
    gateway = balanced([servers[0].url, servers[1].url])
    assert ask(gateway, 20) == [500] * 20
    assert of_servers(gateway, "up") == 2


# Nobody can eject servers by asking for what fails, or for what is silent


BELIEVED = {"trusted_proxies": ["127.0.0.1"]}
FAILING = "/recorded/public/failing"
NUMBERS = itertools.count()


def ask_for_what_fails(gateway, count: int, paths: int = 1, clients: int = 1) -> None:
    for number in itertools.islice(NUMBERS, count):
        client = {"X-Forwarded-For": f"198.51.100.{number % clients}"}
        ask(gateway, path=f"{FAILING}-{number % paths}?{number}", headers=client)


def fail_all(servers) -> None:
    for server in servers:
        for number in range(20):
            server.on(f"{FAILING}-{number}", answer(503))


@pytest.mark.parametrize("paths, clients", [(1, 20), (20, 1)])
def test_one_url_or_one_client_ejects_nobody(balanced, servers, paths, clients):
    fail_all(servers)
    gateway = balanced([servers[0].url, servers[1].url], BELIEVED)
    ask_for_what_fails(gateway, 40, paths, clients)
    assert of_servers(gateway, "up") == 2
    assert of_servers(gateway, "failures_total") == 40
    assert of_servers(gateway, "ejections_total") == 0
    assert ask(gateway, 4) == [200] * 4


@pytest.mark.parametrize("clients", [["2001:db8:1:2::1", "2001:db8:1:2:ffff::9"], ["203.0.113.7", "::ffff:203.0.113.7"]])
def test_a_client_with_several_addresses_is_one(balanced, servers, clients):
    fail_all(servers)
    gateway = balanced([servers[0].url, servers[1].url], BELIEVED)
    for number in range(40):
        ask(gateway, path=f"{FAILING}-{number % 20}", headers={"X-Forwarded-For": clients[number // 2 % 2]})
    assert of_servers(gateway, "ejections_total") == 0


@pytest.mark.parametrize("count, share, out", [(2, None, 1), (3, None, 1), (3, "70%", 2), (3, "100%", 2)])
def test_what_all_servers_do_ejects_the_largest_share_and_never_the_last(balanced, servers, count, share, out):
    fail_all(servers)
    ejection = {"first": "60s", **({"largest_share": share} if share else {})}
    gateway = balanced([server.url for server in servers[:count]], BELIEVED, ejection=ejection)
    serving = set()
    for _ in range(60):
        ask_for_what_fails(gateway, 2, paths=20, clients=7)
        serving.add(of_servers(gateway, "up"))
    assert min(serving) == count - out
    assert of_servers(gateway, "ejections_withheld_total") > 0
    assert ask(gateway, 10) == [200] * 10


def test_when_the_last_one_fails_too_those_ejected_are_asked_again(balanced, servers):
    fail_all(servers[:1])
    upstream = [servers[0].url, servers[1].url]
    gateway = balanced(upstream, BELIEVED, ejection={"first": "60s", "longest": "60s"}, retries={"budget": "0%"})
    ask_for_what_fails(gateway, 20, paths=19, clients=7)
    assert of_servers(gateway, "up") == 1
    servers[0].forget()
    servers[1].stop()
    wait_until(lambda: ask(gateway) == [200], "the server to be back before its time")


def test_all_but_one_server_are_ejected_where_none_takes_connections(balanced, servers):
    down = [f"http://127.0.0.1:{free_port()}" for _ in range(2)]
    gateway = balanced([*down, servers[0].url], ejection={"after": 2, "first": "60s"}, retries={"budget": "100%"})
    assert ask(gateway, 40) == [200] * 40
    assert of_servers(gateway, "up") == 1
    assert of_servers(gateway, "failures_total") == 4


def test_a_server_that_is_back_is_not_ejected_by_one_request(balanced, servers):
    fail_all(servers[:1])
    gateway = balanced(
        [servers[0].url, servers[1].url], BELIEVED,
        ejection={"first": "100ms", "longest": "100ms", "slow_return": "0s"},
    )  # fmt: skip
    ask_for_what_fails(gateway, 10, paths=19, clients=7)
    assert of_servers(gateway, "ejections_total") == 1
    wait_until(lambda: of_servers(gateway, "up") == 2, "the server to be back")
    # Its first requests since then.
    ask_for_what_fails(gateway, 6, paths=6, clients=6)
    assert of_servers(gateway, "ejections_total") == 1


def test_the_last_server_is_ejected_where_that_is_asked_for(balanced, servers):
    fail_all(servers)
    gateway = balanced([servers[0].url, servers[1].url], BELIEVED, ejection={"first": "60s", "only_server": True})
    ask_for_what_fails(gateway, 40, paths=19, clients=7)
    assert of_servers(gateway, "up") == 0
    assert ask(gateway) == [503]


def test_a_server_that_is_ejected_serves_where_checks_leave_no_other(balanced, servers):
    fail_all(servers[:1])
    gateway = balanced(
        [servers[0].url, servers[1].url], BELIEVED, ejection={"first": "60s"},
        health={"path": "/health", "interval": "100ms", "healthy_after": 1, "unhealthy_after": 1},
    )  # fmt: skip
    ask_for_what_fails(gateway, 20, paths=19, clients=7)
    assert of_servers(gateway, "up") == 1
    servers[1].on("/health", answer(500))
    wait_until(lambda: servers[0].forget() or (ask(gateway) and servers[0].requests_to("/recorded/public/x")), "the ejected server to serve")


def test_streams_that_are_silent_after_an_event_eject_nobody(balanced, servers):
    def broadcast(exchange):
        exchange.read_body()
        exchange.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\ndata: 1\n\n\r\n")
        exchange.wait_for_close()

    gateway = balanced([servers[0].url], BELIEVED, idle_timeout="1s", ejection={"first": "60s", "only_server": True})
    with contextlib.ExitStack() as stack:
        streams = [stack.enter_context(raw.RawConnection(gateway.port)) for _ in range(5)]
        for number, stream in enumerate(streams):
            path = f"/recorded/public/stream-{number % 2}"
            servers[0].on(path, broadcast)
            stream.send(raw.request_bytes("GET", path, {"X-Forwarded-For": f"198.51.100.{number % 2}"}))
        for stream in streams:
            assert stream.head().status == 200
        for stream in streams:
            with pytest.raises(raw.ConnectionClosed):
                list(stream.chunks())
    assert ask(gateway) == [200]
    assert of_servers(gateway, "failures_total") == 0


def test_health_checks_take_a_server_out_and_bring_it_back(balanced, servers):
    servers[0].on("/health", answer(500))
    gateway = balanced(
        [servers[0].url, servers[1].url],
        health={"path": "/health", "interval": "100ms", "healthy_after": 1, "unhealthy_after": 2},
        ejection={"slow_return": "0s"},
    )
    wait_until(lambda: of_servers(gateway, "up") == 1, "the sick server to be out")
    ask(gateway, 4)
    assert not servers[0].requests_to("/recorded/public/x")
    assert servers[0].last("/health").header("user-agent") == "gatehouse-health"
    servers[0].on("/health", answer(200))
    wait_until(lambda: of_servers(gateway, "up") == 2, "the server to be back")
    ask(gateway, 4)
    assert servers[0].requests_to("/recorded/public/x")


def test_every_health_check_takes_a_connection_of_its_own(balanced, servers):
    """A kept one would lead to where the name was once, and say nothing of whether connections can be made."""
    gateway = balanced(
        [servers[0].url], health={"path": "/health", "interval": "100ms", "healthy_after": 1, "unhealthy_after": 2}
    )
    wait_until(lambda: len(servers[0].requests_to("/health")) >= 5, "some checks")
    checks = servers[0].requests_to("/health")
    assert len({check.connection for check in checks}) == len(checks)
    for check in checks[:-1]:
        assert servers[0].connection_of(check).closed_by_peer.wait(10)
    # Another server takes its place, as where a name gets another address. The old one still serves who is connected.
    ask(gateway)
    servers[0].stop_listening()
    successor = RecordingBackend(servers[0].port)
    successor.on("/health", answer(500))
    wait_until(lambda: of_servers(gateway, "up") == 0, "the successor's illness to be noticed")
    successor.stop()


def test_readiness_ends_when_checks_leave_no_upstream_a_server(start_gateway, servers, issuer):
    def checked(*backends) -> dict:
        health = {"path": "/health", "interval": "100ms", "healthy_after": 1, "unhealthy_after": 1}
        return {"url": ..., "servers": [{"url": backend.url} for backend in backends], "health": health}

    upstreams = {"recorder": checked(servers[0], servers[1]), "down": checked(servers[2])}
    gateway = start_gateway({"upstreams": upstreams})
    wait_until(lambda: gateway.admin("/readyz") == (200, "ready\n"), "readiness")

    def told(status: int, text: str) -> None:
        wait_until(lambda: gateway.admin("/readyz") == (status, text), text)
        assert gateway.metric("gatehouse_ready") == (1 if status == 200 else 0)

    # One server of two, and one upstream of two, is no reason to send nobody here any more.
    servers[0].on("/health", answer(500))
    servers[2].on("/health", answer(500))
    told(200, "ready\nupstream down: no healthy server\n")
    servers[1].on("/health", answer(500))
    told(503, "no upstream has a healthy server\nupstream recorder: no healthy server\nupstream down: no healthy server\n")
    servers[0].on("/health", answer(200))
    told(200, "ready\nupstream down: no healthy server\n")
    servers[2].on("/health", answer(200))
    told(200, "ready\n")


def test_beyond_connections_and_line_the_answer_is_503_at_once(balanced, servers):
    servers[0].on("/recorded/public/long", silence)
    gateway = balanced(
        [servers[0].url], maximum_connections=1, maximum_waiting=1, waiting_timeout="30s", first_byte_timeout="30s"
    )
    first, second = raw.RawConnection(gateway.port), raw.RawConnection(gateway.port)
    with first, second:
        first.send(raw.request_bytes("GET", "/recorded/public/long"))
        wait_until(lambda: servers[0].requests, "the first request")
        second.send(raw.request_bytes("GET", "/recorded/public/short"))
        wait_until(lambda: gateway.metric("gatehouse_requests_in_flight") >= 2, "the second request to wait")
        response = raw.exchange(gateway.port, "GET", "/recorded/public/third")
        assert_refusal(response, 503, "ServiceUnavailableException")
        assert response.header("retry-after")
        # The one that waits takes the place of the one that goes.
        first.close()
        assert second.response().status == 200
    assert len(servers[0].requests) == 2


def test_who_waits_too_long_gets_503(balanced, servers):
    servers[0].on("/recorded/public/long", silence)
    gateway = balanced([servers[0].url], maximum_connections=1, waiting_timeout="200ms", first_byte_timeout="30s")
    with raw.RawConnection(gateway.port) as held:
        held.send(raw.request_bytes("GET", "/recorded/public/long"))
        wait_until(lambda: servers[0].requests, "the first request")
        assert_refusal(raw.exchange(gateway.port, "GET", "/recorded/public/x"), 503, "ServiceUnavailableException")


def test_many_who_wait_are_served_in_few_connections(balanced, servers):
    gateway = balanced([servers[0].url, servers[1].url], maximum_connections=2)
    statuses: list[int] = []
    threads = [threading.Thread(target=lambda: statuses.extend(ask(gateway, 5))) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert statuses == [200] * 100
    assert max(len(server.connections) for server in servers[:2]) <= 2


def test_a_connection_that_is_old_enough_is_replaced(balanced, servers):
    gateway = balanced([servers[0].url], maximum_age="1s")
    ask(gateway)
    assert servers[0].connections[0].closed_by_peer.wait(10)
    assert ask(gateway) == [200]
    assert len(servers[0].connections) == 2


# Changes by a route


@pytest.fixture
def route(start_gateway):
    """A gateway with one more route, `/changed/**` before the recorder."""

    def start(upstream: dict | None = None, **settings):
        added = {"name": "changed", "path": "/changed/**", "access": "public", "upstream": "recorder", **settings}
        reading = {"name": "plain", "path": "/recorded/public/**", "access": "public", "upstream": "recorder"}
        return start_gateway({"threads": 1, "routes": [added, reading], "upstreams": {"recorder": upstream or {}}})

    return start


@pytest.mark.parametrize(
    "strip, add, target, sent",
    [
        ("/changed", None, "/changed/a/b?c=%2F", "/a/b?c=%2F"),
        ("/changed", None, "/changed", "/"),
        ("/changed", None, "/changed?x", "/?x"),
        ("/changed", None, "/changed/", "/"),
        ("/changed", "/v2/api", "/changed/%C3%A9?x", "/v2/api/%C3%A9?x"),
        ("/changed", "/v2", "/changed?x", "/v2?x"),
        (None, "/v2", "/changed/x", "/v2/changed/x"),
    ],
)
def test_a_prefix_is_taken_off_and_put_before(route, own_recorder, strip, add, target, sent):
    rules = {"strip_prefix": strip, "add_prefix": add}
    gateway = route(**{key: value for key, value in rules.items() if value})
    assert raw.exchange(gateway.port, "GET", target).status == 200
    assert own_recorder.requests[-1].target == sent


@pytest.mark.parametrize("target, status", [("/%63hanged/x", 400), ("/change%64", 400), ("/changed;a=b/x", 404)])
def test_a_prefix_that_is_not_there_in_plain_bytes_is_refused(route, own_recorder, target, status):
    gateway = route(strip_prefix="/changed")
    assert raw.exchange(gateway.port, "GET", target).status == status
    assert not own_recorder.requests


@pytest.mark.parametrize("add", [None, "/v2"])
@pytest.mark.parametrize(
    "target, sent",
    [
        # Whoever resolves it stays below the route, and with it below what is put before.
        ("/changed/x/..", "/x/.."),
        ("/changed/x/.", "/x/."),
        ("/changed/y/x/..", "/y/x/.."),
        ("/changed/x/..?q", "/x/..?q"),
        # Whoever resolves it leaves the route: it is that of another path, or ambiguous.
        ("/changed/..", 404),
        ("/changed/..?q", 404),
        ("/changed/%2e%2e", 400),
        ("/changed/.%2E", 400),
        ("/changed/..;x", 400),
        ("/changed/../y", 400),
        ("/changed/x/../y", 400),
    ],
)
def test_final_dots_behind_a_prefix_are_sent_exactly_or_refused(route, own_recorder, add, target, sent):
    gateway = route(strip_prefix="/changed", **({"add_prefix": add} if add else {}))
    status = raw.exchange(gateway.port, "GET", target).status
    if isinstance(sent, str):
        assert status == 200
        assert own_recorder.requests[-1].target == (add or "") + sent
    else:
        assert status == sent
        assert not own_recorder.requests


def test_a_final_dot_that_is_all_that_is_left_is_refused(route, own_recorder):
    gateway = route(strip_prefix="/changed")
    assert raw.exchange(gateway.port, "GET", "/changed/.").status == 400
    assert not own_recorder.requests


def test_request_headers_are_set_and_removed_in_every_spelling(route, own_recorder):
    gateway = route(request_headers={"add": {"X-Api-Key": "the-key"}, "remove": ["Cookie", "X-Debug"]})
    headers = {"X-Api-Key": "forged", "x_api_key": "forged", "Cookie": "a=b", "X_Debug": "1", "X-Other": "stays"}
    assert raw.exchange(gateway.port, "GET", "/changed/x", headers).status == 200
    request = own_recorder.requests[-1]
    assert request.header("x-api-key") == "the-key"
    assert not request.names & {"x_api_key", "cookie", "x-debug", "x_debug"}
    assert request.header("x-other") == "stays"


def test_response_headers_are_set_and_removed(route, own_recorder):
    own_recorder.on("/changed/x", answer(200, b"ok", {"Server": "uvicorn", "X-Frame-Options": "ALLOWALL"}))
    gateway = route(
        body_limit="4B",
        response_headers={
            "add": {"Strict-Transport-Security": "max-age=31536000", "X-Frame-Options": "DENY"},
            "remove": ["Server"],
        },
    )
    response = raw.exchange(gateway.port, "GET", "/changed/x")
    assert response.header("strict-transport-security") == "max-age=31536000"
    assert response.all("x-frame-options") == ["DENY"]
    assert response.header("server") is None
    refused = raw.exchange(gateway.port, "POST", "/changed/x", body=b"too long")
    assert refused.status == 413
    assert refused.header("strict-transport-security") == "max-age=31536000"
    other = raw.exchange(gateway.port, "GET", "/recorded/public/x")
    assert other.header("strict-transport-security") is None


def test_a_body_beyond_the_limit_is_413(route, own_recorder):
    gateway = route(body_limit="8B")
    assert raw.exchange(gateway.port, "POST", "/changed/x", body=b"12345678").status == 200
    assert_refusal(
        raw.exchange(gateway.port, "POST", "/changed/x", body=b"123456789"), 413, "PayloadTooLargeException"
    )
    assert len(own_recorder.requests) == 1
    with raw.RawConnection(gateway.port) as connection:
        connection.send(raw.request_bytes("POST", "/changed/x", {"Transfer-Encoding": "chunked"}))
        connection.send(b"5\r\nhello\r\n5\r\nhello\r\n0\r\n\r\n")
        assert connection.response().status == 413


def test_a_routes_own_timeouts_hold_instead_of_the_upstreams(route, own_recorder):
    for path in ("/changed/first", "/recorded/public/first"):
        own_recorder.on(path, silence)
    gateway = route({"first_byte_timeout": f"{3 * PATIENCE}s"}, timeouts={"first_byte": "200ms", "whole": "600ms"})
    with raw.RawConnection(gateway.port) as upstreams:
        upstreams.send(raw.request_bytes("GET", "/recorded/public/first"))
        assert own_recorder.last("/recorded/public/first")
        assert raw.exchange(gateway.port, "GET", "/changed/first").status == 504
        upstreams.socket.setblocking(False)
        with pytest.raises(BlockingIOError):
            upstreams.socket.recv(1)
        upstreams.socket.setblocking(True)
        # The upstream's own is 3 s.
        assert upstreams.response().status == 504


def test_the_whole_timeout_ends_a_response_that_goes_on(route, own_recorder):
    def drip(exchange):
        exchange.read_body()
        exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
        while not exchange.connection.closed_by_peer.wait(0.05):
            exchange.send(b"x")

    own_recorder.on("/changed/drip", drip)
    gateway = route(timeouts={"whole": "2s"})
    with raw.RawConnection(gateway.port) as connection:
        connection.send(raw.request_bytes("GET", "/changed/drip"))
        assert connection.head().status == 200
        with pytest.raises(raw.ConnectionClosed):
            connection.exactly(1000000)


# Ways to a server


def test_a_unix_socket(balanced, tmp_path):
    path = tmp_path / "api.sock"
    with UnixServer(str(path), UnixHandler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        gateway = balanced([f"unix:{path}"], health={"path": "/health", "interval": "100ms"})
        for _ in range(3):
            assert raw.exchange(gateway.port, "GET", "/recorded/public/x").body == b"unix"
        assert of_servers(gateway, "up") == 1
        server.shutdown()


class UnixServer(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


class UnixHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "4")
        self.end_headers()
        self.wfile.write(b"unix")

    def address_string(self) -> str:
        return "unix"

    def log_message(self, *_) -> None:
        pass


@pytest.fixture
def authority(tmp_path):
    """A CA, and a TLS server for `api.internal` that asks for a certificate of that CA."""
    return Authority(tmp_path)


def test_tls_with_an_own_authority_a_server_name_and_a_client_certificate(balanced, authority):
    with authority.server() as server:
        gateway = balanced([server.url], tls=authority.settings())
        for _ in range(3):
            assert raw.exchange(gateway.port, "GET", "/recorded/public/x").body == b"api.internal client"


def test_a_pinned_key_is_taken_and_another_one_is_not(balanced, authority):
    with authority.server() as server:
        gateway = balanced([server.url], tls=authority.settings(pinned_key=authority.pin("server")))
        assert raw.exchange(gateway.port, "GET", "/recorded/public/x").status == 200
        gateway = balanced([server.url], tls=authority.settings(pinned_key=authority.pin("client")))
        assert raw.exchange(gateway.port, "GET", "/recorded/public/x").status == 502


@pytest.mark.parametrize("changes", [{"ca": ...}, {"server_name": ...}, {"server_name": "other.internal"}])
def test_tls_that_does_not_verify_is_502(balanced, authority, changes):
    with authority.server() as server:
        gateway = balanced([server.url], tls=authority.settings(**changes))
        assert_refusal(raw.exchange(gateway.port, "GET", "/recorded/public/x"), 502, "UpstreamException")


def test_a_common_name_is_no_server_name(balanced, authority):
    """RFC 9110, 4.3.4: a private authority may give any client's certificate a free common name."""
    with authority.server("api.internal") as server:
        gateway = balanced([server.url], tls=authority.settings())
        assert_refusal(raw.exchange(gateway.port, "GET", "/recorded/public/x"), 502, "UpstreamException")
    assert "hostname mismatch" in gateway.admin("/status")[1]


def test_without_its_certificate_a_server_that_wants_one_is_502(balanced, authority):
    with authority.server() as server:
        gateway = balanced([server.url], tls=authority.settings(certificate=..., key=...))
        assert raw.exchange(gateway.port, "GET", "/recorded/public/x").status == 502
