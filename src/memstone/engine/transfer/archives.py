"""Open the source of an import: a file, bytes, a file object or an archive.

Nothing of an archive is ever written anywhere, and no name in it is a path to anything. How much comes out of it is
counted while it is read, whatever it says of itself.
"""

from __future__ import annotations

import os
import re
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO, Final

from memstone.core.checks.arguments import checked_path
from memstone.core.importers import AUTO, DATABASES, MARKDOWN, read_text
from memstone.core.importers import tables as databases
from memstone.core.importers.items import SourceReader, word_of
from memstone.engine.request_scope import ByteSource, Source
from memstone.errors import InvalidInput, TooLarge
from memstone.model.policy import Limits
from memstone.ports.storage import TableSource

MOST_FILES: Final = 20_000
MOST_RATIO: Final = 200
"""A part of an archive that unpacks to more than so many times its size was made to fill a disk."""

_RATIO_FROM: Final = 1 << 20
_BLOCK: Final = 1 << 20
_CONVERSATIONS: Final = re.compile(r"(?:conversations(?:[-_]\d{1,4})?|memories)\.json", re.IGNORECASE)
_MARKDOWN: Final = (".md", ".markdown", ".txt")
_READ: Final = (*_MARKDOWN, ".json", ".jsonl", ".ndjson")
_BROKEN: Final = (zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, RuntimeError, EOFError, OSError)
_PACKED: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ZIP: Final = b"PK\x03\x04"
_EMPTY_ZIP: Final = b"PK\x05\x06"
_SQLITE: Final = b"SQLite format 3\0"


@dataclass(frozen=True, slots=True)
class SourceFormat:
    """How a source is read: as what, up to which size, and by whom if it is a database."""

    format: str
    limits: Limits
    tables: TableSource
    is_own: Callable[[Path], bool]
    """Whether a file is the store's own."""


def read_source(source: Source, how: SourceFormat) -> SourceReader:
    """Read all that a source holds; it blocks."""
    into = SourceReader(how.limits.import_items)
    if isinstance(source, (str, os.PathLike)):
        path = _validate_path(source)
        if how.is_own(path):
            raise InvalidInput(f"{path} is the store itself", hint="`memstone copy` copies a store into another one")
        with _open_file(path) as file:
            _read_file(file, path, how, into)
    else:
        _read_file(BytesIO(_read_bytes(source, how.limits.import_bytes)), None, how, into)
    return into


def _validate_path(source: str | os.PathLike[str]) -> Path:
    path = checked_path(source, "source")
    if not path.is_file():
        raise InvalidInput(
            f"the file {path} does not exist", hint="to import something that is not in a file, pass bytes"
        )
    return path


def _open_file(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}", hint="check that you may read it") from error


def _read_bytes(source: object, most: int) -> bytes:
    if isinstance(source, (bytes, bytearray)):
        raw = bytes(source)
    elif isinstance(source, ByteSource):
        raw = source.read(most + 1)
    else:
        raise InvalidInput(f"source must be a path, bytes or an open file, not {type(source).__name__}")
    if not isinstance(raw, bytes):
        raise InvalidInput("source must return bytes, not text", hint='open it with mode "rb"')
    _refuse_more(len(raw), most)
    return raw


def _refuse_more(size: int, most: int) -> None:
    if size > most:
        raise TooLarge(
            f"there are more than {most:,} bytes to import",
            hint="import it in parts, or raise limits.import_bytes",
        )


def _read_file(file: BinaryIO, path: Path | None, how: SourceFormat, into: SourceReader) -> None:
    magic = file.read(len(_SQLITE))
    file.seek(0)
    if magic == _SQLITE or how.format in DATABASES:
        _read_database(path or _read_limited(file, how), how, into)
    elif magic.startswith((_ZIP, _EMPTY_ZIP)):
        _read_archive(file, how, into)
    else:
        _read_text_file(_read_limited(file, how), path.name if path else "", how, into)


def _read_limited(file: IO[bytes], how: SourceFormat) -> bytes:
    raw = file.read(how.limits.import_bytes + 1)
    _refuse_more(len(raw), how.limits.import_bytes)
    return raw


