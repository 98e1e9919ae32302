"""Kuhn poker: the smallest poker, with three cards."""

from collections.abc import Mapping
from typing import Any

from agent_league.games.base import Move
from agent_league.games.kuhn_poker.rules import BET, CARDS, PASS, KuhnPokerRules
from agent_league.games.registry import Game
from agent_league.games.scene import Scene, Tile, Tiles
from agent_league.games.view import seat_names

HOW_TO_PLAY = """\
A poker of three cards and one bet: each player gets a card that the other can't see, and bets on it or passes.

The cards are J, Q and K, K the highest. Each player puts one chip into the pot and is dealt one card; the third stays \
aside, unseen. PLAYER_A (seat 0) acts first, then PLAYER_B (seat 1). A move is one word, exactly "pass" or "bet" in \
small letters. As long as nobody has bet, "bet" puts one chip more into the pot and "pass" checks. After a bet, "bet" \
calls it with one chip and "pass" folds.

So it goes in one of five ways: pass, pass; bet, bet; and pass, bet, bet lead to a showdown, where both cards are laid \
open and the higher one takes the pot; bet, pass; and pass, bet, pass end with a fold, where whoever bet takes the pot \
and no card is shown in the whole match. A game pays the winner what the other put in: 1 chip, or 2 where a bet was \
called.

The view has `card`, your own card; `other_card`, null unless there was a showdown; `betting`, the moves so far, \
PLAYER_A's first; `pot`, the chips in the pot. One game is mostly luck; over many (parameter `repeat`) it pays to \
bluff now and then with a J.
"""
GOALS = (
    "You act first. You win the chips that your opponent put in, at a showdown with the higher card or if it folds.",
    "You act second. You win the chips that your opponent put in, at a showdown with the higher card or if it folds.",
)


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


KUHN_POKER = Game(
    "kuhn_poker",
    KuhnPokerRules(),
    title="Kuhn Poker",
    how_to_play=HOW_TO_PLAY,
    goals=GOALS,
    payoffs=True,
    show=show,
    scene=scene,
)
