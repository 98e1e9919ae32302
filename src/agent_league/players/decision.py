"""Decision: the strategy, and what becomes of a strategy that fails."""

import asyncio
import inspect

from agent_league.log import JsonLogger
from agent_league.players.observation import Move, Observation, Strategy

KEPT_DECISIONS = 1000


class Decision:
    """Chooses moves; one question is answered once, however often it is asked.

    A strategy may be a coroutine. A plain function runs in a thread, so that one that takes its time holds up no other
    match, unless the strategy says that it is `instant`.
    """

    def __init__(self, strategy: Strategy, log: JsonLogger) -> None:
        self._strategy = strategy
        self._log = log
        self._decided: dict[tuple[str, int], asyncio.Future[Move]] = {}

    async def decide(self, observation: Observation) -> Move:
        question = (observation.match_id, observation.step)
        decided = self._decided.get(question)
        if decided is None:
            decided = self._decided[question] = asyncio.get_running_loop().create_future()
            decided.set_result(await self._choose(observation))
            if len(self._decided) > KEPT_DECISIONS:
                del self._decided[next(iter(self._decided))]
        return await decided

    def forget(self, match_id: str) -> None:
        """Drops a finished match."""
        for question in [question for question in self._decided if question[0] == match_id]:
            del self._decided[question]

    async def _choose(self, observation: Observation) -> Move:
        """A strategy that raises or cheats costs its player nothing but the choice."""
        try:
            move = await self._ask(observation)
        except Exception as error:  # noqa: BLE001 - somebody's first strategy must not end the player
            self._log.error("strategy_failed", match_id=observation.match_id, error=repr(error))
        else:
            if move in observation.legal_moves:
                self._log.debug("decided", match_id=observation.match_id, move=move)
                return move
            self._log.error("strategy_chose_illegal_move", match_id=observation.match_id, move=repr(move)[:80])
        return observation.random.choice(observation.legal_moves)

    async def _ask(self, observation: Observation) -> Move:
        if getattr(self._strategy, "instant", False):
            return self._strategy.choose(observation)
        if inspect.iscoroutinefunction(self._strategy.choose):
            return await self._strategy.choose(observation)
        return await asyncio.to_thread(self._strategy.choose, observation)
