"""Scenarios: all faults of a simulated league, decided in advance by its seed.

Pure data. Each seed enables only some kinds of faults, because a world in which everything fails at once hides what a
single failure does.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random
from typing import Any

HOUR = 3600.0
FOREVER = float("inf")
"""Duration for an agent that never comes back; the manager and the last referee always do."""


class FaultKind(StrEnum):
    """The kinds of faults."""

    LOST = "lost"
    """Requests or replies are lost; the caller times out."""
    DELAYED = "delayed"
    """Frames arrive late, out of order, some after the caller has timed out."""
    DOUBLED = "doubled"
    """Frames arrive twice."""
    BROKEN = "broken"
    """Connections are reset before the request or before the answer has arrived."""
    PARTITIONS = "partitions"
    """An agent is cut off from all others for a while."""
    CRASHES = "crashes"
    """An agent is killed and restarted after a while, or a second manager is started beside the first."""
    STORE = "store"
    """The manager's store refuses to write for a while."""
    DISK = "disk"
    """An agent's disk is full for a while."""
    CLOCKS = "clocks"
    """Clocks are wrong by up to hours, and jump."""
    PAUSES = "pauses"
    """The organiser pauses the league for a while."""
    CORRECTIONS = "corrections"
    """The organiser has matches played again, makes them void or awards them, in the middle and after the end."""
    SILENCE = "silence"
    """A referee accepts matches but none of its reports is sent, either ever or until faults end."""


class IncidentKind(StrEnum):
    """What an incident does to its agent."""

    KILL = "kill"
    """The process ends; callers see a connection reset."""
    VANISH = "vanish"
    """The machine is gone; callers time out."""
    SECOND_MANAGER = "usurp"
    """A second manager takes over while the first one still runs."""
    CUT_OFF = "cut off"
    FILL_DISK = "fill disk"
    FAIL_STORE = "fail store"
    TURN_CLOCK = "turn clock"
    PAUSE = "pause"
    CORRECT = "correct"
    """The organiser corrects a result."""


@dataclass(frozen=True, slots=True)
class Incident:
    """A fault of one agent at the n-th step of the simulated world."""

    step: int
    kind: IncidentKind
    agent_name: str | None
    """None: the agent that acts in that step."""
    seconds: float
    """Duration, possibly FOREVER; for TURN_CLOCK the size of the jump."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """The size of a simulated league and all faults in it."""

    seed: int
    players: int
    referees: int
    matches_per_round: int | None
    concurrent_matches: int
    latency: float
    """Average seconds a frame takes."""
    fault_rates: dict[FaultKind, float] = field(default_factory=dict)
    """Probability of each fault per frame."""
    longest_delay: float = 0
    incidents: tuple[Incident, ...] = ()
    clock_skews: dict[str, float] = field(default_factory=dict)
    healing_at: float = 0
    """Virtual second from which on no more faults occur."""
    overlap_rounds: bool = False
    silent_referees: tuple[str, ...] = ()
    """Referees whose reports are not sent."""
    is_silence_permanent: bool = False
    """Whether referees stay silent after all other faults have ended."""
    format: str = "round_robin"
    play_off: bool = False
    late_corrections: int = 0
    """Corrections after the end of the league."""
    has_times: bool = False
    """Whether rounds are played every two minutes, with quiet minutes between and a freeze before the final."""
    repeat: int = 1
    """How many games a match has."""
    forgetful_players: tuple[str, ...] = ()
    """Players that don't say that they keep the games of a match, and are shown all of them with every question."""

    @property
    def agent_names(self) -> tuple[str, ...]:
        return list_agent_names(self.players, self.referees)

    @property
    def seconds_turned_back(self) -> float:
        """By how much clocks are turned back, all in all; so much longer a round may wait for its time."""
        turns = (one.seconds for one in self.incidents if one.kind is IncidentKind.TURN_CLOCK)
        return sum(-seconds for seconds in turns if seconds < 0)


