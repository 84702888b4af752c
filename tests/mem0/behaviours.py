"""What code that was written for mem0 relies on, as a table: every row is one behaviour and a program that shows it.

The same rows run against mem0 itself, in an environment of its own, which proves that the table is right, and against
``memstone.compat.mem0``. A row with ``differs`` holds for mem0 and not for Memstone, and says why; the guide lists it.
"""

from __future__ import annotations

import asyncio
import inspect
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from tests.mem0.fake_models import DIMENSIONS, Models, serve_models

TABLE: dict[str, Behaviour] = {}
ALICE = {"user_id": "alice"}
TODAY = datetime.now(timezone.utc).date()  # noqa: UP017 - mem0 also runs on older Pythons


@dataclass(frozen=True)
class Behaviour:
    """One row: what it is about, the program, and why Memstone does it otherwise, if it does."""

    name: str
    about: str
    run: Callable[[Subject], None]
    differs: str = ""


def behaviour(about: str, differs: str = "") -> Callable[[Callable[[Subject], None]], Callable[[Subject], None]]:
    """Enter a program into the table."""

    def enter(run: Callable[[Subject], None]) -> Callable[[Subject], None]:
        TABLE[run.__name__] = Behaviour(run.__name__, about, run, differs)
        return run

    return enter


class Blocking:
    """A memory for asyncio with blocking methods, so that one program serves both."""

    def __init__(self, target: Any, loop: asyncio.AbstractEventLoop) -> None:
        self.target, self.loop = target, loop

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.target, name)

        def call(*args: Any, **options: Any) -> Any:
            answer = found(*args, **options)
            return self.loop.run_until_complete(answer) if inspect.isawaitable(answer) else answer

        return call if callable(found) else found


@dataclass
class Subject:
    """What is examined: a way to make memories in a folder of their own, with a model that a row may script."""

    make: Callable[[dict[str, Any]], Any]
    models: Models
    folder: Path
    open_memories: list[Any] = field(default_factory=list)

    def config(self, **changes: Any) -> dict[str, Any]:
        """Return a configuration in mem0's form."""
        model = {"model": "m", "api_key": "k", "openai_base_url": self.models.url}
        vectors = {"path": str(self.folder / "qdrant"), "embedding_model_dims": DIMENSIONS, "on_disk": True}
        return {
            "vector_store": {"provider": "qdrant", "config": {"collection_name": "notes", **vectors}},
            "llm": {"provider": "openai", "config": {**model, "temperature": 0.1, "max_tokens": 500}},
            "embedder": {"provider": "openai", "config": {**model, "embedding_dims": DIMENSIONS}},
            "history_db_path": str(self.folder / "history.db"),
            "version": "v1.1",
            **changes,
        }

    def memory(self, **changes: Any) -> Any:
        """Return a memory of this subject."""
        made = self.make(self.config(**changes))
        self.open_memories.append(made)
        return made

    def reopen(self, memory: Any) -> Any:
        """Close a memory and open it again."""
        close_memory(memory)
        self.open_memories.remove(memory)
        return self.memory()

    def note(self, memory: Any, text: str, **options: Any) -> str:
        """Store a text as it is; return its id."""
        answer = memory.add(text, **{**ALICE, **options}, infer=False)
        return str(answer["results"][0]["id"])

    def texts(self, answer: dict[str, Any]) -> list[str]:
        """Return the texts of an answer, sorted."""
        return sorted(one["memory"] for one in answer["results"])

    def search(self, memory: Any, query: str, **filters: Any) -> list[str]:
        """Return the texts that a search finds, sorted."""
        return self.texts(memory.search(query, filters={**ALICE, **filters}, top_k=50, threshold=0.0))


def close_memory(memory: Any) -> None:
    """Close a memory, and the embedded store under mem0's, which would keep its folder locked."""
    target = getattr(memory, "target", memory)
    with suppress(Exception):
        memory.close()
    client = getattr(getattr(target, "vector_store", None), "client", None)
    if client is not None:
        client.close()


