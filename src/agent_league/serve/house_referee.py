"""House referees: run in the server's process, so that a league needs nobody else to be played.

They register and judge like any referee, below the path of their league, and come back after a restart even where the
server has moved to another address.
"""

from dataclasses import dataclass

from agent_league.config import GamesRegistry, RefereeDefaults
from agent_league.launch.agent_plan import ManagerPlan, RefereePlan
from agent_league.referee.settings import RefereeSettings
from agent_league.storage.credentials import CredentialsFile

HOUSE_PATH = "house"
CREDENTIALS_ROLE = "house-referee"


@dataclass(frozen=True, slots=True, kw_only=True)
class HouseRefereeSettings(RefereeSettings):
    """Settings of a referee that a server runs for one of its leagues."""

    @property
    def credentials(self) -> CredentialsFile:
        """The file with its credentials, which doesn't depend on the server's address."""
        return CredentialsFile(self.home, CREDENTIALS_ROLE, f"{self.league_id} {self.wanted_id}", "", "")


def plan_house_referees(
    manager: ManagerPlan, count: int, games: GamesRegistry, defaults: RefereeDefaults
) -> list[RefereePlan]:
    """Plan the house referees of a league; together they can run all matches of a round."""
    settings, league = manager.settings, manager.settings.league
    pairs = league.participants.max_players // 2
    root = manager.endpoint.removesuffix("/mcp")
    return [
        RefereePlan(
            HouseRefereeSettings(
                system=settings.system,
                home=settings.home,
                manager=manager.endpoint,
                endpoint=f"{root}/{HOUSE_PATH}/REF{number:02}/mcp",
                wanted_id=f"REF{number:02}",
                display_name=f"House Referee {number}",
                version=defaults.version,
                game_types=(league.game_type,),
                league_id=league.league_id,
                logs_with_league=True,
                games=games.with_parameters(league.game_type, league.game_parameters),
                max_concurrent_matches=max(defaults.max_concurrent_matches, -(-pairs // count)),
            ),
            manager.port,
            manager.host,
        )
        for number in range(1, count + 1)
    ]
