"""``backends``, ``set_backends``: which embedder, reranker and stores a service uses.

Keys of providers are stored sealed: the key that opens them lies outside the store. If that key is lost nothing is
deleted, and nothing is left out without a word: whoever needs a provider's key is told that it cannot be read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from memstone.core.access.store_key import BackupSigner
from memstone.core.settings.backends import BACKENDS, MASK, QDRANT_KEY, checked_backends, mask_secret, place_of
from memstone.engine.change.erase import Pieces, pieces_of
from memstone.engine.policy import decode_values
from memstone.engine.runtime import Runtime
from memstone.errors import ConfigError, Forbidden, MemstoneError
from memstone.model.instant import Instant
from memstone.ports.ledger import Ledger, Tx
from memstone.ports.storage import CopyableLedger, Look, Sealer, StoreKey
from memstone.trace import log

if TYPE_CHECKING:
    from memstone.results import BackendSettings

PLAIN: Final = "service:backends"
"""The key under which the choices are stored. Nobody's settings are resolved from it."""

SECRETS: Final = "service:secrets"
"""The key under which keys are stored, each sealed. Only ``Keys`` opens what stands there."""


class ProviderKeys(dict[str, str]):
    """Keys of providers as they are used; asking for one that cannot be opened is a ``ConfigError``."""

    def __init__(self, opened: Mapping[str, str], unreadable: Mapping[str, str]) -> None:
        super().__init__(opened)
        self.unreadable: dict[str, str] = dict(unreadable)

    def replaced_by(self, values: Mapping[str, str]) -> ProviderKeys:
        """Return the same with other keys in place of some; '' takes one away."""
        there = {name: one for name, one in {**self, **values}.items() if one}
        return ProviderKeys(there, {name: one for name, one in self.unreadable.items() if name not in values})

    def get(self, name: str, default: Any = None) -> Any:
        """Return a key, or what is used where there is none."""
        if name in self.unreadable and name not in self:
            raise ConfigError(f"the stored key {name} cannot be read: {self.unreadable[name]}")
        return super().get(name, default)


@dataclass(frozen=True, slots=True)
class KeyBox:
    """The keys of providers of one tenant, and what is needed to open them."""

    ledger: Ledger
    tenant_id: str
    store_key: StoreKey
    sealing: Sealer

    @classmethod
    def of(cls, runtime: Runtime) -> KeyBox:
        """Return that of the tenant that calls."""
        return cls(runtime.ledger, runtime.tenant_id, runtime.store_key, runtime.sealing)

    async def read(self, at: Instant) -> tuple[dict[str, Any], ProviderKeys]:
        """Return the choices and the keys. Keys that an earlier version stored as they are get sealed first."""
        values, stored = await self.ledger.of(self.tenant_id).peek(self.load_stored)
        plain = {name: one for name, one in stored.items() if not self.sealing.is_sealed(one)}
        if plain:
            await self._seal_plain(plain, at)
        return values, await self._open(stored)

    async def seal(self, secrets: Mapping[str, str]) -> dict[str, str]:
        """Return keys in the form in which they are stored."""
        if not secrets:
            return {}
        key = await self.store_key.make()
        sealed = {name: self.sealing.seal(key, one, self._about(name)) for name, one in secrets.items()}
        return {name: json.dumps(one) for name, one in sealed.items()}

    async def load_stored(self, tx: Tx) -> tuple[dict[str, Any], dict[str, str]]:
        """Return the choices, and the keys as they are stored."""
        found = await tx.preferences.of(self.tenant_id, [PLAIN, SECRETS])
        values = {name: one for name, one in decode_values(found.get(PLAIN, {})).items() if name in BACKENDS}
        return values, decode_values(found.get(SECRETS, {}))

    async def _open(self, stored: Mapping[str, str]) -> ProviderKeys:
        opened = {name: one for name, one in stored.items() if not self.sealing.is_sealed(one)}
        sealed = {name: one for name, one in stored.items() if name not in opened}
        unreadable: dict[str, str] = {}
        try:
            key = await self.store_key.find() if sealed else None
            problem = f"its key is not in {self.store_key.place}"
        except ConfigError as error:
            key, problem = None, error.message
        for name, one in sealed.items():
            try:
                if key is None:
                    unreadable[name] = problem
                else:
                    opened[name] = self.sealing.unseal(key, one, self._about(name))
            except MemstoneError as error:
                unreadable[name] = error.message
        return ProviderKeys(opened, unreadable)

    def _about(self, name: str) -> str:
        """Return what a sealed key is good for: it cannot be moved to another name or tenant."""
        return f"{self.tenant_id}\n{name}"

    async def _seal_plain(self, plain: Mapping[str, str], at: Instant) -> None:
        """Seal what was stored as it is, and let no file, log or backup of the store hold the plain text any more."""
        sealed, ledger = await self.seal(plain), self.ledger.of(self.tenant_id)
        await ledger.write(lambda tx: tx.preferences.put(self.tenant_id, SECRETS, sealed, at))
        if not isinstance(ledger, CopyableLedger):
            return
        await ledger.drop_settings_beside(self.tenant_id, SECRETS)
        known = await ledger.read(lambda tx: tx.vault.copies(self.tenant_id))
        signer = BackupSigner(await self.store_key.find())
        for copy in await ledger.rewrite(known, lambda tx: self._drop_plain(tx, at), signer, own=False):
            if not copy.is_settled and copy.state != "missing":
                log.warning("a backup may contain provider keys in plain text: %s (%s)", copy.path, copy.reason)
        await ledger.wipe()

    async def _drop_plain(self, tx: Tx, at: Instant) -> Look | None:
        _, stored = await self.load_stored(tx)
        plain = {name: one for name, one in stored.items() if not self.sealing.is_sealed(one)}
        await tx.preferences.drop(self.tenant_id, SECRETS, list(plain), at)
        return Pieces(pieces_of(plain.values())) if plain else None


