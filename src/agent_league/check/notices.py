"""Write the manager's notices to players and referees, and judge whether they are acknowledged."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from agent_league.check.frames import no_json
from agent_league.check.http_probe import NO_CONNECTION, show
from agent_league.check.steps import (
    AnyStep,
    Finding,
    NoReply,
    Step,
    failed,
    passed,
    tolerate,
    tolerate_all,
    warned,
)
from agent_league.check.subject import Bench, Exchange
from agent_league.model.agents import Role
from agent_league.protocol import v2
from agent_league.protocol.envelope import Message

RESULT = "notify_match_result"
UNCOUNTED = (RESULT, "notify_game_error")
"""A referee's notices: a league needs no answer to them, but counts missing answers to those of the manager."""
ACKNOWLEDGED = 'any result, such as {"status": "ok"}'
SHUT_OUT = ("E008", "E011", "E012", "E016")
"""Error codes with which an agent refuses all calls of a sender it doesn't trust."""


def notice(bench: Bench, model: type[Message], conversation_id: str, **fields: Any) -> dict[str, Any]:
    """Write a notice of the manager."""
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


def notice_step(kind: str, method: str, write: Callable[[Any], Mapping[str, Any]]) -> AnyStep:
    """Build the step on whether a notice of the manager is acknowledged."""

    async def judge(bench: Bench) -> Finding:
        return await tell(bench, kind, method, write(bench), bench.manager_bearer())

    hint = f'Serve the method `{method}` and return {{"status": "ok"}}.'
    return Step(f"{kind} is acknowledged", ACKNOWLEDGED, hint, judge)


async def tell(bench: Bench, kind: str, method: str, message: Mapping[str, Any], bearer: str) -> Finding:
    """Send a notice and judge whether it is acknowledged."""

    async def judge(bench: Bench) -> Finding:
        with handler_of(method):
            exchange = await bench.learn(method, message, None, bearer)
        return _judge(bench, exchange, kind)

    return await (tolerate_all(judge) if method in UNCOUNTED and bench.registration else judge)(bench)


@contextmanager
def handler_of(method: str) -> Iterator[None]:
    """Add a hint to NoReply errors: if the connection closed after the call arrived, the agent's handler failed."""
    try:
        yield
    except NoReply as error:
        if not error.silent and not error.sentence.startswith(NO_CONNECTION):
            error.hint = f"Your handler of `{method}` broke off: look at your own console for the error."
        raise


def _judge(bench: Bench, exchange: Exchange, kind: str) -> Finding:
    method = exchange.method
    if exchange.acknowledged:
        return passed(show(exchange.reply.body, 80) if exchange.reply.body else "no body")
    if exchange.unknown_method:
        hint = (
            f"{exchange.own_words}The agent doesn't know the method `{method}`; name it exactly so, and return "
            '{"status": "ok"}.'
        )
        return tolerate(warned(exchange.came, hint))
    if exchange.league_error is not None:
        refused = failed(exchange.came, why_refused(bench, exchange), ends=exchange.league_code in SHUT_OUT)
        return refused if bench.registration is None else tolerate(refused)
    if method != RESULT and exchange.error and not exchange.broke_down:
        hint = f'Serve the method `{method}` and return {{"status": "ok"}}.'
        return tolerate(warned(exchange.came, f"{exchange.own_words}{hint}"))
    example = ", such as drawn_number, which is null after a technical loss" if method == RESULT else ""
    broke_down = (
        f"Your handler of {kind} (`{method}`) breaks down: look for a field that you take for granted{example}."
    )
    return tolerate(failed(exchange.came, no_json(exchange) or f"{exchange.own_words}{broke_down}"))


def join_hint(bench: Bench) -> str:
    """Write how to start the agent with the checker as its manager."""
    practice = " (a player of ours: or with --practice)" if bench.role is Role.PLAYER else ""
    if bench.manager is None:
        return (
            "free port 8000, or choose another one here with --manager-port; start the agent again with the checker "
            f"as its manager{practice}, then check again"
        )
    return f"start the agent again with --manager {bench.manager.endpoint}{practice}, then check again"


def why_refused(bench: Bench, exchange: Exchange) -> str:
    if exchange.league_code in SHUT_OUT:
        return f"{exchange.own_words}The agent answers only those for whom its manager vouches: {join_hint(bench)}."
    return f"{exchange.own_words}The agent refuses a good message with {exchange.league_code}."
