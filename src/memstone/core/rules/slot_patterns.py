"""How people say what they have one of at a time. Data only; :mod:`memstone.core.changes.slots` reads it."""

from __future__ import annotations

import re
from typing import Final

_END: Final = r"(?=$|[.,;!?()]| -| (?:and|but|as|with|since|for|because|where|who|which|so|now|again|these|in order|to be|after|before|when|while|at the|last|this|next|from|by|until|then|though|anymore|any more|long|currently|right now|myself|today|yesterday|about|near|close|instead|not|if|already|done|on everything)\b)"
_PLACE: Final = rf"(?:the )?([^\W\d][^\W\d_' .-]*(?:[' .-]+[^\W\d_]+){{0,4}}?){_END}"
_THING: Final = rf"(?:an? |the |my |our |some )?(?:(?:new|brand new|used|second[- ]hand|little|tiny|trusty) )?([^\W_][\w' .+#/&-]{{0,40}}?){_END}"
_TITLE: Final = rf"([a-z][a-z -]{{2,40}}?)(?:{_END}|(?= at\b))"
_I: Final = r"(?:i am|user is|we are|i have been)"
_MY: Final = r"(?:my|our|user's|the)"
_NOW: Final = r"(?:now |currently |actually |still |just |already |back |officially )*"

_CARS: Final = r"(?:toyota|honda|ford|vw|volkswagen|bmw|audi|mercedes|tesla|kia|hyundai|mazda|nissan|skoda|seat|dacia|renault|peugeot|citro[eë]n|fiat|opel|volvo|subaru|jeep|lexus|mini cooper|chevrolet|chevy|porsche|suzuki|mitsubishi|saab|polestar|rivian|ioniq|corolla|civic|golf|prius|yaris|model [3sy]|leaf|zoe|duster|octavia|polo|punto|panda|clio|kona|fiesta|focus|passat|tiguan|qashqai|sportage|tucson|forester|outback|camry|accord|impreza|twingo|megane|astra|corsa|land rover|range rover|jaguar|alfa romeo|byd|cupra|lada|mustang|bronco|f-150|ram)"
_PHONES: Final = r"(?:iphone|pixel|galaxy s?\d*|galaxy|fairphone|nokia|oneplus|xiaomi|huawei|motorola|samsung phone|nothing phone|redmi)"
_LAPTOPS: Final = (
    r"(?:macbook|thinkpad|xps|chromebook|framework(?: laptop)?|lenovo|zenbook|surface|ideapad|elitebook|dell|asus|acer)"
)
_WATCHES: Final = r"(?:apple watch|garmin|fitbit|galaxy watch|pebble|pixel watch)"
_CONSOLES: Final = r"(?:playstation(?: \d)?|ps\d|xbox(?: \w+)?|nintendo switch|switch 2|steam deck)"


def owned(kind: str, brands: str) -> list[str]:
    """Ways to say which car, phone and so on somebody has."""
    model = rf"((?:\d{{4}} |google |samsung |apple |diesel |electric |hybrid )?{brands}(?: [\w-]+){{0,2}}?){_END}"
    have = r"(?:driv(?:e|es|ing)|owns?|has|have|have got|had|got|bought|buy|leas(?:e|es|ed|ing)|collected|use|uses|using|wears?|wearing|picked up|ordered|switched to|changed to|upgraded to|moved to|went for|on|play(?:s)? on|carry|carries|traded (?:\w+ ){1,5}for|for)"
    return [
        rf"\b{have} (?:me |myself |us |ourselves )?(?:an? |the |my |our |this )?(?:new |brand new |used |old |second[- ]hand |trusty )*{model}",
        rf"\b(?:my|user's|our|it is) (?:an? )?(?:new |old )?(?:{kind} )?(?:is |: ?)?(?:an? |the |now )*{model}",
        rf"\bthe ({brands}(?: [\w-]+){{0,2}}?) is (?:already |now )?(?:parked|mine|my {kind}|in the (?:garage|drive)|here)",
        rf"\b(?:new )?{kind}[:!,.]* (?:it is )?(?:an? |the )?{model}",
    ]


