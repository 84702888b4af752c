"""The reference evaluator (``memstone.model.match``) on memories."""

from __future__ import annotations

from memstone.model.match import Lookup, matches
from memstone.model.memory import Found
from memstone.model.query import DATA, METADATA, RECORD_FIELDS

__all__ = ["Lookup", "found_fields", "matches"]


def found_fields(found: Found) -> Lookup:
    """The fields of a memory as seen through its link."""

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
