"""Pairing a Swiss round, held against all pairings that there are."""

from collections.abc import Iterator, Sequence
from random import Random

from agent_league.formats.swiss_pairing import PlayerRecord, RecordPair, pair_round, rank_records

Pairs = Sequence[RecordPair]


def make_records(random: Random, players: int, rounds: int) -> list[PlayerRecord]:
    """Players with a past at random: some have met, some had a bye, some were on one side more often."""
    records = [
        PlayerRecord(f"P{seed:02}", seed, points=random.randint(0, 2 * rounds)) for seed in range(1, players + 1)
    ]
    for _ in range(rounds):
        order = random.sample(records, players)
        if players % 2:
            order.pop().byes += 1
        for one, other in zip(order[::2], order[1::2], strict=True):
            for record, against, side in ((one, other, 1), (other, one, -1)):
                record.sides.append(side)
                record.meetings[against.player_id] = record.meetings.get(against.player_id, 0) + 1
    return rank_records(records)


def list_all_pairings(players: Sequence[PlayerRecord]) -> Iterator[list[RecordPair]]:
    if not players:
        yield []
    for at in range(1, len(players)):
        for rest in list_all_pairings([*players[1:at], *players[at + 1 :]]):
            yield [(players[0], players[at]), *rest]


def count_rematches(pairs: Pairs) -> int:
    return sum(bool(one.meetings.get(other.player_id)) for one, other in pairs)


def count_lopsided(pairs: Pairs) -> int:
    """How far players get beyond a difference of two between their sides."""
    total = 0
    for pair in pairs:
        low, high = sorted(record.side_balance for record in pair)
        total += max(0, abs(low + 1) - 2, abs(high - 1) - 2)
    return total


def sum_differences(pairs: Pairs) -> int:
    return sum(abs(one.points - other.points) for one, other in pairs)


def judge_meetings(pairs: Pairs) -> tuple[int, int]:
    """The second meetings, and how often those who meet again have met."""
    return (count_rematches(pairs), sum(one.meetings.get(other.player_id, 0) ** 2 for one, other in pairs))


def test_no_pairing_has_fewer_second_meetings_or_smaller_differences() -> None:
    """The sum of differences is held against the least of all pairings with as few second meetings."""
    random = Random(11)
    for case in range(250):
        players = random.randint(1, 4) * 2
        records = make_records(random, players, random.randint(0, 5))
        draft = pair_round(records, is_last=True)
        every = list(list_all_pairings(records))
        assert judge_meetings(draft.pairs) == min(map(judge_meetings, every)), case
        best = [pairs for pairs in every if judge_meetings(pairs) == judge_meetings(draft.pairs)]
        assert count_lopsided(draft.pairs) == min(map(count_lopsided, best)), case
        best = [pairs for pairs in best if count_lopsided(pairs) == count_lopsided(draft.pairs)]
        assert sum_differences(draft.pairs) == min(map(sum_differences, best)), case


def test_a_bye_is_given_to_the_lowest_of_those_with_the_fewest_whose_absence_costs_no_second_meeting() -> None:
    random = Random(12)
    for _ in range(60):
        players = random.choice((3, 5, 7))
        records = make_records(random, players, random.randint(0, 4))
        draft = pair_round(records, is_last=True)
        fewest = min(record.byes for record in records)
        eligible = [record for record in reversed(records) if record.byes == fewest]
        costs = [
            min(count_rematches(pairs) for pairs in list_all_pairings([one for one in records if one is not bye]))
            for bye in eligible
        ]
        assert draft.bye is eligible[costs.index(min(costs))]
        assert count_rematches(draft.pairs) == min(costs)


def test_those_who_met_often_are_kept_apart_when_all_have_met() -> None:
    records = rank_records(PlayerRecord(f"P{seed}", seed) for seed in range(1, 5))
    for record in records:
        record.meetings.update({other.player_id: 2 for other in records if other is not record})
    records[0].meetings["P3"] = records[2].meetings["P1"] = 1
    draft = pair_round(records, is_last=True)
    assert [(one.player_id, other.player_id) for one, other in draft.pairs] == [("P1", "P3"), ("P2", "P4")]


def test_a_pairing_that_leaves_no_next_round_is_avoided() -> None:
    """Six players in a prism of possible meetings: its rungs would leave two triangles."""
    records = rank_records(PlayerRecord(f"P{seed}", seed) for seed in range(1, 7))
    possible = {
        "P1": "P2 P3 P4",
        "P2": "P1 P3 P5",
        "P3": "P1 P2 P6",
        "P4": "P5 P6 P1",
        "P5": "P4 P6 P2",
        "P6": "P4 P5 P3",
    }
    for record in records:
        strangers = possible[record.player_id].split()
        record.meetings = {one.player_id: 1 for one in records if one is not record and one.player_id not in strangers}
    rungs = [("P1", "P4"), ("P2", "P5"), ("P3", "P6")]
    last, other = (pair_round(records, is_last=is_last) for is_last in (True, False))
    assert [(one.player_id, two.player_id) for one, two in last.pairs] == rungs
    assert not other.has_rematch
    assert sum((one.player_id, two.player_id) in rungs for one, two in other.pairs) == 1


def test_the_sum_of_differences_counts_more_than_their_squares() -> None:
    """Ten points against four and two level pairs are better than differences of three, one and four."""
    records = [PlayerRecord(f"P{seed}", seed, points) for seed, points in enumerate((10, 8, 8, 7, 7, 4), start=1)]
    possible = {("P1", "P6"), ("P2", "P3"), ("P4", "P5"), ("P1", "P4"), ("P3", "P5"), ("P2", "P6")}
    for one in records:
        for other in records:
            if one is not other and not {(one.player_id, other.player_id), (other.player_id, one.player_id)} & possible:
                one.meetings[other.player_id] = 1
    assert sum_differences(pair_round(records, is_last=True).pairs) == 6


def test_who_floated_before_stays() -> None:
    records = rank_records(PlayerRecord(f"P{seed}", seed, points=3 if seed < 4 else 0) for seed in range(1, 7))
    pairs = [{one.player_id, other.player_id} for one, other in pair_round(records, is_last=True).pairs]
    assert {"P3", "P4"} in pairs
    records[2].floats_down = 1
    records[3].floats_up = 1
    pairs = [{one.player_id, other.player_id} for one, other in pair_round(records, is_last=True).pairs]
    assert {"P2", "P5"} in pairs
