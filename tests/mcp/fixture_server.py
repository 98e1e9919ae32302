"""The tools, resources and prompts that the official conformance suite asks for by name, as a server of the SDK.

Nothing of the league is in here: `fixture_agent` puts it behind our own endpoint.
"""

import asyncio
import warnings
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import mcp_types as types
from mcp.server import Server, ServerRequestContext
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, PromptsListChanged, ToolsListChanged
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError

Context = ServerRequestContext[Any, Any]
ToolAnswer = types.CallToolResult | types.InputRequiredResult
Schema = Mapping[str, Any]

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
SILENCE = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA="
PAUSE = 0.05
"""Seconds between two notices of a tool that is to be watched at work; the suite asks for them."""

NOTHING: Schema = {"type": "object", "properties": {}}
NAME_FORM: Schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


def strings(*names: str) -> Schema:
    return {"type": "object", "properties": {name: {"type": "string"} for name in names}, "required": list(names)}


def text(sentence: str) -> types.TextContent:
    return types.TextContent(text=sentence)


def said(sentence: str) -> types.CallToolResult:
    return types.CallToolResult(content=[text(sentence)])


def picture() -> types.ImageContent:
    return types.ImageContent(data=PIXEL, mime_type="image/png")


def enclosed(uri: str, words: str, mime_type: str = "text/plain") -> types.EmbeddedResource:
    return types.EmbeddedResource(resource=types.TextResourceContents(uri=uri, mime_type=mime_type, text=words))


async def simple_text(ctx: Context, params: types.CallToolRequestParams) -> ToolAnswer:
    return said("Plain words, as asked for.")


async def image_content(ctx: Context, params: types.CallToolRequestParams) -> ToolAnswer:
    return types.CallToolResult(content=[picture()])


async def audio_content(ctx: Context, params: types.CallToolRequestParams) -> ToolAnswer:
    return types.CallToolResult(content=[types.AudioContent(data=SILENCE, mime_type="audio/wav")])


async def embedded_resource(ctx: Context, params: types.CallToolRequestParams) -> ToolAnswer:
    return types.CallToolResult(content=[enclosed("test://embedded-resource", "A resource inside an answer.")])


async def multiple_content_types(ctx: Context, params: types.CallToolRequestParams) -> ToolAnswer:
    data = enclosed("test://mixed-content-resource", '{"kinds":3}', "application/json")
    return types.CallToolResult(content=[text("Three kinds:"), picture(), data])


async def error_handling(ctx: Context, params: types.CallToolRequestParams) -> ToolAnswer:
    return types.CallToolResult(content=[text("This tool always fails.")], is_error=True)


async def with_logging(ctx: Context, params: types.CallToolRequestParams) -> ToolAnswer:
    for sentence in ("begun", "at work", "done"):
        await log(ctx, sentence)
        await asyncio.sleep(PAUSE)
    return said("Logged three times.")


async def log(ctx: Context, sentence: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MCPDeprecationWarning)  # the older revision still has it
        await ctx.session.send_log_message("info", sentence, related_request_id=ctx.request_id)


async def with_progress(ctx: Context, params: types.CallToolRequestParams) -> ToolAnswer:
    for progress in (0, 50, 100):
        await ctx.session.report_progress(progress, 100)
        await asyncio.sleep(PAUSE)
    return said("Went from 0 to 100.")


async def sampling(ctx: Context, params: types.CallToolRequestParams) -> ToolAnswer:
    prompt = str((params.arguments or {})["prompt"])
    message = types.SamplingMessage(role="user", content=text(prompt))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MCPDeprecationWarning)
        answer = await ctx.session.create_message([message], max_tokens=100, related_request_id=ctx.request_id)
    return said(f"The model said: {answer.content}")


async def elicitation(ctx: Context, params: types.CallToolRequestParams) -> ToolAnswer:
    return await elicit(ctx, str((params.arguments or {})["message"]), strings("username", "email"))


async def elicit(ctx: Context, message: str, form: Schema) -> ToolAnswer:
    answer = await ctx.session.elicit_form(message, dict(form), ctx.request_id)
    return said(f"action={answer.action}, content={answer.content}")


