"""What is not a fact: the sentences that are left out, and why.

Each test is a name and a pattern; the name is what a log or a test shows.
"""

from __future__ import annotations

import re
from typing import Final

from retain.core.rules.plain import is_question

FILLERS: Final = re.compile(
    r"^(?:(?:hi|hey|hello|hiya|yo|yeah|yes|yep|yup|no|nope|nah|oh|ooh|ah|aw|aww|wow|well|so|ok|okay|right|sure|haha|hahaha|lol|hmm|um|uh|"
    r"thanks|thank you|thanks a lot|cool|great|nice|awesome|btw|by the way|fyi|honestly|to be honest|tbh|frankly|anyway|anyways|"
    r"also|and|but|plus|look|listen|you know|i mean|like i said|as i said|as you know|as i mentioned|of course|absolutely|"
    r"definitely|exactly|totally|actually|for the record|just so you know|good news|quick update|quick intro|update|note|intro|about me|heads up|small update|typo|scratch that|let me correct that|final decision|fun fact|reminder|today marks|ugh|phew|yay|guess what|"
    r"good morning|good evening|sorry|please note|correction|in fact|speaking of which|then|now|"
    r"hey there|hi there|hello there)\b(?:,? (?:there|guys|everyone|all|man|dude|buddy))?(?:,? (?-i:[A-Z][a-z]+)(?=[,!.]))?[,!.:;~ -]+)+",
    re.IGNORECASE,
)
"""What people say before they say something."""

_YOU: Final = re.compile(r"\b(?:you|your|yours|yourself|u|ur|y'all)\b", re.IGNORECASE)
_HYPOTHETICAL: Final = re.compile(
    r"^(?:if|imagine|suppose|supposing|pretend|let us (?:say|pretend|assume)|assume|assuming|what if|say i|picture)\b"
    r"|\b(?:if (?:i|we|only)|i wish|wish i|would have|could have|should have|as if|were i|had i (?:known|been))\b"
    r"|\b(?:i|we) (?:would|could) (?:not )?(?!like|love|rather|prefer|never|always|not eat)\w+",
    re.IGNORECASE,
)
_HEDGE: Final = re.compile(
    r"\b(?:maybe|perhaps|possibly|might|not sure|i guess|i suppose|unsure|wondering|one day|some ?day|who knows|"
    r"may (?:or may not|try|go|move|start|switch|be)|toying with|tempted|sort of thinking|could see myself|"
    r"(?:i am|been) (?:kind of |sort of )?(?:thinking|considering|debating)|on the fence|probably)\b",
    re.IGNORECASE,
)
_SMALL_TALK: Final = re.compile(
    r"^(?:i am|we are|i was|i feel|i have been|i am feeling|i felt)(?: \w+){0,2} (?:good|great|fine|ok|okay|alright|well|sorry|glad|happy|excited|"
    r"thrilled|tired|sleepy|hungry|thirsty|bored|busy|sad|upset|proud|grateful|thankful|lucky|blessed|confused|lost|stuck|"
    r"ready|here|back|sure|curious|impressed|amazed|worried|scared|nervous|stoked|pumped|done|late|home|in|out|on it|right|wrong|"
    r"so|all|listening|kidding|joking|looking forward|hoping|trying|inspired|honored|honoured|touched|moved)\b(?! (?:to be|with my|at my|by the|in my))",
    re.IGNORECASE,
)
_TALKING: Final = re.compile(
    r"^(?:i|we)(?: \w+){0,2}? (?:think|thought|guess|know|knew|mean|meant|understand|understood|see|saw that|hear|heard|agree|appreciate|"
    r"hope|wonder|wondered|believe|bet|suppose|promise|swear|assume|imagine|remember|forgot|forget|said|say|told|tell|ask|asked|noticed|realize|realise|"
    r"realized|realised|feel like|felt like|feel that|wish|want to (?:tell|ask|know|say|share|hear|thank|show)|wanted to (?:tell|ask|know|say|share|hear|thank|show)|"
    r"need (?:help|you|a hand|to know|to ask)|would (?:like|love) (?:to (?:know|hear|see|ask|get)|a|some|an|help|if)|could not agree|can (?:see|imagine|relate|tell|only)|can not wait|cannot wait|"
    r"love (?:it|that|this|how|hearing|seeing|those|these|to hear)|like (?:it|that|this|how|those|these|your)|enjoyed (?:it|that|this)|hate (?:it|that|this|when)|"
    r"am (?:asking|saying|talking|wondering|guessing|telling|referring|just (?:saying|asking|looking)|looking for (?:a|some|help|ideas|advice))|do not (?:know|think|understand|remember|get it|see)|did not (?:know|think|understand|get|mean)|"
    r"got (?:it|this|that|you)|will (?:try|let|see|check|do|be|get|have a look|look|think|give|keep|send|share|tell|show)|looked at|tried (?:that|it|this|to run|running))\b",
    re.IGNORECASE,
)
_TASK: Final = re.compile(
    r"^(?:please |pls |kindly |now |then |also |just |can we |let us |let me |lets )*(?:write|rewrite|summari[sz]e|translate|explain|help|show|give|tell|find|list|"
    r"create|make|generate|draft|fix|debug|check|compare|describe|calculate|compute|convert|suggest|recommend|pretend|act|act as|define|"
    r"search|look up|look at|continue|go on|try again|do|don't worry|answer|classify|extract|review|correct|improve|edit|format|implement|"
    r"refactor|add|remove|update|change|use the|set|send|schedule|book|remind|plan|design|build|run|imagine|think|consider|be|play|"
    r"open|read this|take a look|see (?:the|this|below|above)|note the|ignore|print|return|output|respond with|reply with|say|repeat|turn (?:this|it|the))\b",
    re.IGNORECASE,
)
_POINTING: Final = re.compile(
    r"^(?:it|that|this|those|these|they|he|she|there|here|what|which|such|the (?:former|latter)|one|some|others?|everyone|everything|nothing|something)\b",
    re.IGNORECASE,
)
_OBJECT_ONLY: Final = re.compile(
    r"^(?:i|we)(?: \w+){0,3} (?:it|that|this|them|those|these|there|him|her|so|one|ones|some)(?: (?:so much|a lot|too|again|all|now|already|once|before|though|myself|here|there|today|yesterday|last (?:week|night|month|year)|very much))*$",
    re.IGNORECASE,
)
_QUOTED: Final = re.compile(
    r"^[\"'“‘].+[\"'”’][.!]?$|\b(?:said|says|told me|goes|went|asked|wrote|replied|like)[,:]? [\"'“‘]", re.IGNORECASE
)
_TRANSIENT: Final = re.compile(
    r"^(?:i|we)(?: am| are| was| will be| have been)? (?:just |currently |still |now )?(?:at the (?:store|shop|office|airport|station|gym|park|mall|beach)|on (?:my|the) way|in a (?:meeting|call|hurry)|"
    r"heading (?:out|to|home|off)|about to|(?:going|off) to (?:bed|sleep|the (?:store|shop))|running late|waiting for|stuck in|sitting (?:here|in)|in the middle of|"
    r"having (?:lunch|dinner|breakfast|a coffee)|watching (?:tv|a movie)|getting ready|trying to (?:figure|understand|fix|find|get|run|make|install|decide)|"
    r"working on (?:it|this|that)|looking (?:at|for|into|forward))\b",
    re.IGNORECASE,
)

