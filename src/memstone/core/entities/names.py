"""The names in a statement, and which of them nobody has said."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

from memstone.core.text.analyze import document_terms, query_terms
from memstone.core.text.lexicon import LIGHT
from memstone.core.text.lexicon import STOP_WORDS as SAID_OFTEN
from memstone.core.text.words import STOP_WORDS
from memstone.model.memory import EntityType

# --- the names in a statement, and which of them nobody has said ------------------------------------------------------


_WORD: Final = re.compile(r"\w+(?:['\u2019.,:-]\w+)*")
_SENTENCE_STARTS: Final = ".!?:"
_SHORTEST_STEM: Final = 4
_STARTS_WITH_NAME: Final = re.compile(
    r"(?P<name>[^\W\d_a-z][^\W\d_]*(?<!s))(?:['\u2019]s |,? (?:is|was|has|had|will|and|[a-z]+(?:ed|s)) )"
)
"""A first word that somebody does something after; it has a capital in any case, so it takes more to be a name."""

_CALENDAR: Final = frozenset(
    """january february march april may june july august september october november december monday tuesday wednesday
    thursday friday saturday sunday""".split()
)
_RELATIVE: Final = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|ago|weekend|(?:last|next|this|past|coming|in (?:a|two|three|\d+)) \w+)\b",
    re.IGNORECASE,
)
_GERMAN: Final = re.compile(r"\b(?:und|ist|nicht|eine[nmrs]?|ein|mit|f\u00fcr|auf|seit|(?:Ben|ben|N|n)utzer(?:in)?)\b")
"""Small words of a language that writes every noun with a capital."""


def names_in(statement: str, leave_out: Sequence[str] = ()) -> list[str]:
    """The words with a capital that have it for themselves, not for standing at the start of a sentence."""
    skipped = {word.casefold() for word in leave_out}
    first = _STARTS_WITH_NAME.match(statement)
    found: list[str] = []
    behind = 0
    for word in _WORD.finditer(statement):
        between = statement[behind : word.start()].rstrip(" \"'(")
        is_start = between[-1] in _SENTENCE_STARTS if between else not behind
        behind = word.end()
        bare = word[0].removesuffix("'s").removesuffix("\u2019s")
        named = not is_start or (first is not None and word.start() == 0)
        if bare[0].isupper() and named and bare.casefold() not in skipped and bare != "I":
            found.append(bare)
    return found


def unknown_names(statement: str, said: str, leave_out: Sequence[str] = ()) -> list[str]:
    """The names in a statement that do not stand in what was said, in any form a name may take there.

    "Postgres" is PostgreSQL, "NYC" New York City, and "last month" may well have been April.
    """
    if _GERMAN.search(statement):
        return []
    names = names_in(statement, leave_out)
    words = {word.casefold() for word in _WORD.findall(said)}
    dated = _CALENDAR if _RELATIVE.search(said) else frozenset()
    spelled_out = _initials_known(names, words)
    known = set(document_terms(said))
    return [
        name
        for name in names
        if name not in spelled_out
        and name.casefold() not in dated
        and not set(query_terms(name)) <= known
        and not any(_same_stem(name.casefold(), word) for word in words)
    ]


def _same_stem(name: str, word: str) -> bool:
    if min(len(name), len(word)) < _SHORTEST_STEM:
        return False
    return name.startswith(word) or word.startswith(name)


def _initials_known(names: Sequence[str], words: Collection[str]) -> set[str]:
    """Names that follow one another and whose first letters are a word of what was said."""
    known: set[str] = set()
    for start in range(len(names)):
        for end in range(start + 2, min(len(names), start + 5) + 1):
            if "".join(name[0] for name in names[start:end]).casefold() in words:
                known.update(names[start:end])
    return known


# --- names that are known without context, and words that tell what a name stands for. Data only ----------------------


def _word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _name_set(text: str) -> frozenset[str]:
    return frozenset(name.strip() for name in text.replace("\n", " ").split(","))


FIRST_NAMES: Final = _word_set(
    """aaron abby adam adrian ahmed aisha alan albert alejandro alex alexander alexandra ali alice alicia alina alison
    amanda amelia amir amy ana andrea andreas andrew andy angela anita anja ann anna anne annie anthony antonio arthur
    audrey barbara beatrice becky ben benjamin bernard beth betty bianca bob boris brandon brenda brian bridget bruce
    caitlin calvin camila carl carla carlos carmen carol caroline carolyn catherine cathy charles charlie charlotte
    chen chloe chris christian christina christine christopher cindy claire clara claudia colin connor craig cynthia
    dan daniel daniela danny dave david deborah debra denise dennis derek diana diane diego dmitri dominic donald donna
    dorothy doug douglas dylan eddie edith eduardo edward eleanor elena elias elisa elizabeth ella ellen elsa emil emily
    emma eric erica erik erin ethan eva evan evelyn fatima felix fernando fiona florence francesca frances francis
    francisco frank franz fred frida gabriel gabriela gary george georgia gerald gina gloria gordon greg gregory greta
    hannah hans harold harry hassan heather hector heidi helen helena henrik henry hiroshi hugo ian ibrahim ida igor
    ingrid irene isaac isabel isabella ivan jack jacob jake james jamie jan jane janet janice jason javier jean jeff
    jeffrey jen jenna jennifer jenny jeremy jerry jessica jill jim jimmy joan joanna joe joel johanna john johnny jon
    jonas jonathan jordan jorge jose joseph josh joshua juan judith judy julia julian julie justin kai karen karin karl
    kate katherine kathleen kathy katie keith kelly ken kenneth kevin kim kristen kumar kyle lara larry laura lauren
    lena leo leon leonard leslie liam lily linda lisa liz lorenzo louis louise lucas lucia lucy luis luisa luka lukas
    luke lydia maggie manuel marco marcus margaret maria marie marina mario marion marisol marta martha martin mary
    mateo matt matthew maurice maya megan mei melanie melissa mia michael michelle miguel mike mila mohamed mohammed
    molly monica muhammad nadia nancy naomi natalia natalie nate nathan neil nick nicole nigel nils nina noah nora
    norman oleg olga oliver olivia omar oscar otto pablo pamela patricia patrick paul paula pedro peggy pete peter petra
    philip phil phillip priya rachel rafael raj ralph raul raymond rebecca ricardo richard rick rita robert roberto
    robin roger roland ron ronald rosa ruth ryan sabrina sally sam samantha samuel sandra sara sarah sasha scott sean
    sebastian sergio seth sharon sheila shirley simon sofia sonia sophia sophie stefan stella stephanie stephen steve
    steven stuart sue susan sven sylvia tamara tanya tara ted teresa thomas tim timothy tina todd tom tony tracy
    valentina valerie vanessa vera veronica victor victoria vincent vivian vladimir walter wanda wendy wolfgang
    xavier yasmin yuki yusuf yvonne zoe""",
)

PLACES: Final = _word_set(
    """africa america asia europe antarctica australia argentina austria bangladesh belgium bolivia brazil bulgaria
    cambodia canada chile china colombia croatia cuba denmark ecuador egypt england estonia ethiopia finland france
    germany ghana greece hungary iceland india indonesia iran iraq ireland israel italy jamaica japan kenya latvia
    lebanon lithuania luxembourg malaysia mexico mongolia morocco nepal netherlands nigeria norway pakistan panama peru
    philippines poland portugal romania russia scotland serbia singapore slovakia slovenia spain sweden switzerland
    taiwan tanzania thailand tunisia turkey uganda ukraine uk usa uruguay venezuela vietnam wales zimbabwe amsterdam
    ankara athens atlanta auckland austin baltimore bangalore bangkok barcelona basel beijing belgrade berlin bern
    birmingham bogota bologna boston bratislava brisbane bristol brooklyn brussels bucharest budapest cairo calgary
    cambridge chicago cologne copenhagen dallas delhi denver detroit dubai dublin edinburgh florence frankfurt geneva
    glasgow hamburg hanoi hawaii helsinki honolulu houston istanbul jakarta johannesburg karachi krakow kyoto lagos
    leeds leipzig lima lisbon liverpool london lyon madrid manchester manila manhattan marseille melbourne miami milan
    minneapolis montreal moscow mumbai munich nairobi naples nashville orlando osaka oslo ottawa oxford paris perth
    philadelphia phoenix pittsburgh porto portland prague quebec reykjavik riga rome rotterdam santiago seattle seoul
    seville shanghai shenzhen stockholm stuttgart sydney tallinn tampa tokyo toronto turin valencia vancouver venice
    vienna vilnius warsaw washington wellington zagreb zurich alaska alabama arizona arkansas california colorado
    connecticut florida idaho illinois indiana iowa kansas kentucky louisiana maine maryland massachusetts michigan
    minnesota mississippi missouri montana nebraska nevada ohio oklahoma oregon pennsylvania tennessee texas utah
    vermont virginia wisconsin wyoming ontario bali tuscany bavaria scandinavia""",
) | _name_set(
    """new york, los angeles, san francisco, san diego, las vegas, hong kong, new zealand, south africa, south korea,
    costa rica, sri lanka, saudi arabia, united states, united kingdom, new delhi, tel aviv, cape town, buenos aires,
    mexico city, new orleans, salt lake city, kuala lumpur, ho chi minh city, rio de janeiro, sao paulo, new jersey,
    north carolina, south carolina, czech republic, puerto rico, nyc, new york city""",
)

ORGANIZATIONS: Final = _word_set(
    """google microsoft amazon facebook netflix nvidia intel ibm oracle samsung sony siemens bosch bmw toyota tesla
    ikea spotify uber airbnb salesforce adobe accenture deloitte openai anthropic nasa unesco unicef nato starbucks
    walmart boeing airbus pfizer nestle sap stripe shopify""",
)

TECHNOLOGIES: Final = _word_set(
    """python javascript typescript java kotlin scala haskell ruby php perl c++ c# f# rust golang swift docker
    kubernetes linux ubuntu debian windows macos android ios postgres postgresql mysql sqlite redis mongodb kafka
    rabbitmq elasticsearch django flask fastapi rails react vue angular svelte node.js nodejs nextjs tensorflow pytorch
    numpy pandas git github gitlab jenkins terraform ansible aws azure gcp vim neovim emacs vscode figma notion slack
    jira excel photoshop blender unity chatgpt gpt claude gemini llama qdrant neo4j graphql nginx bluetooth wifi html
    css sql obsidian""",
)

PRODUCTS: Final = _word_set(
    """iphone ipad macbook airpods kindle playstation xbox nintendo alexa roomba gopro fitbit prius thinkpad chromebook
    ps5""",
)

EVENTS: Final = _word_set(
    """christmas easter thanksgiving halloween diwali ramadan hanukkah passover oktoberfest olympics carnival eid
    """,
) | _name_set(
    "new year, new year's eve, valentine's day, black friday, world cup, super bowl, mother's day, father's day"
)

KNOWN: Final = {
    **dict.fromkeys(FIRST_NAMES, EntityType.PERSON),
    **dict.fromkeys(PRODUCTS, EntityType.PRODUCT),
    **dict.fromkeys(EVENTS, EntityType.EVENT),
    **dict.fromkeys(ORGANIZATIONS, EntityType.ORGANIZATION),
    **dict.fromkeys(TECHNOLOGIES, EntityType.TECHNOLOGY),
    **dict.fromkeys(PLACES, EntityType.LOCATION),
}
"""Names and what they stand for where nothing in the text says otherwise."""

AMBIGUOUS: Final = _word_set(
    """rust swift ruby go java excel notion slack unity oracle windows amazon phoenix turkey china georgia rails react
    angular flask jordan carnival notion blender stripe intel gemini claude perl vim git perth bath nice reading
    florence austin orlando sydney victoria virginia uber bali peru cuba wales chile maine"""
)
_SHORTEST: Final = 3
UNCASED: Final = frozenset(
    name for name in KNOWN.keys() - FIRST_NAMES - AMBIGUOUS if " " not in name and len(name) >= _SHORTEST
)
"""What is a name in small letters, too."""

_LONGER: Final = sorted((name for name in KNOWN if " " in name), key=len, reverse=True)
UNCASED_PAIRS: Final = {
    first: tuple(name for name in _LONGER if name.startswith(f"{first} "))
    for first in {name.partition(" ")[0] for name in _LONGER}
}
"""Names of several words by their first one, the longest first."""

CALENDAR: Final = _word_set(
    """monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
    september october november december mon tue tues wed thu thur thurs fri sat sun jan feb mar apr jun jul aug
    sep sept oct nov dec"""
)

_STARTERS: Final = _word_set(
    """absolutely agreed ah aha alright amazing another answer anyway art asap ask assistant autumn aw awesome aww awww
    before bravo breakfast bring btw bummer busy bye call can't ceo chapter chat check cheers come congrats
    congratulations cool cto daddy damn dang dear didn't dinner diy dj doesn't don't dr dreams dude either email
    end english enough error especially eta eventually every exactly example excellent fall fantastic faq finally
    fingers firstly five food fortunately four free full fun fyi game generally glad goal goals god goodbye
    goodnight gosh gotcha greetings guys hahaha half hang happy he's hear high hmm hold hooray hope hopefully hot
    hr huge hugs i'd i'll i'm i've id image imagine imo indeed info instead interesting isn't it'll it's kids
    kudos late later leave let's lets lgbt lgbtq life light likewise listen lord lovely luckily lucky lunch madam
    main meanwhile met mommy monday's mostly mr mrs ms music name nature neat never nevertheless no nope not note
    nothing number omg oof ooh oops open order otherwise ouch overall pc perfect personally phew photo pics please
    pls plus point probably props proud ps put question quick rather real regards remember rest right rip run
    sadly safe save school seeing self send seriously set she's shoot show side similarly sincerely single sir
    song soon sorry sounds speaking special spring stay step stop story stuff summary summer sup super support
    sure surely sweet talk tbh team tell test thank thankfully thanks that's there's they're they've three thus
    till tip title today's tonight total totally trip true truly trust turn tv two ugh unfortunately unless update
    video wait warm we'll we're we've weather welcome what's whatever whenever whether who's whoa whole winter
    wish woah won't wonderful woohoo words world worth wouldn't wow wrong yay yea yep yikes yo yoga you'd you'll
    you're you've young yup"""
)
COMMON: Final = STOP_WORDS | SAID_OFTEN | LIGHT | _STARTERS
"""Words that have a capital only for standing first, or for being shouted."""

TYPE_OF_LAST: Final = {
    **dict.fromkeys(
        _word_set(
            """inc gmbh ltd llc corp corporation ag plc co university college institute bank company foundation hospital
            clinic school academy agency association ministry department council committee union society museum library
            church group labs lab studio studios airlines motors records press times partners ventures capital holdings
            technologies systems software solutions consulting industries orchestra restaurant bakery fc united"""
        ),
        EntityType.ORGANIZATION,
    ),
    **dict.fromkeys(
        _word_set(
            """street avenue road boulevard lane square plaza lake river mountain mountains mount beach island islands
            bay valley canyon county city town village park forest desert airport station bridge tower castle harbor
            falls coast hills peninsula ocean sea strait temple cathedral district region province"""
        ),
        EntityType.LOCATION,
    ),
    **dict.fromkeys(
        _word_set(
            """festival conference marathon cup championship championships summit parade expo gala tournament fair
            olympics convention day week war revolution concert"""
        ),
        EntityType.EVENT,
    ),
}
"""What the last word of a name says about it."""

TYPE_OF_FIRST: Final = {
    **dict.fromkeys(_word_set("lake mount mt. fort port cape lower upper"), EntityType.LOCATION),
    **dict.fromkeys(
        _word_set("dr. mr. mrs. ms. prof. dr mr mrs ms prof professor aunt uncle grandma grandpa captain sir"),
        EntityType.PERSON,
    ),
    **dict.fromkeys(_word_set("university bank ministry department institute"), EntityType.ORGANIZATION),
}

HEADS: Final = _word_set(
    """group club class course party trip show game project job plan book system app store shop school center centre
    agency event festival race test team program workshop contest competition tournament exhibition gallery studio
    conference interview meeting lesson recipe garden campaign shelter volunteer counselor therapist degree certificate
    exam thesis business company franchise website blog podcast channel series movie album concert band instrument
    collection museum park trail beach tour camp retreat parade ceremony wedding anniversary birthday fundraiser charity
    drive loan mortgage insurance policy account budget tax bill subscription license permit allergy disease disorder
    diet medication surgery injury treatment therapy machine model framework library database server pipeline cluster
    dashboard report deadline release feature bug ticket repository script phone laptop bike car truck van tire guitar
    piano violin painting sculpture sculpting station hospital clinic gym routine challenge marathon league"""
)
"""Nouns that make one thing of the noun before them: a support group, a book club."""

_NOT_MODIFIERS: Final = _word_set(
    """add adding amazing another anymore attend attended awesome bad beautiful best better big bigger biggest bought
    build building built busy buy buying cheap close cool cozy crazy create created current cute decent
    different difficult double early easy eight ending enjoy entire every exciting expensive explore exploring
    extra fabulous face fair famous fantastic fast favorite favourite final finish finished first five former
    four free fresh full fun future gave giant give gonna good gorgeous gotta great half hard host hosted huge
    important incredible intense interesting join joined joining keep last late leave left little local long
    lovely lower main major many memorable minor missed modern national nearby need never new next nice nine not
    old older online open opened opening organize organized organizing past perfect personal plan planned
    planning played playing poor popular possible previous private proud public quick ran random read reading
    real recent regular rich right run running saw second secret see sell serious seven several share shared
    sharing short simple single six small sold solid special start started strange successful sure sweet tackle
    take taking teach teaching ten third three thrilling tiny together took top total tough try trying two
    unique upcoming upper use used useful using usual various visit visited wanna watch watched weird whole wild
    wonderful write writing wrong wrote young"""
)

NOUNS_LIKE_ADJECTIVES: Final = _word_set(
    """hospital festival animal metal rental journal capital cereal dental medical music clinic traffic plastic comic
    fabric ceramic shed bed seed feed coral legal technical musical physical detective hive drive family rescue"""
)

ORDINARY: Final = STOP_WORDS | SAID_OFTEN | _NOT_MODIFIERS
"""Words that stand before a noun and make no compound with it."""

KIN: Final = dict(
    pair.split(":")
    for pair in """mother:mother mom:mother mum:mother mama:mother father:father dad:father papa:father parent:parent
    sister:sister brother:brother sibling:sibling wife:wife husband:husband spouse:spouse partner:partner
    girlfriend:girlfriend boyfriend:boyfriend fiance:fiance fiancé:fiance fiancee:fiancee fiancée:fiancee son:son
    daughter:daughter kid:child child:child baby:child grandmother:grandmother grandma:grandmother granny:grandmother
    grandfather:grandfather grandpa:grandfather granddad:grandfather grandson:grandson granddaughter:granddaughter
    aunt:aunt uncle:uncle cousin:cousin nephew:nephew niece:niece friend:friend bestie:friend buddy:friend
    roommate:roommate flatmate:roommate neighbour:neighbour neighbor:neighbour colleague:colleague coworker:colleague
    co-worker:colleague teammate:teammate boss:boss manager:manager mentor:mentor teacher:teacher doctor:doctor
    therapist:therapist landlord:landlord client:client mother-in-law:mother_in_law father-in-law:father_in_law
    sister-in-law:sister_in_law brother-in-law:brother_in_law stepmother:stepmother stepfather:stepfather
    stepsister:stepsister stepbrother:stepbrother twin:twin ex:ex""".split()
)
"""Who somebody is to somebody else, each by one word."""

PETS: Final = _word_set(
    "dog puppy pup cat kitten hamster rabbit parrot horse goldfish turtle tortoise pet bird snake pony"
)


# --- what a name stands for, told by its own words and by the words around it -----------------------------------------


_BEFORE: Final = 28
_AFTER: Final = 20

_KIN_FORMS: Final = tuple(map(re.escape, sorted(KIN, key=len, reverse=True)))

_CUES_BEFORE: Final = re.compile(
    rf"""(?:
      (?P<person>\b(?:{"|".join(_KIN_FORMS)})(?:,|[ ](?:is|named|called))?
        |\b(?:hey|hi|hello|thanks|thank[ ]you|dear|bye|met|married|marry|dating|told|ask|asked|texted|hugs[ ]to)
        |\bname(?:[ ]is|'s)|\bi['\u2019]m|\bspeak(?:ing)?[ ](?:to|with))
     |(?P<other>\b(?:{"|".join(sorted(PETS))})(?:,|[ ](?:is|named|called))?)
     |(?P<organization>\b(?:work(?:s|ed|ing)?|job|intern(?:s|ed|ing|ship)?|employed|hired|consult(?:s|ed|ing)?
        |engineer|developer|manager|designer|nurse|teacher|analyst|scientist|ceo|cto|founder|head)
        (?:[ ](?:\w+[ ]){{0,2}}?(?:at|for|by|with|of))|\bjoined|\bco-?founded)
     |(?P<location>\b(?:liv(?:e|es|ed|ing)|moved?|moving|relocat(?:e|ed|ing)|born|rais(?:ed)|grew[ ]up|based|trips?
        |travel(?:s|ed|ing|led|ling)?|flew|fly|flying|flights?|vacation(?:ed)?|holidays?|located|headquartered
        |stay(?:ed|ing)?|arriv(?:e|ed|ing)|visit(?:s|ed|ing)?|hometown|went|going|drove|back|away|here|city|town)
        (?:[ ](?:back|again|over|out))?[ ](?:in|to|from|near|around|of|through)(?:[ ]the)?
        |\b(?:am|is|are|i['\u2019]m|come|comes|originally)[ ]from|\bcapital[ ]of)
     |(?P<technology>\b(?:written|coded|implemented|programs?|programming|coding)[ ]in|\bdeploy(?:ed|s)?[ ](?:to|on)
        |\b(?:library|framework|language|database|package)(?:,|[ ](?:is|named|called))?)
     |(?P<product>\b(?:bought|buy|buying|ordered|drives?|own|owns)[ ](?:an?|the|my|some|another)
        (?:[ ](?:new|used|old))?)
     |(?P<place>\bin)
    )[ ]$""",
    re.VERBOSE,
)
_PERSON_AFTER: Final = re.compile(
    r"""(?:['\u2019]s[ ](?:birthday|wedding|mom|mum|dad|wife|husband|sister|brother|kids|house|boyfriend|girlfriend)
     |[ ](?:said|says|told|asked|thinks|wants|wanted|loves|loved|likes|liked|lives|lived|works|worked|moved|texted
       |invited|plays|played|visited|married|hates|enjoys|thought|suggested|recommended|mentioned|teaches|taught|studies
       |studied|speaks|prefers|hopes|feels|felt|believes|remembers|graduated|cooks|bakes|paints|sings|dances|writes|reads|swims
       |drinks|eats|smokes|knits|volunteers|retired|and[ ]i\b|and[ ]me\b|turned[ ]\d|called[ ](?:me|us)))\b""",
    re.VERBOSE | re.IGNORECASE,
)
_NAME_AFTER: Final = re.compile(
    r"""[ ](?:sells|sold|bought|buys|owns|uses|used|runs|ran|hired|offers|offered|announced|launched|released|sent
     |gave|wrote|built|makes|made|went|came|left|got|joined|founded|has[ ](?:an?|two|three)|will[ ]be
     |is[ ](?:my|our|his|her|their|located
     |based|headquartered|married|allergic|moving)|was[ ](?:born|founded)|and[ ](?:my|our))\b""",
    re.VERBOSE,
)
"""What people do, and organisations as well."""

_CALL_BEGINS: Final = re.compile(
    rf"""(?:^\s*|[.!?]\s+|\b(?:hey|hi|hello|thanks|thank[ ]you|bye|wow|congrats|congratulations|yeah|yes|no|oh|well|sure
     |okay|ok|dear|great|cool|morning|night|sorry|please|agreed),?[ ]
     |(?P<kin>{"|".join(_KIN_FORMS)})?(?P<listed>,)[ ])$""",
    re.VERBOSE,
)
_CALL_ENDS: Final = re.compile(r"[!?]|\.(?!\w)|,|$")
_TYPES: Final = {
    "person": EntityType.PERSON,
    "other": EntityType.CONCEPT,
    "organization": EntityType.ORGANIZATION,
    "location": EntityType.LOCATION,
    "place": EntityType.LOCATION,
    "technology": EntityType.TECHNOLOGY,
    "product": EntityType.PRODUCT,
}
_WEAK: Final = ("place", "location", "product")
"""Cues that a known name overrules: one can be interested in Python, and go to Anna."""


class Spotted(NamedTuple):
    """A name and where it stands."""

    start: int
    end: int
    name: str
    type: str


def type_of(name: str, text: str, start: int, end: int) -> str:
    """The type of a name that stands in a text from ``start`` to ``end``."""
    folded = name.casefold()
    words = folded.split()
    told = TYPE_OF_LAST.get(words[-1].rstrip(".,")) if len(words) > 1 else None
    told = told or (TYPE_OF_FIRST.get(words[0]) if len(words) > 1 else None)
    if told:
        return told
    known = KNOWN.get(folded) or (EntityType.PERSON if _is_person(words) else None)
    cue = _CUES_BEFORE.search(text[max(0, start - _BEFORE) : start].casefold())
    kind = cue.lastgroup if cue else None
    if kind and not (known and kind in _WEAK):
        return _TYPES[kind]
    if known:
        return known
    return EntityType.PERSON if _PERSON_AFTER.match(text, end, end + _AFTER) else _by_shape(name, words)


def is_named_by(text: str, end: int) -> bool:
    """Whether what follows a word at the start of a sentence shows that it is somebody's name."""
    return any(cues.match(text, end, end + _AFTER) is not None for cues in (_PERSON_AFTER, _NAME_AFTER))


def is_addressed(text: str, one: Spotted) -> bool:
    """Whether a name only calls somebody: "Thanks, Anna!" says nothing about Anna."""
    after = _CALL_ENDS.match(text, one.end) if one.type == EntityType.PERSON else None
    before = _CALL_BEGINS.search(text[max(0, one.start - 16) : one.start].casefold()) if after else None
    if before is None or before["kin"]:
        return False
    return before["listed"] is None or after is None or after[0] != ","  # in a list it stands between commas


def _is_person(words: list[str]) -> bool:
    """Whether a name begins with a first name, or has an initial between other words."""
    return words[0].partition("-")[0] in FIRST_NAMES or any(len(word) == 2 and word[1] == "." for word in words[1:-1])  # noqa: PLR2004 - a letter and its full stop


def _by_shape(name: str, words: list[str]) -> str:
    if "_" in name or (name[:1].islower() and not name.islower()):
        return EntityType.TECHNOLOGY
    if len(words) > 1 and words[-1][:1].isdigit():
        return KNOWN.get(words[0]) or EntityType.PRODUCT
    return EntityType.CONCEPT
