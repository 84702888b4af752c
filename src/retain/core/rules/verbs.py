"""English verbs, as far as turning "I" into somebody's name needs them."""

from __future__ import annotations

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

ADVERBS: Final = frozenset(
    """really just also always never usually often sometimes still already currently recently finally actually mostly
    mainly typically generally normally regularly frequently rarely seldom hardly barely absolutely totally truly
    definitely probably certainly simply only even ever now then soon once again both all kind sort kinda sorta
    especially particularly strongly highly greatly deeply genuinely honestly literally basically officially happily
    proudly originally previously formerly long well so too very much quite rather tend occasionally constantly
    personally eventually almost nearly initially accidentally secretly routinely""".split()
)

IRREGULAR_PAST: Final = frozenset(
    """went got had made took came saw knew thought gave found told became left felt brought began kept held wrote stood
    heard meant met ran paid sat spoke lay led read grew lost fell sent built understood drew broke spent cut rose drove
    bought wore chose ate won lived caught taught sold flew forgot hid rode rang sang sank slept stole struck swam threw
    woke bit blew dealt dug drank fed fought froze hung hurt laid lent lit put quit set shook shot shut slid stuck swore
    swept tore wept bet cost hit split spread upset overcame withdrew said did was were used showed dreamt learnt
    burnt underwent rebuilt redid resold""".split()
)

SAME_IN_PAST: Final = frozenset("read put cut set let hit quit cost shut split spread hurt bet upset".split())

COMMON_VERBS: Final = frozenset(
    """live work go like love hate enjoy prefer use play read write run swim walk drive ride eat drink cook bake make
    take have do study learn teach speak know want need hope plan try think feel practice practise train paint draw sing
    dance travel visit volunteer help manage lead own keep collect watch listen meet spend sleep wake get take build
    design code program develop sell buy grow raise coach mentor organize organise host avoid hike camp fish climb ski
    surf jog lift do research consult freelance commute garden sew knit meditate pray attend follow support care""".split()
)
"""Verbs that may follow "and" after a first verb in the present."""


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
    return verb in IRREGULAR_PAST or (
        verb.endswith("ed")
        and len(verb) > 3
        and verb not in {"need", "feed", "speed", "breed", "exceed", "succeed", "proceed"}
    )
