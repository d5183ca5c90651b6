"""Raw HTTP/1.1 cases: the project's own, and the public smuggling and parser cases where a directory of them is at hand
(`GATEHOUSE_CORPORA`)."""

import os
from pathlib import Path

import corpus
import pytest

OWN_CASES = Path(__file__).parent / "cases" / "http1.json"


@pytest.fixture
def run(start_gateway, own_recorder, run_directory):
    """Runs a file of cases through a gateway with one public route for every path; the outcomes are kept in a file."""

    def run(path: Path, report: str) -> list[corpus.Outcome]:
        everything = {"name": "everything", "path": "/**", "access": "public", "upstream": "recorder"}
        gateway = start_gateway({"routes": [everything], "threads": 1})
        outcomes = [corpus.run_case(gateway.port, own_recorder, case) for case in corpus.load(path)]
        assert gateway.process.exit_status is None, "the gateway ended while running the cases"
        unmet = "\n".join(str(outcome) for outcome in outcomes if not outcome.met)
        (run_directory / report).write_text(corpus.summary(outcomes) + "\n\n" + unmet + "\n")
        print(corpus.summary(outcomes))
        return outcomes

    return run


@pytest.mark.timeout(300)
def test_the_projects_own_raw_cases_go_as_they_say(run):
    outcomes = run(OWN_CASES, "http1-own.txt")
    assert len(outcomes) >= 60
    assert all(outcome.met for outcome in outcomes), "\n".join(str(each) for each in outcomes if not each.met)


@pytest.mark.timeout(1200)
def test_the_public_raw_cases_go_as_the_corpus_says(run):
    directory = os.environ.get("GATEHOUSE_CORPORA")
    path = Path(directory) / "http1_cases.json" if directory else None
    if path is None or not path.exists():
        pytest.skip("GATEHOUSE_CORPORA names no directory with http1_cases.json")
    outcomes = run(path, "http1-corpus.txt")
    rejects = [outcome for outcome in outcomes if outcome.case["expect"] == "reject"]
    binding = [outcome for outcome in outcomes if outcome not in rejects or outcome.case["level"] == "must"]
    unmet = [outcome for outcome in binding if not outcome.met]
    assert not unmet, "\n".join(map(str, unmet))
    refused = sum(outcome.met for outcome in rejects)
    # The others are rejects of a lower level that phones really send: see PathBytes.isQuery.
    assert refused >= 0.95 * len(rejects), f"{refused} of {len(rejects)} rejects were rejected"
