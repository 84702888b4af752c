"""Language models of vendors with OpenAI's API; ``compatible.groq`` is the class for Groq.

They differ in where they are, whose key they take and which ways to ask for JSON they have, and that is in a table
(``memstone.adapters.vendors``).
"""

from __future__ import annotations

from functools import cache
from typing import Any

from pydantic import Field, create_model

from memstone.adapters.llm.openai import OpenAiLlm, OpenAiLlmConfig
from memstone.adapters.llm.remote import ADDRESS
from memstone.adapters.vendors import CHAT, VENDORS, environment_reader


def __getattr__(name: str) -> type[OpenAiLlm]:
    if name not in CHAT:
        raise AttributeError(name)
    return _vendor_class(name)


@cache
def _vendor_class(name: str) -> type[OpenAiLlm]:
    vendor = VENDORS[name]
    model: Any = Field(default=vendor.model, min_length=1) if vendor.model else Field(min_length=1)
    config = create_model(
        f"{name}_llm",
        __base__=OpenAiLlmConfig,
        model=(str, model),
        base_url=(str, Field(default=vendor.base_url, pattern=ADDRESS)),
    )
    read = staticmethod(environment_reader(name))
    return type(f"{name}_llm", (OpenAiLlm,), {"Config": config, "vendor": vendor, "read_environment": read})
