#!/usr/bin/env python3
"""How many gateways, and how much of a database, so many users need: the tables of docs/capacity.md.

    deploy/loadtest/capacity.py

Each figure of MEASURED is from RESULTS.md, which says how it was measured. Everything else is computed from those, the
habits and the assumptions. docs/generate.py writes what this prints.
"""

from collections.abc import Callable
from dataclasses import dataclass

USERS = (10**4, 10**6, 10**8)
DAY, MONTH, PAGE = 86_400, 30 * 86_400, 8192


@dataclass(frozen=True)
class Call:
    """Of one call: milliseconds of processor time, bytes of the write-ahead log, waits for the disk, rows that die."""

    gateway: float
    database: float
    log: float
    waits: float
    dead: float


@dataclass(frozen=True)
class Kind:
    """A kind of session. `session` and `user` are bytes with indexes, and `rows` those of a sign-in."""

    name: str
    sign_in: Call
    refresh: Call
    session: float
    user: float
    user_rows: float


MEASURED = (
    Kind("Cognito", Call(1.042, 0.917, 3739, 0.40, 0), Call(1.133, 0.933, 15_976, 0.64, 2), 3385, 0, 0),
    Kind("Apple", Call(2.417, 2.750, 3352, 1.15, 0), Call(0.967, 0.783, 2170, 0.53, 1), 383, 1491, 4),
)
# Milliseconds of a gateway's processor time for a proxied request: `many-tokens`.
PROXIED = 0.0309
# Milliseconds of the database's processor time for each dead row, if VACUUM comes when a fifth of 3 996 rows is dead.
VACUUM = 30 / (0.2 * 3996)


@dataclass(frozen=True)
class Habits:
    """Of one user. The peak is what the busiest second has more than the mean."""

    sign_ins_a_month: float = 2
    active_hours_a_day: float = 2
    token_hours: float = 1
    requests_an_hour: float = 60
    session_days: float = 30
    peak: float = 4

    @property
    def refreshes_a_day(self) -> float:
        return self.active_hours_a_day / self.token_hours

    @property
    def sessions(self) -> float:
        return self.sign_ins_a_month * self.session_days / 30


HABITS = Habits()


@dataclass(frozen=True)
class Machines:
    """Assumptions about machines: none was measured."""

    # How much of a core is used at the peak.
    used: float = 0.5
    gateway_cores: int = 4
    # The size of tables with the dead rows that wait for VACUUM, as a multiple.
    room: float = 1.5
    # How many pages of indexes a call of a large table logs whole, right after a checkpoint.
    index_pages: int = 3
    # The largest primary: its cores, what its log takes at the peak, and how much it stores.
    cores: int = 64
    log: float = 250e6
    stored: float = 4e12


MACHINES = Machines()


