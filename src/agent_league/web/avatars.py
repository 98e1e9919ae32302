"""Avatars: for each player a colour and a small face, made of its name as it is shown, and always the same.

A player that has told a colour or a sign of its own has those. Knows nothing else of players: whoever goes by a
pseudonym has the face of the pseudonym. The colours of names stand in `base.css`, one class for each, with a shade for
either theme; a colour that was told is the ground in both, under black or white.
"""

from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING

from agent_league.model.looks import NO_LOOK, PlayerLook
from agent_league.text import EMOJI_JOINERS

if TYPE_CHECKING:
    from markupsafe import Markup

READABLE_CONTRAST = 4.5
SIGN_SIZES = (15, 11, 8.5)
"""The size of a sign of one, two and three characters; the picture is 24 wide."""
HUES = 12
"""Colours, the classes `hue-0` and so on."""
HEADS = (
    "M4 10a4 4 0 0 1 4-4h8a4 4 0 0 1 4 4v6a4 4 0 0 1-4 4H8a4 4 0 0 1-4-4z",
    "M12 5a8 7.5 0 0 1 0 16a8 7.5 0 0 1 0-16z",
    "M4 20v-6a8 8 0 0 1 16 0v6z",
    "M8 5.5h8l4.5 7.5-4.5 7.5H8L3.5 13z",
    "M4 6h16v8a8 7 0 0 1-16 0z",
    "M6 6h12l2.5 14h-17z",
)
TOPS = (
    "M11.3 2h1.4v5h-1.4z",
    "M7 1.6h1.4v6H7zm8.6 0H17v6h-1.4z",
    "M1 11h3.5v5H1zm18.5 0H23v5h-3.5z",
    "M8 3.4h8V8H8z",
    "M10.4 3a1.6 1.6 0 0 1 3.2 0v4h-3.2z",
    "M5 2.5l5 4H5zm14 0v4h-5z",
)
EYES = (
    "M7.4 12a1.6 1.6 0 1 1 3.2 0a1.6 1.6 0 1 1-3.2 0zm6 0a1.6 1.6 0 1 1 3.2 0a1.6 1.6 0 1 1-3.2 0z",
    "M6.6 10.6h10.8v3H6.6z",
    "M7.4 10.2h2.8V13.4H7.4zm6.4 0h2.8v3.2h-2.8z",
    "M8 9.6h1.8v4.4H8zm6.2 0H16V14h-1.8z",
    "M9.2 12a2.8 2.8 0 1 1 5.6 0a2.8 2.8 0 1 1-5.6 0z",
    "M7.2 11.2h3.6v1.7H7.2zm6.2.8a1.7 1.7 0 1 1 3.4 0a1.7 1.7 0 1 1-3.4 0z",
)
MOUTHS = (
    "M9 16.2h6v1.4H9z",
    "M8.6 15.8h6.8a3.4 2.6 0 0 1-6.8 0z",
    "M8.4 15.8h1.6v2.2H8.4zm2.8 0h1.6v2.2h-1.6zm2.8 0h1.6v2.2H14z",
    "M10.9 16.6a1.1 1.1 0 1 1 2.2 0a1.1 1.1 0 1 1-2.2 0z",
)


@lru_cache(maxsize=4096)
def draw_avatar(name: str, look: PlayerLook = NO_LOOK) -> "Markup":
    """Draw the face, or the sign, of a player as inline SVG; it is decoration, beside the name that is read out."""
    from markupsafe import Markup  # noqa: PLC0415 - comes with the templates

    hue, head, top, eyes, mouth = _choose_parts(name)
    frame = Markup('<svg class="avatar hue-{}" viewBox="0 0 24 24" aria-hidden="true">{}</svg>')
    head_path, face_path = f"{HEADS[head]}{TOPS[top]}", f"{EYES[eyes]}{MOUTHS[mouth]}"
    if look == NO_LOOK:
        paths = Markup('<path d="{}"/><path class="face" d="{}"/>').format(head_path, face_path)
        return frame.format(hue, paths)
    color, ink = look.color, choose_ink(look.color) if look.color else ""
    ground = Markup('<rect width="24" height="24"{}/>').format(_write_fill(color))
    if look.sign:
        size = SIGN_SIZES[len(EMOJI_JOINERS.sub("", look.sign)) - 1]
        sign = Markup('<text class="face" x="12" y="12" font-size="{}"{}>{}</text>')
        return frame.format(hue, ground + sign.format(size, _write_fill(ink), look.sign))
    paths = Markup('<path d="{}"{}/><path d="{}"{}/>')
    return frame.format(hue, ground + paths.format(head_path, _write_fill(ink), face_path, _write_fill(color)))


def choose_ink(color: str) -> str:
    """Return white or black, whichever is readable on a colour: white, where its contrast is that of text."""
    shares = (int(color[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in shares)
    luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    return "#ffffff" if 1.05 / (luminance + 0.05) >= READABLE_CONTRAST else "#000000"


def _write_fill(color: str) -> "Markup":
    """Write a colour as an attribute; without one, the style of the page has it."""
    from markupsafe import Markup  # noqa: PLC0415 - comes with the templates

    return Markup(' fill="{}"').format(color) if color else Markup("")


def find_hue(name: str) -> int:
    """Return the colour of a player of this name, as the number of its class."""
    return _choose_parts(name)[0]


def _choose_parts(name: str) -> tuple[int, int, int, int, int]:
    """Choose colour, head, top, eyes and mouth; names that differ only in capitals look alike."""
    drawn = blake2b(name.casefold().encode("utf-8", "surrogatepass"), digest_size=5).digest()
    hue, head, top, eyes, mouth = drawn
    return hue % HUES, head % len(HEADS), top % len(TOPS), eyes % len(EYES), mouth % len(MOUTHS)
