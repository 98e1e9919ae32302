"""An A2A agent that plays any game: it takes the first legal move. It knows A2A's SDK, and nothing of this package.

python a2a_agent.py 9001
league invite-a2a http://localhost:9001 --manager http://localhost:8000
"""

import sys

import uvicorn
from a2a.helpers import get_data_parts, new_data_part, new_task_from_user_message
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill
from starlette.applications import Starlette


class FirstLegalMove(AgentExecutor):
    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        task = context.current_task
        if task is None and context.message:
            task = new_task_from_user_message(context.message)
            await event_queue.enqueue_event(task)
        if task is None:
            return
        talk = TaskUpdater(event_queue, task.id, task.context_id)
        asked = get_data_parts(context.message.parts if context.message else [])[0]
        if asked["kind"] == "match_over":
            await talk.complete()
        else:
            move = asked["legal_moves"][0]
            await talk.requires_input(talk.new_agent_message([new_data_part({"move": move})]))

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        await TaskUpdater(event_queue, context.task_id or "", context.context_id or "").cancel()


def main(port: int) -> None:
    card = AgentCard(
        name="First Move",
        description="Plays the first legal move of any game.",
        version="1.0.0",
        supported_interfaces=[
            AgentInterface(url=f"http://localhost:{port}/", protocol_binding="JSONRPC", protocol_version="1.0")
        ],
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["application/json", "text/plain"],
        default_output_modes=["application/json"],
        skills=[AgentSkill(id="play", name="Play", description="Answers with a legal move.", tags=["games"])],
    )
    handler = DefaultRequestHandler(FirstLegalMove(), InMemoryTaskStore(), card)
    routes = [*create_agent_card_routes(card), *create_jsonrpc_routes(handler, "/")]
    uvicorn.run(Starlette(routes=routes), host="127.0.0.1", port=port, log_level="warning")


if __name__ == "__main__":
    main(int(sys.argv[1]))
