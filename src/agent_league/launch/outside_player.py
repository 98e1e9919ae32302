"""A player whose moves come from outside, through its mailbox; to the league it is an ordinary player.

It joins on request, and rejoins at the same port after a restart. Knows neither MCP nor a terminal.
"""

import asyncio
import secrets
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from agent_league.agent.client import JsonRpcClient
from agent_league.agent.registration import RemarkCallback
from agent_league.errors import AgentLeagueError, CallFailed, PortInUse, Refusal, UserError
from agent_league.http.client import HttpCarrier
from agent_league.http.server import HttpServer
from agent_league.launch.addresses import own_endpoint
from agent_league.launch.agent_app import make_agent_app
from agent_league.launch.agent_plan import LOOPBACK, AgentListeners, PlayerPlan
from agent_league.launch.rulebook import Rulebook, rules_from_manager
from agent_league.model.results import StandingsRow
from agent_league.players.app import Player, PlayerSettings, to_standings_row
from agent_league.players.events import (
    LeagueJoined,
    LeagueOver,
    MatchOver,
    PlayerEvent,
    RoundAnnounced,
    StandingsChanged,
)
from agent_league.players.human import ExternalStrategy, PlayerStopped
from agent_league.players.observation import GameRecord, Strategy
from agent_league.protocol.checks import parse_fields
from agent_league.protocol.v2.league import Standing
from agent_league.storage.credentials import CredentialsFile
from agent_league.text import redact_tokens

JOIN_SECONDS = 8.0
"""How long a caller waits for registration; the player goes on trying after that."""
ASK_TIMEOUT = 2.0
PORT_RANGE = range(12_000, 32_000)
"""Below the ephemeral ports of common systems, since the port is needed again after a restart."""
PORT_ATTEMPTS = 50


