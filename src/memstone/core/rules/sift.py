"""What is not a fact: the sentences that are left out, and why.

Each test is a name and a pattern; the name is what a log or a test shows.
"""

from __future__ import annotations

import re
from typing import Final

from memstone.core.rules.plain import is_question
from memstone.core.rules.verbs import BY_ITSELF
from memstone.core.text.clues import clued

_INTERJECTIONS: Final = (
    "hi|hey|hello|hiya|ngl|jk|imo|imho|lmao|for context|some context|context|yo|yeah|yea|yes|yep|yup|no|nope|nah|oh|ooh|ah|aw|aww|wow|woah|whoa|woohoo|well|so|ok|okay|alright|right|sure|haha|hahaha|lol|hmm|um|uh|omg|"
    "thanks|thank you|thanks a lot|thx|cool|great|nice|awesome|sweet|perfect|btw|by the way|fyi|honestly|to be honest|tbh|frankly|anyway|anyways|oops|whew|"
    "also|and|but|plus|look|listen|you know|i mean|like i said|as i said|as i mentioned|of course|absolutely|man|dude|gosh|"
    "definitely|exactly|totally|actually|for the record|just so you know|just to be clear|good news|big news|bad news|quick update|quick intro|update|note|intro|about me|heads up|small update|typo|autocorrect|wait|wait no|scratch that|"
    "i meant|let me correct that|final decision|fun fact|reminder|ugh|phew|yay|guess what|you have it wrong|i misspoke earlier|i misspoke|makes sense|long story short|"
    "i have made up my mind|hope you are (?:well|good|ok|okay|doing well)|let me correct that|sorry for the rant|good morning|good evening|good afternoon|sorry|please note|correction|in fact|speaking of which|then|now|no worries|same here|me too|for sure|true|"
    "hey there|hi there|hello there|oh my god|oh my goodness|oh my|my god|my goodness|my gosh|my word|my bad|my apologies|my pleasure|oh and|true story|believe it or not|as always|as ever|as usual|thankfully|luckily|sadly|unfortunately|fortunately"
)
FILLERS: Final = re.compile(
    rf"^(?:(?:{_INTERJECTIONS})\b(?:,? (?:there|guys|everyone|all|man|dude|buddy|so much))?(?:,? (?-i:[A-Z][a-z]+)(?=[,!.]))?(?: ?(?:[,!.:;~…)-])+ *|(?<=[a-z]) (?=(?:{_INTERJECTIONS})\b| *(?:i|my|we|our|i'm|im)\b)))+",
    re.IGNORECASE,
)
_LEADS: Final = re.compile(
    r"^(?:turns out(?: that)?|it turns out(?: that)?|as you (?:know|are aware),?|because|cause|the thing is,?|thing is,?|long story short,?|just to be clear,?|for the record,?|in case (?:it|that) matters,?|you (?:should|might want to|ought to) know(?: that)?,?|(?:it is )?worth knowing(?: that)?,?|by the way,?|just so you know,?|fyi,?|btw,?|anyway,?|and|but|so|plus|also|now|lol|haha|ugh|ok|okay|alright,?|today marks(?= \w+ years)|(?!yesterday|today|tomorrow|tonight|lately|recently|nowadays)(?-i:[A-Z][a-z]+),(?= (?:i|my|we|after|before|since|last|yesterday|today|this (?:week|month|year|morning))\b)) (?=\S)",
    re.IGNORECASE,
)
"""What people say before they say something."""

