"""The boards being played, as a section of the overview: positions that referees tell, made into scenes to be drawn.

What may be seen of a match is decided by its referee (`games/public_view`); here strangers' views become valid scenes.
"""

from typing import Any

from agent_league.games.view import build_scene, render_view
from agent_league.league.live_positions import MatchPosition
from agent_league.model.match_view import MatchView
from agent_league.model.result_words import format_count
from agent_league.web.league_reader import LeagueReader

SEATS = "ab"


def read_boards(reader: LeagueReader) -> dict[str, Any]:
    """Read the matches on the boards; asks for their positions anew. Empty unless the league runs in a manager."""
    if reader.live_positions is None:
        return {"boards": []}
    shown = reader.live_positions.look()
    return {
        "boards": [
            _build_board(reader.queries.view_match(reader.state.get_pairing(match_id)), position)
            for match_id, position in shown
        ]
    }


def _build_board(match: MatchView, position: MatchPosition | None) -> dict[str, Any]:
    scene = text = None
    if position:
        scene = build_scene(match.game_type, position.view, None, position.last)
        text = None if scene else render_view(match.game_type, position.view, None)
    return {
        "match_id": match.match_id,
        "is_over": match.result is not None,
        "ending": match.ending,
        "scene": scene,
        "text": text,
        "moves": format_count(position.moves, "move") if position else "",
        "players": [
            {
                "player_id": player_id,
                "display_name": name,
                "side": SEATS[seat],
                "is_to_move": bool(position and match.result is None and seat in position.waiting_for),
                "is_winner": match.winner == player_id,
            }
            for seat, (player_id, name) in enumerate(match.names.items())
        ],
    }
