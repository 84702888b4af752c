"""What a model is asked: messages, the shape of the answer, and one more try after a bad answer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Any, Final

from memstone.core.entities.names import unknown_names
from memstone.core.llm.parse import UnreadableAnswer, parse_json
from memstone.core.prompts import prompt_text, version_of
from memstone.core.showing.fence import neutralize_text
from memstone.core.text.lexicon import KIN
from memstone.core.text.words import STOP_WORDS
from memstone.model.context_gate import Route

# --- what a model is asked --------------------------------------------------------------------------------------------


MAX_QUOTED_ANSWER: Final = 4_000
_PLACEHOLDER: Final = re.compile(r"\{(\w+)\}")
EXISTING: Final = "existing_memories_list"
NEW_FACTS: Final = "new_facts_list"
CONVERSATION: Final = "conversation"
"""Names in braces that a custom prompt may hold: what is known, what is new, and what was said."""


@dataclass(frozen=True, slots=True)
class Question:
    """Messages for a model and the JSON schema of its answer.

    ``version`` names the wording, so that an answer can be told from one to another wording. ``targets`` are the ids
    behind the numbers that the model is shown, in order; ids themselves are never shown. ``cut`` says how many turns
    did not fit and are shown in part.
    """

    messages: Sequence[dict[str, str]]
    schema: dict[str, Any]
    version: str
    targets: tuple[str, ...] = ()
    cut: int = 0


def safe_messages(question: Question) -> list[dict[str, str]]:
    """Return the messages as a model may read them: what people said holds nothing that reads as structure."""
    return [
        one if one["role"] == "system" else {**one, "content": neutralize_text(one["content"])}
        for one in question.messages
    ]


def system_message(name: str, custom: str, *more: str, fill: Mapping[str, str] | None = None) -> tuple[str, str]:
    """The system message and its version; a custom text replaces ours, and the answer's format always follows.

    ``fill`` says what stands in the place of ``{name}`` in a custom text, made safe as in any other message. Other
    braces stay: a text may show JSON.
    """
    values = fill or {}
    own = _PLACEHOLDER.sub(
        lambda found: neutralize_text(values[found[1]]) if found[1] in values else found[0], custom.strip()
    )
    parts = [own or prompt_text(version_of(name)), *more, prompt_text(version_of(f"{name}_format"))]
    return "\n\n".join(part for part in parts if part), "custom" if own else version_of(name)


def object_schema(properties: dict[str, Any]) -> dict[str, Any]:
    """An object in the strict form that providers can enforce: every field is required, no other is allowed."""
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


def repair_prompt(question: Question, bad_answer: str, error: str) -> Question:
    """The same question once more, after an answer that could not be read."""
    asked = f"{prompt_text('repair.v1')}\n\nWhat is wrong: {error}"
    answered = bad_answer if len(bad_answer) <= MAX_QUOTED_ANSWER else bad_answer[:MAX_QUOTED_ANSWER] + " […]"
    turn = [{"role": "assistant", "content": answered or "(empty)"}, {"role": "user", "content": asked}]
    return replace(question, messages=[*question.messages, *turn])


# --- how a statement is put -------------------------------------------------------------------------------------------


_EDGE: Final = re.compile(
    r"[.!?;\u2026\u061f](?!\w)|[\n\u3002\uff01\uff1f\u0964\u3001\uff0c]|[,:](?!\d)|\s[-\u2013\u2014]+\s"
    r"|\b(?:but|however|although|though|aber|sondern|mais|pero|sino|ma|mas|maar|lekin|magar)\b",
    re.IGNORECASE,
)
_AND: Final = re.compile(r"\b(?:and|so|und|et|y|och|og|aur|и)\b", re.IGNORECASE)
_TOKEN: Final = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)*")
_LEADING: Final = re.compile(r"^\W*(?:no|nope|nah|nein|non|nee|não|いいえ|いや|不是|нет)\b[\s,]+(?=\w)", re.IGNORECASE)
_IDIOM: Final = re.compile(
    r"\b(?:not (?:only|just)|can(?:'|\u2019)?t wait|why not|no (?:worries|problem|idea|doubt|matter)|nicht nur)\b",
    re.IGNORECASE,
)
_DENIES: Final = frozenset(
    """not no never none nobody nothing neither nor without cannot dont doesnt didnt isnt arent wasnt werent cant
    couldnt wont wouldnt shouldnt havent hasnt hadnt aint stop stops stopped quit quits quitting hardly barely
    rarely seldom longer anymore avoid avoids nicht kein keine keinen keinem keiner nie niemals ohne aufgehört ne
    n'ai pas jamais sans aucun aucune nunca jamás sin ningún ninguna tampoco senza nessun nessuna não nem sem niet
    geen nooit zonder inte aldrig ikke ej ei nie nigdy bez не нет никогда без нельзя nahi nahin nahī değil yok hiç
    नहीं मत لا ليس لم لن بدون ما""".split()
)
_DENIES_INSIDE: Final = re.compile(
    "\u306a\u3044|\u307e\u305b\u3093|\u306a\u304f|\u306a\u304b\u3063|\u3084\u3081|\u4e0d|\u6ca1|\u6c92|\u522b|\u65e0"
    "|\u7121|\uc548 |\uc54a|\uc5c6|\ubabb|\uc544\ub2c8"
)
_OTHERS: Final = KIN | frozenset(
    """neighbour neighbours neighbors nephews nieces aunts uncles customer patient stepson stepdaughter guy woman man
    lady mutter vater mama papa bruder schwester sohn tochter onkel tante neffe nichte cousin cousine oma opa freund
    freundin nachbar nachbarin chef chefin kollege kollegin mann frau kind mère père frère soeur sœur fils fille
    oncle neveu nièce voisin voisine ami amie collègue mari femme madre padre hermano hermana hijo hija tío tía
    sobrino sobrina vecino vecina amigo amiga jefe jefa esposo esposa fratello sorella figlio figlia zio zia nipote
    vicino mãe pai irmão irmã filho filha sobrinho sobrinha vizinho moeder vader broer zus zoon dochter oom neef
    buurman buurvrouw vriend vriendin bhai behen beta beti chacha mausi dost padosi мама папа брат сестра сын дочь
    дядя тётя племянник сосед соседка друг 他 她 おい 甥 姪 母 父 兄 弟 姉 妹 息子 娘 友達 隣人 祖母 祖父""".split()
)
_PRONOUNS: Final = frozenset("he she they his her their er sie il elle él ella lui lei ele ela hij zij он она".split())
_OWN: Final = frozenset(
    """i i'm im i've ive i'd i'll me myself we we're we've us ich mich mir wir uns je j'ai moi nous yo me mí nosotros
    io noi eu nós ik wij ons я мы меня мне mujhe main hum mai""".split()
)
_MINE: Final = frozenset(
    "my our mein meine meinen meinem meiner unser unsere mon ma mes notre mi mis mio mia meu minha mijn мой моя".split()
)
_NAMED_WITHIN: Final = 3
"""So many words behind "my" it is said whose or what it is: "my older brother"."""

_YOURS: Final = frozenset(
    """you your yours you're you've we our us let's du dein deine dir dich sie ihr ihre wir vous votre nous tu tus te
    usted nosotros lei suo você seu jij je jouw вы ваш ты твой""".split()
)
_HEARSAY: Final = re.compile(
    r"\b\w+ (?:says|said|thinks|reckons|told me|sagt|meint|dice|dit|bola|boli)\b"
    r"|\bi (?:think|guess|believe|heard|hear|know|hope|suppose|was told|worry|feel like|saw|said|told|asked)\b",
    re.IGNORECASE,
)
_OF_THE_USER: Final = re.compile(
    r"user(?:in)?\b(?!['\u2019]s)|nutzer(?:in)?\b|\u30e6\u30fc\u30b6\u30fc|\u7528\u6237", re.IGNORECASE
)
"""How a statement about the user begins; one about somebody or something else of theirs does not."""

_CALENDAR: Final = frozenset(
    """monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
    september october november december christmas easter english""".split()
)
_ENGLISH: Final = frozenset(
    "is are was were has have had the of and with to for at does not will on from named in name's name".split()
)
_FOREIGN: Final = frozenset(
    """der die das den dem ein eine einen einem hat ist und beim vom zum am im mit le la les un une est el los es una
    een het di il è o os do da em och att og hai ka ki""".split()
)
_PREFIX: Final = 4
_TYPO: Final = 0.8


def clause_at(text: str, start: int, end: int) -> str:
    """The clause, or the clauses, in which a stretch of a text stands."""
    before = [edge.end() for edge in _EDGE.finditer(text, 0, start)]
    after = _EDGE.search(text, max(start, end - 1))
    return text[
        before[-1] if before else 0 : after.start()
        if after and after.start() >= end - 1
        else _find_clause_end(text, end)
    ]


def _find_clause_end(text: str, end: int) -> int:
    after = _EDGE.search(text, end)
    return after.start() if after else len(text)


def parts_of(text: str) -> list[str]:
    """The clauses of a stretch of text."""
    edges = [
        0,
        *(edge.end() for edge in _EDGE.finditer(text)),
        *(edge.end() for edge in _AND.finditer(text)),
        len(text),
    ]
    edges.sort()
    return [text[start:end] for start, end in pairwise(edges) if text[start:end].strip()]


def is_denied(text: str) -> bool:
    """Whether a statement says that something is not so, or no longer."""
    said = _IDIOM.sub(" ", _LEADING.sub("", text)).replace("\u2019", "'")
    words = [word.lower() for word in _TOKEN.findall(said)]
    if any(word in _DENIES or word.endswith("n't") for word in words):
        return True
    return _DENIES_INSIDE.search(said) is not None


def begins_in_another(fact: str, clause: str, around: str = "") -> bool:
    """Whether a statement of the user was said of somebody whom the statement does not mention.

    Who "he" or "her" is may stand ``around`` the clause: where the user speaks of themselves, it may be their dog.
    """
    if not _OF_THE_USER.match(fact):
        return False
    words = [word.lower() for word in _TOKEN.findall(_HEARSAY.sub(" ", clause.replace("\u2019", "'")))]
    if any(word in _OWN for word in words) or _owns_something(words):
        return False
    told = {word.lower() for word in _TOKEN.findall(fact)}
    others = [word for word in words if (word.removesuffix("'s") in _OTHERS)]
    if others:
        return not any(_is_mentioned(other.removesuffix("'s"), told) for other in others)
    if any(word.lower() in _OWN for word in _TOKEN.findall(around.replace("\u2019", "'"))):
        return False
    return bool(words) and words[0] in _PRONOUNS and not told & _OTHERS and not told & _PRONOUNS


def _owns_something(words: Sequence[str]) -> bool:
    """Whether something of the user's own is spoken of, and not only somebody near them: "he raised my dose"."""
    behind = (words[at + 1 : at + 1 + _NAMED_WITHIN] for at, word in enumerate(words) if word in _MINE)
    return any(said and not any(one.removesuffix("'s") in _OTHERS for one in said) for said in behind)


