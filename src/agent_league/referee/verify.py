"""Verifying a match file: is it consistent, and do the draws follow from the seed?

Pure: from the file's content to findings. Nothing in the file is trusted, and no content makes this raise. The match is
played again from the file (`recorded_match`); what can be seen without that is checked here.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from agent_league.agent.match_dialects import MATCH_DIALECTS, MatchDialect, match_dialect_of
from agent_league.clock import parse_utc
from agent_league.errors import ConfigError, Refusal
from agent_league.games.base import BadParameters
from agent_league.games.draw import compute_commitment
from agent_league.games.registry import Game, load_game
from agent_league.model.results import FAULT_KEY, MatchState, Termination
from agent_league.protocol.checks import wrong_type_refusal
from agent_league.protocol.v2.answers import TranscriptEntry
from agent_league.protocol.version import CURRENT_PROTOCOL
from agent_league.referee.json_differences import describe_difference, find_differences, is_same_json
from agent_league.referee.match_file import MatchFile, read_match_file
from agent_league.referee.messages import PLAIN_WIRE
from agent_league.referee.recorded_match import RecordedPlay, ThreadLost
from agent_league.referee.requests import RESULT_METHOD
from agent_league.text import MAX_PHRASE, REDACTED, quote, shorten

CHECKS: Mapping[str, str] = {
    "commitment": "the seed's hash is the commitment, shown with every invitation and question of " + CURRENT_PROTOCOL,
    "messages": "every message sent has its form and belongs to this match",
    "conversation": "the match is one conversation",
    "times": "no time runs backwards",
    "dialogue": "every question has its answer or its failures, in order",
    "failures": "every failure is told and borne out by what came",
    "tolerated": "what was tolerated is what the answers show",
    "secrecy": "no choice is shown to a player whose own is not yet in",
    "draws": "every draw follows from the seed and its step",
    "moves": "the moves are those that were received, and legal",
    "lifecycle": "the match went through its states in order",
    "result": "rules, moves and draws give the recorded result",
    "score": "the score follows from the result",
    "game over": f"both players were told this result, in {CURRENT_PROTOCOL} with the seed",
}
"""The checks, and the sentence for each that holds."""
DIALOGUE_CHECKS = ("tolerated", "secrecy", "draws", "moves", "lifecycle", "result", "score", "game over")
"""Checks that go only as far as the dialogue can be followed."""
NAMED = 10
"""Most problems of one check that are listed."""
LONGEST_WRITING_SECONDS = 60
"""Longest time between a message's timestamp and its line in the transcript; a busy machine halts a referee there."""


@dataclass(frozen=True, slots=True)
class VerifyFinding:
    """The result of one check, or one problem that it found."""

    check: str
    ok: bool
    sentence: str


def verify_match(content: Mapping[str, Any], find_game: Callable[[str], Game] = load_game) -> list[VerifyFinding]:
    """Run all checks on a match file's content; raises NotAMatchFile if it doesn't have the shape of one."""
    file = read_match_file(content)
    problems: dict[str, list[str]] = {check: [] for check in CHECKS}
    for check, sentence in (*_check_header(file), *_check_messages(file), *_check_times(file)):
        problems[check].append(sentence)
    try:
        game = find_game(file.game_type).with_parameters(file.game_parameters)
        for check, sentence in _check_replay(file, game, lambda check, sentence: problems[check].append(sentence)):
            problems[check].append(sentence)
    except (ConfigError, BadParameters, ThreadLost) as error:
        _give_up(problems, str(error))
    except Exception as error:  # noqa: BLE001 - a third party's rules may raise anything, and the file is anybody's
        _give_up(problems, f"the rules of {quote(file.game_type)} broke down: {quote(error, MAX_PHRASE)}")
    return [finding for check in CHECKS for finding in _list_findings(check, problems[check])]


def _list_findings(check: str, problems: list[str]) -> Iterator[VerifyFinding]:
    if not problems:
        yield VerifyFinding(check, True, CHECKS[check])
    for sentence in problems[:NAMED]:
        yield VerifyFinding(check, False, sentence)
    if len(problems) > NAMED:
        yield VerifyFinding(check, False, f"and {len(problems) - NAMED} more")


def _give_up(problems: Mapping[str, list[str]], why: str) -> None:
    problems["dialogue"].append(why)
    for check in DIALOGUE_CHECKS:
        problems[check].append("not checked to the end: the dialogue can't be followed")


Problems = Iterator[tuple[str, str]]
"""Names of checks, each with a sentence about a problem."""


