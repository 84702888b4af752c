"""What ``memstone serve`` prints works when it is pasted into a terminal that was just opened."""

from __future__ import annotations

import os
import re
import shlex
import stat
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path

import httpx2
import pytest

from memstone import Memory
from memstone.cli.banner import LOCAL_KEY, BannerPart, export_line, print_banner
from tests.patience import LONG, until
from tests.postgres.server import Server
from tests.server.upstream import Upstream, served


@dataclass
class Started:
    """A service that was started from the command line, and what it printed."""

    home: Path
    url: str
    lines: list[str]

    def paste(self, line: str) -> str:
        """What a line prints in a new terminal, which knows nothing but the home of its user."""
        known = {"PATH": "/usr/bin:/bin", "HOME": str(self.home)}
        known |= {"PYTHONPATH": os.environ["PYTHONPATH"]} if "PYTHONPATH" in os.environ else {}
        shell = ["/bin/sh", "-c", line]
        return subprocess.run(shell, env=known, cwd="/", capture_output=True, text=True, check=True).stdout  # noqa: S603

    def finds(self, line: str) -> bool:
        """Whether a line shows what the line for curl has stored."""
        return "Oslo" in self.paste(line)

    def curl(self) -> httpx2.Response:
        """The answer to the line for curl, which need not be installed here."""
        (line,) = [line for line in self.lines if line.startswith("curl ")]
        url, *options = self.paste(f"printf '%s\\n' {line.removeprefix('curl ')}").splitlines()
        heads = dict(value.split(": ", 1) for name, value in pairwise(options) if name == "-H")
        return httpx2.post(url, headers=heads, content=options[-1], timeout=LONG)

    def python(self) -> list[str]:
        """The lines for Python."""
        return [line for line in self.lines if line.startswith(shlex.quote(sys.executable))]

    def exports(self) -> list[str]:
        """The lines that make a client remember."""
        return [line for line in self.lines if line.startswith("export ") and "MEMSTONE_KEY=" not in line]


@contextmanager
def started(home: Path, *args: str, **environ: str) -> Iterator[Started]:
    """Start it, read what it prints until it has said everything, and end it."""
    home.mkdir(exist_ok=True)
    usual = {
        name: value for name, value in os.environ.items() if not name.startswith(("MEMSTONE_", "OPENAI_", "ANTHR"))
    }
    environ = {**usual, "HOME": str(home), "MEMSTONE_EMBEDDER__PROVIDER": "hash", **environ}
    command = [sys.executable, "-m", "memstone", "serve", "--port", "0", *args]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    with subprocess.Popen(command, env=environ, **streams) as service:  # type: ignore[call-overload]  # noqa: S603
        try:
            assert service.stdout is not None
            lines = [service.stdout.readline().rstrip("\n")]
            while "For another link" not in lines[-1]:
                lines.append(service.stdout.readline().rstrip("\n"))
            found = re.search(r"listening on (\S+)", lines[0])
            assert found is not None
            yield Started(home, found[1], lines)
        finally:
            service.terminate()


@pytest.fixture
def upstream() -> Iterator[tuple[Upstream, str]]:
    stand_in = Upstream()
    with served(stand_in.app) as url:
        yield stand_in, url


OTHER = [pytest.param(name, marks=pytest.mark.system) for name in ("gateway", "shared", "companion")]


@pytest.mark.parametrize("preset", ["facts", *OTHER])
def test_every_line_works_in_a_new_terminal_on_the_first_start_and_later(tmp_path: Path, preset: str) -> None:
    for start in ("first", "second"):
        with started(tmp_path / "home", MEMSTONE_PRESET=preset) as service:
            assert service.curl().status_code == 200, start
            for line in service.python():
                until(partial(service.finds, line), 60)
            assert len(service.python()) == 2
    with Memory(
        {"store": {"url": f"sqlite:///{tmp_path}/home/.memstone/memstone.db"}, "embedder": {"provider": "hash"}}
    ) as memory:
        assert [one["name"] for one in memory.admin.keys.list()] == ["first", LOCAL_KEY], "the second start makes none"


