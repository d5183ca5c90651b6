"""Turns the rounds of compare.sh into its table and its JSON: table.py DIRECTORY [JSON_FILE].

The directory has the files figures, memory, skipped and problems, as compare.sh writes them. Exit status 1 when there
were problems.
"""

import json
import pathlib
import statistics
import sys
from collections.abc import Callable

Figures = list[float]  # requests/s, p50 ms, p99 ms, CPU µs, resident MB, anonymous MB
RPS, P50, P99, CPU, RSS, ANON = range(6)

# The limits of ratios of Gatehouse to another proxy: case, figure, other, limit, whether the limit is the least. The
# case telemetry is Gatehouse itself with logs and traces, beside one without.
WANTED: list[tuple[str, int, str, float, bool]] = [
    ("hot-token", CPU, "nginx", 1.0, False),
    ("many-tokens", CPU, "nginx", 1.15, False),
    ("hot-token-1000", CPU, "nginx", 1.1, False),
    *((case, P99, "nginx", 1.2, False) for case in ("hot-token", "many-tokens", "hot-token-1000")),
    *((case, CPU, "haproxy", 0.55, False) for case in ("hot-token", "many-tokens")),
    *((case, CPU, "envoy", 0.4, False) for case in ("hot-token", "many-tokens")),
    ("new-tokens", CPU, "haproxy", 0.75, False),
    ("hot-token", P99, "haproxy", 1.0, False),
    ("hot-token", P99, "envoy", 1.0, False),
    *((f"tls-http2{kind}", CPU, "nginx", 1.0, False) for kind in ("", "-1m", "-upload-64k")),
    ("tls-http2-phones", CPU, "nginx", 1.2, False),
    *(("tls-http2", CPU, other, 0.35, False) for other in ("haproxy", "envoy")),
    *(("tls-http2", P99, other, 1.0, False) for other in ("nginx", "haproxy", "envoy")),
    ("body-1m", RPS, "nginx", 0.9, True),
    ("connections", CPU, "nginx", 1.3, False),
    *(
        (f"connections-{tls}", CPU, "nginx", 1.2, False)
        for tls in ("tls", "tls-resumed", "tls12", "tls12-resumed")
    ),
    ("telemetry", CPU, "gatehouse", 1.08, False),
]
NAMES = {RPS: "requests/s", P99: "p99", CPU: "CPU per request"}
IDLE_WANTED = {"idle": 6.0, "idle-tls": 25.0, "idle-http2": 12.0}  # KiB a connection
BURST_WANTED = 30.0  # MB more than before


class Rounds:
    """The rounds by case and proxy, in the order they were first seen."""

    def __init__(self, lines: list[list[str]]):
        self.rounds: dict[tuple[str, str], dict[int, Figures]] = {}
        for case, proxy, number, *figures in lines:
            self.rounds.setdefault((case, proxy), {})[int(number)] = [float(figure) for figure in figures]

    def medians(self, case: str, proxy: str) -> Figures:
        return [statistics.median(values) for values in zip(*self.rounds[case, proxy].values())]

    def ratios(self, case: str, figure: int, other: str) -> Figures:
        """Gatehouse to the other, round by round; empty when either has none."""
        own = "telemetry" if case == "telemetry" else "gatehouse"
        mine, theirs = (self.rounds.get((case, proxy), {}) for proxy in (own, other))
        return [mine[n][figure] / theirs[n][figure] for n in sorted(mine.keys() & theirs.keys()) if theirs[n][figure]]


def verdict(reached: bool) -> str:
    return "reached" if reached else "**missed**"


