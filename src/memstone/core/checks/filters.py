"""Parse filters into the typed tree of conditions.

Written forms::

    {"field": "city", "operator": "eq", "value": "Oslo"}     ``op`` is accepted for ``operator``
    {"AND": [...]}  {"OR": [...]}  {"NOT": {...}}            also ``and`` and ``$and``; NOT [...] is none of them
    {"city": "Oslo"}  {"age": {"gte": 18, "lt": 65}}         short; everything at one level is ANDed
    {"city": "*"}                                            there is a city, whatever it is
    [{...}, {...}]                                           at the top: all of them

A bare name is a key of the caller's metadata, except the ids of a scope and the three times of ``BARE_FIELDS``.
``memory.<field>`` is a field of the memory itself, ``metadata.<key>`` always a metadata key. A key is taken literally:
dots do not descend into nested values. ``memory.category`` is the one that a fact was sorted into, ``memory.role`` the
speaker's, and ``memory.actor`` who said it, as answers show it: the speaker's name, or the role where there is none.

A bare name that is also a field may be meant either way, so ``read_filters`` names it in ``bare_fields``: whoever has a
store at hand refuses it unless some row carries it as metadata (``memstone.engine.request_scope``).

Meaning, the same wherever a filter is run. Every condition is true or false, there is no third value:

* ``eq`` compares without conversion: text with text, true and false with themselves, numbers by value (1 equals 1.0).
  Asking for null finds what is absent or null. A stored list or object equals nothing.
* ``gt gte lt lte`` compare a number with a number and text with text by code point; otherwise they are false.
* ``in`` is ``eq`` with some value of the list. ``ne`` and ``nin`` are the opposites of ``eq`` and ``in``, so they also
  find what lacks the field.
* ``contains`` looks for a part of a text, minding case, or for an equal member of a list; otherwise it is false.
  ``icontains`` is the same by case-folded text.
* ``exists`` is true for what is there and not null. An id of a scope that is not set counts as absent.
* A date given for a metadata key is compared as its canonical UTC text.

What cannot be honoured raises ``InvalidFilter``; nothing is left out silently.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from reprlib import repr as short
from typing import Any, Final, TypeAlias, TypeGuard, cast

from memstone.core.checks.arguments import DECODE_HINT, NO_NUL
from memstone.errors import InvalidFilter, InvalidInput, ScopeError
from memstone.model.access import Bounds, Users
from memstone.model.ids import POOLS, clean_id
from memstone.model.instant import Instant, When, parse_when
from memstone.model.memory import DIRECT, ONCE_ACTIVE, FoundMemory, Layer, Status
from memstone.model.query import (
    DATA,
    FIELDS,
    METADATA,
    RECORD_FIELDS,
    And,
    Condition,
    Lookup,
    Not,
    Op,
    Or,
    Where,
)
from memstone.model.scope import Scope

# --- filters ----------------------------------------------------------------------------------------------------------


Scalar: TypeAlias = str | int | float | bool | None
Filters: TypeAlias = Mapping[str, Any] | Sequence[Any] | Where
"""What callers may pass; a tree that is already parsed stays as it is."""

MAX_DEPTH: Final = 32
MAX_NODES: Final = 1_000
MAX_LIST: Final = 1_000
MAX_VALUES: Final = 10_000
"""Values of all lists of one filter together, so that a statement stays within a database's bound parameters."""

SCOPE_IDS: Final = frozenset({"user_id", "agent_id", "run_id"})
BARE_FIELDS: Final = SCOPE_IDS | {"created_at", "updated_at", "expires_at"}
"""Fields that are meant by their bare names; metadata of that name is written ``metadata.<key>``."""

MEMORY: Final = "memory."
"""What stands before the name of any other field."""

ALIASES: Final = {
    "memory": "text",
    "content": "text",
    "type": "kind",
    "role": "source_role",
    "session_id": "run_id",
    "conversation_id": "run_id",
}
LOGIC: Final = {spelling: word for word in ("and", "or", "not") for spelling in (word, word.upper(), f"${word}")}
OPERATORS: Final[dict[str, Op]] = {
    **{op.value: op for op in Op},
    **{f"${op.value}": op for op in Op},
    "=": Op.EQ,
    "!=": Op.NE,
    ">": Op.GT,
    ">=": Op.GTE,
    "<": Op.LT,
    "<=": Op.LTE,
}
LISTED: Final = frozenset({Op.IN, Op.NIN})
ORDERED: Final = frozenset({Op.GT, Op.GTE, Op.LT, Op.LTE})
PARTIAL: Final = frozenset({Op.CONTAINS, Op.ICONTAINS})
ACTOR: Final = "actor"
SPEAKER: Final = DATA + "speaker"
NOTED: Final = {"category": DATA + "category", "speaker": SPEAKER}
"""Fields that are kept among what Memstone notes about a memory."""

