"""The strategy `llm`: a language model chooses the moves.

Importing this module is cheap; pydantic-ai is imported when the strategy is created, and needs `agent-league[llm]`.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from agent_league.config import PlayerDefaults
from agent_league.errors import ConfigError
from agent_league.llm.settings import load_fallback, load_template, resolve_headers, resolve_key, resolve_servers
from agent_league.players.observation import Strategy

INSTALL_HINT = "pip install 'agent-league[llm]' (in a checkout: .venv/bin/pip install -e '.[llm]')"


class Llm:
    """Asks a language model for every move.

    `llm:MODEL` names the model, or `model` of the settings does; where it gives no move, the fallback plays.
    """

    @staticmethod
    def with_argument(defaults: PlayerDefaults, argument: str) -> PlayerDefaults:
        """Return the defaults for `llm:ARGUMENT`, which names a model."""
        return defaults.model_copy(update={"llm": defaults.llm.for_model(argument)})

    @staticmethod
    def check(defaults: PlayerDefaults) -> None:
        """Raise ConfigError if the strategy can't be created from these settings; opens no connection."""
        with _require_extra():
            from agent_league.llm.model import check_model  # noqa: PLC0415 - it imports pydantic-ai
        check_model(defaults.llm)
        resolve_key(defaults.llm)
        load_fallback(defaults.llm)
        load_template(defaults.llm)
        resolve_headers(defaults.llm)
        resolve_servers(defaults.llm)

    @staticmethod
    def configured(defaults: PlayerDefaults, remark: Callable[[str], None] | None = None) -> Strategy:
        with _require_extra():
            from agent_league.llm.thinking import LlmStrategy  # noqa: PLC0415 - it imports pydantic-ai
        return LlmStrategy(defaults.llm, remark)


@contextmanager
def _require_extra() -> Iterator[None]:
    """Turn an ImportError into a ConfigError that says how to install the extra `llm`."""
    try:
        yield
    except ImportError as error:
        missing = error.name.partition(".")[0] if error.name else str(error)
        problem = f"needs {missing}, which isn't installed; {INSTALL_HINT}"
        raise ConfigError("strategy llm", "", problem) from None
