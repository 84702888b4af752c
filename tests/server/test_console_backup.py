from __future__ import annotations

from pathlib import Path

from tests.server.conftest import CONFIG
from tests.server.rooms import ended
from tests.server.world import World


def test_a_backup_goes_where_the_operator_said_and_nowhere_else(tmp_path: Path) -> None:
    folder = tmp_path / "backups"
    folder.mkdir()
    store = {"url": f"sqlite:///{tmp_path / 'memstone.db'}", "durable": False}
    with World.of({**CONFIG, "store": store, "server": {"backup_folder": str(folder)}}) as world:
        texts = {"messages": "I live in Oslo", "user_id": "alice", "infer": False}
        assert world.client.post("/v1/memories", json=texts).status_code == 200
        done = ended(world, world.client.post("/v1/console/backup").json())
        assert (done["state"], done["done"]) == ("done", done["total"])
        assert Path(done["result"]["path"]).parent == folder
        assert world.as_key("acme", verbs=["admin"]).post("/v1/console/backup").status_code == 403
        assert len(list(folder.glob("*.backup"))) == 1
    with World.of(CONFIG) as without:
        assert without.client.post("/v1/console/backup").json()["code"] == "config"
