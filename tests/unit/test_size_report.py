from __future__ import annotations

from pathlib import Path

import pytest

from scripts import size_report


def write_function(path: Path, lines: int, *, start: str = "def long():") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(start + "\n" + "    x = 1\n" * (lines - 1))


@pytest.mark.parametrize("start", ["def long():", "async def long():", "class A:\n  def long(self):"])
def test_a_function_over_the_limit_fails_and_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], start: str
) -> None:
    write_function(tmp_path / "src" / "deep" / "a.py", size_report.FUNCTION_LIMIT + 1, start=start)
    assert size_report.main(tmp_path) == 1
    line = 1 + start.count("\n")
    assert f"src/deep/a.py:{line} long: 71 lines, the limit for a function is 70" in capsys.readouterr().out


def test_a_function_at_the_limit_passes(tmp_path: Path) -> None:
    write_function(tmp_path / "src" / "a.py", size_report.FUNCTION_LIMIT)
    assert size_report.main(tmp_path) == 0


@pytest.mark.parametrize(("lines", "code"), [(size_report.FILE_LIMIT, 0), (size_report.FILE_LIMIT + 1, 1)])
def test_a_file_may_be_as_long_as_the_limit(tmp_path: Path, lines: int, code: int) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "a.py").write_text("x = 1\n" * lines)
    assert size_report.main(tmp_path) == code


def test_medians_leave_empty_files_and_missing_directories_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number, lines in enumerate((2, 4, 9)):
        write_function(tmp_path / "src" / f"{number}.py", lines)
    (tmp_path / "src" / "__init__.py").touch()
    assert size_report.main(tmp_path) == 0
    assert capsys.readouterr().out == (
        "src: 3 files, median 4 lines, longest 9; 3 functions, median 4 lines, longest 9\n"
    )


def test_a_directory_without_functions_can_be_measured(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("x = 1\n")
    assert size_report.main(tmp_path) == 0
