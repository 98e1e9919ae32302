"""Who sees whose name: the one place that decides what the `visibility` of a league file hides, and from whom.

`mask_state` gives a view of a league's state in which hidden players go by pseudonyms; pages, feed, exports, open tools
and notices read that view, so that none of them has to know the rule. Where the top ten alone are shown, the rows of
others and the matches between two of them are left out of that view; counts of the whole league stay right.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from agent_league.errors import ErrorCode, Refusal
from agent_league.league.roster import Member, Roster
from agent_league.league.state import LeagueState
from agent_league.model.agents import AgentProfile, Role
from agent_league.model.events import (
    AgentRegistered,
    AgentStateChanged,
    Event,
    LadderNews,
    LeagueCompleted,
    LeagueResumed,
    MatchFinished,
    MatchNotTaken,
    MatchOverdue,
    MatchPaired,
    MatchReplaced,
    ReachabilityChanged,
    RegistrationRefused,
    RoundCompleted,
)
from agent_league.model.group_table import GroupTable
from agent_league.model.looks import NO_LOOK
from agent_league.model.results import MatchResult, StandingsRow
from agent_league.model.schedule import Pairing, Schedule

Visibility = Literal["everything", "pseudonyms", "top_ten", "members"]
TOP = 10
TOP_TEN_ONLY = "this league shows its ten leading players and their matches, and to each player its own"
MEMBERS_ONLY = (
    "this league shows itself to its members alone: its agents, with their token, its teams, once they have opened the "
    "page of their key, and its organisers"
)


@dataclass(frozen=True, slots=True)
class Viewer:
    """Somebody who looks at a league."""

    player_id: str | None = None
    """The player whose own agent, or team, it is."""
    is_member: bool = False
    is_organiser: bool = False
    """Organisers, and the referees, who are theirs."""
    is_everybody: bool = False
    """Whether it stands for all agents, each of which has to find its own row."""


VISITOR = Viewer()
ANY_AGENT = Viewer(is_member=True, is_everybody=True)
"""Whoever gets a notice that is the same for all agents."""
ORGANISER = Viewer(is_member=True, is_organiser=True)
VIEWER: ContextVar[Viewer] = ContextVar("viewer", default=VISITOR)
"""Who makes the current call, by the token that came with it."""


def hides_from_visitors(visibility: Visibility) -> bool:
    """Whether a league hides anything from anybody."""
    return visibility != "everything"


def require_view(state: LeagueState, viewer: Viewer) -> None:
    """Raise a Refusal if a league isn't shown to this viewer at all."""
    if state.config.visibility == "members" and not viewer.is_member:
        raise Refusal(ErrorCode.AUTH_TOKEN_MISSING, MEMBERS_ONLY)


def mask_state(state: LeagueState, viewer: Viewer) -> LeagueState:
    """Return a league's state as a viewer may see it: itself, or a view of it that follows its changes."""
    shown = _find_mask(state, viewer)
    return state if shown is None else cast("LeagueState", shown)


def list_shown_members(state: LeagueState, viewer: Viewer) -> list[Member]:
    """List the agents of which a viewer may know that they are there: none in a league that isn't shown to it."""
    if state.config.visibility == "members" and not viewer.is_member:
        return []
    return [*mask_state(state, viewer).roster]


def mask_rows(state: LeagueState, rows: Sequence[StandingsRow], viewer: Viewer) -> tuple[StandingsRow, ...]:
    """Return rows of the standings as a viewer may see them."""
    shown = _find_mask(state, viewer)
    return tuple(rows) if shown is None else shown.mask_rows(rows)


def mask_event(state: LeagueState, event: Event, viewer: Viewer) -> Event:
    """Return an event as a viewer may see it."""
    shown = _find_mask(state, viewer)
    return event if shown is None else shown.mask_event(event)


def _find_mask(state: LeagueState, viewer: Viewer) -> "_MaskedState | None":
    """Return the masked view of a state; None if this viewer sees all of it."""
    visibility = state.config.visibility
    is_all = visibility == "everything" or viewer.is_organiser or (visibility == "members" and viewer.is_member)
    return None if is_all else _MaskedState(state, viewer)


