"""The rules of Kuhn poker: three cards, one bet. Pure: the deal comes in as a move of CHANCE."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import permutations
from typing import Any

from agent_league.games.base import CHANCE, Move, State, check_parameter_names

CARDS = ("J", "Q", "K")
"""The lowest first."""
PASS, BET = "pass", "bet"
FINAL_BETTING = ([PASS, PASS], [BET, PASS], [BET, BET], [PASS, BET, PASS], [PASS, BET, BET])


class KuhnPokerRules:
    """Both put in a chip and get a card; then each may bet one chip more, and the other may call it or fold."""

    def new(self, config: Mapping[str, Any]) -> State:
        check_parameter_names(config)
        return {"cards": None, "betting": []}

    def actors(self, state: State) -> tuple[int, ...]:
        if state["cards"] is None:
            return (CHANCE,)
        betting = state["betting"]
        return () if betting in FINAL_BETTING else (len(betting) % 2,)

    def legal(self, state: State, seat: int) -> Sequence[Any]:
        if seat == CHANCE:
            return [(list(cards), 1) for cards in permutations(CARDS, 2)]
        return (PASS, BET)

    def apply(self, state: State, moves: Mapping[int, Move]) -> State:
        if state["cards"] is None:
            return {**state, "cards": moves[CHANCE]}
        ((_, move),) = moves.items()
        return {**state, "betting": [*state["betting"], move]}

    def view(self, state: State, seat: int | None) -> Any:
        """A seat's own card, the betting and the pot; the other card only after a showdown."""
        if seat is None:
            return state
        cards, betting = state["cards"], state["betting"]
        return {
            "card": cards and cards[seat],
            "other_card": cards[1 - seat] if _is_showdown(betting) else None,
            "betting": betting,
            "pot": 2 + betting.count(BET),
        }

    def hidden(self, state: State, seat: int) -> Iterable[State]:
        """The state with the other possible card of the opponent, unless there was a showdown."""
        cards = state["cards"]
        if cards is None or _is_showdown(state["betting"]):
            return
        (third,) = set(CARDS).difference(cards)
        yield {**state, "cards": [cards[0], third] if seat == 0 else [third, cards[1]]}

    def returns(self, state: State) -> tuple[float, float]:
        """The chips that each has won."""
        betting = state["betting"]
        if _is_showdown(betting):
            ranks = [CARDS.index(card) for card in state["cards"]]
            winner = ranks.index(max(ranks))
        else:
            winner = betting.index(BET) % 2
        chips = 2.0 if betting.count(BET) == 2 else 1.0
        return (chips, -chips) if winner == 0 else (-chips, chips)


def _is_showdown(betting: list[str]) -> bool:
    """Whether it came to a showdown: both passed, or a bet was called."""
    return betting in FINAL_BETTING and betting[-2] == betting[-1]
