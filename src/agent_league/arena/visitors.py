"""The players behind the seats that people take in a browser: in the manager's process, registered over HTTP.

A handle leads back to its seat after a restart. It is kept as a hash alone, in a file that only its owner can read.
"""

import hashlib
import hmac

from agent_league.arena.addresses import own_endpoint
from agent_league.arena.outside_seat import HostSeat
from agent_league.arena.seats import LOOPBACK
from agent_league.league.season import Season
from agent_league.league.settings import ManagerSettings
from agent_league.players.app import PlayerSettings
from agent_league.players.strategies import load_strategy
from agent_league.storage.credentials import CredentialsFile

FALLBACK = "random"
SELVES = {"0.0.0.0": LOOPBACK, "::": "[::1]"}  # noqa: S104 - where we are called who listen everywhere
ROLE = "visitor"


class Visitors:
    """Makes seats in the league of one manager, which listens at this host and port."""

    def __init__(self, settings: ManagerSettings, season: Season, host: str, port: int) -> None:
        self._settings = settings
        self._season = season
        self._host = host
        self._manager = f"http://{SELVES.get(host, f'[{host}]' if ':' in host else host)}:{port}/mcp"

    def new(self, handle: str, name: str) -> HostSeat:
        self._memo(handle).save({"handle_sha256": _hash(handle), "display_name": name})
        return self._seat(handle, name)

    def again(self, handle: str) -> tuple[str, HostSeat] | None:
        """The seat of somebody who is a player of this season, at the port that was kept."""
        known = self._memo(handle).load()
        name, port = known.get("display_name"), known.get("port")
        is_ours = hmac.compare_digest(str(known.get("handle_sha256")), _hash(handle))
        if not is_ours or not isinstance(name, str) or not isinstance(port, int):
            return None
        endpoint = own_endpoint(self._host, port, self._settings.system.network.base_host)
        players = {(one.display_name, one.endpoint) for one in self._season.roster.players().values()}
        if self._season.is_closed or (name, endpoint) not in players:
            self.forget(handle)
            return None
        return name, self._seat(handle, name)

    def forget(self, handle: str) -> None:
        self._memo(handle).forget()

    def _seat(self, handle: str, name: str) -> HostSeat:
        settings = self._settings
        player = PlayerSettings(
            system=settings.system,
            home=settings.home,
            manager=self._manager,
            endpoint="",
            wanted_id="player",
            display_name=name,
            game_types=(settings.league.game_type,),
        )
        return HostSeat(player, load_strategy(FALLBACK), host=self._host, memo=self._memo(handle))

    def _memo(self, handle: str) -> CredentialsFile:
        return CredentialsFile(self._settings.home, ROLE, "", _hash(handle), self._manager)


def _hash(handle: str) -> str:
    return hashlib.sha256(handle.encode()).hexdigest()