class _MaskedState:
    """A league's state with pseudonyms; all that has no names is the state's own."""

    hides_names = True

    def __init__(self, state: LeagueState, viewer: Viewer) -> None:
        self._state = state
        self._viewer = viewer
        self.hides_rows = state.config.visibility == "top_ten" and not viewer.is_everybody
        self.roster = _MaskedRoster(self, state.roster)
        self._shown: tuple[tuple[frozenset[str], int], Schedule, dict[str, MatchResult]] | None = None
        """The schedule and the results that were shown last, and for what."""

    @property
    def unmasked(self) -> LeagueState:
        """The state itself, for what is computed from all of it."""
        return self._state

    @property
    def schedule(self) -> Schedule:
        return self._select_shown()[0] if self.hides_rows else self._state.schedule

    @property
    def results(self) -> dict[str, MatchResult]:
        return self._select_shown()[1] if self.hides_rows else self._state.results

    def preview_schedule(self) -> Schedule:
        return self._select_matches(self._state.preview_schedule())

    def get_pairing(self, match_id: str) -> Pairing:
        """Return a match of the schedule that is shown; raises a Refusal."""
        pairing = self._state.get_pairing(match_id)
        if not self.shows_match(pairing.players):
            raise Refusal(ErrorCode.MATCH_NOT_FOUND, TOP_TEN_ONLY, match_id=pairing.match_id)
        return pairing

    def shows_player(self, player_id: str) -> bool:
        return not self.hides_rows or player_id in self.list_seen()

    def shows_match(self, players: Sequence[str]) -> bool:
        """Whether a match is shown: if one of its players is."""
        return not self.hides_rows or not self.list_seen().isdisjoint(players)

    def _select_shown(self) -> tuple[Schedule, dict[str, MatchResult]]:
        """Select what is shown of the schedule and the results, once for each change of the league."""
        key = (self.list_seen(), self._state.event_count)
        if self._shown is None or self._shown[0] != key:
            results = {name: one for name, one in self._state.results.items() if self.shows_match(one.players)}
            self._shown = (key, self._select_matches(self._state.schedule), results)
        return self._shown[1:]

    def _select_matches(self, schedule: Schedule) -> Schedule:
        if not self.hides_rows:
            return schedule
        seen = self.list_seen()
        return Schedule(
            tuple(
                replace(
                    round_,
                    pairings=tuple(one for one in round_.pairings if not seen.isdisjoint(one.players)),
                    byes={player_id: why for player_id, why in round_.byes.items() if player_id in seen},
                )
                for round_ in schedule.rounds
            )
        )

    def __getattr__(self, name: str) -> Any:
        return getattr(self._state, name)

    def standings(self) -> tuple[StandingsRow, ...]:
        return self.mask_rows(self._state.standings())

    def standings_after_round(self) -> tuple[StandingsRow, ...]:
        return self.mask_rows(self._state.standings_after_round())

    def iter_standings(self) -> Iterator[tuple[StandingsRow, ...]]:
        return map(self.mask_rows, self._state.iter_standings())

    def find_group_tables(self) -> list[GroupTable]:
        return [*map(self.mask_group, self._state.find_group_tables())]

    def collect_deviations(self) -> dict[str, tuple[str, ...]]:
        """Those of players whose names are seen: they quote what agents wrote, which may be their names."""
        seen = self.list_seen()
        return {one: noted for one, noted in self._state.collect_deviations().items() if one in seen}

    def mask_rows(self, rows: Sequence[StandingsRow]) -> tuple[StandingsRow, ...]:
        seen = self.list_seen()
        return tuple(
            row if row.player_id in seen else replace(row, display_name=make_pseudonym(row.player_id))
            for row in rows
            if row.player_id in seen or not self.hides_rows
        )

    def mask_group(self, group: GroupTable) -> GroupTable:
        rows = (
            replace(row, display_name=self.show_name(row.player_id, row.display_name))
            for row in group.rows
            if self.shows_player(row.player_id)
        )
        return replace(group, rows=tuple(rows))

    def mask_event(self, event: Event) -> Event:
        match event:
            case AgentRegistered(role=Role.PLAYER):
                name = self.show_name(event.agent_id, event.display_name)
                return replace(event, display_name=name, endpoint="", tolerated=())
            case RegistrationRefused():
                return replace(event, who="Somebody", why=event.why.partition(" (")[0])
            case RoundCompleted():
                return replace(
                    event, standings=self.mask_rows(event.standings), groups=tuple(map(self.mask_group, event.groups))
                )
            case LeagueCompleted():
                return replace(event, standings=self.mask_rows(event.standings), tolerated={}, models={})
            case LeagueResumed():
                names = {player_id: self.show_name(player_id, name) for player_id, name in event.names.items()}
                return replace(event, standings=self.mask_rows(event.standings), names=names)
            case _:
                return event

    def show_name(self, player_id: str, name: str) -> str:
        return name if player_id in self.list_seen() else make_pseudonym(player_id)

    def mask_member(self, member: Member) -> Member:
        if member.role is not Role.PLAYER or member.agent_id in self.list_seen():
            return member
        return replace(member, agent=self.mask_profile(member.agent), alias=None, versions=())

    def mask_profile(self, profile: AgentProfile) -> AgentProfile:
        pseudonym = make_pseudonym(profile.agent_id)
        return replace(profile, display_name=pseudonym, endpoint="", version="", look=NO_LOOK)

    def list_seen(self) -> frozenset[str]:
        """The players whose names this viewer sees."""
        own = {self._viewer.player_id} if self._viewer.player_id else set()
        if self._state.config.visibility == "top_ten" and self._state.results:
            own |= {row.player_id for row in self._state.standings()[:TOP]}
        return frozenset(own)


