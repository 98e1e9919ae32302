"""What every agent has, whatever its role: log, metrics, client, dispatcher, background tasks, health."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any

from agent_league.agent.dispatcher import Dispatcher, Handler
from agent_league.agent.message_log import MessageLog
from agent_league.agent.metrics import AgentMetrics, GaugeValues
from agent_league.agent.peer_client import PeerClient
from agent_league.agent.tasks import BackgroundTasks
from agent_league.clock import Clock, SystemClock
from agent_league.config import SystemConfig
from agent_league.http.carrier import Carrier
from agent_league.log import JsonLogger
from agent_league.model.agents import AgentState, Role
from agent_league.protocol.checks import Envelope
from agent_league.protocol.envelope import Sender
from agent_league.protocol.methods import Caller, Method
from agent_league.storage.paths import DataPaths
from agent_league.version import __version__

ChangeListener = Callable[[str], None]


class ResourceChanges:
    """The listeners for changes of one agent's resources; notifying is almost free without any."""

    def __init__(self) -> None:
        self._listeners: list[ChangeListener] = []

    def __bool__(self) -> bool:
        """Whether there is a listener."""
        return bool(self._listeners)

    def add_listener(self, listener: ChangeListener) -> Callable[[], None]:
        """Call `listener` with the URI of each changed resource, until the returned function is called."""
        self._listeners.append(listener)

        def leave() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return leave

    def notify_changed(self, *uris: str) -> None:
        """Notify all listeners that these resources have changed."""
        for listener in tuple(self._listeners):
            for uri in uris:
                listener(uri)


class Agent(ABC):
    """An agent of any role; subclasses serve their handlers once they are built, and run."""

    role: Role
    dispatcher: Dispatcher

    def __init__(
        self,
        component: str,
        home: Path,
        system: SystemConfig,
        carrier: Carrier,
        clock: Clock | None = None,
        rng: Random | None = None,
        league_id: str | None = None,
    ) -> None:
        """`component` names its log; with `league_id` the log is in the league's own folder."""
        self._clock = clock or SystemClock()
        self._rng = rng or Random()  # noqa: S311 - jitter
        self._strict = system.tolerance.strict
        self.log = JsonLogger(component, league_id, DataPaths(home).logs_folder, **system.logging.logger_options)
        self._message_log = MessageLog(self.log, enabled=system.logging.messages)
        self.meter = AgentMetrics()
        self.changes = ResourceChanges()
        carrier = self._message_log.wrap_carrier(carrier)
        self._peer_client = PeerClient(carrier, strict=self._strict, metrics=self.meter)
        self._tasks = BackgroundTasks(self.log)
        """What it does beside its main work; to be closed at the end of `run`."""

    def _serve(self, handlers: Mapping[str, Handler], **hooks: Any) -> None:
        """Answer calls with these handlers from now on; `hooks` are the dispatcher's."""
        self.dispatcher = Dispatcher(
            self,
            handlers,
            self._clock,
            self.log,
            strict=self._strict,
            metrics=self.meter,
            message_log=self._message_log,
            **hooks,
        )

    @property
    @abstractmethod
    def agent_id(self) -> str: ...

    @property
    @abstractmethod
    def sender(self) -> str:
        """The `sender` of its own messages."""

    @property
    @abstractmethod
    def agent_state(self) -> AgentState:
        """The state that its health tells."""

    @abstractmethod
    async def authorize(
        self, method: Method, envelope: Envelope | None, params: Mapping[str, Any], bearer: str | None
    ) -> Sender | None:
        """Raise a Refusal unless the caller may call this method; `bearer` is the token beside the message.

        Returns the verified sender if it is known, which may differ from the one that the message names.
        """

    @abstractmethod
    def caller(self, bearer: str | None) -> str | None:
        """The sender that a token belongs to, if known."""

    @abstractmethod
    def audience(self, bearer: str | None) -> frozenset[Caller] | None:
        """The kinds of caller that a token's bearer may act as; None if that is unknown."""

    @abstractmethod
    async def run(self) -> None:
        """Take part until done or cancelled."""

    def health(self) -> dict[str, Any]:
        """The answer of the health endpoint."""
        return {
            "status": "ok",
            "role": str(self.role),
            "id": self.agent_id,
            "state": str(self.agent_state),
            "version": __version__,
        }

    def readings(self) -> GaugeValues:
        """The gauges for the metrics endpoint."""
        return {}
