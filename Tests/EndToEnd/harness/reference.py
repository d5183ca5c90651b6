"""The descriptions of all keys in the reference, Config/gatehouse.yaml: the one source of the schema's descriptions."""

import re
import textwrap

from .gateway import REPOSITORY

REFERENCE = REPOSITORY / "Config" / "gatehouse.yaml"
TABLE = REPOSITORY / "Sources" / "Settings" / "Schema" / "key-descriptions.txt"

KEY = re.compile(r"^ *(?:# )?(?P<indent> *)(?P<dashes>(?:- )*)(?P<key>\"?[A-Za-z0-9_.-]+\"?):(?:$| (?P<rest>.*)$)")
COMMENT = re.compile(r"(?:^|\s)# (?P<text>\S.*)$")
# Behind this column a comment is about a key, before it a line of the file that is left out.
COLUMN = 30
# Sections with the same keys as another one, where the reference explains them.
SAME = {
    "sign_in.more_pools[].": "sign_in.cognito.",
    "sign_in.cognito.cors": "routes[].cors",
    "sign_in.apple.cors": "routes[].cors",
    "routes[].require.groups.all": "routes[].require.scopes.all",
    **{f"account_limits.{kind}.": "account_limits.sign_in." for kind in ("codes", "messages", "refresh", "account")},
}


def descriptions(schema: dict) -> dict[str, list[str]]:
    """The lines of each key's comment, by the key's path in the settings: `upstreams.*.url`, `routes[].path`."""
    found: dict[str, list[str]] = {}
    stack: list[tuple[int, str]] = []
    above: list[str] = []
    current: list[str] | None = None
    for line in REFERENCE.read_text().splitlines():
        comment = COMMENT.search(line, COLUMN)
        matched = KEY.match(line)
        if comment and not line[: comment.start()].strip(" #"):
            if current is not None:
                current.append(comment["text"].strip())
            continue
        if not matched:
            prose = re.match(r"^ *(?:# +)?# (\S.*)$", line) or re.match(r"^ *# (\S.*)$", line)
            above = [*above, prose[1]] if prose else []
            current = None
            continue
        column = matched.start("key") - (2 if line.lstrip().startswith("# ") else 0)
        dashes = matched["dashes"].count("-")
        stack = [each for each in stack if each[0] < column - 2 * dashes]
        if dashes:
            stack.append((column - 2, "[]"))
        stack.append((column, matched["key"].strip('"')))
        path = walked(schema, [name for _, name in stack])
        if path is None and comment and current is not None:
            # A comment that goes on behind a name that the operator chooses.
            current.append(comment["text"].strip())
            continue
        # A top-level key has a comment above it, and may have another one beside it.
        current = [*(above if "." not in (path or ".") else []), *([comment["text"].strip()] if comment else [])]
        if path and path not in found:
            found[path] = current
        above = []
    return {path: lines for path, lines in found.items() if lines and not lines[0].startswith("As above")}


def walked(schema: dict, names: list[str]) -> str | None:
    """The path of a key with names and numbers left open; nil for what is no key of the settings."""
    path, places = "", [schema]
    for name in names:
        places = [each for place in places for each in (place, *place.get("anyOf", []))]
        if name == "[]":
            path, places = f"{path}[]", [place["items"] for place in places if "items" in place]
            continue
        known = [place["properties"][name] for place in places if name in place.get("properties", {})]
        if not known:
            known = [each for place in places if isinstance(each := place.get("additionalProperties"), dict)]
            name = "*"
        path, places = f"{path}.{name}".lstrip("."), known
    return path if places and not path.endswith("*") else None


def properties(schema, path: str = "") -> dict[str, dict]:
    """All properties of a schema, by path."""
    found: dict[str, dict] = {}
    if not isinstance(schema, dict):
        return found
    for name, value in schema.get("properties", {}).items():
        inner = f"{path}.{name}".lstrip(".")
        found |= {inner: value, **properties(value, inner)}
    for each in schema.get("anyOf", []):
        found |= properties(each, path)
    found |= properties(schema.get("items"), f"{path}[]")
    return found | properties(schema.get("additionalProperties"), f"{path}.*".lstrip("."))


def described(schema: dict) -> dict[str, list[str]]:
    """As :func:`descriptions`, also of keys that are explained under another one."""
    found = descriptions(schema)
    for path in properties(schema):
        for prefix, other in SAME.items():
            if path.startswith(prefix) and path not in found and (lines := found.get(other + path[len(prefix) :])):
                found[path] = lines
    return found


def table(schema: dict) -> str:
    """The file that the binary has them from."""
    lines: list[str] = []
    for path, text in sorted(described(schema).items()):
        broken = textwrap.wrap(" ".join(text), 100, break_long_words=False, break_on_hyphens=False)
        lines += [path, *(f"  {line}" for line in broken)]
    return "".join(f"{line}\n" for line in lines)
