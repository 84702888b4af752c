from __future__ import annotations

from scripts import system_report

JUNIT = """<testsuites><testsuite>
<testcase classname="tests.system.test_b" name="one" time="1.25"/>
<testcase classname="tests.system.test_a" name="two" time="0.5"><failure message="no">why</failure></testcase>
<testcase classname="tests.system.test_b" name="three" time="2"><skipped message="later"/></testcase>
<testcase classname="tests.system.test_b" name="four" time="0.25"><system-out>said</system-out></testcase>
<testcase classname="tests.system.test_a" name="five" time="0"><error message="broken">why</error></testcase>
</testsuite></testsuites>"""


def test_outcomes_are_counted_by_group() -> None:
    first, second = system_report.groups(JUNIT, "abc123")
    assert (first.name, first.passed, first.failed, first.skipped, first.seconds) == ("system.test_a", 0, 2, 0, 0.5)
    assert (second.name, second.passed, second.failed, second.skipped, second.seconds) == (
        "system.test_b",
        2,
        0,
        1,
        3.5,
    )


def test_the_page_names_the_commit_and_adds_up() -> None:
    page = system_report.markdown(system_report.groups(JUNIT, "abc123"))
    assert "| system.test_b | 3 | 2 | 0 | 1 | 3.5 | abc123 |" in page
    assert "| **all** | 5 | 2 | 2 | 1 | 4.0 |  |" in page


def test_a_group_that_ran_alone_replaces_its_own_row_only() -> None:
    page = system_report.markdown(system_report.groups(JUNIT, "abc123+"))
    again = system_report.Group("system.test_a", "def456", passed=2, seconds=0.25)
    merged = system_report.merge_groups(system_report.read_page(page), [again])
    assert [group.row() for group in merged] == [
        "| system.test_a | 2 | 2 | 0 | 0 | 0.2 | def456 |",
        "| system.test_b | 3 | 2 | 0 | 1 | 3.5 | abc123+ |",
    ]
