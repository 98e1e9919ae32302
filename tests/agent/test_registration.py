"""Belonging to a league: registering, coming back as oneself, and looking after a manager that may be away."""

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any, ClassVar

import pytest

from agent_league.agent.call_failures import describe_failed_contact
from agent_league.agent.caller_check import MAX_REFEREE_HASHES
from agent_league.agent.peer_client import PeerCall, PeerClient
from agent_league.agent.registration import LeagueRegistration, MemberSettings
from agent_league.clock import format_utc
from agent_league.config import SystemConfig
from agent_league.errors import CallFailed, LeagueFailed, Refusal
from agent_league.http.caller_address import CALLER_ADDRESS
from agent_league.http.carrier import Carrier
from agent_league.http.client import HttpCarrier
from agent_league.http.memory import MemoryNetwork
from agent_league.http.sign_up_address import add_sign_up_key
from agent_league.log import JsonLogger
from agent_league.model.agents import Role
from agent_league.protocol.tokens import SigningKey
from agent_league.protocol.version import PROTOCOL_V1, PROTOCOL_V2
from agent_league.testing.peers import RawReply, ScriptedAgent, always_reply, never_reply, reply_garbage
from agent_league.testing.virtual_time import VIRTUAL_START, VirtualClock, in_virtual_time
from tests.http.wire import raw_server
from tests.protocol.examples_v1 import example as v1

MANAGER = "http://localhost:8000/mcp"
KEY = SigningKey.generate()
ACCEPTED: dict[str, Any] = {
    "status": "ACCEPTED",
    "player_id": "P01",
    "auth_token": "tok-p01-abc",
    "league_id": "L1",
    "reason": None,
    "timestamp": "2025-01-15T10:00:00Z",
    "public_key": KEY.public_jwk,
}
STILL_THERE = {"message_type": "LEAGUE_QUERY_RESPONSE", "success": True, "league_status": "RUNNING"}
QUIET = 30
NOBODY = f"No League Manager answers at {MANAGER} {{}} (no connection: nobody is there); waiting for it."
Script = Callable[[Any], Awaitable[Any]]


def refused(code: str, message: str = "no") -> dict[str, Any]:
    return {"message_type": "LEAGUE_ERROR", "error_code": code, "message": message}


class Pocket:
    """Where the agent keeps its credentials; `full`: nothing goes in any more."""

    def __init__(self, content: Mapping[str, Any] | None = None) -> None:
        self.content = dict(content or {})
        self.full = False

    def load(self) -> dict[str, Any]:
        return dict(self.content)

    def save(self, content: dict[str, Any]) -> None:
        if self.full:
            raise OSError(28, "No space left on device")
        self.content = json.loads(json.dumps(content))


@dataclass(frozen=True, slots=True, kw_only=True)
class PocketSettings(MemberSettings):
    """A player that keeps its credentials in its pocket, not in a file."""

    role: ClassVar = Role.PLAYER
    pocket: Pocket

    @property
    def credentials(self) -> Any:
        return self.pocket


class Door(MemoryNetwork):
    """A network that notes when somebody knocks."""

    def __init__(self) -> None:
        super().__init__()
        self.knocks: list[float] = []

    async def exchange(
        self,
        endpoint: str,
        frame: bytes,
        limit: float,
        bearer: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, bytes]:
        self.knocks.append(asyncio.get_running_loop().time())
        return await super().exchange(endpoint, frame, limit, bearer)


class Agent:
    """One that wants to belong."""

    def __init__(
        self,
        log: JsonLogger,
        pocket: Pocket | None = None,
        *,
        skew: float = 0,
        protocol: str = PROTOCOL_V2,
        strict: bool = False,
        verify: bool = True,
        key_file: Path | None = None,
    ) -> None:
        self.network = Door()
        self.remarks: list[str] = []
        self.pocket = pocket or Pocket()
        system = SystemConfig(default_league_id="L1")
        settings = PocketSettings(
            system=system if verify else system.without_caller_checks(),
            home=Path(),
            manager=MANAGER,
            endpoint="http://localhost:8101/mcp",
            wanted_id="player-8101",
            display_name="Agent Alpha",
            protocol=protocol,
            pocket=self.pocket,
            key_file=key_file,
        )
        self.clock = VirtualClock(skew)
        client = PeerClient(self.network, strict=strict)
        self.session = LeagueRegistration(settings, client, self.clock, log, self.remarks.append, Random(7))

    def meets(self, register: Script, query: Script | None = None, standings: Script | None = None) -> ScriptedAgent:
        """The manager appears."""
        scripts = {"register_player": register, "league_query": query or always_reply(STILL_THERE)}
        if standings:
            scripts["get_standings"] = standings
        manager = ScriptedAgent(MANAGER, scripts)
        self.network.attach(MANAGER, manager.answer)
        return manager


@pytest.fixture
def agent(log: JsonLogger) -> Agent:
    return Agent(log)


def sent(manager: ScriptedAgent, field: str) -> list[Any]:
    """What stood in a field of the registrations, None where it was not there."""
    return [request.get(field) for request in manager.received_params("register_player")]


@in_virtual_time
async def test_an_accepted_agent_has_id_token_league_and_season(agent: Agent) -> None:
    manager = agent.meets(always_reply(ACCEPTED))
    session = agent.session
    assert (session.sender, session.league_key, session.registered.is_set()) == ("player:player-8101", None, False)
    await session.register()
    assert (session.agent_id, session.token, session.league_id) == ("P01", "tok-p01-abc", "L1")
    assert (session.sender, session.league_key) == ("player:P01", KEY.public_jwk["x"])
    assert session.registered.is_set()
    assert len(manager.received_params("register_player")) == 1


@in_virtual_time
async def test_whoever_waits_for_a_manager_is_told_once_what_it_waits_for(agent: Agent) -> None:
    registering = asyncio.create_task(agent.session.register())
    await asyncio.sleep(0.1)
    assert agent.remarks == []
    await asyncio.sleep(600)
    assert agent.remarks == [
        f"No League Manager answers at {MANAGER} yet (no connection: nobody is there); waiting for it."
    ]
    agent.meets(always_reply(ACCEPTED))
    await registering


