"""Public request-smuggling and parser cases, where a directory of them is at hand (`GATEHOUSE_CORPORA`)."""

import os
from pathlib import Path

import corpus
import pytest


@pytest.fixture(scope="module")
def cases() -> list[dict]:
    directory = os.environ.get("GATEHOUSE_CORPORA")
    path = Path(directory) / "http1_cases.json" if directory else None
    if path is None or not path.exists():
        pytest.skip("GATEHOUSE_CORPORA names no directory with http1_cases.json")
    return corpus.load(path)


@pytest.mark.timeout(1200)
def test_no_case_that_must_be_refused_reaches_the_backend(cases, start_gateway, own_recorder, run_directory):
    everything = {"name": "everything", "path": "/**", "access": "public", "upstream": "recorder"}
    gateway = start_gateway({"routes": [everything], "threads": 1})
    outcomes = [corpus.run_case(gateway.port, own_recorder, case) for case in cases]
    unmet = "\n".join(str(outcome) for outcome in outcomes if not outcome.met)
    report = corpus.summary(outcomes) + "\n\n" + unmet
    (run_directory / "http1-corpus.txt").write_text(report)
    print(corpus.summary(outcomes))
    smuggled = [
        outcome
        for outcome in outcomes
        if outcome.case["expect"] == "reject" and outcome.case["level"] == "must" and outcome.forwarded_too_much
    ]
    assert not smuggled, "\n".join(map(str, smuggled))
    assert gateway.process.exit_status is None, "the gateway ended while running the corpus"
