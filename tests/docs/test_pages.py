from __future__ import annotations

import re
from pathlib import Path

import pytest

from memstone import Settings, __version__
from memstone.core.settings.names import SETTINGS
from memstone.registry import BUILT_IN, builtin_names
from scripts import docs_reference

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    ROOT / "benchmarks" / "README.md",
    ROOT / "examples" / "README.md",
]
LINK = re.compile(r"\[[^]]*\]\(([^)\s]+)\)|(?:src|srcset|href)=\"([^\"]+)\"")
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def links(page: Path) -> list[str]:
    text = CODE.sub("", page.read_text("utf-8"))
    return [inline or html for inline, html in LINK.findall(text)]


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_within_the_project_leads_somewhere(page: Path) -> None:
    for link in links(page):
        if re.match(r"https?:|mailto:", link):
            continue
        target, _, anchor = link.partition("#")
        file = (page.parent / target).resolve() if target else page
        assert file.exists(), f"{link} leads nowhere"
        assert not anchor or anchor in anchors(file), f"{link}: {file.name} has no such heading"


@pytest.mark.parametrize("page", sorted((ROOT / "docs").rglob("*.md")), ids=lambda page: str(page.relative_to(ROOT)))
def test_every_source_file_a_page_names_is_there(page: Path) -> None:
    named = re.findall(r"`((?:[\w.-]+/)+[\w-]+\.(?:py|sql|md|svg|toml))`", page.read_text("utf-8"))
    missing = [name for name in named if not any((root / name).exists() for root in (ROOT, ROOT / "src" / "memstone"))]
    assert not missing


def test_the_architecture_names_every_package_and_no_other() -> None:
    package = ROOT / "src" / "memstone"
    there = {path.parent.name for path in package.rglob("__init__.py")}
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    named = {name.rpartition("/")[2] for name in re.findall(r"`([a-z_/]+)/`", page)}
    assert named <= there
    missing = {path.parent.name for path in (package / "engine").glob("*/__init__.py")} - named
    assert not missing


def test_every_page_below_docs_can_be_reached_from_the_readme() -> None:
    seen: set[Path] = set()
    todo = [ROOT / "README.md"]
    while todo:
        page = todo.pop()
        seen.add(page)
        targets = [(page.parent / link.partition("#")[0]).resolve() for link in links(page) if ":" not in link]
        todo += [target for target in targets if target.suffix == ".md" and target.exists() and target not in seen]
    written = {page for page in (ROOT / "docs").rglob("*.md") if page.name != "test-system.md"}  # a report, not a page
    assert written <= seen, f"nothing leads to {written - seen}"


def test_the_reference_tables_are_what_the_code_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert docs_reference.main(["--check"]) == 0, capsys.readouterr().out


def test_a_reference_table_that_is_out_of_date_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for page in docs_reference.PAGES:
        (tmp_path / page).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / page).write_text("<!-- errors: made by a script -->\nold\n<!-- end -->\n", "utf-8")
    monkeypatch.setattr(docs_reference, "DOCS", tmp_path)
    assert docs_reference.main(["--check"]) == 1
    assert "docs/configuration.md is out of date" in capsys.readouterr().out
    assert docs_reference.main([]) == 0
    assert "`invalid_filter`" in (tmp_path / "configuration.md").read_text("utf-8")
    assert docs_reference.main(["--check"]) == 0


def test_a_meaning_whose_setting_is_gone_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(docs_reference.MEANING, "store.gone", "nothing")
    assert docs_reference.unused_meanings() == {"store.gone"}
    assert docs_reference.main(["--check"]) == 1


def test_every_provider_that_a_configuration_may_name_has_its_options_in_the_documentation() -> None:
    listed = set(docs_reference.PROVIDERS)
    stores = {("vectors", name) for name in builtin_names("vectors") if name != "memory"}  # it is for tests
    others = {(kind, name) for kind in ("llm", "embedder", "reranker") for name in builtin_names(kind)}
    own = {(kind, name) for kind, name in others if ".compatible:" not in BUILT_IN[kind, name][0]} - {
        ("llm", "guarded"),
        *((kind, "callable") for kind in ("llm", "embedder", "reranker")),
    }
    assert (stores | own) <= listed, "add it to PROVIDERS in scripts/docs_reference.py"


def test_lists_and_what_a_preset_decides_are_called_so() -> None:
    rows = dict(row.split(" | ", 1) for row in docs_reference.settings_table().splitlines())
    assert rows["| `server.hosts`"].startswith("list of text | none |")
    layers = 'list of `identity`, `fact`, `episode`, `turn` | `["fact", "turn"]` (companion: `["fact"]`) |'
    assert rows["| `recall.layers`"].startswith(layers)
    assert "| `1400` (gateway: `2000`, companion: `800`, shared: `16000`) |" in rows["| `context.budget`"]
    assert rows["| `write.debounce_seconds`"].startswith("number, ≥ 0, ≤ 3,600 | `60.0` |")


def test_every_setting_that_can_be_stored_is_listed() -> None:
    page = (ROOT / "docs" / "guides" / "settings.md").read_text("utf-8")
    rows = {row.split("`")[1]: row for row in docs_reference.stored_table().splitlines()[2:]}
    for name in SETTINGS:
        section, _, option = name.partition(".")
        assert f"`{option}`" in rows[section]
        assert rows[section] in page


def test_the_decisions_are_numbered_without_a_gap() -> None:
    numbers = sorted(int(page.name[:4]) for page in (ROOT / "docs" / "adr").glob("[0-9]*.md"))
    assert numbers == list(range(1, len(numbers) + 1))


def test_pages_say_what_the_program_is() -> None:
    """Numbers that stand in sentences: the version, and how long a chat waits for its memory."""
    series = ".".join(__version__.split(".")[:2])
    assert f"Version {series}." in (ROOT / "README.md").read_text()
    waits = int(Settings().gateway.recall_ms)
    assert f"`gateway.recall_ms` ({waits:,} milliseconds)" in (ROOT / "docs/guides/gateway.md").read_text()


def test_every_header_of_a_chat_is_described() -> None:
    source = "".join(path.read_text() for path in (ROOT / "src/memstone/server/gateway").glob("*.py"))
    page = (ROOT / "docs/guides/gateway.md").read_text()
    known_names = set(re.findall(r"\"(X-Memstone-[A-Za-z]+)\"", source))
    assert {"X-Memstone-Receipt", "X-Memstone-Degraded"} <= known_names
    assert [name for name in sorted(known_names) if name not in page] == []
