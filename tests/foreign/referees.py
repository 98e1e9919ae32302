"""Referees by people who read the same documents otherwise: how a match is started, and how it is reported.

`REFEREES` names them all.
"""

import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from tests.foreign.sample_referee import SampleReferee
from tests.foreign.web import Answer, Message, post


class ForwardingReferee(SampleReferee):
    """Shows the players the match token that came with the start."""

    name = "Forwarding Referee"
    shows_match_token = True


class AssignedReferee(SampleReferee):
    """Started by `assign_match`; says yes at once and plays beside."""

    name = "Assigned Referee"
    threaded = True
    start_method = "assign_match"

    def start_match(self, params: Message) -> Message:
        self.later(super().start_match, params)
        return {"status": "accepted"}


class ForwardingAssignedReferee(AssignedReferee):
    """As above, with the match token."""

    name = "Forwarding Assigned Referee"
    shows_match_token = True


class RunningReferee(SampleReferee):
    """Started by `run_match`; its answer, when the match is over, is the report."""

    name = "Running Referee"
    threaded = True
    start_method = "run_match"

    def start_match(self, params: Message) -> Message:
        return self.play(params)


class ForwardingRunningReferee(RunningReferee):
    """As above, with the match token."""

    name = "Forwarding Running Referee"
    shows_match_token = True


class AnnouncedReferee(SampleReferee):
    """Starts by itself: ROUND_ANNOUNCEMENT says which matches are at its address."""

    name = "Announced Referee"
    threaded = True
    start_method = "notify_round"

    def start_match(self, params: Message) -> Message:
        self.later(self.play_round, params)
        return {"status": "ok"}

    def play_round(self, announcement: Message) -> None:
        for match in announcement["matches"]:
            if match["referee_endpoint"] == self.endpoint:
                about = {"league_id": announcement["league_id"], "round_id": announcement["round_id"], **match}
                self.report(self.play(about))


class BlockingAnnouncedReferee(AnnouncedReferee):
    """As above, but it answers the announcement only when it has played all its matches."""

    name = "Blocking Announced Referee"
    threaded = False

    def start_match(self, params: Message) -> Message:
        self.play_round(params)
        return {"status": "ok"}


class ForwardingAnnouncedReferee(AnnouncedReferee):
    """As above, with the match token."""

    name = "Forwarding Announced Referee"
    shows_match_token = True


class HesitantAnnouncedReferee(AnnouncedReferee):
    """As above; for every order that it doesn't know it takes longer than for a match."""

    name = "Hesitant Announced Referee"

    def answer(self, path: str, body: Any) -> Answer:
        if body.get("method") != self.start_method:
            time.sleep(0.3)
        return super().answer(path, body)


class ReportingReferee(SampleReferee):
    """Reports by `match_result_report`."""

    name = "Reporting Referee"
    report_method = "match_result_report"


class TypeReferee(SampleReferee):
    """Takes the message type for the method, in everything it says and hears."""

    name = "Type Referee"
    start_method = "START_MATCH"

    def call(self, endpoint: str, method: str, message: Message) -> Message:
        return super().call(endpoint, message["message_type"], message)


class BareReferee(SampleReferee):
    """Says and hears the message alone, with no frame around it."""

    name = "Bare Referee"

    def call(self, endpoint: str, method: str, message: Message) -> Message:
        answer: Message = post(endpoint, message, timeout=30)
        return answer

    def answer(self, path: str, body: Any) -> Answer:
        if body.get("message_type") == "START_MATCH":
            return 200, self.start_match(body)
        return 200, {"status": "ignored"}


class OwnNameReferee(SampleReferee):
    """Reads its token but goes on under the name it chose itself."""

    name = "Own Name Referee"

    def accepted(self, answer: Message) -> None:
        self.auth_token = answer["auth_token"]


class PathReferee(SampleReferee):
    """Started by `POST /run_match` with a bare body; the answer, when the match is over, is the report."""

    name = "Path Referee"
    threaded = True

    def answer(self, path: str, body: Any) -> Answer:
        return (200, self.play(body)) if path == "/run_match" else (404, {"detail": "Not Found"})


