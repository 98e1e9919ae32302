"""The paths inside a SHARED folder, exactly as seed 000 gives them."""

from pathlib import Path

from agent_league.model.names import is_safe_name


def _safe(name: str) -> str:
    if not is_safe_name(name):
        raise ValueError(f"{name!r} can't name a file")
    return name


def match_name(match_id: str) -> str:
    """Return the name of a match's file; raises ValueError for an id that is no safe name."""
    return f"{_safe(match_id)}.json"


def proposal_name(match_id: str, referee_id: str) -> str:
    """Return the name of a referee's proposed match file, which waits until its result is recorded."""
    return f".{_safe(match_id)}.{_safe(referee_id)}.json"


class DataPaths:
    """The paths of `SHARED/data`; ids that aren't safe names raise ValueError."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.data = home / "data"

    def league(self, league_id: str) -> Path:
        return self.data / "leagues" / _safe(league_id)

    def standings(self, league_id: str) -> Path:
        return self.league(league_id) / "standings.json"

    def rounds(self, league_id: str) -> Path:
        return self.league(league_id) / "rounds.json"

    def admin_token(self, league_id: str) -> Path:
        return self.league(league_id) / "admin.token"

    def run_request(self, league_id: str) -> Path:
        return self.league(league_id) / "run.json"

    def store_name(self, league_id: str) -> Path:
        return self.data / f"{_safe(league_id)}.store.json"

    def lock(self, league_id: str) -> Path:
        return self.data / f"{_safe(league_id)}.lock"

    def matches(self, league_id: str) -> Path:
        return self.data / "matches" / _safe(league_id)

    def match(self, league_id: str, match_id: str) -> Path:
        return self.matches(league_id) / match_name(match_id)

    def match_proposal(self, league_id: str, match_id: str, referee_id: str) -> Path:
        return self.matches(league_id) / proposal_name(match_id, referee_id)

    @property
    def players(self) -> Path:
        return self.data / "players"

    def history(self, player_id: str) -> Path:
        return self.players / _safe(player_id) / "history.json"

    def history_journal(self, player_id: str) -> Path:
        return self.history(player_id).with_name("history.journal.jsonl")

    @property
    def learned(self) -> Path:
        """What players' strategies learned, kept from one league to the next."""
        return self.data / "learned"

    @property
    def credentials(self) -> Path:
        """The agents' own credentials; the manager never reads them."""
        return self.data / "credentials"

    @property
    def logs(self) -> Path:
        return self.home / "logs"

    def archive(self, league_id: str, label: str) -> Path:
        return self.data / "archive" / _safe(league_id) / _safe(label)
