"""Settings pages: whether memory is on, what it costs, and where values come from."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from starlette.responses import Response

from memstone.core.settings.forms import Choice, Flag, Form, GateForm, LanguageForm, Number, Text, Zone
from memstone.core.settings.names import SETTINGS
from memstone.engine.activity import list_receipts
from memstone.errors import InvalidInput
from memstone.model.access import Verb
from memstone.model.context_gate import GateMode
from memstone.server.access import require_setting_rights
from memstone.server.console.templates import link_to
from memstone.server.console.visit import Pages, Visit

if TYPE_CHECKING:
    from memstone.results import SettingsReport

pages = Pages()

PATH: Final = "/console/settings"
_LOOKED_AT: Final = 100


@dataclass(frozen=True, slots=True)
class SettingText:
    """What a setting is called, what it does, and its choices in words."""

    label: str
    about: str
    unit: str = ""


MAIN: Final[dict[str, SettingText]] = {
    "context.budget": SettingText(
        "Budget", "The most tokens that memory may add to a prompt. 0 adds nothing.", "tokens a message"
    ),
    "context.profile_tokens": SettingText(
        "Profile", "How much of the budget goes to what is always shown of a person.", "tokens"
    ),
    "context.gate": SettingText("Gate", "How it is decided whether a message calls for memory."),
    "policy.strategy": SettingText("Strategy", "How memories are looked for."),
    "recall.visible_days": SettingText(
        "Retention",
        "Memories older than this are no longer recalled; empty is without end. Nothing is deleted.",
        "days",
    ),
    "upkeep.retain_days": SettingText(
        "Delete after", 'Days after which a layer is deleted for good, such as {"turn": 365}.', "days by layer"
    ),
    "policy.language": SettingText("Language", "The language of the users, such as nb or pt-BR; empty finds out."),
    "extract.timezone": SettingText("Time zone", "In which relative dates such as tomorrow are understood."),
    "write.mode": SettingText("Learning", "When memory learns: with each message, in the background, or at the end."),
    "extract.instructions": SettingText(
        "What to learn", "Instructions for a language model that learns, in plain words."
    ),
}
"""The settings that most people look for, in this order; the others follow by their names."""

SWITCHES: Final = {
    "policy.learns": SettingText("Learn", "Store what is said, and learn facts from it."),
    "policy.shows": SettingText("Show", "Put what is known into prompts."),
    "policy.search_tool": SettingText("Search tool", "Let a model search memory by itself, as a tool."),
}


@dataclass(frozen=True, slots=True)
class SettingRow:
    """A setting as the page shows it."""

    name: str
    label: str
    about: str
    unit: str
    value: Any
    source: str
    kind: str
    choices: tuple[str, ...] = ()
    stored_here: bool = False

    @property
    def text(self) -> str:
        """The value as a field holds it."""
        if self.value is None:
            return ""
        return self.value if isinstance(self.value, str) else json.dumps(self.value, ensure_ascii=False)


SOURCES: Final = {
    "default": "built in",
    "preset": "from the preset",
    "config": "from the configuration",
    "configuration": "from the configuration",
    "tenant": "stored for everybody",
    "user": "stored for this person",
    "agent": "stored for this agent",
}


@pages.page(PATH)
async def show_settings(visit: Visit) -> Response:
    """Show how memory behaves, for everybody or for one person, and where each value comes from."""
    user, agent = _read_subject(visit)
    report = await visit.memory.settings.get(user_id=user, agent_id=agent)
    stored = "user" if user else "agent" if agent else "tenant"
    rows = {name: _setting_row(name, report, stored) for name in SETTINGS}
    values: dict[str, Any] = {
        "rows": rows,
        "main": [rows[name] for name in MAIN],
        "switches": [rows[name] for name in SWITCHES],
        "others": [row for name, row in rows.items() if name not in MAIN and name not in SWITCHES],
        "enabled": rows["policy.enabled"],
        "cost": await _read_cost(visit, user, agent),
        "sources": SOURCES,
        "preset": report["preset"],
        "user": user or "",
        "agent": agent or "",
        "may_change": visit.can(Verb.WRITE) and (bool(user or agent) or visit.sees_everybody),
    }
    return visit.render("settings.html", title="Settings", **values)


def _read_subject(visit: Visit, *, sent: bool = False) -> tuple[str | None, str | None]:
    read = visit.field if sent else visit.query
    user = visit.person or read("user").strip() or None
    return user, None if user else read("agent").strip() or None


def _setting_row(name: str, report: SettingsReport, stored: str) -> SettingRow:
    text = MAIN.get(name) or SWITCHES.get(name) or SettingText(name, "")
    form = SETTINGS[name].form
    kind, choices = _describe_form(form)
    source = report["sources"][name]
    value = report["settings"][name]
    return SettingRow(name, text.label, text.about, text.unit, value, source, kind, choices, source == stored)


def _describe_form(form: Form) -> tuple[str, tuple[str, ...]]:
    if isinstance(form, Flag):
        return "flag", ("true", "false")
    if isinstance(form, GateForm):
        return "choice", tuple(str(mode) for mode in GateMode if mode is not GateMode.OFF)
    if isinstance(form, Choice):
        return "choice", form.words
    if isinstance(form, Number):
        return "number", ()
    if isinstance(form, (LanguageForm, Zone)):
        return "word", ()
    return ("text", ()) if isinstance(form, Text) else ("json", ())


async def _read_cost(visit: Visit, user: str | None, agent: str | None) -> dict[str, Any]:
    """Return what memory cost lately: tokens that it added to prompts, on average."""
    everybody = not (user or agent) and visit.sees_everybody
    scope = {"user_id": user, "agent_id": agent, "run_id": None}
    if not (user or agent or everybody):
        return {"messages": 0, "tokens": 0}
    receipts = await visit.caller.engine.run(list_receipts, scope, everybody=everybody, limit=_LOOKED_AT)
    spent = sum(one["tokens"] for one in receipts)
    return {"messages": len(receipts), "tokens": round(spent / len(receipts)) if receipts else 0}


@pages.act(f"{PATH}/set")
async def change_setting(visit: Visit) -> Response:
    """Store one value, or remove it so that the next level applies again."""
    user, agent = _read_subject(visit, sent=True)
    name = visit.field("name")
    if not (user or agent):
        visit.caller.needs(Verb.ADMIN)
        visit.caller.needs_tenant()
    require_setting_rights(visit.caller, [name])
    back = link_to(PATH, user=user if not visit.person else "", agent=agent)
    label = (MAIN.get(name) or SWITCHES.get(name) or SettingText(name, "")).label
    if visit.field("reset"):
        await visit.memory.settings.unset([name], user_id=user, agent_id=agent)
        return visit.done(f"{label} is back to what applies otherwise", back)
    await visit.memory.settings.set({name: read_value(name, visit.field("value"))}, user_id=user, agent_id=agent)
    return visit.done(f"Saved: {label}", back)


def read_value(name: str, text: str) -> Any:
    """Return the value that somebody typed for a setting."""
    if name not in SETTINGS:
        raise InvalidInput(f"unknown setting {name!r}", hint="choose one from the page")
    kind, _ = _describe_form(SETTINGS[name].form)
    written = text.strip()
    if kind in ("choice", "word", "text"):
        return text if kind == "text" else written
    if kind == "number" and not written:
        return None
    try:
        return json.loads(written)
    except (ValueError, RecursionError):
        hint = "write a number" if kind == "number" else "write it as JSON, as it is shown"
        raise InvalidInput(f"invalid value for {name}: {written[:60]!r}", hint=hint) from None
