"""The reference of commands, exit statuses and environment variables."""

import re

from .markdown import capitalised, heading, page, plain, sentence, table, wrapped

SOURCE = "`gatehouse reference`"
PAGES = {
    "commands.md": ("Commands", ["serve", "check", "health", "schema", "reference", "local-pool", "audit-app"]),
    "commands-tokens.md": ("Commands for tokens and keys", ["token", "jws", "keys", "revoke"]),
    "commands-state.md": ("Commands for users and the store", ["users", "store"]),
}
INTRODUCTIONS = {
    "commands.md": """This page lists the commands that run and check the gateway, for operators. `gatehouse COMMAND --help` prints
    the same text. Commands for [tokens and keys](commands-tokens.md) and for [users and the store](commands-state.md) have their
    own pages.""",
    "commands-tokens.md": """This page lists the commands for tokens, keys and revocations. Exit statuses and environment variables
    are on the page of [commands](commands.md).""",
    "commands-state.md": """This page lists the commands for users and for the gateway's database. Exit statuses and environment
    variables are on the page of [commands](commands.md).""",
}
# Options of many commands, which are described once.
COMMON = ("config", "environment-file", "json")


def pages(reference: dict) -> dict[str, str]:
    commands = {each["commandName"]: each for each in reference["commands"]["subcommands"] if each["commandName"] != "help"}
    assigned = [name for _, names in PAGES.values() for name in names]
    if set(assigned) != set(commands):
        raise ValueError(f"commands without a page, or pages without a command: {sorted(set(assigned) ^ set(commands))}")
    found = {}
    for name, (title, names) in PAGES.items():
        lines = heading(title, SOURCE, INTRODUCTIONS[name])
        if name == "commands.md":
            lines += overview(reference, commands)
        for each in names:
            lines += section(commands[each], ["gatehouse"])
        found[name] = page(lines)
    return found


def overview(reference: dict, commands: dict[str, dict]) -> list[str]:
    where = {name: file for file, (_, names) in PAGES.items() for name in names}
    rows = []
    for name, command in commands.items():
        file = "" if where[name] == "commands.md" else where[name]
        rows.append([f"[`{name}`]({file}#gatehouse-{name})", command["abstract"]])
    statuses = [[str(each["status"]), status_meaning(each["meaning"], commands)] for each in reference["exit_statuses"]]
    variables = [[f"`{each['name']}`", plain(each["meaning"])] for each in reference["environment_variables"]]
    options = {name: text for command in reversed(commands.values()) for name, text in common(command).items()}
    return [
        *table(["command", "purpose"], rows),
        *["## Exit statuses", "", *table(["status", "meaning"], statuses)],
        *["## Environment variables", "", *wrapped(VARIABLES), *table(["variable", "meaning"], variables)],
        *["## Shell completions", "", *wrapped(COMPLETIONS), "```sh", *COMPLETION_LINES, "```", ""],
        *["## Common options", "", *table(["option", "meaning"], [[f"`--{name}`", plain(options[name])] for name in COMMON])],
    ]


def status_meaning(text: str, commands: dict[str, dict]) -> str:
    """The text, with the commands that it is about as code."""
    about, colon, rest = text.partition(": ")
    names = about.split(", ")
    if colon and all(name.split()[0] in commands for name in names):
        return f"{', '.join(f'`{name}`' for name in names)}: {plain(sentence(rest))}"
    return plain(capitalised(text))


COMPLETIONS = "The Debian package and the archive install completions. Elsewhere, run the line of your shell:"
COMPLETION_LINES = [
    "gatehouse --generate-completion-script bash > /etc/bash_completion.d/gatehouse",
    "gatehouse --generate-completion-script zsh > /usr/local/share/zsh/site-functions/_gatehouse",
    "gatehouse --generate-completion-script fish > ~/.config/fish/completions/gatehouse.fish",
]
VARIABLES = """The configuration can name further variables as `${NAME}`. With `--environment-file`, variables of the file replace
those of the environment."""


def common(command: dict) -> dict[str, str]:
    """The texts of the common options of a command and those below it."""
    found = {}
    for argument in command.get("arguments", []):
        for name in argument.get("names", []):
            if name["name"] in COMMON:
                found[name["name"]] = argument["abstract"]
    for each in command.get("subcommands", []):
        found = common(each) | found
    return found


def section(command: dict, path: list[str]) -> list[str]:
    path = [*path, command["commandName"]]
    lines = [f"{'#' * len(path)} {' '.join(path)}", "", sentence(command["abstract"]), "", *discussion(command.get("discussion", ""))]
    rows = [argument_row(each) for each in command.get("arguments", []) if is_own(each)]
    lines += table(["option", "meaning"], rows) if rows else []
    for each in command.get("subcommands", []):
        if each["commandName"] != "help":
            lines += section(each, path)
    return lines


def is_own(argument: dict) -> bool:
    names = {name["name"] for name in argument.get("names", [])}
    return argument.get("shouldDisplay", True) and not names & {"help", "version", "config", "environment-file"}


def argument_row(argument: dict) -> list[str]:
    """Names with the value's, and the text with the default."""
    names = [("-" if name["kind"] == "short" else "--") + name["name"] for name in argument.get("names", [])]
    value = "" if argument["kind"] == "flag" else argument["valueName"].upper()
    text = plain(sentence(argument.get("abstract", "")))
    if argument.get("defaultValue"):
        text += f" Default: {argument['defaultValue']}."
    return [f"`{' '.join(filter(None, [', '.join(names), value]))}`", text]


def discussion(text: str) -> list[str]:
    """Paragraphs, with examples as shell code and indented lists as lists."""
    lines: list[str] = []
    for block in filter(None, text.split("\n\n")):
        rows = block.split("\n")
        if match := re.match(r"Example: (.*)$", block):
            lines += ["```sh", match[1], "```", ""]
        elif rows[0] == "Examples:":
            lines += ["```sh", *(row[2:] for row in rows[1:]), "```", ""]
        elif rows[0].startswith("  "):
            lines += [f"- `{row.split()[0]}`: {plain(sentence(row.split(maxsplit=1)[1]))}" for row in rows] + [""]
        elif len(rows) > 1 and rows[1].startswith("  "):
            lines += [*wrapped(plain(rows[0])), "```text", *(row[2:] for row in rows[1:]), "```", ""]
        else:
            lines += wrapped(plain(block))
    return lines
