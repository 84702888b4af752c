from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memstone.config import Settings, store_path
from memstone.errors import ConfigError
from memstone.model.policy import Limits


@pytest.mark.req("X-38", "C-7", "X-18")
def test_without_a_word_everything_is_local() -> None:
    settings = Settings.of(None)
    assert settings == Settings.of({}) == Settings()
    assert (settings.embedder.provider, settings.vector_store.provider, settings.llm) == ("local", "local", None)
    assert store_path(settings) == Path("~/.memstone/memstone.db").expanduser()
    assert settings.as_policy().limits == Limits()
    assert (settings.embedding_cache.entries, settings.embedding_cache.seconds) == (1000, 300.0)


@pytest.mark.req("X-38")
def test_the_library_does_not_read_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "DATABASE_URL", "QDRANT_HOST", "MEMSTONE_TENANT", "MEMSTONE_STORE__URL"):
        monkeypatch.setenv(name, "memory:")
    assert Settings.of({}) == Settings()


@pytest.mark.req("X-18", "C-43")
@pytest.mark.parametrize(
    ("config", "path"),
    [
        ({"store": {"url": "memory:"}}, None),
        ({"store": {"url": ":memory:"}}, None),
        ({"store": {"url": "sqlite://"}}, None),
        ({"store": {"url": "sqlite:///a/b.db"}}, Path("a/b.db")),
        ({"store": {"url": "sqlite:////a/b.db"}}, Path("/a/b.db")),
        ({"store": {"url": "sqlite:///~/b.db"}}, Path("~/b.db").expanduser()),
        ({"history": {"db_path": "h.db"}}, Path("h.db")),
        ({"history": {"db_path": "h.db"}, "store": {"url": "sqlite:///h.db"}}, Path("h.db")),
    ],
)
def test_where_the_store_is(config: dict[str, Any], path: Path | None) -> None:
    assert store_path(Settings.of(config)) == path


