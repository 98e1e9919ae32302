"""The paths inside a SHARED folder, exactly as seed 000 gives them."""

from pathlib import Path

from agent_league.model.names import is_safe_name


def _check_safe_name(name: str) -> str:
    if not is_safe_name(name):
        raise ValueError(f"{name!r} can't name a file")
    return name


def match_file_name(match_id: str) -> str:
    """Return the name of a match's file; raises ValueError for an id that is no safe name."""
    return f"{_check_safe_name(match_id)}.json"


class DataPaths:
    """The paths of `SHARED/data`; ids that aren't safe names raise ValueError."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.data_folder = home / "data"

    def league_folder(self, league_id: str) -> Path:
        return self.data_folder / "leagues" / _check_safe_name(league_id)

    def standings_file(self, league_id: str) -> Path:
        return self.league_folder(league_id) / "standings.json"

    def rounds_file(self, league_id: str) -> Path:
        return self.league_folder(league_id) / "rounds.json"

    def admin_token_file(self, league_id: str) -> Path:
        return self.league_folder(league_id) / "admin.token"

    def referee_key_file(self, league_id: str) -> Path:
        """The sign-up key of referees on the organiser's own machine."""
        return self.league_folder(league_id) / "referee.key"

    def run_request_file(self, league_id: str) -> Path:
        return self.league_folder(league_id) / "run.json"

    def store_name_file(self, league_id: str) -> Path:
        return self.data_folder / f"{_check_safe_name(league_id)}.store.json"

    def lock_file(self, league_id: str) -> Path:
        return self.data_folder / f"{_check_safe_name(league_id)}.lock"

    @property
    def server_lock_file(self) -> Path:
        """Held by the server that serves all leagues of this folder."""
        return self.data_folder / "serve" / "server.lock"

    @property
    def season_requests_folder(self) -> Path:
        """Files named after leagues of which the server is to begin a new season."""
        return self.data_folder / "serve" / "new-season"

    @property
    def shared_files_file(self) -> Path:
        """What this folder's league files and those in a shared store last had in common."""
        return self.data_folder / "serve" / "shared-files.json"

    @property
    def replaced_files_folder(self) -> Path:
        """Copies of league files for which the store had others of the same name."""
        return self.data_folder / "serve" / "replaced"

    def season_marker_file(self, league_id: str) -> Path:
        """Says of which season the files of a league are, where servers share a store."""
        return self.league_folder(league_id) / "season.json"

    def matches_folder(self, league_id: str) -> Path:
        return self.data_folder / "matches" / _check_safe_name(league_id)

    def match_file(self, league_id: str, match_id: str) -> Path:
        return self.matches_folder(league_id) / match_file_name(match_id)

    @property
    def players_folder(self) -> Path:
        return self.data_folder / "players"

    def history_file(self, player_id: str) -> Path:
        return self.players_folder / _check_safe_name(player_id) / "history.json"

    def history_journal_file(self, player_id: str) -> Path:
        return self.history_file(player_id).with_name("history.journal.jsonl")

    @property
    def learned_folder(self) -> Path:
        """What players' strategies learned, kept from one league to the next."""
        return self.data_folder / "learned"

    @property
    def credentials_folder(self) -> Path:
        """The agents' own credentials; the manager never reads them."""
        return self.data_folder / "credentials"

    @property
    def logs_folder(self) -> Path:
        return self.home / "logs"

    def archive_folder(self, league_id: str, label: str) -> Path:
        return self.data_folder / "archive" / _check_safe_name(league_id) / _check_safe_name(label)
