"""The organiser's commands: each changes the league's state and leaves an entry in its audit log.

The protocol's `start_league` and `manage_league` and the organiser's pages all come here. Who may give a command is
decided before, and the caller waits for the commit: change and entry are committed together.
"""

from collections.abc import Callable
from dataclasses import dataclass

from agent_league.clock import Clock, format_utc
from agent_league.config.times import TimesConfig
from agent_league.errors import ErrorCode, Refusal
from agent_league.league.corrections import Change, Corrections
from agent_league.league.state import LeagueState
from agent_league.model.audit import CORRECTIONS, NOTHING_CHANGED, AuditEntry, OrganiserAction
from agent_league.text import MAX_SENTENCE, MAX_WORD, redact_keys, redact_tokens, shorten, to_printable

ADMIN_TOKEN_NAME = "admin token"  # noqa: S105 - what the audit log calls its bearer
MAX_REASON = MAX_SENTENCE
"""Characters of a reason, which everybody can read."""
MATCH_ACTIONS = frozenset({OrganiserAction.RERUN_MATCH, OrganiserAction.VOID_MATCH, OrganiserAction.AWARD_MATCH})
"""The actions whose target is a match."""
PLAYER_ACTIONS = frozenset(
    {
        OrganiserAction.SUSPEND_PLAYER,
        OrganiserAction.REINSTATE_PLAYER,
        OrganiserAction.WITHDRAW_PLAYER,
        OrganiserAction.ADMIT_PLAYER,
    }
)
"""The actions whose target is a player."""


@dataclass(frozen=True, slots=True)
class OrganiserCommand:
    """A command of an organiser whose right to give it was checked."""

    action: OrganiserAction
    target: str = ""
    """The player (id or name) or the match that it is about."""
    reason: str = ""
    """Needed for corrections and for times."""
    who: str = ADMIN_TOKEN_NAME
    winner: str = ""
    """To whom a match is awarded: a player (id or name), or "draw"."""
    times: TimesConfig | None = None
    """The times that are set."""
    void_followers: bool = False
    """Consent that the matches which followed from a corrected result become void if others go on."""
    without_missing_teams: bool = False
    """Consent that the league starts without the teams of the roster that would not play."""


class OrganiserCommands:
    """Carries out commands on one league. `start_league` starts it; it may raise a Refusal."""

    def __init__(self, state: LeagueState, clock: Clock, start_league: Callable[[], None]) -> None:
        self._state = state
        self._clock = clock
        self._start_league = start_league
        self._corrections = Corrections(state)

    def carry_out(self, command: OrganiserCommand) -> str:
        """Carry out a command and log it; returns what changed as a sentence. Raises a Refusal that changes nothing."""
        reason = redact_keys(redact_tokens(to_printable(" ".join(command.reason.split()))))
        _check_fields(command, reason)
        change = self._correct(command, reason) if command.action in CORRECTIONS else self._manage(command)
        entry = AuditEntry(
            number=len(self._state.audit_log) + 1,
            at=format_utc(self._clock.now()),
            who=shorten(command.who, MAX_WORD),
            action=str(command.action),
            target=shorten(change.target, MAX_WORD),
            reason=reason,
            change=shorten(change.sentence, MAX_SENTENCE),
            before=change.before,
        )
        self._state.add_audit_entry(entry)
        return f"{entry.change}."

    def _manage(self, command: OrganiserCommand) -> Change:  # noqa: PLR0911 - a table: one entry for each command
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
            case OrganiserAction.FREEZE_AGENTS | OrganiserAction.UNFREEZE_AGENTS as action:
                is_frozen = action is OrganiserAction.FREEZE_AGENTS
                done = state.set_frozen(is_frozen=is_frozen, now=self._clock.now())
                return _tell_change(done, "agents are frozen" if is_frozen else "agents may be admitted and replaced")
            case OrganiserAction.SET_TIMES if command.times:
                before = state.config.times.model_dump(mode="json")
                said = state.set_times(command.times, self._clock.now())
                return Change(f"times are changed: {said}", before={"times": before})
            case OrganiserAction.PLAY_ROUND:
                return Change(f"round {state.call_round(self._clock.now())} begins before its time")
            case OrganiserAction.SUSPEND_PLAYER:
                player_id = state.find_player_id(command.target)
                return _tell_change(state.bar_player(player_id), f"{player_id} is suspended", player_id)
            case OrganiserAction.REINSTATE_PLAYER:
                player_id = state.find_player_id(command.target)
                return _tell_change(state.reinstate_player(player_id), f"{player_id} plays again", player_id)
        raise AssertionError(f"no code for {command.action}")

    def _correct(self, command: OrganiserCommand, reason: str) -> Change:
        corrections, target, consent = self._corrections, command.target, command.void_followers
        match command.action:
            case OrganiserAction.RERUN_MATCH:
                return corrections.rerun_match(target, void_followers=consent)
            case OrganiserAction.VOID_MATCH:
                return corrections.void_match(target, reason, void_followers=consent)
            case OrganiserAction.AWARD_MATCH:
                return corrections.award_match(target, command.winner, reason, void_followers=consent)
            case OrganiserAction.WITHDRAW_PLAYER:
                return corrections.withdraw_player(target)
            case OrganiserAction.ADMIT_PLAYER:
                return corrections.admit_player(target)
        raise AssertionError(f"no code for {command.action}")


def _check_fields(command: OrganiserCommand, reason: str) -> None:
    """Raise a Refusal that names the fields a command lacks, by their names in the protocol."""
    needed = {
        "match_id": command.action in MATCH_ACTIONS and not command.target.strip(),
        "player_id": (command.action in PLAYER_ACTIONS and not command.target.strip())
        or (command.action is OrganiserAction.AWARD_MATCH and not command.winner.strip()),
        "times": command.action is OrganiserAction.SET_TIMES and command.times is None,
        "reason": command.action in (*CORRECTIONS, OrganiserAction.SET_TIMES) and not reason,
    }
    if missing := [name for name, is_missing in needed.items() if is_missing]:
        raise Refusal(ErrorCode.MISSING_REQUIRED_FIELD, f"missing: {', '.join(missing)}", missing_fields=missing)
    if len(reason) > MAX_REASON:
        told = f"the reason is {len(reason)} characters long; expected at most {MAX_REASON}: it stands on public pages"
        raise Refusal(ErrorCode.INVALID_MESSAGE_FORMAT, told)


def _tell_change(has_changed: bool, sentence: str, target: str = "") -> Change:
    return Change(sentence if has_changed else f"{NOTHING_CHANGED}: {sentence} already", target)
