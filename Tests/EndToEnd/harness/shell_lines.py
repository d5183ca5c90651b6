"""The calls of `gatehouse` in shell code, and whether such commands and options exist."""

import re
import shlex

# Words that may stand before a command: they run it.
RUNS = {"sudo", "env", "exec", "time", "nohup"}


def calls(code: str, root: dict) -> list[list[str]]:
    """The words of each simple command that runs gatehouse, from its first argument on. `root` is the command of
    `gatehouse reference`."""
    names = {each["commandName"] for each in root["subcommands"]}
    found = []
    for line in re.sub(r"\\\n\s*", " ", _without_heredocs(code)).splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;()<>")
        lexer.whitespace_split = True
        lexer.commenters = "#"
        try:
            words = list(lexer)
        except ValueError:
            # A quoted text over several lines.
            words = line.split()
        for simple in _simple_commands(words):
            if (arguments := _arguments(simple, names)) is not None:
                found.append(arguments)
    return found


def _without_heredocs(code: str) -> str:
    return re.sub(r"<<-?\s*['\"]?(\w+)['\"]?([^\n]*)\n.*?\n\s*\1(?=\n|$)", r"\2", code, flags=re.DOTALL)


def _simple_commands(words: list[str]) -> list[list[str]]:
    commands: list[list[str]] = [[]]
    skip = False
    for word in words:
        if re.fullmatch(r"[|&;()]+", word):
            commands.append([])
        elif re.fullmatch(r"\d*[<>&]+", word):
            skip = True
        elif skip:
            skip = False
        else:
            commands[-1].append(word)
    return commands


def _arguments(words: list[str], names: set[str]) -> list[str] | None:
    """None where the command does not run gatehouse. Other programs run it, as in a container, by a command's name."""
    places = [index for index, word in enumerate(words) if word.rsplit("/", 1)[-1] == "gatehouse"]
    for index in places:
        if all(each in RUNS or each.startswith("-") or "=" in each for each in words[:index]):
            return words[index + 1 :]
    by_others = [index for index in places if words[index + 1 : index + 2] and words[index + 1] in names]
    return words[by_others[-1] + 1 :] if by_others else None


def unknown(arguments: list[str], root: dict) -> str | None:
    """The first word of a call that the program does not know; `root` as in :func:`calls`."""
    command, names = root, ["gatehouse"]
    known = {"--help", "-h", "--version", "--generate-completion-script"}
    for word in arguments:
        if word.startswith("-") and word != "-":
            if word.split("=")[0] not in known | _options(command):
                return f"{' '.join(names)} has no option {word}"
        elif command.get("subcommands") and not (command is root and "--generate-completion-script" in arguments):
            inner = next((each for each in command["subcommands"] if each["commandName"] == word), None)
            if inner is None:
                return f"{' '.join(names)} has no command {word}"
            command, names = inner, [*names, word]
    return None


def _options(command: dict) -> set[str]:
    return {f"--{name['name']}" for each in command.get("arguments", []) for name in each.get("names", []) if name["kind"] == "long"}
