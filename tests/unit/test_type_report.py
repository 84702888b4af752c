from __future__ import annotations

from scripts.type_report import describe_report


def test_the_report_tells_the_share_and_what_is_missing_most_often() -> None:
    guessed = {"message": "Type is missing type annotation\n  Inferred type is int"}
    silent = {"message": "No docstring found for function f"}
    report = {
        "completenessScore": 0.75,
        "exportedSymbolCounts": {"withKnownType": 3, "withAmbiguousType": 1, "withUnknownType": 0},
        "symbols": [
            {"isExported": True, "diagnostics": [guessed, silent]},
            {"isExported": False, "diagnostics": [guessed]},
            {"isExported": True, "diagnostics": []},
        ],
    }
    assert describe_report(report).splitlines() == [
        "75.0% of 4 names are typed; at least 95% are to be",
        "      1  Type is missing type annotation",
    ]
