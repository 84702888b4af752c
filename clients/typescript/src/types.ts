// Written by scripts/typescript_client.py; do not edit.

/** A new account. */
export interface AccountBody {
  login: string;
  password: string;
  name?: string;
  role?: "viewer" | "editor" | "admin";
  user_id?: string | null;
  agent_id?: string | null;
}

/** Changes of an account; '' removes a name or a limit, and what is left out stays. */
export interface AccountChangeBody {
  login?: string | null;
  name?: string | null;
  role?: "viewer" | "editor" | "admin" | null;
  password?: string | null;
  user_id?: string | null;
  agent_id?: string | null;
  disabled?: boolean | null;
}

/** An account of a person who can log in. */
export interface AccountItem {
  id: string;
  login: string;
  name: string;
  role: "viewer" | "editor" | "admin";
  verbs: ("read" | "write" | "admin")[];
  tenant_id: string;
  user_id: string | null;
  agent_id: string | null;
  disabled: boolean;
  created_at: string;
  updated_at: string;
  last_login_at: string | null;
}

/** The accounts of a tenant, oldest first. */
export interface AccountList {
  results: AccountItem[];
}

/** A removed account. */
export interface AccountRemoval extends AccountItem {
  removed: true;
  dry_run?: true;
}

/** An access token, and a refresh token to get the next one. */
export interface AccountTokens {
  access_token: string;
  token_type: string;
  expires_in: number;
  refresh_token: string;
  refresh_expires_at: string;
  account: AccountItem;
}

/** Up to 1,000 items at once. */
export interface AddBatchBody {
  items: (Record<string, unknown>)[];
}

/** The result of each item of a batch, in order. */
export interface AddBatchResult {
  replayed?: true;
  results: AddResult[];
}

/** Messages, and how to learn from them. */
export interface AddBody {
  user_id?: string | null;
  agent_id?: string | null;
  run_id?: string | null;
  messages: string | Record<string, unknown> | (string | Record<string, unknown>)[];
  metadata?: Record<string, unknown> | null;
  infer?: boolean;
  prompt?: string | null;
  strict?: boolean;
  kind?: "factual" | "episodic" | "procedural" | "semantic" | null;
  key?: string | null;
  occurred_at?: string | null;
  expires_at?: string | null;
  keep_turns?: boolean | null;
  filters?: Record<string, unknown> | unknown[] | null;
  project_id?: string | null;
}

/** What happened with one statement. */
export interface AddEvent {
  id: string;
  event: "ADD" | "UPDATE" | "REPLACE" | "DELETE" | "NONE";
  memory: string;
  old_memory: string | null;
  new_memory: string | null;
  metadata: Record<string, unknown>;
  reason?: string;
  old_id?: string;
  new_id?: string;
  evidence?: Evidence;
  doubt?: string;
  status?: Status;
  erased?: true;
}

/** The result of learning: an event for each statement. */
export interface AddResult {
  results: AddEvent[];
  status: "ok" | "queued" | "partial" | "deferred" | "paused" | "disabled" | "error";
  deferred?: DeferredEvent[];
  error?: ErrorInfo;
  warnings?: string[];
  queued?: number;
  left_out?: number;
  degraded?: Degradation[];
  dropped?: DroppedFact[];
  review?: RemovalProposal[];
  reason?: string;
  hint?: string;
}

/** The arguments of `identity.add_override`. */
export interface AddStandingInstructionBody {
  text: string;
  user_id: string | number;
}

/** A new agent; without an id, it gets one. */
export interface AgentBody {
  name?: string | null;
  model?: string | null;
  system_prompt?: string | null;
  settings?: Record<string, unknown> | null;
  id?: string | null;
}

/** Fields of an agent to change; what is left out stays as it is. */
export interface AgentChangeBody {
  name?: string | null;
  model?: string | null;
  system_prompt?: string | null;
  settings?: Record<string, unknown> | null;
}

/** A deleted agent, and how many memories were deleted with it. */
export interface AgentDeletion {
  id: string;
  deleted: number;
  dry_run?: true;
}

/** An agent, its settings, and how many memories it has. */
export interface AgentItem {
  id: string;
  name: string;
  model: string | null;
  system_prompt: string | null;
  settings: Record<string, unknown>;
  memory_entry_count: number;
  paused: boolean;
  memory_counts: Record<string, number>;
  created_at: string;
  updated_at: string;
}

/** All agents. */
export interface AgentList {
  agents: AgentItem[];
  total: number;
}

/** The answer of a model to a prompt with a context. */
export interface AnswerBody {
  receipt_id: string;
  answer: string;
}

/** A part of a message that is not text. */
export interface AttachmentInfo {
  type?: string;
  name?: string;
  media_type?: string;
  url?: string;
}

/** The result for one conversation of a backfill. */
export interface BackfillItem {
  run_id: unknown;
  status: "ok" | "known" | "pending" | "failed" | "disabled" | "paused" | "error";
  turns_ingested?: number;
  distillation?: string;
  episode_id?: number;
  warnings?: string[];
  reason?: string;
  error?: ErrorInfo;
}

/** The results of a backfill, in order. */
export interface BackfillResult {
  ingested: number;
  known: number;
  failed: number;
  cancelled: boolean;
  results: BackfillItem[];
}

/** How a backup is encrypted. */
export interface BackupEncryption {
  cipher: string;
  key: string;
}

/** What happened to a backup. Only the operator sees its path. */
export interface BackupErasure {
  path?: string;
  state: string;
  reason?: string;
  found?: number;
}

/** A file of a backup. */
export interface BackupFile {
  bytes: number;
  sha256: string;
}

/** A new backup. */
export interface BackupResult {
  format: "memstone-backup";
  version: number;
  store: string;
  schema: number;
  tables: Record<string, number>;
  created_at: string;
  files: Record<string, BackupFile>;
  signature?: Record<string, string>;
  columns?: Record<string, string[]>;
  tenant?: string | null;
  rewritten?: boolean;
  encryption?: BackupEncryption;
  path: string;
  key_place: string;
}

/** An item of a batch that failed, and why. */
export interface BatchError {
  event: "ERROR";
  error: ErrorInfo;
}

/** The source of one line of a block. */
export interface BlockCitation {
  memory_id: string;
  turn_id: string | null;
  date: string;
  line: string;
  memory: string;
}

/** One part of a block. */
export interface BlockSection {
  name: string;
  heading: string;
  lines: string[];
}

/** The state of the cache of vectors. */
export interface CacheStats {
  hits: number;
  misses: number;
  size: number;
  max_size: number;
}

/** Who the caller is; `account` is present for people, not for keys. */
export interface CallerInfo {
  kind: "account" | "key";
  tenant_id: string;
  user_id: string | null;
  agent_id: string | null;
  verbs: ("read" | "write" | "admin")[];
  session_id: string | null;
  expires_at: string | null;
  account: AccountItem | null;
}

/** The arguments of `admin.accounts.rotate_token_key`. */
export interface ChangeKeyForLoginTokensBody {
  grace?: boolean;
}

/** The arguments of `graph.check`. */
export interface CompareGraphDatabaseWithLedgerBody {
  repair?: boolean;
}

/** An action that cannot be undone: `confirm` is the name of the tenant. `dry_run` needs none. */
export interface ConfirmBody {
  confirm?: string;
  dry_run?: boolean;
}

/** A job of this process, running or finished. */
export interface ConsoleJob {
  id: string;
  task: "consolidate" | "reindex" | "erase" | "backup" | "import";
  state: "running" | "done" | "failed" | "cancelled";
  done: number;
  total: number | null;
  started_at: string;
  finished_at: string | null;
  result: ConsolidateResult | ReindexResult | ErasureReport | ErasurePreview | BackupResult | ImportResult | null;
  error: ErrorInfo | null;
}

