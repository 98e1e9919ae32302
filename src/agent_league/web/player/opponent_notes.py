"""What a player has learned about its opponents, from its `history.json`; shown only once the league is over."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_league.players.history import OpponentModel
from agent_league.players.observation import GameRecord
from agent_league.storage.files import read_json_object
from agent_league.text import to_printable
from agent_league.web.player.habits import MOST_REPLIES, MoveShare, compute_shares

LARGEST_FILE = 16 * 1024 * 1024
OUTCOMES = ("WIN", "DRAW", "LOSS", "TECHNICAL_LOSS")


@dataclass(frozen=True, slots=True)
class OpponentNote:
    """What a player has learned about one opponent."""

    opponent_id: str
    games: int
    moves: Sequence[MoveShare]
    transitions: Sequence[MoveShare]
    """Frequencies of the opponent's moves after its previous ones."""


def read_opponent_notes(
    file: Path, display_name: str, league_id: str, opponents: Mapping[str, str]
) -> list[OpponentNote]:
    """Read a player's notes about its matches in this league; `opponents` maps match ids to opponents.

    A history file may span several leagues, in which an id means different players: only this league's matches count.
    Returns nothing if the file is missing, too large or another player's.
    """
    try:
        if file.stat().st_size > LARGEST_FILE:
            return []
    except OSError:
        return []
    found = read_json_object(file) or {}
    matches = found.get("matches")
    if found.get("display_name") != display_name or not isinstance(matches, list):
        return []
    games = {match["match_id"]: match for match in matches if _belongs_to_league(match, league_id, opponents)}
    models: dict[str, OpponentModel] = {}
    for game in games.values():
        models.setdefault(game["opponent_id"], OpponentModel()).add_game(_parse_record(game))
    return [_summarise_model(opponent_id, model) for opponent_id, model in models.items()]


def _belongs_to_league(match: Any, league_id: str, opponents: Mapping[str, str]) -> bool:
    if not isinstance(match, dict) or match.get("league_id") != league_id or match.get("outcome") not in OUTCOMES:
        return False
    match_id, moves = match.get("match_id"), match.get("opponent_moves")
    is_ours = isinstance(match_id, str) and opponents.get(match_id, "") == match.get("opponent_id")
    return is_ours and isinstance(moves, list)


def _parse_record(game: Mapping[str, Any]) -> GameRecord:
    return GameRecord(
        match_id=game["match_id"],
        game_type="",
        opponent_id=game["opponent_id"],
        outcome=game["outcome"],
        my_moves=(),
        opponent_moves=tuple(to_printable(str(move)[:40]) for move in game["opponent_moves"]),
    )


def _summarise_model(opponent_id: str, model: OpponentModel) -> OpponentNote:
    arrows = {one.replace(">", " → ", 1): count for one, count in model.transitions.items()}
    return OpponentNote(
        opponent_id, model.games, compute_shares(model.moves, MOST_REPLIES), compute_shares(arrows, MOST_REPLIES)
    )