@in_virtual_time
async def test_a_manager_that_is_not_there_is_waited_for_with_back_off(agent: Agent) -> None:
    registering = asyncio.create_task(agent.session.register())
    await asyncio.sleep(60)
    assert not registering.done()
    agent.meets(always_reply(ACCEPTED))
    await registering
    waits = [later - earlier for earlier, later in pairwise(agent.network.knocks)]
    assert waits[0] < 0.2
    assert all(later > earlier for earlier, later in pairwise(waits[:5]))
    assert max(waits) <= 3.3
    assert len(waits) > 15


@in_virtual_time
async def test_waiting_is_logged_now_and_then_and_not_each_time(agent: Agent, log: JsonLogger) -> None:
    registering = asyncio.create_task(agent.session.register())
    await asyncio.sleep(100)
    registering.cancel()
    await asyncio.wait([registering])
    lines = [json.loads(line) for line in log.log_file.read_text("utf-8").splitlines()]
    assert {line["event_type"] for line in lines} == {"manager_not_there"}
    assert 2 <= len(lines) <= 5


@in_virtual_time
async def test_a_manager_that_hangs_or_talks_rubbish_at_first_is_asked_again_with_the_same_key(agent: Agent) -> None:
    answers = [never_reply, reply_garbage, always_reply(refused("E016")), always_reply(ACCEPTED)]

    async def wake_up(params: Any) -> Any:
        return await answers.pop(0)(params)

    manager = agent.meets(wake_up)
    await agent.session.register()
    keys = sent(manager, "application_key")
    assert len(keys) == 4
    assert len(set(keys)) == 1
    assert len(keys[0]) >= 32
    assert agent.pocket.content["application_key"] == keys[0]


@in_virtual_time
async def test_the_key_is_saved_before_it_is_shown_so_that_a_kill_in_between_costs_nothing(log: JsonLogger) -> None:
    agent = Agent(log)
    manager = agent.meets(never_reply)
    registering = asyncio.create_task(agent.session.register())
    await manager.wait_for_calls("register_player")
    registering.cancel()
    await asyncio.wait([registering])
    reborn = Agent(log, agent.pocket)
    other = reborn.meets(always_reply(ACCEPTED))
    await reborn.session.register()
    assert sent(other, "application_key") == sent(manager, "application_key")
    assert sent(other, "auth_token") == [None]


@in_virtual_time
async def test_after_a_restart_it_is_who_it_was_before_the_manager_has_answered(log: JsonLogger) -> None:
    agent = Agent(log)
    agent.meets(always_reply(ACCEPTED))
    await agent.session.register()
    reborn = Agent(log, agent.pocket)
    session = reborn.session
    assert (session.agent_id, session.token, session.league_id) == ("P01", "tok-p01-abc", "L1")
    assert session.registered.is_set()
    await session.check_manager(manager_token("P01"))
    manager = reborn.meets(always_reply({**ACCEPTED, "auth_token": "tok-p01-new"}))
    await session.register()
    (request,) = manager.received_params("register_player")
    assert (request["sender"], request["auth_token"]) == ("player:P01", "tok-p01-abc")
    assert reborn.pocket.content["auth_token"] == session.token == "tok-p01-new"


@in_virtual_time
async def test_one_who_waits_to_come_back_does_so_at_once_when_the_manager_calls(log: JsonLogger) -> None:
    agent = Agent(log)
    agent.meets(always_reply(ACCEPTED))
    await agent.session.register()
    reborn = Agent(log, agent.pocket)
    registering = asyncio.create_task(reborn.session.register())
    loop = asyncio.get_running_loop()
    await asyncio.sleep(60)
    await asyncio.sleep(reborn.network.knocks[-1] + 3.5 - loop.time())  # the next one is at least 2 s away
    reborn.meets(always_reply(ACCEPTED))
    called = loop.time()
    await reborn.session.check_manager(manager_token("P01"))
    await registering
    assert loop.time() - called < 0.1


@in_virtual_time
async def test_a_call_of_a_new_league_that_overtakes_its_answer_is_judged_by_that_answer(log: JsonLogger) -> None:
    """The agent still has the key of an earlier league at this address."""
    earlier = SigningKey.generate().public_jwk
    kept = {"agent_id": "P01", "auth_token": "tok-p01-old", "league_id": "L1", "public_key": earlier}
    agent = Agent(log, Pocket(kept))
    calls: list[asyncio.Task[None]] = []

    async def answer_after_a_notice(params: Any) -> Any:
        if "auth_token" in params:
            return refused("E012")
        calls.append(asyncio.create_task(agent.session.check_manager(manager_token("P01"))))
        await asyncio.sleep(1)
        return ACCEPTED

    agent.meets(answer_after_a_notice)
    await agent.session.register()
    await calls[0]
    with pytest.raises(Refusal):
        await agent.session.check_manager(manager_token("P02"))


SPOILT: dict[str, dict[str, Any]] = {
    "nothing in it": {},
    "an id that leads out of the folder": {"agent_id": "../../evil", "auth_token": "tok-x"},
    "an id that is a number": {"agent_id": 7, "auth_token": "tok-x"},
    "a token that is a list": {"agent_id": "P01", "auth_token": ["tok-x"]},
    "a key that is none": {"agent_id": "P01", "auth_token": "tok-x", "public_key": {"kty": "OKP", "x": "no"}},
    "a key of another kind": {"agent_id": "P01", "auth_token": "tok-x", "public_key": [1]},
    "an application key that is an object": {"application_key": {"a": 1}},
}


@pytest.mark.parametrize("damage", SPOILT)
@in_virtual_time
async def test_spoilt_credentials_do_not_stop_an_agent(log: JsonLogger, damage: str) -> None:
    agent = Agent(log, Pocket(SPOILT[damage]))
    assert agent.session.agent_id in ("P01", "player-8101")
    agent.meets(always_reply(ACCEPTED))
    await agent.session.register()
    assert (agent.session.agent_id, agent.session.token) == ("P01", "tok-p01-abc")
    await agent.session.check_manager(manager_token("P01"))