@pytest.mark.req("C-52")
@pytest.mark.parametrize("url", ["mysql://me:secret@host/db", "/plain/path.db", "", "secret"])
def test_a_store_of_another_kind_is_refused_with_examples(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        store_path(Settings.of({"store": {"url": url}}))
    assert "sqlite:///" in caught.value.hint
    assert "me:secret" not in str(caught.value)


@pytest.mark.req("C-52")
@pytest.mark.parametrize(
    ("config", "named"),
    [
        ({"colour": 1}, "colour"),
        ({"store": {"colour": 1}}, "store.colour"),
        ({"store": None}, "store"),
        ({"embedder": "openai"}, "embedder"),
        ({"llm": {}}, "llm.provider"),
        ({"limits": {"page": 0}}, "limits.page"),
        ({"policy": {"strategy": "best"}}, "policy.strategy"),
        ({"store": {"url": "memory:"}, "history": {"db_path": "h.db"}}, "differ"),
    ],
)
def test_what_is_wrong_is_named_and_its_value_is_not_shown(config: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Settings.of(config)
    assert named in caught.value.message
    assert caught.value.hint


@pytest.mark.req("X-38")
def test_a_wrong_value_may_be_a_secret() -> None:
    with pytest.raises(ConfigError) as caught:
        Settings.of({"embedder": {"provider": "openai", "config": "sk-secret"}, "tenant": ["sk-secret"]})
    assert "sk-secret" not in str(caught.value)
    settings = Settings.of({"embedder": {"provider": "openai", "config": {"api_key": "sk-secret"}}})
    assert "sk-secret" not in repr(settings)


def test_settings_cannot_be_changed_after_they_were_made() -> None:
    with pytest.raises(ValueError, match="frozen"):
        Settings().tenant = "other"


@pytest.mark.req("C-46")
def test_a_file_and_variables_make_settings(tmp_path: Path) -> None:
    file = tmp_path / "memstone.toml"
    file.write_text('tenant = "t"\n[store]\nurl = "sqlite:///file.db"\ndurable = false\n[limits]\nbatch = 10\n')
    env = {
        "MEMSTONE_STORE__URL": "memory:",
        "MEMSTONE_LIMITS__PAGE": "7",
        "MEMSTONE_POLICY__MIN_SCORE": "0.5",
        "MEMSTONE_CONFIG": "not read here",
        "HOME": "/nowhere",
        "OPENAI_API_KEY": "sk-x",
    }
    settings = Settings.load(file, env)
    assert (settings.tenant, settings.store.url, settings.store.durable) == ("t", "memory:", False)
    assert (settings.limits.batch, settings.limits.page, settings.policy.min_score) == (10, 7, 0.5)
    assert settings.embedder.provider == "local", "a key alone chooses nothing"


@pytest.mark.req("C-52")
@pytest.mark.parametrize("content", [b"tenant = ", b"\xff\xfe", None])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "memstone.toml"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ConfigError, match=r"memstone\.toml") as caught:
        Settings.load(file, {})
    assert caught.value.hint


@pytest.mark.parametrize(
    "env",
    [
        {"MEMSTONE_STORE__URLL": "x"},
        {"MEMSTONE_TENANT__X": "y"},
        {"MEMSTONE_STROE__URL": "x"},
        {"MEMSTONE_PRESET": "x"},
    ],
)
def test_a_variable_that_names_no_setting_is_refused_by_its_name(env: dict[str, str]) -> None:
    with pytest.raises(ConfigError) as caught:
        Settings.load(None, {**env, "MEMSTONE_STORE__URL": "memory:"})
    (name,) = env
    assert f"({name})" in caught.value.message
    assert "MEMSTONE_STORE__URL)" not in caught.value.message, "only the wrong one is named"


def test_variables_of_others_that_begin_alike_stop_nothing() -> None:
    env = {
        "MEMSTONE_KEY": "rk_abc",
        "MEMSTONE_SERVICE_HOST": "10.0.0.1",
        "MEMSTONE_PORT": "tcp://10.0.0.1:80",
        "MEMSTONE_PORT_80_TCP_PROTO": "tcp",
        "MEMSTONE_SERVER_SERVICE_PORT": "80",
        "MEMSTONE_STORE__URL": "memory:",
        "MEMSTONE_TENANT": "acme",
    }
    assert Settings.load(None, env) == Settings.of({"store": {"url": "memory:"}, "tenant": "acme"})
    assert Settings.from_env(env).tenant == "acme"


@pytest.mark.parametrize("given", ["memstone.toml", "sqlite:///x.db", Path("memstone.toml"), "", [1], 5])
def test_something_else_than_a_dictionary_says_what_to_do(given: Any) -> None:
    with pytest.raises(ConfigError, match="dictionary or Settings") as caught:
        Settings.of(given)
    assert "Settings.load" in caught.value.hint
    assert "store" in caught.value.hint


def test_a_variable_may_not_be_both_a_value_and_a_group() -> None:
    with pytest.raises(ConfigError, match="twice"):
        Settings.load(None, {"MEMSTONE_STORE": "x", "MEMSTONE_STORE__URL": "memory:"})


@pytest.mark.req("C-46", "X-38")
def test_from_env_is_the_word_by_which_text_may_leave() -> None:
    chosen = Settings.from_env({"OPENAI_API_KEY": "sk-x", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}).embedder
    assert (chosen.provider, chosen.config) == ("openai", {"api_key": "sk-x", "base_url": "http://127.0.0.1:9/v1"})
    assert Settings.from_env({}).embedder.provider == "local"
    assert Settings.from_env({"DATABASE_URL": "postgres://x", "QDRANT_HOST": "x"}) == Settings()
    named = Settings.from_env({"OPENAI_API_KEY": "sk-x", "MEMSTONE_EMBEDDER__PROVIDER": "hash"})
    assert named.embedder.provider == "hash", "what is named wins over what is there"


@pytest.mark.req("C-46")
def test_from_env_reads_the_file_that_is_named(tmp_path: Path) -> None:
    file = tmp_path / "memstone.toml"
    file.write_text('tenant = "t"\n')
    assert Settings.from_env({"MEMSTONE_CONFIG": str(file)}).tenant == "t"


@pytest.mark.parametrize("path", ["/nowhere/at/all", "", "\0", "a" * 5_000, "half \ud800", "/proc/1/mem", 7, "/"])
def test_a_configuration_file_that_cannot_be_read_is_named(path: Any) -> None:
    with pytest.raises(ConfigError) as refused:
        Settings.load(path, {})
    assert refused.value.hint


@pytest.mark.parametrize("file", ["\0x", "/", "/" + "a" * 5_000, "half \ud800", "~nobody-is-called-this/x.db"])
def test_a_store_that_no_file_can_be_is_refused(file: str) -> None:
    with pytest.raises(ConfigError) as refused:
        store_path(Settings.of({"store": {"url": f"sqlite:///{file}"}}))
    assert refused.value.hint
