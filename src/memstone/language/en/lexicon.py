"""Words the rules know. Data only; the functions that use it stand beside it."""

from __future__ import annotations

from typing import Final

from memstone.language.lists import read_data

_DATA: Final = read_data("en", "lexicon")


def _word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


KIN: Final = _word_set(_DATA["kin"])
"""People who stand in a relation to the speaker."""


PETS: Final = _word_set(
    "dog dogs puppy pup cat cats kitten hamster rabbit parrot horse fish goldfish turtle guinea-pig pet"
)

NEGATIONS: Final = _word_set(
    "not no never none nothing nobody neither nor without cannot hardly barely rarely seldom nowhere"
)

STOP_WORDS: Final = _word_set(_DATA["stop_words"])

LIGHT: Final = _word_set(_DATA["light"])
"""Words that say little about what a sentence is about; they count for less."""

IRREGULAR: Final = {
    form: verb
    for verb, forms in (
        row.split(":")
        for row in """buy:bought sell:sold run:ran take:took,taken teach:taught drive:drove,driven eat:ate,eaten drink:drank,drunk
        sing:sang,sung swim:swam see:saw,seen build:built learn:learnt give:gave,given keep:kept meet:met pay:paid
        ride:rode,ridden sleep:slept spend:spent speak:spoke,spoken wear:wore,worn win:won fly:flew,flown grow:grew,grown
        write:wrote,written draw:drew,drawn choose:chose,chosen bring:brought lend:lent steal:stole,stolen
        break:broke,broken fall:fell,fallen send:sent hold:held tell:told catch:caught""".split()
    )
    for form in forms.split(",")
}
"""Past forms of verbs that a stemmer does not know."""


SYNONYMS: Final = {
    word: group[0]
    for group in (
        "movie film films movies cinema".split(),
        "foreign international overseas".split(),
        "father dad papa".split(),
        "mother mom mum mama".split(),
        "sibling brother sister bro sis siblings brothers sisters".split(),
        "child kid kids children son daughter baby".split(),
        "dog pup puppy dogs".split(),
        "cat kitten cats kitty".split(),
        "car vehicle automobile".split(),
        "choir chorus choirs".split(),
        "job career occupation profession".split(),
        "photograph photo photos photography photographs photographing picture pictures".split(),
        "bike bicycle cycling cycle biking".split(),
        "apartment flat".split(),
        "physician doctor".split(),
        "book books novel novels literature literary reading".split(),
        "trip travel traveling travelling trips outing outings journey".split(),
        "garden gardening gardens".split(),
        "instructor teacher educator teachers educators".split(),
        "meditation meditate meditating mindfulness".split(),
        "exercise workout workouts exercising gym".split(),
        "laptop computer notebook".split(),
        "holiday vacation holidays vacations".split(),
        "attorney lawyer".split(),
        "clothes clothing fashion".split(),
        "coffee espresso latte".split(),
        "grandmother grandma nana gran granny".split(),
        "grandfather grandpa granddad grandad".split(),
        "manager boss supervisor".split(),
        "partner spouse wife husband girlfriend boyfriend fiance fiancee".split(),
        "doctorate phd thesis doctoral dissertation".split(),
        "unemployed jobless".split(),
        "subscription subscribe subscribes subscribed subscribing subscriber".split(),
        "diabetes diabetic".split(),
        "mathematics maths math".split(),
        "author writer writers authors".split(),
        "colour color".split(),
        "crowd crowds crowded".split(),
        "lesson lessons tuition".split(),
        "meeting standup stand-up".split(),
        "surname maiden".split(),
        "cafe café coffeeshop".split(),
        "answer reply replies response responses answers".split(),
        "code coding programming coder programmer codes".split(),
        "sweet sugar sugary".split(),
        "individual solo single-user".split(),
        "drug medication medicine meds".split(),
        "delivery deliveries parcels".split(),
        "grocery groceries".split(),
        "smartwatch watch".split(),
        "university uni".split(),
        "glasses specs spectacles".split(),
        "begin start starts begins beginning".split(),
    )
    for word in group
}
"""Words that stand for the same thing when two statements are compared."""

