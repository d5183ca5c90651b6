"""The tables of rules and calls on the page about `gatehouse audit-app`."""

import re

from .markdown import Mismatch, capitalised, plain, table

RULES = re.compile(r"(<!-- audit rules -->\n\n)(?:\|.*\n)*")
CALLS = re.compile(r"(<!-- audit calls -->\n\n)(?:\|.*\n)*")


def page(text: str, reference: dict) -> str:
    """The page with the program's own rules and calls; its words stay."""
    for section in (RULES, CALLS):
        if len(section.findall(text)) != 1:
            raise Mismatch("docs/audit-app.md has no one place for a table")
    rules = [
        [f"`{rule['rule']}`", rule["severity"], f"The app {plain(rule['title'])}. {plain(rule['reason'])}", plain(capitalised(rule["replacement"]))]
        for rule in reference["audit_rules"]
    ]
    calls = [
        [
            ", ".join(f"`{name}`" for name in call["names"]),
            f"`{call['request']}`",
            f"`{call['function']}`" if call["function"] else "none: a browser opens the gateway's pages",
        ]
        for call in reference["audit_calls"]
    ]
    text = filled(RULES, table(["rule", "weight", "meaning", "instead"], rules), text)
    return filled(CALLS, table(["call of Amplify or Cognito", "gateway", "`GatehouseClient` in Swift"], calls), text)


def filled(section: re.Pattern, lines: list[str], text: str) -> str:
    return section.sub(lambda match: match[1] + "\n".join(lines).rstrip("\n") + "\n", text)
