"""Decide what a statement does to known memories: add, repeat, replace, amend or end.

Something is known only if every word of it is in a memory and is meant alike. A memory changes only where that is
sure: the same is denied, it is told to have ended, a person has one of it and it is another now, or the curator that
has read both is certain. In doubt a statement is added: a wrong change hides what is true, an addition costs a line.
Nothing is cut out of a memory: either the new statement takes its place as a whole, or its words are put behind it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

from memstone.language.en.fact_text import SAID_ON, append_amendment
from memstone.language.en.sentences import expand_contractions
from memstone.language.en.slots import MANY, own_values, shipped_slots
from memstone.language.en.stance import NUMERALS, has_ending_word, is_negated, polarity_of, spelled_digits
from memstone.language.en.verbs import is_verb, lemmatize_verb
from memstone.language.lists import read_data
from memstone.language.text.stem import stem_word
from memstone.model.curator import Curator
from memstone.model.fact import Decision, FactAction, KnownMemory, New
from memstone.model.policy import OwnSlot

_DATA: Final = read_data("en", "changes")

# --- a statement in the words by which it is compared -----------------------------------------------------------------


_FRAME: Final = re.compile(
    r'^(?:(?:Asked|In reply to) "(?P<question>[^"]*)", )?\S+(?: \S+)? (?:said|asked)(?: on [\d-]+)?: "(?P<said>.*)"\.?$',
    re.DOTALL,
)
_TOKEN: Final = re.compile(r"[^\W_]+(?:[.,:'’&/-][^\W_]+)*[+#]*", re.UNICODE)
_SMALL: Final = frozenset(_DATA["small"].split())
"""Words that say nothing by themselves. Not among them: words that deny, count, compare, or tell when something holds."""

_LIKING: Final = {
    form: group
    for group, forms in {
        "like": "like likes liked love loves loved enjoy enjoys enjoyed adore adores fan",
        "dislike": "dislike dislikes disliked hate hates hated despise detest",
    }.items()
    for form in forms.split()
}
"""Words of one attitude count as one."""

_GOT: Final = re.compile(r"\b(have|has) got\b")
_MODALITIES: Final = {
    "wished": re.compile(
        r"\b(?:want|wants(?! to be called)|wanted|wish|wishes|hope|hopes|would like|dream of|dreams of|thinking of|considering|might|maybe|could|should)\b"
    ),
    "planned": re.compile(
        r"\b(?:will|going to|plan|plans|planning|planned|intend|intends|about to|due to|next|tomorrow|upcoming)\b"
    ),
    "past": re.compile(
        r"\b(?:used to|was|were|had|did|ago|last|yesterday|former|formerly|previously|once|ex)\b|\b(?:user|i|we) (?:\w+ly )?\w+ed\b"
    ),
    "supposed": re.compile(r"\b(?:if|unless|suppose|imagine|pretend)\b"),
    "once": re.compile(r"\b(?:today|tonight|this time|for once|this week|this morning|right now|at the moment)\b"),
}
"""How something is meant: what is planned is not yet so, and what was so may be so no longer."""


@dataclass(frozen=True, slots=True)
class Statement:
    """What is compared of a text."""

    text: str
    plain_text: str
    """Its plain words in small letters, without a frame such as ``User said``."""

    words: tuple[str, ...]
    modalities: frozenset[str]
    polarity: int
    owner: str
    """Whom it begins with: the user, somebody of theirs, or somebody by name."""

    @property
    def bag(self) -> frozenset[str]:
        """Its words in no order."""
        return frozenset(self.words)


@lru_cache(maxsize=8192)
def parse_statement(text: str) -> Statement:
    """Return a text as it is compared."""
    found = _FRAME.match(SAID_ON.sub("", text).strip())
    bare = f"{found['question'] or ''} {found['said']}" if found else SAID_ON.sub("", text)
    sentence = _GOT.sub(r"\1", spelled_digits(expand_contractions(bare).lower()))
    words = [_normalize_word(one[0]) for one in _TOKEN.finditer(sentence)]
    return Statement(
        text,
        " ".join(sentence.split()),
        tuple(filter(None, words)),
        frozenset(name for name, pattern in _MODALITIES.items() if pattern.search(sentence)),
        polarity_of(sentence),
        _statement_owner(sentence),
    )


_OWNER: Final = re.compile(r"(?:(?P<own>i|we|user)\b(?!')|(?:my|our|user's) (?P<theirs>[\w-]+)|(?P<name>\S+))")


def _statement_owner(text: str) -> str:
    found = _OWNER.match(text.strip())
    if found is None or found["own"]:
        return "user"
    return f"user's {found['theirs']}" if found["theirs"] else found["name"].strip(".,!?")


@lru_cache(maxsize=16384)
def _normalize_word(written: str) -> str:
    word = written.removesuffix("'s").removesuffix("’s")
    if word in _SMALL:
        return ""
    if word in _LIKING or (word in NUMERALS and word != "one"):
        return _LIKING.get(word) or NUMERALS[word]
    if any(letter.isdigit() or letter in "+#" for letter in word):
        return word
    return stem_word(lemmatize_verb(word))


def bare_words(text: str) -> frozenset[str]:
    """Return the words by which a text is compared, in no order."""
    return parse_statement(text).bag


# --- what a person has one of at a time -------------------------------------------------------------------------------


_AROUND: Final = re.compile(
    r"^(?:the|a|an|now|currently) | (?:now|these days|again|since .*|as .*|with .*|for .*|and .*|but .*|because .*)$"
)

_HAPPENED: Final = re.compile(r"\b(?:moved|relocated|turned|joined|started|got|married|engaged|divorced|separated)\b")
"""What is told of a single day and holds from then on."""

_CONTRAST: Final = re.compile(r", (?:and )?not (?!any ?more)[^,;]+$")
"""What it is not, behind what it is: "at Brightwell, not Brightwood"."""

_FIRST_PERSON: Final = re.compile(r"^(?:i|we)\b")
_CLAUSE: Final = re.compile(r"[,:;.] +")
_GOES_ON: Final = re.compile(r"(?:(?:and|so|but) )?(?:they|user|i|we) ")


class SlotValue(NamedTuple):
    """A slot of somebody, and the value that a statement gives it."""

    slot: str
    owner: str
    value: str


def slots_of(statement: Statement, own: Iterable[OwnSlot] = ()) -> list[SlotValue]:
    """Return the slots that a statement fills, those of a configuration among them.

    What is denied or wished fills none.
    """
    found = [
        SlotValue(name, "user", value) for name, value in own_values(statement.text, own).items() if MANY not in name
    ]
    if statement.modalities & {"wished", "planned", "supposed"}:
        return found
    clauses = [*_user_clauses(statement)]
    for name, (_, patterns) in shipped_slots().items():
        match = next((one for pattern in patterns for text in clauses if (one := pattern.search(text))), None)
        if match is not None and ("once" not in statement.modalities or _HAPPENED.search(match[0])):
            owner = match.groupdict().get("owner") or "user"
            found.append(SlotValue(name, owner, _AROUND.sub("", match["value"].strip()).strip()))
    return found


def _user_clauses(statement: Statement) -> Iterator[str]:
    """Yield a statement, and those of its clauses that go on about the user: "user has moved: they live in Porto now".

    What is denied is left out.
    """
    text = _FIRST_PERSON.sub("user", statement.plain_text)
    if statement.polarity >= 0 or not _is_denied(statement.plain_text):
        yield text
    if text.startswith("user "):
        more = (_GOES_ON.sub("user ", one, count=1) for one in _CLAUSE.split(text)[1:] if _GOES_ON.match(one))
        yield from (one for one in more if not _is_denied(one))


def _is_denied(text: str) -> bool:
    return polarity_of(_CONTRAST.sub("", text)) < 0


def asked_slots(words: frozenset[str]) -> list[str]:
    """Return the slots that somebody means by these words: "my address"."""
    return [name for name, (asked, _) in shipped_slots().items() if words & frozenset().union(*map(bare_words, asked))]


def is_other_value(new: SlotValue, known: SlotValue) -> bool:
    """Return whether a slot of the same person is filled otherwise; a part of what is known is no other value."""
    if (new.slot, new.owner) != (known.slot, known.owner):
        return False
    own, other = bare_words(new.value), bare_words(known.value)
    return bool(own and other) and not (own <= other or other <= own)


# --- what a statement does to what is known ---------------------------------------------------------------------------


ODDS: Final = (0.7, 0.7, 0.45)
"""So likely the curator must find it that a statement changes a memory with which it shares no word that tells something,
one, or more; chosen by the totals of people it was not fitted to, the first a little lower for plain news of a job."""

_NOTED: Final = re.compile(r" \([^()]*\b\d{4}\)")
"""The date that was noted beside a word such as "yesterday"."""

_LIGHT: Final = frozenset(_DATA["light"].split())
"""Words that two statements may share without being about the same."""


_DENIALS: Final = frozenset("no not never without longer anymor stop".split())
_ENDINGS: Final = frozenset(
    "end die broke break up cancel gave give finish divorc separ lose lost return close drop retir resign fire over done gone".split()
)
"""Words that tell that something has ended, and not what."""


_ATTITUDES: Final = frozenset(("like", "dislike"))
_EMPTY: Final = frozenset("get go make take come thing now new again more much lot bite good".split())
"""A statement of nothing but these tells nobody anything."""


def decide_change(new: New, known: Sequence[KnownMemory]) -> Decision:
    """Return what a statement does to the memories near it."""
    statement = parse_statement(new.text)
    statements = [parse_statement(one.text) for one in known]
    if statement.bag <= _EMPTY:
        return Decision(FactAction.IGNORE, None, "says nothing by itself")
    if new.adds:
        for at, memory in enumerate(statements):
            if not known[at].is_others and is_known(statement, memory):
                return Decision(FactAction.IGNORE, at, "already known")
    changed = _find_change(new, statement, known, statements) or _find_extension(new, statement, known, statements)
    if changed is not None:
        return changed
    if not new.adds:
        return Decision(FactAction.IGNORE, None, "says nothing by itself")
    return Decision(FactAction.ADD, None, "nothing known says this or its opposite")


def _find_extension(
    new: New, statement: Statement, known: Sequence[KnownMemory], statements: Sequence[Statement]
) -> Decision | None:
    """Take the place of a memory that the statement repeats word for word and goes on from: nothing of it is lost."""
    if not new.adds or new.is_quote:
        return None
    for at, memory in enumerate(statements):
        begins = bool(memory.words) and statement.words[: len(memory.words)] == memory.words
        alike = (statement.polarity, statement.modalities, statement.owner) == (
            memory.polarity,
            memory.modalities,
            memory.owner,
        )
        if begins and alike and not known[at].is_others and _content_words(memory):
            return Decision(FactAction.REVISE, at, "it says the same and more")
    return None


def is_known(new: Statement, memory: Statement) -> bool:
    """Return whether a memory proves that a statement is known: it has all its words, and means them alike."""
    if (new.polarity, new.modalities, new.owner) != (memory.polarity, memory.modalities, memory.owner) or not new.words:
        return new.text == memory.text
    return new.bag <= memory.bag and _in_order(new, memory)


def _in_order(new: Statement, memory: Statement) -> bool:
    """Return whether the words come in the same order, so that nobody does to the other what the other does to them."""
    at = iter(memory.words)
    return all(word in at for word in new.words)


def _find_change(
    new: New, statement: Statement, known: Sequence[KnownMemory], statements: Sequence[Statement]
) -> Decision | None:
    filled = slots_of(statement, new.own)
    statement = parse_statement(_NOTED.sub("", new.text))
    own = [at for at, one in enumerate(known) if not one.is_others]
    for at in own:
        reason, value = _change_reason(statement, filled, statements[at], new)
        if reason:
            return _build_revision(new, statement, statements[at], known[at], at, reason, value)
    best = max(own, key=lambda at: known[at].replaced, default=None)
    if best is None or not _is_likely(statement, statements[best], known[best]):
        return None
    return _build_revision(new, statement, statements[best], known[best], best, _curator_reason(known[best]))


def _is_likely(statement: Statement, memory: Statement, known: KnownMemory) -> bool:
    """Return whether the curator is sure enough that a statement changes a memory."""
    shared = (
        0 if statement.modalities & {"supposed", "once"} else len(_content_words(statement) & _content_words(memory))
    )
    return known.replaced >= ODDS[min(shared, len(ODDS) - 1)]


def rate_changes(message: str, memories: Sequence[str], curator: Curator) -> list[float]:
    """Return how likely a message changes each memory, as the curator reads both."""
    return [1 / (1 + math.exp(-float(row[0]))) for row in curator.read_list(message, memories)]


def _curator_reason(known: KnownMemory) -> str:
    return f"the curator reads it as a change ({known.replaced:.2f})"


def also_changed(new: New, known: Sequence[KnownMemory], main: Decision) -> list[Decision]:
    """Return what else a statement changes.

    Its words are put behind whatever has the old value, or the curator is sure of.
    """
    statement, filled = parse_statement(_NOTED.sub("", new.text)), slots_of(parse_statement(new.text), new.own)
    found = []
    for at, one in enumerate(known):
        memory = parse_statement(one.text)
        reason = _other_value(filled, memory, new)[0] or (
            _curator_reason(one) if _is_likely(statement, memory, one) else ""
        )
        if reason and at != main.target and not one.is_others:
            text = append_amendment(one.stored or one.text, new.quote or new.text, new.day)
            found.append(Decision(FactAction.REVISE, at, reason, text))
    return found


def _change_reason(statement: Statement, filled: Sequence[SlotValue], memory: Statement, new: New) -> tuple[str, str]:
    """Return why a statement surely changes a memory, '' where it does not; and the value that it has no longer."""
    reason, value = _other_value(filled, memory, new)
    if reason:
        return reason, value
    if statement.modalities == memory.modalities and _is_other_amount(statement, memory):
        return "the same is said with another number", " ".join(one for one in memory.words if one[:1].isdigit())
    return _denial_reason(statement, memory), ""


def _other_value(filled: Sequence[SlotValue], memory: Statement, new: New) -> tuple[str, str]:
    """Return why a memory has the old value of what a person has one of, '' where it has not, and that value."""
    for slot_values in slots_of(memory, new.own) if filled else ():
        if values := next((one for one in filled if is_other_value(one, slot_values)), None):
            return f"{values.slot}: {slot_values.value!r} becomes {values.value!r}", slot_values.value
    return "", ""


def _denial_reason(statement: Statement, memory: Statement) -> str:
    telling, named = _content_words(memory), _content_words(statement) - _ENDINGS
    if not telling or not named or statement.polarity == memory.polarity or _is_unsure(statement, memory):
        return ""
    if telling - _ENDINGS == named or _turns_round(statement, memory):
        return "the opposite is said"
    if statement.polarity < 0 and (
        named <= memory.bag or (has_ending_word(statement.plain_text) and telling <= statement.bag)
    ):
        return "it has ended" if has_ending_word(statement.plain_text) else "it is denied"
    return ""


def _is_unsure(statement: Statement, memory: Statement) -> bool:
    return bool(statement.modalities & {"supposed", "once", "wished"}) or _is_yet_to_come(statement, memory)


def _is_yet_to_come(statement: Statement, memory: Statement) -> bool:
    """Return whether a statement is a plan and the memory is none: it holds until the plan is carried out."""
    return "planned" in statement.modalities - memory.modalities and not is_negated(statement.plain_text)


_AMOUNT: Final = re.compile(
    r"\b(?P<verb>[a-z]{3,}s|is|are|was|at|on|to|for|of|by|about|around|only|now|every) "
    r"(?P<much>(?:[$€£] ?)?\d[\d.,:/]*(?: ?(?:am|pm|h|th|st|nd|rd|%|k))?(?: (?:january|february|march|april|may|june|july|august"
    r"|september|october|november|december)\b)?)"
)
_NOW: Final = re.compile(r" (?:now|currently|these days)\b")


def _is_other_amount(statement: Statement, memory: Statement) -> bool:
    """Return whether two statements are the same but for how much, how many or when.

    Where a number is a name they are not.
    """
    own, other = (_NOW.sub("", one.plain_text.rstrip(".! ")) for one in (statement, memory))
    if own == other or _mask_amounts(own) != _mask_amounts(other):
        return False
    return "#" in _mask_amounts(own)


def _mask_amounts(text: str) -> str:
    return _AMOUNT.sub(lambda found: f"{found['verb']} #" if _is_verb(found["verb"]) else found[0], text)


def _is_verb(word: str) -> bool:
    return not word.endswith("s") or word in ("is", "was") or is_verb(word[:-1]) or is_verb(word[:-2])


def _turns_round(statement: Statement, memory: Statement) -> bool:
    """Return whether one likes what the other dislikes."""
    own, other = _attitude_object_words(statement), _attitude_object_words(memory)
    if statement.owner != memory.owner or own != other or not own:
        return False
    return bool(_ATTITUDES & statement.bag) and bool(_ATTITUDES & memory.bag) and statement.polarity != memory.polarity


def _attitude_object_words(statement: Statement) -> frozenset[str]:
    return statement.bag - _ATTITUDES - _DENIALS


def _content_words(statement: Statement) -> frozenset[str]:
    return statement.bag - _LIGHT


def shared_words(one: str, other: str) -> int:
    """Return how many words that tell something two statements share."""
    return len(_content_words(parse_statement(one)) & _content_words(parse_statement(other)))


def _build_revision(
    new: New, statement: Statement, memory: Statement, known: KnownMemory, at: int, reason: str, value: str = ""
) -> Decision:
    """Take a memory's place where nothing of it is lost but the old value, else put the new words behind it."""
    over = parse_statement(value).bag | _ATTITUDES
    lost = _content_words(memory) - over - statement.bag
    is_whole = new.adds and not new.is_quote and not lost and not _is_yet_to_come(statement, memory)
    text = "" if is_whole else append_amendment(known.stored or known.text, new.quote or new.text, new.day)
    return Decision(FactAction.REVISE, at, reason, text)


def to_forget(what: str, known: Sequence[str]) -> list[int]:
    """Return the memories that somebody asks to be forgotten.

    They say all of it, else they fill what it names.
    """
    words = parse_statement(what).bag
    found = [at for at, text in enumerate(known) if words and words <= parse_statement(text).bag]
    if found:
        return found
    slots = set(asked_slots(words))
    return [at for at, text in enumerate(known) if any(one.slot in slots for one in slots_of(parse_statement(text)))]
