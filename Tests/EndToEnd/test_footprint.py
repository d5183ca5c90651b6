"""The cost of a gateway before the first request: the time until it is ready, and the memory it holds."""

import re
import socket
import ssl
import statistics
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import pytest
from harness import raw
from harness.account import bearer
from harness.certificates import Authority
from harness.gateway import REPOSITORY, Gateway, binary, gateway_config
from harness.process import Process, free_port, wait_until
from harness.sanitizer import SANITIZER

pytestmark = pytest.mark.alone

optimised = pytest.mark.skipif(
    bool(SANITIZER) or "debug" in str(binary()), reason="says nothing of a build that is not optimised"
)
STARTS = 15
MEGABYTE = 1_000_000
# RssAnon is the gateway's own; VmRSS is that and what it has used of its code, which the kernel can take back.
LIMITS = {"RssAnon": 16 * MEGABYTE, "VmRSS": 64 * MEGABYTE}


def is_ready(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False


def start_time(gateway: Gateway, log: Path) -> tuple[float, float]:
    """Seconds from the process's beginning until `/readyz` says 200, and how much of a processor it took."""
    began = time.perf_counter()
    process = Process([str(binary()), "serve", "--config", str(gateway.config_path)], log)
    try:
        while not is_ready(gateway.admin_port):
            assert process.exit_status is None, process.log()
            time.sleep(0.002)
        return time.perf_counter() - began, process.cpu_seconds()
    finally:
        process.stop()


@optimised
def test_a_cold_start_with_key_sets_on_disk_takes_less_than_300_milliseconds(run_directory, own_recorder, issuer, pool):
    """With the issuer's server gone: what is ready then is ready by what is on the disk. The quickest of some starts
    counts, since other work on the machine makes each slower and none quicker."""
    from harness.keys import Issuer

    own = Issuer()
    directory = run_directory / "cold-start"
    directory.mkdir()
    gateway = Gateway(directory, "gateway", gateway_config(directory, own_recorder.url, own.server.url, None, pool))
    try:
        assert raw.exchange(gateway.port, "GET", "/recorded/required/x", bearer(own.access())).status == 200
        wait_until(lambda: is_ready(gateway.admin_port), "the first start")
    finally:
        gateway.stop()
        own.server.stop()
    taken = sorted(start_time(gateway, directory / f"start-{number}.log") for number in range(STARTS))
    wall, processor = zip(*taken)
    print(f"ready after {wall[0] * 1000:.0f} ms, median {statistics.median(wall) * 1000:.0f}; "
          f"processor {min(processor) * 1000:.0f} ms")
    assert wall[0] < 0.3


def memory(process: Process) -> dict[str, int]:
    status = Path(f"/proc/{process.pid}/status").read_text()
    return {name: int(size) * 1024 for name, size in re.findall(r"^(VmRSS|RssAnon|RssFile|VmHWM):\s+(\d+) kB$", status, re.M)}


def is_within_limits(process: Process) -> bool:
    sizes = memory(process)
    return all(sizes[name] < limit for name, limit in LIMITS.items())


def told(what: str, sizes: dict[str, int]) -> None:
    print(what, {name: f"{size / MEGABYTE:.1f} MB" for name, size in sizes.items()})


def burst(port: int, token: str, seconds: float, connections: int) -> None:
    """Load from many connections at once, each of them a thread."""
    end = time.monotonic() + seconds
    failed: list[int] = []

    def run() -> None:
        with raw.RawConnection(port) as connection:
            while time.monotonic() < end:
                status = connection.request("GET", "/recorded/required/x", bearer(token)).status
                if status != 200:
                    return failed.append(status)

    threads = [threading.Thread(target=run) for _ in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


@optimised
def test_an_idle_gateway_holds_less_than_16_megabytes_and_its_code(start_gateway, pool, issuer, own_recorder):
    """After the start, after a reload, and after a burst of requests, with which nobody asks for anything any more."""
    gateway = start_gateway({"identity": {"assertion": {"issuer": "https://gateway.test"}}}, pool=pool)
    wait_until(lambda: is_ready(gateway.admin_port), "it to be ready")

    def idle(what: str) -> None:
        try:
            wait_until(lambda: is_within_limits(gateway.process), f"little memory {what}", seconds=15)
        finally:
            told(what, memory(gateway.process))

    told("at once", memory(gateway.process))
    idle("after the start")
    gateway.reload({"drain_timeout": "9s"})
    idle("after a reload")
    token = issuer.access()
    assert raw.exchange(gateway.port, "GET", "/recorded/required/x", bearer(token)).status == 200
    burst(gateway.port, token, 3, 50)
    wait_until(lambda: gateway.metric("gatehouse_client_connections_open") == 0, "the clients to have gone")
    idle("after a burst")


@pytest.fixture(scope="module")
def authority(run_directory):
    return Authority(run_directory / "footprint-certificates")


def tls_listener(authority: Authority, name: str) -> dict:
    tls = {"certificates": [authority.issue(name).settings()]}
    return {"listeners": [{"address": f"127.0.0.1:{free_port()}", "tls": tls}]}


# KiB that an idle connection may take; measured: 5.1 and 11.5 (deploy/loadtest/RESULTS.md).
IDLE_CONNECTION = {"--tls": 6.5, "--http2": 13.5}


@optimised
@pytest.mark.parametrize("way", IDLE_CONNECTION)
def test_an_idle_connection_keeps_no_buffers(start_gateway, authority, issuer, own_recorder, way):
    """Measured as deploy/loadtest/compare.sh measures it, with fewer connections."""
    route = {"name": "items", "path": "/api/items", "access": "required", "upstream": "recorder"}
    gateway = start_gateway({**tls_listener(authority, "localhost"), "routes": [route]})
    program = REPOSITORY / "deploy/loadtest/connections.py"
    command = [program, "idle", gateway.process.pid, gateway.port, issuer.access(), 1000, way]
    taken = subprocess.run([sys.executable, *map(str, command)], capture_output=True, text=True, timeout=60)
    assert taken.returncode == 0, taken.stderr
    resident, anonymous = map(float, taken.stdout.split())
    print(f"{way}: {resident:.1f} KiB resident, {anonymous:.1f} anonymous")
    assert anonymous < IDLE_CONNECTION[way]


@optimised
def test_connections_that_the_gateway_closes_over_tls_leave_nothing(start_gateway, authority, own_recorder):
    """The gateway waits for its clients' close_notify, and these send none."""
    gateway = start_gateway({**tls_listener(authority, "api.test"), "limits": {"keep_alive_timeout": "1s"}})
    context = ssl.create_default_context(cafile=str(authority.pem))

    def round_trip() -> int:
        """Opens connections that the gateway closes, and returns its memory afterwards."""
        connections = []
        for _ in range(400):
            plain = socket.create_connection(("127.0.0.1", gateway.port), timeout=10)
            connections.append(context.wrap_socket(plain, server_hostname="api.test", suppress_ragged_eofs=False))
        for connection in connections:
            # Until the gateway's close_notify. The connection itself stays open.
            assert connection.recv(1) == b""
        wait_until(lambda: gateway.metric("gatehouse_client_connections_open") == 0, "the connections to end")
        for connection in connections:
            connection.close()
        return memory(gateway.process)["RssAnon"]

    round_trip()
    before = round_trip()
    after = [round_trip() for _ in range(2)][-1]
    print(f"{before / MEGABYTE:.1f} MB, then {after / MEGABYTE:.1f} MB")
    # 800 connections that leave a session each would be 3 MB.
    assert after - before < MEGABYTE


@pytest.mark.long
@optimised
def test_a_minute_after_a_burst_it_holds_no_more(start_gateway, pool, issuer, own_recorder):
    gateway = start_gateway(pool=pool)
    burst(gateway.port, issuer.access(), 20, 50)
    end = time.monotonic() + 60
    told("after a burst", memory(gateway.process))
    wait_until(lambda: time.monotonic() > end, "a minute to pass", seconds=70, interval=1)
    told("a minute later", memory(gateway.process))
    assert is_within_limits(gateway.process)