_LEADING: Final = " ,;:-*•)("
_YOU: Final = clued(r"\b(?:you|your|yours|yourself|u(?!-)|ur|y'all)\b", re.IGNORECASE)
_HYPOTHETICAL: Final = clued(
    r"^(?:if|imagine|suppose|supposing|pretend|let us (?:say|pretend|assume)|assume|assuming|what if|say i|picture)\b"
    r"|\b(?:if (?:i|we|only)|i wish|wish i|would have|could have|should have|as if|whether|(?:nearly|almost) (?:\w+ed|bought|got|went|quit|left|sold|took|gave)|in a world where|were i|had i (?:known|been))\b"
    r"|\b(?:i|we) (?:would|could) (?:not )?(?!like|love|rather|prefer|never|always|not|stand)\w+",
    re.IGNORECASE,
)
_HEDGE: Final = clued(
    r"\b(?:maybe|perhaps|possibly|might|not sure|i guess|i am guessing|i suppose|unsure|wondering|one day|some ?day|who knows|"
    r"may (?:or may not|try|go|move|start|switch|be)|idk|no idea yet|thinking about maybe|toying with|tempted|sort of thinking|could see myself|"
    r"(?:i am|been) (?:kind of |sort of )?(?:thinking|considering|debating)(?= (?:about|maybe|whether|it|that))|on the fence|probably)\b",
    re.IGNORECASE,
)
_MOODS: Final = (
    "good|great|fine|ok|okay|alright|well|sorry|glad|happy|excited|thrilled|tired|sleepy|hungry|thirsty|bored|busy|sad|upset|proud|grateful|thankful|lucky|blessed|"
    "confused|lost|stuck|ready|sure|curious|impressed|amazed|worried|scared|nervous|stoked|pumped|done|late|right|wrong|listening|kidding|joking|hoping(?! to)|trying(?! out)|inspired|"
    "honored|honoured|touched|moved|determined|motivated|eager|dying(?! of (?!laugh|boredom|embarrass))|broke|safe|numb|speechless|relieved|overwhelmed|exhausted|stressed|pleased|delighted|optimistic|"
    "anxious|psyched|freaking|super|feeling|loving|enjoying|having(?! (?:my|our|an?) (?!blast|great|good|hard|tough|rough|bad|wonderful|lovely|nice|lot|ball|time|crazy|wild|moment|break|bit|day|week|fun))|rooting|cheering|rocking|doing|jealous|starving|freezing|shocked|surprised|hopeful|committed|"
    "confident|content|comfortable|focusing on the positive|stepping|chasing|hustling|grinding|killing|living the dream|decompressing|open|up for|down for|down to|all for|all ears|on board|in awe|looking forward|here for|there for|always here|so"
)
_SMALL_TALK: Final = re.compile(
    rf"^(?:i|we)(?: am| are| was| were| feel| felt| have been| am feeling| got| get| will be| have never been| could not be)(?: (?:just|so|really|very|super|pretty|quite|still|all|always|also|a bit|a little|kind of|not|such|too|more|extremely|definitely|totally|absolutely|truly|incredibly|beyond|even|already|feeling|both))* (?:{_MOODS})\b(?! (?:at (?!the same)|in (?:(?-i:[A-Z])|my|a )|with my|my (?!best|part)))"
    r"|^(?:i|we) (?:am|are|was|were) (?:\w+ )?(?:here|back|home|in|out|on it|all|off|around|there|away)(?: now| again| today)?$"
    r"|^(?:i|we) (?:feel|felt)\b",
    re.IGNORECASE,
)
_TALKING: Final = re.compile(
    r"^(?:i|we)(?: (?:just|also|really|still|do|did|can|could|always|truly|only|have|totally|definitely|never|even|actually|both|all|completely|sometimes|often|must|not|to|will|would|am|was))* "
    r"(?:think|thought|thinking|guess|mean|meant|understand|understood|see(?! \w+ (?:every|once|twice))|saw that|hear|heard|hearing|agree|appreciate|appreciated|"
    r"hope|hoped|wonder|wondered|wondering|believe|believed|bet|suppose|promise|swear|assume|imagine|remember|remembering|have (?:no|not any) (?:doubt|idea|clue|regrets|choice)|forgot|forget|say|said|tell|told|asking|asked|ask|noticed|realize|realise|"
    r"realized|realised|recommend|suggest|wish|miss|missed|trust|admire|value|cherish|treasure|salute|respect|relate|look forward|looked forward|dig|doubt|care|cared|"
    r"know(?! (?-i:[A-Z])| how to| any| some| a (?:bit|little)| \w+ (?:well|from))|knew|"
    r"(?:want|wanted|need|needed|like|love|have|had|got) to (?:tell|ask|know|say|share|hear|thank|show|see|admit|check|be honest|give|keep|make sure|stay|push|try|let|feel|figure)|"
    r"need (?:help|you|a hand|dinner|ideas|advice)|(?:like|love) (?:to (?:know|hear|see|ask|get|help|lend|support|come|join|check|be there)|if)|"
    r"love (?:it|that|this|how|hearing|seeing|those|these|to hear|the (?:way|idea|look|vibe|energy|feeling|connection|thought)|your)|like (?:it|that|this|how|those|these|your|the (?:way|idea|look|sound))|enjoyed (?:it|that|this)|hate (?:it|that|this|when)|"
    r"saying|talking|guessing|telling|referring|looking for (?:a|some|help|ideas|advice)|"
    r"got (?:it|this|that|you|a feeling|the feeling)|let (?:you|it|that|this|us|me|go)|have a look|look at|looked at|look(?: |$)|"
    r"tried (?:that|it|this|to run|running)|wait|can not wait|go for it|make it|do (?:it|this|that|my best)|did (?:it|this|that|my best)|find (?:it|that|this)|found (?:it|that|this|out)|wanted|saw how|ended up (?:laughing|having|loving)|got through|get through|owe)\b",
    re.IGNORECASE,
)
_OFFERING: Final = re.compile(
    r"^(?:i|we) (?:will|shall|can|am going to|have to|had to|have got to|would|could)(?: \w+ly)? (?:just |also |always |never )?(?:try|let|see|check|do|get|have a look|look|think|give|keep|send|share|tell|show|remember|consider|stay|push|dig|fight|deal|adjust|make (?:it|sure)|stick|continue|stop|cherish|never)\b",
    re.IGNORECASE,
)
_TASK: Final = re.compile(
    r"^(?:please |pls |kindly |now |then |also |just |can we |let us |let me |lets )*(?:write|rewrite|summari[sz]e|translate|explain|help|show|give|tell|find|list|"
    r"create|make|generate|draft|fix|debug|check|compare|describe|calculate|compute|convert|suggest|recommend|pretend|act|act as|define|"
    r"search|look up|look at|continue|go on|try again|do (?!not (?:like|eat|drink|want|enjoy|smoke|own|have|care))|don't worry|answer|classify|extract|review|correct|improve|edit|format|implement|"
    r"refactor|add|remove|update|change|use|set|send|schedule|book|remind|plan|design|build|run|imagine|think|consider|be|play|delete|erase|rename|insert|replace|paste|upload|download|attach|"
    r"open|read this|take a look|see (?:the|this|below|above)|note the|ignore|print|return|output|respond with|reply with|say|repeat|turn (?:this|it|the)|keep|stay|let|go|hope|get|forget|do not worry|trust|believe|hang|wish)\b",
    re.IGNORECASE,
)
_POINTING: Final = re.compile(
    r"^(?:it|that|this|those|these|they|he|she|its|his|her|their|there|here|what|which|who|how|when|where|why|such|even|things?|nature|life|the (?:former|latter)|one|some|others?|everyone|everything|nothing|something)\b",
    re.IGNORECASE,
)
_OBJECT_ONLY: Final = re.compile(
    r"^(?:i|we)(?: \w+){0,3} (?:it|that|this|them|those|these|there|him|her|so|one|ones|some)(?: (?:so much|a lot|too|again|all|now|already|once|before|though|myself|here|there|today|yesterday|last (?:week|night|month|year)|very much))*$",
    re.IGNORECASE,
)
_QUOTED: Final = re.compile(
    r"^according to (?!plan)|^as (?:(?-i:[A-Z])[\w.'-]*|my \w+|the \w+)(?: [\w.'-]+){0,3}? (?:once |always |famously )*(?:said|says|wrote|writes|put it|puts it)\b|^(?:to quote|in the words of)\b|^[\"'“‘].+[\"'”’][.!]?$|\b(?:said|says|told me|goes|went|asked|wrote|replied|like)[,:]? [\"'“‘]",
    re.IGNORECASE,
)
_TRANSIENT: Final = re.compile(
    r"^(?:i|we)(?: am| are| was| will be| have been)? (?:just |currently |still |now |actually )?(?:at the (?:store|shop|office|airport|station|gym|park|mall|beach)$|on (?:my|the) (?:way|bus|train)|in a (?:meeting|call|hurry)|"
    r"heading (?:out|to|home|off)|about to|(?:going|off) to (?:bed|sleep|the (?:store|shop))|running late|waiting for|stuck in|sitting (?:here|in)|in the (?:middle of|waiting)|"
    r"having (?:lunch|dinner|breakfast|a coffee|fun|a blast)|watching (?:tv|a movie)$|getting ready$|trying to (?:figure|understand|fix|find|get|run|make|install|decide)|"
    r"working on (?:it|this|that)|looking (?:at|for|forward))\b|\b(?:on my (?:case|nerves)|up the wall)\b|^my \w+ (?:is|are) (?:at \d+ ?%|dead|charging|dying(?! of)|loading|frozen)|^(?:currently|just) \w+ing\b|\b(?:rn|brb|one sec)\b|\bthings to do$",
    re.IGNORECASE,
)

