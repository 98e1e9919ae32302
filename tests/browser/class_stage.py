"""A class on one server, to look at: a practice ladder with teams and keys, a league to come, one that is over."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from agent_league.storage.access import TeamRow, create_key, hash_key
from agent_league.web.organiser.sessions import create_link
from tests.serve.stage import ServerStage, players, serving, write_league

PRACTICE, COMING, PAST = "practice", "autumn", "spring"
CLASS_NAMES = ("Ada", "Bo", "Chi", "Dag")


@dataclass
class ClassStage:
    """A server with a class on it."""

    stage: ServerStage
    keys: Mapping[str, str]
    """By the team's name."""

    @property
    def root(self) -> str:
        return self.stage.root

    def league(self, league_id: str) -> str:
        return f"{self.root}/leagues/{league_id}"

    def own_page(self, name: str) -> str:
        """The page "my agent" of a team on the ladder."""
        return f"{self.league(PRACTICE)}/join/{self.keys[name]}"

    def invite(self, name: str, league_id: str | None = None) -> str:
        """The address at which an organiser signs in."""
        place = self.league(league_id) if league_id else self.root
        return f"{place}/sign-in/{create_link(self.stage.server.access, name, league_id)}"


def in_days(days: float) -> str:
    return (datetime.now(UTC) + timedelta(days=days)).replace(second=0, microsecond=0).isoformat()


def make_coming_times() -> dict[str, Any]:
    """The times of the league to come: it opened, closes in days, starts then."""
    return {
        "time_zone": "Europe/Berlin",
        "registration_closes": in_days(3.5),
        "start": in_days(4.5),
        "rounds": ["mon wed 18:00"],
        "quiet_hours": ["22:00-07:00"],
        "freeze": "24h before final",
    }


@asynccontextmanager
async def class_stage(home: Path, names: Sequence[str] = CLASS_NAMES, **ladder: Any) -> AsyncIterator[ClassStage]:
    """Serve a class whose teams have these names; their agents are on the ladder, the first two have played."""
    rules = {"interval_sec": 3600, "requests": "accepted", "house_bots": ["random"], "check": False, **ladder}
    write_league(home, PRACTICE, display_name="Practice", ladder=rules)
    write_league(home, COMING, display_name="Autumn League", times=make_coming_times())
    write_league(home, PAST, display_name="Spring Cup", participants={"start_with": 2})
    async with serving(home) as stage, AsyncExitStack() as playing:
        keys = {name: create_key() for name in names}
        rows = [
            TeamRow(
                league_id,
                f"T{number:02}",
                f"Team {name}",
                "player",
                [{"student_id": f"s{1000 + number}", "name": f"{name} Student", "email": f"{name}@class.example"}],
                hash_key(key),
            )
            for league_id in (PRACTICE, COMING)
            for number, (name, key) in enumerate(keys.items(), start=1)
        ]
        stage.server.access.write_teams(rows)
        async with players(home, f"{stage.root}/leagues/{PAST}/mcp", [*names[:2]]):
            await stage.wait_for_end(PAST)
        for name, key in keys.items():
            await playing.enter_async_context(
                players(home, f"{stage.root}/leagues/{PRACTICE}/join/{key}/mcp", [f"Agent {name}"])
            )
        yield ClassStage(stage, keys)
