"""The contract of formats finds each promise that is broken."""

from dataclasses import dataclass, replace
from itertools import count
from random import Random

import pytest

from agent_league.formats.base import Format, PlayerGroups, TournamentRecord, make_round
from agent_league.formats.round_robin import RoundRobin
from agent_league.formats.swiss import Swiss
from agent_league.model.schedule import LeagueRound, Pairing
from agent_league.testing.format_contract import check_format

TICKS = count()


class Plain(RoundRobin):
    """A round robin whose rounds a subclass spoils."""

    def next_round(self, tournament: TournamentRecord) -> LeagueRound | None:
        round_ = super().next_round(tournament)
        return round_ and self.spoil(round_, tournament)

    def spoil(self, round_: LeagueRound, tournament: TournamentRecord) -> LeagueRound:
        return round_


class Adaptive(Swiss):
    """A Swiss tournament whose rounds a subclass spoils."""

    def next_round(self, tournament: TournamentRecord) -> LeagueRound | None:
        round_ = super().next_round(tournament)
        return round_ and self.spoil(round_, tournament)

    def spoil(self, round_: LeagueRound, tournament: TournamentRecord) -> LeagueRound:
        return round_


def with_first(round_: LeagueRound, **changes: object) -> LeagueRound:
    """Change the first pairing of a round."""
    return replace(round_, pairings=(replace(round_.pairings[0], **changes), *round_.pairings[1:]))  # type: ignore[arg-type]


class PairsTwice(Plain):
    def spoil(self, round_: LeagueRound, tournament: TournamentRecord) -> LeagueRound:
        extra = replace(round_.pairings[0], match_id="extra")
        return replace(round_, pairings=(*round_.pairings, extra))


class NeverBegins(Plain):
    def next_round(self, tournament: TournamentRecord) -> LeagueRound | None:
        return None


class PairsByHash(Adaptive):
    """Seeds the players by the order of a set, which is another one in every process."""

    def next_round(self, tournament: TournamentRecord) -> LeagueRound | None:
        ids = {one.player_id for one in tournament.entrants}
        entrants = [tournament.find_entrant(player_id) for player_id in ids]
        shuffled = [replace(entrant, seed=seed) for seed, entrant in enumerate(entrants, start=1)]
        return super().next_round(replace(tournament, entrants=shuffled))


class ForgetsLatecomers(Adaptive):
    def next_round(self, tournament: TournamentRecord) -> LeagueRound | None:
        present = [entrant for entrant in tournament.entrants if not entrant.rounds_missed]
        return super().next_round(replace(tournament, entrants=present))


class PairsItself(Plain):
    def spoil(self, round_: LeagueRound, tournament: TournamentRecord) -> LeagueRound:
        return with_first(round_, player_b=round_.pairings[0].player_a)


class PairsStrangers(Plain):
    def spoil(self, round_: LeagueRound, tournament: TournamentRecord) -> LeagueRound:
        return with_first(round_, player_a="P99")


class PairsThoseOut(Adaptive):
    def spoil(self, round_: LeagueRound, tournament: TournamentRecord) -> LeagueRound:
        out = [entrant.player_id for entrant in tournament.entrants if entrant.is_out]
        return with_first(round_, player_a=out[0]) if out else round_


class GivesByesToThosePaired(Plain):
    def spoil(self, round_: LeagueRound, tournament: TournamentRecord) -> LeagueRound:
        return replace(round_, byes={round_.pairings[0].player_a: "why not"})


class IsSilent(Plain):
    def spoil(self, round_: LeagueRound, tournament: TournamentRecord) -> LeagueRound:
        return with_first(round_, reason=" ")


class IsSilentAboutByes(Plain):
    def spoil(self, round_: LeagueRound, tournament: TournamentRecord) -> LeagueRound:
        return replace(round_, byes=dict.fromkeys(round_.byes, ""))


class PairsNobody(Plain):
    def spoil(self, round_: LeagueRound, tournament: TournamentRecord) -> LeagueRound:
        return replace(round_, pairings=())


class RepeatsMatchIds(Plain):
    def spoil(self, round_: LeagueRound, tournament: TournamentRecord) -> LeagueRound:
        return with_first(round_, match_id="R1M1")


class NumbersWrongly(Plain):
    def spoil(self, round_: LeagueRound, tournament: TournamentRecord) -> LeagueRound:
        return replace(round_, round_id=round_.round_id - 1)


