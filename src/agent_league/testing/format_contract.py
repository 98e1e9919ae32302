"""The contract of a tournament format, as a check for tests of your own format:

    from agent_league.testing.format_contract import check_format
    check_format(MyFormat)

Plays whole tournaments with random results, withdrawals and late entries, and checks every round on the way. A broken
promise raises an AssertionError that says which one, with the seed and the number of players that show it again.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from random import Random
from types import MappingProxyType
from typing import Any

from agent_league.formats.base import DescribedFormat, Entrant, Format, TournamentRecord
from agent_league.model.results import MatchResult, Outcome, Scoring, Termination
from agent_league.model.schedule import LeagueRound, Pairing
from agent_league.testing.restored_tournament import (
    copy_ranks,
    rehash_tournament,
    reverse_mapping,
    store_result,
    store_round,
)
from agent_league.text import MAX_PHRASE, quote

SIZES = (*range(2, 14), 16, 17, 31, 32, 64, 65)
"""Numbers of players to play with."""
SEEDS = range(4)
"""One for each scenario."""
MAX_SIDE_GAP = 2
MAX_BYE_GAP = 1
MAX_ROUNDS_WAITED = 1
"""Rounds that may pass before a player that entered late is paired or has a bye."""
SCORINGS = (Scoring(), Scoring(2, 1, 0, 0), Scoring(1, 0, 0, 0), Scoring(3, 1, 1, -1))


@dataclass(frozen=True, slots=True)
class TrialEvents:
    """What happens in a tournament besides matches."""

    has_withdrawals: bool = False
    """Players go out; some come back."""
    has_late_entries: bool = False


SCENARIOS = (TrialEvents(), TrialEvents(True), TrialEvents(False, True), TrialEvents(True, True))
"""A seed plays the scenario at its number, modulo their count."""


def check_format(
    make_format: Callable[[], Format],
    seeds: Iterable[int] = SEEDS,
    sizes: Sequence[int] = SIZES,
    *,
    max_side_gap: int | None = MAX_SIDE_GAP,
    max_bye_gap: int | None = MAX_BYE_GAP,
    max_rounds: int | None = None,
) -> None:
    """Check a format; raises AssertionError for the first promise of the seam that it doesn't keep.

    `make_format` makes it anew, always with the same settings. At the end of a tournament without withdrawals and late
    entries nobody was on one side more than `max_side_gap` times more often than on the other, and nobody had more than
    `max_bye_gap` byes more than another player; None turns the check off. A tournament has at most `max_rounds` rounds.
    """
    for seed in seeds:
        for size in sizes:
            contract = FormatContract(make_format, seed, size, max_rounds)
            try:
                contract.play_tournament(SCENARIOS[seed % len(SCENARIOS)])
                if seed % len(SCENARIOS) == 0:
                    contract.check_fairness(max_side_gap, max_bye_gap)
            except BrokenPromise as broken:
                raise AssertionError(contract.describe(str(broken))) from None
            except Exception as error:
                raise AssertionError(contract.describe(f"it breaks down: {quote(error, MAX_PHRASE)}")) from error


class BrokenPromise(Exception):
    """A promise that a format doesn't keep."""


