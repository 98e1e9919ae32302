"""The boards being played: shown as they go to whoever looks, and never more than both players see."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import aiohttp
import pytest

from agent_league.agent.tasks import BackgroundTasks
from agent_league.errors import PeerTimeout
from agent_league.league.live_positions import ASK_SECONDS, LINGER_SECONDS, MAX_BOARDS, SILENT_SECONDS, LivePositions
from agent_league.league.reachability import AgentCaller
from agent_league.league.state import LeagueState
from agent_league.testing.virtual_time import in_virtual_time
from agent_league.web.league_reader import LeagueHistory, LeagueReader
from agent_league.web.live.boards import read_boards
from agent_league.web.pages.overview import OVERVIEW_PAGE
from tests.browser.stage import Hold, league_at
from tests.conftest import BOUND
from tests.harm import SCRIPT
from tests.web.browsing import text_of
from tests.web.seasons import result_of, season_of
from tests.web.serving import Stream, Visitor

LIVE = "?sections=boards&form=json"
Board = dict[str, Any]


@asynccontextmanager
async def watched(home: Path, game: str, hold: Hold, players: int = 2) -> AsyncIterator[Stream]:
    """The boards of a league that is being played, as a program reads them."""
    async with league_at(home, game=game, players=players, strategy=hold) as league:
        await league.start_manager()
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=BOUND)) as session,
            Visitor(session, league.url.rstrip("/")).listening(LIVE) as stream,
        ):
            await league.start_agents()
            yield stream
        hold.open()
        await league.over()


async def next_board(stream: Stream, **wanted: Any) -> Board:
    while message := await stream.next():
        for board in message.sections.get("boards", {}).get("boards", []):
            if all(board[name] == value for name, value in wanted.items()):
                return cast("Board", board)
    raise AssertionError(f"the stream ended before there was a board with {wanted}")


async def test_a_game_that_hides_nothing_is_shown_as_it_goes(tmp_path: Path) -> None:
    hold = Hold()
    async with watched(tmp_path / "SHARED", "tic_tac_toe", hold) as stream:
        first = await next_board(stream, moves="0 moves")
        assert [player["is_to_move"] for player in first["players"]] == [True, False]
        for made in (1, 2, 3):
            hold.let(1)
            board = await next_board(stream, moves=f"{made} move{'' if made == 1 else 's'}")
            cells = [cell for row in board["scene"]["parts"][0]["rows"] for cell in row]
            assert sum(cell["side"] is not None for cell in cells) == made
            assert sum(cell["is_last"] for cell in cells) == 1


async def test_of_a_game_with_secrets_only_what_both_see_is_shown(tmp_path: Path) -> None:
    hold = Hold()
    async with watched(tmp_path / "SHARED", "kuhn_poker", hold) as stream:
        for made in ("0 moves", "1 move"):
            board = await next_board(stream, moves=made)
            cards, *bets = board["scene"]["parts"]
            assert [(tile["is_card"], tile["text"]) for tile in cards["tiles"]] == [(True, "")] * 2
            assert len(bets) == (made == "1 move")
            hold.let(1)


class RecordingCaller:
    """Answers for all referees, and keeps what they were asked."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked: list[tuple[str, list[str]]] = []

    async def ask_agent(self, member: Any, limit: float, **params: Any) -> Any:
        self.asked.append((member.agent_id, params["match_ids"]))
        assert params["positions"] is True
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer(params["match_ids"]) if callable(self.answer) else self.answer


def tell_positions(match_ids: list[str]) -> Mapping[str, Any]:
    position = {"view": {"board": [None] * 9}, "moves": 0, "last": {}, "waiting_for": []}
    return {"matches": {}, "positions": dict.fromkeys(match_ids, position)}


def positions_of(state: LeagueState, answer: Any = tell_positions) -> tuple[LivePositions, RecordingCaller]:
    caller = RecordingCaller(answer)
    return LivePositions(state, cast("AgentCaller", caller), BackgroundTasks()), caller


