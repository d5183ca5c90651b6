"""Processes of an app that share a store: three that refresh at once, and those that are killed in a refresh."""

import fcntl
import http.client
import json
import os
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from harness.certificates import Authority
from harness.gateway import ADA, REPOSITORY, LocalPool
from harness.process import free_port, wait_until
from harness.sanitizer import PATIENCE

SAMPLES = [REPOSITORY / ".build" / kind / "client-sample" for kind in ("debug", "release")]
SAMPLE = next((path for path in SAMPLES if path.exists()), SAMPLES[0])
AUTHORITIES = "/etc/ssl/certs/ca-certificates.crt"
REFRESH = "/api/v1/auth/refresh"
pytestmark = pytest.mark.skipif(not SAMPLE.exists(), reason="not built: swift build --product client-sample")


class Front:
    """A server before the gateway that loses refreshes: `lose` is where, and `lost` is set once that has happened. Where
    there is a barrier, refreshes reach the gateway together."""

    def __init__(self, port: int):
        self.together: threading.Barrier | None = None
        self.lose: str | None = None
        self.lost = threading.Event()
        self.go_on = threading.Event()
        front = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def holds(self, point: str) -> bool:
                """Whether the request is lost here. If so, this returns when the test goes on."""
                if self.path != REFRESH or front.lose != point:
                    return False
                front.lost.set()
                front.go_on.wait()
                return True

            def forward(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                if self.holds("before the gateway"):
                    self.close_connection = True
                    return
                if self.path == REFRESH and front.together:
                    front.together.wait(60 * PATIENCE)
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30 * PATIENCE)
                connection.request(self.command, self.path, body, dict(self.headers.items()))
                response = connection.getresponse()
                answer = response.read()
                self.holds("after the gateway")
                try:
                    self.send_response(response.status)
                    for name, value in response.getheaders():
                        if name.lower() not in ("connection", "transfer-encoding", "content-length"):
                            self.send_header(name, value)
                    self.send_header("Content-Length", str(len(answer)))
                    self.end_headers()
                    self.wfile.write(answer)
                except OSError:
                    self.close_connection = True  # the app was killed

            do_GET = do_POST = forward

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def stop(self) -> None:
        self.go_on.set()
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def gateway(start_gateway, ledger, tmp_path):
    ledger.note(ADA[1])
    return start_gateway({}, pool=LocalPool(tmp_path))


@pytest.fixture
def front(gateway):
    front = Front(gateway.port)
    yield front
    front.stop()


def app(
    url: str, store: Path, *options: str, path: str = "/api/v1/auth/me", trusting: list[str] | None = None
) -> subprocess.Popen:
    """One run of the app: it signs in, or stays signed in, and sends one call. `trusting` starts it."""
    return subprocess.Popen(
        [*(trusting or []), SAMPLE, url, store, path, *options],
        env={**os.environ, "EMAIL": ADA[0], "PASSWORD": ADA[1]},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )


def ends(process: subprocess.Popen, first: str) -> None:
    output, _ = process.communicate(timeout=60 * PATIENCE)
    lines = output.splitlines()
    assert process.returncode == 0, output
    assert lines[0] == f"{first} {ADA[0]}", output
    assert lines[1].startswith("200 "), output


def refreshes(gateway) -> list[int]:
    """The statuses of all refreshes in the log, which other tests' gateways may have begun."""
    return [line["status"] for line in gateway.access_log() if line["path"] == REFRESH]


def test_three_processes_that_refresh_at_once_all_stay_signed_in(gateway, front, tmp_path):
    store = tmp_path / "session.json"
    ends(app(front.url, store), "signed in as")
    rounds, before, known = 8, store.read_text(), len(refreshes(gateway))
    # Otherwise one could use another's new token before the third has sent the old one, which is theft to the gateway.
    front.together = threading.Barrier(3)
    for _ in range(rounds):
        for process in [app(front.url, store, "--refresh") for _ in range(3)]:
            ends(process, "still signed in as")
        assert store.read_text() != before
        before = store.read_text()
    wait_until(lambda: len(refreshes(gateway)) >= known + 3 * rounds, "the refreshes in the access log")
    assert refreshes(gateway)[known:] == [200] * 3 * rounds
    front.together = None
    ends(app(front.url, store), "still signed in as")


