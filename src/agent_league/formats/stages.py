"""Stages: one format after another, each among the best of the one before.

Every stage plays a tournament of its own: its players with new seeds, its rounds numbered from 1 on. The rounds of the
league go on counting, and `LeagueRound.stage` tells which stage each belongs to. Once a stage has begun, its players
are those that its first round names, whoever comes back later.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from agent_league.formats.base import Entrant, Format, PlayerGroups, RepairableFormat, TournamentRecord, make_round
from agent_league.formats.bracket import BracketFormat
from agent_league.formats.bracket_plan import find_bracket_size
from agent_league.formats.groups import Groups
from agent_league.formats.plain_ranking import flatten_groups, rank_by_points
from agent_league.formats.progress import describe_progress
from agent_league.formats.settings import check_whole_number, make_settings_error
from agent_league.model.results import MatchResult
from agent_league.model.schedule import LeagueRound
from agent_league.text import capitalise

STAGE_TITLES = {"groups": "Group stage"}
"""Where it isn't the format's name."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A format, and how many of its players go on to the next stage."""

    format: Format
    advance: int | None = None
    """Of each group if the format has groups, whose own setting it replaces. The last stage needs none."""
    title: str = ""
    """What the stage is called; by its format if empty."""

    @property
    def shown_title(self) -> str:
        name = self.format.name
        return self.title or STAGE_TITLES.get(name, name.replace("_", " ").capitalize())

    @property
    def places(self) -> int | None:
        """How many go on, of each group if the format has groups."""
        return self.format.advance if self.advance is None and isinstance(self.format, Groups) else self.advance