_MADE: Final = (
    r"(?:recipes?|summar(?:y|ies)|translations?|explanations?|examples?|lists?|essays?|poems?|templates?|outlines?|drafts?|tables?|formulas?|regex(?:es)?|functions?|scripts?|quer(?:y|ies)|snippets?|code|captions?|slogans?"
    r"|titles?|headlines?|itinerar(?:y|ies)|overviews?|comparisons?|rewrites?|synonyms?|definitions?|answers?|solutions?|suggestions?|recommendations?|ideas?|tips|advice|help|paragraphs?|sentences?|e-?mails?|cover letters?|jokes?|prompts?|diagrams?|charts?)"
)
_OF_THE_TASK: Final = re.compile(
    r"^(?:i|we)(?: (?:am|are|was|were|have been|keep|kept|just|still|always|also|now|constantly))* (?:get|gets|got|getting|see|saw|seeing|hit|hitting|encounter\w*|receiv\w+|fac(?:e|ed|ing)|have|having) (?:an?|the|this|these|some|many|lots of|weird|strange)(?: [\w.-]+){0,3}? (?:errors?|exceptions?|warnings?|tracebacks?|stack ?traces?|time-?outs?|crash(?:es)?|segfaults?|(?:error |status )?codes?|bugs?)\b"
    r"|^(?:i|we)(?: (?:am|are|just|still|now|also|keep|always))* (?:get|gets|got|getting|see|seeing|hit|hitting) (?:[\w.]+ )?(?:errors?|exceptions?|warnings?|tracebacks?|segfaults?|error\[\w+\]|E\d{3,})(?=$|\W)"
    r"|^(?:i|we) have (?:an?|the|this|these|some|two|several)(?: [\w-]+){0,2}? (?:lists?|tables?|spreadsheets?|csvs?|files?|datasets?|columns?|arrays?|strings?|jsons?|dicts?|dictionar(?:y|ies)|dataframes?|scripts?|functions?|quer(?:y|ies)|folders?|pdfs?) (?:of|with|that|which|in|where|containing|and (?:want|need|would))\b"
    r"|^(?:i|we)(?: (?:have|had|just|also|already|now))* (?:attached|pasted|enclosed)\b"
    r"|^(?:i|we)(?: (?:have|had|just|also|already|now))* (?:uploaded|copied|included|linked|shared|sent(?: you)?|provided|added|given you|put)(?: you)? (?:an?|the|this|these|my|some|two|three|all)(?: [\w.-]+){0,3}? (?:files?|screenshots?|images?|pdfs?|docs?|documents?|spreadsheets?|logs?|links?|texts?|code|snippets?|data|csvs?|transcripts?|drafts?|resumes?|cvs?)(?=$| (?:below|above|here|for|to|so|with)\b)"
    rf"|^(?:i|we)(?: (?:just|really|only|also|urgently|now|still|am|are))* (?:need|want|require|would like|looking for|search(?:ing)? for|after)(?! .*\b(?:every|each|always|never|whenever|from now on|in (?:your|all|future))\b) (?:an?|some|the|a few|a couple of|your|more|\d+|two|three|five|ten)(?: [\w-]+){{0,3}}? {_MADE}(?=$|,| (?:for|of|on|about|to|that|which|with|in|as|using|from|by|how|why)\b)"
    r"|^my (?:[\w-]+ )?(?:question|query|request|doubt|prompt|follow-up|inquiry)s? (?:is|are|was|concerns?|regards|relates?|has to do)\b"
    r"|^(?:i|we) (?:have|had|got|have got) (?:an?|another|one more|one|some|a few|two|the following) (?:\w+ )?(?:questions?|quer(?:y|ies)|requests?|doubts?)\b",
    re.IGNORECASE,
)
"""What belongs to the task at hand and is over with it: an error, a file that is handed over, what is asked for."""

