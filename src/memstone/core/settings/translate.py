"""From the names a caller uses to those that are stored, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, TypeAlias

from memstone.core.settings.companion import EMBEDDING
from memstone.core.settings.lenient import AGENT, COMPANION, FOREIGN, GATEWAY, Foreign
from memstone.core.settings.names import SETTINGS, checked, known
from memstone.errors import Forbidden, InvalidInput
from memstone.model.policy import Policy

Vocabulary: TypeAlias = Literal["native", "gateway", "companion", "agent"]
VOCABULARIES: Final[dict[str, Mapping[str, Foreign]]] = {"gateway": GATEWAY, "companion": COMPANION, "agent": AGENT}
SHORT: Final = {"timezone": "extract.timezone", "language": "policy.language"}
"""What users set for themselves has a short name."""


def native_name(name: object) -> str:
    """The name under which a setting is stored."""
    if name in EMBEDDING:
        raise InvalidInput(
            f"{name} is configuration, not a stored setting",
            hint="set embedder.provider and its model in the configuration, then run reindex",
        )
    foreign = FOREIGN.get(name) if isinstance(name, str) else None
    if foreign is not None:
        return foreign.name
    known(short := SHORT.get(str(name), name))
    return str(short)


def native(given: Mapping[str, object]) -> dict[str, Any]:
    """What a caller sets, by the names and in the form in which it is stored.

    Names of ours are taken strictly. Those of other products are brought into form, as they expect it.
    """
    if not isinstance(given, Mapping):
        raise InvalidInput(f"settings are a mapping of names to values, not {type(given).__name__}")
    made: dict[str, Any] = {}
    said: dict[str, str] = {}
    for name, value in given.items():
        stored = native_name(name)
        if stored in made:
            raise InvalidInput(f"{said[stored]} and {name} are the same setting", hint="give one of them")
        foreign = FOREIGN.get(name)
        said[stored] = name
        made[stored] = checked(stored, value if foreign is None else foreign.to(foreign.normal(value)))
    return made


def native_names(names: Iterable[str]) -> list[str]:
    """The names under which settings are stored."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InvalidInput("names of settings are a list")
    names = list(names)
    if not all(isinstance(name, str) for name in names):
        raise InvalidInput("the name of a setting is text", hint='such as "context.budget"')
    return [native_name(name) for name in names]


def tenant_only(names: Iterable[str]) -> None:
    """``InvalidInput`` when one of these makes sense for a whole tenant only."""
    for name in names:
        if SETTINGS[name].tenant_only:
            raise InvalidInput(f"{name} is set for everybody", hint="leave user_id and agent_id out")


def operators(names: Iterable[str]) -> list[str]:
    """Those of these names, of whatever vocabulary, that nobody sets for themselves; unknown ones are left out."""
    said = [(name, FOREIGN[name].name if name in FOREIGN else SHORT.get(name, name)) for name in names]
    return [name for name, stored in said if stored in SETTINGS and SETTINGS[stored].operators]


def refuse_operators(names: Iterable[str]) -> None:
    """``Forbidden`` when one of these is not for somebody who is bound by it."""
    found = operators(names)
    if found:
        raise Forbidden(f"{found[0]} is set by an administrator", hint="use a key that reaches the whole tenant")


def view(policy: Policy, vocabulary: str) -> dict[str, tuple[str, Any]]:
    """Every setting of a vocabulary: the name under which it is stored, and its value in a policy."""
    if vocabulary == "native":
        return {name: (name, one.form.shown(one.of(policy))) for name, one in SETTINGS.items()}
    if not isinstance(vocabulary, str) or vocabulary not in VOCABULARIES:
        hint = "one of native, " + ", ".join(VOCABULARIES)
        raise InvalidInput(f"unknown names {vocabulary!r}", hint=hint)
    names = VOCABULARIES[vocabulary]
    return {name: (one.name, one.of(_inside(policy, one.name))) for name, one in names.items()}


def _inside(policy: Policy, name: str) -> Any:
    value = SETTINGS[name].of(policy)
    return policy.strategy if name == "context.strategy" and not value else value
