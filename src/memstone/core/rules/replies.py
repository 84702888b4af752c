"""A few words in answer to a question: whether they are one, and whether they say no more than yes or no."""

from __future__ import annotations

import re
from typing import Final

from memstone.core.rules.plain import plain
from memstone.core.rules.sift import is_unreal
from memstone.core.text.lexicon import NEGATIONS

MOST_WORDS: Final = 10
MOST_CHARS: Final = 90
EDGES: Final = " \t.!,;:~…*_\"'"
_TRAILING: Final = re.compile(
    r"(?:[,.!]? (?:thanks|thank you|thx|please|actually|of course|btw|by the way|at the moment|right now|currently|now)){1,6}$",
    re.IGNORECASE,
)
_NOT_WORDS: Final = re.compile(
    r"[^\w\s.,!'’:;&+#/()%°-]|\w_\w|://|@\w|\w\(\)|^[-\d\s.,]{12,}$|[a-z]\.(?:py|js|ts|go|md|txt|json)\b"
)
"""What people do not say: code, addresses, long numbers, pictures."""

_EVADED: Final = re.compile(
    r"\b(?:(?:not|never) (?:sure|telling|saying|really|important|relevant|now|yet|today|certain|decided)|no (?:idea|clue|comment|preference|thanks?|way|problem|matter|need)"
    r"|(?:do|can|will|would|could|should|did|am|is|are|was|have|has) not|know|dunno|idk|depends|depending|think|guess|guessing|bet|assume|suppose|believe|probably|maybe|perhaps|possibly|might|approximately|roughly|almost|nearly|around|about"
    r"|rather|private|personal|secret|confidential|none|nothing|nobody|nowhere|neither|either|whatever|whichever|whenever|anything|anywhere|any|both|all|everything|everyone|everywhere|something|somewhere|some|same|sometimes|it varies|varies|mixed"
    r"|kidding|joking|haha+|lol|lmao|jk|skip|pass|^next$|later|stop|cancel|wait|hold on|sorry|thanks|hello|hi|why|what|who|where|when|how|which|you|your|yours"
    r"|used to|wish|if|unless|forget|ignore|option|answer|question|this|that|these|those|here|there|one of|the (?:first|second|third|last|former|latter|other|top|bottom)"
    r"|n/?a|unknown|tbd|todo|null|undefined|true|false|continue|go (?:on|ahead)|come on|let us|try|again)\b",
    re.IGNORECASE,
)
"""Who says so does not answer, or answers something else."""

_YES: Final = re.compile(
    r"(?:(?:oh|ah|well|why|um)[, ]+)?(?:yes|yeah|yea|yep|yup|ya|yess+|indeed|correct|exactly|right|absolutely|definitely|certainly|of course|i do|i am|i have|i did|i was|i can|it is|that is (?:right|correct|true)|you (?:are right|got it))"
    r"(?:[,.!]* (?:i do|i am|i have|i did|i was|i can|it is|he is|she is|we do|we are|that is (?:right|correct|true)|of course|indeed|correct|exactly|definitely|absolutely|sure|very much(?: so)?|a lot|for sure|still|always))*",
    re.IGNORECASE,
)
_NO: Final = re.compile(r"(?:no|nope|nah)(?:[,.!]* (?:i (?:do|am) not|not any ?more|no longer))?", re.IGNORECASE)
_NO_LONGER: Final = re.compile(
    r"(?:(?:no|nope|nah|well)[,.!]* )?(?:i (?:do|am) )?(?:not any ?(?:more|longer)|no longer|i (?:quit|stopped|gave (?:it|that) up)(?: (?:last|a|two|some|in|this|years|months) ?[\w ]{0,20})?)",
    re.IGNORECASE,
)
_YES_AND: Final = re.compile(r"^(?:yes|yeah|yep|yup)[,.!:]* (?:i (?:do|am|have)[,.!:]* )?", re.IGNORECASE)
_POINTS_OUT: Final = re.compile(
    r"^(?:(?:oh|well|ah|um|uh|hm+|ok|okay|so)[, ]+)*(?:(?:it|he|she|they|that|this|those|these) (?:is|are|would be|was)(?: called| named)? |(?:his|her|its|their|the|my) names? (?:is|are) |(?:i am|we are)(?: called| named)? |called |named |(?:just|mostly|mainly|usually|only|still|currently|originally|definitely) )*",
    re.IGNORECASE,
)


_SIGNS: Final = re.compile(r"(?:\A|(?<=[\w+#)%°]))[^\w+#)%°]++\Z")
"""What ends a message and says nothing: marks, and pictures of moods."""


def told(reply: str) -> str:
    """A reply in plain words, without what stands around it; '' for one that is too long, asks back or evades."""
    text = _SIGNS.sub("", reply.strip())
    if not text or len(text) > MOST_CHARS or "\n" in text or "?" in text or len(text.split()) > MOST_WORDS:
        return ""
    said = " ".join(plain(text).split())
    if said.startswith(('"', "`", "/", "$", "#", "<", "*")) or _NOT_WORDS.search(said):
        return ""
    return _TRAILING.sub("", said.strip(EDGES)).strip(EDGES)


def may_answer(reply: str) -> bool:
    """Whether a message is so short that it may answer a question, and evades none."""
    said = told(reply)
    return bool(said) and (affirms(said) or denies(said) or ends(said) or bool(bare(said, or_yes=True)))


def affirms(said: str) -> bool:
    """Whether a plain reply is a yes and no more."""
    return _YES.fullmatch(said) is not None


def denies(said: str) -> bool:
    """Whether a plain reply is a no and no more."""
    return _NO.fullmatch(said) is not None


def ends(said: str) -> bool:
    """Whether a plain reply says that something was so, and is no longer."""
    return _NO_LONGER.fullmatch(said) is not None


def bare(said: str, *, or_yes: bool = False) -> str:
    """A plain reply without "it is" and the like; '' where it evades, or is a yes or a no alone."""
    if or_yes:
        said = _YES_AND.sub("", said, count=1)
    if affirms(said) or denies(said) or _EVADED.search(said) or is_unreal(said) or re.search(r"[.!;:] \w", said):
        return ""
    value = _POINTS_OUT.sub("", said, count=1).strip(EDGES)
    words = {word.lower().strip(",") for word in value.split()}
    return "" if words & NEGATIONS or not value else value
