"""Corrects a league that is over and whose manager was stopped: what needs no agent is written to its store.

The store admits one writer at a time, so a manager that runs elsewhere after all is fenced off as by any other one.
"""

from pathlib import Path

import orjson

from agent_league.config import ConfigLoader
from agent_league.config.models import LeagueConfig
from agent_league.errors import Refusal, UserError
from agent_league.http.memory import MemoryNetwork
from agent_league.launch.league_start import lock_league, read_saved_season
from agent_league.league.app import LeagueManager
from agent_league.league.organiser_commands import OrganiserCommand
from agent_league.league.settings import ManagerSettings
from agent_league.model.audit import OrganiserAction


async def correct_stopped_league(
    home: Path, loader: ConfigLoader, league_id: str, store: str | None, command: OrganiserCommand
) -> str:
    """Carry out a correction, and return what changed as a sentence. Raises UserError if it is refused.

    Agents are told when they come back to the league.
    """
    if command.action is OrganiserAction.RERUN_MATCH:
        raise UserError(
            f"{command.target} needs its players and a referee to be played again, and {league_id} is over and nobody "
            "conducts it: start `league manager --reopen` and them, and repeat this command"
        )
    saved = read_saved_season(home, league_id, store)
    if saved is None:
        raise UserError(f"{home} has no {league_id} that was played")
    league = LeagueConfig.model_validate_json(orjson.dumps(saved.season.settings))
    settings = ManagerSettings(loader.load_system(), league, home, 0, 0, store=store)
    with lock_league(home, league_id, f"`league admin` for {league_id}"):
        manager = LeagueManager(settings, MemoryNetwork())
        try:
            return await manager.correct_while_stopped(command)
        except Refusal as refusal:
            raise UserError(refusal.message) from None