FIELD_NAMES: Final = (frozenset(FIELDS) | ALIASES.keys() | NOTED.keys() | {ACTOR}) - {"tenant_id", "link_origin"}
"""Every name that may stand after ``memory.``"""
INT64: Final = range(-(2**63), 2**63)


@dataclass(frozen=True, slots=True)
class ParsedFilters:
    """A parsed filter, and plain names in it that are also names of fields."""

    where: Where | None
    bare_fields: frozenset[str] = frozenset()


def read_filters(filters: Filters | None) -> ParsedFilters:
    """Parse a caller's filters, without a tree if they are empty.

    ``InvalidFilter`` says what cannot be met.
    """
    if filters is None or isinstance(filters, (Condition, And, Or, Not)):
        return ParsedFilters(filters)
    parser = _Parser()
    if _is_list(filters):
        where = _all_of(parser.parts(filters, 0)) if filters else None
    elif isinstance(filters, Mapping):
        where = parser.group(filters, 0) if filters else None
    else:
        raise InvalidFilter(f"filters must be a mapping or a list of mappings, not {type(filters).__name__}")
    return ParsedFilters(where, frozenset(parser.bare_fields))


def parse_filters(filters: Filters | None) -> Where | None:
    """Parse a caller's filters; ``None`` if they are empty."""
    return read_filters(filters).where


def write_filters(where: Where) -> dict[str, Any]:
    """Write a tree as callers may write it; parsing it gives the same tree."""
    if isinstance(where, Condition):
        value = list(where.value) if where.op in LISTED else where.value
        return {"field": _public_field_name(where.field), "operator": str(where.op), "value": value}
    if isinstance(where, Not):
        return {"NOT": write_filters(where.part)}
    return {"AND" if isinstance(where, And) else "OR": [write_filters(part) for part in where.parts]}


def split_scope(filters: Filters | None) -> tuple[dict[str, str], Where | None]:
    """Return the scope ids that a filter sets to one value each, and the rest of the filter.

    Only equality that every match must meet counts, ``in`` a list of one too: at the top level or in an AND there. A
    second, different value for the same id stays a condition, so that nothing matches.
    """
    where = parse_filters(filters)
    scope: dict[str, str] = {}
    rest = [part for part in _flatten_conjunction(where) if not _pin_scope_id(part, scope)]
    return scope, None if not rest else _all_of(rest)


def _flatten_conjunction(where: Where | None) -> list[Where]:
    if isinstance(where, And):
        return [leaf for part in where.parts for leaf in _flatten_conjunction(part)]
    return [] if where is None else [where]


def _pin_scope_id(part: Where, scope: dict[str, str]) -> bool:
    if not isinstance(part, Condition) or part.field not in SCOPE_IDS:
        return False
    value: str | None = part.value if part.op is Op.EQ else None
    if part.op is Op.IN and len(part.value) == 1:  # one of one
        (value,) = part.value
    return value is not None and scope.setdefault(part.field, value) == value


def names_several(where: Where) -> bool:
    """Return whether the rest of a filter names one of several ids."""
    leaves = (part for part in _flatten_conjunction(where) if isinstance(part, Condition))
    return any(leaf.op is Op.IN and leaf.field in SCOPE_IDS for leaf in leaves)


def _all_of(parts: Sequence[Where]) -> Where:
    return parts[0] if len(parts) == 1 else And(tuple(parts))


def _is_list(value: object) -> TypeGuard[Sequence[Any]]:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray))


