"""Names from outside: which of them may name a file, which may be shown to people, and how they are shown."""

import re
import unicodedata
from collections.abc import Sequence
from difflib import get_close_matches

CHECK_LEAGUE = "league_check"
"""The league of `league check`: what is played in it is no match, and leaves no trace."""
LONGEST_NAME = 100
_SAFE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}", re.ASCII)
_PICTURE = "\u00a9\u00ae\u203c\u2049\u2100-\u27bf\u2900-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
_JOINED = re.compile(f"(?<=[{_PICTURE}#*0-9])[\ufe0e\ufe0f]|(?<=[{_PICTURE}\ufe0f])\u200d(?=[{_PICTURE}])")
"""What nobody sees, but belongs to a picture: how it is to be drawn, and that two of them are one."""
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U00016fe4\U0001d159\U000e0100-\U000e01ef]"
)
"""What is printed as nothing, though Unicode counts it among the printable."""


def is_safe_name(name: str) -> bool:
    """Whether an id from outside may name a file."""
    return _SAFE.fullmatch(name) is not None


def is_showable(name: str) -> bool:
    """Whether a name can be shown as it is: nothing in it that a terminal obeys or that nobody sees."""
    letters = _JOINED.sub("", name)
    return letters.isprintable() and bool(letters.strip()) and not _UNSEEN.search(letters)


def likeness(name: str) -> str:
    """What is the same for names that differ in case, width, blanks, what nobody sees, or how accents are written."""
    letters = _UNSEEN.sub("", unicodedata.normalize("NFKC", _JOINED.sub("", name)))
    return " ".join(letters.casefold().split())


def there_are(name: str, known: Sequence[str]) -> str:
    """What there is in place of a name that isn't there, in brackets; one that is much like it first."""
    near = get_close_matches(name, known, n=1, cutoff=0.7)
    meant = f"did you mean {near[0]}? " if near else ""
    return f"({meant}there are: {', '.join(known) or 'none'})"


def printable(text: str) -> str:
    """Somebody else's words for a terminal: whatever it would obey is spelled out."""
    if text.isprintable():
        return text
    joints = {found.start() for found in _JOINED.finditer(text)}
    return "".join(
        letter if letter.isprintable() or at in joints else ascii(letter)[1:-1] for at, letter in enumerate(text)
    )
