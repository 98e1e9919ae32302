"""Which seat a registration belongs to: found before it is judged, so that the roster sees the seat's address."""

from contextvars import ContextVar
from dataclasses import dataclass, replace

from agent_league.agent.sign_up_team import SIGN_UP_TEAM
from agent_league.http.caller_address import CALLER_ADDRESS, THIS_MACHINE
from agent_league.league.dial_out.seats import DialOutSeat, DialOutSeats, identify_network
from agent_league.league.roster import AgentApplication, RegistrationRejected, RejectReason
from agent_league.protocol.dial_out import is_seat_address
from agent_league.text import MAX_SENTENCE, shorten

CALLING_SEAT: ContextVar[DialOutSeat | None] = ContextVar("calling_seat", default=None)
"""The seat whose own address of the manager the current call came to; None for every other address."""


@dataclass(frozen=True, slots=True)
class SeatedApplication:
    """A registration with the address of its seat in place of its own."""

    application: AgentApplication
    seat: DialOutSeat


def find_seat(application: AgentApplication, seats: DialOutSeats) -> SeatedApplication | None:
    """Find the seat through which an applicant wants to be called; None if it is to be called at its own address.

    Raises RegistrationRejected where several seats come into question, or somebody else's is named.
    """
    endpoint, team = application.profile.endpoint, SIGN_UP_TEAM.get()
    seat = CALLING_SEAT.get()
    if seat is not None:
        return take_seat(application, seat, is_proven=True)
    if is_seat_address(endpoint):
        raise RegistrationRejected(
            RejectReason.INVALID_ENDPOINT,
            "this is the address of a dial-out seat: register at the manager's address that came with the seat",
        )
    caller = CALLER_ADDRESS.get()
    found = seats.find_forwarding(endpoint, identify_network(caller[0]) if caller else THIS_MACHINE, team)
    if not found:
        return None
    if len(found) > 1:
        raise RegistrationRejected(
            RejectReason.INVALID_ENDPOINT,
            f"{len(found)} agents that dial out from your address forward to {shorten(endpoint, MAX_SENTENCE)}: give"
            " yours another port, or let `league connect --name NAME` register it",
        )
    return take_seat(application, found[0], is_proven=team is not None)


def take_seat(application: AgentApplication, seat: DialOutSeat, *, is_proven: bool) -> SeatedApplication:
    """Give an applicant the address of a seat, and note what its connection says of it, or that it dials out."""
    profile = application.profile
    how = application.protocol_profile
    if profile.endpoint != seat.address:
        own = shorten(profile.endpoint, MAX_SENTENCE)
        said = seat.connection.deviation if seat.connection else ""
        noted = said or f"dials out: called through its seat instead of {own}"
        how = replace(how, deviations=(*how.deviations, noted))
    seated = replace(
        application,
        profile=replace(profile, endpoint=seat.address, addresses=()),
        protocol_profile=how,
        is_seated=True,
        link_port=None,
        is_seat_proven=is_proven,
    )
    return SeatedApplication(seated, seat)
