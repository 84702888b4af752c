"""Starts each real model once, when a test asks for it, and reports how long its answers took."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.quality.local_model import RealModel, running
from scripts.fetch_models import QWEN, SMOLLM2
from tests.faces.conftest import kind, pytest_pyfunc_call
from tests.faces.harness import Opens

__all__ = ["kind", "pytest_pyfunc_call"]  # scenarios run through both faces here as well

_STARTED: list[RealModel] = []


@pytest.fixture(scope="session")
def qwen() -> Iterator[RealModel]:
    """Qwen2.5-Coder 1.5B: understands simple sentences, decides badly."""
    with running("qwen2.5-coder-1.5b", QWEN) as model:
        _STARTED.append(model)
        yield model


@pytest.fixture(scope="session")
def smollm2() -> Iterator[RealModel]:
    """SmolLM2 135M: writes sentences, and understands next to nothing."""
    with running("smollm2-135m", SMOLLM2) as model:
        _STARTED.append(model)
        yield model


@pytest.fixture
def opens(kind: str, tmp_path: Path) -> Opens:
    """Opens faces over a store on disk."""
    return Opens(kind, tmp_path / "memstone.db")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Every question with its time: to be read, not to be judged by a test."""
    for model in _STARTED:
        terminalreporter.section(f"{model.name}: {len(model.exchanges)} questions")
        for line in [*(exchange.line() for exchange in model.exchanges), *model.notes]:
            terminalreporter.write_line(line)
