"""`docs/weeks.md`: its league file, its webhooks and its Python are tried as they stand."""

import asyncio
import json
import re
from datetime import datetime
from pathlib import Path
from typing import Any

from agent_league.config import ConfigLoader
from agent_league.http.webhook_signature import sign_message
from agent_league.league.journal import run_inline
from agent_league.league.webhook_addresses import load_webhooks
from agent_league.model.events import Event, FreezeChanged, LeagueStarted, RegistrationChanged, RoundStarted
from agent_league.storage.memory import MemoryStore
from agent_league.testing.virtual_time import VIRTUAL_START, VirtualClock, in_virtual_time
from tests.league.office import at_work, open_office

PAGE = Path(__file__).parents[1] / "docs" / "weeks.md"
LEAGUE, WEBHOOKS = (json.loads(block) for block in re.findall(r"```json\n(.*?)```", PAGE.read_text(), re.DOTALL))
DAY = 86_400.0


def write_league(home: Path, league: dict[str, Any]) -> None:
    """Make this the league of the folder."""
    config = home / "config"
    (config / "leagues" / f"{league['league_id']}.json").write_text(json.dumps(league))
    system = json.loads((config / "system.json").read_text())
    (config / "system.json").write_text(json.dumps({**system, "default_league_id": league["league_id"]}))


@in_virtual_time
async def test_the_page_s_league_is_played_at_its_times(home: Path) -> None:
    write_league(home, LEAGUE)
    clock = VirtualClock((datetime.fromisoformat("2026-10-12T05:00:00Z") - VIRTUAL_START).total_seconds())
    events: list[tuple[str, Event]] = []
    office = open_office(home, store=MemoryStore(), offload=run_inline, clock=clock)
    zone = office.manager.state.times.plan.zone
    office.manager.state.add_listener(
        lambda event: events.append((f"{clock.now().astimezone(zone):%d %b %H:%M}", event))
    )
    async with at_work(office) as here:
        await asyncio.sleep(2 * DAY)
        await here.seat_players(8)
        await here.seat_referee()
        await asyncio.wait_for(here.manager.completed.wait(), 60 * DAY)

    def list_times(kind: type[Event]) -> list[str]:
        return [at for at, event in events if isinstance(event, kind)]

    assert list_times(RegistrationChanged) == ["12 Oct 08:00", "25 Oct 23:59"]
    assert list_times(LeagueStarted) == ["26 Oct 18:00"]
    assert list_times(RoundStarted)[:5] == [
        "26 Oct 18:00",
        "28 Oct 18:00",
        "30 Oct 16:00",
        "02 Nov 18:00",
        "04 Nov 18:00",
    ]
    assert list_times(FreezeChanged) == ["01 Nov 18:00"]


def test_the_page_s_webhooks_are_read(home: Path) -> None:
    (home / "discord-hook.txt").write_text("https://discord.com/api/webhooks/1/x")
    environ = {"LEAGUE_SLACK_HOOK": "https://hooks.slack.com/services/x", "LEAGUE_HOOK_SECRET": "s"}
    write_league(home, {**LEAGUE, **WEBHOOKS})
    loader = ConfigLoader(home)
    found = load_webhooks(loader.load_league(), loader.load_system(), home, environ)
    assert [webhook.config.kind for webhook in found] == ["slack", "discord", "json"]


def test_the_page_s_receiver_knows_a_genuine_post() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)
    headers = {"webhook-id": "x-1", "webhook-timestamp": "1700000000"}
    headers["webhook-signature"] = sign_message(b"key", "x-1", 1700000000, b"{}")
    assert names["is_genuine"](headers, b"{}", b"key")
    assert not names["is_genuine"](headers, b"{ }", b"key")
    assert not names["is_genuine"](headers, b"{}", b"other")
