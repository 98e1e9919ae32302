"""Carries an agent on this machine to a league, by plain HTTP alone: dial_out.py MANAGER_URL AGENT_URL"""

import json
import sys
import time
from typing import Any
from urllib.request import Request, urlopen

manager, agent, secret = sys.argv[1].removesuffix("/mcp"), sys.argv[2], ""


def post(url: str, body: str, authorization: str = "", seconds: float = 60) -> str:
    headers = {"Content-Type": "application/json", "Authorization": authorization}
    with urlopen(Request(url, body.encode(), headers), timeout=seconds) as answer:  # noqa: S310
        return str(answer.read(), "utf-8")


def dial(step: str, **content: Any) -> dict[str, Any]:
    return json.loads(post(f"{manager}/dial/{step}", json.dumps(content), f"Bearer {secret}"))  # type: ignore[no-any-return]


def carry(call: dict[str, Any]) -> None:
    try:
        answer = {"body": post(agent, call["body"], call.get("authorization", ""), call["limit_sec"])}
    except OSError:
        answer = {"failure": "unreachable"}
    dial("answer", call=call["call"], **answer)


while True:
    try:
        secret = dial("open", forwards=agent)["secret"]
        while True:
            if (call := dial("next"))["type"] == "call":
                carry(call)
    except OSError as error:
        sys.stderr.write(f"{error}; dialling again\n")
        time.sleep(1)
