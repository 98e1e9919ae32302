"""Players for people who play in a browser: in the manager's process, registered over HTTP.

After a restart a player is found again by the hash of its handle; only the hash is stored, in a private file.
"""

import hmac

from agent_league.launch.addresses import own_endpoint
from agent_league.launch.agent_plan import LOOPBACK
from agent_league.launch.outside_player import HostSeat
from agent_league.league.settings import ManagerSettings
from agent_league.league.state import Season
from agent_league.players.app import PlayerSettings
from agent_league.players.strategies import load_strategy
from agent_league.storage.credentials import CredentialsFile
from agent_league.storage.files import read_object
from agent_league.storage.paths import DataPaths

FALLBACK = "random"
SELVES = {"0.0.0.0": LOOPBACK, "::": "[::1]"}  # noqa: S104 - where we are called who listen everywhere
ROLE = "visitor"


class Visitors:
    """Makes and restores browser players in the league of one manager, which listens at this host and port."""

    def __init__(self, settings: ManagerSettings, season: Season, host: str, port: int) -> None:
        self._settings = settings
        self._season = season
        self._host = host
        self._manager = f"http://{SELVES.get(host, f'[{host}]' if ':' in host else host)}:{port}/mcp"

    def new(self, key: str, name: str) -> HostSeat:
        self._memo(key).save({"handle_sha256": key, "display_name": name})
        return self._seat(key, name)

    def known(self) -> list[str]:
        """Return the keys of all browser players of this manager."""
        files = sorted(DataPaths(self._settings.home).credentials.glob(f"{ROLE}-*.json"))
        keys = [(file, str((read_object(file) or {}).get("handle_sha256"))) for file in files]
        return [key for file, key in keys if self._memo(key).path == file]

    def again(self, key: str) -> tuple[str, HostSeat] | None:
        """Return name and player of a key at its stored port; None if it isn't a player of this league any more."""
        known = self._memo(key).load()
        name, port = known.get("display_name"), known.get("port")
        is_ours = hmac.compare_digest(str(known.get("handle_sha256")), key)
        if not is_ours or not isinstance(name, str) or not isinstance(port, int):
            return None
        endpoint = own_endpoint(self._host, port, self._settings.system.network.base_host)
        players = {(one.display_name, one.endpoint) for one in self._season.roster.players().values()}
        if self._season.is_closed or (name, endpoint) not in players:
            self.forget(key)
            return None
        return name, self._seat(key, name)

    def forget(self, key: str) -> None:
        self._memo(key).forget()

    def _seat(self, key: str, name: str) -> HostSeat:
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
        return HostSeat(player, load_strategy(FALLBACK), host=self._host, memo=self._memo(key))

    def _memo(self, key: str) -> CredentialsFile:
        return CredentialsFile(self._settings.home, ROLE, "", key, self._manager)
