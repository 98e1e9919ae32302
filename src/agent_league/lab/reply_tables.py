"""Repeated matrix games of strategies that look at the last round alone, played by tables of their replies.

Such a strategy says so with `memory = 1`. It is asked once what it does after each round that can come up, with dice
that notice how they are thrown; unless it chose any legal move by them, or used none, it is asked every time. Moves and
dice are those of a match in which every move is asked for.
"""

from collections.abc import Sequence
from functools import lru_cache, partial, reduce
from operator import add
from random import Random
from typing import Any

from agent_league.games.base import State, winning_seat
from agent_league.games.positions import PositionGraph, Question, copy_json
from agent_league.games.repeated import RepeatedRules, without_payoffs
from agent_league.lab.block_draws import BlockDraws
from agent_league.lab.game_loop import ChanceDice, FinishedGame, Seated, StepMoves
from agent_league.lab.series_player import NOT_SHOWN, SeriesPlayer
from agent_league.players.observation import Strategy, Thought

MAX_MOVES = 16
"""Moves of a game that is played by tables."""
ANY_MOVE = -1
"""A reply that is drawn: any legal move."""
ASK = -2
"""A reply that the strategy has to be asked for every time."""
UNKNOWN = -3
"""A reply that was never asked for."""

Replies = tuple[list[int], list[int]]
"""By seat, the place of the reply to each pair of the last round, or one of the numbers above; the last of a list is
the opening."""


def has_short_memory(strategy: Strategy) -> bool:
    """Whether a strategy looks at the last round of a repeated game alone."""
    return getattr(strategy, "memory", None) == 1


@lru_cache(maxsize=16)
def find_pair_table(graph: PositionGraph) -> "PairTable":
    """Return the table of a matrix game, which is made once."""
    return PairTable(graph)


class PairTable:
    """What each pair of moves brings in a game in which both move once; a pair is `place * moves + other place`."""

    def __init__(self, graph: PositionGraph) -> None:
        self.graph = graph
        self.questions = graph.start.both or (Question(), Question())
        self.moves = self.questions[0].legal
        self.count = count = len(self.moves)
        pairs = range(count * count if self.fits else 0)
        self.made = [graph.start.find_moves(pair) for pair in pairs]
        self.ends = [graph.find_next(graph.start, pair) for pair in pairs]
        returns = [end.returns or (0.0, 0.0) for end in self.ends]
        self.paid = [[paid[seat] for paid in returns] for seat in (0, 1)]
        self.winners = [winning_seat(paid) for paid in returns]
        self._has_whole_payoffs = all(float(value).is_integer() for paid in self.paid for value in paid)
        self._known_replies: dict[type, Replies] = {}

    @property
    def fits(self) -> bool:
        """Whether both seats move at once, with the same moves, and not too many of them."""
        return self.questions[1].legal == self.moves and 0 < self.count <= MAX_MOVES

    def find_known_replies(self, player: SeriesPlayer) -> "Replies":
        """Return the table of a player's replies, to be filled: one for all strategies of a class of ours."""
        size = self.count * self.count + 1
        replies = ([UNKNOWN] * size, [UNKNOWN] * size)
        return self._known_replies.setdefault(type(player.strategy), replies) if player.is_trusted else replies

    def sum_payoffs(self, seat: int, pairs: bytes) -> float:
        """Sum what a seat was paid, as adding it up round by round gives it."""
        paid = self.paid[seat]
        if self._has_whole_payoffs:  # the order doesn't matter
            return float(sum(paid[pair] * pairs.count(pair) for pair in range(len(paid))))
        return reduce(add, map(paid.__getitem__, pairs), 0.0)

    def count_wins(self, seat: int, pairs: bytes) -> int:
        return sum(pairs.count(pair) for pair, winner in enumerate(self.winners) if winner == seat)


class TableLoop:
    """A repeated matrix game of two strategies that look at the last round alone."""

    def __init__(self, rules: RepeatedRules, start: State, table: PairTable, players: Sequence[SeriesPlayer]) -> None:
        self._rules = rules
        self._start = start
        self._table = table
        self._replies = {player: PlayerReplies(player, table, rules, start) for player in players}

    def play(self, seated: Seated, chance: ChanceDice) -> FinishedGame:
        one, other = (self._replies[player] for player in seated)
        pairs, table = bytes(self._play_rounds(one, other)), self._table
        values = table.sum_payoffs if self._start["first_to"] is None else table.count_wins
        return (float(values(0, pairs)), float(values(1, pairs))), len(pairs), pairs

    def replay(self, record: Any) -> tuple[State, Sequence[StepMoves]]:
        table, start = self._table, self._start
        state = {
            **start,
            "last": table.ends[record[-1]].state,
            "rounds": [[*table.made[pair].values()] for pair in record],
            "scores": [table.sum_payoffs(seat, record) for seat in (0, 1)],
            "wins": [table.count_wins(seat, record) for seat in (0, 1)],
        }
        return state, [table.made[pair] for pair in record]

    def _play_rounds(self, one: "PlayerReplies", other: "PlayerReplies") -> list[int]:
        first_to, winners, wins = self._start["first_to"], self._table.winners, {0: 0, 1: 0, None: 0}
        ones, others = one.by_seat[0], other.by_seat[1]
        draw_one, draw_other = one.draws.next_place, other.draws.next_place
        count = self._table.count
        pair = count * count
        pairs: list[int] = []
        for _ in range(self._start["repeat"]):
            a, b = ones[pair], others[pair]
            if a < 0:
                a = draw_one() if a == ANY_MOVE else one.find_reply(0, pair)
            if b < 0:
                b = draw_other() if b == ANY_MOVE else other.find_reply(1, pair)
            pair = a * count + b
            pairs.append(pair)
            if first_to is not None:
                wins[winners[pair]] += 1
                if wins[0] == first_to or wins[1] == first_to:
                    break
        return pairs


