"""Find out what a question such as "how did it go?" is about.

It is about what the user talks about now; else what was planned for a day that has come; else what was planned last;
else the newest memory.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from functools import partial
from typing import TYPE_CHECKING, Final

from memstone.core.checks.filters import where_visible
from memstone.core.ranking.fusion import ScoredCandidate
from memstone.engine.recall.message_recall import find_near_hits
from memstone.engine.recall.ranking import Hit
from memstone.engine.recall.surface import list_plans
from memstone.engine.runtime import Runtime
from memstone.language.text.calendars import find_named_times
from memstone.language.text.content import content_words, share_of_words
from memstone.language.text.normal import normal_text
from memstone.language.text.questions import only_asks
from memstone.language.text.tokens import QUERY_LIMIT
from memstone.model.instant import datetime_from_instant, to_instant
from memstone.model.memory import FoundMemory, Layer, Origin, Record
from memstone.model.query import And, Condition, Op, ScoreParts
from memstone.ports.ledger import Tx

if TYPE_CHECKING:
    from memstone.engine.recall.context_query import ContextQuery

_LAYERS: Final = (Layer.EPISODE, Layer.FACT, Layer.TURN)
_NOW: Final = timedelta(hours=3)
"""What was said within these is what is mentioned now."""

_SAME_WORDS: Final = 0.5
_TURNS: Final = 3
_MAX_LISTED: Final = 3
_ROWS: Final = 200
_DAYS: Final = 30
"""So long somebody may ask after a day how it went."""

_RECENT: Final = timedelta(days=7)
"""So long a plan without a day is what somebody asks about."""


async def find_outcome(runtime: Runtime, asked: ContextQuery) -> list[Hit]:
    """Return what a question is about that asks how something went and names nothing; [] where nothing tells it."""
    rows = await runtime.ledger.read(partial(_read_rows, asked=asked))
    talk = [one.record for one in rows if _is_talk(runtime, one.record, asked)][:_TURNS]
    if talk:
        about = await _near_talk(runtime, asked, talk, rows)
        if about:
            return about
    today = datetime_from_instant(asked.at).astimezone(runtime.zone).date()
    days = [(day, one) for one in rows if (day := _day_of_plan(one.record, runtime, today)) is not None]
    if days:
        latest = max(day for day, _ in days)
        return [_build_hit(one) for day, one in days if day == latest][:_MAX_LISTED]
    since = to_instant(datetime_from_instant(asked.at) - _RECENT)
    plans = (one for one in rows if one.record.occurred_at >= since and list_plans(one.record))
    return [_build_hit(one) for one in plans][:_MAX_LISTED]


async def _read_rows(tx: Tx, asked: ContextQuery) -> list[FoundMemory]:
    """Return what was said and learned lately, the newest first; of one moment episodes before facts before turns."""
    since = to_instant(datetime_from_instant(asked.at) - timedelta(days=_DAYS))
    where = where_visible(asked.scope, asked.now, layers=_LAYERS, as_of=asked.as_of)
    newer = And((where, Condition("occurred_at", Op.GTE, since)))
    found = await tx.memories.find(newer, limit=_ROWS)
    own = [one for one in found if one.record.layer != Layer.TURN or one.record.source_role == Origin.USER]
    own.sort(key=lambda one: _LAYERS.index(Layer(one.record.layer)))
    return sorted(own, key=lambda one: one.record.occurred_at, reverse=True)


def _is_talk(runtime: Runtime, record: Record, asked: ContextQuery) -> bool:
    """Return whether the user said this a moment ago, and it says something."""
    since = to_instant(datetime_from_instant(asked.at) - _NOW)
    if record.layer != Layer.TURN or record.occurred_at < since:
        return False
    text = record.text
    says = not only_asks(text) and not runtime.language.facts.tells_nothing(text)
    return says and normal_text(text) != normal_text(asked.query)


async def _near_talk(runtime: Runtime, asked: ContextQuery, talk: list[Record], rows: list[FoundMemory]) -> list[Hit]:
    """Return what was said before, and is near to what was said a moment ago or has half of its words."""
    began = min(one.occurred_at for one in talk)
    words = [content_words(one.text, QUERY_LIMIT) for one in talk]
    before = [one for one in rows if one.record.occurred_at < began]
    same = [one for one in before if any(share_of_words(texts, one.record.text) >= _SAME_WORDS for texts in words)]
    texts = "\n".join(one.text for one in reversed(talk))
    _, near = await find_near_hits(runtime, replace(asked, query=texts, farther=set()), _LAYERS)
    known = {one.record.seq for one in same}
    others = [hit for hit in near if hit[0].record.occurred_at < began and hit[1].seq not in known]
    return [*map(_build_hit, same), *others][:_MAX_LISTED]


def _day_of_plan(record: Record, runtime: Runtime, today: date) -> date | None:
    """Return the last day, up to now, that lay ahead when a memory was said, and that it mentions."""
    said_at = datetime_from_instant(record.occurred_at)
    said_on = said_at.astimezone(runtime.zone).date()
    days = [ref.first for ref in runtime.language.dates.find(record.text, said_at, runtime.zone)]
    days += [one.first for named in find_named_times(record.text, said_on) for one in named.times]
    return max((day for day in days if said_on < day <= today), default=None)


def _build_hit(found: FoundMemory) -> Hit:
    return found, ScoredCandidate(found.record.seq, 0.0, ScoreParts())
