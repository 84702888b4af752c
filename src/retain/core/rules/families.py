"""What sort of fact a clause states, by its first words.

Patterns are tried in order on a plain clause (no contractions); the first that matches names the category. They stand in
data so that a configuration can put its own before them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from retain.core.rules.lexicon import KIN, PETS
from retain.model.memory import Kind

_KIN: Final = "|".join(sorted(KIN, key=len, reverse=True))
_PETS: Final = "|".join(sorted(PETS, key=len, reverse=True))
_SELF: Final = r"^(?:i|we)(?: (?:just|also|always|really|still|now|currently|recently|finally|actually|mostly|never|only|usually|often|normally|typically|generally|mainly|both|all|already|absolutely|totally|truly|definitely|officially|regularly|rarely))*"


@dataclass(frozen=True, slots=True)
class Family:
    """A way to state a fact: its category and kind, whether it is a plan, and how much it usually matters."""

    category: str
    pattern: re.Pattern[str]
    kind: str = Kind.FACTUAL
    modality: str = "stated"
    salience: float = 0.5


def _family(
    category: str, pattern: str, kind: str = Kind.FACTUAL, modality: str = "stated", salience: float = 0.5
) -> Family:
    return Family(category, re.compile(pattern, re.IGNORECASE), kind, modality, salience)


FAMILIES: Final = (
    _family("identity", r"^my (?:full |first |last |real |nick)?name(?: is|'s) \w+", salience=0.9),
    _family("identity", rf"{_SELF} (?:go by|am called|am known as) \w+", salience=0.9),
    _family(
        "identity",
        rf"{_SELF} (?:am|turned|turn|am turning) \d{{1,3}}\b(?! (?:minutes|hours|days|percent|km|miles))",
        salience=0.8,
    ),
    _family(
        "identity",
        rf"{_SELF} (?:am|was) (?:originally )?(?:from|born|raised)\b|{_SELF} (?:grew up|come from)\b",
        salience=0.8,
    ),
    _family(
        "identity",
        r"^my (?:pronouns|birthday|age|nationality|native language|mother tongue|zodiac|religion|blood type|height|weight) (?:is|are)\b",
        salience=0.8,
    ),
    _family(
        "family",
        rf"^my (?:(?:older|younger|little|big|best|oldest|youngest|new|late|ex|twin|two|three|four) )*(?:{_KIN})\b(?:'s)?(?: \w+)? (?!and (?:i|me)\b)\w+",
        salience=0.6,
    ),
    _family(
        "family",
        rf"{_SELF} (?:have|had|got) (?:a|an|one|two|three|four|five|no|\d) (?:\w+ ){{0,2}}(?:{_KIN}|twins)\b",
        salience=0.7,
    ),
    _family(
        "family",
        rf"{_SELF} (?:am|was|got|have been|am happily|am newly) (?:married|divorced|engaged|single|widowed|separated|pregnant|expecting|adopted|a (?:\w+ )?(?:mother|father|mom|dad|parent|grandmother|grandfather|widow|widower))\b",
        salience=0.8,
    ),
    _family("family", rf"{_SELF} (?:am|have been|started) (?:dating|seeing)\b", salience=0.6),
    _family(
        "possession",
        rf"{_SELF} (?:have|own|got|adopted|bought|keep) (?:a|an|one|two|three|four|my|\d)?(?: \w+){{0,3}} (?:{_PETS})\b|^my (?:{_PETS})\b",
        salience=0.6,
    ),
    _family(
        "home",
        rf"{_SELF} (?:live|lived|reside|moved|relocated|settled|am living|am based|am moving|have moved|have lived|rent|am renting)\b",
        salience=0.8,
    ),
    _family(
        "home",
        r"^my (?:home|house|apartment|flat|place|address|hometown|neighbou?rhood|city|rent|landlord)\b.* (?:is|are|costs|went)\b",
        salience=0.7,
    ),
    _family(
        "work",
        rf"{_SELF} (?:work|worked|am working|have worked|have been working|freelance|run my own|run a|run the|lead|manage|teach|was hired|got hired|got promoted|was promoted|got fired|was fired|was laid off|got laid off|quit my job|left my job|resigned|retired|am retired|am unemployed|started (?:a |my )?(?:new )?(?:job|role|position|company|business)|started (?:at|working|as)|joined|switched jobs|changed jobs|got (?:a|the) (?:new )?job|am between jobs|lost my job|am employed|am self-employed|own a (?:\w+ )?(?:business|company|shop|store|studio|restaurant))\b(?! (?:on (?:it|this|that)|out))",
        salience=0.8,
    ),
    _family(
        "work",
        r"^my (?:job|boss|manager|employer|company|team|role|title|profession|office|salary|career|commute|shift|business|startup)\b.* (?:is|are|was|has|uses|pays|starts)\b",
        salience=0.7,
    ),
    _family(
        "work",
        rf"{_SELF} (?:am|was) (?:a|an|the|in) (?!bit|little|lot|huge fan|big fan|fan|mess|idiot|genius|hurry|rush|meeting|position to|good place)(?:\w+[ -]){{0,4}}(?:\w+(?:er|or|ist|ian|eer|ant|man|yst)|nurse|chef|vet|pilot|clerk|coach|nanny|student|freelancer|intern|lead|founder|cofounder|ceo|cto|phd)\b",
        salience=0.8,
    ),
    _family("work", rf"{_SELF} (?:am|will be) (?:now |currently )?at (?:the )?[A-Z]\w+", salience=0.8),
    _family(
        "skill",
        rf"{_SELF} (?:speak|am fluent in|am learning|am studying|study|studied|learned|learnt|can (?:play|speak|code|program|cook|read|write|swim|drive|ski|juggle|sing|dance|sew|knit|surf)|know how to|play|played|code|program|am good at|am bad at|am terrible at|major|majored|graduated|got my (?:degree|diploma|certificate|license|licence)|have a (?:degree|phd|master|bachelor|diploma|certificate|black belt)|have been (?:learning|studying|playing|practicing|practising)|passed|earned|took up|am taking|take)\b(?! (?:it|that|this|care|a look|a break|your|for granted|the time|time))",
        salience=0.6,
    ),
    _family(
        "health",
        rf"{_SELF} (?:am|was|have been) (?:\w+ )?(?:allergic|diabetic|asthmatic|vegan|vegetarian|pescatarian|gluten|lactose|celiac|coeliac|dyslexic|autistic|color-?blind|deaf|blind|diagnosed|recovering|sober|left-handed|nearsighted|pregnant|intolerant|on (?:a|the) (?:\w+ )?diet)\b",
        salience=0.8,
    ),
    _family(
        "health",
        rf"{_SELF} (?:have|had|got|suffer from|struggle with|take|broke|injured|sprained|tore|was diagnosed with|am recovering from) (?:a |an |my |the |some |chronic |bad |severe |mild )*(?:\w+ ){{0,2}}(?:allergy|allergies|asthma|diabetes|adhd|anxiety|depression|migraines?|insomnia|arthritis|back pain|knee|ankle|wrist|arm|leg|surgery|condition|disease|disorder|syndrome|intolerance|medication|insulin|epilepsy|cancer|injury|eczema|blood pressure|tinnitus)\b",
        salience=0.8,
    ),
    _family(
        "health",
        rf"{_SELF} (?:do not|stopped|quit|gave up|started|no longer|can not|avoid|never) (?:eat|eating|drink|drinking|smoke|smoking|have|having|tolerate)\b|{_SELF} (?:eat|drink|am eating|am drinking)\b",
        salience=0.7,
    ),
    _family(
        "preference",
        rf"{_SELF} (?:prefer|like|love|enjoy|adore|hate|dislike|despise|detest|loathe|can not stand|could not stand|do not (?:really )?(?:like|enjoy|care for|want)|am (?:not )?(?:really )?(?:a )?(?:big |huge |massive )?(?:fan of|into|fond of|obsessed with|crazy about|addicted to|keen on|partial to|interested in|passionate about|hooked on|sick of|tired of|over)|avoid|would rather|favou?r|liked|loved|enjoyed|hated|disliked|preferred|got into|am getting into|have gone off|went off|fell in love with)\b (?!it\b|that\b|this\b|you\b|how\b|when\b|those\b|these\b|hearing|to hear|seeing you)",
        salience=0.6,
    ),
    _family(
        "preference",
        r"^my (?:\w+ ){0,2}favou?rite\b.* (?:is|are|has|was|used to be)\b|^my (?:go-to|preferred|ideal|dream) \w+.* (?:is|are)\b|.* (?:is|are) (?:now )?my (?:new |all-time )?favou?rite\b",
        salience=0.7,
    ),
    _family(
        "decision",
        rf"{_SELF} (?:(?:have )?decided|chose|have chosen|picked|selected|went with|am going with|settled on|opted|committed to|agreed|signed up|enrolled|registered|will use|am going to use|am going to adopt|switched|have switched|changed|swapped|replaced|traded|cancelled|canceled|booked|ordered)\b",
        Kind.EPISODIC,
        salience=0.6,
    ),
    _family(
        "habit",
        rf"{_SELF}(?: \w+)? (?:usually|always|never|typically|tend to|often|frequently|regularly|rarely|every (?:day|morning|week|night))\b|^i (?:go|run|walk|swim|train|exercise|work out|meditate|read|wake up|get up|sleep|commute|cycle|bike|jog|volunteer|cook|practice|practise|meet|visit|watch|drive)\b",
        salience=0.5,
    ),
    _family(
        "habit",
        r"^(?:every|each|on) (?:\w+ )?(?:morning|evening|night|day|week|weekend|month|monday|tuesday|wednesday|thursday|friday|saturday|sunday)s?,? (?:i|we)\b",
        salience=0.5,
    ),
    _family(
        "habit",
        rf"{_SELF} (?:used to|no longer|stopped|quit|gave up|started|have started|began|have been|resumed|picked up|dropped|took up|am back to|am trying to|am training)\b(?! (?:it|that|this)\b)",
        salience=0.6,
    ),
    _family(
        "plan",
        rf"{_SELF} (?:plan to|plan on|am planning|am going to|am going on|intend to|am hoping to|want to|would like to|would love to|aim to|am saving|am looking to|am about to|am getting|am flying|am travel\w+|am visiting|will be|am starting|am preparing|have an? (?:\w+ )?(?:appointment|interview|exam|flight|meeting|trip|wedding|deadline|presentation|surgery)|am having|hope to|am expecting|am scheduled|am applying|am training for|dream of|have (?:plans|tickets))\b(?! (?:tell|ask|know|say|thank|see what|hear))",
        Kind.EPISODIC,
        "planned",
        0.5,
    ),
    _family(
        "date",
        r"^my (?:\w+ ){0,3}(?:anniversary|wedding|graduation|appointment|interview|exam|flight|deadline|surgery|birthday party|trip|vacation|holiday|due date|visa|contract|lease|passport)\b.* (?:is|are|was|starts|ends|expires|begins|got|will be)\b",
        Kind.EPISODIC,
        salience=0.6,
    ),
    _family(
        "possession",
        rf"{_SELF} (?:drive|own|bought|got|have|use|ride|wear|have bought|purchased|sold|lost|broke|am using|have been using|switched to|play on|subscribe to|subscribed to|inherited|built|rent out) (?:a|an|my|the|two|three|\d|[A-Z])",
        salience=0.5,
    ),
    _family(
        "possession",
        r"^my (?:\w+ ){0,2}(?:car|bike|phone|laptop|computer|house|boat|camera|guitar|piano|keyboard|watch|truck|motorcycle|garden|tablet|desktop|setup|editor|browser|os|bank|budget|plan|subscription|email|number|username|handle)\b.* (?:is|are|was|runs|has|died|broke)\b",
        salience=0.5,
    ),
    _family(
        "project",
        r"^(?:our|my|the) (?:\w+ ){0,3}(?:project|app|application|product|codebase|repo|repository|database|db|backend|frontend|api|server|service|pipeline|stack|website|site|startup|company|team|deadline|launch|release|sprint|budget|client|customer|meeting|standup|stand-up|book|novel|thesis|paper|game|course|store|shop|business|gate code|wi-?fi|password hint|infrastructure|cluster|framework|ci|deployment)\b(?:'s \w+)?.{0,60}? (?:is|are|was|uses|use|runs|run|has|have|will be|takes place|moved|starts|ends|got|lives|supports|targets|needs|launches|ships|consists)\b",
        salience=0.6,
    ),
    _family(
        "project",
        r"^(?:we|i) (?:use|are using|am using|deploy|host|store|run|ship|build|are building|am building|am writing|migrated|are migrating|are working on|am working on|switched|moved|wrote|rewrote|develop|maintain|launched|released|track|test|write)\b (?!it\b|that\b|this\b|on (?:it|this|that)\b)",
        salience=0.5,
    ),
    _family(
        "event",
        rf"{_SELF} (?:went|visited|attended|won|lost|finished|completed|ran|hiked|climbed|traveled|travelled|met|celebrated|hosted|organized|organised|performed|published|graduated|painted|wrote|built|made|created|donated|adopted|joined|volunteered|participated|took part|gave|received|got|had|bought|signed|started|tried|took|saw|spent|planted|launched|released|moved|applied|passed|failed|broke|fixed|sold|camped|baked|cooked|read|watched|played|redecorated|renovated|learned|found|became|presented|spoke|taught|competed|set|ended|wrapped|underwent|recovered|lost)\b (?!it\b|that\b|this\b|to (?:say|thank|tell|know|see|hear)|you\b|a (?:good|great|nice|hard|bad|lovely|fun|wonderful) (?:time|day|laugh|chat|talk|feeling|look|idea|question)\b)",
        Kind.EPISODIC,
        salience=0.4,
    ),
    _family(
        "identity",
        rf"{_SELF} (?:am|was|have been) (?:a|an) (?!bit|little|lot|fan|mess|idiot|fool|genius|hurry|rush|loss)\w+",
        salience=0.6,
    ),
    _family(
        "preference",
        r"^\w[\w' -]{2,60} (?:is|are) something i (?:like|love|enjoy|hate|dislike|do not like|do not enjoy|prefer|avoid)\b",
        salience=0.6,
    ),
)
"""Families of first-person statements."""

_PAST_START: Final = re.compile(
    r"^(?:(?:just|finally|recently|already|successfully|also|accidentally|officially|regularly|been|have|has|had) )*([a-z]+(?:-[a-z]+)?)\b",
    re.IGNORECASE,
)


def family_of(clause: str, own: tuple[Family, ...] = ()) -> Family | None:
    """The family of a first-person clause; those of the configuration come first."""
    return next((family for family in (*own, *FAMILIES) if family.pattern.search(clause)), None)


def past_start(clause: str) -> str:
    """The first verb of a clause that may lack its subject."""
    found = _PAST_START.match(clause)
    return found[1].lower() if found else ""