DEFAULTS_FORM: Schema = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    },
}
OPTIONS = ["option1", "option2", "option3"]
TITLED = [{"const": f"value{number}", "title": f"Value {number}"} for number in (1, 2, 3)]
ENUMS_FORM: Schema = {
    "type": "object",
    "properties": {
        "untitledSingle": {"type": "string", "enum": OPTIONS},
        "titledSingle": {"type": "string", "oneOf": TITLED},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["One", "Two", "Three"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": OPTIONS}},
        "titledMulti": {"type": "array", "items": {"anyOf": TITLED}},
    },
}


async def elicitation_defaults(ctx: Context, params: types.CallToolRequestParams) -> ToolAnswer:
    return await elicit(ctx, "Check these values", DEFAULTS_FORM)


async def elicitation_enums(ctx: Context, params: types.CallToolRequestParams) -> ToolAnswer:
    return await elicit(ctx, "Choose", ENUMS_FORM)


async def reconnection(ctx: Context, params: types.CallToolRequestParams) -> ToolAnswer:
    if ctx.close_sse_stream:
        await ctx.close_sse_stream()
    await asyncio.sleep(2 * PAUSE)
    return said("Answered after the stream was closed.")


async def missing_capability(ctx: Context, params: types.CallToolRequestParams) -> ToolAnswer:
    if not ctx.session.check_client_capability(types.ClientCapabilities(sampling=types.SamplingCapability())):
        raise MCPError(
            types.MISSING_REQUIRED_CLIENT_CAPABILITY,
            "this tool needs a client that declares sampling",
            {"requiredCapabilities": {"sampling": {}}},
        )
    return said("The client declared sampling.")


# What 2026-07-28 has in place of calls from the server: the answer says what is missing, and the call comes again.
def ask_form(message: str, form: Schema) -> types.ElicitRequest:
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=message, requested_schema=dict(form)))


def ask_model(question: str) -> types.CreateMessageRequest:
    message = types.SamplingMessage(role="user", content=text(question))
    return types.CreateMessageRequest(params=types.CreateMessageRequestParams(messages=[message], max_tokens=100))


def missing(params: types.CallToolRequestParams | types.GetPromptRequestParams, *keys: str) -> bool:
    return not set(keys) <= set(params.input_responses or {})


def form_of(answers: types.InputResponses | None, key: str) -> Mapping[str, Any]:
    answer = (answers or {}).get(key)
    return (answer.content or {}) if isinstance(answer, types.ElicitResult) else {}


async def ask_name(ctx: Context, params: types.CallToolRequestParams) -> ToolAnswer:
    if missing(params, "user_name"):
        return types.InputRequiredResult(input_requests={"user_name": ask_form("Your name?", NAME_FORM)})
    return said(f"Hello, {form_of(params.input_responses, 'user_name').get('name')}!")


async def ask_capital(ctx: Context, params: types.CallToolRequestParams) -> ToolAnswer:
    if missing(params, "capital_question"):
        question = ask_model("What is the capital of France?")
        return types.InputRequiredResult(input_requests={"capital_question": question})
    return said(f"The model said: {(params.input_responses or {})['capital_question']}")


async def ask_roots(ctx: Context, params: types.CallToolRequestParams) -> ToolAnswer:
    if missing(params, "client_roots"):
        return types.InputRequiredResult(input_requests={"client_roots": types.ListRootsRequest()})
    return said(f"The roots: {(params.input_responses or {})['client_roots']}")


async def ask_with_state(ctx: Context, params: types.CallToolRequestParams) -> ToolAnswer:
    if missing(params, "confirm") or params.request_state != "asked":
        form = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
        return types.InputRequiredResult(
            input_requests={"confirm": ask_form("Please confirm", form)}, request_state="asked"
        )
    return said("state-ok")


async def ask_three_things(ctx: Context, params: types.CallToolRequestParams) -> ToolAnswer:
    if missing(params, "user_name", "greeting", "client_roots"):
        asked: types.InputRequests = {
            "user_name": ask_form("Your name?", NAME_FORM),
            "greeting": ask_model("A greeting, please"),
            "client_roots": types.ListRootsRequest(),
        }
        return types.InputRequiredResult(input_requests=asked, request_state="asked")
    return said("All three are here.")


async def ask_twice(ctx: Context, params: types.CallToolRequestParams) -> ToolAnswer:
    if params.request_state is None or (params.request_state == "first" and missing(params, "step1")):
        return types.InputRequiredResult(
            input_requests={"step1": ask_form("Your name?", NAME_FORM)}, request_state="first"
        )
    if params.request_state == "first" or missing(params, "step2"):
        return types.InputRequiredResult(
            input_requests={"step2": ask_form("Your colour?", strings("color"))}, request_state="second"
        )
    return said("Both rounds are done.")


