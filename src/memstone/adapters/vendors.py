"""The table of vendors: addresses, variables for keys, default models and peculiarities.

A key of the environment goes only to the service it is for: an address that a configuration gives gets the key of that
service, or none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from memstone.adapters.io.http import host_of

JsonWay: TypeAlias = Literal["schema", "object", "tool", "none"]
"""How JSON is asked for: by a schema, as any object, as the arguments of a tool, or by the words of the prompt."""


class Vendor(NamedTuple):
    """One service.

    ``keys`` are the variables that may hold its key, the first that is set counts; ``address`` is the one for its
    address. ``hosts`` are further hosts that its key is for, an entry with a leading dot is any host below that name.
    ``model`` and ``embedding_model`` are what is used unless a configuration names a model: '' means it has to.
    """

    base_url: str
    keys: tuple[str, ...] = ()
    address: str = ""
    model: str = ""
    embedding_model: str = ""
    hosts: tuple[str, ...] = ()
    json_ways: tuple[JsonWay, ...] = ("schema", "object", "none")
    dimensions_name: str = "dimensions"
    needs_key: bool = True


VENDORS: Final[dict[str, Vendor]] = {
    "anthropic": Vendor("https://api.anthropic.com", ("ANTHROPIC_API_KEY",), "ANTHROPIC_BASE_URL"),
    "azure_openai": Vendor(
        "",
        ("AZURE_OPENAI_API_KEY",),
        "AZURE_OPENAI_ENDPOINT",
        hosts=(".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com"),
    ),
    "cerebras": Vendor("https://api.cerebras.ai/v1", ("CEREBRAS_API_KEY",)),
    "cohere": Vendor("https://api.cohere.com", ("CO_API_KEY", "COHERE_API_KEY"), "CO_API_URL"),
    "dashscope": Vendor(
        "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        ("DASHSCOPE_API_KEY",),
        hosts=("dashscope.aliyuncs.com",),
        json_ways=("object", "none"),
    ),
    "deepinfra": Vendor("https://api.deepinfra.com/v1/openai", ("DEEPINFRA_API_KEY", "DEEPINFRA_TOKEN")),
    "deepseek": Vendor(
        "https://api.deepseek.com/v1", ("DEEPSEEK_API_KEY",), model="deepseek-chat", json_ways=("object", "none")
    ),
    "fireworks": Vendor("https://api.fireworks.ai/inference/v1", ("FIREWORKS_API_KEY",)),
    "gemini": Vendor(
        "https://generativelanguage.googleapis.com",
        ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
        "GOOGLE_GEMINI_BASE_URL",
    ),
    "groq": Vendor("https://api.groq.com/openai/v1", ("GROQ_API_KEY",)),
    "huggingface": Vendor("https://router.huggingface.co/v1", ("HF_TOKEN", "HUGGINGFACE_API_KEY")),
    "jina": Vendor("https://api.jina.ai/v1", ("JINA_API_KEY",), embedding_model="jina-embeddings-v3"),
    "llamacpp": Vendor("http://localhost:8080/v1", ("LLAMA_API_KEY",), model="default", needs_key=False),
    # It has no mode for any object: what is not asked for by a schema is asked for in words.
    "lmstudio": Vendor("http://localhost:1234/v1", ("LM_API_TOKEN",), json_ways=("schema", "none"), needs_key=False),
    "mistral": Vendor(
        "https://api.mistral.ai/v1",
        ("MISTRAL_API_KEY",),
        "MISTRAL_BASE_URL",
        model="mistral-small-latest",
        embedding_model="mistral-embed",
        dimensions_name="output_dimension",
    ),
    "moonshot": Vendor("https://api.moonshot.ai/v1", ("MOONSHOT_API_KEY",), hosts=("api.moonshot.cn",)),
    "nvidia": Vendor("https://integrate.api.nvidia.com/v1", ("NVIDIA_API_KEY",)),
    "ollama": Vendor(
        "http://localhost:11434", ("OLLAMA_API_KEY",), "OLLAMA_HOST", hosts=("ollama.com",), needs_key=False
    ),
    "openai": Vendor(
        "https://api.openai.com/v1",
        ("OPENAI_API_KEY",),
        "OPENAI_BASE_URL",
        model="gpt-4o-mini",
        embedding_model="text-embedding-3-small",
    ),
    "openrouter": Vendor("https://openrouter.ai/api/v1", ("OPENROUTER_API_KEY",)),
    "perplexity": Vendor("https://api.perplexity.ai", ("PERPLEXITY_API_KEY",), json_ways=("schema", "none")),
    "sambanova": Vendor("https://api.sambanova.ai/v1", ("SAMBANOVA_API_KEY",)),
    "tei": Vendor("http://localhost:8080", ("HF_TOKEN",), hosts=(".endpoints.huggingface.cloud",), needs_key=False),
    "together": Vendor("https://api.together.xyz/v1", ("TOGETHER_API_KEY",)),
    "vllm": Vendor("http://localhost:8000/v1", ("VLLM_API_KEY",), needs_key=False),
    "voyage": Vendor("https://api.voyageai.com/v1", ("VOYAGE_API_KEY",)),
    "xai": Vendor("https://api.x.ai/v1", ("XAI_API_KEY",)),
    "zai": Vendor("https://api.z.ai/api/paas/v4", ("ZAI_API_KEY",)),
    "zeroentropy": Vendor(
        "https://api.zeroentropy.dev/v1", ("ZEROENTROPY_API_KEY", "ZERO_ENTROPY_API_KEY"), "ZEROENTROPY_BASE_URL"
    ),
}
"""Every service that a provider may be named after."""

CHAT: Final = (
    "cerebras dashscope deepinfra deepseek fireworks groq huggingface llamacpp lmstudio mistral moonshot nvidia "
    "openrouter perplexity sambanova together vllm xai zai"
).split()
"""Those who speak OpenAI's chat dialect, besides OpenAI."""