def is_of_the_speaker(clause: str) -> bool:
    """Whether somebody speaks of themselves, and not of the one they talk to."""
    words = {word.lower() for word in _TOKEN.findall(clause.replace("\u2019", "'"))}
    return bool(words & _OWN) and not words & _YOURS


def _is_mentioned(other: str, told: set[str]) -> bool:
    return any(one.startswith(other[:_PREFIX]) for one in told) or bool(told & _OTHERS)


def unsaid_names(fact: str, said: str, leave_out: Sequence[str]) -> list[str]:
    """The names of an English statement that nobody said; elsewhere capital letters tell no name."""
    if not _is_english(fact) or not said.isascii():
        return []
    words = set(_TOKEN.findall(said.casefold()))
    names = (one for one in unknown_names(fact, said, leave_out) if one.casefold() not in _CALENDAR | STOP_WORDS)
    return [one for one in names if not _is_mended(one.casefold(), words)]


def _is_english(fact: str) -> bool:
    """Whether capital letters are names here: German writes every noun with one."""
    words = {word.lower() for word in _TOKEN.findall(fact)}
    return bool(words & _ENGLISH) and not words & _FOREIGN


def _is_mended(name: str, words: set[str]) -> bool:
    """Whether a name was said with a typo."""
    near = (word for word in words if word[0] == name[0] or word[-1] == name[-1])
    return any(SequenceMatcher(None, name, word).ratio() >= _TYPO for word in near)


