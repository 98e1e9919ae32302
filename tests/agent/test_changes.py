"""Changes: whoever listens is told, until it leaves."""

from agent_league.agent.changes import Changes


def test_nobody_listens_at_first() -> None:
    changes = Changes()
    assert not changes
    changes.tell("league://standings")


def test_everybody_who_listens_is_told_in_order() -> None:
    changes, one, other = Changes(), list[str](), list[str]()
    changes.listen(one.append)
    changes.listen(other.append)
    changes.tell("league://standings", "league://schedule")
    assert changes
    assert one == other == ["league://standings", "league://schedule"]


def test_who_leaves_is_told_no_more_and_may_leave_twice() -> None:
    changes, heard = Changes(), list[str]()
    leave = changes.listen(heard.append)
    changes.tell("league://standings")
    leave()
    leave()
    changes.tell("league://schedule")
    assert heard == ["league://standings"]
    assert not changes


def test_a_listener_may_leave_while_it_is_told() -> None:
    changes, heard = Changes(), list[str]()
    leave = changes.listen(lambda _: leave())
    changes.listen(heard.append)
    changes.tell("league://standings")
    assert heard == ["league://standings"]
