"""The player of a human seat: an agent like any other, with an HTTP server of its own or a dial-out seat."""

import asyncio
from dataclasses import replace
from typing import Any

from agent_league.agent.runtime import Agent
from agent_league.http.hosts import own_endpoint
from agent_league.http.server import HttpServer
from agent_league.launch.agent_app import make_agent_app
from agent_league.launch.agent_plan import AgentListeners, PlayerPlan
from agent_league.launch.dialled_agent import run_dialled_agent
from agent_league.launch.rulebook import Rulebook, rules_from_manager
from agent_league.players.app import Player
from agent_league.players.human import HumanSeat


class OutsidePlayer(HumanSeat):
    """A human seat whose player is served in this process, or dials out from it."""

    async def _run_dialled_player(self) -> None:
        listeners = AgentListeners(on_player_event=self._on_event, on_remark=self._remark)
        plan = PlayerPlan(self.settings, 0, self._host, strategy=self.mailbox, dial_out=True)
        await run_dialled_agent(plan, self._get_carrier(), listeners, self._take_player, self._seat_secret)

    def _take_player(self, agent: Agent) -> None:
        if isinstance(agent, Player):
            self.player = agent

    def _make_server_at(self, port: int) -> HttpServer:
        name, network = self.settings.display_name, self.settings.system.network
        endpoint = own_endpoint(self._host, port, network.base_host, self.settings.manager, self.public_url)
        settings = replace(self.settings, endpoint=endpoint, wanted_id=f"player-{port}")
        seat = PlayerPlan(settings, port, self._host, strategy=self.mailbox)
        agent = seat.make_agent(
            self._get_carrier(), AgentListeners(on_player_event=self._on_event, on_remark=self._remark)
        )
        hint = f"Is {name!r} playing already? Stop that, or choose another --name or --port."
        server = HttpServer(make_agent_app(seat, agent), self._host, port, f"the player {name!r}", hint)
        self.player = agent
        return server

    async def _describe_rules(self, wanted: dict[str, str], told: Any) -> dict[str, Any]:
        if rules := await asyncio.to_thread(rules_from_manager, told):
            return rules
        return dict(await Rulebook(self.settings).get_rules(wanted))