class _MaskedRoster:
    """The roster of a masked state."""

    def __init__(self, shown: _MaskedState, roster: Roster) -> None:
        self._shown = shown
        self._roster = roster

    def __getattr__(self, name: str) -> Any:
        return getattr(self._roster, name)

    def __iter__(self) -> Iterator[Member]:
        return map(self._shown.mask_member, filter(self._is_listed, self._roster))

    def __getitem__(self, agent_id: str) -> Member:
        return self._shown.mask_member(self._roster[agent_id])

    def get(self, agent_id: str) -> Member | None:
        member = self._roster.get(agent_id)
        return self._shown.mask_member(member) if member and self._is_listed(member) else None

    def list_members(self, role: Role) -> list[Member]:
        return [*map(self._shown.mask_member, filter(self._is_listed, self._roster.list_members(role)))]

    def _is_listed(self, member: Member) -> bool:
        return member.role is not Role.PLAYER or self._shown.shows_player(member.agent_id)

    def players(self) -> Mapping[str, AgentProfile]:
        seen = self._shown.list_seen()
        return {
            player_id: profile if player_id in seen else self._shown.mask_profile(profile)
            for player_id, profile in self._roster.players().items()
        }


def shows_event(state: LeagueState, event: Event) -> bool:
    """Whether an event is told to whom a masked state is shown: if it is about somebody who is."""
    match event:
        case MatchFinished(result):
            return state.shows_match(result.players)
        case MatchPaired(pairing) | MatchReplaced(pairing=pairing):
            return state.shows_match(pairing.players)
        case MatchOverdue(match_id=match_id) | MatchNotTaken(match_id=match_id):
            return state.shows_match(state.unmasked.get_pairing(match_id).players)
        case AgentRegistered(role=Role.PLAYER, agent_id=player_id) | LadderNews(player_id=player_id):
            return state.shows_player(player_id)
        case AgentStateChanged(agent_id=agent_id) | ReachabilityChanged(agent_id=agent_id):
            return agent_id not in state.roster.players() or state.shows_player(agent_id)
        case _:
            return True


def make_pseudonym(player_id: str) -> str:
    """The name of a player whose own is hidden: the same everywhere, and nothing but its id in words."""
    return f"Player {player_id.lstrip('P').lstrip('0') or player_id}"
