"""The schedule of a league: rounds of pairings."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

PLAY_OFF_STAGE = 0
"""The stage of the rounds that decide the first place after the tournament."""


@dataclass(frozen=True, slots=True)
class Pairing:
    """Two players who are to meet in a round."""

    match_id: str
    round_id: int
    player_a: str
    player_b: str
    reason: str = ""
    """Why these two meet, in words."""
    replaces: str = ""
    """The id of the match that is played again as this one; empty for an ordinary one."""

    @property
    def players(self) -> tuple[str, str]:
        return (self.player_a, self.player_b)


def make_rerun_id(match_id: str, replaces: str) -> str:
    """The id under which a match is played again: R1M1-2 for R1M1, then R1M1-3."""
    first, _, number = match_id.rpartition("-") if replaces else (match_id, "", "1")
    return f"{first}-{int(number) + 1}"


@dataclass(frozen=True, slots=True)
class LeagueRound:
    """The pairings that are played at the same time."""

    round_id: int
    pairings: tuple[Pairing, ...]
    byes: Mapping[str, str] = field(default_factory=dict)
    """Players who have no opponent in this round, each with the reason in words."""
    title: str = ""
    """What the round is called, such as "Semi-finals"; empty if its number says it all."""
    stage: int = 1
    """The number of the stage it belongs to, in a tournament of several."""
    absent: tuple[str, ...] | None = None
    """Players who were passed over because they were out when this round was paired; None if nobody has noted it."""

    @property
    def is_play_off(self) -> bool:
        """Whether it decides the first place after the tournament; its matches give no points in the table."""
        return self.stage == PLAY_OFF_STAGE

    def without_matches(self, match_ids: Collection[str]) -> "LeagueRound":
        """The round without some of its matches; itself if it has none of them."""
        left = tuple(pairing for pairing in self.pairings if pairing.match_id not in match_ids)
        return self if len(left) == len(self.pairings) else replace(self, pairings=left)

    @property
    def players(self) -> Iterator[str]:
        """The players who have an opponent in this round."""
        return (player_id for pairing in self.pairings for player_id in pairing.players)


@dataclass(frozen=True, slots=True)
class Schedule:
    """All rounds of a league, in order."""

    rounds: tuple[LeagueRound, ...]

    @property
    def pairings(self) -> tuple[Pairing, ...]:
        return tuple(pairing for round_ in self.rounds for pairing in round_.pairings)

    def next_round_id(self, round_id: int) -> int | None:
        """Return the id of the next round, or None after the last."""
        return round_id + 1 if round_id < len(self.rounds) else None
