"""Words the rules know. Data only; the functions that use it stand beside it."""

from __future__ import annotations

from typing import Final


def _word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


KIN: Final = _word_set(
    """mother mom mum mama father dad papa parent parents sister sisters brother brothers sibling siblings wife husband
    spouse partner girlfriend boyfriend fiance fiancee fiancé fiancée son sons daughter daughters kid kids child
    children baby toddler grandmother grandma grandfather grandpa grandparents grandson granddaughter aunt uncle cousin
    cousins nephew niece friend friends bestie roommate flatmate housemate neighbour neighbor colleague coworker
    co-worker boss manager teammate team mentor stepmother stepfather stepsister stepbrother in-laws ex twin family
    mother-in-law father-in-law sister-in-law brother-in-law buddy mate teacher doctor therapist landlord client"""
)
"""People who stand in a relation to the speaker."""


PETS: Final = _word_set(
    "dog dogs puppy pup cat cats kitten hamster rabbit parrot horse fish goldfish turtle guinea-pig pet"
)

NEGATIONS: Final = _word_set(
    "not no never none nothing nobody neither nor without cannot hardly barely rarely seldom nowhere"
)

STOP_WORDS: Final = _word_set(
    """a an the this that these those i me my mine myself we us our ours you your yours he him his she her hers it its
    they them their theirs themselves himself herself itself who whom whose which what when where why how and or but so
    if then than as at by for from in into of off on onto out over to up with about after again all also am any are be
    been being both can could is did do does doing done each few had has have having here just let may might more most much
    must now once only other own same shall should some such there through too under until very was were will would yet
    user users really quite pretty still even always usually often sometimes currently recently actually basically
    definitely honestly lately ever already maybe perhaps however though although because since while during upon due
    one ones thing things something anything everything someone anyone lot lots bit kind sort way ways oh well yeah yes
    ok okay hi hey hello lol haha know think guess feel felt feeling find found finding like likes liked liking love
    loves loved loving enjoy enjoys enjoyed enjoying prefer prefers preferred preferring dislike dislikes disliked hate
    hates hated fan want wants wanted wanting decide decides decided deciding say says said get gets got getting go goes
    went going gone make makes made making keep keeps kept keeping seem seems seemed become becomes became"""
)

LIGHT: Final = _word_set(
    """new local time times event events session sessions activity activities attend attended attending explore explored
    exploring participate participated participating participation watch watching watched learn learned learning create
    created creating creation join joined joining practice practiced practicing engage engaged engaging engagement visit
    visited visiting take takes took taking start started starting begin began beginning use used uses using try tried
    trying day days week weeks month months year years today tomorrow yesterday last next first second good great nice
    best better big small old long short different many several group groups community experience experiences part focus
    focused focusing together people everyone personal own more less home house place places class classes workshop
    workshops work works worked working play played playing read reading organize organizing organized host hosting
    hosted regular regularly daily weekly weekend weekends morning evening night nights online offline social friend
    friends family project projects program programs service services club clubs course courses choice choices option
    options idea ideas need needs help helped helping topic topics style styles live lives living lived own owns owned
    give gives gave giving see saw seen look looking looked follow following followed discover discovering collect
    collecting write writing wrote share shared sharing plan plans planned planning older younger am pm dollar dollars
    euro euros pound pounds percent kg cm km mg minute minutes hour hours buy bought"""
)
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