_CODE: Final = re.compile(
    r"\w={1,3}['\"\[{\w(]|\w ={1,3} ['\"\[{\w(]|\w\(\)|=>|[{};]\s*$|</\w"
    r"|^(?:my|our|the) (?:[\w-]+ )?(?:functions?|code|scripts?|quer(?:y|ies)|tests?|builds?|loops?|regex|class|methods?|components?|programs?|pipelines?) (?:still |just |always |now |only |keeps? )*(?:returns?|fails?|failing|crash\w*|throws?|does not|do not|is not|are not|outputs?|prints?|breaks?|hangs?|times? out|gives?|runs? (?:out|into|forever))\b",
    re.IGNORECASE,
)
"""What is written in a program, or said of one that is worked on."""

_BESIDE_ONESELF: Final = re.compile(
    r"^(?:i|we)(?: (?:am|are|was|were|have been|just|really|about to|slowly|literally|almost|totally))* (?:(?:going|go|went|gone) (?:\w+ )?(?:insane|crazy|mad|nuts|mental|bananas|bonkers|ballistic)|losing (?:my mind|it|my patience|hope)|dying(?=$| (?:here|laughing|of (?:laughter|laughing|boredom|embarrassment)|rn)\b| ?\W*\W$| [^\w\s])|freaking out|pulling my hair|at my wits|getting (?:\w+ )?(?:frustrated|annoyed|tired|hungry|sleepy|confused|desperate|nowhere|late|bored|impatient|nervous))\b",
    re.IGNORECASE,
)
"""How somebody feels right now."""

