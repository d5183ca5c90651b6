"""The reference of the configuration, made of its JSON Schema."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import yaml

from .markdown import Mismatch, heading, page, plain, sentence, table, wrapped

SOURCE = "`gatehouse schema`"
# Each page with its top-level keys.
PAGES = {
    "listeners.md": ("Listeners and limits", ["listeners", "acme", "trusted_proxies", "limits", "drain_timeout", "threads"]),
    "routes.md": ("Routes", ["routes"]),
    "upstreams.md": ("Upstreams", ["upstreams"]),
    "issuers.md": ("Issuers and key sets", ["issuers", "key_sets"]),
    "sign-in.md": ("Sign-in and account limits", ["sign_in", "account_limits", "direct_cognito"]),
    "identity.md": ("Identity and user sync", ["identity", "user_sync"]),
    "operation.md": ("Operation", ["admin", "state_directory", "state", "logging", "audit", "tracing"]),
}
INTRODUCTIONS = {
    "listeners.md": "This page lists the keys of the addresses where clients connect, and of the limits that apply to clients.",
    "routes.md": "This page lists the keys of routes. [Routes](../../routes.md) explains them by task.",
    "upstreams.md": "This page lists the keys of the backends: servers, time-outs, retries, ejection and health checks.",
    "issuers.md": "This page lists the keys of the issuers whose tokens are accepted, and of the fetches of their key sets.",
    "sign-in.md": "This page lists the keys of account calls, their limits, and apps that call Cognito itself.",
    "identity.md": "This page lists the keys of identity headers, signed assertions and messages about users.",
    "operation.md": "This page lists the keys of the admin listener, the state, logs, the audit log and traces.",
}
INDEX = """This page lists the top-level keys of `gatehouse.yaml`. Each key has a page with all keys below it. How to do a task is
in [configuration by task](../../configuration.md).

`Config/gatehouse.yaml` has all keys in one file. An editor with the YAML language server completes them, if this is the first
line of your file:"""
FORMS = [
    ["duration", "`250ms`, `5s`, `10m`, `24h`, `30d`"],
    ["size", "`512B`, `64KiB`, `1MiB`"],
    ["rate", "`60/1m`: 60 in a minute; or `unlimited`"],
    ["environment variable", "`${NAME}` in any value; `$${` stands for the characters `${`"],
    ["secret", "`${NAME}` or `file:` and a path; a trailing newline of the file is ignored"],
    ["path of a file", "relative paths are relative to the folder of `gatehouse.yaml`"],
]
# What the schema adds to a description about the kind of the value; the column of values says it.
KINDS = [
    (re.compile(r"From (\S+) to (\S+), such as 250ms, 5s, 10m or 24h\.$"), "duration, {0} to {1}"),
    (re.compile(r"From (\S+) to (\S+), such as 512B, 64KiB or 1MiB\.$"), "size, {0} to {1}"),
    (re.compile(r"A percentage from (\S+) to (\S+)\.$"), "{0} to {1}"),
    (re.compile(r"A secret: .*\.$"), "secret"),
    (re.compile(r"The path of a file; .*\.$"), "path of a file"),
    (re.compile(r"A URL of http or https\.$"), "URL"),
    (re.compile(r"A path\.$"), "path"),
    (re.compile(r"Host and port, such as .*\.$"), "host:port"),
    (re.compile(r"http://host:port, https://host:port or unix:/path\.$"), "URL or `unix:` path"),
    (re.compile(r"A rate such as 60/1m, or unlimited\.$"), "rate"),
]
REFERENCE = yaml.safe_load((Path(__file__).parents[2] / "Config" / "gatehouse.yaml").read_text(encoding="utf-8"))
# Keys whose value there is an example.
EXAMPLES = {
    "upstreams.NAME.url",
    *(f"issuers.NAME.{key}" for key in ("user_pool_id", "region", "client_ids", "issuer")),
    "sign_in.cognito.endpoint",
}
# Sections with the keys of another one: explained there.
SAME = {
    "admin.tls": ("listeners[].tls", "listeners.md"),
    "sign_in.more_pools[]": ("sign_in.cognito", "sign-in.md"),
    "sign_in.cognito.cors": ("routes[].cors", "routes.md"),
    "sign_in.apple.cors": ("routes[].cors", "routes.md"),
}


def pages(schema: dict) -> dict[str, str]:
    assigned = [key for _, keys in PAGES.values() for key in keys]
    if sorted(assigned) != sorted(schema["properties"]):
        raise ValueError(f"keys without a page, or twice: {sorted(set(assigned) ^ set(schema['properties']))}")
    found = {"README.md": index(schema)}
    for name, (title, keys) in PAGES.items():
        lines = heading(title, SOURCE, f"{INTRODUCTIONS[name]} [Configuration reference](README.md) explains the forms of values.")
        for key in keys:
            lines += top_level(key, schema)
        found[name] = page(lines)
    return found


def index(schema: dict) -> str:
    where = {key: name for name, (_, keys) in PAGES.items() for key in keys}
    rows = []
    for key, value in schema["properties"].items():
        needed = "yes" if key in schema["required"] else ""
        rows.append([f"[`{key}`]({where[key]}#{key})", needed, first_sentence(own_description(value)[0])])
    lines = heading("Configuration reference", SOURCE, INDEX)
    lines += ["```yaml other", "# yaml-language-server: $schema=gatehouse.schema.json", "```", ""]
    lines += wrapped("`gatehouse schema > gatehouse.schema.json` writes the schema.")
    lines += table(["key", "required", "purpose"], rows)
    lines += ["## Forms of values", "", *table(["form", "written as"], FORMS)]
    return page(lines)


def first_sentence(text: str) -> str:
    return plain(sentence(re.split(r"(?<=[a-z)])\. ", text)[0]))


def top_level(key: str, schema: dict) -> list[str]:
    value = schema["properties"][key]
    text, kind = own_description(value)
    lines = [f"## {key}", "", *wrapped(plain(sentence(text)))]
    if not any(True for _ in sections(key, value)):
        facts = [("Values", kind or kind_of(value)), ("Default", default_of(value))]
        lines += [f"- {name}: {fact}" for name, fact in facts if fact] + [""]
    for path, section in sections(key, value):
        if path in SAME:
            other, file = SAME[path]
            lines += [f"### {path}", "", f"The same keys as [`{other}`]({file}#{anchor(other)}).", ""]
            continue
        if path != key:
            lines += [f"### {path}", ""]
            # The entries of a list or of names are described with it.
            description = "" if path in (f"{key}[]", f"{key}.NAME") else describing(path, schema)
            lines += wrapped(plain(sentence(description))) if description else []
        required = section.get("required", [])
        rows = [key_row(path, name, each, name in required) for name, each in section["properties"].items()]
        lines += table(["key", "values", "default", "meaning"], rows)
    return lines


def sections(path: str, value: dict) -> Iterator[tuple[str, dict]]:
    """The objects with named keys at a path and below it, by their paths."""
    if not isinstance(value, dict):
        return
    if "properties" in value:
        yield path, value
        if path in SAME:
            return
        for name, each in value["properties"].items():
            yield from sections(f"{path}.{name}", each)
    for each in value.get("anyOf", []):
        yield from sections(path, each)
    if "items" in value:
        yield from sections(f"{path}[]", value["items"])
    if isinstance(value.get("additionalProperties"), dict):
        yield from sections(f"{path}.NAME", value["additionalProperties"])


def describing(path: str, schema: dict) -> str:
    """The description of the key that a section is the value of."""
    place = schema
    for name in re.findall(r"[A-Za-z0-9_]+", path):
        places = list(objects(place))
        if name == "NAME":
            place = next(each["additionalProperties"] for each in places if isinstance(each.get("additionalProperties"), dict))
        else:
            place = next(each["properties"][name] for each in places if name in each.get("properties", {}))
    return own_description(place)[0]


def objects(value: dict) -> Iterator[dict]:
    """A schema, its alternatives and its elements."""
    yield value
    for each in value.get("anyOf", []):
        yield from objects(each)
    if isinstance(value.get("items"), dict):
        yield from objects(value["items"])


def own_description(value) -> tuple[str, str]:
    """The reference's description, and the kind of value that the schema has behind it."""
    text = value.get("description", "") if isinstance(value, dict) else ""
    for pattern, kind in KINDS:
        if match := pattern.search(text):
            return text[: match.start()].strip(), kind.format(*match.groups())
    return text, ""


