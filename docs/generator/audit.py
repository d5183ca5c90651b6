"""The table of rules on the page about `gatehouse audit-app`."""

import re

from .markdown import Mismatch, capitalised, plain, table

SECTION = re.compile(r"(<!-- audit rules -->\n\n)(?:\|.*\n)*")


def page(text: str, reference: dict) -> str:
    """The page with the program's own rules; its words stay."""
    if len(SECTION.findall(text)) != 1:
        raise Mismatch("docs/audit-app.md has no one place for the table of rules")
    rows = [
        [f"`{rule['rule']}`", rule["severity"], f"The app {plain(rule['title'])}. {plain(rule['reason'])}", plain(capitalised(rule["replacement"]))]
        for rule in reference["audit_rules"]
    ]
    lines = table(["rule", "weight", "meaning", "instead"], rows)
    return SECTION.sub(lambda match: match[1] + "\n".join(lines).rstrip("\n") + "\n", text)
