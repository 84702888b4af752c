// Written by scripts/typescript_client.py; do not edit.

import { MemstoneError } from "./failure.js";

export { MemstoneError };

/** The call was wrong; nothing was written. */
export class UsageError extends MemstoneError {}

/** The call names no user, agent or run, or an id is malformed. */
export class ScopeError extends UsageError {}

/** The filter cannot be applied; filters are never ignored. */
export class InvalidFilter extends UsageError {}

/** A text, metadata or a date cannot be stored. */
export class InvalidInput extends UsageError {}

/** The value is over a size limit. */
export class TooLarge extends UsageError {}

/** A vector has the wrong length, or contains NaN or infinity. */
export class DimensionMismatch extends UsageError {}

/** A setting is unknown or out of range. */
export class ConfigError extends UsageError {}

/** An adapter needs an event loop, which the blocking `Memory` does not have. */
export class NeedsEventLoop extends UsageError {}

/** The feature needs a package that is not installed. */
export class MissingExtra extends UsageError {}

/** No memory with that id. */
export class NotFoundError extends MemstoneError {}

/** The caller is not allowed to do this. */
export class AccessError extends MemstoneError {}

/** There is no key, or it is unknown, expired or revoked. */
export class Unauthenticated extends AccessError {}

/** The access token has expired; the login session is still valid. */
export class TokenExpired extends Unauthenticated {}

/** The key does not have access. */
export class Forbidden extends AccessError {}

/** A rate limit of this service was reached. */
export class TooManyRequests extends AccessError {}

/** The same thing is already stored, or the memory changed in the meantime. */
export class Conflict extends MemstoneError {}

/** A quota is used up; nothing was written. `quota` is the setting, `limit` its value. */
export class QuotaExceeded extends MemstoneError {}

/** A service that Memstone uses failed. */
export class BackendError extends MemstoneError {}

/** The vector store failed. */
export class VectorStoreError extends BackendError {}

/** The graph database failed. */
export class GraphStoreError extends BackendError {}

/** The service cannot be reached; `retry_after` is how many seconds it asks to wait, if it does. */
export class BackendUnavailable extends BackendError {}

/** The service did not answer in time. */
export class BackendTimeout extends BackendError {}

/** The service refused the request. */
export class BackendRejected extends BackendError {}

/** The backend lacks a capability the call needs. */
export class Unsupported extends BackendError {}

/** A language or embedding model failed. */
export class ModelError extends MemstoneError {}

/** The language model failed. */
export class LLMError extends ModelError {}

/** The model returned something unusable; `raw` is as much of it as there is. */
export class BadModelOutput extends LLMError {}

/** The answer reached the token limit; `raw` is its beginning. */
export class AnswerCutOff extends BadModelOutput {}

/** The model, or a filter in front of it, refused to answer. */
export class ModelRefused extends LLMError {}

/** The model cannot be reached, or failed so often in a row that it is not called for a while. */
export class LlmUnavailable extends LLMError {}

/** Today's language model tokens are used up; the curator learns without it. */
export class LlmBudgetSpent extends LLMError {}

/** The embedding model failed; `reason` says why, in one word. */
export class EmbeddingError extends ModelError {}

/** The provider asked us to slow down. */
export class RateLimited extends ModelError {}

/** The provider refused the key. */
export class AuthenticationFailed extends ModelError {}

/** The database failed. */
export class StorageError extends MemstoneError {}

/** The file was written by a newer Memstone. */
export class SchemaTooNew extends StorageError {}

/** A schema migration did not apply; the database is unchanged. */
export class MigrationFailed extends StorageError {}

/** The file or its directory cannot be written. */
export class StorageReadOnly extends StorageError {}

/** The disk is full; the write was rolled back. */
export class StorageFull extends StorageError {}

/** Another process held the write lock for too long. */
export class StorageBusy extends StorageError {}

/** The key of an encrypted store is missing or wrong, or the store is not encrypted as configured. */
export class EncryptionError extends StorageError {}

/** The file is damaged, or is not a Memstone database. */
export class Corrupted extends StorageError {}

/** The class of an error, by the code that the service tells. */
export const ERRORS: Record<string, typeof MemstoneError> = {
  usage: UsageError,
  scope: ScopeError,
  invalid_filter: InvalidFilter,
  invalid_input: InvalidInput,
  too_large: TooLarge,
  dimension_mismatch: DimensionMismatch,
  config: ConfigError,
  needs_event_loop: NeedsEventLoop,
  missing_extra: MissingExtra,
  not_found: NotFoundError,
  access: AccessError,
  unauthenticated: Unauthenticated,
  token_expired: TokenExpired,
  forbidden: Forbidden,
  too_many_requests: TooManyRequests,
  conflict: Conflict,
  quota_exceeded: QuotaExceeded,
  backend: BackendError,
  vector_store: VectorStoreError,
  graph_store: GraphStoreError,
  backend_unavailable: BackendUnavailable,
  backend_timeout: BackendTimeout,
  backend_rejected: BackendRejected,
  unsupported: Unsupported,
  model: ModelError,
  llm: LLMError,
  bad_model_output: BadModelOutput,
  answer_cut_off: AnswerCutOff,
  model_refused: ModelRefused,
  llm_unavailable: LlmUnavailable,
  llm_budget_spent: LlmBudgetSpent,
  embedding: EmbeddingError,
  rate_limited: RateLimited,
  authentication_failed: AuthenticationFailed,
  storage: StorageError,
  schema_too_new: SchemaTooNew,
  migration_failed: MigrationFailed,
  storage_read_only: StorageReadOnly,
  storage_full: StorageFull,
  storage_busy: StorageBusy,
  encryption: EncryptionError,
  corrupted: Corrupted,
};