class NumbersPairingsWrongly(Plain):
    def spoil(self, round_: LeagueRound, tournament: TournamentRecord) -> LeagueRound:
        return with_first(round_, round_id=9)


class DrawsLots(Plain):
    def spoil(self, round_: LeagueRound, tournament: TournamentRecord) -> LeagueRound:
        return with_first(round_, reason=f"lot {next(TICKS)}")


class GoesByTheOrderOfResults(Adaptive):
    def spoil(self, round_: LeagueRound, tournament: TournamentRecord) -> LeagueRound:
        first = next(iter(tournament.results), "nothing")
        return with_first(round_, reason=f"{first} came first")


class GoesByIdentity(Adaptive):
    """It takes the scores from the object that it was first asked about."""

    def spoil(self, round_: LeagueRound, tournament: TournamentRecord) -> LeagueRound:
        return with_first(round_, reason=f"asked about {type(tournament.rounds).__name__}")


class Remembers(Adaptive):
    """It counts how far it got, so that it can't be asked about earlier rounds."""

    furthest = 0

    def spoil(self, round_: LeagueRound, tournament: TournamentRecord) -> LeagueRound:
        type(self).furthest = max(self.furthest, round_.round_id)
        return with_first(round_, reason=f"of {self.furthest} rounds so far")


class NeverEnds(Plain):
    def next_round(self, tournament: TournamentRecord) -> LeagueRound | None:
        first, second, *_ = (entrant.player_id for entrant in tournament.entrants)
        return make_round(tournament, [(first, second, "again")])


class EndsEarly(Plain):
    def next_round(self, tournament: TournamentRecord) -> LeagueRound | None:
        return super().next_round(tournament) if len(tournament.rounds) < 2 else None


class ClaimsToBeFixed(Swiss):
    is_fixed = True


class CountsNothing(Plain):
    def count_rounds(self, tournament: TournamentRecord) -> int | None:  # type: ignore[override]
        return None

    def next_round(self, tournament: TournamentRecord) -> LeagueRound | None:
        return RoundRobin().next_round(tournament)


class CountsInWords(Plain):
    def count_rounds(self, tournament: TournamentRecord) -> int:
        return "many"  # type: ignore[return-value]


class RanksSome(Plain):
    def rank_players(self, tournament: TournamentRecord) -> PlayerGroups | None:
        return [[entrant.player_id] for entrant in tournament.entrants[1:]]


class RanksTwice(Plain):
    def rank_players(self, tournament: TournamentRecord) -> PlayerGroups | None:
        ids = [entrant.player_id for entrant in tournament.entrants]
        return [ids, ids[:1]]


class RanksByLot(Plain):
    def rank_players(self, tournament: TournamentRecord) -> PlayerGroups | None:
        ids = [entrant.player_id for entrant in tournament.entrants]
        return [Random(next(TICKS)).sample(ids, len(ids))]


class RanksEmptyGroups(Plain):
    def rank_players(self, tournament: TournamentRecord) -> PlayerGroups | None:
        return [[entrant.player_id for entrant in tournament.entrants], []]


class FavoursOneSide(Plain):
    def spoil(self, round_: LeagueRound, tournament: TournamentRecord) -> LeagueRound:
        pairings = [
            Pairing(one.match_id, one.round_id, min(one.players), max(one.players), one.reason)
            for one in round_.pairings
        ]
        return replace(round_, pairings=tuple(pairings))


class FavoursOneWithByes(Adaptive):
    def next_round(self, tournament: TournamentRecord) -> LeagueRound | None:
        first, *others = tournament.entrants
        if len(tournament.entrants) % 2 == 0 or first.is_out:
            return super().next_round(tournament)
        round_ = super().next_round(replace(tournament, entrants=[*others, replace(first, is_out=True)]))
        return round_ and replace(round_, byes={first.player_id: "it is the favourite"})


class ChangesResults(Adaptive):
    def spoil(self, round_: LeagueRound, tournament: TournamentRecord) -> LeagueRound:
        tournament.results.clear()  # type: ignore[attr-defined]
        return round_


class HoldsObjects(Plain):
    def spoil(self, round_: LeagueRound, tournament: TournamentRecord) -> LeagueRound:
        return replace(round_, title=("Round", round_.round_id))  # type: ignore[arg-type]