MANAGER_NAME = "manager"
FORMATS = ("round_robin", "round_robin", "swiss", "knockout", "double_elimination", "groups", "gauntlet", "stages")
"""The formats that scenarios play in turn."""
FRAME_FAULTS = (FaultKind.LOST, FaultKind.DELAYED, FaultKind.DOUBLED, FaultKind.BROKEN)
DRAWN_APART = (FaultKind.PAUSES, FaultKind.SILENCE, FaultKind.CORRECTIONS)
"""Drawn with generators of their own, so that they don't change the rest of a seed's scenario."""
STEPS_PER_CALL = 4
REPEATED_SHARE = 0.2
"""How many leagues play several games a match."""
FORGETFUL_SHARE = 0.3
MOST_SILENT_PLAYERS = 4
"""In other leagues referees are silent only until faults end, because every match of a silent referee takes long."""


def list_agent_names(players: int, referees: int) -> tuple[str, ...]:
    return (
        MANAGER_NAME,
        *(f"REF{number:02}" for number in range(1, referees + 1)),
        *(f"P{number:02}" for number in range(1, players + 1)),
    )


def make_scenario(
    seed: int,
    players: int | None = None,
    referees: int | None = None,
    faults: Collection[FaultKind] = tuple(FaultKind),
    formats: Sequence[str] = FORMATS,
) -> Scenario:
    """Draw the scenario of a seed; only `faults` may occur in it. Seeds play the `formats` in turn."""
    rng = Random(f"scenario {seed}")  # noqa: S311 - a simulation
    format_name = formats[seed % len(formats)]
    players = players or rng.choice((2, 3, 4, 4, 5, 6, 8))
    referees = referees or rng.choice((1, 2, 2, 3))
    drawn = (fault for fault in FaultKind if fault not in DRAWN_APART)
    active = [fault for fault in drawn if rng.random() < 0.5 and fault in faults]
    names = list_agent_names(players, referees)
    steps = STEPS_PER_CALL * (players * (players - 1) * 6 + (players + referees) * players * 3)
    incidents = [incident for fault in active for incident in _draw_incidents(fault, names, steps, rng)]
    if FaultKind.PAUSES in faults:
        incidents += _draw_pauses(seed, steps)
    corrections, late_corrections = _draw_corrections(seed, steps) if FaultKind.CORRECTIONS in faults else ([], 0)
    incidents += corrections
    return Scenario(
        seed=seed,
        players=players,
        referees=referees,
        matches_per_round=rng.choice((None, None, 1, 2)),
        concurrent_matches=rng.choice((1, 2, 4)),
        latency=rng.choice((0.001, 0.01, 0.1, 0.5)),
        fault_rates={fault: 10 ** rng.uniform(-3, -0.7) for fault in FRAME_FAULTS if fault in active},
        longest_delay=rng.choice((1, 6, 12, 40)),
        incidents=tuple(sorted(incidents, key=lambda incident: incident.step)),
        clock_skews={name: _draw_skew(rng) for name in names} if FaultKind.CLOCKS in active else {},
        healing_at=10 ** rng.uniform(0.5, 2.8),
        overlap_rounds=rng.random() < 0.5,
        silent_referees=_draw_silent_referees(seed, names) if FaultKind.SILENCE in faults else (),
        is_silence_permanent=players <= MOST_SILENT_PLAYERS and format_name == "round_robin",
        format=format_name,
        play_off=seed % 3 == 0,
        late_corrections=late_corrections,
        has_times=seed % 7 == 5 and format_name != "ladder",
        **_draw_repetition(seed, names),
    )


