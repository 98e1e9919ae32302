"""The methods `get_rules` and `get_protocol`, which every agent answers to any caller.

They are here because the league and the players know no game.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from threading import Lock
from typing import Any

from agent_league.agent.dispatcher import Handler, HandlerReply
from agent_league.config import ConfigLoader, GamesRegistry, LeagueConfig
from agent_league.errors import ConfigError, ErrorCode, Refusal
from agent_league.games.base import BadParameters, Rules
from agent_league.games.even_odd.wire import find_winner
from agent_league.games.registry import Game, UnknownGame, game_types, load_game, load_playable_game
from agent_league.league.reports import DerivedResult, DeriveResult
from agent_league.league.settings import ManagerSettings
from agent_league.model.agents import ANY_GAME
from agent_league.players.app import PlayerSettings
from agent_league.protocol.checks import describe_value, wrong_type_refusal
from agent_league.protocol.methods import METHODS, Method
from agent_league.protocol.schemas import build_message_schemas
from agent_league.protocol.v2 import MESSAGES
from agent_league.protocol.version import CURRENT_VERSION, MINIMUM_VERSION, PROTOCOL_V2
from agent_league.referee.settings import RefereeSettings

EVEN_ODD = "even_odd"
MAX_NAME_LENGTH = 100
MAX_PARAMETERS_LENGTH = 1000
GAMES_FILE = "config/games/games_registry.json"
MAX_CACHED_ANSWERS = 64
"""Cached answers; a game has one for each set of parameters."""
_SCHEMAS_LOCK = Lock()
NO_DESCRIPTION = (
    "This game brings no description of its own. Each question says what the seat may see and which moves are legal"
    " (`move_request.context` and `move_request.valid_options`): answer with exactly one of those."
)


class Rulebook:
    """Answers `get_rules` and `get_protocol` for one agent."""

    def __init__(
        self,
        settings: ManagerSettings | RefereeSettings | PlayerSettings,
        league: Callable[[], LeagueConfig] | None = None,
    ) -> None:
        """`league` returns the configuration of a manager's league, which is fixed at its start."""
        self._settings = settings
        self._league = league
        self._cached_answers: dict[str, asyncio.Task[dict[str, Any]]] = {}

    def handlers(self) -> dict[str, Handler]:
        return {"get_rules": self.get_rules, "get_protocol": self.get_protocol}

    async def get_rules(self, params: Mapping[str, Any]) -> HandlerReply:
        game_type = params.get("game_type")
        if game_type is None:
            game_type = self._own_game
        if not isinstance(game_type, str):
            raise wrong_type_refusal("game_type", "a string", game_type)
        return await self._make_once(
            f"rules {game_type} {self._parameters_version()}", partial(self._read_rules, game_type)
        )

    async def get_protocol(self, params: Mapping[str, Any]) -> HandlerReply:
        wanted, all_of_them = params.get("message_type"), params.get("schemas")
        if not isinstance(all_of_them, bool | None):
            raise wrong_type_refusal("schemas", "true or false", all_of_them)
        if not isinstance(wanted, str | None):
            raise wrong_type_refusal("message_type", "a string", wanted)
        if wanted is not None and wanted not in MESSAGES:
            raise _unknown_value("message_type", list(MESSAGES), wanted)
        names = tuple(MESSAGES) if all_of_them else (wanted,) if wanted else ()
        return await self._make_once(f"protocol {' '.join(names)}", partial(_describe_protocol, names))

    async def _make_once(self, name: str, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Return a cached answer, or make it in a thread; concurrent callers share the same task."""
        if name not in self._cached_answers:
            if len(self._cached_answers) >= MAX_CACHED_ANSWERS:
                del self._cached_answers[next(iter(self._cached_answers))]
            self._cached_answers[name] = asyncio.create_task(asyncio.to_thread(make))
        making = self._cached_answers[name]
        try:
            return await asyncio.shield(making)
        except Refusal:
            if self._cached_answers.get(name) is making:
                del self._cached_answers[name]
            raise

    @property
    def _own_game(self) -> str:
        if isinstance(self._settings, ManagerSettings):
            return self._settings.league.game_type
        named = (game_type for game_type in self._settings.game_types if game_type != ANY_GAME)
        return next(named, EVEN_ODD)

    def _read_rules(self, game_type: str) -> dict[str, Any]:
        try:
            return describe_rules(load_playable_game(game_type, self._load_games().get_parameters(game_type)))
        except (UnknownGame, BadParameters) as error:
            if isinstance(error, UnknownGame) and game_type != self._own_game:
                raise _unknown_value("game_type", list(game_types()), game_type) from None
            raise Refusal(ErrorCode.SERVICE_UNAVAILABLE, f"the rules can't be read here: {error}") from None

    def _parameters_version(self) -> str:
        """A cache key for game parameters: the file's time of change, and the league's parameters."""
        league = self._league() if self._league else None
        try:
            written = (self._settings.home / GAMES_FILE).stat().st_mtime_ns
        except OSError:
            written = 0
        return f"{written} {league.game_parameters if league else ''}"

    def _load_games(self) -> GamesRegistry:
        """Load the parameters of games from this agent's SHARED folder; for a manager, its league's override them."""
        settings = self._settings
        if isinstance(settings, RefereeSettings):
            return settings.games
        try:
            games = ConfigLoader(settings.home).load_games_registry()
        except ConfigError:
            games = GamesRegistry(games=())
        if isinstance(settings, ManagerSettings):
            league = self._league() if self._league else settings.league
            return games.with_parameters(league.game_type, league.game_parameters)
        return games


def make_result_decider(game_type: str) -> DeriveResult:
    """Return a function that decides a match by its report's details; only Even/Odd has one."""
    return partial(_decide_even_odd, load_game(EVEN_ODD).rules) if game_type == EVEN_ODD else lambda *_: None


def _decide_even_odd(
    rules: Rules, details: Mapping[str, Any], players: Sequence[str], parameters: Mapping[str, Any]
) -> DerivedResult | None:
    """Decide by the installed rules: a user's own game may replace Even/Odd."""
    found = find_winner(rules, details, players, parameters)
    return DerivedResult(*found) if found else None


def describe_rules(game: Game) -> dict[str, Any]:
    """Return the rules, parameters and message types of a game as JSON data."""
    wire = game.wire
    return {
        "game_type": game.game_type,
        "title": game.title or game.game_type,
        "how_to_play": game.how_to_play or NO_DESCRIPTION,
        "parameters": dict(game.parameters),
        "method": wire.method,
        "question": wire.call.TYPE,
        "answer": wire.answer.TYPE,
        "illegal_move": wire.illegal.value,
    }


def rules_from_manager(told: Any) -> dict[str, Any] | None:
    """Return our own description of the game that a manager's answer names; None if it names none.

    Only game type and parameters are used: the manager's text could be a prompt injection.
    """
    named = told.get("game_type") if isinstance(told, dict) else None
    if not isinstance(named, str) or not 1 <= len(named) <= MAX_NAME_LENGTH or not named.isprintable():
        return None
    given = told.get("parameters")
    parameters = given if isinstance(given, dict) and len(repr(given)) <= MAX_PARAMETERS_LENGTH else {}
    try:
        return describe_rules(load_playable_game(named, parameters))
    except BadParameters:  # it has another version of the game
        return describe_rules(load_game(named))
    except UnknownGame:
        return {"game_type": named, "title": named, "how_to_play": NO_DESCRIPTION, "parameters": parameters}


def _describe_method(method: Method) -> dict[str, Any]:
    return {
        "name": method.name,
        "served_by": sorted(method.served_by),
        "request": method.request.TYPE if method.request else None,
        "reply": method.reply.TYPE if method.reply else None,
        "caller": str(method.caller),
    }


def _describe_protocol(names: tuple[str, ...]) -> dict[str, Any]:
    """Return a description of the protocol as JSON data, with the schemas of these messages."""
    schemas = _get_schemas() if names else {}
    return {
        "protocol": PROTOCOL_V2,
        "version": CURRENT_VERSION,
        "minimum_version": MINIMUM_VERSION,
        "methods": [_describe_method(method) for method in METHODS.values()],
        "message_types": sorted(MESSAGES),
        "schemas": {name: schemas[name] for name in sorted(names)},
    }


def _get_schemas() -> dict[str, dict[str, Any]]:
    with _SCHEMAS_LOCK:  # agents of one process may be asked at the same time
        return _make_schemas()


@cache
def _make_schemas() -> dict[str, dict[str, Any]]:
    return build_message_schemas()


def _unknown_value(field: str, known: list[str], value: Any) -> Refusal:
    return Refusal(
        ErrorCode.INVALID_MESSAGE_FORMAT,
        f"'{field}' must be one of: {', '.join(sorted(known))}",
        field=field,
        expected=sorted(known),
        received=describe_value(value),
    )
