"""Pack the built-in embedding model into a distribution of our own, for the day its package is gone.

``python scripts/vendor_model.py --output dist`` takes the model that is installed, or ``--model`` any copy of the file,
checks its SHA-256 and writes ``memstone_model_minilm-1.0.0-py3-none-any.whl``. Memstone finds the model in that package
as well. The file is the same, so stored vectors stay valid.
"""

from __future__ import annotations

import argparse
import base64
import sys
import zipfile
from hashlib import sha256
from pathlib import Path

from memstone.adapters.embed.local import MODEL_SHA256, SECOND_PACKAGE, _installed_model
from memstone.errors import ConfigError

VERSION = "1.0.0"
METADATA = f"""Metadata-Version: 2.4
Name: {SECOND_PACKAGE.replace("_", "-")}
Version: {VERSION}
Summary: The embedding model of Memstone: all-MiniLM-L6-v2 with 8-bit weights, as ONNX
License-Expression: Apache-2.0
License-File: LICENSE
Requires-Python: >=3.11
"""
WHEEL = "Wheel-Version: 1.0\nGenerator: memstone vendor_model\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
LICENSE = Path(__file__).resolve().parent.parent / "LICENSE"


def main(args: list[str] | None = None) -> int:
    """Write the package, or say why it cannot be written."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, help="a copy of model.onnx; without it, the one that is installed")
    parser.add_argument("--output", type=Path, default=Path("dist"), help="the folder to write to")
    wanted = parser.parse_args(args)
    try:
        model = (wanted.model or _installed_model()).read_bytes()
    except (ConfigError, OSError) as error:
        print(error)
        return 1
    if sha256(model).hexdigest() != MODEL_SHA256:
        print(f"this is not the model: its SHA-256 is {sha256(model).hexdigest()}, not {MODEL_SHA256}")
        return 1
    print(write_wheel(model, wanted.output))
    return 0


def write_wheel(model: bytes, folder: Path) -> Path:
    """Write the package; return its path."""
    about = f"{SECOND_PACKAGE}-{VERSION}.dist-info"
    files = {
        f"{SECOND_PACKAGE}/__init__.py": b'"""The embedding model of Memstone; model.onnx is all there is."""\n',
        f"{SECOND_PACKAGE}/model.onnx": model,
        f"{about}/METADATA": METADATA.encode(),
        f"{about}/WHEEL": WHEEL.encode(),
        f"{about}/licenses/LICENSE": LICENSE.read_bytes(),
    }
    rows = [f"{name},{record_hash(content)},{len(content)}" for name, content in files.items()]
    files[f"{about}/RECORD"] = "\n".join([*rows, f"{about}/RECORD,,", ""]).encode()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{SECOND_PACKAGE}-{VERSION}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, (2020, 2, 2, 0, 0, 0)), content)  # the same file every time
    return path


def record_hash(content: bytes) -> str:
    """Return a hash as the list of a wheel's files writes it."""
    return "sha256=" + base64.urlsafe_b64encode(sha256(content).digest()).rstrip(b"=").decode()


if __name__ == "__main__":
    sys.exit(main())
