"""Verifying a match file: is it consistent, and do the draws follow from the seed?

Pure: from the file's content to findings. Nothing in the file is trusted, and no content makes this raise.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from agent_league.clock import parse_utc
from agent_league.errors import ConfigError, Refusal
from agent_league.games.base import BadParameters
from agent_league.games.draw import compute_commitment
from agent_league.games.registry import Game, load_game
from agent_league.model.results import MatchResult, MatchState, Scoring, Termination
from agent_league.protocol.version import PROTOCOL_V1
from agent_league.referee.match import Match, MatchVerdict
from agent_league.referee.match_file import MatchFile, TranscriptLine, read_match_file
from agent_league.referee.messages_v1 import write_v1_result
from agent_league.referee.verify.comparing import is_same_json, list_differences, list_mismatches
from agent_league.referee.verify.forms import COMMITMENT_MESSAGES, FORMS, form_of
from agent_league.referee.verify.replayed_match import Retelling, ThreadLost
from agent_league.text import REDACTED, quote

CHECKS: Mapping[str, str] = {
    "commitment": "the seed's hash is the commitment, shown with every invitation and question of league.v2",
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
    "game over": "both players were told this result, in league.v2 with the seed",
}
"""The checks, and the sentence for each that holds."""
DIALOGUE_CHECKS = ("tolerated", "secrecy", "draws", "moves", "lifecycle", "result", "score", "game over")
"""Checks that go only as far as the dialogue can be followed."""
NAMED = 10
"""Most problems of one check that are listed."""
LONGEST_WRITING_SECONDS = 5
"""Longest time between a message's timestamp and its line in the transcript."""


@dataclass(frozen=True, slots=True)
class VerifyFinding:
    """The result of one check, or one problem that it found."""

    check: str
    ok: bool
    sentence: str


class _Problems:
    def __init__(self) -> None:
        self._sentences: dict[str, list[str]] = {check: [] for check in CHECKS}

    def add(self, check: str, sentence: str) -> None:
        self._sentences[check].append(sentence)

    def findings(self) -> list[VerifyFinding]:
        return [finding for check in CHECKS for finding in self._list_findings(check)]

    def _list_findings(self, check: str) -> Iterator[VerifyFinding]:
        problems = self._sentences[check]
        if not problems:
            yield VerifyFinding(check, True, CHECKS[check])
        for sentence in problems[:NAMED]:
            yield VerifyFinding(check, False, sentence)
        if len(problems) > NAMED:
            yield VerifyFinding(check, False, f"and {len(problems) - NAMED} more")


def verify_match(content: Mapping[str, Any], find_game: Callable[[str], Game] = load_game) -> list[VerifyFinding]:
    """Run all checks on a match file's content; raises NotAMatchFile if it doesn't have the shape of one."""
    file = read_match_file(content)
    problems = _Problems()
    _check_commitment(file, problems)
    _check_messages(file, problems)
    _check_conversation(file, problems)
    _check_times(file, problems)
    _check_tolerated(file, problems)
    try:
        _check_story(file, find_game(file.game_type).with_parameters(file.game_parameters), problems)
    except (ConfigError, BadParameters, ThreadLost) as error:
        _give_up(problems, str(error))
    except Exception as error:  # noqa: BLE001 - a third party's rules may raise anything, and the file is anybody's
        _give_up(problems, f"the rules of {quote(file.game_type)} broke down: {error!r:.200}")
    return problems.findings()


def _give_up(problems: _Problems, why: str) -> None:
    problems.add("dialogue", why)
    for check in DIALOGUE_CHECKS:
        problems.add(check, "not checked to the end: the dialogue can't be followed")