CESSATION: Final = (
    r"stop(?:s|ped|ping)?|no more|quit(?:s|ting)?|g[ai]ve(?:n|s)? up|giving up|ceas(?:e|es|ed|ing)|cancel(?:s|led|ed|ling|ing)?"
    r"|drop(?:s|ped|ping)?|abandon(?:s|ed|ing)?|discontinu(?:e|es|ed|ing)|opt(?:s|ed|ing)? out|unsubscrib(?:e|es|ed|ing)"
    r"|no longer|any ?more|mov(?:e|es|ed|ing) away from|step(?:s|ped|ping)? (?:back|away|down)|step back"
    r"|withdr(?:ew|aw|awn|awing)|resign(?:s|ed|ing)?|skip(?:s|ped|ping)?|declin(?:e|es|ed|ing)|avoid(?:s|ed|ing)?"
    r"|refus(?:e|es|ed|ing)|delet(?:e|es|ed|ing)|remov(?:e|es|ed|ing)|sold|sell(?:s|ing)?|ga?ve away|got rid of"
    r"|get(?:ting)? rid of|retir(?:e|es|ed|ing)|(?:gone|went|going) off|lost interest|los(?:e|ing) interest"
    r"|tired of|bored (?:of|with|by)|fed up|back(?:s|ed|ing)? out|pull(?:s|ed|ing)? out|break from|hiatus"
    r"|paus(?:e|es|ed|ing)|swor(?:e|n) off|cut(?:s|ting)? out|ditch(?:es|ed|ing)?|stay(?:s|ed|ing)? away"
    r"|steer(?:s|ed|ing)? clear|reduc(?:e|es|ed|ing)|limit(?:s|ed|ing)?|cut(?:ting)? (?:back|down)|decided against"
    r"|walk(?:s|ed|ing)? away|left|leave(?:s)?|leaving|laid off|fired|used to|kicked the habit|phas(?:e|ed|ing) out"
    r"|over it|done with|finished with|got rid|threw (?:out|away)|return(?:ed|ing) (?:it|them)|reconsider(?:s|ed|ing|ation)?"
    r"|put off|hesitant|step(?:s|ped)? away|revert(?:s|ed|ing)?|scrap(?:s|ped|ping)?|kill(?:s|ed|ing)?|clos(?:e|es|ed|ing) (?:down|for good|the)"
    r"|shut(?:ting)? down|uninstall(?:s|ed|ing)?|hand(?:s|ed|ing)? (?:back|in)|(?:is|are|was|were) (?:gone|over|off|dead|history|finished)|passed away|die[ds]?|died"
    r"|s(?:ay|aid|aying) goodbye|rehom(?:e|ed|ing)|put (?:him|her|it) down|put to sleep|call(?:s|ed|ing)? off|fell through|heal(?:s|ed|ing)?"
    r"|paid off|pay(?:ing)? off|came off|expired|laps(?:e|ed|ing)|not renew(?:ed|ing)?|end(?:s|ed|ing)|wound (?:up|down)|outgrew|outgrown|gave (?:it|him|her|them)"
    r"|dump(?:s|ed|ing)?|scrapp(?:ed|ing)|split up|broke up|broken up|mov(?:e|ed|ing) (?:out|off|on)|got over|recover(?:s|ed|ing)|let (?:it |him |her |them )?go"
    r"|lost|los(?:es|ing)|wean(?:s|ed|ing)?|turn(?:s|ed|ing)? down|switch(?:es|ed|ing)? off|took (?:a )?leave"
    r"|so much for|in the (?:bin|trash|garbage)|pull(?:s|ed|ing)? the plug|r[au]n(?:s|ning)? out|(?:went|gone|going) (?:bust|bankrupt|under|out of business)|gave up the ghost|bye(?:[- ]bye)?|goodbye|adios|so long,|packed (?:up|in)|hung up|threw in|call(?:s|ed|ing)? it (?:quits|a day)|binned|chucked|bailed|kaput|(?:am|is|been|come|coming|went|now|completely) off(?= (?:the |my )?[a-z]+ (?:since|now|for|as|after|completely|altogether)\b|$|[,.!])|(?:is|are|was|were) out(?=$|[,.;!])|gave back|returned (?:the|my)|dissolv(?:e|ed|ing)|cured|clear(?:s|ed) up|remission|vanished|disappeared|will not be (?:going|doing|using|renewing|attending|joining)|no use for|enough of|farewell to|goodbye to|(?:do|does|did|will) not miss|behind (?:me|us)|ran (?:away|out)|broke down|stolen"
    r"|(?:go|goes|went|gone|going) (?:away|to the scrapyard)|donat(?:e|es|ed|ing)|unfollow(?:s|ed|ing)?|dropp?ed out|postpon(?:e|es|ed|ing)|rid of"
    r"|(?:am|is|are|was|were|has|have|be) (?:\w+ )?sober|discard(?:s|ed|ing)?|shelv(?:e|es|ed|ing)|deactivat(?:e|es|ed|ing)|disband(?:s|ed|ing)?"
)
"""Words that end something."""

CESSATION_AROUND: Final = r"swap(?:s|ped|ping)? (?:\w+ ){1,3}out|ga?ve (?:the|my|our|all) (?:\w+ ){1,3}(?:away|to)|found (?:\w+ ){0,3}home for|put (?:\w+ ){1,3}(?:up for sale|to sleep)|(?:the|my|our) (?:\w+ ){1,3}went to (?:my|our|a|the) (?:niece|nephew|cousin|brother|sister|friend|neighbour|neighbor|son|daughter|charity|scrapyard|dump|junkyard|buyer)|^off (?:the |my )?\w+ (?:since|now|for|as of)"
"""The same with what is ended in the middle."""


