"""Checking a match file: does all that it says hold together, and does the draw follow from its seed?

Pure: from the file's content to findings. Nothing in the file is trusted, and nothing in it can make this fail.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from agent_league.clock import parse_utc
from agent_league.errors import ConfigError, Refusal
from agent_league.games.draw import commitment
from agent_league.games.registry import Game, load_game
from agent_league.log import REDACTED
from agent_league.model.results import MatchResult, MatchState, Scoring, Termination
from agent_league.protocol import v2
from agent_league.protocol.checks import check_envelope, read_fields
from agent_league.protocol.methods import METHODS
from agent_league.referee.match import ROLES, Match
from agent_league.referee.match_file import MatchFile, read_match_file
from agent_league.referee.retelling import Retelling, ThreadLost, quoted, same

CHECKS: Mapping[str, str] = {
    "commitment": "the seed's hash is the commitment, shown with every invitation and question",
    "messages": "every message sent has its form and belongs to this match",
    "conversation": "the match is one conversation",
    "times": "no time runs backwards",
    "dialogue": "every question has its answer or its failures, in order",
    "failures": "every failure is told and borne out by what came",
    "draws": "every draw follows from the seed and its step",
    "moves": "the moves are those that were received, and legal",
    "lifecycle": "the match went through its states in order",
    "result": "rules, moves and draws give the recorded result",
    "score": "the score follows from the result",
    "game over": "both players were told this result and the seed",
}
"""What is checked, and what is said where it holds."""
FOLLOWED = ("draws", "moves", "lifecycle", "result", "score", "game over")
"""What can only be checked as far as the dialogue can be followed."""
ALWAYS = ("sender", "league_id", "round_id", "match_id")
"""What every message of a referee's says of its match."""
NAMED = 10
"""Problems of one kind that are named."""
LONGEST_WRITING_SECONDS = 5
"""Between the moment in a message and the moment it is noted as sent."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was checked."""

    check: str
    ok: bool
    sentence: str


class _Problems:
    def __init__(self) -> None:
        self._found: dict[str, list[str]] = {check: [] for check in CHECKS}

    def add(self, check: str, sentence: str) -> None:
        self._found[check].append(sentence)

    def findings(self) -> list[Finding]:
        return [finding for check in CHECKS for finding in self._of(check)]

    def _of(self, check: str) -> Iterator[Finding]:
        problems = self._found[check]
        if not problems:
            yield Finding(check, True, CHECKS[check])
        for sentence in problems[:NAMED]:
            yield Finding(check, False, sentence)
        if len(problems) > NAMED:
            yield Finding(check, False, f"and {len(problems) - NAMED} more")


def verify_match(content: Mapping[str, Any], find_game: Callable[[str], Game] = load_game) -> list[Finding]:
    """All checks on a match file's content; raises NotAMatchFile where it has not the shape of one."""
    file = read_match_file(content)
    problems = _Problems()
    _check_commitment(file, problems)
    _check_messages(file, problems)
    _check_conversation(file, problems)
    _check_times(file, problems)
    try:
        _check_story(file, find_game(file.game_type).with_parameters(file.game_parameters), problems)
    except (ConfigError, ThreadLost) as error:
        _give_up(problems, str(error))
    except Exception as error:  # noqa: BLE001 - a third party's rules may raise anything, and the file is anybody's
        _give_up(problems, f"the rules of {quoted(file.game_type)} broke down: {error!r:.200}")
    return problems.findings()


def _give_up(problems: _Problems, why: str) -> None:
    problems.add("dialogue", why)
    for check in FOLLOWED:
        problems.add(check, "not checked to the end: the dialogue can't be followed")


def _check_commitment(file: MatchFile, problems: _Problems) -> None:
    shown = file.draw.commitment
    if commitment(file.draw.seed) != shown:
        problems.add("commitment", f"the seed's hash is {commitment(file.draw.seed)}, not {quoted(shown)}")
    for number, method, message in _sent(file):
        place = message.get("context") if "context" in message else message
        if METHODS[method].request in (v2.GameInvitation, v2.ChooseParityCall, v2.GameMoveCall):
            found = place.get("draw_commitment") if isinstance(place, dict) else None
            if found != shown:
                problems.add("commitment", f"line {number}: {method} shows {quoted(found)}, not {quoted(shown)}")


def _check_messages(file: MatchFile, problems: _Problems) -> None:
    for number, line in enumerate(file.transcript, 1):
        if line.direction != "drawn" and line.player_id not in file.pair:
            problems.add("messages", f"line {number}: {quoted(line.player_id)} is not a player of this match")
        if line.direction == "sent" and not (line.method in METHODS and isinstance(line.message, dict)):
            problems.add("messages", f"line {number}: {quoted(line.method)} with no message of the protocol")
    for number, method, message in _sent(file):
        model = METHODS[method].request
        try:
            if model is not None:
                check_envelope(message, model.TYPE)
                read_fields(model, message)
        except Refusal as refusal:
            problems.add("messages", f"line {number}: {method}: {refusal.message[:200]}")
            continue
        for name, found, expected in _mistaken(file, number, message):
            problems.add("messages", f"line {number}: {method}: {name} is {quoted(found)}, not {quoted(expected)}")
        if message.get("auth_token") not in (None, "", REDACTED):
            problems.add("messages", f"line {number}: {method}: the token is not struck out")


