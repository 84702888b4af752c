// Written by scripts/typescript_client.py; do not edit.

/** Somebody who may log in. */
export interface AccountBody {
  login: string;
  password: string;
  name?: string;
  role?: "viewer" | "editor" | "admin";
  user_id?: string | null;
  agent_id?: string | null;
}

/** What shall be different; '' takes a name or a bound away, and what is not named stays. */
export interface AccountChangeBody {
  login?: string | null;
  name?: string | null;
  role?: "viewer" | "editor" | "admin" | null;
  password?: string | null;
  user_id?: string | null;
  agent_id?: string | null;
  disabled?: boolean | null;
}

/** An account of somebody who may log in. */
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

/** An account that was removed. */
export interface AccountRemoval {
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
  removed: true;
  dry_run?: true;
}

/** A token to ask with, and one to get the next one with. */
export interface AccountTokens {
  access_token: string;
  token_type: string;
  expires_in: number;
  refresh_token: string;
  refresh_expires_at: string;
  account: AccountItem;
}

/** Up to 1,000 calls at once. */
export interface AddBatchBody {
  items: (Record<string, unknown>)[];
}

/** What became of each call of a batch, in their order. */
export interface AddBatchResult {
  replayed?: true;
  results: AddResult[];
}

/** What was said, and how to take it. */
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

/** What became of one statement. */
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
  status?: "active" | "disabled" | "superseded" | "evicted" | "quarantined" | "deleted";
  erased?: true;
}

/** What became of everything that was said. */
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

/** What `admin.accounts.rotate_token_key` takes. */
export interface AdminAccountsRotateTokenKeyForm {
  grace?: boolean;
}

/** What `admin.consolidate` takes. */
export interface AdminConsolidateForm {
  user_id?: string | number | null;
  agent_id?: string | number | null;
  run_id?: string | number | null;
  everybody?: boolean;
  dry_run?: boolean;
}

/** What `admin.erase` takes. */
export interface AdminEraseForm {
  user_id?: string | number | null;
  agent_id?: string | number | null;
  run_id?: string | number | null;
  memory_id?: string | null;
  dry_run?: boolean;
}

/** What `admin.redact` takes. */
export interface AdminRedactForm {
  dry_run?: boolean;
}

/** What `admin.summarize` takes. */
export interface AdminSummarizeForm {
  user_id?: string | number | null;
  agent_id?: string | number | null;
  run_id?: string | number | null;
  max_tokens?: number;
  older_than_days?: number | null;
  dry_run?: boolean;
}

/** An agent; without an id it gets one. */
export interface AgentBody {
  name?: string | null;
  model?: string | null;
  system_prompt?: string | null;
  settings?: Record<string, unknown> | null;
  id?: string | null;
}

/** What to keep of an agent; what is not given stays as it is. */
export interface AgentChangeBody {
  name?: string | null;
  model?: string | null;
  system_prompt?: string | null;
  settings?: Record<string, unknown> | null;
}

/** An agent that was deleted, and how many memories went with it. */
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

/** The agents there are. */
export interface AgentList {
  agents: AgentItem[];
  total: number;
}

/** What a model answered to a prompt with a context. */
export interface AnswerBody {
  receipt_id: string;
  answer: string;
}

/** Something in a message that is not words. */
export interface AttachmentInfo {
  type?: string;
  name?: string;
  media_type?: string;
  url?: string;
}

/** What became of one conversation of a backfill. */
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

/** What became of conversations, in their order. */
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

/** What became of a backup. Where it lies only the operator learns. */
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

/** A backup that was written. */
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

/** An item of a batch that could not be carried out, and why. */
export interface BatchError {
  event: "ERROR";
  error: ErrorInfo;
}

/** Where one line of a block comes from. */
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

/** Who the service takes the caller for; `account` is there for people, not for keys. */
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

/** An act that cannot be taken back: `confirm` is the name of the tenant. A `dry_run` needs none. */
export interface ConfirmBody {
  confirm?: string;
  dry_run?: boolean;
}

/** Work that goes on in this process, or has ended. */
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

/** Work that this process does or has done, newest first. */
export interface ConsoleJobList {
  results: ConsoleJob[];
}

/** What to look for; nothing is everything, newest first. */
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

/** Whose memory is tidied up; everybody's when nobody is named. */
export interface ConsolidateBody {
  user_id?: string | null;
  agent_id?: string | null;
  run_id?: string | null;
  dry_run?: boolean;
}

/** How a consolidation ended, and what it changed. */
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

/** What to put into a prompt: a `ContextPack` as JSON. */
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

/** The message a model is about to answer. */
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

/** What a model would be shown, redacted. */
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

/** The record of one block. It names memories by their ids and never holds their text. */
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

/** A whole conversation; `session_date` is when turns without a date of their own were said. */
export interface ConversationBody {
  agent_id: string;
  conversation_id: string;
  turns: TurnPair[];
  session_date?: string | null;
  skip_extraction?: boolean;
  user_id?: string | null;
}

