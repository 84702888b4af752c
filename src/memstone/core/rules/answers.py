"""A short answer to the assistant's question, as the statement that both make: in the user's own first person.

"What's your dog's name?" and "Rex." are "My dog's name is Rex.", which then is read like anything else the user says.
Only questions about the user count, and only what lasts: who offers something, plays a role, sets a quiz or works on a
task asks about nothing that is worth knowing tomorrow. Where a question or an answer leaves a doubt, nothing is stated.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from memstone.core.rules.claims import chosen, confirmed
from memstone.core.rules.material import is_english, own_sentences
from memstone.core.rules.plain import plain
from memstone.core.rules.pretence import LAUGHTER, SARCASM
from memstone.core.rules.questions import stated
from memstone.core.rules.replies import told
from memstone.core.rules.sift import without_fillers

_LAST_WORDS: Final = 600
"""A question that is answered stands at the end of what was said."""

_PLAYED: Final = re.compile(
    r"\b(?:role-?play\w*|quiz\w*|trivia|riddles?|characters?|pretend\w*|imagine|imaginary|fiction\w*|once upon|dungeon|quest|adventurer|traveller|traveler|wizard|tavern|kingdom|galaxy|spaceship|starship"
    r"|(?:in|of) (?:the|this|our|your|my) (?:story|game|novel|scene|script|simulation|scenario|interview|dialogue|sketch)|mock interview|practi[sc]e (?:interview|conversation|dialogue)|language practice|conversation practice"
    r"|20 questions|twenty questions|would you rather|truth or dare|two truths|act as|acting as|persona|your hero|the hero|protagonist|for (?:example|instance|practice)|sample (?:answer|dialogue)|placeholder|fake (?:data|name|profile)|dummy data|test data|template"
    r"|let us play|let's play|flash ?cards?|security question|repeat after me|translate|in (?:spanish|french|german|italian|japanese|chinese))\b|(?<!\*)\*(?!\*)[a-z][^*\n]{12,}(?<!\*)\*(?!\*)",
    re.IGNORECASE,
)
"""What is asked and answered in a game, a lesson or a form is true of nobody."""

_LEADS: Final = re.compile(
    r"^(?:(?:(?:and|so|but|then|also|ok|okay|great|nice|lovely|cool|wonderful|perfect|sure|alright|hey|hi|hello|oh|well|now|first|lastly|finally|quick question|one more (?:thing|question)|just (?:curious|wondering|to be sure|checking)|out of (?:pure )?curiosity|by the way|btw|speaking of which|in that case|tell me|may i ask|can i ask|if i may ask|if you do not mind(?: me asking)?|before (?:we|i) [^,:?]{3,60}|to [a-z]+ [^,:?]{3,60}|(?:so|in order) (?:that )?i can [^,:?]{3,60})(?:[,:;!.-]+| -) *|(?:and|so|but|then|also|may i ask|can i ask) )|(?:can|could|may|would) (?:you|i) (?:please )?(?:tell me|ask|know):? )*",
    re.IGNORECASE,
)
_TAILS: Final = re.compile(
    r"(?:,? (?:by the way|btw|if i may ask|if you do not mind(?: me asking| my asking| sharing)?|may i ask|if (?:any|you have (?:any|one))|then|now|though|exactly|again|currently|nowadays|these days|at the moment|right now|out of curiosity|anyway|today)){1,6}$",
    re.IGNORECASE,
)
_QUOTES: Final = " \t\n*_~)\"'”’»"
_BEHIND_WORDS: Final = re.compile(r"(?:\A|(?<=[^\W_]))[\W_]*+\Z")


def is_played(texts: Iterable[str]) -> bool:
    """Whether a talk is a game, a lesson or a story, as far as its last words tell."""
    return any(_PLAYED.search(one[-_LAST_WORDS:]) for one in texts)


def answered(asked: str, reply: str) -> str:
    """The statement a reply makes of the question an assistant's message ends with; '' where it makes none."""
    said = told(reply)
    if not said or SARCASM.search(reply) or LAUGHTER.search(reply):
        return ""
    question = _question(asked)
    if not question:
        return ""
    return stated(question, said) or confirmed(question, said) or chosen(question, said)


def _question(asked: str) -> str:
    """The plain question at the end of a message, without what leads to it; '' where it does not end with just one."""
    end = asked.rstrip()[-_LAST_WORDS:]
    if "?" not in end or not _cut_mark(end)[1] or not is_english(end) or _PLAYED.search(asked[-3 * _LAST_WORDS :]):
        return ""
    sentences = own_sentences(end)
    if not sentences or not _cut_mark(sentences[-1].text)[1] or end[sentences[-1].end :].strip(_QUOTES):
        return ""
    if len(sentences) > 1 and "?" in sentences[-2].text:  # which of the two is answered nobody can tell
        return ""
    text = _cut_mark(sentences[-1].text)[0].strip(_QUOTES)
    text = _SHORT_IS.sub(r"\1 is", " ".join(plain(text).split()))
    text = _TAILS.sub("", without_fillers(text))
    return "" if "?" in text else _LEADS.sub("", text, count=1)


def _cut_mark(text: str) -> tuple[str, str]:
    """Return what stands before the question mark that ends a text, and the mark; without one the mark is ''."""
    found = _BEHIND_WORDS.search(text)
    at = found.start() if found else len(text)
    before, mark, _ = text[at:].partition("?")
    return text[:at] + before, mark


_SHORT_IS: Final = re.compile(r"\b(when|which)'s\b", re.IGNORECASE)