@in_virtual_time
async def test_a_disk_that_is_full_is_logged_and_costs_nothing_else(agent: Agent, log: JsonLogger) -> None:
    agent.pocket.full = True
    agent.meets(always_reply(ACCEPTED))
    await agent.session.register()
    assert agent.session.token == "tok-p01-abc"
    assert "No space left on device" in log.log_file.read_text()
    assert "write_failed" in log.log_file.read_text()


NO_ANSWERS: list[Any] = [
    None,
    [],
    "ok",
    7,
    {},
    {"status": "ok"},
    {"status": "ACCEPTED"},
    {"status": "ACCEPTED", "player_id": 5},
]


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ({"status": "REJECTED", "player_id": None, "reason": "League full"}, "rejected the registration: League full"),
        ({"status": "REJECTED", "reason": "Invalid MCP endpoint", "detail": "why"}, r"Invalid MCP endpoint \(why\)"),
        (refused("E018", "too old"), "refuses the registration: .*E018 too old"),
        (refused("E012", "not a token of ours"), "not a token of ours"),
        ({**ACCEPTED, "player_id": "../evil"}, "can't name a file"),
        ({**ACCEPTED, "public_key": {"kty": "RSA"}}, "sent a public key that can't be used"),
        *[(answer, "answered the registration with") for answer in NO_ANSWERS],
    ],
)
@in_virtual_time
async def test_what_is_final_ends_the_registration_with_a_sentence(agent: Agent, answer: Any, sentence: str) -> None:
    manager = agent.meets(always_reply(answer))
    with pytest.raises(LeagueFailed, match=sentence):
        await agent.session.register()
    assert len(manager.received_params("register_player")) == 1


@in_virtual_time
async def test_a_host_that_is_no_manager_is_told_apart(agent: Agent) -> None:
    async def not_found(_: Any) -> Any:
        raise RawReply(b'{"jsonrpc": "2.0", "error": {"code": -32601, "message": "no such method"}, "id": 1}')

    agent.meets(not_found)
    with pytest.raises(LeagueFailed, match="refuses the registration: refused: no such method"):
        await agent.session.register()


@pytest.mark.parametrize("code", ["E005", "E012", "E013"])
@in_virtual_time
async def test_a_token_that_is_refused_is_dropped_and_the_next_try_goes_without(agent: Agent, code: str) -> None:
    async def judge(params: Any) -> Any:
        return refused(code) if "auth_token" in params else ACCEPTED

    manager = agent.meets(judge)
    agent.session.token = "tok-p01-old"
    await agent.session.register()
    assert sent(manager, "auth_token") == ["tok-p01-old", None]
    assert agent.session.token == "tok-p01-abc"


@in_virtual_time
async def test_a_token_or_league_that_is_no_string_is_none(agent: Agent) -> None:
    agent.meets(always_reply({**ACCEPTED, "auth_token": 5, "league_id": ["L1"], "timestamp": 7, "public_key": None}))
    await agent.session.register()
    assert (agent.session.token, agent.session.league_id, agent.session.league_key) == (None, None, None)


@in_virtual_time
async def test_neither_token_nor_key_is_in_the_log(agent: Agent, log: JsonLogger) -> None:
    agent.meets(always_reply(ACCEPTED))
    await agent.session.register()
    log.flush()
    text = log.log_file.read_text("utf-8")
    assert "registered" in text
    assert "tok-p01-abc" not in text
    assert agent.pocket.content["application_key"] not in text


@in_virtual_time
async def test_calls_that_find_a_token_stale_renew_it_once(agent: Agent) -> None:
    numbers = iter(range(100))

    async def register(_: Any) -> Any:
        await asyncio.sleep(1)
        return {**ACCEPTED, "auth_token": f"tok-p01-{next(numbers)}"}

    manager = agent.meets(register)
    await agent.session.register()
    await asyncio.gather(*(agent.session.renew_token("tok-p01-0") for _ in range(5)))
    await agent.session.renew_token("tok-p01-0")  # one that found out late
    assert agent.session.token == "tok-p01-1"
    assert sent(manager, "auth_token") == [None, "tok-p01-0"]


def manager_token(audience: str, key: SigningKey = KEY, league_id: str = "L1", lifetime: float = 600) -> str:
    return key.sign_manager_token(league_id=league_id, audience=audience, now=VIRTUAL_START, lifetime=lifetime)


def match_token(**changes: Any) -> str:
    claims: dict[str, Any] = {
        "league_id": "L1",
        "match_id": "R1M1",
        "referee_id": "REF01",
        "players": ("P01", "P02"),
        "audience": ["P01"],
    }
    return KEY.sign_match_token(**{**claims, **changes}, now=VIRTUAL_START, lifetime=600)


@pytest.mark.parametrize("hours", [0, -30, 5, 9000])
@in_virtual_time
async def test_a_clock_that_is_hours_wrong_does_not_make_good_tokens_bad(log: JsonLogger, hours: float) -> None:
    agent = Agent(log, skew=hours * 3600)
    agent.meets(always_reply(ACCEPTED))
    await agent.session.register()
    await agent.session.check_manager(manager_token("P01"))
    await agent.session.callers.check_match_token(match_token(), "R1M1", "REF01")
    await asyncio.sleep(700)
    with pytest.raises(Refusal, match="expired"):
        await agent.session.check_manager(manager_token("P01"))


@in_virtual_time
async def test_a_referee_that_goes_by_a_name_of_its_own_is_known_by_its_match_token(log: JsonLogger) -> None:
    agent = Agent(log)
    agent.meets(always_reply(ACCEPTED))
    await agent.session.register()
    await agent.session.callers.check_match_token(match_token(), "R1M1", "my-referee")
    for other in ("REF02", "P01"):
        with pytest.raises(Refusal):
            await agent.session.callers.check_match_token(match_token(), "R1M1", other)


async def with_time(_: Any) -> Any:
    """A manager that tells the right time."""
    return {**STILL_THERE, "timestamp": format_utc(VirtualClock().now())}