def _draw_incidents(fault: FaultKind, names: tuple[str, ...], steps: int, rng: Random) -> list[Incident]:
    match fault:
        case FaultKind.CRASHES:
            return [
                Incident(
                    step=_draw_step(steps, rng),
                    kind=rng.choice((IncidentKind.KILL, IncidentKind.KILL, IncidentKind.VANISH)),
                    agent_name=rng.choice((None, None, MANAGER_NAME, *names)),
                    seconds=FOREVER if rng.random() < 0.1 else 10 ** rng.uniform(-2, 1.8),
                )
                for _ in range(rng.randint(1, 10))
            ] + [
                Incident(_draw_step(steps, rng), IncidentKind.SECOND_MANAGER, MANAGER_NAME, 0)
                for _ in range(rng.choice((0, 0, 0, 1)))
            ]
        case FaultKind.PARTITIONS:
            return [
                Incident(_draw_step(steps, rng), IncidentKind.CUT_OFF, rng.choice(names), 10 ** rng.uniform(-1, 1.8))
                for _ in range(rng.randint(1, 3))
            ]
        case FaultKind.STORE:
            return [
                Incident(_draw_step(steps, rng), IncidentKind.FAIL_STORE, MANAGER_NAME, 10 ** rng.uniform(-2, 1.5))
                for _ in range(rng.randint(1, 3))
            ]
        case FaultKind.DISK:
            return [
                Incident(_draw_step(steps, rng), IncidentKind.FILL_DISK, rng.choice(names), 10 ** rng.uniform(-1, 2))
                for _ in range(rng.randint(1, 3))
            ]
        case FaultKind.CLOCKS:
            return [
                Incident(_draw_step(steps, rng), IncidentKind.TURN_CLOCK, rng.choice(names), _draw_skew(rng))
                for _ in range(rng.randint(0, 2))
            ]
        case _:
            return []


def _draw_pauses(seed: int, steps: int) -> list[Incident]:
    """Draw pauses with a separate generator, so that they don't change the rest of a seed's scenario."""
    rng = Random(f"pauses {seed}")  # noqa: S311 - a simulation
    return [
        Incident(_draw_step(steps, rng), IncidentKind.PAUSE, MANAGER_NAME, 10 ** rng.uniform(-1, 2))
        for _ in range(rng.choice((0, 0, 1, 3)))
    ]


def _draw_corrections(seed: int, steps: int) -> tuple[list[Incident], int]:
    """Draw corrections during the league, and how many follow its end."""
    rng = Random(f"corrections {seed}")  # noqa: S311 - a simulation
    during = [
        Incident(_draw_step(steps, rng), IncidentKind.CORRECT, MANAGER_NAME, 0)
        for _ in range(rng.choice((0, 0, 1, 3, 6)))
    ]
    return during, rng.choice((0, 0, 1, 2))


def _draw_silent_referees(seed: int, names: tuple[str, ...]) -> tuple[str, ...]:
    """Draw silent referees with a separate generator, as for pauses."""
    rng = Random(f"silence {seed}")  # noqa: S311 - a simulation
    referees = [name for name in names if name.startswith("REF")]
    return tuple(rng.sample(referees, rng.randint(1, len(referees)))) if rng.random() < 0.4 else ()


def _draw_repetition(seed: int, names: tuple[str, ...]) -> dict[str, Any]:
    """Draw how often a game is repeated and who forgets it, with a separate generator, as for pauses."""
    rng = Random(f"repetition {seed}")  # noqa: S311 - a simulation
    if rng.random() >= REPEATED_SHARE:
        return {}
    forgetful = tuple(name for name in names if name.startswith("P") and rng.random() < FORGETFUL_SHARE)
    return {"repeat": rng.choice((3, 5, 8)), "forgetful_players": forgetful}


def _draw_step(steps: int, rng: Random) -> int:
    """Draw a step, early ones as often as late ones: registrations take few steps and break easily."""
    return int(rng.choice((rng.uniform(1, steps), 10 ** rng.uniform(0, 2))))


def _draw_skew(rng: Random) -> float:
    return rng.choice((-1, 1)) * rng.choice((0.0, 1.0, HOUR, 5 * HOUR)) * rng.random()
