"""What calibration measured: stored, read again, and made into the planner's machines."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from coded_mr.engine.network_probe import _undisturbed, beaten
from coded_mr.engine.profile import Network, Profile
from coded_mr.errors import InputError
from coded_mr.plan.planner import Request, decide

PROFILE = Profile(
    input_bytes=1_000_000,
    map_seconds=1e-6,
    map_growth=0.25,
    value_bytes=0.5,
    value_growth=0.5,
    reduce_seconds=2e-6,
    part_seconds=0.25,
    networks={
        "groups": Network({1: 1e-6, 3: 3e-6}, {1: 2e-6, 3: 4e-6}, 1e-3, 2e-3, 3e-3),
        "ip": Network({1: 2e-6, 2: 2e-6, 3: 2e-6}, {1: 2e-6, 3: 2e-6}, 1e-3, 0.0, 0.0),
    },
    padding=(1.0, 1.5),
    map_slots={1: 1.0, 2: 1.5, 4: 2.0},
    reduce_slots={1: 1.0, 2: 2.0, 4: 4.0},
    hosts=(0, 0, 1, 1),
    sample_bytes=1000,
    seconds=0.1,
)


def test_a_machine_for_each_transport() -> None:
    groups, ip = PROFILE.machines(2)
    assert (groups.transport, ip.transport) == ("groups", "ip")
    assert float(groups.costs.map) == pytest.approx(1)
    assert [float(machine.costs.shuffle) for machine in (groups, ip)] == pytest.approx([0.5, 1])
    # 250,000 bytes of a partition, and its part.
    assert float(groups.costs.reduce) == pytest.approx(0.5 + 0.25)
    assert list(map(float, groups.beta)) == pytest.approx([1, 2, 3])
    assert set(ip.beta) == {Fraction(1)}
    assert list(map(float, groups.alone)) == pytest.approx([2, 3, 4])
    assert groups.hosts == (0, 0, 1, 1)
    assert groups.map_slots == ((1, Fraction(1)), (2, Fraction(3, 2)), (4, Fraction(2)))
    assert groups.reduce_slots == ((1, Fraction(1)), (2, Fraction(2)), (4, Fraction(4)))
    assert float(groups.start) == pytest.approx(3e-3)


def test_the_planner_takes_the_transport_that_is_faster_for_its_plan() -> None:
    machines = PROFILE.machines(3)
    assert decide(Request(3, 3, scheme="uncoded", r=1), machines).machine.transport == "groups"
    coded = decide(Request(3, 4, scheme="solver-helper", r=2), machines)
    assert coded.machine.transport == "ip"
    assert {candidate.machine.transport for candidate in coded.considered} == {"groups", "ip"}


def test_a_profile_is_read_as_it_was_stored(tmp_path: Path) -> None:
    path = tmp_path / "costs.json"
    path.write_text(json.dumps(PROFILE.to_dict()))
    assert Profile.load(str(path)) == PROFILE


@pytest.mark.parametrize("spoil", [lambda d: d.pop("networks"), lambda d: d.update(format="x"), list.__len__])
def test_what_is_no_profile_is_refused(tmp_path: Path, spoil) -> None:
    document = PROFILE.to_dict() if spoil is not list.__len__ else []
    if document:
        spoil(document)
    path = tmp_path / "costs.json"
    path.write_text(json.dumps(document))
    with pytest.raises(InputError, match="calibrate"):
        Profile.load(str(path))


def test_the_summary_names_every_transport() -> None:
    text = PROFILE.summary()
    assert "groups     1: 1.0 MB, 3: 0.3 MB" in text
    assert "ip         1: 0.5 MB" in text


def test_more_receivers_never_cost_less() -> None:
    assert _undisturbed({1: 5.0, 2: 3.0, 4: 4.0}) == {1: 3.0, 2: 3.0, 4: 4.0}


def test_what_is_beaten_for_every_number_of_receivers_is_not_worth_measuring() -> None:
    network = {
        "groups": Network({1: 1.0, 3: 3.0}, {1: 3.0}, 0.0, 0.0, 0.0),
        "unicast": Network({1: 1.0, 3: 2.1}, {1: 2.0}, 0.0, 0.0, 0.0),
        "ip": Network({1: 0.5, 3: 0.5}, {1: 1.0}, 0.0, 0.0, 0.0),
        "relay": Network({1: 0.7, 3: 1.0}, {1: 1.0}, 0.0, 0.0, 0.0),
    }
    assert beaten(network) == {"groups", "unicast"}
    assert beaten({name: network[name] for name in ("groups", "unicast")}) == set()
    assert beaten({"groups": network["groups"]}) == set()
    assert beaten({name: Network({}, {}, 0.0, 0.0, 0.0) for name in network}) == set()
