"""`league watch`: a league on the screen from anywhere, through lost connections, to its end."""

import asyncio
import re
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from agent_league.agent.app import AgentApp
from agent_league.cli.terminal import draw_standings
from agent_league.cli.watch_view import MAX_ROWS, WatchedLeague
from agent_league.errors import UserError
from agent_league.http.server import HttpServer
from agent_league.launch.agent_plan import AgentPlan
from agent_league.launch.live_feed import WITHOUT_FEED, FeedChange, FeedDisconnected, FeedRemark, FeedUpdate, LeagueFeed
from agent_league.launch.serving import serve_agents
from agent_league.league.settings import ManagerSettings
from agent_league.league.state import LeagueState
from agent_league.web.app import WebApp
from agent_league.web.league_reader import JoinInstructions, LeagueHistory, LeagueReader
from agent_league.web.live.sections import SECTIONS
from tests.cli.command import LEAGUE, Running
from tests.cli.leagues import in_terminal
from tests.conftest import BOUND, PlanMaker, free_ports
from tests.http.wire import raw_server
from tests.web.format_seasons import cup_season, knockout_season
from tests.web.seasons import play_on, reader_of, season_of

AT_ONCE = (0.01,)
EVIL = "\x1b[2J\u202e[red]"


async def no_answer(_: bytes, __: str | None) -> bytes | None:
    return None


@asynccontextmanager
async def served(reader: LeagueReader, port: int) -> AsyncIterator[str]:
    """A league's pages on a port; where to watch it."""
    server = HttpServer(AgentApp(no_answer, dict, pages=WebApp(reader)), "127.0.0.1", port, "the pages")
    await server.start()
    try:
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        await server.stop()


@asynccontextmanager
async def watched(url: str) -> AsyncIterator[Callable[[Callable[[WatchedLeague], bool]], Any]]:
    """Somebody who watches; the function waits until what is seen is as wanted, and gives it."""
    board = WatchedLeague(url)
    async with aclosing(LeagueFeed(url, AT_ONCE).iter_updates()) as updates:

        async def until(is_so: Callable[[WatchedLeague], bool]) -> WatchedLeague:
            async with asyncio.timeout(BOUND):
                while not is_so(board):
                    board.apply_update(await anext(updates))
            return board

        yield until


def picture(board: WatchedLeague, width: int = 120, height: int = 40) -> list[str]:
    console = Console(width=width, height=height, force_terminal=False)
    with console.capture() as captured:
        console.print(board.render(width, height), height=height)
    return captured.get().splitlines()


def board_of(season: LeagueState, reader: LeagueReader | None = None) -> WatchedLeague:
    board = WatchedLeague("http://localhost:8000/mcp")
    reader = reader or reader_of(season, Path())
    board.apply_update(FeedChange({section.name: section.read_data(reader) for section in SECTIONS}, "boot"))
    return board


async def test_a_league_is_seen_from_its_middle_to_its_end() -> None:
    season = season_of(4, 2)
    async with served(reader_of(season, Path()), free_ports(1)) as url, watched(url) as until:
        board = await until(lambda board: bool(board.standings_rows()))
        assert tuple(board.standings_rows()) == season.standings()
        assert not board.is_over
        play_on(season, 1)
        await until(lambda board: tuple(board.standings_rows()) == season.standings())
        play_on(season, 9)
        board = await until(lambda board: board.is_over)
        assert tuple(board.standings_rows()) == season.standings()
        first = season.standings()[0]
        assert board.closing_sentence().startswith(
            f"Champion: {first.display_name} ({first.player_id}) with {first.points}"
        )