EMBEDDINGS: Final = "deepinfra fireworks jina llamacpp lmstudio mistral nvidia together vllm".split()
"""Those who speak OpenAI's dialect for embeddings, besides OpenAI."""


class ChatService(NamedTuple):
    """A service that chats are sent to: its address as a gateway asks it, and the variables that may hold its key."""

    name: str
    base_url: str
    dialect: Literal["openai", "anthropic"]
    keys: tuple[str, ...]
    needs_key: bool


_CHAT_PATHS: Final = {"anthropic": "/v1", "gemini": "/v1beta/openai", "ollama": "/v1", "openai": ""}
"""What leads from an address to its chats, for those who speak other dialects, too."""


def find_chat_service(wanted: str) -> ChatService | None:
    """Return the service of a name or at an address; None for a name that nobody has.

    An address without a path is one with ``/v1``. ``anthropic=URL`` is a service elsewhere that speaks as Anthropic's
    does and takes its key. Addresses in the environment are not read: the one that makes a client remember leads to
    this very service.
    """
    named, separator, elsewhere = wanted.partition("=")
    if separator and "://" in elsewhere:
        usual, there = find_chat_service(named), find_chat_service(elsewhere)
        return usual and there and usual._replace(base_url=there.base_url, needs_key=False)
    if "://" in wanted:
        host, address = host_of(wanted), wanted.rstrip("/")
        if address.count("/") == 2:  # noqa: PLR2004 - nothing but the scheme and the host
            address += "/v1"
        is_anthropic = _has_host(VENDORS["anthropic"], host)
        return ChatService(
            host, address, "anthropic" if is_anthropic else "openai", key_variables(address), needs_key(address)
        )
    if wanted not in CHAT and wanted not in _CHAT_PATHS:
        return None
    vendor = VENDORS[wanted]
    address = vendor.base_url + _CHAT_PATHS.get(wanted, "")
    return ChatService(
        wanted, address, "anthropic" if wanted == "anthropic" else "openai", vendor.keys, vendor.needs_key
    )


def list_chat_services() -> list[str]:
    """Return the names of the services that chats can be sent to."""
    return sorted({*CHAT, *_CHAT_PATHS})


_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})

Completion: TypeAlias = Callable[[Mapping[str, Any], Mapping[str, str]], dict[str, Any]]


def environment_reader(name: str) -> Completion:
    """Return what adds to the options of a vendor the address and the key that they leave to the environment."""
    vendor = VENDORS[name]

    def read_environment(options: Mapping[str, Any], env: Mapping[str, str]) -> dict[str, Any]:
        made = dict(options)
        if made.get("base_url") is None and env.get(vendor.address):
            made["base_url"] = env[vendor.address]
        if made.get("api_key") is None and (key := _find_key(vendor, made.get("base_url"), env)):
            made["api_key"] = key
        return made

    return read_environment


def _find_key(vendor: Vendor, base_url: object, env: Mapping[str, str]) -> str:
    """Return the key for an address; '' where the environment holds none that is meant for it."""
    names = vendor.keys
    if base_url not in (None, vendor.base_url, env.get(vendor.address)):
        names = key_variables(base_url) if isinstance(base_url, str) else ()
    return next((env[name] for name in names if env.get(name)), "")


def key_variables(base_url: str) -> tuple[str, ...]:
    """Return the variables that hold the key of the service at an address; none for a server that nobody knows."""
    host = host_of(base_url)
    return next((vendor.keys for vendor in VENDORS.values() if _has_host(vendor, host)), ())


def needs_key(base_url: str) -> bool:
    """Return whether the service at an address answers nobody without a key; a server of your own may."""
    host = host_of(base_url)
    return any(vendor.needs_key and _has_host(vendor, host) for vendor in VENDORS.values())


def _has_host(vendor: Vendor, host: str) -> bool:
    """Return whether a host is the vendor's; what listens on this machine may be anybody."""
    if not host or host in _LOOPBACK:
        return False
    known = (host_of(vendor.base_url), *vendor.hosts)
    return any(host.endswith(one) if one.startswith(".") else host == one for one in known)