class PlayerReplies:
    """The replies of one player."""

    def __init__(self, player: SeriesPlayer, table: PairTable, rules: RepeatedRules, start: State) -> None:
        self.by_seat = table.find_known_replies(player)
        self.draws = BlockDraws(player.observation.random, table.count)
        self._player = player
        self._table = table
        self._rules = rules
        self._start = start
        self._is_asked = False
        """Whether it had to be asked for some reply: then its dice can't be thrown in advance."""

    def find_reply(self, seat: int, pair: int) -> int:
        """Find out the reply to a pair, or ask for it; returns the place of the move."""
        replies = self.by_seat[seat]
        if replies[pair] == UNKNOWN:
            found = self._probe(seat, pair)
            replies[pair] = ASK if found == ANY_MOVE and self._is_asked else found
        if replies[pair] == ANY_MOVE:
            return self.draws.next_place()
        if replies[pair] >= 0:
            return replies[pair]
        if not self._is_asked:
            self._is_asked = True
            self.draws.give_back()
            for known in self.by_seat:
                known[:] = [ASK if reply == ANY_MOVE else reply for reply in known]
        self._show(seat, pair)
        return self._player.choose_place(self._table.questions[seat].legal)

    def _probe(self, seat: int, pair: int) -> int:
        """Ask what it replies to a pair without throwing its dice."""
        observation, places = self._player.observation, range(self._table.count)
        dice, probe = observation.random, ProbeDice()
        observation.random = probe
        try:
            said = []
            for place in places:
                self._show(seat, pair)
                said.append(self._table.questions[seat].legal.index(self._choose(probe, place)))
                if not probe.throws:
                    return said[0]
                if probe.throws != [self._table.count]:
                    return ASK
            return ANY_MOVE if said == list(places) else ASK
        except (Exception, SystemExit):  # noqa: BLE001 - it is asked again, and its fault is counted there
            return ASK
        finally:
            observation.random = dice

    def _choose(self, probe: "ProbeDice", place: int) -> Any:
        probe.place = place
        probe.throws.clear()
        said = self._player.strategy.choose(self._player.observation)
        return said.move if type(said) is Thought else said

    def _show(self, seat: int, pair: int) -> None:
        """Show the last round as if it were the first; it is all that the strategy looks at."""
        observation, legal = self._player.observation, self._table.questions[seat].legal
        rounds = [[*self._table.made[pair].values()]] if pair < len(self._table.made) else []
        trusted = self._player.is_trusted
        observation.live_rounds = rounds if trusted else copy_json(rounds)
        observation.legal_moves = legal if trusted else copy_json(legal)
        observation.step = len(rounds)
        observation.shown = NOT_SHOWN
        observation.make_view = partial(self._make_view, seat, pair)

    def _make_view(self, seat: int, pair: int) -> Any:
        table, rounds = self._table, self._player.observation.live_rounds or []
        end = table.ends[pair] if pair < len(table.ends) else None
        last = None if end is None else without_payoffs(table.graph.view_end(end)[seat])
        game, scores = table.questions[seat].view, [paid[pair] for paid in table.paid] if end else [0.0, 0.0]
        if not self._player.is_trusted:
            game, last = copy_json(game), copy_json(last)
        wins = [int(bool(end) and table.winners[pair] == side) for side in (0, 1)]
        return self._rules.compose_view(game, last, rounds, self._start, scores, wins)


class ProbeDice(Random):
    """Dice that note how they are thrown, and let a choice fall on a given place."""

    def __init__(self) -> None:
        super().__init__(0)
        self.place = 0
        self.throws: list[int] = []
        """The number of things that were chosen from; 0 for a throw of another kind."""

    def choice(self, seq: Any) -> Any:
        self.throws.append(len(seq))
        return seq[self.place] if self.place < len(seq) else seq[0]

    def random(self) -> float:
        self.throws.append(0)
        return 0.0

    def getrandbits(self, k: int, /) -> int:
        self.throws.append(0)
        return 0
