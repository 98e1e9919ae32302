"""`league new league NAME` and `league new season NAME`: leagues for `league serve`."""

import shlex
from pathlib import Path

from agent_league.cli.league_address import find_server
from agent_league.cli.options import format_home_option, name_options_in_errors, open_or_create_home
from agent_league.cli.terminal import format_options, print_remark
from agent_league.errors import UserError
from agent_league.model.result_words import format_count


def new_league(
    name: str,
    home: Path | None,
    title: str | None,
    game: str | None,
    parameters: dict[str, object],
    format_name: str | None,
    players: int | None,
    rounds: int | None,
) -> None:
    """Write the file of a league, and say how it is served, joined and started."""
    from agent_league.config.models import LADDER_FORMAT
    from agent_league.serve.league_files import NewLeague, write_league_file

    wanted = NewLeague(name, title or "", game, format_name, players, rounds, parameters)
    wanted.check()
    home, loader = open_or_create_home(home, None)
    with name_options_in_errors():
        print_remark(f"wrote {write_league_file(loader, wanted)}")
    option = format_home_option(home)
    if server := find_server(home):
        print_remark(f"The server at {server}/ finds it within seconds.")
    else:
        print_remark(f"1. Serve it, with all other leagues there: league serve{option}")
    network = loader.load_system().network
    root = network.public_url or server or f"http://localhost:{network.default_league_manager_port}"
    address = f"{root}/leagues/{name}/"
    print_remark(f"{'1' if server else '2'}. Players join it: league player --manager {address}")
    if format_name == LADDER_FORMAT:
        print_remark(f"{'2' if server else '3'}. It is open as soon as it is served, and has no end.")
        return
    by_itself = f"It starts once {players} players are there; before that" if players else "It starts on"
    start = f"league admin start{format_options({'--league-id': name})}{option}"
    print_remark(f"{'2' if server else '3'}. {by_itself}: {start}")


def new_season(name: str, home: Path | None, store: str | None, *, force: bool) -> None:
    """Put the season of a league aside and begin another; a server that runs is asked to."""
    from agent_league.launch.league_start import describe_moved, lock_league, start_new_league
    from agent_league.serve.league_files import request_new_season

    home, loader = open_or_create_home(home, None)
    league_id = loader.load_league(name).league_id
    _check_season_is_over(home, league_id, store, force=force)
    if server := find_server(home):
        request_new_season(home, league_id)
        print_remark(f"The server at {server}/ begins a new season of {league_id} within seconds.")
        return
    with lock_league(home, league_id, "league new season"):
        moved = start_new_league(home, league_id, store)
    print_remark(describe_moved(moved) if moved else f"{league_id} had no season that anything was played in.")
    print_remark(f"league serve{format_home_option(home)} begins the new one.")


def _check_season_is_over(home: Path, league_id: str, store: str | None, *, force: bool) -> None:
    from agent_league.launch.league_start import describe_progress, read_saved_season

    saved = read_saved_season(home, league_id, store)
    if saved is None or force or saved.season.phase not in ("REGISTRATION", "RUNNING") or not saved.agents:
        return
    players = sum(agent.role == "player" for agent in saved.agents)
    if saved.season.phase == "RUNNING" or players:
        far = describe_progress(saved) if saved.matches else f"{format_count(players, 'player')} registered"
        raise UserError(
            f"The season of {league_id} isn't over ({far}). `league new season {shlex.quote(league_id)} --force` puts"
            " it aside as it is."
        )