async def test_a_lost_connection_is_said_and_comes_back_with_the_league_as_it_is_then() -> None:
    season, port = season_of(4, 2), free_ports(1)
    reader = reader_of(season, Path())
    async with watched(f"http://127.0.0.1:{port}/mcp") as until:
        async with served(reader, port):
            await until(lambda board: bool(board.standings_rows()))
        board = await until(lambda board: "Not connected" in picture(board)[2])
        assert tuple(board.standings_rows()) == season.standings()
        play_on(season, 2)
        async with served(reader, port):
            await until(lambda board: tuple(board.standings_rows()) == season.standings())
        lines = list(board.drain_lines())
    assert sum(line.startswith("Not connected to ") for line in lines) == 1
    assert "Connected again." in lines


async def test_whoever_comes_back_says_what_it_has_seen_and_beats_are_no_news() -> None:
    asked: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
        writer.write(head + b": still here\n\nevent: beat\ndata: 1\n\n")
        writer.write(b'id: a-%d\r\ndata: {"progress": {"played": %d}}\r\n\r\n' % (len(asked), len(asked)))

    seen: list[FeedUpdate] = []
    async with (
        raw_server(answer) as url,
        asyncio.timeout(BOUND),
        aclosing(LeagueFeed(url, AT_ONCE).iter_updates()) as updates,
    ):
        while len(asked) < 2:
            seen.append(await anext(updates))
    assert seen[0] == FeedChange({"progress": {"played": 1}}, "a")
    assert isinstance(seen[1], FeedDisconnected)
    assert b"last-event-id" not in asked[0].lower()
    assert b"last-event-id: a-1\r\n" in asked[1].lower()
    assert asked[1].startswith(b"GET /events?form=json ")


@asynccontextmanager
async def running(seat: AgentPlan) -> AsyncIterator[None]:
    stop, ready = asyncio.Event(), asyncio.Event()
    task = asyncio.create_task(serve_agents([seat], stop, ready=ready.set))
    async with asyncio.timeout(BOUND):
        await ready.wait()
    try:
        yield
    finally:
        stop.set()
        await task


async def test_a_manager_without_pages_is_asked_for_its_table(plan: PlanMaker) -> None:
    seat = plan(players=2, manager_port=free_ports(1)).agent_plans[0]
    assert isinstance(seat.settings, ManagerSettings)
    url = f"http://127.0.0.1:{seat.port}/mcp"
    async with running(replace(seat, settings=replace(seat.settings, serves_pages=False))), watched(url) as until:
        board = await until(lambda board: "REGISTRATION" in str(board._sections))
        assert board.title == seat.settings.league.league_id
        assert WITHOUT_FEED in picture(board)[2]


async def test_who_is_no_manager_is_told_so(plan: PlanMaker) -> None:
    seat = plan(players=2, player_port=free_ports(2), manager_port=free_ports(1)).agent_plans[-1]
    url = f"http://127.0.0.1:{seat.port}/mcp"
    async with running(seat), aclosing(LeagueFeed(url, AT_ONCE).iter_updates()) as updates:
        assert await anext(updates) == FeedRemark(WITHOUT_FEED)
        with pytest.raises(UserError, match=f"{url} is no League Manager: refused: no method 'get_standings' here"):
            await anext(updates)