class AssignmentReferee(SampleReferee):
    """Started by `assign_match` with a MATCH_ASSIGNMENT, which numbers the players."""

    name = "Assignment Referee"
    start_method = "assign_match"

    def answer(self, path: str, body: Any) -> Answer:
        if body.get("params", {}).get("message_type") == "MATCH_ASSIGNMENT":
            return super().answer(path, body)
        return 422, {"detail": [{"loc": ["params", "message_type"], "msg": "unexpected value"}]}

    def start_match(self, params: Message) -> Message:
        numbered = {"player_A": "player1", "player_B": "player2"}
        players = {
            f"{ours}_{what}": params[f"{theirs}_{what}"]
            for ours, theirs in numbered.items()
            for what in ("id", "endpoint")
        }
        about = {name: params[name] for name in ("league_id", "round_id", "match_id")}
        return super().start_match({**about, **players})


class AssignmentTypeReferee(AssignmentReferee):
    """As above, with the type as the method."""

    name = "Assignment Type Referee"
    start_method = "MATCH_ASSIGNMENT"


class BareAssignmentReferee(AssignmentReferee):
    """As above, with the message alone."""

    name = "Bare Assignment Referee"

    def answer(self, path: str, body: Any) -> Answer:
        if body.get("message_type") == "MATCH_ASSIGNMENT" and "jsonrpc" not in body:
            return 200, self.start_match(body)
        return 400, {"error": "expected a MATCH_ASSIGNMENT"}


class AnnouncedIdReferee(AnnouncedReferee):
    """Starts by itself: ROUND_ANNOUNCEMENT says which matches have its id."""

    name = "Announced Id Referee"

    def play_round(self, announcement: Message) -> None:
        for match in announcement["matches"]:
            if match["referee_id"] == self.referee_id:
                about = {"league_id": announcement["league_id"], "round_id": announcement["round_id"], **match}
                self.report(self.play(about))


class PollingReferee(SampleReferee):
    """Can't be started: it asks the manager for its matches again and again."""

    name = "Polling Referee"
    threaded = True
    start_method = "nothing starts it"
    pause = 0.05

    def __init__(self, port: int, manager: str) -> None:
        super().__init__(port, manager)
        self.stopped = threading.Event()
        self.polled = threading.Event()

    def accepted(self, answer: Message) -> None:
        super().accepted(answer)
        self.later(self.poll)
        self.polled.wait(30)

    def poll(self) -> None:
        question = {"referee_id": self.referee_id, "auth_token": self.auth_token}
        with suppress(OSError):  # the manager has left
            while not self.stopped.wait(self.pause):
                answer = self.call(self.manager, "get_assigned_matches", question)
                self.polled.set()
                for match in answer.get("matches", []):
                    self.report(self.play(match))

    def stop(self) -> None:
        self.stopped.set()
        super().stop()


class UndecidedReferee(SampleReferee):
    """Reports what happened, and leaves it to others who has won."""

    name = "Undecided Referee"

    def play(self, match: Message) -> Message:
        report = super().play(match)
        return {**report, "result": {"details": report["result"]["details"]}}


class MistakenReferee(SampleReferee):
    """Tells the players the right winner, and the manager the other one."""

    name = "Mistaken Referee"

    def play(self, match: Message) -> Message:
        report = super().play(match)
        ids = [match["player_A_id"], match["player_B_id"]]
        told = report["result"]
        other = ids[0] if told["winner"] is None else next(player for player in ids if player != told["winner"])
        return {**report, "result": {**told, "winner": other}}


class UndecidedRunningReferee(RunningReferee):
    """Started by `run_match`, and what happened is in its answer."""

    name = "Undecided Running Referee"

    def play(self, match: Message) -> Message:
        return {"status": "completed", "details": super().play(match)["result"]["details"]}


REFEREES: Mapping[str, type[SampleReferee]] = {
    kind.name: kind
    for kind in (
        SampleReferee,
        ForwardingReferee,
        AssignedReferee,
        ForwardingAssignedReferee,
        RunningReferee,
        ForwardingRunningReferee,
        AnnouncedReferee,
        BlockingAnnouncedReferee,
        ForwardingAnnouncedReferee,
        HesitantAnnouncedReferee,
        ReportingReferee,
        TypeReferee,
        BareReferee,
        OwnNameReferee,
        PathReferee,
        AssignmentReferee,
        AssignmentTypeReferee,
        BareAssignmentReferee,
        AnnouncedIdReferee,
        PollingReferee,
        UndecidedReferee,
        MistakenReferee,
        UndecidedRunningReferee,
    )
}
