"""Embeddings from vendors with OpenAI's API; ``compatible.mistral`` is the class for Mistral."""

from __future__ import annotations

from functools import cache
from typing import Any

from pydantic import Field, create_model

from memstone.adapters.embed.openai import OpenAiEmbedder, OpenAiEmbedderConfig
from memstone.adapters.embed.remote import ADDRESS
from memstone.adapters.vendors import EMBEDDINGS, VENDORS, environment_reader


def __getattr__(name: str) -> type[OpenAiEmbedder]:
    if name not in EMBEDDINGS:
        raise AttributeError(name)
    return _vendor_class(name)


@cache
def _vendor_class(name: str) -> type[OpenAiEmbedder]:
    vendor = VENDORS[name]
    model: Any = Field(default=vendor.embedding_model, min_length=1) if vendor.embedding_model else Field(min_length=1)
    config = create_model(
        f"{name}_embedder",
        __base__=OpenAiEmbedderConfig,
        model=(str, model),
        base_url=(str, Field(default=vendor.base_url, pattern=ADDRESS)),
    )
    members = {
        "Config": config,
        "vendor": vendor,
        "provider": name,
        "read_environment": staticmethod(environment_reader(name)),
    }
    return type(f"{name}_embedder", (OpenAiEmbedder,), members)
