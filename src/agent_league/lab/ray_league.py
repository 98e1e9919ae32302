"""One league over the nodes of a Ray cluster: the manager where the command is, referees and players on the nodes.

They are the agents of any league and speak over HTTP; Ray only starts them, and starts them again if their node is
lost. A match that was lost with a node is played again. The manager alone writes the league's store.
"""

import asyncio
import pickle
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from agent_league.config.python_files import is_python_file
from agent_league.errors import AgentLeagueError, LeagueFailed, UserError
from agent_league.http.exposure import is_loopback_only
from agent_league.http.hosts import are_all_loopback
from agent_league.http.sign_up_address import add_sign_up_key
from agent_league.lab.experiment.contestants import PlayerKind, PlayerSpec
from agent_league.lab.experiment.ray_cluster import Remark, find_own_address, open_ray
from agent_league.lab.experiment.sent_files import collect_files
from agent_league.lab.lost_matches import LostMatches
from agent_league.lab.ray_agents import Files
from agent_league.launch.agent_plan import AgentPlan, PlayerPlan, RefereePlan
from agent_league.launch.organiser_call import call_as_organiser
from agent_league.launch.plan import LeaguePlan
from agent_league.launch.processes import LeagueProcesses
from agent_league.league.resume import load_referee_key
from agent_league.model.audit import OrganiserAction
from agent_league.model.events import Event, LeagueCompleted, MatchReplaced
from agent_league.protocol.v2 import ManageLeague
from agent_league.storage.files import write_atomically
from agent_league.storage.paths import DataPaths
from agent_league.text import MAX_PHRASE, shorten
from agent_league.version import __version__

HOST_CPUS = 0.01
"""What a host of agents asks for: any node with a CPU has room for it, since agents mostly wait."""
STOP_SECONDS = 5
FETCH_SECONDS = 2
"""How often match files are fetched from the nodes, so that little is lost with one."""
MAX_LOSSES = 20
"""How many hosts may be lost in one league."""
TICK_SECONDS = 0.25
SETTLE_SECONDS = 120
"""How long the end of a league waits for agents of a lost host that are to play again."""
LOSS_REASON = "a node of the cluster on which the league runs was lost"
"""For the public audit log."""


@contextmanager
def spread_league(plan: LeaguePlan, address: str | None, remark: Remark) -> "Iterator[RayLeague]":
    """Connect to a cluster and plan the league over its nodes; raises UserError."""
    files = [
        PlayerSpec(name, PlayerKind.FILE, name, home=str(Path.cwd()))
        for name in dict.fromkeys(plan.strategies.values())
        if is_python_file(name)
    ]
    with collect_files(files) as sent, open_ray(address, sent.to_runtime_env(), remark) as ray:
        yield RayLeague(ray, plan, find_own_address(ray, address))


