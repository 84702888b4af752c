from __future__ import annotations

from pathlib import Path

import pytest

from scripts import name_lint


def write_module(root: Path, text: str, name: str = "src/package/a.py") -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("def told():\n    pass\n", "1: function told: say what it is"),
        ("def find(given):\n    pass\n", "1: parameter given: say what it is"),
        ("def find(*, whose=None):\n    pass\n", "1: parameter whose: say what it is"),
        ("class A:\n    kept: int\n", "2: attribute kept: say what it is"),
        ("class A:\n    def find(self):\n        self._held = 1\n", "3: attribute _held: say what it is"),
        ("SHOWN = 1\n", "1: module-level name SHOWN: say what it is"),
        ("class Mine:\n    pass\n", "1: class Mine: say what it is"),
        ("def listed():\n    pass\n", "1: function listed: name it by verb and object"),
        ("class A:\n    async def _waiting(self):\n        pass\n", "2: function _waiting: name it by verb and object"),
        ("class _Drafted:\n    pass\n", "1: class _Drafted: name it by a noun"),
    ],
)
def test_a_name_that_says_too_little_fails_and_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, complaint: str
) -> None:
    write_module(tmp_path, text)
    assert name_lint.main([str(tmp_path)]) == 1
    assert f"src/package/a.py:{complaint}\n" in capsys.readouterr().out


@pytest.mark.parametrize("path", ["src/package/paging.py", "src/package/storing/__init__.py", "src/package/_hidden.py"])
def test_a_module_is_not_named_by_a_participle(tmp_path: Path, path: str) -> None:
    write_module(tmp_path, "", path)
    assert [one.path for one in name_lint.check_project(tmp_path)] == [path]


def test_a_class_name_exists_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_module(tmp_path, "class Plan:\n    pass\n")
    write_module(tmp_path, "\nclass Plan:\n    pass\n", "src/package/b.py")
    assert name_lint.main([str(tmp_path)]) == 1
    assert "src/package/b.py:2: class Plan: there is one in src/package/a.py\n" in capsys.readouterr().out


def test_plain_names_pass(tmp_path: Path) -> None:
    write_module(
        tmp_path,
        "class Plan:\n    text: str\n    def __missing__(self, key):\n        told = key\n        return told\n"
        "def list_accounts(limit):\n    pass\ndef read(path):\n    pass\n",
    )
    write_module(tmp_path, "class Forbidden(Exception):\n    pass\n", "src/package/errors.py")
    write_module(tmp_path, "class Plan:\n    pass\n", "src/package/compat/other.py")
    write_module(tmp_path, "", "src/package/ranking.py")
    assert name_lint.main([str(tmp_path)]) == 0


def test_only_the_product_may_not_repeat_classes_and_tests_are_left_alone(tmp_path: Path) -> None:
    write_module(tmp_path, "class Plan:\n    pass\n")
    write_module(tmp_path, "class Plan:\n    pass\ndef listed():\n    pass\n", "scripts/a.py")
    write_module(tmp_path, "def said():\n    pass\n", "tests/test_b.py")
    assert name_lint.main([str(tmp_path)]) == 0
    write_module(tmp_path, "def said():\n    pass\n", "benchmarks/b.py")
    assert name_lint.main([str(tmp_path)]) == 1


def test_fields_that_clients_read_keep_their_names(tmp_path: Path) -> None:
    write_module(tmp_path, "class Totals:\n    shown: int\n", "src/package/server/schemas/api.py")
    assert name_lint.main([str(tmp_path)]) == 0
    write_module(tmp_path, "class Totals:\n    shown: int\n", "src/package/server/other.py")
    assert name_lint.main([str(tmp_path)]) == 1
