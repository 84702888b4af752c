"""A statement in the words by which it is compared: what it is about, how it is meant, and in which order."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from memstone.core.rules.plain import plain
from memstone.core.rules.quantities import NUMERALS, spelled_digits
from memstone.core.rules.stance import polarity_of
from memstone.core.rules.verbs import lemma
from memstone.core.text.amendment import SAID_ON
from memstone.core.text.stem import stem

_FRAME: Final = re.compile(
    r'^(?:(?:Asked|In reply to) "(?P<question>[^"]*)", )?\S+(?: \S+)? (?:said|asked)(?: on [\d-]+)?: "(?P<said>.*)"\.?$',
    re.DOTALL,
)
_TOKEN: Final = re.compile(r"[^\W_]+(?:[.,:'’&/-][^\W_]+)*[+#]*", re.UNICODE)
_SMALL: Final = frozenset(
    """a an the this that these those i me my mine myself we us our ours you your yours he him his she her hers it its they them
    their theirs themselves himself herself itself user users and or but so if then than as at by for from in into of off on
    onto to up with about also am are is be been being was were do does did has have had will would can could just really
    very quite actually basically honestly definitely yes yeah ok okay well oh please thanks lol haha btw tbh ngl there here
    who whom whose which what when where why how s t m re ve ll d too some any said asked know called named mind note still""".split()
)
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
_MEANT: Final = {
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
    said: str
    """Its plain words in small letters, without a frame such as ``User said``."""

    words: tuple[str, ...]
    meant: frozenset[str]
    polarity: int
    owner: str
    """Whom it begins with: the user, somebody of theirs, or somebody by name."""

    @property
    def bag(self) -> frozenset[str]:
        """Its words in no order."""
        return frozenset(self.words)


@lru_cache(maxsize=8192)
def understand(text: str) -> Statement:
    """A text as it is compared."""
    found = _FRAME.match(SAID_ON.sub("", text).strip())
    bare = f"{found['question'] or ''} {found['said']}" if found else SAID_ON.sub("", text)
    said = _GOT.sub(r"\1", spelled_digits(plain(bare).lower()))
    words = [_normal(one[0]) for one in _TOKEN.finditer(said)]
    return Statement(
        text,
        " ".join(said.split()),
        tuple(filter(None, words)),
        frozenset(name for name, pattern in _MEANT.items() if pattern.search(said)),
        polarity_of(said),
        _owner(said),
    )


_OWNER: Final = re.compile(r"(?:(?P<own>i|we|user)\b(?!')|(?:my|our|user's) (?P<theirs>[\w-]+)|(?P<name>\S+))")


def _owner(said: str) -> str:
    found = _OWNER.match(said.strip())
    if found is None or found["own"]:
        return "user"
    return f"user's {found['theirs']}" if found["theirs"] else found["name"].strip(".,!?")


@lru_cache(maxsize=16384)
def _normal(written: str) -> str:
    word = written.removesuffix("'s").removesuffix("’s")
    if word in _SMALL:
        return ""
    if word in _LIKING or (word in NUMERALS and word != "one"):
        return _LIKING.get(word) or NUMERALS[word]
    if any(letter.isdigit() or letter in "+#" for letter in word):
        return word
    return stem(lemma(word))


def bare_words(text: str) -> frozenset[str]:
    """The words by which a text is compared, in no order."""
    return understand(text).bag
