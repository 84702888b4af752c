"""Words that tell of a change by themselves: something is over, was exchanged, got done, or is so from now on."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

OVER: Final = "over"
EXCHANGED: Final = "exchanged"
DONE: Final = "done"
NOW: Final = "now"
BEGUN: Final = "begun"
PLAIN: Final = "plain"

_OVER: Final = (
    r"no more|no longer|any ?more|not .{0,25}any ?more|gave up|given up|giving up|quit(?:s|ting)?|ditch\w*|dropp?ed|drop|dumped|axed|nixed|wiped|canned|binned|chucked|flogged|sold"
    r"|cancel+ed|cancel+ing|scrapp?ed|shelved|called off|called (?:it )?quits|called time|split(?:s)? (?:up|with|from)|split|broke up|broken up|parted ways|moved out|moved on|walked away"
    r"|got rid of|rid of|is history|are history|is over|are over|is off|are off|(?:is|are) (?:gone|done|dead|out|toast|kaput|behind (?:me|us))|has been (?:retired|sold|closed)|over and done|toast|kaput|gone for good|for good|bye(?:[- ]bye)?|goodbye|farewell|so long"
    r"|off the table|(?:got|had) (?:my|the) \w+ off|off the (?:\w+)|(?:took|taken|weaned|came|come|been|going|gone|am) (?:me |myself )?off (?:the |my |of )?\w+|rip(?:ped|ping)|tore|pulled the plug|jumped ship|jacked|packed (?:it )?in|hung up|had enough|enough of|fed up|done with|through with|finished with|over it|sick of"
    r"|stopp?ed(?! (?:at|by|for|off|over)\b)|ceased|(?<!^)let (?:\w+ ){1,4}go|let go|laid off|made redundant|fired|sacked|lost (?:my|the|our)|(?<!the )(?<!my )(?<!his )(?<!her )(?<!their )left|resigned|retired|stepp?ed (?:down|back|away)|bowed out|backed out|pulled out|dropped out|opted out|handed (?:in|back|over)|(?:handed|passed|signed|threw|gave) (?:[\w'-]+ ){1,5}?(?:over to|on to|back|away|out)|belongs to \w+|gave (?:away|back|(?:it|them|him|her)(?= (?:away|up|back|to)\b|\W*$))"
    r"|died|passed away|put (?:him|her|it) (?:down|to sleep)|rehomed|took \w+ in|closed|shut|expired|lapsed?|deleted|uninstalled|unsubscribed|removed|wore me out|worn out|burnt out|burned out|never (?:going )?(?:back|again)|not (?:going|happening|working out|working for)|was not working|is not happening|fell through|out the window|thing of the past"
    r"|have not (?:had|touched|set foot|smoked|eaten|been|used|drunk|drank|played|worn)|has not (?:had|touched)|non-smoker|stays? (?:in the drawer|at home|off)|cleared (?:me|up)|outgrew|outgrown|grew out of|healed|cured|remission|misdiagnos\w+|turned (?:\w+ )?down|not renew\w*|deferred|postponed|scratch that|no need|no \w+(?: \w+)? (?:needed|required)|forget (?:about )?the|wore me down|without (?:him|her|it|them)|flew the nest|is empty|empty nest|swore off|cold turkey|clean for|sober|back (?:on|to|at|in|into|off)|stretch is over|hunt over|retiring|axing|ending|ended|dissolved|disbanded|folded|bankrupt|went under|stolen|totall?ed|wrote off|written off|conked out|(?:gone|went) (?:\w+ )?off|(?:grown|grew) on me|(?:come|came) (?:a)?round to|warmed to|won me over|discharged|released from|all grown up|no trouble|do(?:es)? not bother|write-off|rear-ended|gathering dust|clean-shaven|couldn't get the hang|could not get the hang|(?<!counting )down to|cut (?:back|down|out)|packed up|broke down|broke for good|smashed|drowned|bricked"
)
_EXCHANGED: Final = (
    r"switch(?:ed|ing|es)?|swapp?(?:ed|ing)|swap|trad(?:ed|ing)|upgrad(?:ed|ing)|downgrad(?:ed|ing)|replac(?:ed|ing|es)|chang(?:ed|ing)|migrat(?:ed|ing)|mov(?:ed|ing) (?:to|across|over|on|into|onto|in|my|our|everything|all|house|from|up|down|back|out|away|off|me|us)|moved|relocat(?:ed|ing)"
    r"|shift(?:ed|ing)|convert(?:ed|ing)|renamed|rebranded|went (?:with|for|back|over|full|vegan|electric|part-time|freelance|and got)|gone (?:back|over|full|vegan|electric|part-time|freelance)|going by|instead|rather than|in favou?r of|became|becoming|become|turned|turns|made (?:me|my|the switch|the jump|the move)|took over|taken over|takes over"
    r"|knocked .{0,30}off|overtook|overtaken|dethroned|beats|grown an?|for everything|nothing but|exclusively|entirely|(?:not|never) looked back|promot(?:ed|ion)|bumped|doubled|halved|raised|lowered|cut|increased|reduced|put me (?:on|with)|pushed|postponed|rescheduled|brought forward|signed with|settled in(?:to)?|got the keys|homeowners?|caved|defected|graduated to|stepp?ed up|transferr?ed|reassigned|rewrote|ported|pivoted|crossed the line|came through|it is (?:\w+ ){1,4}(?:for (?:me|us)|i (?:\w+ )?to)|hit|celebrated|correction|misspoke|meant to say|not .{1,20} but|after all"
)
_DONE: Final = r"shipped|painted|built|installed|fitted|sorted|up and running|is live|did it|nailed it|smashed it|made it|over the line|finished|completed|wrapped up|launched|delivered|done|passed|defended|submitted|graduated|qualified|arrived|is here|born|went through|signed|crossed the finish|came back from|got back from|paid off|hunt over|made it|published|released|opened|achieved|reached|closed on|moved in|ran the|finally"
_NOW: Final = r"(?<!right )now|nowadays|these days|from (?:now|today|here|next|this) \w*|as of|from here on|since (?:spring|summer|autumn|winter|yesterday|monday|tuesday|wednesday|thursday|friday|saturday|sunday|last|january|february|march|april|may|june|july|august|september|october|november|december|new year)|starting (?:today|tomorrow|next|this|monday)|officially|official|at last|going forward|henceforth|by now|after all"
_BEGUN: Final = r"lately|currently|new|again|already|started|starts|begins|joined|opened|got|bought|picked up|has me|have me|put me|made me|been \w+ing|am \w+ing|is \w+ing"


BESIDE: Final = re.compile(
    r"\b(?:(?<!to )another|(?:a|my|our) second|an? extra|(?:my|our|user's) other|added|to the (?:pile|mix|collection|family|list)|as is|keeping the|also|on the side|as a backup"
    r"|still (?:do|have|has|got|us|keep|driv|own|liv|work|my|the|our|going)\w*|for the first time|turned out to|used to|either$|originally|grew up|years ago|as a (?:kid|child|teen\w*|student)|back in|(?:not|never) (?:\w+ )?(?:given up|giving up|quit(?:ting)?|stopp?(?:ed|ing)|cancel\w*|sold|selling|left|leaving|dropp?(?:ed|ing)|switch\w*|mov(?:ed|ing)))\b"
)
"""Words of what comes beside something that stays, or did not happen."""

HISTORY: Final = re.compile(r"(?:\S+ ){1,3}?(?:was|were|used to|visited|grew up|once|did|had)\b")
"""What is told of the past stays true."""

FORMER: Final = re.compile(r"(?:\S+ ){1,2}?(?:(?:was|were) an?|used to|lived|worked)\b")
"""What somebody was before is not what they are."""

ONE_MORE: Final = re.compile(r"\b(?:another|(?:a|my|our) (?:second|third)|an? (?:extra|additional))\b")
"""Words of one more of the same."""

NEWLY: Final = re.compile(r"\b(?:new|newly|joined|started|opened)\b")
"""Words of something that was not there before."""

FRAME: Final = re.compile(
    r"^(?:(?:these days|now|nowadays|lately),? )?(?:user|i|we|my \w+) (?:now |only |usually |mostly |always |currently )?"
    r"(?P<verb>[a-z]+) (?P<by>with|at|by|on|from|in) (?P<what>[^,.;]+)"
)
"""What somebody does, and with, at or by what."""

NEW_PART: Final = re.compile(r"^my [\w-]+ (?:now )?has (?:an? |its |new |more )")
"""Something the speaker has got something: one more fact about it."""

BOOKED: Final = re.compile(r"\b(?:booked|appointment|reservation|reserved|tickets?)\b")
"""Words of something that was arranged for a day: it takes the place of nothing."""

NAMING: Final = re.compile(r"\b(?:is|are) (?:called|named)\b")
"""How somebody is called."""

PURPOSE: Final = re.compile(r" for (?:the|my|our) [\w ]{1,200}+\W{0,40}+$")
"""What something new is for says nothing of what it takes the place of."""

ONGOING: Final = re.compile(
    r"\b(?:working on|writing|building|planning|plans?|applying|studying|studies|student|training|saving|looking for|waiting|preparing|renovating"
    r"|learning|pregnant|expecting|engaged|candidate|wants? to|hopes? to|intends?|trying to|going to|considering|reading|attend\w*|due)\b"
)
"""What can be done one day, and is over then."""


def _pattern(words: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w'-])(?:{words})(?![\w-])")


_SIGNALS: Final = tuple(
    (name, _pattern(words))
    for name, words in ((OVER, _OVER), (EXCHANGED, _EXCHANGED), (DONE, _DONE), (NOW, _NOW), (BEGUN, _BEGUN))
)


def tells_change(lowered: str) -> bool:
    """Whether a lower-case text tells of a change, and not only of something that begins."""
    return bool(signals_of(lowered) - {BEGUN})


@lru_cache(maxsize=4096)
def signals_of(lowered: str) -> frozenset[str]:
    """The ways in which a lower-case text tells of a change."""
    return frozenset(name for name, pattern in _SIGNALS if pattern.search(lowered))
