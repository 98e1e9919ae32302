"""The internal address of a server that shares its store: chosen, checked, and kept apart from the public one."""

from dataclasses import replace
from pathlib import Path

import pytest

from agent_league.config import ConfigLoader
from agent_league.errors import UserError
from agent_league.serve.league_server import ServerSettings
from agent_league.serve.server_links import INTERNAL_STEP, choose_internal_url
from tests.conftest import free_ports

POSTGRES = "postgresql+psycopg://league@localhost/league"


@pytest.fixture
def settings(home: Path) -> ServerSettings:
    loader = ConfigLoader(home)
    return ServerSettings(loader, loader.load_system(), "127.0.0.1", free_ports(1), POSTGRES)


def test_a_server_with_a_store_of_its_own_has_no_internal_address(settings: ServerSettings) -> None:
    assert choose_internal_url(replace(settings, store=None)).internal_url is None


def test_the_internal_port_is_on_this_machine_and_the_same_after_a_restart(settings: ServerSettings) -> None:
    for port in (8000, 64_900):
        chosen = choose_internal_url(replace(settings, port=port)).internal_url
        assert chosen is not None
        expected = port + INTERNAL_STEP if port == 8000 else port - INTERNAL_STEP
        assert chosen.startswith("http://127.0.0.1:")
        assert 0 <= int(chosen.rpartition(":")[2]) - expected <= 100


@pytest.mark.parametrize(
    "url",
    [
        "10.0.0.2:9000",
        "https://10.0.0.2:9000",
        "http://10.0.0.2",
        "http://10.0.0.2:x",
        "http://10.0.0.2:9000/path",
        "http://user@10.0.0.2:9000",
        "http://:9000",
    ],
)
def test_an_internal_address_that_is_none_is_named_with_what_was_expected(settings: ServerSettings, url: str) -> None:
    with pytest.raises(UserError, match=r"--internal-url .*such as http://10\.0\.0\.2:9000"):
        choose_internal_url(replace(settings, internal_url=url))


def test_the_public_port_can_not_be_the_internal_one(settings: ServerSettings) -> None:
    with pytest.raises(UserError, match="expected another port than --port"):
        choose_internal_url(replace(settings, internal_url=f"http://127.0.0.1:{settings.port}"))
    assert choose_internal_url(replace(settings, internal_url="http://[::1]:9000/")).internal_url == "http://[::1]:9000"
