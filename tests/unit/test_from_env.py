from __future__ import annotations

import pytest

from memstone.config import Settings

MISTRAL = {"MISTRAL_API_KEY": "key-m"}
OPENAI = {"OPENAI_API_KEY": "key-o"}


@pytest.mark.req("P-6")
def test_the_preset_for_many_users_takes_the_models_it_was_made_with() -> None:
    chosen = Settings.from_env({**MISTRAL, **OPENAI, "MEMSTONE_PRESET": "shared"})
    assert chosen.llm is not None
    assert (chosen.embedder.config["model"], chosen.llm.config["model"]) == ("mistral-embed", "mistral-small-latest")
    assert chosen.embedder.config["base_url"] == chosen.llm.config["base_url"] == "https://api.mistral.ai/v1"
    assert "key-o" not in str(chosen.embedder.config) + str(chosen.llm.config)


@pytest.mark.req("P-6")
def test_a_key_is_only_ever_sent_to_whom_it_belongs() -> None:
    alone = Settings.from_env(MISTRAL)
    assert alone.embedder.config["base_url"] == "https://api.mistral.ai/v1"
    both = Settings.from_env({**MISTRAL, **OPENAI})
    assert "key-m" not in str(both.embedder.config)
    assert Settings.from_env({}).embedder.provider == "local"
