"""The rules of any PettingZoo environment for two agents, over a state that is its seed and the actions so far.

The seed is drawn digit by digit, as chance is the referee's. An environment can't be copied, so the one of a match is
stepped along with it; for an earlier state a new one is replayed from the start.
"""

import inspect
import math
import warnings
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from agent_league.games.base import CHANCE, REPEATING, BadParameters, Move, State, check_names
from agent_league.games.parameter_trial import KINDS, complaint, fitting

DIGITS, BASE = 4, 256
"""Digits of the seed and their base; the last bit is dropped, as some environments take 31 bits."""
MOST_LIVES = 64
MOST_NUMBERS = 20_000
"""Numbers in an observation; a view with more doesn't fit into a message."""
FOR_THE_EYE = ("render_mode", "screen_height", "screen_width", "screen_scaling")

FOR_TWO = {"knights_archers_zombies": {"num_archers": 1, "num_knights": 1}}
"""Parameters that make an environment for two of one that has more agents by default."""

Given = tuple[tuple[str, Any], ...]


def library() -> Any:
    """Import PettingZoo; raises ImportError."""
    return import_module("pettingzoo")


def env_ids() -> dict[str, str]:
    """The newest version of each environment, by its bare name; raises ImportError."""
    specs = sorted(library().aec_registry.values(), key=lambda spec: spec.version or 0)
    return {spec.name: spec.id for spec in specs}


def make(name: str, parameters: dict[str, Any]) -> Any:
    """Create an environment for two; warnings of its libraries are suppressed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return library().make("aec", env_ids()[name], **(FOR_TWO.get(name, {}) | parameters))


def obstacle(env: Any) -> str | None:
    """Describe why an environment can't be played in a league; None if it can."""
    agents = env.possible_agents
    if len(agents) != 2:
        return f"has {len(agents)} agents, and a match has two players"
    for agent in agents:
        actions, seen = env.action_space(agent), env.observation_space(agent)
        if type(actions).__name__ != "Discrete":
            return f"has actions that are no numbered choices: {actions!r:.80}"
        seen = seen["observation"] if type(seen).__name__ == "Dict" else seen
        if math.prod(seen.shape) > MOST_NUMBERS:
            return f"shows {math.prod(seen.shape)} numbers at a time, more than the {MOST_NUMBERS} that fit a message"
    return None


class Life:
    """One environment, stepped to some state."""

    def __init__(self, env: Any, seed: int) -> None:
        self._env = env
        self._agents = list(env.possible_agents)
        self._observed: dict[int, Any] = {}
        self._out: set[int] = set()
        self.scores = [0.0, 0.0]
        env.reset(seed=seed)

    def actors(self) -> tuple[int, ...]:
        return (self._agents.index(self._env.agent_selection),) if self._env.agents else ()

    def legal(self, seat: int) -> list[int]:
        actions, seen = self._env.action_space(self._agents[seat]), self._observe(seat)
        first = int(actions.start)
        mask = seen.get("action_mask") if isinstance(seen, Mapping) else None
        if mask is None:
            return list(range(first, first + int(actions.n)))
        return [first + index for index, allowed in enumerate(mask.tolist()) if allowed]

    def seen(self, seat: int) -> Any:
        """The numbers that an agent observes; once it is terminated, those that it saw last."""
        found = self._observe(seat)
        found = found["observation"] if isinstance(found, Mapping) else found
        if str(getattr(found, "dtype", "")) == "bool":
            found = found.astype("uint8")
        return found.tolist() if hasattr(found, "tolist") else found

    def step(self, action: int) -> None:
        env = self._env
        env.step(action)
        self._observed = {seat: seen for seat, seen in self._observed.items() if seat in self._out}
        for seat, agent in enumerate(self._agents):
            self.scores[seat] += float(env.rewards.get(agent, 0))
            if env.terminations.get(agent) or env.truncations.get(agent):
                self._observe(seat)
                self._out.add(seat)
        while env.agents and (env.terminations[env.agent_selection] or env.truncations[env.agent_selection]):
            env.step(None)

    def _observe(self, seat: int) -> Any:
        if seat not in self._observed:
            self._observed[seat] = self._env.observe(self._agents[seat])
        return self._observed[seat]


