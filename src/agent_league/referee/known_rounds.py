"""Which rounds of a repeated game a player knows already, so that questions to it may leave them out.

Knows neither the player nor its messages.
"""

from dataclasses import dataclass

MAX_LACKS = 3
"""How often in a match a player may say that it lacks rounds; after that it is shown all of them every time."""


@dataclass(slots=True)
class KnownRounds:
    """The rounds that one player has been shown in one match."""

    is_kept: bool = False
    """Whether the player has said that it keeps them."""
    count: int = 0
    """How many there were in the latest question that it answered."""
    lacks: int = 0
    """How often it said that it lacks some of them."""

    @property
    def since(self) -> int:
        """How many of the first rounds the next question may leave out."""
        return self.count if self.is_kept and self.lacks < MAX_LACKS else 0
