"""The address by which people and agents elsewhere reach a league of a SHARED folder, for what commands print."""

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from agent_league.cli.terminal import print_remark
from agent_league.errors import UserError

if TYPE_CHECKING:
    from agent_league.config import ConfigLoader

LEAGUES_PATH = "/leagues/"


def find_league_address(home: Path, loader: "ConfigLoader", league_id: str, url: str | None) -> str:
    """Return the manager's endpoint: as typed, below `network.public_url`, as it runs here, or as configured.

    A league that isn't running has the path it had last. Says so if nobody but this machine can use the address.
    """
    from agent_league.http.hosts import are_all_loopback, parse_manager_endpoint

    if url:
        typed = parse_manager_endpoint(url, "--public-url")
        return typed if typed.endswith("/mcp") else f"{typed.rstrip('/')}/mcp"
    address = _find_local_address(home, loader, league_id)
    if public := loader.load_system().network.public_url:
        return f"{public}{urlsplit(address).path}"
    host = urlsplit(address).netloc
    if are_all_loopback([host]):
        print_remark(
            f"The address names {host}, which only this machine can call; name the one by which others reach the "
            "league with --public-url, or as network.public_url in system.json."
        )
    return address


def find_pages_address(home: Path, loader: "ConfigLoader", league_id: str, url: str | None) -> str:
    """Return the address of the league's pages, for links that others follow later.

    Empty, which it says, for a league that isn't running if no address is known by which others reach it.
    """
    from agent_league.http.hosts import are_all_loopback
    from agent_league.launch.league_start import find_running_leagues

    is_known = url or league_id in find_running_leagues(home) or loader.load_system().network.public_url
    if not is_known and are_all_loopback([urlsplit(_find_local_address(home, loader, league_id)).netloc]):
        print_remark(
            f"Links to players' pages are left out: {league_id} isn't running, and the address by which others reach "
            "it isn't known. Name it with --public-url, or as network.public_url in system.json."
        )
        return ""
    return find_league_address(home, loader, league_id, url).removesuffix("/mcp")


def _find_local_address(home: Path, loader: "ConfigLoader", league_id: str) -> str:
    """Return the endpoint as the league runs here, or as configured, below the path that it had last."""
    from agent_league.launch.league_start import read_last_endpoint

    if running := _find_running_address(home, league_id):
        return running
    configured, path = loader.load_agents().league_manager.endpoint, f"{LEAGUES_PATH}{league_id}/mcp"
    was_served = (read_last_endpoint(home, league_id) or "").endswith(path)
    return f"{find_server_root(configured)}{path}" if was_served else configured


def _find_running_address(home: Path, league_id: str) -> str | None:
    """Return the endpoint as the league runs here; one that was just made is at the folder's server within seconds."""
    from agent_league.launch.league_start import find_running_leagues

    server = find_server(home)
    soon = f"{server}{LEAGUES_PATH}{league_id}/mcp" if server else None
    return find_running_leagues(home).get(league_id) or soon


def find_server(home: Path) -> str | None:
    """Return the address of the server that serves this folder's leagues, without a slash; None if none runs."""
    from agent_league.storage.lock import read_lock_holder
    from agent_league.storage.paths import DataPaths

    holder = read_lock_holder(DataPaths(home).server_lock_file)
    return holder.partition(" ")[0] if holder else None


def check_league_path(home: Path, league_id: str, endpoint: str) -> None:
    """Refuse an address of another league, or without the league's path where `league serve` has the league.

    Says so if the path might be missing.
    """
    path = f"{LEAGUES_PATH}{league_id}"
    served = find_server_root(endpoint) + path
    running = _find_running_address(home, league_id)
    if endpoint.endswith(f"{path}/mcp"):
        return
    _, names_league, other = endpoint.removesuffix("/mcp").rpartition(LEAGUES_PATH)
    if running is None and names_league:
        raise UserError(
            f"--public-url names the league {other}, but these keys are those of {league_id}; name the league with "
            f"--league-id {other}, or its address with --public-url {served}. Nothing was changed."
        )
    if running is None:
        print_remark(
            f"{league_id} isn't running: this is its address under `league manager`. For `league serve` name "
            f"{served} with --public-url."
        )
    elif running.endswith(f"{path}/mcp"):
        raise UserError(
            f"--public-url: {league_id} is served by `league serve`, where each league has an address of its own; "
            f"expected {served}, found {endpoint.removesuffix('/mcp')}. Nothing was changed."
        )


def find_server_root(endpoint: str) -> str:
    """Return the address of the server that has a league, without a slash at its end."""
    root, _, _ = endpoint.removesuffix("/mcp").partition(LEAGUES_PATH)
    return root.rstrip("/")