@dataclass(frozen=True, slots=True)
class Stages:
    """Formats that follow each other; a stage begins when the one before it has no further round.

    A player that is out when a stage begins doesn't go on: the next one of its ranking, or of its group, does.
    """

    name: ClassVar[str] = "stages"
    is_fixed: ClassVar[bool] = False
    takes_late_entries: ClassVar[bool] = False
    bye_is_win: ClassVar[bool] = False

    stages: tuple[Stage, ...]

    def __post_init__(self) -> None:
        if not self.stages:
            raise make_settings_error(self.name, "stages", "at least one stage", self.stages)
        for number, stage in enumerate(self.stages, start=1):
            if isinstance(stage.format, Stages):
                raise make_settings_error(self.name, f"stage {number}, format", "a format without stages", "stages")
        for number, stage in enumerate(self.stages[:-1], start=1):
            check_whole_number(self.name, f"stage {number}, advance", stage.places)

    def next_round(self, tournament: TournamentRecord) -> LeagueRound | None:
        number = find_current_stage(tournament)
        inner = self.get_stage_tournament(tournament, number)
        round_ = self.stages[number - 1].format.next_round(inner)
        while round_ is None and number < len(self.stages):
            inner = self._begin_next_stage(inner, number)
            number += 1
            if len(inner.entrants) < 2:
                return None
            round_ = self.stages[number - 1].format.next_round(inner)
        return None if round_ is None else self._place_round(tournament, inner, round_, number)

    def count_rounds(self, tournament: TournamentRecord) -> int | None:
        current = find_current_stage(tournament)
        inner = tournament
        total = 0
        for number, stage in enumerate(self.stages, start=1):
            if number <= current:
                inner = self.get_stage_tournament(tournament, number)
            else:
                inner = self._begin_next_stage(inner, number - 1)
            rounds = stage.format.count_rounds(inner)
            if rounds is None:
                return None
            total += rounds
        return total

    def rank_players(self, tournament: TournamentRecord) -> PlayerGroups:
        """Rank the players of the latest stage, then those who went no further than the stage before, and so on."""
        ranking: list[list[str]] = []
        placed: set[str] = set()
        for number in range(find_current_stage(tournament), 0, -1):
            inner = self.get_stage_tournament(tournament, number)
            groups = _rank_stage(self.stages[number - 1].format, inner)
            left = [[player_id for player_id in group if player_id not in placed] for group in groups]
            ranking += [group for group in left if group]
            placed.update(entrant.player_id for entrant in inner.entrants)
        return ranking

    def find_standing_rounds(self, before: TournamentRecord, after: TournamentRecord) -> list[LeagueRound]:
        """Keep what the format of each stage keeps, as long as the stage before it brings the same players to it.

        A bracket keeps what its new players leave as it was; any other format begins its stage anew with them. A stage
        before which another match is to be played begins anew as well.
        """
        standing = {round_.round_id: round_ for round_ in before.rounds}
        entrants: Sequence[Entrant] | None = after.entrants
        for number in range(1, find_current_stage(before) + 1):
            rounds = [round_ for round_ in before.rounds if round_.stage == number and is_standing(round_)]
            if entrants is None:
                standing |= {round_.round_id: _empty_round(round_) for round_ in rounds}
                continue
            format_, old = self.stages[number - 1].format, self.get_stage_tournament(before, number)
            results = _select_results(old.rounds, after.results)
            kept = _find_standing(format_, old, replace(old, entrants=entrants, results=results))
            if number > 1 and not any(round_.pairings for round_ in kept):
                kept, entrants = [_empty_round(round_) for round_ in kept], None
            elif number > 1:
                kept[0] = _name_players(kept[0], [entrant.player_id for entrant in entrants])
            for round_, now in zip(rounds, kept, strict=True):
                ids = {pairing.match_id for pairing in now.pairings}
                fallen = {pairing.match_id for pairing in round_.pairings} - ids
                standing[round_.round_id] = replace(round_.without_matches(fallen), byes=now.byes, absent=now.absent)
            if entrants is not None and number < find_current_stage(before):
                inner = replace(old, entrants=entrants, rounds=kept, results=results)
                entrants = self._find_next_entrants(inner, number, before)
        return [standing[round_.round_id] for round_ in before.rounds]

    def _find_next_entrants(
        self, inner: TournamentRecord, number: int, before: TournamentRecord
    ) -> Sequence[Entrant] | None:
        """Seed those who go on from a stage as it stands now, had the same players been out; None if it isn't over."""
        stage = self.stages[number - 1]
        if stage.format.next_round(inner) is not None:
            return None
        first = next(round_ for round_ in before.rounds if round_.stage == number + 1 and is_standing(round_))
        named = _list_named(first)
        gone = [one.player_id for one in inner.entrants if one.is_out] if first.absent is None else first.absent
        then = [replace(one, is_out=one.player_id in gone and one.player_id not in named) for one in inner.entrants]
        chosen = _choose_players(stage, replace(inner, entrants=then))
        return self._seed_players(inner, number, chosen)

    def get_stage_tournament(self, tournament: TournamentRecord, number: int) -> TournamentRecord:
        """Return the tournament of a stage that has begun, as its format sees it; its matches keep their ids."""
        rounds = [round_ for round_ in tournament.rounds if round_.stage == number and is_standing(round_)]
        entrants = tournament.entrants
        if number > 1:
            before = self.get_stage_tournament(tournament, number - 1)
            entrants = self._seed_players(before, number - 1, _list_named(rounds[0]))
        return _renumber_rounds(replace(tournament, entrants=entrants), rounds, self.stages[number - 1].shown_title)

    def list_begun_stages(self, tournament: TournamentRecord) -> list[tuple[int, Format, TournamentRecord]]:
        """List the stages that have begun: the number, the format and the tournament of each."""
        begun = range(1, find_current_stage(tournament) + 1 if tournament.rounds else 1)
        return [(one, self.stages[one - 1].format, self.get_stage_tournament(tournament, one)) for one in begun]

    def find_advancing(self, tournament: TournamentRecord, number: int) -> set[str]:
        """Return the players that go on from a stage, as it stands now or as it was when the next one began."""
        if number == len(self.stages):
            return set()
        if number < find_current_stage(tournament):
            return {entrant.player_id for entrant in self.get_stage_tournament(tournament, number + 1).entrants}
        return _choose_players(self.stages[number - 1], self.get_stage_tournament(tournament, number))

    def describe_progress(self, tournament: TournamentRecord) -> str:
        number = find_current_stage(tournament)
        stage = self.stages[number - 1]
        words = describe_progress(stage.format, self.get_stage_tournament(tournament, number))
        place = f"Stage {number} of {len(self.stages)}, {_lower_first(stage.shown_title)}"
        return "; ".join(filter(None, (f"{place}. {words}", self.describe_advance(number))))

    def describe_advance(self, number: int) -> str:
        """Tell what it takes to go on from a stage, such as "the first 2 of each group go to the knockout"."""
        stage = self.stages[number - 1]
        if number == len(self.stages):
            return "" if isinstance(stage.format, BracketFormat) else "the first is champion"
        who = "the first" if stage.places == 1 else f"the first {stage.places}"
        each = " of each group" if isinstance(stage.format, Groups) else ""
        go = "goes" if stage.places == 1 else "go"
        return f"{who}{each} {go} to the {_lower_first(self.stages[number].shown_title)}"

    def _begin_next_stage(self, inner: TournamentRecord, number: int) -> TournamentRecord:
        """Make the tournament that follows a finished stage."""
        chosen = _choose_players(self.stages[number - 1], inner)
        return replace(inner, entrants=self._seed_players(inner, number, chosen), rounds=(), results={})

    def _seed_players(self, inner: TournamentRecord, number: int, chosen: Collection[str]) -> list[Entrant]:
        """Seed the players that go on from a stage by their rank in it.

        Who is out plays no part in it but by not going on, so that the seeds stay the same as long as the stage lasts.
        """
        format_ = self.stages[number - 1].format
        gone = [replace(entrant, is_out=entrant.player_id not in chosen) for entrant in inner.entrants]
        view = replace(inner, entrants=gone)
        order = [one for one in flatten_groups(view, _rank_stage(format_, view)) if one in chosen]
        if isinstance(format_, Groups):
            places = _find_group_places(format_, view, order)
            order.sort(key=lambda player_id: places[player_id][1])
            if isinstance(self.stages[number].format, BracketFormat):
                order = _separate_groups(order, places)
        is_out = {entrant.player_id: entrant.is_out for entrant in inner.entrants}
        return [Entrant(player_id, seed, is_out[player_id]) for seed, player_id in enumerate(order, start=1)]

    def _place_round(
        self, tournament: TournamentRecord, inner: TournamentRecord, round_: LeagueRound, number: int
    ) -> LeagueRound:
        """Give a round of a stage its number and title in the league; the first one names all players of its stage."""
        named = _list_named(round_)
        byes, absent = dict(round_.byes), round_.absent
        if number > 1 and not inner.rounds:
            waiting = (one.player_id for one in inner.entrants if not one.is_out and one.player_id not in named)
            byes.update(dict.fromkeys(waiting, "has no match in the first round of this stage"))
            absent = (*(absent or ()), *(one.player_id for one in tournament.entrants if one.is_out))
        pairs = [(pairing.player_a, pairing.player_b, pairing.reason) for pairing in round_.pairings]
        stage = self.stages[number - 1].shown_title
        title = f"{stage}, {_lower_first(round_.title or f'round {round_.round_id}')}"
        return replace(make_round(tournament, pairs, byes=byes, title=title, absent=absent), stage=number)