def finish(state: LeagueState, match_id: str) -> None:
    state.record_result(result_of(state.get_pairing(match_id)), state.assigned_referees[match_id])


@in_virtual_time
async def test_nobody_is_asked_unless_somebody_looks_and_then_once_a_second() -> None:
    positions, caller = positions_of(season_of(16, 2, referees=1))
    await asyncio.sleep(10 * ASK_SECONDS)
    assert caller.asked == []
    for _ in range(20):
        positions.look()
        await asyncio.sleep(ASK_SECONDS / 10)
    assert len(caller.asked) == 2


@in_virtual_time
async def test_a_match_keeps_its_board_until_it_is_over_and_a_while_longer() -> None:
    state = season_of(40, 0, referees=4, room=40)
    positions, caller = positions_of(state)
    playing = [match_id for match_id, _ in positions.look()]
    assert len(playing) == MAX_BOARDS
    finish(state, playing[2])
    await asyncio.sleep(ASK_SECONDS)
    assert [match_id for match_id, _ in positions.look()] == playing
    await asyncio.sleep(LINGER_SECONDS)
    now = [match_id for match_id, _ in positions.look()]
    assert [place for place, match_id in enumerate(playing) if now[place] != match_id] == [2]
    await asyncio.sleep(ASK_SECONDS)
    last = [ids for _, ids in caller.asked if playing[2] in ids]
    assert len(last) == 2, "once in play, and once for its last position"


@pytest.mark.parametrize("answer", [PeerTimeout("no answer"), {"matches": {}}, [], "rubbish", {"positions": 7}])
@in_virtual_time
async def test_a_referee_that_has_no_positions_is_left_alone_for_a_while(answer: Any) -> None:
    positions, caller = positions_of(season_of(4, 0, referees=1), answer)
    for _ in range(int(SILENT_SECONDS) - 1):
        assert all(position is None for _, position in positions.look())
        await asyncio.sleep(ASK_SECONDS)
    assert len(caller.asked) == 1
    await asyncio.sleep(2 * ASK_SECONDS)
    positions.look()
    await asyncio.sleep(ASK_SECONDS)
    assert len(caller.asked) == 2


@pytest.mark.parametrize("visibility", ["pseudonyms", "top_ten", "members"])
@in_virtual_time
async def test_in_a_league_that_hides_something_no_board_is_shown(visibility: str) -> None:
    state = season_of(4, 0)
    state.config = state.config.model_copy(update={"visibility": visibility})
    positions, caller = positions_of(state)
    assert positions.look() == []
    await asyncio.sleep(ASK_SECONDS)
    assert caller.asked == []


@pytest.mark.parametrize(
    "view",
    [
        SCRIPT,
        {"board": SCRIPT},
        {"board": [[SCRIPT]]},
        [SCRIPT],
        7,
        {"rounds": [], "game": {"x": SCRIPT}},
        {"a": "\n" * 999},
    ],
)
@in_virtual_time
async def test_what_a_referee_makes_up_is_shown_literally(view: Any, tmp_path: Path) -> None:
    position = {"view": view, "moves": SCRIPT, "last": {"P01": SCRIPT}, "waiting_for": [SCRIPT, 7]}
    state = season_of(2, 0, referees=1, game_type="tic_tac_toe")
    positions, _ = positions_of(state, lambda ids: {"positions": dict.fromkeys(ids, position)})
    reader = LeagueReader(state, tmp_path, LeagueHistory(state), live_positions=positions)
    read_boards(reader)
    await asyncio.sleep(ASK_SECONDS)
    (board,) = read_boards(reader)["boards"]
    assert board["scene"] or board["text"]
    page = text_of(OVERVIEW_PAGE, reader)
    assert 'data-key="R1M1"' in page
    assert SCRIPT not in page


def test_a_league_from_the_store_has_no_boards(tmp_path: Path) -> None:
    state = season_of(4, 1)
    reader = LeagueReader(state, tmp_path, LeagueHistory(state))
    assert read_boards(reader) == {"boards": []}
    assert "Now playing" not in text_of(OVERVIEW_PAGE, reader)