@pytest.mark.parametrize("players", [2, 4, 30, 100])
@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 40), (40, 12), (200, 60), (20, 5)])
def test_the_picture_fits_the_screen_and_the_first_is_on_it(players: int, width: int, height: int) -> None:
    season = season_of(players, 0)
    reader = reader_of(season, Path())
    play_on(season, len(season.schedule.pairings) // 2)
    season.suspend_agent("P02", "5 failures in a row")
    lines = picture(board_of(season, reader), width, height)
    assert len(lines) <= height
    assert max(map(len, lines)) <= width
    if width >= 80:
        shown = "\n".join(lines)
        assert season.standings()[0].display_name in shown
        assert f"Round {season.current_round}: " in shown
        assert "P02 Player 2: suspended" in shown
        hidden = sum(f"{row.player_id}  " not in shown for row in season.standings())
        assert (f"and {hidden} more" in shown) == (hidden > 0)


@pytest.mark.parametrize(
    "junk",
    [
        {"progress": {"phase": 5, "played": "x", "matches": None, "seconds_left": "soon", "title": ["x"]}},
        {"standings": {"rows": [None, {}, {"rank": "1", "moved": "up", "form": [1, {"letter": 3}]}]}},
        {"standings": {"rows": "many"}, "round": {"matches": [{}, 7, {"players": [{}, {}, {}], "state": []}]}},
        {"feed": {"items": [{"number": "one"}, {"at": 5, "text": {}}]}, "agents": {"rows": [{"failures": "x"}]}},
        {"progress": {"seconds_left": 1e308, "played": 1e308, "matches": 2**63, "phase": "RUNNING"}},
        {"progress": {"seconds_left": True, "round": -1e308, "rounds": [], "phase": "COMPLETED"}},
        {
            "standings": {
                "rows": [{"rank": 1e308, "points": 1e308, "moved": -1e308, "display_name": "x" * 10**6}] * 9000
            }
        },
        {"progress": {"title": EVIL, "phase": "RUNNING", "game_type": EVIL, "trouble": EVIL}},
        {"standings": {"rows": [{"player_id": EVIL, "display_name": EVIL}]}},
        {"round": {"matches": [{"match_id": EVIL, "players": [{"display_name": EVIL}], "state": "playing"}]}},
        {"feed": {"items": [{"number": 1, "at": EVIL, "text": EVIL}]}},
        {"agents": {"rows": [{"agent_id": EVIL, "display_name": EVIL, "state": "SUSPENDED"}]}},
    ],
)
def test_whatever_a_manager_says_is_shown_as_text(junk: dict[str, Any]) -> None:
    board = WatchedLeague("http://localhost:8000/mcp")
    board.apply_update(FeedChange(junk))
    lines = [*picture(board), *picture(board, 80, 24), *board.drain_lines(), board.closing_sentence()]
    assert "".join(lines).isprintable()
    assert not re.search(r"\d{13}", "".join(lines)), "no number is that large"
    assert len(board.standings_rows()) <= MAX_ROWS


def test_a_title_is_no_markup_and_leads_nowhere() -> None:
    title = "[link=https://evil.example]Spring[/link] [bold"
    board = WatchedLeague("http://localhost:8000/mcp")
    board.apply_update(FeedChange({"progress": {"title": title, "phase": "COMPLETED"}}))
    console = Console(width=100, force_terminal=True, color_system="truecolor", legacy_windows=False)
    with console.capture() as captured:
        console.print(draw_standings(board.standings_rows(), board.title))
    assert "\x1b]8;" not in captured.get()
    assert title in captured.get()


@pytest.mark.parametrize(
    ("awaited", "words"),
    [((4, 2), "registration · 3 of 4 players · 1 of 2 referees"), ((0, 0), "registration · 3 players · 1 referee")],
)
def test_who_is_missing_is_said_of_referees_too(awaited: tuple[int, int], words: str) -> None:
    season = season_of(3, referees=1, started=False)
    invitation = JoinInstructions("http://localhost:8000/mcp", *awaited)
    board = board_of(season, LeagueReader(season, Path(), LeagueHistory(season), invitation=invitation))
    assert words in "\n".join(picture(board))


def test_news_are_a_line_each_in_order_and_what_was_missed_is_counted() -> None:
    def told(*numbers: int, boot: str = "a") -> FeedChange:
        items = [
            {"number": number, "at": "2025-01-15T10:30:00Z", "label": "R1M1", "text": f"n{number}"}
            for number in numbers
        ]
        return FeedChange({"feed": {"items": items[::-1]}}, boot)

    board = WatchedLeague("http://localhost:8000/mcp")
    for update in (told(3, 4), told(3, 4, 5), told(9), told(1, boot="b")):
        board.apply_update(update)
    assert [line.rpartition(" ")[2] for line in board.drain_lines()] == ["n3", "n4", "n5", "between)", "n9", "n1"]
    assert not list(board.drain_lines())
    board.apply_update(told(5, boot="b"))
    assert list(board.drain_lines()) == ["(and 3 more in between)", "2025-01-15 10:30:00 R1M1 n5"]


def test_a_manager_that_leaves_with_the_last_match_leaves_its_table() -> None:
    season = season_of(4, 5)
    board = board_of(season)
    assert not board.has_all_results
    play_on(season, 1)
    reader = reader_of(season, Path())
    progress = {**SECTIONS[0].read_data(reader), "phase": "RUNNING"}
    board.apply_update(FeedChange({"progress": progress}))
    board.apply_update(FeedDisconnected("it has ended the connection"))
    assert board.has_all_results
    assert not board.is_over
    assert board.closing_sentence() == (
        "The manager has left (it has ended the connection); this is the table as it was last told."
    )


async def test_in_a_pipe_the_command_prints_news_and_the_final_table_and_ends() -> None:
    season = season_of(4, 0)
    reader = reader_of(season, Path())
    async with served(reader, free_ports(1)) as url:
        watching = Running([*LEAGUE, "watch", url.removesuffix("/mcp")])
        try:
            play_on(season, 3)
            await asyncio.to_thread(watching.prints, "Round 1 is complete")
            play_on(season, 3)
            assert await asyncio.to_thread(watching.ends) == 0
        finally:
            await asyncio.to_thread(watching.close)
    first = season.standings()[0]
    assert watching.out[-1] == (
        f"Champion: {first.display_name} ({first.player_id}) with {first.points} points, after 6 matches in 3 rounds.\n"
    )
    assert all(row.display_name in watching.text for row in season.standings())


def test_ctrl_c_ends_it() -> None:
    watching = Running([*LEAGUE, "watch", f"localhost:{free_ports(1)}"])
    try:
        watching.prints("; trying again.")
        watching.signal(signal.SIGINT)
        assert watching.ends() == 130
    finally:
        watching.close()
    assert "Traceback" not in watching.text


async def test_in_a_terminal_the_screen_is_given_back_and_the_final_table_stays() -> None:
    season = season_of(4)
    async with served(reader_of(season, Path()), free_ports(1)) as url:
        text = await asyncio.to_thread(in_terminal, "watch", url)
    screen, _, after = text.rpartition("\x1b[?1049l")
    assert "\x1b[?1049h" in screen
    assert "Champion" in after


def test_groups_and_bracket_take_the_place_of_the_table_while_they_are_played() -> None:
    groups = picture(board_of(cup_season(5)), 80, 24)
    assert sum("would go on" in line for line in groups) == 4
    assert any("Group B" in line for line in groups)
    assert "Stage 1 of 2, group stage. Round 2 of 3" in groups[2]
    bracket = picture(board_of(cup_season(13)), 80, 24)
    assert any(line.strip() == "Semi-finals" for line in bracket)
    assert any("being played" in line and " - " in line for line in bracket)
    assert not any("Group" in line for line in bracket)
    assert "round 4 ·" in bracket[0]
    over = board_of(cup_season(13))
    over.apply_update(FeedChange({"bracket": {**over._section("bracket"), "is_current": False}}, "boot"))
    assert any(line.split()[:3] == ["#", "Player", "Name"] for line in picture(over, 80, 24))
    assert "Round 4, Knockout, semi-finals, game 1 of 3: " in "\n".join(bracket)


def test_a_bracket_that_has_no_room_is_cut_and_says_so() -> None:
    assert any(re.search(r"and \d+ more lines", line) for line in picture(board_of(knockout_season(32, 20)), 80, 20))


@pytest.mark.parametrize(
    "nonsense", [None, 7, [7], [[7]], [[{"columns": 7}]], [[{"columns": [{"boxes": [{"slots": 7}]}]}]]]
)
def test_a_bracket_of_nonsense_is_no_bracket(nonsense: Any) -> None:
    board = board_of(season_of(4, 2))
    board.apply_update(FeedChange({"bracket": {"is_current": True, "drawings": nonsense}}, "boot"))
    picture(board)