class PettingZooRules:
    """The rules of one PettingZoo environment. With `tried`, parameters get no trial in a subprocess."""

    public_moves = False
    """In some environments, agents choose one after the other what counts as chosen at the same time."""

    def __init__(self, name: str, *, tried: bool = False) -> None:
        self._name = name
        self._tried = tried
        self._lives: dict[tuple[Given, tuple[int, ...], tuple[int, ...]], Life] = {}
        self._good: set[Given] = set()
        self._own: dict[str, Any] | None = None

    def new(self, config: Mapping[str, Any]) -> State:
        parameters = self._given(config)
        if _key(parameters) not in self._good:
            self._try(parameters)
            self._good.add(_key(parameters))
        return {"parameters": parameters, "seed": [], "actions": []}

    def actors(self, state: State) -> tuple[int, ...]:
        return (CHANCE,) if _is_drawing(state) else self._life(state).actors()

    def legal(self, state: State, seat: int) -> Sequence[Any]:
        if _is_drawing(state):
            return [(digit, 1) for digit in range(BASE)]
        return self._life(state).legal(seat) if seat in self.actors(state) else []

    def apply(self, state: State, moves: Mapping[int, Move]) -> State:
        ((_, move),) = moves.items()
        field = "seed" if _is_drawing(state) else "actions"
        return {**state, field: [*state[field], move]}

    def view(self, state: State, seat: int | None) -> Any:
        """Return the agent's observation as lists of numbers."""
        if seat is None:
            return state
        return {"observation": None if _is_drawing(state) else self._life(state).seen(seat)}

    def returns(self, state: State) -> tuple[float, float]:
        """Return the sum of each agent's rewards."""
        a, b = self._life(state).scores
        return (a, b)

    def _given(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """Read the parameters in the types of the environment's defaults; raises BadParameters."""
        if self._own is None:
            signature = inspect.signature(type(make(self._name, {}).unwrapped))
            found = {name: parameter.default for name, parameter in signature.parameters.items()}
            self._own = {name: own for name, own in found.items() if type(own) in KINDS and name not in FOR_THE_EYE}
        check_names(config, *self._own)
        given = set(config).difference(REPEATING)
        return {name: fitting(name, config[name], self._own[name]) for name in sorted(given)}

    def _try(self, parameters: dict[str, Any]) -> None:
        """Raise BadParameters for parameters that make no environment for two."""
        problem = complaint(type(self), self._name, parameters) if parameters and not self._tried else None
        if problem:
            raise BadParameters(f"PettingZoo makes no {self._name} of these: {problem}")
        problem = obstacle(make(self._name, parameters))
        if problem:
            raise BadParameters(f"it {problem}")

    def _life(self, state: State) -> Life:
        """Return the environment in this state, stepped from the previous one if that is cached, else replayed."""
        parameters, seed, actions = _key(state["parameters"]), tuple(state["seed"]), tuple(state["actions"])
        life = self._lives.get((parameters, seed, actions))
        if life is None:
            life = self._lives.pop((parameters, seed, actions[:-1]), None) if actions else None
            if life:
                life.step(actions[-1])
            else:
                life = Life(make(self._name, state["parameters"]), int.from_bytes(seed) >> 1)
                for action in actions:
                    life.step(action)
            if len(self._lives) >= MOST_LIVES:
                self._lives.clear()
            self._lives[parameters, seed, actions] = life
        return life


def _key(parameters: Mapping[str, Any]) -> Given:
    return tuple(sorted(parameters.items()))


def _is_drawing(state: State) -> bool:
    return len(state["seed"]) < DIGITS
