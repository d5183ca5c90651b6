"""Path and header cases: the project's own, and public ones where a directory of them is at hand (`GATEHOUSE_CORPORA`)."""

import os
from pathlib import Path

import gateway_cases
import pytest

OWN_CASES = Path(__file__).parent / "cases" / "gateway.json"


@pytest.fixture
def run(start_gateway, own_recorder, issuer):
    """Runs a file of cases; fails with all that did not go as they say."""

    def run(path: Path) -> int:
        gateway = start_gateway(gateway_cases.CONFIGURATION)
        token = issuer.access(sub=gateway_cases.SUBJECT)
        paths, spoofs = gateway_cases.load(path)
        outcomes = [gateway_cases.run_path_case(gateway.port, own_recorder, case) for case in paths]
        outcomes += [gateway_cases.run_spoof_case(gateway.port, own_recorder, case, token) for case in spoofs]
        unmet = [str(outcome) for outcome in outcomes if outcome.fault]
        assert not unmet, "\n".join(unmet)
        assert gateway.process.exit_status is None
        # A token is in no log, whatever part of the request it came in.
        assert token.rsplit(".", 1)[1] not in gateway.log()
        return len(outcomes)

    return run


def test_the_projects_own_cases_go_as_they_say(run):
    assert run(OWN_CASES) >= 40


def test_the_public_cases_go_as_the_corpus_says(run):
    directory = os.environ.get("GATEHOUSE_CORPORA")
    path = Path(directory) / "gateway_cases.json" if directory else None
    if path is None or not path.exists():
        pytest.skip("GATEHOUSE_CORPORA names no directory with gateway_cases.json")
    assert run(path) >= 60
