"""Three gateways are restarted one after the other under load, as a rollout does it: not one request fails."""

import pytest
from harness.balanced_load import MIX, BalancedLoad
from harness.process import wait_until
from harness.replicas import REQUIRED, Replicas
from harness.steady_load import Backend

CLIENTS = 24


@pytest.fixture
def backend():
    backend = Backend()
    yield backend
    backend.stop()


def begin(replicas: Replicas, rate: int) -> BalancedLoad:
    users = [replicas.user() for _ in range(CLIENTS)]
    app = replicas[0].apple_app
    tokens = [app.signed_in(f"rolling-{number}-{id(replicas)}@example.com")["token"] for number in range(CLIENTS)]
    return BalancedLoad(replicas.ports, REQUIRED, users, tokens, rate)


def kinds(told: dict) -> set[str]:
    """The kinds of request that were answered."""
    return {name.rsplit(" ", 1)[0] for name in told["answers"]}


def assert_no_failure(told: dict) -> None:
    failed = {name: count for name, count in told["answers"].items() if not name.endswith(" 200")}
    assert not failed and not told["faults"], (failed, told["faults"][:5], told["answers"])


def take_out(replicas: Replicas, load: BalancedLoad, number: int) -> None:
    """The balancer sends nothing more to the gateway, and has nothing under way there."""
    assert_no_failure(load.use([port for port in replicas.ports if port != replicas[number].port]))


def restart(replicas: Replicas, load: BalancedLoad, number: int) -> dict:
    """As a rollout does it: taken out, restarted, ready, and back."""
    take_out(replicas, load, number)
    gateway = replicas.restart(number)
    gateway.wait_until_ready()
    told = load.use(replicas.ports)
    assert_no_failure(told)
    return told


@pytest.mark.parametrize(
    "rate, turns",
    [
        pytest.param(150, 1, marks=pytest.mark.timeout(180)),
        pytest.param(500, 10, marks=[pytest.mark.long, pytest.mark.timeout(900)]),
    ],
)
def test_no_request_fails_while_three_gateways_are_restarted(cluster, start_replicas, backend, rate, turns):
    replicas = start_replicas(cluster.ports, changes={"upstreams": {"recorder": {"url": backend.url}}})
    load = begin(replicas, rate)
    answered = 0
    try:
        for number in [*range(3)] * turns:
            told = restart(replicas, load, number)
            assert sum(told["answers"].values()) > answered, "the load goes on"
            answered = sum(told["answers"].values())
        # The mix is drawn by lot. A machine that restarts quickly may be done before a rare kind's turn has come.
        wait_until(lambda: kinds(load.use(replicas.ports)) == set(MIX), "a request of every kind", 60)
    finally:
        told = load.stop()
    assert_no_failure(told)
    print(f"{sum(told['answers'].values()) / told['seconds']:.0f} requests a second")


def test_keys_of_a_gateway_that_starts_are_known_to_the_others(cluster, start_replicas):
    """Whatever one signs, the others accept at once: a key is published before it signs."""
    replicas = start_replicas(cluster.ports)
    for number in range(3):
        replicas.restart(number)
        token = replicas[number].apple_app.signed_in(f"keys-{number}@example.com")["token"]
        assert replicas.everywhere(lambda gateway: gateway.proxied(token)) == [200] * 3  # noqa: B023
        assert len({tuple(sorted(gateway.key_set())) for gateway in replicas}) == 1


@pytest.mark.parametrize(
    "rate",
    [
        pytest.param(100, marks=pytest.mark.timeout(180)),
        pytest.param(500, marks=[pytest.mark.long, pytest.mark.timeout(300)]),
    ],
)
def test_a_step_of_a_newer_versions_schema_leaves_the_gateways_at_work(own_cluster, start_replicas, backend, rate):
    """During a rolling upgrade, gateways of the version before go on with a schema that has more, also those that are
    restarted meanwhile."""
    replicas = start_replicas(own_cluster.ports, changes={"upstreams": {"recorder": {"url": backend.url}}})
    load = begin(replicas, rate)
    try:
        for table in ("sessions", "user_sessions", "revocations"):
            own_cluster.primary.sql(f"ALTER TABLE {table} ADD COLUMN of_a_newer_version text")
        step = "INSERT INTO gatehouse_migrations (name, keeps_older_working) VALUES ('{}', {})"
        own_cluster.primary.sql(step.format("added-by-a-newer-version", "true"))
        before = sum(load.use(replicas.ports)["answers"].values())
        wait_until(lambda: sum(load.use(replicas.ports)["answers"].values()) > before + 500, "requests with the newer schema", 60)
        for number in range(3):
            restart(replicas, load, number)
    finally:
        told = load.stop()
    assert_no_failure(told)
    # One that starts now works as well, unless the step says that it would not. That one says so.
    assert replicas[0].account.login(*replicas.user()).status == 200
    own_cluster.primary.sql(step.format("changed-by-a-newer-version", "false"))
    assert replicas[0].stop() == 0
    with pytest.raises(AssertionError, match="changed-by-a-newer-version"):
        replicas.start(0)
