"""The gauntlet: one challenger or some against the whole field. Challengers don't meet each other, nor does the field.

The schedule is fixed: a player who is out keeps its pairings, and loses them technically; nobody enters late. Who
waits for its turn has no bye.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from agent_league.formats.base import PlayerGroups, TournamentRecord, list_starters, make_round
from agent_league.formats.progress import count_round
from agent_league.formats.settings import check_whole_number, make_settings_error
from agent_league.model.schedule import LeagueRound
from agent_league.text import capitalise


@dataclass(frozen=True, slots=True)
class Gauntlet:
    """Each challenger meets each of the field, `cycles` times, with the sides swapped from one time to the next."""

    name: ClassVar[str] = "gauntlet"
    is_fixed: ClassVar[bool] = True
    takes_late_entries: ClassVar[bool] = False
    bye_is_win: ClassVar[bool] = False

    challengers: int | Sequence[str] = 1
    """Their ids, or how many of the first seeds; at least one player is left as the field."""
    cycles: int = 1

    def __post_init__(self) -> None:
        check_whole_number(self.name, "cycles", self.cycles)
        if isinstance(self.challengers, list | tuple):
            ids = tuple(self.challengers)
            if not ids or not all(isinstance(one, str) for one in ids) or len(set(ids)) < len(ids):
                raise make_settings_error(self.name, "challengers", "ids of players, each once", self.challengers)
            object.__setattr__(self, "challengers", ids)
        elif type(self.challengers) is not int or self.challengers < 1:
            expected = "a whole number from 1, or a list of players' ids"
            raise make_settings_error(self.name, "challengers", expected, self.challengers)

    def count_rounds(self, tournament: TournamentRecord) -> int:
        challengers, field = self._split_players(tournament)
        return self.cycles * max(len(challengers), len(field)) if challengers and field else 0

    def next_round(self, tournament: TournamentRecord) -> LeagueRound | None:
        """Pair each challenger with the next of the field, so that the sides alternate for both."""
        number = len(tournament.rounds)
        if number >= self.count_rounds(tournament):
            return None
        challengers, field = self._split_players(tournament)
        longer = max(len(challengers), len(field))
        cycle, turn = divmod(number, longer)
        pairs = []
        for place in range(min(len(challengers), len(field))):
            moved = (place + turn) % longer
            one, other = (place, moved) if len(challengers) <= len(field) else (moved, place)
            a, b = challengers[one], field[other]
            why = f"{a} challenges everybody else" if len(challengers) == 1 else f"{a} is a challenger, {b} is not"
            if self.cycles > 1:
                why = f"{why}; they meet {self.cycles} times, and this is meeting {cycle + 1}"
            pairs.append((b, a, why) if (one + other + cycle) % 2 else (a, b, why))
        return make_round(tournament, pairs)

    def rank_players(self, tournament: TournamentRecord) -> PlayerGroups | None:
        return None

    def describe_progress(self, tournament: TournamentRecord) -> str:
        where = capitalise(count_round(tournament, self.count_rounds(tournament)) or "gauntlet")
        challengers, field = self._split_players(tournament)
        who = challengers[0] if len(challengers) == 1 else f"{len(challengers)} challengers"
        return f"{where}: {who} against {'everybody else' if len(challengers) == 1 else f'the other {len(field)}'}"

    def _split_players(self, tournament: TournamentRecord) -> tuple[Sequence[str], Sequence[str]]:
        """Return the ids of the challengers and of the field; raises ConfigError for a challenger nobody knows."""
        ids = list_starters(tournament)
        if isinstance(self.challengers, int):
            cut = min(self.challengers, len(ids) - 1)
            return ids[:cut], ids[cut:]
        for player_id in self.challengers:
            if player_id not in ids:
                raise make_settings_error(self.name, "challengers", f"ids among {', '.join(ids)}", player_id)
        field = [player_id for player_id in ids if player_id not in self.challengers]
        if not field:
            raise make_settings_error(self.name, "challengers", "at least one player that is none", self.challengers)
        return self.challengers, field
