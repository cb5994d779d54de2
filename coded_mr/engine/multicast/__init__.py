"""Transports: the only place that sends intermediate values.

A transport delivers one packet from its sender to its receivers. Both sides are generators that yield what
they wait for (see `engine.window`), so that many packets are under way at once.
"""

from coded_mr.engine.multicast.groups import GroupTransport

__all__ = ["GroupTransport"]
