"""The tournament of a league: its format, the seeds of its players, and the rounds that can be paired."""

import hashlib
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace

from agent_league.config.models import LeagueConfig, SchedulingConfig
from agent_league.errors import LeagueFailed
from agent_league.formats.base import Format, TournamentRecord
from agent_league.formats.registry import FORMATS, load_format
from agent_league.formats.settings import make_settings_error
from agent_league.formats.stages import Stage, Stages
from agent_league.model.agents import AgentProfile
from agent_league.model.schedule import LeagueRound
from agent_league.text import MAX_PHRASE, quote

MAX_ROUNDS = 10_000
"""Rounds of a league; a format that has more doesn't end."""


def make_format(scheduling: SchedulingConfig) -> Format:
    """Make the format that a league file asks for; raises ConfigError."""
    if scheduling.rounds is not None and (
        scheduling.stages or "rounds" not in FORMATS.setting_names(scheduling.format)
    ):
        which = "stages" if scheduling.stages else scheduling.format
        raise make_settings_error(which, "rounds", "no number of rounds (leave out --rounds)", scheduling.rounds)
    if scheduling.stages:
        return Stages(tuple(Stage(load_format(one.format, one.settings), one.advance) for one in scheduling.stages))
    settings = dict(scheduling.settings)
    if scheduling.rounds is not None:
        settings["rounds"] = scheduling.rounds
    if scheduling.matches_per_round is not None and "matches_per_round" in FORMATS.setting_names(scheduling.format):
        settings["matches_per_round"] = scheduling.matches_per_round
    return load_format(scheduling.format, settings)


def describe_format(league: LeagueConfig) -> str:
    """Name the format of a league, or its formats one after the other, in words."""
    if league.ladder:
        return "practice ladder"
    scheduling = league.scheduling
    names = [one.format for one in scheduling.stages] or [scheduling.format]
    return ", then ".join(name.replace("_", " ") for name in names)


def counts_byes(chosen: Format, round_: LeagueRound) -> bool:
    """Whether the byes of a round give the points of a win."""
    if round_.is_play_off:
        return False
    return chosen.stages[round_.stage - 1].format.bye_is_win if isinstance(chosen, Stages) else chosen.bye_is_win


def draw_number(lot: str) -> int:
    """A number that depends on a lot alone."""
    return int.from_bytes(hashlib.sha256(lot.encode()).digest()[:6])


def seed_players(players: Mapping[str, AgentProfile], scheduling: SchedulingConfig, lot: str) -> tuple[str, ...]:
    """Order the players, the favourite first; `players` are in the order of registration."""
    match scheduling.seeding:
        case "lot":
            return tuple(sorted(players, key=lambda one: hashlib.sha256(f"{lot}/seed/{one}".encode()).digest()))
        case "rating":
            known = scheduling.ratings
            return tuple(sorted(players, key=lambda one: -known.get(players[one].display_name, float("-inf"))))
        case _:
            return tuple(players)


def lay_out_rounds(chosen: Format, tournament: TournamentRecord) -> Iterator[LeagueRound]:
    """Yield the rounds that can be paired now: all of a fixed format, else the next one. Raises LeagueFailed."""
    players = {entrant.player_id for entrant in tournament.entrants}
    while True:
        try:
            round_ = chosen.next_round(tournament)
        except Exception as error:
            raise LeagueFailed(
                f"the format {chosen.name!r} can't pair the next round: {quote(error, MAX_PHRASE)}"
            ) from error
        if round_ is None:
            return
        if problem := _find_problem(round_, tournament, players):
            raise LeagueFailed(f"the format {chosen.name!r} can't be played: {problem}")
        yield round_
        if not chosen.is_fixed:
            return
        tournament = replace(tournament, rounds=(*tournament.rounds, round_))


def _find_problem(round_: LeagueRound, tournament: TournamentRecord, players: AbstractSet[str]) -> str:
    """Say why a round that a format gave can't be played; a whole test of a format is `testing.format_contract`."""
    number = len(tournament.rounds) + 1
    if number > MAX_ROUNDS:
        return f"it goes on after {MAX_ROUNDS} rounds"
    seated = [player_id for pairing in round_.pairings for player_id in pairing.players]
    if not seated:
        return f"round {number} has no pairing"
    if strangers := set(seated) - players:
        return f"in round {number} it pairs {quote(min(strangers))}, who is no player"
    if len(set(seated)) < len(seated):
        twice = next(player_id for player_id in seated if seated.count(player_id) > 1)
        return f"in round {number} it pairs {twice} twice"
    return ""
