"""A real language model, and a record of what it was asked and what it said."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from memstone.testing.wire import WireReply, WireRequest, WireServer
from scripts.fetch_models import Model

SERVER: Final = Path(__file__).with_name("llama_server.py")
PATIENCE_SECONDS: Final = 300


@dataclass(frozen=True, slots=True)
class Exchange:
    """One question that went over the wire and its answer."""

    asked: Any
    status: int
    answer: Any
    seconds: float

    @property
    def text(self) -> str:
        """What the model said."""
        return str(self.answer["choices"][0]["message"]["content"])

    @property
    def response_format(self) -> str:
        """In which way JSON was asked for."""
        return str(self.asked.get("response_format", {}).get("type", "none"))

    def line(self) -> str:
        """Report how much was read and written, and how long it took."""
        usage = self.answer.get("usage", {}) if isinstance(self.answer, dict) else {}
        name = self.asked.get("response_format", {}).get("json_schema", {}).get("name", self.response_format)
        read, written = usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0)
        return f"{name:10} {self.status}  {read:5} tokens read  {written:4} written  {self.seconds:6.1f} s"


@dataclass(slots=True)
class RealModel:
    """Stands between Memstone and the server, passes everything on as it is, and keeps it."""

    name: str
    behind: str
    exchanges: list[Exchange] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    url: str = ""

    def __call__(self, request: WireRequest) -> WireReply:
        """Pass a request on."""
        import httpx2

        began = time.perf_counter()
        headers = {"content-type": "application/json"}
        reply = httpx2.post(self.behind + request.path, content=request.body, headers=headers, timeout=PATIENCE_SECONDS)
        seconds = time.perf_counter() - began
        self.exchanges.append(Exchange(request.json, reply.status_code, reply.json(), seconds))
        return WireReply(reply.status_code, body=reply.content)

    def settings(self, **more: Any) -> dict[str, Any]:
        """Return a memory that learns with this model; ``more`` is about the model."""
        config = {"base_url": f"{self.url}/v1", "model": self.name, "api_key": "x", "timeout": PATIENCE_SECONDS, **more}
        return {"llm": {"provider": "openai", "config": config}, "embedder": {"provider": "local"}}

    def since(self, mark: int) -> list[Exchange]:
        """Return what was exchanged after so many exchanges."""
        return self.exchanges[mark:]


@contextmanager
def running(name: str, model: Model) -> Iterator[RealModel]:
    """Yield the model, ready to answer; raise ``FileNotFoundError`` if it has not been fetched."""
    if not model.path.exists():
        raise FileNotFoundError(f"{model.path} is missing: `python scripts/fetch_models.py` fetches it")
    command = [sys.executable, str(SERVER), str(model.path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:  # noqa: S603
        address = _first_line(process)
        if not address.startswith("http://127.0.0.1:"):
            raise OSError(f"the server of {name} has not started: is the extra `local-llm` installed?")
        real = RealModel(name, address)
        with WireServer(real) as recorder:
            real.url = recorder.url
            yield real
        process.communicate(timeout=PATIENCE_SECONDS)  # closes its standard input, at which it ends


def _first_line(process: subprocess.Popen[bytes]) -> str:
    return process.stdout.readline().decode().strip() if process.stdout else ""