class OutsidePlayer:
    """One player in one league, identified by `handle`; it lives as long as the process."""

    def __init__(
        self,
        settings: PlayerSettings,
        fallback: Strategy,
        *,
        host: str = LOOPBACK,
        port: int | None = None,
        remark: RemarkCallback | None = None,
        join_seconds: float = JOIN_SECONDS,
        credentials_file: CredentialsFile | None = None,
    ) -> None:
        """`credentials_file` stores its port (default: a file by display name and manager)."""
        self.settings = replace(settings, exit_when_done=True)
        self.handle = f"seat-{secrets.token_hex(8)}"
        self.mailbox = ExternalStrategy(fallback, patience=settings.system.timeouts.move_timeout_sec)
        self.player: Player | None = None
        self.names: dict[str, str] = {}
        self.is_over = False
        self.failure: Exception | None = None
        self.begins_after = 0
        """The number of the last event from before the latest join."""
        self._host = host
        self._port = port
        self._remark = remark
        self._join_seconds = join_seconds
        self._credentials_file = credentials_file or CredentialsFile(
            settings.home, "seat", settings.display_name, "", settings.manager
        )
        self._early_events: list[PlayerEvent] = []
        self._opponents: dict[str, str] = {}
        self._standings_rows: tuple[StandingsRow, ...] = ()
        self._asked_ids: set[str] = set()
        self._registered = asyncio.Event()
        self._player_task: asyncio.Task[None] | None = None
        self._carrier: HttpCarrier | None = None

    @property
    def games(self) -> Sequence[GameRecord]:
        """The games of this league; ids of earlier leagues may belong to other players."""
        return self.player.league_games if self.player else ()

    @property
    def has_joined(self) -> bool:
        return self._registered.is_set()

    async def join_soon(self) -> bool:
        """Join, waiting at most `join_seconds`; return whether the player is registered."""
        return await self.join(self._join_seconds)

    async def join(self, seconds: float | None = None) -> bool:
        """Join or rejoin the league; return whether the player is registered. Raises what made it fail."""
        if self._player_task is None or self._player_task.done():
            self._registered, self.is_over, self.failure = asyncio.Event(), False, None
            self._early_events, self._opponents, self.begins_after = [], {}, self.mailbox.last_number
            self._player_task = asyncio.create_task(self._run_player())
        registered = asyncio.create_task(self._registered.wait())
        try:
            await asyncio.wait({registered, self._player_task}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            registered.cancel()
        if self.failure and not self.has_joined:
            raise self.failure
        return self.has_joined

    async def leave(self) -> None:
        """Stop the player and close its connections."""
        if self._player_task:
            self._player_task.cancel()
            await asyncio.wait({self._player_task})
        if self._carrier:
            await self._carrier.close()

    async def fetch_standings(self) -> tuple[StandingsRow, ...]:
        """Fetch the standings from the manager; the last known ones if it doesn't answer."""
        line = JsonRpcClient(self._get_carrier())
        with suppress(CallFailed, Refusal):
            frame = line.encode_call("get_standings", {})
            answer = await line.send_frame(self.settings.manager, frame, ASK_TIMEOUT)
            rows = answer.get("standings") if isinstance(answer, dict) else None
            if isinstance(rows, list):
                self._keep_standings(tuple(to_standings_row(parse_fields(Standing, row)) for row in rows))
        return self._standings_rows

    async def learn_names(self, player_ids: Iterable[str | None]) -> None:
        """Fetch the names of these players from the manager, once for each."""
        unknown = {one for one in player_ids if one} - self.names.keys() - self._asked_ids
        if unknown:
            self._asked_ids |= unknown
            await self.fetch_standings()

    async def rules(self, game_type: str | None) -> dict[str, Any]:
        """Return the rules of a game in our own words, for the manager's game and parameters; raises Refusal."""
        wanted = {"game_type": game_type} if game_type else {}
        line = JsonRpcClient(self._get_carrier())
        with suppress(CallFailed):
            told = await line.send_frame(self.settings.manager, line.encode_call("get_rules", wanted), ASK_TIMEOUT)
            if rules := await asyncio.to_thread(rules_from_manager, told):
                return rules
        return dict(await Rulebook(self.settings).get_rules(wanted))

    def without_secrets(self, data: Any) -> Any:
        """Redact our token from data; referees know it and may have included it."""
        token = self.player.token if self.player else None
        return redact_tokens(data, (token,) if token else ())

    def _on_event(self, _player_id: str, happening: PlayerEvent) -> None:
        """Record an event; those before the registration's answer, as of a running league, are kept until then."""
        if isinstance(happening, LeagueJoined):
            self.mailbox.add_event(happening)
            early, self._early_events = self._early_events, []
            for one in early:
                self._record_event(one)
            self._registered.set()
        elif self.has_joined:
            self._record_event(happening)
        else:
            self._early_events.append(happening)

    def _record_event(self, happening: PlayerEvent) -> None:
        match happening:
            case StandingsChanged(_, rows):
                self._keep_standings(rows)
            case RoundAnnounced(_, str(match_id), str(opponent_id)):
                self._opponents[match_id] = opponent_id
            case MatchOver(game) if game.match_id in self._opponents:  # a result without an invitation has no opponent
                happening = MatchOver(replace(game, opponent_id=self._opponents[game.match_id]))
            case LeagueOver():
                self.is_over = True
        self.mailbox.add_event(happening)

    def _keep_standings(self, rows: tuple[StandingsRow, ...]) -> None:
        self._standings_rows = rows
        self.names.update((row.player_id, row.display_name) for row in rows)

    async def _run_player(self) -> None:
        """Run the player from registration to the end of the league; a failure becomes an event in the mailbox."""
        server: HttpServer | None = None
        try:
            server = self._make_server()
            await server.start()
            assert self.player is not None  # noqa: S101 - `_make_server` has made it
            await self.player.run()
        except Exception as error:  # noqa: BLE001 - the player ends here, and its owner must not wait for ever
            self.failure = error
            self.mailbox.add_event(PlayerStopped(str(error) if isinstance(error, AgentLeagueError) else repr(error)))
        finally:
            if server:
                await server.stop()

    def _make_server(self) -> HttpServer:
        """Make the player and its server at the stored port, so that the manager recognises it, else at a free one."""
        known = self._credentials_file.load()
        port = self._port or known.get("port")
        if isinstance(port, int):
            return self._make_server_at(port)
        for free in secrets.SystemRandom().sample(PORT_RANGE, PORT_ATTEMPTS):
            with suppress(PortInUse):
                server = self._make_server_at(free)
                self._credentials_file.save({**known, "port": free})
                return server
        raise UserError(f"No port from {PORT_RANGE[0]} to {PORT_RANGE[-1]} seems to be free; name one with --port.")

    def _make_server_at(self, port: int) -> HttpServer:
        name, network = self.settings.display_name, self.settings.system.network
        endpoint = own_endpoint(self._host, port, network.base_host)
        settings = replace(self.settings, endpoint=endpoint, wanted_id=f"player-{port}")
        seat = PlayerPlan(settings, port, self._host, strategy=self.mailbox)
        agent = seat.make_agent(
            self._get_carrier(), AgentListeners(on_player_event=self._on_event, on_remark=self._remark)
        )
        hint = f"Is {name!r} playing already? Stop that, or choose another --name or --port."
        server = HttpServer(make_agent_app(seat, agent), self._host, port, f"the player {name!r}", hint)
        self.player = agent
        return server

    def _get_carrier(self) -> HttpCarrier:
        if self._carrier is None:
            self._carrier = HttpCarrier()
        return self._carrier