_LEFT_OUT: Final = re.compile(
    r"^(?:i|we)(?: (?:have|had|just|finally|then|also|never|later|eventually|already|recently))* (?:quit|stopped|started|began|finished|resumed|dropped|gave up|switched|tried|kept|lost|sold|bought|got|changed|continued|did)"
    r"(?: (?:again|later|then|now|already|long|some time|(?:about |over |almost |nearly |around )?(?:an?|one|two|three|four|five|six|seven|eight|nine|ten|\d+|a few|a couple of|many|several) (?:days?|weeks?|months?|years?|decades?)|ago|back|before|after(?:wards)?|since|in (?:january|february|march|april|may|june|july|august|september|october|november|december|\d{4})|last (?:week|month|year|spring|summer|autumn|fall|winter)|when i was \w+))+$",
    re.IGNORECASE,
)
"""What was done only the clause before can tell: "I used to smoke, but I quit three years ago"."""

_FEEDBACK: Final = re.compile(
    r"^(?:i|we)(?: \w+){0,3} (?:like|love|prefer|hate|liked|loved|enjoy)\w* (?:the|both) (?:(?:first|second|third|last|previous|new|original|other|shorter|longer|updated) )*(?:sentence|paragraph|version|draft|line|title|option|answer|reply|response|wording|tone|ending|part|bit|one|ones|idea|suggestion|poem|slogan|picture|pic|photo|look|color|colour|design|vibe|sound)s?\b",
    re.IGNORECASE,
)
_LET_US: Final = re.compile(r"^(?:let us|let me|lets|shall we|may we)\b", re.IGNORECASE)
_BY_ITSELF: Final = "|".join(sorted(BY_ITSELF))
_UNFINISHED: Final = re.compile(
    r"\b(?!(?-i:[A-Z]{2,})\W*$)(?:to|the|a|an|and|or|my|our|is|are|was|am|be|if|that|than|so|very|really|like|called|titled|said|says|wrote|asked|asks|told me|replied|texted|named|goes|because|when|while|but|as|your|not|(?:and|or|but) (?:me|i|we))$|^(?:i|we) (?:want|need|love|like|hope|plan|used) to$"
    rf"|^(?:i|we) (?:\w+ )?(?:did|do|have|had|was|am|can|could|will|would)(?: not)?$|^(?:i|we) (?!(?:{_BY_ITSELF})$)\w+$|\b(?:i mean|if that makes sense)\b",
    re.IGNORECASE,
)
_VAGUE: Final = re.compile(
    r"^(?:i|we)(?: \w+){0,3} (?:something|a (?:ton|lot|blast|great time|good time|bit)|so much|fun|everything|anything|nothing|things|stuff|a (?:crazy|busy|long|tough|rough|wild|hard|few|great|good|weird) \w+(?: \w+)?|the (?:win|best|same|way|one)|better|together|it all|my best|our best|ages|work (?:well|hard)|working hard|have different|all (?:have|need|want|got|had))(?: (?:to share|going on|lately|recently|with (?:it|them|that)|together))?$"
    r"|^(?:i|we) (?:all |both )?(?:have got to|need to|must|should|(?:can|could)(?! not (?:stand|have|eat|drink|swim|drive|run|walk|cook|read|ride|tolerate|play|dance|sing|afford|speak))(?! (?:speak|play|swim|cook|drive|hold|ride|ski|code|juggle|sew|knit))|all) "
    r"|^(?:i|we)(?: \w+)? (?:had|have|got|am having|have been having|ended up) (?:a |an |the |some |such a |so much |an? \w+ |a really \w+ |some really \w+ |my )?(?:\w+ )?(?:(?:blast|fun|time)(?! (?:at (?!the (?:\w+)$)|on (?:my|our|a)|hiking|camping|biking))|luck|feeling|day|days|week|weekend|chance|ideas?|laughs?|good time|moments?|opportunity|talk|chat|conversation|bumps?|ups|downs|setbacks?|challenges?|struggles?|experience|experiences|stuff|moments?|games?|times|match|season|practice)\b(?! (?:job|zone|trip|tickets))"
    r"|^i (?:have|had|got) something\b|\bkeeps? (?:me|us) going\b|^(?:i|we) made sure\b|\bin common\b|^(?:i|we)(?: \w+)? (?:switched|changed|swapped) (?:jobs|careers|companies|employers|banks|schools|phones|cars|plans)$|\bmake (?:it|this|that) (?:happen|work)\b|\bemotions\b|\bhit it off\b|^my dreams? (?:is|are|has|have)\b(?! to)|^(?:i|we)(?: am| are)?(?: just)? (?:stay|staying|keeping) (?:positive|strong|focused|motivated|true|determined|busy|calm|active)\b"
    r"|^(?:my|our) [\w' ]+? (?:is|are|was|were|has been|have been|had|have)(?: (?:so|such|really|super|pretty|very|always|been|all|a|an|the|just|getting|more|my|incredibly|truly|quite))* (?:awesome|great|amazing|good|wonderful|fantastic|incredible|supportive|encouraging|inspiring|excited|happy|proud|thrilled|best|blast|fun|lovely|nice|tough|hard|crazy|hectic|rough|wild|beautiful|perfect|cute|sweet|adorable|important|rock|biggest fans?|priceless|blessing|everything|special|cool|roller ?coaster|delicious|tasty|yummy|so much)\b(?! (?:at|dane|grand))",
    re.IGNORECASE,
)
_OPEN: Final = re.compile(
    r"\b(?:anything|anyone|something|somewhere|whatever|someone|each other|one another|things|stuff)\b", re.IGNORECASE
)
_OPEN_IN_TALK: Final = re.compile(r"\b(?:everything|everyone|everybody|any|did not|like these|such)\b", re.IGNORECASE)
_GENERAL: Final = re.compile(
    r"^\w+ing\b[\w' ,-]* (?:is|are|was|can be|can|has|does|takes|helps|makes|brings|builds|means|feels|gives|keeps|\w+s (?:me|us))\b",
    re.IGNORECASE,
)

