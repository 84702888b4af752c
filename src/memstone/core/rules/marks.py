"""Words that say how a statement is meant: as a plan or a wish, for a while, beside something, from now on. Data only."""

from __future__ import annotations

import re
from typing import Final

from memstone.core.text.clues import clued

PLAN: Final = clued(
    r"\b(?:plan(?:s|ning|ned)? (?:to|on|for|an?)|going to|intend\w* to|hop(?:e|es|ing) to|want(?:s)? to (?!be (?:called|addressed|known)|use|have answers)|would (?:like|love) to|"
    r"thinking (?:of|about)|considering|looking forward to|will be|aim(?:s|ing)? to)\b"
)
WISH: Final = clued(
    r"\b(?:appl(?:y|ied|ying) (?:for|to|at)|interview(?:ed|ing)?|consider(?:s|ed|ing)?|thinking (?:of|about)|might|maybe|perhaps|plan(?:s|ning)? (?:to|on)|hop(?:e|es|ing) to|want(?:s)? (?:to (?!be (?:called|addressed|known)|use|have answers)|an? )|would (?:like|love)|dream(?:s|ing)? of|test(?:ed|ing)|trial|looking at)\b"
)
"""Words of what may be one day, or was only tried: it is not so yet."""

_MONTH: Final = r"(?:january|february|march|april|may|june|july|august|september|october|november|december)"
_SOON: Final = (
    r"(?:tomorrow|soon|shortly|next (?:week|weekend|month|year|spring|summer|autumn|fall|winter|term|semester|season|\w+day|"
    + _MONTH
    + r")"
    r"|this (?:coming \w+|summer|autumn|fall|winter|spring)|later this \w+|(?:in|from|on|by|come) (?:early |mid |late |mid-)?(?:"
    + _MONTH
    + r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day)"
    r"|in (?:an?|one|two|three|four|five|six|\d+|a few|a couple of) (?:days?|weeks?|months?|years?))"
)
_GOES_ON: Final = r"(?:train|sav|prepar|study|practi[sc]|work|look|wait|hop|liv|writ|build|read|learn|plann|think|consider|us|do|be|feel|try|play|tak)ing"
"""What somebody is at already, though it is for something that comes later."""

AHEAD: Final = clued(
    r"\blet us (?:go|do|take|make|book|get|try|meet|start|use|stick)\b|\b(?:i|we|user|he|she|they) will (?!not\b|never\b|always\b|only\b|have to\b)[a-z]+|\babout to\b"
    rf"|\b(?:am|is|are) (?:\w+ly |also |now )?(?!{_GOES_ON})\w+ing\b[^.;!?]{{0,100}}\b{_SOON}\b"
    r"|\b(?:am|is|are) (?:\w+ly |also )?(?:moving|relocating|emigrating) (?:back )?to\b(?! (?:and|but)\b)"
    rf"|\b(?:i|we|user|he|she|they|job|role|position)(?: [^.;!?]{{1,30}}?)? (?:start|begin|join|move|leave|switch|change|retire|graduate)s? [^.;!?]{{0,100}}?{_SOON}\b"
    r"|\b(?:have|has|had|got|received|gotten|considering|weighing) (?:\w+ ){0,2}offers? (?:from|at|with)\b|\boffered (?:me|user|us|them) (?:an? |the )?(?:\w+ )?(?:job|position|role)\b"
)
"""Words of what is not so yet: it will be, it is arranged, or it was only offered."""

SPOKEN: Final = re.compile(r"\b(?:i|we|user) will (?:be (?:honest|frank|real|blunt)|admit|confess|say|tell)\b")
"""What somebody will do in this very sentence."""

BY_NOW: Final = re.compile(
    r"\b(?:yesterday|last (?:week|weekend|month|year|night|summer|autumn|fall|winter|spring|\w+day)|ago|accepted|(?:have|has|just|already) (?:moved|started|joined|bought))\b"
)
"""Words of what has happened: it is not ahead."""

SO_FAR: Final = re.compile(
    r"\b(?:have|has) (?:now )?(?:been|had|lived|worked|used)\b[^,.;]{0,100}? for (?:an?|one|two|three|a few|a couple of) (?:days?|weeks?|months?|nights?)\b"
)
"""How long something has lasted says nothing of when it ends."""

TEMPORARY: Final = clued(
    r"\b(?:(?:this|next) (?:\w+ )?only|only this|this (?:one )?time|for once|just (?:this|for (?:today|now|tonight))|until (?:the |next |this )?(?:\d|mon|tues|wednes|thurs|fri|satur|sun|tomorrow|week|end)|for the (?:holidays?|weekend|week|night|summer|day|moment|conference)"
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

_AMOUNT: Final = r"(?:about |around |almost |nearly |over |another )?(?:[$€£]\s?)?(?:\d[\d,.]*|two|three|four|five|six|seven|eight|nine|ten)\b"
DIFFERENCE: Final = re.compile(
    rf"\b(?:lost|gained|shed|put on|sold(?: off)?|gave away|got rid of|bought|ordered|hired|adopted|added|picked up|killed|ate|broke) {_AMOUNT}(?! (?:am|pm)\b|:\d)"
    rf"|\b(?:up|down|higher|lower|increased|decreased|raised|cut|reduced|grew|rose|fell|shrank|dropped|went up|went down) by {_AMOUNT}"
)
"""A number that says by how much something has changed, and not how much it is: "lost 3 kg"."""

PUTS_RIGHT: Final = re.compile(
    r"^(?:(?:oh|ah|oops|sorry|no|nope|wait|hang on|hmm|ugh|my bad|actually|well|ok|okay|er|uh)[,.!… -]+)*"
    r"(?:i (?:actually |really )?meant?\b(?! (?:that )?(?:it|to|well|no|the world|so much|business)\b)|correction\b|typo\b|make that\b|i misspoke\b|(?:it|that) should (?:be|have been|say)\b"
    r"|scratch that\b|not [\w' ]{2,20}, )"
    r"|^(?:(?:oops|sorry|no|nope|wait|my bad)[,.!… -]+)+(?:it is |at |on )?[$€£]?(?:\d|(?:mon|tues|wednes|thurs|fri|satur|sun)day"
    r"|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]* \d)[\w:., ]{0,12}$"
)
"""How somebody begins who puts right what they have just said."""