async def ask_within_capabilities(ctx: Context, params: types.CallToolRequestParams) -> ToolAnswer:
    declared = ctx.session.client_capabilities
    asked: types.InputRequests = {}
    if declared and declared.sampling is not None:
        asked["model"] = ask_model("Anything")
    if declared and declared.elicitation is not None:
        asked["person"] = ask_form("Your name?", NAME_FORM)
    if asked and missing(params, *asked):
        return types.InputRequiredResult(input_requests=asked)
    return said("Nothing is missing.")


HEADER_TOOL: Schema = {
    "type": "object",
    "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
    "required": ["region"],
}
ADDRESS = {
    "$anchor": "addressDef",
    "type": "object",
    "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
}
EVERY_KEYWORD: Schema = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": ADDRESS},
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class FixtureTool:
    """What it does and what it takes."""

    call: Callable[[Context, types.CallToolRequestParams], Awaitable[ToolAnswer]]
    takes: Schema = field(default_factory=lambda: NOTHING)


TOOLS: Mapping[str, FixtureTool] = {
    "test_simple_text": FixtureTool(simple_text),
    "test_image_content": FixtureTool(image_content),
    "test_audio_content": FixtureTool(audio_content),
    "test_embedded_resource": FixtureTool(embedded_resource),
    "test_multiple_content_types": FixtureTool(multiple_content_types),
    "test_error_handling": FixtureTool(error_handling),
    "test_tool_with_logging": FixtureTool(with_logging),
    "test_logging_tool": FixtureTool(with_logging),
    "test_tool_with_progress": FixtureTool(with_progress),
    "test_sampling": FixtureTool(sampling, strings("prompt")),
    "test_elicitation": FixtureTool(elicitation, strings("message")),
    "test_elicitation_sep1034_defaults": FixtureTool(elicitation_defaults),
    "test_elicitation_sep1330_enums": FixtureTool(elicitation_enums),
    "test_reconnection": FixtureTool(reconnection),
    "test_missing_capability": FixtureTool(missing_capability),
    "test_streaming_elicitation": FixtureTool(ask_name),
    "test_input_required_result_elicitation": FixtureTool(ask_name),
    "test_input_required_result_sampling": FixtureTool(ask_capital),
    "test_input_required_result_list_roots": FixtureTool(ask_roots),
    "test_input_required_result_request_state": FixtureTool(ask_with_state),
    "test_input_required_result_tampered_state": FixtureTool(ask_with_state),
    "test_input_required_result_multiple_inputs": FixtureTool(ask_three_things),
    "test_input_required_result_multi_round": FixtureTool(ask_twice),
    "test_input_required_result_capabilities": FixtureTool(ask_within_capabilities),
    "test_custom_headers": FixtureTool(simple_text, HEADER_TOOL),
    "json_schema_2020_12_tool": FixtureTool(simple_text, EVERY_KEYWORD),
}

STATIC_TEXT, STATIC_PICTURE, WATCHED = "test://static-text", "test://static-binary", "test://watched-resource"
TEMPLATE = "test://template/{id}/data"

PROMPTS: Mapping[str, tuple[str, ...]] = {
    "test_simple_prompt": (),
    "test_prompt_with_arguments": ("arg1", "arg2"),
    "test_prompt_with_embedded_resource": ("resourceUri",),
    "test_prompt_with_image": (),
    "test_input_required_result_prompt": (),
}
"""Each with its arguments."""


