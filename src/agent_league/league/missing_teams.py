"""Teams of the roster that would not play if the league started now, and why.

The one place that decides it; `league admin start` and the organiser's page show it and ask whether to start without
them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from agent_league.errors import ErrorCode, Refusal
from agent_league.league.roster import Member
from agent_league.league.state import LeagueState
from agent_league.model.agents import Role
from agent_league.model.result_words import format_count
from agent_league.storage.access import TeamRow

NOT_SIGNED_UP = "not signed up"
NOT_REACHABLE = "not reachable yet"
NOT_CHECKED = "not checked"
MAX_NAMED = 10
"""Teams of one kind that a sentence names."""


@dataclass(frozen=True, slots=True)
class MissingTeam:
    """A team that would not play, and why."""

    team: str
    why: str

    def to_json(self) -> dict[str, str]:
        """Return it as a refusal's context has it."""
        return asdict(self)


def list_missing_teams(state: LeagueState, teams: Iterable[TeamRow]) -> list[MissingTeam]:
    """List the teams that would not play now; one whose key was revoked before it came is not expected."""
    members = {member.team_id: member for member in state.roster.list_members(Role.PLAYER)}
    expected = (row for row in teams if row.role == Role.PLAYER and (row.key_sha256 or row.team_id in members))
    found = ((row.name, _find_reason(state, members.get(row.team_id))) for row in expected)
    return [MissingTeam(name, why) for name, why in found if why]


def _find_reason(state: LeagueState, member: Member | None) -> str:
    """Why a team would not play; empty if it would."""
    if member is None:
        return NOT_SIGNED_UP
    if not member.is_reachable:
        return NOT_REACHABLE
    player = state.ladder.players.get(member.agent_id) if state.ladder else None
    return NOT_CHECKED if player and player.check is None else ""


def describe_missing_teams(missing: Sequence[MissingTeam]) -> str:
    """Say how many are missing and name them by why: "1 team of the roster is missing (not signed up: Red)"."""
    names: dict[str, list[str]] = {}
    for one in missing:
        names.setdefault(one.why, []).append(one.team)
    told = "; ".join(f"{why}: {_join_names(found)}" for why, found in names.items())
    return f"{format_count(len(missing), 'team')} of the roster {'is' if len(missing) == 1 else 'are'} missing ({told})"


def require_consent(missing: Sequence[MissingTeam]) -> None:
    """Raise a Refusal that names the teams that are missing, if there are any."""
    if missing:
        context: dict[str, Any] = {"missing_teams": [one.to_json() for one in missing]}
        raise Refusal(
            ErrorCode.SERVICE_UNAVAILABLE,
            f"{describe_missing_teams(missing)}; start without them by --yes, on the organiser's page by its box, in "
            'messages by "without_missing_teams": true',
            **context,
        )


def _join_names(names: Sequence[str]) -> str:
    more = len(names) - MAX_NAMED
    return ", ".join(names[:MAX_NAMED]) + (f" and {more} more" if more > 0 else "")
