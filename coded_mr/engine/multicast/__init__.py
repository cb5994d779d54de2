"""Transports: the only place that sends intermediate values.

A transport delivers one packet from its sender to its receivers. Both sides are generators that yield what
they wait for (see `engine.window`), so that many packets are under way at once. `groups` broadcasts over a
communicator for each set of receivers, `unicast` sends to each receiver, `ip` uses IP multicast,
`relay` lets receivers pass packets on along the network's tree.
"""

from coded_mr.engine.multicast.carriers import AUTO, TRANSPORTS, Carrier
from coded_mr.engine.multicast.groups import GroupTransport
from coded_mr.engine.multicast.opening import open_carrier, open_carriers
from coded_mr.engine.multicast.transport import Sent, Transport
from coded_mr.engine.multicast.unicast import UnicastTransport

__all__ = [
    "AUTO",
    "TRANSPORTS",
    "Carrier",
    "GroupTransport",
    "Sent",
    "Transport",
    "UnicastTransport",
    "open_carrier",
    "open_carriers",
]
