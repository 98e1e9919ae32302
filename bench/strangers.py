"""A league of strangers: our own agents, which ask for nothing that agents of others could not always ask for.

The league then speaks the seeds' form to them, one message a call; what they do with it is what ours do.
"""

from dataclasses import fields, replace
from typing import Any

from agent_league.launch.plan import LeaguePlan
from agent_league.players.app import PlayerSettings
from agent_league.referee.settings import RefereeSettings

SAID = {
    *("display_name", "version", "game_types", "contact_endpoint", "protocol_version", "max_concurrent_matches"),
    *("match_tokens", "match_keys"),
}
"""What a stranger says of itself when it registers; whatever else ours say is left out."""


class StrangerPlayerSettings(PlayerSettings):
    """A player's settings, without what ours alone can do."""

    __slots__ = ()

    @property
    def registration_meta(self) -> dict[str, Any]:
        return _leave_out_others(super().registration_meta)


class StrangerRefereeSettings(RefereeSettings):
    """A referee's settings, without what ours alone can do."""

    __slots__ = ()

    @property
    def registration_meta(self) -> dict[str, Any]:
        return _leave_out_others(super().registration_meta)


def make_strangers(plan: LeaguePlan) -> LeaguePlan:
    """Return the plan of the same league with strangers as referees and players."""
    return replace(
        plan,
        referees=tuple(
            replace(one, settings=StrangerRefereeSettings(**_values(one.settings))) for one in plan.referees
        ),
        players=tuple(replace(one, settings=StrangerPlayerSettings(**_values(one.settings))) for one in plan.players),
    )


def _leave_out_others(meta: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in meta.items() if name in SAID}


def _values(settings: PlayerSettings | RefereeSettings) -> dict[str, Any]:
    return {field.name: getattr(settings, field.name) for field in fields(settings)}
