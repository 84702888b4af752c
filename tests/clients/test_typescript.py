"""The TypeScript client: its generated files, and its own tests against a real service."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from memstone import Memory
from scripts.typescript_client import TARGET, generated_files
from tests.environments import ROOT
from tests.server.upstream import Upstream, served

FOLDER = ROOT / "clients" / "typescript"
COMPILER = FOLDER / "node_modules" / "typescript"
NODE, NPM = shutil.which("node"), shutil.which("npm")
needs_node = pytest.mark.skipif(NODE is None or NPM is None, reason="Node.js is not installed: its tests did not run")


def test_the_generated_files_are_those_of_this_service() -> None:
    for name, text in generated_files().items():
        assert (TARGET / name).read_text(encoding="utf-8") == text, "run scripts/typescript_client.py"


def test_the_version_is_that_of_the_package() -> None:
    version = re.search(r'^version = "(.+)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    assert version is not None
    assert json.loads((FOLDER / "package.json").read_text(encoding="utf-8"))["version"] == version[1]


def run_tool(*command: str, env: dict[str, str] | None = None, seconds: int = 600) -> subprocess.CompletedProcess[str]:
    """Run node or npm in the folder of the client."""
    full = {**os.environ, **(env or {}), "NO_COLOR": "1"}
    return subprocess.run(command, cwd=FOLDER, env=full, capture_output=True, text=True, timeout=seconds, check=False)  # noqa: S603


@pytest.fixture(scope="module")
def built() -> None:
    """The compiled client; the compiler is fetched if it is not there."""
    assert NPM is not None
    if not COMPILER.exists():
        fetched = run_tool(NPM, "ci", "--no-audit", "--no-fund")
        assert fetched.returncode == 0, fetched.stderr[-2_000:]
    compiled = run_tool(NPM, "run", "build")
    assert compiled.returncode == 0, compiled.stdout[-4_000:]


@contextmanager
def service(folder: Path, upstream: str) -> Iterator[tuple[str, str]]:
    """``memstone serve`` in a process of its own; its address, and a key for everything."""
    database, config = folder / "m.db", folder / "memstone.toml"
    config.write_text(
        f'[store]\nurl = "sqlite:///{database}"\n\n[[gateway.upstreams]]\nname = "fake"\n'
        f'base_url = "{upstream}/v1"\napi_key = "k"\n'
    )
    with Memory({"store": {"url": f"sqlite:///{database}"}}) as memory:
        key = memory.admin.keys.create(verbs=["read", "write", "admin"], may_assert_user=True)["key"]
    program = [sys.executable, "-m", "memstone.cli", "--config", str(config), "serve", "--port", "0"]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:  # noqa: S603
        try:
            assert process.stdout is not None
            found = (re.search(r"http://127[^\s/]+:\d+", line) for line in process.stdout)
            yield next(one[0] for one in found if one), key
        finally:
            process.terminate()


def run_its_tests(folder: Path) -> None:
    """Run the client's own tests against a service of their own."""
    assert NODE is not None
    with served(Upstream().app) as models, service(folder, models) as (url, key):
        env = {"MEMSTONE_URL": url, "MEMSTONE_KEY": key, "MEMSTONE_MODEL": "m"}
        result = run_tool(NODE, "--test", "test/client.test.mjs", env=env)
    assert result.returncode == 0, result.stdout[-6_000:]
    assert "# pass 14" in result.stdout


@needs_node
@pytest.mark.skipif(not COMPILER.exists(), reason="run `npm ci` in clients/typescript to test it in `make test`")
def test_where_the_compiler_is_the_tests_of_the_client_pass(built: None, tmp_path: Path) -> None:
    run_its_tests(tmp_path)


@needs_node
@pytest.mark.system
@pytest.mark.timeout(900)
def test_its_own_tests_pass_against_a_real_service(built: None, tmp_path: Path) -> None:
    run_its_tests(tmp_path)


@needs_node
@pytest.mark.system
@pytest.mark.timeout(900)
def test_the_types_let_through_what_is_right_and_refuse_what_is_wrong(built: None) -> None:
    assert NPM is not None
    checked = run_tool(NPM, "exec", "--", "tsc", "-p", "tsconfig.usage.json")
    assert checked.returncode == 0, checked.stdout[-4_000:]


@needs_node
@pytest.mark.system
@pytest.mark.timeout(900)
def test_the_package_holds_what_is_needed_and_nothing_else(built: None) -> None:
    assert NPM is not None
    packed = run_tool(NPM, "pack", "--dry-run", "--json", "--ignore-scripts")
    assert packed.returncode == 0, packed.stderr[-2_000:]
    files = {one["path"] for one in json.loads(packed.stdout)[0]["files"]}
    modules = {path.stem for path in (FOLDER / "src").glob("*.ts")}
    wanted = {f"dist/{name}{end}" for name in modules for end in (".js", ".d.ts")}
    assert files == {*wanted, "package.json", "README.md", "LICENSE"}
    assert "dependencies" not in json.loads((FOLDER / "package.json").read_text(encoding="utf-8"))