class _Parser:
    """One parse, which limits the size of the tree."""

    def __init__(self) -> None:
        self.nodes = 0
        self.values = 0
        self.bare_fields: set[str] = set()

    def parts(self, items: Sequence[Any], depth: int) -> tuple[Where, ...]:
        self._count_node()
        return tuple(self.group(item, depth + 1) for item in items)

    def group(self, item: object, depth: int) -> Where:
        """Parse one mapping: a full condition, or its entries."""
        if depth > MAX_DEPTH:
            raise InvalidFilter(f"filters are nested deeper than {MAX_DEPTH} levels")
        if not isinstance(item, Mapping):
            raise InvalidFilter(f"a part of a filter must be a mapping, not {type(item).__name__}")
        if "field" in item and not item.keys().isdisjoint({"operator", "op", "value"}):
            return self.written_out(item)
        if len(item) != 1:  # a single entry is no part of its own
            self._count_node()
        return _all_of([part for name, value in item.items() for part in self.entry(name, value, depth)])

    def entry(self, name: object, value: object, depth: int) -> list[Where]:
        """Parse one entry of a mapping: a logical operator, or a field in short form."""
        logic = LOGIC.get(name) if isinstance(name, str) else None
        if logic is not None:
            return [self.logical(logic, value, depth)]
        if isinstance(value, Mapping):
            if not value:
                raise InvalidFilter(f"{short(name)} has no operator", hint=_KNOWN)
            return [self.condition(name, operator, operand) for operator, operand in value.items()]
        if isinstance(value, (list, tuple, set, frozenset)):
            raise InvalidFilter(
                f"{short(name)} cannot be compared with a list", hint='write {"in": [...]} to match any of them'
            )
        if isinstance(value, str) and value == "*":
            return [self.condition(name, Op.EXISTS, operand=True)]
        return [self.condition(name, Op.EQ, value)]

    def logical(self, word: str, value: object, depth: int) -> Where:
        if word == "not" and isinstance(value, Mapping):
            self._count_node()
            return Not(self.group(value, depth + 1))
        if not _is_list(value):
            raise InvalidFilter(f"{word.upper()} needs a list of filters, not {type(value).__name__}")
        parts = self.parts(value, depth)
        if word == "and":
            return And(parts)
        return Or(parts) if word == "or" else Not(Or(parts))

    def written_out(self, item: Mapping[Any, Any]) -> Where:
        """Parse ``{field, operator, value}``, which must be complete."""
        keys = set(item)
        if keys not in ({"field", "operator", "value"}, {"field", "op", "value"}):
            raise InvalidFilter(
                f"a condition must have the keys field, operator and value, not {short(sorted(map(str, keys)))}",
                hint='for a metadata key called "field", write metadata.field',
            )
        return self.condition(item["field"], item["operator" if "operator" in keys else "op"], item["value"])

    def condition(self, name: object, operator: object, operand: object) -> Where:
        """Parse the condition on one field."""
        if name == MEMORY + ACTOR:
            return self.of_actor(operator, operand)
        if isinstance(name, str) and name in FIELD_NAMES - BARE_FIELDS:
            self.bare_fields.add(name)
        return self.of_field(name, operator, operand)

    def of_actor(self, operator: object, operand: object) -> Where:
        """Return the condition on the speaker: the name, or the role if there is no name."""
        of_role = self.of_field(MEMORY + "source_role", operator, operand)
        named = Condition(SPEAKER, Op.EXISTS, value=True)
        self._count_node(6)
        return Or((And((named, replace(of_role, field=SPEAKER))), And((Not(named), of_role))))

    def of_field(self, name: object, operator: object, operand: object) -> Condition:
        self._count_node()
        op = OPERATORS.get(operator) if isinstance(operator, str) else None
        if op is None:
            raise InvalidFilter(f"unknown operator {short(operator)} for {short(name)}", hint=_KNOWN)
        field = _resolve_field(name)
        if op is Op.EXISTS:
            if not isinstance(operand, bool):
                raise InvalidFilter(f"exists on {_public_field_name(field)} takes true or false, not {short(operand)}")
            return Condition(field, op, operand)
        if op in LISTED:
            return Condition(field, op, self.parse_list(field, op, operand))
        return Condition(field, op, _parse_operand(field, op, operand))

    def parse_list(self, field: str, op: Op, operand: object) -> tuple[Scalar, ...]:
        if not isinstance(operand, (list, tuple, set, frozenset)):
            raise InvalidFilter(f"{op} on {_public_field_name(field)} needs a list, not {type(operand).__name__}")
        self.values += len(operand)
        if len(operand) > MAX_LIST or self.values > MAX_VALUES:
            raise InvalidFilter(
                f"{op} on {_public_field_name(field)} has too many values",
                hint=f"at most {MAX_LIST} in one list and {MAX_VALUES} in one filter",
            )
        return tuple(_parse_operand(field, op, value) for value in operand)

    def _count_node(self, made: int = 1) -> None:
        self.nodes += made
        if self.nodes > MAX_NODES:
            raise InvalidFilter(f"filters have more than {MAX_NODES} parts", hint='"in" takes many values of one field')


