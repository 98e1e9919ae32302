"""Judge registrations with a real League Manager, so that the checker refuses what a league refuses."""

import asyncio
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_league.check.questions import EVEN_ODD
from agent_league.config import ConfigLoader
from agent_league.config.home import make_home
from agent_league.http.carrier import RequestRejected
from agent_league.http.memory import MemoryNetwork
from agent_league.league.app import LeagueManager
from agent_league.league.settings import ManagerSettings
from agent_league.model.agents import ANY_GAME
from agent_league.model.events import Event, RegistrationRefused
from agent_league.protocol.tolerance import REGISTER_PATH, find_candidates
from agent_league.storage.files import parse_json
from agent_league.storage.memory import MemoryStore

ALLOW_EVERY_HOST = {"network.allowed_hosts": ["*"]}
"""The owner decides at which hosts agents may run; the registered endpoint has a step of its own."""


@dataclass(frozen=True, slots=True)
class RegistrationRefusal:
    """A league's refusal of a registration: its answer, and the reason in one sentence."""

    answer: bytes
    reason: str


async def judge_registration(path: str, body: bytes, games: Any) -> RegistrationRefusal | None:
    """Hand a registration to a new League Manager and return its refusal; None if it accepts.

    Its league plays Even/Odd or the first game that the agent names, so that agents for every game can be checked.
    """
    told: list[str] = []

    def watch(event: Event) -> None:
        if isinstance(event, RegistrationRefused):
            told.append(event.why)

    with tempfile.TemporaryDirectory(prefix="league-check-") as folder:
        manager = _new_manager(Path(folder), games, watch)
        running = asyncio.create_task(manager.run())
        await asyncio.sleep(0)  # only a manager that has begun to run lets go of its files when it is stopped
        dispatcher = manager.dispatcher
        answer = dispatcher.answer_registration if path == REGISTER_PATH else dispatcher.answer_request
        try:
            said = await answer(body)
        except RequestRejected as refused:
            said = refused.answer
        finally:
            running.cancel()
            await asyncio.wait({running})
    if said is None or _is_accepted(body := parse_json(said)):
        return None
    return RegistrationRefusal(said, told[-1] if told else _read_refusal_reason(body))


def _read_refusal_reason(body: Any) -> str:
    """Return the reason that a refusal gives, in one sentence."""
    for _, message in find_candidates(body):
        if reason := message.get("reason") or message.get("message"):
            code = message.get("error_code")
            return f"{code}: {reason}" if code else str(reason)
    error = body.get("error") if isinstance(body, Mapping) else None
    return str(error.get("message")) if isinstance(error, Mapping) else "it is no registration"


def _new_manager(home: Path, games: Any, watch: Callable[[Event], None]) -> LeagueManager:
    make_home(home)
    loader = ConfigLoader(home, ALLOW_EVERY_HOST)
    named = [game for game in games if isinstance(game, str) and game != ANY_GAME] if isinstance(games, list) else []
    game = EVEN_ODD if EVEN_ODD in named or not named else named[0]
    league = loader.load_league().model_copy(update={"game_type": game})
    settings = ManagerSettings(
        loader.load_system(),
        league,
        home,
        expected_players=0,
        expected_referees=0,
        serves_pages=False,
        offers_seats=False,
    )
    return LeagueManager(settings, MemoryNetwork(), watcher=watch, store=MemoryStore())


def _is_accepted(body: Any) -> bool:
    return any(message.get("status") == "ACCEPTED" for _, message in find_candidates(body))
