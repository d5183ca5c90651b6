"""Words that user-visible text does not use, with the field's words for them, and where a word is right all the same."""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Denied:
    words: str
    instead: str
    # Phrases in which the word is right, with the reason.
    allowed: tuple[tuple[str, str], ...] = ()
    # Words that make it right in the whole sentence, with the reason.
    beside: tuple[tuple[str, str], ...] = ()

    @property
    def pattern(self) -> re.Pattern:
        return re.compile(rf"\b(?:{self.words})\b", re.IGNORECASE)


DENIED = [
    Denied("tell|tells|told|telling", "report, log, return"),
    Denied(
        "fault|faults|faulty",
        "error",
        ((r"\ba fault (?=is an object|has no|needs an)|list of faults", "the local pool's faults on request, /_local/faults"),),
    ),
    Denied("generation|generations", "configuration snapshot", ((r"key generation", "the making of a key"),)),
    Denied("conduct", "limits and audit"),
    # The noun; users notice, and a log has a level of that name.
    Denied("(?:an?|the|each|every|this|that|such|of|by) notices?", "webhook event"),
    Denied("arrival|arrivals", "sign-in"),
    Denied("kept|held", "stored, cached"),
    Denied("surroundings", "dependencies"),
    Denied(
        "answer|answers|answered|answering",
        "response, respond",
        (
            (r"the answer is (?:yes|no)", "a question's answer, with the exit status"),
            (r"does not start or answer", "the title of a chapter that alerts name"),
            (r"answers each comment|send the answer", "people answer"),
        ),
        ((r"challenge|one more step", "a client answers a challenge"), (r"question", "a question's answer")),
    ),
    Denied("road|roads", "path, flow"),
    Denied(
        "way|ways",
        "path, flow",
        (
            (r"the same way|in (?:this|that|another|two|any|no other|one) ways?|either way|both ways|(?:only|best|simplest) way|find your way|under way", "manner, not path"),
        ),
    ),
    Denied("is to be|are to be", "must"),
]


def denied(text: str) -> list[str]:
    """The denied words in a text, each with the words instead and its sentence."""
    found = []
    for sentence in re.split(r"(?<=[.!?])\s+", text):
        for rule in DENIED:
            if any(re.search(word, sentence, re.IGNORECASE) for word, _ in rule.beside):
                continue
            rest = sentence
            for phrase, _ in rule.allowed:
                rest = re.sub(phrase, "", rest, flags=re.IGNORECASE)
            found += [f"{match[0]!r} (write {rule.instead}): {' '.join(sentence.split())}" for match in rule.pattern.finditer(rest)]
    return found


# MARK: Text of sources

LITERAL = re.compile(r'"""\n(?P<many>.*?)"""|#"(?P<raw>[^\n]*?)"#|"(?P<one>(?:[^"\\\n]|\\[^(]|\\\((?:[^()"]|"[^"]*"|\((?:[^()]|\([^()]*\))*\))*\))*)"', re.DOTALL)
SQL = re.compile(r"\b(?:SELECT|INSERT|UPDATE|DELETE FROM|CREATE|PRAGMA|WHERE|IS NULL|ALTER TABLE|DROP)\b")


def without_comments(code: str) -> str:
    """Swift without comments; text in quotes stays."""
    kept = re.compile(r'"""\n.*?"""|"(?:[^"\\\n]|\\.)*"|(?P<comment>//[^\n]*|/\*.*?\*/)', re.DOTALL)
    return kept.sub(lambda match: "" if match["comment"] else match[0], code)


def phrases(code: str) -> list[str]:
    """The texts in a Swift file that people may read: literals of more than one word that are no SQL."""
    found = []
    for match in LITERAL.finditer(without_comments(code)):
        text = match["many"] or match["raw"] or match["one"] or ""
        text = re.sub(r"\\\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)", "…", text)
        text = re.sub(r"\\\n\s*", "", text).replace("\\n", "\n").replace('\\"', '"')
        if " " in text.strip() and not SQL.search(text):
            found.append(text)
    return found
