"""Sections of the settings for the service and the gateway."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator

from memstone.sections import SettingsSection


class RateSettings(SettingsSection):
    """How often something may happen in a minute (0 is no limit), and at once (0 is as often as in a minute)."""

    per_minute: int = Field(default=0, ge=0)
    burst: int = Field(default=0, ge=0)


class KeyRateSettings(RateSettings):
    """Requests of a key: a hundred a second is more than most programs ask, and less than keeps others from asking."""

    per_minute: int = Field(default=6_000, ge=0)


class FailureSettings(RateSettings):
    """Wrong keys and passwords from one address."""

    per_minute: int = Field(default=10, ge=0)
    burst: int = Field(default=20, ge=0)


class UserQuotaSettings(SettingsSection):
    """How much a service stores for one user where ``quota`` says nothing; 0 is no limit.

    It is far more than a person says in years, and keeps one user from filling the disk of all.
    """

    memories: int = Field(default=100_000, ge=0)
    turns: int = Field(default=500_000, ge=0)
    chars: int = Field(default=100_000_000, ge=0)


class ConnectionSettings(SettingsSection):
    """How many requests are answered at once, and how slowly a caller may send and read.

    A head must be there within ``head_seconds``. A body may take ``body_seconds``, and a second more for every
    ``bytes_per_second`` bytes of it; whoever reads an answer more slowly than that is cut off.
    """

    limit: int = Field(default=1_000, ge=1)
    head_seconds: float = Field(default=10.0, gt=0)
    body_seconds: float = Field(default=30.0, gt=0)
    bytes_per_second: int = Field(default=1_000, ge=1)


class AccountSettings(SettingsSection):
    """People who log in: how long a token is good for asking, how long for another one, and a session altogether.

    ``failures`` is how often an account's password may be wrong in a row, wherever that comes from; then each address
    from which nobody has logged in with it before may try once a minute.
    """

    access_minutes: float = Field(default=15.0, ge=1, le=1_440)
    refresh_days: float = Field(default=14.0, gt=0, le=365)
    session_days: float = Field(default=90.0, gt=0, le=3_650)
    failures: int = Field(default=100, ge=1)


class ConsoleSettings(SettingsSection):
    """The web console at ``/``: whether it is served, how long a sign-in lasts, and a one-time link before it is used.

    Somebody who signs in with an account stays signed in no longer than their session lasts.
    """

    enabled: bool = True
    session_hours: float = Field(default=12.0, gt=0, le=720)
    link_minutes: float = Field(default=10.0, gt=0, le=1_440)


class ServerSettings(SettingsSection):
    """``memstone serve``.

    ``open_loopback`` answers callers on this machine without a key, as an administrator of ``tenant``.
    ``hosts`` are the names under which the service may be asked besides the local ones, ``origins`` the web pages that
    may ask it. ``proxies`` are the addresses or networks of proxies whose ``proxy_header`` says for whom they ask;
    nobody else is believed. ``private_urls`` are hosts inside your network that stored settings may name.
    ``body_bytes`` is how large a request may be. ``failed_logins`` are wrong keys and passwords from one address.
    ``log`` is ``console`` or ``json``, ``log_level`` the least level that is written; ``debug`` also writes what
    people said. ``request_log`` is how many requests administrators can look at, for ``request_log_hours``.
    ``backup_folder`` is where backups that are asked for over HTTP are written. ``mcp_remote`` lets keys without the
    permission ``admin`` use ``/mcp`` from other machines; ``tool_prefix`` is what the names of its tools begin with.
    """

    host: str = "127.0.0.1"
    port: int = Field(default=8420, ge=0, le=65_535)
    open_loopback: bool = False
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    proxies: tuple[str, ...] = ()
    proxy_header: Literal["x-forwarded-for", "forwarded", "x-real-ip"] = "x-forwarded-for"
    private_urls: tuple[str, ...] = ()
    body_bytes: int = Field(default=4_194_304, ge=1_024)
    connections: ConnectionSettings = ConnectionSettings()
    rate: KeyRateSettings = KeyRateSettings()
    quota: UserQuotaSettings = UserQuotaSettings()
    failed_logins: FailureSettings = FailureSettings()
    accounts: AccountSettings = AccountSettings()
    console: ConsoleSettings = ConsoleSettings()
    log: Literal["console", "json"] = "console"
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    mcp_remote: bool = False
    tool_prefix: str = Field(default="", pattern=r"^[A-Za-z0-9_]{0,40}$")
    llm_tokens_per_day: int = Field(default=0, ge=0)
    request_log: int = Field(default=1_000, ge=0, le=100_000)
    request_log_hours: float = Field(default=24.0, gt=0, le=8_760)
    backup_folder: Path | None = None

    @field_validator("proxies")
    @classmethod
    def _networks(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for one in value:
            try:
                ipaddress.ip_network(one)
            except ValueError:
                raise ValueError(f"{one!r} is not an address or network such as 10.0.0.2 or 10.0.0.0/8") from None
        return value


class UpstreamSettings(SettingsSection):
    """A service that runs models: where it is, its key, and for which models it is asked.

    ``models`` are beginnings of model names ('' is any); the longest that fits decides, and several upstreams that fit
    equally well are asked one after the other. ``strip`` takes the beginning off the name. ``dialect`` says how the
    service wants its key. ``timeout`` is how long a piece of an answer may take (the default is that of the official
    clients: a model may think for minutes), ``connect_timeout`` reaching it.
    """

    name: str = Field(min_length=1, max_length=100)
    base_url: str
    api_key: SecretStr | None = None
    models: tuple[str, ...] = ("",)
    strip: bool = False
    dialect: Literal["openai", "anthropic"] = "openai"
    timeout: float = Field(default=600.0, gt=0)
    connect_timeout: float = Field(default=5.0, gt=0)
    retries: int = Field(default=1, ge=0, le=5)
    system_role: Literal["yes", "no", "first_only"] | None = None

    @field_validator("base_url")
    @classmethod
    def _address(cls, value: str) -> str:
        parts = urlsplit(value)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query:
            raise ValueError("must be http(s)://host/path, without a user or a query")
        return value.rstrip("/")


class GatewaySettings(SettingsSection):
    """The chat routes: ``upstreams`` in the order in which they are asked, and how long recalling may take.

    After ``recall_ms`` what needs no search is shown, which may take ``profile_ms`` more.

    ``body_bytes`` is how large a request to a model may be: it may hold pictures, which other requests do not.
    """

    upstreams: tuple[UpstreamSettings, ...] = ()
    recall_ms: float = Field(default=2_000.0, ge=0)
    profile_ms: float = Field(default=5_000.0, ge=0)
    tool_rounds: int = Field(default=3, ge=1, le=10)
    body_bytes: int = Field(default=33_554_432, ge=1_024)