class FormatContract:
    """Plays one tournament of a format and checks its promises."""

    def __init__(self, make_format: Callable[[], Format], seed: int, size: int, max_rounds: int | None) -> None:
        self._make_format = make_format
        self._format = make_format()
        self._seed = seed
        self._size = size
        self._max_rounds = max_rounds or 40 * size + 100
        self._random = Random(f"{seed}-{size}")  # noqa: S311 - repeatable, no secret
        self._scoring = self._random.choice(SCORINGS)
        self._lot = self._random.randrange(2**32)
        ids = [f"P{number:02}" for number in range(1, size + 1)]
        self._random.shuffle(ids)
        self._strengths = {player_id: self._random.random() for player_id in ids}
        self._entrants = [Entrant(player_id, place) for place, player_id in enumerate(ids, start=1)]
        self._rounds: list[LeagueRound] = []
        self._stored: list[LeagueRound] = []
        """The rounds as they come back from JSON."""
        self._results: dict[str, MatchResult] = {}
        self._other_results: dict[str, MatchResult] = {}
        """What might have happened."""
        self._match_ids: set[str] = set()
        self._has_changed_entrants = False
        self._counted: set[int] = set()
        """What `count_rounds` said."""

    def describe(self, problem: str) -> str:
        """Say where a promise was broken."""
        name = getattr(self._format, "name", type(self._format).__name__)
        where = f"seed {self._seed}, {self._size} players, round {len(self._rounds) + 1}"
        return f"{name}: {problem} ({where}: `seeds=[{self._seed}], sizes=[{self._size}]` shows it again)"

    def play_tournament(self, scenario: TrialEvents) -> None:
        """Play to the end, and check each round."""
        self._check_declarations()
        while True:
            self._check_ranks()
            self._check_count()
            self._check_words()
            round_ = self._ask_next_round()
            if round_ is None:
                break
            self._check_round(round_)
            self._play_round(round_)
            limit = max(self._max_rounds, *self._counted, 0)
            self._require(len(self._rounds) <= limit, f"it goes on after {limit} rounds")
            self._change_entrants(scenario)
        self._require(bool(self._rounds), f"it pairs nobody, though there are {self._size} players")
        self._check_total(scenario)
        self._check_late_entries()
        self._check_earlier_rounds()

    def check_fairness(self, max_side_gap: int | None, max_bye_gap: int | None) -> None:
        """Check how often each player was on either side, and had a bye, in the tournament that was played."""
        balances, byes = Counter[str](), Counter[str]()
        for round_ in self._rounds:
            byes.update(round_.byes.keys())
            for pairing in round_.pairings:
                balances[pairing.player_a] += 1
                balances[pairing.player_b] -= 1
        for player_id in sorted(self._list_ids()):
            gap, more = abs(balances[player_id]), byes[player_id] - min(byes[one] for one in self._list_ids())
            if max_side_gap is not None:
                told = f"{player_id} is {gap} times more often on one side than on the other; fair are {max_side_gap}"
                self._require(gap <= max_side_gap, told)
            if max_bye_gap is not None:
                told = f"{player_id} has {more} byes more than another player; fair are {max_bye_gap}"
                self._require(more <= max_bye_gap, told)

    def _check_declarations(self) -> None:
        self._require(isinstance(getattr(self._format, "name", None), str), "`name` must be a text")
        for flag in ("is_fixed", "takes_late_entries", "bye_is_win"):
            value = getattr(self._format, flag, None)
            self._require(isinstance(value, bool), f"`{flag}` must be True or False, found {value!r}")

    def _ask_next_round(self) -> LeagueRound | None:
        """Ask for the next round in several ways, which must give the same."""
        round_ = self._format.next_round(self._make_tournament())
        again = self._format.next_round(self._make_tournament())
        self._require_same(round_, again, "asked twice, it gives two different rounds")
        resumed = self._make_format().next_round(self._restore_tournament())
        self._require_same(round_, resumed, "resumed from what is stored, it gives another round")
        self._check_hashes(round_)
        if self._format.is_fixed:
            self._check_fixed(round_)
        return round_

    def _check_hashes(self, round_: LeagueRound | None) -> None:
        """Check that the order of a set decides nothing, as it is another one after a restart."""
        try:
            rehashed = self._make_format().next_round(rehash_tournament(self._make_tournament()))
        except (LookupError, ValueError, StopIteration):
            return  # it looks ids up by copies of their text, so that this can't be tried
        one, other = (store_round(each) if isinstance(each, LeagueRound) else each for each in (round_, rehashed))
        problem = "after a restart it gives another round, as it goes by the order of a set or by `hash`; sort first"
        self._require_same(one, other, problem)

    def _check_fixed(self, round_: LeagueRound | None) -> None:
        """Check that no result changes the schedule of a fixed format."""
        for what, results in (("with other results", self._other_results), ("without results", {})):
            tournament = replace(self._make_tournament(), results=results)
            other = self._format.next_round(tournament)
            self._require_same(round_, other, f"`is_fixed` is True, but {what} the round differs")

    def _check_round(self, round_: LeagueRound) -> None:
        number = len(self._rounds) + 1
        self._require(isinstance(round_, LeagueRound), f"expected a LeagueRound or None, found {quote(round_)}")
        self._require(round_.round_id == number, f"the round has the id {round_.round_id}, not {number}")
        self._require(bool(round_.pairings), "a round has no pairing")
        seated = Counter(_list_seated(round_))
        twice = [player_id for player_id, times in seated.items() if times > 1]
        self._require(not twice, f"in one round {', '.join(twice)} is paired twice")
        both = seated.keys() & round_.byes.keys()
        self._require(not both, f"{', '.join(sorted(both))} has an opponent and a bye")
        self._check_players({*seated, *round_.byes})
        for pairing in round_.pairings:
            self._require(
                pairing.round_id == number, f"{pairing.match_id} is of round {pairing.round_id}, not {number}"
            )
            self._check_reason(f"the pairing {pairing.match_id}", pairing.reason)
        for player_id, reason in round_.byes.items():
            self._check_reason(f"the bye of {player_id}", reason)
        match_ids = {pairing.match_id for pairing in round_.pairings}
        is_new = len(match_ids) == len(round_.pairings) and not match_ids & self._match_ids
        self._require(is_new, "two matches have the same id")
        self._match_ids |= match_ids

    def _check_players(self, named: set[str]) -> None:
        strangers = named - self._list_ids()
        self._require(not strangers, f"{', '.join(sorted(strangers))} is no player")
        out = named & {entrant.player_id for entrant in self._entrants if entrant.is_out}
        self._require(self._format.is_fixed or not out, f"{', '.join(sorted(out))} is out, but is paired or has a bye")

    def _check_reason(self, of_what: str, reason: Any) -> None:
        has_words = isinstance(reason, str) and bool(reason.strip())
        self._require(has_words, f"{of_what} must have a reason in words, found {reason!r}")

    def _check_ranks(self) -> None:
        ranks = self._format.rank_players(self._make_tournament())
        restored = self._make_format().rank_players(self._restore_tournament())
        self._require_same(copy_ranks(ranks), copy_ranks(restored), "resumed from what is stored, it ranks otherwise")
        if ranks is None:
            return
        named = Counter(player_id for group in ranks for player_id in group)
        told = f"`rank_players` must name everybody once, found {quote(ranks, MAX_PHRASE)}"
        self._require(named == Counter(self._list_ids()) and all(ranks), told)

    def _check_count(self) -> None:
        count = self._format.count_rounds(self._make_tournament())
        if count is not None:
            self._require(
                type(count) is int and count >= 0, f"`count_rounds` must be a number or None, found {count!r}"
            )
            self._counted.add(count)
        self._require(count is not None or not self._format.is_fixed, "`is_fixed` is True, but `count_rounds` is None")

    def _check_words(self) -> None:
        if isinstance(self._format, DescribedFormat):
            words: Any = self._format.describe_progress(self._make_tournament())
            told = f"`describe_progress` must give a text, found {quote(words, MAX_PHRASE)}"
            self._require(isinstance(words, str) and bool(words), told)

    def _check_total(self, scenario: TrialEvents) -> None:
        """Check that the number of rounds is what was said."""
        played = len(self._rounds)
        told = f"`count_rounds` said {sorted(self._counted)}, but it has {played} rounds"
        if scenario == TrialEvents():
            self._require(self._counted <= {played}, told)
        if self._counted:
            self._require(played <= max(self._counted), told)

    def _check_late_entries(self) -> None:
        """Check that who was let in late takes part."""
        for entrant in self._entrants:
            since = self._rounds[entrant.rounds_missed :]
            if entrant.rounds_missed and not entrant.is_out and len(since) > MAX_ROUNDS_WAITED:
                is_named = any(entrant.player_id in {*round_.byes, *_list_seated(round_)} for round_ in since)
                told = f"`takes_late_entries` is True, but {entrant.player_id}, which came after round"
                self._require(is_named, f"{told} {entrant.rounds_missed}, is neither paired nor has a bye")

    def _check_earlier_rounds(self) -> None:
        """Check that the object keeps nothing in mind: asked about earlier rounds, it pairs them again."""
        if self._has_changed_entrants:
            return  # an earlier round was paired for others
        for number in sorted({0, len(self._rounds) // 2, max(0, len(self._rounds) - 1)}):
            earlier = replace(
                self._make_tournament(), rounds=tuple(self._rounds[:number]), results=self._results_of(number)
            )
            expected = self._rounds[number] if number < len(self._rounds) else None
            found = self._format.next_round(earlier)
            self._require_same(expected, found, f"asked for round {number + 1} at the end, it gives another one")

    def _results_of(self, rounds: int) -> dict[str, MatchResult]:
        return {match_id: result for match_id, result in self._results.items() if result.round_id <= rounds}

    def _make_tournament(self) -> TournamentRecord:
        """Return the tournament so far, in which nothing can be changed."""
        results = MappingProxyType(self._results)
        return TournamentRecord(tuple(self._entrants), tuple(self._rounds), results, self._scoring, self._lot)

    def _restore_tournament(self) -> TournamentRecord:
        """Return the tournament so far as it comes from a store, with all mappings in another order."""
        results = reverse_mapping(self._results)
        entrants = [replace(entrant) for entrant in self._entrants]
        return TournamentRecord(entrants, list(self._stored), results, self._scoring, self._lot)

    def _play_round(self, round_: LeagueRound) -> None:
        """Store a round and random results of its matches."""
        stored = store_round(round_)
        self._require_same(round_, stored, "a round trip through JSON changes the round")
        self._rounds.append(round_)
        self._stored.append(replace(stored, byes=reverse_mapping(stored.byes)))
        for pairing in stored.pairings:
            self._results[pairing.match_id] = store_result(pairing, self._draw_result(pairing))
            self._other_results[pairing.match_id] = self._draw_result(pairing)

    def _draw_result(self, pairing: Pairing) -> MatchResult:
        """Draw a result: mostly a win of the stronger player; also draws, technical losses and void matches."""
        a, b = pairing.players
        strong, weak = (a, b) if self._strengths[a] >= self._strengths[b] else (b, a)
        normal, lost, void = Termination.NORMAL, Termination.MOVE_TIMEOUT, Termination.VOID
        outcome, winner, terminations = self._random.choices(
            (
                (Outcome.WIN, strong, {a: normal, b: normal}),
                (Outcome.WIN, weak, {a: normal, b: normal}),
                (Outcome.DRAW, None, {a: normal, b: normal}),
                (Outcome.TECHNICAL_LOSS, strong, {strong: normal, weak: lost}),
                (Outcome.TECHNICAL_LOSS, None, {a: lost, b: lost}),
                (Outcome.TECHNICAL_LOSS, None, {a: void, b: void}),
            ),
            (55, 15, 15, 5, 5, 5),
        )[0]
        ids = (pairing.match_id, pairing.round_id, pairing.players)
        return MatchResult(*ids, outcome, winner, terminations=terminations)

    def _change_entrants(self, scenario: TrialEvents) -> None:
        """Let players withdraw, come back or enter late, at random."""
        if scenario.has_withdrawals and self._random.random() < 0.5:
            changing = self._random.choice(self._entrants)
            if not changing.is_out or self._random.random() < 0.5:
                self._entrants[changing.seed - 1] = replace(changing, is_out=not changing.is_out)
                self._has_changed_entrants = True
        if scenario.has_late_entries and self._format.takes_late_entries and self._random.random() < 0.4:
            seed = len(self._entrants) + 1
            self._strengths[f"P{seed:02}"] = self._random.random()
            self._entrants.append(Entrant(f"P{seed:02}", seed, rounds_missed=len(self._rounds)))
            self._has_changed_entrants = True

    def _list_ids(self) -> set[str]:
        return {entrant.player_id for entrant in self._entrants}

    def _require(self, is_kept: bool, problem: str) -> None:
        if not is_kept:
            raise BrokenPromise(problem)

    def _require_same(self, one: object, other: object, problem: str) -> None:
        if one != other:
            raise BrokenPromise(f"{problem}: {_compare(one, other)}")


def _list_seated(round_: LeagueRound) -> list[str]:
    return [player_id for pairing in round_.pairings for player_id in pairing.players]


def _compare(one: object, other: object) -> str:
    """Show where two values begin to differ."""
    left, right = repr(one), repr(other)
    same = next((at for at, (here, there) in enumerate(zip(left, right, strict=False)) if here != there), 0)
    start = max(0, same - 60)
    return f"...{left[start : same + 60]}... or ...{right[start : same + 60]}..."