def _check_header(file: MatchFile) -> Problems:
    """Check what the file says of the match as a whole."""
    if compute_commitment(file.draw.seed) != file.draw.commitment:
        shown = quote(file.draw.commitment)
        yield "commitment", f"the seed's hash is {compute_commitment(file.draw.seed)}, not {shown}"
    known = [player_id for player_id, protocol in file.protocols.items() if protocol in MATCH_DIALECTS]
    if file.protocols and sorted(known) != sorted(file.player_ids):
        both = f"both players speak {' or '.join(MATCH_DIALECTS)}"
        yield "messages", f"{both}; the file has {quote(file.protocols)}"
    if file.round_id < 0:
        yield "messages", f"there is no round {file.round_id}"
    if file.strict and file.tolerated:
        yield "tolerated", f"a strict referee tolerates nothing, but {quote(file.tolerated)}"
    if file.limits and file.limits.attempts != file.attempts.max:
        yield "failures", f"{file.limits.attempts} attempts are the limit, {file.attempts.max} were given"


def _check_messages(file: MatchFile) -> Problems:
    """Check each line by itself: whose it is, and the form of its message."""
    for number, line in enumerate(file.transcript, 1):
        if line.direction != "drawn" and line.player_id not in file.player_ids:
            yield "messages", f"line {number}: {quote(line.player_id)} is not a player of this match"
        if line.tolerated and line.direction != "received":
            yield "tolerated", f"line {number}: nothing is tolerated in what was {line.direction}"
        if line.direction == "sent":
            try:
                _check_form(line, match_dialect_of(file.protocol_of(line.player_id)))
            except Refusal as refusal:
                yield "messages", f"line {number}: {quote(line.method)}: {shorten(refusal.message, MAX_PHRASE)}"


def _check_form(line: TranscriptEntry, dialect: MatchDialect) -> None:
    """Raise Refusal if a line's message isn't a valid one of its method."""
    message = line.message
    if not isinstance(message, dict):
        raise wrong_type_refusal("message", "one of the protocol", message)
    dialect.check_sent_message(str(line.method), message)
    if message.get("auth_token") not in (None, "", REDACTED):
        raise wrong_type_refusal("auth_token", "a token that is struck out", "another")


def _check_times(file: MatchFile) -> Problems:
    states = [(f"state {quote(moment.state)}", moment.at) for moment in file.lifecycle]
    lines = [(line.method == RESULT_METHOD, (f"line {at}", line.at)) for at, line in enumerate(file.transcript, 1)]
    before, over = ([where for is_end, where in lines if is_end is wanted] for wanted in (False, True))
    yield from _check_order(states)
    yield from _check_order([*states[:1], *before, *states[-1:], *over])
    for number, line in enumerate(file.transcript, 1):
        if line.direction != "sent" or not isinstance(line.message, dict):
            continue
        noted, written = parse_utc(line.at), parse_utc(str(line.message.get("timestamp")))
        if noted and written and not 0 <= (noted - written).total_seconds() < LONGEST_WRITING_SECONDS:
            yield "times", f"line {number}: {line.method} was written {written:%H:%M:%S} and sent {noted:%H:%M:%S}"
        if "deadline" in line.message:
            stated = [(f"line {number}: {name}", str(line.message.get(name))) for name in ("timestamp", "deadline")]
            yield from _check_order(stated)


def _check_order(moments: list[tuple[str, str]]) -> Problems:
    last, where_last = datetime.min.replace(tzinfo=UTC), ""
    for where, text in moments:
        moment = parse_utc(text)
        if moment is None:
            yield "times", f"{where}: {quote(text)} is no moment in UTC"
        elif moment < last:
            yield "times", f"{where} is earlier than {where_last}"
        else:
            last, where_last = moment, where


def _check_replay(file: MatchFile, game: Game, report: Callable[[str, str], None]) -> Problems:
    """Play the match again, and compare what the file says of it with what came out."""
    if file.player_ids[0] == file.player_ids[1]:
        raise ThreadLost(f"{quote(file.player_ids[0])} can't play against itself")
    for player_id, method in file.move_methods.items():
        if player_id not in file.player_ids or method not in (game.wire.method, PLAIN_WIRE.method):
            yield "messages", f"nobody asks {quote(player_id)} with {quote(method)} in this match"
    play = RecordedPlay(file, game, report)
    play.replay()
    if play.state is not MatchState.FINISHED or file.result is None:
        raise ThreadLost("the match has no result")
    played = play.to_match_file()
    for difference in find_differences(played["tolerated"], file.tolerated):
        yield "tolerated", describe_difference(*difference)
    if not is_same_json(file.moves, played["moves"]):
        yield "moves", f"the file has {quote(file.moves)}; received were {quote(played['moves'])}"
    states, went = ([moment.state for moment in file.lifecycle], [one["state"] for one in played["lifecycle"]])
    is_aborted = Termination.VOID in play.match.terminations.values() and states[-1:] == [MatchState.FINISHED]
    if states != went and not (is_aborted and states[:-1] == went[: len(states) - 1]):
        yield "lifecycle", f"the file has {quote(states)}; the match went {' -> '.join(went)}"
    for path, found, expected in find_differences(played["result"], file.result, ("",)):
        if path != FAULT_KEY:
            yield ("score" if path.startswith("score") else "result"), describe_difference(path, found, expected)
