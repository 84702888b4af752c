"""The page about assistants lists every tool with its arguments, as the schemas have them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from memstone.server.mcp.spec import ToolSpec
from memstone.server.mcp.tools import tools_by_name
from scripts import tools_reference

PAGE = tools_reference.DOCUMENT.read_text("utf-8")


def test_the_page_is_up_to_date(capsys: pytest.CaptureFixture[str]) -> None:
    assert tools_reference.main(["--check"]) == 0, capsys.readouterr().out


def test_a_page_that_is_out_of_date_is_noticed_and_mended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    late = tmp_path / "mcp.md"
    late.write_text(PAGE.replace("| `sessionId` |", "| `session` |"), "utf-8")
    monkeypatch.setattr(tools_reference, "DOCUMENT", late)
    assert tools_reference.main(["--check"]) == 1
    assert tools_reference.main([]) == 0
    assert (tools_reference.main(["--check"]), late.read_text("utf-8")) == (0, PAGE)


@pytest.mark.req("O-83", "O-84", "O-85")
@pytest.mark.parametrize("spec", tools_by_name().values(), ids=list(tools_by_name()))
def test_a_tool_is_described_with_every_name_of_its_schema(spec: ToolSpec) -> None:
    described = PAGE.partition(f"### `{spec.name}`\n")[2].partition("\n### ")[0]
    rows = [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in described.splitlines() if line.startswith("| `")
    ]
    assert {name for row in rows for name in re.findall(r"`(\w+)`", " ".join(row[:2]))} == set(
        spec.schema["properties"]
    )
    required = {row[0].strip("`") for row in rows if row[3].endswith("Required.")}
    assert required == set(spec.required)
    assert spec.name in PAGE.partition("## On one machine")[0], "and the overview has it"
