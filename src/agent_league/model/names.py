"""Names from outside: which of them may name a file, which may be shown to people, and how they are shown."""

import re
import unicodedata
from collections.abc import Sequence
from difflib import get_close_matches

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


def there_are(name: str, known: Sequence[str]) -> str:
    """What there is in place of a name that isn't there, in brackets; one that is much like it first."""
    near = get_close_matches(name, known, n=1, cutoff=0.7)
    meant = f"did you mean {near[0]}? " if near else ""
    return f"({meant}there are: {', '.join(known) or 'none'})"


def printable(text: str) -> str:
    """Somebody else's words for a terminal: whatever it would obey is spelled out."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)