BRANDS: Final = {"car": _CARS, "phone": _PHONES, "laptop": _LAPTOPS, "watch": _WATCHES, "console": _CONSOLES}
"""Makes and models by the kind of thing of which somebody has one."""

PATTERNS: Final = (
    ("name", r"\bit is spelled ([^\W\d][\w'-]{0,20})\b"),
    (
        "name",
        rf"\b{_MY} (?:full |first |last |real |legal )?name is (?:spelled |now )?([^\W\d][\w' -]{{0,30}}?)(?=$|[.,;!?]| (?:and|but|by|with|not|now)\b)",
    ),
    (
        "name",
        r"\b(?:call me|goes by|go by|known as|i am called|address(?:ed|ing)?(?: me)? as|to be called) (?!doctor|doc\b)([^\W\d][\w'-]{0,20})(?= from now|[,.!]|$| (?:not|now|please|again|instead)\b)",
    ),
    (
        "name",
        r"\btook (?:my )?(?:husband|wife|partner|spouse)'s (?:sur|last |family )?name,? so it is ([^\W\d][\w' -]{0,30}?)(?=$|[.,;!?]| (?:on|now|from)\b)",
    ),
    (
        "lives_in",
        rf"(?:^|\b(?:i|we|user|have|has|just|and|then|finally|he|she|they|recently|had|now|am|is|are|be|to|will|all|brother|sister|mother|father|mum|mom|dad|son|daughter|parents|friend|partner|wife|husband|after|since) )(?:moved|moving|relocated|relocating|move)(?: back)?(?: home)?(?: all the way)?(?: from [\w' ]+?)? (?:to|into|over to) (?!the (?:next|new) |an? |\w+days?\b){_PLACE}",
    ),
    (
        "lives_in",
        rf"\b(?:live|lives|living|reside|resides|residing|settled|(?<!company )(?<!firm )(?<!startup )(?<!startup, )(?<!agency )(?<!team )(?<!client )(?<!clients )(?<!employer )(?<!office )(?<!bank )(?<!band )based|live now|lives now|now living|staying permanently|rents?(?: an? \w+)?|renting(?: an? \w+)?) (?:in|at|on|near|out in|over in|down in|up in) {_PLACE}",
    ),
    ("lives_in", rf"\b{_MY} (?:home|place|apartment|flat|house) is {_NOW}(?:in|at) {_PLACE}"),
    (
        "lives_in",
        rf"\b(?:keys to|bought|moved into|moving into|found) (?:an? |the |our |my )?(?:own |new )*(?:house|flat|apartment|place|home|condo) in {_PLACE}",
    ),
    ("lives_in", rf"\bmoved, (?:so )?it is {_PLACE}"),
    ("lives_in", rf"\b(?:home|hometown) is {_NOW}(?!office|where){_PLACE}"),
    ("from", rf"\b(?:i am|user is|originally|comes|come) (?:originally )?from {_PLACE}"),
    ("from", rf"\b(?:grew up|was born|born|was raised|raised) (?:and raised )?in {_PLACE}"),
    (
        "employer",
        rf"\b(?:work|works|working|employed|interning) (?:now )?(?:at|for|by|with) (?!home\b|night|work|it\b|me\b|them\b|the moment|a living|a while|hours|years|about|over|almost|nearly|my\b|long|free\b|\d|children|kids|people){_THING}",
    ),
    (
        "employer",
        rf"\b{_I} {_NOW}(?:at|with) (?!home|work|the (?:moment|gym|beach|airport)|least|my\b|him|her|it\b)([^\W\d][\w&.' -]{{1,30}}?(?: (?:inc|corp|ltd|llc|gmbh|labs|bank|university|hospital))?){_END}",
    ),
    (
        "employer",
        rf"\b(?:joined|joining|start(?:s|ed|ing)? (?:at|with)|hired by|(?:new )?job (?:at|with)|(?:new )?position at|(?:new )?role at|moved over to|employer is|(?:first|second) (?:day|week|month) (?:at|with)|offer from|contract with|signed with) {_NOW}(?!the (?:gym|club|group|league|team)|an? |school|uni){_THING}",
    ),
    (
        "employer",
        r"(?:^|[,;.] )([^\W\d][\w&.' -]{1,30}?) (?:is my (?:new |current )?employer|hired me|offered me a job)",
    ),
    (
        "employer",
        rf"\b(?:work|works|working|employed|started|starting) as an? [a-z -]{{2,30}}? (?:at|for|with) (?!home|night){_THING}",
    ),
    (
        "job",
        rf"\b(?:work|works|working|employed|job|hired|position|role|started|starting|now)(?: [\w&.'-]+){{0,6}}? as (?:an? |the )?(?!well|of|soon|usual|always|browser){_TITLE}",
    ),
    (
        "job",
        rf"\b(?:promoted to|became|become|becoming|got promoted to|(?:been|was|got) (?:made|named|appointed)|title is|job is|profession is) (?:an? |the )?(?:being |to be )?(?:an? )?(?!unemployed|single|vegan|vegetarian|parents?\b|father|mother|friends|part|more|less|too|very|really){_TITLE}",
    ),
    ("job", rf"\b{_I} {_NOW}(?:the )?((?:head|director|chief|vp|lead|manager) of [a-z ]{{2,30}}?){_END}"),
    ("job", rf"\b(?:work|works|working) in {_THING}"),
    (
        "study",
        rf"(?<![\w-])(?:(?:i|we|to|user|they|also) study|studies|studying|majoring in|major in|majors in|degree in|major is(?: now)?|majors? (?:\w+ )?to) (?!guide|group|session|plan|instead|at\b|for\b|in\b|with\b|hard|now\b)(?:an? )?{_TITLE}",
    ),
    ("study", rf"\b(?:switched|changed) majors? (?:from [a-z ]{{1,40}}? )?to {_TITLE}"),
    (
        "aspiration",
        rf"\b(?:want|wants|would love|would like|hope|hopes|dream|dreams|dreaming|aspire|aspires|plan|plans)(?: to grow up)? (?:to|of) (?:be|become|being|becoming) (?!called|addressed|known)(?:an? )?{_TITLE}",
    ),
    (
        "job",
        r"\bi am (?:now )?an? (?!dad|mum|mom|father|mother|parent|grand|vegan|vegetarian|pescatarian|pensioner|non-|student|big|bit|fan|morning|night|cat|dog|member|widow|citizen)([a-z][a-z -]{2,30}?) (?:now|these days|from now)\b",
    ),
    (
        "car",
        rf"\b(?:drive|drives|driving) (?!test|lesson|school|licen[cs]e|instructor|range|to\b|from\b|home|for\b|me\b|not\b|in\b|the kids|at\b|because|every|on\b|my kids|less|more|around|through){_THING}",
    ),
    ("timezone", r"\btime ?zone is (?:now )?([a-z0-9+:/_-]+)"),
    (
        "language",
        r"\b(?:answer|reply|respond|speak|talk|writ(?:e|ing)|answers|replies|responses|chat|switch|back|messages)(?: back)?(?: to)?(?: me| user)? (?:always |only |please )?(?:in|to) (english|german|french|spanish|italian|dutch|portuguese|polish|russian|turkish|arabic|chinese|japanese|korean|swedish|danish|norwegian|finnish|greek|czech|hungarian|romanian|ukrainian|hindi|hebrew|catalan|welsh|irish|slovak|croatian|serbian|bulgarian|vietnamese|thai|indonesian|swahili|latin|mandarin|cantonese)\b",
    ),
    (
        "employer",
        rf"\b(?:left|leaving|quit) [\w&.' -]{{1,30}}? (?:for|to (?:join|work at|work for)) (?!an? |the |my |good|personal|health|family){_THING}",
    ),
)
"""(slot, pattern); group 1 is the value, and the first pattern of a slot that matches wins."""