/** Jobs of this process, newest first. */
export interface ConsoleJobList {
  results: ConsoleJob[];
}

/** A search for people; without a query, everything, newest first. */
export interface ConsoleSearchBody {
  user_id?: string | null;
  agent_id?: string | null;
  run_id?: string | null;
  q?: string | null;
  layers?: string | string[] | null;
  statuses?: string | string[] | null;
  filters?: Record<string, unknown> | unknown[] | null;
  limit?: number;
  as_of?: string | null;
  everybody?: boolean | null;
}

/** Whose memories to consolidate; everybody's if nobody is named. */
export interface ConsolidateBody {
  user_id?: string | null;
  agent_id?: string | null;
  run_id?: string | null;
  dry_run?: boolean;
}

/** The arguments of `admin.consolidate`. */
export interface ConsolidateMemoriesBody {
  user_id?: string | number | null;
  agent_id?: string | number | null;
  run_id?: string | number | null;
  everybody?: boolean;
  dry_run?: boolean;
}

/** The outcome of a consolidation, and what it changed. */
export interface ConsolidateResult {
  merged?: number;
  promoted?: number;
  evicted?: number;
  expired?: number;
  pruned?: number;
  summarized?: number;
  narratives?: number;
  purged?: Record<string, number>;
  status: "completed" | "already_running" | "disabled";
  job_id?: string;
  dry_run?: true;
}

/** The block for a prompt: a `ContextPack` as JSON. */
export interface ContextBlock {
  text: string;
  stable: string;
  volatile: string;
  tokens: number;
  budget: number;
  empty: boolean;
  receipt_id: string;
  sections: BlockSection[];
  citations: BlockCitation[];
  gate: GateResult;
  degraded: Degradation[];
  warnings: string[];
}

/** The message that a model is about to answer. */
export interface ContextBody {
  user_id?: string | null;
  agent_id?: string | null;
  run_id?: string | null;
  query: string;
  budget?: number | null;
  gate?: "profile" | "always" | "off" | "heuristic" | "llm" | "never" | null;
  scope?: "session" | "owner" | "apiKey" | "global" | null;
  project_id?: string | null;
  as_of?: string | null;
}

/** What a model would see, with secrets and personal data masked. */
export interface ContextPreview {
  text: string;
  tokens: number;
  budget: number;
  gate: GateReason;
  chosen: string[];
  dropped: ReceiptOmission[];
}

/** A message, to see what a model would be shown for it. */
export interface ContextPreviewBody {
  user_id?: string | null;
  agent_id?: string | null;
  run_id?: string | null;
  query: string;
  budget?: number | null;
  as_of?: string | null;
}

/** The record of one block. It names memories by id and never contains their text. */
export interface ContextReceipt {
  user_id: string | null;
  agent_id: string | null;
  run_id: string | null;
  id: string;
  created_at: string;
  query: string;
  gate: GateResult;
  budget: number;
  tokens: number;
  considered: number;
  chosen: ReceiptChoice[];
  dropped: ReceiptOmission[];
  ms: Record<string, number>;
  degraded: Degradation[];
  used: string[] | null;
}

/** A whole conversation; `session_date` is the time of turns without a date. */
export interface ConversationBody {
  agent_id: string;
  conversation_id: string;
  turns: TurnPair[];
  session_date?: string | null;
  skip_extraction?: boolean;
  user_id?: string | null;
}

/** The result of a conversation; `distillation` says whether it became an episode, or why not. */
export interface ConversationResult {
  status: "ok" | "pending" | "failed" | "disabled" | "paused";
  turns_ingested: number;
  distillation: string;
  episode_id: number | null;
  warnings?: string[];
  reason?: string;
}

/** The fact that holds now, in place of what a turn said. */
export interface CurrentFact {
  id: string;
  memory: string | null;
}

/** An overview for a management page: the layers of a scope, or the work of the whole tenant. */
export interface DashboardResult {
  identity?: IdentityResult | null;
  facts?: FactItem[];
  episodes?: EpisodeItem[];
  counts: Record<string, number>;
  last_consolidation: LastConsolidation | null;
  processing?: WorkStats;
  waiting?: QueueStats;
  agents?: AgentItem[];
}

/** A statement that is queued, and why. */
export interface DeferredEvent {
  id: null;
  event: "DEFERRED";
  memory: string;
  old_memory: null;
  new_memory: null;
  metadata: Record<string, unknown>;
  evidence?: Evidence;
  error: ErrorInfo;
}

/** A step that could not be used, and why; the answer was made without it. */
export interface Degradation {
  step?: string;
  channel?: string;
  code: string;
  message: string;
  hint?: string;
  retryable?: boolean;
  reason?: string | null;
}

/** How many memories were deleted, or with `dry_run` would be deleted. */
export interface DeleteAllResult {
  deleted: number;
  dry_run?: true;
}

/** The result for each memory, in order. */
export interface DeleteBatchResult {
  replayed?: true;
  results: DeleteItem[];
  dry_run?: true;
}

/** What happened to one memory that was to be deleted. */
export interface DeleteItem {
  id: string;
  event: "DELETE" | "ERROR";
  error?: ErrorInfo;
  erased?: true;
}

/** The arguments of `delete_all`. */
export interface DeleteMemoriesWithFiltersBody {
  user_id?: string | number | null;
  agent_id?: string | number | null;
  run_id?: string | number | null;
  filters?: Record<string, unknown> | unknown[] | null;
  dry_run?: boolean;
  confirm?: string | null;
}

/** A memory that was deleted, or with `dry_run` would be deleted. */
export interface DeleteResult {
  id: string;
  event: "DELETE";
  dry_run?: true;
}

/** The arguments of `vectors.delete`. */
export interface DeleteVectorsBody {
  ids: string[];
  reason?: string | null;
  dry_run?: boolean;
}

/** An identity line that was derived from a fact. */
export interface DerivedIdentity extends IdentityItem {
  fact: string | null;
}

/** A fact by a language model that was not stored. */
export interface DroppedFact {
  text: string;
  reason: string;
}

/** With `dry_run`, nothing is deleted. */
export interface DryRunBody {
  dry_run?: boolean;
}

/** How often the vector of a text was cached. */
export interface EmbeddingCacheStatus {
  size: number;
  maxSize: number;
  hits: number;
  misses: number;
}

/** A known embedding model. */
export interface EmbeddingModel {
  id: string;
  provider: string;
  model: string;
  dimension: number;
}

/** Models whose vectors can be stored in Qdrant. */
export interface EmbeddingModels {
  models: EmbeddingModel[];
}

/** The embedder. */
export interface EmbeddingPart {
  available: boolean;
  reason: string | null;
  model: string | null;
  provider: string | null;
  dim: number | null;
  destination?: string | null;
  cache?: CacheStats;
  error?: string | null;
}

/** A provider of embeddings. */
export interface EmbeddingProvider {
  id: string;
  available: boolean;
  active: boolean;
  local: boolean;
  reason: string | null;
  models: EmbeddingModel[];
}

/** All providers of embeddings. */
export interface EmbeddingProviders {
  providers: EmbeddingProvider[];
}

/** The embedder; `destination` is where texts are sent, `error` what is wrong, in one word. */
export interface EmbeddingStatus {
  available: boolean;
  reason: string | null;
  model: string | null;
  provider: string | null;
  dim: number | null;
  destination?: string | null;
  cache?: EmbeddingCacheStatus | null;
  error?: string | null;
}

/** What is encrypted on disk; only the first two fields are present if `store.encryption_key` is not set. */
export interface EncryptionStatus {
  state: "encrypted" | "plain" | "memory" | "server";
  files: boolean;
  cipher?: string;
  key_place?: string;
  key?: string | null;
  former_keys?: number;
  rotation_due?: boolean;
}

