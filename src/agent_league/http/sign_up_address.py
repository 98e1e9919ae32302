"""Sign-up addresses as agents use them: a manager's address with a key in its path, `http://host/join/KEY/mcp`.

Also where an agent finds its own: in a file or in the environment, so that no list of processes shows the key.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from agent_league.errors import UserError
from agent_league.http.hosts import parse_manager_endpoint
from agent_league.text import KEY_PREFIX

SIGN_UP_VARIABLE = "LEAGUE_SIGN_UP_URL"
"""The environment variable with an agent's sign-up address."""
_KEY_IN_PATH = re.compile(r"/join/([^/]+)")
_MAX_FILE_BYTES = 4096


def find_sign_up_key(endpoint: str) -> str | None:
    """Return the key in a sign-up address; None if it is another address."""
    found = _KEY_IN_PATH.search(urlsplit(endpoint).path)
    return found[1] if found else None


def add_sign_up_key(endpoint: str, key: str) -> str:
    """Return the sign-up address of a key at a manager's address, which may have another key already."""
    parts = urlsplit(endpoint)
    path = _KEY_IN_PATH.sub("", parts.path).removesuffix("/mcp").rstrip("/")
    return parts._replace(path=f"{path}/join/{key}/mcp").geturl()


def read_sign_up_file(file: Path, manager: str) -> str:
    """Read a sign-up address from a file, which may hold the bare key of one at `manager`; raises UserError."""
    try:
        with file.open(encoding="utf-8") as opened:
            text = opened.read(_MAX_FILE_BYTES).strip()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text"
        raise UserError(f"--key-file {file} can't be read: {why}") from None
    if text.startswith(KEY_PREFIX) and len(text.split()) == 1:
        return add_sign_up_key(manager, text)
    try:
        address = parse_manager_endpoint(text)
    except UserError:
        address = ""
    if not address or find_sign_up_key(address) is None:
        raise UserError(
            f"--key-file {file} holds no sign-up address; expected one line such as http://host:8000/join/KEY/mcp, or "
            "the key"
        )
    return address


def choose_manager_address(
    typed: str | None, key_file: Path | None, default: str, environment: Mapping[str, str] | None = None
) -> str:
    """Choose the manager's address: as typed, with the key of a file, else of the environment, else the default."""
    manager = parse_manager_endpoint(typed) if typed else None
    if key_file is not None:
        return read_sign_up_file(key_file, manager or default)
    told = (os.environ if environment is None else environment).get(SIGN_UP_VARIABLE, "").strip()
    if manager is None and told:
        return parse_manager_endpoint(told, f"${SIGN_UP_VARIABLE}")
    return manager or default
