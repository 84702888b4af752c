"""Settings: values and where they come from, connections, keys and accounts, and data in and out."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from tests.console.house import Guest, House, open_house
from tests.console.test_people import finish
from tests.server.conftest import CONFIG
from tests.server.upstream import Upstream, served

PAGE = "/console/settings"
ACCESS = f"{PAGE}/access"
DATA = f"{PAGE}/data"
CONNECTIONS = f"{PAGE}/connections"


# --- memory -----------------------------------------------------------------------------------------------------------


@pytest.mark.req("O-94", "X-2.1")
def test_memory_is_switched_off_beside_what_it_costs(house: House, operator: Guest) -> None:
    assert "It adds at most <strong>1,400 tokens" in operator.see(PAGE)
    house.add("I live in Oslo", infer=True)
    spent = house.run(house.memory.context, "Where do I live?", user_id="alice").tokens
    page = operator.see(PAGE)
    assert f"<strong>{spent} tokens</strong> to a message on average" in page
    operator.submit(f"{PAGE}/set", name="policy.enabled", value="false")
    assert house.run(house.memory.add, "I like tea", user_id="alice")["status"] == "disabled"
    assert house.run(house.memory.context, "tea?", user_id="alice").empty


@pytest.mark.req("O-94")
@pytest.mark.parametrize(
    ("name", "typed", "stored"),
    [
        ("context.budget", "700", 700),
        ("context.gate", "always", "always"),
        ("policy.strategy", "exact", "exact"),
        ("policy.language", "nb", "nb"),
        ("recall.visible_days", "90", 90),
        ("upkeep.retain_days", '{"turn": 365}', {"turn": 365}),
        ("recall.salience", "false", False),
        ("extract.instructions", "Only food.", "Only food."),
    ],
)
def test_a_value_is_stored_says_where_it_comes_from_and_is_reset(
    house: House, operator: Guest, name: str, typed: str, stored: Any
) -> None:
    before = house.run(house.memory.settings.get)["settings"][name]
    page = operator.see(PAGE)
    assert "built in" in page
    after = operator.submit(f"{PAGE}/set", name=name, value=typed).text
    assert "stored for everybody" in after
    assert house.run(house.memory.settings.get)["settings"][name] == stored
    operator.submit(f"{PAGE}/set", name=name, reset="yes")
    assert house.run(house.memory.settings.get)["settings"][name] == before


@pytest.mark.parametrize(
    ("name", "typed"), [("context.budget", "-1"), ("context.budget", "lots"), ("policy.strategy", "x"), ("a.b", "1")]
)
def test_a_wrong_value_changes_nothing_and_is_explained(operator: Guest, name: str, typed: str) -> None:
    operator.see(PAGE)
    answer = operator.submit(f"{PAGE}/set", name=name, value=typed)
    assert answer.status_code == 400
    assert "What to do" in answer.text


def test_one_person_has_settings_of_their_own(house: House, operator: Guest) -> None:
    operator.see(PAGE)
    operator.submit(f"{PAGE}/set", name="context.budget", value="300", user="alice")
    assert "stored for this person" in operator.see(f"{PAGE}?user=alice")
    assert house.run(house.memory.settings.get)["settings"]["context.budget"] == 1400
    assert house.run(house.memory.settings.get, user_id="alice")["settings"]["context.budget"] == 300


def test_a_person_changes_their_own_settings_and_nobody_elses(house: House) -> None:
    guest = house.guest(user_id="bob")
    guest.see(PAGE)
    guest.submit(f"{PAGE}/set", name="context.budget", value="200", user="alice")
    assert house.run(house.memory.settings.get, user_id="alice")["settings"]["context.budget"] == 1400
    assert house.run(house.memory.settings.get, user_id="bob")["settings"]["context.budget"] == 200
    refused = guest.submit(f"{PAGE}/set", name="quota.user_memories", value="9")
    assert refused.status_code == 403


# --- connections ------------------------------------------------------------------------------------------------------


@pytest.fixture
def upstream() -> Iterator[tuple[Upstream, str]]:
    made = Upstream()
    with served(made.app) as url:
        yield made, url


@pytest.mark.req("O-94")
def test_the_vector_store_shows_its_state_and_is_tested_searched_and_cleaned(house: House, operator: Guest) -> None:
    house.add("I live in Oslo", infer=True)
    page = operator.see(CONNECTIONS)
    assert "2 of 2 vectors" in page
    assert "answers" in operator.submit(f"{CONNECTIONS}/store/test").text
    found = operator.see(f"{CONNECTIONS}?q=I live in Oslo&user=alice")
    assert "User lives in Oslo" in found
    assert "Nothing to clean up" in operator.submit(f"{CONNECTIONS}/store/cleanup").text
    operator.see(f"{CONNECTIONS}?q=Oslo", 400)


@pytest.mark.req("O-94")
def test_an_external_store_is_saved_for_the_next_start_and_its_key_is_never_shown() -> None:
    config = {**CONFIG, "server": {"private_urls": ["127.0.0.1"]}}
    with open_house(config) as house:
        guest = house.guest()
        guest.see(CONNECTIONS)
        fields: dict[str, Any] = {
            "host": "http://127.0.0.1",
            "port": "9",
            "collection": "things",
            "key": "very-secret-key-1234",
        }
        saved = guest.submit(f"{CONNECTIONS}/store", **fields, enabled="on").text
        assert "very-secret" not in saved
        assert "1234" in saved
        assert "from the next start" in saved
        assert "does not work" in guest.submit(f"{CONNECTIONS}/store/test").text
        assert guest.submit(f"{CONNECTIONS}/store", host="x", port="y").status_code == 400


def test_missing_vectors_are_built_with_progress(house: House, operator: Guest) -> None:
    house.add("I live in Oslo")
    operator.see(CONNECTIONS)
    done = finish(house, operator, operator.submit(f"{CONNECTIONS}/reindex"))
    assert "Done" in done


def test_an_upstream_is_tested(upstream: tuple[Upstream, str]) -> None:
    _, url = upstream
    one = {"name": "good", "base_url": f"{url}/v1"}
    other = {"name": "gone", "base_url": "http://127.0.0.1:9/v1", "connect_timeout": 1}
    config = {**CONFIG, "gateway": {"upstreams": [one, other]}}
    with open_house(config) as house:
        guest = house.guest()
        guest.see(CONNECTIONS)
        assert "good answers, in" in guest.submit(f"{CONNECTIONS}/upstream/test", name="good").text
        assert "gone does not answer" in guest.submit(f"{CONNECTIONS}/upstream/test", name="gone").text
        assert guest.submit(f"{CONNECTIONS}/upstream/test", name="nobody").status_code == 400


# --- keys and accounts ------------------------------------------------------------------------------------------------


def secret_in(page: str) -> str:
    """The key that a page shows once."""
    found = re.search(r'<pre id="secret-key"[^>]*>([^<]+)<', page)
    assert found is not None
    return unescape(found[1]).strip()


def asks(house: House, key: str, path: str = "/v1/memories?user_id=alice", method: str = "GET", **rest: Any) -> int:
    """What a program with a key is answered."""
    client = house.world.anonymous(Authorization=f"Bearer {key}")
    status: int = client.request(method, path, **rest).status_code
    return status


def test_a_key_is_created_shown_once_narrowed_and_revoked(house: House, operator: Guest) -> None:
    operator.see(ACCESS)
    made = operator.submit(f"{ACCESS}/keys/create", name="backend", reach="names", verb="write", days="30").text
    key = secret_in(made)
    assert key not in operator.see(ACCESS)
    body = {"json": {"messages": "I like tea", "user_id": "alice"}}
    assert asks(house, key) == 200
    assert asks(house, key, "/v1/memories", "POST", **body) == 200
    key_id = next(one["id"] for one in house.run(house.memory.admin.keys.list) if one["name"] == "backend")
    operator.submit(f"{ACCESS}/keys/narrow", key=key_id, verb="read")
    assert asks(house, key, "/v1/memories", "POST", **body) == 403
    operator.submit(f"{ACCESS}/keys/revoke", key=key_id)
    assert asks(house, key) == 401
    assert "1 revoked key" in operator.see(ACCESS)


def test_a_key_for_one_person_reaches_nobody_else(house: House, operator: Guest) -> None:
    house.add("The word is swordfish", "bob")
    operator.see(ACCESS)
    key = secret_in(
        operator.submit(f"{ACCESS}/keys/create", name="p", reach="user", who="alice", verb="read", days="").text
    )
    assert asks(house, key) == 200
    assert asks(house, key, "/v1/memories?user_id=bob") == 403
    assert operator.submit(f"{ACCESS}/keys/create", name="p", reach="user", verb="read").status_code == 400
    assert operator.submit(f"{ACCESS}/keys/create", name="p", reach="all", verb="read").status_code == 400
    assert operator.submit(f"{ACCESS}/keys/create", name="p", reach="names", verb="all").status_code == 400


def test_a_key_gets_a_new_secret(house: House, operator: Guest) -> None:
    operator.see(ACCESS)
    key = secret_in(operator.submit(f"{ACCESS}/keys/create", name="n", reach="names", verb="read", days="").text)
    key_id = next(one["id"] for one in house.run(house.memory.admin.keys.list) if one["name"] == "n")
    new = secret_in(operator.submit(f"{ACCESS}/keys/rotate", key=key_id).text)
    assert new != key
    assert asks(house, new) == 200


def test_an_account_is_created_changed_locked_out_and_removed(house: House, operator: Guest) -> None:
    operator.see(ACCESS)
    fields: dict[str, Any] = {"login": "nora", "password": "correct horse battery", "name": "Nora", "role": "viewer"}
    assert "nora" in operator.submit(f"{ACCESS}/accounts/create", **fields).text
    account = house.run(house.memory.admin.accounts.list)[0]
    nora = house.visitor()
    nora.post("/console/sign-in", data=fields)
    nora.see("/?user=alice")
    operator.submit(f"{ACCESS}/accounts/change", account=account["id"], role="editor")
    assert house.run(house.memory.admin.accounts.list)[0]["role"] == "editor"
    operator.submit(f"{ACCESS}/accounts/change", account=account["id"], wanted="disable")
    nora.see("/?user=alice", 401)
    operator.submit(f"{ACCESS}/accounts/change", account=account["id"], wanted="enable")
    operator.submit(f"{ACCESS}/accounts/remove", account=account["id"])
    assert house.run(house.memory.admin.accounts.list) == []


@pytest.mark.parametrize("page", [CONNECTIONS, ACCESS, DATA])
def test_only_who_sees_everybody_has_the_other_tabs(house: House, page: str) -> None:
    guest = house.guest(user_id="bob")
    guest.see(page, 403)
    assert "Access" not in guest.see(PAGE)


# --- data -------------------------------------------------------------------------------------------------------------

FACTS = [{"memory": "User lives in Oslo.", "user_id": "alice"}, {"memory": "User likes tea.", "user_id": "bob"}]


def upload(guest: Guest, content: bytes, name: str = "export.json") -> Any:
    """Send a file to be looked at."""
    guest.see(DATA)
    files = {"file": (name, io.BytesIO(content), "application/json")}
    return guest.post(f"{DATA}/import/preview", data={"csrf": guest.csrf, "format": "auto"}, files=files)


def test_an_import_is_looked_at_first_and_shows_its_progress(house: House, operator: Guest) -> None:
    preview = upload(operator, json.dumps(FACTS).encode())
    assert "2 fact" in preview.text
    assert "User lives in Oslo." in preview.text
    assert "alice" in preview.text
    assert house.run(house.memory.stats)["memories"] == 0
    name = re.search(r'name="name" value="([^"]+)"', preview.text)
    assert name is not None
    page = finish(house, operator, operator.submit(f"{DATA}/import", name=name[1], trusted="on"))
    assert "2</strong> stored" in page
    assert len(house.run(house.memory.get_all, user_id="alice")["results"]) == 1
    assert operator.submit(f"{DATA}/import", name=name[1]).status_code == 404


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe\xfd", b"PK\x03\x04broken"])
def test_a_file_that_cannot_be_read_is_explained(operator: Guest, content: bytes) -> None:
    answer = upload(operator, content)
    assert answer.status_code == 400
    assert "What to do" in answer.text


def test_an_upload_is_for_whoever_sent_it(house: House, operator: Guest) -> None:
    preview = upload(operator, json.dumps(FACTS).encode())
    name = re.search(r'name="name" value="([^"]+)"', preview.text)
    assert name is not None
    other = house.guest()
    assert other.submit(f"{DATA}/import", name=name[1]).status_code == 404


def test_everything_is_exported_or_one_person(house: House, operator: Guest) -> None:
    house.add("I live in Oslo")
    house.add("I like tea", "bob")
    everything = operator.get(f"{DATA}/export")
    assert "attachment" in everything.headers["content-disposition"]
    assert "I like tea" in everything.text
    assert "I like tea" not in operator.get(f"{DATA}/export?user=alice").text
    assert "I live in Oslo" not in house.guest(user_id="bob").get(f"{DATA}/export").text


def test_a_backup_is_written_into_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "backups"
    folder.mkdir()
    store = {"url": f"sqlite:///{tmp_path / 'memory.db'}"}
    with open_house({**CONFIG, "store": store, "server": {"backup_folder": str(folder)}}) as house:
        house.add("I live in Oslo")
        guest = house.guest()
        guest.see(DATA)
        page = finish(house, guest, guest.submit(f"{DATA}/backup"))
        assert "Signed with the key" in page
    assert list(folder.iterdir())


def test_without_a_folder_the_page_says_how_to_set_one(operator: Guest) -> None:
    assert "backup_folder" in operator.see(DATA)
    assert operator.submit(f"{DATA}/backup").status_code >= 400


def test_an_erasure_is_counted_confirmed_signed_and_checked(tmp_path: Path) -> None:
    with open_house({**CONFIG, "store": {"url": f"sqlite:///{tmp_path / 'memory.db'}"}}) as house:
        house.add("The word is swordfish")
        guest = house.guest()
        guest.see(DATA)
        trial = finish(house, guest, guest.submit(f"{DATA}/erase", kind="user", subject="alice", trial="on"))
        assert "Nothing was erased" in trial
        refused = guest.submit(f"{DATA}/erase", kind="user", subject="alice", confirm="bob")
        assert refused.status_code == 400
        assert len(house.run(house.memory.get_all, user_id="alice")["results"]) == 1
        done = finish(house, guest, guest.submit(f"{DATA}/erase", kind="user", subject="alice", confirm="alice"))
        assert "signed with the key of this store" in done
        assert "swordfish" not in done
        report = re.search(r'<pre id="report"[^>]*>(.*?)</pre>', done, re.DOTALL)
        assert report is not None
        text = json.dumps(json.loads(unescape(report[1])))
        assert "genuine" in guest.submit(f"{DATA}/erase/verify", report=text).text
        assert guest.submit(f"{DATA}/erase/verify", report="no").status_code == 400
    assert b"swordfish" not in (tmp_path / "memory.db").read_bytes()


def test_work_can_be_stopped_and_is_for_its_tenant_alone(house: House, operator: Guest) -> None:
    operator.see("/console/work/nowhere", 404)
    operator.see(DATA)
    assert operator.submit("/console/work/nowhere/cancel").status_code == 404


@pytest.mark.parametrize("port", ["70000", "9" * 40, "0", "-1", "abc"])
def test_a_port_that_is_none_is_explained(operator: Guest, port: str) -> None:
    answer = operator.submit("/console/settings/connections/store", enabled="on", host="localhost", port=port)
    assert answer.status_code == 400
    assert "What to do" in answer.text


@pytest.mark.req("S-66.1")
def test_everything_is_removed_after_the_word_and_whoever_did_it_stays_signed_in(
    house: House, operator: Guest, tmp_path: Path
) -> None:
    house.add("The word is swordfish")
    house.run(house.memory.acting_for("acme").add, "We like coffee", user_id="carol", infer=False)
    operator.see(DATA)
    everything = {"kind": "everything", "subject": "everything"}
    trial = finish(house, operator, operator.submit(f"{DATA}/erase", **everything, trial="on"))
    assert "Nothing was removed: this was a dry run" in trial
    assert "1 memory (0 of them turns)" in trial
    assert operator.submit(f"{DATA}/erase", **everything).status_code == 400
    assert operator.submit(f"{DATA}/erase", kind="everything", subject="alice", confirm="alice").status_code == 400
    assert len(house.run(house.memory.get_all, user_id="alice")["results"]) == 1
    done = finish(house, operator, operator.submit(f"{DATA}/erase", **everything, confirm="everything"))
    assert "All memories are gone" in done
    assert house.run(house.memory.get_all, user_id="alice")["results"] == []
    assert len(house.run(house.memory.acting_for("acme").get_all, user_id="carol")["results"]) == 1


@pytest.mark.req("S-66.1")
def test_the_size_of_the_store_is_told_to_whoever_runs_it(tmp_path: Path) -> None:
    with open_house({**CONFIG, "store": {"url": f"sqlite:///{tmp_path / 'memory.db'}"}}) as house:
        assert re.search(r"the store has [\d.]+ [kM]B", house.guest().see(DATA))
        assert "the store has" not in house.guest("acme").see(DATA)
