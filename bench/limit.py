"""The limit: the product's own HTTP client and server, and a handler that does nothing. No league can be faster."""

from agent_league.agent.app import AgentApp
from agent_league.http.client import HttpCarrier
from agent_league.http.server import HttpServer
from bench.drill import answer_to

HOST = "127.0.0.1"
BOUND = 60


class Limit:
    """A client and servers of the product. Make it inside a running event loop."""

    def __init__(self) -> None:
        self._carrier = HttpCarrier()
        self._servers: list[HttpServer] = []

    async def serve(self, port: int) -> None:
        server = HttpServer(AgentApp(_answer, dict), HOST, port, "the bench")
        self._servers.append(server)
        await server.start()

    async def call(self, port: int, body: bytes, bearer: str) -> bytes:
        _, answer = await self._carrier.exchange(f"http://localhost:{port}/mcp", body, BOUND, bearer or None)
        return answer

    async def close(self) -> None:
        await self._carrier.close()
        for server in self._servers:
            await server.stop()


async def _answer(body: bytes, _: str | None) -> bytes:
    return answer_to(body)
