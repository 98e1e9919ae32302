"""`league serve` behind a proxy with TLS, and all that has to pass through it: pages, streams, seats, referees."""

import asyncio
import json
import ssl
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from agent_league.league.resume import open_store
from agent_league.model.results import Outcome
from agent_league.storage.paths import DataPaths
from tests.cli.command import LEAGUE, Running, environment, running
from tests.conftest import BOUND, free_ports
from tests.serve.stage import write_league

TRUSTED = ["--set", 'network.trusted_proxies=["127.0.0.1"]']


@dataclass(frozen=True, slots=True)
class ProxiedSite:
    """A server's public address, the port that its proxy calls, and the certificate that the proxy shows."""

    root: str
    port: int
    certificate: Path

    def open_session(self) -> aiohttp.ClientSession:
        trust = ssl.create_default_context(cafile=str(self.certificate))
        return aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=trust))


async def check_site(site: ProxiedSite, home: Path, folder: Path) -> None:
    """Play a league through a proxy that runs: pages and streams are read, both players dial out.

    One dials out by itself, one is carried by `league connect`; the referee comes by the public address as well, and
    calls both at their seats there.
    """
    write_league(home, "spring", participants={"start_with": 2})
    root, league = site.root, f"{site.root}/leagues/spring/"
    serve = ["serve", "--home", home, "--port", site.port, "--referees", 0, "--public-url", root, *TRUSTED]
    with ExitStack() as stage:
        (server,) = stage.enter_context(running(serve, cwd=folder))
        await asyncio.to_thread(server.prints, "Serving 2 leagues")

        def start(*words: object, name: str) -> Running:
            env = environment(SSL_CERT_FILE=str(site.certificate))
            agent = Running([*LEAGUE, *words, "--home", folder / name], cwd=folder, env=env)
            stage.callback(agent.close)
            return agent

        async with asyncio.timeout(BOUND), site.open_session() as session:
            await check_pages(site, session)
            async with session.get(f"{league}events?form=json") as stream:
                assert await read_event(stream), "it comes while the stream is open"
                key = DataPaths(home).referee_key_file("spring").read_text().strip()
                port = free_ports(2)
                start("referee", "--manager", f"{league}join/{key}/mcp", "--port", port, name="referee")
                players = [start("player", "--dial-out", "--name", "Ann", "--manager", league, name="ann")]
                own = f"http://localhost:{port + 1}/mcp"
                carried = start("connect", own, "--manager", league, name="carried")
                await asyncio.to_thread(carried.prints, "Now start your agent")
                players.append(start("player", "--name", "Bob", "--port", port + 1, "--manager", league, name="bob"))
                for player in players:
                    await asyncio.to_thread(player.prints, "Registered as")
                assert await read_event(stream), "a registration is news"
            for player in players:
                await asyncio.to_thread(player.prints, "The league is over")
            health = json.loads(await read_text(session, f"{league}health"))
            assert health["state"] == "SHUTDOWN"
        await asyncio.to_thread(carried.prints, "Bob is registered as")
        check_stored_league(home, root)


def check_stored_league(home: Path, root: str) -> None:
    """Check that both players were called at their seats, below the public address, and that no match was lost."""
    store = open_store(home, None)
    saved = store.read_season("spring")
    store.close()
    assert saved is not None
    seats = [row.endpoint for row in saved.agents if row.endpoint.startswith(f"{root}/leagues/spring/seats/S")]
    assert len(seats) == 2
    outcomes = {row.result["outcome"] for row in saved.matches if row.result}
    assert outcomes
    assert outcomes <= {Outcome.WIN, Outcome.DRAW}


async def check_pages(site: ProxiedSite, session: aiohttp.ClientSession) -> None:
    base = urlsplit(site.root).path
    assert f'href="{base}/leagues/spring/"' in await read_text(session, f"{site.root}/")
    page = await read_text(session, f"{site.root}/leagues/spring/")
    style = page.partition('stylesheet" href="')[2].partition('"')[0]
    async with session.get(f"https://{urlsplit(site.root).netloc}{style}") as found:
        assert found.status == 200


async def read_text(session: aiohttp.ClientSession, address: str) -> str:
    async with session.get(address) as answer:
        assert answer.status == 200, await answer.text()
        return await answer.text()


async def read_event(stream: aiohttp.ClientResponse) -> Any:
    """Read the next message with data of a stream of events."""
    async for line in stream.content:
        if line.startswith(b"data:"):
            return json.loads(line[5:])
    return None
