"""`/metrics` of every agent, and of a server of many leagues, in the Prometheus format, collected when requested.

One table defines all metrics. No label holds text from a stranger, which could grow without limit.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, partial
from itertools import accumulate
from platform import python_version
from typing import TYPE_CHECKING, Any

from agent_league.agent.metrics import BUCKET_BOUNDS, LatencyHistogram, MetricKey
from agent_league.agent.runtime import Agent
from agent_league.model.agents import AgentState, Role
from agent_league.version import __version__

if TYPE_CHECKING:
    from prometheus_client.core import Metric as Family
    from prometheus_client.registry import CollectorRegistry

PREFIX = "agent_league"
BUCKET_LABELS = (*map(str, BUCKET_BOUNDS), "+Inf")


class MetricType(StrEnum):
    """Prometheus metric types."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class MetricDefinition:
    """One metric. Its name is without the prefix, and without `_total` for a counter."""

    kind: MetricType
    name: str
    meaning: str
    labels: tuple[str, ...] = ()
    roles: frozenset[Role] = frozenset(Role)

    @property
    def full_name(self) -> str:
        return f"{PREFIX}_{self.name}{'_total' if self.kind is MetricType.COUNTER else ''}"


_MANAGER = frozenset({Role.LEAGUE_MANAGER})
_REFEREE = frozenset({Role.REFEREE})
_PLAYER = frozenset({Role.PLAYER})
_AGENT = ("agent_id", "role")
_MODEL = ("agent_id",)
_gauge = partial(MetricDefinition, MetricType.GAUGE)
_counter = partial(MetricDefinition, MetricType.COUNTER)
_histogram = partial(MetricDefinition, MetricType.HISTOGRAM)

METRICS = (
    _gauge("build_info", "Always 1: which version runs here.", ("version", "python", "role")),
    _gauge("state", "1 for the state of its life that the agent is in.", ("state",)),
    _counter("calls_made", "Calls to other agents by what came of them.", ("method", "outcome")),
    _histogram("call_made_seconds", "From a call to its answer or its failure.", ("method",)),
    _counter("calls_served", "Calls by others, by what we answered.", ("method", "outcome")),
    _histogram("call_served_seconds", "From a call that was read to its answer.", ("method",)),
    _gauge("queue_length", "What waits to be done, now.", ("queue",)),
    _gauge("league_phase", "1 for the phase that the league is in.", ("phase",), _MANAGER),
    _gauge("rounds_planned", "Rounds of the schedule.", (), _MANAGER),
    _gauge("rounds_completed", "Rounds of which every match is finished.", (), _MANAGER),
    _gauge("matches_planned", "Matches of the schedule.", (), _MANAGER),
    _counter("matches_finished", "Matches whose result counts.", ("outcome", "ending"), _MANAGER),
    _gauge("agents", "Registered agents by the state of their life.", ("role", "state"), _MANAGER),
    _gauge("agent_latency_seconds", "How soon an agent answers the manager, smoothed.", _AGENT, _MANAGER),
    _counter("agent_unanswered", "The manager's calls that an agent left unanswered.", _AGENT, _MANAGER),
    _gauge("agent_failures_in_a_row", "What is counted for an agent's suspension.", _AGENT, _MANAGER),
    _counter("model_moves", "Moves of a player with a language model.", ("agent_id", "by"), _MANAGER),
    _counter("model_tokens", "Tokens of its language model, as it says.", ("agent_id", "kind"), _MANAGER),
    _counter("model_cost_dollars", "What its language model cost, as it says and as far as known.", _MODEL, _MANAGER),
    _counter("model_answer_seconds", "How long its answers took together, as referees measured.", _MODEL, _MANAGER),
    _counter("model_useless_answers", "Answers that named no legal move or came late.", ("agent_id", "how"), _MANAGER),
    _gauge("listeners", "Pages and programs that follow the league live.", (), _MANAGER),
    _gauge("matches_running", "Matches that the referee plays.", (), _REFEREE),
    _counter("matches_refereed", "Matches that the referee has judged.", ("outcome", "ending"), _REFEREE),
    _counter("retries", "Questions to players that were asked again.", ("method",), _REFEREE),
    _histogram("decision_seconds", "From a question to the strategy's move.", (), _PLAYER),
    _counter("strategy_failures", "Moves that the strategy left to chance.", ("how",), _PLAYER),
    _counter("games", "Finished games by their outcome for the player.", ("outcome",), _PLAYER),
)


