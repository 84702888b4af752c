"""People and things that a message names: known ones, and names that look like those of private people."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from memstone.core.gate.phrases import QUOTED_MARK, Said
from memstone.core.gate.words import (
    CALENDAR,
    COMMON_WORDS,
    FAMOUS,
    HUMAN_VERBS,
    PLACES_AND_BRANDS,
    PRIVATE_NOUNS,
    PUBLIC_WORDS,
    join_alternatives,
)
from memstone.core.text.words import STOP_WORDS

# --- first names of many countries, in small letters ------------------------------------------------------------------


FIRST_NAMES: Final = frozenset(
    """aaron abdul abdullah abel abena abigail ada adaeze adam adele adesh aditi adnan adrian adriana agata agatha agnes
    agnieszka ahmed ahmet aiden aileen aisha akira akua alan alba albert alberto alejandra alejandro aleksandra
    alena alessandra alessandro alex alexandra alexei alexis alfie alfonso alfred ali alice alicia alina alison
    allison alma alvaro amadou amal amanda amara amaya ambre amelia amina amir amit amy ana ananya anastasia
    anders andrea andreas andrei andrew andy aneta angela angelo angus anh anika anil anita anja anjali anke anna
    annabel anne annemarie annette annie annika anouk ansel anselm anthony antoine anton antonia antonio anya
    apolline archie ari ariana ariel arjun arlo arnaud arne aroha arthur arturo arun arvid asha ashley asif
    astrid asuka aubrey audrey aurora ava axel ayaan ayesha aylin ayo aziz babak bao barbara barry bartek basil
    bastian bea beata beate beatrice beatriz becky belinda ben benedict benjamin benji benny bernard bernd
    bernice beth bethany bettina betty bianca bilal birgit birk birte bj\u00f6rn blanca bob bobby bodil bogdan
    boris brad bradley brandon branko brenda brendan brian bridget britt britta bruce bruno bryan caitlin caleb
    callum calvin camila camilla camille carl carla carlo carlos carmen carol carolina caroline carrie casey
    casper cassandra caterina catherine cathy cecilia cecily cedric celeste celia celine cem cesar charlie
    charlotte chen chiamaka chiara chidi chinedu chloe chris christian christina christine christoph christopher
    cillian cindy claire clara clarissa claudia clemence clemens clement clementine cleo cody colette colin
    colleen connor conor constance cora corinne cormac cornelia craig cristina curtis cynthia daan dagmar dagny
    damian damien dan dana daniel daniela daniele danielle danilo danny daphne daria dario darius dariusz darja
    darren dave david debbie deborah declan deepa deirdre delia delphine denise dennis derek dervla desmond diana
    diane diego dieter dilan dilara dima dimitri dina dinah dirk dmitri dominic dominik dominique don donald
    donna dora doris dorothy dorte doug douglas duncan dylan eamon ebba edda eddie edgar edith edmund eduardo
    edward edwin efua eileen einar eino eira eirik elaine eleanor elena eleni elham eli elias elif elijah elin
    elio elisa elisabeth eliza elizabeth elke ella ellen ellie ellinor elliot elodie eloise elsa elsie elvira
    emeka emil emilia emilie emilio emily emine emma emmanuel emre endre enrico enrique enzo eoin eric erica erik
    erika erin ernest ernesto esme esmeralda esra esteban estelle esther eszter ethan etienne etta eugene eva
    evan evelyn ewa ewan eyal ezra fabian fabio fanny farah fariba farid farida fatima fatma fatou federica
    federico fei felicity felipe felix femi femke fenna feodora fergus fernanda fernando ferran filip filippa
    finn fiona flavia fleur flora florence florian floyd folke francesca francesco francis francisco franco
    francois franz freddie frederick frederik freya frida frieda fritz fumiko gabor gabriel gabriela
    gabriele galina gareth gary gavin gemma genevieve geoff georg george georgia georgina gerald gerard gerda
    gerhard gertrude ghislaine giacomo giada gianni gideon gilbert gillian gina giorgio giovanna giovanni gisela
    gita giulia giulio giuseppe gloria goran gordon graciela graham greg gregor greta gretchen grzegorz gudrun
    guillaume gunnar gustav gustavo gwen gwendolyn hadiya hakan hakon halima hamid hamza hana hanna hannah hannes
    hans harald harold harriet harry haruki harvey hassan hatice hector hedda hedvig hedwig hege heidi heinrich
    heinz helen helena helene helga hendrik henk henning henri henrietta henrik henrike henry herbert hilary
    hilda hilde hillevi hiroshi holger hong huda hugo hussein ian ibrahim ichiro ida idris ieva ignacio igor iker
    ilaria ilona ilse ilya imani imke imogen imran inal ines inga inge ingeborg ingrid ioana ioannis iona ira
    irena irene irina irma isa isaac isabel isabella isabelle isadora isha ishaan isla ismael istvan itziar ivan
    ivana ivar ivo jaan jaap jacek jackie jacob jacqueline jacques jada jadwiga jaime jakob jamal james jamie
    jamila jan jana jane janet janice janina janine jared jarek jaroslav jasmin jasmine jason jasper javier
    jayden jean jeanette jeff jeffrey jelena jenna jennifer jenny jens jeremy jerome jerry jesper jesse jessica
    jette jill jim jimmy jing jitka joachim joan joana joanna joanne joao joaquin jochen jodie joe joel johan
    johann johanna johannes john johnny joke jolanda jolie jon jonah jonas jonathan joost jordi jorge jorgen
    jorid josef josefina joseph josephine josh joshua josie jovana jozef juan juanita judith judy juhani jules
    julia julian juliana julie julien julio julius jun jurgen jutta kai kaisa kaitlyn kalle kamal kamala kamil
    kamila karen karim karin karina karl karla karolina karoline karsten kasia kasper katarina kate katharina
    katherine kathleen kathrin kathryn kathy katia katie katinka katja katrin katrina katya kavita kay kayla
    kayode kazuo keiko keith kelly ken kenji kenneth kenny kerry kerstin kerttu kevin khadija khalid kian kieran
    kim kimberly kirill kirsten kirsty kjell klara klaus knut kofi konrad konstantin kristen kristin kristina
    kristjan kristof krzysztof kumiko kunal kurt kwame kyle lachlan laila lakshmi lale lara larissa larry lars
    laszlo latifa laura lauren laurence laurent lea leah leander leandro lech leena leif leila lena lennart lenny
    leo leon leona leonard leonie leonora leontine leopold leroy leslie leticia levi lewis lia liam lidia
    liesbeth liesel lieselotte ligia lila lilia lilian liliana lillian lina linda lindsay linh linnea linus
    lionel lior liron lisa lise liv livia liz liza ljubica logan lois lola lorena lorenzo loretta lori lorna
    lotte lottie lou louis louisa louise lubna lucas lucia luciana luciano lucie lucien lucinda lucy ludmila ludo
    ludovic ludwig luigi luis luisa luka lukas luke luna lydia lyle lynn maarten maartje mabel maddie madeleine
    madison mads maeve magali magda magdalena magnus mahir mahmoud mahsa maik mairead maja malcolm malik malin
    mandy manfred manoj manon manuel manuela mara marc marcel marcela marcelo marcia marco marcos marcus marek
    maren margaret margarita margot marguerite maria mariam mariana marianne marie marieke marija marijke marijn
    marina marion marisa marisol marissa marit marius mariusz marjorie marlene marlies marlon marta martha martin
    martina marvin maryam masha massimo mateo mateus mathias mathilde matilda mats matt matteo matthew matthias
    maud maureen maurice mauro maxim maxime maximilian maya meena mehdi mehmet mei meike mela melanie melinda
    melissa mercedes meredith merete merle merve mia michael michaela michal michel michele michelle miguel mika
    mikael mikhail mila milan milena milica milo milos mina minh mira miranda miriam mirjam mirko miro mitch
    moana mohamed mohammed mohsen moira molly mona monica monika monique morgan moritz moses munira muriel murray
    mustafa myra myriam nabil nadia nadine nadir naima nancy naoko naomi narges nasrin natalia natalie natalka
    natasha nathalie nathan nathaniel nawal ned neha neil nele nell nelly nelson nessa neus nia niamh nicholas
    nick nicky nico nicola nicolas nicole niels nigel nikhil nikita nikki niko nikolai nils nimue nina ning nino
    nisha nkechi noa noah noel noelia noemi noor noora nora norbert noriko norman nuno nuria obinna odette odin
    oisin olaf ole oleg oleksandr olga oliver olivia olivier olya omar omid oona orhan oriol orla orlando orsolya
    oscar oskar osman otis ottilie otto owen pablo paco padraig paige paloma pam pamela paola paolo parisa
    parvati pascal patricia patrick patrik paul paula paulien paulina pauline paulo pavel pedro peggy penelope
    pernille petar pete peter petra petros petter phil philip philippa phoebe pia pierre piet pieter pilar pinar
    piotr piper pippa polly pooja pradeep pranav preeti priya priyanka quentin rachel radek rafa rafael rafal
    rahel rahul raimund raj rajesh ralf ralph ramon ramona rana randy rania raphaela raquel rashid rasmus raul
    ravi ravit ray raymond razvan rebecca regina reinhard remy renata renate rene renee reza rhys ricardo
    riccardo richard rick ricky riku rita robbie robert roberta roberto robin robyn rodrigo roger rohan roland
    rolf roman ron ronald ronja ronnie rory rosa rosalba rosalie rosalind rosamund rosamunde rosanna rosemary
    rosie ross roxanne roy roza ruben rudi rudolf rudy rupert russell ruta rutger ruth ruud ryan ryo saba sabina
    sabine sabri sabrina sadia sadie saga sakura salim sally salma salvador sam samantha samir samira samuel
    samuli sander sandra sanjay sanna sanne santi santiago sara sarah sascha sasha saskia scott seamus sean
    sebastian selim selin selina selma seo serap serge sergei sergio shane shannon shanti sharon shaun sheikh
    sheila shelley sherry shira shirin shirley shreya sibyl sidney siegfried sienna sigrid sigurd silas silje
    silke silvan silvia simon simona simone sina sindre sinead siobhan siri sofia sofie solene solveig sonia
    sonja sophia sophie soraya sorcha soren spencer stan stanislav stefan stefania stefano steffi stella stephan
    stephanie stephen steve steven stig stijn stuart sunil sunita sunniva susan susana susanna susanne susie
    suzanne svea sven svenja svetlana swati sybil sylvia sylvie taavi tabitha takumi tamara tamas tamsin tania
    tanja tanvi tanya tara tariku tariq tasha tatiana ted tendai teo teresa terry tess tessa thandi thea thelma
    theo theodor theodora theodore theresa therese thi thierry thijs thilo thomas thora thorsten thuy tia tiago
    tilda tillie tim timo timothy tina tjark tobias toby todd tom tomas tomasz tomek tommaso tommy tomoko toni
    tony tonya tor torben toshi tove tracy trevor trine tristan trudy tuan tuomas tuva ulla ulli ulrich ulrike
    uma umar una urs ursula uta uwe valentin valentina valeria valerie vanessa vanja vasco vasil veerle vera
    verena verity veronica veronika vesna vicki vicky victoria vidar vigdis vijay viktor viktoria viktoriya vilde
    vilma vincent vincenzo viola virgil virginia vishal vitor vittoria vivian viviana vivienne vlad vladimir wale
    walter wanda wangari wanjiru warren wei wendy werner wiebke wilfred wilhelm willem william willow wim
    winifred winston wojtek wolfgang wout wouter xander xavier ximena xin yael yan yann yannick yara yasmin
    yasmina yasmine yaw yeon yetunde ylva yolanda yosef youssef yuan yuki yukiko yun yuri yusuf yves yvette
    yvonne zac zachary zahra zainab zara zbigniew zelda zeynep zhen zo\u00eb zoe zofia zoltan zora zoya zsofia
    zsolt zuzana""".split()
)


# --- people and things that a message names ---------------------------------------------------------------------------


# ruff: noqa: E501 - a pattern is easier to read and to change as one line than cut into pieces


SHORTEST_NAME: Final = 4
"""Names shorter than this are found in too many other words."""

_CAPITALISED: Final = re.compile(r"(?<![\w.'-])(?P<name>[^\W\d_a-z][^\W\d_A-Z]{1,})(?P<own>'s?(?!\w))?(?![\w-]|'\w)")
_WORD_BEFORE: Final = re.compile(r"(?<![\w.'-])([\w.'-]++)[ \t]++\Z")
_NEXT_NAME: Final = re.compile(r"\s+(?:(?:van|von|de|da|der|den|del|di|du|le|la|bin|al|el) )*[A-Z]")
_BEHIND_WORDS: Final = re.compile(r"(?:\A|(?<=\w))\W*+\Z")
_STOP: Final = re.compile(r"[.!?:]\s")
_GERMAN: Final = re.compile(r"\b(?:hat|ist|der|die|das|wann|wie|wer|wo|von|mit|noch)\b")
"""Small words of a language that writes every noun with a capital."""

_PLACED: Final = frozenset("the a an in at near on".split())
_TITLES: Final = frozenset("aunt auntie uncle cousin dr mr mrs ms grandma grandpa nurse coach".split())
_PERSON: Final = frozenset("he she his her him hers himself herself".split())
_DOES: Final = re.compile(
    r"(?:\b(?:did|does|has|had|is|was|will|would|can|should|could|if|that|when|whether|what|who|where)\s+\Z)",
    re.IGNORECASE,
)
_DEED: Final = re.compile(
    rf"(?: and \w+)?(?: \w+ly| still| ever| already| finally| also| always| even| not| really| just| so| too)? (?:{join_alternatives(HUMAN_VERBS)})\b"
)
_TOUCHED: Final = re.compile(
    r"\b(?:what|who|which \w+|how) (?:\w+ )?(?:scared|upset|annoyed|hurt|helped|convinced|made|told|taught|gave|bothered|offended|surprised|cheered"
    r"|invited|hired|fired|dumped|introduced|lent|owes?|knows?|drives?|married|called|texted|met|stopped|kept|got)\s+\Z",
    re.IGNORECASE,
)
_EPONYM: Final = re.compile(
    r" (?:\w+ )?(?:law|laws|theorem|razor|disease|paradox|constant|equation|principle|box|syndrome|effect|rule|heel|cube|comet|wager|theory|number"
    r"|triangle|formula|method|algorithm|test|scale|slogan|ceo|stock|currency|anatomy)\b"
)
_WHO: Final = re.compile(r"\bwho(?:'s| is| was)\s+\Z", re.IGNORECASE)
_ABOUT_NAMES: Final = re.compile(
    r"\b(?:name|names|spell|pronounce|pronunciation|form of|version of|popular|meaning|character|characters|novel by|plays?|played|voiced?|starred|sang|sings"
    r"|song|album|book|movie|film|series|season|episode|show|actor|wrote|myth|bible|story|tale|happens? to)\b"
)
"""Names as words, and people in stories."""


def known_name(said: Said, names: Collection[str]) -> str:
    """The one of ``names`` that stands first in a message as a word of its own, in either case; '' when none does."""
    low, found = said.low.casefold(), []
    for name in names:
        folded = name.strip().casefold()
        if len(folded) >= SHORTEST_NAME and folded in low and _is_mentioned(said, low, name.strip(), folded):
            found.append((low.index(folded), name))
    return min(found)[1] if found else ""


def _is_mentioned(said: Said, low: str, name: str, folded: str) -> bool:
    if folded in COMMON_WORDS or folded in STOP_WORDS:
        return any(
            found["name"] == name and not _begins_sentence(said.text[: found.start()])
            for found in _CAPITALISED.finditer(said.text)
        )
    return re.search(rf"(?<!\w){re.escape(folded)}(?!\w)", low) is not None


def private_person(said: Said) -> str:
    """A name that is asked about as one asks about people one knows; '' when there is none."""
    if QUOTED_MARK in said.text or said.words & FAMOUS:  # whoever is asked about is in what was quoted, or public
        return ""
    in_story = _ABOUT_NAMES.search(said.low) is not None
    for found in _CAPITALISED.finditer(said.text):
        if _may_be_private(said.text, found) and _is_asked_about(said, found, in_story=in_story):
            return found["name"]
    if said.text.islower() and not in_story:
        return next((word for word in said.tokens if word in FIRST_NAMES and word not in COMMON_WORDS), "")
    return ""


def _may_be_private(text: str, found: re.Match[str]) -> bool:
    low = found["name"].casefold()
    if low in CALENDAR or low in PLACES_AND_BRANDS or low in PUBLIC_WORDS or low in STOP_WORDS:
        return False
    before = text[: found.start()]
    if _begins_sentence(before) and not found["own"] and low not in FIRST_NAMES:
        return False
    is_longer = _NEXT_NAME.match(text, found.end()) and not (low in FIRST_NAMES and _GERMAN.search(text))
    return not is_longer and not _is_part_of_more(before)


def _begins_sentence(before: str) -> bool:
    """Whether what follows begins a sentence: only marks stand before it, with a stop among them or nothing else."""
    marks = _BEHIND_WORDS.search(before)
    return marks is not None and (not marks.start() or _STOP.search(marks[0]) is not None)


def _is_part_of_more(before: str) -> bool:
    """Whether the word before makes it a place, a thing or a longer name."""
    found = _WORD_BEFORE.search(before)
    if found is None:
        return False
    word = found[1].lower().rstrip(".")
    if word in _PLACED:
        return True
    return found[1][0].isupper() and word not in _TITLES and not _begins_sentence(before[: found.start()])


def _is_asked_about(said: Said, found: re.Match[str], *, in_story: bool) -> bool:
    """A first name is enough; another word must be somebody by what is said of it."""
    if said.words & _PERSON and not in_story:
        return True
    deed = _DEED.match(said.text, found.end()) and _DOES.search(said.text[: found.start()])
    if found["name"].casefold() in FIRST_NAMES:
        return bool(deed) or not (in_story or said.words & PUBLIC_WORDS)
    if found["own"] and not said.words & PUBLIC_WORDS and not _EPONYM.match(said.text, found.end()):
        return True
    if _TOUCHED.search(said.text[: found.start()]):
        return not in_story
    if said.words & PUBLIC_WORDS:
        return bool(deed)
    return bool(deed or said.words & PRIVATE_NOUNS or (_WHO.search(said.text[: found.start()]) and not in_story))