_KNOWN: Final = f"known operators: {', '.join(Op)}; nested metadata values cannot be filtered"


def _resolve_field(name: object) -> str:
    """Return the name as it is in the tree."""
    if not isinstance(name, str):
        raise InvalidFilter(f"a field name must be text, not {type(name).__name__}")
    name = _validate_text(name, "a field name")
    if name in {"tenant_id", MEMORY + "tenant_id"}:
        raise InvalidFilter("you cannot filter by tenant_id", hint="the tenant is set when the memory is opened")
    if name in {"", METADATA, MEMORY, "metadata"}:
        raise InvalidFilter(f"{name!r} is not a field", hint="write metadata.<key>, the key alone, or memory.<field>")
    if name.startswith("$"):
        raise InvalidFilter(
            f"unknown operator {short(name)}", hint=f"use AND, OR or NOT; for a metadata key, write metadata.{name}"
        )
    if name in BARE_FIELDS or name.startswith(METADATA):
        return name
    return _own_field(name.removeprefix(MEMORY)) if name.startswith(MEMORY) else METADATA + name


def _own_field(name: str) -> str:
    """Return a field of the memory itself."""
    if name not in FIELD_NAMES:
        hint = f"one of {', '.join(sorted(FIELD_NAMES))}; for a metadata key, write metadata.{MEMORY}{name}"
        raise InvalidFilter(f"a memory has no field {short(name)}", hint=hint)
    return NOTED.get(name) or ALIASES.get(name, name)


def _public_field_name(field: str) -> str:
    """Return the name of a field as callers write it."""
    if field in BARE_FIELDS or field.startswith(METADATA):
        return field
    return MEMORY + field.removeprefix(DATA)


def _parse_operand(field: str, op: Op, value: object) -> Scalar:
    """Check one value, and return it in the form in which it is compared."""
    kind = "text" if field.startswith(DATA) else FIELDS.get(field)
    if op in PARTIAL and kind not in {None, "text"}:
        raise InvalidFilter(f"{op} works on text, and {_public_field_name(field)} is of type {kind}")
    if value is None and not (op in ORDERED or (op in PARTIAL and kind)):
        return None
    if kind is None:
        return _metadata_operand(field, op, value)
    if kind == "instant":
        return _parse_instant(field, value)
    if field in SCOPE_IDS and op not in ORDERED | PARTIAL:
        return _scope_id(field, value)
    if kind == "text" and isinstance(value, str):
        return _validate_text(value, field)
    if kind == "number" and isinstance(value, (int, float)) and not isinstance(value, bool):
        return _validate_number(value, field)
    raise InvalidFilter(f"{op} on {_public_field_name(field)} needs a value of type {kind}, not {type(value).__name__}")


def _metadata_operand(field: str, op: Op, value: object) -> Scalar:
    if isinstance(value, bool) and op not in ORDERED:
        return value
    if isinstance(value, str):
        return _validate_text(value, field)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return _validate_number(value, field)
    if isinstance(value, date):
        return _parse_instant(field, value)
    raise InvalidFilter(
        f"{op} on {field} cannot take {type(value).__name__}",
        hint="values are text, numbers and dates, and for operators without an order also true, false and null",
    )


def _validate_text(value: str, name: str) -> str:
    """Return a text that every database can store."""
    if "\0" in value:
        raise InvalidFilter(f"{name} contains a NUL character: {short(value)}", hint=NO_NUL)
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidFilter(f"{name} contains a lone surrogate: {short(value)}", hint=DECODE_HINT) from error
    return str.__str__(value)


def _validate_number(value: float, name: str) -> int | float:
    if isinstance(value, int):
        if value not in INT64:
            raise InvalidFilter(f"{name} is compared with a whole number beyond 64 bits")
        return int(value)
    if not math.isfinite(value):
        raise InvalidFilter(f"{name} is compared with {value}, which cannot be stored")
    return float(value)


def _parse_instant(field: str, value: object) -> str:
    try:
        return parse_when(cast("When", value), field)  # it refuses every other type
    except InvalidInput as error:
        raise InvalidFilter(error.message, hint=error.hint) from error