class RayLeague:
    """The manager's process and the hosts of all other agents. Use it as a context manager; leaving it ends them."""

    def __init__(self, ray: Any, plan: LeaguePlan, own_address: str) -> None:
        self._ray = ray
        nodes = [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]
        if not nodes:
            raise UserError("the Ray cluster has no node with a CPU, where referees and players could run")
        self._node_ids = [node["NodeID"] for node in nodes for _ in range(max(1, int(node["Resources"]["CPU"])))]
        """Where hosts are started: one for each CPU."""
        self.plan = place_manager(plan, own_address, [str(node["NodeManagerAddress"]) for node in nodes])
        self._stays = not plan.manager.settings.exit_when_done
        self._lost = LostMatches()
        self._pings: dict[Any, list[str]] = {}
        """Answers of hosts that are awaited, with the matches that they explain."""
        self._manager = LeagueProcesses([(self.plan.manager,)])
        self._hosts: dict[Any, _Host] = {}
        """By what their `serve` returns."""
        self._fetches: dict[Any, Any] = {}
        """Files that are on their way, with the actors that send them."""
        self._fetched_at = time.monotonic()
        self._losses = 0

    def __enter__(self) -> Self:
        seats = give_keys(self.plan)  # the manager reads the key of referees when it starts
        self._manager.__enter__()
        try:
            count = len(self._node_ids)
            for number, node_id in enumerate(self._node_ids[: len(seats)]):
                self._start_host(tuple(seats[number::count]), node_id)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        ending = [host.actor.stop.remote(STOP_SECONDS) for host in self._hosts.values()]
        for ref in [*self._fetches, *ending]:  # a file that is on its way is in no other answer
            with suppress(self._ray.exceptions.RayError):
                self._keep_files(self._ray.get(ref, timeout=2 * STOP_SECONDS))
        for host in self._hosts.values():
            self._ray.kill(host.actor)
        self._hosts.clear()
        self._manager.__exit__(kind, error, trace)

    @property
    def pids(self) -> list[int]:
        """The processes on this machine."""
        return self._manager.pids

    def iter_events(
        self, tick: float | None = None, remark: Callable[[str], None] | None = None
    ) -> Iterator[Event | None]:
        """Yield events as `LeagueProcesses` does; lost hosts are started again, and what was lost with them is played.

        Without `stay` it ends once the league is over and every match that a lost host cost is played again.
        """
        completed_at: float | None = None
        for event in self._manager.iter_events(tick or TICK_SECONDS, remark or _ignore):
            self._lost.note_event(event)
            if isinstance(event, LeagueCompleted):
                completed_at = time.monotonic()
            elif isinstance(event, MatchReplaced):
                completed_at = None
            yield event
            if event is None or isinstance(event, LeagueCompleted):
                self._replace_lost_hosts(remark or _ignore)
                self._ask_hosts()
                self._play_lost_matches(remark or _ignore)
            if time.monotonic() - self._fetched_at > FETCH_SECONDS:
                self._fetch_files()
            if completed_at is None or self._stays:
                continue
            if self._lost.is_settled:
                return
            if time.monotonic() - completed_at > SETTLE_SECONDS:
                (remark or _ignore)("Agents of a lost node didn't come back: not all of its matches are played again.")
                return

    def _ask_hosts(self) -> None:
        """Find out whether those who fell silent in a match did so with their host."""
        waiting = list(self._pings)
        for ref in self._ray.wait(waiting, num_returns=len(waiting), timeout=0)[0] if waiting else []:
            matches = self._pings.pop(ref)
            with suppress(self._ray.exceptions.RayError):  # then it is lost, which `_replace_lost_hosts` finds out
                self._ray.get(ref)
                self._lost.note_answer(matches)
        asked = {match_id for matches in self._pings.values() for match_id in matches}
        for host in self._hosts.values():
            if matches := [name for name in self._lost.list_unexplained(host.agent_ids) if name not in asked]:
                self._pings[host.actor.answer.remote()] = matches

    def _play_lost_matches(self, remark: Callable[[str], None]) -> None:
        """Have the matches played again that were lost with a host, as an organiser would."""
        plan = self.plan
        for match_id in self._lost.take_ready():
            call = call_as_organiser(
                ManageLeague,
                "manage_league",
                plan.manager.local_endpoint,
                plan.league.league_id,
                DataPaths(plan.home).admin_token_file(plan.league.league_id),
                action=OrganiserAction.RERUN_MATCH,
                match_id=match_id,
                reason=LOSS_REASON,
            )
            try:
                asyncio.run(call)
                remark(f"{match_id} was lost with a node; it is played again.")
            except AgentLeagueError as error:
                self._lost.give_up(match_id)
                remark(f"{match_id} was lost with a node, and can't be played again by itself: {error}")

    def _fetch_files(self) -> None:
        """Write the match files that have come, and ask for the next ones."""
        waiting = list(self._fetches)
        for ref in self._ray.wait(waiting, num_returns=len(waiting), timeout=0)[0] if waiting else []:
            self._fetches.pop(ref)
            with suppress(self._ray.exceptions.RayError):
                self._keep_files(self._ray.get(ref))
        asked = set(self._fetches.values())
        for host in self._hosts.values():
            if host.actor not in asked:
                self._fetches[host.actor.take_files.remote()] = host.actor
        self._fetched_at = time.monotonic()

    def _keep_files(self, files: Files) -> None:
        for name, content in files:
            path = self.plan.home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, content)

    def _start_host(self, seats: tuple[AgentPlan, ...], node_id: str | None = None) -> None:
        """Start a host on this node, if it is still there."""
        near = self._ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
        strategy = near(node_id, soft=True) if node_id else "SPREAD"
        actor = self._ray.remote(make_host_class())
        placed = actor.options(num_cpus=HOST_CPUS, scheduling_strategy=strategy, max_concurrency=3).remote()
        self._hosts[placed.serve.remote(__version__, pickle.dumps(seats))] = _Host(seats, placed)

    def _replace_lost_hosts(self, remark: Callable[[str], None]) -> None:
        waiting = list(self._hosts)
        ended = self._ray.wait(waiting, num_returns=len(waiting), timeout=0)[0] if waiting else []
        for ref in ended:
            host = self._hosts.pop(ref)
            try:
                kind, sentence = self._ray.get(ref)
            except self._ray.exceptions.RayError as error:
                self._losses += 1
                if self._losses > MAX_LOSSES:
                    raise LeagueFailed(f"Ray has lost {self._losses} hosts of agents: {_first_line(error)}") from None
                self._lost.note_loss(host.agent_ids)
                self._start_host(host.seats)
                remark(f"The node or process of {host.title} was lost; they are started again.")
                continue
            if kind != "ended":
                raise UserError(sentence) if kind == "refused" else LeagueFailed(sentence)


