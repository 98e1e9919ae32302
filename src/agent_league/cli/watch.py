"""`league watch`: follow a manager's live feed: full screen in a terminal, a line for each event in a pipe."""

import sys
from contextlib import AbstractContextManager, aclosing, nullcontext
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent_league.cli.options import choose_league_address
from agent_league.cli.terminal import draw_standings, make_stdout_console, print_lines, print_model_usage

if TYPE_CHECKING:
    from agent_league.cli.watch_view import WatchedLeague


def watch(
    url: Annotated[
        str | None,
        typer.Argument(
            metavar="[URL]",
            help="The League Manager's address (default: that of the league that runs here, or ran last).",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Watch a league live, from anywhere, until it is over: its table, its matches, what happens, who is in trouble.

    Where nobody answers, or the connection is lost, it is tried again until Ctrl-C. Nothing of it needs a token.
    """
    from agent_league.http.hosts import parse_manager_endpoint
    from agent_league.launch.serving import run_async

    run_async(_follow_league(parse_manager_endpoint(url or choose_league_address(), "URL")))


async def _follow_league(endpoint: str) -> None:
    from agent_league.cli.watch_view import WatchedLeague
    from agent_league.launch.live_feed import FeedChange, LeagueFeed

    board = WatchedLeague(endpoint)
    on_screen = sys.stdout.isatty()
    with _show_on_screen(board) if on_screen else nullcontext():
        async with aclosing(LeagueFeed(endpoint).iter_updates()) as updates:
            async for update in updates:
                board.apply_update(update)
                if not on_screen:
                    sys.stdout.writelines(f"{line}\n" for line in board.drain_lines())
                    sys.stdout.flush()
                if board.is_over or (board.has_all_results and not isinstance(update, FeedChange)):
                    break
    console, rows = make_stdout_console(), board.standings_rows()
    console.print(draw_standings(rows, board.title, len(rows)))
    print_model_usage(console, board.read_model_usage())
    print_lines(console, [board.closing_sentence()])


def _show_on_screen(board: "WatchedLeague") -> AbstractContextManager[Any]:
    """Fill the whole terminal, which redraws itself, inside this context."""
    from rich.console import Console
    from rich.live import Live

    console = Console(highlight=False)
    return Live(
        "", console=console, screen=True, refresh_per_second=4, get_renderable=lambda: board.render(*console.size)
    )
