"""A practice ladder with the real agents, on virtual time."""

import asyncio
from collections import Counter
from pathlib import Path

from agent_league.testing.virtual_time import in_virtual_time
from tests.league.ladder_world import ladder_world


@in_virtual_time
async def test_everybody_plays_again_and_again_and_is_rated(tmp_path: Path) -> None:
    async with ladder_world(tmp_path, interval_sec=30, matches_per_hour=1000) as world:
        for number in range(1, 7):
            world.start_player(number)
        await world.wait_until(lambda: world.finished >= 60)
        played = Counter(player for pair in world.paired for player in pair)
        assert set(played) == {f"P{number:02}" for number in range(1, 8)}
        assert world.record.players["P01"].is_house or world.record.players["P07"].is_house
        await asyncio.sleep(10)
        ratings = [world.record.find_rating(player_id) for player_id in played]
        assert all(rating is not None and rating.low < rating.elo < rating.high for rating in ratings)
        assert [row.rank for row in world.manager.state.standings()] == list(range(1, 8))