AVERSION: Final = (
    r"dislik(?:e|es|ed|ing)|hat(?:e|es|ed|ing)|detest(?:s|ed)?|loath(?:e|es|ed)|avers(?:e|ion)|despis(?:e|es|ed)"
    r"|(?:can|could)(?: ?not) stand|not (?:really )?(?:a |my )?(?:big |huge |much of a )?(?:fan|thing|into|cup of tea|keen)"
    r"|boring|dull|tedious|monotonous|repetitive|tiresome|overwhelm(?:ed|ing)|disappoint(?:ed|ing|ment)|frustrat(?:ed|ing|ion)"
    r"|uncomfortable|discomfort|unpleasant|stress(?:ed|ful)?|uninspir(?:ed|ing)|uninteresting|unfulfilling|unhelpful"
    r"|ineffective|unsatisf(?:ying|actory)|disconnected|drain(?:ed|ing)|exhaust(?:ed|ing)|regret(?:s|ted)?|waste of"
    r"|awkward|disinterest(?:ed)?|disengaged|bored|discontent|annoy(?:ed|ing)|chaotic|pressured?|lack of|fail(?:s|ed) to"
    r"|hard to (?:focus|enjoy|follow|concentrate)|difficult(?:y)? (?:to|in|with|focusing)|struggl(?:e|es|ed|ing)"
    r"|allergic|intolerant|sick of|gross|disgust(?:s|ed|ing)|terrible|awful|horrible|confus(?:ed|ing)|less (?:valuable|fun)"
    r"|react(?:s|ed|ing)? badly|too (?:slow|expensive|pricey|dear|costly|small|heavy|cold|loud|hard|boring|crowded|stressful|old|far|noisy|much work|complicated)|a mess|queasy|nause\w+|lost (?:all )?(?:its|their) (?:charm|appeal)"
    r"|did not (?:meet|live up)|(?:makes?|made) me (?:sick|ill|sad|itch)|unbearable|taken aback|put me off|got old|worse|bores? (?:me|them|us)"
    r"|under ?whelm(?:ed|ing)|anxious|not as (?:rewarding|fun|enjoyable|good|interesting)|lost (?:my|the) (?:passion|taste)"
)
"""Words of not liking."""

NOT_NEGATIVE: Final = (
    r"(?:can|could) ?not wait|used to (?:\w+ )?(?:hate|dislike|avoid|detest|loathe|struggle)|no longer (?:afraid|scared|hat\w+|avoid\w*|dislik\w+|mind\w*|bother\w*|struggl\w+|stress\w*)"
    r"|not only|not bad|no problem|never better|stopped (?:avoiding|hating|disliking|worrying|stressing)"
    r"|(?:do|does|did) not mind|no doubt|nothing (?:but|better|beats)|not just|no wonder|why not|overc[ao]me"
    r"|none of (?:us|them|you)|blood pressure|(?:outgr[eo]wn?|no longer have|got over|got rid of|cured of|over) (?:(?:the|my|an?|any) )?(?:\w+ )?(?:allerg(?:y|ies)|intolerance)|no longer (?:\w+ )?(?:allergic|intolerant)|not (?:\w+ )?allergic|no pressure|without (?:the )?pressure|stress relief|reduce stress|stress[- ]free|anxiety relief|not to mention"
    r"|non[- ]\w+|never miss(?:es|ed)?|left[- ]over\w*|(?:the|my|his|her|their) left|left[- ](?:hand(?:ed|er)?|side)"
    r"|(?:flight|train|bus|ferry|boat|plane|coach|tram|taxi|ship)(?: (?:to|from|for) \w+(?: \w+)?)? leaves?"
    r"|(?:is|are|am) (?:already |now |both |long |happily )?retired|(?:is|are|am|still) paying off|cannot (?:get enough|live without|do without|go without|be without)|never (?:without|get (?:tired|bored) of|tired? of|leaves? (?:the )?(?:house|home) without)|nothing like|stop(?:s|ped|ping)? (?:at|by|for|off|over)"
    r"|(?:alleviate|relieve|reduce|manage|ease|combat|despite|lower|lessen) (?:\w+ )?(?:stress|anxiety|pressure|frustration)"
)
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

CLASSES: Final[dict[str, tuple[str, ...]]] = {
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
