"""Names of backends and providers: a resolver that is silent, slow, fails or changes its mind holds nobody up who does not
need it, and nobody for longer than it must.
"""

import http.server
import socket
import socketserver
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from harness import raw
from harness.authority import Authority
from harness.backend import answer
from harness.names import NameServer
from harness.process import SILENT_PORT, free_port, wait_until
from harness.sanitizer import PATIENCE

NAMED, PLAIN = "/named", "/recorded/public/plain"
# Far below the seconds that libcurl, and the resolver's own attempts, would take; and enough for a busy machine.
AT_ONCE = 2.0 * PATIENCE
ENDS_CONNECTIONS = answer(200, b"{}", {"Connection": "close"})


@pytest.fixture
def names():
    server = NameServer()
    yield server
    server.stop()


@pytest.fixture
def named(start_gateway, own_recorder, names, run_directory, request):
    """A gateway of one event loop whose upstream `named` is the recorder by the name `backend.test`; `recorder` has an
    address."""
    own_recorder.on(NAMED, ENDS_CONNECTIONS)
    names.addresses["backend.test"] = ["127.0.0.1"]

    def start(url: str | None = None, changes: dict | None = None, **settings):
        url = url or own_recorder.url.replace("127.0.0.1", "backend.test")
        upstreams = {"named": {"url": url, "connect_timeout": "2s", "first_byte_timeout": "10s", **settings}}
        changes = {"threads": 1, "upstreams": upstreams, **(changes or {})}
        directory = run_directory / f"names-{request.node.name}"[:80]
        gateway = start_gateway({"routes": ROUTES, **changes}, within=names.within(directory))
        return gateway

    return start


ROUTES = [
    {"name": "named", "path": "/named", "access": "public", "upstream": "named"},
    {"name": "public", "path": "/recorded/public/**", "access": "public", "upstream": "recorder"},
]


def ask(gateway, path: str = NAMED) -> int:
    return raw.exchange(gateway.port, "GET", path).status


def longest_wait(gateway, seconds: float) -> float:
    """The longest that a route whose backend has an address takes, asked again and again."""
    longest, end = 0.0, time.monotonic() + seconds
    while time.monotonic() < end:
        began = time.monotonic()
        assert ask(gateway, PLAIN) == 200
        longest = max(longest, time.monotonic() - began)
    return longest


def test_who_leaves_while_a_name_is_looked_up_holds_nobody_up(named, names):
    gateway = named(connect_timeout="9s")
    assert ask(gateway, PLAIN) == 200
    names.mode = "silent"
    with raw.RawConnection(gateway.port) as connection:
        connection.send(raw.request_bytes("GET", NAMED))
        wait_until(lambda: names.asked("backend.test"), "a question")
    assert longest_wait(gateway, 3) < AT_ONCE


def test_the_time_to_connect_includes_the_look_up(named, names):
    names.mode = "silent"
    gateway = named(connect_timeout="1s")
    began = time.monotonic()
    assert ask(gateway) == 504
    assert 0.9 < time.monotonic() - began < 1 + AT_ONCE


def test_many_who_wait_for_a_name_need_few_threads(named, names):
    names.mode = "silent"
    gateway = named(connect_timeout="5s")
    tasks = Path(f"/proc/{gateway.process.pid}/task")
    before = len(list(tasks.iterdir()))
    waiting: list[raw.RawConnection] = []
    try:
        # A hundred at a time: it is not about how long an event loop takes for many at once.
        for count in range(100, 501, 100):
            new = [raw.RawConnection(gateway.port, timeout=20) for _ in range(100)]
            waiting += new
            for connection in new:
                connection.send(raw.request_bytes("GET", NAMED))
            wait_until(lambda: gateway.metric("gatehouse_requests_in_flight") == count, f"{count} in flight")  # noqa: B023
        assert len(list(tasks.iterdir())) <= before + 20
        assert longest_wait(gateway, 1) < AT_ONCE
        assert {connection.response().status for connection in waiting} == {504}
    finally:
        for connection in waiting:
            connection.close()


def test_health_checks_by_name_hold_nobody_up(named, names):
    names.mode = "silent"
    gateway = named(health={"path": "/named", "interval": "100ms", "timeout": "100ms"})
    wait_until(lambda: names.asked("backend.test"), "a question")
    assert longest_wait(gateway, 4) < AT_ONCE


def test_many_who_need_a_name_ask_once(named, names):
    names.delay = 0.5
    gateway = named()
    with ThreadPoolExecutor(30) as clients:
        assert set(clients.map(lambda _: ask(gateway), range(30))) == {200}
    assert names.asked("backend.test") <= 2


@pytest.mark.parametrize("mode", ["silent", "failing"])
def test_the_last_good_addresses_serve_while_the_resolver_is_away(named, names, mode):
    gateway = named()
    assert ask(gateway) == 200
    names.mode = mode
    end, count = time.monotonic() + 12, 0
    while time.monotonic() < end:
        began = time.monotonic()
        assert ask(gateway) == 200
        assert time.monotonic() - began < 0.5 + AT_ONCE
        count += 1
    assert count > 20
    # The resolver's own attempts take ten seconds.
    wait_until(lambda: gateway.samples()['gatehouse_name_lookups_total{result="failed"}'] >= 1, "a look-up to fail")


def test_a_resolver_that_never_answered_is_502(named, names):
    names.mode = "failing"
    gateway = named()
    assert ask(gateway) == 502
    names.mode = "well"
    wait_until(lambda: ask(gateway) == 200, "the name to be found")