def print_figures(rounds: Rounds, memory: list[list[str]]) -> None:
    print("| case | proxy | requests/s | p50 ms | p99 ms | CPU µs/request | of a core | resident MB (anonymous) "
          "| KiB/idle connection (anonymous) |")
    print("|---|---|---|---|---|---|---|---|---|")
    for case, proxy in rounds.rounds:
        rps, p50, p99, cpu, rss, anon = rounds.medians(case, proxy)
        share = f"{rps * cpu / 1e4:.0f} %"
        print(f"| {case} | {proxy} | {rps:.0f} | {p50:.2f} | {p99:.2f} | {cpu:.1f} | {share} | {rss:.0f} ({anon:.0f}) | |")
    for case, proxy, count, *figures in memory:
        if case == "burst":
            resident, anonymous = " → ".join(figures[:3]), " → ".join(figures[3:])
            print(f"| {case} of {count} | {proxy} | | | | | | {resident} ({anonymous}) | |")
        else:
            print(f"| {case}, {count} | {proxy} | | | | | | | {figures[0]} ({figures[1]}) |")


def print_ratios(rounds: Rounds, memory: list[list[str]]) -> None:
    lines = []
    for case, figure, other, limit, least in WANTED:
        ratios = rounds.ratios(case, figure, other)
        if not ratios:
            continue
        ratio = statistics.median(ratios)
        spread = f"{min(ratios):.2f}–{max(ratios):.2f}"
        compare: Callable[[float, float], bool] = float.__ge__ if least else float.__le__
        wanted = f"{'at least' if least else 'at most'} {limit} × {other}"
        lines.append(f"| {case}, {NAMES[figure]} | {ratio:.2f} ({spread}) | {wanted} | {verdict(compare(ratio, limit))} |")
    for case, proxy, _, *figures in memory:
        if proxy != "gatehouse":
            continue
        if case == "burst":
            growth = float(figures[2]) - float(figures[0])
            lines.append(
                f"| burst, resident memory after | {growth:+.1f} MB | within {BURST_WANTED:.0f} MB of before "
                f"| {verdict(growth <= BURST_WANTED)} |"
            )
        else:
            used, limit = float(figures[0]), IDLE_WANTED[case]
            lines.append(f"| {case} connection | {used:.1f} KiB | at most {limit:.0f} KiB | {verdict(used <= limit)} |")
    if lines:
        print("\n| Gatehouse | median (rounds) | wanted | |\n|---|---|---|---|")
        print("\n".join(lines))


def as_json(rounds: Rounds, memory: list[list[str]], skipped: list[list[str]], problems: list[str]) -> dict[str, object]:
    def case_row(case: str, proxy: str) -> dict[str, object]:
        names = ("rps", "p50_ms", "p99_ms", "cpu_us", "rss_mb", "anon_mb")
        return {"case": case, "proxy": proxy, **dict(zip(names, rounds.medians(case, proxy)))}

    def memory_row(case: str, proxy: str, count: str, *figures: str) -> dict[str, object]:
        if case == "burst":
            moments = ("before", "during", "after")
            names = [*(f"{each}_mb" for each in moments), *(f"{each}_anonymous_mb" for each in moments)]
        else:
            names = ["kib_per_connection", "anonymous_kib_per_connection"]
        values = dict(zip(names, map(float, figures)))
        return {"case": case, "proxy": proxy, "connections": int(count), **values}

    return {
        "cases": [case_row(case, proxy) for case, proxy in rounds.rounds],
        "memory": [memory_row(*line) for line in memory],
        "skipped": [{"case": case, "proxy": proxy, "reason": reason} for case, proxy, reason in skipped],
        "problems": problems,
    }


def main() -> int:
    directory = pathlib.Path(sys.argv[1])

    def lines(name: str) -> list[str]:
        return (directory / name).read_text().splitlines()

    rounds = Rounds([line.split() for line in lines("figures")])
    memory = [line.split() for line in lines("memory")]
    skipped = [line.split(maxsplit=2) for line in lines("skipped")]
    problems = lines("problems")
    print_figures(rounds, memory)
    print_ratios(rounds, memory)
    if skipped:
        print("\nSkipped:\n" + "\n".join(f"- {case}, {proxy}: {reason}" for case, proxy, reason in skipped))
    if problems:
        print("\nFailed:\n" + "\n".join(f"- {problem}" for problem in problems))
    if len(sys.argv) > 2:
        document = as_json(rounds, memory, skipped, problems)
        pathlib.Path(sys.argv[2]).write_text(json.dumps(document, indent=2) + "\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