@dataclass(frozen=True, slots=True)
class _Host:
    seats: tuple[AgentPlan, ...]
    actor: Any

    @property
    def title(self) -> str:
        return ", ".join(seat.title for seat in self.seats)

    @property
    def agent_ids(self) -> frozenset[str]:
        return frozenset(seat.settings.wanted_id for seat in self.seats if isinstance(seat, PlayerPlan | RefereePlan))


def place_manager(plan: LeaguePlan, own_address: str, nodes: Sequence[str]) -> LeaguePlan:
    """Let the manager listen at this machine's address in the cluster, and agents be called at their nodes'.

    It stays when the league is over, since a match may have to be played again; whoever started it ends it.
    """
    network = plan.system.network
    hosts = tuple(dict.fromkeys((*network.allowed_hosts, own_address, *nodes)))
    system = plan.system.model_copy(update={"network": network.model_copy(update={"allowed_hosts": hosts})})
    settings = replace(plan.manager.settings, system=system, exit_when_done=False)
    return replace(plan, system=system, manager=replace(plan.manager, settings=settings, host=own_address))


def give_keys(plan: LeaguePlan) -> list[AgentPlan]:
    """Return the referees and players, each with a key of its own, by which it comes back from another node.

    Referees get the league's key beside it, without which a manager that others can reach takes none.
    """
    endpoint = referee_address = plan.manager.endpoint
    if not is_loopback_only(plan.system.network, listens_on_loopback=are_all_loopback([plan.manager.host])):
        key = load_referee_key(plan.home, plan.league.league_id, is_needed=True)
        referee_address = add_sign_up_key(endpoint, key)
    system = plan.system
    referees = [
        replace(
            seat,
            settings=replace(seat.settings, system=system, manager=referee_address, application_key=_make_key()),
        )
        for seat in plan.referees
    ]
    players = [
        replace(seat, settings=replace(seat.settings, system=system, manager=endpoint, application_key=_make_key()))
        for seat in plan.players
    ]
    return [*referees, *players]


def _make_key() -> str:
    return secrets.token_hex(32)


def make_host_class() -> type:
    """Make the class that is sent to the nodes as it stands, since a node may have another version of ours, or none."""

    class AgentHost:
        def __init__(self) -> None:
            self._hosted: Any = None

        def serve(self, version: str, packed: bytes) -> Any:
            from importlib import import_module  # noqa: PLC0415 - a class that travels brings its imports

            here = import_module("ray").util.get_node_ip_address()
            try:
                from agent_league.lab.ray_agents import HostedAgents  # noqa: PLC0415 - as above
                from agent_league.version import __version__ as own  # noqa: PLC0415 - as above
            except ImportError as error:
                said = f"The node at {here} has no agent-league {version} ({error}): install it on every node"
                return "refused", said
            if own != version:
                said = f"The node at {here} has agent-league {own}, this is {version}: install the same on every node"
                return "refused", said
            self._hosted = HostedAgents(here)
            return self._hosted.serve(packed)

        def answer(self) -> bool:
            return True

        def take_files(self) -> Any:
            return self._hosted.take_files() if self._hosted else []

        def stop(self, seconds: float) -> Any:
            return self._hosted.stop(seconds) if self._hosted else []

    return AgentHost


def _ignore(_: str) -> None:
    """Say nothing."""


def _first_line(error: Exception) -> str:
    return shorten(str(error).partition("\n")[0], MAX_PHRASE)
