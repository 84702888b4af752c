"""The container files say exactly what runs: images by their digests, packages by their hashes, and no superuser."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from scripts.lock_container import PROCESSORS, python_version, wanted

ROOT: Final = Path(__file__).resolve().parents[2]
DOCKERFILE: Final = (ROOT / "Dockerfile").read_text("utf-8")
COMPOSE: Final[dict[str, Any]] = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))
EXACT: Final = re.compile(r"[a-z0-9./-]+:\d+\.\d+\.\d+[a-z0-9.-]*@sha256:[0-9a-f]{64}")
LOCKED: Final = re.compile(r"^([a-z0-9-]+)==(\S+)((?: \\\n    --hash=sha256:[0-9a-f]{64})+)$", re.MULTILINE)


def locked(name: str) -> dict[str, tuple[str, int]]:
    """Version and number of hashes of every package in a file of requirements."""
    text = (ROOT / "container" / name).read_text("utf-8")
    return {found[1]: (found[2], found[3].count("--hash")) for found in LOCKED.finditer(text)}


def test_every_image_is_named_by_version_and_digest() -> None:
    bases = re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE)
    others = [one["image"] for one in COMPOSE["services"].values() if "build" not in one]
    assert bases
    assert others
    assert not [image for image in (*bases, *others) if not EXACT.fullmatch(image)]
    assert len(set(bases)) == 1  # what is built in one runs in the other


@pytest.mark.parametrize("name", wanted())
def test_what_is_installed_is_locked_by_version_and_hash(name: str) -> None:
    text, versions = (ROOT / "container" / name).read_text("utf-8"), locked(name)
    asked = [Requirement(one) for one in wanted()[name]]
    assert f"for Python {python_version()};" in text
    for one in asked:
        version, _ = versions[canonicalize_name(one.name)]
        assert one.specifier.contains(version), f"{one}: run scripts/lock_container.py again"
    assert len(versions) == text.count("==")
    assert all(hashes <= len(PROCESSORS) for _, hashes in versions.values())
    assert "://" not in text


def test_the_image_is_built_from_what_is_locked_and_from_nothing_else() -> None:
    installs = re.findall(r"pip (?:install|wheel) (.*?)(?= \\\n|\n)", DOCKERFILE)
    assert len(installs) == 4
    for one in installs:
        assert "--require-hashes" in one or "--no-deps" in one, one
    allowed = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    copied = [
        word for line in re.findall(r"^COPY (?!--from)(.+)$", DOCKERFILE, re.MULTILINE) for word in line.split()[:-1]
    ]
    assert all(f"!{one.split('/')[0]}" in allowed for one in copied), copied
    assert all((ROOT / one).exists() for one in copied)


def test_the_image_runs_as_a_user_of_its_own_is_asked_whether_it_is_ready_and_reads_a_mounted_file() -> None:
    final = DOCKERFILE.rpartition("FROM ")[2]
    assert re.findall(r"^USER (\w+)$", final, re.MULTILINE) == ["memstone"]
    assert final.index("\nRUN ") < final.index("\nUSER ") < final.index("\nENTRYPOINT "), "nothing runs as root"
    assert "/readyz" in final.partition("HEALTHCHECK")[2]
    (config,) = re.findall(r"MEMSTONE_CONFIG=(\S+)", final)
    assert f"install -D --mode=0644 /dev/null {config}" in final, "it is there, empty and readable, without a mount"
    assert f"/memstone.toml:{config}:ro" in (ROOT / "docs" / "deploy.md").read_text("utf-8")


def test_the_service_connects_as_a_role_that_is_no_superuser_and_owns_nothing() -> None:
    services = COMPOSE["services"]
    roles = {
        name: re.match(r"postgresql://(\w+):\$\{(\w+)\}@", one["environment"]["MEMSTONE_STORE__URL"])
        for name, one in services.items()
        if "MEMSTONE_STORE__URL" in one.get("environment", {})
    }
    assert {name: found and found.groups() for name, found in roles.items()} == {
        "migrate": ("memstone_owner", "OWNER_PASSWORD"),
        "memstone": ("memstone", "SERVICE_PASSWORD"),
    }
    assert services["postgres"]["environment"]["POSTGRES_USER"] == "postgres"
    assert services["memstone"]["depends_on"] == {"migrate": {"condition": "service_completed_successfully"}}
    assert services["migrate"]["command"] == ["migrate", "--grant", "memstone"]
    assert not [name for name in ("postgres", "migrate") if "ports" in services[name]]
