"""The reference of metrics, and the reference of error responses."""

from .markdown import heading, matched, page, plain, sentence, table

INTRODUCTION = """This page lists all metrics that `/metrics` on the admin listener serves, for Prometheus. How to scrape them and
which alerts exist is in [watching](../watching.md).

Label values come from the configuration, its certificates and closed lists, never from clients. The only exception is
`application`, with at most 200 values in the life of the process. Durations are in seconds. Histograms count completed requests
and sessions."""
REFUSED = {
    "connection-limit": "`limits.connections` is reached, and no connection is idle.",
    "address-limit": "`limits.connections_per_address` is reached.",
    "handshake-failed": "A TLS handshake failed or was not complete within `limits.handshake_timeout`.",
    "proxy-header-malformed": "A trusted proxy's connection did not begin with a valid PROXY header.",
    "proxy-header-timeout": "The PROXY header was not complete within `limits.handshake_timeout`.",
}
METHODS = {
    "password": "A password at `login`, with the challenges that follow.",
    "passwordless": "A code from a message instead of a password.",
    "passkey": "A passkey.",
    "apple": "Sign in with Apple.",
    "federated": "Another identity provider, or the hosted pages.",
    "translated": "A direct call of an app to Cognito that the gateway carried out.",
    "custom": "Challenges of the pool's own triggers.",
}
ENDS = {
    "sign-out": "The user signed out.",
    "deletion": "The account was deleted.",
    "expiry": "The refresh token expired, or the session reached its longest life.",
    "idle": "The session was not refreshed for too long.",
    "reuse": "A replaced token was used again.",
    "revocation": "Another device, an operator or the identity provider ended it.",
}


def metrics_page(reference: dict, words: list[dict]) -> str:
    known = {each["name"]: each for each in reference["metrics"]}
    matched("metrics", list(known), [name for group in words for name in group["metrics"]])
    lists = reference["label_values"]
    matched("refused connections", lists["connection_refusals"], list(REFUSED))
    matched("sign-in methods", lists["sign_in_methods"], list(METHODS))
    matched("session ends", lists["session_ends"], list(ENDS))
    lines = heading("Metrics", "`gatehouse reference` and docs/metrics.yaml", INTRODUCTION)
    for group in words:
        rows = []
        for name, note in group["metrics"].items():
            metric = known[name]
            labels = " ".join(f"`{label}`" for label in metric["labels"])
            rows.append([f"`{name}`", metric["type"], labels, " ".join(filter(None, [plain(sentence(metric["help"])), note]))])
        lines += [f"## {group['title']}", "", *table(["metric", "type", "labels", "meaning"], rows)]
    closed = [
        ("Refused connections", "reason", REFUSED), ("Sign-in methods", "method", METHODS), ("Session ends", "end", ENDS),
    ]
    for title, column, values in closed:
        lines += [f"## {title}", "", *table([column, "meaning"], [[f"`{name}`", text] for name, text in values.items()])]
    return page(lines)


ERRORS = """This page lists the error responses of the gateway, for developers of apps. Each is JSON with `error`, `message`,
`statusCode` and `requestId`, and some have `fields`.

An app decides by `statusCode` and `error`; the message is for people and can be more specific than the one here. The reason
of a refusal is in the gateway's logs only, see [troubleshooting](../troubleshooting.md)."""
BODY = """
```json
{
  "error": "NotAuthorizedException",
  "message": "Authentication is required.",
  "statusCode": 401,
  "requestId": "5e0e6a1c2f4d4b0e"
}
```
"""


def errors_page(reference: dict) -> str:
    lines = heading("Error responses", "`gatehouse reference`", ERRORS) + [*BODY.strip().splitlines(), ""]
    errors = sorted(reference["errors"], key=lambda each: (each["status"], each["error"]))
    rows = [[str(each["status"]), f"`{each['error']}`", each["message"]] for each in errors]
    return page(lines + table(["status", "error", "message"], rows))