SERVER_METRICS = (
    _gauge("build_info", "Always 1: which version runs here.", ("version", "python", "role")),
    _gauge("server_leagues", "Leagues of the server by what they are at.", ("status",)),
    _gauge("server_players", "Registered players of a league.", ("league",)),
    _gauge("server_matches_planned", "Matches of a league's schedule.", ("league",)),
    _counter("server_matches_finished", "Matches of a league whose result counts.", ("league",)),
    _counter("server_league_starts", "How often a league's manager was started in this process.", ("league",)),
    _gauge("server_store_up", "1 if the store can be written, by a look at it.", ()),
)
"""The metrics of a server of many leagues. The names of leagues are its organisers', no stranger's."""

Samples = Mapping[str, Mapping[MetricKey, Any]]
"""By a metric's name without the prefix: its values by their labels."""


class MetricsExposition:
    """Some metrics in the Prometheus format; `read_samples` returns their values now."""

    def __init__(self, metrics: Iterable[MetricDefinition], read_samples: Callable[[], Samples]) -> None:
        self._metrics = tuple(metrics)
        self._read_samples = read_samples

    def __call__(self, accept: str = "") -> tuple[bytes, str]:
        """Return the exposition and its content type, negotiated by the `Accept` header."""
        from prometheus_client.exposition import choose_encoder  # noqa: PLC0415 - only needed once metrics are requested

        encode, content_type = choose_encoder(accept)
        return encode(self._registry), content_type

    def collect(self) -> Iterator["Family"]:
        """Yield the current metric families; called by the Prometheus registry."""
        found = self._read_samples()
        for metric in self._metrics:
            yield _build_family(metric, found.get(metric.name, {}))

    @cached_property
    def _registry(self) -> "CollectorRegistry":
        from prometheus_client import CollectorRegistry, ProcessCollector  # noqa: PLC0415 - as above

        registry = CollectorRegistry()
        registry.register(self)
        ProcessCollector(registry=registry)
        return registry


def make_server_metrics(read_samples: Callable[[], Samples]) -> MetricsExposition:
    """Make the metrics of a server of many leagues, of which `read_samples` knows all but the version."""
    build: Samples = {"build_info": {(__version__, python_version(), "server"): 1}}
    return MetricsExposition(SERVER_METRICS, lambda: {**build, **read_samples()})


class MetricsPage(MetricsExposition):
    """The metrics of one agent. `listeners` returns the number of its open live streams, if it has pages."""

    def __init__(self, agent: Agent, listeners: Callable[[], int] | None = None) -> None:
        super().__init__((metric for metric in METRICS if agent.role in metric.roles), self._collect_samples)
        self._agent = agent
        self._listeners = listeners

    def _collect_samples(self) -> Samples:
        agent, meter = self._agent, self._agent.meter
        state = agent.health()["state"]
        return {
            **_group_by_name(meter.counts.items()),
            **_group_by_name(meter.histograms.items()),
            **agent.readings(),
            "build_info": {(__version__, python_version(), agent.role): 1},
            "state": {(other,): other == state for other in AgentState},
            "listeners": {(): self._listeners() if self._listeners else 0},
        }


def _group_by_name(counted: Iterable[tuple[MetricKey, Any]]) -> dict[str, dict[MetricKey, Any]]:
    found: dict[str, dict[MetricKey, Any]] = {}
    for (name, *labels), value in counted:
        found.setdefault(name, {})[tuple(labels)] = value
    return found


def _build_family(metric: MetricDefinition, samples: Mapping[MetricKey, Any]) -> "Family":
    from prometheus_client import core  # noqa: PLC0415 - as above

    name, meaning = f"{PREFIX}_{metric.name}", metric.meaning
    if metric.kind is MetricType.HISTOGRAM:
        histogram = core.HistogramMetricFamily(name, meaning, labels=metric.labels)
        for labels, timing in samples.items():
            histogram.add_metric(labels, _cumulate_buckets(timing), timing.seconds)
        return histogram
    make = core.CounterMetricFamily if metric.kind is MetricType.COUNTER else core.GaugeMetricFamily
    family = make(name, meaning, labels=metric.labels)
    for labels, value in samples.items():
        family.add_metric(labels, value)
    return family


def _cumulate_buckets(timing: LatencyHistogram) -> list[tuple[str, float]]:
    """Return cumulative buckets, as Prometheus wants them."""
    return list(zip(BUCKET_LABELS, accumulate(timing.buckets), strict=True))