def _check_commitment(file: MatchFile, problems: _Problems) -> None:
    shown = file.draw.commitment
    if compute_commitment(file.draw.seed) != shown:
        problems.add("commitment", f"the seed's hash is {compute_commitment(file.draw.seed)}, not {quote(shown)}")
    for number, line, message in _list_sent_messages(file):
        if form_of(file, line.player_id).models[str(line.method)] in COMMITMENT_MESSAGES:
            place = message.get("context") if "context" in message else message
            found = place.get("draw_commitment") if isinstance(place, dict) else None
            if found != shown:
                problems.add("commitment", f"line {number}: {line.method} shows {quote(found)}, not {quote(shown)}")


def _check_messages(file: MatchFile, problems: _Problems) -> None:
    spoken = [player_id for player_id, protocol in file.protocols.items() if protocol in FORMS]
    if file.protocols and sorted(spoken) != sorted(file.player_ids):
        problems.add("messages", f"both players speak {' or '.join(FORMS)}; the file has {quote(file.protocols)}")
    for number, line in enumerate(file.transcript, 1):
        if line.direction != "drawn" and line.player_id not in file.player_ids:
            problems.add("messages", f"line {number}: {quote(line.player_id)} is not a player of this match")
        if line.direction == "sent" and not _is_message(file, line):
            problems.add("messages", f"line {number}: {quote(line.method)} with no message of the protocol")
    for number, line, message in _list_sent_messages(file):
        form = form_of(file, line.player_id)
        try:
            form.check(str(line.method), message)
        except Refusal as refusal:
            problems.add("messages", f"line {number}: {line.method}: {refusal.message[:200]}")
            continue
        for name, found, expected in form.find_wrong_fields(file, line.player_id, message):
            problems.add("messages", f"line {number}: {line.method}: {name} is {quote(found)}, not {quote(expected)}")
        if message.get("auth_token") not in (None, "", REDACTED):
            problems.add("messages", f"line {number}: {line.method}: the token is not struck out")


def _check_conversation(file: MatchFile, problems: _Problems) -> None:
    for number, line, message in _list_sent_messages(file):
        found, expected = message.get("conversation_id"), form_of(file, line.player_id).conversation(file)
        if found != expected:
            problems.add("conversation", f"line {number}: {line.method} is of {quote(found)}, not {quote(expected)}")


def _check_tolerated(file: MatchFile, problems: _Problems) -> None:
    """Check that the deviations listed for each player are those of its answers, each once."""
    noted: dict[str, dict[str, None]] = {}
    for number, line in enumerate(file.transcript, 1):
        if line.tolerated:
            noted.setdefault(str(line.player_id), {}).update(dict.fromkeys(line.tolerated))
            if line.direction != "received":
                problems.add("tolerated", f"line {number}: nothing is tolerated in what was {line.direction}")
    for complaint in list_differences({player_id: list(notes) for player_id, notes in noted.items()}, file.tolerated):
        problems.add("tolerated", complaint)
    if file.strict and noted:
        problems.add("tolerated", f"a strict referee tolerates nothing, but {quote(noted)}")


def _check_times(file: MatchFile, problems: _Problems) -> None:
    states = [(f"state {quote(moment.state)}", moment.at) for moment in file.lifecycle]
    lines = [(f"line {number}", line.at) for number, line in enumerate(file.transcript, 1)]
    ends = [line.method == "notify_match_result" for line in file.transcript]
    over = [where for where, end in zip(lines, ends, strict=True) if end]
    before = [where for where, end in zip(lines, ends, strict=True) if not end]
    _check_order(states, problems)
    _check_order([*states[:1], *before, *states[-1:], *over], problems)
    for number, line, message in _list_sent_messages(file):
        noted, written = parse_utc(line.at), parse_utc(str(message.get("timestamp")))
        if noted and written and not 0 <= (noted - written).total_seconds() < LONGEST_WRITING_SECONDS:
            problems.add(
                "times", f"line {number}: {line.method} was written {written:%H:%M:%S} and sent {noted:%H:%M:%S}"
            )
        if "deadline" in message:
            stated = [(f"line {number}: {name}", str(message.get(name))) for name in ("timestamp", "deadline")]
            _check_order(stated, problems)


