"""One user's words in memory, with speakers, days and neighbouring turns.

Like the vectors of a user, a partition is never changed in a way a reader could see.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count as counting
from typing import Any, Final, NamedTuple

import numpy as np

from memstone.model.instant import Instant
from memstone.model.memory import Conversation, conversation_of, goes_on
from memstone.model.message import asks_alone, question_share
from memstone.ports.ledger import TextRow

# --- which rows a word stands in, and how often -----------------------------------------------------------------------


_AT_ONCE: Final = 512
"""So many texts are split at a time: the words of all of them, one by one, would take more memory than what is kept."""


class Postings:
    """Words to rows. What was there at first lies in one block; what comes later in small lists behind it."""

    def __init__(self, bodies: Sequence[str]) -> None:
        numbers: defaultdict[str, int] = defaultdict(counting().__next__)
        parts = [_number_words(bodies[at : at + _AT_ONCE], numbers) for at in range(0, len(bodies), _AT_ONCE)]
        words = np.concatenate([one for one, _ in parts]) if parts else np.zeros(0, dtype=np.int64)
        lengths = [length for _, some in parts for length in some]
        rows = np.repeat(np.arange(len(bodies)), lengths)
        # A word and a row as one number: sorting these brings each word's rows together, and equal ones are counted.
        words *= max(1, len(bodies))
        words += rows
        pairs, counts = np.unique(words, return_counts=True)
        self._numbers = dict(numbers)
        self._rows = (pairs % max(1, len(bodies))).astype(np.int32)
        self._counts = counts.astype(np.float32)
        current = np.bincount(pairs // max(1, len(bodies)), minlength=len(numbers))
        self._starts = np.concatenate([[0], np.cumsum(current)]).astype(np.int64)
        self._later: dict[str, list[tuple[int, int]]] = {}

    def add(self, row: int, body: str) -> None:
        """Add a row behind all others."""
        for word, count in Counter(body.split()).items():
            self._later.setdefault(word, []).append((row, count))

    def of(self, word: str, below: int) -> tuple[Any, Any]:
        """Return the rows below a number that hold a word, and how often each does."""
        number = self._numbers.get(word)
        bounds = slice(0, 0) if number is None else slice(self._starts[number], self._starts[number + 1])
        rows, counts = self._rows[bounds], self._counts[bounds]
        later = [pair for pair in self._later.get(word, ()) if pair[0] < below]
        if not later:
            return rows, counts
        more = np.array(later, dtype=np.int32)
        return np.concatenate([rows, more[:, 0]]), np.concatenate([counts, more[:, 1].astype(np.float32)])

    @property
    def bytes(self) -> int:
        """Roughly how much memory it takes."""
        return int(self._rows.nbytes + self._counts.nbytes + self._starts.nbytes + 120 * len(self._numbers))


def _number_words(bodies: Sequence[str], numbers: defaultdict[str, int]) -> tuple[Any, list[int]]:
    """Return the words of some texts as numbers, and how many each has."""
    words = " ".join(bodies).split()
    lengths = [body.count(" ") + 1 for body in bodies]
    if sum(lengths) != len(words):  # an empty text has no word
        lengths = [len(body.split()) for body in bodies]
    return np.fromiter(map(numbers.__getitem__, words), dtype=np.int64, count=len(words)), lengths


# --- one user's words, in a form that answers at once who said them, when, and what was said around -------------------


_SPARE: Final = 256
_DEAD_SHARE: Final = 0.25
_BOTH: Final = frozenset({"user", "assistant"})
_ROLES: Final = _BOTH | {""}


@dataclass(slots=True)
class Codes:
    """Texts as small numbers, so that a column of them is compared at once."""

    numbers: dict[str, int] = field(default_factory=dict)
    by_word: dict[str, list[int]] = field(default_factory=dict)

    def of(self, text: str) -> int:
        """Return the number of a text, a new one if it has none."""
        known = self.numbers.get(text)
        if known is not None:
            return known
        number = self.numbers[text] = len(self.numbers)
        for word in set(text.split()):
            self.by_word.setdefault(word, []).append(number)
        return number

    def many(self, texts: Sequence[str]) -> list[int]:
        """Return the numbers of texts, most of which occur many times."""
        for text in dict.fromkeys(texts):
            self.of(text)
        return [self.numbers[text] for text in texts]

    def find_code(self, text: str) -> int:
        """Return the number of a text, -1 if it has none."""
        return self.numbers.get(text, -1)

    def with_word(self, word: str) -> list[int]:
        """Return the numbers of the texts that hold a word."""
        return list(self.by_word.get(word, ()))


@dataclass(slots=True)
class TextColumns:
    """What is known of each row, as columns with room to grow."""

    seqs: Any
    labels: Any
    lengths: Any
    speakers: Any
    days: Any
    asking: Any
    own: Any
    before: Any
    after: Any

    @classmethod
    def of(cls, room: int) -> TextColumns:
        """Return empty columns."""
        none = -np.ones((2, room), dtype=np.int32)
        return cls(
            seqs=np.zeros(room, dtype=np.int64),
            labels=np.zeros((3, room), dtype=np.int32),
            lengths=np.zeros(room, dtype=np.float32),
            speakers=np.zeros(room, dtype=np.int32),
            days=np.zeros(room, dtype=np.int32),
            asking=np.zeros(room, dtype=np.float32),
            own=np.zeros(room, dtype=bool),
            before=none[0],
            after=none[1],
        )

    @property
    def bytes(self) -> int:
        """How much memory they take."""
        return int(sum(getattr(self, name).nbytes for name in self.__slots__))


class End(NamedTuple):
    """The last row of a conversation."""

    at: int
    created_at: Instant
    first: int
    occurred_at: Instant


@dataclass(slots=True)
class PartitionState:
    """What all states of a partition share: it only ever grows behind what a reader knows."""

    columns: TextColumns
    postings: Postings
    ids: Codes = field(default_factory=Codes)
    speakers: Codes = field(default_factory=Codes)
    days: Codes = field(default_factory=Codes)
    names: Codes = field(default_factory=Codes)
    last: dict[Conversation, End] = field(default_factory=dict)


@dataclass(slots=True)
class TextPartition:
    """``rows`` rows are in use, in the order of ``seq``."""

    stamp: int
    rows: int
    shared: PartitionState
    alive: Any = None
    ready: Any = None
    """What every search in this state computes alike (``memstone.adapters.text.ranking``)."""

    @classmethod
    def of(cls, rows: list[TextRow], stamp: int) -> TextPartition:
        """Return a partition of all rows."""
        live = [row for row in rows if row.body is not None]
        room = len(live) + max(_SPARE, len(live) // 4)
        bodies = [f"{row.body} {row.key}" if row.key else row.body or "" for row in live]
        made = cls(stamp, 0, PartitionState(TextColumns.of(room), Postings(bodies)))
        made._place(live, bodies)
        for at in sorted(range(len(live)), key=lambda at: (live[at].created_at, live[at].first)):
            made._chain(at, live[at])
        return made

    @property
    def count(self) -> int:
        """How many rows are still there."""
        return self.rows if self.alive is None else int(self.alive.sum())

    @property
    def bytes(self) -> int:
        """How much memory it takes."""
        return self.shared.columns.bytes + self.shared.postings.bytes

    def apply_rows(self, rows: list[TextRow], stamp: int) -> TextPartition | None:
        """Return this partition with what changed, or None when it is better read again."""
        columns = self.shared.columns
        last = int(columns.seqs[self.rows - 1]) if self.rows else -1
        added = [row for row in rows if row.body is not None]
        if any(row.seq <= last for row in added) or self.rows + len(added) > len(columns.seqs):
            return None
        if not self._goes_on(added):
            return None
        gone = np.nonzero(np.isin(columns.seqs[: self.rows], [row.seq for row in rows if row.seq <= last]))[0]
        alive = self._without(gone)
        if (alive is not None and alive.sum() < (1 - _DEAD_SHARE) * self.rows) or not self._unlink_rows(gone):
            return None
        grown = TextPartition(stamp, self.rows, self.shared, alive)
        for row in added:
            grown._append(row)
        return grown

    def _without(self, gone: Any) -> Any:
        if not len(gone):
            return self.alive
        alive = np.ones(self.rows, dtype=bool) if self.alive is None else self.alive.copy()
        alive[gone] = False
        return alive

    def _unlink_rows(self, gone: Any) -> bool:
        """Tie what stood before and after rows that are gone; False where a conversation lost its end.

        A reader may see this while it looks: it then skips what is no longer there, as the next one will.
        """
        before, after = self.shared.columns.before, self.shared.columns.after
        ends = {end.at for end in self.shared.last.values()}
        for at in gone:
            if int(at) in ends:
                return False
            if before[at] >= 0:
                after[before[at]] = after[at]
            if after[at] >= 0:
                before[after[at]] = before[at]
            before[at] = after[at] = -1
        return True

    def _append(self, row: TextRow) -> None:
        body = f"{row.body} {row.key}" if row.key else row.body or ""
        self.shared.postings.add(self.rows, body)
        at = self.rows
        self._place([row], [body])
        self._chain(at, row)
        if self.alive is not None:
            self.alive = np.append(self.alive, np.True_)

    def _place(self, rows: Sequence[TextRow], bodies: Sequence[str]) -> None:
        if not rows:
            return
        shared, columns = self.shared, self.shared.columns
        here = slice(self.rows, self.rows + len(rows))
        columns.seqs[here] = [row.seq for row in rows]
        for column, name in enumerate(("agent_id", "run_id", "layer")):
            columns.labels[column, here] = shared.ids.many([getattr(row, name) for row in rows])
        columns.lengths[here] = [body.count(" ") + 1 for body in bodies]
        columns.speakers[here] = shared.speakers.many([row.speaker_terms for row in rows])
        columns.days[here] = shared.days.many([row.day_terms for row in rows])
        columns.asking[here] = [_question_ratio(row) for row in rows]
        columns.own[here] = [row.own_words for row in rows]
        for name in {row.speaker for row in rows if row.own_words}:
            if name.lower() not in _ROLES:
                shared.names.of(name.lower())
        self.rows += len(rows)

    def _chain(self, at: int, row: TextRow) -> None:
        """Tie a row to the one that was said before it in the same conversation."""
        name = _row_conversation(row)
        if name is None:
            return
        before = self.shared.last.get(name)
        if before is not None and goes_on(row.run_id, before.occurred_at, row.occurred_at):
            self.shared.columns.before[at] = before.at
            self.shared.columns.after[before.at] = at
        self.shared.last[name] = End(at, row.created_at, row.first, row.occurred_at)

    def _goes_on(self, added: Sequence[TextRow]) -> bool:
        """Return whether new rows are in their conversations behind what is there and behind each other.

        A turn that was revised or brought back keeps the place it had.
        """
        ends: dict[Conversation, tuple[Instant, int]] = {}
        for row in added:
            name, place = _row_conversation(row), (row.created_at, row.first)
            if name is None:
                continue
            there = self.shared.last.get(name)
            end = ends.get(name, (there.created_at, there.first) if there is not None else place)
            if place < end:
                return False
            ends[name] = place
        return True


def _question_ratio(row: TextRow) -> float:
    """Return how much of a text asks.

    Of what a user and an assistant say to each other, only whether it states nothing at all.
    """
    if not row.text:  # most texts: they have no question mark, and are not read
        return 0.0
    if row.speaker.lower() in _BOTH:
        return float(asks_alone(row.text))
    return question_share(row.text) if "?" in row.text else 0.0


def _row_conversation(row: TextRow) -> Conversation | None:
    """Return what a row is a part of.

    What was put aside stands alone, so that nobody is found by its words in its place.
    """
    if not row.active:
        return None
    return conversation_of(row.agent_id, row.run_id, row.layer, own_words=row.own_words)