@pytest.mark.system
def test_a_store_of_another_name_in_memory_or_a_file_of_settings(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text(f'preset = "gateway"\n[store]\nurl = "sqlite:///{tmp_path}/m.db"\n[embedder]\nprovider = "hash"\n')
    for args in (("--db", f"{tmp_path}/other.db"), ("--db", "memory:"), ("--config", str(file))):
        with started(tmp_path / "home", *args) as service:
            assert service.curl().status_code == 200, args
            for line in service.python():
                until(partial(service.finds, line))


def test_the_command_for_another_link_goes_to_the_service_that_was_started(tmp_path: Path) -> None:
    with started(tmp_path / "home", "--db", f"{tmp_path}/other place.db") as service:
        (named,) = re.findall(r"run `(.*)`", service.lines[-1])
        link = service.paste(named).strip()
        assert link.startswith(f"{service.url}/console/sign-in#")
        form = {"link": link.partition("#")[2]}
        assert httpx2.post(f"{service.url}/console/sign-in", data=form, timeout=LONG).status_code == 303
        assert "with the MEMSTONE_ variables that are set here" in service.lines[-1], "this test has set one"


@pytest.mark.system
def test_on_postgresql_no_line_opens_a_local_file(tmp_path: Path, postgres: Server) -> None:
    for _ in range(2):
        with started(tmp_path / "home", MEMSTONE_STORE__URL=postgres.url()) as service:
            assert service.curl().status_code == 200
            (line,) = service.python()
            until(partial(service.finds, line))
    assert not (tmp_path / "home" / ".memstone" / "memstone.db").exists()


def test_two_lines_make_an_openai_client_remember(tmp_path: Path, upstream: tuple[Upstream, str]) -> None:
    stand_in, url = upstream
    for start in range(2):
        with started(tmp_path / "home", "--upstream", url) as service:
            assert [line.split("=")[0] for line in service.exports()] == [
                "export OPENAI_BASE_URL",
                "export OPENAI_API_KEY",
            ]
            ask = "c.chat.completions.create(model='m', messages=[{'role': 'user', 'content': %r}])"
            chat(
                service,
                "import openai; c = openai.OpenAI()",
                [ask % "I live in Oslo.", ask % "Where do I live?"][start:],
            )
    assert "Oslo" in str(stand_in.seen[-1]["messages"]), "the second start remembers the first"


@pytest.mark.system
def test_two_lines_make_an_anthropic_client_remember(tmp_path: Path, upstream: tuple[Upstream, str]) -> None:
    stand_in, url = upstream
    with started(tmp_path / "home", "--upstream", f"anthropic={url}", ANTHROPIC_API_KEY="sk-ant-1") as service:
        assert [line.split("=")[0] for line in service.exports()] == [
            "export ANTHROPIC_BASE_URL",
            "export ANTHROPIC_API_KEY",
        ]
        ask = "c.messages.create(model='claude-x', max_tokens=9, messages=[{'role': 'user', 'content': %r}])"
        chat(service, "import anthropic; c = anthropic.Anthropic()", [ask % "I live in Oslo."])
        until(lambda: "Oslo" in service.paste(service.python()[0]))
        chat(service, "import anthropic; c = anthropic.Anthropic()", [ask % "Where do I live?"])
    assert "Oslo" in str(stand_in.seen[-1])
    assert stand_in.headers[-1]["x-api-key"] == "sk-ant-1", "the upstream's own key, not ours"


def chat(service: Started, first: str, asks: Sequence[str]) -> None:
    code = shlex.quote("; ".join([first, *asks]))
    service.paste("\n".join([*service.exports(), f"{shlex.quote(sys.executable)} -c {code}"]))


def test_what_is_not_set_is_said(tmp_path: Path) -> None:
    with started(tmp_path / "home") as service:
        assert "No upstream is set, so chat clients cannot use this service yet." in service.lines
        assert service.exports() == []
    with started(tmp_path / "home", "--upstream", "openai", OPENAI_API_KEY="rt_ours") as service:
        (line,) = [line for line in service.lines if "NOT SET" in line]
        assert "OPENAI_API_KEY" in line, "the key of this service is no key of the upstream"
    with started(tmp_path / "home", "--upstream", "openai", OPENAI_API_KEY="sk-1") as service:
        assert "NOT SET" not in "\n".join(service.lines)
        assert "sk-1" not in "\n".join(service.lines)


def test_the_key_of_the_lines_is_the_users_alone(tmp_path: Path) -> None:
    with started(tmp_path / "home", "--for-user", "nora") as service:
        (file,) = (tmp_path / "home" / ".memstone" / "client-keys").iterdir()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
        key = {"Authorization": f"Bearer {file.read_text().strip()}"}
        body = {"messages": "I live in Rome", "user_id": "somebody"}
        assert httpx2.post(f"{service.url}/v1/memories", headers=key, json=body, timeout=LONG).status_code == 403
        assert httpx2.get(f"{service.url}/v1/keys", headers=key, timeout=LONG).status_code == 403
        assert service.curl().json()["results"][0]["memory"] == "User lives in Oslo."
    revoked = ["memstone", "keys", "revoke", file.read_text().split("_")[1]]
    environ = {**os.environ, "HOME": str(tmp_path / "home")}
    subprocess.run([sys.executable, "-m", *revoked], env=environ, check=True, capture_output=True)  # noqa: S603
    with started(tmp_path / "home", "--for-user", "nora") as service:
        assert service.curl().status_code == 200, "a revoked key is replaced"


def test_a_service_that_others_can_reach_keeps_no_key_in_a_file(tmp_path: Path) -> None:
    with started(tmp_path / "home", "--host", "0.0.0.0") as service:  # noqa: S104 - it ends at once
        assert not (tmp_path / "home" / ".memstone" / "client-keys").exists()
        assert all("$MEMSTONE_KEY" in line for line in service.lines if line.startswith("curl "))


def test_a_banner_leaves_out_what_has_nothing_to_say(capsys: pytest.CaptureFixture[str]) -> None:
    print_banner([BannerPart("Empty"), BannerPart("Console", ("http://127.0.0.1/#x",), ("Open it:",))])
    assert capsys.readouterr().out == "\nConsole\n  Open it:\nhttp://127.0.0.1/#x\n"
    assert export_line("A", "http://[::1]:80/v1") == "export A=http://[::1]:80/v1"
    assert export_line("A", "$(cat 'a b')") == "export A=\"$(cat 'a b')\""