@pytest.mark.parametrize("point", ["before the gateway", "after the gateway", "before the store"])
def test_a_process_that_is_killed_in_a_refresh_is_signed_in_at_its_next_start(gateway, front, tmp_path, point):
    store = tmp_path / "session.json"
    ends(app(front.url, store), "signed in as")
    before, known = store.read_bytes(), len(refreshes(gateway))
    front.lose = point
    with open(f"{store}.lock", "w") as lock:
        if point == "before the store":
            fcntl.flock(lock, fcntl.LOCK_EX)
        killed = app(front.url, store, "--refresh")
        if point == "before the store":
            # It has its response soon after the gateway's log has it, and waits for the lock then.
            wait_until(lambda: refreshes(gateway)[known:] == [200], "the refresh in the access log")
            wait_until(lambda: waits_for_lock(killed.pid), "a process that waits for the store")
        else:
            assert front.lost.wait(60 * PATIENCE)
        killed.kill()
        killed.communicate()
    assert store.read_bytes() == before
    front.go_on.set()
    sent = 0 if point == "before the gateway" else 1
    wait_until(lambda: refreshes(gateway)[known:] == [200] * sent, "the access log")
    front.lose = None
    for _ in range(2):
        ends(app(front.url, store, "--refresh"), "still signed in as")
    assert json.loads(store.read_text())["session"]["generation"] == json.loads(before)["session"]["generation"]


def waits_for_lock(process: int) -> bool:
    """Whether the process waits in flock(2), as /proc/locks marks with an arrow."""
    return any("->" in line and f" {process} " in line for line in Path("/proc/locks").read_text().splitlines())


class Moved(BaseHTTPRequestHandler):
    """A backend whose list has moved, within the gateway's origin and to another one."""

    def do_GET(self):
        target = {"/api/moved": "/api/here", "/api/away": "https://localhost:1/api/here"}.get(self.path)
        self.send_response(302 if target else 200)
        if target:
            self.send_header("Location", target)
        self.send_header("Content-Length", "4")
        self.end_headers()
        self.wfile.write(b"list")

    def log_message(self, *_):
        pass


@pytest.fixture
def moved():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Moved)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.skipif(os.geteuid() != 0 or not Path(AUTHORITIES).exists(), reason="needs root and the authorities' file")
def test_swift_corelibs_foundation_5524_a_redirect_over_http2_ends_no_process(
    start_gateway, ledger, moved, tmp_path
):
    ledger.note(ADA[1])
    authority = Authority(tmp_path / "certificates")
    port = free_port()
    listener = {"address": f"127.0.0.1:{port}", "tls": {"certificates": [authority.issue("localhost").settings()]}}
    gateway = start_gateway(
        {
            "listeners": [listener],
            "upstreams": {"moved": {"url": moved}},
            "routes": [{"name": "moved", "path": "/api/**", "access": "required", "upstream": "moved"}],
        },
        pool=LocalPool(tmp_path),
    )
    store, url = tmp_path / "session.json", f"https://localhost:{port}"
    by_time = lambda: sorted(gateway.access_log(), key=lambda line: line["time"])
    seen = lambda: [line["path"] for line in by_time() if line["route"] == "moved"]
    # URLSession on Linux trusts the system's authorities alone: the app sees another file in their place.
    script = f'mount --bind {authority.pem} {AUTHORITIES} && exec "$@"'
    trusting = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh"]
    ends(app(url, store, trusting=trusting), "signed in as")
    for path, status, paths in (
        ("/api/moved", "200 list", ["/api/moved", "/api/here"]), ("/api/away", "302 list", ["/api/away"]),
    ):
        known, streams = len(seen()), gateway.metric("gatehouse_http2_streams_total")
        process = app(url, store, path=path, trusting=trusting)
        output, _ = process.communicate(timeout=60 * PATIENCE)
        assert process.returncode == 0, output
        assert output.splitlines()[1].strip() == status, output
        wait_until(lambda: seen()[known:] == paths, "the requests in the access log")
        assert gateway.metric("gatehouse_http2_streams_total") == streams + len(paths)