/** The arguments of `sessions.end`. */
export interface EndSessionBody {
  user_id?: string | number | null;
  agent_id?: string | number | null;
  run_id?: string | number | null;
}

/** The parts of the engine, and their state. */
export interface EngineInfo {
  keyword: KeywordPart;
  embedding: EmbeddingPart;
  vector_store: VectorPart;
  graph_store: GraphPart;
  rerank: ModelPart;
  llm: ModelPart;
}

/** The parts of the engine, and their state. */
export interface EngineStatus {
  keyword: KeywordStatus;
  embedding: EmbeddingStatus;
  vectorStore: VectorStoreStatus;
  graphStore: GraphStoreStatus;
  qdrant: EngineStatusPart;
  rerank: ModelStatus;
  llm: ModelStatus;
}

/** One part of the engine. */
export interface EngineStatusPart {
  available: boolean;
  reason: string | null;
}

/** Whose entities to list, and which. */
export interface EntityBody {
  user_id?: string | null;
  agent_id?: string | null;
  run_id?: string | null;
  limit?: number | null;
  offset?: number | null;
}

/** A person, place or thing that memories mention. */
export interface EntityItem {
  id: string;
  name: string;
  type: string;
  description: string | null;
  mentions: number;
  updated_at: string;
}

/** Entities, most mentioned first. */
export interface EntityList {
  results: EntityItem[];
}

/** One entry. `apiKeyId` is its owner: the id of a key, or of a user. */
export interface Entry {
  id: string;
  apiKeyId: string;
  sessionId: string;
  type: string;
  key: string;
  content: string;
  metadata: Record<string, unknown>;
  createdAt: string;
  updatedAt: string;
  expiresAt?: string | null;
}

/** `id` is the whole entry, as this interface has always had it; `memoryId` is its id alone. */
export interface EntryAddition {
  success?: true;
  id: Entry;
  memoryId: string;
}

/** One entry. */
export interface EntryAnswer {
  memory: Entry;
}

/** An entry under a key; the same key again changes the entry. */
export interface EntryBody {
  content: string;
  key: string;
  type?: "factual" | "episodic" | "procedural" | "semantic";
  sessionId?: string;
  apiKeyId?: string;
  userId?: string | null;
  metadata?: Record<string, unknown>;
  expiresAt?: string | null;
}

/** How often the vector of a text was cached, and how often it had to be computed. */
export interface EntryCacheStats {
  hits: number;
  misses: number;
}

/** The changed entry. */
export interface EntryChange {
  success?: true;
  memory: Entry;
}

/** The fields to change; at least one. */
export interface EntryChangeBody {
  content?: string;
  key?: string;
  type?: "factual" | "episodic" | "procedural" | "semantic";
  metadata?: Record<string, unknown>;
  expiresAt?: string | null;
}

/** A part of a search that could not be used, and why. */
export interface EntryDegradation {
  step?: string | null;
  channel?: string | null;
  code: string;
  message: string;
  hint?: string | null;
  retryable?: boolean | null;
  reason?: string | null;
}

/** There is no such entry. */
export interface EntryNotFound {
  error?: "Not found";
}

/** A page of entries, newest first. */
export interface EntryPage {
  data: Entry[];
  total: number;
  page: number;
  limit: number;
  totalPages: number;
  stats: EntryStats;
}

/** What would be shown, best first. Nothing counts as used. */
export interface EntryPreview {
  items: EntryPreviewHit[];
  block: string;
  resolution: EntryResolution;
  totals: EntryPreviewTotals;
}

/** A query, and how much of the result would be shown. */
export interface EntryPreviewBody {
  query: string;
  strategy?: "recent" | "exact" | "semantic" | "hybrid";
  maxTokens?: number | null;
  limit?: number;
  apiKeyId?: string | null;
  userId?: string | null;
  sessionId?: string | null;
  scope?: "session" | "owner" | "apiKey" | "global" | null;
}

/** A hit, and why it was found. */
export interface EntryPreviewHit {
  id: string;
  apiKeyId: string;
  sessionId: string;
  type: string;
  key: string;
  content: string;
  metadata: Record<string, unknown>;
  createdAt: string;
  updatedAt: string;
  expiresAt?: string | null;
  score: number;
  tier: string;
  tokens: number;
  vecScore: number | null;
  ftsScore: number | null;
  injected: boolean;
}

/** How much was found, and how much of it fits. */
export interface EntryPreviewTotals {
  found: number;
  shown: number;
  tokens: number;
  maxTokens: number;
}

/** How the search was carried out. */
export interface EntryResolution {
  strategy: string;
  embedding: string | null;
  vectors: boolean;
  rerank: boolean;
  fallbackReason: string | null;
  degraded: EntryDegradation[];
}

/** Whether an entry can be created, listed and deleted; the test leaves nothing behind. */
export interface EntrySelfTest {
  working: boolean;
  latencyMs: number;
  error?: string | null;
}

/** Counts over all entries that match, on all pages; `hitRate` is null until an answer was recorded. */
export interface EntryStats {
  total: number;
  byType: Record<string, number>;
  tokensUsed: number;
  hitRate: number | null;
  cacheStats: EntryCacheStats;
}

/** What was shortened, or would be shortened. */
export interface EntrySummary {
  originalCount: number;
  summarizedCount: number;
  tokensSaved: number;
  dryRun: boolean;
  jobIds: string[];
}

/** Which old entries to shorten: those of one owner, or of everybody. */
export interface EntrySummaryBody {
  olderThanDays?: number;
  apiKeyId?: string | null;
  dryRun?: boolean;
}

/** An episode: the digest of one session. */
export interface EpisodeItem {
  user_id: string | null;
  agent_id: string | null;
  run_id: string | null;
  id: string;
  summary: string;
  topics: string[];
  entities: string[];
  decisions: string[];
  action_items: string[];
  facts: string[];
  salience: number;
  token_count: number;
  model: string | null;
  version: number;
  status: Status;
  occurred_at: string;
  created_at: string;
  updated_at: string;
}

/** Episodes, newest first. */
export interface EpisodeList {
  results: EpisodeItem[];
}

/** What to erase. `confirm` repeats the id (if there are several, the first). */
export interface EraseBody {
  user_id?: string | null;
  agent_id?: string | null;
  run_id?: string | null;
  memory_id?: string | null;
  confirm?: string;
  dry_run?: boolean;
}

/** The arguments of `admin.erase`. */
export interface EraseDataForGoodBody {
  user_id?: string | number | null;
  agent_id?: string | number | null;
  run_id?: string | number | null;
  memory_id?: string | null;
  dry_run?: boolean;
}

/** A check after an erasure. */
export interface ErasureCheck {
  check: string;
  ok: boolean;
  pending?: boolean;
  points_left?: number;
  entities_left?: number;
  copies?: BackupErasure[];
  left?: Record<string, number>;
  pieces?: number;
  found?: Record<string, number>;
  note?: string;
  hint?: string;
  error?: ErrorInfo;
}

/** What remains in a stored answer to a batch of a memory that was erased since. */
export interface ErasureMark {
  id?: string;
  memory_id?: string;
  event?: string;
  erased: true;
}

/** What an erasure would remove. */
export interface ErasurePreview {
  erased: Record<string, number>;
  rewritten: number;
  kept_for_others: number;
  dry_run: true;
  subject: ErasureSubject;
}

/** What was erased, with a signature of the store. */
export interface ErasureReport {
  erased: Record<string, number>;
  rewritten: number;
  kept_for_others: number;
  format: "memstone-erasure";
  version: number;
  id: string;
  tenant_id: string;
  subject: ErasureSubject;
  created_at: string;
  checks: ErasureCheck[];
  complete: boolean;
  pending: boolean;
  not_looked_at: string[];
  to_finish: string[];
  sha256: string;
  hmac: string;
}

