"""The troubleshooting pages: each reason code with its cause and remedy."""

from .markdown import heading, matched, page, table, wrapped

SOURCE = "docs/reasons.yaml and `gatehouse reference`"
PAGES = {
    "troubleshooting.md": (
        "Troubleshooting",
        """This page is for operators and developers who want to know why a request was refused. Each refusal has a reason code,
        which you find with the request's id; the tables give its cause and remedy.""",
    ),
    "troubleshooting-requests.md": (
        "Troubleshooting requests and backends",
        """This page explains the reason codes of malformed requests, limits, backends and the gateway itself. See
        [troubleshooting](troubleshooting.md) for how to find a request's code, and for tokens and routes.""",
    ),
    "troubleshooting-accounts.md": (
        "Troubleshooting account calls",
        """This page explains the reason codes of sign-ups, sign-ins, refreshes and Sign in with Apple. See
        [troubleshooting](troubleshooting.md) for how to find a call's code.""",
    ),
}
FINDING = """
## Find the reason code

Clients get a status, an [error](reference/errors.md) and a message, and never the reason. Every response has the
request's id, in the header `X-Request-Id` and in the JSON of an error as `requestId`. With the id you find the request:

```sh
journalctl -u gatehouse -o cat | grep '"request_id":"REQUEST-ID"'
```

- The access log has the code in `denial_reason`, the audit log in `reason`.
- The [dashboard](admin.md) lists the latest refusals with their codes.
- The metric `gatehouse_denials_total` counts refusals by code.
- `gatehouse token verify` prints the code for a token that you have at hand:

```sh
gatehouse token verify --config gatehouse.yaml --path /api/v1/orders < token.jwt
```

If many requests fail at once, begin with the [runbook](runbook.md).
"""


def pages(reference: dict, words: list[dict]) -> dict[str, str]:
    matched("reasons", [each["code"] for each in reference["reasons"]], [code for part in words for code in part["reasons"]])
    found = {}
    for name, (title, introduction) in PAGES.items():
        lines = heading(title, SOURCE, introduction)
        parts = [part for part in words if part["page"] == name]
        if name == "troubleshooting.md":
            lines += [*FINDING.strip().splitlines(), "", *index(words)]
        for part in parts:
            lines += [f"## {part['title']}", ""]
            lines += wrapped(part["intro"]) if part.get("intro") else []
            rows = [[f"`{code}`", each["cause"], each["remedy"]] for code, each in part["reasons"].items()]
            lines += table(["reason", "cause", "remedy"], rows)
        found[name] = page(lines)
    return found


def index(words: list[dict]) -> list[str]:
    rows = [[link(part), " ".join(f"`{code}`" for code in part["reasons"])] for part in words]
    return ["## Find the code's table", "", *table(["table", "codes"], rows)]


def link(part: dict) -> str:
    anchor = "".join(each for each in part["title"].lower() if each.isalnum() or each in " -").replace(" ", "-")
    return f"[{part['title']}]({'' if part['page'] == 'troubleshooting.md' else part['page']}#{anchor})"
