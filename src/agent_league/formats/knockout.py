"""Knockout: who loses a series is out, and the last one is champion."""

from dataclasses import dataclass
from typing import ClassVar

from agent_league.formats.base import TournamentRecord
from agent_league.formats.bracket import BracketFormat
from agent_league.formats.bracket_plan import (
    BracketPlan,
    BracketPlanner,
    BracketSection,
    pair_neighbours,
    take_losers,
    take_winners,
)
from agent_league.formats.settings import make_settings_error

LATE_LEVELS = {4: ("Semi-finals", "semi-final {}"), 8: ("Quarter-finals", "quarter-final {}")}
"""By the number of places that are left: the title of a level, and the name of its series."""


@dataclass(frozen=True, slots=True)
class Knockout(BracketFormat):
    """A seeded knockout; the top seeds have a bye in the first level if there are too few players to fill it."""

    name: ClassVar[str] = "knockout"

    third_place: bool = False
    """Whether the losers of the semi-finals play for third place, at the same time as the final."""

    def __post_init__(self) -> None:
        BracketFormat.__post_init__(self)
        if not isinstance(self.third_place, bool):
            raise make_settings_error(self.name, "third_place", "true or false", self.third_place)

    def plan_bracket(self, players: int) -> BracketPlan:
        planner = BracketPlanner(players)
        pairs = planner.pair_seeds()
        level = None
        while len(pairs) > 1:
            places = 2 * len(pairs)
            title, name = LATE_LEVELS.get(places, (f"Round of {places}", f"round of {places} match {{}}"))
            level = planner.add_level(title, BracketSection.MAIN, pairs, name=name, loser_place=len(pairs) + 1)
            planner.add_step(level)
            pairs = pair_neighbours(take_winners(level))
        final = planner.add_level("Final", BracketSection.MAIN, pairs, name="the final", loser_place=2)
        if level is not None and self.third_place:
            losers = pair_neighbours(take_losers(level))
            third = planner.add_level(
                "Third place",
                BracketSection.THIRD_PLACE,
                losers,
                name="the match for third place",
                loser_place=4,
                winner_place=3,
            )
            planner.add_step(final, third)
        elif pairs:
            planner.add_step(final)
        return planner.finish_plan()

    def explain_advance(self, tournament: TournamentRecord, title: str, series: str) -> str:
        if title.startswith("Final"):
            return f"the winner of this {series} takes the first place"
        return f"the winner of each {series} advances, the loser is out"
