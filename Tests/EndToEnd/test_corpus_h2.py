"""HTTP/2 cases, where a directory of them is at hand (`GATEHOUSE_CORPORA`)."""

import os
from pathlib import Path

import corpus_h2
import pytest


@pytest.fixture(scope="module")
def cases() -> list[dict]:
    directory = os.environ.get("GATEHOUSE_CORPORA")
    path = Path(directory) / "h2_cases.json" if directory else None
    if path is None or not path.exists():
        pytest.skip("GATEHOUSE_CORPORA names no directory with h2_cases.json")
    return corpus_h2.load(path)


@pytest.mark.timeout(600)
def test_every_case_goes_as_the_corpus_expects(cases, start_gateway, own_recorder, run_directory):
    everything = {"name": "everything", "path": "/**", "access": "public", "upstream": "recorder"}
    gateway = start_gateway({"routes": [everything], "threads": 1})
    before = gateway.process.resident_bytes()
    outcomes = [corpus_h2.run_case(gateway.port, own_recorder, case) for case in cases]
    unmet = "\n".join(str(outcome) for outcome in outcomes if not outcome.met)
    report = corpus_h2.summary(outcomes) + "\n\n" + "\n".join(map(str, outcomes))
    (run_directory / "h2-corpus.txt").write_text(report)
    print(corpus_h2.summary(outcomes))
    assert not unmet, unmet
    assert gateway.process.exit_status is None, "the gateway ended while running the corpus"
    assert gateway.process.resident_bytes() - before < 16 << 20
