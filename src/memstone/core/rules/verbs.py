"""English verbs, as far as turning "I" into somebody's name needs them."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

AUXILIARIES: Final = {
    "am": "is",
    "have": "has",
    "do": "does",
    "was": "was",
    "will": "will",
    "would": "would",
    "can": "can",
    "could": "could",
    "should": "should",
    "must": "must",
    "might": "might",
    "may": "may",
    "shall": "will",
    "had": "had",
    "did": "did",
    "are": "is",
    "were": "was",
    "is": "is",
}
"""First person to third; "are" and "were" come from "we"."""

FINITE: Final = frozenset(AUXILIARIES) | {"has", "does"}
"""Forms that make a clause a sentence by themselves."""

ADVERBS: Final = frozenset(
    """really just also always never usually often sometimes still already currently recently finally actually mostly
    mainly typically generally normally regularly frequently rarely seldom hardly barely absolutely totally truly
    definitely probably certainly simply only even ever now then soon once again both all kind sort kinda sorta
    especially particularly strongly highly greatly deeply genuinely honestly literally basically officially happily
    proudly originally previously formerly long well so too very much quite rather tend occasionally constantly
    personally eventually almost nearly initially accidentally secretly routinely first mostly lately newly fully
    partly daily weekly gladly sadly luckily legally technically temporarily permanently successfully primarily""".split()
)

IRREGULAR: Final = {
    past: base
    for base, *pasts in (
        line.split()
        for line in """be was were been|become became|begin began begun|bet|bite bit bitten|blow blew blown|break broke broken
    |bring brought|build built|burn burnt|buy bought|catch caught|choose chose chosen|come came|cost|cut|deal dealt|dig dug|do did done
    |draw drew drawn|dream dreamt|drink drank drunk|drive drove driven|eat ate eaten|fall fell fallen|feed fed|feel felt|fight fought
    |find found|flee fled|fly flew flown|forget forgot forgotten|freeze froze frozen|get got gotten|give gave given|go went gone|grow grew grown
    |hang hung|have had|hear heard|hide hid hidden|hit|hold held|hurt|keep kept|know knew known|lay laid|lead led|learn learnt|leave left
    |lend lent|lie lay lain|light lit|lose lost|make made|mean meant|meet met|overcome overcame|pay paid|put|quit|read|rebuild rebuilt
    |redo redid redone|ride rode ridden|ring rang|rise rose risen|run ran|say said|see saw seen|sell sold|send sent|set|sew sewn
    |shake shook shaken|shoot shot|show showed shown|shut|sing sang sung|sink sank|sit sat|sleep slept|slide slid|speak spoke spoken
    |spend spent|split|spread|stand stood|steal stole stolen|stick stuck|strike struck|swear swore sworn|sweep swept|swim swam swum
    |take took taken|teach taught|tear tore torn|tell told|think thought|throw threw thrown|undergo underwent undergone
    |understand understood|upset|wake woke woken|wear wore worn|weep wept|win won|withdraw withdrew withdrawn|write wrote written
    |rewrite rewrote rewritten|resell resold|misspeak misspoke|foresee foresaw""".split("|")
    )
    for past in (pasts or [base])
}
"""Past forms and participles to their verb. Verbs that never change stand for themselves."""

PARTICIPLES: Final = frozenset(
    """been begun bitten blown broken chosen done drawn drunk driven eaten fallen flown forgotten frozen gotten given gone
    grown hidden known lain redone ridden risen seen sewn shaken shown sung spoken stolen sworn swum taken torn thrown
    undergone woken worn withdrawn written rewritten""".split()
)
IRREGULAR_PAST: Final = frozenset(IRREGULAR) - PARTICIPLES
SAME_IN_PAST: Final = frozenset("read put cut set let hit quit cost shut split spread hurt bet upset".split())

COMMON_VERBS: Final = frozenset(
    """live work go like love hate enjoy prefer use play read write run swim walk drive ride eat drink cook bake make
    take have do study learn teach speak know want need hope plan try think feel practice practise train paint draw sing
    dance travel visit volunteer help manage lead own keep collect watch listen meet spend sleep wake get build
    design code program develop sell buy grow raise coach mentor organize organise host avoid hike camp fish climb ski
    surf jog lift research consult freelance commute garden sew knit meditate pray attend follow support care
    squash order adore dislike live rent call stay move start begin finish stop quit leave join save wear carry
    return share turn change switch miss lack pay earn owe lease fix repair restore deploy ship host maintain let""".split()
)
"""Verbs that may follow "and" after a first verb in the present."""

VERBS: Final = (
    COMMON_VERBS
    | frozenset(IRREGULAR.values())
    | frozenset(
        """accept ache achieve acquire submit act adapt add admire admit adopt advise agree aim allow announce answer appear apply
    appreciate approve argue arrange arrive ask assist attach attempt award back ban battle belong blog book borrow bother
    brew broadcast brush calm cancel capture celebrate challenge chat chase check cheer clean clear close color
    combine comfort compare compete complain complete compose concentrate concern connect consider consist contact contain
    continue contribute convince count cover craft crash create cross cry cycle date debate decide declare decline decorate
    defeat defend deliver depend describe deserve destroy detest develop diagnose die disappear discover discuss display donate
    double download drop earn edit educate email embrace emigrate empower enable encourage end engage enrol enroll ensure enter
    escape establish exercise exhibit expand expect expire explain explore express face fail favor favour fear film
    fill fit flood focus force foster found gain gather gift graduate grab graze greet handle happen hatch head heal hire
    hop hug hunt hurry identify ignore imagine immigrate implement impress improve include increase inform inherit
    injure inspire install intend interview introduce invent invest invite involve itch join joke juggle jump kayak kick kill kiss
    land last laugh launch lean lecture license like limit list locate lock log look lower manage mark marry match matter
    mention merge message migrate mind mix model name narrate navigate nail notice nurse nurture obtain occur offer open operate
    opt overhaul pack park participate party pass pause perform persuade phone photograph pick place plant pop post pour
    prepare present preserve press prevent print produce promise promote propose protect prove provide publish purchase push pursue
    question quilt race react realise realize receive recommend record recover recycle redecorate reduce refuse register
    rehearse relate relax release relocate remain remember remind remodel remove renew renovate reopen replace reply report
    represent request require rescue reserve reside resign resolve respect respond rest resubscribe resume retire reveal revert review
    rock roll sail scan schedule score scrap sculpt search seat seem select separate serve settle sign skate sketch skip
    smoke snap snowboard solve sort sound specialise specialize sponsor stock store stream stretch struggle subscribe succeed suffer
    suggest suit supply suppose surf surprise survive suspect swap switch talk target taste tend test thank tour track trade
    transfer transform transition translate treat trust tutor type unite update upgrade volunteer wait wander want warn wash weigh
    weld welcome wish witness wonder work worry wrap yell yoga quit squat redesign reorganize reorganise restart relearn resell
    assemble audition backpack babysit barbecue bike blend bond box brainstorm caretake cater coordinate curate deploy digest
    discontinue draft embroider experiment forage fundraise ghostwrite golf groom harvest homeschool illustrate install
    journal kickstart mediate moderate network outgrow oversee partner podcast proofread recite refinish refurbish reread
    row sculpt shop stargaze vape stutter stammer snore sleepwalk crochet vlog relapse remarry freelance swap tinker toast tweet unsubscribe vacation vote whittle""".split()
    )
)
"""Verbs that are known by their plain form."""


_NOT_PAST: Final = frozenset(
    "need feed speed breed exceed succeed proceed bed red wed seed weed shed hundred embed bleed greed indeed".split()
)


def third_person(verb: str) -> str:
    """``work`` becomes ``works``."""
    if verb in AUXILIARIES:
        return AUXILIARIES[verb]
    if verb.endswith(("s", "x", "z", "ch", "sh", "o")):
        return verb + "es"
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return verb[:-1] + "ies"
    return verb + "s"


def is_past(verb: str) -> bool:
    """Whether a form is past by itself."""
    return verb in IRREGULAR_PAST or (verb.endswith("ed") and len(verb) > 3 and verb not in _NOT_PAST)


@lru_cache(maxsize=4096)
def lemma(word: str) -> str:
    """The plain form of a verb, as far as it is known; other words come back with their ending cut."""
    if word in IRREGULAR:
        return IRREGULAR[word]
    if word in VERBS:
        return word
    for ending in ("ing", "ied", "ies", "ed", "es", "s"):
        if word.endswith(ending) and len(word) > len(ending) + 1:
            found = next((form for form in _without(word, ending) if form in VERBS), "")
            if found:
                return found
    return word


def _without(word: str, ending: str) -> tuple[str, ...]:
    bare = word[: -len(ending)]
    if ending in ("ied", "ies"):
        return (bare + "y", bare + "ie")
    undoubled = bare[:-1] if len(bare) > 2 and bare[-1] == bare[-2] else bare
    return (bare, bare + "e", undoubled, bare + "ie")


@lru_cache(maxsize=4096)
def is_verb(word: str) -> bool:
    """Whether a word can be a form of a known verb."""
    return lemma(word) in VERBS or word in FINITE


def finite_at(words: list[str]) -> int:
    """Where the verb of a clause stands whose subject comes first; -1 when there is none.

    A plain form counts only after a plural ("our tests use"), and a form in -s not right before a verb ("my walks are").
    """
    for at in range(1, len(words)):
        word = words[at].lower().strip(",;:")
        if word in FINITE or word.endswith("n't") or word in IRREGULAR_PAST:
            return at
        following = words[at + 1].lower() if at + 1 < len(words) else ""
        if word.endswith("'s") and following in _AFTER_IS:
            return at
        if following in FINITE or words[at][0].isupper() or words[at - 1].lower() in ("the", "a", "an", "my", "our"):
            continue
        if is_past(word) and is_verb(word):
            return at
        if is_verb(word) and _agrees(words[at - 1].lower(), word):
            return at
    return -1


_AFTER_IS: Final = frozenset("been got a an the so not now pretty really very still going getting".split())
_PLURALS: Final = frozenset("people children men women kids parents folks team family mice geese feet".split())


def _agrees(subject: str, verb: str) -> bool:
    plural = subject.endswith("s") or subject in _PLURALS
    return plural if verb in VERBS else verb.endswith("s")
