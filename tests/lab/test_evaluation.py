"""A player is judged: real referee, real HTTP where the player is outside, few games."""

import asyncio
import json
import re
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from agent_league.check.scripted_agents import CheckerManager
from agent_league.config import ConfigLoader
from agent_league.errors import CallFailed, UserError
from agent_league.games.registry import load_game
from agent_league.http.client import HttpCarrier
from agent_league.http.memory import MemoryNetwork
from agent_league.http.server import HttpServer
from agent_league.lab.evaluation.criteria import CriterionVerdict, judge_criteria
from agent_league.lab.evaluation.evaluator import EvaluationRequest, Evaluator, plan_seeds
from agent_league.lab.evaluation.findings import list_remarks
from agent_league.lab.evaluation.in_process_players import InProcessLeague, InProcessPlayer, start_in_process_players
from agent_league.lab.evaluation.model import Evaluation, GameEnding, MoveCounts
from agent_league.lab.evaluation.opponents import choose_opponents
from agent_league.lab.evaluation.private_league import MAX_REGISTRATIONS, PRACTICE_LEAGUE_ID, PracticeManager
from agent_league.lab.evaluation.report import render_html, render_markdown
from agent_league.lab.experiment.calls import CallSettings
from agent_league.lab.experiment.experiment import Experiment, ExperimentResults
from agent_league.lab.experiment.running import RunProgress
from agent_league.launch.agent_plan import PlayerPlan
from agent_league.launch.serving import serve_agents
from agent_league.players.app import PlayerSettings
from agent_league.players.strategies import load_strategy
from agent_league.protocol.tokens import SigningKey
from agent_league.protocol.version import PROTOCOL_V1, PROTOCOL_V2
from agent_league.storage.repositories import PlayerHistoryRepository
from agent_league.testing.peers import Params, RawReply, Script, ScriptedPlayer, never_reply
from tests.conftest import BOUND, free_ports
from tests.launch.scripted_guests import served

EVEN_ODD = load_game("even_odd")
VALID, TIMEOUTS, TECHNICAL, WINS, GRACEFUL, OWN_MOVES = range(6)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the key of the manager that we play is kept."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


async def evaluated(player: str, **more: Any) -> Evaluation:
    request: dict[str, Any] = {"game": EVEN_ODD, "seed": "7", "games": 4, "wait_seconds": 5.0, **more}
    evaluator = Evaluator(EvaluationRequest(player=player, **request))
    with TemporaryDirectory() as folder:
        async with asyncio.timeout(BOUND):
            return await asyncio.to_thread(evaluator.run, Path(folder))


def verdicts(evaluation: Evaluation) -> list[CriterionVerdict]:
    return [criterion.verdict for criterion in judge_criteria(evaluation)]


def without_times(evaluation: Evaluation) -> Any:
    series = [
        replace(one, games=tuple(replace(game, seconds=(0.0,) * len(game.seconds)) for game in one.games))
        for one in evaluation.series
    ]
    return asdict(replace(evaluation, series=tuple(series), started_at="", seconds=0.0, playing_seconds=0.0))


async def test_the_same_seed_gives_the_same_games() -> None:
    first, again = await evaluated("markov", earlier="random"), await evaluated("markov", earlier="random")
    other = await evaluated("markov", earlier="random", seed="8")

    assert without_times(first) == without_times(again)
    assert [game.ending for game in first.games] != [game.ending for game in other.games]
    assert [(series.opponent, series.description) for series in first.series] == [
        ("random", "plays any legal move"),
        ("always first", "plays the first legal move (even)"),
        ("always last", "plays the last legal move (odd)"),
        ("mirror", "copies the last move of the other"),
        ("earlier version", "random"),
    ]


async def test_two_of_a_kind_have_dice_of_their_own() -> None:
    endings = [game.ending for game in (await evaluated("random", games=12)).series[0].games]

    assert set(endings) - {GameEnding.DRAW}


