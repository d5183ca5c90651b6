#!/usr/bin/env python3
"""Records deploy/quickstart.sh --once in a terminal and writes it as an SVG whose lines appear over time.

    recording.py DIRECTORY OUTPUT      the directory has deploy/quickstart.sh

Lines keep their order and colours. Bursts are slowed down for readers, and long waits are shortened; the caption says so.
"""

import html
import os
import pty
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

COMMAND = "deploy/quickstart.sh --once"
COLUMNS, ROWS = 104, 30
CHARACTER, LINE, MARGIN, BAR = 7.8, 18, 14, 30
# In seconds: between two lines at least, after a headline at least, and at most.
BETWEEN, AFTER_HEADLINE, LONGEST = 0.12, 0.7, 1.5
COLOURS = {"1": "bold", "32": "green"}
ESCAPE = re.compile(r"\x1b\[([0-9;]*)m")


@dataclass
class Line:
    """A line of the terminal: when it was complete, in seconds, and its parts of text with their styles."""

    at: float
    parts: list[tuple[str, str]]

    @property
    def text(self) -> str:
        return "".join(text for text, _ in self.parts)

    @property
    def is_headline(self) -> bool:
        return any(style == "bold" for _, style in self.parts)


def styled(text: str) -> list[tuple[str, str]]:
    """The parts of a line by its escape sequences, which the script ends within the line."""
    parts, style, end = [], "", 0
    for found in ESCAPE.finditer(text):
        parts.append((text[end : found.start()], style))
        style, end = COLOURS.get(found[1], ""), found.end()
    parts.append((text[end:], style))
    return [part for part in parts if part[0]]


def wrapped(line: Line) -> list[Line]:
    """A line of more columns than the terminal has goes on in the next one."""
    if len(line.text) <= COLUMNS:
        return [line]
    head = line.text[:COLUMNS].rsplit(" ", 1)[0]
    indent = " " * (len(head) - len(head.lstrip()))
    return [Line(line.at, [(head, "")]), *wrapped(Line(line.at, [(indent + line.text[len(head) :].lstrip(), "")]))]


def record(directory: Path) -> list[Line]:
    """The lines of a run. The run must succeed."""
    master, slave = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": str(COLUMNS), "LANG": "C.UTF-8"}
    process = subprocess.Popen(
        COMMAND.split(), cwd=directory, env=environment, stdin=subprocess.DEVNULL, stdout=slave, stderr=slave
    )
    os.close(slave)
    began, buffer, lines = time.monotonic(), b"", []
    while True:
        try:
            read = os.read(master, 65536)
        except OSError:  # EIO: the last writer has gone.
            break
        if not read:
            break
        buffer += read
        *complete, buffer = buffer.split(b"\n")
        for text in complete:
            # The line as it is left: what is before its last clearing (CSI K) has gone.
            left = text.decode().rstrip("\r").rpartition("\r\x1b[K")[2]
            lines.append(Line(time.monotonic() - began, styled(left)))
    status = process.wait()
    text = "\n".join(line.text for line in lines)
    if status != 0:
        sys.exit(f"{COMMAND} ended with {status}:\n{text}")
    print(text)
    return [part for line in lines for part in wrapped(line)]


def schedule(lines: list[Line]) -> list[float]:
    """When each line appears, in seconds since the beginning."""
    times, now, last = [], 0.8, 0.0
    for before, line in zip([None, *lines], lines):
        least = AFTER_HEADLINE if before and before.is_headline else BETWEEN
        now += min(max(line.at - last, least), LONGEST)
        last = line.at
        times.append(round(now, 2))
    return times


def svg(lines: list[Line]) -> str:
    times = schedule(lines)
    width, height = round(COLUMNS * CHARACTER + 2 * MARGIN), ROWS * LINE + 2 * MARGIN + BAR
    end = times[-1] + 0.1
    rows = []
    for number, line in enumerate(lines):
        if not line.text:
            continue
        spans = "".join(
            f'<tspan class="{style}">{html.escape(text)}</tspan>' if style else html.escape(text) for text, style in line.parts
        )
        rows.append(f'<text class="l" y="{number * LINE}" style="animation-delay:{times[number]}s">{spans}</text>')
    last = max(0, len(lines) + 1 - ROWS) * LINE
    steps = "".join(
        f"{100 * times[number] / end:.2f}%{{transform:translateY(-{(number + 2 - ROWS) * LINE}px)}}"
        for number in range(ROWS - 1, len(lines))
    )
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"
 role="img" aria-labelledby="t d" xml:space="preserve">
<!-- Made by docs/media/make.sh from a run of the quickstart; do not edit. -->
<title id="t">{COMMAND}</title>
<desc id="d">The quickstart in a terminal, with the binary built before. Bursts of lines are slowed down and waits shortened.</desc>
<style>
text{{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#d6dae0;white-space:pre}}
.bold{{font-weight:700;fill:#fff}}.green{{fill:#5bd17f}}.dim{{fill:#8a919c}}
.l{{animation:show .01s linear both}}@keyframes show{{from{{opacity:0}}to{{opacity:1}}}}
#s{{transform:translateY(-{last}px);animation:scroll {end:.2f}s step-end both}}
@keyframes scroll{{0%{{transform:none}}{steps}100%{{transform:translateY(-{last}px)}}}}
@media (prefers-reduced-motion:reduce){{.l,#s{{animation:none}}}}
</style>
<rect width="{width}" height="{height}" rx="8" fill="#16191d"/>
<circle cx="20" cy="16" r="5" fill="#e0605a"/><circle cx="38" cy="16" r="5" fill="#e0b24a"/><circle cx="56" cy="16" r="5" fill="#57b865"/>
<text x="76" y="20" class="dim">$ {COMMAND}</text>
<svg x="{MARGIN}" y="{BAR + MARGIN // 2}" width="{width - 2 * MARGIN}" height="{ROWS * LINE + MARGIN // 2}">
<g id="s"><g transform="translate(0 {LINE - 4})">
{chr(10).join(rows)}
</g></g>
</svg>
</svg>
"""


def main() -> None:
    directory, output = map(Path, sys.argv[1:])
    output.write_text(svg(record(directory.resolve())))


if __name__ == "__main__":
    main()
