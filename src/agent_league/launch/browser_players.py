"""Players for people who play in a browser: in the manager's process, registered over HTTP.

After a restart a player is found again by the hash of its handle; only the hash is stored, in a private file.
"""

import hmac

from agent_league.launch.addresses import own_endpoint
from agent_league.launch.agent_plan import LOOPBACK
from agent_league.launch.outside_player import OutsidePlayer
from agent_league.league.settings import ManagerSettings
from agent_league.league.state import LeagueState
from agent_league.players.app import PlayerSettings
from agent_league.players.strategies import load_strategy
from agent_league.storage.credentials import CredentialsFile
from agent_league.storage.files import read_json_object
from agent_league.storage.paths import DataPaths

FALLBACK = "random"
OWN_HOSTS = {"0.0.0.0": LOOPBACK, "::": "[::1]"}  # noqa: S104 - where we are called who listen everywhere
CREDENTIALS_ROLE = "visitor"


class BrowserPlayers:
    """Makes and restores browser players in the league of one manager, which listens at this host and port."""

    def __init__(self, settings: ManagerSettings, season: LeagueState, host: str, port: int) -> None:
        self._settings = settings
        self._league_state = season
        self._host = host
        self._manager = f"http://{OWN_HOSTS.get(host, f'[{host}]' if ':' in host else host)}:{port}/mcp"

    def create_player(self, key: str, name: str) -> OutsidePlayer:
        self._credentials_file(key).save({"handle_sha256": key, "display_name": name})
        return self._make_player(key, name)

    def list_keys(self) -> list[str]:
        """Return the keys of all browser players of this manager."""
        files = sorted(DataPaths(self._settings.home).credentials_folder.glob(f"{CREDENTIALS_ROLE}-*.json"))
        keys = [(file, str((read_json_object(file) or {}).get("handle_sha256"))) for file in files]
        return [key for file, key in keys if self._credentials_file(key).path == file]

    def restore_player(self, key: str) -> tuple[str, OutsidePlayer] | None:
        """Return name and player of a key at its stored port; None if it isn't a player of this league any more."""
        known = self._credentials_file(key).load()
        name, port = known.get("display_name"), known.get("port")
        is_ours = hmac.compare_digest(str(known.get("handle_sha256")), key)
        if not is_ours or not isinstance(name, str) or not isinstance(port, int):
            return None
        endpoint = own_endpoint(self._host, port, self._settings.system.network.base_host)
        players = {(one.display_name, one.endpoint) for one in self._league_state.roster.players().values()}
        if self._league_state.is_end_announced or (name, endpoint) not in players:
            self.forget_player(key)
            return None
        return name, self._make_player(key, name)

    def forget_player(self, key: str) -> None:
        self._credentials_file(key).delete_file()

    def _make_player(self, key: str, name: str) -> OutsidePlayer:
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
        return OutsidePlayer(
            player, load_strategy(FALLBACK), host=self._host, credentials_file=self._credentials_file(key)
        )

    def _credentials_file(self, key: str) -> CredentialsFile:
        return CredentialsFile(self._settings.home, CREDENTIALS_ROLE, "", key, self._manager)