/** The user, agent, run or memory that an erasure is about. */
export interface ErasureSubject {
  user_id?: string;
  agent_id?: string;
  run_id?: string;
  memory_id?: string;
}

/** Whether this store wrote a report, and whether anything erased has come back. */
export interface ErasureVerification {
  ok: boolean;
  unchanged: boolean;
  sealed_by_this_store: boolean;
  complete: boolean;
  not_looked_at: string[];
  left: Record<string, number>;
  subject: ErasureSubject;
}

/** Why something could not be done. */
export interface ErrorInfo {
  code: string;
  message: string;
  hint: string;
  retryable: boolean;
}

/** What happened to a memory. */
export type Event = "ADD" | "UPDATE" | "DELETE" | "REPLACE" | "LINK" | "UNLINK" | "DISABLE" | "ENABLE" | "MERGE" | "PROMOTE" | "EVICT" | "SUMMARIZE" | "FEEDBACK" | "REDACT";

/** Events, oldest first. */
export interface EventFeed {
  results: FeedEvent[];
  cursor: number;
}

/** The words that a memory was learned from. */
export interface Evidence {
  turn: string | null;
  start: number;
  end: number;
  quote?: string;
  also?: string[];
  verdict?: "verified" | "doubtful";
}

/** Why a memory is known: its words, the turn they come from, and every change with its reason. */
export interface Explanation {
  memory: MemoryItem | null;
  evidence: Evidence | null;
  turn: MemoryItem | null;
  history: HistoryEvent[];
}

/** A fact as companions see it. */
export interface FactItem {
  id: string;
  content: string;
  salience: number;
  effective_salience: number;
  source_count: number;
  source_episode_id: string | null;
  last_used: string | null;
  use_count: number;
  status: Status;
  tags: string[];
  user_id: string | null;
  agent_id: string | null;
  occurred_at: string;
  created_at: string;
}

/** Facts, most salient first. */
export interface FactList {
  results: FactItem[];
}

/** One event of the feed. */
export interface FeedEvent extends HistoryEvent {
  seq: number;
  job_id: string | null;
  undoes: string | null;
}

/** Whether a memory, or everything in a receipt, was useful. */
export interface FeedbackBody {
  user_id?: string | null;
  agent_id?: string | null;
  run_id?: string | null;
  useful: boolean;
  receipt_id?: string | null;
  memory_id?: string | null;
  note?: string | null;
}

/** The memories that feedback was about. */
export interface FeedbackResult {
  event: "FEEDBACK";
  useful: boolean;
  ids: string[];
}

/** The arguments of `admin.redact`. */
export interface FindAndMaskSecretsBody {
  dry_run?: boolean;
}

/** The arguments of `vectors.query`. */
export interface FindSimilarVectorsBody {
  vector: number[];
  user_id?: string | number | null;
  limit?: number;
  everybody?: boolean;
  values?: boolean;
  metadata?: boolean;
}

/** How many queued sessions were processed, and how many still wait. */
export interface FlushResult {
  stored: number;
  waiting: number;
}

/** Which part of the memory the gate chose for a message, and why. */
export interface GateReason {
  route: "none" | "recall" | "identity" | "pinned" | "episode" | "transcript";
  reason: string;
}

/** Which part of the memory the gate chose for a message, why, and by which words. */
export interface GateResult {
  route: "none" | "recall" | "identity" | "pinned" | "episode" | "transcript";
  reason: string;
  matched: string;
  asks_memory: boolean;
}

/** The arguments of `vectors.get`. */
export interface GetVectorsBody {
  ids: string[];
}

/** Where entities and relations are: in the ledger alone (`local`), or also in a graph database. */
export interface GraphPart {
  available: boolean;
  reason: string | null;
  backend: "local" | "external";
  pending: number;
}

/** The graph database compared with the ledger. */
export interface GraphReport {
  backend: "local" | "external";
  agrees: boolean;
  pending: number;
  ledger: GraphSize;
  mirror: GraphSize | null;
  repaired: "filled" | "rebuilt" | null;
  named: number;
}

/** How much a graph contains. */
export interface GraphSize {
  entities: number;
  mentions: number;
  relations: number;
}

/** Where entities and relations are, and how many changes a graph database has not seen yet. */
export interface GraphStoreStatus {
  available: boolean;
  reason: string | null;
  backend: string;
  pending: number;
}

/** Whether a test memory could be stored and found. */
export interface HealthProbe {
  ok: boolean;
  failed_at: string | null;
  error: ErrorInfo | null;
}

/** Whether memory works, and if not, at which step it fails. */
export interface HealthReport {
  memories?: number;
  fulltext?: number;
  vectors?: number;
  pending?: number;
  dead?: number;
  without_vector?: number;
  late?: boolean;
  waiting_for_model?: number;
  jobs?: boolean;
  level: "healthy" | "degraded" | "unavailable";
  reasons: string[];
  probe: HealthProbe;
}

/** An event in the history of a memory. */
export interface HistoryEvent {
  user_id: string | null;
  agent_id: string | null;
  run_id: string | null;
  id: string;
  memory_id: string;
  event: Event;
  old_value: string | null;
  new_value: string | null;
  timestamp: string;
  is_deleted: boolean;
  reason: string | null;
  actor: string;
  before: VersionState | null;
  after: VersionState | null;
  old_id: string | null;
  new_id: string | null;
}

/** The history of a memory, oldest first. */
export interface HistoryList {
  results: HistoryEvent[];
}

/** A standing instruction. */
export interface IdentityItem {
  id: string;
  text: string;
  token_count: number;
  created_at: string;
}

/** Who a user is: standing instructions, derived facts, and the narrative. */
export interface IdentityResult {
  user_id: string | null;
  overrides: IdentityItem[];
  derived: DerivedIdentity[];
  narrative: NarrativeItem | null;
  warnings?: string[];
  dry_run?: true;
}

/** The result of importing an export of another system. */
export interface ImportResult {
  format: string;
  stored: number;
  known: number;
  quarantined: number;
  approved: number;
  turns: number;
  facts: number;
  episodes: number;
  identity: number;
  queued: number;
  skipped: Record<string, number>;
  warnings?: string[];
  degraded?: Degradation[];
  status?: "paused" | "disabled";
  reason?: string;
  hint?: string;
}

/** A transcript, turn by turn. */
export interface IngestBody {
  user_id?: string | null;
  agent_id?: string | null;
  run_id?: string | null;
  turns: string | Record<string, unknown> | (string | Record<string, unknown>)[];
  metadata?: Record<string, unknown> | null;
  occurred_at?: string | null;
  expires_at?: string | null;
  learn?: boolean;
}

/** What happened to the turns of a transcript. */
export interface IngestResult {
  stored: number;
  known: number;
  deleted: number;
  masked: number;
  dropped: number;
  skipped: number;
  queued: number;
  degraded?: Degradation[];
  warnings?: string[];
  status?: "paused" | "disabled";
  reason?: string;
  hint?: string;
}

/** A standing instruction of a user. */
export interface InstructionItem {
  id: string;
  text: string;
  occurred_at: string;
}

/** The standing instructions of a user, oldest first. */
export interface InstructionList {
  text: string;
  instructions: InstructionItem[];
}

/** Instructions and settings for a use case; nothing was changed. */
export interface InstructionSuggestion {
  use_case: string;
  source: "llm" | "rules";
  domains: string[];
  instructions: string;
  include: string[];
  exclude: string[];
  categories: Record<string, string>;
  example_settings: Record<string, unknown>;
  degraded?: Degradation[];
}

