"""What the administrator of one tenant may trigger and see of a service that others share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.server.calls import call_verb
from tests.server.conftest import CONFIG
from tests.server.rooms import ALL, ended
from tests.server.world import World

FILE = "operators-own.db"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    (tmp_path / "backups").mkdir()
    store = {"url": f"sqlite:///{tmp_path / FILE}", "durable": False}
    with World.of({**CONFIG, "store": store, "server": {"backup_folder": str(tmp_path / "backups")}}) as made:
        yield made


def say(client: Any, user: str) -> None:
    about = {"messages": f"the word is swordfish {user}", "user_id": user, "infer": False}
    assert client.post("/v1/memories", json=about).status_code == 200


@pytest.mark.req("N-42", "X-30")
def test_the_report_of_an_erasure_shows_a_tenant_nothing_of_the_operators_files(world: World, tmp_path: Path) -> None:
    admin = world.as_key("acme", verbs=ALL)
    say(world.client, "alice")
    say(admin, "bob")
    made = ended(world, world.client.post("/v1/console/backup").json())
    assert made["state"] == "done", made
    report = call_verb(admin, "admin.erase", {"user_id": "bob"})
    started = admin.post("/v1/console/erase", json={"user_id": "nobody", "confirm": "nobody"})
    assert (report.status_code, started.status_code) == (200, 202)
    job = ended(World(world.app, admin), started.json())
    backups = next(one for one in report.json()["checks"] if one["check"] == "backups")
    assert len(backups["copies"]) == 1, "that a copy was rewritten is told, not where it lies"
    for answer in (report.text, str(job)):
        assert str(tmp_path) not in answer
        assert FILE not in answer
        assert "backups/" not in answer
    own = call_verb(world.client, "admin.erase", {"user_id": "carol"}).text
    assert str(tmp_path / "backups") in own, "the operator is shown what is theirs"
    assert world.client.get("/v1/memories?user_id=alice").json()["results"], "and others keep theirs"


@pytest.mark.req("N-42")
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/v1/console/backup", None),
        ("GET", "/v1/console/database", None),
        ("GET", "/v1/console/configuration", None),
        ("GET", "/v1/console/database", {}),
        ("GET", "/api/settings/qdrant", None),
        ("PUT", "/api/settings/qdrant", {"enabled": False}),
        ("POST", "/api/settings/qdrant/cleanup", {}),
    ],
)
def test_what_concerns_the_whole_store_is_the_operators(world: World, method: str, path: str, body: Any) -> None:
    admin = world.as_key("acme", verbs=ALL)
    refused = admin.request(method, path, json=body)
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    assert world.client.request(method, path, json=body).status_code < 300


@pytest.mark.req("N-42", "O-76")
def test_long_work_of_a_tenant_is_its_own(world: World) -> None:
    admin, other = world.as_key("acme", verbs=ALL), world.as_key("beta", verbs=ALL)
    started = admin.post("/v1/console/consolidate").json()
    for client in (other, world.client):
        assert client.get(f"/v1/console/jobs/{started['id']}").status_code == 404
        assert client.post(f"/v1/console/jobs/{started['id']}/cancel").status_code == 404
        assert client.get("/v1/console/jobs").json()["results"] == []
    assert [one["id"] for one in admin.get("/v1/console/jobs").json()["results"]] == [started["id"]]
