"""`league serve` behind a real nginx with the configurations that docs/deploy.md offers: TLS, base path, streams."""

import asyncio
from contextlib import ExitStack
from pathlib import Path

import aiohttp
import pytest

from tests.cli.command import running
from tests.conftest import BOUND, free_ports
from tests.serve.nginx import CAN_RUN, MISSING, make_certificate, running_nginx
from tests.serve.proxied_site import TRUSTED, ProxiedSite, check_site

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not CAN_RUN, reason=MISSING)]


async def test_pages_streams_and_agents_that_dial_out_pass_through_tls_and_a_base_path(
    home: Path, tmp_path: Path
) -> None:
    inside, outside, plain = (first := free_ports(3)), first + 1, first + 2
    site = ProxiedSite(f"https://localhost:{outside}/league", inside, make_certificate(tmp_path))
    replacements = {
        "127.0.0.1:8000": f"127.0.0.1:{inside}",
        "listen 443 ssl": f"listen 127.0.0.1:{outside} ssl",
        "listen 80": f"listen 127.0.0.1:{plain}",
        "league.example.org;": "localhost;",
        "/etc/ssl/league": str(tmp_path),
    }
    with running_nginx(tmp_path, "nginx.conf", replacements):
        await check_site(site, home, tmp_path)
        async with site.open_session() as session:
            for address in (f"http://localhost:{plain}/league/", f"https://localhost:{outside}/league"):
                async with session.get(address, allow_redirects=False) as moved:
                    assert moved.status == 301


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
