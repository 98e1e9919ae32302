"""How a model gives its answer: by structured output, a tool call or plain text, as its server can.

Knows which of them a server has shown to understand, and the library's output type for each; not what is asked.
"""

from dataclasses import dataclass
from typing import Any

from pydantic_ai import ModelRetry, NativeOutput, PromptedOutput, TextOutput, ToolOutput
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.settings import ModelSettings

from agent_league.config import LlmSettings
from agent_league.llm.answers import Answer, AnswerForm, NoSuchMove
from agent_league.llm.budget import ANSWER_TOOL
from agent_league.llm.failures import KEY_STATUSES, RETRYABLE_STATUSES

SERVER_MODES = ("native", "tool", "prompted")
"""Tried in this order with a server of one's own."""
TOOL_MODES = ("tool", "native", "prompted")
"""As above, if the model is lent tools: few servers take tools and a schema at once."""


@dataclass(slots=True)
class OutputModes:
    """The modes that may be tried with a server; the first that gave a move is kept, a refused one is left out."""

    candidates: tuple[str, ...]
    _place: int = 0
    _is_proven: bool = False

    @classmethod
    def from_settings(cls, settings: LlmSettings) -> "OutputModes":
        if settings.output != "auto" or settings.base_url is None:
            return cls((settings.output,))
        return cls(TOOL_MODES if settings.mcp_servers else SERVER_MODES)

    @property
    def current(self) -> str:
        return self.candidates[self._place]

    def record_success(self, mode: str) -> None:
        self._is_proven |= mode == self.current

    def record_failure(self, mode: str, error: Exception) -> bool:
        """Go on to the next mode if it may be the mode that failed; return whether the server refused just that.

        A mode that was refused isn't tried again, unless it is the only one left: it wasn't the mode then.
        """
        status = error.status_code if isinstance(error, ModelHTTPError) else None
        is_refused = status is not None and _is_refusal(status)
        if mode != self.current:
            return is_refused  # another move has gone on already
        if self._is_proven or len(self.candidates) == 1 or status in KEY_STATUSES | RETRYABLE_STATUSES:
            return False
        if is_refused:
            self.candidates = tuple(one for one in self.candidates if one != mode)
            self._place %= len(self.candidates)
        else:
            self._place = (self._place + 1) % len(self.candidates)
        return is_refused


def _is_refusal(status: int) -> bool:
    """Whether a status may mean that the server doesn't know what the request asks for."""
    return (400 <= status < 500 and status not in KEY_STATUSES | RETRYABLE_STATUSES) or status == 501


def make_output_type(form: AnswerForm, mode: str, *, is_own_server: bool) -> Any:
    """Make the library's output type; the output is an Answer with a legal move."""

    def play(answer: Any) -> Answer:
        return _retry_unless_legal(form.read_fields, answer.model_dump())

    def play_text(text: str) -> Answer:
        return _retry_unless_legal(form.read_text, text)

    play.__annotations__["answer"] = form.make_model()
    if mode in ("native", "prompted") and is_own_server:
        return TextOutput(play_text)
    match mode:
        case "native":
            return NativeOutput(play)
        case "prompted":
            return PromptedOutput(play)
        case _:
            return ToolOutput(play, name=ANSWER_TOOL)


def make_output_settings(form: AnswerForm, mode: str, *, is_own_server: bool) -> ModelSettings:
    """Settings of a request that go with the output type: for a server of one's own, the schema."""
    if mode != "native" or not is_own_server:
        return ModelSettings()
    schema = {"name": "answer", "strict": True, "schema": form.make_schema()}
    return ModelSettings(extra_body={"response_format": {"type": "json_schema", "json_schema": schema}})


def take_text_as_call(response: ModelResponse, form: AnswerForm) -> ModelResponse:
    """Turn an answer in words that names a legal move into the tool call that was wanted; others stay as they are."""
    texts = [part.content for part in response.parts if isinstance(part, TextPart)]
    if not texts or any(isinstance(part, ToolCallPart) for part in response.parts):
        return response
    try:
        answer = form.read_text("\n".join(texts))
    except NoSuchMove:
        return response
    others = [part for part in response.parts if not isinstance(part, TextPart)]
    response.parts = [*others, ToolCallPart(ANSWER_TOOL, form.to_fields(answer))]
    return response


def _retry_unless_legal(read: Any, said: Any) -> Answer:
    try:
        answer: Answer = read(said)
    except NoSuchMove as error:
        raise ModelRetry(str(error)) from None
    return answer
