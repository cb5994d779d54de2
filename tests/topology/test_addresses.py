"""Where ranks are, from what their processes are told."""

from __future__ import annotations

from pathlib import Path

import pytest

from coded_mr.errors import UsageError
from coded_mr.topology import Address, sites_of


@pytest.fixture
def no_scontrol(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))


@pytest.fixture
def network(tmp_path: Path) -> str:
    path = tmp_path / "network.conf"
    path.write_text("SwitchName=s1 Nodes=n[1-2]\nSwitchName=s2 Nodes=n[3-4]\n")
    return str(path)


def test_a_host_goes_by_its_own_name_first(network: str) -> None:
    addresses = [Address("n2.cluster", "n3", None), Address("vm", "n4", None), Address("vm", "n1", None)]
    assert sites_of(addresses, network).hosts == ("n2", "n4", "n1")


def test_a_node_name_that_several_hosts_have_is_none_of_theirs(network: str) -> None:
    """A launcher has handed the environment of the first node to all hosts."""
    addresses = [Address("n1", "n1", None), Address("login", "n1", None)]
    with pytest.raises(UsageError, match="no host for rank 1 on login"):
        sites_of(addresses, network)


def test_without_a_topology_hosts_are_neighbours() -> None:
    sites = sites_of([Address("a", None, None), Address("b", None, None), Address("a", None, None)], None)
    assert sites.hosts == ("a", "b", "a")
    assert len(sites.tree.below) == 1


@pytest.mark.usefixtures("no_scontrol")
def test_without_scontrol_nodes_know_their_addresses() -> None:
    told = [Address("vm", f"n{k}", f"top.s{k // 2}.n{k}") for k in (1, 2, 3, 1)]
    sites = sites_of(told, "slurm")
    assert sites.hosts == ("n1", "n2", "n3", "n1")
    assert sites.climbs[2] == ("n3", "s1", "top")


@pytest.mark.usefixtures("no_scontrol")
def test_addresses_that_cannot_be_are_refused() -> None:
    with pytest.raises(UsageError, match="no SLURM_TOPOLOGY_ADDR at rank 1 on n2"):
        sites_of([Address("n1", "n1", "s.n1"), Address("n2", None, None)], "slurm")
    with pytest.raises(UsageError, match="on host n2 is not switches and then its name"):
        sites_of([Address("n1", "n1", "s.n1"), Address("n2", "n1", "s.n1")], "slurm")