CESSATION: Final = _DATA["cessation"]
"""Words that end something."""

CESSATION_AROUND: Final = _DATA["cessation_around"]
"""The same with what is ended in the middle."""


AVERSION: Final = _DATA["aversion"]
"""Words of not liking."""

NOT_NEGATIVE: Final = _DATA["not_negative"]
"""Phrases that hold a negative word and mean nothing negative."""

PHRASES: Final = (
    (r"\b(?:the user's|user's|their)\b", "my"),
    (r"\b(\w+)'s (?=(?:been|got|gone)\b)", r"\1 has "),
    (
        r"\b(\w+)'s (?=(?:going|now|still|not|at|on|a|an|the|my|spelled|called|off|over|dead|done|behind|changed|back|here|moving|getting|always|really|so|too|no|fluent)\b|\d)",
        r"\1 is ",
    ),
    (r"\b(?:number one|all[- ]time favou?rite|all[- ]time best)\b", "favourite"),
    (
        r"\bthe ([a-z]+) (?:that |which )?(?:i|user) (?:loves?|likes?|enjoys?|prefers?) (?:the )?(?:most|best)\b",
        r"my favourite \1",
    ),
    (
        r"\b(?:out of (?:work|a job)|(?:between|in between) jobs|without (?:a job|work)|(?:have |has |there is )?no (?:job|work)\b(?! to)|job[- ](?:hunting|seeker|seeking)|looking for (?:a |another |new )+(?:job|position|work))\b",
        "unemployed",
    ),
    (
        r"\b(?:(?:was |were |got |been |am |is )?(?:laid off|made redundant)|(?:was|were|got|been) (?:let go|fired|sacked|axed|dismissed|canned)|lost (?:my|the|his|her|their) job|(?:my |the )?(?:contract|temp job) (?:ran out|ended|expired|was not (?:renewed|extended)))\b",
        "became unemployed",
    ),
    (
        r"\b(?:home[- ]office|(?:work(?:s|ing)? )?(?:remotely|from home)|remote work(?:ing)?|wfh|telecommut\w+)\b",
        "homeoffice",
    ),
    (
        r"\b(?:back (?:in|to|at) the office|in the office (?:full[- ]time|every day|(?:two|three|four|five|\d) days|again|now)|on[- ]site)\b",
        "onsite",
    ),
    (r"\b(night|day|late|early) shifts?\b", r"\1shift"),
    (r"\b(?<=work )nights\b|\b(?<=works )nights\b|\b(?<=working )nights\b", "nightshift"),
    (r"\b(?<=work )days\b|\b(?<=working )days\b", "dayshift"),
    (r"\b(?:(?:gets?|getting|got|woke|wakes?|waking) up|up (?=at (?:\d|[a-z]+\b)))\b ?", "wakes "),
    (
        r"\bmy (?:girlfriend|boyfriend|wife|husband|partner|fianc\w+) (?:has )?(?:dumped|left|divorced|broke up with|split up with) me\b",
        "i am single",
    ),
    (r"\b(?:every other week|every (?:two|2|second) weeks?|bi-?weekly)\b", "fortnightly"),
    (r"\b(?:every|each|once a) (week|month|year)\b", r"\1ly"),
    (r"\b(?:every|each|once a) day\b", "daily"),
    (r"\btwice a (week|month|day)\b", r"twice-\1ly"),
    (r"\b(?:three|3) times a (week|month|day)\b", r"thrice-\1ly"),
    (r"\b(?:earns?|earning|make|makes) (?:my |a |their )?(?:money|living) as\b", "work as"),
    (r"\b(?:put|puts|putting|set|sets|setting) (?:aside|away)\b", "save"),
    (r"\b(?:put|puts|putting|set|sets|setting) (\d\S*(?: (?:dollars|euros|pounds))?) (?:aside|away)\b", r"save \1"),
    (r"\b(?:mother tongue|first language|native (?:language|speaker))\b", "native speaker"),
    (r"\b(?:passed away|no longer with us|no longer alive)\b", "died"),
    (r"\b(?:early bird|early riser)\b", "up early"),
    (r"\bdoctor of philosophy|ph\.d\.?", "phd"),
    (r"\bhalf (?:past )?(\d+)\b", r"\1:30"),
    (r"\bin '([3-9]\d)\b", r"in 19\1"),
    (r"\bin '([0-2]\d)\b", r"in 20\1"),
    (r"\b(?:two|2) (morning|evening|afternoon|night)s a week\b", r"twice-weekly in the \1"),
    (r"\b(?:three|3) (morning|evening|afternoon|night)s a week\b", r"thrice-weekly in the \1"),
    (r"\b(full|part) time\b", r"\1-time"),
    (r"\b(?:no|not a single) ([a-z]+) (?:beats|comes close to|compares to|is better than)\b", r"my favourite \1 is"),
    (r"\b(live|lives|living) (?:all )?(?:by (?:myself|themselves|themself)|on (?:my|their) own)\b", r"\1 alone"),
    (r"\bmy (?:better|other) half\b", "my partner"),
    (r"\bt(?:ie|ies|ied|ying) the knot\b", "got married"),
    (r"\b(is|am|are) expecting(?: a (?:baby|child))?(?=$|[.,!;])", r"\1 pregnant"),
    (r"\b(?:do|does|doing|am on|is on) (night|day|late)s\b", r"work \1shift"),
    (
        r"\b(?:only child|(?:do not have|have not got|has not got|does not have|have|has|without)(?: any| no)? (?:siblings|brothers or sisters))\b",
        "no siblings",
    ),
    (
        r"\b(?:takes?|taking|catch(?:es)?|goes by|go by|get|gets|rides?) (?:the |a |my )?(train|bus|tram|tube|metro|subway|ferry|bike) (?:in )?to (?:the office|work|my office)\b",
        r"commute by \1",
    ),
    (r"\b(?:cycles?|cycling|bikes?|biking) (?:in )?to (?:the office|work)\b", "commute by bike"),
    (r"\b(?:walks?|walking) to (?:the office|work)\b", "commute on foot"),
    (r"\bgo(?:es)? to (?:the office|work) by (\w+)\b", r"commute by \1"),
    (r"\b(?:a )?(?:lefty|left-hander|southpaw)\b", "left-handed"),
    (r"\b(?:gets?|getting) (?:around|about) in (?=an? |my |the )", "drive "),
)
"""Set phrases and the plain words they are compared as."""

