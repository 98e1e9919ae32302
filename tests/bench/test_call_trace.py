"""The trace of a registration and of a move: it sees both sides, and each function once."""

from pathlib import Path

from bench.call_trace import make_league, trace_move, trace_registration


async def test_a_registration_is_traced_on_both_sides(tmp_path: Path) -> None:
    trace = await trace_registration(make_league(tmp_path / "SHARED"))
    packages = {file.split("/")[0] for file, _ in trace.functions}
    assert packages >= {"players", "league", "protocol", "agent"}
    assert "referee" not in packages
    assert len(trace.functions) == len(set(trace.functions))


async def test_a_move_is_traced_from_one_question_to_the_next(tmp_path: Path) -> None:
    trace = await trace_move(make_league(tmp_path / "SHARED"))
    assert {file.split("/")[0] for file, _ in trace.functions} >= {"players", "referee", "games"}
    assert trace.package_changes > 0
