"""What the tests of encryption share: a store with words that occur nowhere else, and a look at every byte."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from memstone import Memory
from memstone.cli.run import run_command

SECRETS: Final = ("Zanzibarquay", "marmaladefjord", "Quillonberg", "tidewarbler")
"""Words that no file of Memstone holds by itself."""


def settings(path: Path, key: str | None, **more: Any) -> dict[str, Any]:
    """The settings of a store, encrypted if there is a key."""
    store = {"url": f"sqlite:///{path}", **more} | ({} if key is None else {"encryption_key": key})
    return {"store": store, "embedder": {"provider": "hash"}}


def key_file(path: Path) -> str:
    """Where the keys of a store in this folder are: in a folder of their own."""
    return f"file:{path.parent / 'keys' / 'encryption.key'}"


def opened(path: Path, key: str | None = None, **more: Any) -> Memory:
    """A memory over an encrypted store."""
    return Memory(settings(path, key or key_file(path), **more))


def fill(memory: Memory) -> list[str]:
    """Store every secret word in several tables; gives the ids."""
    ids: list[str] = []
    for number, word in enumerate(SECRETS):
        added = memory.add(
            f"The {word} of {word} number {number}", user_id=f"user-{word}", infer=False, metadata={"about": word}
        )
        ids.append(added["results"][0]["id"])
        memory.add(f"I live in {word} and like {word}", user_id=f"user-{word}", run_id=f"run-{word}")
        memory.context(f"Where is the {word}?", user_id=f"user-{word}")
        memory.search(f"{word}", user_id=f"user-{word}")
    memory.update(ids[0], f"Now {SECRETS[0]} is different, says {ids[0][:8]} {time.time_ns()}")
    return ids


def plain_text(folder: Path, words: Iterable[str] = SECRETS, *, leave: Iterable[str] = ()) -> dict[str, list[str]]:
    """The words that any file in a folder holds, in UTF-8 or UTF-16, in any case and without how they begin."""
    found: dict[str, list[str]] = {}
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or path.name in leave:
            continue
        content = path.read_bytes()
        if hits := [word for word in words if holds(content, word)]:
            found[str(path.relative_to(folder))] = hits
    return found


def holds(content: bytes, word: str) -> bool:
    """Whether bytes hold a word. An index leaves out how a word begins if the one before begins alike."""
    forms = (word[4:], word[4:].lower(), word[4:].upper())
    lowered = content.lower()
    return any(
        form.encode(code) in content or form.encode(code).lower() in lowered
        for form in forms
        for code in ("utf-8", "utf-16-le")
    )


_CHILD: Final = """
import json, sys
from memstone import Memory
memory = Memory(json.loads(sys.argv[1]))
memory.stats()
print("ready", flush=True)
for line in sys.stdin:
    try:
        memory.add(line.strip(), user_id="child", infer=False)
        memory.search(line.strip(), user_id="child")
        print("stored", flush=True)
    except Exception as error:
        print(repr(error), flush=True)
"""


@contextmanager
def in_another_process(path: Path, key: str | None) -> Iterator[Callable[[str], str]]:
    """Yield what lets another process, which has the store open, add a text; it is killed at the end."""
    arguments = [sys.executable, "-c", _CHILD, json.dumps(settings(path, key))]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:  # noqa: S603
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"

        def add(text: str) -> str:
            assert child.stdin is not None
            assert child.stdout is not None
            child.stdin.write(f"{text}\n")
            child.stdin.flush()
            return child.stdout.readline().strip()

        try:
            yield add
        finally:
            child.kill()


@dataclass(frozen=True, slots=True)
class CommandResult:
    """What a command did: its exit code, and the JSON that it printed as its answer or its error."""

    code: int
    answer: Any


def run_json(config: Path, *words: str) -> CommandResult:
    """Run a command in this process with a configuration file."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = run_command([*words, "--config", str(config), "--json"])
    text = out.getvalue().strip() or err.getvalue().strip().splitlines()[-1]
    answer = json.loads(text)
    return CommandResult(code, answer.get("error", answer))


def write_config(path: Path, key: str | None) -> Path:
    """Write the configuration file of a store beside it."""
    lines = ['embedder = {provider = "hash"}', "[store]", f'url = "sqlite:///{path}"']
    config = path.with_name("memstone.toml")
    config.write_text("\n".join([*lines, *([] if key is None else [f'encryption_key = "{key}"'])]))
    return config
