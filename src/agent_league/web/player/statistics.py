"""What matches tell of a player: its habits, how it answered its referees, and what it learned of its opponents.

Moves come from the recorded result's details, otherwise from the match file, which may be a stranger's: what can't be
read is skipped. Independent of any game.
"""

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from agent_league.errors import ErrorCode
from agent_league.model.result_words import label_result
from agent_league.model.results import MatchResult
from agent_league.players.history import OpponentModel
from agent_league.players.observation import GameRecord
from agent_league.storage.files import read_json_object
from agent_league.text import MAX_WORD, format_move, to_printable
from agent_league.web.thinking_times import is_move_request, read_milliseconds

MOST_SHOWN = 9
MOST_REPLIES = 3
LONGEST_MOVE = 32

MoveSteps = list[Mapping[str, Any]]
"""One mapping per step: player id -> move."""


@dataclass(frozen=True, slots=True)
class FiledMatch:
    """A finished match, and its file if that could be read."""

    result: MatchResult
    file: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class MoveShare:
    """How often a move was played, and its share among the alternatives."""

    what: str
    count: int
    percent: float


@dataclass(frozen=True, slots=True)
class MoveReaction:
    """What a player plays after a certain event."""

    after: str
    count: int
    shares: Sequence[MoveShare]


@dataclass(slots=True)
class ResultRecord:
    """How many matches were won, drawn and lost."""

    wins: int = 0
    draws: int = 0
    losses: int = 0

    def count_result(self, column: str, times: int = 1) -> None:
        """Count a match by the column of the standings that counts it; one that was aborted counts nowhere."""
        self.wins += times * (column == "W")
        self.draws += times * (column == "D")
        self.losses += times * (column == "L")

    @property
    def total(self) -> int:
        return self.wins + self.draws + self.losses

    @property
    def text(self) -> str:
        return f"{self.wins}-{self.draws}-{self.losses}"

    def list_parts(self, width: float = 100) -> list[tuple[str, float, float]]:
        """List the parts of a bar of this width: their kind, where each begins, and how wide it is."""
        parts, begin = [], 0.0
        for kind, count in (("win", self.wins), ("draw", self.draws), ("loss", self.losses)):
            if count:
                wide = width * count / self.total
                parts.append((kind, round(begin, 2), round(wide, 2)))
                begin += wide
        return parts


@dataclass(frozen=True, slots=True)
class PlayingHabits:
    """A player's habits, counted over the matches whose moves are known."""

    matches: int
    moves: int
    shares: Sequence[MoveShare]
    openings: Sequence[MoveShare]
    after_result: Sequence[MoveReaction]
    """Its first move in the match after one that it won, drew or lost."""
    after_opponent: Sequence[MoveReaction]
    """Its reply to an opponent's move in the same match."""
    move_records: Mapping[str, ResultRecord]
    """By move, what became of the matches in which it was made; a move made twice in one counts twice."""
    opening_records: Mapping[str, ResultRecord]
    """By first move, what became of the matches."""


def analyse_habits(player_id: str, played: Iterable[FiledMatch]) -> PlayingHabits:
    """Analyse a player's habits in these matches, which must be in order, oldest first."""
    known = [(match.result, steps) for match in played if (steps := _read_steps(match))]
    moves: Counter[str] = Counter()
    openings: Counter[str] = Counter()
    after: defaultdict[str, Counter[str]] = defaultdict(Counter)
    opened: list[tuple[str, str | None]] = []
    move_records: defaultdict[str, ResultRecord] = defaultdict(ResultRecord)
    opening_records: defaultdict[str, ResultRecord] = defaultdict(ResultRecord)
    for result, steps in known:
        own = [format_move(step[player_id], LONGEST_MOVE) for step in steps if player_id in step]
        moves.update(own)
        openings.update(own[:1])
        sign = label_result(result, player_id)
        for move in own:
            move_records[move].count_result(sign.column)
        for move in own[:1]:
            opening_records[move].count_result(sign.column)
        opened.append((sign.word.split(" ")[0], own[0] if own else None))
        for theirs, mine in _pair_replies(player_id, steps):
            after[theirs][mine] += 1
    then: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for (how, _), (_, opening) in pairwise(opened):
        if opening is not None:
            then[f"a match that it {how}"][opening] += 1
    return PlayingHabits(
        matches=len(known),
        moves=moves.total(),
        shares=compute_shares(moves),
        openings=compute_shares(openings),
        after_result=_rank_reactions(then),
        after_opponent=_rank_reactions(after),
        move_records=move_records,
        opening_records=opening_records,
    )


