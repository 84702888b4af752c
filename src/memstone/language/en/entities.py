"""Find names in English text, and the names that a question is about."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from itertools import pairwise
from typing import Final, NamedTuple

from memstone.language.en.names import (
    CALENDAR,
    COMMON,
    FIRST_NAMES,
    HEADS,
    KIN,
    KNOWN,
    NOUNS_LIKE_ADJECTIVES,
    ORDINARY,
    UNCASED,
    UNCASED_PAIRS,
    NameSpan,
    is_named_by,
    type_of,
)
from memstone.language.text.normal import normal_text
from memstone.language.text.words import STOP_WORDS
from memstone.model.memory import MAX_FOUND, MAX_NAME_CHARS, Entity, EntityType
from memstone.model.query import NOBODY, SpeakerQuestion

# --- names that their form alone makes names --------------------------------------------------------------------------


_ODD: Final = re.compile(r"[_@#+/\dA-Z.](?:(?<=[_@#+/\d])|(?<=[a-z][A-Z])|(?<=\.)(?=[a-zA-Z]))")
"""Without any of these a text holds no identifier."""

_CODES: Final = re.compile(
    r"""(?P<link>https?://\S+|www\.\S+|\[redacted:[a-z_]+\])
    |(?P<mail>[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}|(?<!\w)@\w[\w.]{1,30}\b)
    |(?P<code>\b(?:[\w-]{1,40}\.(?:py|js|ts|md|json|ya?ml|toml|sql|csv|txt|pdf|html|css|rs|go|java|cpp|sh)
       |v\d+(?:\.\d+)+|[A-Z]{2,10}-\d+|[A-Za-z]\w*_\w+|[a-z]+[A-Z]\w*(?:[ ]\d{1,2})?
       |(?!mid|pre|post|top)[a-z]{2,12}-\d[\w.]{0,8}\w)\b|(?<!\w)(?:[cC]\+\+|[cCfF]\#|\.NET)(?!\w))""",
    re.VERBOSE,
)
_MARKS: Final = ('"', " '", "\u201c", "\u2018", "\u00ab")
_QUOTED: Final = re.compile(
    '"(?P<straight>[^"\\n]{2,60})"|\u201c(?P<curly>[^\u201d\\n]{2,60})\u201d|\u00ab(?P<angled>[^\u00bb\\n]{2,60})\u00bb'
    "|(?<![\\w'])['\u2018](?P<single>[^'\u2019\\n]{2,60})['\u2019](?!\\w)"
)
_CALLED: Final = re.compile(
    r"(?:called|named|titled|entitled|book|song|movie|film|album|poem|game|show|series|band|podcast|novel|read|watched)"
    r"[ ,:]{0,2}$"
)
_MAX_QUOTED_WORDS: Final = 6


def marked_names(text: str) -> list[NameSpan]:
    """Return identifiers, addresses and titles.

    A link or a mask stands without a name, so that nothing in it is one.
    """
    found = [_spot_identifier(match) for match in _CODES.finditer(text)] if _ODD.search(text) else []
    if text[:1] == "'" or any(mark in text for mark in _MARKS):
        found += [
            one
            for one in _find_quoted_titles(text)
            if not any(other.start < one.end > other.start >= one.start for other in found)
        ]
    return found


def _spot_identifier(match: re.Match[str]) -> NameSpan:
    name = match[0]
    entity_type = (
        EntityType.PERSON
        if match.lastgroup == "mail"
        else KNOWN.get(name.casefold().partition(" ")[0], EntityType.TECHNOLOGY)
    )
    if name[:2].isupper() and "-" in name:
        entity_type = EntityType.CONCEPT
    return NameSpan(match.start(), match.end(), "" if match.lastgroup == "link" else name, entity_type)


def _find_quoted_titles(text: str) -> Iterator[NameSpan]:
    """Yield what is in quotes, when it looks like a title or is said to be one; a quoted sentence is no name."""
    for match in _QUOTED.finditer(text):
        inside = match[match.lastgroup or 0]
        if _is_title(inside) or (_is_short(inside) and _is_called(text, match.start())):
            start = match.start() + 1
            entity_type = KNOWN.get(inside.casefold(), EntityType.CONCEPT)
            yield NameSpan(start, start + len(inside), inside.strip(), entity_type)


def _is_short(inside: str) -> bool:
    words = inside.split()
    return 0 < len(words) <= _MAX_QUOTED_WORDS and inside[-1] not in ".!?,\u2026" and inside.casefold() not in COMMON


def _is_title(inside: str) -> bool:
    words = inside.split()
    return _is_short(inside) and words[0][0].isupper() and words[-1][0].isupper() and words[0] not in ("I", "I'm")


def _is_called(text: str, start: int) -> bool:
    return _CALLED.search(text[max(0, start - 14) : start].casefold()) is not None


# --- names without a capital ------------------------------------------------------------------------------------------


_WORD: Final = re.compile(r"[a-z]+")
_APART: Final = dict.fromkeys(map(ord, ".,;:!?\"'()[]\u2019\u201c\u201d\u2026"), " ")
_DETERMINERS: Final = frozenset("a an the my our your his her their this that some".split())
_ADJECTIVES: Final = tuple("ly ful ous ive ible able less est ed ish al ic".split())


def words_of(text: str) -> set[str]:
    """Return the words of a text as they stand there, without the marks around them."""
    return set(text.translate(_APART).split())


def small_names(text: str, words: set[str]) -> Iterator[NameSpan]:
    """Yield known names in small letters, and compounds; ``words`` are those of the text."""
    if words.isdisjoint(_TELLING):
        return
    longer = [name for word in words & _FIRSTS for name in UNCASED_PAIRS[word]]
    taken: set[int] = set()
    for name in (*longer, *(words & UNCASED)):
        start = place_of(text, name, 0)
        if start >= 0 and start not in taken:
            taken.add(start)
            yield NameSpan(start, start + len(name), name, KNOWN[name])
    for word in words & _HEADS:
        yield from _find_compounds(text, word)


def place_of(text: str, word: str, start: int) -> int:
    """Return where a word stands by itself, or -1."""
    at = text.find(word, start)
    while at >= 0:
        before, after = text[at - 1 : at], text[at + len(word) : at + len(word) + 1]
        if not before.isalnum() and not after.isalnum():
            return at
        at = text.find(word, at + 1)
    return -1


def _find_compounds(text: str, head: str) -> Iterator[NameSpan]:
    at = place_of(text, head, 0)
    while at > 0:
        end = at + len(head)
        start = _compound_start(text, at) if text[at - 1] == " " and not _goes_on(text, end) else at
        if start < at:
            yield NameSpan(start, end, text[start:at] + HEAD_FORMS[head], EntityType.CONCEPT)
        at = place_of(text, head, end)


def _compound_start(text: str, at: int) -> int:
    """Return where the nouns before a noun begin: one, or two if the first makes a compound with the second."""
    modifier, before = _word_before(text, at)
    if not _can_modify_noun(modifier, before):
        return at
    start = at - len(modifier) - 1
    if modifier in HEAD_FORMS:
        outer, before = _word_before(text, start)
        start -= len(outer) + 1 if _can_modify_noun(outer, before) else 0
    return start


def _word_before(text: str, at: int) -> tuple[str, str]:
    """Return the word before a blank at ``at - 1`` and the one before that."""
    words = text[max(0, at - 60) : at].split(" ")
    return words[-2] if len(words) > 1 else "", words[-3].casefold() if len(words) > 2 else ""


def _goes_on(text: str, end: int) -> bool:
    """Return whether the next word is a noun of the same compound."""
    following = _WORD.match(text, end + 1) if text[end : end + 1] == " " else None
    return following is not None and following[0] in HEAD_FORMS


def _can_modify_noun(word: str, before: str) -> bool:
    if len(word) <= 2 or not word.isalpha() or not word.islower() or word in ORDINARY:
        return False
    if word.endswith("ing"):  # a painting class, but not: we were painting classes
        return before in _DETERMINERS
    return word in NOUNS_LIKE_ADJECTIVES or not word.endswith(_ADJECTIVES)


def _plural_form(word: str) -> str:
    if word.endswith("y") and word[-2] not in "aeou":
        return f"{word[:-1]}ies"
    return f"{word}es" if word.endswith(("s", "x", "ch", "sh")) else f"{word}s"


HEAD_FORMS: Final = {**{_plural_form(head): head for head in HEADS}, **{head: head for head in HEADS}}
"""Every form of the second noun of a compound, and the form it is kept in."""

_HEADS: Final = frozenset(HEAD_FORMS)
_FIRSTS: Final = frozenset(UNCASED_PAIRS)
_TELLING: Final = _HEADS | _FIRSTS | UNCASED
"""Without any of these words a text has no names in small letters."""


# --- names by their capitals ------------------------------------------------------------------------------------------


_UPPER: Final = "A-Z" + "".join(char for char in map(chr, range(0xC0, 0x530)) if char.isupper())
_RUNS_WORD: Final = (
    rf"(?:(?:Dr|Mrs?|Ms|Prof|St|Mt|Ft)\.(?=\ )|(?:[{_UPPER}]\.){{2,4}}"
    rf"|[{_UPPER}]\w*(?:[&-]\w+|['\u2019](?!s\b)\w+)*(?:\.(?:js|io|ai|net|com|org)\b)?)"
)
_NEXT: Final = rf"(?:[{_UPPER}]\.(?=\ [{_UPPER}])|{_RUNS_WORD})"
_BETWEEN: Final = r"\ (?:(?:of(?:\ the)?|de(?:\ la|\ los)?|van(?:\ der|\ den)?|von|der|la|le|du|del|da|di|al|bin|&)\ )?"
_RUNS: Final = re.compile(
    rf"(?=[{_UPPER}])(?<![\w@\#./-]){_RUNS_WORD}(?:{_BETWEEN}{_NEXT}){{0,5}}(?:\ \d{{1,4}}(?:\.\d+)*(?![\w:%/-]))?",
    re.VERBOSE,
)
_MIDDLE: Final = frozenset(",;&/\u2014\u2013-'\u2019)%$\u20ac")
_SPEAKER: Final = frozenset("i i'm i've i'll i'd i\u2019m i\u2019ve i\u2019ll i\u2019d".split())
_NEVER: Final = (COMMON | CALENDAR | KIN.keys() | _SPEAKER) - KNOWN.keys()
"""Words that are no name by themselves, wherever they stand."""

_NO_END: Final = CALENDAR | _SPEAKER
"""Words with a capital that end no name: "On Sunday Evening I …"."""

_OWN_ENDS: Final = ("'s", "\u2019s")
_MAX_ACRONYM: Final = 6
_SHOUTED: Final = 0.6


def capital_names(text: str) -> Iterator[NameSpan]:
    """Yield the names among the words with capitals; in a text that is all capitals they tell nothing."""
    if text.isupper() and sum(map(str.isupper, text)) > _SHOUTED * sum(map(str.isalpha, text)):
        return
    seen: set[str] = set()
    for match in _RUNS.finditer(text):
        run = match[0]
        found = None if run.casefold() in _NEVER else _from_run(text, match.start(), run, seen)
        if found is not None:
            seen.add(found.name)
            yield found


def _from_run(text: str, start: int, run: str, seen: set[str]) -> NameSpan | None:
    """Return the name in a run of words with capitals, if there is one; ``seen`` are those that were found before."""
    words = run.split(" ")
    first = _is_sentence_start(text, start)
    proven = not first
    while words and _is_no_name(words, first=first and not proven):
        start += len(words.pop(0)) + 1
        proven = True
    while words and (words[-1].casefold() in _NO_END or _is_number_after_nothing(words)):
        words.pop()
    name = " ".join(words)
    end = start + len(name)
    if not words or len(name) > MAX_NAME_CHARS or not (len(words) > 1 or _stands_alone(name)):
        return None
    if proven or len(words) > 1 or name in seen or _is_proven(text, end, name):
        return NameSpan(start, end, name, type_of(name, text, start, end))
    return None


def _is_sentence_start(text: str, start: int) -> bool:
    before = text[max(0, start - 6) : start].rstrip(" \"'(“\u2018*_")
    return not before or not (before[-1].isalnum() or before[-1] in _MIDDLE)


def _is_no_name(words: list[str], *, first: bool) -> bool:
    """Return whether the leading word of a run is an ordinary word with a capital."""
    folded, alone = words[0].casefold(), len(words) == 1
    if folded in CALENDAR or folded in _SPEAKER:
        return True
    if not first:
        return alone and folded in COMMON
    if folded in KNOWN or folded in KIN or (not alone and words[1].islower()):  # "Lord of the Rings"
        return False
    return folded in COMMON or (not alone and folded.endswith(("ing", "ed", "ly")))


def _is_number_after_nothing(words: list[str]) -> bool:
    """Return whether a number stands alone, or behind a person or the rest of a date: it belongs to none of them."""
    return words[-1][0].isdigit() and (len(words) == 1 or words[-2].casefold() in CALENDAR | FIRST_NAMES)


def _is_proven(text: str, end: int, name: str) -> bool:
    """Return whether a single first word of a sentence is a name all the same."""
    folded = name.casefold()
    if folded in KNOWN or any(char.isupper() or char.isdigit() for char in name[1:]):
        return True
    if folded in COMMON or folded in KIN or folded in HEAD_FORMS or folded.endswith(("ing", "ly")):
        return False
    if is_named_by(text, end) or text.startswith(_OWN_ENDS, end):
        return True
    again = place_of(text, name, end)
    return again >= 0 and not _is_sentence_start(text, again)


def _stands_alone(word: str) -> bool:
    """Return whether one word is enough of a name: "Mom" is not, and neither is "WOW" nor a single letter."""
    folded = word.casefold()
    if len(word) < 2 or folded in KIN or folded in COMMON:
        return False
    return not (word.isupper() and word.isalpha() and len(word) > _MAX_ACRONYM)


# --- the names in a text, found by rules ------------------------------------------------------------------------------


MAX_ASKED: Final = 8
_LOOKED_AT: Final = 20_000
"""Characters of a text that names are looked for in; with this many, the limit on names has long been reached."""

_ANY_WORD: Final = re.compile(r"[^\W_][\w+#'\u2019.-]*")
_EDGE: Final = re.compile(r"^(?:the|an?|my|our|your|his|her|their) (?=\S)|(?:['\u2019]s?|[ ,;:!?]|(?<=\w)\.)$")
_EDGES: Final = 16
"""So many determiners and marks around a name are taken off."""

_MAX_WORDS_ASKED: Final = 64
_FIRST_WORDS: Final = re.compile(rf"(?:^|[.!?:]\s+|\n)[\"'(\u201c]?(?P<word>[{_UPPER}][\w&-]+)")


class NamedText(NamedTuple):
    """A text, the names in the order in which they stand there, and its words."""

    text: str
    names: list[NameSpan]
    words: set[str]


def normalize_name(name: str) -> str:
    """Return the normal form of a name: one case and form of letters, single blanks, no determiner or possessive."""
    folded = normal_text(name)
    for _ in range(_EDGES):
        bare = _EDGE.sub("", folded).strip()
        if not bare or bare == folded:
            break
        folded = bare
    return folded


def find_names(text: str) -> NamedText:
    """Return the names of a text, each as often as it is there."""
    text = text[:_LOOKED_AT]
    words = words_of(text)
    found = marked_names(text)
    rest = _mask_names(text, found) if found else text
    found += capital_names(rest)
    found += [one for one in small_names(rest, words) if not _is_inside(one, found)]
    names = sorted(one for one in found if one.name) if len(found) > 1 else [one for one in found if one.name]
    return NamedText(text, names, words)


def _is_inside(one: NameSpan, others: list[NameSpan]) -> bool:
    return any(other.start <= one.start < other.end for other in others)


def _mask_names(text: str, taken: list[NameSpan]) -> str:
    """Return the text with other letters in place of the names found already, so that they are not found twice."""
    for one in taken:
        text = f"{text[: one.start]}{'x' * (one.end - one.start)}{text[one.end :]}"
    return text


def entities_from_spotted(spotted: list[NameSpan]) -> list[Entity]:
    """Return each of these names once; where its type is told in one place, it holds for all."""
    by_norm: dict[str, Entity] = {}
    for one in spotted:
        form = normalize_name(one.name)
        known = by_norm.get(form)
        if known is not None:
            if known.type == EntityType.CONCEPT != one.type:
                by_norm[form] = Entity(known.name, form, one.type)
        elif form and len(by_norm) < MAX_FOUND:
            by_norm[form] = Entity(one.name, form, one.type)
    return list(by_norm.values())


def possible_forms(reading: NamedText) -> tuple[str, ...]:
    """Return the normal forms of first words of sentences that are no names by their looks, but may be known ones."""
    found: dict[str, None] = {}
    for match in _FIRST_WORDS.finditer(reading.text):
        word = match["word"]
        folded = word.casefold()
        if folded not in _NEVER and folded not in HEAD_FORMS and _stands_alone(word) and len(found) < MAX_FOUND:
            found.setdefault(normalize_name(word))
    named = {normalize_name(one.name) for one in reading.names}
    return tuple(form for form in found if form not in named)


def query_entities(text: str) -> list[Entity]:
    """Return what a question names, at most eight."""
    return entities_from_spotted(find_names(text).names)[:MAX_ASKED]


def query_forms(text: str) -> dict[str, float]:
    """Return the normal forms by which known entities may be meant in a question, and how surely.

    A question in small letters names nobody by its looks, so single words and pairs count as well: what decides is
    whether an entity of exactly that form is known. Part of a longer name counts for half.
    """
    forms = dict.fromkeys((one.norm for one in query_entities(text)), 1.0)
    words = [normalize_name(word) for word in _ANY_WORD.findall(text[:_LOOKED_AT])[:_MAX_WORDS_ASKED]]
    for one in [*words, *map(" ".join, pairwise(words))]:
        if len(forms) == MAX_FOUND:
            break
        if len(one) > 1 and one not in COMMON and one not in forms:
            part = any(f" {one} " in f" {form} " for form in forms)
            forms[one] = 0.5 if part else 1.0
    return forms


# --- a question about somebody, put as that one would have said it ----------------------------------------------------


_WORDS_TOO: Final = STOP_WORDS | frozenset(
    """may mark bill rose hope grace faith joy drew chase art grant rich frank summer autumn dawn april june august
    page lane guy miles penny skip sky ginger pepper olive basil rosemary crystal sandy sunny brook cliff""".split()
)
"""Names that are words of many questions: somebody is meant where they have a capital and do not begin a sentence."""


_PUT_IN: Final = frozenset({"i", "my"})


def rephrase_as_speaker(query: str, speakers: Collection[str]) -> SpeakerQuestion:
    """Return a question in the words of the speakers it names; ``speakers`` are known names in lower case."""
    lowered = query.lower()
    named = tuple(
        sorted((name for name in speakers if name in lowered and _speaker_pattern(name).search(query)), key=len)
    )
    if not named:
        return NOBODY
    text = query
    for name in reversed(named):  # the longest first: "Mary Ann" before "Mary"
        text = _speaker_pattern(name).sub(lambda match: "my" if match["of"] else "I", text)
    return SpeakerQuestion(named, text, _PUT_IN)


def _speaker_pattern(name: str) -> re.Pattern[str]:
    of = "(?P<of>['\u2019]s)?(?!\\w)"
    if name in _WORDS_TOO:
        return re.compile(f"(?<!\\w)(?:(?<=[\\w,;:] )|(?=\\w+['\u2019]s)){name.capitalize()}{of}")
    return re.compile(f"(?<!\\w){re.escape(name)}{of}", re.IGNORECASE)