def _read_text_file(raw: bytes, name: str, how: SourceFormat, into: SourceReader) -> None:
    is_notes = how.format == AUTO and PurePosixPath(name).suffix.lower() in _MARKDOWN
    read_text(raw, MARKDOWN if is_notes else how.format, into, word_of(PurePosixPath(name).stem))


# --- databases --------------------------------------------------------------------------------------------------------


def _read_database(source: Path | bytes, how: SourceFormat, into: SourceReader) -> None:
    with how.tables(source) as tables:
        columns = tables.columns()
        shape = databases.shape_of(columns)
        if shape is None or how.format not in (AUTO, shape.name, shape.name.removesuffix("_db")):
            raise InvalidInput(
                "the database contains no memories in a known format", hint="see the import guide for the known formats"
            )
        into.format = shape.name
        databases.read_database(shape, columns, tables.rows, into)


# --- archives ---------------------------------------------------------------------------------------------------------


def _read_archive(file: BinaryIO, how: SourceFormat, into: SourceReader) -> None:
    try:
        with zipfile.ZipFile(file) as archive:
            _read_members(archive, how, into)
    except _BROKEN as error:
        raise InvalidInput(f"the archive cannot be read: {error}", hint="unpack it and import its files") from error


def _read_members(archive: zipfile.ZipFile, how: SourceFormat, into: SourceReader) -> None:
    """Read the conversations of an archive; if there are none, all its text files."""
    members = archive.infolist()
    if len(members) > MOST_FILES:
        raise TooLarge(f"the archive contains more than {MOST_FILES:,} files", hint="import it in parts")
    known = list(_usable_members(members, into))
    chosen = [one for one in known if _CONVERSATIONS.fullmatch(_file_name(one))] or known
    if not chosen:
        raise InvalidInput("the archive contains nothing to import", hint="expected JSON or Markdown")
    into.skip("other file", len(known) - len(chosen))
    left = how.limits.import_bytes
    formats: set[str] = set()
    for one in chosen:
        raw = _unpack_member(archive, one, left)
        left -= len(raw)
        try:
            _read_text_file(raw, _file_name(one), how, into)
        except InvalidInput:
            if len(chosen) == 1:
                raise
            into.skip("not recognised")
        else:
            formats.add(into.format)
    if not formats:
        raise InvalidInput(
            "the format of the archive was not recognised", hint="set the format, or unpack it and check its files"
        )
    into.format = "+".join(sorted(formats))


def _usable_members(members: Sequence[zipfile.ZipInfo], into: SourceReader) -> Iterator[zipfile.ZipInfo]:
    for one in sorted(members, key=lambda member: member.filename):
        if one.is_dir():
            continue
        reason = _skip_reason(one)
        if reason:
            into.skip(reason)
        else:
            yield one


def _skip_reason(one: zipfile.ZipInfo) -> str:
    """Return why a member of an archive is not read; '' when it is."""
    mode = one.external_attr >> 16
    path = PurePosixPath(one.filename.replace("\\", "/"))
    if mode and stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        return "link in the archive"
    if path.is_absolute() or ".." in path.parts or ":" in path.parts[0]:
        return "unsafe name"
    if one.flag_bits & 1 or one.compress_type not in _PACKED:
        return "encrypted or packed in an unusual way"
    hidden = any(part.startswith((".", "__MACOSX")) for part in path.parts)
    return "other file" if hidden or path.suffix.lower() not in _READ else ""


def _file_name(one: zipfile.ZipInfo) -> str:
    """Return what a member is called, without where it is."""
    return PurePosixPath(one.filename.replace("\\", "/")).name


def _unpack_member(archive: zipfile.ZipFile, one: zipfile.ZipInfo, most: int) -> bytes:
    """Return the bytes of a member; what it says of its size is not believed."""
    parts: list[bytes] = []
    size = 0
    with archive.open(one) as file:
        while block := file.read(_BLOCK):
            size += len(block)
            _refuse_more(size, most)
            if size > _RATIO_FROM and size > MOST_RATIO * max(1, one.compress_size):
                raise TooLarge(
                    "a file in the archive unpacks to far more than its stated size",
                    hint="unpack it and check its files",
                )
            parts.append(block)
    return b"".join(parts)
