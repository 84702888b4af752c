"""What a memory holds after all conversations, held against what is true by then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from benchmarks.tokens.script import ScriptFact, facts, true_at_the_end


@dataclass(frozen=True, slots=True)
class Verdict:
    """Texts by what is wrong with them; ``missing`` are meanings that nothing live says."""

    live: int
    duplicates: list[str] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)


def plain(text: str) -> str:
    """Return a text as it is compared: without case, and without a full stop at its end."""
    return " ".join(text.casefold().split()).rstrip(".")


def by_text() -> dict[str, ScriptFact]:
    """Return the facts by their wording; of an exact repeat, the first, which is the one that changes something."""
    return {plain(fact.text): fact for fact in reversed([*facts()])}


def judge(live: Sequence[str]) -> Verdict:
    """Sort the live memories.

    A duplicate says what an earlier one of the list says, or less than another one; a stale one was made untrue by
    something said later. A text that no script has is ``unknown``.
    """
    known = by_text()
    true, optional = true_at_the_end()
    found = [(text, known.get(plain(text))) for text in live]
    texts = [fact for _, fact in found if fact is not None]
    covered = {less for fact in texts for less in fact.covers}
    verdict = Verdict(len(live), missing=sorted(true - optional - {fact.meaning for fact in texts}))
    seen: set[str] = set()
    for text, fact in found:
        if fact is None:
            verdict.unknown.append(text)
        elif fact.meaning not in true:
            verdict.stale.append(text)
        elif fact.meaning in seen or fact.meaning in covered:
            verdict.duplicates.append(text)
        if fact is not None:
            seen.add(fact.meaning)
    return verdict
