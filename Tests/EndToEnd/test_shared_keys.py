"""The gateways' own keys in PostgreSQL: one set for all gateways, rotated while they serve, and sealed with configured keys."""

import base64
import json
from pathlib import Path

import pytest
from harness.gateway import gatehouse, merged
from harness.process import wait_until
from harness.replicas import Replica, Replicas

PURPOSES = ("assertion", "session", "sealing", "audit", "limits")
READABLE = 'gatehouse_keys_readable{{purpose="{}"}}'
# All gateways follow a change within ten seconds.
FOLLOWED = 30


def keys(gateway: Replica, *command: str) -> str:
    result = gatehouse("keys", *command, "--config", gateway.config_path)
    assert result.returncode == 0, result.stderr
    return result.stdout


def listed(gateway: Replica, purpose: str) -> list[tuple[str, str]]:
    """The keys of a purpose as the database has them: state and id."""
    told = json.loads(keys(gateway, "list", "--purpose", purpose, "--json"))
    return [(key["state"], key["id"]) for key in told["keys"]]


def current(gateway: Replica, purpose: str) -> str:
    (found,) = [name for state, name in listed(gateway, purpose) if state == "current"]
    return found


def sealed_with(gateway: Replica) -> str:
    """The id of the key that seals what this gateway gives to an app now."""
    return gateway.sign_in()["refresh_token"].split(".")[1]


def signing(gateway: Replica) -> str:
    return next(iter(gateway.key_set()))


def rings(cluster) -> dict[str, tuple[str, bytes]]:
    """Version and sealed bytes of each purpose in the database."""
    rows = cluster.primary.sql("SELECT purpose, version, encode(sealed, 'hex') FROM key_rings")
    return {purpose: (version, bytes.fromhex(sealed)) for purpose, version, sealed in rows}


def refreshed(gateway: Replica, token: str) -> str:
    answer = gateway.account.refresh(token)
    assert answer.status == 200, answer.body
    return answer.json()["refresh_token"]


# One set for all


def test_gateways_that_start_together_make_one_ring_for_each_purpose_and_no_key_file(cluster, replicas):
    assert set(rings(cluster)) == set(PURPOSES)
    for purpose in PURPOSES:
        assert len({tuple(listed(gateway, purpose)) for gateway in replicas}) == 1, purpose
    assert len({sealed_with(gateway) for gateway in replicas}) == 1
    assert len({tuple(gateway.key_set()) for gateway in replicas}) == 1
    for gateway in replicas:
        assert not list(Path(gateway.config["state_directory"]).glob("*-keys.json"))


def test_the_database_has_keys_in_sealed_form_alone(cluster, replicas):
    for purpose, (_, sealed) in rings(cluster).items():
        assert sealed.startswith(b"v2.1."), purpose
        assert b"PRIVATE" not in sealed and b"keys" not in sealed.partition(b".")[0]
        for _, name in listed(replicas[0], purpose):
            assert name.encode() not in sealed


# Rotation


def test_a_rotated_sealing_key_is_known_to_all_before_any_seals_with_it(replicas):
    (_, following), (_, before) = listed(replicas[0], "sealing")
    tokens = [gateway.sign_in()["refresh_token"] for gateway in replicas]
    result = gatehouse("keys", "rotate", "--config", replicas[0].config_path, "--purpose", "sealing")
    assert result.returncode == 1 and "some gateways may not know the next key before" in result.stderr

    assert "running gateways follow within 10 seconds" in keys(replicas[0], "rotate", "--purpose", "sealing", "--now")
    assert current(replicas[1], "sealing") == following
    # Each goes its own round meanwhile, before and after each gateway has followed.
    seen = set()

    # No sign-ins: on a quick machine there would be more than a user has open sessions, and the first would end.
    def all_follow() -> bool:
        now = []
        for gateway in replicas:
            tokens[:] = [refreshed(gateway, token) for token in tokens]
            now.append(tokens[0].split(".")[1])
        seen.update(now)
        return now == [following] * len(replicas)

    wait_until(all_follow, "all gateways to seal with the next key", FOLLOWED)
    assert seen <= {before, following}
    for gateway in replicas:
        refreshed(gateway, replicas[0].sign_in()["refresh_token"])


def test_a_rotated_signing_key_is_followed_by_all_and_published_by_all_before(replicas):
    known = replicas[0].key_set()
    assert len(known) >= 2
    keys(replicas[2], "rotate", "--purpose", "assertion", "--now")
    signs = current(replicas[2], "assertion")
    assert signs in known
    replicas.wait_everywhere(signing, signs, "the next key to sign everywhere", FOLLOWED)
    assert len({tuple(gateway.key_set()) for gateway in replicas}) == 1


