"""The reference of log fields and audit events."""

from .markdown import heading, matched, page, table

INTRODUCTION = """This page lists the fields of the three logs, for queries and alerts. Each line is a JSON object with
`logging.format: json`. Where the logs go is in [watching](../watching.md)."""
OTHER_SCHEMAS = """With `logging.schema: ecs` or `otel` the fields have the names of the [Elastic Common
Schema](https://www.elastic.co/docs/reference/ecs) 8.17 or of [OpenTelemetry's
conventions](https://opentelemetry.io/docs/specs/semconv/). Other fields of the gateway's own log begin with `gatehouse.`. A
type is `gatehouse.access`, `gatehouse.audit` or `gatehouse.application`. The host has no port, and the query is a field
of its own."""
LOGS = {
    "access": ("Access log", "One line for each request. Fields without a value are left out."),
    "audit": ("Audit log", "One line for each account event. Fields without a value are left out."),
    "application": ("The gateway's own log", "The first three fields are in each line, the others in lines that need them."),
}


def log_fields_page(reference: dict, words: dict) -> str:
    for log in ("access", "audit"):
        matched(f"fields of the {log} log", reference["log_fields"][log], list(words[log]))
    matched("audit events", reference["audit_events"], list(words["events"]))
    lines = heading("Log fields", "`gatehouse reference` and docs/log-fields.yaml", INTRODUCTION)
    for log, (title, introduction) in LOGS.items():
        names = reference["log_fields"].get(log) or list(words[log])
        rows = [[f"`{name}`", words[log][name]] for name in names]
        lines += [f"## {title}", "", introduction, "", *table(["field", "meaning"], rows)]
        if log == "audit":
            rows = [[f"`{event}`", words["events"][event]] for event in reference["audit_events"]]
            lines += ["## Audit events", "", *table(["event", "when"], rows)]
    rows = [[f"`{name}`" for name in names] for names in reference["log_schemas"]]
    lines += ["## Other schemas", "", OTHER_SCHEMAS, "", *table(["`gatehouse`", "`ecs`", "`otel`"], rows)]
    return page(lines)
