"""Kuhn poker: the smallest poker, with three cards."""

from agent_league.games.kuhn_poker.picture import scene, show
from agent_league.games.kuhn_poker.rules import KuhnPokerRules
from agent_league.games.registry import Game

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

KUHN_POKER = Game(
    "kuhn_poker", KuhnPokerRules(), title="Kuhn Poker", how_to_play=HOW_TO_PLAY, payoffs=True, show=show, scene=scene
)