def key_row(path: str, name: str, value, is_required: bool) -> list[str]:
    text, kind = own_description(value)
    if is_required:
        # A URL begins with its scheme, in lower case.
        text = re.sub(r"^Required[:.;,]?\s*((?![a-z]+://)\w)?", lambda match: (match[1] or "").upper(), text)
    if not text or text.endswith(":"):
        raise Mismatch(f"{path}.{name} has no meaning, or half of one: {text!r}")
    default = "required" if is_required else default_of(value) or shown_default(f"{path}.{name}")
    inner = [each for each, _ in sections(f"{path}.{name}", value)]
    kind = kind or kind_of(value)
    if inner:
        link = f"[{'list' if inner[0].endswith('[]') else 'section'}](#{anchor(inner[0])})"
        kind = f"{kind}, or {link}" if kind else link
    return [f"`{name}`", kind, default, plain(sentence(text))]


def anchor(path: str) -> str:
    return re.sub(r"[^\w -]", "", path.lower()).replace(" ", "-")


def default_of(value) -> str:
    if not isinstance(value, dict) or "default" not in value:
        return ""
    default = value["default"]
    return f"`{default if isinstance(default, str) else json.dumps(default)}`"


def shown_default(path: str) -> str:
    """The default that Config/gatehouse.yaml shows, where the schema has none; a test there holds it to the code's."""
    if path in EXAMPLES or path.startswith("routes[]."):
        return ""
    place = REFERENCE
    for name in re.findall(r"[A-Za-z0-9_]+|\[\]", path):
        if name == "NAME" and isinstance(place, dict):
            place = next(iter(place.values()))
        elif name == "[]" and isinstance(place, list):
            place = place[0] if place else None
        else:
            place = place.get(name) if isinstance(place, dict) else None
    if place is None or isinstance(place, dict):
        return ""
    return f"`{', '.join(map(str, place))}`" if isinstance(place, list) and place else f"`{json.dumps(place)}`".replace('"', "")


def kind_of(value) -> str:
    """The values of a scalar or a list of scalars; empty for sections."""
    if not isinstance(value, dict):
        return ""
    if "enum" in value:
        return ", ".join(f"`{each}`" for each in value["enum"] if isinstance(each, str))
    kind = value.get("type")
    if kind == "boolean":
        return "`true`, `false`"
    if kind == "integer":
        return f"{value['minimum']} to {value['maximum']}"
    if kind == "array":
        inner = kind_of(value["items"])
        return "" if "properties" in value["items"] else f"list of {inner}" if inner else "list"
    if isinstance(value.get("additionalProperties"), dict) and "properties" not in value["additionalProperties"]:
        return "names with values"
    if kind == "string" or isinstance(kind, list) and "string" in kind:
        return "text"
    kinds = [kind_of(each) for each in value.get("anyOf", []) if each.get("$ref") is None]
    return ", or ".join(dict.fromkeys(filter(None, kinds)))
