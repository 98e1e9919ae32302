"""Notices: what a manager tells players and referees, and whether it is taken."""

from collections.abc import Callable, Mapping
from typing import Any

from agent_league.conformance.bench import Bench, Exchange
from agent_league.conformance.probe import show
from agent_league.conformance.steps import Finding, Step, failed, passed, warned
from agent_league.protocol import v2
from agent_league.protocol.envelope import Message

RESULT = "notify_match_result"
ACKNOWLEDGED = 'any result, such as {"status": "ok"}'
SHUT_OUT = ("E011", "E012", "E016")
"""How an agent refuses everything that comes from somebody whom it doesn't trust."""


def notice(bench: Bench, model: type[Message], conversation_id: str, **fields: Any) -> dict[str, Any]:
    """A word of the manager's."""
    return model.write(
        **bench.envelope("league_manager", conversation_id), league_id=bench.league_id, **fields
    ).to_wire()


def standings_update(bench: Bench, *players: str) -> dict[str, Any]:
    rows = [
        {
            "rank": rank,
            "player_id": player,
            "display_name": f"Agent {player}",
            "played": 1,
            "wins": 2 - rank,
            "draws": 0,
            "losses": rank - 1,
            "points": 6 - 3 * rank,
        }
        for rank, player in enumerate(players, 1)
    ]
    return notice(bench, v2.LeagueStandingsUpdate, "conv-round-9-standings", round_id=9, standings=rows)


def round_completed(bench: Bench) -> dict[str, Any]:
    return notice(
        bench,
        v2.RoundCompleted,
        "conv-round-9-complete",
        round_id=9,
        matches_completed=1,
        matches_played=1,
        next_round_id=None,
        summary={"total_matches": 1, "wins": 1, "draws": 0, "technical_losses": 0},
    )


def league_completed(bench: Bench, champion: str) -> dict[str, Any]:
    return notice(
        bench,
        v2.LeagueCompleted,
        "conv-league-complete",
        total_rounds=9,
        total_matches=9,
        champion={"player_id": champion, "display_name": "Champion", "points": 3},
        final_standings=[{"rank": 1, "player_id": champion, "points": 3}],
    )


def notice_step(kind: str, method: str, write: Callable[[Any], Mapping[str, Any]]) -> Step[Any]:
    """A notice of the manager's is taken."""

    async def judge(bench: Bench) -> Finding:
        return judge_notice(await bench.learn(method, write(bench), None, bench.manager_bearer()), kind)

    hint = f'Serve the method `{method}` and return {{"status": "ok"}}.'
    return Step(f"{kind} is acknowledged", ACKNOWLEDGED, hint, judge)


def judge_notice(exchange: Exchange, kind: str) -> Finding:
    method = exchange.method
    if exchange.acknowledged:
        return passed(show(exchange.reply.body, 80) if exchange.reply.body else "no body")
    if exchange.unknown_method:
        hint = f'The agent doesn\'t know the method `{method}`; name it exactly so, and return {{"status": "ok"}}.'
        return failed(exchange.came, hint) if method == RESULT else warned(exchange.came, hint)
    if exchange.league_error is not None:
        return failed(exchange.came, why_refused(exchange), ends=exchange.league_code in SHUT_OUT)
    return failed(
        exchange.came,
        f"The handler of {kind} (`{method}`) breaks down: look for a field that you take for granted, such as "
        "drawn_number, which is null after a technical loss.",
    )


def why_refused(exchange: Exchange) -> str:
    if exchange.league_code in SHUT_OUT:
        return (
            "The agent answers only those for whom its manager vouches: start it with the checker as its manager "
            "(--manager http://localhost:8000/mcp, or --manager-port here), or, if it is a player, for practice."
        )
    return f"The agent refuses a good message with {exchange.league_code}: look at what it says in `message`."
