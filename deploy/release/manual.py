"""Makes gatehouse(1) of the help that the binary dumps as JSON (standard input), so that both say the same."""

import json
import os
import sys
import time


def escaped(text: str) -> str:
    """Text as roff takes it: no control lines, no escapes, hyphens that are searched for as hyphens."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    # Characters beyond ASCII as groff names them.
    text = "".join(each if ord(each) < 128 else f"\\[u{ord(each):04X}]" for each in text)
    return "\n".join("\\&" + line if line.startswith((".", "'")) else line for line in text.split("\n"))


def option(argument: dict) -> str:
    names = ", ".join(("\\-" if name["kind"] == "short" else "\\-\\-") + escaped(name["name"]) for name in argument.get("names", []))
    if not names:  # an argument without a name, such as an id
        return f".TP\n\\fI{escaped(argument['valueName'])}\\fR\n{escaped(argument.get('abstract', ''))}"
    value = "" if argument["kind"] == "flag" else f" \\fI{escaped(argument.get('valueName', ''))}\\fR"
    return f".TP\n\\fB{names}\\fR{value}\n{escaped(argument.get('abstract', ''))}"


def discussion(text: str) -> list[str]:
    """Paragraphs are filled; what is indented (examples, lists) stays line by line."""
    lines: list[str] = []
    for block in text.split("\n\n"):
        is_kept = any(line.startswith("  ") for line in block.split("\n"))
        lines += [".PP", ".nf", escaped(block), ".fi"] if is_kept else [".PP", escaped(block)]
    return lines


def section(command: dict, path: list[str]) -> list[str]:
    """A command with its options, and those below it."""
    name = [*path, command["commandName"]]
    lines = [f'.SS "{escaped(" ".join(name))}"', escaped(command.get("abstract", ""))]
    if command.get("discussion"):
        lines += discussion(command["discussion"])
    for argument in command.get("arguments", []):
        names = {name["name"] for name in argument.get("names", [])}
        if argument.get("shouldDisplay", True) and not names & {"help", "version"}:
            lines.append(option(argument))
    for each in command.get("subcommands", []):
        if each["commandName"] != "help":
            lines += section(each, name)
    return lines


def manual(command: dict, version: str) -> str:
    date = time.strftime("%Y-%m-%d", time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"])))
    lines = [
        f'.TH GATEHOUSE 1 "{date}" "gatehouse {version}"',
        ".SH NAME",
        f"gatehouse \\- {escaped(command['abstract'].rstrip('.'))}",
        ".SH SYNOPSIS",
        "\\fBgatehouse\\fR \\fIcommand\\fR [\\fIoptions\\fR]",
        ".SH DESCRIPTION",
        *discussion(command["discussion"]),
        ".SH COMMANDS",
    ]
    for each in command["subcommands"]:
        if each["commandName"] != "help":
            lines += section(each, ["gatehouse"])
    lines += [
        ".SH FILES",
        ".TP",
        "\\fI/etc/gatehouse/gatehouse.yaml\\fR",
        "The configuration; every key is explained in \\fI/usr/share/doc/gatehouse/examples/gatehouse.yaml\\fR.",
        ".TP",
        "\\fI/var/lib/gatehouse\\fR",
        "The gateway's own keys, sessions and revocations. Back it up.",
        ".SH ENVIRONMENT",
        ".TP",
        "\\fBGATEHOUSE_CONFIG_YAML\\fR",
        "The text of the configuration, if there is no \\-\\-config.",
        ".TP",
        "\\fBNOTIFY_SOCKET\\fR",
        "Socket on which \\fBserve\\fR notifies the service manager (sd_notify(3)).",
        ".TP",
        "\\fBNO_COLOR\\fR",
        "If not empty, output on a terminal has no colours.",
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(manual(json.load(sys.stdin)["command"], sys.argv[1]))
