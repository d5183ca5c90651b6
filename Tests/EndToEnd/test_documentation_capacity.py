"""The page about capacity: its tables are computed from figures that were measured."""

import re
import sys
from dataclasses import replace

import pytest
from harness import documentation
from harness.gateway import REPOSITORY

sys.path[:0] = [str(REPOSITORY / "docs"), str(REPOSITORY / "deploy" / "loadtest")]

import capacity  # noqa: E402
from generator import capacity as generator  # noqa: E402
from generator import markdown  # noqa: E402

CALL = capacity.Call(gateway=1, database=2, log=1000, waits=0.5, dead=2)
KIND = capacity.Kind("Any", sign_in=CALL, refresh=CALL, session=3000, user=500, user_rows=4)


def test_the_tables_of_the_page_are_computed():
    text = documentation.text("docs/capacity.md")
    assert generator.page(text) == text
    assert all(table in text for table in capacity.sections().values())


def test_another_figure_makes_another_page(monkeypatch):
    text = documentation.text("docs/capacity.md")
    first, *others = capacity.MEASURED
    monkeypatch.setattr(capacity, "MEASURED", (replace(first, session=first.session * 2), *others))
    assert generator.page(text) != text
    assert documentation.prose("docs/capacity.md") and len(generator.page(text).splitlines()) == len(text.splitlines())


def test_a_page_without_one_of_the_tables_is_an_error():
    text = documentation.text("docs/capacity.md")
    with pytest.raises(markdown.Mismatch):
        generator.page(text.replace("<!-- capacity: ends -->", ""))


def test_what_is_called_measured_is_among_the_results():
    results = (REPOSITORY / "deploy" / "loadtest" / "RESULTS.md").read_text(encoding="utf-8")
    measured = [line for line in documentation.text("docs/capacity.md").splitlines() if line.endswith("| measured |")]
    assert len(measured) == 3 * len(capacity.MEASURED)
    assert not [line for line in measured if line.removesuffix(" measured |") not in results]


def test_needs_follow_from_habits_and_costs():
    need = capacity.Need(KIND, 1e6)
    # 2 sign-ins in 30 days, 2 refreshes and 120 requests in a day, and 4 times the mean at the peak.
    assert need.sign_ins == pytest.approx(1e6 * 2 / 30 / 86_400 * 4)
    assert need.refreshes == pytest.approx(1e6 * 2 / 86_400 * 4)
    assert need.proxied == pytest.approx(1e6 * 120 / 86_400 * 4)
    calls = need.sign_ins + need.refreshes
    assert need.gateway_cores == pytest.approx((calls * 1 + need.proxied * capacity.PROXIED) / 1000 / 0.5)
    assert need.database_cores == pytest.approx((calls * 2 + need.dead * capacity.VACUUM) / 1000 / 0.5)
    assert need.log == pytest.approx(calls * (1000 + 3 * 8192))
    assert need.rows == 1e6 * (2 + 4)
    assert need.stored == pytest.approx(1e6 * (2 * 3000 + 500) * 1.5)


def test_gateways_and_primaries_are_whole_numbers():
    few, many = capacity.Need(KIND, 1), capacity.Need(KIND, 1e9)
    assert (few.gateways, few.primaries) == (2, 1)
    assert many.gateways - 1 < many.gateway_cores / capacity.MACHINES.gateway_cores <= many.gateways
    most = max(share for _, share in many.shares)
    assert most <= many.primaries < most + 1


@pytest.mark.parametrize(
    "value, text",
    [
        (0.004, "under 0.01"), (0.046, "0.046"), (3, "3"), (46.3, "46"), (99.96, "100"), (463, "460"), (9_259, "9 300"),
        (99_960, "100 000"),
    ],
)
def test_numbers_have_two_digits(value, text):
    assert capacity.short(value) == text


def test_every_number_of_the_assumptions_is_written():
    assert re.search(r"\| sign-ins in a month \| 2 \|", capacity.habits())
    assert re.search(r"\| use of a core at the peak \| 50% \|", capacity.machines())
