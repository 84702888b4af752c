"""Words the rules know. Data only; the functions that use it stand beside it."""

from __future__ import annotations

from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


KIN: Final = _words(
    """mother mom mum mama father dad papa parent parents sister sisters brother brothers sibling siblings wife husband
    spouse partner girlfriend boyfriend fiance fiancee fiancé fiancée son sons daughter daughters kid kids child
    children baby toddler grandmother grandma grandfather grandpa grandparents grandson granddaughter aunt uncle cousin
    cousins nephew niece friend friends bestie roommate flatmate housemate neighbour neighbor colleague coworker
    co-worker boss manager teammate team mentor stepmother stepfather stepsister stepbrother in-laws ex twin family
    mother-in-law father-in-law sister-in-law brother-in-law buddy mate teacher doctor therapist landlord client"""
)
"""People who stand in a relation to the speaker."""

PETS: Final = _words(
    "dog dogs puppy pup cat cats kitten hamster rabbit parrot horse fish goldfish turtle guinea-pig pet"
)

NEGATIONS: Final = _words(
    "not no never none nothing nobody neither nor without cannot hardly barely rarely seldom nowhere"
)

STOP_WORDS: Final = _words(
    """a an the this that these those i me my mine myself we us our ours you your yours he him his she her hers it its
    they them their theirs themselves himself herself itself who whom whose which what when where why how and or but so
    if then than as at by for from in into of off on onto out over to up with about after again all also am any are be
    been being both can could did do does doing done each few had has have having here just let may might more most much
    must now once only other own same shall should some such there through too under until very was were will would yet
    user users really quite pretty still even always usually often sometimes currently recently actually basically
    definitely honestly lately ever already maybe perhaps however though although because since while during upon due
    one ones thing things something anything everything someone anyone lot lots bit kind sort way ways oh well yeah yes
    ok okay hi hey hello lol haha know think guess feel felt feeling find found finding like likes liked liking love
    loves loved loving enjoy enjoys enjoyed enjoying prefer prefers preferred preferring dislike dislikes disliked hate
    hates hated fan want wants wanted wanting decide decides decided deciding say says said get gets got getting go goes
    went going gone make makes made making keep keeps kept keeping seem seems seemed become becomes became"""
)

LIGHT: Final = _words(
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
    collecting write writing wrote share shared sharing plan plans planned planning"""
)
"""Words that say little about what a sentence is about; they count for less."""

SYNONYMS: Final = {
    word: group[0]
    for group in (
        "movie film films movies cinema".split(),
        "foreign international overseas".split(),
        "father dad papa".split(),
        "mother mom mum mama".split(),
        "sibling brother sister bro sis siblings brothers sisters".split(),
        "child kid kids children son daughter".split(),
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
        "grandfather grandpa granddad".split(),
        "manager boss supervisor".split(),
        "partner spouse wife husband girlfriend boyfriend fiance fiancee".split(),
        "doctorate phd thesis doctoral dissertation".split(),
        "unemployed jobless".split(),
        "subscription subscribe subscribes subscribed subscribing".split(),
        "grocery groceries".split(),
        "smartwatch watch".split(),
    )
    for word in group
}
"""Words that stand for the same thing when two statements are compared."""

CESSATION: Final = (
    r"stop(?:s|ped|ping)?|quit(?:s|ting)?|g[ai]ve(?:n|s)? up|giving up|ceas(?:e|es|ed|ing)|cancel(?:s|led|ed|ling|ing)?"
    r"|drop(?:s|ped|ping)|abandon(?:s|ed|ing)?|discontinu(?:e|es|ed|ing)|opt(?:s|ed|ing)? out|unsubscrib(?:e|es|ed|ing)"
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
    r"|lost|los(?:es|ing)|wean(?:s|ed|ing)?|turn(?:s|ed|ing)? down|swap(?:s|ped|ping)? (?:\w+ ){0,3}out|switch(?:es|ed|ing)? off|took (?:a )?leave|graduat(?:e|es|ed|ing)"
)
"""Words that end something."""

AVERSION: Final = (
    r"dislik(?:e|es|ed|ing)|hat(?:e|es|ed|ing)|detest(?:s|ed)?|loath(?:e|es|ed)|avers(?:e|ion)|despis(?:e|es|ed)"
    r"|(?:can|could)(?: ?not) stand|not (?:really )?(?:a |my )?(?:big |huge |much of a )?(?:fan|thing|into|cup of tea|keen)"
    r"|boring|dull|tedious|monotonous|repetitive|tiresome|overwhelm(?:ed|ing)|disappoint(?:ed|ing|ment)|frustrat(?:ed|ing|ion)"
    r"|uncomfortable|discomfort|unpleasant|stress(?:ed|ful)?|uninspir(?:ed|ing)|uninteresting|unfulfilling|unhelpful"
    r"|ineffective|unsatisf(?:ying|actory)|disconnected|drain(?:ed|ing)|exhaust(?:ed|ing)|regret(?:s|ted)?|waste of"
    r"|awkward|disinterest(?:ed)?|disengaged|bored|discontent|annoy(?:ed|ing)|chaotic|pressured?|lack of|fail(?:s|ed) to"
    r"|hard to (?:focus|enjoy|follow|concentrate)|difficult(?:y)? (?:to|in|with|focusing)|struggl(?:e|es|ed|ing)"
    r"|allergic|intolerant|sick of|gross|disgust(?:s|ed|ing)|terrible|awful|horrible|confus(?:ed|ing)|less (?:valuable|fun)"
    r"|under ?whelm(?:ed|ing)|anxious|not as (?:rewarding|fun|enjoyable|good|interesting)|lost (?:my|the) (?:passion|taste)"
)
"""Words of not liking."""

NOT_NEGATIVE: Final = (
    r"(?:can|could) ?not wait|used to (?:\w+ )?(?:hate|dislike|avoid|detest|loathe|struggle)|no longer (?:afraid|scared|hat\w+|avoid\w*|dislik\w+|mind\w*|bother\w*|struggl\w+|stress\w*)"
    r"|not only|not bad|no problem|never better|stopped (?:avoiding|hating|disliking|worrying|stressing)"
    r"|(?:do|does|did) not mind|no doubt|nothing (?:but|better|beats)|not just|no wonder|why not|overc[ao]me"
    r"|no pressure|without (?:the )?pressure|stress relief|reduce stress|stress[- ]free|anxiety relief|not to mention"
    r"|non[- ]\w+|never miss(?:es|ed)?|left[- ]over\w*|on the left|left (?:hand|side)"
    r"|(?:alleviate|relieve|reduce|manage|ease|combat|despite|lower|lessen) (?:\w+ )?(?:stress|anxiety|pressure|frustration)"
)
"""Phrases that hold a negative word and mean nothing negative."""