/** What became of a conversation; `distillation` says whether an episode came of it, or why not. */
export interface ConversationResult {
  status: "ok" | "pending" | "failed" | "disabled" | "paused";
  turns_ingested: number;
  distillation: string;
  episode_id: number | null;
  warnings?: string[];
  reason?: string;
}

/** The fact that holds in place of what was said once. */
export interface CurrentFact {
  id: string;
  memory: string | null;
}

/** What a management view begins with: the layers of a scope, or the work of the whole tenant. */
export interface DashboardResult {
  identity?: IdentityResult | null;
  facts?: PinnedFact[];
  episodes?: EpisodeItem[];
  counts: Record<string, number>;
  last_consolidation: LastConsolidation | null;
  processing?: WorkStats;
  waiting?: QueueStats;
  agents?: AgentItem[];
}

/** A statement that waits, and why. */
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

/** A step that could not be used for an answer, and why; the answer was made without it. */
export interface Degradation {
  step?: string;
  channel?: string;
  code: string;
  message: string;
  hint?: string;
  retryable?: boolean;
  reason?: string | null;
}

/** What `delete_all` takes. */
export interface DeleteAllForm {
  user_id?: string | number | null;
  agent_id?: string | number | null;
  run_id?: string | number | null;
  filters?: Record<string, unknown> | unknown[] | null;
  dry_run?: boolean;
  confirm?: string | null;
}

/** How many memories were deleted, or with `dry_run` would be. */
export interface DeleteAllResult {
  deleted: number;
  dry_run?: true;
}

/** What became of each memory, in their order. */
export interface DeleteBatchResult {
  replayed?: true;
  results: DeleteItem[];
  dry_run?: true;
}

/** What became of one memory that was to be deleted. */
export interface DeleteItem {
  id: string;
  event: "DELETE" | "ERROR";
  error?: ErrorInfo;
  erased?: true;
}

/** A memory that was deleted, or with `dry_run` would be. */
export interface DeleteResult {
  id: string;
  event: "DELETE";
  dry_run?: true;
}

/** One line of an identity that was derived from a fact. */
export interface DerivedItem {
  id: string;
  text: string;
  token_count: number;
  created_at: string;
  fact: string | null;
}

/** A fact that a model wrote and that was not stored. */
export interface DroppedFact {
  text: string;
  reason: string;
}

/** Whether to look first: with `dry_run` nothing is deleted. */
export interface DryRunBody {
  dry_run?: boolean;
}

/** How often the vector of a text was at hand. */
export interface EmbeddingCacheStatus {
  size: number;
  maxSize: number;
  hits: number;
  misses: number;
}

/** A model that is known by name. */
export interface EmbeddingModel {
  id: string;
  provider: string;
  model: string;
  dimension: number;
}

/** Models whose vectors Qdrant could hold. */
export interface EmbeddingModels {
  models: EmbeddingModel[];
}

/** The model that turns text into vectors. */
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

/** Somebody who turns text into vectors. */
export interface EmbeddingProvider {
  id: string;
  available: boolean;
  active: boolean;
  local: boolean;
  reason: string | null;
  models: EmbeddingModel[];
}

/** Everybody who does. */
export interface EmbeddingProviders {
  providers: EmbeddingProvider[];
}

/** What turns text into vectors; `destination` is where texts are sent, `error` what is wrong, in a word. */
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

/** What is encrypted on disk; the fields after the first two are there if `store.encryption_key` is set. */
export interface EncryptionStatus {
  state: "encrypted" | "plain" | "memory" | "server";
  files: boolean;
  cipher?: string;
  key_place?: string;
  key?: string | null;
  former_keys?: number;
  rotation_due?: boolean;
}

/** What the engine is made of. */
export interface EngineInfo {
  keyword: KeywordPart;
  embedding: EmbeddingPart;
  vector_store: VectorPart;
  graph_store: GraphPart;
  rerank: ModelPart;
  llm: ModelPart;
}

/** What the engine is made of. */
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

/** Whose entities, and which of them. */
export interface EntityBody {
  user_id?: string | null;
  agent_id?: string | null;
  run_id?: string | null;
  limit?: number | null;
  offset?: number | null;
}

/** Somebody or something that memories mention. */
export interface EntityItem {
  id: string;
  name: string;
  type: string;
  description: string | null;
  mentions: number;
  updated_at: string;
}

/** Whom and what memories mention, most often mentioned first. */
export interface EntityList {
  results: EntityItem[];
}

/** One entry. `apiKeyId` is its owner: the id of a key, or of the user that a key stands for. */
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

/** An entry under a key; the same key again is the same entry with other words. */
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

/** How often the vector of a text was at hand, and how often it had to be made. */
export interface EntryCacheStats {
  hits: number;
  misses: number;
}

/** The entry as it is now. */
export interface EntryChange {
  success?: true;
  memory: Entry;
}

/** What is different from now on; at least one of them. */
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

/** A page, the last created first. */
export interface EntryPage {
  data: Entry[];
  total: number;
  page: number;
  limit: number;
  totalPages: number;
  stats: EntryStats;
}