async def test_sides_alternate_and_all_answers_are_read() -> None:
    found = await evaluated("random", games=4)

    assert [game.seat for game in found.series[0].games] == [0, 1, 0, 1]
    assert found.message_count == 2 * 4 * 4
    assert (found.fault_count, found.timeout_count) == (0, 0)
    assert found.response_times is not None
    assert 0 < found.response_times.median <= found.response_times.late <= found.response_times.longest


async def test_without_an_earlier_version_its_row_says_how_to_name_one() -> None:
    last = (await evaluated("random", games=1)).series[-1]

    assert (last.opponent, last.games) == ("earlier version", ())
    assert "--earlier" in last.cut_short_reason


@pytest.mark.parametrize("protocol", [PROTOCOL_V1, PROTOCOL_V2])
@pytest.mark.parametrize("game", ["tic_tac_toe", "even_odd"])
async def test_a_strategy_speaks_either_protocol_to_the_letter(protocol: str, game: str) -> None:
    found = await evaluated("first_legal", game=load_game(game), protocol=protocol, games=2)

    assert found.protocol == protocol
    assert found.message_count > 8
    assert not found.fault_count
    assert not any(game.ending is GameEnding.TECHNICAL_LOSS for game in found.games)


async def test_a_player_of_either_protocol_has_its_id_whoever_registered_before_it(tmp_path: Path) -> None:
    manager = PracticeManager(0, SigningKey.generate())
    room = InProcessLeague(MemoryNetwork(), manager, tmp_path, "even_odd", seed="7")
    strategy = load_strategy("random")
    async with asyncio.timeout(BOUND), AsyncExitStack() as stack:
        for player_id, protocol in (("P901", PROTOCOL_V2), ("P01", PROTOCOL_V1), ("P902", PROTOCOL_V1)):
            player = InProcessPlayer(player_id, strategy, f"random {player_id}", protocol)
            await stack.enter_async_context(start_in_process_players([player], room, print))
    assert [*manager.tokens] == ["P901", "P01", "P902"]


async def test_no_name_server_is_asked_for_players_of_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_up = []

    def look_up(host: str, *_: Any, **__: Any) -> Any:
        looked_up.append(host)
        raise socket.gaierror(socket.EAI_NONAME, "no name server")

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    found = await evaluated("random", games=1)

    assert (found.fault_count, looked_up) == (0, [])


async def test_a_game_of_amounts_tells_the_mean_payoff() -> None:
    found = await evaluated(
        "always_defect", game=load_game("prisoners_dilemma").with_parameters({"repeat": 4}), games=2
    )
    first = found.find_series("always first")

    assert first is not None
    assert first.score.mean_payoff is not None
    assert first.score.mean_payoff.value == 20.0  # "cooperate" comes first: four times 5
    assert judge_criteria(found)[WINS].verdict is CriterionVerdict.NOT_JUDGED


@pytest.mark.parametrize(
    ("games", "planned"),
    [(1, (1, 1)), (2, (1, 1)), (3, (2, 1)), (20, (10, 1)), (22, (6, 2)), (100, (10, 5)), (202, (6, 17))],
)
def test_each_seed_has_equally_many_games_on_both_sides(games: int, planned: tuple[int, int]) -> None:
    assert plan_seeds(games) == planned


async def test_the_time_is_shared_out_among_the_opponents() -> None:
    found = await evaluated("random", games=10_000, max_seconds=4)

    assert all("--minutes" in series.cut_short_reason for series in found.series[:4])
    assert found.series[0].games


async def test_what_was_found_so_far_can_be_had_at_any_moment(tmp_path: Path) -> None:
    seen: list[RunProgress] = []

    def stop(now: RunProgress) -> None:
        seen.append(now)
        if now.games == 40:
            raise KeyboardInterrupt

    running_one = Evaluator(EvaluationRequest(player="random", game=EVEN_ODD, seed="7", games=60))
    with pytest.raises(KeyboardInterrupt):
        running_one.run(tmp_path, stop)
    found = running_one.current_evaluation(interrupted=True)

    assert found.interrupted
    assert [one.games for one in seen] == list(range(1, 41)), "each game is told"
    assert {one.total for one in seen} == {4 * 60}
    assert len(found.games) == 40
    assert not any(series.cut_short_reason for series in found.series[:4])
    assert list(ExperimentResults(tmp_path).rows()), "what is whole is written"


