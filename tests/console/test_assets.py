"""What pages load: our own files and vendored ones, nothing from elsewhere."""

from __future__ import annotations

import hashlib
import json
import re

from memstone.server.console.assets import FOLDER, asset_url, load_assets
from memstone.server.console.templates import FOLDER as TEMPLATES
from tests.console.house import House

VENDOR = FOLDER / "vendor"


def test_vendored_files_are_those_whose_checksums_are_noted_and_have_their_licence() -> None:
    noted = json.loads((VENDOR / "manifest.json").read_text())
    found = {file.name for file in VENDOR.iterdir() if file.suffix == ".js"}
    assert found == set(noted)
    for name, about in noted.items():
        assert hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() == about["sha256"]
        assert (VENDOR / about["licence_file"]).read_text().strip()
        assert about["package"]
        assert about["version"]
        assert about["licence"]


def test_no_page_loads_anything_from_elsewhere() -> None:
    for file in (*TEMPLATES.glob("*.html"), *FOLDER.glob("*.css"), *FOLDER.glob("*.js")):
        found = re.findall(r"""(?:src|href|url|import|from|fetch)\W{1,3}((?:https?:)?//[^\s"')]+)""", file.read_text())
        assert not found, (file.name, found)


def test_no_template_holds_a_script_a_style_or_a_handler() -> None:
    for file in TEMPLATES.glob("*.html"):
        text = file.read_text()
        assert not re.search(r"<script(?![^>]*\bsrc=)|\son\w+=|\sstyle=|<style|hx-on|\sjavascript:", text), file.name


def test_a_file_is_kept_for_a_year_under_an_address_that_changes_with_it(house: House) -> None:
    guest = house.visitor()
    answer = guest.get(asset_url("app.css"))
    assert answer.status_code == 200
    assert "immutable" in answer.headers["cache-control"]
    assert answer.headers["content-type"].startswith("text/css")
    assert guest.get("/console/static/000000000000/app.css").status_code == 404
    assert guest.get("/console/static/x/../../app.py").status_code in {401, 404}
    assert answer.content == load_assets()["app.css"].content