# --- asking a language model whether memory helps with a message, where the rules have found nothing ------------------


MAX_MESSAGE: Final = 2_000
ANSWER_TOKENS: Final = 200
"""More than the answer takes, for models that say something before it."""

_SCHEMA: Final = {"title": "route", **object_schema({"route": {"type": "string", "enum": [*Route]}})}
_NAMES: Final = ("route", "layer", "answer")
_ROUTE: Final = re.compile(rf"\b(?:{'|'.join(Route)})\b")


def gate_question(message: str) -> Question:
    """The question about a message; of a long one its two ends are shown."""
    system, version = system_message("gate", "")
    half = MAX_MESSAGE // 2
    shown = message if len(message) <= MAX_MESSAGE else f"{message[:half]} [\u2026] {message[-half:]}"
    asked = f"The message:\n<message>\n{shown}\n</message>"
    return Question([{"role": "system", "content": system}, {"role": "user", "content": asked}], _SCHEMA, version)


def parse_route(answer: str) -> Route:
    """The layer an answer names, in JSON or as a bare word; ``UnreadableAnswer`` when it names none or several."""
    try:
        value = parse_json(answer).value
    except UnreadableAnswer:
        value = answer
    named = set(_ROUTE.findall(_route_text(value).lower()))
    if len(named) != 1:
        raise UnreadableAnswer('the answer names no layer: expected {"route": "..."}')
    return Route(named.pop())


def _route_text(value: Any) -> str:
    if isinstance(value, Mapping):
        value = next((value[name] for name in _NAMES if name in value), "")
    if isinstance(value, list) and len(value) == 1:
        return _route_text(value[0])
    return value if isinstance(value, str) else ""
