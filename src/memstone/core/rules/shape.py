"""The shape of a sentence: clauses apart, openings moved behind, comments behind a fact cut off."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from memstone.core.rules.definite import definite_part
from memstone.core.rules.material import Span
from memstone.core.rules.verbs import finite_at

_SELF: Final = r"(?:i|im|i'm|i’m|i've|i’ve|i'll|i'd|we|we're|we’re|we've|we'll|my|our)\b"
_SPLIT: Final = re.compile(
    r"(?=[,;:.…\s–—-])(?:"  # where any of these begins: a test that spares most letters the rest
    rf"(?:,|;|\s[-–—]|\.\.\.|…)?\s{{1,3}}(?:and|but|so|plus|yet)(?: (?:then|now|also|that is why))? (?={_SELF}(?!,| and\b))"
    rf"|(?:,|;|:|\s?[-–—]{{1,3}}|\.\.\.|…)\s{{1,3}}(?:(?:now|then|also|in practice|luckily|sadly|these days|but now|so now) )?(?={_SELF}(?!,| and\b))"
    r"|;\s+"
    r"|(?:,|\s[-–—])?\s(?:(?:so|and|then|but)\s)?(?=(?:any (?:ideas?|tips?|good|chance)|what|how|could (?:you|i)|can (?:you|i)|should i|would (?:you|that)|do (?:you|i)|does|is (?:it|there|that)|where|which|why|got any|want to see)\b[^,]{0,200}\?\s{0,3}$)"
    r"|,?\s(?:so\s|and\s|but\s)(?=(?:please|skip|use|help|suggest|recommend|give me|tell me|do not|don't|bear with|no charts)\b)"
    r"|,\s(?=(?:please|skip the|suggest|recommend|give me|tell me|help me|help us|write me|make me|find me|show me|call me|send help|wish me|bear with|hang on)\b)"
    r"|,?\s(?:but|and|though|although)\s(?=(?:everyone|everybody|(?:most |all )?people|(?:all )?(?:my )?friends|my family|most)\s(?:just )?calls? me\b)"
    r"|(?:,|;|\s[-–—]|\sand|\sbut)\s(?=(?:he|she)(?:'s|’s| is| was| has| works| lives| likes| loves| plays| goes| wants| just| started| moved| got)\b))",
    re.IGNORECASE,
)
_SUBORDINATE: Final = re.compile(
    r"^(?:if|when|since|because|although|though|while|after|before|as|until|unless|whenever|once|even though|now that)\b",
    re.IGNORECASE,
)


def clauses(sentence: Span) -> Iterator[Span]:
    """A compound sentence as its parts, where each part has a subject of its own."""
    begin = 0
    text = sentence.text
    if len(text) < 12:
        yield sentence
        return
    for cut in _SPLIT.finditer(text):
        piece = text[begin : cut.start()]
        if _stands_alone(piece) and not _is_listed(text[cut.end() : cut.end() + _AHEAD]):
            yield part(sentence, begin, cut.start())
            begin = cut.end()
    yield part(sentence, begin, len(text))


_AHEAD: Final = 200
"""So many letters are enough to find a verb in."""


def _is_listed(rest: str) -> bool:
    """Whether what follows is one more thing and no clause: "my contacts and my knack for numbers"."""
    words = rest.split()
    return bool(words) and words[0].lower() in ("my", "our") and ":" not in rest and finite_at(words) < 1


_OPENING_WORDS: Final = 7
_ADVERBIAL: Final = re.compile(
    r"^(?:(?:just|and|so|but|oh|yeah|well|also),? )*(?:(?:every|each|on|in|at|for|during|last|next|this|over|around|back in|by|besides|with)\b(?!.*\b(?:is|was|are|were|has|had)\b)|(?:yesterday|today|tomorrow|tonight|nowadays|lately|recently|these days)$|[\w ]{3,30} ago$)",
    re.IGNORECASE,
)


def _stands_alone(piece: str) -> bool:
    """Whether what stands before a possible cut is a clause: not a condition, and not half of "my wife and I"."""
    words = piece.split()
    if (
        not words
        or _SUBORDINATE.match(piece)
        or (len(words) <= _OPENING_WORDS and ":" not in piece and _ADVERBIAL.match(piece))
    ):
        return False
    if words[0].lower() in ("my", "our", "both"):
        return finite_at(words) > 0
    return len(words) >= 2 or words[0].endswith((",", "!"))


def part(sentence: Span, begin: int, end: int) -> Span:
    """A stretch of a sentence without the white space around it."""
    text = sentence.text[begin:end]
    bare = text.strip()
    start = sentence.start + begin + (len(text) - len(text.lstrip()) if bare else 0)
    return Span(bare, start, start + len(bare))


_OPENING: Final = re.compile(
    r"^(?P<opening>(?:(?:every|each|on|in|at|for|during|last|next|this|since|besides|after|before|back in|around|by|over|when it comes to|as an? \w+|when (?:i|we) (?:was|were))\b[^,;:!?]{1,60}?|yesterday|today|tomorrow|tonight|nowadays|lately|recently|these days|(?:\w+ ){1,2}(?:days?|weeks?|months?|years?|nights?) ago))"
    r"(?:,? (?=(?:i|we) )|, |(?<=week|onth|year|kend|ight|rday|days| ago|ning) (?=(?:my|our) ))(?P<rest>(?:i|we|my|our) (?!and\b|was a kid|were kids|last \w+ed\b).+)$",
    re.IGNORECASE,
)
_EMPTY_OPENING: Final = re.compile(
    r"^(?:on paper|in practice|for the record|at the moment|in the meantime|at least|in fact|for sure|at first|in general|after all|at this point|on top|for now|by the way|in other news|on the other hand|at the same time|on (?:another|an? \w+|a|that) note|since (?:i|we) (?:last )?(?:talked|chatted|spoke|met|caught up)|on the side|for me|to me|for us|with (?:that|this)|last time|in my opinion|these days|when it comes to .*|after a lot .*)$",
    re.IGNORECASE,
)


def opening_behind(said: str) -> str:
    """Such as "Every Monday, I run" as "I run every Monday"."""
    found = _OPENING.match(said)
    if not found:
        return said
    opening = found["opening"]
    rest = without_comment(found["rest"])
    rest = definite_part(rest) or rest
    if _EMPTY_OPENING.match(opening):
        return rest
    if re.search(
        r"\b(?:is|are|am|has|have|had|that|it|you|i|we|they)\b",
        re.sub(r"^when (?:i|we) w\w+", "", opening),
        re.IGNORECASE,
    ):
        return said
    return f"{rest} {opening[0].lower()}{opening[1:].rstrip(',')}"


_VERBISH: Final = r"(?:is|are|was|were|has|have|had|felt|feels?|makes?|made|gives?|gave|brings?|brought|turned|helps?|helped|keeps?|kept|reminds?|reminded|really|looks?|looked|means?|meant|would|will|can|could|sounds?|seems?|seemed|went|goes|works?|worked|takes?|took|got|gets|did|does|do|just|all|always|never|inspired|inspires|lets?|might|should|started|came|comes|sure|also|still|definitely|might|need|needs)"
_COMMENT: Final = re.compile(
    rf"(?: -+ ?|- |, |; |\.\.\. ?|… ?| and | but | so | because | since | as |, and |, but |, so |, because )(?:(?:and|but|so|because|since|as|now|man|wow|honestly|i guess) )?(?:it|that|this|they|these|those|there|everyone|nobody|everything|people|life|things|somehow \w+|shops) {_VERBISH}\b.*$"
    r"|(?: -+ ?|- |, |; ?| )(?:and |but )?the (?:\w+ ){1,2}(?:is|are|was|were|has been|have been) (?:so |really |super |pretty |just )*(?:wild|crazy|amazing|awesome|great|good|incredible|stunning|unreal|insane|tough|intense|fun|nice|lovely|breathtaking|adorable|cute|sweet|delicious|tasty|beautiful|gorgeous)$"
    r"| which (?:is|was|were|are|has been) (?:not )?(?:so |really |super |pretty |just )*(?:wild|crazy|amazing|awesome|great|good|incredible|tough|intense|fun|nice|lovely)$"
    r"|(?: -+ ?|- |, |; ?|\.\.\. ?|… ?)(?:which|what a|so|such a|come|you dropped|a (?:great|good|nice|fun|real|huge|total|constant|perfect|wonderful)|how|not sure|but not sure|no idea|just|hopefully|thanks to|glad|happy|looking forward|can not wait|especially when|even though|even if|you know|right|huh|the whole|in case|strict|pretty|super|totally|absolutely|always|definitely) .*$"
    r"|(?: -+ | and |, )(?:the|my|our|their) \w+(?: and \w+)? (?:is|are|was|were) (?:so |really |super |just |very |all |pretty )*(?:awesome|great|amazing|cool|fun|gripping|nice|good|incredible|wonderful|lovely|fantastic|kind|friendly|perfect|beautiful|excited|happy)\b.*$"
    r"| that (?:was|is) (?:awesome|amazing|great|so \w+|really \w+)$"
    r"| (?:and|but) (?:(?:really |just |always |also )?(?:had|have|having) (?:a|an|so|such|tons|loads)\b.*|(?:loved|enjoyed|am loving|was blown away|felt|feel|feeling|it)\b.*|love (?:it|that|this|them|the|how|every|being|my|our)\b.*)$",
    re.IGNORECASE,
)
_REACTION: Final = re.compile(
    r"(?:,| -+|;|\.\.\.|…) ?(?:(?:can|wait|stoked|pumped|thrilled|hyped|so|super|really|very|pretty|such|a|an|the|it|was|is|too|how|what|good|great|amazing|awesome|cool|fun|exciting|excited|frustrating|nice|lovely|crazy|wild|proud|sad|sadly|happy|glad|phew|blast|relief|to|know|believe|luckily|fortunately|unfortunately|hilarious|insane|wonderful|incredible|beautiful|best|ever|tough|hard|rough|stressful|scary|not|gonna|lie|haha|lol|though|you|right|huh|yay|finally|for|sure|of|course|all|good|odd|weird|feels|luck|i|am|safe|idea|no|why|and|but|guess|honestly|tbh|actually|btw|also|again|man|dude|every|single|time|wow)(?: |$))+$",
    re.IGNORECASE,
)
_ASIDE: Final = re.compile(
    r",? (?:by the way|btw|fyi|for the record|sadly|unfortunately|luckily|fortunately|haha|lol|lmao|ugh|omg|smh|as you know|you know|i guess|though|too|actually|of course|to be honest|tbh|honestly|right now|at the moment|so far|as well|personally|this time(?: around)?|as you can see|:\)|:d|xd)$",
    re.IGNORECASE,
)
_SINCE_TALK: Final = re.compile(
    r",? too(?= (?:when|since|because|while)\b)|,? (?:but|and) (?:since|after) (?:we|i) (?:last )?(?:talked|chatted|spoke|caught up)\b.*$|,? (?:since|after) (?:we|i) (?:last )?(?:talked|chatted|spoke|caught up)(?: last| to you)?|,?(?: and,?)? like i said.*$|,? since our last (?:chat|talk|conversation)|,? (?:come see|if you will|if you know what i mean|in case .*)$",
    re.IGNORECASE,
)
_AROUND: Final = " .!…,;:-~*"
_ASIDES: Final = 12
_PICTURES: Final = re.compile(r"(?:\s{0,3}[\u2600-\u27bf\ufe0f\u200d\U0001f000-\U0001faff]){1,20}$")


def without_comment(said: str) -> str:
    """The clause without what is only said about it: "I went camping - it was a blast"."""
    short = without_asides(_SINCE_TALK.sub("", said))
    found = _COMMENT.search(short)
    if found and len(short[: found.start()].split()) >= 3:
        short = short[: found.start()].rstrip(_AROUND)
    found = _REACTION.search(short)
    if found and len(short[: found.start()].split()) >= 3:
        short = short[: found.start()].rstrip(_AROUND)
    return without_asides(short)


@lru_cache(maxsize=256)
def without_asides(said: str) -> str:
    """The clause without "by the way" and the like at its end."""
    for _ in range(_ASIDES):
        shorter = _ASIDE.sub("", _PICTURES.sub("", said.rstrip(_AROUND))).rstrip(_AROUND)
        if shorter == said:
            break
        said = shorter
    return said
