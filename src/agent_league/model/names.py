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

_TWINS = str.maketrans(
    "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0423\u0425\u0405\u0406\u0408\u0500"
    "\u051a\u051c\u04ba\u04c0\u0430\u0432\u0435\u043a\u043c\u043d\u043e\u0440\u0441\u0442\u0443\u0445"
    "\u0455\u0456\u0458\u0501\u051b\u051d\u04bb\u04cf\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c"
    "\u039d\u039f\u03a1\u03a4\u03a5\u03a7\u03b1\u03b3\u03b7\u03b9\u03ba\u03bd\u03bf\u03c1\u03c4\u03c5"
    "\u03c7\u03c9\u03f2\u03f3\u0131\u0251\u0261\u0269\u01c0\u0585\u0578\u057d\u0570\u0581",
    "ABEKMHOPCTYXSIJDQWHIabekmhopctyxsijdqwhlABEZHIKMNOPTYXaynikvoptuxwcjiagilonuhg",
)
"""Cyrillic, Greek, Armenian and other letters that look like these Latin ones."""
_ALIKE = str.maketrans("01|i", "olll")
"""Signs that people take for one another once letters are small."""
_IDS = re.compile(r"(p|ref)\d+|player_\d{3,}|(player|referee):.*", re.ASCII)
_ROLES = ("league_manager", "league manager", "leaguemanager", "referee", "player")


def is_safe_name(name: str) -> bool:
    """Whether an id from outside may name a file."""
    return _SAFE.fullmatch(name) is not None


def is_showable(name: str) -> bool:
    """Whether a name can be shown as it is: nothing in it that a terminal obeys or that nobody sees."""
    letters = _JOINED.sub("", name)
    return letters.isprintable() and bool(letters.strip()) and not _UNSEEN.search(letters)


def likeness(name: str) -> str:
    """What is the same for names that people would take for one another.

    They differ in case, width, blanks, what nobody sees, how accents are written, or in letters that look alike.
    """
    return _normalised(name).translate(_ALIKE)


def is_league_id(name: str) -> bool:
    """Whether a name has the form of the ids that a league gives, such as P01, REF02 or player_001."""
    return _IDS.fullmatch(_normalised(name)) is not None


def is_reserved(name: str, role: str) -> bool:
    """Whether a name looks like an id of the league, or like a role other than that of its owner."""
    plain = _normalised(name)
    return (plain in _ROLES and plain != role) or is_league_id(name)


def _normalised(name: str) -> str:
    """A name in small letters of one script, without what nobody sees."""
    letters = _UNSEEN.sub("", unicodedata.normalize("NFKC", _JOINED.sub("", name)))
    return " ".join(letters.translate(_TWINS).casefold().split())


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
