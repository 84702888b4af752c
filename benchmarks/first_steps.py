"""How long it takes a newcomer: from nothing to a first memory, a remembering client, a tool in use.

``python -m benchmarks.first_steps WHEEL`` makes empty environments, does what the documentation says and stops the
time, beside mem0. Models are a stand-in on this machine that answers at once, so that no model's time counts; packages
come from wherever pip takes them. ``--write`` puts the table into docs/first-steps.md.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "first-steps.md"
PEER = "mem0ai==2.2.1"
FACT = "User lives in Oslo"


class StandIn(BaseHTTPRequestHandler):
    """A model that knows one fact and answers at once; it keeps what it was asked."""

    seen: ClassVar[list[str]] = []

    def do_POST(self) -> None:
        """Answer a chat or embed texts."""
        body = self.rfile.read(int(self.headers["content-length"])).decode()
        asked = json.loads(body)
        if self.path.endswith("/embeddings"):
            texts = asked["input"] if isinstance(asked["input"], list) else [asked["input"]]
            data = [{"object": "embedding", "index": at, "embedding": [0.02] * 1536} for at in range(len(texts))]
            self._send({"object": "list", "model": "m", "data": data, "usage": {"prompt_tokens": 1, "total_tokens": 1}})
            return
        StandIn.seen.append(body)
        learned = json.dumps({"memory": [{"id": "0", "text": FACT, "attributed_to": "user"}]})
        text = learned if "json" in body else "Noted."
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        head = {"id": "1", "object": "chat.completion", "created": 1, "model": asked["model"]}
        self._send({**head, "choices": [choice], "usage": usage})

    def _send(self, answer: dict[str, Any]) -> None:
        content = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@dataclass
class Newcomer:
    """Somebody with an empty home, who types commands; each counts."""

    home: Path
    model: str
    commands: int = 0
    environ: dict[str, str] = field(default_factory=dict)

    def type(self, command: str, *, counts: int = 1) -> str:
        """Run a command as a shell does; return what it prints."""
        self.commands += counts
        known = {"PATH": os.environ["PATH"], "HOME": str(self.home), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
        known |= {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "UV_", "SSL_"))}
        ran = subprocess.run(  # noqa: S603 - the commands of the documentation
            ["/bin/sh", "-c", command],
            cwd=self.home,
            env={**known, **self.environ},
            capture_output=True,
            text=True,
            check=False,
        )
        if ran.returncode:
            raise RuntimeError(f"{command}\n{ran.stdout}\n{ran.stderr}")
        return ran.stdout

    @contextmanager
    def keep_running(self, command: str) -> Iterator[list[str]]:
        """Start a service in a terminal of its own; return what it printed until it listens."""
        self.commands += 1
        known = {**os.environ, "HOME": str(self.home)}
        shell = ["/bin/sh", "-c", f"exec {command}"]
        with subprocess.Popen(shell, cwd=self.home, env=known, stdout=subprocess.PIPE, text=True) as service:  # noqa: S603
            try:
                assert service.stdout is not None
                lines: list[str] = []
                while not any("type the code" in line for line in lines):
                    line = service.stdout.readline()
                    if not line:
                        raise RuntimeError("\n".join([command, *lines]))
                    lines.append(line.rstrip("\n"))
                yield lines
            finally:
                service.terminate()


def from_wheel(newcomer: Newcomer, wheel: str, extras: str = "") -> None:
    """Install the wheel into an environment; `pip install` is the one command that counts."""
    newcomer.type("python3 -m venv env", counts=0)
    newcomer.type(f"env/bin/pip install --quiet 'memstone{extras} @ file://{wheel}'")


def from_clone(newcomer: Newcomer, _: str, __: str = "") -> None:
    """Clone the repository and have make install it."""
    newcomer.type(f"git clone --quiet {ROOT} memstone")
    newcomer.type("cd memstone && make .venv/.installed-core && ln -s memstone/.venv ../env")


def first_memory(newcomer: Newcomer) -> None:
    """Store something and find it."""
    newcomer.type("env/bin/memstone add 'I live in Oslo' --user me")
    assert "Oslo" in newcomer.type("env/bin/memstone search 'Where is home?' --user me", counts=0)


def remembering_client(newcomer: Newcomer) -> None:
    """Chat twice with the OpenAI client, in two programs; the second time the model is shown what was said."""
    newcomer.type("env/bin/pip install --quiet openai", counts=0)  # whoever has such a client has this
    with newcomer.keep_running(f"env/bin/memstone serve --port 8479 --upstream {newcomer.model}") as lines:
        exports = [line for line in lines if line.startswith("export OPENAI_")]
        newcomer.commands += len(exports)
        for said in ("I live in Oslo.", "Where do I live?"):
            message = json.dumps([{"role": "user", "content": said}])
            code = f"import openai; openai.OpenAI().chat.completions.create(model='m', messages={message})"
            newcomer.type("; ".join([*exports, f'env/bin/python -c "{code.replace(chr(34), chr(39))}"']), counts=0)
    assert "Oslo" in StandIn.seen[-1], StandIn.seen[-1]


def tool_in_use(newcomer: Newcomer) -> None:
    """Connect an assistant, and call a tool with the entry that was written."""
    newcomer.type("env/bin/memstone connect claude-code --yes")
    entry = json.loads((newcomer.home / ".claude.json").read_text("utf-8"))["mcpServers"]["memstone"]
    code = (
        "import asyncio; from mcp import Client, StdioServerParameters as P\n"
        f"async def ask():\n    async with Client(P(command={entry['command']!r}, args={entry['args']!r})) as c:\n"
        "        await c.call_tool('memory_add', {'content': 'I live in Oslo.'})\n"
        "        print(await c.call_tool('memory_search', {'query': 'Where is home?'}))\n"
        "asyncio.run(ask())\n"
    )
    (newcomer.home / "assistant.py").write_text(code, encoding="utf-8")
    assert "Oslo" in newcomer.type("env/bin/python assistant.py", counts=0)


def console(newcomer: Newcomer) -> None:
    """Start the service and sign in to its console with the code it prints."""
    with newcomer.keep_running("env/bin/memstone serve --port 8479") as lines:
        found = re.search(r"open (\S+) and type the code ([A-Z0-9-]+)", "\n".join(lines))
        assert found is not None
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        with opener.open(found[1], data=f"code={found[2]}".encode()) as page:
            assert "Overview" in page.read().decode()
    newcomer.commands += 1  # opening the link


def peer_config(model: str) -> str:
    """Return the configuration of mem0 for the stand-in."""
    options = {"openai_base_url": model, "api_key": "sk-1"}
    return repr(
        {
            "llm": {"provider": "openai", "config": {**options, "model": "m"}},
            "embedder": {"provider": "openai", "config": {**options, "model": "e"}},
            "vector_store": {"provider": "qdrant", "config": {"path": "vectors", "on_disk": True}},
        }
    )


def peer_memory(newcomer: Newcomer) -> None:
    """Install mem0, store something and find it, as its README does."""
    newcomer.environ["MEM0_TELEMETRY"] = "False"
    newcomer.type("python3 -m venv env", counts=0)
    newcomer.type(f"env/bin/pip install --quiet {PEER}")
    code = (
        f"from mem0 import Memory\nm = Memory.from_config({peer_config(newcomer.model)})\n"
        "m.add([{'role': 'user', 'content': 'I live in Oslo'}], user_id='me')\n"
        "print(m.search('Where is home?', filters={'user_id': 'me'}))\n"
    )
    (newcomer.home / "first.py").write_text(code, encoding="utf-8")
    assert "Oslo" in newcomer.type("env/bin/python first.py")


def peer_client(newcomer: Newcomer) -> None:
    """Install mem0 and chat twice with the OpenAI client, with the calls that its README writes around it.

    Its wrapper of that client (`mem0.proxy`) raises ValueError in this version: its own search no longer takes a user.
    """
    newcomer.environ |= {"MEM0_TELEMETRY": "False", "OPENAI_API_KEY": "sk-1", "OPENAI_BASE_URL": newcomer.model}
    newcomer.type("python3 -m venv env", counts=0)
    newcomer.type(f"env/bin/pip install --quiet {PEER}")
    code = (
        f"import openai\nfrom mem0 import Memory\nm = Memory.from_config({peer_config(newcomer.model)})\n"
        "for said in ('I live in Oslo.', 'Where do I live?'):\n"
        "    found = m.search(said, filters={'user_id': 'me'}, top_k=3)['results']\n"
        "    known = [{'role': 'system', 'content': 'Known: ' + '; '.join(one['memory'] for one in found)}]\n"
        "    asked = [{'role': 'user', 'content': said}]\n"
        "    a = openai.OpenAI().chat.completions.create(model='m', messages=known + asked)\n"
        "    m.add(asked + [{'role': 'assistant', 'content': a.choices[0].message.content}], user_id='me')\n"
    )
    (newcomer.home / "chat.py").write_text(code, encoding="utf-8")
    newcomer.type("env/bin/python chat.py")
    assert any("Known: " in one and "Oslo" in one.partition("Where do I live")[0] for one in StandIn.seen)


def reach(
    install: Callable[[Newcomer, str, str], None],
    wheel: str,
    extras: str,
    goal: Callable[[Newcomer], None],
    newcomer: Newcomer,
) -> None:
    """Install Memstone and do what is to be reached."""
    install(newcomer, wheel, extras)
    goal(newcomer)


def stopwatch(steps: Callable[[Newcomer], None], model: str) -> tuple[float, int]:
    """Return how many seconds it took from nothing, and how many commands."""
    home = Path(tempfile.mkdtemp(prefix="newcomer-"))
    newcomer = Newcomer(home, model)
    began = time.monotonic()
    try:
        steps(newcomer)
    finally:
        shutil.rmtree(home, ignore_errors=True)
    return time.monotonic() - began, newcomer.commands


def measure(wheel: str, model: str, times: int) -> Iterator[tuple[str, str]]:
    """Yield each row of the table: what, and for each way the fewest seconds of so many runs, taken in turns."""
    goals = (
        ("first memory", first_memory, "", peer_memory),
        ("an OpenAI client that remembers", remembering_client, "[server]", peer_client),
        ("an MCP tool in use", tool_in_use, "[mcp,server]", None),
        ("a console in the browser", console, "[server]", None),
    )
    for title, goal, extras, peer in goals:
        ways: list[Callable[[Newcomer], None]] = [
            partial(reach, install, wheel, extras, goal) for install in (from_wheel, from_clone)
        ]
        ways += [peer] if peer else []
        taken = [[stopwatch(way, model) for way in ways] for _ in range(times)]
        cells = ["{:.0f} s, {} commands".format(*min(column)) for column in zip(*taken, strict=True)]
        print(title, taken, flush=True)
        yield title, " | ".join([*cells, *([] if peer else ["not in its package"])])


def main(args: list[str] | None = None) -> int:
    """Measure, print the table, and with ``--write`` put it into the documentation."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", help="the wheel that `python -m build` made")
    parser.add_argument("--times", type=int, default=1, help="how often; the shortest counts")
    parser.add_argument("--write", action="store_true", help="write the table into docs/first-steps.md")
    wanted = parser.parse_args(args)
    server = ThreadingHTTPServer(("127.0.0.1", 0), StandIn)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    load = os.getloadavg()[0]
    rows = list(measure(str(Path(wanted.wheel).resolve()), f"http://127.0.0.1:{server.server_port}/v1", wanted.times))
    table = "\n".join(
        [
            "| from nothing to ... | Memstone, wheel | Memstone, clone | mem0 2.2.1 |",
            "|---|---|---|---|",
            *(f"| {title} | {cells} |" for title, cells in rows),
        ]
    )
    where = f"{os.cpu_count()} cores, load {load:.1f} to {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}"
    text = f"{table}\n\nMeasured on {time.strftime('%Y-%m-%d')}, the shortest of {wanted.times} runs: {where}."
    print(text)
    if wanted.write:
        place = re.compile(r"(?<=<!-- table -->\n).*?(?=\n<!-- end -->)", re.DOTALL)
        PAGE.write_text(place.sub(lambda _: text, PAGE.read_text("utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