GroupPlaces = Mapping[str, tuple[str, int]]
"""By player: the name of its group, and its place among those of the group who go on."""


def find_current_stage(tournament: TournamentRecord) -> int:
    """Return the number of the stage that the latest round belongs to; 1 before the first round."""
    return max((round_.stage for round_ in tournament.rounds if is_standing(round_)), default=1)


def is_standing(round_: LeagueRound) -> bool:
    """Whether a round is part of its stage still; one that names nobody was played before its stage began anew."""
    return bool(round_.pairings or round_.byes)


def _empty_round(round_: LeagueRound) -> LeagueRound:
    return replace(round_, pairings=(), byes={})


def _find_standing(format_: Format, before: TournamentRecord, after: TournamentRecord) -> list[LeagueRound]:
    """The rounds of a stage that stand with a corrected result and, perhaps, other players."""
    if isinstance(format_, RepairableFormat):
        return list(format_.find_standing_rounds(before, after))
    same = [entrant.player_id for entrant in before.entrants] == [entrant.player_id for entrant in after.entrants]
    return list(before.rounds) if same else [_empty_round(round_) for round_ in before.rounds]


def _name_players(first: LeagueRound, players: Sequence[str]) -> LeagueRound:
    """Have the first round of a stage name exactly these players."""
    paired = set(first.players)
    waits = "is paired in a later round: a result of the stage before was corrected"
    return replace(first, byes={one: first.byes.get(one, waits) for one in players if one not in paired})


