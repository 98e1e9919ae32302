"""`league replay`: show a finished match step by step, from its match file or from the league's database."""

from pathlib import Path
from typing import Annotated

import typer

from agent_league.cli.keys import can_read_keys, read_keys
from agent_league.cli.options import ExistingHomeOption, JsonOption, StoredLeagueOption, StoreOption
from agent_league.cli.terminal import print_json, write_output


def replay(
    match: Annotated[
        str, typer.Argument(metavar="MATCH", help="A match of the league, such as R3M2, or a match file.")
    ],
    league_id: StoredLeagueOption = None,
    auto: Annotated[
        float | None, typer.Option(min=0.05, max=60, help="Go on by itself, a step every so many seconds.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Print all steps and end.")] = False,
    conversation: Annotated[
        bool, typer.Option("--conversation", help="Print what referee and players said to each other.")
    ] = False,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write it as a page, in one file to keep or to send.")
    ] = None,
    json: JsonOption = False,
    store: StoreOption = None,
    home: ExistingHomeOption = None,
) -> None:
    """Show a finished match step by step: arrow keys, space, Home and End go through it, q ends."""
    from rich.console import Console

    from agent_league.cli import replay_view
    from agent_league.referee.replay import replay_match

    found = replay_view.find_match(match, league_id, store, home)
    if html:
        from agent_league.web.match_report import render_match_report

        write_output(str(html), render_match_report(found.content, found.player_names, found.ending).encode())
        return
    console = Console(highlight=False)
    if conversation:
        said = replay_view.read_match_conversation(found)
        if json:
            print_json({"match_id": found.content.get("match_id"), "conversation": said})
        else:
            replay_view.print_conversation(console, found, said)
        return
    again = replay_match(found.content)
    if json:
        print_json(replay_view.replay_to_json(found, again))
    elif everything or not again.steps or not can_read_keys():
        replay_view.print_all_steps(console, found, again)
    else:
        with read_keys() as press, console.screen(hide_cursor=True) as screen:
            replay_view.ReplayViewer(found, again, auto).run(press, screen.update)