WANTED: Final = (
    r"\bwants? (?:all |the |your )?([a-z]+) (?:to be )?(?:written |given |shown |displayed |quoted )?in (?!an? |the |my )([a-z]+)",
    r"\b(?:give|show|use|write|tell|put|list|quote|state|express|get|want|need|display)(?: me)? (?:all |the |your |my )?([a-z]+) in (?!an? |the |my )([a-z]+)",
    r"\b([a-z]+) in (?!an? |the |my )([a-z]+) (?:from now on|please|instead|going forward)",
)
"""How somebody asks for things in a unit, language or form: (what, in which)."""

SINGLE_PEOPLE: Final = r"(?:manager|boss|supervisor|landlord|landlady|therapist|dentist|gp|doctor|mother|mom|mum|father|dad|wife|husband|partner|girlfriend|boyfriend|fiance|fiancee|fiancé|fiancée|trainer|coach|tutor|mentor|accountant|vet|hairdresser|team lead|teacher)"
"""People of whom one has one at a time; a new name is a new person."""

_TOOL: Final = r"(?:(?:code|text|main|default|primary|current|preferred|usual) )*(?P<tool>editor|ide|browser|bank|operating system|os|shell|search engine|(?:e-?)?mail client|password manager|(?:phone )?carrier|distro|terminal|window manager|keyboard layout|note-?taking app|notes app|to-?do app|calendar app|task manager|issue tracker|crm|music service|streaming service|messenger|chat app)"
_TOOL_NAME: Final = r"(?P<name>(?!(?:not|the|an?|in|on|at|so|very|too|really|still|always|no|like|from|near|down|up|out|my|our|being|slow|broken|open|closed|full|empty|outdated|corrupt|local|dead|cheap|expensive|blocked|strict|rude|useless|\w{3,}(?:ing|ed|ly))\b)[^\W_][\w.+#&'-]*(?: [\w.+#&'-]+){0,2}?)"
TOOLS: Final = (
    rf"(?:^|[.,;!] )(?:and |but |so )?(?:my|our|user's) {_TOOL} is (?:now )?{_TOOL_NAME}(?= now$|$|[.,;!])",
    rf"\b(?:use|uses) {_TOOL_NAME} as (?:my|our|their|the) {_TOOL}(?= now$|$|[.,;!])",
)
"""How somebody names the one tool that they have for something."""