@contextmanager
def subject_of(product: str, *, use_asyncio: bool) -> Iterator[Subject]:
    """Make a subject: ``mem0`` or ``memstone``, by its blocking or its asyncio class."""
    if product == "mem0":
        import mem0 as module
    else:
        from memstone.compat import mem0 as module
    loop = asyncio.new_event_loop()

    def make(config: dict[str, Any]) -> Any:
        made = (module.AsyncMemory if use_asyncio else module.Memory).from_config(config)
        return Blocking(made, loop) if use_asyncio else made

    with serve_models() as models, tempfile.TemporaryDirectory() as folder:
        subject = Subject(make, models, Path(folder))
        try:
            yield subject
        finally:
            for memory in subject.open_memories:
                close_memory(memory)
            loop.close()


def raises(call: Callable[..., Any], *args: Any, **options: Any) -> Exception:
    """Return the error that a call raises."""
    try:
        call(*args, **options)
    except Exception as error:  # noqa: BLE001 - the row says which it should be
        return error
    raise AssertionError("nothing was raised")


def refuses(call: Callable[..., Any], *args: Any, **options: Any) -> None:
    """Expect a ``ValueError``, or what mem0 raises for wrong arguments, which is none."""
    error = raises(call, *args, **options)
    assert isinstance(error, ValueError) or type(error).__name__ == "ValidationError", repr(error)


# --- configuration ----------------------------------------------------------------------------------------------------


@behaviour("configuration")
def from_config_takes_a_dictionary(subject: Subject) -> None:
    assert subject.note(subject.memory(), "Alice rows")


@behaviour("configuration")
def memories_survive_a_restart(subject: Subject) -> None:
    memory = subject.memory()
    one = subject.note(memory, "Alice rows")
    assert subject.reopen(memory).get(one)["memory"] == "Alice rows"


@behaviour("configuration")
def history_survives_a_restart(subject: Subject) -> None:
    memory = subject.memory()
    one = subject.note(memory, "Alice rows")
    memory.update(one, "Alice sails")
    assert len(subject.reopen(memory).history(one)) == 2


@behaviour("configuration")
def the_configured_embedder_is_asked(subject: Subject) -> None:
    subject.note(subject.memory(), "Alice rows")
    assert any("input" in body for body in subject.models.asked)


@behaviour("configuration")
def the_configured_model_is_asked(subject: Subject) -> None:
    subject.models.facts = ["Alice rows"]
    subject.memory().add("I row", **ALICE)
    assert any("messages" in body for body in subject.models.asked)


@behaviour("configuration")
def no_model_is_asked_without_infer(subject: Subject) -> None:
    subject.note(subject.memory(), "Alice rows")
    assert not any("messages" in body for body in subject.models.asked)


@behaviour("configuration")
def custom_instructions_reach_the_model(subject: Subject) -> None:
    memory = subject.memory(custom_instructions="Only remember sports.")
    memory.add("I row", **ALICE)
    assert any("Only remember sports." in str(body.get("messages")) for body in subject.models.asked)


@behaviour("configuration")
def a_prompt_of_one_call_reaches_the_model(subject: Subject) -> None:
    memory = subject.memory()
    memory.add("I row", **ALICE, prompt="Only remember sports. Answer in JSON.")
    assert any("Only remember sports." in str(body.get("messages")) for body in subject.models.asked)


@behaviour("configuration")
def an_unknown_vector_store_is_refused(subject: Subject) -> None:
    raises(subject.memory, vector_store={"provider": "no such store", "config": {}})


@behaviour("configuration")
def an_unknown_model_provider_is_refused(subject: Subject) -> None:
    refuses(subject.memory, llm={"provider": "no such provider", "config": {}})


@behaviour("configuration")
def an_unknown_embedder_is_refused(subject: Subject) -> None:
    refuses(subject.memory, embedder={"provider": "no such provider", "config": {}})


