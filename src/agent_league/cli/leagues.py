"""`league leagues`: which leagues a SHARED folder has, how far each is and where it runs."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_league.cli.options import ExistingHomeOption, JsonOption, StoreOption, open_existing_home
from agent_league.cli.terminal import make_stdout_console, print_json, print_remark, print_table

if TYPE_CHECKING:
    from agent_league.config import ConfigLoader

HEADINGS = ("League", "Title", "Game", "State", "Progress", "Address")
CONFIGURED, RUNNING, OVER, STOPPED = "not begun", "running", "over", "stopped"


def leagues(store: StoreOption = None, json: JsonOption = False, home: ExistingHomeOption = None) -> None:
    """List the leagues of a SHARED folder: their games, how far they are, and where they run.

    One that is stopped goes on with `league manager` or `league run
    --resume`. Commands that look at a league take the one that runs, else the latest, unless --league-id names another.
    """
    folder, loader = open_existing_home(home)
    found = _list_leagues(folder, loader, store)
    if json:
        print_json({"home": str(folder), "leagues": found})
        return
    rows = [[text or "" for text in one.values()] for one in found]
    print_table(make_stdout_console(), f"Leagues of {folder}", HEADINGS, rows)
    if not any(one["address"] for one in found):
        print_remark("None of them runs; `league run` plays one.")


def _list_leagues(home: Path, loader: "ConfigLoader", store: str | None) -> list[dict[str, Any]]:
    """Describe the leagues that were begun, and those that have a file."""
    from agent_league.launch.league_start import describe_progress, find_running_leagues, read_saved_season
    from agent_league.launch.stored_leagues import list_leagues
    from agent_league.serve.league_files import list_league_files
    from agent_league.storage.base import DISMISSED_PHASE

    running = find_running_leagues(home)
    found = []
    for league_id in sorted({*list_leagues(home), *list_league_files(home)}):
        saved = read_saved_season(home, league_id, store)
        settings = saved.season.settings if saved else loader.load_league(league_id).model_dump(mode="json")
        is_over = saved is not None and saved.season.phase in (DISMISSED_PHASE, "COMPLETED")
        state = OVER if is_over else RUNNING if league_id in running else STOPPED if saved else CONFIGURED
        found.append(
            {
                "league_id": league_id,
                "title": settings.get("display_name") or league_id,
                "game_type": settings.get("game_type"),
                "state": state,
                "progress": describe_progress(saved) if saved else None,
                "address": running.get(league_id),
            }
        )
    return found
