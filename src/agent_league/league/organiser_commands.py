"""The organiser's commands: each changes the league's state and leaves an entry in its audit log.

The protocol's `start_league` and `manage_league` and the organiser's pages all come here. Who may give a command is
decided before, and the caller waits for the commit: change and entry are committed together.
"""

from collections.abc import Callable
from dataclasses import dataclass

from agent_league.clock import Clock, format_utc
from agent_league.errors import ErrorCode, Refusal
from agent_league.league.state import LeagueState
from agent_league.model.audit import AuditEntry, OrganiserAction
from agent_league.text import MAX_SENTENCE, MAX_WORD, redact_tokens, shorten

ADMIN_TOKEN_NAME = "admin token"  # noqa: S105 - what the audit log calls its bearer
MAX_REASON = 1000
"""Characters of a reason."""


@dataclass(frozen=True, slots=True)
class OrganiserCommand:
    """A command of an organiser whose right to give it was checked."""

    action: OrganiserAction
    target: str = ""
    """The player (id or name) or the match that it is about."""
    reason: str = ""
    who: str = ADMIN_TOKEN_NAME


@dataclass(frozen=True, slots=True)
class Change:
    """What a command did."""

    sentence: str
    """Without a full stop."""
    target: str = ""
    """The id of the player or match."""


class OrganiserCommands:
    """Carries out commands on one league. `start_league` starts it; it may raise a Refusal."""

    def __init__(self, state: LeagueState, clock: Clock, start_league: Callable[[], None]) -> None:
        self._state = state
        self._clock = clock
        self._start_league = start_league

    def carry_out(self, command: OrganiserCommand) -> str:
        """Carry out a command and log it; returns what changed as a sentence. Raises a Refusal that changes nothing."""
        reason = shorten(redact_tokens(command.reason.strip()), MAX_REASON)
        change = self._change_state(command)
        entry = AuditEntry(
            number=len(self._state.audit_log) + 1,
            at=format_utc(self._clock.now()),
            who=shorten(command.who, MAX_WORD),
            action=str(command.action),
            target=change.target,
            reason=reason,
            change=shorten(change.sentence, MAX_SENTENCE),
        )
        self._state.add_audit_entry(entry)
        return f"{entry.change}."

    def _change_state(self, command: OrganiserCommand) -> Change:
        state = self._state
        match command.action:
            case OrganiserAction.START_LEAGUE:
                self._start_league()
                return Change("the league has started")
            case OrganiserAction.OPEN_REGISTRATION | OrganiserAction.CLOSE_REGISTRATION as action:
                is_open = action is OrganiserAction.OPEN_REGISTRATION
                word = "open" if is_open else "closed"
                return _tell_change(state.set_registration_open(is_open=is_open), f"registration is {word}")
            case OrganiserAction.PAUSE | OrganiserAction.RESUME as action:
                is_paused = action is OrganiserAction.PAUSE
                done = state.set_paused(is_paused=is_paused)
                return _tell_change(done, "the league is paused" if is_paused else "the league goes on")
            case OrganiserAction.SUSPEND_PLAYER:
                player_id = state.find_player_id(_require_target(command, "player_id"))
                return _tell_change(state.bar_player(player_id), f"{player_id} is suspended", player_id)
            case OrganiserAction.REINSTATE_PLAYER:
                player_id = state.find_player_id(_require_target(command, "player_id"))
                return _tell_change(state.reinstate_player(player_id), f"{player_id} plays again", player_id)


def _tell_change(has_changed: bool, sentence: str, target: str = "") -> Change:
    return Change(sentence if has_changed else f"nothing changed: {sentence} already", target)


def _require_target(command: OrganiserCommand, field: str) -> str:
    if not command.target:
        raise Refusal(ErrorCode.MISSING_REQUIRED_FIELD, f"missing: {field}", missing_fields=[field])
    return command.target
