"""``python -m benchmarks.life``: live through a year, say what became of the memory, and keep the numbers."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from statistics import mean
from typing import Any, Final

from benchmarks.life.plot import svg
from benchmarks.life.sessions import sessions
from benchmarks.life.year import SETTINGS, Day, live, read_strengths, strengths
from benchmarks.speed.__main__ import _commit, _say

ROOT: Final = Path(__file__).resolve().parent.parent.parent
_OFTEN: Final = {"once": 0.0, "daily": 1.0, "hourly": 24.0}


def main() -> int:
    """Run; 1 when something that must hold does not."""
    parser = argparse.ArgumentParser(prog="benchmarks.life", description=__doc__)
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--sessions", type=int, default=1_000)
    parser.add_argument("--compared-days", type=int, default=45, help="for passes of different frequency")
    parser.add_argument("--dry", action="store_true", help="print only, keep no results file and no picture")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        days, apart = _year(Path(place) / "year.db", options.sessions, options.days)
        often = _frequencies(Path(place), options.compared_days)
    facts = _facts(options, days)
    stored = _compare_halves(days, apart, often)
    text = _report(facts, stored, days)
    sys.stdout.write(text)
    if not options.dry:
        name = f"life-{facts['date']}-{facts['commit']}"
        results = {"facts": facts, "held": stored, "days": [_summarize_day(day) for day in days]}
        (ROOT / "benchmarks" / "results" / f"{name}.json").write_text(json.dumps(results), "utf-8")
        (ROOT / "benchmarks" / "results" / f"{name}.md").write_text(text, "utf-8")
        (ROOT / "docs" / "images" / "year.svg").write_text(svg(days), "utf-8")
    return 0 if all(one["holds"] for one in stored.values()) else 1


def _summarize_day(day: Day) -> dict[str, Any]:
    """Return a day in few characters."""
    values = {**asdict(day), "done": {name: count for name, count in day.done.items() if count}}
    return {name: round(value, 2) if isinstance(value, float) else value for name, value in values.items()}


def _year(path: Path, count: int, days: int) -> tuple[list[Day], float]:
    """Return the days, and how far what a search says of a fact's strength is from the formula at the end."""

    def tell(day: Day) -> None:
        if day.day % 30 == 0:
            _say(f"day {day.day}: {day.facts} facts, {day.episodes} episodes, pass {day.pass_ms:.0f} ms")

    found, memory, clock = live(path, sessions(count, days), days, tell=tell)
    with memory:
        expected = strengths(path, clock.now())
        read = read_strengths(memory, list(expected)[:200])
    return found, max((abs(read[one] - expected[one]) for one in read), default=0.0)


def _frequencies(place: Path, days: int) -> float:
    """Return how far apart the strengths of the same facts end after one pass, daily and hourly ones."""
    script = sessions(3 * days, days)
    settings = {**SETTINGS, "upkeep": {"evict": False}}
    ends = []
    for name, passes in _OFTEN.items():
        _say(f"{days} days with a pass {name}")
        path = place / f"{name}.db"
        _, memory, clock = live(path, script, days, passes=passes, settings=settings, ask=False)
        memory.close()
        ends.append(strengths(path, clock.now(), unrevised=True))
    same = {frozenset(end) for end in ends}
    return max(abs(end[one] - ends[0][one]) for end in ends for one in end) if len(same) == 1 else float("inf")


def _compare_halves(days: list[Day], apart: float, often: float) -> dict[str, dict[str, Any]]:
    half = len(days) // 2
    early = max(day.facts + day.episodes for day in days[:half])
    late = max(day.facts + day.episodes for day in days[half:])
    wrong = sum(day.wrong_evictions for day in days)
    return {
        "facts and episodes, most in the second half / in the first": {
            "value": late / early,
            "holds": late <= 1.25 * early,
        },
        "evicted although used within 30 days": {"value": wrong, "holds": wrong == 0},
        "strength as read - closed formula, at most": {"value": apart, "holds": apart < 1e-9},
        "strength of unrevised facts after one, daily and hourly passes apart, at most": {
            "value": often,
            "holds": often < 1e-9,
        },
    }


def _facts(options: argparse.Namespace, days: list[Day]) -> dict[str, Any]:
    return {
        "commit": _commit(),
        "date": datetime.now(UTC).date().isoformat(),
        "lived": f"{sum(day.sessions for day in days):,} sessions in {options.days} days, a pass at the end of each",
        "people": "two users, one of them with two agents",
        "settings": "preset companion, episodes kept 120 days, turns 90; hash embedder, no language model",
        "compared": f"{3 * options.compared_days} sessions in {options.compared_days} days, nothing evicted",
    }


def _report(facts: dict[str, Any], stored: dict[str, dict[str, Any]], days: list[Day]) -> str:
    lines = [
        f"# A year of Memstone at {facts['commit']}",
        "",
        *(f"- {name}: {value}" for name, value in facts.items()),
        "",
    ]
    lines += ["| what must hold | value | holds |", "|---|---|---|"]
    lines += [f"| {name} | {one['value']:.3g} | {'yes' if one['holds'] else 'NO'} |" for name, one in stored.items()]
    lines += [
        "",
        "| | facts | episodes | turns | evicted | one run, ms | one session, ms | file, MB |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for at in sorted({len(days) * part // 6 for part in range(1, 7)}):
        week, day = days[max(0, at - 7) : at], days[at - 1]
        took = f"{mean(one.pass_ms for one in week):.1f} | {mean(one.session_ms for one in week):.1f}"
        lines.append(
            f"| day {at} | {day.facts} | {day.episodes} | {day.turns} | {day.evicted} | {took} | {day.megabytes:.1f} |"
        )
    done: dict[str, int] = {}
    for day in days:
        done = {name: done.get(name, 0) + count for name, count in day.done.items()}
    lines += ["", "In all: " + ", ".join(f"{count:,} {name}" for name, count in done.items() if count) + ".", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