def _scope_id(field: str, value: object) -> str:
    """Return an id in its stored form, so that 7, "7" and " 7 " are the same person."""
    try:
        return _validate_text(clean_id(value, field), field)
    except ScopeError as error:
        raise InvalidFilter(error.message, hint='use {"exists": false} to find values that are not set') from error


# --- the reference evaluator (``memstone.model.query``) on memories ---------------------------------------------------


def found_fields(found: FoundMemory) -> Lookup:
    """Return the fields of a memory as seen through a link."""

    def lookup(name: str) -> object:
        if name.startswith(METADATA):
            return found.record.metadata.get(name.removeprefix(METADATA))
        if name.startswith(DATA):
            return found.record.data.get(name.removeprefix(DATA))
        if name in RECORD_FIELDS:
            holder: object = found.record
        elif name == "link_origin":
            return found.link.origin
        else:
            holder = found.link if hasattr(found.link, name) else found.link.scope
        value: object = getattr(holder, name)
        return value

    return lookup


# --- the one visibility predicate -------------------------------------------------------------------------------------


DEFAULT_LAYERS = (Layer.FACT,)


def where_in_scope(scope: Scope) -> Where:
    """Return the condition for links of this scope: the tenant, and every other id that is set."""
    argument = ((name, getattr(scope, name)) for name in ("user_id", "agent_id", "run_id"))
    tenant = Condition("tenant_id", Op.EQ, scope.tenant_id)
    return And((tenant, *(Condition(name, Op.EQ, value) for name, value in argument if value)))


def where_link_direct() -> Where:
    """Return the condition for what the holder said, not what was shared or came from a project."""
    return Condition("link_origin", Op.EQ, DIRECT)


def where_in_bounds(bounds: Bounds) -> Where:
    """Return the condition for links within bounds."""
    one = where_in_scope(Scope(bounds.tenant_id, bounds.user_id, bounds.agent_id))
    if bounds.user_id or bounds.users is Users.ALL:
        return one
    own = bounds.own_pool
    some: list[Where] = [Condition("user_id", Op.EQ, str(own)), _where_prefix("user_id", f"{own}:")]
    if bounds.users is Users.PEOPLE:
        some.append(Not(_where_prefix("user_id", POOLS)))
    return And((one, Or(tuple(some))))


def _where_prefix(field: str, prefix: str) -> Where:
    """Return the condition that a field begins with a text."""
    after = prefix[:-1] + chr(ord(prefix[-1]) + 1)
    return And((Condition(field, Op.GTE, prefix), Condition(field, Op.LT, after)))


def where_current(statuses: Iterable[str] = (Status.ACTIVE,)) -> Where:
    """Return the condition for the current version, in one of these statuses."""
    return And((Condition("valid_to", Op.EXISTS, value=False), _one_of("status", statuses)))


def valid_at(moment: Instant) -> Where:
    """Return the condition for the version that was valid at a moment; deleted ones stay deleted."""
    return And(
        (
            Condition("valid_from", Op.LTE, moment),
            Or((Condition("valid_to", Op.EXISTS, value=False), Condition("valid_to", Op.GT, moment))),
            _one_of("status", ONCE_ACTIVE),
        )
    )


def where_unexpired(moment: Instant) -> Where:
    """Return the condition for no expiry, or one in the future."""
    return Or((Condition("expires_at", Op.EXISTS, value=False), Condition("expires_at", Op.GT, moment)))


def where_visible(
    scope: Scope,
    now: Instant,
    *,
    layers: Iterable[str] = DEFAULT_LAYERS,
    statuses: Iterable[str] = (Status.ACTIVE,),
    as_of: Instant | None = None,
    show_expired: bool = False,
    extra: Where | None = None,
) -> And:
    """Return the condition for what this scope may see now or at ``as_of``, with the filter ``extra``."""
    parts: list[Where] = [where_in_scope(scope), _one_of("layer", layers)]
    parts.append(where_current(statuses) if as_of is None else valid_at(as_of))
    if not show_expired:
        parts.append(where_unexpired(as_of or now))
    if extra is not None:
        parts.append(extra)
    return And(tuple(parts))


def _one_of(field: str, values: Iterable[str]) -> Where:
    chosen = tuple(str(value) for value in values)
    return Condition(field, Op.EQ, chosen[0]) if len(chosen) == 1 else Condition(field, Op.IN, chosen)
