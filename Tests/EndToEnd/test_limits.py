"""What the configured limits do."""

from harness import raw
from harness.process import wait_until


def test_connections_over_the_limit_are_told_503_and_room_is_used_again(start_gateway):
    gateway = start_gateway({"limits": {"connections": 2}})
    target = "/recorded/public/limits"
    # Whoever looked whether the gateway is up has gone.
    wait_until(lambda: gateway.metric("gatehouse_client_connections_open") == 0, "no connection")
    first, second = raw.RawConnection(gateway.port), raw.RawConnection(gateway.port)
    assert [each.request("GET", target).status for each in (first, second)] == [200, 200]
    with raw.RawConnection(gateway.port) as third:
        refused = third.response()
        assert refused.status == 503
        assert refused.header("retry-after") == "5"
        assert third.is_closed_by_peer()
    # Those that were let in are not disturbed, and when one goes there is room again.
    assert first.request("GET", target).status == 200
    second.close()
    wait_until(lambda: raw.exchange(gateway.port, "GET", target).status == 200, "a place that became free")
    first.close()
