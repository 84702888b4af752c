"""Words that say how a statement is meant: as a plan or a wish, for a while, beside something, from now on. Data only."""

from __future__ import annotations

import re
from typing import Final

from retain.core.clues import clued

PLAN: Final = clued(
    r"\b(?:plan(?:s|ning|ned)? (?:to|on|for|an?)|going to|intend\w* to|hop(?:e|es|ing) to|want(?:s)? to (?!be (?:called|addressed|known)|use|have answers)|would (?:like|love) to|"
    r"thinking (?:of|about)|considering|looking forward to|will be|aim(?:s|ing)? to)\b"
)
WISH: Final = clued(
    r"\b(?:appl(?:y|ied|ying) (?:for|to|at)|interview(?:ed|ing)?|consider(?:s|ed|ing)?|thinking (?:of|about)|might|maybe|perhaps|plan(?:s|ning)? (?:to|on)|hop(?:e|es|ing) to|want(?:s)? (?:to (?!be (?:called|addressed|known)|use|have answers)|an? )|would (?:like|love)|dream(?:s|ing)? of|test(?:ed|ing)|trial|looking at)\b"
)
"""Words of what may be one day, or was only tried: it is not so yet."""

SO_FAR: Final = re.compile(
    r"\b(?:have|has) (?:now )?(?:been|had|lived|worked|used)\b[^,.;]*? for (?:an?|one|two|three|a few|a couple of) (?:days?|weeks?|months?|nights?)\b"
)
"""How long something has lasted says nothing of when it ends."""

TEMPORARY: Final = clued(
    r"\b(?:(?:this|next) (?:\w+ )?only|only this|just (?:this|for (?:today|now|tonight))|until (?:the |next |this )?(?:\d|mon|tues|wednes|thurs|fri|satur|sun|tomorrow|week|end)|for the (?:holidays?|weekend|week|night|summer|day|moment|conference)"
    r"|for (?:an?|one|two|three|a few|a couple of) (?:days?|weeks?|nights?|months?)\b(?! (?:now|already))|(?:two|three|few|couple of) (?:days|weeks) in|temporar\w+|rental|borrow(?:ed|ing)?|lent me|visiting|on a visit|down with|house-?sitting"
    r"|looking after|dog-?sitting|cat-?sitting|stand(?:ing)? in for|filling in|covering for|on (?:vacation|holiday|a business trip)|for now|tonight)\b"
)
"""Words of something that will pass: it replaces nothing that lasts."""

ADDITIONAL: Final = clued(
    r"\b(?:also|as well|too|besides|on top|in addition|additionally|apart from|alongside|on the side|alongside)\b(?! (?:slow|much|expensive|dear|costly|heavy|cold|old|loud|far|hard|many|crowded|boring|stressful|noisy|pricey|complicated|late|early|big|small))"
)
TURNED: Final = clued(
    r"\b(?:now|nowadays|these days|from (?:now|today|here) on|instead|from today|by now|henceforth)\b"
)
ONCE: Final = clued(
    r"\b(?:today|yesterday|tomorrow|this (?:morning|afternoon|evening|one time|once)|last night|tonight|(?:on|over) the weekend)\b"
)
"""Words of something that happens on one day."""

FEELING: Final = clued(r"\b(?:likes?|loves?|enjoys?|hates?|dislikes?|fan of|fond of|adores?)\b")