async def list_resources(ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
    listed = {STATIC_TEXT: "text/plain", STATIC_PICTURE: "image/png", WATCHED: "text/plain"}
    return types.ListResourcesResult(
        resources=[
            types.Resource(uri=uri, name=uri.removeprefix("test://"), mime_type=kind) for uri, kind in listed.items()
        ]
    )


async def list_templates(
    ctx: Context, params: types.PaginatedRequestParams | None
) -> types.ListResourceTemplatesResult:
    template = types.ResourceTemplate(uri_template=TEMPLATE, name="template", mime_type="application/json")
    return types.ListResourceTemplatesResult(resource_templates=[template])


async def read_resource(ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    uri = str(params.uri)
    content: types.TextResourceContents | types.BlobResourceContents
    head, tail = TEMPLATE.split("{id}")
    if uri in {STATIC_TEXT, WATCHED}:
        content = types.TextResourceContents(uri=uri, mime_type="text/plain", text="The words of a resource.")
    elif uri == STATIC_PICTURE:
        content = types.BlobResourceContents(uri=uri, mime_type="image/png", blob=PIXEL)
    elif uri.startswith(head) and uri.endswith(tail):
        words = f'{{"id": "{uri.removeprefix(head).removesuffix(tail)}"}}'
        content = types.TextResourceContents(uri=uri, mime_type="application/json", text=words)
    else:
        raise MCPError(types.INVALID_PARAMS, f"no resource {uri}", {"uri": uri})
    return types.ReadResourceResult(contents=[content])


async def accept(ctx: Context, params: Any) -> types.EmptyResult:
    return types.EmptyResult()


async def list_prompts(ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
    return types.ListPromptsResult(
        prompts=[
            types.Prompt(
                name=name,
                description="A prompt for the conformance suite.",
                arguments=[types.PromptArgument(name=argument, required=True) for argument in arguments],
            )
            for name, arguments in PROMPTS.items()
        ]
    )


async def get_prompt(
    ctx: Context, params: types.GetPromptRequestParams
) -> types.GetPromptResult | types.InputRequiredResult:
    given = params.arguments or {}
    match params.name:
        case "test_simple_prompt":
            return prompt(text("A prompt without arguments."))
        case "test_prompt_with_arguments":
            return prompt(text(f"Two arguments: {given.get('arg1')} and {given.get('arg2')}."))
        case "test_prompt_with_embedded_resource":
            return prompt(enclosed(str(given.get("resourceUri")), "A resource inside a prompt."), text("Read that."))
        case "test_prompt_with_image":
            return prompt(picture(), text("Look at that."))
        case "test_input_required_result_prompt":
            if missing(params, "user_context"):
                asked = ask_form("In which context?", strings("context"))
                return types.InputRequiredResult(input_requests={"user_context": asked})
            return prompt(text(f"The context: {form_of(params.input_responses, 'user_context').get('context')}"))
        case _:
            raise MCPError(types.INVALID_PARAMS, f"no prompt {params.name}")


def prompt(*contents: types.ContentBlock) -> types.GetPromptResult:
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=content) for content in contents])


async def complete(ctx: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
    known = ("test", "testing", "tested")
    values = [word for word in known if word.startswith(params.argument.value)]
    return types.CompleteResult(completion=types.Completion(values=values, total=len(values), has_more=False))


def make_fixture_server() -> Server[Any]:
    """A server with all of it, and two tools that say that its lists have changed."""
    bus = InMemorySubscriptionBus()

    async def tools_changed(ctx: Context, params: types.CallToolRequestParams) -> ToolAnswer:
        await bus.publish(ToolsListChanged())
        return said("Told those who listen.")

    async def prompts_changed(ctx: Context, params: types.CallToolRequestParams) -> ToolAnswer:
        await bus.publish(PromptsListChanged())
        return said("Told those who listen.")

    tools = {
        **TOOLS,
        "test_trigger_tool_change": FixtureTool(tools_changed),
        "test_trigger_prompt_change": FixtureTool(prompts_changed),
    }
    listed = [
        types.Tool(name=name, description="A tool for the conformance suite.", input_schema=dict(tool.takes))
        for name, tool in tools.items()
    ]

    async def list_tools(ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=listed)

    async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> ToolAnswer:
        if params.name not in tools:
            raise MCPError(types.INVALID_PARAMS, f"no tool {params.name}")
        return await tools[params.name].call(ctx, params)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MCPDeprecationWarning)  # the older revision's suite asks for logging
        server: Server[Any] = Server(
            "fixture-agent",
            version="1.0.0",
            on_list_tools=list_tools,
            on_call_tool=call_tool,
            on_list_resources=list_resources,
            on_list_resource_templates=list_templates,
            on_read_resource=read_resource,
            on_subscribe_resource=accept,
            on_unsubscribe_resource=accept,
            on_subscriptions_listen=ListenHandler(bus),
            on_list_prompts=list_prompts,
            on_get_prompt=get_prompt,
            on_completion=complete,
            on_set_logging_level=accept,
        )
    server.middleware.append(RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience=server.name))
    return server