class Elsewhere(socketserver.ThreadingMixIn, http.server.HTTPServer):
    """A backend at another address of this machine, which answers 202."""

    daemon_threads = True

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(202)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_) -> None:
            pass

    def __init__(self, address: str, port: int):
        super().__init__((address, port), self.Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def __enter__(self) -> "Elsewhere":
        return self

    def __exit__(self, *_) -> None:
        self.shutdown()
        self.server_close()


def test_a_name_that_moves_is_followed(named, names, own_recorder):
    gateway = named()
    assert ask(gateway) == 200
    with Elsewhere("127.0.0.2", int(own_recorder.url.rsplit(":", 1)[1])):
        names.addresses["backend.test"] = ["127.0.0.2"]
        wait_until(lambda: ask(gateway) == 202, "the other address")
        names.addresses["backend.test"] = ["127.0.0.1"]
        wait_until(lambda: ask(gateway) == 200, "the first address again")


def test_a_name_that_is_gone_is_502_and_one_that_is_back_is_found(named, names):
    gateway = named()
    assert ask(gateway) == 200
    del names.addresses["backend.test"]
    wait_until(lambda: ask(gateway) == 502, "the name to be gone")
    names.addresses["backend.test"] = ["127.0.0.1"]
    wait_until(lambda: ask(gateway) == 200, "the name to be back")


def test_all_addresses_of_a_name_are_tried(named, names):
    """Nobody listens at the others. Which comes first is left to chance."""
    names.addresses["backend.test"] = ["127.0.0.3", "::1", "127.0.0.1", "127.0.0.4"]
    gateway = named()
    assert [ask(gateway) for _ in range(12)] == [200] * 12


def test_an_address_after_the_second_is_tried_as_soon_as_those_before_it_fail(named, names):
    """libcurl does not say which socket it goes on with, so that the time to connect would pass."""
    names.addresses["backend.test"] = ["127.0.0.3", "127.0.0.4", "127.0.0.5", "127.0.0.1"]
    # Half of the time to connect is ten seconds.
    gateway = named(connect_timeout="20s")
    for _ in range(12):
        began = time.monotonic()
        assert ask(gateway) == 200
        assert time.monotonic() - began < 2 * AT_ONCE


def test_names_are_found_in_any_case(named, names, own_recorder):
    gateway = named(own_recorder.url.replace("127.0.0.1", "BackEnd.Test"))
    assert ask(gateway) == 200
    names.mode = "silent"
    assert ask(gateway) == 200


def test_an_early_end_of_the_process_does_not_wait_for_the_resolver(named, names):
    names.mode = "silent"
    gateway = named(changes={"drain_timeout": "1s"})
    with raw.RawConnection(gateway.port) as connection:
        connection.send(raw.request_bytes("GET", NAMED))
        wait_until(lambda: names.asked("backend.test"), "a question")
        began = time.monotonic()
        assert gateway.stop() == 0
        assert time.monotonic() - began < 1 + 2 * AT_ONCE


def test_tls_asks_for_the_name_and_verifies_it(named, names, tmp_path):
    authority = Authority(tmp_path)
    names.addresses["api.internal"] = names.addresses["other.internal"] = ["127.0.0.1"]
    with authority.server() as server:
        port = server.url.rsplit(":", 1)[1]
        gateway = named(f"https://api.internal:{port}", tls=authority.settings(server_name=...))
        assert raw.exchange(gateway.port, "GET", NAMED).body == b"api.internal client"
        gateway = named(f"https://other.internal:{port}", tls=authority.settings(server_name=...))
        assert ask(gateway) == 502
        # The address is looked up under one name, and verified under another.
        gateway = named(f"https://other.internal:{port}", tls=authority.settings())
        assert raw.exchange(gateway.port, "GET", NAMED).body == b"api.internal client"


def test_no_name_can_hide_a_private_address(named, names):
    """The key set's server; backends may be anywhere."""
    names.addresses["keys.test"] = ["127.0.0.1"]
    listening = socket.create_server(("127.0.0.1", 0))
    listening.setblocking(False)
    url = f"https://keys.test:{listening.getsockname()[1]}/jwks.json"
    own = {"jwks_url": url, "allow_insecure_http": False, "allow_private_addresses": False}
    gateway = named(changes={"issuers": {"own": own}})
    wait_until(lambda: "the host's address is private" in gateway.log(), "the refusal")
    with pytest.raises(BlockingIOError):
        listening.accept()
    listening.close()


def test_no_name_that_moves_leads_to_a_private_address(named, names):
    """DNS rebinding: the name is looked up anew for each connection, and what it leads to is judged each time."""
    names.addresses["keys.test"] = ["192.0.2.1"]
    listening = socket.create_server(("127.0.0.1", 0))
    listening.setblocking(False)
    url = f"http://keys.test:{listening.getsockname()[1]}/jwks.json"
    own = {"jwks_url": url, "allow_insecure_http": True, "allow_private_addresses": False}
    gateway = named(changes={"issuers": {"own": own}, "key_sets": {"timeout": "1s"}})
    wait_until(lambda: gateway.metric("gatehouse_key_set_failures_total") >= 1, "the first address to fail")
    assert "the host's address is private" not in gateway.log()
    names.addresses["keys.test"] = ["127.0.0.1"]
    wait_until(lambda: "the host's address is private" in gateway.log(), "the refusal", 30)
    with pytest.raises(BlockingIOError):
        listening.accept()
    listening.close()


def test_a_name_that_leads_nowhere_is_502(named, names):
    gateway = named(f"http://backend.test:{SILENT_PORT}")
    assert ask(gateway) == 502
    gateway = named(f"http://nowhere.test:{free_port()}")
    assert ask(gateway) == 502
