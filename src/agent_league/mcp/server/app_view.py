"""The view of MCP Apps: one page (`view.html`) that hosts may show beside the text of a tool's answer.

It draws standings, a match and open turns from the answer itself; positions come along as scenes in the result's
`_meta`, which models don't read. The page loads nothing and puts all it is told into text nodes. Imports the SDK.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from functools import cache
from importlib.resources import files
from typing import Any

import mcp_types as types
import orjson
from mcp.server.apps import APP_MIME_TYPE, EXTENSION_ID, ResourceCsp

from agent_league.games.scene import Scene
from agent_league.games.view import build_scene, render_view
from agent_league.referee.match import SEAT_ROLES
from agent_league.referee.replay import MatchReplay, ReplayStep, replay_match
from agent_league.text import format_move

VIEW_URI = "ui://agent-league/view.html"
SCENES_KEY = "agent-league/scenes"
"""Where in a result's `_meta` the positions are: those of a match in order, or those of open turns by their ids."""
MAX_STEPS = 60
"""Positions of a match that come along."""
MAX_SCENES_BYTES = 200_000
"""Bytes of all positions that come along; of a match with larger ones fewer do, of turns none."""
MAX_MOVE_LENGTH = 60
TOOL_META: Mapping[str, Any] = {"ui": {"resourceUri": VIEW_URI}}
RESOURCE_META: Mapping[str, Any] = {
    "ui": {
        "csp": ResourceCsp(connect_domains=[], resource_domains=[]).model_dump(by_alias=True, exclude_none=True),
        "prefersBorder": True,
    }
}
EXTENSIONS: Mapping[str, dict[str, Any]] = {EXTENSION_ID: {"mimeTypes": [APP_MIME_TYPE]}}
"""What a server with the view tells of itself."""


def describe_view() -> types.Resource:
    """The view as a resource, for the list of resources."""
    return types.Resource(
        uri=VIEW_URI,
        name="view",
        title="Table, match and turns",
        description="A page for hosts that show MCP Apps; it needs nothing from outside.",
        mime_type=APP_MIME_TYPE,
        _meta=dict(RESOURCE_META),
    )


def read_view() -> types.ReadResourceResult:
    """The page itself."""
    page = types.TextResourceContents(
        uri=VIEW_URI, mime_type=APP_MIME_TYPE, text=_load_page(), _meta=dict(RESOURCE_META)
    )
    return types.ReadResourceResult(contents=[page])


def make_match_scenes(match: Mapping[str, Any], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The positions of a finished match, from a `get_match` answer; empty while it is played."""
    result = match.get("result")
    if not isinstance(result, dict):
        return {}
    pair = {player["role_in_match"]: player["player_id"] for player in match["players"]}
    content = {
        "game_type": match["game_type"],
        "game_parameters": parameters,
        "players": {role: pair.get(role) for role in SEAT_ROLES},
        "result": {**result["details"], "status": result["status"]},
        "transcript": match.get("transcript") or [],
    }
    replay, most = replay_match(content, most=MAX_STEPS), MAX_STEPS
    while most:
        steps, note = replay.select_steps(most)
        drawn = {"steps": [_draw_step(replay, step) for step in steps], "note": note or replay.shortfall}
        if _is_small(drawn):
            return {SCENES_KEY: drawn}
        most = min(most, len(steps)) // 2
    return {}


def make_turn_scenes(turns: Iterable[tuple[str, str, Any, int | None]]) -> dict[str, Any]:
    """The positions of open turns, each given by its id, game, view and the seat that sees it."""
    drawn = {turn_id: _draw(game_type, view, seat) for turn_id, game_type, view, seat in turns}
    return {SCENES_KEY: {"turns": drawn}} if drawn and _is_small(drawn) else {}


def _is_small(drawn: Mapping[str, Any]) -> bool:
    return len(orjson.dumps(drawn)) <= MAX_SCENES_BYTES


def _draw_step(replay: MatchReplay, step: ReplayStep) -> dict[str, Any]:
    moves = [[seat, format_move(move, MAX_MOVE_LENGTH)] for seat, move in step.moves.items()]
    return {"moves": moves, **_draw(replay.game_type, step.view, None, step.moves)}


def _draw(game_type: str, view: Any, seat: int | None, last: Mapping[int, Any] | None = None) -> dict[str, Any]:
    scene = build_scene(game_type, view, seat, last)
    return {"scene": _to_json(scene)} if scene else {"picture": render_view(game_type, view, seat)}


def _to_json(scene: Scene) -> dict[str, Any]:
    return {"parts": [{"kind": type(part).__name__, **asdict(part)} for part in scene.parts], "said": scene.said}


@cache
def _load_page() -> str:
    return files("agent_league.mcp.server").joinpath("view.html").read_text(encoding="utf-8")
