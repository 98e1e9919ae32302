"""An agent's saved credentials: its id, token and key, in a file that only its owner can read."""

import hashlib
import re
from pathlib import Path
from typing import Any

import orjson

from agent_league.errors import DamagedFile
from agent_league.storage.files import parse_json, write_atomically
from agent_league.storage.paths import DataPaths

TEXT_FIELDS = ("agent_id", "league_id", "auth_token", "application_key", "match_key", "manager")
UNSAFE_CHARACTERS = re.compile(r"[^A-Za-z0-9]+")


class CredentialsFile:
    """`data/credentials/<role>-<name>-<hash>.json`: for an agent of this name and address, at one manager.

    The address is part of the hash so that a second agent of the same name doesn't register as the first.
    """

    def __init__(self, home: Path, role: str, display_name: str, endpoint: str, manager: str) -> None:
        digest = hashlib.sha256("\n".join((role, display_name, endpoint, manager)).encode()).hexdigest()
        readable = UNSAFE_CHARACTERS.sub("-", display_name).strip("-").lower()[:40]
        self.path = DataPaths(home).credentials_folder / f"{role}-{readable}-{digest[:12]}.json"

    def load(self) -> dict[str, Any]:
        """Load the credentials; {} without a file. Raises DamagedFile if it can't be read or holds something else."""
        try:
            found = parse_json(self.path.read_bytes())
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise self._damaged_error(error.strerror or type(error).__name__) from None
        except ValueError:
            raise self._damaged_error("it is not JSON") from None
        if not isinstance(found, dict):
            raise self._damaged_error("it holds no JSON object")
        for name in TEXT_FIELDS:
            if not isinstance(found.get(name), str | None):
                raise self._damaged_error(f"{name} is no text")
        return found

    def _damaged_error(self, why: str) -> DamagedFile:
        return DamagedFile(
            f"The credentials in {self.path} can't be used: {why}. Registering without them; where the manager says "
            "that the name is taken, bring back a copy of the file, or take another --name."
        )

    def delete_file(self) -> None:
        """Delete the file, so that the next registration is a new one."""
        self.path.unlink(missing_ok=True)

    def save(self, content: dict[str, Any]) -> None:
        write_atomically(self.path, orjson.dumps(content, option=orjson.OPT_INDENT_2), mode=0o600)