class GivesPairs(Plain):
    def spoil(self, round_: LeagueRound, tournament: TournamentRecord) -> LeagueRound:
        return [pairing.players for pairing in round_.pairings]  # type: ignore[return-value]


class GoesOnForLatecomers(Swiss):
    def next_round(self, tournament: TournamentRecord) -> LeagueRound | None:
        has_latecomers = any(entrant.rounds_missed for entrant in tournament.entrants)
        return Swiss(self.count_rounds(tournament) + has_latecomers).next_round(tournament)


class Nameless(Plain):
    name = None  # type: ignore[assignment]


class Vague(Plain):
    bye_is_win = "yes"  # type: ignore[assignment]


@dataclass(frozen=True)
class Hollow:
    name = "hollow"
    is_fixed = takes_late_entries = bye_is_win = False


BROKEN: list[tuple[type, str]] = [
    (PairsTwice, "is paired twice"),
    (PairsItself, "is paired twice"),
    (PairsStrangers, "P99 is no player"),
    (PairsThoseOut, "is out, but is paired or has a bye"),
    (GivesByesToThosePaired, "has an opponent and a bye"),
    (IsSilent, "must have a reason in words, found ' '"),
    (IsSilentAboutByes, "must have a reason in words, found ''"),
    (PairsNobody, "a round has no pairing"),
    (RepeatsMatchIds, "two matches have the same id"),
    (NumbersWrongly, "the round has the id 0, not 1"),
    (NumbersPairingsWrongly, "R1M1 is of round 9, not 1"),
    (DrawsLots, "asked twice, it gives two different rounds"),
    (GoesByTheOrderOfResults, "resumed from what is stored, it gives another round"),
    (GoesByIdentity, "resumed from what is stored, it gives another round"),
    (Remembers, "at the end, it gives another one"),
    (NeverEnds, "it goes on after"),
    (NeverBegins, "it pairs nobody, though there are 2 players"),
    (PairsByHash, "after a restart it gives another round, as it goes by the order of a set or by `hash`"),
    (ForgetsLatecomers, "is neither paired nor has a bye"),
    (EndsEarly, "`count_rounds` said"),
    (ClaimsToBeFixed, "`is_fixed` is True, but with other results the round differs"),
    (CountsNothing, "`is_fixed` is True, but `count_rounds` is None"),
    (CountsInWords, "`count_rounds` must be a number or None, found 'many'"),
    (RanksSome, "`rank_players` must name everybody once"),
    (RanksTwice, "`rank_players` must name everybody once"),
    (RanksByLot, "it ranks otherwise"),
    (RanksEmptyGroups, "`rank_players` must name everybody once"),
    (FavoursOneSide, "times more often on one side than on the other; fair are 2"),
    (FavoursOneWithByes, "byes more than another player; fair are 1"),
    (ChangesResults, "it breaks down: AttributeError"),
    (HoldsObjects, "a round trip through JSON changes the round"),
    (GivesPairs, "expected a LeagueRound or None, found ["),
    (GoesOnForLatecomers, "`count_rounds` said"),
    (Nameless, "`name` must be a text"),
    (Vague, "`bye_is_win` must be True or False, found 'yes'"),
    (Hollow, "it breaks down: AttributeError"),
]


@pytest.mark.parametrize(("broken", "problem"), BROKEN, ids=lambda value: getattr(value, "__name__", ""))
def test_a_broken_promise_is_found(broken: type[Format], problem: str) -> None:
    with pytest.raises(AssertionError) as caught:
        check_format(broken, sizes=(2, 3, 5, 8, 9))
    assert problem in str(caught.value)


def test_what_is_found_is_found_again() -> None:
    with pytest.raises(AssertionError) as caught:
        check_format(PairsThoseOut, sizes=range(6, 20))
    found = str(caught.value)
    assert found.startswith("swiss: P")
    seeds, sizes = (int(found.partition(f"{name}=[")[2].partition("]")[0]) for name in ("seeds", "sizes"))
    with pytest.raises(AssertionError) as again:
        check_format(PairsThoseOut, seeds=[seeds], sizes=[sizes])
    assert str(again.value) == found


def test_what_is_not_spoilt_passes() -> None:
    check_format(Plain, sizes=(2, 3, 5, 8, 9))
    check_format(Adaptive, sizes=(2, 3, 5, 8, 9))
