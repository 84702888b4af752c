from __future__ import annotations

import argparse
import difflib
import doctest
import inspect
import logging
import re
import statistics
import tarfile
import typing

import pytest
import Stemmer
from hypothesis import example, given
from hypothesis import strategies as st

from memstone.language.text.stem import stem_word

REFERENCE = Stemmer.Stemmer("porter")

EXAMPLES_OF_THE_RULES = """
    caresses ponies ties caress cats feed agreed plastered bled motoring sing conflated troubled sized hopping tanned
    falling hissing fizzed failing filing happy sky relational conditional rational valenci hesitanci digitizer
    conformabli radicalli differentli vileli analogousli vietnamization predication operator feudalism decisiveness
    hopefulness callousness formaliti sensitiviti sensibiliti triplicate formative formalize electriciti electrical
    hopeful goodness revival allowance inference airliner gyroscopic adjustable defensible irritant replacement
    adjustment dependent adoption homologou communism activate angulariti homologous effective bowdlerize probate rate
    cease controll roll generalizations oscillators
    yes yoga yyy ayy yay sayings played dying tying flies dies lies skies news this was has his gas bus bias boss
    ing ed eed sed bed king ring thing string being seeing freed need agreed indeed exceeding
    abilities accidentally activities adventurous allergies allergic analysis announcement anxiety apartment apologies
    appointments argued arguing arrangement arrived artistic attitudes babies bakeries beautiful beginning believes
    birthday bicycles biggest bookkeeping businesses calculators camping celebrations ceremonies charities children
    cities classes climbing colleagues coming committees communities companies comparisons competition conversations
    cookies counselling courageous cousins created creativity customers daily daughters deadlines decided decisions
    delicious dentistry depression designing desperately destinies dinners disabilities disappointed discoveries
    divorced doctors dogs drawings driving easily eating economics educational electricity embarrassing emotionally
    employees encouragement engineering enjoyed environmental equipment especially evenings eventually excitement
    exercises exhibitions expensive experienced explained exploring families fantastically favourites feelings
    festivals finances fishing flowers foreigners fortunately friendships frustrated gardening generously glasses
    government grandmothers gratefully guitars happiness headaches healthier helpfulness hiking historical hobbies
    holidays homes hospitality hundreds identification illnesses imaginary immediately importance improvements
    incredible independence individually influences inspiration instruments insurance interested international
    interviews introduced invitations issues jewellery jogging journeys knitting knowledge languages laughing lawyers
    leadership learned libraries licenses lifestyles listening literature living loneliness lovely luckily machines
    magically management marathons married meaningful medication meditating meetings memories mentoring messages
    mindfulness mortgages motivated mountains movies musicians mysterious nationality necessarily neighbours nervously
    nutrition occasionally offices operations opportunities organisations organized originally outdoors paintings
    parties passionate patients peacefully performances personality philosophical photographers physically pianos
    planning pleasure poetry policies politically possibilities pottery practising preferences pregnancy preparations
    presentation priorities probably problems professionally programming promised properties psychologist publishing
    qualities questions quickly readings realised recently recipes recommendations recovering references relationships
    relatives relaxing religious remembered replied reservations resilience responsibilities restaurants retirement
    running sadness salaries scheduled scientists seriously services shelters shopping siblings signatures skiing
    snowboarding socially societies solutions specialities sponsored statistics stories strategies strengthened studies
    stylish succeeded supportive surgeries surprisingly swimming sympathetic tasted teachers technologies temporarily
    therapies thoughtfulness tomatoes traditional trainings transgender travelling treatments trophies truthfully
    tutoring universities unusually upcoming vacations vegetarian vehicles visited volunteering vulnerabilities walked
    weddings weekends wellness willingness wondering workshops worries writing yearly yesterday younger
""".split()


def words_of_the_standard_library() -> set[str]:
    modules = (argparse, difflib, doctest, inspect, logging, statistics, tarfile, typing)
    return set(re.findall("[a-z]{3,}", " ".join(map(inspect.getsource, modules)).lower()))


@pytest.mark.parametrize("word", EXAMPLES_OF_THE_RULES)
def test_a_word_has_the_stem_the_reference_gives_it(word: str) -> None:
    assert stem_word(word) == REFERENCE.stemWord(word)


def test_every_word_of_the_standard_librarys_sources_has_the_reference_stem() -> None:
    words = words_of_the_standard_library()
    assert len(words) > 3000
    assert {word: stem_word(word) for word in words} == {word: REFERENCE.stemWord(word) for word in words}


SUFFIXES = """
s es ies sses ed ing eed y e ll al ational tional enci anci izer abli alli entli eli ousli ization ation ator
alism iveness fulness ousness aliti iviti biliti icate ative alize iciti ical ful ness ance ence er ic able ible ant
ement ment ent ion sion tion ou ism ate iti ous ive ize""".split()


@given(st.text("abeilosty", min_size=1, max_size=8), st.lists(st.sampled_from(SUFFIXES), max_size=3))
@example("", ["ational", "s"])
def test_made_up_words_have_the_reference_stem(base: str, suffixes: list[str]) -> None:
    word = base + "".join(suffixes)
    assert len(word) < 3 or stem_word(word) == REFERENCE.stemWord(word)


@given(st.text("abcdefghijklmnopqrstuvwxyz", min_size=3, max_size=40))
def test_any_letters_have_the_reference_stem(word: str) -> None:
    assert stem_word(word) == REFERENCE.stemWord(word)


@pytest.mark.parametrize(
    "text", ["", "as", "is", "Running", "na\u00efves", "c++", "3rds", "foo-bars", "\u6771", "runs "]
)
def test_what_is_not_a_plain_word_of_three_letters_is_left_alone(text: str) -> None:
    assert stem_word(text) == text