@behaviour("configuration")
def two_collections_do_not_share_memories(subject: Subject) -> None:
    memory = subject.memory()
    subject.note(memory, "Alice rows")
    config = subject.config()["vector_store"]["config"]
    other = {**config, "collection_name": "other", "path": str(subject.folder / "elsewhere")}
    second = subject.memory(vector_store={"provider": "qdrant", "config": other})
    assert second.get_all(filters=ALICE)["results"] == []


@behaviour("configuration")
def a_memory_is_a_context_manager(subject: Subject) -> None:
    memory = subject.memory()
    assert hasattr(memory.target if isinstance(memory, Blocking) else memory, "close")


# --- add --------------------------------------------------------------------------------------------------------------


@behaviour("add")
def add_answers_with_a_list_of_results(subject: Subject) -> None:
    answer = subject.memory().add("Alice rows", **ALICE, infer=False)
    assert isinstance(answer, dict)
    assert isinstance(answer["results"], list)


@behaviour("add")
def a_stored_message_is_told_with_id_text_and_event(subject: Subject) -> None:
    (one,) = subject.memory().add("Alice rows", **ALICE, infer=False)["results"]
    assert (one["memory"], one["event"]) == ("Alice rows", "ADD")
    assert str(uuid.UUID(one["id"])) == one["id"]


@behaviour("add")
def a_stored_message_is_told_with_its_role(subject: Subject) -> None:
    (one,) = subject.memory().add("Alice rows", **ALICE, infer=False)["results"]
    assert one["role"] == "user"
    assert one["actor_id"] is None


@behaviour("add")
def a_stored_message_is_told_with_its_speaker(subject: Subject) -> None:
    message = {"role": "user", "content": "I row", "name": "bob"}
    (one,) = subject.memory().add([message], **ALICE, infer=False)["results"]
    assert one["actor_id"] == "bob"


@behaviour("add")
def one_message_may_be_a_dictionary(subject: Subject) -> None:
    answer = subject.memory().add({"role": "user", "content": "Alice rows"}, **ALICE, infer=False)
    assert subject.texts(answer) == ["Alice rows"]


@behaviour("add")
def several_messages_become_several_memories(subject: Subject) -> None:
    said = [{"role": "user", "content": "I row"}, {"role": "assistant", "content": "Rowing is fun"}]
    answer = subject.memory().add(said, **ALICE, infer=False)
    assert [one["role"] for one in answer["results"]] == ["user", "assistant"]


@behaviour("add")
def system_messages_are_left_out(subject: Subject) -> None:
    said = [{"role": "system", "content": "Be brief"}, {"role": "user", "content": "I row"}]
    assert subject.texts(subject.memory().add(said, **ALICE, infer=False)) == ["I row"]


@behaviour("add")
def messages_without_a_role_are_skipped(subject: Subject) -> None:
    said = [{"content": "nobody said this"}, {"role": "user", "content": "I row"}]
    assert subject.texts(subject.memory().add(said, **ALICE, infer=False)) == ["I row"]


@behaviour("add")
def messages_without_content_are_skipped(subject: Subject) -> None:
    said = [{"role": "user", "content": None}, {"role": "user", "content": "I row"}]
    assert subject.texts(subject.memory().add(said, **ALICE, infer=False)) == ["I row"]


@behaviour("add")
def an_empty_list_of_messages_adds_nothing(subject: Subject) -> None:
    assert subject.memory().add([], **ALICE, infer=False) == {"results": []}


@behaviour("add")
def messages_of_another_type_are_refused(subject: Subject) -> None:
    refuses(subject.memory().add, 5, **ALICE)


@behaviour("add")
def nobody_named_is_refused(subject: Subject) -> None:
    refuses(subject.memory().add, "Alice rows")