/** One piece of background work; an id is empty if it was for nobody in particular. */
export interface JobItem {
  user_id: string | null;
  agent_id: string;
  run_id: string;
  id: string;
  task: string;
  status: "success" | "skipped" | "empty" | "error" | "dead_letter";
  created_at: string;
  model: string | null;
  details: Record<string, unknown>;
  input_tokens: number;
  output_tokens: number;
  cost: number | null;
  duration_ms: number;
  outcome: string | null;
}

/** Background jobs, newest first. */
export interface JobList {
  results: JobItem[];
}

/** Count, success rate and duration of background jobs. */
export interface JobStats {
  calls: number;
  success_rate: number | null;
  average_ms: number | null;
  input_tokens: number;
  output_tokens: number;
  cost: number | null;
}

/** A new key. */
export interface KeyBody {
  name?: string;
  verbs?: ("read" | "write" | "admin")[];
  user_id?: string | null;
  agent_id?: string | null;
  may_assert_user?: boolean;
  expires_at?: string | null;
}

/** Changes of a key; what is left out stays as it is. */
export interface KeyChangeBody {
  name?: string | null;
  verbs?: ("read" | "write" | "admin")[] | null;
  may_assert_user?: boolean | null;
}

/** An API key, without its secret. */
export interface KeyItem {
  id: string;
  name: string;
  prefix: string;
  tenant_id: string;
  user_id: string | null;
  agent_id: string | null;
  may_assert_user: boolean;
  verbs: ("read" | "write" | "admin")[];
  created_at: string;
  expires_at: string | null;
  revoked_at: string | null;
  last_used_at: string | null;
  dry_run?: true;
}

/** The keys of a tenant. */
export interface KeyList {
  results: KeyItem[];
}

/** What a key has access to, and its permissions. */
export interface KeyRights {
  tenant_id: string;
  user_id: string | null;
  agent_id: string | null;
  may_assert_user: boolean;
  verbs: ("read" | "write" | "admin")[];
}

/** For how long the old secret is still accepted. */
export interface KeyRotationBody {
  grace_seconds?: number;
}

/** An API key with its secret, which is shown only once. */
export interface KeySecret extends KeyItem {
  key: string;
}

/** Search by words. */
export interface KeywordPart {
  available: boolean;
  reason: string | null;
  backend: string;
}

/** Search by words. */
export interface KeywordStatus {
  available: boolean;
  reason: string | null;
  backend: string;
}

/** What sort of knowledge a memory holds; the last three belong to the layer of identity. */
export type Kind = "factual" | "episodic" | "procedural" | "semantic" | "override" | "derived" | "narrative";

/** Time and outcome of the last consolidation. */
export interface LastConsolidation {
  at: string;
  status: "success" | "skipped" | "empty" | "error" | "dead_letter";
}

/** What a memory is: part of an identity, a fact, the digest of a session, or a turn. */
export type Layer = "identity" | "fact" | "episode" | "turn";

/** The arguments of `sessions.backfill`. */
export interface LearnFromEarlierChatsBody {
  conversations: (Record<string, unknown>)[];
  user_id?: string | number | null;
  agent_id?: string | number | null;
}

/** Counts of background learning. */
export interface LearningStats {
  attempts?: number;
  insert_successes?: number;
  insert_failures?: number;
  early_returns_empty_message?: number;
  early_returns_disabled?: number;
  last_attempt_at?: string | null;
  last_success_at?: string | null;
  last_error?: string | null;
  worker?: boolean;
  mode: string;
}

/** The arguments of `get_all`. */
export interface ListMemoriesWithFiltersBody {
  user_id?: string | number | null;
  agent_id?: string | number | null;
  run_id?: string | number | null;
  limit?: number | null;
  offset?: number | null;
  page?: number | null;
  filters?: Record<string, unknown> | unknown[] | null;
  layers?: string | string[] | null;
  kind?: string | null;
  q?: string | null;
  status?: string | null;
  as_of?: string | null;
  show_expired?: boolean;
  counts?: boolean;
}

/** The process answers. */
export interface Liveness {
  status?: "ok";
}

/** How much of an export was restored, and how much already existed. */
export interface LoadResult {
  memories: number;
  events: number;
  deletions: number;
  waiting: number;
  already_there: number;
}

/** Login and password; `tenant_id` if it is not the tenant that runs the service. */
export interface LoginBody {
  login: string;
  password: string;
  tenant_id?: string | null;
}

/** Whether to end only this session or all sessions. */
export interface LogoutBody {
  everywhere?: boolean;
}

/** How many sessions were ended. */
export interface LogoutResult {
  sessions_ended: number;
}

/** Common fields of all forms of a memory. */
export interface MemoryFields {
  user_id: string | null;
  agent_id: string | null;
  run_id: string | null;
  id: string;
  metadata: Record<string, unknown>;
  layer: Layer;
  kind: Kind;
  key: string | null;
  status: Status;
  version: number;
  occurred_at: string;
  created_at: string;
  updated_at: string;
  expires_at: string | null;
  role?: string;
  actor?: string;
  shared_by?: string;
  order?: number;
  evidence?: Evidence;
  category?: string;
  doubt?: string;
  attachments?: AttachmentInfo[];
  visibility?: Visibility;
}

/** Ids of memories. */
export interface MemoryIdsBody {
  ids: string[];
  dry_run?: boolean;
}

/** One memory. */
export interface MemoryItem extends MemoryFields {
  memory: string;
  hash: string;
}

/** Memories, newest first; with `counts` also how many there are on all pages. */
export interface MemoryList {
  results: MemoryItem[];
  total?: number;
  by_kind?: Record<string, number>;
  limit?: number;
  offset?: number;
  page?: number;
}

/** A memory with its secrets masked, and why it is listed. */
export interface MemoryPreview extends MemoryFields {
  preview: string;
  why: string;
  score?: number;
}

/** The settings that apply. `retentionDays` is null if nothing is hidden because of its age. */
export interface MemorySettings {
  enabled: boolean;
  maxTokens: number;
  retentionDays: number | null;
  strategy: string;
  skillsEnabled: boolean;
  embeddingSource: string;
  embeddingProviderModel: string | null;
  transformersEnabled: boolean;
  staticEnabled: boolean;
  rerankEnabled: boolean;
  rerankProviderModel: string | null;
  vectorStore: string;
  primaryBackend: string;
  fallbackBackends: string[];
  backendConfigs: Record<string, Record<string, unknown>>;
  restartRequired: boolean;
}

/** The settings to change. Numbers are rounded and moved into their range; backends apply from the next start. */
export interface MemorySettingsBody {
  enabled?: boolean;
  maxTokens?: number;
  retentionDays?: number;
  strategy?: "recent" | "semantic" | "hybrid";
  skillsEnabled?: boolean;
  embeddingSource?: "auto" | "remote" | "static" | "transformers";
  embeddingProviderModel?: string | null;
  transformersEnabled?: boolean;
  staticEnabled?: boolean;
  rerankEnabled?: boolean;
  rerankProviderModel?: string | null;
  vectorStore?: "auto" | "sqlite-vec" | "qdrant";
  primaryBackend?: string;
  fallbackBackends?: string[];
  backendConfigs?: Record<string, Record<string, unknown>>;
}

/** How much of a memory an answer used. */
export interface MemoryUse {
  id: string;
  used: boolean;
  share: number;
}

/** The counts behind the rates. */
export interface MetricCounts {
  added: number;
  replaced: number;
  ended: number;
  redundant: number;
  injected: number;
  judged: number;
  used: number;
  useful: number;
  useless: number;
}

/** Metrics of a user, or of everybody; a rate is None while there is no data. */
export interface MetricsReport {
  user_id: string | null;
  memory_total_count: number;
  memory_replacement_rate: number | null;
  memory_dedup_rate: number | null;
  retrieval_hit_rate: number | null;
  counts: MetricCounts;
}

