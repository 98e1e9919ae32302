"""Names that others chose: which are safe as file names, which can be displayed, and which look alike."""

import re
import unicodedata
from collections.abc import Sequence
from difflib import get_close_matches
from functools import lru_cache

from agent_league.text import EMOJI_JOINERS

CHECK_LEAGUE = "league_check"
"""League id that `league check` uses; its matches are not recorded."""
MAX_NAME_LENGTH = 100
VERSION_EXPECTED = f"expected a version such as 1.0.0, of at most {MAX_NAME_LENGTH} characters that people can see"
_SAFE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}", re.ASCII)
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U00016fe4\U0001d159\U000e0100-\U000e01ef]"
)
"""Characters that show as nothing, though Unicode counts them as printable."""

_LATIN_LOOKALIKES = str.maketrans(
    "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0423\u0425\u0405\u0406\u0408\u0500"
    "\u051a\u051c\u04ba\u04c0\u0430\u0432\u0435\u043a\u043c\u043d\u043e\u0440\u0441\u0442\u0443\u0445"
    "\u0455\u0456\u0458\u0501\u051b\u051d\u04bb\u04cf\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c"
    "\u039d\u039f\u03a1\u03a4\u03a5\u03a7\u03b1\u03b3\u03b7\u03b9\u03ba\u03bd\u03bf\u03c1\u03c4\u03c5"
    "\u03c7\u03c9\u03f2\u03f3\u0131\u0251\u0261\u0269\u01c0\u0585\u0578\u057d\u0570\u0581",
    "ABEKMHOPCTYXSIJDQWHIabekmhopctyxsijdqwhlABEZHIKMNOPTYXaynikvoptuxwcjiagilonuhg",
)
"""Cyrillic, Greek, Armenian and other letters, and the Latin ones that they look like."""
_CONFUSABLE_CHARACTERS = str.maketrans("01|i", "olll")
"""Characters that look alike once letters are lower case."""
_AGENT_ID_FORMS = re.compile(r"(p|ref)\d+|player_\d{3,}|(player|referee):.*", re.ASCII)
_ROLE_NAMES = ("league_manager", "league manager", "leaguemanager", "referee", "player")


def is_safe_name(name: str) -> bool:
    """Whether an id is safe as the name of a file or folder."""
    return _SAFE_NAME.fullmatch(name) is not None


def is_displayable(name: str) -> bool:
    """Whether a name can be shown unchanged: no control characters, no invisible ones."""
    letters = EMOJI_JOINERS.sub("", name)
    return letters.isprintable() and bool(letters.strip()) and not _INVISIBLE.search(letters)


def is_agent_version(text: str) -> bool:
    """Whether an agent may name this as its version."""
    return is_displayable(text) and len(text) <= MAX_NAME_LENGTH


def normalise_confusables(name: str) -> str:
    """Return a key that is equal for names that people would confuse.

    It ignores case, width, spaces, invisible characters, how accents are encoded, and which of two lookalikes is used.
    """
    return _normalise_name(name).translate(_CONFUSABLE_CHARACTERS)


@lru_cache(maxsize=256)
def has_agent_id_form(name: str) -> bool:
    """Whether a name has the form of the ids that a league assigns, such as P01, REF02 or player_001."""
    return _AGENT_ID_FORMS.fullmatch(_normalise_name(name)) is not None


def is_reserved_name(name: str, role: str) -> bool:
    """Whether a name looks like an assigned id, or like another role than that of its owner."""
    plain = _normalise_name(name)
    return (plain in _ROLE_NAMES and plain != role) or has_agent_id_form(name)


def _normalise_name(name: str) -> str:
    """Normalise a name to lower-case Latin letters without invisible characters."""
    letters = _INVISIBLE.sub("", unicodedata.normalize("NFKC", EMOJI_JOINERS.sub("", name)))
    return " ".join(letters.translate(_LATIN_LOOKALIKES).casefold().split())


def list_known_names(name: str, known: Sequence[str]) -> str:
    """Format the known names, in brackets, for an error about an unknown one; suggests the closest."""
    near = get_close_matches(name, known, n=1, cutoff=0.7)
    meant = f"did you mean {near[0]}? " if near else ""
    return f"({meant}there are: {', '.join(known) or 'none'})"