STATUSES: Final = {
    "marital": (
        ("divorced", r"\bdivorc|\bex-(?:wife|husband)\b|\bsplit from my (?:wife|husband)\b"),
        ("widowed", r"\bwidow"),
        (
            "separated",
            r"\b(?:am|is|are|got) separated\b|\b(?:husband|wife) and (?:i|user) (?:have )?(?:separated|split)",
        ),
        (
            "single",
            r"\b(?:am|is|still|being|currently|newly|are) single\b|\bnot (?:being )?(?:dating|seeing|involved with|with) (?:anyone|anybody|someone)\b|\b(?:broke|broken|split|splitting|breaking) up\b|\bcalled off the (?:wedding|engagement)\b|\b(?:engagement|wedding|relationship) is (?:off|over)\b|\b(?:no longer|not) together\b|\bno (?:girlfriend|boyfriend|partner|husband|wife)\b|\bdumped\b|\bon my own again\b",
        ),
        (
            "married",
            r"\b(?:got|is|am|are|was|just|been|happily|newly|getting) married\b(?! (?:in|next|this))|\bmarried (?:to|for|with|mother|father|man|woman)\b|\bmy (?:wife|husband)\b(?!'s? (?:and|or) )|\btied the knot\b|\bnewlywed|\bsaid i do\b|\b(?:is|are) (?:now )?(?:my )?(?:husband|wife) (?:now|and wife)\b|^(?:we |just )*married\b",
        ),
        (
            "engaged",
            r"\b(?:got|is|am|are|just|was) engaged\b(?! in)|\bmy fianc|\b(?:have|has|got) an? fianc|\bengaged to\b|\bpropos(?:ed|al)\b.{0,100}\bsaid yes\b|\bsaid yes\b.{0,100}\bring\b",
        ),
        (
            "dating",
            r"\b(?:am|is|started|been|are) (?:now )?(?:dating|seeing|going out with) (?:an? |someone|this|my|[a-z]+)\b|\bin a (?:new )?relationship\b|\b(?:my|have an?|has an?|got an?) (?:new )?(?:girlfriend|boyfriend)\b|\bam with (?!my|the|an?|you|child)[a-z]+ (?:now|since)",
        ),
    ),
    "diet": (
        (
            "vegan",
            r"\bvegan\b|\bplant[- ]based\b|\b(?:not eat|eats? no|no|without|stopped eating) (?:any )?animal products\b",
        ),
        (
            "vegetarian",
            r"\bvegetarian\b|\bveggie\b|\b(?:stopped|quit|gave up|no longer|not|given up|off|without|no more)(?: \w+)? (?:eat(?:s|ing)? )?(?:any )?meat\b|\bmeat[- ]free\b",
        ),
        ("pescatarian", r"\bpescatarian\b"),
        (
            "omnivore",
            r"\b(?:eat(?:s|ing)?|started eating|back to eating|enjoy(?:s|ing)?|having|cook(?:s|ing)?|back (?:on|to)) (?:red )?meat\b|\bomnivore\b|\bmeat[- ]eater\b|\b(?:steaks?|burgers?|bacon|chicken|meat|sausages?) again\b|\beat(?:s|ing)? (?:everything|chicken|beef|pork|steak|fish and meat) again\b|\b(?:had|ate) (?:my |a )?first (?:steak|burger|schnitzel|bacon|kebab)\b",
        ),
        ("keto", r"\bketo\b"),
    ),
    "work": (
        (
            "unemployed",
            r"\bunemployed\b|\b(?:quit|left|resigned from) my job\b|^(?:i )?(?:just |finally )?(?:quit|resigned)(?: today| yesterday| this \w+| last \w+)?(?=$|[,.!])|\blast day at work\b|\bhanded in my (?:notice|resignation)\b",
        ),
        (
            "retired",
            r"\b(?:am|is|just|now|have|has|finally|officially) (?:\w+ )?retired\b|^retired\b|\bi retired\b|\bpensioner\b|\bretiree\b|\bin retirement\b|\bstarted (?:my )?retirement\b",
        ),
    ),
    "studying": (
        (
            "finished",
            r"\bgraduat(?:ed|ion)\b|\b(?:defended|finished|completed|submitted|handed in|done with|passed) (?:my|the) (?:phd|thesis|dissertation|degree|studies|master|bachelor|diploma|viva|final exams?|doctorate)|\b(?:got|have|earned|received) my (?:phd|degree|diploma|doctorate|master|bachelor)|\b(?:done with|stopped|finished|left) (?:uni|university|college|school|high school|studying)\b",
        ),
        (
            "dropped out",
            r"\bdropped out\b|\b(?:quit|left) (?:uni|university|college|school|my degree|the degree)\b",
        ),
        (
            "student",
            r"\bstudent\b(?! loan| debt| discount| plan| days)|\b(?:phd|doctoral|masters?|degree) candidate\b|\b(?:is|am|are) (?:still )?(?:in|at) (?:high |primary |elementary )?(?:school|university|college|uni)\b|\b(?:i|we|to|user) study |\b(?:studies|studying|majoring) |\b(?:attend(?:s|ing)?|go(?:es)? to|enrolled (?:at|in)) (?:\w+ ){0,3}(?:university|college|uni|school|kindergarten|bootcamp)\b|\b(?:doing|pursuing|working on) (?:an? |my |the )?(?:phd|degree|master|bachelor|doctorate|thesis)",
        ),
    ),
}
"""Statuses a person has one of; the first that matches counts."""

