"""What an assistant asks about the user, and the statement an answer makes of it, in the user's own first person.

Data: the sentence, how the reply has to look, and the ways in which it is asked. A question that is none of these asks
for an opinion, a choice or an order, and what is answered to it is no fact.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeAlias

from memstone.core.rules import nouns
from memstone.core.rules import reply_values as replies
from memstone.core.rules.question_words import (
    ACTIVITIES,
    CITY,
    DEVICES,
    FAVOURITE,
    FIRM,
    GENRES,
    KINDS,
    MANY,
    OFTEN,
    PERSON,
    PET,
    ROUTINES,
    TOOLS,
    WORK,
    counted,
    does,
    favourite,
    lives,
    measurement,
    origin,
    pronouns,
    with_people,
)

Value: TypeAlias = Callable[[str], str]
Fitted: TypeAlias = Callable[[Mapping[str, str], str], str]


@dataclass(frozen=True, slots=True)
class Asked:
    """Ways to ask for one thing; ``says`` is filled with the groups of the question and the value of the reply."""

    says: str
    value: Value
    patterns: tuple[re.Pattern[str], ...]
    fitted: Fitted | None = None
    """Fits the value to the words of the question."""


def ask(says: str, value: Value, *patterns: str, fitted: Fitted | None = None) -> Asked:
    """One row of the table."""
    return Asked(says, value, tuple(re.compile(one, re.IGNORECASE) for one in patterns), fitted)


_ANY_PET: Final = partial(replies.having, kinds=nouns.ANIMALS)
_ANY_KIN: Final = partial(replies.having, kinds=nouns.RELATIVES)
_A_PETS_NAME: Final = partial(replies.name, pet=True)
_PETS_NAMES: Final = partial(replies.names, pet=True)


def _ways_to_name(whose: str) -> tuple[str, ...]:
    return (
        rf"what (?:is|was) your {whose}'s (?:first |full )?name",
        rf"what (?:is|was) the name of your {whose}",
        rf"what (?:is|was) your {whose} (?:called|named)",
        rf"what did you (?:name|call) your {whose}",
    )


def _ways_to_name_many(whose: str) -> tuple[str, ...]:
    return (
        rf"what are your {whose}(?:'s?)? names",
        rf"what are the names of your {whose}",
        rf"what are your {whose} (?:called|named)",
    )


_NAMED, _ALL_NAMED = "My {whose}'s name is {value}.", "My {whose} are called {value}."
_WHO: Final = (
    ask(
        "My {which} is {value}.",
        replies.name,
        r"what is your (?P<which>(?:full |first |last |middle |maiden |family |real )?name)",
    ),
    ask("Call me {value}.", replies.name, r"(?:what|how) (?:should|shall|may|can|do) i (?:call|address) you"),
    ask(_NAMED, replies.name, *_ways_to_name(PERSON)),
    ask(_NAMED, _A_PETS_NAME, *_ways_to_name(PET)),
    ask("My {whose} is called {value}.", replies.name, *_ways_to_name(FIRM)),
    ask(_ALL_NAMED, replies.names, *_ways_to_name_many(PERSON)),
    ask(_ALL_NAMED, _PETS_NAMES, *_ways_to_name_many(PET)),
    ask("I am {value}.", replies.age, r"how old are you", r"what is your age"),
    ask(
        "My {whose} {is_} {value}.",
        replies.age,
        rf"how old (?:is|are) your {PERSON}",
        rf"how old (?:is|are) your {PET}",
    ),
    ask(
        "My {which} is {value}.",
        replies.date,
        r"(?:when|what day|what date) is your (?P<which>birthday|(?:wedding )?anniversary|name day)",
        r"what is your (?P<which>birthday)",
    ),
    ask("My {whose}'s birthday is {value}.", replies.date, rf"when is your {PERSON}'s birthday"),
    ask("I was born {value}.", replies.born, r"(?:when|(?:in )?what year|in which year) were you born"),
    ask("My pronouns are {value}.", pronouns, r"what are your (?:preferred )?pronouns"),
    ask(
        "My {which} is {value}.",
        replies.things,
        r"what is your (?P<which>mother tongue|native language|first language|nationality|religion|star sign|zodiac sign|blood type|shoe size|time ?zone|citizenship)",
    ),
)
_WHERE: Final = (
    ask(
        "I live {value}.",
        lives,
        rf"where (?:do you|are you) {OFTEN}(?:live|living)",
        rf"(?:in )?(?:what|which) {CITY} do you live(?: in)?",
    ),
    ask("I live {value}.", with_people, r"who do you live with"),
    ask(
        "I am based {value}.",
        replies.place,
        r"where are you (?:currently )?(?:based|located)",
        r"(?:in )?(?:what|which) (?:city|country) are you based(?: in)?",
    ),
    ask(
        "I am {value}.",
        origin,
        r"where (?:are you|do you come) (?:originally )?from(?: originally)?",
        rf"(?:what|which) {CITY} are you (?:originally )?from",
    ),
    ask("I grew up {value}.", replies.place, r"where did you grow up"),
    ask("I was born {value}.", replies.place, r"where were you born"),
    ask("My {whose} live{s_} {value}.", replies.place, rf"where do(?:es)? your {PERSON} {OFTEN}live"),
)
_WORKING: Final = (
    ask(
        "I {value}.",
        replies.trade,
        rf"what do you do{WORK}",
        r"what is your (?:current )?(?:job|profession|occupation|job title|role|line of work)",
        r"what kind of work do you do",
    ),
    ask(
        "My {whose} {value}.",
        does,
        rf"what does your {PERSON} do{WORK}",
        rf"what is your {PERSON}'s (?:job|profession|occupation)",
    ),
    ask(
        "I work {value}.",
        replies.employer,
        rf"where do you {OFTEN}work",
        r"who do you work for",
        r"who is your (?:current )?employer",
        r"(?:which|what) company do you work (?:for|at)",
        r"where are you (?:currently )?(?:working|employed)",
    ),
    ask("I study {value}.", replies.common, r"what (?:do you|are you) (?:study|studying)", r"what is your major"),
    ask(
        "I study {value}.",
        replies.employer,
        r"where do you study",
        r"(?:which|what) (?:university|college|uni) do you (?:go to|attend|study at)",
    ),
)
_HAVING: Final = (
    ask(
        "I have {value}.",
        _ANY_PET,
        r"do you have (?:any |a )?(?:pets?|animals)(?: at home)?",
        r"(?:what|which) (?:kind of )?pets? do you have",
        r"how many (?:pets|cats|dogs) do you have",
    ),
    ask(
        "I have {value}.",
        _ANY_KIN,
        r"do you have (?:any )?(?:kids|children|siblings|brothers (?:or|and) sisters|brothers|sisters|grandchildren|grandkids)",
        r"how many (?:kids|children|siblings|brothers and sisters) do you have",
    ),
    ask(
        "I have {value}.",
        replies.number,
        rf"how many {MANY} do you have",
        rf"do you have (?:any )?{MANY}",
        fitted=counted,
    ),
    ask("My {whose} is {value}.", replies.an_animal, rf"what (?:breed|kind of dog) is your {PET}"),
)
_TABLE: Final = (
    ask(
        "I am allergic to {value}.",
        replies.allergens,
        r"(?:what )?are you allergic to(?: anything| any(?: foods?| ingredients?| medications?| medicines?)?)?(?: in particular)?",
        r"do you have any (?:known |food )?(?:allergies|allergies or intolerances|intolerances or allergies)",
        r"what are your allergies",
    ),
    ask(
        "I eat {value}.",
        replies.diet,
        r"do you have any (?:dietary|food) (?:restrictions|preferences|requirements|needs)(?: or allergies)?",
        r"do you follow (?:a|any) (?:special |particular |specific )?diet",
    ),
    ask("I am {value} tall.", measurement, r"how tall are you", r"what is your height"),
    ask(
        "I {verb} my {what} {value}.",
        replies.common,
        r"how do you (?P<verb>take|like|drink) your (?P<what>coffee|tea|eggs|steak)",
    ),
)
_LIKING: Final = (
    ask(
        "My {what} {is_} {value}.",
        replies.things,
        rf"(?:what|who|which) (?:is|are) your (?:all-time )?{FAVOURITE}(?: of all time| ever| to (?:eat|drink|cook|watch|play|read|listen to|visit))?",
        rf"do you have an? {FAVOURITE}",
        fitted=favourite,
    ),
    ask(
        "I like {value}.",
        replies.things,
        rf"(?:what|which) {GENRES} do you {OFTEN}(?:like|enjoy|love|listen to|read|watch|prefer)(?: (?:most|best|to (?:listen to|read|watch)))?",
        fitted=favourite,
    ),
    ask(
        "My hobbies are {value}.",
        replies.pastimes,
        r"what are your (?:main )?(?:hobbies|interests)",
        r"do you have any hobbies",
        r"what (?:do you (?:like|enjoy|love) (?:to do|doing)|do you (?:usually )?do) (?:in your (?:free|spare) time|for fun|outside (?:of )?work)",
    ),
    ask(
        "I use {value} as my {tool}.",
        replies.things,
        rf"(?:what|which) {KINDS}{TOOLS} do you {OFTEN}use(?: at home| at work| for work)?",
        rf"(?:what|which) {KINDS}{DEVICES} (?:are you using|do you have)",
        r"what is your (?:main |preferred )?(?P<tool>editor|ide|browser|bank)",
    ),
    ask(
        "I drive {value}.",
        replies.things,
        rf"what {KINDS}(?:car|vehicle) do you (?:drive|have|own)",
        r"what do you drive",
    ),
    ask(
        "I play {value}.",
        replies.common,
        rf"(?:what|which) (?:(?:musical )?instruments?|sports?) do you {OFTEN}play",
        r"do you play (?:an|any) (?:musical )?instruments?",
    ),
    ask(
        "I speak {value}.",
        replies.things,
        rf"(?:what|which) (?:other )?languages? do you {OFTEN}speak(?: at home)?",
        r"do you speak any (?:other |foreign )?languages",
    ),
    ask(
        "I {verb} in {value}.",
        replies.things,
        rf"(?:what|which) (?:programming )?languages? do you {OFTEN}(?P<verb>code|program|work) in",
    ),
    ask("I support {value}.", replies.name, r"(?:what|which) (?:(?:football |soccer )?(?:team|club)) do you support"),
)
_HABITS: Final = (
    ask("I usually {verb} {value}.", replies.clock, rf"(?:when|what time|at what time) do you {OFTEN}{ROUTINES}"),
    ask("I {verb} {value}.", replies.often, rf"how often do you {OFTEN}{ACTIVITIES}"),
)
QUESTIONS: Final = (*_WHO, *_WHERE, *_WORKING, *_HAVING, *_TABLE, *_LIKING, *_HABITS)