@pytest.mark.parametrize("hours", [-5, 5])
@in_virtual_time
async def test_a_clock_that_jumps_in_the_middle_of_a_league_does_not_make_good_tokens_bad(
    log: JsonLogger, hours: float
) -> None:
    agent = Agent(log)
    manager = agent.meets(always_reply(ACCEPTED), with_time)
    await agent.session.register()
    agent.clock.skew = hours * 3600
    await agent.session.check_manager(manager_token("P01"))
    await agent.session.callers.check_match_token(match_token(), "R1M1", "REF01")
    assert manager.received_params("league_query") == []


@in_virtual_time
async def test_one_who_comes_back_with_a_wrong_clock_takes_good_tokens_before_the_manager_has_answered(
    log: JsonLogger,
) -> None:
    agent = Agent(log)
    agent.meets(always_reply(ACCEPTED))
    await agent.session.register()
    reborn = Agent(log, agent.pocket, skew=5 * 3600)
    await reborn.session.callers.check_match_token(match_token(), "R1M1", "REF01")


@in_virtual_time
async def test_a_managers_clock_that_is_put_back_is_asked_for_once(agent: Agent) -> None:
    manager = agent.meets(always_reply({**ACCEPTED, "timestamp": "2025-01-15T15:00:00Z"}), with_time)
    await agent.session.register()
    for _ in range(3):
        await agent.session.check_manager(manager_token("P01"))
        await agent.session.callers.check_match_token(match_token(), "R1M1", "REF01")
    assert len(manager.received_params("league_query")) == 1


@pytest.mark.parametrize("is_there", [True, False])
@in_virtual_time
async def test_a_token_that_has_expired_stays_so_and_the_manager_is_rarely_asked_for_the_time(
    agent: Agent, is_there: bool
) -> None:
    manager = agent.meets(always_reply(ACCEPTED), with_time if is_there else never_reply)
    await agent.session.register()
    await asyncio.sleep(700)
    shown = [agent.session.check_manager(manager_token("P01")) for _ in range(50)]
    for refusal in await asyncio.gather(*shown, return_exceptions=True):
        assert isinstance(refusal, Refusal)
        assert "expired" in refusal.message
    assert len(manager.received_params("league_query")) == 1


FORGED: dict[str, str | None] = {
    "no token": None,
    "the agent's own token": "tok-p01-abc",
    "a token for somebody else": manager_token("P02"),
    "a token of another manager": manager_token("P01", SigningKey.generate()),
    "a token of another league": manager_token("P01", league_id="L2"),
    "a match token": match_token(),
}


@pytest.mark.parametrize("forgery", FORGED)
@in_virtual_time
async def test_a_call_that_the_manager_did_not_sign_is_refused(agent: Agent, forgery: str) -> None:
    agent.meets(always_reply(ACCEPTED))
    await agent.session.register()
    token = FORGED[forgery]
    with pytest.raises(Refusal, match="E011" if token is None else "E012"):
        await agent.session.check_manager(token)


@in_virtual_time
async def test_a_token_that_was_good_before_is_good_until_it_expires_and_no_other_is(agent: Agent) -> None:
    agent.meets(always_reply(ACCEPTED), always_reply(STILL_THERE))
    await agent.session.register()
    callers, token, shown = agent.session.callers, manager_token("P01"), match_token()
    for _ in range(2):
        await agent.session.check_manager(token)
        await callers.check_match_token(shown, "R1M1", "REF01")
    for forged in FORGED.values():
        with pytest.raises(Refusal):
            await agent.session.check_manager(forged)
    for match_id, referee_id in (("R1M2", "REF01"), ("R1M1", "REF02")):
        with pytest.raises(Refusal):
            await callers.check_match_token(shown, match_id, referee_id)
    await asyncio.sleep(629)
    await agent.session.check_manager(token)
    await callers.check_match_token(shown, "R1M1", "REF01")
    await asyncio.sleep(2)
    with pytest.raises(Refusal, match="expired"):
        await agent.session.check_manager(token)
    with pytest.raises(Refusal, match="expired"):
        await callers.check_match_token(shown, "R1M1", "REF01")


@in_virtual_time
async def test_a_token_that_was_good_under_other_keys_is_verified_again(agent: Agent) -> None:
    agent.meets(always_reply(ACCEPTED))
    await agent.session.register()
    token = manager_token("P01")
    await agent.session.check_manager(token)
    agent.session.callers.trust_keys("P01", "L1", SigningKey.generate().public_jwk, None)
    with pytest.raises(Refusal, match="didn't sign it"):
        await agent.session.check_manager(token)
    agent.session.callers.trust_keys("P07", "L1", KEY.public_jwk, None)
    with pytest.raises(Refusal, match="not meant for"):
        await agent.session.check_manager(token)


@pytest.mark.parametrize("public_key", [KEY.public_jwk, None])
@in_virtual_time
async def test_where_nobody_is_verified_or_no_key_was_sent_everybody_may_call(log: JsonLogger, public_key: Any) -> None:
    agent = Agent(log, verify=public_key is None)
    agent.meets(always_reply({**ACCEPTED, "public_key": public_key}))
    await agent.session.register()
    await agent.session.check_manager(None)
    await agent.session.callers.check_match_token(None, "R1M1", "REF01")


@in_virtual_time
async def test_a_manager_that_is_heard_is_not_asked(agent: Agent) -> None:
    manager = agent.meets(always_reply(ACCEPTED))
    await agent.session.register()
    waiting = asyncio.create_task(agent.session.watch_manager_until(asyncio.Event(), QUIET, lambda: None))
    for _ in range(20):
        await asyncio.sleep(QUIET - 1)
        await agent.session.check_manager(manager_token("P01", lifetime=86400))
    assert manager.received_params("league_query") == []
    await asyncio.sleep(QUIET + 1)
    (question,) = manager.received_params("league_query")
    assert (question["sender"], question["auth_token"]) == ("player:P01", "tok-p01-abc")
    assert question["query_type"] == "GET_NEXT_MATCH"
    waiting.cancel()
    await asyncio.wait([waiting])


