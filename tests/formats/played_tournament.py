"""Plays a format to its end with made-up results, and checks in every round what any format promises."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from random import Random

from agent_league.formats.base import Entrant, Format, TournamentRecord
from agent_league.formats.stages import Stages
from agent_league.model.results import MatchResult, Outcome, Termination
from agent_league.model.schedule import LeagueRound, Pairing

Judge = Callable[[Pairing], MatchResult]
MAX_ROUNDS = 200


def make_entrants(players: int, out: Iterable[str] = ()) -> list[Entrant]:
    return [Entrant(name_player(seed), seed, name_player(seed) in out) for seed in range(1, players + 1)]


def name_player(seed: int) -> str:
    return f"P{seed:02}"


def make_result(pairing: Pairing, winner: str | None) -> MatchResult:
    outcome = Outcome.WIN if winner else Outcome.DRAW
    return MatchResult(pairing.match_id, pairing.round_id, pairing.players, outcome, winner)


def make_void_result(pairing: Pairing) -> MatchResult:
    """Make a void result in which a winner stands all the same; it counts for nobody."""
    result = make_result(pairing, pairing.player_a)
    return replace(result, terminations=dict.fromkeys(pairing.players, Termination.VOID))


def make_double_loss(pairing: Pairing) -> MatchResult:
    result = make_result(pairing, None)
    how = dict.fromkeys(pairing.players, Termination.JOIN_TIMEOUT)
    return replace(result, outcome=Outcome.TECHNICAL_LOSS, terminations=how)


def let_better_seed_win(pairing: Pairing) -> MatchResult:
    return make_result(pairing, min(pairing.players))


def let_worse_seed_win(pairing: Pairing) -> MatchResult:
    return make_result(pairing, max(pairing.players))


def draw_all(pairing: Pairing) -> MatchResult:
    return make_result(pairing, None)


def make_random_judge(chance: Random, *, decisive: bool = False) -> Judge:
    """Judge by chance: mostly a winner, sometimes a draw, a void match or one that both lose."""

    def judge(pairing: Pairing) -> MatchResult:
        roll = 1.0 if decisive else chance.random()
        if roll < 0.1:
            return make_result(pairing, None)
        if roll < 0.15:
            return make_void_result(pairing)
        if roll < 0.2:
            return make_double_loss(pairing)
        result = make_result(pairing, chance.choice(pairing.players))
        return result if roll < 0.9 else replace(result, outcome=Outcome.TECHNICAL_LOSS)

    return judge


@dataclass
class PlayedTournament:
    """A tournament that goes on round by round; every round is checked when it is paired."""

    format: Format
    players: int
    judge: Judge
    lot: int = 0
    out: set[str] = field(default_factory=set)
    tournament: TournamentRecord = field(init=False)

    def __post_init__(self) -> None:
        self.tournament = TournamentRecord(make_entrants(self.players, self.out), lot=self.lot)

    def set_out(self, out: Iterable[str]) -> None:
        self.out = set(out)
        self.tournament = replace(self.tournament, entrants=make_entrants(self.players, self.out))

    def pair_round(self) -> LeagueRound | None:
        """Pair the next round, without playing it."""
        before = self.tournament
        round_ = self.format.next_round(before)
        if len(before.rounds) % 3 == 0:
            assert round_ == self.format.next_round(strip_words(before)), "it depends on more than pairings and results"
        assert len(before.rounds) < MAX_ROUNDS, "it has no end"
        if round_ is not None:
            stage = self.format.stages[round_.stage - 1].format if isinstance(self.format, Stages) else self.format
            check_round(before, round_, is_fixed=stage.is_fixed)
        return round_

    def play_round(self) -> LeagueRound | None:
        round_ = self.pair_round()
        if round_ is not None:
            results = {pairing.match_id: self.judge(pairing) for pairing in round_.pairings}
            before = self.tournament
            self.tournament = replace(before, rounds=[*before.rounds, round_], results={**before.results, **results})
        return round_

    def play_to_end(self) -> TournamentRecord:
        while self.play_round():
            pass
        return self.tournament

    def rank_players(self) -> list[list[str]]:
        ranking = self.format.rank_players(self.tournament)
        assert ranking is not None
        groups = [list(group) for group in ranking]
        assert all(groups)
        ranked = [player_id for group in groups for player_id in group]
        assert sorted(ranked) == [name_player(seed) for seed in range(1, self.players + 1)], "everybody has one rank"
        return groups


def strip_words(tournament: TournamentRecord) -> TournamentRecord:
    """Copy a tournament without the reasons and titles of its rounds."""
    rounds = [
        LeagueRound(
            round_.round_id,
            tuple(replace(pairing, reason="") for pairing in round_.pairings),
            dict.fromkeys(round_.byes, ""),
            stage=round_.stage,
        )
        for round_ in tournament.rounds
    ]
    return replace(tournament, entrants=list(tournament.entrants), rounds=rounds, results=dict(tournament.results))


def check_round(tournament: TournamentRecord, round_: LeagueRound, *, is_fixed: bool) -> None:
    """Check that a round holds what any round does; in a fixed schedule players that are out keep their places."""
    number = len(tournament.rounds) + 1
    paired = [player_id for pairing in round_.pairings for player_id in pairing.players]
    active = {entrant.player_id for entrant in tournament.entrants if is_fixed or not entrant.is_out}
    assert round_.round_id == number
    assert [pairing.match_id for pairing in round_.pairings] == [
        f"R{number}M{place}" for place in range(1, len(round_.pairings) + 1)
    ]
    assert paired, "a round has a match"
    assert len(set(paired)) == len(paired), "nobody plays twice in a round"
    assert active.issuperset(paired), "nobody plays who is out"
    assert active.issuperset(round_.byes), "nobody who is out has a bye"
    assert not set(paired) & set(round_.byes), "a player with a bye has no match"
    assert all(pairing.reason and pairing.round_id == number for pairing in round_.pairings)
    assert all(round_.byes.values()), "a bye has a reason"
    assert "None" not in f"{round_.title}{round_.byes}{[pairing.reason for pairing in round_.pairings]}"


def play(format_: Format, players: int, judge: Judge = let_better_seed_win) -> PlayedTournament:
    """Play a tournament to its end."""
    played = PlayedTournament(format_, players, judge)
    played.play_to_end()
    return played


def count_matches(tournament: TournamentRecord) -> int:
    return sum(len(round_.pairings) for round_ in tournament.rounds)
