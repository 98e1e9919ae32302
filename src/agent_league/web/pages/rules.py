"""The pages of the game, of the protocol with its messages, and the one on which a person takes a seat."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from agent_league.config import ConfigLoader
from agent_league.config.models import TimeoutConfig
from agent_league.errors import ConfigError, ErrorCode, JsonRpcErrorCode
from agent_league.games.base import BadParameters
from agent_league.games.registry import Game, UnknownGame, find_game_title, load_game, load_playable_game
from agent_league.league.state import LeaguePhase
from agent_league.league.tournament import describe_format
from agent_league.players.descriptions import rules_for_people
from agent_league.protocol.methods import METHODS
from agent_league.protocol.v2.errors import ERROR_MEANINGS
from agent_league.protocol.version import CURRENT_VERSION, MINIMUM_VERSION
from agent_league.text import to_printable
from agent_league.web.league_reader import LeagueReader
from agent_league.web.page import Page, PageData, build_not_found
from agent_league.web.play.seats import LONGEST_NAME
from agent_league.web.protocol.messages import describe_message, summarise_messages
from agent_league.web.rendering import mark_code

NO_DESCRIPTION = (
    "This game brings no description of its own. Each question says what the seat may see and which moves are legal."
)


def read_game_data(reader: LeagueReader, _: str) -> PageData:
    league = reader.state.config
    return {
        "game_type": league.game_type,
        "own_parameters": dict(league.game_parameters),
        "home": reader.home,
        "scoring": reader.state.scoring,
        "tiebreakers": [tiebreaker.replace("_", " ") for tiebreaker in league.scoring.tiebreakers],
        "form": describe_format(league),
    }


def complete_game_data(told: PageData) -> PageData:
    """Load the game, which may be slow, and add its rules and parameters."""
    game_type = told["game_type"]
    parameters = {**_registry_parameters(told["home"], game_type), **told["own_parameters"]}
    try:
        game = load_playable_game(game_type, parameters)
    except (UnknownGame, BadParameters) as error:
        return {**told, "rules": None, "problem": to_printable(str(error)), "parameters": parameters}
    return {
        **told,
        "coded": mark_code,
        "rules": _describe_rules(game),
        "problem": "",
        "parameters": dict(game.parameters),
    }


def _registry_parameters(home: Path, game_type: str) -> dict[str, Any]:
    """Return the game's parameters from the games registry of the SHARED folder."""
    try:
        return ConfigLoader(home).load_games_registry().get_parameters(game_type)
    except ConfigError:
        return {}


def _describe_rules(game: Game) -> dict[str, Any]:
    words = game.how_to_play.strip() or NO_DESCRIPTION
    summary, _, rest = words.partition("\n\n")
    return {
        "title": find_game_title(game.game_type),
        "summary": summary,
        "paragraphs": [part for part in rest.split("\n\n") if part.strip()],
        "method": game.wire.method,
        "question": game.wire.call.TYPE,
        "answer": game.wire.answer.TYPE,
        "illegal": game.wire.illegal.value,
    }


GAME_PAGE = Page("game", "game.html", read_game_data, complete_game_data, title="Game", section="Game")


def read_play_data(reader: LeagueReader, _: str) -> PageData:
    season = reader.state
    free = max(0, season.config.participants.max_players - len(season.roster.players()))
    return {
        "league_id": season.league_id,
        "game_type": season.config.game_type,
        "offer": reader.seat_offer,
        "closed_because": _closed_reason(reader, free),
        "is_running": season.phase is LeaguePhase.RUNNING,
        "free": free,
        "players": len(season.roster.players()),
        "missing": reader.missing_agents,
        "longest_name": LONGEST_NAME,
    }


def complete_play_data(told: PageData) -> PageData:
    """Load the game's title and summary, which may take seconds."""
    try:
        game = load_game(told["game_type"])
    except Exception:  # noqa: BLE001 - not installed here, or somebody else's package that can't be loaded
        return {**told, "game_title": find_game_title(told["game_type"]), "summary": ""}
    summary = next(iter(rules_for_people(game.how_to_play)), "")
    return {**told, "game_title": find_game_title(game.game_type), "summary": summary}


def _closed_reason(reader: LeagueReader, free: int) -> str:
    season = reader.state
    if reader.seat_offer is None:
        return "This manager offers no seats in the browser."
    if season.phase is LeaguePhase.RUNNING:
        return "The league is being played; it takes no new players."
    if season.phase is LeaguePhase.COMPLETED:
        return "The league is over."
    if not season.is_registration_open:
        return "Registration is closed at the moment."
    return "" if free else "The league is full."


PLAY_PAGE = Page(
    "play", "play.html", read_play_data, complete_play_data, title="Play", section="Game", is_exported=False
)


FRAME_CODE_WORDS = {
    JsonRpcErrorCode.PARSE_ERROR: "the body is not JSON",
    JsonRpcErrorCode.INVALID_REQUEST: "the body is not a JSON-RPC request",
    JsonRpcErrorCode.METHOD_NOT_FOUND: "no such method here; `data` names those that there are",
    JsonRpcErrorCode.INVALID_PARAMS: "`params` is not an object",
    JsonRpcErrorCode.INTERNAL_ERROR: "our own fault; what it was stands in the log",
}


def read_protocol_data(_: LeagueReader, __: str) -> PageData:
    limits = TimeoutConfig()
    return {
        "version_now": CURRENT_VERSION,
        "version_least": MINIMUM_VERSION,
        "methods": [
            {
                "name": method.name,
                "title": method.title,
                "served_by": [role.replace("_", " ") for role in sorted(method.served_by)],
                "request": method.request.TYPE if method.request else None,
                "reply": method.reply.TYPE if method.reply else None,
                "limit": f"{getattr(limits, method.timeout_setting):g} s",
                "caller": str(method.caller),
            }
            for method in METHODS.values()
        ],
        "coded": mark_code,
        "protocols": summarise_messages(),
        "codes": [(code.value, code.name, mark_code(ERROR_MEANINGS[code]), code.is_retryable) for code in ErrorCode],
        "frame_codes": [(code.value, code.name, mark_code(FRAME_CODE_WORDS[code])) for code in JsonRpcErrorCode],
    }


def read_message_data(_: LeagueReader, key: str) -> PageData:
    if key not in (known := _message_keys()):
        raise build_not_found("message", key, known, PROTOCOL_PAGE.title)
    return {"key": key}


def complete_message_data(told: PageData) -> PageData:
    """Describe the message; building its schema takes a moment the first time."""
    found = describe_message(told["key"])
    return {**told, "message": found, "page_title": found.message_type, "coded": mark_code}


def list_message_keys(_: LeagueReader) -> Iterable[str]:
    return _message_keys()


def _message_keys() -> list[str]:
    return [key for messages in summarise_messages().values() for key, _, _ in messages]


def is_always_settled(_: LeagueReader, __: str) -> bool:
    return True


PROTOCOL_PAGE = Page(
    "protocol", "protocol.html", read_protocol_data, title="Protocol", section="Game", is_settled=is_always_settled
)
MESSAGE_PAGE = Page(
    "protocol/{key}",
    "message.html",
    read_message_data,
    complete_message_data,
    list_keys=list_message_keys,
    is_settled=is_always_settled,
    section="Game",
)
