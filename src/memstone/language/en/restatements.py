"""Find what an assistant says about the user, and decisions that both agreed on.

An assistant says "you" all day: in advice, in examples, in praise. Only what it repeats of the user's own words, plain
statements of taste and life, and decisions named as agreed are taken; the rest is its own and nobody's memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from memstone.language.en.fact_text import strip_filler
from memstone.language.en.own_prose import is_english, own_sentences
from memstone.language.en.sentences import expand_contractions, is_question
from memstone.model.fact import RestatedSentence

_ACKNOWLEDGED: Final = re.compile(
    r"^(?:(?:understood|noted|got it|i see|certainly|wonderful|excellent|good to know|i have (?:saved|stored|noted|updated) (?:it|that|this))"
    r"\s*[,.:;!-]*\s*)+",
    re.IGNORECASE,
)
_REPORTED: Final = re.compile(
    r"^(?:(?:as |like )?you (?:have |had )?(?:also |already |just )?(?:said|told me|mentioned|shared|noted|explained)"
    r"(?: earlier| before| that| to me)*,? "
    r"|i (?:will |have |now |also )*(?:remember|remembered|recall|know|noted|note|understand|saved|keep in mind)(?: now)?(?: that)? "
    r"|(?:remember|noted|saved)[,:]? (?:that )?)(?=your?\b(?! \w+ing\b))",
    re.IGNORECASE,
)
_OFTEN: Final = r"(?:(?:really|also|still|usually|always|never|often|mostly|mainly|currently|now|do not|no longer) )*"
_LIFE: Final = (
    r"vegan|vegetarian|pescatarian|allergic|intolerant|lactose intolerant|diabetic|married|single|divorced|engaged|retired|"
    r"pregnant|left-handed|right-handed|from|based in|living in|working (?:at|for|as)|studying"
)
_STATED: Final = re.compile(
    rf"^you {_OFTEN}(?:like|love|prefer|enjoy|hate|dislike|avoid|live|work (?:at|for|as|in)|study|speak|chose|decided|picked"
    rf"|selected|went with|grew up|were born|(?:are|were) {_OFTEN}(?:{_LIFE}))\b"
    r"|^your (?:(?:full|first|last|middle) )?(?:name|nickname|pronouns|birthday|anniversary|hometown|employer|native language"
    r"|time ?zone|favou?rite [\w ]{2,30}?|wife|husband|partner|sister|brother|mother|father|mum|mom|dad|son|daughter|cat|dog)"
    r"(?:'s name)? (?:is|are)\b",
    re.IGNORECASE,
)
_AGREED: Final = re.compile(
    r"^(?:as (?:we )?(?:agreed|decided|discussed),? )?we (?:have |both |then |finally )*"
    r"(?P<how>agreed|decided|settled|chose|chosen|picked|opted|will|are going to) ",
    re.IGNORECASE,
)
_NAMED: Final = re.compile(r"^as (?:we )?(?:agreed|decided|discussed),? ", re.IGNORECASE)
_ADVICE: Final = re.compile(
    r"\b(?:if|unless|when|whenever|should|could|might|may|can|would|must|have to|need to|try|maybe|perhaps|probably|likely|"
    r"seems?|sounds?|looks? like|apparently|assuming|imagine|suppose|for example|for instance|e\.g|such as|let us|not yet)\b",
    re.IGNORECASE,
)
_OWN: Final = re.compile(r"\b(?:i|me|my|mine|we|us|our)\b", re.IGNORECASE)
_POINTS: Final = re.compile(r"\b(?:it|this|that|these|those|them|so|here|one)$", re.IGNORECASE)
_SWAPS: Final = (
    (re.compile(r"\byou are\b", re.IGNORECASE), "I am"),
    (re.compile(r"\byou were\b", re.IGNORECASE), "I was"),
    (re.compile(r"\b(to|for|with|from|of|at|by|about|on|gives?|makes?|helps?|suits?) you\b", re.IGNORECASE), r"\1 me"),
    (re.compile(r"\byou\b", re.IGNORECASE), "I"),
    (re.compile(r"\byours\b", re.IGNORECASE), "mine"),
    (re.compile(r"\byourself\b", re.IGNORECASE), "myself"),
    (re.compile(r"\byour\b", re.IGNORECASE), "my"),
)


def extract_restatements(message: str) -> list[RestatedSentence]:
    """Return the sentences of an assistant's message that tell something of the user, or what was agreed with them."""
    return list(_find_restatements(message)) if is_english(message) else []


def _find_restatements(message: str) -> Iterator[RestatedSentence]:
    for sentence in own_sentences(message):
        if is_question(sentence.text):
            continue
        text = " ".join(expand_contractions(sentence.text).split())
        text = _ACKNOWLEDGED.sub("", strip_filler(text)).rstrip(" .!")
        agreed = _extract_agreement(text)
        answer_text = agreed or _about_user(text)
        if answer_text:
            yield RestatedSentence(
                f"{answer_text[:1].upper()}{answer_text[1:]}.", sentence.start, sentence.end, bool(agreed)
            )


def _extract_agreement(text: str) -> str:
    """Return a decision that is called one: "We agreed on X", "As agreed, we will do X".

    "We will do X" alone is a proposal.
    """
    found = _AGREED.match(text)
    if found is None or _ADVICE.search(text):
        return ""
    named = _NAMED.sub("", text)
    if found["how"].lower() in ("will", "are going to"):
        return named if named != text else ""
    return re.sub(r"\bagreed\b", "decided", named, count=1)


def _about_user(text: str) -> str:
    rest = _REPORTED.sub("", text)
    is_reported = rest != text
    if not re.match(r"your?\b", rest, re.IGNORECASE) or _OWN.search(rest) or _POINTS.search(rest):
        return ""
    if _ADVICE.search(rest) or not (is_reported or _STATED.match(rest)):
        return ""
    for pattern, own in _SWAPS:
        rest = pattern.sub(own, rest)
    return rest
