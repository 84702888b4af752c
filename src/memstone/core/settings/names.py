"""Every setting that can be stored, by name, with its place in the policy.

The names are those of the configuration. What a process is made of (the store, the embedder, the language model, its
limits) is configuration only: it cannot differ between two users of one process.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final

from memstone.core.settings.forms import (
    Categories,
    Choice,
    Days,
    Flag,
    Form,
    GateForm,
    LanguageForm,
    Number,
    Redaction,
    Scores,
    Text,
    WordList,
    Zone,
)
from memstone.errors import InvalidInput
from memstone.model.policy import Policy

STRATEGIES: Final = ("hybrid", "semantic", "exact", "recent", "vector", "text")
LAYERS: Final = ("identity", "fact", "episode", "turn")
KINDS: Final = ("factual", "episodic", "procedural", "semantic")
LONGEST_DAYS: Final = 36_500
"""A hundred years: what reaches further back than that would reach before the first day of the calendar."""

_SHARE: Final = Number(0, 1, is_integer=False)
_NAME_CHARS: Final = 100


@dataclass(frozen=True, slots=True)
class Setting:
    """Where a setting is in the policy, and what it may be; some only make sense for a whole tenant.

    Some are the operator's: they hold for a user or an agent, who cannot change them for themselves.
    """

    path: tuple[str, ...]
    form: Form
    tenant_only: bool = False
    operators: bool = False

    def of(self, policy: Policy) -> Any:
        """Return its value in a policy."""
        value: Any = policy
        for step in self.path:
            value = getattr(value, step)
        return value


def _build_settings(
    section: str, path: str, forms: dict[str, Form], *, tenant_only: bool = False, operators: bool = False
) -> dict[str, Setting]:
    steps = (path,) if path else ()
    return {f"{section}.{name}": Setting((*steps, name), form, tenant_only, operators) for name, form in forms.items()}


SETTINGS: Final[dict[str, Setting]] = {
    **_build_settings(
        "policy",
        "",
        {
            "enabled": Flag(),
            "learns": Flag(),
            "shows": Flag(),
            "search_tool": Flag(),
            "skills": Flag(),
            "language": LanguageForm(),
            "strategy": Choice(STRATEGIES),
            "min_score": Number(0, 1, is_integer=False, optional=True),
        },
    ),
    "context.budget": Setting(("retrieval", "token_budget"), Number(0, 16_000)),
    **_build_settings(
        "context",
        "retrieval",
        {
            "gate": GateForm(),
            "profile_tokens": Number(0, 16_000),
            "recalled_turns": Number(0, 100),
            "recall_score": Number(0, 1, is_integer=False),
            "excerpt_chars": Number(80, 4_000),
            "embed_seconds": Number(0, 60, is_integer=False, above=True),
            "scope": Choice(("session", "owner", "global")),
            "false_injection": Number(0, 1, is_integer=False, below=True),
            "strategy": Choice(("", *STRATEGIES)),
            "min_score": Number(0, 1, is_integer=False, optional=True),
            "turn_min_score": Number(0, 1, is_integer=False, optional=True),
            "min_scores": Scores(),
            "candidates": Number(1),
            "limit": Number(1),
            "sections": Flag(),
            "transcript_days": Number(0),
            "override_tokens": Number(0),
            "cache_seconds": Number(0, 86_400, is_integer=False),
        },
    ),
    **_build_settings(
        "context", "retrieval", {"receipts": Number(0), "receipt_days": Number(0, LONGEST_DAYS)}, tenant_only=True
    ),
    **_build_settings(
        "recall",
        "recall",
        {
            "fusion": Choice(("sum", "rrf")),
            "rrf_k": Number(1),
            "decay_days": Number(0, is_integer=False, above=True, optional=True),
            "salience": Flag(),
            "mmr": Number(0, 1, is_integer=False, optional=True),
            "visible_days": Number(1, LONGEST_DAYS, optional=True),
            "bootstrap_min": Number(0),
            "layers": WordList(LAYERS, least=1),
        },
    ),
    **_build_settings(
        "write",
        "formation",
        {
            "mode": Choice(("inline", "background", "session_end", "manual")),
            "debounce_seconds": Number(0, 3_600, is_integer=False),
            "digest": Flag(),
            "novelty_chars": Number(0),
            "max_attempts": Number(1, 100),
            "without_llm": Choice(("rules", "wait")),
            "turns": Number(4),
            "turn_chars": Number(100),
        },
    ),
    **_build_settings("write", "formation", {"remote_llm": Flag()}, operators=True),
    **_build_settings(
        "upkeep",
        "upkeep",
        {
            "evict": Flag(),
            "salience_floor": _SHARE,
            "idle_days": Number(0, is_integer=False),
            "merge_episodes": _SHARE,
            "merge_facts": _SHARE,
            "promote_at": Number(1),
            "promote_days": Number(0, is_integer=False, above=True),
            "promote_overlap": _SHARE,
            "promote_boost": _SHARE,
            "retain_days": Days(LAYERS),
            "ttl": Days(KINDS),
            "immune_uses": Number(1),
            "auto_summarize": Flag(),
            "summarize_tokens": Number(0),
        },
    ),
    **_build_settings(
        "upkeep",
        "upkeep",
        {
            "interval_hours": Number(0, 168, is_integer=False, above=True),
            "log_days": Number(0),
            "deleted_keep_days": Number(0),
            "ttl_scan": Number(1),
            "keep_vectors": Flag(),
        },
        tenant_only=True,
    ),
    **_build_settings(
        "extract",
        "curation",
        {
            "strategies": WordList(("pattern", "facts")),
            "roles": WordList(("user", "assistant")),
            "assistant_first_person": Flag(),
            "timezone": Zone(),
            "instructions": Text(),
            "keep_turns": Flag(),
            "categories": Categories(),
            "attachments": Choice(("reference", "refuse")),
            "neighbours": Number(1, 50),
        },
    ),
    **_build_settings("extract", "curation", {"redact": Redaction()}, operators=True),
    "custom_prompts.fact_extraction": Setting(("curation", "extraction_prompt"), Text()),
    "custom_prompts.update_decision": Setting(("curation", "decision_prompt"), Text()),
    "graph.llm": Setting(("graph_llm",), Flag()),
    "inject.position": Setting(
        ("inject", "position"), Choice(("split", "system_first", "system_merge", "prefix_last_user"))
    ),
    **_build_settings("inject", "inject", {"chat": Flag(), "agents": Flag()}),
    **_build_settings(
        "quota",
        "quotas",
        {f"user_{what}": Number(0, optional=True) for what in ("memories", "turns", "chars")},
        operators=True,
    ),
    **_build_settings(
        "quota",
        "quotas",
        {f"tenant_{what}": Number(0, optional=True) for what in ("memories", "turns", "chars")},
        tenant_only=True,
        operators=True,
    ),
}


def validate_setting(name: str, value: object) -> Any:
    """Return a value in its written form; ``InvalidInput`` for an unknown name or a value that cannot be."""
    setting = find_setting(name)
    try:
        return setting.form.to_json(setting.form.read(value))
    except ValueError as error:
        raise InvalidInput(f"invalid value for {name}: {value!r}"[:300], hint=f"expected {error}") from None


def find_setting(name: object) -> Setting:
    """Return the setting of a name, or ``InvalidInput`` that says what it may have meant."""
    found = SETTINGS.get(name) if isinstance(name, str) else None
    if found is None:
        near = get_close_matches(str(name)[:_NAME_CHARS], SETTINGS, 1)
        hint = f"did you mean {near[0]}?" if near else "docs/guides/settings.md lists the settings that can be stored"
        raise InvalidInput(f"unknown setting {name!r}"[:300], hint=hint)
    return found
