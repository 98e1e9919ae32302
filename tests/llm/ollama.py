"""A server at Ollama's port that speaks OpenAI's chat form and plays the first move that it is offered."""

import json
import re

from aiohttp import web


async def answer(request: web.Request) -> web.Response:
    asked = await request.json()
    said = "\n".join(str(message.get("content")) for message in asked["messages"])
    offered = re.search(r"legal moves?[^\d]*(\d+)", said, re.IGNORECASE)
    content = json.dumps({"move": int(offered[1]) if offered else 0, "reasoning": "It is the first that I may play."})
    message = {"role": "assistant", "content": content}
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    return web.json_response(
        {
            "id": "1",
            "object": "chat.completion",
            "created": 1,
            "model": asked["model"],
            "choices": [choice],
            "usage": usage,
        }
    )


async def list_models(request: web.Request) -> web.Response:
    return web.json_response({"object": "list", "data": [{"id": "qwen3:8b", "object": "model"}]})


if __name__ == "__main__":
    app = web.Application()
    app.router.add_post("/v1/chat/completions", answer)
    app.router.add_get("/v1/models", list_models)
    web.run_app(app, host="localhost", port=11434, print=None)
