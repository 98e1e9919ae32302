"""Browser players of a league that may move to another server: nothing of them is kept beside the league's own state.

Handle and dial-out secret of a seat follow from its player's name and the season's key, which the next server has as
well; whom the roster calls at the seat of that secret is such a player. So a seat outlasts a server that is lost.
"""

from collections.abc import Callable, Iterator
from typing import Any

from agent_league.league.dial_out.seats import find_seat_id
from agent_league.players.human import HumanSeat
from agent_league.protocol.dial_out import SEAT_PATTERN, SECRET_PREFIX
from agent_league.web.play.seats import HANDLE_LENGTH, HANDLE_PREFIX, BrowserPlayers, hash_handle

DeriveSecret = Callable[[str], str]
"""Derives 43 characters that nobody can guess from a purpose; the same on every server of the league."""


class MovingBrowserPlayers(BrowserPlayers):
    """Makes and finds browser players by what the league's key says."""

    def __init__(self, *args: Any, derive_secret: DeriveSecret, **options: Any) -> None:
        super().__init__(*args, **options)
        self._derive_secret = derive_secret

    def make_handle(self, name: str) -> str:
        return f"{HANDLE_PREFIX}{self._derive_secret(f'handle of {name}')[:HANDLE_LENGTH]}"

    def create_player(self, key: str, name: str) -> HumanSeat:
        return self._make_player(key, name, seat_secret=self._make_seat_secret(name))

    def list_keys(self) -> list[str]:
        return [key for key, _ in self._list_seated()]

    def restore_player(self, key: str) -> HumanSeat | None:
        name = dict(self._list_seated()).get(key)
        if name is None or self._league_state.is_end_announced:
            return None
        return self.create_player(key, name)

    def forget_player(self, key: str) -> None:
        """Do nothing: its player is known from the roster alone."""

    def _list_seated(self) -> Iterator[tuple[str, str]]:
        """Yield key and name of every player that is called at the seat of its name."""
        for agent in self._league_state.roster.players().values():
            found = SEAT_PATTERN.search(agent.endpoint)
            if found and found[1] == find_seat_id(self._make_seat_secret(agent.display_name)):
                yield hash_handle(self.make_handle(agent.display_name)), agent.display_name

    def _make_seat_secret(self, name: str) -> str:
        return f"{SECRET_PREFIX}{self._derive_secret(f'seat of {name}')}"