def compute_shares(counts: Mapping[str, int], most: int = MOST_SHOWN) -> list[MoveShare]:
    """Compute the share of each count, most frequent first; rare ones are summed up as the last."""
    total = sum(counts.values())
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    shown = ordered if len(ordered) <= most + 1 else ordered[:most]
    rest = total - sum(count for _, count in shown)
    if rest:
        shown = [*shown, (f"{len(ordered) - len(shown)} others", rest)]
    return [MoveShare(what, count, round(100 * count / total, 1)) for what, count in shown]


def _rank_reactions(found: Mapping[str, Counter[str]]) -> list[MoveReaction]:
    ordered = sorted(found.items(), key=lambda item: (-item[1].total(), item[0]))[:MOST_SHOWN]
    return [MoveReaction(after, counts.total(), compute_shares(counts, MOST_REPLIES)) for after, counts in ordered]


def _pair_replies(player_id: str, steps: MoveSteps) -> Iterator[tuple[str, str]]:
    """Yield each move of the player with the opponent's latest move before it."""
    seen: str | None = None
    for step in steps:
        if player_id in step and seen is not None:
            yield seen, format_move(step[player_id], LONGEST_MOVE)
        theirs = [move for mover, move in step.items() if mover != player_id]
        seen = format_move(theirs[0], LONGEST_MOVE) if theirs else seen


def _read_steps(match: FiledMatch) -> MoveSteps | None:
    """Read a match's moves from the result's details, in either form that referees report, or from the match file."""
    details, filed = match.result.details, (match.file or {}).get("moves")
    for moves in (details.get("moves"), filed):
        if isinstance(moves, list) and all(isinstance(step, Mapping) for step in moves):
            return moves
    choices = details.get("choices")
    if isinstance(choices, Mapping) and not any(isinstance(made, list) for made in choices.values()):
        return [choices]
    return None


MOST_MATCHES = 12
"""Matches listed for one kind of failure."""
FAILURE_WORDS: Mapping[str, str] = {
    ErrorCode.TIMEOUT_ERROR: "no answer in time",
    ErrorCode.CONNECTION_ERROR: "no connection",
    ErrorCode.INVALID_MESSAGE_FORMAT: "an answer that can't be read as one, or an error",
    ErrorCode.MISSING_REQUIRED_FIELD: "an answer without a field that it needs",
    ErrorCode.INVALID_PARITY_CHOICE: "a choice that is neither even nor odd",
    ErrorCode.INVALID_MOVE: "a move that the rules don't allow",
    ErrorCode.AUTH_TOKEN_MISSING: "an answer without its token",
    ErrorCode.AUTH_TOKEN_INVALID: "an answer with a wrong token",
}


@dataclass(frozen=True, slots=True)
class AnswerFailure:
    """One kind of failure and how often it occurred; `matches` are the latest in which it did."""

    code: str
    words: str
    times: int
    matches: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AnswerStatistics:
    """Answers to move requests: the number of requests, `again` of them repeated after a failure, and answer times."""

    asked: int
    again: int
    median_ms: float | None
    slowest_ms: float | None
    slowest_in: str
    """The match with the slowest answer."""
    troubles: tuple[AnswerFailure, ...]
    """Failures, most frequent first, including those on invitations."""


