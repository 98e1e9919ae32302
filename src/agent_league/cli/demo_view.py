"""The cup of `league demo` at a terminal: its bracket, and the boards as they are played. Plays and serves it, too."""

import asyncio
import sys
from contextlib import aclosing, nullcontext
from typing import Any

from rich.console import Console, RenderableType
from rich.layout import Layout
from rich.live import Live
from rich.table import Table
from rich.text import Text

from agent_league.agent.tasks import run_beside
from agent_league.cli.keys import PageKeys
from agent_league.cli.terminal import draw_standings, make_stdout_console, print_lines, print_remark
from agent_league.cli.watch_view import WatchedLeague
from agent_league.games.view import render_view
from agent_league.launch.demo_cup import GAME, CupBoard, CupBoards
from agent_league.launch.live_feed import LeagueFeed
from agent_league.launch.plan import LeaguePlan
from agent_league.launch.play_function import interrupt_event
from agent_league.launch.serving import check_ports, serve_agents

KEY_SECONDS = 0.1
BOARD_LINES = 10
"""Lines of a board with its players and a blank one."""
BOARD_WIDTH = 26
DISC_STYLES = {"X": "bold red", "O": "bold yellow", ".": "dim"}
PLAYER_MARKS = "XO"
NEXT_STEP = "Next: `league new player my_agent`, a player of your own; `league run --people 1`, and you play."


async def play_cup(plan: LeaguePlan, boards: CupBoards, keys: PageKeys, *, stay: bool) -> None:
    """Serve all agents, show the cup until it is over, and stay until somebody ends it."""
    check_ports(plan.agent_plans)
    watched = WatchedLeague(plan.manager.endpoint)
    stop, ready, ended = asyncio.Event(), asyncio.Event(), interrupt_event()
    async with run_beside(serve_agents(plan.agent_plans, stop, ready=ready.set)) as (serving,):
        await asyncio.wait([serving, asyncio.create_task(ready.wait())], return_when=asyncio.FIRST_COMPLETED)
        print_remark(f"Watch it at {plan.manager.endpoint.removesuffix('mcp')}")
        await _follow_cup(watched, boards, plan, keys, ended)
        if watched.is_over:
            _print_end(watched)
        if watched.is_over and stay and not ended.is_set():
            keys.handle_pressed()
            print_remark(f"The manager and its pages stay until {keys.describe_end()}.")
            print_remark(NEXT_STEP)
            async with run_beside(_end_on_key(keys, ended)):
                await ended.wait()
        stop.set()
        await asyncio.wait([serving])


async def _follow_cup(
    watched: WatchedLeague, boards: CupBoards, plan: LeaguePlan, keys: PageKeys, ended: asyncio.Event
) -> None:
    """Show the league's feed until it is over, q is pressed or the command is interrupted."""

    async def read_feed() -> None:
        async with aclosing(LeagueFeed(plan.manager.endpoint).iter_updates()) as updates:
            async for update in updates:
                watched.apply_update(update)
                if not sys.stdout.isatty():
                    sys.stdout.writelines(f"{line}\n" for line in watched.drain_lines())
                    sys.stdout.flush()
                if watched.is_over:
                    break

    names = {seat.settings.wanted_id: seat.settings.display_name for seat in plan.players}
    with _show_on_screen(watched, boards, names) if sys.stdout.isatty() else nullcontext():
        async with run_beside(_end_on_key(keys, ended), read_feed(), ended.wait()) as (_, feed, interrupted):
            await asyncio.wait([feed, interrupted], return_when=asyncio.FIRST_COMPLETED)
            if feed.done() and boards.boards and sys.stdout.isatty():
                await asyncio.sleep(1)  # the last board, whole


async def _end_on_key(keys: PageKeys, ended: asyncio.Event) -> None:
    """Set the event once a key is pressed that does nothing else; keys are polled, as a terminal tells nobody."""
    while not keys.handle_pressed():  # noqa: ASYNC110 - see above
        await asyncio.sleep(KEY_SECONDS)
    ended.set()


def _show_on_screen(watched: WatchedLeague, boards: CupBoards, names: dict[str, str]) -> Any:
    """Fill the whole terminal, which redraws itself, inside this context."""
    console = Console(highlight=False)
    return Live(
        "",
        console=console,
        screen=True,
        refresh_per_second=8,
        get_renderable=lambda: render_cup(console, watched, boards.list_boards(), names),
    )


def render_cup(
    console: Console, watched: WatchedLeague, boards: list[CupBoard], names: dict[str, str]
) -> RenderableType:
    """Render the league with its bracket, and below it the boards side by side."""
    width, height = console.size
    layout = Layout()
    size = min(BOARD_LINES, height // 2) if boards else 0
    top = Layout(watched.render(width, height - size))
    row = Table.grid()
    for _ in boards:
        row.add_column(width=min(BOARD_WIDTH, width // len(boards)), no_wrap=True)
    row.add_row(*(_render_board(board, names) for board in boards))
    layout.split_column(top, *([Layout(row, size=size)] if boards else []))
    return layout


def _render_board(board: CupBoard, names: dict[str, str]) -> RenderableType:
    """Render a position with the names of those who play; the winner's is bold."""
    drawn = Text()
    for seat, player_id in enumerate(board.player_ids):
        mark = PLAYER_MARKS[seat]
        won = " ★" if board.winner == seat else ""
        style = "bold green" if won else "dim" if board.is_over else ""
        drawn.append(f"{mark} ", DISC_STYLES[mark]).append(f"{names.get(player_id, player_id)}{won}\n", style)
    rows = Text(render_view(GAME, board.view, None))
    for mark, style in DISC_STYLES.items():
        rows.highlight_regex(mark.replace(".", r"\."), style)
    return drawn.append(rows)


def _print_end(watched: WatchedLeague) -> None:
    """Print what stays on the screen: the table and the champion."""
    console, rows = make_stdout_console(), watched.standings_rows()
    console.print(draw_standings(rows, watched.title, len(rows)))
    print_lines(console, [watched.closing_sentence()])
