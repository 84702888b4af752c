"""The site: every page has a place, every link leads somewhere, and nothing is loaded from elsewhere."""

from __future__ import annotations

import re
from hashlib import sha256
from pathlib import Path

import pytest
import yaml

from scripts import benchmarks_page, build_docs

LINK = re.compile(r"\]\(([^)\s#]+)(#[^)\s]*)?\)")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("build") / "docs"
    assert build_docs.stage(folder) == []
    build_docs.write_config(folder)
    return folder


def test_every_page_stands_in_the_navigation_once(site: Path) -> None:
    nav = yaml.safe_load((site.parent / "mkdocs.yml").read_text())["nav"]
    listed = list(build_docs._listed(nav))
    assert sorted(listed) == sorted(str(path.relative_to(site)) for path in site.rglob("*.md"))


def test_every_link_of_a_page_leads_to_a_page_or_a_picture(site: Path) -> None:
    for page in site.rglob("*.md"):
        text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
        text = re.sub(r"`[^`\n]*`", "", text)
        missing = [
            target
            for target, _ in LINK.findall(text)
            if not re.match(r"[a-z]+:", target) and not (page.parent / target).exists()
        ]
        assert missing == [], page


def test_a_link_that_leads_nowhere_is_noticed_and_one_to_source_code_becomes_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build_docs, "ROOT", tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "code.py").write_text("")
    (tmp_path / "docs" / "a.md").write_text(
        "[code](../code.py) [b](b.md#x) [gone](gone.md)\n\n```text\n[not](a-link.md)\n```\n"
    )
    (tmp_path / "docs" / "b.md").write_text("# x\n")
    (tmp_path / "README.md").write_text("[a](docs/a.md)")
    assert build_docs.stage(tmp_path / "out") == ["docs/a.md: gone.md leads nowhere"]
    assert (tmp_path / "out" / "a.md").read_text() == "code [b](b.md#x) gone\n\n```text\n[not](a-link.md)\n```\n"
    assert (tmp_path / "out" / "index.md").read_text() == "[a](a.md)"


def test_the_theme_loads_nothing_from_elsewhere() -> None:
    config = yaml.safe_load((build_docs.ROOT / "mkdocs.yml").read_text())
    assert config["theme"]["font"] is False
    assert config["plugins"] == ["search", "offline"]


def test_the_script_for_searching_in_files_is_our_own_copy(tmp_path: Path) -> None:
    notice = (build_docs.ROOT / "NOTICE").read_text()
    assert sha256(build_docs.SHIM.read_bytes()).hexdigest() in notice
    page = tmp_path / "guides" / "a.html"
    page.parent.mkdir()
    (tmp_path / "assets").mkdir()
    page.write_text(f'<script src="{build_docs.SHIM_ELSEWHERE}"></script>')
    build_docs.load_nothing_from_elsewhere(tmp_path)
    assert page.read_text() == '<script src="../assets/iframe-worker.js"></script>'
    assert (tmp_path / "assets" / "iframe-worker.js").exists()


def test_the_page_of_benchmarks_shows_the_newest_results() -> None:
    assert benchmarks_page.main(["--check"]) == 0
    rows = benchmarks_page.chosen_rows("| a | b |\n|---|---|\n| x | 1 |\n| y | 2 |\n", ("y",))
    assert rows == ["| a | b |", "|---|---|", "| y | 2 |"]
    with pytest.raises(ValueError, match="no table"):
        benchmarks_page.chosen_rows("nothing", ("y",))
