"""A hand of Kuhn poker as text: the cards as far as they are seen, the betting, the pot."""

from typing import Any

from agent_league.games.kuhn_poker.rules import BET, CARDS, PASS
from agent_league.games.pictures import seat_names


def show(view: Any, seat: int | None) -> str:
    betting = view["betting"]
    if len(betting) > 3 or not set(betting) <= {PASS, BET}:
        raise ValueError("no betting")
    names = seat_names(seat)
    said = ", ".join(f"{names[turn % 2]} {move}" for turn, move in enumerate(betting)) or "nothing yet"
    return f"{_cards(view, seat)}\nBetting: {said}. In the pot: {2 + betting.count(BET)} chips."


def _cards(view: Any, seat: int | None) -> str:
    if seat is None:
        dealt = view["cards"]
        return "No cards yet." if dealt is None else f"PLAYER_A has {_card(dealt[0])}, PLAYER_B has {_card(dealt[1])}."
    own, other = view["card"], view["other_card"]
    if own is None:
        return "No cards yet."
    return f"Your card: {_card(own)}. The other's card: {'not shown' if other is None else _card(other)}."


def _card(card: Any) -> str:
    return CARDS[CARDS.index(card)]
