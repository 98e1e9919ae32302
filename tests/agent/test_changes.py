"""Changes: whoever listens is told, until it leaves."""

from agent_league.agent.runtime import ResourceChanges


def test_nobody_listens_at_first() -> None:
    changes = ResourceChanges()
    assert not changes
    changes.notify_changed("league://standings")


def test_everybody_who_listens_is_told_in_order() -> None:
    changes, one, other = ResourceChanges(), list[str](), list[str]()
    changes.add_listener(one.append)
    changes.add_listener(other.append)
    changes.notify_changed("league://standings", "league://schedule")
    assert changes
    assert one == other == ["league://standings", "league://schedule"]


def test_who_leaves_is_told_no_more_and_may_leave_twice() -> None:
    changes, heard = ResourceChanges(), list[str]()
    leave = changes.add_listener(heard.append)
    changes.notify_changed("league://standings")
    leave()
    leave()
    changes.notify_changed("league://schedule")
    assert heard == ["league://standings"]
    assert not changes


def test_a_listener_may_leave_while_it_is_told() -> None:
    changes, heard = ResourceChanges(), list[str]()
    leave = changes.add_listener(lambda _: leave())
    changes.add_listener(heard.append)
    changes.notify_changed("league://standings")
    assert heard == ["league://standings"]
