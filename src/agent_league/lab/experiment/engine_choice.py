"""Which engine `--on` means. Imports an engine's libraries only where it is chosen."""

from collections.abc import Sequence

from agent_league.errors import UserError
from agent_league.lab.experiment.contestants import PlayerKind, PlayerSpec
from agent_league.lab.experiment.engines import Engine, ProcessEngine
from agent_league.lab.experiment.ray_cluster import Remark, import_ray
from agent_league.text import quote

PROCESSES, RAY = "processes", "ray"
ON_FORM = "processes, ray or ray=ADDRESS"


def choose_engine(
    on: str = PROCESSES, jobs: int = 1, players: Sequence[PlayerSpec] = (), remark: Remark = lambda _: None
) -> Engine:
    """Make the engine of `--on`; raises UserError. On Ray, the files of these players are sent to the workers."""
    place, address = parse_place(on)
    costs_money = any(player.kind is PlayerKind.MODEL for player in players)
    if place == PROCESSES:
        return ProcessEngine(jobs, 1) if costs_money else ProcessEngine(jobs)
    from agent_league.lab.experiment.ray_engine import RayEngine  # noqa: PLC0415 - only where it is chosen

    import_ray()
    return RayEngine(address, players, remark, is_eager=not costs_money)


def parse_place(on: str) -> tuple[str, str | None]:
    """Return what `--on` names, PROCESSES or RAY, and the address beside it; raises UserError."""
    name, equals, address = on.partition("=")
    if on == PROCESSES:
        return PROCESSES, None
    if name != RAY or (equals and not address):
        raise UserError(f"--on: expected {ON_FORM}; found {quote(on)}")
    return RAY, address or None