@dataclass(frozen=True)
class Need:
    """Of so many users at the peak, in a second, unless the name says otherwise."""

    kind: Kind
    users: float

    @property
    def sign_ins(self) -> float:
        return self.users * HABITS.sign_ins_a_month / MONTH * HABITS.peak

    @property
    def refreshes(self) -> float:
        return self.users * HABITS.refreshes_a_day / DAY * HABITS.peak

    @property
    def proxied(self) -> float:
        return self.users * HABITS.active_hours_a_day * HABITS.requests_an_hour / DAY * HABITS.peak

    def _sum(self, part: Callable[[Call], float]) -> float:
        return self.sign_ins * part(self.kind.sign_in) + self.refreshes * part(self.kind.refresh)

    @property
    def gateway_cores(self) -> float:
        return (self.proxied * PROXIED + self._sum(lambda call: call.gateway)) / 1000 / MACHINES.used

    @property
    def gateways(self) -> int:
        """Two at least: one may be restarted."""
        return max(2, -int(-self.gateway_cores // MACHINES.gateway_cores))

    @property
    def vacuum_cores(self) -> float:
        return self.dead * VACUUM / 1000

    @property
    def database_cores(self) -> float:
        return (self._sum(lambda call: call.database) / 1000 + self.vacuum_cores) / MACHINES.used

    @property
    def log(self) -> float:
        """Right after a checkpoint."""
        pages = (self.sign_ins + self.refreshes) * MACHINES.index_pages * PAGE
        return self._sum(lambda call: call.log) + pages

    @property
    def waits(self) -> float:
        return self._sum(lambda call: call.waits)

    @property
    def pages(self) -> float:
        """Pages that a checkpoint writes: no more than the log has bytes for."""
        return self.log / PAGE

    @property
    def dead(self) -> float:
        return self._sum(lambda call: call.dead)

    @property
    def rows(self) -> float:
        return self.users * (HABITS.sessions + self.kind.user_rows)

    @property
    def stored(self) -> float:
        return self.users * (HABITS.sessions * self.kind.session + self.kind.user) * MACHINES.room

    @property
    def primaries(self) -> int:
        """How many parts of the users, each with a primary of its own."""
        return max(1, -int(-max(share for _, share in self.shares) // 1))

    @property
    def shares(self) -> list[tuple[str, float]]:
        """How much of the largest primary is used up."""
        return [
            ("cores", self.database_cores / MACHINES.cores), ("log", self.log / MACHINES.log),
            ("storage", self.stored / MACHINES.stored),
        ]  # fmt: skip


def short(value: float) -> str:
    """With two digits that count."""
    if value < 0.01:
        return "under 0.01"
    if value < 99.5:
        return f"{value:.2g}"
    rounded = round(value, 1 - len(str(int(value))) + 1)
    return f"{int(rounded):,}".replace(",", " ")


def size(value: float) -> str:
    for unit, bytes_of_it in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if value >= bytes_of_it:
            return f"{short(value / bytes_of_it)} {unit}"
    return f"{short(value)} B"


ROWS: tuple[tuple[str, Callable[[Need], str]], ...] = (
    ("sign-ins in a second", lambda need: short(need.sign_ins)),
    ("refreshes in a second", lambda need: short(need.refreshes)),
    ("proxied requests in a second", lambda need: short(need.proxied)),
    ("gateways' cores", lambda need: short(need.gateway_cores)),
    (f"gateways with {MACHINES.gateway_cores} cores, at least 2", lambda need: short(need.gateways)),
    ("database cores", lambda need: short(need.database_cores)),
    ("of them for vacuum", lambda need: short(need.vacuum_cores / MACHINES.used)),
    ("write-ahead log in a second, at most", lambda need: size(need.log)),
    ("waits for the disk in a second, at most", lambda need: short(need.waits)),
    ("further writes of 8 KiB in a second, at most", lambda need: short(need.pages)),
    ("rows", lambda need: short(need.rows)),
    ("stored, with indexes", lambda need: size(need.stored)),
    ("dead rows in a second", lambda need: short(need.dead)),
    ("primaries", lambda need: short(need.primaries)),
)


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(cells) + " |\n" for cells in (head, *rows)]
    return "".join([lines[0], "|" + "---|" * len(head) + "\n", *lines[1:]]).replace("|  |", "| |")


def power(users: float) -> str:
    return {10**4: "10⁴ users", 10**6: "10⁶ users", 10**8: "10⁸ users"}[int(users)]


def needs(kind: Kind) -> str:
    columns = [Need(kind, users) for users in USERS]
    rows = [[name, *(of(need) for need in columns), "computed"] for name, of in ROWS]
    return table(["at the peak", *(power(users) for users in USERS), ""], rows)


def costs() -> str:
    rows = []
    for kind in MEASURED:
        for name, call in (("sign-in", kind.sign_in), ("refresh", kind.refresh)):
            times = [f"{call.gateway:.2f} ms", f"{call.database:.2f} ms"]
            counts = [size(call.log), f"{call.waits:.2f}", f"{call.dead:.1f}"]
            rows.append([f"{name}, {kind.name}", *times, *counts, "measured"])
    return table(["for each", "gateway", "database", "log", "waits for the disk", "dead rows", ""], rows)


def bytes_of() -> str:
    rows = []
    for kind in MEASURED:
        user = size(kind.user) if kind.user else "none"
        rows.append([kind.name, size(kind.session), f"{kind.user_rows:.0f}", user, "measured"])
    return table(["kind", "a session", "rows a user", "a user", ""], rows)


def ends() -> str:
    """Where one primary ends, by each of its limits."""
    rows = []
    for kind in MEASURED:
        shares = Need(kind, 1e6).shares
        rows.append([kind.name, *(f"{short(1 / share)} million" for _, share in shares), "computed"])
    return table(["kind", *(f"by its {name}" for name, _ in Need(MEASURED[0], 1).shares), ""], rows)


def habits() -> str:
    rows = [
        ["sign-ins in a month", short(HABITS.sign_ins_a_month)],
        ["active hours in a day", short(HABITS.active_hours_a_day)],
        ["life of an access token", f"{short(HABITS.token_hours)} h"],
        ["refreshes in a day", short(HABITS.refreshes_a_day)],
        ["proxied requests in an active hour", short(HABITS.requests_an_hour)],
        ["life of a session that nobody signs out of", f"{short(HABITS.session_days)} days"],
        ["stored sessions", short(HABITS.sessions)],
        ["peak, as a multiple of the mean", short(HABITS.peak)],
    ]
    return table(["of one user", "assumed"], rows)


def machines() -> str:
    rows = [
        ["use of a core at the peak", f"{MACHINES.used:.0%}"],
        ["cores of a gateway", short(MACHINES.gateway_cores)],
        ["tables with their dead rows, as a multiple", short(MACHINES.room)],
        ["index pages that a call logs whole, right after a checkpoint", short(MACHINES.index_pages)],
        ["cores of the largest primary", short(MACHINES.cores)],
        ["write-ahead log of the largest primary in a second", size(MACHINES.log)],
        ["storage of the largest primary", size(MACHINES.stored)],
    ]
    return table(["of machines", "assumed"], rows)


def sections() -> dict[str, str]:
    """The tables by the names that the page has for them."""
    return {
        "habits": habits(), "machines": machines(), "costs": costs(), "bytes": bytes_of(), "ends": ends(),
        **{kind.name: needs(kind) for kind in MEASURED},
    }  # fmt: skip


if __name__ == "__main__":
    for name, text in sections().items():
        print(f"{name}\n\n{text}")
