"""What a player tells whoever watches it: each thing once, and in plain data."""

from pathlib import Path
from typing import Any

import pytest

from agent_league.config import ConfigLoader
from agent_league.model.results import StandingsRow
from agent_league.players import app
from agent_league.players.events import (
    GameErrorReported,
    LeagueJoined,
    LeagueOver,
    PlayerEvent,
    RoundAnnounced,
    StandingsChanged,
)
from tests.players.chair import LEAGUE, chair, from_referee

COMPLETED: dict[str, Any] = {
    "total_rounds": 1,
    "total_matches": 1,
    "champion": {"player_id": "P02", "display_name": "Beta", "points": 3},
    "final_standings": [{"rank": 1, "player_id": "P02", "points": 3}, {"rank": 2, "player_id": "P01", "points": 1}],
}
ROW = {
    "rank": 1,
    "player_id": "P02",
    "display_name": "Beta",
    "played": 1,
    "wins": 1,
    "draws": 0,
    "losses": 0,
    "points": 3,
}


def match(match_id: str, player_a: str, player_b: str) -> dict[str, str]:
    players = {"player_A_id": player_a, "player_B_id": player_b}
    return {"match_id": match_id, "game_type": "even_odd", **players, "referee_endpoint": "http://localhost:8001/mcp"}


async def test_rounds_tables_errors_and_the_end_are_told_as_they_come(home: Path) -> None:
    async with chair(home) as seat:

        async def notice(method: str, message_type: str, **fields: Any) -> None:
            assert await seat.call(method, seat.manager.build_message(message_type, **fields)) == {"status": "ok"}

        matches = [match("R1M1", "P03", "P04"), match("R1M2", "P02", "P01")]
        await notice("notify_round", "ROUND_ANNOUNCEMENT", round_id=1, matches=matches)
        await notice("notify_round", "ROUND_ANNOUNCEMENT", round_id=2, matches=matches[:1])
        await notice("update_standings", "LEAGUE_STANDINGS_UPDATE", round_id=1, standings=[ROW])
        error = from_referee("GAME_ERROR", error_code="E001", message="no answer", consequence="asked again")
        await seat.call("notify_game_error", error)
        await notice("notify_league_completed", "LEAGUE_COMPLETED", **COMPLETED)
        await notice("notify_league_completed", "LEAGUE_COMPLETED", **COMPLETED)
    told: list[PlayerEvent] = [happening for _, happening in seat.told]
    assert told == [
        LeagueJoined(LEAGUE),
        RoundAnnounced(1, "R1M2", "P02"),
        RoundAnnounced(2),
        StandingsChanged(1, (StandingsRow(1, "P02", "Beta", 1, 1, 0, 0, 3, 1),)),
        GameErrorReported("R1M1", "E001", "no answer", "asked again"),
        LeagueOver(("P02",), rank=2, points=1),
    ]


async def test_of_what_nobody_watches_nothing_is_made(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def made(*_: Any) -> None:
        raise AssertionError("nobody looks at this")

    for name in ("to_standings_row", "_round_event", "InvitationAnswered", "build_resource_uri"):
        monkeypatch.setattr(app, name, made)
    async with chair(home) as seat:
        seat.player._on_event = None
        await seat.plays("R1M1")
        announced = seat.manager.build_message("ROUND_ANNOUNCEMENT", round_id=1, matches=[match("R1M1", "P01", "P02")])
        assert await seat.call("notify_round", announced) == {"status": "ok"}
        table = seat.manager.build_message("LEAGUE_STANDINGS_UPDATE", round_id=1, standings=[ROW])
        assert await seat.call("update_standings", table) == {"status": "ok"}


@pytest.mark.parametrize("wrong", [{"rank": "first"}, {"points": None}, {"player_id": 7}, {"wins": True}])
async def test_a_table_with_a_wrong_row_is_refused_whether_or_not_anybody_looks(home: Path, wrong: Any) -> None:
    strict = ConfigLoader(home, {"tolerance.strict": True}).load_system()
    async with chair(home, system=strict) as seat:
        seat.player._on_event = None
        notice = seat.manager.build_message("LEAGUE_STANDINGS_UPDATE", round_id=1, standings=[ROW, {**ROW, **wrong}])
        answer = await seat.call("update_standings", notice)
    (name,) = wrong
    assert (answer["message_type"], answer["error_code"]) == ("LEAGUE_ERROR", "E002")
    assert answer["context"]["field"] == f"standings.1.{name}"