@in_virtual_time
async def test_a_forged_call_is_no_sign_of_life_of_the_manager(agent: Agent) -> None:
    manager = agent.meets(always_reply(ACCEPTED))
    await agent.session.register()
    waiting = asyncio.create_task(agent.session.watch_manager_until(asyncio.Event(), QUIET, lambda: None))
    for _ in range(6):
        await asyncio.sleep(QUIET / 5)
        with pytest.raises(Refusal):
            await agent.session.check_manager(manager_token("P02"))
    assert len(manager.received_params("league_query")) == 1
    waiting.cancel()
    await asyncio.wait([waiting])


@in_virtual_time
async def test_the_end_of_the_league_ends_the_wait(agent: Agent) -> None:
    agent.meets(always_reply(ACCEPTED))
    await agent.session.register()
    done = asyncio.Event()
    asyncio.get_running_loop().call_later(5, done.set)
    await agent.session.watch_manager_until(done, QUIET, lambda: None)
    assert asyncio.get_running_loop().time() == 5


@in_virtual_time
async def test_an_end_that_nobody_told_of_is_learnt_by_asking(agent: Agent) -> None:
    agent.meets(always_reply(ACCEPTED), always_reply({**STILL_THERE, "league_status": "COMPLETED"}))
    await agent.session.register()
    done = asyncio.Event()
    async with asyncio.timeout(QUIET + 1):
        await agent.session.watch_manager_until(done, QUIET, done.set)


@pytest.mark.parametrize("code", ["E011", "E012", "E005", "E013"])
@in_virtual_time
async def test_a_manager_that_has_forgotten_us_is_registered_with_again(agent: Agent, code: str) -> None:
    known = False

    async def register(_: Any) -> Any:
        nonlocal known
        known = True
        return ACCEPTED

    async def query(_: Any) -> Any:
        return STILL_THERE if known else refused(code)

    manager = agent.meets(register, query)
    await agent.session.register()
    known = False
    waiting = asyncio.create_task(agent.session.watch_manager_until(asyncio.Event(), QUIET, lambda: None))
    await asyncio.sleep(10 * QUIET)
    assert sent(manager, "auth_token") == [None, "tok-p01-abc"]
    assert not waiting.done()
    waiting.cancel()
    await asyncio.wait([waiting])


@pytest.mark.parametrize("code", ["E008", "E014", "E015", "E016"])
@in_virtual_time
async def test_another_refusal_is_a_sign_of_life(agent: Agent, code: str) -> None:
    manager = agent.meets(always_reply(ACCEPTED), always_reply(refused(code)))
    await agent.session.register()
    waiting = asyncio.create_task(agent.session.watch_manager_until(asyncio.Event(), QUIET, lambda: None))
    await asyncio.sleep(3.5 * QUIET)
    assert len(manager.received_params("league_query")) == 3
    assert len(manager.received_params("register_player")) == 1
    assert agent.remarks == []
    waiting.cancel()
    await asyncio.wait([waiting])


@in_virtual_time
async def test_a_manager_that_was_away_is_waited_for_and_its_return_is_told(agent: Agent) -> None:
    first = agent.meets(always_reply(ACCEPTED))
    await agent.session.register()
    waiting = asyncio.create_task(agent.session.watch_manager_until(asyncio.Event(), QUIET, lambda: None))
    agent.network.detach(MANAGER)
    await asyncio.sleep(600)
    assert agent.remarks == [
        f"No League Manager answers at {MANAGER} any more (no connection: nobody is there); waiting for it."
    ]
    agent.network.attach(MANAGER, first.answer)
    await asyncio.sleep(5)
    assert agent.remarks[1:] == [f"The League Manager at {MANAGER} is back."]
    assert len(first.received_params("league_query")) == 1
    waiting.cancel()
    await asyncio.wait([waiting])


@in_virtual_time
async def test_a_manager_that_refuses_us_for_good_ends_the_wait_with_its_reason(agent: Agent) -> None:
    rejection = {"status": "REJECTED", "player_id": None, "reason": "Registration closed"}
    answers = [ACCEPTED, rejection]

    async def register(_: Any) -> Any:
        return answers.pop(0)

    agent.meets(register, always_reply(refused("E012")))
    await agent.session.register()
    with pytest.raises(LeagueFailed, match="Registration closed"):
        await agent.session.watch_manager_until(asyncio.Event(), QUIET, lambda: None)


@in_virtual_time
async def test_a_message_for_another_league_is_refused_once_we_belong_to_one(agent: Agent) -> None:
    agent.session.check_league("L2")
    agent.meets(always_reply(ACCEPTED))
    await agent.session.register()
    for good in (None, "L1"):
        agent.session.check_league(good)
    with pytest.raises(Refusal, match="E008"):
        agent.session.check_league("L2")


def in_shape(method: str, reply: Mapping[str, Any], wrap: Callable[[Any], Any] | None = None) -> Callable[..., Any]:
    """A manager that knows one method (or `bare`) and answers there; whatever else is asked, it has no such method."""

    async def answer(body: bytes, bearer: str | None = None) -> bytes:
        request = json.loads(body)
        if request.get("method", "bare") != method:
            return b'{"jsonrpc": "2.0", "error": {"code": -32601, "message": "no such method"}, "id": 1}'
        framed = {"jsonrpc": "2.0", "result": reply, "id": request.get("id")}
        return json.dumps(wrap(reply) if wrap else framed).encode()

    return answer


OTHER_MANAGERS: dict[str, Callable[..., Any]] = {
    "league_register": in_shape("league_register", ACCEPTED),
    "LEAGUE_REGISTER_REQUEST": in_shape("LEAGUE_REGISTER_REQUEST", ACCEPTED),
    "league_register_request": in_shape("league_register_request", ACCEPTED),
    "handle_message": in_shape("handle_message", ACCEPTED),
    "tools/call": in_shape("tools/call", {"content": [{"type": "text", "text": json.dumps(ACCEPTED)}]}),
    "bare": in_shape("bare", ACCEPTED, lambda reply: reply),
    "REGISTERED": in_shape("register_player", {**ACCEPTED, "status": "REGISTERED"}),
    "small letters": in_shape("register_player", {**ACCEPTED, "status": "accepted"}),
    "in result.message": in_shape("register_player", {"status": "ok", "message": ACCEPTED}),
    "request-shaped": in_shape(
        "register_player", {}, lambda _: {"method": "LEAGUE_REGISTER_RESPONSE", "params": ACCEPTED}
    ),
}


