"""The pages of the reference, made from the code: commands, settings, messages, schemas, errors, strategies, Python.

    python -m tools.reference

writes them to `docs/reference`; a test fails where they differ from what this would write.
"""

import ast
import inspect
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from textwrap import dedent
from typing import Any, Literal, TypeGuard, get_args, get_origin

from pydantic.fields import FieldInfo

from agent_league.cli.app import COMMANDS, load_command
from agent_league.config.base import ConfigModel
from agent_league.config.models import LeagueConfig, SystemConfig, TimeoutConfig
from agent_league.errors import ErrorCode, JsonRpcErrorCode
from agent_league.players.strategies import strategy_description, strategy_games, strategy_names
from agent_league.protocol import v1, v2
from agent_league.protocol.methods import METHODS
from agent_league.protocol.v2.errors import ERROR_MEANINGS
from agent_league.web.protocol.messages import describe_message

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "reference"
GOLDEN = ROOT / "tests" / "golden" / "league.v2"
NOT_SETTINGS = {"schema_version", "system_id", "protocol_version", "league_id", "display_name", "status", "created_at"}
"""Fields that name a file or describe it, and change nothing."""
PYTHON_NAMES: Mapping[str, tuple[str, ...]] = {
    "agent_league": ("play", "Observation", "GameRecord", "Strategy"),
    "agent_league.games.registry": ("Game",),
    "agent_league.games.base": ("Rules",),
    "agent_league.testing.game_contract": ("check_game",),
    "agent_league.testing.strategy_contract": ("check_strategy_contract",),
    "agent_league.testing.format_contract": ("check_format",),
    "agent_league.testing.ladder_contract": ("check_ladder",),
}
"""The names for people who write players, games, formats and ladders."""


def write_pages() -> dict[str, str]:
    """Make all pages: file name -> text."""
    makers: Mapping[str, Callable[[], Iterator[str]]] = {
        "commands.md": _write_commands,
        "settings.md": _write_settings,
        "messages.md": _write_messages,
        "schemas.md": _write_schemas,
        "errors.md": _write_errors,
        "strategies.md": _write_strategies,
        "python.md": _write_python,
    }
    return {name: "\n".join(make()).rstrip() + "\n" for name, make in makers.items()}


def _write_commands() -> Iterator[str]:
    yield "# Commands\n"
    yield "`league` is `./league` in a checkout. What they have in common (exit codes, folders, addresses) is in the"
    yield "[overview](../reference.md)."
    for heading, names in COMMANDS.items():
        yield f"\n## {heading}\n"
        yield from (f"- [`league {name}`](#league-{name}): {summary}" for name, summary in names.items())
        for name in names:
            yield from _describe_command(f"league {name}", load_command(name))


def _describe_command(path: str, command: Any) -> Iterator[str]:
    yield f"\n### {path}\n"
    usage = [*(_metavar(one) for one in command.params if one.param_type_name == "argument")]
    yield f"```text\n{' '.join([path, *usage, '[OPTIONS]'])}\n```\n"
    yield _link_pages(_escape_outside_code(inspect.cleandoc(command.help or "")))
    rows = [one for one in command.params if not getattr(one, "hidden", False) and one.name != "help"]
    if rows:
        yield "\n| | default | |"
        yield "|---|---|---|"
        yield from (_describe_parameter(one) for one in rows)
    for name in getattr(command, "commands", {}):
        whole = f"{path} {name}"
        yield from _describe_command(whole, load_command(whole.removeprefix("league ")))


def _describe_parameter(one: Any) -> str:
    if one.param_type_name == "argument":
        shown = f"`{_metavar(one)}`"
    else:
        value = "" if one.is_flag or one.count else f" {_metavar(one)}"
        shown = " ".join(f"`{name}{value}`" for name in (*one.opts, *one.secondary_opts))
    default = one.default
    if callable(default) or default in (None, "", (), [], False) or one.required:
        told = ""
    else:
        told = f"`{', '.join(map(str, default)) if isinstance(default, (list, tuple)) else default}`"
    return f"| {_cell(shown)} | {_cell(told)} | {_cell(_link_pages(_escape_outside_code(one.help or '')))} |"


def _metavar(one: Any) -> str:
    if one.metavar:
        return str(one.metavar)
    return str(one.name.upper()) if one.param_type_name == "argument" else _name_type(one.type_descriptor.annotation)


