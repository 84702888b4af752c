"""Static files of the console, at addresses that change with their content."""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from memstone.errors import NotFoundError

FOLDER: Final = Path(__file__).parent / "static"
PREFIX: Final = "/console/static"
_TYPES: Final = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_YEAR: Final = "public, max-age=31536000, immutable"


@dataclass(frozen=True, slots=True)
class Asset:
    """A file as it is sent."""

    name: str
    content: bytes
    compressed: bytes
    media_type: str
    digest: str

    @property
    def address(self) -> str:
        """Where it is found: whoever has it need never ask again."""
        return f"{PREFIX}/{self.digest}/{self.name}"


@cache
def load_assets() -> dict[str, Asset]:
    """Return every file that a page may load, by its path under ``static``."""
    files = sorted(file for file in FOLDER.rglob("*") if file.suffix in _TYPES)
    return {asset.name: asset for asset in map(_load_asset, files)}


def _load_asset(file: Path) -> Asset:
    content = file.read_bytes()
    name, digest = file.relative_to(FOLDER).as_posix(), hashlib.sha256(content).hexdigest()[:12]
    return Asset(name, content, gzip.compress(content, mtime=0), _TYPES[file.suffix], digest)


def asset_url(name: str) -> str:
    """Return the address of a file, for templates."""
    return load_assets()[name].address


async def send_asset(request: Request) -> Response:
    """Send a file; what is outdated or unknown is not there."""
    asset = load_assets().get(request.path_params["name"])
    if asset is None or asset.digest != request.path_params["digest"]:
        raise NotFoundError("there is no such file")
    headers = {"cache-control": _YEAR, "vary": "Accept-Encoding"}
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(asset.compressed, media_type=asset.media_type, headers={**headers, "content-encoding": "gzip"})
    return Response(asset.content, media_type=asset.media_type, headers=headers)