@pytest.mark.parametrize("manager", OTHER_MANAGERS)
@in_virtual_time
async def test_a_manager_that_refuses_the_seeds_form_is_applied_to_in_others(
    agent: Agent, log: JsonLogger, manager: str
) -> None:
    agent.network.attach(MANAGER, OTHER_MANAGERS[manager])
    await agent.session.register()
    assert (agent.session.agent_id, agent.session.token, agent.session.league_id) == ("P01", "tok-p01-abc", "L1")
    assert asyncio.get_running_loop().time() == 0
    (note,) = [line for line in logged(log) if line["event_type"] == "tolerated"]
    assert note["manager"] == MANAGER
    assert "tok-p01-abc" not in str(logged(log))
    knocks = len(agent.network.knocks)
    await agent.session.renew_token("tok-p01-abc")
    assert len(agent.network.knocks) == knocks + 1  # its style is known by now


def logged(log: JsonLogger) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.log_file.read_text("utf-8").splitlines()]


@in_virtual_time
async def test_a_key_that_is_written_while_the_registration_is_on_its_way_is_used(
    log: JsonLogger, tmp_path: Path
) -> None:
    file, key = tmp_path / "referee.key", "key-" + "a" * 43
    agent = Agent(log, key_file=file)

    async def reject_and_write_key(_: Any) -> Any:
        file.write_text(key, encoding="ascii")
        return {"status": "REJECTED", "player_id": None, "reason": "Registration closed"}

    agent.meets(reject_and_write_key)
    with_key = ScriptedAgent(add_sign_up_key(MANAGER, key), {"register_player": always_reply(ACCEPTED)})
    agent.network.attach(with_key.endpoint, with_key.answer)
    await agent.session.register()
    assert (agent.session.agent_id, len(agent.network.knocks)) == ("P01", 2)


@in_virtual_time
async def test_a_manager_may_take_registrations_at_a_path_of_their_own(agent: Agent) -> None:
    heard: list[dict[str, Any]] = []

    async def register(body: bytes, bearer: str | None = None) -> bytes:
        heard.append(json.loads(body))
        return json.dumps(ACCEPTED).encode()

    agent.network.attach(MANAGER, in_shape("nothing", {}))
    agent.network.attach("http://localhost:8000/register", register)
    await agent.session.register()
    (request,) = heard
    assert (request["message_type"], agent.session.agent_id) == ("LEAGUE_REGISTER_REQUEST", "P01")


@in_virtual_time
async def test_a_manager_that_knows_no_registration_at_all_is_given_up_with_its_words(agent: Agent) -> None:
    agent.network.attach(MANAGER, in_shape("nothing", {}))
    agent.network.attach("http://localhost:8000/register", in_shape("nothing", {}))
    with pytest.raises(LeagueFailed, match="no such method"):
        await agent.session.register()
    assert asyncio.get_running_loop().time() == 0


@in_virtual_time
async def test_a_manager_that_only_acknowledges_is_given_up_with_what_it_said(agent: Agent) -> None:
    agent.meets(always_reply({"status": "ok"}))
    with pytest.raises(LeagueFailed, match="answered the registration with"):
        await agent.session.register()


@in_virtual_time
async def test_a_rejection_in_another_spelling_is_one(agent: Agent) -> None:
    agent.meets(always_reply({"status": "rejected", "reason": "League full"}))
    with pytest.raises(LeagueFailed, match="rejected the registration: League full"):
        await agent.session.register()


@in_virtual_time
async def test_no_token_goes_beside_a_call_to_the_manager(agent: Agent) -> None:
    bearers: list[str | None] = []
    known = in_shape("LEAGUE_REGISTER_REQUEST", ACCEPTED)

    async def answer(body: bytes, bearer: str | None = None) -> bytes:
        bearers.append(bearer)
        reply: bytes = await known(body)
        return reply

    agent.network.attach(MANAGER, answer)
    await agent.session.register()
    await agent.session.renew_token("tok-p01-abc")
    assert set(bearers) == {None}


@in_virtual_time
async def test_a_strict_agent_applies_in_the_seeds_form_alone(log: JsonLogger) -> None:
    agent = Agent(log, strict=True)
    agent.network.attach(MANAGER, in_shape("LEAGUE_REGISTER_REQUEST", ACCEPTED))
    with pytest.raises(LeagueFailed, match="no such method"):
        await agent.session.register()
    assert len(agent.network.knocks) == 1


V1_ACCEPTED = {
    **v1("LEAGUE_REGISTER_RESPONSE"),
    "status": "ACCEPTED",
    "player_id": "player_007",
    "reason": None,
}


class V1Manager:
    """Answers bare messages with bare messages."""

    def __init__(self, *replies: Mapping[str, Any], frame: bool = False) -> None:
        self.heard: list[dict[str, Any]] = []
        self._replies = list(replies)
        self._frame = frame

    async def answer(self, body: bytes, bearer: str | None = None) -> bytes:
        self.heard.append(json.loads(body))
        reply = self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]
        return json.dumps({"jsonrpc": "2.0", "result": reply, "id": 1} if self._frame else reply).encode()


