"""Playing habits of a player: move frequencies, openings and reactions, counted over its finished matches.

Moves come from the recorded result's details, otherwise from the match file. Independent of any game.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import orjson

from agent_league.model.result_words import label_result
from agent_league.model.results import MatchResult
from agent_league.text import to_printable

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


def analyse_habits(player_id: str, played: Iterable[FiledMatch]) -> PlayingHabits:
    """Analyse a player's habits in these matches, which must be in order, oldest first."""
    known = [(match.result, steps) for match in played if (steps := _read_steps(match))]
    moves: Counter[str] = Counter()
    openings: Counter[str] = Counter()
    after: defaultdict[str, Counter[str]] = defaultdict(Counter)
    opened: list[tuple[str, str | None]] = []
    for result, steps in known:
        own = [_format_move(step[player_id]) for step in steps if player_id in step]
        moves.update(own)
        openings.update(own[:1])
        opened.append((label_result(result, player_id).word.split(" ")[0], own[0] if own else None))
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
            yield seen, _format_move(step[player_id])
        theirs = [move for mover, move in step.items() if mover != player_id]
        seen = _format_move(theirs[0]) if theirs else seen


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


def _format_move(move: Any) -> str:
    """Format a move for people: text as it is, anything else as JSON."""
    try:
        text = move if isinstance(move, str) else orjson.dumps(move, option=orjson.OPT_SORT_KEYS).decode()
    except TypeError:  # values from a database may not be JSON
        text = repr(move)
    return to_printable(text if len(text) <= LONGEST_MOVE else f"{text[:LONGEST_MOVE]}…")
