"""Options of `league player` for a language model: they win over the settings of `defaults/player.json`."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from agent_league.config import LlmSettings, PlayerDefaults
from agent_league.errors import UserError


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """What the command line says of a language model; None: nothing."""

    model: str | None = None
    base_url: str | None = None
    prompt: Path | None = None
    temperature: float | None = None
    effort: str | None = None
    output_tokens: int | None = None
    headers: tuple[str, ...] = ()
    reasoning: bool | None = None

    def list_given(self) -> list[str]:
        """The options that were given, as they are typed."""
        return [_name_option(name) for name, _ in self._list_settings()]

    def apply(self, defaults: PlayerDefaults) -> PlayerDefaults:
        """Return the defaults with these settings of the model; raises UserError that names a wrong option."""
        changed: dict[str, Any] = defaults.llm.model_dump()
        for name, value in self._list_settings():
            changed[name] = {**changed[name], **value} if isinstance(value, dict) else value
        try:
            llm = LlmSettings.model_validate(changed)
        except ValidationError as error:
            first = error.errors()[0]
            problem = first["msg"].removeprefix("Value error, ").removeprefix("Input ")
            shown = "" if self.headers else f"{first['input']!r} "  # a header's value may be a secret
            raise UserError(f"{_name_option(str(first['loc'][0]))} {shown}{problem}") from None
        return defaults.model_copy(update={"llm": llm})

    def _list_settings(self) -> Iterator[tuple[str, Any]]:
        for name in ("model", "base_url", "prompt", "temperature", "effort", "output_tokens", "reasoning"):
            value = getattr(self, name)
            if value is not None:
                yield name, str(value.absolute()) if isinstance(value, Path) else value
        if self.headers:
            yield "headers", dict(map(_parse_header, self.headers))


def _parse_header(text: str) -> tuple[str, str]:
    name, equals, variable = text.partition("=")
    if not equals or not name:
        raise UserError(f"--header {text!r} should be a name and a variable, such as 'X-Team=$TEAM_KEY'")
    return name.strip(), variable.strip()


def _name_option(setting: str) -> str:
    return "--header" if setting == "headers" else f"--{setting.replace('_', '-')}"
