"""Networks that several tests use, and hypothesis strategies for any."""

from __future__ import annotations

from hypothesis import strategies as st

from coded_mr.topology import Sites, SwitchTree, parse

__all__ = ["PODS", "TWO_SWITCHES", "any_sites", "trees"]

TWO_SWITCHES = parse(
    "SwitchName=s1 Nodes=h[1-4]\nSwitchName=s2 Nodes=h[5-8]\nSwitchName=core Switches=s[1-2]", "two switches"
)
"""h1 to h4 at s1, h5 to h8 at s2."""

PODS = parse(
    "".join(f"SwitchName=e{k} Nodes=h[{2 * k}-{2 * k + 1}]\n" for k in range(8))
    + "".join(f"SwitchName=pod{k} Switches=e[{2 * k}-{2 * k + 1}]\n" for k in range(4))
    + "SwitchName=core Switches=pod[0-3]",
    "pods",
)
"""A fat tree of arity 4, its ways up taken together: h0 to h15, two at an edge switch, four in a pod."""


@st.composite
def trees(draw: st.DrawFn) -> SwitchTree:
    """Draw a tree: each switch but the first is below an earlier one, each host below any switch."""
    switches = draw(st.integers(1, 8))
    above = {f"s{k}": f"s{draw(st.integers(0, k - 1))}" for k in range(1, switches)}
    hosts = {f"h{k}": f"s{draw(st.integers(0, switches - 1))}" for k in range(draw(st.integers(1, 12)))}
    return SwitchTree(tuple(hosts), hosts | above)


@st.composite
def any_sites(draw: st.DrawFn, ranks: int) -> Sites:
    """Draw a tree and a host for each of so many ranks."""
    tree = draw(trees())
    return Sites(tree, tuple(draw(st.sampled_from(tree.hosts)) for _ in range(ranks)))