CLASSES: Final = {
    "sex": ("male boy", "female girl"),
    "length": ("short brief concise shorter terse", "long longer detailed detail verbose lengthy"),
    "hours": ("full-time fulltime", "part-time parttime"),
    "units": ("metric", "imperial"),
    "temperature": ("celsius", "fahrenheit"),
    "shift": ("nightshift", "dayshift", "lateshift", "earlyshift"),
    "plan": ("premium pro plus paid", "basic free standard", "family", "individual solo", "student", "duo"),
    "level": ("a1 beginner", "a2 elementary", "b1 intermediate", "b2", "c1 advanced", "c2 fluent fluently"),
    "fuel": ("diesel", "petrol gasoline", "electric", "hybrid"),
    "system": ("windows", "macos mac", "linux ubuntu", "android", "ios"),
    "tone": ("formal formally", "informal casual informally casually"),
    "mode": ("dark", "light"),
    "seat": ("window", "aisle"),
    "reading": ("high elevated", "low", "normal"),
    "frequency": (
        "daily",
        "weekly",
        "fortnightly",
        "monthly",
        "yearly",
        "twice-weekly",
        "thrice-weekly",
        "twice-monthly",
    ),
    "workplace": ("homeoffice", "onsite"),
    "hand": ("left-handed lefty", "right-handed righty"),
}
"""Values of which one thing has only one at a time; words of one string mean the same."""