/** The models of all upstreams. */
export interface ModelList {
  object: "list";
  data: UpstreamModel[];
}

/** A model, if one is configured. */
export interface ModelPart {
  available: boolean;
  reason: string | null;
  model: string | null;
}

/** A model, if one is configured. */
export interface ModelStatus {
  available: boolean;
  reason: string | null;
  model: string | null;
}

/** The narrative of a user. */
export interface NarrativeItem {
  id: string;
  text: string;
  version: number;
  model: string | null;
  generated_at: string;
  token_count: number;
  stale: boolean;
}

/** A standing instruction, in the user's own words. */
export interface OverrideBody {
  text: string;
  user_id?: string | null;
}

/** All standing instructions. */
export interface OverridesBody {
  texts: string[];
  user_id?: string | null;
}

/** Your current password and the new one. */
export interface PasswordBody {
  current: string;
  new: string;
}

/** Whether a password was changed, and how many other sessions were ended. */
export interface PasswordResult {
  changed: boolean;
  sessions_ended: number;
}

/** Whom to pause memory for, and until when. */
export interface PauseBody {
  user_id?: string | null;
  agent_id?: string | null;
  run_id?: string | null;
  until?: string | null;
}

/** A pause, and when it ends. */
export interface PauseItem {
  user_id?: string | null;
  agent_id?: string;
  run_id?: string;
  until: string | null;
}

/** The current pauses. */
export interface PauseList {
  paused: PauseItem[];
}

/** The new pause. */
export interface PauseResult {
  paused: PauseItem;
}

/** The ids that a pause applies to. If there are several, it applies where all of them match. */
export interface PauseScope {
  user_id?: string | null;
  agent_id?: string;
  run_id?: string;
}

/** A memory that a search would find, and why. */
export interface PreviewHit extends MemoryItem {
  source?: string;
  facts?: CurrentFact[];
  superseded_by?: CurrentFact[];
  score: number;
  score_parts: ScoreBreakdown;
  tier: "hybrid" | "vector" | "keyword" | "recent";
  tokens: number;
  vec_score: number | null;
  fts_score: number | null;
  injected: boolean;
}

/** Memories with their secrets masked, and why each is listed. */
export interface PreviewList {
  results: MemoryPreview[];
  limit: number;
  more: boolean;
}

/** The arguments of `profile.preview_search`. */
export interface PreviewSearchBody {
  query: string;
  user_id?: string | number | null;
  agent_id?: string | number | null;
  run_id?: string | number | null;
  strategy?: string | null;
  limit?: number;
  max_tokens?: number | null;
  scope?: string | null;
}

/** How much was found, and how much of it fits. */
export interface PreviewTotals {
  found: number;
  shown: number;
  tokens: number;
  max_tokens: number;
}

/** A request that failed (RFC 9457). */
export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  code: string;
  hint?: string;
  retryable?: boolean;
  request_id?: string;
}

/** A fact of the profile. */
export interface ProfileFactItem {
  id: string;
  memory: string;
  about: string;
}

/** A standing instruction in the profile. */
export interface ProfileInstructionItem {
  id: string;
  memory: string;
}

/** What a model always sees about a user, most important first. */
export interface ProfileResult {
  instructions: ProfileInstructionItem[];
  facts: ProfileFactItem[];
  turns: ProfileTurnItem[];
  left_out: ReceiptOmission[];
  tokens: number;
  profile_tokens: number;
  complete: boolean;
}

/** A turn in the profile: the user's own words that no fact covers. */
export interface ProfileTurnItem {
  id: string;
  memory: string;
  date: string;
}

/** The settings to change. An empty `apiKey` removes the key; so does another host or port without a new key. */
export interface QdrantBody {
  enabled?: boolean;
  host?: string;
  port?: number;
  apiKey?: string;
  collection?: string;
  embeddingModel?: string;
}

/** How many points were deleted that the ledger does not know, or whose memories have expired or are too old. */
export interface QdrantCleanup {
  ok: boolean;
  status: "ok" | "error" | "not_configured" | "dry_run";
  reason?: string | null;
  deletedCount?: number;
  latencyMs?: number;
  error?: string | null;
}

/** With `dryRun`, the store stays as it is, and the answer says how many points would be deleted. */
export interface QdrantCleanupBody {
  dryRun?: boolean;
  retentionDays?: number | null;
}

/** Whether Qdrant answers, and how fast. */
export interface QdrantHealth {
  ok: boolean;
  status: "ok" | "error" | "not_configured";
  latencyMs?: number | null;
  error?: string | null;
}

/** An entry that was found, with the field names of the library. */
export interface QdrantHit {
  id: string;
  api_key_id: string;
  session_id: string;
  type: string;
  key: string;
  content: string;
  metadata: Record<string, unknown>;
  created_at: string;
  updated_at: string;
  expires_at: string | null;
  score: number;
}

/** The results of a test search. */
export interface QdrantHits {
  ok: boolean;
  status: "ok" | "not_configured";
  reason?: string | null;
  results: QdrantHit[];
}

/** A search to test the store. */
export interface QdrantSearchBody {
  query: string;
  topK?: number;
}

/** Where Qdrant is, and the last four characters of its key. */
export interface QdrantSettings {
  enabled: boolean;
  host: string;
  port: number;
  apiKey: string;
  hasApiKey: boolean;
  collection: string;
  embeddingModel: string;
  status: "active" | "restart_required" | "not_configured";
  reason: string | null;
  cleared?: string[];
}

/** How much waits to be learned from, and how much was given up. */
export interface QueueStats {
  pending: number;
  dead: number;
}

/** Whether requests can be answered, and if not, why. */
export interface Readiness {
  status: "ok" | "starting" | "unavailable";
  reason?: string | null;
}

/** An optional reason. */
export interface ReasonBody {
  reason?: string | null;
}

/** The scope to move, and the scope to move it to. */
export interface ReassignBody {
  from_scope: Record<string, unknown>;
  to_scope: Record<string, unknown>;
}

/** How much was moved to another scope, and the job that you can undo. */
export interface ReassignResult {
  job_id: string | null;
  moved: number;
  merged: number;
  signals: number;
  receipts: number;
}

/** A memory that was shown, and its number of tokens. */
export interface ReceiptChoice {
  id: string;
  layer: Layer;
  tokens: number;
  score: number | null;
  counts: boolean;
}

/** A memory that was considered but not shown, and why. */
export interface ReceiptOmission {
  id: string;
  reason: string;
}

/** How many secrets were masked, or would be masked. */
export interface RedactResult {
  dry_run: boolean;
  scanned: number;
  found: number;
  by_kind: Record<string, number>;
  by_table: Record<string, number>;
  degraded?: Degradation[];
}

/** The refresh token, which can be used only once. */
export interface RefreshBody {
  refresh_token: string;
}

/** How many vectors were built, and how many of them rebuilt. */
export interface RefreshResult extends ReindexResult {
  refreshed: number;
}

/** With `force`, existing vectors are rebuilt as well. */
export interface ReindexBody {
  force?: boolean;
}

/** How many vectors were built. */
export interface ReindexResult {
  signature: string;
  indexed: number;
  failed: number;
  dropped: number;
  sent: number;
}

/** Whether reindexing runs in the background now, and how many memories wait for a vector. */
export interface ReindexState {
  started: boolean;
  pending: number;
}

/** An optional reason for rejecting a memory. */
export interface RejectBody {
  reason?: string | null;
  dry_run?: boolean;
}

/** How two entities are related. */
export interface RelationItem {
  source: string;
  source_id: string;
  relation: string;
  target: string;
  target_id: string;
  confidence: number;
  valid_from: string;
  valid_to: string | null;
  memories: number;
}

