"""League files of servers that share a store: what is made, changed or deleted in one home reaches all others.

Each home remembers what it last had in common with the store. A file that differs from that was changed here; a version
of the store that is newer was changed elsewhere. Where both were, the change here is the later one. Calls block.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from agent_league.log import JsonLogger
from agent_league.model.names import is_safe_name
from agent_league.serve.league_files import LEAGUES_FOLDER, FileStamp, list_league_files
from agent_league.storage.directory import DirectoryView, LeagueLease, ServerDirectory
from agent_league.storage.files import read_json_object, write_atomically, write_json
from agent_league.storage.paths import DataPaths


@dataclass(frozen=True, slots=True)
class KnownFile:
    """What a home and the store last had in common of a league's file."""

    sha256: str
    version: int


class SharedLeagueFiles:
    """The league files of one home and those in the store, brought together."""

    def __init__(self, home: Path, directory: ServerDirectory, log: JsonLogger) -> None:
        self._home = home
        self._directory = directory
        self._log = log
        self._memory = DataPaths(home).shared_files_file
        self._hashes: dict[str, tuple[FileStamp, str]] = {}
        """By league: the stamp of a file that was read, and the hash of its content."""

    def synchronise(self, view: DirectoryView) -> None:
        """Publish what has changed here, and write what has changed elsewhere; raises StoreFailed and OSError."""
        before = known = self._read_memory()
        stamps = list_league_files(self._home)
        for league_id in sorted({*stamps, *known, *view.leagues}):
            if not is_safe_name(league_id):
                continue
            fact = self._synchronise_league(
                league_id, stamps.get(league_id), known.get(league_id), view.leagues.get(league_id)
            )
            known = (
                {**known, league_id: fact} if fact else {name: one for name, one in known.items() if name != league_id}
            )
        if known != before:
            write_json(
                self._memory, {name: {"sha256": one.sha256, "version": one.version} for name, one in known.items()}
            )

    def _synchronise_league(
        self, league_id: str, stamp: FileStamp | None, known: KnownFile | None, lease: LeagueLease | None
    ) -> KnownFile | None:
        """Bring one file together with the store; returns what both have in common then, None if neither has any."""
        if stamp is None:
            return self._settle_missing_file(league_id, known, lease)
        sha256 = self._hash_file(league_id, stamp)
        if sha256 is None:
            return known
        if known is None or lease is None or sha256 != known.sha256:
            is_first_meeting = known is None and lease is not None and lease.is_defined
            return self._settle_first_meeting(league_id, sha256) if is_first_meeting else self._publish(league_id)
        if not lease.is_defined:
            self._log.info("league_file_removed_elsewhere", league_id=league_id)
            self._path(league_id).unlink(missing_ok=True)
            return None
        return known if lease.version == known.version else self._fetch(league_id)

    def _settle_missing_file(
        self, league_id: str, known: KnownFile | None, lease: LeagueLease | None
    ) -> KnownFile | None:
        """Write a file that was made elsewhere, or remove for all one that was deleted here."""
        if self._path(league_id).is_file():  # a listing may miss a file that is replaced meanwhile
            return known
        if lease is None or not lease.is_defined:
            return None
        if known is None:
            return self._fetch(league_id)
        self._log.info("league_file_removed_for_all", league_id=league_id)
        self._directory.remove_league(league_id)
        return None

    def _settle_first_meeting(self, league_id: str, sha256: str) -> KnownFile | None:
        """Decide between a file and the store's of the same name: the store's counts, a copy of the other is kept."""
        found = self._directory.read_definition(league_id)
        if found is None:
            return None
        if _hash(found[0]) != sha256:
            aside = DataPaths(self._home).replaced_files_folder / f"{league_id}.json"
            write_atomically(aside, self._path(league_id).read_bytes())
            self._log.warning("league_file_replaced", league_id=league_id, copy=str(aside))
        return self._fetch(league_id)

    def _publish(self, league_id: str) -> KnownFile | None:
        content = self._path(league_id).read_text(encoding="utf-8")
        version = self._directory.define_league(league_id, content)
        self._log.info("league_file_published", league_id=league_id, version=version)
        return KnownFile(_hash(content), version)

    def _fetch(self, league_id: str) -> KnownFile | None:
        found = self._directory.read_definition(league_id)
        if found is None:
            return None
        content, version = found
        path = self._path(league_id)
        if not path.is_file() or path.read_bytes() != content.encode():
            write_atomically(path, content.encode())
            self._log.info("league_file_fetched", league_id=league_id, version=version)
        return KnownFile(_hash(content), version)

    def _hash_file(self, league_id: str, stamp: FileStamp) -> str | None:
        """Hash a file's content, which is read again once its stamp has changed; None if it isn't text."""
        kept = self._hashes.get(league_id)
        if kept and kept[0] == stamp:
            return kept[1]
        try:
            sha256 = _hash(self._path(league_id).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            self._log.error("league_file_unreadable", league_id=league_id, error=repr(error))
            return None
        self._hashes[league_id] = (stamp, sha256)
        return sha256

    def _path(self, league_id: str) -> Path:
        return self._home / "config" / LEAGUES_FOLDER / f"{league_id}.json"

    def _read_memory(self) -> dict[str, KnownFile]:
        found = read_json_object(self._memory) or {}
        return {
            name: KnownFile(one["sha256"], one["version"])
            for name, one in found.items()
            if isinstance(one, dict) and isinstance(one.get("sha256"), str) and isinstance(one.get("version"), int)
        }


def _hash(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()
