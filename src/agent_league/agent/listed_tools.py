"""What an agent says of its tools in `tools/list`: their names, and the arguments of those that take no others.

Pure; the list is fetched by `peer_client`, and by the check.
"""

from collections.abc import Mapping
from typing import Any

from agent_league.protocol.tolerance import CallForm, MessageFrame

ListedTools = Mapping[str, frozenset[str] | None]
"""Name of a tool -> its arguments if it takes no others; None if it takes any."""
CUT_DEVIATION = "called with the arguments that its tool takes, without the message's other fields"


def parse_listed_tools(body: Any) -> ListedTools:
    """Read the parsed answer to `tools/list`; empty if it is no such answer."""
    result = body.get("result") if isinstance(body, dict) else None
    tools = result.get("tools") if isinstance(result, dict) else None
    listed = tools if isinstance(tools, list) else []
    return {
        tool["name"]: _find_closed_arguments(tool.get("inputSchema"))
        for tool in listed
        if isinstance(tool, dict) and isinstance(tool.get("name"), str)
    }


def select_arguments(
    message: Mapping[str, Any], form: CallForm, method: str, tools: ListedTools | None
) -> Mapping[str, Any]:
    """The fields of a message that the tool of a form takes; the message itself unless the tool takes no others."""
    if not tools or form.frame is not MessageFrame.ARGUMENTS or form.argument:
        return message
    taken = tools.get(form.find_method_name(method))
    if taken is None or message.keys() <= taken:
        return message
    return {name: value for name, value in message.items() if name in taken}


def _find_closed_arguments(schema: Any) -> frozenset[str] | None:
    if not isinstance(schema, dict) or schema.get("additionalProperties") is not False:
        return None
    named = schema.get("properties")
    return frozenset(name for name in named if isinstance(name, str)) if isinstance(named, dict) else frozenset()
