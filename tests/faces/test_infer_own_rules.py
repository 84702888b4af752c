"""Patterns and slots of a configuration's own, learned from and reconciled through both faces."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from memstone import Settings
from memstone.errors import ConfigError
from tests.faces.harness import Face, Opens
from tests.faces.infer_steps import kept, told

BADGE: Final = {
    "match": r"my badge number is (?P<value>[\w-]+)",
    "fact": "{subject}'s badge number is {value}",
    "category": "identity",
    "slot": "badge_number",
}
KEY: Final = {
    "match": r"I have a key (?:to|for) the (?P<value>\w+)",
    "fact": "{subject} has a key to the {value}",
    "category": "possession",
    "slot": "key_to",
}
SLOTS: Final = [{"name": "badge_number"}, {"name": "key_to", "cardinality": "many"}]
OWN: Final[dict[str, Any]] = {"extract": {"patterns": [BADGE, KEY]}, "reconcile": {"slots": SLOTS}}


@pytest.fixture
def own(opens: Opens) -> Face:
    return opens(OWN)


async def test_a_pattern_of_ones_own_keeps_its_sentence_with_its_evidence(own: Face, opens: Opens) -> None:
    text = "Good morning! My badge number is AB-4711, by the way."
    assert await told(own, text, opens) == [("ADD", "User's badge number is AB-4711.")]

    (fact,) = [line for line in await kept(own) if line["layer"] == "fact"]
    evidence = fact["data"]["evidence"]
    assert evidence["quote"] == "My badge number is AB-4711" == text[evidence["start"] : evidence["end"]]
    assert (fact["data"]["category"], fact["kind"], fact["origin"]) == ("identity", "factual", "user")
    assert fact["source"] == "pattern"


async def test_the_speaker_is_called_by_name(own: Face, opens: Opens) -> None:
    texts = [{"role": "user", "name": "Marguerite", "content": "My badge number is AB-4711."}]
    assert await told(own, texts, opens) == [("ADD", "Marguerite's badge number is AB-4711.")]


async def test_another_value_of_a_slot_supersedes_the_earlier_one(own: Face, opens: Opens) -> None:
    await told(own, "My badge number is AB-4711.", opens)
    (first,) = (await own.get_all(user_id="alice"))["results"]

    assert await told(own, "It changed: my badge number is CD-9922.", opens) == [
        ("UPDATE", "User's badge number is CD-9922.")
    ]
    assert await told(own, "As I said, my badge number is CD-9922!", opens) == [
        ("NONE", "User's badge number is CD-9922.")
    ]
    assert await own.listed() == ["User's badge number is CD-9922."]
    past = await own.history(first["id"])
    assert [(one["event"], one["new_value"]) for one in past] == [
        ("ADD", "User's badge number is AB-4711."),
        ("UPDATE", "User's badge number is CD-9922."),
    ]


async def test_values_of_a_slot_with_many_stand_side_by_side(own: Face, opens: Opens) -> None:
    assert await told(own, "I have a key to the archive.", opens) == [("ADD", "User has a key to the archive.")]
    assert await told(own, "I have a key for the workshop.", opens) == [("ADD", "User has a key to the workshop.")]
    assert await told(own, "Yes, I have a key to the archive.", opens) == [("NONE", "User has a key to the archive.")]
    assert sorted(await own.listed()) == ["User has a key to the archive.", "User has a key to the workshop."]


async def test_numbers_of_a_slot_with_many_do_not_replace_each_other(opens: Opens) -> None:
    locker = {"match": r"my locker is (?P<value>\d+)", "fact": "{subject} has locker {value}", "slot": "locker"}
    slots = [{"name": "locker", "cardinality": "many"}]
    face = opens({"extract": {"patterns": [locker]}, "reconcile": {"slots": slots}})

    assert await told(face, "My locker is 12.", opens) == [("ADD", "User has locker 12.")]
    assert await told(face, "My locker is 13.", opens) == [("ADD", "User has locker 13.")]


async def test_shipped_rules_read_the_rest_of_the_message_and_only_the_rest(own: Face, opens: Opens) -> None:
    learned = await told(own, "I live in Oslo. My badge number is AB-4711. I like tea.", opens)
    assert [text for _, text in learned] == [
        "User lives in Oslo.",
        "User's badge number is AB-4711.",
        "User likes tea.",
    ]


async def test_a_pattern_reads_languages_that_the_shipped_rules_do_not(opens: Opens) -> None:
    german = {"match": r"meine Personalnummer ist (?P<value>\d+)", "fact": "{subject} hat die Personalnummer {value}"}
    face = opens({"extract": {"patterns": [german]}})
    text = "Guten Tag, meine Personalnummer ist 4711 und ich bin neu hier."
    assert await told(face, text, opens) == [("ADD", "User hat die Personalnummer 4711.")]


@pytest.mark.parametrize(
    "said",
    [
        "What if my badge number is 5?",
        "If my badge number is 5, I owe you one.",
        "```\nmy badge number is 5\n```",
        'The form says: "I confirm that my badge number is 5."',
    ],
)
async def test_what_states_nothing_is_not_kept(own: Face, opens: Opens, said: str) -> None:
    assert await told(own, said, opens) == []


async def test_a_pattern_can_fill_a_shipped_slot(opens: Opens) -> None:
    crew = {"match": r"I crew for (?P<value>\w+)", "fact": "{subject} crews for {value}", "slot": "employer"}
    face = opens({"extract": {"patterns": [crew]}})
    await told(face, "I work at Acme.", opens)
    assert await told(face, "I crew for Vikings now.", opens) == [("UPDATE", "User crews for Vikings.")]


async def test_a_slot_is_found_in_sentences_that_were_stored_as_they_are(opens: Opens) -> None:
    slots = [{"name": "badge_number", "patterns": [r"carries badge (?P<value>[\w-]+)"]}]
    face = opens({"extract": {"patterns": [BADGE]}, "reconcile": {"slots": slots}})
    await face.remember("User carries badge AB-4711.")

    opens.clock.advance(minutes=1)
    (change,) = (await face.add("My badge number is CD-9922.", user_id="alice"))["results"]
    assert (change["event"], change["old_memory"]) == ("UPDATE", "User carries badge AB-4711.")


async def test_another_user_has_values_of_their_own(own: Face, opens: Opens) -> None:
    await told(own, "My badge number is AB-4711.", opens)
    assert await told(own, "My badge number is CD-9922.", opens, user_id="bob") == [
        ("ADD", "User's badge number is CD-9922.")
    ]
    assert await own.listed() == ["User's badge number is AB-4711."]


async def test_rules_come_from_a_file_and_from_the_environment(opens: Opens, tmp_path: Path) -> None:
    file = tmp_path / "memstone.toml"
    file.write_text(
        "[[extract.patterns]]\nmatch = 'my badge number is (?P<value>[\\w-]+)'\n"
        'fact = "{subject}\'s badge number is {value}"\nslot = "badge_number"\n'
        '[[reconcile.slots]]\nname = "badge_number"\n',
        "utf-8",
    )
    key = {**KEY, "slot": ""}
    by_file = Settings.load(file, env={})
    by_json = Settings.load(env={"MEMSTONE_EXTRACT__PATTERNS": json.dumps([key])})
    by_toml = Settings.load(
        env={"MEMSTONE_EXTRACT__PATTERNS": "[{match = 'on team (?P<value>\\w+)', fact = '{value}'}]"}
    )

    assert [one.name for one in by_file.own_rules().slots] == ["badge_number"]
    assert by_json.own_rules().patterns[0].fact == KEY["fact"]
    assert by_toml.own_rules().patterns[0].match.pattern == r"on team (?P<value>\w+)"
    face = opens({"extract": by_file.extract.model_dump(), "reconcile": by_file.reconcile.model_dump()})
    assert await told(face, "My badge number is AB-4711.", opens) == [("ADD", "User's badge number is AB-4711.")]


async def test_a_rule_that_is_wrong_is_said_before_anything_is_opened(opens: Opens) -> None:
    with pytest.raises(ConfigError, match=r"extract\.patterns\.1\.match: is not a regular expression"):
        opens({"extract": {"patterns": [KEY | {"slot": ""}, {"match": "(", "fact": "{subject} is"}]}})
