"""A referee in the letter of the protocol, written with plain dictionaries: it plays nothing, reports what it is told,
and counts how many matches it runs at the same time."""

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any

from agent_league.http.carrier import Carrier
from agent_league.testing.peers import Params, Script, ScriptedAgent, utc_timestamp

Verdict = Callable[[Mapping[str, Any]], dict[str, Any]]
"""From START_MATCH to the `result` of the report."""

YIELDS = 40
"""Turns of the loop that a match takes: enough for a manager that gives too many to be caught at it."""


def first_wins(order: Mapping[str, Any]) -> dict[str, Any]:
    """Player A wins."""
    a, b = order["player_A_id"], order["player_B_id"]
    return {"winner": a, "score": {a: 3, b: 0}, "status": "WIN", "details": {}}


def won_by_lowest(order: Mapping[str, Any]) -> dict[str, Any]:
    """The player with the lower id wins."""
    winner, loser = sorted((order["player_A_id"], order["player_B_id"]))
    return {"winner": winner, "score": {winner: 3, loser: 0}, "details": {}}


class ScriptedReferee(ScriptedAgent):
    """`scripts` replaces what single methods do; `auto_report` False: the test reports by itself."""

    def __init__(
        self,
        name: str,
        endpoint: str,
        *,
        capacity: int = 2,
        verdict: Verdict = first_wins,
        auto_report: bool = True,
        scripts: Mapping[str, Script] | None = None,
    ) -> None:
        super().__init__(endpoint, {"start_match": self.take, **(scripts or {})})
        self.name = name
        self.referee_id = name
        self.token: str | None = None
        self.running = self.peak = 0
        self._capacity = capacity
        self._verdict = verdict
        self._auto_report = auto_report
        self._reports: set[asyncio.Task[Any]] = set()
        self._manager: Callable[[bytes], Any] | None = None

    @property
    def orders(self) -> list[dict[str, Any]]:
        return self.received_params("start_match")

    async def register(self, carrier: Carrier, manager: str, **meta: Any) -> dict[str, Any]:
        async def to_manager(body: bytes) -> dict[str, Any]:
            _, reply = await carrier.exchange(manager, body, 10)
            result: dict[str, Any] = json.loads(reply)["result"]
            return result

        self._manager = to_manager
        answer = await self.call(
            "register_referee",
            message_type="REFEREE_REGISTER_REQUEST",
            referee_meta={
                "display_name": self.name,
                "version": "1.0.0",
                "game_types": ["even_odd"],
                "contact_endpoint": self.endpoint,
                "max_concurrent_matches": self._capacity,
                "match_tokens": True,
                **meta,
            },
        )
        if answer.get("status") == "ACCEPTED":
            self.referee_id, self.token = answer["referee_id"], answer["auth_token"]
        return answer

    async def call(self, method: str, **fields: Any) -> dict[str, Any]:
        """Calls the manager as this referee."""
        params = {
            "protocol": "league.v2",
            "sender": f"referee:{self.referee_id}",
            "timestamp": utc_timestamp(),
            "conversation_id": f"conv-{self.name}-{method}",
            **({"auth_token": self.token} if self.token else {}),
            **fields,
        }
        assert self._manager is not None, "register first"
        frame = {"jsonrpc": "2.0", "method": method, "params": params, "id": 1}
        answer: dict[str, Any] = await self._manager(json.dumps(frame).encode())
        return answer

    async def report(self, match_id: str, result: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
        """Reports a match and returns the manager's answer."""
        report = {"message_type": "MATCH_RESULT_REPORT", "match_id": match_id, "result": dict(result), **fields}
        return await self.call("report_match_result", **report)

    async def close(self) -> None:
        for report in self._reports:
            report.cancel()
        await asyncio.gather(*self._reports, return_exceptions=True)

    async def take(self, order: Params) -> dict[str, Any]:
        """What it does with START_MATCH unless a script says otherwise."""
        self.running += 1
        self.peak = max(self.peak, self.running)
        if self._auto_report:
            self._reports.add(asyncio.create_task(self._play(order)))
        return {"status": "ok"}

    async def _play(self, order: Mapping[str, Any]) -> None:
        for _ in range(YIELDS):
            await asyncio.sleep(0)
        self.running -= 1
        await self.report(order["match_id"], self._verdict(order))


def refusing(code: str, name: str, **more: Any) -> Script:
    """Answers with a LEAGUE_ERROR, whatever is asked."""

    async def script(params: Params) -> dict[str, Any]:
        return {
            "protocol": "league.v2",
            "message_type": "LEAGUE_ERROR",
            "sender": "referee:REF01",
            "timestamp": utc_timestamp(),
            "conversation_id": params.get("conversation_id"),
            "error_code": code,
            "error_description": name,
            **more,
        }

    return script
