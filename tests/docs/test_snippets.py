"""Every snippet of the documentation is run.

On one page the snippets follow each other, as a reader would type them, in a home directory of the page's own. All
pages are also read one after the other in one home directory, in two orders: what one page stores must not change what
another one shows, so each page has a store or a user of its own.

* ``python``: executed. A ``text`` block directly below it is what it prints. One that begins with ``# name.py`` is
  saved under that name instead, to be imported.
* ``console``: a line after ``$`` that calls ``memstone`` is run, by a shell where it takes one to understand it and
  else in this process, which is a second sooner. What stands below it is what it prints, though numbers may differ. A
  question is answered with yes. Of ``make`` the target must exist. A few commands that install things are taken as they
  are.
  A command with ``curl`` is run against a service of the page's own; ``$ID`` is then the last id an answer has shown.
* ``toml``: must be valid settings.
* ``text``, ``json``: shown, not run. Any other language is refused, so that no snippet escapes.

``...`` stands for anything, and the number of blanks does not matter. The page about the command line speaks of files
and ids its reader would have; ``prepare`` makes them.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import json
import logging
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any

import httpx2
import pytest
import structlog

from memstone import Memory, Settings
from memstone.cli.run import run_command
from tests.patience import LONG
from tests.server.upstream import served

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FIRST_TO_LAST = sorted(PAGES, key=lambda page: (page.name != "README.md", page.name != "getting-started.md", page))
_FIRST_PAGES = 12
"""So many pages are read one after the other in every run; all of them in the system tests."""
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHOWN = {"", "text", "json"}
IN_A_PROCESS = {"serve", "worker"}  # they listen to signals
INSTALLERS = ("pip install ", "git clone ", "cd ")
SERVICE = "http://127.0.0.1:8420"
TEXT_ONLY = {"store": {"url": "memory:"}, "embedder": {"provider": "none"}}
FREE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True)
class Block:
    """One fenced snippet; ``output`` is the text block directly below it."""

    language: str
    text: str
    line: int
    output: str | None = None


def blocks(page: str) -> Iterator[Block]:
    found = list(FENCE.finditer(page))
    for fence, after in zip_longest(found, found[1:]):
        line = page.count("\n", 0, fence.start()) + 2
        is_output = after is not None and after[1] == "text" and not page[fence.end() : after.start()].strip()
        yield Block(fence[1], fence[2], line, after[2] if after is not None and is_output else None)


@dataclass
class Reader:
    """Somebody who types in what a page says."""

    page: str
    home: Path
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "__page__"})
    opened: list[Memory] = field(default_factory=list)
    ran: int = 0

    def read(self, text: str) -> None:
        """Do everything, in order."""
        for block in blocks(text):
            if block.language not in SHOWN:
                getattr(self, f"do_{block.language}", self.refuse)(block)
                self.ran += 1

    def refuse(self, block: Block) -> None:
        """Stop at a snippet that would never be tried."""
        pytest.fail(f"{self.page}:{block.line} is in {block.language!r}, which nothing here can run")

    def do_python(self, block: Block) -> None:
        """Type it into the interpreter, or save it if it begins with the name of a file."""
        if file := re.match(r"# (\w+\.py)\n", block.text):
            (self.home / file[1]).write_text(block.text, "utf-8")
            return
        printed = io.StringIO()
        numbered = "\n" * (block.line - 1) + block.text
        with contextlib.redirect_stdout(printed):
            exec(compile(numbered, self.page, "exec", dont_inherit=True), self.names)  # noqa: S102 - our own pages
        self.opened += [value for value in self.names.values() if isinstance(value, Memory)]
        if block.output is not None:
            self.compare(block, block.output, printed.getvalue())

    def do_toml(self, block: Block) -> None:
        """Use it as the settings file."""
        file = self.home / "snippet.toml"
        file.write_text(block.text, "utf-8")
        Settings.load(file, env={})

    def do_console(self, block: Block) -> None:
        """Type its commands into a shell."""
        commands = re.split(r"^\$ ", block.text, flags=re.MULTILINE)
        assert not commands[0].strip(), f"{self.page}:{block.line} does not begin with a command"
        for command in commands[1:]:
            line, _, output = command.partition("\n")
            self.command(block, line, output)

    def command(self, block: Block, line: str, output: str) -> None:
        """One command."""
        if line.startswith("make "):
            target = line.rsplit(maxsplit=1)[-1]
            assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE), f"no {line}"
        elif line.startswith("curl "):
            self.ask(block, line, output)
        elif not line.startswith(INSTALLERS):
            assert re.search(r"\bmemstone\b", line), f"{self.page}:{block.line} cannot run {line!r}"
            self.shell(block, line, output)

    def ask(self, block: Block, line: str, output: str) -> None:
        """Send a request; what follows may use the id in its answer."""
        assert SERVICE not in line, "a page with a service is read with its address"
        if shutil.which("curl"):
            answer = subprocess.run(line, shell=True, capture_output=True, text=True, timeout=LONG, check=True).stdout  # noqa: S602
        else:
            answer = asked(shlex.split(os.path.expandvars(line)))
        if visible := re.search(r'"id":"([^"]+)"', answer):
            os.environ["ID"] = visible[1]
        self.compare(block, output, answer)

    def shell(self, block: Block, line: str, output: str) -> None:
        """Run it; a page that shows an error expects one, and one that shows only a question leaves out the rest."""
        answer = re.fullmatch(r"echo '([^']*)' \| (memstone .*)", line)
        words = plain_words(answer[2] if answer else line)
        code, printed = typed(words[1:], f"{answer[1] if answer else 'y'}\n") if words else typed_into_shell(line)
        is_expected = code == 0 or "nothing found" in printed or re.search("error:|failed", output)
        assert is_expected, f"{self.page}:{block.line} {line}\n{printed}"
        if output.strip():
            visible_text = output + ("..." if output.rstrip().endswith("]:") else "")
            self.compare(block, re.sub(r"\d+", "0", visible_text), re.sub(r"\d+", "0", printed))

    def compare(self, block: Block, want: str, got: str) -> None:
        """What the page shows against what was seen."""
        checker = doctest.OutputChecker()
        assert checker.check_output(want, got, FREE), f"{self.page}:{block.line} says\n{want}\nbut it is\n{got}"


def plain_words(line: str) -> list[str]:
    """The words of a command that is nothing but a call of ``memstone``; none where only a shell understands it."""
    read = shlex.shlex(line, posix=True, punctuation_chars=True)
    read.whitespace_split = True
    words = list(read)
    is_plain = words[0] == "memstone" and not set(line) & set("$`*~")
    return words if is_plain and not any(word in IN_A_PROCESS or set(word) <= set("();<>|&") for word in words) else []


def typed(words: list[str], text: str) -> tuple[int, str]:
    """The exit code of a command line that is told something, and what it prints; it is run in this process."""
    screen = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        patch.setattr(sys, "stdout", screen)
        patch.setattr(sys, "stderr", screen)
        code = run_command(words)
    return code, screen.buffer.getvalue().decode()


def typed_into_shell(line: str) -> tuple[int, str]:
    """The same in a shell."""
    ended = subprocess.run(  # noqa: S602 - our own pages
        line,
        shell=True,
        input="y\n",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LONG,
        check=False,
    )
    return ended.returncode, ended.stdout


def asked(words: list[str]) -> str:
    """What ``curl`` would show, where there is none."""
    headers = dict(words[at + 1].split(": ", 1) for at, word in enumerate(words) if word == "-H")
    body = words[words.index("-d") + 1] if "-d" in words else None
    method = words[words.index("-X") + 1] if "-X" in words else "POST" if body else "GET"
    url = next(one for one in words if "://" in one)
    return httpx2.request(method, url, headers=headers, content=body, timeout=LONG).text


@contextlib.contextmanager
def service_of(text: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The page with the address of a service that runs, if it asks one, and a key for it in the environment."""
    if not any(SERVICE in block.text for block in blocks(text) if block.language in ("python", "console")):
        yield text
        return
    from memstone.server.app import create_app

    structlog.configure(logger_factory=structlog.PrintLoggerFactory(io.StringIO()))  # its log is none of the page's
    try:
        with Memory() as memory, served(create_app()) as address:
            monkeypatch.setenv("MEMSTONE_KEY", memory.admin.keys.create(verbs=["admin"], may_assert_user=True)["key"])
            monkeypatch.setenv("ID", "")
            yield text.replace(SERVICE, address)
    finally:
        structlog.reset_defaults()