_LET_US: Final = re.compile(r"^(?:let us|let me|lets|shall we|may we)\b", re.IGNORECASE)
_UNFINISHED: Final = re.compile(
    r"\b(?:to|the|a|an|of|for|with|and|or|in|on|at|my|is|are|was|am|be|if|that|than|so|very|really|like|from)$|^(?:i|we) (?:want|need|love|like|hope|plan|used) to$",
    re.IGNORECASE,
)
_VAGUE: Final = re.compile(
    r"^(?:i|we)(?: \w+){0,3} (?:something|a (?:ton|lot|blast|great time|good time|bit)|so much|fun|everything|anything|nothing|things|stuff|a (?:crazy|busy|long|tough|rough|wild|hard|few|great|good|weird) \w+(?: \w+)?|the (?:win|best|same|way|one)|better|together|it all|my best|our best|ages|work (?:well|hard)|working hard|have different|all (?:have|need|want|got|had))(?: (?:to share|going on|lately|recently|with (?:it|them|that)|together))?$"
    r"|^(?:i|we) (?:all |both )?(?:have to|gotta|have got to|need to|must|should|can|all) |^(?:i|we) (?:had|have|got|am having|ended up) (?:a |an |the |some |such a |so much |an? \w+ )?(?:\w+ )?(?:blast|fun|time|luck|feeling|day|week|weekend|chance|ideas?|laughs?|good time)\b(?! (?:job|zone))|^i (?:have|had|got) something\b",
    re.IGNORECASE,
)
_GENERAL: Final = re.compile(
    r"^\w+ing\b[\w' ,-]* (?:is|are|was|can be|takes|helps|makes|brings|builds|means|feels|gives|keeps)\b", re.IGNORECASE
)

_TESTS: Final = (
    ("let us", _LET_US),
    ("unfinished", _UNFINISHED),
    ("vague", _VAGUE),
    ("general truth", _GENERAL),
    ("hypothetical", _HYPOTHETICAL),
    ("hedge", _HEDGE),
    ("small talk", _SMALL_TALK),
    ("talk about talk", _TALKING),
    ("transient", _TRANSIENT),
    ("points at something", _OBJECT_ONLY),
    ("quote", _QUOTED),
)


def without_fillers(sentence: str) -> str:
    """The sentence without what people say before they say something."""
    rest = FILLERS.sub("", sentence, count=1).lstrip(" ,;:-")
    return rest or sentence


def not_a_fact(sentence: str) -> str:
    """Why a plain sentence is no fact about the speaker; '' when it may be one."""
    if is_question(sentence):
        return "question"
    if _YOU.search(sentence):
        return "second person"
    return next((name for name, pattern in _TESTS if pattern.search(sentence)), "")


def is_unreal(sentence: str) -> bool:
    """Whether a sentence supposes or doubts what it says."""
    return bool(_HYPOTHETICAL.search(sentence) or _HEDGE.search(sentence) or _QUOTED.search(sentence))


def is_task(sentence: str) -> bool:
    """Whether a sentence without subject tells the assistant to do something."""
    return bool(_TASK.match(sentence))


def points(sentence: str) -> bool:
    """Whether a sentence starts by pointing at something said elsewhere."""
    return bool(_POINTING.match(sentence))
