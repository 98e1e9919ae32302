"""What the organiser's page shows: how the league stands, who is ready, what can be done now, what was done."""

from collections.abc import Mapping, Sequence
from typing import Any

from agent_league.clock import format_utc
from agent_league.league.agenda import StepKind
from agent_league.league.missing_teams import describe_missing_teams, list_missing_teams
from agent_league.league.roster import Member
from agent_league.league.state import PHASE_DESCRIPTIONS, LeaguePhase
from agent_league.league.times_view import view_times
from agent_league.model.agents import Role
from agent_league.model.audit import OrganiserAction, describe_action
from agent_league.storage.access import TeamRow
from agent_league.web.agents import describe_age, describe_state, read_last_seen, read_latency_ms
from agent_league.web.league_reader import LeagueReader
from agent_league.web.organiser.times_form import read_times_fields
from agent_league.web.pages.audit import build_audit_line

SHOWN_ENTRIES = 10
PLAIN_ACTIONS = {
    OrganiserAction.START_LEAGUE: "Start the league",
    OrganiserAction.OPEN_REGISTRATION: "Open registration",
    OrganiserAction.CLOSE_REGISTRATION: "Close registration",
    OrganiserAction.PAUSE: "Pause",
    OrganiserAction.RESUME: "Resume",
    OrganiserAction.PLAY_ROUND: "Play the next round now",
    OrganiserAction.FREEZE_AGENTS: "Freeze agents",
    OrganiserAction.UNFREEZE_AGENTS: "Unfreeze agents",
}
"""Commands for the whole league, with the words on their buttons."""
NO_CORRECTIONS = (*PLAIN_ACTIONS, OrganiserAction.SET_TIMES)


def read_organiser_data(
    reader: LeagueReader, teams: Sequence[TeamRow], typed: Mapping[str, str] | None = None
) -> Mapping[str, Any]:
    """Read the page's data; `typed` is what a refused form of times had in its fields."""
    state = reader.state
    has_started = state.phase is not LeaguePhase.REGISTRATION
    agents = [*_list_agents(reader, teams)]
    return {
        "league_id": state.league_id,
        "phase": PHASE_DESCRIPTIONS[state.phase],
        "obstacle": state.find_start_obstacle() if state.phase is LeaguePhase.REGISTRATION else None,
        "is_open": state.is_registration_open,
        "is_paused": state.is_paused,
        "waits_for_referee": state.is_waiting_for_referee,
        "part": {"times": view_times(state, reader.history.now()).to_json()},
        "times_fields": read_times_fields(state.config.times, typed or {}, has_started=has_started)
        if state.phase is not LeaguePhase.COMPLETED
        else (),
        "times_typed": dict(typed or {}) if (typed or {}).get("action") == OrganiserAction.SET_TIMES else None,
        "played": len(state.results),
        "matches": len(state.schedule.pairings),
        "buttons": [(str(action), PLAIN_ACTIONS[action]) for action in _list_plain_actions(reader)],
        "corrections": [
            (str(action), describe_action(action)) for action in OrganiserAction if action not in NO_CORRECTIONS
        ],
        "agents": agents,
        "missing_teams": _list_missing_teams(reader, teams),
        "start_without": _describe_missing(reader, teams) if not has_started else "",
        "has_checks": reader.state.ladder is not None,
        "ready": sum(one["is_ready"] for one in agents if one["role"] == "player"),
        "players": sum(one["role"] == "player" for one in agents),
        "entries": [build_audit_line(reader, entry) for entry in [*state.audit_log][: -SHOWN_ENTRIES - 1 : -1]],
        "now": format_utc(reader.history.now()),
    }


def _list_plain_actions(reader: LeagueReader) -> list[OrganiserAction]:
    """The commands for the whole league that make sense now."""
    state = reader.state
    if state.phase is LeaguePhase.REGISTRATION:
        is_open = state.is_registration_open
        toggle = OrganiserAction.CLOSE_REGISTRATION if is_open else OrganiserAction.OPEN_REGISTRATION
        return [OrganiserAction.START_LEAGUE, toggle]
    if state.phase is LeaguePhase.RUNNING:
        steps = state.list_timed_steps(reader.history.now())
        waits = [OrganiserAction.PLAY_ROUND] if any(step.kind is StepKind.ROUND for step in steps) else []
        freeze = OrganiserAction.UNFREEZE_AGENTS if state.is_frozen else OrganiserAction.FREEZE_AGENTS
        return [OrganiserAction.RESUME if state.is_paused else OrganiserAction.PAUSE, *waits, freeze]
    return []


def _list_agents(reader: LeagueReader, teams: Sequence[TeamRow]) -> list[dict[str, Any]]:
    """List all agents, those that need attention first."""
    by_team = {row.team_id: row for row in teams if row.role == "player"}
    running = reader.state.count_running_matches()
    agents = [
        _build_agent(reader, member, by_team.get(member.team_id or ""), running)
        for role in (Role.PLAYER, Role.REFEREE)
        for member in reader.state.roster.list_members(role)
    ]
    return sorted(agents, key=lambda one: (one["role"] != "player", one["is_ready"]))


def _list_missing_teams(reader: LeagueReader, teams: Sequence[TeamRow]) -> list[dict[str, Any]]:
    """List the teams of the roster without an agent, and whether their key still works."""
    signed_up = {member.team_id for member in reader.state.roster}
    missing = [row for row in teams if row.role == "player" and row.team_id not in signed_up]
    return [{"name": row.name, "is_revoked": row.key_sha256 is None} for row in missing]


def _describe_missing(reader: LeagueReader, teams: Sequence[TeamRow]) -> str:
    """Say which teams a start would leave out; empty if none."""
    missing = list_missing_teams(reader.state, teams)
    return describe_missing_teams(missing) if missing else ""


def _build_agent(
    reader: LeagueReader, member: Member, team: TeamRow | None, running: Mapping[str, int]
) -> dict[str, Any]:
    now = reader.history.now()
    state = reader.state
    tally = state.standings_table.get_tally(member.agent_id) if member.role is Role.PLAYER else None
    return {
        "agent_id": member.agent_id,
        "role": str(member.role),
        "name": member.agent.display_name,
        "team": team.name if team else "",
        "version": f"{member.agent.version} (no. {member.versions[-1].number})"
        if member.versions
        else member.agent.version,
        "state": describe_state(member),
        "is_reachable": member.is_reachable,
        "is_barred": member.is_barred,
        "is_ready": member.is_reachable and not member.is_suspended,
        "last_seen": describe_age(read_last_seen(reader, member), now),
        "failures": member.breaker.failure_count,
        "latency_ms": read_latency_ms(reader, member),
        "running": running.get(member.agent_id, 0) if member.role is Role.REFEREE else None,
        "technical": tally.technical_losses if tally else 0,
        "check": _describe_check(reader, member),
    }


def _describe_check(reader: LeagueReader, member: Member) -> str:
    """How the check of a ladder's player went, in a few words; empty for agents that aren't checked."""
    player = reader.state.ladder.players.get(member.agent_id) if reader.state.ladder else None
    if player is None or player.is_house:
        return ""
    if player.check is None:
        return "not yet"
    if player.check.unjudged:
        return "could not be checked"
    return f"{'passed' if player.check.is_passed else 'failed'}, {player.check.passed} of {player.check.steps}"
