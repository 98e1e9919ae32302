"""A League Manager of our own that judges registrations for the checker: whom it refuses, a league refuses."""

import asyncio
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agent_league.config import ConfigLoader
from agent_league.config.home import make_home
from agent_league.conformance.questions import EVEN_ODD
from agent_league.league.app import LeagueManager
from agent_league.league.settings import ManagerSettings
from agent_league.model.agents import ANY_GAME
from agent_league.protocol.spellings import REGISTER_PATH, candidates
from agent_league.storage.files import read_json
from agent_league.storage.memory import MemoryStore
from agent_league.transport.memory import MemoryNetwork

EVERY_HOST = {"network.allowed_hosts": ["*"]}
"""Where an agent may be is the owner's to decide; whether it is where it says has a step of its own."""


async def refuse_registration(path: str, body: bytes, games: Any) -> bytes | None:
    """Hand a registration to a new League Manager of ours; return its answer where it refuses, None where it accepts.

    Its league plays the first game that the agent names, so that every game can be checked.
    """
    with tempfile.TemporaryDirectory(prefix="league-check-") as folder:
        manager = _new_manager(Path(folder), games)
        running = asyncio.create_task(manager.run())
        dispatcher = manager.dispatcher
        answer = dispatcher.answer_registration if path == REGISTER_PATH else dispatcher.answer
        try:
            said = await answer(body)
        finally:
            running.cancel()
            await asyncio.wait({running})
    return None if said is None or _is_accepted(read_json(said)) else said


def sentence_of(refusal: bytes) -> str:
    """What a refusal says, in one sentence."""
    body = read_json(refusal)
    for _, message in candidates(body):
        if reason := message.get("reason") or message.get("message"):
            code = message.get("error_code")
            return f"{code}: {reason}" if code else str(reason)
    error = body.get("error") if isinstance(body, Mapping) else None
    return str(error.get("message")) if isinstance(error, Mapping) else "it is no registration"


def _new_manager(home: Path, games: Any) -> LeagueManager:
    make_home(home)
    loader = ConfigLoader(home, EVERY_HOST)
    named = [game for game in games if isinstance(game, str) and game != ANY_GAME] if isinstance(games, list) else []
    game = EVEN_ODD if EVEN_ODD in named or not named else named[0]
    league = loader.load_league().model_copy(update={"game_type": game})
    settings = ManagerSettings(loader.load_system(), league, home, players=0, referees=0, web=False, seats=False)
    return LeagueManager(settings, MemoryNetwork(), store=MemoryStore())


def _is_accepted(body: Any) -> bool:
    return any(message.get("status") == "ACCEPTED" for _, message in candidates(body))
