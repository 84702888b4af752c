"""From a message to the facts it states without a language model: what is kept, how it is told, and where it stands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memstone.adapters.embed.curator import LocalCurator
from memstone.language.en.fact_text import MAX_CHARS, Clause, FactText, build_wording
from memstone.language.en.facts import INPUT_CHARS, MAX_FACTS, MIN_CHARS, read_message
from memstone.model.fact import Candidate, CuratedFacts, fact_key
from memstone.model.memory import Kind

CURATOR: Final = LocalCurator()


def read(message: str, *, before: str = "", speaker: str = "") -> CuratedFacts:
    return read_message(message, CURATOR, before=before, speaker=speaker)


def texts(message: str, *, before: str = "", speaker: str = "") -> list[str]:
    return [one.text for one in read(message, before=before, speaker=speaker).facts]


def only(message: str) -> Candidate:
    found = read(message).facts
    assert len(found) == 1, [one.text for one in found]
    return found[0]


# --- plain words of liking, choosing and doing ------------------------------------------------------------------------


@pytest.mark.req("O-29")
@pytest.mark.parametrize(
    ("said", "polarity"),
    [
        ("I prefer green tea", 1),
        ("I really prefer green tea", 1),
        ("i like green tea", 1),
        ("I really like green tea", 1),
        ("My favorite tea is green tea", 1),
        ("My favourite teas are green tea and mate", 1),
        ("I enjoy green tea", 1),
        ("I LOVE green tea", 1),
        ("I don't like green tea", -1),
        ("I do not like green tea", -1),
        ("I hate green tea", -1),
        ("I dislike green tea", -1),
        ("I avoid green tea", -1),
    ],
)
def test_phrases_of_liking_and_disliking_become_preferences(said: str, polarity: int) -> None:
    fact = only(said)
    assert (fact.category, fact.kind, fact.polarity) == ("preference", Kind.FACTUAL, polarity)
    assert "green tea" in fact.text


@pytest.mark.req("O-30")
@pytest.mark.parametrize(
    "said",
    [
        "I'll use Postgres for the shop",
        "I will use Postgres for the shop",
        "I chose Postgres for the shop",
        "I decided to use Postgres for the shop",
        "I have decided on Postgres for the shop",
        "I'm going to use Postgres for the shop",
        "I'm going with Postgres for the shop",
        "I am going to adopt Postgres for the shop",
        "I selected Postgres for the shop",
        "We picked Postgres for the shop",
        "we went with Postgres for the shop",
    ],
)
def test_phrases_of_choosing_become_decisions(said: str) -> None:
    fact = only(said)
    assert (fact.category, fact.kind) == ("decision", Kind.EPISODIC)
    assert "Postgres" in fact.text


@pytest.mark.req("O-31")
@pytest.mark.parametrize(
    ("said", "polarity"),
    [
        ("I usually take the early train", 1),
        ("I always take the early train", 1),
        ("I never take the early train", -1),
        ("I typically take the early train", 1),
        ("I tend to take the early train", 1),
        ("I often take the early train", 1),
        ("I frequently take the early train", 1),
        ("I regularly take the early train", 1),
    ],
)
def test_phrases_of_routine_become_patterns(said: str, polarity: int) -> None:
    fact = only(said)
    assert (fact.category, fact.kind, fact.polarity) == ("pattern", Kind.FACTUAL, polarity)
    assert fact.key.startswith("pattern:")


@pytest.mark.req("O-29", "O-31", "O-34")
def test_a_liking_comes_before_a_routine() -> None:
    assert only("I usually prefer window seats").category == "preference"


def test_where_somebody_lives_and_works_are_named_apart_in_one_message() -> None:
    found = read("i live in oslo and i work at the harbour").facts
    assert [(one.category, one.text) for one in found] == [
        ("home", "User lives in oslo."),
        ("work", "User works at the harbour."),
    ]


# --- the form of a fact -----------------------------------------------------------------------------------------------


@pytest.mark.req("R-3")
def test_negation_survives_in_text_and_key() -> None:
    liked, disliked = only("I like Python"), only("I don't like Python")
    assert (liked.text, disliked.text) == ("User likes Python.", "User does not like Python.")
    assert liked.key != disliked.key
    assert disliked.key.startswith("preference:not:")


@pytest.mark.parametrize(
    ("said", "polarity"),
    [
        ("My doctor diagnosed me with high blood pressure", 1),
        ("fyi im left handed", 1),
        ("My flight to Muscat leaves on May 22", 1),
        ("my son can't eat gluten", -1),
        ("I can't run anymore because of my knees", -1),
        ("I quit my job at the city council", -1),
    ],
)
def test_stance_is_about_the_meaning(said: str, polarity: int) -> None:
    assert only(said).polarity == polarity


@pytest.mark.req("O-34")
@pytest.mark.parametrize(
    ("category", "text", "polarity", "key"),
    [
        ("preference", "User likes Green Tea!", 1, "preference:likes_green_tea"),
        ("preference", "User does not like C++.", -1, "preference:not:does_not_like_c"),
        ("family", "User's sister is a vet.", 1, "family:sister_is_a_vet"),
        (
            "event",
            "User walked to the very end of the long long road",
            1,
            "event:walked_to_the_very_end_of_the_long_long",
        ),
    ],
)
def test_a_key_is_category_and_slug(category: str, text: str, polarity: int, key: str) -> None:
    assert fact_key(category, text, polarity) == key


@pytest.mark.req("O-34")
def test_the_same_fact_twice_in_a_message_is_one() -> None:
    assert texts("I like tea. Really, I like tea!") == ["User likes tea."]


@pytest.mark.req("O-33")
@pytest.mark.parametrize("liked", ["a" * 600, "b" * 490, "c" * 10])
def test_a_fact_has_at_most_500_characters(liked: str) -> None:
    (fact,) = read(f"I like {liked}").facts
    assert MIN_CHARS <= len(fact.text) <= MAX_CHARS == 500
    assert liked[:10] in fact.text


@pytest.mark.req("O-33")
@pytest.mark.parametrize("said", ["I   like \t green\u00a0 tea  ", "\n\n I like green tea \n"])
def test_text_is_trimmed_and_its_white_space_collapsed(said: str) -> None:
    assert only(said).text == "User likes green tea."


def test_a_speaker_is_called_by_name() -> None:
    assert texts("I play the harp.", speaker="Ines") == ["Ines plays the harp."]
    assert texts("I play the harp.", speaker="user") == ["User plays the harp."]


@pytest.mark.req("O-39")
def test_text_to_facts_is_a_pure_function() -> None:
    text = "Hi, I'm Alice. I work at Acme Corp. My sister is vegan and I don't like olives."
    assert read(text) == read(text)
    assert texts(text) == [
        "User is Alice.",
        "User works at Acme Corp.",
        "User's sister is vegan.",
        "User does not like olives.",
    ]


# --- sentences and their subject --------------------------------------------------------------------------------------


@pytest.mark.req("O-32")
@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("I like tea. The train was late.", ["User likes tea."]),
        ("I like tea, but my sister prefers cocoa", ["User likes tea.", "User's sister prefers cocoa."]),
        ("I like tea, cocoa and mate", ["User likes tea, cocoa and mate."]),
        ("I was born in Bergen. Grew up in Oslo.", ["User was born in Bergen.", "User grew up in Oslo."]),
        ("Moved to Leeds in May. Got a job at a bank.", ["User moved to Leeds in May.", "User got a job at a bank."]),
        (
            "I have two kids, a dog and a boat, and run a small bakery.",
            ["User has two kids, a dog and a boat, and runs a small bakery."],
        ),
        (
            "I live in Rome, work at a bakery and play the harp.",
            ["User lives in Rome, works at a bakery and plays the harp."],
        ),
    ],
)
def test_sentences_are_read_one_by_one_and_their_subject_is_carried_over(said: str, told: list[str]) -> None:
    assert texts(said) == told


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("I got a dog. He is called Mo.", "User got a dog. He is called Mo."),
        (
            "My sister moved to Lima. She works at a bakery there.",
            "User's sister moved to Lima. She works at a bakery there.",
        ),
        ("We have a cabin in Norway. It has no electricity.", "User has a cabin in Norway. It has no electricity."),
        ("My son is called Max. He's six.", "User's son is called Max. He is six."),
        ("I bought a bike. It cost me 900 euros.", "User bought a bike. It cost User 900 euros."),
    ],
)
def test_what_hangs_on_the_sentence_before_is_joined_to_it(said: str, told: str) -> None:
    fact = only(said)
    assert fact.text == told
    assert said[fact.start : fact.end] == said


@pytest.mark.parametrize(
    ("question", "answer", "told"),
    [
        ("What is your favourite colour?", "Green", "User's favourite colour is Green."),
        ("Do you smoke?", "no", "User does not smoke."),
        ("Do you drink coffee?", "yes", "User drinks coffee."),
        ("Do you still live in Berlin?", "No.", "User no longer lives in Berlin."),
        ("Are you still vegan?", "nope", "User is no longer vegan."),
        ("Do you have any pets?", "Two cats", 'Asked "Do you have any pets?", User said: "Two cats".'),
        ("Where were you born?", "Bergen", 'Asked "Where were you born?", User said: "Bergen".'),
        ("How old are you?", "42", 'Asked "How old are you?", User said: "42".'),
        ("Anything else I should know?", "I'm vegetarian", "User is vegetarian."),
    ],
)
def test_a_short_answer_is_told_with_its_question(question: str, answer: str, told: str) -> None:
    assert texts(answer, before=question) == [told]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Shall I book it?", "yes please"),
        ("What's the weather like?", "rainy"),
        ("Anything else?", "no"),
        ("Rate it from 1 to 5?", "4"),
    ],
)
def test_an_answer_to_what_is_not_about_the_user_teaches_nothing(question: str, answer: str) -> None:
    assert texts(answer, before=question) == []


@pytest.mark.parametrize("said", ["Two of us at work speak Basque", "We are five at home", "None of us eats meat"])
def test_what_is_true_of_several_together_is_told_in_their_words(said: str) -> None:
    assert build_wording(Clause(said, said)) == FactText(f'User said: "{said}"', is_quote=True)


# --- tone -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("I'm allergic to peanuts lol", "User is allergic to peanuts."),
        ("i'm allergic to peanuts", "User is allergic to peanuts."),
        ("I'M ALLERGIC TO PEANUTS!!!", "User is allergic to peanuts."),
        ("IM ALLERGIC TO PEANUTS", "User is allergic to peanuts."),
        ("I'm allergic to cats 😭😭", "User is allergic to cats."),
        ("I'm diabetic 😂", "User is diabetic."),
        ("im diabetic", "User is diabetic."),
        ("OMG I'm vegetarian!!!", "User is vegetarian."),
        ("im a nurse btw", "User is a nurse."),
        ("my sister is a vet lol", "User's sister is a vet."),
        ("like i mentioned before, my sister is a vet", "User's sister is a vet."),
        ("As I said, I work as a nurse at the mill clinic.", "User works as a nurse at the mill clinic."),
        ("I take metformin every morning haha", "User takes metformin every morning."),
    ],
)
def test_tone_and_case_do_not_matter(said: str, told: str) -> None:
    assert texts(said) == [told]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("And did I say that I work as a nurse?", "User works as a nurse."),
        ("oh, have I mentioned I'm vegan?", "User is vegan."),
        ("Did I tell you my sister is a vet?", "User's sister is a vet."),
        ("What about my boat?", 'User asked: "What about my boat?"'),
        ("Did I tell you about Oslo?", 'User asked: "Did I tell you about Oslo?"'),
        ("Should I tell you about Oslo?", 'User asked: "Should I tell you about Oslo?"'),
    ],
)
def test_who_asks_whether_they_said_it_says_it(said: str, told: str) -> None:
    assert build_wording(Clause(said, said)) == FactText(told, is_quote=told.startswith("User asked"))


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("my sister Ida is vegan, so what can I cook on saturday?", "User's sister Ida is vegan."),
        ("I have two cats, but is it ok to get a dog?", "User has two cats."),
        ("I have two cats, how often do they eat?", "User has two cats."),
    ],
)
def test_what_is_told_before_a_question_in_the_same_sentence_is_learned(said: str, told: str) -> None:
    assert texts(said) == [told]


@pytest.mark.parametrize(
    "said", ["Could you find me a dentist there?", "Please book a table for two.", "What is a good dentist in Oslo?"]
)
def test_who_only_asks_for_something_tells_nothing(said: str) -> None:
    assert build_wording(Clause(said, said)) is None
    assert texts(f"I live in Oslo. {said}") == ["User lives in Oslo."]


@pytest.mark.parametrize(
    "said",
    [
        "I'm so tired today",
        "I'm starving lol",
        "I feel great today",
        "I'm kind of grumpy this morning",
        "ugh, mondays",
        "haha I could eat a horse",
        "I'm literally dying of laughter",
        "lol I'm basically a raccoon at this point",
        "I'm the queen of procrastination 😂",
        "lol I'd sell my soul for a nap",
        "If I were rich I would buy a yacht",
        "I will die if I hear that song again",
    ],
)
def test_a_joke_or_a_mood_teaches_nothing(said: str) -> None:
    assert texts(said) == []


@pytest.mark.parametrize("said", ["", " ", "\n", "...", "🙂", "42", "ok", "What is 2 + 2?", "The sky is blue."])
def test_empty_or_unrelated_text_states_nothing_and_is_in_no_other_language(said: str) -> None:
    found = read(said)
    assert (found.facts, found.is_foreign) == ([], False)


# --- names ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("Hi, I'm Bob.", "User is Bob."),
        ("hi im Lena", "User is Lena."),
        ("Hey, I'm Priya!", "User is Priya."),
        ("I am Rob Lee", "User is Rob Lee."),
        ("my name is Zoe", "User's name is Zoe."),
    ],
)
def test_who_gives_their_name_is_known_by_it(said: str, told: str) -> None:
    fact = only(said)
    assert (fact.text, fact.category) == (told, "identity")


@pytest.mark.parametrize(
    "said", ["I'm SO tired", "I'm SO happy", "Im so hungry", "I'm So happy", "I'm SO tired of this", "I'm SO EXCITED"]
)
def test_nobody_is_called_so(said: str) -> None:
    assert texts(said) == []
    assert not any(text.startswith("User's name is SO") for text in texts(f"{said}. I live in Oslo."))


# --- other languages --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "said",
    [
        "Ich bin allergisch gegen Erdnüsse.",
        "Je m'appelle Paul et j'habite à Lyon.",
        "Soy alérgico a los cacahuetes.",
        "Vivo a Roma con mia sorella.",
        "Jeg bor i Oslo og jobber som sykepleier.",
        "Ik woon in Utrecht en werk als bakker.",
        "Mieszkam w Warszawie.",
        "Moro em Lisboa e trabalho num hospital.",
        "Меня зовут Анна, я живу в Москве.",
        "我对花生过敏",
    ],
)
def test_other_languages_are_not_read(said: str) -> None:
    found = read(said)
    assert (found.facts, found.is_foreign) == ([], True)


def test_names_in_other_letters_do_not_make_another_language() -> None:
    found = read("I live in Łódź with Zoë and José.")
    assert [one.text for one in found.facts] == ["User lives in Łódź with Zoë and José."]
    assert not found.is_foreign


# --- long messages ----------------------------------------------------------------------------------------------------

DAY: Final = (
    "We spent the whole morning in the garden pulling weeds. After lunch the neighbours came over and brought a "
    "huge plum cake. The kids chased each other around the pond until somebody fell in. Then it started to rain, "
    "so everybody squeezed into the kitchen. Somebody found an old board game and we argued about the rules for "
    "an hour. The power went out twice, and the candles smelled of something like burnt sugar. In the evening the "
    "sky cleared up and there was a double rainbow over the hill. I could not find my keys, and it turned out "
    "that the dog had hidden them under the sofa. We laughed so much that my stomach hurt. On the way home the "
    "car made a strange noise, like a kettle that is about to boil, and the children slept on the back seat until "
    "we were home, which was long after midnight. Nobody wanted to get out, so we sat there for a while and "
    "listened to the wind in the old trees."
)
RUN_ON: Final = (
    "so we spent the morning in the garden pulling weeds and after lunch the neighbours came over and brought a "
    "huge plum cake and the kids chased each other around the pond until somebody fell in and then it started to "
    "rain so everybody squeezed into the kitchen and somebody found an old board game and we argued about the "
    "rules for an hour "
)


@pytest.mark.parametrize(
    "line",
    [
        f"{DAY} I'm allergic to peanuts. {DAY}",
        f"I'm allergic to peanuts. {DAY}",
        f"{DAY} I'm allergic to peanuts.",
        f"{RUN_ON * 3}and I'm allergic to peanuts, {RUN_ON * 3}",
    ],
    ids=["amid", "before", "behind", "without full stops"],
)
def test_a_line_of_more_than_900_characters_is_read_like_any_other(line: str) -> None:
    assert (len(line) > 900, "\n" in line) == (True, False)
    found = read(line)
    assert ("User is allergic to peanuts." in [one.text for one in found.facts], found.is_cut) == (True, False)


@pytest.mark.req("O-36")
def test_of_a_very_long_message_the_end_is_read() -> None:
    filler = "Water boils at a hundred degrees.\n" * (INPUT_CHARS // 34 + 10)
    message = f"I live in Oslo.\n{filler}I live in Bergen."
    found = read(message)
    assert ([one.text for one in found.facts], found.is_cut) == (["User lives in Bergen."], True)
    assert message[found.facts[0].start : found.facts[0].end] == "I live in Bergen."


@pytest.mark.parametrize("separator", ["\n", " "], ids=["lines", "one line"])
@pytest.mark.parametrize(("sentences", "cut"), [(499, 0), (500, 0), (501, 1)])
def test_only_what_has_more_sentences_than_are_read_is_cut(separator: str, sentences: int, cut: int) -> None:
    message = separator.join(["I live in Oslo.", *["It was a grey day."] * (sentences - 1)])
    found = read(message)
    assert found.is_cut is bool(cut)
    assert any("lives in Oslo" in one.text for one in found.facts) is not bool(cut)


def test_one_message_gives_only_so_many_facts() -> None:
    fruits = "apples pears plums figs dates limes lemons kiwis mangos grapes olives quinces".split()
    texts = [f"I {verb} {fruit}." for fruit in fruits for verb in ("like", "prefer", "enjoy")]
    few, many = read(" ".join(texts[:3])), read(" ".join(texts))
    assert (len(few.facts), few.is_cut) == (3, False)
    assert (len(many.facts), many.is_cut) == (MAX_FACTS, True)


# --- where it stands --------------------------------------------------------------------------------------------------

_PIECES = st.sampled_from(
    [
        *"I my we our it she User favourite is am was like never been remember call me to the home 7 Oslo".split(),
        *[",", ".", ":", ";", "-", "'", '"', "?", "!", "\u2026", "\u2014", "\n", "\u0130", "\u00df", "\U0001f642"],
    ]
)


@given(st.lists(_PIECES, max_size=20).map(" ".join) | st.text(max_size=80))
@settings(max_examples=100, deadline=None)
def test_no_text_breaks_the_reading(message: str) -> None:
    for fact in read(message).facts:
        assert message[fact.start : fact.end].strip() == message[fact.start : fact.end] != ""
        assert MIN_CHARS <= len(fact.text) <= MAX_CHARS
        assert fact.polarity in (-1, 1)
        assert fact.key.startswith(f"{fact.category}:")


# --- what a reader would find of it -----------------------------------------------------------------------------------


class Strict:
    """The curator, but only memories that hold certain words are found ok."""

    def __init__(self, *words: str) -> None:
        self._words, self.judged = words, list[str]()

    def read_words(self, before: str, words: Sequence[str]) -> Any:
        """Read as the curator does."""
        return CURATOR.read_words(before, words)

    def read_list(self, text: str, others: Sequence[str]) -> Any:
        """Read as the curator does."""
        return CURATOR.read_list(text, others)

    def judge(self, text: str) -> Any:
        """Find ok what holds the words."""
        self.judged.append(text)
        return [4.0 if all(word in text for word in self._words) else -4.0, 0.0, 0.0, 0.0]


CAT: Final = "My cat Mortimer needs his dinner. He has two injections a day."


def test_a_memory_that_is_unclear_by_itself_stands_with_the_sentence_before_it() -> None:
    curator = Strict("Mortimer", "injections")
    found = read_message(CAT, curator).facts
    assert any("injections" in one.text for one in found)
    assert all("Mortimer" in one.text for one in found)


def test_what_is_surely_worth_keeping_is_quoted_with_what_stands_around_it_whatever_a_reader_would_say() -> None:
    text = "what can I cook for my sister Ida? she's vegan"
    assert [one.text for one in read_message(text, Strict("no memory has this")).facts] == [f'User said: "{text}"']


def test_what_no_wording_makes_clear_is_no_memory_and_may_still_change_something() -> None:
    curator = Strict("nothing has this word")
    story = f"My cat Mortimer {'and the other cat and my dog ' * 7}need their dinner. He has two injections a day."
    read_cat = read_message(story, curator)
    assert not any(one.text.startswith("User said") for one in read_cat.facts)
    assert any("injections" in one.text for one in read_cat.rest)
    assert curator.judged


def test_plain_words_of_liking_are_stored_whatever_a_reader_would_say() -> None:
    assert [one.text for one in read_message("I like thing7.", Strict("nothing")).facts] == ["User likes thing7."]


def test_what_takes_back_the_sentence_before_is_stored_with_it() -> None:
    (found,) = texts("My exam at the music school is on 14 April. No wait, 16 April.")
    assert [day in found for day in ("14 April", "16 April")] == [True, True]


@pytest.mark.parametrize("who", ["User", "Ida (she)"])
@pytest.mark.parametrize(
    "teller", ["My boss told me", "my aunt told me", "A friend showed me", "Our landlord promised us"]
)
@pytest.mark.parametrize(
    "told",
    ["I get a raise", "I'm getting a raise in May", "my sister is pregnant", "you get a raise", "we get a raise"],
)
def test_a_sentence_with_two_subjects_in_a_row_is_quoted(who: str, teller: str, told: str) -> None:
    text = f"{teller} {told}"
    wording = build_wording(Clause(text, text), who)
    assert wording is not None
    assert f"{who} {who}" not in wording.text
    assert f"{who} you" not in wording.text
    assert not wording.is_quote or wording.text == f'{who} said: "{text}"'


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("Fencing with the old club is on Mondays.", "Fencing with the old club is on Mondays."),
        ("Learning Dutch will take me years.", "Learning Dutch will take User years."),
        ("Working on a novel that is due in May.", "User is working on a novel that is due in May."),
        ("Training for a triathlon because it is fun.", "User is training for a triathlon because it is fun."),
    ],
)
def test_a_form_in_ing_is_given_a_subject_unless_it_is_one(said: str, told: str) -> None:
    assert build_wording(Clause(said, said, is_own=True)) == FactText(told)


def test_what_others_told_the_user_is_kept_in_the_words_of_the_user() -> None:
    for message in ("My boss told me I get a raise.", "My mum told me my sister is pregnant."):
        fact = only(message)
        assert (fact.text, fact.is_quote) == (f'User said: "{message.rstrip(".")}"', True)
    promoted = "User's manager told User that User will be promoted."
    assert texts("My manager told me that I will be promoted.") == [promoted]