def summarise_answers(player_id: str, played: Iterable[FiledMatch]) -> AnswerStatistics:
    asked = again = 0
    times: list[tuple[float, str]] = []
    troubles: dict[str, list[str]] = {}
    for match in played:
        match_id = match.result.match_id
        for entry in (match.file or {}).get("transcript", ()):
            if entry.get("player_id") != player_id:
                continue
            direction, is_move = entry.get("direction"), is_move_request(entry)
            if direction == "sent" and is_move:
                asked += 1
                again += read_milliseconds(entry.get("attempt")) > 1
            elif direction == "received" and is_move:
                times.append((read_milliseconds(entry.get("latency_ms")), match_id))
            elif direction == "failed":
                troubles.setdefault(to_printable(str(entry.get("error_code")), MAX_WORD), []).append(match_id)
    slowest = max(times, default=(None, ""))
    return AnswerStatistics(
        asked=asked,
        again=again,
        median_ms=statistics.median(time for time, _ in times) if times else None,
        slowest_ms=slowest[0],
        slowest_in=slowest[1],
        troubles=tuple(
            AnswerFailure(
                code, FAILURE_WORDS.get(code, "a failure"), len(where), tuple(dict.fromkeys(where[::-1]))[:MOST_MATCHES]
            )
            for code, where in sorted(troubles.items(), key=lambda item: (-len(item[1]), item[0]))
        ),
    )


LARGEST_FILE = 16 * 1024 * 1024
OUTCOMES = ("WIN", "DRAW", "LOSS", "TECHNICAL_LOSS")


@dataclass(frozen=True, slots=True)
class OpponentNote:
    """What a player has learned about one opponent."""

    opponent_id: str
    games: int
    moves: Sequence[MoveShare]
    transitions: Sequence[MoveShare]
    """Frequencies of the opponent's moves after its previous ones."""


def read_opponent_notes(
    file: Path, display_name: str, league_id: str, opponents: Mapping[str, str]
) -> list[OpponentNote]:
    """Read a player's notes about its matches in this league; `opponents` maps match ids to opponents.

    A history file may span several leagues, in which an id means different players: only this league's matches count.
    Returns nothing if the file is missing, too large or another player's.
    """
    try:
        if file.stat().st_size > LARGEST_FILE:
            return []
    except OSError:
        return []
    found = read_json_object(file) or {}
    matches = found.get("matches")
    if found.get("display_name") != display_name or not isinstance(matches, list):
        return []
    games = {match["match_id"]: match for match in matches if _belongs_to_league(match, league_id, opponents)}
    models: dict[str, OpponentModel] = {}
    for game in games.values():
        models.setdefault(game["opponent_id"], OpponentModel()).add_game(_parse_record(game))
    return [_summarise_model(opponent_id, model) for opponent_id, model in models.items()]


def _belongs_to_league(match: Any, league_id: str, opponents: Mapping[str, str]) -> bool:
    if not isinstance(match, dict) or match.get("league_id") != league_id or match.get("outcome") not in OUTCOMES:
        return False
    match_id, moves = match.get("match_id"), match.get("opponent_moves")
    is_ours = isinstance(match_id, str) and opponents.get(match_id, "") == match.get("opponent_id")
    return is_ours and isinstance(moves, list)


def _parse_record(game: Mapping[str, Any]) -> GameRecord:
    return GameRecord(
        match_id=game["match_id"],
        game_type="",
        opponent_id=game["opponent_id"],
        outcome=game["outcome"],
        my_moves=(),
        opponent_moves=tuple(to_printable(str(move), LONGEST_MOVE) for move in game["opponent_moves"]),
    )


def _summarise_model(opponent_id: str, model: OpponentModel) -> OpponentNote:
    arrows = {one.replace(">", " → ", 1): count for one, count in model.transitions.items()}
    return OpponentNote(
        opponent_id, model.games, compute_shares(model.moves, MOST_REPLIES), compute_shares(arrows, MOST_REPLIES)
    )