async def get_backends(runtime: Runtime) -> BackendSettings:
    """Return every choice with its value, which of them are stored, and the keys behind their masks."""
    values, secrets = await read_connections(runtime)
    return _describe_backends(values, secrets)


async def set_backends(runtime: Runtime, arguments: Mapping[str, Any]) -> BackendSettings:
    """Store choices and keys, all or none. A key goes when its place changes, unless a new one comes with it."""
    _require_unbound(runtime)
    values, secrets = checked_backends(arguments)
    box, now = KeyBox.of(runtime), runtime.now()
    _, provider_keys = await box.read(now)
    known = [*provider_keys, *provider_keys.unreadable]
    sealed = await box.seal({name: secret for name, secret in secrets.items() if secret})

    async def work(tx: Tx) -> tuple[dict[str, Any], list[str], list[str]]:
        stored, _ = await box.load_stored(tx)
        after = {**stored, **values}
        gone = [name for name in known if name not in secrets and place_of(name, stored) != place_of(name, after)]
        removed = [*gone, *(name for name, secret in secrets.items() if not secret)]
        await tx.preferences.put(runtime.tenant_id, PLAIN, _encode_values(values), now)
        await tx.preferences.put(runtime.tenant_id, SECRETS, sealed, now)
        await tx.preferences.drop(runtime.tenant_id, SECRETS, removed, now)
        return after, removed, sorted(gone)

    after, removed, cleared = await runtime.ledger.write(work)
    if (removed or sealed) and isinstance(runtime.ledger, CopyableLedger):
        await runtime.ledger.empty_log()
    runtime.tunings.invalidate(runtime.tenant_id)
    left = provider_keys.replaced_by({**secrets, **dict.fromkeys(removed, "")})
    return {**_describe_backends(after, left), "cleared": cleared}


async def read_connections(runtime: Runtime) -> tuple[dict[str, Any], ProviderKeys]:
    """Return what is stored, and the keys themselves: for whoever connects, and for no answer."""
    _require_unbound(runtime)
    return await KeyBox.of(runtime).read(runtime.now())


def _require_unbound(runtime: Runtime) -> None:
    if runtime.bounds is not None:
        raise Forbidden("this key cannot choose backends", hint="use a key for the whole tenant")


def _encode_values(values: Mapping[str, Any]) -> dict[str, str]:
    return {name: json.dumps(value, ensure_ascii=False) for name, value in values.items()}


def _describe_backends(values: Mapping[str, Any], secrets: ProviderKeys) -> BackendSettings:
    masks = {**dict.fromkeys(secrets.unreadable, MASK), **{name: mask_secret(one) for name, one in secrets.items()}}
    settings = {name: values.get(name, default) for name, (_, default) in BACKENDS.items()}
    configs = {name: dict(options) for name, options in settings["backendConfigs"].items()}
    for name, mask in masks.items():
        _, _, backend = name.partition(".")
        if name != QDRANT_KEY and backend in configs:
            configs[backend]["apiKey"] = mask
    settings["backendConfigs"] = configs
    settings[QDRANT_KEY] = masks.get(QDRANT_KEY, "")
    return {"settings": settings, "stored": sorted(values), "unreadable": sorted(secrets.unreadable)}
