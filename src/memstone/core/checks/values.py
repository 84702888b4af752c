"""Input checks: everything a caller passes is looked at before anything is written."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from memstone.errors import InvalidInput, TooLarge
from memstone.model.instant import Instant, When, parse_when
from memstone.model.memory import Kind
from memstone.model.policy import Limits

IDENTITY_KEYS: Final = frozenset({"tenant_id", "user_id", "agent_id", "run_id"})
"""What metadata may never set: whose memory it is."""

_NAME_BYTES: Final = 255
_PATH_BYTES: Final = 4_000
"""As much as the file systems of all platforms take."""

NO_NUL: Final = "remove it; databases cannot store it as text"
WHOLE: Final = "decode the text properly"
"""What to do about characters that no database takes."""

CALLER_KINDS: Final = (Kind.FACTUAL, Kind.EPISODIC, Kind.PROCEDURAL, Kind.SEMANTIC)


def checked_text(value: object, name: str, limit: int, setting: str = "") -> str:
    """Text that can be stored as it is; ``setting`` is what raises the limit, if anything does."""
    if not isinstance(value, str):
        raise InvalidInput(f"{name} must be text, not {type(value).__name__}")
    if len(value) > limit:
        raise TooLarge(
            f"{name} has {len(value):,} characters, the limit is {limit:,}",
            hint=f"split it, or raise {setting}" if setting else "make it shorter",
        )
    if not value.strip():
        raise InvalidInput(f"{name} is empty", hint=_FILLED.get(name, "give some text, or leave it out"))
    if "\x00" in value:
        raise InvalidInput(f"{name} holds a NUL character", hint=NO_NUL)
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(f"{name} holds a lone surrogate at {error.start}", hint=WHOLE) from error
    return value


def checked_path(value: object, what: str) -> Path:
    """A path that every file system can be asked about; raise ``InvalidInput`` for any other."""
    given = os.fspath(value) if isinstance(value, (str, os.PathLike)) else None
    if not isinstance(given, str) or not given or "\0" in given:
        raise InvalidInput(f"{what} must be a path", hint="text that names a file, or a pathlib.Path")
    try:
        sizes = [len(part.encode()) for part in Path(given).parts]
    except UnicodeEncodeError as error:
        raise InvalidInput(f"{what} holds a lone surrogate at {error.start}", hint=WHOLE) from error
    if max(sizes, default=0) > _NAME_BYTES or sum(sizes) > _PATH_BYTES:
        raise InvalidInput(f"{what} is too long for a path", hint=f"a name has {_NAME_BYTES} bytes at most")
    return Path(given).expanduser()


def checked_key(value: str | None, limits: Limits) -> str | None:
    """A stable key, or None for a blank one."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    return checked_text(value, "key", limits.key_chars, "limits.key_chars").strip()


def checked_kind(value: str | None) -> str:
    """One of the four kinds a caller may give."""
    if value is None:
        return Kind.FACTUAL
    if value not in CALLER_KINDS:
        raise InvalidInput(f"unknown kind {value!r}", hint="one of " + ", ".join(CALLER_KINDS))
    return str(value)


def checked_metadata(value: Mapping[str, Any] | None, limits: Limits) -> tuple[dict[str, Any], list[str]]:
    """A copy of the caller's metadata as it is stored, without identity keys; and warnings about what was left out."""
    if value is None:
        return {}, []
    if not isinstance(value, Mapping):
        raise InvalidInput(f"metadata must be a mapping, not {type(value).__name__}")
    kept = {key: item for key, item in value.items() if key not in IDENTITY_KEYS}
    left_out = sorted(set(value) - set(kept))
    written = _as_json(kept)
    size = len(written.encode())
    if size > limits.metadata_bytes:
        raise TooLarge(
            f"metadata has {size:,} bytes, the limit is {limits.metadata_bytes:,}",
            hint="keep large things elsewhere and refer to them, or raise limits.metadata_bytes",
        )
    copy: dict[str, Any] = json.loads(written)
    return copy, [f"metadata.{key} was ignored: whose memory it is comes from the call" for key in left_out]


def checked_expiry(value: When | None, now: Instant, warnings: list[str]) -> Instant | None:
    """When something stops to hold; nobody finds what has expired already, which is worth a word."""
    until = None if value is None else parse_when(value, "expires_at")
    if until is not None and until <= now:
        warnings.append("expires_at lies in the past: this is stored, and found only with show_expired=True")
    return until


def _as_json(value: dict[str, Any]) -> str:
    _walk(value, "metadata", 0)
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError) as error:
        hint = "give text, numbers, true, false, null, lists or objects; a date as its ISO text, value.isoformat()"
        raise InvalidInput(f"metadata is not JSON: {error}", hint=hint) from error


_FILLED: Final = {"query": "ask something; get_all lists everything"}
_DEPTH: Final = 32


def _walk(value: object, path: str, depth: int) -> None:
    if depth > _DEPTH:
        raise InvalidInput(f"metadata is nested deeper than {_DEPTH}")
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise InvalidInput(f"{path} has a key that is not text: {key!r}")
            _clean(key, f"a key of {path}")
            _walk(item, f"{path}.{key}", depth + 1)
    elif isinstance(value, (list, tuple)):
        for item in value:
            _walk(item, path, depth + 1)
    elif isinstance(value, str):
        _clean(value, path)
    elif isinstance(value, float) and not math.isfinite(value):
        raise InvalidInput(f"{path} is {value}", hint="JSON has no NaN or infinity")


def _clean(value: str, path: str) -> None:
    if "\x00" in value:
        raise InvalidInput(f"{path} holds a NUL character", hint=NO_NUL)
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(f"{path} holds a lone surrogate", hint=WHOLE) from error
