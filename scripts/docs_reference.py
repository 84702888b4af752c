"""Write the tables of the reference pages from the code they describe.

A page holds a pair of marks for each table; what stands between them is replaced. Run without arguments to write the
pages, with ``--check`` to learn whether they are up to date.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Final, Literal, Union, get_args, get_origin

from pydantic import BaseModel, SecretStr

from memstone.adapters.vendors import VENDORS
from memstone.config import Settings
from memstone.core.prompts import prompt_text, version_of
from memstone.core.settings.names import SETTINGS
from memstone.errors import MemstoneError
from memstone.model.policy import PRESETS, Policy
from memstone.registry import BUILT_IN, load_adapter
from memstone.sections_service import UpstreamSettings

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

DOCS: Final = Path(__file__).resolve().parent.parent / "docs"

MEANING: Final[dict[str, str]] = tomllib.loads(
    Path(__file__).with_name("settings_meaning.toml").read_text(encoding="utf-8")
)
"""What each setting is for. A setting without a line there, or a line without a setting, is an error."""

PROVIDERS: Final = (
    ("llm", "openai"),
    ("llm", "azure_openai"),
    ("llm", "anthropic"),
    ("llm", "gemini"),
    ("llm", "ollama"),
    ("llm", "local"),
    ("llm", "litellm"),
    ("embedder", "local"),
    ("embedder", "multilingual"),
    ("embedder", "static"),
    ("embedder", "openai"),
    ("embedder", "azure_openai"),
    ("embedder", "gemini"),
    ("embedder", "cohere"),
    ("embedder", "voyage"),
    ("embedder", "tei"),
    ("embedder", "ollama"),
    ("embedder", "hash"),
    ("index", "local"),
    ("index", "postgres"),
    ("vectors", "pgvector"),
    ("vectors", "qdrant"),
    ("vectors", "chroma"),
    ("vectors", "elasticsearch"),
    ("vectors", "opensearch"),
    ("vectors", "weaviate"),
    ("vectors", "pinecone"),
    ("vectors", "azure_ai_search"),
    ("vectors", "faiss"),
    ("vectors", "milvus"),
    ("vectors", "redis"),
    ("graph", "neo4j"),
    ("graph", "falkordb"),
    ("reranker", "cohere"),
    ("reranker", "jina"),
    ("reranker", "voyage"),
    ("reranker", "zeroentropy"),
    ("reranker", "llm"),
    ("reranker", "http"),
    ("reranker", "local"),
)
HEADINGS: Final = {
    "llm": "llm.config",
    "embedder": "embedder.config",
    "index": "vector_store.config",
    "vectors": "vector_store.config",
    "graph": "graph_store.config",
    "reranker": "reranker.config",
}
NAMES: Final = {("index", "postgres"): "`local`, if the store is PostgreSQL"}
"""How a provider is called in a configuration, where that is not its name."""

_USES: Final = ("llm", "embedder", "reranker")
_SECTIONS: Final = {"context": "retrieval", "write": "formation", "extract": "curation"}
"""Sections that have another name in a policy."""

_FIELDS: Final = {"context.budget": "token_budget"}
"""Settings that have another name in a policy."""


def settings_table() -> str:
    """Return every setting with its type, default and meaning."""
    return _table(("setting", "value", "default", "meaning"), _rows(Settings, ""))


def upstreams_table() -> str:
    """Return the options of an upstream of the gateway."""
    rows = ((row[0].replace("upstream.", ""), *row[1:]) for row in _rows(UpstreamSettings, "upstream."))
    return _table(("option", "value", "default", "meaning"), rows)


def stored_table() -> str:
    """Return the settings that can be stored, by section."""
    sections: dict[str, list[str]] = {}
    for name, setting in SETTINGS.items():
        section, _, option = name.partition(".")
        sign = " ".join(["¹"] * setting.tenant_only + ["²"] * setting.operators)
        sections.setdefault(section, []).append(f"`{option}`{sign}")
    return _table(("section", "settings"), ((f"`{name}`", ", ".join(options)) for name, options in sections.items()))


def providers_tables() -> str:
    """Return the options of every built-in provider."""
    return "\n\n".join(_provider(kind, name) for kind, name in PROVIDERS)


def _provider(kind: str, name: str) -> str:
    rows = [
        (f"`{row[0].strip('`').partition('.')[2]}`", *row[1:])
        for row in _rows(load_adapter(kind, name).Config, f"{kind} {name}.")
    ]
    heading = f"### `{HEADINGS[kind]}` of {NAMES.get((kind, name), f'`{name}`')}"
    return f"{heading}\n\n" + _table(("option", "value", "default", "meaning"), rows)


def vendors_table() -> str:
    """Return every provider that a model can be named after, with its address and its variables."""
    names = sorted({name for kind, name in BUILT_IN if kind in _USES and name in VENDORS})
    return _table(("provider", "use as", "default address", "key", "default model"), map(_vendor_row, names))


def _vendor_row(name: str) -> tuple[str, ...]:
    vendor = VENDORS[name]
    uses = [kind for kind in _USES if (kind, name) in BUILT_IN]
    models = [load_adapter(kind, name).Config.model_fields["model"] for kind in uses]
    defaults = [f"`{field.default}`" for field in models if not field.is_required()]
    address = f"`{vendor.base_url}`" if vendor.base_url else ""
    variable = f"`{vendor.address}`" if vendor.address else ""
    return (
        f"`{name}`",
        ", ".join(f"`{kind}`" for kind in uses),
        ", or ".join(part for part in (address, variable) if part),
        ", ".join(f"`{key}`" for key in vendor.keys) + ("" if vendor.needs_key else " (optional)"),
        ", ".join(defaults) or "set `model`",
    )


def errors_table() -> str:
    """Return every error with its code."""
    return _table(
        ("error", "code", "when", "what to do"), (_error_row(cls, depth) for cls, depth in _tree(MemstoneError, 0))
    )


def _tree(cls: type[MemstoneError], depth: int) -> Iterator[tuple[type[MemstoneError], int]]:
    yield cls, depth
    for child in cls.__subclasses__():
        if child.__module__ == cls.__module__:
            yield from _tree(child, depth + 1)


def _error_row(cls: type[MemstoneError], depth: int) -> tuple[str, ...]:
    builtin = [base.__name__ for base in cls.__bases__ if not issubclass(base, MemstoneError) and base is not Exception]
    name = "&emsp;" * depth + f"`{cls.__name__}`" + (f" (and `{builtin[0]}`)" if builtin else "")
    when = (cls.__doc__ or "").partition("\n")[0].rstrip(".")
    todo = cls.default_hint or ("may be tried again" if cls.retryable else "")
    return name, f"`{cls.code}`", when, todo


def _rows(model: type[BaseModel], prefix: str) -> Iterator[tuple[str, ...]]:
    for name, field in model.model_fields.items():
        inner = next((part for part in _parts(field.annotation) if _is_model(part)), None)
        if inner is not None:
            yield from _rows(inner, f"{prefix}{name}.")
        else:
            default = _preset_default(prefix + name) or _default(field)
            yield f"`{prefix}{name}`", _value(field), default, MEANING[_meaning_key(prefix + name)]


def _meaning_key(name: str) -> str:
    """Return which line of ``MEANING`` is about a setting: its own, or that of all providers of its kind."""
    kind, _, rest = name.partition(" ")
    return name if name in MEANING or not rest else f"{kind} *.{rest.partition('.')[2]}"


def _parts(annotation: Any) -> tuple[Any, ...]:
    return get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)


def _is_model(part: Any) -> bool:
    return isinstance(part, type) and issubclass(part, BaseModel)


def _value(field: FieldInfo) -> str:
    kinds = [_kind(part) for part in _parts(field.annotation) if part is not NoneType]
    return ", ".join([*kinds, *_bounds(field)])


def _kind(part: Any) -> str:
    if get_origin(part) is Literal:
        return ", ".join(f"`{value}`" for value in get_args(part))
    if get_origin(part) is tuple:
        inner = get_args(part)[0]
        return "list of tables" if _is_model(inner) else f"list of {_kind(inner)}"
    names = {
        str: "text",
        bool: "`true`, `false`",
        int: "whole number",
        float: "number",
        Path: "path",
        SecretStr: "secret text",
    }
    return names.get(part, "table")


def _bounds(field: FieldInfo) -> Iterator[str]:
    signs = {"ge": "≥", "gt": ">", "le": "≤"}
    for rule in field.metadata:
        for name, sign in signs.items():
            if getattr(rule, name, None) is not None:
                yield f"{sign} {getattr(rule, name):,}"


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    return _written(field.get_default(call_default_factory=True))


def _preset_default(setting: str) -> str:
    """Return the value of the default preset and those of presets that differ; '' if presets say nothing about it."""
    by_preset = {preset: _in_policy(setting, Settings.of({"preset": preset}).as_policy()) for preset in PRESETS}
    written = {preset: _written(value) for preset, value in by_preset.items() if value is not _ABSENT}
    if not written:
        return ""
    first = written.pop("facts")
    others = [f"{preset}: {value}" for preset, value in written.items() if value != first]
    return f"{first} ({', '.join(others)})" if others else first


_ABSENT: Final = object()


def _in_policy(setting: str, policy: Policy) -> Any:
    section, _, name = setting.partition(".")
    if section == "reconcile" and name == "within":
        return policy.known_scope
    part = getattr(policy, _SECTIONS.get(section, section), None)
    return getattr(part, _FIELDS.get(setting, name), _ABSENT)


def _written(value: Any) -> str:
    """Return a value as a configuration file has it."""
    if value in (None, "", {}, ()):
        return "none"
    if isinstance(value, float):
        value = round(value, 4)
    if isinstance(value, tuple) and isinstance(value[0], tuple):
        return "`{ " + ", ".join(f"{json.dumps(name)} = {one}" for name, one in value) + " }`"
    if isinstance(value, (tuple, bool)):
        return f"`{json.dumps(value)}`"
    return f"`{value}`"


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


_PROMPTS: Final = {
    "learn": "What new turns do to the memory (`add`)",
    "extract_facts": "Facts, where two questions are asked",
    "extract_facts_agent": "The same, where the memories are an agent's own",
    "decide": "What becomes of each fact, where two questions are asked",
    "distill": "The digest of a session",
    "distill_narrative": "The narrative of a user",
    "graph": "Names and relations, with `graph.llm`",
    "gate": 'Whether memory helps with a message, with `context.gate = "llm"`',
    "rerank": 'How well results answer a question, with `reranker.provider = "llm"`',
    "instructions": "`suggest_instructions`",
}


def prompts_text() -> str:
    """Return every prompt as it is sent, the form of the answer behind it."""
    visible: list[str] = []
    for name, title in _PROMPTS.items():
        parts = [prompt_text(version_of(name))]
        if name not in ("learn", "extract_facts_agent"):
            parts.append(prompt_text(version_of(f"{name}_format")))
        text = "\n\n".join(parts)
        visible.append(f"## {title}\n\n`{version_of(name)}`\n\n```text\n{text}\n```")
    return "\n\n".join(visible)


TABLES: Final[dict[str, Callable[[], str]]] = {
    "settings": settings_table,
    "stored": stored_table,
    "upstreams": upstreams_table,
    "providers": providers_tables,
    "vendors": vendors_table,
    "errors": errors_table,
    "prompts": prompts_text,
}
PAGES: Final = (
    "configuration.md",
    "guides/gateway.md",
    "guides/providers.md",
    "guides/settings.md",
    "reference/errors.md",
    "reference/prompts.md",
)


def filled(text: str) -> str:
    """Return a page with its tables as the code has them now."""
    return re.sub(r"(<!-- (\w+): made by [^>]*-->\n).*?(<!-- end -->)", _filled_mark, text, flags=re.DOTALL)


def _filled_mark(mark: re.Match[str]) -> str:
    return f"{mark[1]}\n{TABLES[mark[2]]()}\n\n{mark[3]}"


def unused_meanings() -> set[str]:
    """Return lines of ``MEANING`` whose setting is gone."""
    output = settings_table() + "".join(
        f"`{_meaning_key(f'{kind} {name}.{option}')}`"
        for kind, name in PROVIDERS
        for option in load_adapter(kind, name).Config.model_fields
    )
    output += "".join(f"`upstream.{option}`" for option in UpstreamSettings.model_fields)
    return {name for name in MEANING if f"`{name}`" not in output}


def main(arguments: list[str]) -> int:
    """Write the pages, or say which are out of date."""
    if unused_meanings():
        print(f"scripts/docs_reference.py speaks of settings that are gone: {sorted(unused_meanings())}")
        return 1
    late = [page for page in PAGES if filled((DOCS / page).read_text("utf-8")) != (DOCS / page).read_text("utf-8")]
    for page in late:
        if "--check" in arguments:
            print(f"docs/{page} is out of date: run python scripts/docs_reference.py")
        else:
            (DOCS / page).write_text(filled((DOCS / page).read_text("utf-8")), "utf-8")
    return 1 if late and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
