"""Text that is costly to compare as characters, and what a request that holds it costs a process.

A letter with thousands of combining marks is one character. Comparing it by Unicode's canonical equivalence sorts the
marks first, in time that grows with the square of their number: seconds for 64 KiB. Other shapes make finding the
borders of characters, or changing the case, expensive.
"""

import time
from collections.abc import Callable

from .process import Process, wait_until
from .sanitizer import PATIENCE

# What is repeated. The classes of combining marks differ, and stand in an order that must be sorted.
SHAPES = {
    "marks": "\u0345\u0334",
    "marks-in-the-other-order": "\u0334\u0345",
    "marks-of-many-classes": "\u0345\u0361\u035c\u0301\u0316\u05b0\u0651\u0e38\u0f71\u1dce\u0334",
    "accented-letters": "e\u0301",
    "decompositions": "\u0390\u1fa7\ufdfa\U0001d160",
    "flags": "\U0001f1e6",
    "hangul": "\u1100\u1161\u11a8",
    "joined-emoji": "\U0001f469\u200d",
    "conjuncts": "\u0915\u094d",
    "capitals": "\u0130\u1e9e",
}
PLAIN = "x"

# What one call with a plain body of 64 KiB takes of the processor of the machine that the limit was set on, in the
# release build. A machine or a build that takes longer for it gets more time for the rest as well.
USUAL_SECONDS = 0.0006
LIMIT_SECONDS = 0.002
LIMIT_BYTES = 64 << 10


def costly(shape: str, size: int, beginning: str = "a", number: int = 0) -> str:
    """About `size` bytes of one shape behind `beginning`. Texts of different numbers are different at their ends."""
    end = f"\u0301{number}"
    unit = SHAPES.get(shape, shape)
    count = (size - len(beginning.encode()) - len(end)) // len(unit.encode())
    return beginning + unit * max(1, count) + end


class Meter:
    """What a process takes of the processor."""

    def __init__(self, process: Process):
        # The clock of another process (Linux, CPUCLOCK_SCHED).
        self._clock = (~process.pid << 3) | 2
        self._number = 0
        self._rest()
        self.slowness = 1.0

    def _now(self) -> float:
        return time.clock_gettime(self._clock)

    def _rest(self) -> float:
        """The process's time once it has nothing left to do."""
        readings = [-1.0, self._now()]

        def rests() -> bool:
            readings.append(self._now())
            return readings[-1] - readings[-2] < 0.000_02

        wait_until(rests, "the process to come to rest", interval=0.001)
        return readings[-1]

    def cost(self, do: Callable[[], object]) -> float:
        # Whoever measured before has waited for its end.
        before = self._now()
        do()
        return self._rest() - before

    def calibrate(self, do: Callable[[], object]) -> None:
        """By a call with a plain body of 64 KiB."""
        self.slowness = max(1.0, min(self.cost(do) for _ in range(5)) / USUAL_SECONDS)

    def assert_cheap(self, send: Callable[[str], object], size: int, beginning: str = "a") -> None:
        """Text of every shape costs no more than three times what plain text of that length does, and 2 ms for 64 KiB.

        Others use the machine as well, so the least of a few tries counts.
        """
        allowed = LIMIT_SECONDS * size / LIMIT_BYTES * self.slowness * PATIENCE
        reference = min(self._cost_of(send, PLAIN, size, beginning) for _ in range(2))
        for shape in SHAPES:
            least = self._cost_of(send, shape, size, beginning)
            for _ in range(5):
                if least <= 3 * reference + allowed:
                    break
                reference = max(reference, self._cost_of(send, PLAIN, size, beginning))
                least = min(least, self._cost_of(send, shape, size, beginning))
            assert least <= 3 * reference + allowed, (
                f"{size} bytes of {shape} took {least * 1000:.2f} ms, plain text {reference * 1000:.2f} ms"
            )

    def _cost_of(self, send: Callable[[str], object], shape: str, size: int, beginning: str) -> float:
        self._number += 1
        text = costly(shape, size, beginning, self._number)
        return self.cost(lambda: send(text))
