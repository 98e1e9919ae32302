"""Referees by people who read the same documents otherwise: how a match is started, and how it is reported.

`REFEREES` names them all.
"""

from collections.abc import Mapping
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
        ReportingReferee,
        TypeReferee,
        BareReferee,
        OwnNameReferee,
    )
}
