"""The report of an erasure: what was removed, what was looked at afterwards, and a seal of the store."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from memstone.engine.erasing.compaction import compacted_since
from memstone.engine.parts import Parts
from memstone.errors import InvalidInput
from memstone.model.former_name import FORMER_NAME, formats_of
from memstone.model.instant import parse_when
from memstone.model.scope import Scope
from memstone.ports.erasure import Subject

FORMAT: Final = "memstone-erasure"
FORMATS: Final = formats_of("erasure")
VERSION: Final = 1
_SEALS: Final = ("sha256", "hmac")
_NAMES: Final = ("user_id", "agent_id", "run_id", "memory_id")
_PURPOSE: Final = "{name} erasure report 1\n"
"""What a seal is for; a report of the former name is sealed under that name."""


def named(subject: Subject) -> dict[str, str]:
    """Whom and what an erasure was about."""
    who = subject.scope
    values = zip(_NAMES, (who.user_id, who.agent_id, who.run_id, subject.memory_id), strict=True)
    return {name: value for name, value in values if value}


def sealed(report: Mapping[str, Any], key: bytes) -> dict[str, Any]:
    """A report with its digest, and with a seal that only who has the store's key can make."""
    written = _canonical(report)
    return {**report, "sha256": hashlib.sha256(written).hexdigest(), "hmac": _seal(written, key, FORMAT)}


def digest(key: bytes, field: str, value: str) -> str:
    """A name as the list of erasures keeps it: it can be recognised with the key, and told by nobody."""
    # Under the former name: what is listed was written so, and has to be recognised.
    return (
        hmac.new(key, f"{FORMER_NAME} erased {field} 1\n{value}".encode(), hashlib.sha256).hexdigest() if value else ""
    )


async def verify(parts: Parts, report: Mapping[str, Any]) -> dict[str, Any]:
    """Whether a report is what this store wrote, and whether anything from before it has come back."""
    subject, until = _read(parts, report)
    written = _canonical(report)
    keys = await parts.ledger.read(lambda tx: tx.vault.keys())
    key = keys.get(parts.tenant_id, b"")
    whole = hmac.compare_digest(str(report["sha256"]), hashlib.sha256(written).hexdigest())
    ours = bool(key) and hmac.compare_digest(str(report["hmac"]), _seal(written, key, str(report["format"])))
    left = await parts.ledger.read(lambda tx: tx.erasure.left(subject, until))
    passed, beyond = await _is_passed(parts, report), list(report.get("not_looked_at") or ())
    return {
        "ok": whole and ours and not any(left.values()) and passed,
        "unchanged": whole,
        "sealed_by_this_store": ours,
        "complete": passed and not beyond,
        "not_looked_at": beyond,
        "left": {table: count for table, count in left.items() if count},
        "subject": named(subject),
    }


def is_pending(checks: Sequence[Mapping[str, Any]]) -> bool:
    """Whether checks are not passed, and all that is missing will be done without anybody's doing."""
    failed = [check for check in checks if not check.get("ok")]
    return bool(failed) and all(check.get("pending") is True for check in failed)


async def _is_passed(parts: Parts, report: Mapping[str, Any]) -> bool:
    """Whether every check was passed, or what was still to be done has been done since."""
    checks = report.get("checks")
    if not isinstance(checks, list) or not all(isinstance(check, Mapping) for check in checks):
        return report["complete"] is True
    if is_pending(checks):
        return await compacted_since(parts, parse_when(report["created_at"], "created_at"))
    return all(check.get("ok") is True for check in checks)


def _read(parts: Parts, report: Mapping[str, Any]) -> tuple[Subject, str]:
    if not isinstance(report, Mapping) or report.get("format") not in FORMATS:
        raise InvalidInput("this is not the report of an erasure", hint="pass what `erase` returned, or its JSON")
    if report.get("version") != VERSION:
        raise InvalidInput(f"a report of form {report.get('version')!r} is unknown", hint="upgrade Memstone")
    about = report.get("subject")
    if not isinstance(about, Mapping) or not all(name in report for name in (*_SEALS, "created_at", "complete")):
        raise InvalidInput("the report is not whole: a part of it is missing")
    who = {name: about.get(name) for name in _NAMES[:3]}
    subject = Subject(Scope.of(**who, tenant_id=parts.tenant_id), str(about.get("memory_id") or ""))
    if subject.scope.is_open and not subject.memory_id:
        raise InvalidInput("the report does not say what was erased")
    return subject, parse_when(report["created_at"], "created_at")


def _canonical(report: Mapping[str, Any]) -> bytes:
    """The bytes that are signed; the same however the JSON was written."""
    told = {name: value for name, value in report.items() if name not in _SEALS}
    return json.dumps(told, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()


def _seal(written: bytes, key: bytes, form: str) -> str:
    purpose = _PURPOSE.format(name=form.partition("-")[0]).encode()
    return hmac.new(key, purpose + written, hashlib.sha256).hexdigest()