@pytest.mark.parametrize("frame", [False, True])
@in_virtual_time
async def test_an_agent_of_v1_registers_with_a_bare_message_of_001_and_nothing_beside(
    log: JsonLogger, frame: bool
) -> None:
    agent, manager = Agent(log, protocol=PROTOCOL_V1), V1Manager(V1_ACCEPTED, frame=frame)
    agent.network.attach(MANAGER, manager.answer)
    await agent.session.register()
    (request,) = manager.heard
    golden = v1("LEAGUE_REGISTER_REQUEST")
    assert request.keys() == golden.keys()
    assert request["player_meta"] == {
        "display_name": "Agent Alpha",
        "version": "1.0.0",
        "game_types": ["even_odd"],
        "contact_endpoint": "mcp://localhost:8101/player_player-8101",
    }
    fixed = ("protocol", "message_type", "round_id", "match_id", "sender")
    assert [request[name] for name in fixed] == [golden[name] for name in fixed]
    assert request["timestamp"] == "2025-01-15T10:00:00.000Z"
    session = agent.session
    assert (session.agent_id, session.token, session.league_id) == ("player_007", None, V1_ACCEPTED["league_id"])
    assert not session.callers.has_key


@in_virtual_time
async def test_an_agent_of_v1_that_is_rejected_ends_with_the_reason(log: JsonLogger) -> None:
    agent = Agent(log, protocol=PROTOCOL_V1)
    rejection = {**V1_ACCEPTED, "status": "REJECTED", "player_id": None, "reason": "Registration closed"}
    agent.network.attach(MANAGER, V1Manager(rejection).answer)
    with pytest.raises(LeagueFailed, match="Registration closed"):
        await agent.session.register()


@in_virtual_time
async def test_an_agent_of_v1_asks_after_a_quiet_manager_by_registering_again(log: JsonLogger) -> None:
    agent, manager = Agent(log, protocol=PROTOCOL_V1), V1Manager(V1_ACCEPTED)
    agent.network.attach(MANAGER, manager.answer)
    await agent.session.register()
    waiting = asyncio.create_task(agent.session.watch_manager_until(asyncio.Event(), QUIET, lambda: None))
    await asyncio.sleep(2.5 * QUIET)
    assert [message["message_type"] for message in manager.heard] == ["LEAGUE_REGISTER_REQUEST"] * 3
    agent.network.detach(MANAGER)
    await asyncio.sleep(600)
    assert agent.remarks == [
        f"No League Manager answers at {MANAGER} any more (no connection: nobody is there); waiting for it."
    ]
    waiting.cancel()
    await asyncio.wait([waiting])


@in_virtual_time
async def test_an_agent_of_v1_finds_out_that_its_manager_plays_another_league_by_now(log: JsonLogger) -> None:
    """Every league has a UUID of its own, so the old one would refuse all that the new one says."""
    other = {**V1_ACCEPTED, "league_id": "9e107d9d-372b-4b68-8f2a-0c1e5a3f4b6d", "player_id": "player_003"}
    agent, manager = Agent(log, protocol=PROTOCOL_V1), V1Manager(V1_ACCEPTED, V1_ACCEPTED, other)
    agent.network.attach(MANAGER, manager.answer)
    await agent.session.register()
    waiting = asyncio.create_task(agent.session.watch_manager_until(asyncio.Event(), QUIET, lambda: None))
    await asyncio.sleep(1.5 * QUIET)
    assert (agent.session.agent_id, agent.remarks) == ("player_007", [])
    await asyncio.sleep(QUIET)
    assert (agent.session.agent_id, agent.session.league_id) == ("player_003", other["league_id"])
    assert agent.remarks == ["Registered again, as player_003."]
    first, *later = manager.heard
    assert {message["league_id"] for message in later} == {V1_ACCEPTED["league_id"]}, "what it knows it says"
    assert first["league_id"] != V1_ACCEPTED["league_id"]
    assert len({message["conversation_id"] for message in manager.heard}) == len(manager.heard)
    waiting.cancel()
    await asyncio.wait([waiting])


OWN = "tok-ref02-of-a-referee-that-shows-its-own"
OWN_HASH = hashlib.sha256(OWN.encode()).hexdigest()


@in_virtual_time
async def test_a_referee_s_own_token_is_good_for_the_match_that_the_manager_vouched_for(agent: Agent) -> None:
    agent.meets(always_reply(ACCEPTED))
    await agent.session.register()
    with pytest.raises(Refusal, match="E012"):
        await agent.session.callers.check_match_token(OWN, "R1M1", "REF02")
    agent.session.callers.add_referee_hashes({"R1M1": OWN_HASH, "R1M2": None})
    await agent.session.callers.check_match_token(OWN, "R1M1", "REF02")
    for token, match_id in ((OWN, "R1M2"), (OWN, "R9M9"), (OWN_HASH, "R1M1"), (OWN + "x", "R1M1"), ("", "R1M1")):
        with pytest.raises(Refusal, match=r"E01[12]"):
            await agent.session.callers.check_match_token(token, match_id, "REF02")
    await agent.session.callers.check_match_token(match_token(), "R1M1", "REF01")  # a match token is as good as before
    agent.session.callers.add_referee_hashes({"R2M1": OWN_HASH})
    await agent.session.callers.check_match_token(OWN, "R1M1", "REF02")  # its match may still be played
    agent.session.callers.add_referee_hashes({"R1M1": None})  # it is given to another referee
    with pytest.raises(Refusal, match="E012"):
        await agent.session.callers.check_match_token(OWN, "R1M1", "REF02")


@in_virtual_time
async def test_of_many_referees_tokens_the_latest_are_remembered(agent: Agent) -> None:
    agent.meets(always_reply(ACCEPTED))
    await agent.session.register()
    for number in range(MAX_REFEREE_HASHES + 5):
        agent.session.callers.add_referee_hashes({f"R{number}M1": OWN_HASH})
    with pytest.raises(Refusal, match="E012"):
        await agent.session.callers.check_match_token(OWN, "R4M1", "REF02")
    await agent.session.callers.check_match_token(OWN, "R5M1", "REF02")


class Other:
    """Something at the manager's address that isn't one: it answers everything alike."""

    def __init__(self, status: int, body: Any) -> None:
        self.status = status
        self.body = body if isinstance(body, bytes) else json.dumps(body).encode()

    async def exchange(
        self,
        endpoint: str,
        frame: bytes,
        limit: float,
        bearer: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, bytes]:
        return self.status, self.body

    async def close(self) -> None:
        """Nothing is held open."""