_TESTS: Final = (
    ("feedback", _FEEDBACK),
    ("task at hand", _OF_THE_TASK),
    ("code", _CODE),
    ("beside oneself", _BESIDE_ONESELF),
    ("half of a sentence", _LEFT_OUT),
    ("let us", _LET_US),
    ("unfinished", _UNFINISHED),
    ("vague", _VAGUE),
    ("general truth", _GENERAL),
    ("hypothetical", _HYPOTHETICAL),
    ("hedge", _HEDGE),
    ("small talk", _SMALL_TALK),
    ("talk about talk", _TALKING),
    ("offer", _OFFERING),
    ("transient", _TRANSIENT),
    ("points at something", _OBJECT_ONLY),
    ("quote", _QUOTED),
)


def without_fillers(sentence: str) -> str:
    """The sentence without what people say before they say something."""
    rest = FILLERS.sub("", sentence, count=1).lstrip(_LEADING)
    for _ in range(3):
        shorter = _LEADS.sub("", rest, count=1).lstrip(_LEADING)
        if shorter == rest:
            break
        rest = shorter
    return rest or sentence


def not_a_fact(sentence: str) -> str:
    """Why a plain sentence is no fact about the speaker; '' when it may be one."""
    if is_question(sentence):
        return "question"
    if _YOU.search(sentence):
        return "second person"
    return next((name for name, pattern in _TESTS if pattern.search(sentence)), "")