ENDS_ONLY: Final = frozenset({"studying"})
"""Statuses that only a later step replaces: who graduated once may well study again, and that is no correction."""

FOLLOWS: Final = {"finished": frozenset({"student"}), "dropped out": frozenset({"student"})}
"""The steps before such a step."""

IMPLIED: Final = {
    ("work", "unemployed"): ("employer", "job"),
    ("work", "retired"): ("employer", "job"),
}
"""A status that empties other slots."""

_OLD: Final = r"(\d{1,3})(?: years old| yrs old| year old|(?=[.,!]|$| now| by the way| btw| today| and| next| this| last| on))(?! (?:minutes|hours|days|kids|pounds|kg|cm|feet))"
AGES: Final = (
    rf"\b(?:i am|user is|user just turned|am|turned|turning|just turned|i hit|just hit|being) (?:now |already |just |only )?{_OLD}",
    r"\b(?:i am|user is|as) (?:an? )(\d{1,3})[- ]years?[- ]old\b",
    r"^(\d{1,3}) years old\b",
    r"\b(?:my|user's) age(?: is)? (?:now )?(\d{1,3})\b",
    r"\b(?:celebrated|had) (?:my|their|his|her) (\d{1,3})(?:st|nd|rd|th) birthday\b",
)
"""How the speaker tells an age."""

