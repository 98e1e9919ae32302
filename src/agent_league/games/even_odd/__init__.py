"""Even/Odd: both choose a parity, the referee draws a number, the one who was right wins."""

from agent_league.games.even_odd.rules import EvenOddRules
from agent_league.games.even_odd.wire import EvenOddWire
from agent_league.games.registry import Game

EVEN_ODD = Game("even_odd", EvenOddRules(), EvenOddWire(), parameters={"min_number": 1, "max_number": 10})
