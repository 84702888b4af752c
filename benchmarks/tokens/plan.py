"""Runs both systems against the same model and gathers what each call cost."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.speed import venvs
from benchmarks.speed.runner import Runner, peer, product
from benchmarks.tokens.embedding import Embeds, embedder
from benchmarks.tokens.judge import judge
from benchmarks.tokens.meter import Meter
from benchmarks.tokens.model import ScriptedModel
from memstone.testing.wire import KEY, WireServer

MODELS: Final = {"attentive": True, "inattentive": False}
_DIRECT: Final = {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1", "OPENROUTER_API_KEY": ""}
"""The model is on this machine, whatever the environment says about the way out and about other vendors."""


@dataclass(frozen=True, slots=True)
class Child(Runner):
    """An interpreter that runs this benchmark's child."""

    def learn(self, directory: Path, url: str) -> dict[str, Any]:
        """Add all conversations; what happened, and what is remembered."""
        command = [str(self.python), "-m", "benchmarks.tokens.child", self.system]
        job = {"directory": str(directory), "url": url, "key": KEY}
        answer: dict[str, Any] = json.loads(self._start(command, json.dumps(job)))
        return answer


@dataclass(frozen=True, slots=True)
class Plan:
    """The choices of a run."""

    vectors: str
    say: Callable[[str], None]


def run(plan: Plan) -> dict[str, dict[str, Any]]:
    """Return ``{model: {system: reading}}`` for every model and both systems."""
    python = venvs.ensure(venvs.cache_root() / "mem0", f"{venvs.PEER}=={venvs.PEER_VERSION}")
    embeds = embedder(plan.vectors)
    return {model: _systems(model, python, embeds, plan.say) for model in MODELS}


def _systems(model: str, python: Path, embeds: Embeds, say: Callable[[str], None]) -> dict[str, Any]:
    scratch = Path(tempfile.mkdtemp(prefix="memstone-bench-"))
    readings: dict[str, Any] = {}
    try:
        for runner in (product(), peer(python, scratch)):
            say(f"{runner.system} with the {model} model")
            meter = Meter(ScriptedModel(attentive=MODELS[model]), embeds)
            readings[runner.system] = _reading(runner, meter, scratch / runner.system)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return readings


def _reading(runner: Runner, meter: Meter, directory: Path) -> dict[str, Any]:
    directory.mkdir()
    child = Child(runner.system, runner.python, {**runner.environment, **_DIRECT})
    with WireServer(meter) as server:
        learned = child.learn(directory, server.url)
    adds = [{**asdict(add), "events": events} for add, events in zip(meter.adds, learned["events"], strict=True)]
    return {"adds": adds, "live": learned["live"], "verdict": asdict(judge(learned["live"]))}
