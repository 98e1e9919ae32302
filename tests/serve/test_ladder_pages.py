"""A practice ladder as everybody sees it: its front page, a page of a player, the index, the terminal, the export."""

import asyncio
import json
import re
from contextlib import AsyncExitStack
from pathlib import Path

from agent_league.model.results import Outcome
from agent_league.storage.access import TeamRow, create_key, hash_key
from tests.cli.leagues import said
from tests.conftest import BOUND
from tests.serve.stage import players, serving, until, write_league
from tests.web.browsing import parsed

LADDER = {"interval_sec": 0.2, "matches_per_hour": 10_000, "house_bots": ["random"], "check": False}


async def test_a_ladder_is_told_the_same_on_pages_and_at_the_terminal(home: Path) -> None:
    write_league(home, "practice", ladder={**LADDER, "requests": "accepted"})
    async with asyncio.timeout(BOUND), serving(home) as stage:
        async with players(home, f"{stage.root}/leagues/practice/mcp", ["Ann", "Bob"]):
            manager = stage.manager("practice")
            ladder = manager.state.ladder
            assert ladder
            await until(lambda: len(manager.state.results) >= 6 and len(ladder.ratings) >= 3)
            ids = {one.agent.display_name: one.agent_id for one in manager.state.roster}
            await manager.ladder_requests.ask(ids["Ann"], ids["Bob"])
            front = parsed((await stage.visitor.get("/leagues/practice/")).text)
            index = parsed((await stage.visitor.get("/")).text)
            own = parsed((await stage.visitor.get(f"/leagues/practice/players/{ids['Ann']}")).text)
            game = (await stage.visitor.get("/leagues/practice/game")).text
        entry = next(one for one in index.all("li", "league") if "practice" in one.text)
        assert re.search(
            r"practice · Even/Odd · practice ladder · 3 players Always open, \d+ matches played", entry.text
        )
        assert "round robin" not in entry.text + game
        assert {row[0].text.split()[0] for row in front.table("Who plays, and who waits")} == {"Ann", "Bob", "House"}
        marks = front.table("Pass marks")
        assert {row[0].text.split()[0] for row in marks} == {"Ann", "Bob"}
        assert all(re.fullmatch(r"[<>\d.]+% \d+% of points", row[1].text) for row in marks)
        assert any(
            re.search(r"Ann P\d+ asks for a match against Bob .*waits until it is accepted", one.text)
            for one in front.all("li")
        )
        on_ladder = next(one for one in own.all("section") if one.attributes.get("id") == "ladder")
        assert re.search(r"Better than House random with [>\d.]+% likelihood", on_ladder.text)
        (version,) = on_ladder.table("Its versions, each rated apart")
        assert version[0].text.endswith("now")
        assert int(version[3].text) == sum(int(cell.text) for cell in version[4:7])
    options = ("--home", home, "--league-id", "practice")
    shown = said("show", "ladder", *options)
    assert shown.code == 0, shown.error
    assert {"Ann", "Bob", "House random"} <= {name for name in ("Ann", "Bob", "House random") if name in shown.out}
    told = json.loads(said("show", "ladder", *options, "--json").out)
    assert {row["display_name"] for row in told["rows"]} == {"Ann", "Bob", "House random"}
    assert all(row["pass_marks"] for row in told["rows"] if not row["is_house"])
    exported = json.loads(said("export", *options, "--json").out)
    assert exported["ladder"]["rows"] == told["rows"]
    assert [row["player_id"] for row in exported["standings"]] == [row["player_id"] for row in told["rows"]]
    counted = [match for match in exported["matches"] if match["status"] in set(Outcome)]
    assert sum(row["played"] for row in told["rows"]) == 2 * len(counted) >= 12, "not one that was still played"
    refused = said("show", "ladder", "--home", home, "--league-id", "league_2025_even_odd")
    assert refused.code != 0


async def test_a_team_whose_request_is_declined_reads_so_on_its_own_page_and_nobody_else_does(home: Path) -> None:
    quiet = {**LADDER, "interval_sec": 3000, "house_bots": [], "requests": "accepted"}
    write_league(home, "practice", ladder=quiet)
    async with asyncio.timeout(BOUND), serving(home) as stage, AsyncExitStack() as playing:
        keys = {name: create_key() for name in ("Ann", "Bob")}
        teams = [TeamRow("practice", name, f"Team {name}", key_sha256=hash_key(keys[name])) for name in keys]
        stage.server.access.write_teams(teams)
        for name, key in keys.items():
            await playing.enter_async_context(players(home, f"{stage.root}/leagues/practice/join/{key}/mcp", [name]))
        ladder = stage.manager("practice").state.ladder
        assert ladder
        await until(lambda: len(ladder.players) == 2)
        ids = {one.agent.display_name: one.agent_id for one in stage.manager("practice").state.roster}

        async def act(name: str, action: str, other: str) -> None:
            form = f"action={action}&opponent={ids[other]}".encode()
            kind = "application/x-www-form-urlencoded"
            reply = await stage.visitor.post(f"/leagues/practice/join/{keys[name]}", form, content_type=kind)
            assert reply.status == 303

        async def list_declined(path: str) -> list[str]:
            page = parsed((await stage.visitor.get(f"/leagues/practice/{path}")).text)
            return [one.text for one in page.all("div", "notice") if "has declined" in one.text]

        await act("Ann", "ask", "Bob")
        assert not await list_declined(f"join/{keys['Ann']}")
        await act("Bob", "decline", "Ann")
        (told,) = await list_declined(f"join/{keys['Ann']}")
        assert re.fullmatch(
            rf"Bob {ids['Bob']} has declined the match that your agent asked for at \d\d:\d\d UTC", told
        )
        for path in (f"join/{keys['Bob']}", f"players/{ids['Ann']}", ""):
            assert not await list_declined(path), path
        await act("Ann", "ask", "Bob")
        assert not await list_declined(f"join/{keys['Ann']}"), "asked again"
