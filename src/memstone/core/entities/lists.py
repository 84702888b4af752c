"""Names that are known without context, and words that tell what a name stands for. Data only."""

from __future__ import annotations

from typing import Final

from memstone.core.text.lexicon import LIGHT
from memstone.core.text.lexicon import STOP_WORDS as SAID_OFTEN
from memstone.core.text.words import STOP_WORDS
from memstone.model.entity import EntityType


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _names(text: str) -> frozenset[str]:
    return frozenset(name.strip() for name in text.replace("\n", " ").split(","))


FIRST_NAMES: Final = _words(
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

PLACES: Final = _words(
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
) | _names(
    """new york, los angeles, san francisco, san diego, las vegas, hong kong, new zealand, south africa, south korea,
    costa rica, sri lanka, saudi arabia, united states, united kingdom, new delhi, tel aviv, cape town, buenos aires,
    mexico city, new orleans, salt lake city, kuala lumpur, ho chi minh city, rio de janeiro, sao paulo, new jersey,
    north carolina, south carolina, czech republic, puerto rico, nyc, new york city""",
)

ORGANIZATIONS: Final = _words(
    """google microsoft amazon facebook netflix nvidia intel ibm oracle samsung sony siemens bosch bmw toyota tesla
    ikea spotify uber airbnb salesforce adobe accenture deloitte openai anthropic nasa unesco unicef nato starbucks
    walmart boeing airbus pfizer nestle sap stripe shopify""",
)

TECHNOLOGIES: Final = _words(
    """python javascript typescript java kotlin scala haskell ruby php perl c++ c# f# rust golang swift docker
    kubernetes linux ubuntu debian windows macos android ios postgres postgresql mysql sqlite redis mongodb kafka
    rabbitmq elasticsearch django flask fastapi rails react vue angular svelte node.js nodejs nextjs tensorflow pytorch
    numpy pandas git github gitlab jenkins terraform ansible aws azure gcp vim neovim emacs vscode figma notion slack
    jira excel photoshop blender unity chatgpt gpt claude gemini llama qdrant neo4j graphql nginx bluetooth wifi html
    css sql obsidian""",
)

PRODUCTS: Final = _words(
    """iphone ipad macbook airpods kindle playstation xbox nintendo alexa roomba gopro fitbit prius thinkpad chromebook
    ps5""",
)

EVENTS: Final = _words(
    """christmas easter thanksgiving halloween diwali ramadan hanukkah passover oktoberfest olympics carnival eid
    """,
) | _names("new year, new year's eve, valentine's day, black friday, world cup, super bowl, mother's day, father's day")

KNOWN: Final = {
    **dict.fromkeys(FIRST_NAMES, EntityType.PERSON),
    **dict.fromkeys(PRODUCTS, EntityType.PRODUCT),
    **dict.fromkeys(EVENTS, EntityType.EVENT),
    **dict.fromkeys(ORGANIZATIONS, EntityType.ORGANIZATION),
    **dict.fromkeys(TECHNOLOGIES, EntityType.TECHNOLOGY),
    **dict.fromkeys(PLACES, EntityType.LOCATION),
}
"""Names and what they stand for where nothing in the text says otherwise."""

AMBIGUOUS: Final = _words(
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

CALENDAR: Final = _words(
    """monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
    september october november december mon tue tues wed thu thur thurs fri sat sun jan feb mar apr jun jul aug
    sep sept oct nov dec"""
)

_STARTERS: Final = _words(
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
        _words(
            """inc gmbh ltd llc corp corporation ag plc co university college institute bank company foundation hospital
            clinic school academy agency association ministry department council committee union society museum library
            church group labs lab studio studios airlines motors records press times partners ventures capital holdings
            technologies systems software solutions consulting industries orchestra restaurant bakery fc united"""
        ),
        EntityType.ORGANIZATION,
    ),
    **dict.fromkeys(
        _words(
            """street avenue road boulevard lane square plaza lake river mountain mountains mount beach island islands
            bay valley canyon county city town village park forest desert airport station bridge tower castle harbor
            falls coast hills peninsula ocean sea strait temple cathedral district region province"""
        ),
        EntityType.LOCATION,
    ),
    **dict.fromkeys(
        _words(
            """festival conference marathon cup championship championships summit parade expo gala tournament fair
            olympics convention day week war revolution concert"""
        ),
        EntityType.EVENT,
    ),
}
"""What the last word of a name says about it."""

TYPE_OF_FIRST: Final = {
    **dict.fromkeys(_words("lake mount mt. fort port cape lower upper"), EntityType.LOCATION),
    **dict.fromkeys(
        _words("dr. mr. mrs. ms. prof. dr mr mrs ms prof professor aunt uncle grandma grandpa captain sir"),
        EntityType.PERSON,
    ),
    **dict.fromkeys(_words("university bank ministry department institute"), EntityType.ORGANIZATION),
}

HEADS: Final = _words(
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

_NOT_MODIFIERS: Final = _words(
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

NOUNS_LIKE_ADJECTIVES: Final = _words(
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

PETS: Final = _words(
    "dog puppy pup cat kitten hamster rabbit parrot horse goldfish turtle tortoise pet bird snake pony"
)