/** Relations between entities, newest first. */
export interface RelationList {
  results: RelationItem[];
}

/** A memory that a language model wanted to end together with more than two others; nothing was changed. */
export interface RemovalProposal {
  id: string;
  memory: string;
  operation: string;
}

/** The arguments of `sharing.replace`. */
export interface ReplaceSharedMemoryForOneHolderBody {
  text: string;
  user_id?: string | number | null;
  agent_id?: string | number | null;
  run_id?: string | number | null;
  metadata?: Record<string, unknown> | null;
  reason?: string | null;
}

/** The arguments of `identity.set_overrides`. */
export interface ReplaceStandingInstructionsBody {
  texts: string[];
  user_id: string | number;
}

/** Which memory replaced which for a user. */
export interface ReplacementItem {
  user_id: string | null;
  agent_id: string | null;
  run_id: string | null;
  id: string;
  event: Event;
  old_id: string;
  new_id: string | null;
  old_version: number | null;
  new_version: number | null;
  old_memory: string | null;
  new_memory: string | null;
  reason: string | null;
  created_at: string;
}

/** Which memories replaced which, newest first. */
export interface ReplacementList {
  results: ReplacementItem[];
}

/** One request, without its content. */
export interface RequestItem {
  at: string;
  key_id: string;
  method: string;
  route: string;
  status: number;
  ms: number;
  request_id: string;
}

/** The last requests of this tenant's keys, newest first. */
export interface RequestList {
  results: RequestItem[];
}

/** Everything was removed; with `dry_run`, counts of what exists. */
export interface ResetResult {
  status: "reset" | "cleared" | "dry_run";
  dry_run?: true;
  would_delete?: StoreStats;
}

/** A restored memory. */
export interface RestoreResult extends UndoItem {
  degraded?: Degradation[];
}

/** The pause that has ended; None if there was none. */
export interface ResumeResult {
  resumed: PauseScope | null;
  dry_run?: true;
}

/** What to undo: everything by a source, or since a time. `dry_run` only shows it. */
export interface RollbackBody {
  user_id?: string | null;
  agent_id?: string | null;
  run_id?: string | null;
  source?: string | null;
  since?: string | null;
  dry_run?: boolean;
  everybody?: boolean | null;
}

/** A change that was not undone, and why. */
export interface RollbackConflict {
  event_id: string;
  event: Event;
  memory_id: string;
  message: string;
  hint: string;
}

/** What was undone, or would be. */
export interface RollbackResult {
  dry_run: boolean;
  undone: number;
  memories: number;
  by_event: Record<string, number>;
  conflicts: RollbackConflict[];
  skipped: number;
  job_id?: string;
  degraded?: Degradation[];
}

/** The user, agent or run that a call is about. */
export interface ScopeBody {
  user_id?: string | null;
  agent_id?: string | null;
  run_id?: string | null;
}

/** A user, agent or run, and how many memories it has. */
export interface ScopeCount {
  id: string;
  memories: number;
  last_at: string;
}

/** Users, agents or runs, the largest first. */
export interface ScopeList {
  kind: "user" | "agent" | "run";
  results: ScopeCount[];
}

/** The parts of a score; a channel that found nothing is left out. */
export interface ScoreBreakdown {
  semantic?: number;
  keyword?: number;
  words?: number;
  speaker?: number;
  asking?: number;
  entity?: number;
  time?: number;
  rrf?: number;
  salience?: number;
  decay?: number;
  rerank?: number;
}

/** A query, and where to search. */
export interface SearchBody {
  user_id?: string | null;
  agent_id?: string | null;
  run_id?: string | null;
  query: string;
  limit?: number;
  filters?: Record<string, unknown> | unknown[] | null;
  min_score?: number | null;
  layers?: string | string[] | null;
  as_of?: string | null;
  strategy?: "hybrid" | "semantic" | "exact" | "recent" | "vector" | "text" | null;
  explain?: boolean;
  show_expired?: boolean;
  scope?: "session" | "owner" | "apiKey" | "global" | null;
  project_id?: string | null;
}

/** A memory that a search found. */
export interface SearchHit extends MemoryItem {
  source?: string;
  facts?: CurrentFact[];
  superseded_by?: CurrentFact[];
  score: number;
  score_parts?: ScoreBreakdown;
}

/** What a search would find, best first, as far as it fits. Nothing counts as used. */
export interface SearchPreview {
  items: PreviewHit[];
  block: string;
  resolution: SearchResolution;
  totals: PreviewTotals;
}

/** How a search was carried out. */
export interface SearchResolution {
  strategy: "hybrid" | "semantic" | "exact" | "recent" | "vector" | "text";
  embedding: string | null;
  vectors: boolean;
  rerank: boolean;
  degraded: Degradation[];
  fallback_reason: string | null;
}

/** What a search found, best first. */
export interface SearchResults {
  results: SearchHit[];
  degraded?: Degradation[];
}

/** How the service is configured, without secrets. */
export interface ServiceConfiguration {
  configuration: Record<string, unknown>;
}

/** The result for one session; an id is empty if there is none. */
export interface SessionEnd {
  user_id: string | null;
  agent_id: string;
  run_id: string;
  distillation: string;
  episode_id?: number;
}

/** The result for every session that was waiting. */
export interface SessionEndList {
  results: SessionEnd[];
}

/** The result of storing a whole conversation and learning from it. */
export interface SessionResult {
  status: "ok" | "pending" | "failed" | "disabled" | "paused";
  turns_ingested: number;
  distillation: string;
  episode_id?: number;
  warnings?: string[];
  reason?: string;
}

/** Names of settings and their values. */
export interface SettingsBody {
  values: Record<string, unknown>;
}

/** Whose settings were changed, and the new values. */
export interface SettingsChange {
  scope: string;
  set: Record<string, unknown>;
}

/** Whose settings were removed, and how many. */
export interface SettingsRemoval {
  scope: string;
  unset: number;
  dry_run?: true;
}

/** The settings that apply, and where each value comes from. */
export interface SettingsReport {
  settings: Record<string, unknown>;
  sources: Record<string, string>;
  preset: "facts" | "gateway" | "companion" | "shared";
  effective?: Record<string, unknown>;
}

/** Whom to share a memory with. */
export interface ShareBody {
  user_id?: string | null;
  agent_id?: string | null;
  run_id?: string | null;
  reason?: string | null;
}

/** Who has a memory after it was shared or unshared. */
export interface ShareResult {
  user_id: string | null;
  agent_id: string | null;
  run_id: string | null;
  id: string;
  event: "LINK" | "UNLINK" | "DELETE" | "NONE";
  reason?: string;
  dry_run?: true;
}

/** The arguments of `admin.summarize`. */
export interface ShortenMemoriesBody {
  user_id?: string | number | null;
  agent_id?: string | number | null;
  run_id?: string | number | null;
  max_tokens?: number;
  older_than_days?: number | null;
  dry_run?: boolean;
}

/** Whether and how a memory may be seen. */
export type Status = "active" | "disabled" | "superseded" | "evicted" | "quarantined" | "deleted";

/** The new status of a memory. */
export interface StatusResult {
  id: string;
  event: "DISABLE" | "ENABLE" | "DELETE" | "NONE";
  status: Status;
  version?: number;
  dry_run?: true;
}

/** The state of a store; fields after the first four depend on the database. */
export interface StoreCheck {
  location: string;
  schema: number;
  latest_schema: number;
  bytes: number;
  encryption: EncryptionStatus;
  sqlite?: string;
  journal?: string;
  integrity?: string[];
  foreign_keys?: number;
  postgresql?: string;
  pgvector?: string | null;
  role?: string;
  acts_as?: string;
  walled?: boolean;
}