_SELF: Final = re.compile(r"\b(?:i|me|my|mine|we|us|our)\b", re.IGNORECASE)


def is_about_other(sentence: str) -> bool:
    """Whether a sentence speaks of the one it is said to, and not of the speaker."""
    return bool(_YOU.search(sentence)) and not _SELF.search(sentence)


def leaves_open(sentence: str, *, is_short: bool = False) -> bool:
    """Whether a sentence says "something" where one would want to know what."""
    return bool(_OPEN.search(sentence)) or (not is_short and bool(_OPEN_IN_TALK.search(sentence)))


_REACTION: Final = re.compile(
    r"^(?:glad|happy|sorry|excited|proud|thanks|thank|congrats|congratulations|good (?:luck|to|for|job)|hope|hoping|sounds|looks|bet|must|wish|way to go|nice|great|awesome|cool|wow|so|such|what a|love (?:it|that|this|the|your|how)|can not wait|could not|no (?:problem|worries|doubt|wonder)|speaking|believe|trust|anything|any|yay|well done|keep|good)\b",
    re.IGNORECASE,
)


def is_reaction(sentence: str) -> bool:
    """Whether a sentence answers the other one rather than tells something ("Glad to hear ...")."""
    return bool(_REACTION.match(sentence))


def is_unreal(sentence: str) -> bool:
    """Whether a sentence supposes or doubts what it says."""
    return bool(_HYPOTHETICAL.search(sentence) or _HEDGE.search(sentence) or _QUOTED.search(sentence))


def is_of_the_task(sentence: str) -> bool:
    """Whether a sentence tells what is worked on right now, or how somebody feels about it."""
    return bool(_OF_THE_TASK.search(sentence) or _BESIDE_ONESELF.search(sentence))


def is_task(sentence: str) -> bool:
    """Whether a sentence without subject tells the assistant to do something."""
    return bool(_TASK.match(sentence))


def points(sentence: str) -> bool:
    """Whether a sentence starts by pointing at something said elsewhere."""
    return bool(_POINTING.match(sentence))


_IMPERSONAL: Final = re.compile(
    r"^(?:been|had|took|was|felt|sounded|looked|seemed|turned out|made|got|meant|cost|based|said|told|given|compared|needless|supposed|called|named|inspired|surrounded|filled|packed) (?:a |an |some |the |so |really |very |pretty |quite |me |it |that |to |on |by |with )",
    re.IGNORECASE,
)
_THING_DID: Final = re.compile(
    r"^(?:just )?(?:been (?!\w+ing\b|to\b|in\b|on\b|at\b)|(?:sounded|looked|seemed|turned out|meant|cost|based|said|told|given|compared|needless|supposed|called|named|inspired|surrounded|filled|packed|got (?:it|this|that|you)|made (?:me|it|sense)|makes sense|missed you|loved (?:it|that)|wanted to|glad|heard)\b)",
    re.IGNORECASE,
)


def is_impersonal(sentence: str, *, is_note: bool) -> bool:
    """Whether the missing subject of a sentence is a thing or the talk itself ("Been a crazy week", "Took some time")."""
    return bool((_THING_DID if is_note else _IMPERSONAL).match(sentence) or _THING_DID.match(sentence))


_PRAISE: Final = re.compile(
    r"^(?:(?:it|that|this|they|these|those) (?:is|are|was|were|sounds?|looks?|must|means|feels|seems)|thanks|thank|wow|congrats|glad|yeah|yep|haha|lol|awesome|cool|great|nice|sounds|looks|good (?:luck|job)|bye|see you|take care|love that)\b(?!.*\b(?:i|my|me|we|our|not|no|off|over|gone|done|cancel\w*|dead|ended|back|now|again|still|any ?more|lost|sold|healed|closed)\b)",
    re.IGNORECASE,
)


def is_small_talk(sentence: str) -> bool:
    """Whether a sentence only keeps the talk going and can change nothing that is known."""
    return bool(_PRAISE.match(sentence) or _SMALL_TALK.match(sentence))
