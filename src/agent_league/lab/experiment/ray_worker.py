"""What runs on a worker of a Ray cluster, once it is known to have our version. It knows nothing of Ray."""

import pickle
from dataclasses import replace
from typing import Any, Literal

from agent_league.errors import UserError
from agent_league.text import MAX_PHRASE, quote

Answer = tuple[Literal["played", "refused", "failed"], Any]
"""A pickled PieceResult, or a sentence."""


def play_packed_piece(packed: bytes, here: str, *, has_files: bool) -> Answer:
    """Play a pickled piece; an error is a sentence that begins with `here`, since not all errors can be pickled.

    With `has_files`, files of players are those that were sent, in the current folder, never a namesake's in the place
    that they came from.
    """
    try:
        piece = pickle.loads(packed)  # noqa: S301 - our own engine made it
        if has_files:
            one, other = (replace(player, home="") for player in piece.players)
            piece = replace(piece, players=(one, other))
        return "played", pickle.dumps(piece.run())
    except UserError as error:
        return "refused", f"{here}: {error}"
    except Exception as error:  # noqa: BLE001 - told where the command is
        return "failed", f"{here}: {quote(repr(error), MAX_PHRASE)}"
