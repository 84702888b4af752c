"""Measure how much of the core and the engine the tests run; ``make test`` loads it with ``-p``.

A test takes up to twice as long while it is measured. So only tests in ``MEASURED`` are, most of which call the core
and the engine directly or through a blocking memory; all others pay nothing. What each process of
pytest-xdist has measured is put together in the end. Less than ``fail_under`` in pyproject.toml fails the run.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Generator
from io import StringIO
from typing import Any, Final

import pytest
from coverage import Coverage, CoverageData

MEASURED: Final = (
    "tests/unit/",
    "tests/faces/",
    "tests/console/",
    "tests/conformance/test_llm",
    "tests/conformance/test_rerank",
    "tests/conformance/test_graph_mirror",
    "tests/server/test_gateway",
)
PACKAGES: Final = ("memstone.core", "memstone.engine")
LEAST_SHOWN: Final = 80.0
"""Modules below this are named."""

_KEY: Final = "coverage_of_core_and_engine"


class CoveragePlugin:
    """Measures in one process, and puts together what several have measured."""

    def __init__(self) -> None:
        self._coverage = Coverage(data_file=None)
        self._report = ""
        self._percent = 0.0
        self._coverage.start()
        import_modules()  # so that definitions count, which no test runs
        self._coverage.stop()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Measure while a test runs that is to be measured."""
        if not is_measured(item):
            return (yield)
        self._coverage.start()
        try:
            return (yield)
        finally:
            self._coverage.stop()

    def pytest_testnodedown(self, node: Any) -> None:
        """Take what a process of pytest-xdist has measured."""
        if sent := getattr(node, "workeroutput", {}).get(_KEY):
            data = CoverageData(no_disk=True)
            data.loads(sent)
            self._coverage.get_data().update(data)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Send what was measured to the process that started this one, or say how much it is."""
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output[_KEY] = self._coverage.get_data().dumps()
            return
        self._percent, self._report = self._summary()
        if session.exitstatus == pytest.ExitCode.OK and self._percent < self._floor:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print it."""
        terminalreporter.section("coverage of core and engine")
        terminalreporter.write(self._report)
        terminalreporter.line(f"{self._percent:.1f} % of lines and branches, of at least {self._floor:.0f} %")

    @property
    def _floor(self) -> float:
        return float(self._coverage.get_option("report:fail_under") or 0)  # type: ignore[arg-type]

    def _summary(self) -> tuple[float, str]:
        """Return how much was run, and a line for each package and for each module of which little was."""
        table = StringIO()
        percent = self._coverage.report(file=table, show_missing=False)
        lines = [line for line in table.getvalue().splitlines() if line.endswith("%") and _percent(line) < LEAST_SHOWN]
        return percent, "".join(f"{line}\n" for line in lines)


def _percent(line: str) -> float:
    return float(line.rsplit(maxsplit=1)[-1].rstrip("%"))


def import_modules() -> None:
    """Import every module of the packages that are measured."""
    for name in PACKAGES:
        package = importlib.import_module(name)
        for module in pkgutil.walk_packages(package.__path__, f"{name}."):
            importlib.import_module(module.name)


def is_measured(item: pytest.Item) -> bool:
    """Whether a test is one of those that are measured: of many alike the first, of the interfaces the blocking one.

    Tests that are long, or that hypothesis repeats, cost most and reach little that the others do not.
    """
    if not item.nodeid.startswith(MEASURED) or item.get_closest_marker("slow"):
        return False
    if not isinstance(item, pytest.Function) or hasattr(item.obj, "hypothesis"):
        return False
    if not hasattr(item, "callspec"):
        return True
    kind = item.callspec.params.get("kind")
    return kind != "async_memory" and not any(item.callspec.indices.values())


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Begin before a conftest.py imports what is measured."""
    early_config.pluginmanager.register(CoveragePlugin(), _KEY)
