"""Event loops count when they were kept from their connections: what the mark `no_stalls` and the alert look at."""

import signal
import time

from harness import raw
from harness.process import wait_until

STALLS, SECONDS = "gatehouse_event_loop_stalls_total", "gatehouse_event_loop_stalled_seconds_total"


def test_a_loop_that_stood_still_is_counted(start_gateway):
    gateway = start_gateway({"threads": 1})
    assert raw.exchange(gateway.port, "GET", "/recorded/public/x").status == 200
    began = time.monotonic()
    stalls, seconds = gateway.metric(STALLS), gateway.metric(SECONDS)
    gateway.process.signal(signal.SIGSTOP)
    stopped = time.monotonic()
    wait_until(lambda: time.monotonic() > stopped + 0.5, "0.5 s to pass")
    gateway.process.signal(signal.SIGCONT)
    # On a busy machine there may be short ones beside it.
    wait_until(lambda: gateway.metric(SECONDS) - seconds > 0.3, "the stall to be counted")
    assert gateway.metric(STALLS) > stalls and gateway.metric(SECONDS) - seconds < time.monotonic() - began


def test_counts_stay_over_a_reload(start_gateway):
    gateway = start_gateway({"threads": 1})
    gateway.reload({"routes": [{"name": "all", "path": "/**", "access": "public", "upstream": "recorder"}]})
    stalls = gateway.metric(STALLS)
    gateway.process.signal(signal.SIGSTOP)
    stopped = time.monotonic()
    wait_until(lambda: time.monotonic() > stopped + 0.4, "0.4 s to pass")
    gateway.process.signal(signal.SIGCONT)
    wait_until(lambda: gateway.metric(STALLS) > stalls, "the stall to be counted")
    gateway.reload({"limits": {"requests": 999}})
    assert gateway.metric(STALLS) > stalls