async def test_a_strategy_of_another_game_is_remarked_on() -> None:
    found = await evaluated("always_even", game=load_game("nim"), games=1)

    assert found.remarks == ("always_even is made for even_odd, not for nim.",)


CLUMSY = '''
class Strategy:
    """Fails now, cheats then."""

    instant = True
    asked = 0

    {kind} choose(self, observation):
        self.asked += 1
        if self.asked % 2:
            raise ValueError("no idea")
        return "banana"
'''


@pytest.mark.parametrize("kind", ["def", "async def"])
async def test_a_strategy_that_fails_is_no_strategy(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "clumsy.py"
    path.write_text(CLUMSY.format(kind=kind))
    found = await evaluated(str(path), games=2)

    assert found.moves is not None
    assert (found.moves.asked, found.moves.failed) == (8, 8)
    assert re.fullmatch(r"ValueError: no idea \(clumsy.py:\d+\)", found.moves.first_failure)
    assert judge_criteria(found)[OWN_MOVES].verdict is CriterionVerdict.FAIL
    assert "failed in 8 of 8 moves" in judge_criteria(found)[OWN_MOVES].found


async def test_a_strategy_that_never_fails_makes_all_its_moves() -> None:
    found = await evaluated("q_learning", games=2)

    assert found.moves == MoveCounts(asked=8)
    assert judge_criteria(found)[OWN_MOVES].verdict is CriterionVerdict.PASS


async def test_where_nothing_can_be_copied_no_mirror_plays() -> None:
    found = await evaluated("random", game=load_game("tic_tac_toe"), games=1)
    mirror = found.find_series("mirror")

    assert mirror is not None
    assert not mirror.games
    assert "none that could be copied" in mirror.cut_short_reason
    assert any(line.startswith("mirror: not played: ") for line in list_remarks(found))


@pytest.mark.parametrize(
    ("game", "plays"),
    [
        ("even_odd", True),
        ("prisoners_dilemma", True),
        ("rock_paper_scissors", True),
        ("kuhn_poker", True),
        ("tic_tac_toe", False),
        ("connect_four", False),
        ("nim", False),
    ],
)
def test_a_mirror_needs_rounds_of_one_move_each(game: str, plays: bool) -> None:
    opponents = choose_opponents(load_game(game))

    assert [one.strategy for one in opponents] == ["random", "first_legal", "last_legal", "mirror", ""]
    assert (not opponents[-2].left_out_reason) is plays


@pytest.mark.parametrize(
    ("player", "earlier", "sentence"),
    [
        ("randm", None, "neither the address of a player"),
        ("random", "nobody", "neither the address of a player"),
        ("localhost:9", "localhost:9", "--earlier names the player itself"),
        ("http://me:pw@localhost:9/mcp", None, "^PLAYER: should be an address without a password"),
        ("random", "localhost:9/mcp?key=1", "^--earlier: should be an address without a password"),
        (__file__, None, "expected a function choose"),
    ],
)
def test_what_is_no_player_is_refused_before_anything_starts(player: str, earlier: str | None, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        Evaluator(EvaluationRequest(player=player, game=EVEN_ODD, seed="7", earlier=earlier))


async def test_an_address_where_nobody_is_is_named() -> None:
    with pytest.raises(UserError, match="start it first"):
        await evaluated(f"localhost:{free_ports(1)}", manager_port=free_ports(1), wait_seconds=0.1)


@asynccontextmanager
async def our_player(
    home: Path, port: int, manager: str, overrides: dict[str, Any] | None = None, **more: Any
) -> AsyncIterator[None]:
    """A real player of ours, behind a real server."""
    settings = PlayerSettings(
        system=ConfigLoader(home, overrides or {}).load_system(),
        home=home,
        manager=manager,
        endpoint=f"http://localhost:{port}/mcp",
        wanted_id="P01",
        seed="3",
        **{"display_name": "Alpha", **more},
    )
    ready, stop = asyncio.Event(), asyncio.Event()
    serving = asyncio.create_task(serve_agents([PlayerPlan(settings, port, strategy="markov")], stop, ready=ready.set))
    try:
        async with asyncio.timeout(BOUND):
            await ready.wait()
        yield
    finally:
        stop.set()
        await serving


@pytest.mark.parametrize("protocol", [PROTOCOL_V1, PROTOCOL_V2])
async def test_a_player_that_verifies_its_callers_registers_and_is_judged_over_http(home: Path, protocol: str) -> None:
    port = free_ports(2)
    async with our_player(home, port, f"http://localhost:{port + 1}/mcp", protocol=protocol):
        found = await evaluated(f"localhost:{port}", manager_port=port + 1, games=14)
        again = await evaluated(
            f"http://localhost:{port}/mcp", manager_port=port + 1, games=2, seed="8", wait_seconds=0.5
        )

    assert (found.player, found.protocol) == ("Alpha", protocol)
    assert (found.message_count, found.fault_count, found.registration_faults) == (2 * 14 * 4 + 1, 0, ())
    assert found.moves is None
    assert verdicts(found) == [
        CriterionVerdict.PASS,
        CriterionVerdict.PASS,
        CriterionVerdict.PASS,
        CriterionVerdict.NOT_JUDGED,
        CriterionVerdict.PASS,
    ]
    assert found.conformance.passed > 15
    assert (len(again.games), again.fault_count) == (8, 0)


async def test_the_earlier_version_may_be_a_running_player_too(home: Path) -> None:
    port = free_ports(3)
    manager = f"http://localhost:{port + 2}/mcp"
    async with (
        our_player(home, port, manager),
        our_player(home, port + 1, manager, display_name="Old", protocol=PROTOCOL_V1),
    ):
        found = await evaluated(
            f"localhost:{port}", earlier=f"localhost:{port + 1}", manager_port=port + 2, games=2, wait_seconds=BOUND
        )

    assert [len(series.games) for series in found.series] == [2, 2, 2, 2, 2]
    assert (found.player, found.fault_count, found.series[-1].cut_short_reason) == ("Alpha", 0, "")


async def test_the_player_remembers_what_it_plays_in_a_private_league(home: Path) -> None:
    port = free_ports(2)
    async with our_player(home, port, f"http://localhost:{port + 1}/mcp"):
        await evaluated(f"localhost:{port}", manager_port=port + 1, games=2)
    matches = PlayerHistoryRepository("P01", home).load()["matches"]

    assert len(matches) == 8
    assert {match["league_id"] for match in matches} == {PRACTICE_LEAGUE_ID}


async def test_a_player_of_another_league_is_told_what_to_do(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent_league.lab.evaluation.running_player.REJOIN_SECONDS", 0.1)
    port = free_ports(3)
    elsewhere = CheckerManager(port + 1, SigningKey.generate())
    async with asyncio.timeout(BOUND):
        await elsewhere.start()
        async with our_player(home, port, elsewhere.endpoint):
            await elsewhere.wait_for_calls("register_player", BOUND)
            with pytest.raises(UserError, match=r"E008.*--practice"):
                await evaluated(f"localhost:{port}", manager_port=port + 2, wait_seconds=0.1)
        await elsewhere.stop()


async def test_a_player_that_was_checked_before_comes_over(home: Path) -> None:
    port = free_ports(2)
    checker = CheckerManager(port + 1, SigningKey.generate())
    async with asyncio.timeout(BOUND):
        await checker.start()
        async with our_player(home, port, checker.endpoint, {"heartbeat.quiet_sec": 0.3}):
            await checker.wait_for_calls("register_player", BOUND)
            await checker.stop()
            found = await evaluated(f"localhost:{port}", manager_port=port + 1, wait_seconds=BOUND, games=1)

    assert (len(found.games), found.fault_count) == (8, 0)


class Guest:
    """A scripted player behind a real server, which registers with us."""

    def __init__(self, port: int, scripts: dict[str, Script] | None = None, **meta: Any) -> None:
        self.port = port
        self.meta = meta
        self.player = ScriptedPlayer("guest", f"http://localhost:{port}/mcp", scripts=scripts)
        self.registrant = self.player
        """Who registers; the same unless a test says otherwise."""
        self.carrier: HttpCarrier | None = None

    async def evaluated(self, servers: list[HttpServer] | None = None, **more: Any) -> Evaluation:
        async with self.present() as server:
            if servers is not None:
                servers.append(server)
            return await evaluated(f"localhost:{self.port}", manager_port=self.port + 1, **more)

    @asynccontextmanager
    async def present(self) -> AsyncIterator[HttpServer]:
        """It is served, and registers with the manager at the port after its own."""
        self.carrier = HttpCarrier()
        async with served(self.player.answer, self.port) as server:
            registering = asyncio.create_task(self._register(f"http://localhost:{self.port + 1}/mcp"))
            try:
                yield server
            finally:
                registering.cancel()
                await asyncio.gather(registering, return_exceptions=True)
                await self.carrier.close()

    async def _register(self, manager: str) -> None:
        assert self.carrier is not None
        while True:
            try:
                await self.registrant.register(self.carrier, manager, **self.meta)
                return
            except CallFailed:  # nobody is there yet
                await asyncio.sleep(0.02)


def guest(**more: Any) -> Guest:
    return Guest(free_ports(2), **more)


async def test_a_stranger_in_the_letter_of_the_seeds_has_only_valid_messages() -> None:
    found = await guest().evaluated(games=4)

    assert (found.message_count, found.fault_count) == (2 * 4 * 4 + 1, 0)
    assert found.player == "guest"


async def test_an_evaluation_is_an_experiment_that_gives_the_same_rows_again(tmp_path: Path) -> None:
    visitor = guest()
    request = EvaluationRequest(
        f"localhost:{visitor.port}", EVEN_ODD, "7", games=8, earlier="markov", manager_port=visitor.port + 1
    )
    async with asyncio.timeout(BOUND):
        async with visitor.present():
            found = await asyncio.to_thread(Evaluator(request).run, tmp_path / "evaluated")
        again = Experiment.from_file(tmp_path / "evaluated" / "experiment.toml")
        async with visitor.present():
            calls = CallSettings(manager_port=visitor.port + 1)
            results = await asyncio.to_thread(again.run, tmp_path / "again", calls=calls)

    assert len(found.games) == 5 * 8
    before = ExperimentResults(tmp_path / "evaluated")
    assert before.write_csv().read_bytes() == results.write_csv().read_bytes()
    assert not any(row.repeatable for row in before.rows()), "a running player may do anything"


async def test_a_player_of_an_earlier_league_is_not_held_to_the_token_of_another_with_its_id() -> None:
    visitor = guest()
    visitor.player.player_id, visitor.player.token = "P01", "tok-of-an-earlier-league"
    visitor.registrant = ScriptedPlayer("other", "http://localhost:9/mcp")
    found = await visitor.evaluated(games=1, wait_seconds=0.5)

    assert visitor.registrant.player_id == "P01"
    assert (found.player, found.fault_count) == (f"http://localhost:{visitor.port}/mcp", 0)


async def test_a_registration_that_is_not_in_the_form_is_a_message_that_is_not_valid() -> None:
    found = await guest(version=None).evaluated(games=1)
    ((fault, count),) = found.faults_by_frequency

    assert (found.message_count, found.fault_count, count) == (2 * 2 * 4 + 1, 1, 1)
    assert fault.where == "register_player"
    assert fault.what.startswith("E002: LEAGUE_REGISTER_REQUEST: 'player_meta.version'")
    assert judge_criteria(found)[VALID].verdict is CriterionVerdict.FAIL


async def test_a_player_of_another_game_is_asked_for_by_the_right_option() -> None:
    with pytest.raises(
        UserError, match=r"takes tic_tac_toe, nim, and even_odd was to be played; say --game tic_tac_toe"
    ):
        await guest(game_types=["tic_tac_toe", "nim"]).evaluated(games=1)


async def test_each_message_that_is_not_in_the_form_is_counted_and_named() -> None:
    visitor = guest()

    async def careless(params: Params) -> Any:
        answer = visitor.player.build_reply("CHOOSE_PARITY_RESPONSE", params, choice="even")
        del answer["timestamp"], answer["auth_token"]
        return answer

    visitor.player._scripts["choose_parity"] = careless
    found = await visitor.evaluated(games=2)
    ((fault, count),) = found.faults_by_frequency

    assert (found.message_count, found.fault_count, count) == (17, 8, 8)
    assert fault.where == "choose_parity"
    assert "E003" in fault.what
    assert "timestamp" in fault.what
    assert "'choice'" in fault.what
    assert "no 'auth_token'" in fault.what
    assert judge_criteria(found)[VALID].verdict is CriterionVerdict.FAIL
    assert not any(game.ending is GameEnding.TECHNICAL_LOSS for game in found.games)


def parity_choose(request: dict[str, Any]) -> dict[str, Any]:
    names = {"choose_parity": "unknown", "parity_choose": "choose_parity"}
    return {**request, "method": names.get(request["method"], request["method"])}


def mcp_alone(request: dict[str, Any]) -> dict[str, Any]:
    params = request["params"]
    if request["method"] != "tools/call" or "_meta" not in params:
        return {**request, "method": "unknown"}
    return {**request, "method": params["name"], "params": params["arguments"]}


@pytest.mark.parametrize(("understood", "faults"), [(parity_choose, {"called as 'parity_choose'"}), (mcp_alone, set())])
async def test_another_spelling_is_a_fault_and_a_plain_mcp_server_is_none(
    understood: Callable[[dict[str, Any]], dict[str, Any]], faults: set[str]
) -> None:
    visitor = guest()
    answer = visitor.player.answer

    async def understand(body: bytes, bearer: str | None = None) -> bytes | None:
        return await answer(json.dumps(understood(json.loads(body))).encode(), bearer)

    visitor.player.answer = understand  # type: ignore[method-assign]
    found = await visitor.evaluated(games=1)

    assert found.message_count == 17
    assert {fault.what for fault, _ in found.faults_by_frequency} == faults


async def test_a_silent_player_costs_little_time_and_says_why() -> None:
    found = await guest(scripts={"choose_parity": never_reply}).evaluated(games=100, timeout=0.2)
    first, second, *_ = found.series

    assert (len(first.games), len(second.games)) == (2, 1)
    assert first.technical_losses == {"move_timeout": 2}
    assert "after 5 failed calls in a row" in first.cut_short_reason
    assert found.timeout_count == 2 * 3 + 3 * 3, "three attempts for every question"
    assert verdicts(found)[TIMEOUTS : WINS + 1] == [
        CriterionVerdict.FAIL,
        CriterionVerdict.FAIL,
        CriterionVerdict.NOT_JUDGED,
    ]


async def test_a_result_that_is_not_taken_is_a_timeout_too() -> None:
    found = await guest(scripts={"notify_match_result": never_reply}).evaluated(games=1, timeout=0.2)

    assert found.timeout_count >= 2
    assert judge_criteria(found)[TIMEOUTS].verdict is CriterionVerdict.FAIL


async def test_a_player_that_never_moves_legally_is_not_asked_a_hundred_times() -> None:
    visitor = guest()

    async def shouts(params: Params) -> Any:
        return visitor.player.build_reply("CHOOSE_PARITY_RESPONSE", params, parity_choice="EVEN")

    visitor.player._scripts["choose_parity"] = shouts
    found = await visitor.evaluated(games=100)

    assert [len(series.games) for series in found.series[:4]] == [5, 5, 5, 5]
    assert found.series[0].technical_losses == {"illegal_move": 5}
    assert "after 5 technical losses in a row" in found.series[0].cut_short_reason
    assert "E004" in found.faults_by_frequency[0][0].what


async def test_answers_in_calls_of_its_own_reach_the_referee() -> None:
    visitor = guest()
    posts: set[asyncio.Task[Any]] = set()

    async def post(params: Params, answer: dict[str, Any]) -> None:
        (round_,) = [
            one
            for one in visitor.player.received_params("notify_round")
            if any(match["match_id"] == params["match_id"] for match in one["matches"])
        ]
        method = answer["message_type"].lower()
        body = json.dumps({"jsonrpc": "2.0", "method": method, "params": answer, "id": 1}).encode()
        assert visitor.carrier is not None
        await visitor.carrier.exchange(round_["matches"][0]["referee_endpoint"], body, 5)

    async def later(params: Params) -> Any:
        if params["league_id"] == PRACTICE_LEAGUE_ID and params["match_id"].startswith("E"):
            answer = visitor.player.build_reply("CHOOSE_PARITY_RESPONSE", params, parity_choice="odd")
            posts.add(asyncio.create_task(post(params, answer)))
        return {"status": "ok"}

    visitor.player._scripts["choose_parity"] = later
    found = await visitor.evaluated(games=2)
    await asyncio.gather(*posts)

    assert not any(game.ending is GameEnding.TECHNICAL_LOSS for game in found.games)
    assert {fault.what for fault, _ in found.faults_by_frequency} == {"answer in a call of its own"}


NASTY = "<script>alert(1)</script>|`[x](http://evil.example)\n# \x1b[31m"


async def test_a_hostile_player_is_cut_and_escaped() -> None:
    visitor = guest(display_name=NASTY)

    async def rants(params: Params) -> Any:
        answer = visitor.player.build_reply("GAME_JOIN_ACK", params, arrival_timestamp="x", accept=True)
        return {**answer, "sender": f"player:{NASTY}", "conversation_id": NASTY, "padding": "x" * 500_000}

    async def floods(params: Params) -> Any:
        raise RawReply(NASTY.encode() * 100_000)

    visitor.player._scripts |= {"handle_game_invitation": rants, "choose_parity": floods}
    found = await visitor.evaluated(games=3)
    page, text = render_html(found), render_markdown(found)

    assert len(page) < 100_000
    assert len(text) < 20_000
    assert "<script" not in page
    assert "alert(1)" in page
    assert "\x1b" not in page + text
    assert "<script" not in text
    assert "(http:" not in text
    assert "\n# " not in text[2:]
    assert all(len(fault.what) <= 210 for fault, _ in found.faults_by_frequency)


async def test_a_player_that_registers_without_end_is_sent_away() -> None:
    visitor = guest()
    answers: list[dict[str, Any]] = []

    async def multiplies(params: Params) -> Any:
        assert visitor.carrier is not None
        while len(answers) < MAX_REGISTRATIONS:
            other = ScriptedPlayer("more", f"http://localhost:{visitor.port}/mcp/{len(answers)}")
            answers.append(await other.register(visitor.carrier, f"http://localhost:{visitor.port + 1}/mcp"))
        return visitor.player.build_reply("CHOOSE_PARITY_RESPONSE", params, parity_choice="odd")

    visitor.player._scripts["choose_parity"] = multiplies
    found = await visitor.evaluated(games=1)

    assert answers[-1]["error_code"] == "E016"
    assert not found.fault_count


async def test_a_player_that_breaks_down_on_bad_input_is_told_so() -> None:
    """A league never sends such input, and the player is itself afterwards: these are warnings."""
    found = await guest().evaluated(games=1)
    graceful = judge_criteria(found)[GRACEFUL]

    assert graceful.verdict is CriterionVerdict.PASS
    assert f"{len(found.conformance.warned)} with a warning, 0 failed" in graceful.found
    assert {"a body that is not JSON is refused", "the id comes back with an error too"} <= {
        fault.where for fault in found.conformance.warned
    }


async def test_a_player_that_goes_away_loses_the_rest_quickly() -> None:
    visitor = guest()

    async def leaves(params: Params) -> Any:
        await servers[0].stop()

    servers: list[HttpServer] = []
    visitor.player._scripts["notify_match_result"] = leaves
    found = await visitor.evaluated(servers, games=100)

    assert [len(series.games) for series in found.series[:4]] == [3, 1, 1, 1]
    assert found.series[1].technical_losses == {"disconnected": 1}
    assert judge_criteria(found)[TECHNICAL].verdict is CriterionVerdict.FAIL