@behaviour("add")
def a_blank_user_is_refused(subject: Subject) -> None:
    refuses(subject.memory().add, "Alice rows", user_id="  ")


@behaviour("add")
def a_user_with_a_blank_inside_is_refused(subject: Subject) -> None:
    refuses(subject.memory().add, "Alice rows", user_id="alice b")


@behaviour("add")
def an_id_is_trimmed(subject: Subject) -> None:
    memory = subject.memory()
    subject.note(memory, "Alice rows", user_id=" alice ")
    assert subject.texts(memory.get_all(filters=ALICE)) == ["Alice rows"]


@behaviour("add")
def a_number_is_an_id(subject: Subject) -> None:
    memory = subject.memory()
    memory.add("Alice rows", user_id=7, infer=False)
    assert subject.texts(memory.get_all(filters={"user_id": 7})) == ["Alice rows"]


@behaviour("add")
def an_agent_or_a_run_is_enough(subject: Subject) -> None:
    memory = subject.memory()
    memory.add("The agent rows", agent_id="boat", infer=False)
    memory.add("The run rows", run_id="r1", infer=False)
    assert subject.texts(memory.get_all(filters={"agent_id": "boat"})) == ["The agent rows"]
    assert subject.texts(memory.get_all(filters={"run_id": "r1"})) == ["The run rows"]


@behaviour("add")
def metadata_is_stored(subject: Subject) -> None:
    memory = subject.memory()
    one = subject.note(memory, "Alice rows", metadata={"topic": "sport", "level": 3})
    assert memory.get(one)["metadata"] == {"topic": "sport", "level": 3}


@behaviour("add")
def metadata_cannot_name_the_owner(subject: Subject) -> None:
    memory = subject.memory()
    one = subject.note(memory, "Alice rows", metadata={"user_id": "bob", "topic": "sport"})
    assert memory.get(one)["user_id"] == "alice"
    assert memory.get_all(filters={"user_id": "bob"})["results"] == []


@behaviour("add")
def metadata_of_the_caller_is_not_changed(subject: Subject) -> None:
    metadata = {"topic": "sport"}
    subject.note(subject.memory(), "Alice rows", metadata=metadata)
    assert metadata == {"topic": "sport"}


@behaviour("add")
def an_unknown_memory_type_is_refused(subject: Subject) -> None:
    refuses(subject.memory().add, "Alice rows", **ALICE, memory_type="semantic")


@behaviour("add")
def a_procedure_is_one_memory_in_the_models_words(subject: Subject) -> None:
    subject.models.raw = "First the oars, then the boat."
    memory = subject.memory()
    said = [{"role": "user", "content": "How?"}, {"role": "assistant", "content": "Oars first"}]
    answer = memory.add(said, agent_id="boat", memory_type="procedural_memory")
    (one,) = answer["results"]
    assert (one["memory"], one["event"]) == ("First the oars, then the boat.", "ADD")
    assert memory.get(one["id"])["metadata"]["memory_type"] == "procedural_memory"


@behaviour(
    "add",
    "Memstone stores a text once for each speaker and scope: the second `add` answers with the id of the first and the "
    "event `NONE`",
)
def the_same_text_is_stored_twice(subject: Subject) -> None:
    memory = subject.memory()
    assert subject.note(memory, "Alice rows") != subject.note(memory, "Alice rows")
    assert len(memory.get_all(filters=ALICE)["results"]) == 2


@behaviour("add", "`timestamp` says when something was said; mem0 has it only in its hosted service")
def a_timestamp_is_refused(subject: Subject) -> None:
    refuses(subject.memory().add, "Alice rows", **ALICE, timestamp=1700000000)


# --- add with a model -------------------------------------------------------------------------------------------------


@behaviour("learning")
def facts_of_the_model_are_stored(subject: Subject) -> None:
    subject.models.facts = ["Alice rows every morning"]
    memory = subject.memory()
    (one,) = memory.add("I row every morning", **ALICE)["results"]
    assert (one["memory"], one["event"]) == ("Alice rows every morning", "ADD")
    assert subject.texts(memory.get_all(filters=ALICE)) == ["Alice rows every morning"]


