"""`league serve` behind a real nginx with the configurations that docs/deploy.md offers: TLS, base path, streams."""

import asyncio
import json
import ssl
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.cli.command import LEAGUE, Running, environment, free_ports, running
from tests.conftest import BOUND
from tests.serve.nginx import CAN_RUN, MISSING, make_certificate, running_nginx
from tests.serve.stage import write_league

TRUSTED = ["--set", 'network.trusted_proxies=["127.0.0.1"]']
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not CAN_RUN, reason=MISSING)]


async def test_pages_streams_and_agents_that_dial_out_pass_through_tls_and_a_base_path(
    home: Path, tmp_path: Path
) -> None:
    write_league(home, "spring", participants={"start_with": 2})
    inside, outside, plain = (first := free_ports(3)), first + 1, first + 2
    certificate = make_certificate(tmp_path)
    root = f"https://localhost:{outside}/league"
    serve = ["serve", "--home", home, "--port", inside, "--public-url", root]
    replacements = {
        "127.0.0.1:8000": f"127.0.0.1:{inside}",
        "listen 443 ssl": f"listen 127.0.0.1:{outside} ssl",
        "listen 80": f"listen 127.0.0.1:{plain}",
        "league.example.org;": "localhost;",
        "/etc/ssl/league": str(tmp_path),
    }
    trust = ssl.create_default_context(cafile=str(certificate))
    with ExitStack() as stage:
        (server,) = stage.enter_context(running([*serve, *TRUSTED], cwd=tmp_path))
        server.prints("Serving 2 leagues")
        stage.enter_context(running_nginx(tmp_path, "nginx.conf", replacements))
        connector = aiohttp.TCPConnector(ssl=trust)
        async with asyncio.timeout(BOUND), aiohttp.ClientSession(connector=connector) as session:
            assert 'href="/league/leagues/spring/"' in await read_text(session, f"{root}/")
            for address in (f"http://localhost:{plain}/league/", f"https://localhost:{outside}/league"):
                async with session.get(address, allow_redirects=False) as moved:
                    assert moved.status == 301
            page = await read_text(session, f"{root}/leagues/spring/")
            style = page.partition('stylesheet" href="')[2].partition('"')[0]
            async with session.get(f"https://localhost:{outside}{style}") as found:
                assert found.status == 200
            async with session.get(f"{root}/leagues/spring/events?form=json") as stream:
                first_event = await read_event(stream)
                assert first_event, "it comes while the stream is open"
                dialling = ["player", "--dial-out", "--manager", f"{root}/leagues/spring/", "--exit-when-done"]
                agents = [
                    Running(
                        [*LEAGUE, *dialling, "--name", name, "--home", tmp_path / name],
                        cwd=tmp_path,
                        env=environment(SSL_CERT_FILE=str(certificate)),
                    )
                    for name in ("Ann", "Bob")
                ]
                for agent in agents:
                    stage.callback(agent.close)
                for agent in agents:
                    await asyncio.to_thread(agent.prints, "Registered as")
                assert await read_event(stream), "a registration is news"
            for agent in agents:
                await asyncio.to_thread(agent.prints, "The league is over")
            health = json.loads(await read_text(session, f"{root}/leagues/spring/health"))
            assert health["state"] == "SHUTDOWN"


async def test_the_proxy_of_compose_tells_the_callers_address(home: Path, tmp_path: Path) -> None:
    inside, outside = (first := free_ports(2)), first + 1
    replacements = {"server:8000": f"127.0.0.1:{inside}", "listen 80": f"listen 127.0.0.1:{outside}"}
    limits = ["--set", "security.rate_limit_per_sec=0.001", "--set", "security.rate_limit_burst=1"]
    serve = ["serve", "--home", home, "--port", inside, "--public-url", f"http://localhost:{outside}", *limits]
    with ExitStack() as stage:
        (server,) = stage.enter_context(running([*serve, *TRUSTED], cwd=tmp_path))
        server.prints("Serving 1 league")
        stage.enter_context(running_nginx(tmp_path, "nginx-compose.conf", replacements))
        connector = aiohttp.TCPConnector(local_addr=("127.0.0.2", 0))  # another machine than the proxy's, as it were
        async with asyncio.timeout(BOUND), aiohttp.ClientSession(connector=connector) as session:
            address = f"http://localhost:{outside}/leagues/league_2025_even_odd/schedule"
            statuses = []
            for claimed in ("203.0.113.1", "203.0.113.2"):  # nginx appends whom it sees, and that is one caller
                async with session.get(address, headers={"X-Forwarded-For": claimed}) as answer:
                    statuses.append(answer.status)
            assert statuses == [200, 429]


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