def agent_at(log: JsonLogger, other: Carrier) -> Agent:
    agent = Agent(log)
    agent.session._peer_client = PeerClient(other)
    return agent


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (404, b"<h1>Not Found</h1>", "what is there answers HTTP 404 to every form of the question"),
        (404, {"detail": "Not Found"}, "what is there answers HTTP 404 to every form of the question"),
        (
            404,
            b"Each league has an address of its own",
            "what is there answers HTTP 404 to every form of the question: is the address right? It says: Each league",
        ),
        (502, b"Bad Gateway", "what is there answers: HTTP 502: Bad Gateway"),
        (400, {"detail": "name too long"}, "what is there answers: HTTP 400: name too long"),
    ],
)
@in_virtual_time
async def test_whoever_waits_for_a_manager_is_told_what_answers_instead(
    log: JsonLogger, status: int, body: Any, said: str
) -> None:
    agent = agent_at(log, Other(status, body))
    registering = asyncio.create_task(agent.session.register())
    await asyncio.sleep(60)
    assert [remark.startswith(f"No League Manager answers at {MANAGER} yet ({said}") for remark in agent.remarks] == [
        True
    ], agent.remarks
    registering.cancel()
    await asyncio.wait([registering])


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (
            200,
            {"jsonrpc": "2.0", "result": None, "error": {"code": -32000, "message": "League is full"}},
            "League is full",
        ),
        (409, {"detail": "Duplicate display name"}, "HTTP 409: Duplicate display name"),
        (403, {"error": {"message": "Registration closed"}}, "Registration closed"),
        (200, {"jsonrpc": "2.0", "error": {"code": -32601, "message": "Method not found"}}, "Method not found"),
    ],
)
@in_virtual_time
async def test_a_refused_registration_ends_with_the_manager_s_own_sentence(
    log: JsonLogger, status: int, body: Any, said: str
) -> None:
    with pytest.raises(LeagueFailed, match=f"{MANAGER} refuses the registration: .*{said}"):
        async with asyncio.timeout(60):
            await agent_at(log, Other(status, body)).session.register()


@in_virtual_time
async def test_of_many_answers_the_one_that_understood_is_told(log: JsonLogger) -> None:
    class Rest(Other):
        async def exchange(self, endpoint: str, *rest: Any, **more: Any) -> tuple[int, bytes]:
            found = endpoint.endswith("/register")
            return await super().exchange(endpoint, *rest, **more) if found else (404, b"{}")

    with pytest.raises(LeagueFailed, match="refuses the registration: HTTP 403: League full"):
        async with asyncio.timeout(60):
            await agent_at(log, Rest(403, {"detail": "League full"})).session.register()


FOREIGN = {name: value for name, value in ACCEPTED.items() if name != "public_key"}


@pytest.mark.parametrize("changes", [{"status": "REGISTERED"}, {"status": "ok"}, {"status": None}])
@in_virtual_time
async def test_a_manager_that_gives_an_id_and_refuses_nothing_has_accepted(
    agent: Agent, changes: dict[str, Any]
) -> None:
    agent.meets(always_reply({**FOREIGN, **changes}))
    await agent.session.register()
    assert (agent.session.agent_id, agent.session.token) == ("P01", "tok-p01-abc")
    assert agent.session.has_foreign_manager


@in_virtual_time
async def test_id_and_token_may_go_by_other_names(agent: Agent) -> None:
    given = {"status": "REGISTERED", "agent_id": "P07", "token": "secret-7"}
    agent.meets(always_reply(given))
    await agent.session.register()
    assert (agent.session.agent_id, agent.session.token) == ("P07", "secret-7")


@pytest.mark.parametrize(
    ("address", "passes"), [("127.0.0.1", True), ("::1", True), ("203.0.113.9", False), ("", False)]
)
@in_virtual_time
async def test_a_manager_without_a_key_is_known_by_where_it_was_when_we_registered(
    agent: Agent, address: str, passes: bool
) -> None:
    agent.meets(always_reply(FOREIGN))
    await agent.session.register()
    CALLER_ADDRESS.set((address, 9))
    if passes:
        await agent.session.check_manager(None)
        return
    with pytest.raises(Refusal, match=f"E012.*only the league manager at {MANAGER} may call this") as refused:
        await agent.session.check_manager(None)
    assert refused.value.context == {"expected": ["this machine"], "received": address}


@in_virtual_time
async def test_whose_a_manager_is_is_decided_once(agent: Agent) -> None:
    agent.meets(always_reply(ACCEPTED))
    await agent.session.register()
    agent.meets(always_reply(FOREIGN))
    with pytest.raises(LeagueFailed, match="signed what it said when we registered, and now it doesn't"):
        await agent.session.renew_token(agent.session.token)
    with pytest.raises(Refusal, match="E011"):
        await agent.session.check_manager(None)


@in_virtual_time
async def test_after_a_restart_another_manager_at_the_same_address_may_be_a_stranger(log: JsonLogger) -> None:
    before = Agent(log)
    before.meets(always_reply(ACCEPTED))
    await before.session.register()
    after = Agent(log, before.pocket)
    after.meets(always_reply(FOREIGN))
    await after.session.register()
    assert after.session.has_foreign_manager


@in_virtual_time
async def test_a_stranger_s_call_waits_until_we_know_again_where_its_manager_is(log: JsonLogger) -> None:
    before = Agent(log)
    before.meets(always_reply(FOREIGN))
    await before.session.register()
    after = Agent(log, before.pocket)
    assert not after.session.registered.is_set()


async def test_whoever_waits_for_a_manager_is_told_why_tls_fails(log: JsonLogger) -> None:
    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    carrier = HttpCarrier()
    async with raw_server(plain) as url:
        address = url.replace("http:", "https:")
        with pytest.raises(CallFailed) as failed:
            await PeerClient(carrier).request_answer(
                address, PeerCall("register_player", {}, "LEAGUE_REGISTER_RESPONSE"), 5
            )
    await carrier.close()
    assert describe_failed_contact(address, failed.value).startswith("TLS fails: no TLS (")
