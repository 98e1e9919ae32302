"""Looks: the colour and the sign that a player's registration may tell, and which of them are taken.

Knows no page: `web/avatars.py` draws them.
"""

import re
from dataclasses import dataclass
from typing import Any

from agent_league.model.names import is_displayable
from agent_league.text import EMOJI_JOINERS, quote

MAX_SIGN_LENGTH = 3
"""Characters of a sign; the invisible ones that belong to an emoji are not counted."""
COLOR_FORM = "#[0-9a-fA-F]{6}"
COLOR_EXPECTED = "a colour in the form #rrggbb, such as #c0392b"
SIGN_EXPECTED = "one to three characters that people can see, such as an emoji or initials"


@dataclass(frozen=True, slots=True)
class PlayerLook:
    """What a player has told of its look; what is empty is made of its name."""

    color: str = ""
    """In the form #rrggbb, in small letters."""
    sign: str = ""
    """The text that is shown in place of a face."""


NO_LOOK = PlayerLook()


def is_color(text: Any) -> bool:
    """Whether a player may have this as its colour."""
    return isinstance(text, str) and re.fullmatch(COLOR_FORM, text, re.ASCII) is not None


def is_sign(text: Any) -> bool:
    """Whether a player may have this as its sign: short, without spaces, and nothing in it is hidden."""
    if not isinstance(text, str) or not is_displayable(text) or text.split() != [text]:
        return False
    return len(EMOJI_JOINERS.sub("", text)) <= MAX_SIGN_LENGTH


def read_look(color: Any, avatar: Any) -> tuple[PlayerLook, tuple[str, ...]]:
    """Return the look that a registration tells, and a deviation for each value that can't be taken and is left out.

    Null and an empty text tell nothing.
    """
    noted = []
    if color not in (None, "") and not is_color(color):
        noted.append(f"'color' {quote(color)} isn't {COLOR_EXPECTED}: left out")
    if avatar not in (None, "") and not is_sign(avatar):
        noted.append(f"'avatar' {quote(avatar)} isn't {SIGN_EXPECTED}: left out")
    return PlayerLook(color.lower() if is_color(color) else "", avatar if is_sign(avatar) else ""), tuple(noted)
