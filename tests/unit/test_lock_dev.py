"""The lock file for development names everything that is asked for, in a version that is allowed."""

from __future__ import annotations

import re
import tomllib
from typing import Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from scripts.lock_dev import LOCK, ROOT, read_requirements

PROJECT: Final = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def test_every_package_a_developer_needs_is_locked_in_a_version_that_is_allowed() -> None:
    text = LOCK.read_text("utf-8")
    versions = dict(re.findall(r"^([a-z0-9-]+)==(\S+)$", text, re.MULTILINE))
    asked = [Requirement(one) for one in read_requirements(PROJECT)]
    wrong = [
        str(one)
        for one in asked
        if canonicalize_name(one.name) not in versions
        or not one.specifier.contains(versions[canonicalize_name(one.name)], prereleases=True)
    ]
    assert not wrong, f"run scripts/lock_dev.py again: {wrong}"
    assert len(versions) == len(text.splitlines()) - 1
    assert "://" not in text


def test_a_user_is_offered_no_extra_that_only_a_developer_needs() -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    assert not set(extras) & set(PROJECT["dependency-groups"])
    assert not [name for name, asked in extras.items() if any("pytest" in one for one in asked)]
