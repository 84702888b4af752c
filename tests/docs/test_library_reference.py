from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from scripts import library_reference

if TYPE_CHECKING:
    import pytest


def test_the_page_of_the_library_names_every_method(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["library_reference.py", "--check"])
    assert library_reference.main() == 0, "run python -m scripts.library_reference"
