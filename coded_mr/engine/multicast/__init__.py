"""Transports: the only place that sends intermediate values.

A transport delivers one packet from its sender to its receivers. Both sides are generators that yield what
they wait for (see `engine.window`), so that many packets are under way at once. `groups` broadcasts over a
communicator for each set of receivers, `unicast` sends to each receiver, `ip` uses IP multicast.
"""

from coded_mr.engine.multicast.carriers import TRANSPORTS, Carrier, open_carrier
from coded_mr.engine.multicast.groups import GroupTransport
from coded_mr.engine.multicast.ip import IpTransport
from coded_mr.engine.multicast.transport import Sent, Transport
from coded_mr.engine.multicast.unicast import UnicastTransport

__all__ = [
    "TRANSPORTS",
    "Carrier",
    "GroupTransport",
    "IpTransport",
    "Sent",
    "Transport",
    "UnicastTransport",
    "open_carrier",
]
