"""`league demo`: a short cup of Connect Four between built-in players, with its bracket and its boards as they go."""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from agent_league.cli.keys import can_read_keys, read_page_keys
from agent_league.cli.terminal import print_remark

FIRST_PORTS = (8000, 8100, 8200, 8300, 8400)


def demo(
    port: Annotated[
        int | None, typer.Option(min=1, max=65500, help="The port of the pages; the agents have those after it.")
    ] = None,
    stay: Annotated[
        bool | None,
        typer.Option(
            help="After the last result, keep the manager and its pages until a key is pressed or Ctrl-C (default: in "
            "a terminal).",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Watch a short cup: eight built-in players of Connect Four, a bracket, and the boards as they are played.

    It takes less than a minute and writes nothing: everything is in a folder that goes with it. In a pipe it is played
    as fast as it goes, with a line for each piece of news.
    """
    from agent_league.cli.demo_view import play_cup
    from agent_league.launch.demo_cup import CupBoards, make_cup_plan
    from agent_league.launch.serving import run_async

    with TemporaryDirectory(prefix="league-demo-", ignore_cleanup_errors=True) as folder:
        boards = CupBoards()
        first = port or _find_first_port()
        plan = make_cup_plan(Path(folder) / "SHARED", first, boards, is_paced=sys.stdout.isatty())
        pages = plan.manager.endpoint.removesuffix("mcp")
        with read_page_keys(pages, print_remark) as keys:
            stays = can_read_keys() if stay is None else stay
            run_async(play_cup(plan, boards, keys, stay=stays))


def _find_first_port() -> int:
    """Find a run of free ports, from that of the manager on."""
    from agent_league.errors import PortInUse, UserError
    from agent_league.http.hosts import LOOPBACK
    from agent_league.http.server import bind_socket
    from agent_league.launch.demo_cup import CUP_PLAYERS

    for first in FIRST_PORTS:
        try:
            for port in range(first, first + 3 + len(CUP_PLAYERS)):
                bind_socket(LOOPBACK, port, "").close()
        except PortInUse:
            continue
        return first
    raise UserError(f"The ports from {', '.join(map(str, FIRST_PORTS))} on are in use; name others with --port.")