def _mistaken(file: MatchFile, number: int, message: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """What a message, or its context, says wrongly of its match: the field, what it says, what is so."""
    context = message.get("context")
    for said in (dict.fromkeys(ALWAYS) | dict(message), context if isinstance(context, dict) else {}):
        for name, expected in _identity(file, number).items():
            if name in said and not same(said[name], expected):
                yield name, said[name], expected


def _identity(file: MatchFile, number: int) -> dict[str, Any]:
    """What a message must say of the match, where it says anything of it."""
    player_id = file.transcript[number - 1].player_id
    seat = file.pair.index(player_id) if player_id in file.pair else 0
    return {
        "sender": f"referee:{file.referee_id}",
        "league_id": file.league_id,
        "round_id": file.round_id,
        "match_id": file.match_id,
        "game_type": file.game_type,
        "game_parameters": file.game_parameters,
        "player_id": player_id,
        "affected_player": player_id,
        "role_in_match": ROLES[seat],
        "opponent_id": file.pair[1 - seat],
    }


def _check_conversation(file: MatchFile, problems: _Problems) -> None:
    found = {quoted(message.get("conversation_id")) for _, _, message in _sent(file)}
    if len(found) > 1:
        problems.add("conversation", f"there are {len(found)}: {', '.join(sorted(found)[:NAMED])}")


def _check_times(file: MatchFile, problems: _Problems) -> None:
    states = [(f"state {quoted(moment.state)}", moment.at) for moment in file.lifecycle]
    lines = [(f"line {number}", line.at) for number, line in enumerate(file.transcript, 1)]
    ends = [line.method == "notify_match_result" for line in file.transcript]
    over = [where for where, end in zip(lines, ends, strict=True) if end]
    before = [where for where, end in zip(lines, ends, strict=True) if not end]
    _check_order(states, problems)
    _check_order([*states[:1], *before, *states[-1:], *over], problems)
    for number, method, message in _sent(file):
        noted, written = parse_utc(file.transcript[number - 1].at), parse_utc(str(message.get("timestamp")))
        if noted and written and not 0 <= (noted - written).total_seconds() < LONGEST_WRITING_SECONDS:
            problems.add("times", f"line {number}: {method} was written {written:%H:%M:%S} and sent {noted:%H:%M:%S}")
        if "deadline" in message:
            stated = [(f"line {number}: {name}", str(message.get(name))) for name in ("timestamp", "deadline")]
            _check_order(stated, problems)


def _check_order(moments: list[tuple[str, str]], problems: _Problems) -> None:
    last, where_last = datetime.min.replace(tzinfo=UTC), ""
    for where, text in moments:
        moment = parse_utc(text)
        if moment is None:
            problems.add("times", f"{where}: {quoted(text)} is no moment in UTC")
        elif moment < last:
            problems.add("times", f"{where} is earlier than {where_last}")
        else:
            last, where_last = moment, where


def _check_story(file: MatchFile, game: Game, problems: _Problems) -> None:
    """Tells the match again and compares."""
    if file.pair[0] == file.pair[1]:
        raise ThreadLost(f"{quoted(file.pair[0])} can't play against itself")
    retelling = Retelling(file, game, problems.add)
    retelling.tell()
    match = retelling.match
    if not same(file.moves, match.moves):
        problems.add("moves", f"the file has {quoted(file.moves)}; received were {quoted(match.moves)}")
    states = [moment.state for moment in file.lifecycle]
    if states != retelling.states and not _broke_off(states, retelling):
        problems.add("lifecycle", f"the file has {quoted(states)}; the match went {' -> '.join(retelling.states)}")
    _check_result(file, match, problems)


def _broke_off(states: list[str], retelling: Retelling) -> bool:
    """Whether a match that the referee gave up ended on the way."""
    *way, end = states or [""]
    given_up = Termination.VOID in retelling.match.terminations.values()
    return given_up and end == MatchState.FINISHED and way == retelling.states[: len(way)]


def _check_result(file: MatchFile, match: Match, problems: _Problems) -> None:
    if match.state is not MatchState.FINISHED or file.result is None:
        raise ThreadLost("the match has no result")
    verdict = match.verdict()
    told = {
        "status": str(verdict.outcome),
        "winner_player_id": verdict.winner,
        **match.game.wire.result(match.position, match.moves, match.players),
        "reason": verdict.reason,
    }
    ends = {player: str(match.terminations.get(player, Termination.NORMAL)) for player in match.players}
    _compare("result", "", {**told, "terminations": ends}, file.result, problems)
    scoring = Scoring(**{name: getattr(file.scoring, name) for name in Scoring.__slots__})
    result = MatchResult(match.match_id, file.round_id, match.players, verdict.outcome, verdict.winner)
    points = {player: scoring.points(result, player) for player in match.players}
    _compare("score", "", {"score": points}, file.result, problems)
    for number, method, message in _sent(file):
        if method == "notify_match_result":
            where = f"line {number}: "
            _compare("game over", where, {"draw_seed": file.draw.seed}, message, problems)
            _compare("game over", where, told, message.get("game_result"), problems)


def _compare(check: str, where: str, expected: Mapping[str, Any], found: Any, problems: _Problems) -> None:
    given = found if isinstance(found, dict) else {}
    for name, value in expected.items():
        if name not in given or not same(given[name], value):
            said = quoted(given[name]) if name in given else "missing"
            problems.add(check, f"{where}{name} is {said}; the match gives {quoted(value)}")


def _sent(file: MatchFile) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Line number, method and message of all that was sent in the protocol."""
    for number, line in enumerate(file.transcript, 1):
        if line.direction == "sent" and line.method in METHODS and isinstance(line.message, dict):
            yield number, str(line.method), line.message
