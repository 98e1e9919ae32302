"""`league admin invite` and `revoke`: links by which organisers sign in, in the league's own database."""

from pathlib import Path
from typing import TYPE_CHECKING

from agent_league.cli.league_address import find_league_address, find_server_root
from agent_league.cli.terminal import print_remark, write_to_stdout
from agent_league.errors import UserError
from agent_league.model.names import MAX_NAME_LENGTH, is_displayable
from agent_league.text import quote

if TYPE_CHECKING:
    from agent_league.config import ConfigLoader


def invite_organiser(
    name: str, league_id: str | None, home: Path, loader: "ConfigLoader", store: str | None, url: str | None
) -> None:
    """Print a link by which an organiser of a league, or of all leagues, signs in once."""
    from agent_league.league.resume import open_store
    from agent_league.storage.sql_access import SqlAccessStore
    from agent_league.web.organiser.sessions import LINK_HOURS, SESSION_HOURS, create_link
    from agent_league.web.organiser.sign_in import SIGN_IN_PATH

    check_organiser_name(name)
    league = loader.load_league(league_id).league_id
    endpoint = find_league_address(home, loader, league, url)
    root = endpoint.removesuffix("/mcp") if league_id else find_server_root(endpoint)
    opened = open_store(home, store)
    try:
        key = create_link(SqlAccessStore(opened), name, league if league_id else None)
    finally:
        opened.close()
    what = f"the league {league}" if league_id else "all leagues of this SHARED folder"
    print_remark(
        f"A link for {name}, organiser of {what}: it works once, within {LINK_HOURS} hours, and signs in for at most "
        f"{SESSION_HOURS}. `league admin revoke {name}` ends it."
    )
    write_to_stdout(f"{root}/{SIGN_IN_PATH}/{key}".encode())


def revoke_organiser(name: str, home: Path, store: str | None) -> None:
    """End an organiser's links and sessions."""
    from agent_league.league.resume import open_store
    from agent_league.storage.sql_access import SqlAccessStore

    opened = open_store(home, store)
    try:
        ended = SqlAccessStore(opened).revoke_organiser(name)
    finally:
        opened.close()
    if not ended:
        raise UserError(f"nothing to revoke: no organiser {quote(name)} has a link or is signed in, or no longer")
    what = "a link or session" if ended == 1 else f"{ended} links and sessions"
    print_remark(f"{name} is no organiser any more: {what} ended.")


def check_organiser_name(name: str) -> None:
    if not is_displayable(name) or len(name) > MAX_NAME_LENGTH:
        raise UserError(
            f"{quote(name)} can't be an organiser's name: expected 1 to {MAX_NAME_LENGTH} visible characters"
        )
