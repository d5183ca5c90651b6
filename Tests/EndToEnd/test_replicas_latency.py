"""How soon the other gateways refuse what was ended at one, from the moment at which the app is told."""

import statistics
import time

import pytest
from harness import raw
from harness.account import bearer
from harness.balanced_load import BalancedLoad
from harness.pooler import Pooler
from harness.replicas import REQUIRED, Replicas

# The 99th percentile in seconds, by the way in which gateways hear of it.
MOST = {"notified": 0.1, "polling": 1.0}
pytestmark = pytest.mark.alone


def refused_after(replicas: Replicas, user: tuple[str, str], place: int) -> list[float]:
    """Signs out at one gateway; the seconds until each of the others refuses the token, which it had accepted."""
    ending = replicas[place % len(replicas)]
    others = [gateway for gateway in replicas if gateway is not ending]
    tokens = ending.sign_in(user)
    headers, waits = bearer(tokens["access_token"]), []
    connections = [raw.RawConnection(gateway.port) for gateway in others]
    for connection in connections:
        assert connection.request("GET", REQUIRED, headers).status == 200
    assert ending.account.logout(refresh_token=tokens["refresh_token"]).status == 204
    told = time.monotonic()
    left = list(connections)
    while left:
        assert time.monotonic() - told < 10, "the others never hear of it"
        for connection in list(left):
            if connection.request("GET", REQUIRED, headers).status == 401:
                waits.append(time.monotonic() - told)
                left.remove(connection)
    for connection in connections:
        connection.close()
    return waits


def percentile(values: list[float], part: int) -> float:
    return statistics.quantiles(values, n=100, method="inclusive")[part - 1]


@pytest.mark.parametrize("way", MOST)
@pytest.mark.parametrize("samples, rate", [(30, 0), pytest.param(300, 2000, marks=[pytest.mark.long, pytest.mark.timeout(900)])])
def test_the_other_gateways_refuse_what_was_ended_in_time(own_cluster, start_replicas, run_directory, way, samples, rate):
    pooler = Pooler(run_directory / "latency-pooler", own_cluster.primary) if way == "polling" else None
    load = None
    try:
        ports = [pooler.port] if pooler else own_cluster.ports
        replicas = start_replicas(ports, state={"pooler": True} if pooler else {})
        user = replicas.user()
        if rate:
            app = replicas[0].apple_app
            tokens = [app.signed_in(f"latency-{number}-{id(replicas)}@example.com")["token"] for number in range(64)]
            load = BalancedLoad(replicas.ports, REQUIRED, [user], tokens, rate, {"session refresh": 1})
        waits = [wait for number in range(samples) for wait in refused_after(replicas, user, number)]
        told = load.stop() if load else {"answers": {}, "seconds": 1}
        load = None
        middle, high = percentile(waits, 50), percentile(waits, 99)
        refreshes = sum(told["answers"].values()) / told["seconds"]
        print(f"{way}: p50 {middle * 1000:.1f} ms, p99 {high * 1000:.1f} ms, beside {refreshes:.0f} refreshes a second")
        assert high <= MOST[way]
    finally:
        if load:
            load.stop()
        if pooler:
            pooler.stop()
