"""The positions that come along for the view of MCP Apps: as many as fit."""

from typing import Any

import orjson
import pytest

from agent_league.launch.in_process import play_in_process
from agent_league.mcp.server import app_view
from agent_league.mcp.server.app_view import SCENES_KEY, make_match_scenes, make_turn_scenes
from tests.conftest import PlanMaker


async def play_match(plan: PlanMaker) -> dict[str, Any]:
    """A match of Connect Four, as `get_match` answers it."""
    manager, _ = await play_in_process(plan(players=2, referees=1, game="connect_four", seed="7"))
    match: dict[str, Any] = await manager.dispatcher.call_method("get_match", {"match_id": "R1M1"})
    return match


async def test_of_a_match_with_large_positions_fewer_come_along(
    plan: PlanMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    match = await play_match(plan)
    whole = make_match_scenes(match, {})[SCENES_KEY]
    assert (len(whole["steps"]) > 7, whole["note"]) == (True, "")
    monkeypatch.setattr(app_view, "MAX_SCENES_BYTES", len(orjson.dumps(whole)) // 2)
    part = make_match_scenes(match, {})[SCENES_KEY]
    assert part["steps"] == whole["steps"][: len(part["steps"])]
    assert part["note"].startswith(f"The first {len(part['steps']) - 1} of ")
    assert len(orjson.dumps(part)) <= app_view.MAX_SCENES_BYTES
    monkeypatch.setattr(app_view, "MAX_SCENES_BYTES", 10)
    assert make_match_scenes(match, {}) == {}


def test_turns_whose_positions_are_too_large_come_without_them(monkeypatch: pytest.MonkeyPatch) -> None:
    turn = ("T1", "tic_tac_toe", {"board": "." * 9, "turn": 0, "winner": None}, 0)
    assert make_turn_scenes([turn])[SCENES_KEY]["turns"].keys() == {"T1"}
    monkeypatch.setattr(app_view, "MAX_SCENES_BYTES", 10)
    assert make_turn_scenes([turn]) == {}
