"""Who can reach a server: the one place that decides whether a league is loopback only.

Every default that strangers must not have hangs on it: no keys, a return without a token, referees without a key.
"""

from agent_league.config.models import NetworkConfig
from agent_league.http.hosts import are_all_loopback


def is_loopback_only(
    network: NetworkConfig, *, listens_on_loopback: bool = True, has_dial_out_seats: bool = False
) -> bool:
    """Whether only this machine can take part: it listens on loopback, and nothing brings others in.

    A proxy calls from loopback whoever is behind it, and a dial-out seat calls from there for an agent anywhere.
    """
    is_behind_proxy = network.public_url is not None or bool(network.trusted_proxies)
    return (
        listens_on_loopback
        and not is_behind_proxy
        and not has_dial_out_seats
        and are_all_loopback(network.allowed_hosts)
    )
