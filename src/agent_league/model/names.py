"""Names from outside: which of them may name a file, which may be shown to people, and how they are shown."""

import re
import unicodedata

CHECK_LEAGUE = "league_check"
"""The league of `league check`: what is played in it is no match, and leaves no trace."""
_SAFE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}", re.ASCII)


def is_safe_name(name: str) -> bool:
    """Whether an id from outside may name a file."""
    return _SAFE.fullmatch(name) is not None


def is_showable(name: str) -> bool:
    """Whether a name can be shown as it is: nothing in it that a terminal obeys or that nobody sees."""
    return name.isprintable() and not name.isspace()


def likeness(name: str) -> str:
    """What is the same for names that differ in case, width, blanks or the way their accents are written."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def printable(text: str) -> str:
    """Somebody else's words for a terminal: whatever it would obey is spelled out."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)