def _name_type(annotation: object) -> str:
    return {int: "N", float: "NUMBER"}.get(annotation, "TEXT") if isinstance(annotation, type) else "TEXT"


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting of a configuration file: where it stands, what it may be, and what it means."""

    path: str
    kind: str
    default: str
    meaning: str


def list_settings(model: type[ConfigModel], prefix: str = "") -> Iterator[Setting]:
    """Walk a configuration model; a part that is null or a list by default is a setting, and so are those in it."""
    meanings = read_attribute_docstrings(model)
    for name, field in model.model_fields.items():
        if name in NOT_SETTINGS and not prefix:
            continue
        part = next((one for one in (field.annotation, *get_args(field.annotation)) if _is_part(one)), None)
        if part is None or not isinstance(field.default, ConfigModel):
            choices = _name_choices(field.annotation)
            yield Setting(f"{prefix}{name}", choices, _show_default(field), meanings.get(name, ""))
        if part is not None:
            within = "[]" if get_origin(field.annotation) is tuple else ""
            yield from list_settings(part, f"{prefix}{name}{within}.")


def _is_part(annotation: object) -> TypeGuard[type[ConfigModel]]:
    return isinstance(annotation, type) and issubclass(annotation, ConfigModel)


def _name_choices(annotation: object) -> str:
    options = [one for one in (annotation, *get_args(annotation)) if get_origin(one) is Literal]
    return ", ".join(f"`{value}`" for one in options for value in get_args(one))


def _show_default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    if isinstance(value, tuple) and all(isinstance(one, int) for one in value) and value:
        return f"`{value[0]}-{value[1]}`"
    return f"`{json.dumps(value)}`"


def read_attribute_docstrings(model: type) -> Mapping[str, str]:
    """Read the strings below the attributes of a class, as its source has them: name -> text in one line."""
    (body,) = ast.parse(dedent(inspect.getsource(model))).body
    assert isinstance(body, ast.ClassDef)
    found = {}
    for part, after in zip(body.body, body.body[1:], strict=False):
        is_text = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
        if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name) and is_text:
            found[part.target.id] = " ".join(str(after.value.value).split())  # type: ignore[attr-defined]
    return found


def _write_settings() -> Iterator[str]:
    files: Mapping[str, tuple[str, type[ConfigModel]]] = {
        "system.json": ("`SHARED/config/system.json`, for all leagues of a folder", SystemConfig),
        "A league": ("`SHARED/config/leagues/LEAGUE_ID.json`", LeagueConfig),
    }
    yield "# Settings\n"
    yield "Each can be set for one run with `--set PATH=VALUE`. A key that no file knows is an error, except those that"
    yield "begin with `x_`: these are yours. `null` is no value."
    for title, (place, model) in files.items():
        yield f"\n## {title}\n\nIn {place}.\n"
        yield "| path | default | meaning |\n|---|---|---|"
        for one in list_settings(model):
            meaning = _link_pages(one.meaning.replace("None:", "null:"))
            choices = f" One of {one.kind}." if one.kind else ""
            yield f"| `{one.path}` | {_cell(one.default)} | {_cell(meaning + choices)} |"


def _write_messages() -> Iterator[str]:
    timeouts = TimeoutConfig().model_dump()
    yield "# Messages\n"
    yield "JSON-RPC 2.0 at `POST /mcp`: the message stands in `params`, its answer in `result`. This is what our agents"
    yield "send; what they accept is more generous ([interoperation](../interoperation.md)). [Schemas](schemas.md) has"
    yield "JSON Schemas of the same messages; [the protocol](../protocol.md) tells a match in order."
    yield "\n## Methods\n"
    yield "| method | served by | request | answer | limit | who may call it |\n|---|---|---|---|---|---|"
    for method in METHODS.values():
        roles = ", ".join(role.replace("_", " ") for role in sorted(method.served_by))
        request = _link_message(method.request.TYPE) if method.request else ""
        answer = _link_message(method.reply.TYPE) if method.reply else "`ok`" if method.request else "an object"
        limit = f"{timeouts[method.timeout_setting]:g} s"
        yield f"| `{method.name}` | {roles} | {request} | {answer} | {limit} | {_cell(str(method.caller))} |"
    for name in sorted(v2.MESSAGES):
        found = describe_message(name)
        yield f"\n## {name}\n\n{found.says}\n"
        yield "| field | type | | meaning |\n|---|---|---|---|"
        for one in found.fields:
            needed = "required" if one.is_required else ""
            yield f"| `{one.name}` | {_cell(one.kind)} | {needed} | {_cell(one.meaning)} |"
        yield f"\n```json\n{_find_example(name)}\n```"


def _find_example(message_type: str) -> str:
    """Return the example that the tests hold our messages to; that of the models for messages without one."""
    golden = sorted(GOLDEN.glob(f"{message_type}.000-*.json")) or sorted(GOLDEN.glob(f"{message_type}.*.json"))
    if not golden:
        return describe_message(message_type).example
    return json.dumps(json.loads(golden[0].read_text(encoding="utf-8")), indent=2, ensure_ascii=False)


def _link_message(message_type: str) -> str:
    return f"[{message_type}](#{message_type.lower()})"


def _write_schemas() -> Iterator[str]:
    yield "# Schemas\n"
    yield "A JSON Schema of every message as we send it, one file each; `league dev schemas FOLDER` writes them all."
    for title, folder, models in (("league.v2", "", v2.MESSAGES), ("league.v1", "v1/", v1.MESSAGES)):
        yield f"\n## {title}\n\n| message | says |\n|---|---|"
        for name, model in sorted(models.items()):
            says = " ".join((model.__doc__ or "").split())
            yield f"| [{name}](../schemas/{folder}{name}.json) | {_cell(says)} |"


def _write_errors() -> Iterator[str]:
    yield "# Errors\n"
    yield "What the league refuses is a `result` with a [LEAGUE_ERROR](messages.md#league_error); a player that made a"
    yield "mistake in a match is told so with a [GAME_ERROR](messages.md#game_error). More on both is in the"
    yield "[overview](../reference.md#errors).\n"
    yield "| code | name | when | tried again |\n|---|---|---|---|"
    for code in ErrorCode:
        again = "yes" if code.is_retryable else ""
        yield f"| {code.value} | {code.name} | {_cell(ERROR_MEANINGS[code])} | {again} |"
    yield "\n## JSON-RPC\n\nWhat is no valid JSON-RPC is answered with a JSON-RPC error.\n\n| code | name |\n|---|---|"
    yield from (f"| {code.value} | {code.name} |" for code in JsonRpcErrorCode)


def _write_strategies() -> Iterator[str]:
    yield "# Strategies\n"
    yield "For `--strategy`. How they do against each other is in [test results](../test-results.md),"
    yield "why none of them can do better in Even/Odd in [its arithmetic](../even-odd.md). A Python file is a strategy,"
    yield "too: `--strategy mine.py`, with a function `choose(observation)` or a class `Strategy` with such a method."
    names = strategy_names()
    for title, chosen in (
        ("Any game", [name for name in names if not strategy_games(name)]),
        ("One game", [name for name in names if strategy_games(name)]),
    ):
        yield f"\n## {title}"
        for name in chosen:
            yield f"\n### {name}\n"
            if games := strategy_games(name):
                yield f"For {', '.join(f'`{game}`' for game in games)}; any legal move elsewhere.\n"
            yield _escape_outside_code(strategy_description(name))


def _write_python() -> Iterator[str]:
    yield "# Python\n"
    yield "What a player, a game or a format of your own imports. [Seams](../seams.md) has an example of each."
    for module, names in PYTHON_NAMES.items():
        yield f"\n## {module}"
        for name in names:
            yield from _describe_object(name, getattr(import_module(module), name))


def _describe_object(name: str, found: Any) -> Iterator[str]:
    yield f"\n### {name}\n"
    if not inspect.isclass(found):
        yield f"```python\n{name}{_show_signature(found)}\n```\n"
        yield _escape_outside_code(inspect.getdoc(found) or "")
        return
    yield _escape_outside_code(inspect.getdoc(found) or "")
    attributes = read_attribute_docstrings(found)
    members = [
        (attribute, str(kind), attributes.get(attribute, ""))
        for attribute, kind in inspect.get_annotations(found).items()
        if not attribute.startswith("_")
    ]
    for attribute, value in vars(found).items():
        if attribute.startswith("_") or attribute in inspect.get_annotations(found):
            continue
        if isinstance(value, property):
            members.append((attribute, _show_return(value.fget), inspect.getdoc(value) or ""))
        elif inspect.isfunction(value):
            members.append((f"{attribute}{_show_signature(value, method=True)}", "", inspect.getdoc(value) or ""))
    if members:
        yield "\n| name | type | |\n|---|---|---|"
        yield from (
            f"| `{one}` | {f'`{_cell(_short_type(kind))}`' if kind else ''} | {_cell(_escape_outside_code(told))} |"
            for one, kind, told in members
        )


def _show_signature(found: Any, *, method: bool = False) -> str:
    signature = inspect.signature(found)
    parameters = [
        one.replace(annotation=inspect.Parameter.empty) if method else one
        for one in signature.parameters.values()
        if one.name != "self"
    ]
    plain = signature.replace(parameters=parameters, return_annotation=inspect.Signature.empty)
    return _short_type(str(plain))


def _show_return(getter: Any) -> str:
    told = inspect.get_annotations(getter).get("return", "")
    return "" if told == "" else str(told)


def _short_type(text: str) -> str:
    """Return a type or signature without the modules that its names come from."""
    text = re.sub(r"<(?:class|function) '?([\w.]+)'?[^>]*>", r"\1", text)
    return re.sub(r"\b(?:[a-z_]+\.)+(?=[A-Za-z_]\w*)", "", text)


def _escape_outside_code(text: str) -> str:
    """Keep `<name>` and `*` in plain text from being read as markup; options in plain text become code."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(
        part
        if part.startswith("`")
        else re.sub(r"(?<![\w-])(--[a-z][\w-]*)", r"`\1`", part.replace("<", "&lt;").replace("*", "\\*"))
        for part in parts
    )


def _link_pages(text: str) -> str:
    """Turn names of pages, `docs/weeks.md#webhooks`, into links."""
    return re.sub(r"`?docs/([\w-]+)\.md(#[\w-]+)?`?", lambda m: f"[{m[1]}](../{m[1]}.md{m[2] or ''})", text)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def main() -> int:
    FOLDER.mkdir(exist_ok=True)
    for name, text in write_pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    print(f"{len(write_pages())} pages in {FOLDER.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
