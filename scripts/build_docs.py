"""Build the documentation: put the pages together, then have MkDocs make a site of them.

The pages of the repository link to one another and to files beside them. Here they are copied into ``build/docs``, the
README as the first page; links that lead out of the documentation, to source code, become plain text. ``*`` in the
navigation of ``mkdocs.yml`` stands for every page of a folder that has no place of its own.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
STAGE = ROOT / "build" / "docs"
SHIM = ROOT / "docs" / "assets" / "iframe-worker.js"
SHIM_ELSEWHERE = "https://unpkg.com/iframe-worker/shim"
"""Where the theme loads that script from."""
FENCE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?P<image>!?)\[(?P<text>(?:[^\[\]]|\[[^\]]*\])*)\]\((?P<target>[^)\s]+)\)")
SOURCE = re.compile(r'(?P<name>src)="(?P<target>[^"]+)"')


def main(args: list[str] | None = None) -> int:
    """Put the pages together and build the site; fail where a link leads nowhere."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stage-only", action="store_true", help="put the pages together, and build nothing")
    parser.add_argument("--serve", action="store_true", help="show the site on this machine instead of writing it")
    wanted = parser.parse_args(args)
    problems = stage(STAGE)
    for problem in problems:
        print(problem)
    if problems:
        return 1
    config = write_config(STAGE)
    if wanted.stage_only:
        return 0
    what = ["serve", "--dev-addr", "127.0.0.1:8000"] if wanted.serve else ["build", "--strict", "--quiet", "--clean"]
    command = [sys.executable, "-m", "mkdocs", *what, "--config-file", str(config)]
    # A remark of the theme about its future is no problem of these pages.
    code = subprocess.run(command, check=False, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}).returncode
    if not code and not wanted.serve:
        load_nothing_from_elsewhere(ROOT / "site")
        print(f"the documentation is in {ROOT / 'site' / 'index.html'}")
    return code


def load_nothing_from_elsewhere(site: Path) -> None:
    """Have the pages load the script that lets them search when they are opened as files from the site itself."""
    shutil.copyfile(SHIM, site / "assets" / SHIM.name)
    for page in site.rglob("*.html"):
        up = os.path.relpath(site, page.parent).replace(os.sep, "/")
        text = page.read_text("utf-8")
        page.write_text(text.replace(SHIM_ELSEWHERE, f"{up}/assets/{SHIM.name}"), encoding="utf-8")


def pages() -> dict[Path, Path]:
    """Return every page, and where it is on the site."""
    first = {ROOT / "README.md": Path("index.md"), ROOT / "docs" / "README.md": Path("contents.md")}
    placed = {path: place for path, place in first.items() if path.exists()}
    for path in [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/**/*.md"))]:
        placed.setdefault(path, path.relative_to(ROOT / "docs" if "docs" in path.relative_to(ROOT).parts else ROOT))
    for folder in ("benchmarks", "benchmarks/results", "examples"):
        placed |= {path: path.relative_to(ROOT) for path in sorted((ROOT / folder).glob("*.md"))}
    return placed


def stage(folder: Path) -> list[str]:
    """Copy pages and pictures into a folder, with links as the site needs them; return what leads nowhere."""
    shutil.rmtree(folder, ignore_errors=True)
    placed, problems = pages(), list[str]()
    others = {
        path: path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*") if path.suffix in (".svg", ".png")
    }
    others |= {path: path.relative_to(ROOT) for path in sorted((ROOT / "examples").glob("*.py"))}
    for path, place in others.items():
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, folder / place)
    for path, place in placed.items():
        text = relinked(path, place, {**placed, **others}, problems)
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_text(text, encoding="utf-8")
    return problems


def relinked(path: Path, place: Path, placed: dict[Path, Path], problems: list[str]) -> str:
    """Return a page with its links as they lead on the site."""

    def target_of(target: str) -> str | None:
        """Return where a link leads; None where that is no part of the site."""
        if re.match(r"[a-z]+:|#", target):
            return target
        name, separator, anchor = target.partition("#")
        file = (path.parent / name).resolve()
        if not file.exists():
            problems.append(f"{path.relative_to(ROOT)}: {target} leads nowhere")
            return None
        if file not in placed:
            return None
        return os.path.relpath(placed[file], place.parent).replace(os.sep, "/") + separator + anchor

    def follow(found: re.Match[str]) -> str:
        target = target_of(found["target"])
        return found["text"] if target is None else f"{found['image']}[{found['text']}]({target})"

    def follow_source(found: re.Match[str]) -> str:
        return f'src="{target_of(found["target"]) or found["target"]}"'

    return "".join(
        piece if is_code else SOURCE.sub(follow_source, LINK.sub(follow, piece))
        for piece, is_code in _pieces(path.read_text("utf-8"))
    )


def _pieces(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the text in pieces, code and what stands between it; code within a link belongs to the link."""
    at = 0
    for fence in re.finditer(r"^```.*?^```$", text, re.MULTILINE | re.DOTALL):
        yield text[at : fence.start()], False
        yield fence[0], True
        at = fence.end()
    yield text[at:], False


def write_config(folder: Path) -> Path:
    """Write the configuration with every page in its navigation; return its path."""
    config: dict[str, Any] = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))
    listed = set(_listed(config["nav"]))
    there = sorted(str(path.relative_to(folder)) for path in folder.rglob("*.md"))
    config["nav"] = [_expanded(one, there, listed) for one in config["nav"]]
    config |= {"docs_dir": str(folder), "site_dir": str(ROOT / "site")}
    path = folder.parent / "mkdocs.yml"
    path.write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
    return path


def _listed(nav: Any) -> Iterator[str]:
    for one in nav if isinstance(nav, list) else [nav]:
        if isinstance(one, dict):
            for inner in one.values():
                yield from _listed(inner)
        else:
            yield str(one)


def _expanded(section: dict[str, list[str]], there: list[str], listed: set[str]) -> dict[str, list[str]]:
    """Return a section with the pages that ``*`` stands for."""
    ((title, entries),) = section.items()
    found: list[str] = []
    for entry in entries:
        folder = entry.removesuffix("*.md")
        if folder == entry:
            found.append(entry)
        else:
            found += [page for page in there if page.rpartition("/")[0] + "/" == folder and page not in listed]
    return {title: found}


if __name__ == "__main__":
    sys.exit(main())