@behaviour("learning")
def several_facts_are_several_memories(subject: Subject) -> None:
    subject.models.facts = ["Alice rows", "Alice paints"]
    answer = subject.memory().add("I row and I paint", **ALICE)
    assert subject.texts(answer) == ["Alice paints", "Alice rows"]


@behaviour("learning")
def nothing_to_learn_is_an_empty_list(subject: Subject) -> None:
    memory = subject.memory()
    assert memory.add("Hello there", **ALICE)["results"] == []
    assert memory.get_all(filters=ALICE)["results"] == []


@behaviour("learning")
def an_empty_answer_of_the_model_learns_nothing(subject: Subject) -> None:
    subject.models.raw = '{"memory": []}'
    assert subject.memory().add("I row", **ALICE)["results"] == []


@behaviour("learning")
def an_answer_in_a_code_block_is_read(subject: Subject) -> None:
    subject.models.raw = '```json\n{"memory": [{"text": "Alice rows", "quote": "I row"}]}\n```'
    assert subject.texts(subject.memory().add("I row", **ALICE)) == ["Alice rows"]


@behaviour("learning")
def a_fact_that_is_known_is_not_added_again(subject: Subject) -> None:
    subject.models.facts = ["Alice rows"]
    memory = subject.memory()
    memory.add("I row", **ALICE)
    assert memory.add("As I said, I row", **ALICE)["results"] == []
    assert len(memory.get_all(filters=ALICE)["results"]) == 1


@behaviour("learning")
def the_same_fact_twice_in_one_answer_is_one_memory(subject: Subject) -> None:
    subject.models.facts = ["Alice rows", "Alice rows"]
    memory = subject.memory()
    memory.add("I row, I row", **ALICE)
    assert len(memory.get_all(filters=ALICE)["results"]) == 1


@behaviour("learning")
def learned_facts_carry_the_metadata(subject: Subject) -> None:
    subject.models.facts = ["Alice rows"]
    memory = subject.memory()
    (one,) = memory.add("I row", **ALICE, metadata={"topic": "sport"})["results"]
    assert memory.get(one["id"])["metadata"] == {"topic": "sport"}


@behaviour("learning")
def learned_facts_say_whose_words_they_are(subject: Subject) -> None:
    subject.models.facts = ["Alice rows"]
    memory = subject.memory()
    (one,) = memory.add("I row", **ALICE)["results"]
    assert memory.get(one["id"])["attributed_to"] == "user"


@behaviour("learning")
def a_model_that_fails_is_an_error(subject: Subject) -> None:
    memory = subject.memory()
    subject.models.status = 400
    assert isinstance(raises(memory.add, "I row", **ALICE), Exception)
    assert memory.get_all(filters=ALICE)["results"] == []


@behaviour("learning")
def a_learned_fact_has_a_history(subject: Subject) -> None:
    subject.models.facts = ["Alice rows"]
    memory = subject.memory()
    (one,) = memory.add("I row", **ALICE)["results"]
    assert [event["event"] for event in memory.history(one["id"])] == ["ADD"]


@behaviour("learning", "Memstone also understands an answer that is a list of facts, or of objects with a `fact`")
def facts_under_another_name_are_ignored(subject: Subject) -> None:
    subject.models.raw = '{"facts": ["Alice rows"]}'
    assert subject.memory().add("I row", **ALICE)["results"] == []


@behaviour(
    "learning",
    "if a model's answer cannot be read at all, Memstone raises `BadModelOutput` instead of answering that there was "
    "nothing to learn",
)
def an_unreadable_answer_learns_nothing(subject: Subject) -> None:
    subject.models.raw = "I would rather not."
    assert subject.memory().add("I row", **ALICE)["results"] == []