def _check_order(moments: list[tuple[str, str]], problems: _Problems) -> None:
    last, where_last = datetime.min.replace(tzinfo=UTC), ""
    for where, text in moments:
        moment = parse_utc(text)
        if moment is None:
            problems.add("times", f"{where}: {quote(text)} is no moment in UTC")
        elif moment < last:
            problems.add("times", f"{where} is earlier than {where_last}")
        else:
            last, where_last = moment, where


def _check_story(file: MatchFile, game: Game, problems: _Problems) -> None:
    """Replay the match and compare."""
    if file.player_ids[0] == file.player_ids[1]:
        raise ThreadLost(f"{quote(file.player_ids[0])} can't play against itself")
    retelling = Retelling(file, game, problems.add)
    retelling.tell()
    match = retelling.match
    if not is_same_json(file.moves, match.moves):
        problems.add("moves", f"the file has {quote(file.moves)}; received were {quote(match.moves)}")
    states = [moment.state for moment in file.lifecycle]
    if states != retelling.states and not _is_aborted(states, retelling):
        problems.add("lifecycle", f"the file has {quote(states)}; the match went {' -> '.join(retelling.states)}")
    _check_result(file, match, problems)


def _is_aborted(states: list[str], retelling: Retelling) -> bool:
    """Whether the match was aborted by the referee on the way."""
    *way, end = states or [""]
    given_up = Termination.VOID in retelling.match.terminations.values()
    return given_up and end == MatchState.FINISHED and way == retelling.states[: len(way)]


def _check_result(file: MatchFile, match: Match, problems: _Problems) -> None:
    if match.state is not MatchState.FINISHED or file.result is None:
        raise ThreadLost("the match has no result")
    verdict = match.decide_verdict()
    told = {
        "status": str(verdict.outcome),
        "winner_player_id": verdict.winner,
        **match.game.result_fields(match.position, match.moves, match.players),
        "reason": verdict.reason,
    }
    ends = {player: str(match.terminations.get(player, Termination.NORMAL)) for player in match.players}
    for complaint in list_mismatches({**told, "terminations": ends}, file.result):
        problems.add("result", complaint)
    scoring = Scoring(**{name: getattr(file.scoring, name) for name in Scoring.__slots__})
    result = MatchResult(
        match.match_id, file.round_id, match.players, verdict.outcome, verdict.winner, terminations=match.terminations
    )
    points = {player: scoring.points_for(result, player) for player in match.players}
    for complaint in list_mismatches({"score": points}, file.result):
        problems.add("score", complaint)
    for number, line, message in _list_sent_messages(file):
        if line.method == "notify_match_result":
            for complaint in _find_wrong_result(file, line, message, told, verdict, match):
                problems.add("game over", f"line {number}: {complaint}")


def _find_wrong_result(
    file: MatchFile,
    line: TranscriptLine,
    message: Mapping[str, Any],
    told: Mapping[str, Any],
    verdict: MatchVerdict,
    match: Match,
) -> Iterator[str]:
    """Yield what GAME_OVER tells a player wrongly of the result."""
    if file.protocol_of(line.player_id) == PROTOCOL_V1:
        yield from list_differences(write_v1_result(match, verdict), message.get("result"), "result")
    else:
        yield from list_mismatches({"draw_seed": file.draw.seed}, message)
        yield from list_mismatches(told, message.get("game_result"))


def _is_message(file: MatchFile, line: TranscriptLine) -> bool:
    return line.method in form_of(file, line.player_id).models and isinstance(line.message, dict)


def _list_sent_messages(file: MatchFile) -> Iterator[tuple[int, TranscriptLine, dict[str, Any]]]:
    """Yield number, line and message of every sent line with a message of the protocol."""
    for number, line in enumerate(file.transcript, 1):
        if line.direction == "sent" and _is_message(file, line):
            yield number, line, line.message
