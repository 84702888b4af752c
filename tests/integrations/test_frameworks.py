"""Frameworks that do not resolve with the developer's tools, each in the environment ``framework-tests``."""

from __future__ import annotations

import pytest

from tests.environments import ROOT, environment_python, run_script


@pytest.mark.system
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("name", ["run_langgraph", "run_llama_index", "run_openai_agents"])
def test_the_framework_works_with_our_memory(name: str) -> None:
    python = environment_python("framework-tests", "langgraph")
    folder = ROOT / "tests" / "integrations"
    result = run_script(python, str(folder / f"{name}.py"), path=folder, folder=ROOT)
    assert result.stdout.strip().endswith("done"), result.stderr[-4_000:]