def test_a_key_that_has_leaked_ends_at_all_and_with_it_what_it_sealed(cluster, start_replicas):
    replicas = start_replicas(cluster.ports, count=2)
    token = replicas[0].sign_in()["refresh_token"]
    before = dict(listed(replicas[0], "sealing"))
    assert token.split(".")[1] == before["current"]
    keys(replicas[0], "rotate", "--purpose", "sealing", "--compromised")
    replicas.wait_everywhere(sealed_with, before["next"], "the next key to seal", FOLLOWED)
    assert replicas.everywhere(lambda gateway: gateway.account.refresh(token).status) == [401] * 2

    keys(replicas[1], "rotate", "--purpose", "sealing", "--compromised", "--all")
    after = dict(listed(replicas[0], "sealing"))
    assert set(after) == {"next", "current"} and not set(after.values()) & set(before.values())
    replicas.wait_everywhere(sealed_with, after["current"], "a new key to seal", FOLLOWED)


# The keys that seal the rings

FIRST, SECOND, OTHER = (base64.b64encode(bytes([byte]) * 32).decode() for byte in (1, 2, 3))


def with_keys(gateway: Replica, tmp_path: Path, *sealing_keys: str) -> Path:
    """The configuration of a gateway with other keys."""
    state = {"state": {"postgres": {"sealing_keys": list(sealing_keys)}}}
    path = tmp_path / f"{len(list(tmp_path.iterdir()))}.yaml"
    path.write_text(json.dumps(merged(gateway.config, state)))
    return path


@pytest.mark.parametrize(
    "keys_of_another, words",
    [
        ([f"2:{SECOND}"], 'sealed with the key "1", which is missing under state.postgres.sealing_keys: add it there'),
        ([f"1:{OTHER}"], 'do not open with the key "1" of state.postgres.sealing_keys'),
    ],
    ids=["a key that is missing", "another key of that name"],
)
def test_a_gateway_with_a_wrong_key_does_not_start_and_makes_no_new_keys(cluster, replicas, tmp_path, keys_of_another, words):
    before = rings(cluster)
    path = with_keys(replicas[0], tmp_path, *keys_of_another)
    result = gatehouse("serve", "--config", path)
    text = (result.stdout + result.stderr).replace('\\"', '"')
    assert result.returncode == 78 and "state.postgres.sealing_keys: the " in text and words in text, text
    assert gatehouse("keys", "list", "--config", path, "--purpose", "sealing").returncode == 1
    assert rings(cluster) == before
    assert replicas.everywhere(lambda gateway: gateway.account.login("ada@example.com", "x").status) != [503] * 3


def test_a_gateway_that_cannot_follow_the_keys_says_so_and_serves_on(own_cluster, start_replicas):
    behind: Replica = start_replicas(own_cluster.ports, {"sealing_keys": [f"1:{FIRST}"]}, count=1)[0]
    token = behind.sign_in()["refresh_token"]
    assert {keys["purpose"]: keys["error"] for keys in behind.status()["own_keys"]} == dict.fromkeys(PURPOSES[:4])
    assert {behind.samples()[READABLE.format(purpose)] for purpose in PURPOSES[:4]} == {1}

    newer = start_replicas(own_cluster.ports, {"sealing_keys": [f"2:{SECOND}", f"1:{FIRST}"]}, count=1)[0]
    keys(newer, "reseal")
    for purpose in PURPOSES[:4]:
        wait_until(lambda: behind.samples()[READABLE.format(purpose)] == 0, f"the {purpose} keys to be missed", FOLLOWED)  # noqa: B023
    errors = [keys["error"] for keys in behind.status()["own_keys"]]
    assert all("which is missing under state.postgres.sealing_keys" in error for error in errors), errors
    wait_until(lambda: "keys could not be read; the current ones stay" in behind.log(), "the log to tell of it")
    # Both have the keys that they had.
    assert {newer.samples()[READABLE.format(purpose)] for purpose in PURPOSES[:4]} == {1}
    refreshed(newer, refreshed(behind, token))


def test_the_key_that_seals_the_rings_is_replaced_without_an_interruption(own_cluster, start_replicas, tmp_path):
    replicas: Replicas = start_replicas(own_cluster.ports, {"sealing_keys": [f"1:{FIRST}"]}, count=1)
    token = replicas[0].sign_in()["refresh_token"]
    before = {purpose: listed(replicas[0], purpose) for purpose in PURPOSES}

    both = start_replicas(own_cluster.ports, {"sealing_keys": [f"1:{FIRST}", f"2:{SECOND}"]}, count=1)
    newer = start_replicas(own_cluster.ports, {"sealing_keys": [f"2:{SECOND}", f"1:{FIRST}"]}, count=1)
    # Nothing is sealed again by a start: the first gateway has the first key alone.
    assert all(sealed.startswith(b"v2.1.") for _, sealed in rings(own_cluster).values())
    replicas[0].stop()

    assert "the assertion, session, sealing, audit, limits keys" in keys(newer[0], "reseal")
    assert "already" in keys(newer[0], "reseal")
    assert all(sealed.startswith(b"v2.2.") for _, sealed in rings(own_cluster).values())
    newest = start_replicas(own_cluster.ports, {"sealing_keys": [f"2:{SECOND}"]}, count=1)
    for each in (both, newer, newest):
        assert {purpose: listed(each[0], purpose) for purpose in PURPOSES} == before
        token = refreshed(each[0], token)