/** What would be shown, best first. Nothing of it counts as used. */
export interface EntryPreview {
  items: EntryPreviewHit[];
  block: string;
  resolution: EntryResolution;
  totals: EntryPreviewTotals;
}

/** What to look for, and how much of it would be shown. */
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

/** A hit, with what speaks for it. */
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

/** How it was looked for in the end. */
export interface EntryResolution {
  strategy: string;
  embedding: string | null;
  vectors: boolean;
  rerank: boolean;
  fallbackReason: string | null;
  degraded: EntryDegradation[];
}

/** Whether an entry can be created, listed and deleted; it was, and nothing of it is left. */
export interface EntrySelfTest {
  working: boolean;
  latencyMs: number;
  error?: string | null;
}

/** About all that match, on whichever page; `hitRate` is null until an answer was recorded. */
export interface EntryStats {
  total: number;
  byType: Record<string, number>;
  tokensUsed: number;
  hitRate: number | null;
  cacheStats: EntryCacheStats;
}

/** What was shortened, or would be. */
export interface EntrySummary {
  originalCount: number;
  summarizedCount: number;
  tokensSaved: number;
  dryRun: boolean;
  jobIds: string[];
}

/** What is older is shortened; of one owner, or of everybody. */
export interface EntrySummaryBody {
  olderThanDays?: number;
  apiKeyId?: string | null;
  dryRun?: boolean;
}

/** The digest of one session. */
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
  status: "active" | "disabled" | "superseded" | "evicted" | "quarantined" | "deleted";
  occurred_at: string;
  created_at: string;
  updated_at: string;
}

/** The digests of sessions, newest first. */
export interface EpisodeList {
  results: EpisodeItem[];
}

/** What is removed for good. `confirm` repeats the id that is named (of several, the first). */
export interface EraseBody {
  user_id?: string | null;
  agent_id?: string | null;
  run_id?: string | null;
  memory_id?: string | null;
  confirm?: string;
  dry_run?: boolean;
}

/** One check that was made after an erasure. */
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

/** What is left in the answer to a batch of a memory that was erased since. */
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

/** What was removed for good, sealed by the store. */
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

/** Whom or what an erasure is about. */
export interface ErasureSubject {
  user_id?: string;
  agent_id?: string;
  run_id?: string;
  memory_id?: string;
}

/** Whether a report is what this store wrote, and whether anything from before it has come back. */
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

/** What happened, oldest first. */
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

/** One event of the feed. */
export interface FeedEvent {
  user_id: string | null;
  agent_id: string | null;
  run_id: string | null;
  id: string;
  memory_id: string;
  event: "ADD" | "UPDATE" | "DELETE" | "REPLACE" | "LINK" | "UNLINK" | "DISABLE" | "ENABLE" | "MERGE" | "PROMOTE" | "EVICT" | "SUMMARIZE" | "FEEDBACK" | "REDACT";
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
  seq: number;
  job_id: string | null;
  undoes: string | null;
}

/** Whether a memory, or what a receipt names, was of use. */
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

/** How much was formed, and how much still waits. */
export interface FlushResult {
  stored: number;
  waiting: number;
}