/** The arguments of `vectors.insert`. */
export interface StoreNewVectorsBody {
  vectors: (Record<string, unknown>)[];
  user_id?: string | number | null;
}

/** The arguments of `vectors.upsert`. */
export interface StoreOrReplaceVectorsBody {
  vectors: (Record<string, unknown>)[];
  user_id?: string | number | null;
}

/** The arguments of `sessions.ingest`. */
export interface StoreSessionBody {
  turns: string | Record<string, unknown> | (string | Record<string, unknown>)[];
  user_id?: string | number | null;
  agent_id?: string | number | null;
  run_id?: string | number | null;
  occurred_at?: string | null;
  metadata?: Record<string, unknown> | null;
  skip_extraction?: boolean;
}

/** Counts of everything in the store. */
export interface StoreStats {
  memories: number;
  turns: number;
  events: number;
  fulltext: number;
  vectors: number;
  pending: number;
  dead: number;
  indexes: VectorSpace[];
  embedding_cache?: CacheStats;
  formation: LearningStats;
}

/** The request was carried out. */
export interface SuccessFlag {
  success?: true;
}

/** How much of a scope was shortened, or would be shortened. */
export interface SummaryResult {
  originalCount: number;
  summarizedCount: number;
  tokensSaved: number;
  job_id?: string;
}

/** The arguments of `vectors.unlink`. */
export interface TakeVectorAwayFromUserBody {
  vector_id: string;
  user_id?: string | number | null;
  reason?: string | null;
  dry_run?: boolean;
}

/** When the key for tokens changed, and whether older tokens stay valid until they expire. */
export interface TokenKeyRotation {
  rotated_at: string;
  grace: boolean;
}

/** What was said, in order. */
export interface TranscriptPage {
  results: TranscriptTurn[];
  total: number;
}

/** One turn of a transcript. */
export interface TranscriptTurn {
  user_id: string | null;
  agent_id: string | null;
  run_id: string | null;
  id: string;
  index: number;
  role: string | null;
  content: string;
  token_count: number;
  occurred_at: string;
}

/** A message of the user, and the answer. */
export interface TurnPair {
  user: string;
  assistant: string;
  date?: string | null;
}

/** The change to undo, or a job whose changes to undo. */
export interface UndoBody {
  event_id?: string | null;
  job_id?: string | null;
}

/** A memory that was restored, or whose change was undone. */
export interface UndoItem {
  id: string;
  event: Event;
  memory: string | null;
  status: Status;
  event_id: string;
  undoes: string | null;
}

/** What was undone. */
export interface UndoResult {
  undone: number;
  results: UndoItem[];
  job_id?: string;
  degraded?: Degradation[];
}

/** Whom to take a memory away from. */
export interface UnshareBody {
  user_id?: string | null;
  agent_id?: string | null;
  run_id?: string | null;
  reason?: string | null;
  dry_run?: boolean;
}

/** Up to 1,000 changes at once. */
export interface UpdateBatchBody {
  items: (Record<string, unknown>)[];
}

/** The result of each change of a batch, in order. */
export interface UpdateBatchResult {
  replayed?: true;
  results: (UpdateResult | BatchError | ErasureMark)[];
}

/** The fields to change. */
export interface UpdateBody {
  text?: string | null;
  metadata?: Record<string, unknown> | null;
  kind?: "factual" | "episodic" | "procedural" | "semantic" | null;
  key?: string | null;
  expires_at?: string | null;
  occurred_at?: string | null;
}

/** The changed memory. */
export interface UpdateResult extends MemoryItem {
  event?: "UPDATE" | "REPLACE";
  old_id?: string;
  warnings?: string[];
}

/** A model of an upstream, as the upstream describes it; `id` is its name here. */
export interface UpstreamModel {
  id: string;
}

/** The purpose of the memory, in plain words. */
export interface UseCaseBody {
  use_case: string;
}

/** Which of the shown memories an answer used. */
export interface UseReport {
  receipt_id: string;
  used: string[];
  unused: string[];
  results: MemoryUse[];
}

/** A vector under an id that the caller chooses. */
export interface VectorBody {
  id: string;
  values: number[];
  metadata?: Record<string, unknown> | null;
}

/** How many vectors a call affected, and their ids. */
export interface VectorCount {
  count: number;
  ids: string[];
  warnings?: string[];
  status?: "paused" | "disabled";
  reason?: string;
  dry_run?: true;
}

/** Ids of vectors to delete. */
export interface VectorDeleteBody {
  ids: string[];
  dryRun?: boolean;
}

/** Ids of vectors. */
export interface VectorIdsBody {
  ids: string[];
}

/** A vector as the caller stored it. */
export interface VectorItem {
  id: string;
  values: number[] | null;
  metadata: Record<string, unknown>;
}

/** The vectors that exist. */
export interface VectorList {
  vectors: VectorItem[];
}

/** A similar vector; `score` is 1 minus the cosine distance. */
export interface VectorMatch {
  id: string;
  score: number;
  values?: number[];
  metadata?: Record<string, unknown>;
}

/** The most similar vectors, best first. */
export interface VectorMatches {
  matches: VectorMatch[];
}

/** The vector store. */
export interface VectorPart {
  available: boolean;
  reason: string | null;
  backend: "local" | "external";
  pending: number;
  signature?: string;
  active_signature?: string | null;
  needs_reindex?: boolean;
  lag?: number;
}

/** A vector, to find the most similar ones. */
export interface VectorQueryBody {
  vector: number[];
  topK?: number;
  returnValues?: boolean;
  returnMetadata?: boolean;
  userId?: string | null;
}

/** A vector space: its signature, state and dimension. */
export interface VectorSpace {
  signature: string;
  state: string;
  dim: number;
  quant: string | null;
}

/** Where vectors are, how many memories wait for one, and whether they are those of the current embedder. */
export interface VectorStoreStatus {
  available: boolean;
  reason: string | null;
  backend: string;
  pending: number;
  signature?: string | null;
  activeSignature?: string | null;
  needsReindex?: boolean | null;
  lag?: number | null;
}

/** What happened to a vector that was taken away from a user. */
export interface VectorUnlink {
  id: string;
  event: "UNLINK" | "DELETE";
  reason: string;
  user_id: string | null;
  dry_run?: true;
}

/** Whom to take a vector away from, and why. */
export interface VectorUnlinkBody {
  userId?: string | null;
  vectorId: string;
  reason?: string | null;
  dryRun?: boolean;
}

/** Vectors of one dimension, for a user. */
export interface VectorsBody {
  vectors: VectorBody[];
  userId?: string | null;
}

/** The version to restore; by default the last one. */
export interface VersionBody {
  version?: number | null;
}

/** A version of a memory without its text; fields with their usual value are left out. */
export interface VersionState {
  kind?: string;
  layer?: string;
  key?: string | null;
  status?: string;
  version?: number;
  metadata?: Record<string, unknown>;
  occurred_at?: string;
  expires_at?: string | null;
}

/** Whether models see a memory: as usual, always, not in the profile, or never. */
export type Visibility = "default" | "pinned" | "hidden" | "private";

/** Whether models see a memory. */
export interface VisibilityBody {
  visibility: "default" | "pinned" | "hidden" | "private";
}

/** Whether models see a memory, as set by a person. */
export interface VisibilityResult {
  id: string;
  event: "UPDATE" | "NONE";
  visibility: Visibility;
  version?: number;
}

/** Statistics of all background work, and by task. */
export interface WorkStats extends JobStats {
  by_task: Record<string, JobStats>;
}

/** The arguments of `identity.set_narrative`. */
export interface WriteNarrativeOfUserBody {
  text: string | null;
  user_id: string | number;
}