def _rank_stage(format_: Format, inner: TournamentRecord) -> PlayerGroups:
    ranking = format_.rank_players(inner)
    return rank_by_points(inner, bye_is_win=format_.bye_is_win) if ranking is None else ranking


def _choose_players(stage: Stage, inner: TournamentRecord) -> set[str]:
    """Choose those who go on: the first of the ranking, or of each group, among the players that aren't out."""
    if isinstance(stage.format, Groups):
        pools = [flatten_groups(inner, ranking) for _, ranking in stage.format.rank_groups(inner)]
    else:
        pools = [flatten_groups(inner, _rank_stage(stage.format, inner))]
    active = {entrant.player_id for entrant in inner.entrants if not entrant.is_out}
    return {one for pool in pools for one in [one for one in pool if one in active][: stage.places]}


def _find_group_places(format_: Groups, inner: TournamentRecord, chosen: Sequence[str]) -> GroupPlaces:
    places: dict[str, tuple[str, int]] = {}
    for group, ranking in format_.rank_groups(inner):
        order = [player_id for player_id in flatten_groups(inner, ranking) if player_id in chosen]
        places.update({player_id: (group.name, place) for place, player_id in enumerate(order)})
    return places


def _separate_groups(order: Sequence[str], places: GroupPlaces) -> list[str]:
    """Swap players of the same place in their groups, so that nobody meets one of its own group in the first round.

    A swap is with the nearest one for whom that holds as well; if there is none, the two meet.
    """
    seeds = list(order)
    size = find_bracket_size(len(seeds))

    def meets_group(seed: int, player_id: str) -> bool:
        opponent = size - 1 - seed
        return opponent < len(seeds) and opponent != seed and places[seeds[opponent]][0] == places[player_id][0]

    for seed in range(len(seeds)):
        player_id = seeds[seed]
        if size - 1 - seed > seed or not meets_group(seed, player_id):
            continue
        rivals = [one for one, other in enumerate(seeds) if places[other][1] == places[player_id][1] and one != seed]
        for other in sorted(rivals, key=lambda one: abs(one - seed)):
            if not meets_group(other, player_id) and not meets_group(seed, seeds[other]):
                seeds[seed], seeds[other] = seeds[other], seeds[seed]
                break
    return seeds


def _list_named(round_: LeagueRound) -> set[str]:
    return {player_id for pairing in round_.pairings for player_id in pairing.players} | set(round_.byes)


def _renumber_rounds(tournament: TournamentRecord, rounds: Sequence[LeagueRound], stage: str) -> TournamentRecord:
    """Keep these rounds alone, numbered from 1 on and without the stage in their titles, with their results."""
    renumbered: list[LeagueRound] = []
    for number, round_ in enumerate(rounds, start=1):
        pairings = tuple(replace(pairing, round_id=number) for pairing in round_.pairings)
        title = capitalise(round_.title.removeprefix(f"{stage}, "))
        renumbered.append(replace(round_, round_id=number, pairings=pairings, title=title, stage=1))
    return replace(tournament, rounds=renumbered, results=_select_results(renumbered, tournament.results))


def _select_results(rounds: Sequence[LeagueRound], results: Mapping[str, MatchResult]) -> dict[str, MatchResult]:
    """The results of these rounds, with their numbers."""
    pairings = [pairing for round_ in rounds for pairing in round_.pairings if pairing.match_id in results]
    return {one.match_id: replace(results[one.match_id], round_id=one.round_id) for one in pairings}


def _lower_first(text: str) -> str:
    return f"{text[:1].lower()}{text[1:]}"
