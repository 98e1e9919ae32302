"""`league serve` behind a real Caddy with the configuration that docs/deploy.md offers."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.command import Running, environment
from tests.conftest import free_ports
from tests.serve.nginx import DEPLOY, make_certificate
from tests.serve.proxied_site import ProxiedSite, check_site

CADDY = shutil.which("caddy")
MISSING = "there is no caddy and openssl here; install caddy"
FRAME = """
{{
	admin off
	auto_https disable_redirects
	storage file_system {folder}/storage
}}
"""
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (CADDY and shutil.which("openssl")), reason=MISSING),
]


@contextmanager
def running_caddy(folder: Path, replacements: dict[str, str]) -> Iterator[None]:
    """Run Caddy with `deploy/Caddyfile` after replacing addresses; each replaced text must be there once."""
    conf = (DEPLOY / "Caddyfile").read_text()
    for old, new in replacements.items():
        assert conf.count(old) == 1, old
        conf = conf.replace(old, new)
    file = folder / "Caddyfile"
    file.write_text(FRAME.format(folder=folder) + conf)
    env = environment(XDG_DATA_HOME=str(folder), XDG_CONFIG_HOME=str(folder))
    server = Running([CADDY, "run", "--config", file, "--adapter", "caddyfile"], cwd=folder, env=env)
    try:
        server.prints("serving initial configuration")
        yield
    finally:
        server.close()


async def test_a_league_is_played_through_caddy(home: Path, tmp_path: Path) -> None:
    inside, outside = (first := free_ports(2)), first + 1
    site = ProxiedSite(f"https://localhost:{outside}", inside, make_certificate(tmp_path))
    replacements = {
        "\nleague.example.org {": (
            f"\nlocalhost:{outside} {{\n\tbind 127.0.0.1\n\ttls {site.certificate} {tmp_path}/privkey.pem"
        ),
        "127.0.0.1:8000": f"127.0.0.1:{inside}",
    }
    with running_caddy(tmp_path, replacements):
        await check_site(site, home, tmp_path)
