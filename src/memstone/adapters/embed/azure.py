"""Embeddings from a model that is deployed in Azure OpenAI."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from pydantic import Field

from memstone.adapters.azure_api import API_VERSION, azure_path, read_azure_environment
from memstone.adapters.embed.openai import OpenAiEmbedder, OpenAiEmbedderConfig
from memstone.adapters.embed.remote import ADDRESS, Purpose
from memstone.adapters.vendors import VENDORS, Vendor
from memstone.ports.io import HttpRequest


class AzureOpenAiEmbedderConfig(OpenAiEmbedderConfig):
    """``base_url`` is the endpoint of the resource, ``https://NAME.openai.azure.com``.

    ``deployment`` is what you have named it; without one it is named like the ``model``.
    """

    model: str = Field(min_length=1)
    base_url: str = Field(pattern=ADDRESS)
    deployment: str | None = Field(default=None, min_length=1)
    api_version: str = Field(default=API_VERSION, min_length=1)


class AzureOpenAiEmbedder(OpenAiEmbedder):
    """``POST {base_url}/openai/deployments/{deployment}/embeddings``, with the key in a header of its own."""

    Config: ClassVar[type[OpenAiEmbedderConfig]] = AzureOpenAiEmbedderConfig
    vendor: ClassVar[Vendor] = VENDORS["azure_openai"]
    read_environment = staticmethod(read_azure_environment)
    provider = "azure_openai"
    _config: AzureOpenAiEmbedderConfig

    def _request(self, texts: Sequence[str], purpose: Purpose) -> HttpRequest:  # noqa: ARG002 - the same for both
        path = azure_path(self._config.deployment or self.model, "embeddings", self._config.api_version)
        headers = {"api-key": self._config.key} if self._config.key else {}
        return self._post_request(path, self._payload(texts), headers)