AGES_OF_OTHERS: Final = (
    *AGES,
    rf"\b(?:is|are|hit|hits|turns|was) (?:now |already |just |only )?{_OLD}",
    r"\baged? (\d{1,3})\b",
)
"""How they tell somebody's."""

FAVOURITES: Final = (
    (
        rf"(?<!second )(?<!least )(?<!other )\bfavou?rite ([a-z][a-z ]{{1,25}}?) (?:is|are|has to be|would be|of all time is|right now is|now is|these days is|nowadays is) (?:now |definitely |probably )?{_THING}",
        1,
        2,
    ),
    (rf"(?<!second )(?<!least )(?<!other )\bfavou?rite ([a-z]{{2,20}})[:?] ?{_THING}", 1, 2),
    (
        rf"(?:^|[,;.] |\bit is |\bbut )(?:an? |the )?([^\W_][\w' .+&-]{{0,40}}?) (?:is|are) {_NOW}(?:my|user's) {_NOW}(?:new )?favou?rite ([a-z]{{2,20}})\b",
        2,
        1,
    ),
    (
        r"(?<!second )(?<!least )\bfavou?rite ([a-z]{2,20}) (?:any ?more|no longer),? (?:it is|now it is|that is) (?:now )?([a-z][\w' -]{0,30}?)(?=$|[.,;!?]| now)",
        1,
        2,
    ),
)
"""(pattern, group of what, group of the value)."""

ADDRESS: Final = r"\b(?:my|our|user's|new|the) (?:new |current |street |postal |home ){0,4}((?:delivery |shipping |mailing |email |work |office )?(?:e-?mail )?address)(?: for ([a-z]+))?(?: is| to|:|,){1,4} (?:now )?([\w@.][\w@.' -]{2,40}?)(?=$|[,;!?]| from| now)"
"""What kind of address, what it is for, and the address."""

OCCUPATION_ENDINGS: Final = (
    "er", "or", "ist", "ian", "ant", "eer", "man", "woman", "ologist", "ess", "smith", "keeper", "yst", "nurse", "chef",
    "vet", "clerk", "pilot", "cop", "attorney", "scribe", "coach", "nanny", "athlete", "model", "lead", "founder", "guide", "agent", "judge", "priest", "analyst", "technician", "intern",
)  # fmt: skip
NOT_OCCUPATIONS: Final = frozenset(
    """lover owner mother father sister brother beginner believer fighter vegetarian person member fan supporter user
    follower stranger winner loser survivor sufferer minor senior junior christian italian indian russian canadian
    australian american brazilian norwegian egyptian sleeper eater drinker reader runner swimmer hiker biker gamer traveler
    traveller collector lefty introvert extrovert parent grandfather grandmother grandparent husband homeowner dreamer
    learner starter newcomer foodie night-owl early-riser partner daughter meat-eater veteran listener planner worker
    optimist pessimist perfectionist feminist smoker non-smoker vegan pescatarian libertarian lawbreaker carnivore
    twin virgo pisces aquarian librarian-at-heart bookworm pensioner subscriber speaker holder""".split()
)
IS_A: Final = re.compile(rf"\b(?:i am|user is|i was|user was) {_NOW}an? ([a-z][a-z -]{{1,40}}?){_END}")
