"""Draws a hand of Kuhn poker, as text and as a scene: the visible cards, the betting, the pot."""

from collections.abc import Mapping
from typing import Any

from agent_league.games.base import Move
from agent_league.games.kuhn_poker.rules import BET, CARDS, PASS
from agent_league.games.scene import Scene, Tile, Tiles
from agent_league.games.shared_views import seat_names


def show(view: Any, seat: int | None) -> str:
    betting, names = _read_betting(view), seat_names(seat)
    said = ", ".join(f"{names[turn % 2]} {move}" for turn, move in enumerate(betting)) or "nothing yet"
    return f"{_describe_cards(view, seat)}\nBetting: {said}. In the pot: {_count_pot(betting)} chips."


def scene(view: Any, seat: int | None, _last: Mapping[int, Move]) -> Scene:
    betting = _read_betting(view)
    if seat is None:
        dealt = view["cards"] or [None, None]
    else:
        dealt = [view["card"], view["other_card"]] if seat == 0 else [view["other_card"], view["card"]]
    cards = tuple(
        Tile("" if card is None else _check_card(card), side, is_card=True) for side, card in enumerate(dealt)
    )
    bets = tuple(Tile(move, turn % 2, is_last=turn == len(betting) - 1) for turn, move in enumerate(betting))
    parts = (Tiles(cards), Tiles(bets)) if bets else (Tiles(cards),)
    return Scene(parts, f"In the pot: {_count_pot(betting)} chips.")


def _describe_cards(view: Any, seat: int | None) -> str:
    if seat is None:
        dealt = view["cards"]
        return (
            "No cards yet."
            if dealt is None
            else f"PLAYER_A has {_check_card(dealt[0])}, PLAYER_B has {_check_card(dealt[1])}."
        )
    own, other = view["card"], view["other_card"]
    if own is None:
        return "No cards yet."
    return f"Your card: {_check_card(own)}. The other's card: {'not shown' if other is None else _check_card(other)}."


def _read_betting(view: Any) -> list[str]:
    betting: list[str] = view["betting"]
    if len(betting) > 3 or not set(betting) <= {PASS, BET}:
        raise ValueError("no betting")
    return betting


def _count_pot(betting: list[str]) -> int:
    return 2 + betting.count(BET)


def _check_card(card: Any) -> str:
    return CARDS[CARDS.index(card)]
