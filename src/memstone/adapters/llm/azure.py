"""Answers from a model that is deployed in Azure OpenAI."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from memstone.adapters.azure_api import API_VERSION, azure_path, read_azure_environment
from memstone.adapters.llm.openai import OpenAiLlm, OpenAiLlmConfig
from memstone.adapters.llm.remote import ADDRESS, Manner
from memstone.adapters.vendors import VENDORS, Vendor
from memstone.ports.io import HttpRequest
from memstone.ports.models import Prompt


class AzureOpenAiLlmConfig(OpenAiLlmConfig):
    """``base_url`` is the endpoint of the resource, ``https://NAME.openai.azure.com``.

    ``deployment`` is what you have named it; without one it is named like the ``model``.
    """

    model: str = Field(min_length=1)
    base_url: str = Field(pattern=ADDRESS)
    deployment: str | None = Field(default=None, min_length=1)
    api_version: str = Field(default=API_VERSION, min_length=1)


class AzureOpenAiLlm(OpenAiLlm):
    """``POST {base_url}/openai/deployments/{deployment}/chat/completions``, with the key in a header of its own."""

    Config: ClassVar[type[OpenAiLlmConfig]] = AzureOpenAiLlmConfig
    vendor: ClassVar[Vendor] = VENDORS["azure_openai"]
    read_environment = staticmethod(read_azure_environment)
    _config: AzureOpenAiLlmConfig

    def _request(self, prompt: Prompt, manner: Manner) -> HttpRequest:
        path = azure_path(self._config.deployment or self.model, "chat/completions", self._config.api_version)
        return self._post(path, self._payload(prompt, manner), self._headers())

    def _headers(self) -> dict[str, str]:
        return {"api-key": self._config.key} if self._config.key else {}
