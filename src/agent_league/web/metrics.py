"""`/metrics` of every agent in the Prometheus format, collected when it is requested.

One table defines all metrics. No label holds text from a stranger, which could grow without limit.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
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

    name: str
    kind: MetricType
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

METRICS = (
    MetricDefinition(
        "build_info", MetricType.GAUGE, "Always 1: which version runs here.", ("version", "python", "role")
    ),
    MetricDefinition("state", MetricType.GAUGE, "1 for the state of its life that the agent is in.", ("state",)),
    MetricDefinition(
        "calls_made", MetricType.COUNTER, "Calls to other agents by what came of them.", ("method", "outcome")
    ),
    MetricDefinition(
        "call_made_seconds", MetricType.HISTOGRAM, "From a call to its answer or its failure.", ("method",)
    ),
    MetricDefinition(
        "calls_served", MetricType.COUNTER, "Calls by others, by what we answered.", ("method", "outcome")
    ),
    MetricDefinition(
        "call_served_seconds", MetricType.HISTOGRAM, "From a call that was read to its answer.", ("method",)
    ),
    MetricDefinition("queue_length", MetricType.GAUGE, "What waits to be done, now.", ("queue",)),
    MetricDefinition("league_phase", MetricType.GAUGE, "1 for the phase that the league is in.", ("phase",), _MANAGER),
    MetricDefinition("rounds_planned", MetricType.GAUGE, "Rounds of the schedule.", (), _MANAGER),
    MetricDefinition("rounds_completed", MetricType.GAUGE, "Rounds of which every match is finished.", (), _MANAGER),
    MetricDefinition("matches_planned", MetricType.GAUGE, "Matches of the schedule.", (), _MANAGER),
    MetricDefinition(
        "matches_finished", MetricType.COUNTER, "Matches whose result counts.", ("outcome", "ending"), _MANAGER
    ),
    MetricDefinition(
        "agents", MetricType.GAUGE, "Registered agents by the state of their life.", ("role", "state"), _MANAGER
    ),
    MetricDefinition(
        "agent_latency_seconds", MetricType.GAUGE, "How soon an agent answers the manager, smoothed.", _AGENT, _MANAGER
    ),
    MetricDefinition(
        "agent_unanswered", MetricType.COUNTER, "The manager's calls that an agent left unanswered.", _AGENT, _MANAGER
    ),
    MetricDefinition(
        "agent_failures_in_a_row", MetricType.GAUGE, "What is counted for an agent's suspension.", _AGENT, _MANAGER
    ),
    MetricDefinition("listeners", MetricType.GAUGE, "Pages and programs that follow the league live.", (), _MANAGER),
    MetricDefinition("matches_running", MetricType.GAUGE, "Matches that the referee plays.", (), _REFEREE),
    MetricDefinition(
        "matches_refereed", MetricType.COUNTER, "Matches that the referee has judged.", ("outcome", "ending"), _REFEREE
    ),
    MetricDefinition(
        "retries", MetricType.COUNTER, "Questions to players that were asked again.", ("method",), _REFEREE
    ),
    MetricDefinition("decision_seconds", MetricType.HISTOGRAM, "From a question to the strategy's move.", (), _PLAYER),
    MetricDefinition(
        "strategy_failures", MetricType.COUNTER, "Moves that the strategy left to chance.", ("how",), _PLAYER
    ),
    MetricDefinition(
        "games", MetricType.COUNTER, "Finished games by their outcome for the player.", ("outcome",), _PLAYER
    ),
)


class MetricsPage:
    """The metrics of one agent. `listeners` returns the number of its open live streams, if it has pages."""

    def __init__(self, agent: Agent, listeners: Callable[[], int] | None = None) -> None:
        self._agent = agent
        self._listeners = listeners

    def __call__(self, accept: str = "") -> tuple[bytes, str]:
        """Return the exposition and its content type, negotiated by the `Accept` header."""
        from prometheus_client.exposition import choose_encoder  # noqa: PLC0415 - only needed once metrics are requested

        encode, content_type = choose_encoder(accept)
        return encode(self._registry), content_type

    def collect(self) -> Iterator["Family"]:
        """Yield the current metric families; called by the Prometheus registry."""
        found = self._collect_samples()
        for metric in METRICS:
            if self._agent.role in metric.roles:
                yield _build_family(metric, found.get(metric.name, {}))

    @cached_property
    def _registry(self) -> "CollectorRegistry":
        from prometheus_client import CollectorRegistry, ProcessCollector  # noqa: PLC0415 - as above

        registry = CollectorRegistry()
        registry.register(self)
        ProcessCollector(registry=registry)
        return registry

    def _collect_samples(self) -> Mapping[str, Mapping[MetricKey, Any]]:
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