/** How memory is formed. */
export interface FormationStats {
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

/** The part of the memory that was chosen for a message, and why. */
export interface GateReason {
  route: "none" | "recall" | "identity" | "pinned" | "episode" | "transcript";
  reason: string;
}

/** The part of the memory that was chosen for a message, why, and by which words. */
export interface GateResult {
  route: "none" | "recall" | "identity" | "pinned" | "episode" | "transcript";
  reason: string;
  matched: string;
  asks_memory: boolean;
}

/** What `get_all` takes. */
export interface GetAllForm {
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

/** What `graph.check` takes. */
export interface GraphCheckForm {
  repair?: boolean;
}

/** How much a graph holds. */
export interface GraphFigures {
  entities: number;
  mentions: number;
  relations: number;
}

/** Where entities and relations are: in the ledger alone (`local`), or in a graph database as well. */
export interface GraphPart {
  available: boolean;
  reason: string | null;
  backend: "local" | "external";
  pending: number;
}

/** How the graph database compares with the ledger. */
export interface GraphReport {
  backend: "local" | "external";
  agrees: boolean;
  pending: number;
  ledger: GraphFigures;
  mirror: GraphFigures | null;
  repaired: "filled" | "rebuilt" | null;
  named: number;
}

/** Where entities and relations are, and how many changes a graph database has not seen yet. */
export interface GraphStoreStatus {
  available: boolean;
  reason: string | null;
  backend: string;
  pending: number;
}

/** Whether something could be stored and found again. */
export interface HealthProbe {
  ok: boolean;
  failed_at: string | null;
  error: ErrorInfo | null;
}

/** Whether memory works, and if not, where it fails. */
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

/** One thing that happened to a memory. */
export interface HistoryEvent {
  user_id: string | null;
  agent_id: string | null;
  run_id: string | null;
  id: string;
  memory_id: string;
  event: "ADD" | "UPDATE" | "DELETE" | "REPLACE" | "LINK" | "UNLINK" | "DISABLE" | "ENABLE" | "MERGE" | "PROMOTE" | "EVICT" | "SUMMARIZE" | "FEEDBACK" | "REDACT";
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

/** Everything that happened to a memory, oldest first. */
export interface HistoryList {
  results: HistoryEvent[];
}

/** What `identity.add_override` takes. */
export interface IdentityAddOverrideForm {
  text: string;
  user_id: string | number;
}

/** One thing that is always shown of a user. */
export interface IdentityItem {
  id: string;
  text: string;
  token_count: number;
  created_at: string;
}

/** Who a user is: what they wrote themselves, what was derived, and the text made of it. */
export interface IdentityResult {
  user_id: string | null;
  overrides: IdentityItem[];
  derived: DerivedItem[];
  narrative: NarrativeItem | null;
  warnings?: string[];
  dry_run?: true;
}

/** What `identity.set_narrative` takes. */
export interface IdentitySetNarrativeForm {
  text: string | null;
  user_id: string | number;
}

/** What `identity.set_overrides` takes. */
export interface IdentitySetOverridesForm {
  texts: string[];
  user_id: string | number;
}

/** Which ones. */
export interface IdsBody {
  ids: string[];
  dry_run?: boolean;
}

/** What became of the export of another system. */
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

/** What was said, turn by turn. */
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

/** What became of the turns of a transcript. */
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

/** One piece of background work; an id is empty where it was for nobody in particular. */
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

/** Background work that was done, newest first. */
export interface JobList {
  results: JobItem[];
}

/** How often background work was done, with what success, and how long it took. */
export interface JobStats {
  calls: number;
  success_rate: number | null;
  average_ms: number | null;
  input_tokens: number;
  output_tokens: number;
  cost: number | null;
}

/** What a new key is for. */
export interface KeyBody {
  name?: string;
  verbs?: ("read" | "write" | "admin")[];
  user_id?: string | null;
  agent_id?: string | null;
  may_assert_user?: boolean;
  expires_at?: string | null;
}

/** What shall be different about a key; what is left out stays as it is. */
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

/** Whose key it is, and what it may do. */
export interface KeyRights {
  tenant_id: string;
  user_id: string | null;
  agent_id: string | null;
  may_assert_user: boolean;
  verbs: ("read" | "write" | "admin")[];
}

/** An API key with its secret, which is shown this once. */
export interface KeySecret {
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
  key: string;
}

/** The search by words. */
export interface KeywordPart {
  available: boolean;
  reason: string | null;
  backend: string;
}

/** The search by words. */
export interface KeywordStatus {
  available: boolean;
  reason: string | null;
  backend: string;
}

/** When memory was consolidated last, and how that ended. */
export interface LastConsolidation {
  at: string;
  status: "success" | "skipped" | "empty" | "error" | "dead_letter";
}

/** The process answers. */
export interface Liveness {
  status?: "ok";
}

/** How much of an export was put back, and how much was there already. */
export interface LoadResult {
  memories: number;
  events: number;
  deletions: number;
  waiting: number;
  already_there: number;
}

/** Who logs in, and to which tenant: the one that runs the service, if none is named. */
export interface LoginBody {
  login: string;
  password: string;
  tenant_id?: string | null;
}

/** Only here, or everywhere. */
export interface LogoutBody {
  everywhere?: boolean;
}

/** How many sessions were ended. */
export interface LogoutResult {
  sessions_ended: number;
}

/** One memory. */
export interface MemoryItem {
  user_id: string | null;
  agent_id: string | null;
  run_id: string | null;
  id: string;
  metadata: Record<string, unknown>;
  layer: "identity" | "fact" | "episode" | "turn";
  kind: "factual" | "episodic" | "procedural" | "semantic" | "override" | "derived" | "narrative";
  key: string | null;
  status: "active" | "disabled" | "superseded" | "evicted" | "quarantined" | "deleted";
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
  visibility?: "default" | "pinned" | "hidden" | "private";
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

/** A memory without secrets, and why it is listed. */
export interface MemoryPreview {
  user_id: string | null;
  agent_id: string | null;
  run_id: string | null;
  id: string;
  metadata: Record<string, unknown>;
  layer: "identity" | "fact" | "episode" | "turn";
  kind: "factual" | "episodic" | "procedural" | "semantic" | "override" | "derived" | "narrative";
  key: string | null;
  status: "active" | "disabled" | "superseded" | "evicted" | "quarantined" | "deleted";
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
  visibility?: "default" | "pinned" | "hidden" | "private";
  preview: string;
  why: string;
  score?: number;
}

/** What holds, in normal form. `retentionDays` is null where nothing is hidden by its age. */
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

/** Any of them. Numbers are rounded and moved into their range; the backends hold from the next start. */
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

/** How much of a memory an answer told. */
export interface MemoryUse {
  id: string;
  used: boolean;
  share: number;
}

/** The counts that rates are made of. */
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

/** Figures of a user, or of everybody; a rate is None as long as there is nothing to compute it from. */
export interface MetricsReport {
  user_id: string | null;
  memory_total_count: number;
  memory_replacement_rate: number | null;
  memory_dedup_rate: number | null;
  retrieval_hit_rate: number | null;
  counts: MetricCounts;
}

/** The models of every upstream. */
export interface ModelList {
  object: "list";
  data: UpstreamModel[];
}

/** A model, if there is one. */
export interface ModelPart {
  available: boolean;
  reason: string | null;
  model: string | null;
}

/** A model, if there is one. */
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

/** Something to keep in mind for good, in the user's own words. */
export interface OverrideBody {
  text: string;
  user_id?: string | null;
}

/** All that is to be kept in mind. */
export interface OverridesBody {
  texts: string[];
  user_id?: string | null;
}

/** One's own password, and the one that shall be it. */
export interface PasswordBody {
  current: string;
  new: string;
}

/** Whether a password was changed, and how many other sessions were ended. */
export interface PasswordResult {
  changed: boolean;
  sessions_ended: number;
}

/** For whom memory stands still, and until when. */
export interface PauseBody {
  user_id?: string | null;
  agent_id?: string | null;
  run_id?: string | null;
  until?: string | null;
}

/** A pause, and until when it holds. */
export interface PauseItem {
  user_id?: string | null;
  agent_id?: string;
  run_id?: string;
  until: string | null;
}

/** The pauses that hold. */
export interface PauseList {
  paused: PauseItem[];
}

/** The pause that holds from now on. */
export interface PauseResult {
  paused: PauseItem;
}

/** Who is paused where they are together; who is not named does not matter. */
export interface PauseScope {
  user_id?: string | null;
  agent_id?: string;
  run_id?: string;
}

/** A fact as a companion sees it. */
export interface PinnedFact {
  id: string;
  content: string;
  salience: number;
  effective_salience: number;
  source_count: number;
  source_episode_id: string | null;
  last_used: string | null;
  use_count: number;
  status: "active" | "disabled" | "superseded" | "evicted" | "quarantined" | "deleted";
  tags: string[];
  user_id: string | null;
  agent_id: string | null;
  occurred_at: string;
  created_at: string;
}

/** Facts, the weightiest first. */
export interface PinnedFactList {
  results: PinnedFact[];
}

/** A memory that a search would find, with what speaks for it. */
export interface PreviewHit {
  user_id: string | null;
  agent_id: string | null;
  run_id: string | null;
  id: string;
  metadata: Record<string, unknown>;
  layer: "identity" | "fact" | "episode" | "turn";
  kind: "factual" | "episodic" | "procedural" | "semantic" | "override" | "derived" | "narrative";
  key: string | null;
  status: "active" | "disabled" | "superseded" | "evicted" | "quarantined" | "deleted";
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
  visibility?: "default" | "pinned" | "hidden" | "private";
  memory: string;
  hash: string;
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

/** Memories without secrets, and why each is listed. */
export interface PreviewList {
  results: MemoryPreview[];
  limit: number;
  more: boolean;
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

/** Something the user asked to keep in mind. */
export interface ProfileInstructionItem {
  id: string;
  memory: string;
}

/** What `profile.preview_search` takes. */
export interface ProfilePreviewSearchForm {
  query: string;
  user_id?: string | number | null;
  agent_id?: string | number | null;
  run_id?: string | number | null;
  strategy?: string | null;
  limit?: number;
  max_tokens?: number | null;
  scope?: string | null;
}

/** What a model is always shown of a user, most important first. */
export interface ProfileResult {
  instructions: ProfileInstructionItem[];
  facts: ProfileFactItem[];
  turns: ProfileTurnItem[];
  left_out: ReceiptOmission[];
  tokens: number;
  profile_tokens: number;
  complete: boolean;
}

/** A turn of the user that no fact covers. */
export interface ProfileTurnItem {
  id: string;
  memory: string;
  date: string;
}

/** Any of them. An empty `apiKey` removes it; another host or port removes it too, unless one is given with it. */
export interface QdrantBody {
  enabled?: boolean;
  host?: string;
  port?: number;
  apiKey?: string;
  collection?: string;
  embeddingModel?: string;
}

/** How many points were deleted that the ledger does not know, or whose memories have expired. */
export interface QdrantCleanup {
  ok: boolean;
  status: "ok" | "error" | "not_configured" | "dry_run";
  reason?: string | null;
  deletedCount?: number;
  latencyMs?: number;
  error?: string | null;
}

/** With `dryRun` the store stays as it is, and the answer says how many points would be deleted. */
export interface QdrantCleanupBody {
  dryRun?: boolean;
}

/** Whether Qdrant answers, and how fast. */
export interface QdrantHealth {
  ok: boolean;
  status: "ok" | "error" | "not_configured";
  latencyMs?: number | null;
  error?: string | null;
}

/** An entry that was found, in the names of the library. */
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

/** What it finds. */
export interface QdrantHits {
  ok: boolean;
  status: "ok" | "not_configured";
  reason?: string | null;
  results: QdrantHit[];
}

/** A try of the store. */
export interface QdrantSearchBody {
  query: string;
  topK?: number;
}

/** Where Qdrant is; of its key the last four characters. */
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

/** What is still to be learned from, and what was given up. */
export interface QueueStats {
  pending: number;
  dead: number;
}

/** Whether requests can be answered, and if not, why. */
export interface Readiness {
  status: "ok" | "starting" | "unavailable";
  reason?: string | null;
}

/** Why something is done, if anybody wants to say. */
export interface ReasonBody {
  reason?: string | null;
}

/** From whom to whom. */
export interface ReassignBody {
  from_scope: Record<string, unknown>;
  to_scope: Record<string, unknown>;
}

/** How much was passed to another scope, and the job by which it can be undone. */
export interface ReassignResult {
  job_id: string | null;
  moved: number;
  merged: number;
  signals: number;
  receipts: number;
}

/** A memory that was shown, and how many tokens it took. */
export interface ReceiptChoice {
  id: string;
  layer: "identity" | "fact" | "episode" | "turn";
  tokens: number;
  score: number | null;
  counts: boolean;
}

/** A memory that was considered and not shown, and why. */
export interface ReceiptOmission {
  id: string;
  reason: string;
}

/** How many secrets were masked, or would be. */
export interface RedactResult {
  dry_run: boolean;
  scanned: number;
  found: number;
  by_kind: Record<string, number>;
  by_table: Record<string, number>;
  degraded?: Degradation[];
}

/** The refresh token; it is used up by that. */
export interface RefreshBody {
  refresh_token: string;
}

/** How many vectors were made, and how many of them again. */
export interface RefreshResult {
  signature: string;
  indexed: number;
  failed: number;
  dropped: number;
  sent: number;
  refreshed: number;
}

/** With `force` vectors that are there are made again as well. */
export interface ReindexBody {
  force?: boolean;
}

/** How many vectors were made. */
export interface ReindexResult {
  signature: string;
  indexed: number;
  failed: number;
  dropped: number;
  sent: number;
}

/** Whether it goes on in the background now, and how many memories wait for a vector. */
export interface ReindexState {
  started: boolean;
  pending: number;
}

/** Why a memory is not to be, if anybody wants to say. */
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

/** How entities are related, what was stated last first. */
export interface RelationList {
  results: RelationItem[];
}

/** A memory that a model would end, together with more than two others: it is left as it is. */
export interface RemovalProposal {
  id: string;
  memory: string;
  operation: string;
}

/** What took the place of what, for somebody. */
export interface ReplacementItem {
  user_id: string | null;
  agent_id: string | null;
  run_id: string | null;
  id: string;
  event: "ADD" | "UPDATE" | "DELETE" | "REPLACE" | "LINK" | "UNLINK" | "DISABLE" | "ENABLE" | "MERGE" | "PROMOTE" | "EVICT" | "SUMMARIZE" | "FEEDBACK" | "REDACT";
  old_id: string;
  new_id: string | null;
  old_version: number | null;
  new_version: number | null;
  old_memory: string | null;
  new_memory: string | null;
  reason: string | null;
  created_at: string;
}

/** What took the place of what, newest first. */
export interface ReplacementList {
  results: ReplacementItem[];
}

/** One request; never what was said in it. */
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

/** Everything was removed; for a dry run, counts of what there is. */
export interface ResetResult {
  status: "reset" | "cleared" | "dry_run";
  dry_run?: true;
  would_delete?: StoreStats;
}

/** A memory that was brought back. */
export interface RestoreResult {
  id: string;
  event: "ADD" | "UPDATE" | "DELETE" | "REPLACE" | "LINK" | "UNLINK" | "DISABLE" | "ENABLE" | "MERGE" | "PROMOTE" | "EVICT" | "SUMMARIZE" | "FEEDBACK" | "REDACT";
  memory: string | null;
  status: "active" | "disabled" | "superseded" | "evicted" | "quarantined" | "deleted";
  event_id: string;
  undoes: string | null;
  degraded?: Degradation[];
}

/** The pause that has ended; None when there was none. */
export interface ResumeResult {
  resumed: PauseScope | null;
  dry_run?: true;
}

/** What to take back: everything by a source, or since a time. Look first (`dry_run`). */
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
  event: "ADD" | "UPDATE" | "DELETE" | "REPLACE" | "LINK" | "UNLINK" | "DISABLE" | "ENABLE" | "MERGE" | "PROMOTE" | "EVICT" | "SUMMARIZE" | "FEEDBACK" | "REDACT";
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

/** How long the old secret is still accepted. */
export interface RotationBody {
  grace_seconds?: number;
}

/** Whom a call is about. */
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

/** The users, agents or runs there are, the largest first. */
export interface ScopeList {
  kind: "user" | "agent" | "run";
  results: ScopeCount[];
}

/** What a score is made of; a channel that found nothing is not there. */
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

/** What to look for, and where. */
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
export interface SearchHit {
  user_id: string | null;
  agent_id: string | null;
  run_id: string | null;
  id: string;
  metadata: Record<string, unknown>;
  layer: "identity" | "fact" | "episode" | "turn";
  kind: "factual" | "episodic" | "procedural" | "semantic" | "override" | "derived" | "narrative";
  key: string | null;
  status: "active" | "disabled" | "superseded" | "evicted" | "quarantined" | "deleted";
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
  visibility?: "default" | "pinned" | "hidden" | "private";
  memory: string;
  hash: string;
  source?: string;
  facts?: CurrentFact[];
  superseded_by?: CurrentFact[];
  score: number;
  score_parts?: ScoreBreakdown;
}

/** What a search would find, best first, as far as it fits. Nothing of it counts as used. */
export interface SearchPreview {
  items: PreviewHit[];
  block: string;
  resolution: SearchResolution;
  totals: PreviewTotals;
}

/** How a search was carried out in the end. */
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

/** What became of one session; an id is empty where there is none. */
export interface SessionEnd {
  user_id: string | null;
  agent_id: string;
  run_id: string;
  distillation: string;
  episode_id?: number;
}

/** What became of every session in which something waited. */
export interface SessionEndList {
  results: SessionEnd[];
}

/** What became of a whole conversation. */
export interface SessionResult {
  status: "ok" | "pending" | "failed" | "disabled" | "paused";
  turns_ingested: number;
  distillation: string;
  episode_id?: number;
  warnings?: string[];
  reason?: string;
}

/** What `sessions.backfill` takes. */
export interface SessionsBackfillForm {
  conversations: (Record<string, unknown>)[];
  user_id?: string | number | null;
  agent_id?: string | number | null;
}

/** What `sessions.end` takes. */
export interface SessionsEndForm {
  user_id?: string | number | null;
  agent_id?: string | number | null;
  run_id?: string | number | null;
}

/** What `sessions.ingest` takes. */
export interface SessionsIngestForm {
  turns: string | Record<string, unknown> | (string | Record<string, unknown>)[];
  user_id?: string | number | null;
  agent_id?: string | number | null;
  run_id?: string | number | null;
  occurred_at?: string | null;
  metadata?: Record<string, unknown> | null;
  skip_extraction?: boolean;
}

/** Names of settings and their values. */
export interface SettingsBody {
  values: Record<string, unknown>;
}

/** Whose settings were changed, and to what. */
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

/** Settings as they hold, and where each value comes from. */
export interface SettingsReport {
  settings: Record<string, unknown>;
  sources: Record<string, string>;
  preset: "facts" | "gateway" | "companion" | "shared";
  effective?: Record<string, unknown>;
}

/** Who is to hold a memory. */
export interface ShareBody {
  user_id?: string | null;
  agent_id?: string | null;
  run_id?: string | null;
  reason?: string | null;
}

/** Who holds a memory now, or no longer. */
export interface ShareResult {
  user_id: string | null;
  agent_id: string | null;
  run_id: string | null;
  id: string;
  event: "LINK" | "UNLINK" | "DELETE" | "NONE";
  reason?: string;
  dry_run?: true;
}

/** What `sharing.replace` takes. */
export interface SharingReplaceForm {
  text: string;
  user_id?: string | number | null;
  agent_id?: string | number | null;
  run_id?: string | number | null;
  metadata?: Record<string, unknown> | null;
  reason?: string | null;
}

/** What became of a memory that was put aside, brought back, approved or rejected. */
export interface StatusResult {
  id: string;
  event: "DISABLE" | "ENABLE" | "DELETE" | "NONE";
  status: "active" | "disabled" | "superseded" | "evicted" | "quarantined" | "deleted";
  version?: number;
  dry_run?: true;
}

/** The state of a store; what is there beside the first four depends on the database. */
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

/** Counts of everything. */
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
  formation: FormationStats;
}

/** It was done. */
export interface SuccessFlag {
  success?: true;
}

/** How much of a scope was shortened, or would be. */
export interface SummaryResult {
  originalCount: number;
  summarizedCount: number;
  tokensSaved: number;
  job_id?: string;
}

/** When tokens got another key, and whether older ones are accepted until they expire. */
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

/** What a user said, and what was answered. */
export interface TurnPair {
  user: string;
  assistant: string;
  date?: string | null;
}

/** A change, or everything a job did. */
export interface UndoBody {
  event_id?: string | null;
  job_id?: string | null;
}

/** What became of a memory that was brought back, or whose change was undone. */
export interface UndoItem {
  id: string;
  event: "ADD" | "UPDATE" | "DELETE" | "REPLACE" | "LINK" | "UNLINK" | "DISABLE" | "ENABLE" | "MERGE" | "PROMOTE" | "EVICT" | "SUMMARIZE" | "FEEDBACK" | "REDACT";
  memory: string | null;
  status: "active" | "disabled" | "superseded" | "evicted" | "quarantined" | "deleted";
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

/** Who is to hold a memory no longer. */
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

/** What became of each change of a batch, in their order. */
export interface UpdateBatchResult {
  replayed?: true;
  results: (UpdateResult | BatchError | ErasureMark)[];
}

/** What is different from now on. */
export interface UpdateBody {
  text?: string | null;
  metadata?: Record<string, unknown> | null;
  kind?: "factual" | "episodic" | "procedural" | "semantic" | null;
  key?: string | null;
  expires_at?: string | null;
  occurred_at?: string | null;
}

/** A memory as it is now. */
export interface UpdateResult {
  user_id: string | null;
  agent_id: string | null;
  run_id: string | null;
  id: string;
  metadata: Record<string, unknown>;
  layer: "identity" | "fact" | "episode" | "turn";
  kind: "factual" | "episodic" | "procedural" | "semantic" | "override" | "derived" | "narrative";
  key: string | null;
  status: "active" | "disabled" | "superseded" | "evicted" | "quarantined" | "deleted";
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
  visibility?: "default" | "pinned" | "hidden" | "private";
  memory: string;
  hash: string;
  event?: "UPDATE" | "REPLACE";
  old_id?: string;
  warnings?: string[];
}

/** A model of an upstream, in the upstream's own words; `id` is the name by which it is asked for here. */
export interface UpstreamModel {
  id: string;
}

/** What the memory is for, in plain words. */
export interface UseCaseBody {
  use_case: string;
}

/** Which of the memories that were shown an answer used. */
export interface UseReport {
  receipt_id: string;
  used: string[];
  unused: string[];
  results: MemoryUse[];
}

/** A vector under an id of the caller's choice. */
export interface VectorBody {
  id: string;
  values: number[];
  metadata?: Record<string, unknown> | null;
}

/** How many vectors a call was about, and their ids. */
export interface VectorCount {
  count: number;
  ids: string[];
  warnings?: string[];
  status?: "paused" | "disabled";
  reason?: string;
  dry_run?: true;
}

/** Which ones are to be deleted. */
export interface VectorDeleteBody {
  ids: string[];
  dryRun?: boolean;
}

/** Which ones. */
export interface VectorIdsBody {
  ids: string[];
}

/** A vector as it was brought. */
export interface VectorItem {
  id: string;
  values: number[] | null;
  metadata: Record<string, unknown>;
}

/** The vectors that are there. */
export interface VectorList {
  vectors: VectorItem[];
}

/** A vector that is near; `score` is 1 minus the cosine distance. */
export interface VectorMatch {
  id: string;
  score: number;
  values?: number[];
  metadata?: Record<string, unknown>;
}

/** The nearest vectors, best first. */
export interface VectorMatches {
  matches: VectorMatch[];
}

/** The store of vectors. */
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

/** A vector, whose nearest are wanted. */
export interface VectorQueryBody {
  vector: number[];
  topK?: number;
  returnValues?: boolean;
  returnMetadata?: boolean;
  userId?: string | null;
}

/** An index of vectors. */
export interface VectorSpace {
  signature: string;
  state: string;
  dim: number;
  quant: string | null;
}

/** Where the vectors are, how many memories wait for one, and whether they are of the embedder that is used. */
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

/** What became of a vector that was taken from a user. */
export interface VectorUnlink {
  id: string;
  event: "UNLINK" | "DELETE";
  reason: string;
  user_id: string | null;
  dry_run?: true;
}

/** Whom a vector is taken from, and why. */
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

/** What `vectors.delete` takes. */
export interface VectorsDeleteForm {
  ids: string[];
  reason?: string | null;
  dry_run?: boolean;
}

/** What `vectors.get` takes. */
export interface VectorsGetForm {
  ids: string[];
}

/** What `vectors.insert` takes. */
export interface VectorsInsertForm {
  vectors: (Record<string, unknown>)[];
  user_id?: string | number | null;
}

/** What `vectors.query` takes. */
export interface VectorsQueryForm {
  vector: number[];
  user_id?: string | number | null;
  limit?: number;
  everybody?: boolean;
  values?: boolean;
  metadata?: boolean;
}

/** What `vectors.unlink` takes. */
export interface VectorsUnlinkForm {
  vector_id: string;
  user_id?: string | number | null;
  reason?: string | null;
  dry_run?: boolean;
}

/** What `vectors.upsert` takes. */
export interface VectorsUpsertForm {
  vectors: (Record<string, unknown>)[];
  user_id?: string | number | null;
}

/** Which version comes back; the last one when none is named. */
export interface VersionBody {
  version?: number | null;
}

/** A version of a memory without its text; only what is not as usual is there. */
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

/** What a person decides about showing a memory to models. */
export interface VisibilityBody {
  visibility: "default" | "pinned" | "hidden" | "private";
}

/** What a person decided about showing a memory to models. */
export interface VisibilityResult {
  id: string;
  event: "UPDATE" | "NONE";
  visibility: "default" | "pinned" | "hidden" | "private";
  version?: number;
}

/** All background work, and the same by task. */
export interface WorkStats {
  calls: number;
  success_rate: number | null;
  average_ms: number | null;
  input_tokens: number;
  output_tokens: number;
  cost: number | null;
  by_task: Record<string, JobStats>;
}
