"""The compose file, as far as it can be checked without a daemon: what it asks one for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

DOCKER = Path(__file__).parents[2] / "docker"


def test_it_has_one_head_and_several_workers_of_one_image(compose: dict[str, Any]) -> None:
    services = compose["services"]
    assert set(services) == {"head", "worker"}
    assert "deploy" not in services["head"]
    assert services["worker"]["deploy"]["replicas"] == "${CODED_MR_WORKERS:-3}"
    assert services["head"]["image"] == services["worker"]["image"]
    build = services["head"]["build"]
    context = (DOCKER / build["context"]).resolve()
    assert context == DOCKER.parent
    assert (context / build["dockerfile"]).is_file()


def test_roles_are_those_the_entry_point_knows(compose: dict[str, Any]) -> None:
    for role, service in compose["services"].items():
        assert service["command"] == [role]
        assert (DOCKER / f"{role}.sh").is_file()


def test_settings_are_those_the_scripts_read(compose: dict[str, Any]) -> None:
    scripts = "".join(path.read_text() for path in DOCKER.glob("*.sh"))
    for service in compose["services"].values():
        for name in service["environment"]:
            if name.startswith("CODED_MR_"):
                assert f"${{{name}:-" in scripts, name
    head = compose["services"]["head"]["environment"]
    assert head["CODED_MR_WORKERS"] == "${CODED_MR_WORKERS:-3}"
    assert head["PRTE_MCA_prte_default_hostfile"] == "/cluster/hostfile"


def test_nothing_is_privileged_and_no_port_is_opened(compose: dict[str, Any]) -> None:
    for service in compose["services"].values():
        forbidden = {"privileged", "ports", "network_mode", "pid", "ipc", "cap_add", "user", "devices"}
        assert not forbidden & set(service)
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert service["networks"] == ["mpi"]
    assert set(compose["networks"]) == {"mpi"}


def test_keys_live_in_a_volume_that_both_share(compose: dict[str, Any]) -> None:
    for service in compose["services"].values():
        assert service["volumes"] == ["cluster:/cluster", "${CODED_MR_DATA:-data}:/data"]
    assert set(compose["volumes"]) == {"cluster", "data"}
    assert "secrets" not in compose


def test_every_service_has_a_health_of_its_own(compose: dict[str, Any]) -> None:
    head, worker = (compose["services"][name]["healthcheck"] for name in ("head", "worker"))
    assert head["test"] == ["CMD", "test", "-s", "/cluster/hostfile"]
    assert worker["test"] == ["CMD", "/opt/coded_mr/docker/entrypoint.sh", "health"]
    for check in (head, worker):
        assert {"interval", "timeout", "start_period", "retries"} <= set(check)