@contextlib.contextmanager
def own_log() -> Iterator[None]:
    """Put the logger of the library back as it was: a page may show what it says."""
    logger = logging.getLogger("memstone")
    handlers, level = list(logger.handlers), logger.level
    try:
        yield
    finally:
        logger.handlers = handlers
        logger.setLevel(level)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home directory without settings or keys, where ``memstone`` is the command line of this checkout."""
    for name in list(os.environ):
        if name.startswith("MEMSTONE_") or name.endswith(("_API_KEY", "_BASE_URL")):
            monkeypatch.delenv(name)
    program = tmp_path / ".bin" / "memstone"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m memstone.cli "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def prepare(home: Path) -> None:
    """What a reader of docs/cli.md has: a repository, notes to import (one line is damaged), a memory to delete."""
    git = home / ".bin" / "git"
    git.write_text("#!/bin/sh\necho Speed up the harbour crane\n")
    git.chmod(0o755)
    notes = [json.dumps({"text": f"Note {number}", "score": number}) for number in range(30)]
    (home / "notes.jsonl").write_text("\n".join([*notes[:16], "damaged", *notes[16:]]) + "\n", "utf-8")
    deleted = re.findall(r"memstone delete ([0-9a-f-]{36})", (ROOT / "docs" / "cli.md").read_text("utf-8"))
    with Memory(TEXT_ONLY) as elsewhere, Memory({"embedder": {"provider": "none"}}) as memory:
        for number, memory_id in enumerate(deleted):
            known = elsewhere.add(f"To be deleted {number}", user_id="alice", infer=False)["results"][0]["id"]
            lines = [
                json.loads(json.dumps(line).replace(known, memory_id)) for line in elsewhere.export(everybody=True)
            ]
            memory.load(lines)
            elsewhere.reset()


def read_page(page: Path, home: Path) -> None:
    """Do everything a page says, as somebody with an interpreter and a terminal of their own."""
    text = page.read_text("utf-8")
    reader = Reader(str(page.relative_to(ROOT)), home)
    if page.name == "cli.md":
        prepare(home)
    try:
        with own_log(), pytest.MonkeyPatch.context() as environment, service_of(text, environment) as readable:
            reader.read(readable)
    finally:
        for memory in reader.opened:
            memory.close()
        forget_imports(home)
    assert text.count("\n```") == 2 * len(list(blocks(text))), "a fence is not closed, indented or has a title"


def forget_imports(home: Path) -> None:
    """Let the next page import a module of its own by the same name."""
    saved = [name for name, module in sys.modules.items() if str(getattr(module, "__file__", "")).startswith(str(home))]
    for name in saved:
        del sys.modules[name]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_snippets_of_a_page_do_what_the_page_says(page: Path, home: Path) -> None:
    read_page(page, home)


@pytest.mark.slow
@pytest.mark.parametrize(
    "pages",
    [
        pytest.param(FIRST_TO_LAST[:_FIRST_PAGES], id="the first"),
        pytest.param(FIRST_TO_LAST, id="first to last", marks=pytest.mark.system),
        pytest.param(FIRST_TO_LAST[::-1], id="last to first", marks=pytest.mark.system),
    ],
)
def test_pages_read_one_after_the_other_on_one_machine_show_what_they_say(pages: list[Path], home: Path) -> None:
    for page in pages:
        read_page(page, home)


def test_the_readme_has_an_example_and_commands_that_run(home: Path) -> None:
    languages = [block.language for block in blocks((ROOT / "README.md").read_text("utf-8"))]
    assert {"python", "console"} <= set(languages)


@pytest.mark.parametrize(
    ("page", "complaint"),
    [
        ("```python\nprint(1)\n```\n\n```text\n2\n```\n", "page:2 says\n  2"),
        ("```python\nprint(undefined)\n```\n", "'undefined' is not defined"),
        ("```console\n$ memstone --version\nsomething\n```\n", "page:2 says\n  something"),
        ("```console\n$ memstone no-such-command\n```\n", "page:2 memstone no-such-command"),
        ("```console\n$ make no-such-target\n```\n", "no make no-such-target"),
        ("```console\n$ rm -rf everything\n```\n", "page:2 cannot run 'rm -rf everything'"),
        ("```toml\n[store]\nurI = 'sqlite:///a.db'\n```\n", "there is no setting store.urI: did you mean store.url?"),
        ("```bash\nmemstone demo\n```\n", "page:2 is in 'bash', which nothing here can run"),
    ],
)
def test_a_snippet_that_does_not_do_what_its_page_says_is_noticed(page: str, complaint: str, home: Path) -> None:
    with pytest.raises((Exception, pytest.fail.Exception), match=re.escape(complaint)):
        Reader("page", home).read(page)


def test_a_snippet_with_a_file_name_is_saved_and_can_be_imported(home: Path) -> None:
    Reader("page", home).read("```python\n# saved_snippet.py\nx = 7\n```\n\n```python\nimport saved_snippet\n```\n")
    assert (home / "saved_snippet.py").read_text("utf-8") == "# saved_snippet.py\nx = 7\n"


def test_snippets_of_one_page_follow_each_other(home: Path) -> None:
    reader = Reader("page", home)
    reader.read("```python\nx = 1\n```\n\nand\n\n```python\nprint(x, 'a' * 40)\n```\n\n```text\n1 aa...\n```\n")
    assert reader.ran == 2
