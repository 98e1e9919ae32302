"""Double elimination: who loses two series is out.

Who loses in the winners' bracket goes on in the losers' bracket. The winners of both meet in the grand final; if the
one from the losers' bracket wins it, each has lost once, and it is played once more.
"""

from dataclasses import dataclass
from typing import ClassVar

from agent_league.formats.base import TournamentRecord
from agent_league.formats.bracket import BracketFormat
from agent_league.formats.bracket_plan import (
    BracketPlan,
    BracketPlanner,
    BracketSection,
    LevelPlan,
    Origin,
    Source,
    pair_neighbours,
    take_losers,
    take_winners,
)

FINAL_TITLE = "Grand final"
REPEAT_TITLE = f"{FINAL_TITLE}, once more"
FINAL_RULE = "who comes from the losers' bracket must win it twice for the first place, the other one once"


@dataclass(frozen=True, slots=True)
class DoubleElimination(BracketFormat):
    """A seeded double elimination; the losers' bracket is crossed, so that players rarely meet again in it."""

    name: ClassVar[str] = "double_elimination"
    lives: ClassVar[int] = 2

    def plan_bracket(self, players: int) -> BracketPlan:
        planner = BracketPlanner(players)
        if players < 2:
            return planner.finish_plan()
        winners = _add_winners_level(planner, 1, planner.pair_seeds())
        planner.add_step(winners)
        survivors = take_losers(winners)
        number = 1
        while len(winners.series) > 1:
            number += 1
            losers = _add_losers_level(planner, 2 * number - 3, pair_neighbours(survivors))
            winners = _add_winners_level(planner, number, pair_neighbours(take_winners(winners)))
            planner.add_step(winners, losers)
            dropped = _cross_losers(winners, number)
            pairs = list(zip(dropped, take_winners(losers), strict=True))
            losers = _add_losers_level(planner, 2 * number - 2, pairs)
            planner.add_step(losers)
            survivors = take_winners(losers)
        finalists = (Source(Origin.WINNER, winners.series[0]), survivors[0])
        first = planner.add_level(FINAL_TITLE, BracketSection.FINAL, [finalists], name="the grand final", loser_place=2)
        planner.add_step(first)
        again = planner.add_level(
            REPEAT_TITLE,
            BracketSection.FINAL,
            [finalists],
            name="the second grand final",
            loser_place=2,
            repeats=first.series[0],
        )
        planner.add_step(again)
        return planner.finish_plan()

    def explain_advance(self, tournament: TournamentRecord, title: str, series: str) -> str:
        if title.startswith(FINAL_TITLE):
            once_more = title.startswith(REPEAT_TITLE)
            return f"the winner of this {series} takes the first place" if once_more else FINAL_RULE
        losses = self.play_bracket(tournament).count_losses().values()
        counts = ((0, "unbeaten"), (1, "in the losers' bracket"), (2, "out"))
        where = ", ".join(f"{list(losses).count(number)} {words}" for number, words in counts)
        return f"who loses a second {series} is out; {where}"


def _add_winners_level(planner: BracketPlanner, number: int, pairs: list[tuple[Source, Source]]) -> LevelPlan:
    """Add a level of the winners' bracket; nobody goes out in it, as every loser has a place in the losers' bracket."""
    is_final = len(pairs) == 1 and planner.players > 2
    title = "Winners' final" if is_final else f"Winners' round {number}"
    name = "the winners' final" if is_final else f"winners' round {number} match {{}}"
    return planner.add_level(title, BracketSection.WINNERS, pairs, name=name, loser_place=2)


def _add_losers_level(planner: BracketPlanner, number: int, pairs: list[tuple[Source, Source]]) -> LevelPlan:
    """Add a level of the losers' bracket: in odd ones survivors meet each other, in even ones those who just lost."""
    is_final = len(pairs) == 1 and number % 2 == 0
    title = "Losers' final" if is_final else f"Losers' round {number}"
    name = "the losers' final" if is_final else f"losers' round {number} match {{}}"
    place = len(pairs) * (2 if number % 2 == 0 else 3) + 1
    return planner.add_level(title, BracketSection.LOSERS, pairs, name=name, loser_place=place)


def _cross_losers(level: LevelPlan, number: int) -> list[Source]:
    """Order those who lose in a level of the winners' bracket so that they meet former opponents as late as possible.

    The blocks that change places are given by the level's number, counted from 0, with its binary digits reversed: so
    the levels differ in the largest block, and those that can't in the next smaller one.
    """
    losers = take_losers(level)
    digits = len(losers).bit_length() - 1
    mask = sum(1 << (digits - 1 - digit) for digit in range(digits) if (number - 1) >> digit & 1)
    return [losers[place ^ mask] for place in range(len(losers))]
