// Written by scripts/typescript_client.py; do not edit.

import type { Route, ServiceConnection } from "./connection.js";
import type * as types from "./types.js";

/** Where every verb is asked for. */
export const ROUTES = {
  "add": { method: "POST", path: "/v1/memories" },
  "add_many": { method: "POST", path: "/v1/memories/batch", repeatable: true, long: true },
  "ingest": { method: "POST", path: "/v1/ingest", repeatable: true, long: true },
  "search": { method: "POST", path: "/v1/memories/search", repeatable: true },
  "context": { method: "POST", path: "/v1/context", repeatable: true },
  "receipt": { method: "GET", path: "/v1/receipts/{receipt_id}", noneIfMissing: true, repeatable: true },
  "get": { method: "GET", path: "/v1/memories/{memory_id}", noneIfMissing: true, repeatable: true },
  "get_all": { method: "POST", path: "/v1/memories/list", repeatable: true },
  "update": { method: "PUT", path: "/v1/memories/{memory_id}" },
  "update_many": { method: "PUT", path: "/v1/memories/batch", repeatable: true, long: true },
  "delete": { method: "DELETE", path: "/v1/memories/{memory_id}" },
  "delete_many": { method: "DELETE", path: "/v1/memories/batch", repeatable: true, long: true },
  "delete_all": { method: "POST", path: "/v1/memories/delete", repeatable: true },
  "history": { method: "GET", path: "/v1/memories/{memory_id}/history", repeatable: true, field: "results" },
  "explain": { method: "GET", path: "/v1/memories/{memory_id}/explanation", repeatable: true },
  "undo": { method: "POST", path: "/v1/console/undo" },
  "stats": { method: "GET", path: "/v1/stats", repeatable: true },
  "export": { method: "GET", path: "/v1/export", repeatable: true, long: true },
  "load": { method: "POST", path: "/v1/import", repeatable: true, long: true },
  "reset": { method: "POST", path: "/v1/reset" },
  "sessions.ingest": { method: "POST", path: "/v1/sessions", long: true },
  "sessions.end": { method: "POST", path: "/v1/sessions/end", long: true },
  "sessions.backfill": { method: "POST", path: "/v1/sessions/backfill", long: true },
  "sessions.flush": { method: "POST", path: "/v1/flush", long: true, query: ["everybody"] },
  "sessions.transcript": { method: "GET", path: "/v1/transcript", repeatable: true },
  "sessions.episodes": { method: "GET", path: "/v1/episodes", repeatable: true },
  "review.list": { method: "POST", path: "/v1/console/search", repeatable: true },
  "review.approve": { method: "POST", path: "/v1/console/memories/{memory_id}/approve" },
  "review.reject": { method: "POST", path: "/v1/console/memories/{memory_id}/reject" },
  "review.quarantine": { method: "POST", path: "/v1/console/memories/{memory_id}/quarantine" },
  "review.disable": { method: "POST", path: "/v1/console/memories/{memory_id}/disable" },
  "review.enable": { method: "POST", path: "/v1/console/memories/{memory_id}/enable" },
  "review.restore": { method: "POST", path: "/v1/console/memories/{memory_id}/restore" },
  "review.rollback": { method: "POST", path: "/v1/console/rollback", long: true },
  "review.events": { method: "GET", path: "/v1/events", repeatable: true },
  "review.replacements": { method: "GET", path: "/v1/replacements", repeatable: true },
  "review.feedback": { method: "POST", path: "/v1/console/feedback" },
  "review.record_answer": { method: "POST", path: "/v1/console/answers" },
  "identity.get": { method: "GET", path: "/v1/identity", repeatable: true },
  "identity.add_override": { method: "POST", path: "/v1/identity/overrides" },
  "identity.set_overrides": { method: "PUT", path: "/v1/identity/overrides", repeatable: true },
  "identity.remove_override": { method: "DELETE", path: "/v1/identity/overrides/{position}" },
  "identity.set_narrative": { method: "PUT", path: "/v1/identity/narrative", repeatable: true },
  "identity.instructions": { method: "GET", path: "/v1/identity/instructions", repeatable: true },
  "profile.get": { method: "GET", path: "/v1/profile", repeatable: true },
  "profile.set_visibility": { method: "PUT", path: "/v1/memories/{memory_id}/visibility", repeatable: true },
  "profile.facts": { method: "GET", path: "/v1/profile/facts", repeatable: true },
  "profile.preview": { method: "POST", path: "/v1/console/context", repeatable: true },
  "profile.preview_search": { method: "POST", path: "/v1/memories/search/preview", repeatable: true },
  "graph.entities": { method: "POST", path: "/v1/entities", repeatable: true },
  "graph.relations": { method: "GET", path: "/v1/relations", repeatable: true },
  "graph.check": { method: "POST", path: "/v1/admin/graph", repeatable: true, long: true },
  "sharing.share": { method: "POST", path: "/v1/console/memories/{memory_id}/share" },
  "sharing.unshare": { method: "POST", path: "/v1/console/memories/{memory_id}/unshare" },
  "sharing.replace": { method: "POST", path: "/v1/memories/{memory_id}/replace" },
  "sharing.reassign": { method: "POST", path: "/v1/console/reassign", long: true },
  "vectors.insert": { method: "POST", path: "/v1/vectors", repeatable: true },
  "vectors.upsert": { method: "PUT", path: "/v1/vectors", repeatable: true },
  "vectors.query": { method: "POST", path: "/v1/vectors/query", repeatable: true },
  "vectors.get": { method: "POST", path: "/v1/vectors/get", repeatable: true },
  "vectors.delete": { method: "POST", path: "/v1/vectors/delete" },
  "vectors.unlink": { method: "POST", path: "/v1/vectors/unlink" },
  "settings.get": { method: "GET", path: "/v1/settings", repeatable: true },
  "settings.set": { method: "PUT", path: "/v1/settings", repeatable: true, query: ["user_id", "agent_id"] },
  "settings.unset": { method: "DELETE", path: "/v1/settings", repeatable: true },
  "settings.pause": { method: "POST", path: "/v1/pause", repeatable: true },
  "settings.resume": { method: "DELETE", path: "/v1/pause", repeatable: true },
  "settings.pauses": { method: "GET", path: "/v1/pause", repeatable: true },
  "settings.suggest_instructions": { method: "POST", path: "/v1/instructions", repeatable: true },
  "agents.list": { method: "GET", path: "/agents", repeatable: true },
  "agents.get": { method: "GET", path: "/agents/{agent_id}", noneIfMissing: true, repeatable: true },
  "agents.save": { method: "PUT", path: "/agents/{agent_id}", repeatable: true },
  "agents.delete": { method: "DELETE", path: "/agents/{agent_id}" },
  "admin.keys.list": { method: "GET", path: "/v1/keys", repeatable: true, field: "results" },
  "admin.keys.create": { method: "POST", path: "/v1/keys" },
  "admin.keys.update": { method: "PATCH", path: "/v1/keys/{key_id}", repeatable: true },
  "admin.keys.rotate": { method: "POST", path: "/v1/keys/{key_id}/rotate" },
  "admin.keys.revoke": { method: "DELETE", path: "/v1/keys/{key_id}" },
  "admin.accounts.list": { method: "GET", path: "/v1/accounts", repeatable: true, field: "results" },
  "admin.accounts.create": { method: "POST", path: "/v1/accounts" },
  "admin.accounts.update": { method: "PATCH", path: "/v1/accounts/{account}" },
  "admin.accounts.remove": { method: "DELETE", path: "/v1/accounts/{account}" },
  "admin.accounts.rotate_token_key": { method: "POST", path: "/v1/accounts/rotate-token-key" },
  "admin.erase": { method: "POST", path: "/v1/admin/erase", long: true },
  "admin.verify_erasure": { method: "POST", path: "/v1/console/erasures/verify", repeatable: true, body: "report" },
  "admin.redact": { method: "POST", path: "/v1/admin/redact", long: true },
  "admin.reindex": { method: "POST", path: "/v1/admin/reindex", long: true },
  "admin.refresh_vectors": { method: "POST", path: "/v1/admin/refresh-vectors", long: true },
  "admin.pending_vectors": { method: "GET", path: "/v1/admin/pending-vectors", repeatable: true },
  "admin.consolidate": { method: "POST", path: "/v1/admin/consolidate", long: true },
  "admin.summarize": { method: "POST", path: "/v1/admin/summarize", long: true },
  "admin.list_scopes": { method: "GET", path: "/v1/console/scopes", repeatable: true },
  "admin.dashboard": { method: "GET", path: "/v1/console/dashboard", repeatable: true },
  "admin.jobs": { method: "GET", path: "/v1/jobs", repeatable: true },
  "admin.metrics": { method: "GET", path: "/v1/console/metrics", repeatable: true },
  "admin.health": { method: "GET", path: "/v1/console/health", repeatable: true },
  "admin.status": { method: "GET", path: "/v1/admin/status", repeatable: true },
  "admin.check": { method: "GET", path: "/v1/console/database", repeatable: true, long: true },
} as const satisfies Record<string, Route>;

/** Conversations: store them, end them, read what was said and what they were about. */
export class SessionVerbs {

  constructor(protected readonly link: ServiceConnection) {}

  /** Store one whole conversation and learn from it at once, without waiting. */
  ingest(turns: string | Record<string, unknown> | (string | Record<string, unknown>)[], options: { user_id?: string | number | null; agent_id?: string | number | null; run_id?: string | number | null; occurred_at?: string | null; metadata?: Record<string, unknown> | null; skip_extraction?: boolean; } = {}): Promise<types.SessionResult> {
    return this.link.call(ROUTES["sessions.ingest"], { turns: turns, ...options }) as Promise<types.SessionResult>;
  }

  /** End a session and learn from it now; this applies to every waiting session of the scope. */
  end(options: { user_id?: string | number | null; agent_id?: string | number | null; run_id?: string | number | null; } = {}): Promise<types.SessionEndList> {
    return this.link.call(ROUTES["sessions.end"], { ...options }) as Promise<types.SessionEndList>;
  }

  /** Learn from earlier chats; those that are known or already waiting are skipped. */
  backfill(conversations: (Record<string, unknown>)[], options: { user_id?: string | number | null; agent_id?: string | number | null; } = {}): Promise<types.BackfillResult> {
    return this.link.call(ROUTES["sessions.backfill"], { conversations: conversations, ...options }) as Promise<types.BackfillResult>;
  }

  /** Process what is waiting in a scope, or with `everybody` everything that is waiting, due or not. */
  flush(options: { user_id?: string | null; agent_id?: string | null; run_id?: string | null; everybody?: boolean; } = {}): Promise<types.FlushResult> {
    return this.link.call(ROUTES["sessions.flush"], { ...options }) as Promise<types.FlushResult>;
  }

  /** List what was said in a scope, in order and word for word. */
  transcript(options: { user_id?: string; agent_id?: string; run_id?: string; limit?: number; offset?: number; } = {}): Promise<types.TranscriptPage> {
    return this.link.call(ROUTES["sessions.transcript"], { ...options }) as Promise<types.TranscriptPage>;
  }

  /** List what sessions were about, newest first: one episode each, `since` a time. */
  episodes(options: { user_id?: string; agent_id?: string; run_id?: string; limit?: number; offset?: number; since?: string; } = {}): Promise<types.EpisodeList> {
    return this.link.call(ROUTES["sessions.episodes"], { ...options }) as Promise<types.EpisodeList>;
  }

}

/** Look through memories, correct them, and say what was useful. */
export class ReviewVerbs {

  constructor(protected readonly link: ServiceConnection) {}

  /** List memories of every layer, including disabled and quarantined ones, for people to look at. */
  list(q?: string | null, options: { user_id?: string | null; agent_id?: string | null; run_id?: string | null; everybody?: boolean | null; layers?: string | string[] | null; statuses?: string | string[] | null; filters?: Record<string, unknown> | unknown[] | null; limit?: number; as_of?: string | null; } = {}): Promise<types.PreviewList> {
    return this.link.call(ROUTES["review.list"], { q: q, ...options }) as Promise<types.PreviewList>;
  }

  /** Release a memory from quarantine. */
  approve(memoryId: string, reason?: string | null): Promise<types.StatusResult> {
    return this.link.call(ROUTES["review.approve"], { memory_id: memoryId, reason: reason }) as Promise<types.StatusResult>;
  }

  /** Delete a memory in quarantine; it does not come back by itself. */
  reject(memoryId: string, reason?: string | null, options: { dry_run?: boolean; } = {}): Promise<types.StatusResult> {
    return this.link.call(ROUTES["review.reject"], { memory_id: memoryId, reason: reason, ...options }) as Promise<types.StatusResult>;
  }

  /** Hold a memory back until someone approves it; `get_all(status="quarantined")` lists these. */
  quarantine(memoryId: string, reason?: string | null): Promise<types.StatusResult> {
    return this.link.call(ROUTES["review.quarantine"], { memory_id: memoryId, reason: reason }) as Promise<types.StatusResult>;
  }

  /** Keep a memory but stop recalling it; `get_all(status="disabled")` lists it, `enable` brings it back. */
  disable(memoryId: string, reason?: string | null): Promise<types.StatusResult> {
    return this.link.call(ROUTES["review.disable"], { memory_id: memoryId, reason: reason }) as Promise<types.StatusResult>;
  }

  /** Recall a disabled memory again. */
  enable(memoryId: string, reason?: string | null): Promise<types.StatusResult> {
    return this.link.call(ROUTES["review.enable"], { memory_id: memoryId, reason: reason }) as Promise<types.StatusResult>;
  }

  /** Bring back a deleted, evicted, replaced or disabled memory, or the text of an earlier version. */
  restore(memoryId: string, version?: number | null): Promise<types.RestoreResult> {
    return this.link.call(ROUTES["review.restore"], { memory_id: memoryId, version: version }) as Promise<types.RestoreResult>;
  }

  /** Undo what a source did, or what was done since a time, in a scope or with `everybody` in all. */
  rollback(options: { source?: string | null; since?: string | null; user_id?: string | null; agent_id?: string | null; run_id?: string | null; everybody?: boolean | null; dry_run?: boolean; } = {}): Promise<types.RollbackResult> {
    return this.link.call(ROUTES["review.rollback"], { ...options }) as Promise<types.RollbackResult>;
  }

  /** List what happened in a scope, or with `everybody` in all, after a cursor; oldest first. */
  events(after?: number, options: { limit?: number; user_id?: string; agent_id?: string; run_id?: string; everybody?: boolean; newest_first?: boolean; } = {}): Promise<types.EventFeed> {
    return this.link.call(ROUTES["review.events"], { after: after, ...options }) as Promise<types.EventFeed>;
  }

  /** List what replaced what for a user, newest first, with both texts and the reason. */
  replacements(options: { user_id?: string; agent_id?: string; run_id?: string; limit?: number; offset?: number; } = {}): Promise<types.ReplacementList> {
    return this.link.call(ROUTES["review.replacements"], { ...options }) as Promise<types.ReplacementList>;
  }

  /** Say whether a memory, or everything in a receipt, was useful; it gains or loses weight. */
  feedback(options: { useful: boolean; receipt_id?: string | null; memory_id?: string | null; note?: string | null; user_id?: string | null; agent_id?: string | null; run_id?: string | null; }): Promise<types.FeedbackResult> {
    return this.link.call(ROUTES["review.feedback"], { ...options }) as Promise<types.FeedbackResult>;
  }

  /** Record a model's answer to a prompt with a context, and work out which memories it used. */
  recordAnswer(receiptId: string, answer: string): Promise<types.UseReport> {
    return this.link.call(ROUTES["review.record_answer"], { receipt_id: receiptId, answer: answer }) as Promise<types.UseReport>;
  }

}

/** Who a user is: what they wrote about themselves, and what was derived from what they said. */
export class IdentityVerbs {

  constructor(protected readonly link: ServiceConnection) {}

  /** Return a user's standing instructions, what was `derived` from what they said, and the `narrative`. */
  get(options: { user_id: string; }): Promise<types.IdentityResult> {
    return this.link.call(ROUTES["identity.get"], { ...options }) as Promise<types.IdentityResult>;
  }

  /** Add a standing instruction, in the user's own words; return the identity. */
  addOverride(text: string, options: { user_id: string | number; }): Promise<types.IdentityResult> {
    return this.link.call(ROUTES["identity.add_override"], { text: text, ...options }) as Promise<types.IdentityResult>;
  }

  /** Delete the standing instruction at a position, counted from 0; return the identity. */
  removeOverride(position: number, options: { user_id: string; dry_run?: boolean; }): Promise<types.IdentityResult> {
    return this.link.call(ROUTES["identity.remove_override"], { position: position, ...options }) as Promise<types.IdentityResult>;
  }

  /** Replace all standing instructions; return the identity. Those that stay keep their id and history. */
  setOverrides(texts: string[], options: { user_id: string | number; }): Promise<types.IdentityResult> {
    return this.link.call(ROUTES["identity.set_overrides"], { texts: texts, ...options }) as Promise<types.IdentityResult>;
  }

  /** Write the narrative of a user by hand; return the identity. */
  setNarrative(text: string | null, options: { user_id: string | number; }): Promise<types.IdentityResult> {
    return this.link.call(ROUTES["identity.set_narrative"], { text: text, ...options }) as Promise<types.IdentityResult>;
  }

  /** Return what the user always wants done, such as "answer in metric units". */
  instructions(options: { user_id?: string; agent_id?: string; run_id?: string; } = {}): Promise<types.InstructionList> {
    return this.link.call(ROUTES["identity.instructions"], { ...options }) as Promise<types.InstructionList>;
  }

}

/** What a model always sees about a user, and what it would see for a message. */
export class ProfileVerbs {

  constructor(protected readonly link: ServiceConnection) {}

  /** Return what a model always sees about a user. */
  get(options: { user_id?: string; agent_id?: string; tokens?: number; } = {}): Promise<types.ProfileResult> {
    return this.link.call(ROUTES["profile.get"], { ...options }) as Promise<types.ProfileResult>;
  }

  /** Choose whether models see a memory. */
  setVisibility(memoryId: string, visibility: "default" | "pinned" | "hidden" | "private"): Promise<types.VisibilityResult> {
    return this.link.call(ROUTES["profile.set_visibility"], { memory_id: memoryId, visibility: visibility }) as Promise<types.VisibilityResult>;
  }

  /** List facts with their weight, most salient first. */
  facts(options: { user_id?: string; agent_id?: string; run_id?: string; limit?: number; } = {}): Promise<types.FactList> {
    return this.link.call(ROUTES["profile.facts"], { ...options }) as Promise<types.FactList>;
  }

  /** Return what `context` would return for a message, for people to look at. */
  preview(query: string, options: { user_id?: string | null; agent_id?: string | null; run_id?: string | null; budget?: number | null; as_of?: string | null; } = {}): Promise<types.ContextPreview> {
    return this.link.call(ROUTES["profile.preview"], { query: query, ...options }) as Promise<types.ContextPreview>;
  }

  /** Try a search: the results that fit into `max_tokens`, and why each is there. Nothing counts as used. */
  previewSearch(query: string, options: { user_id?: string | number | null; agent_id?: string | number | null; run_id?: string | number | null; strategy?: string | null; limit?: number; max_tokens?: number | null; scope?: string | null; } = {}): Promise<types.SearchPreview> {
    return this.link.call(ROUTES["profile.preview_search"], { query: query, ...options }) as Promise<types.SearchPreview>;
  }

}

/** People, places and things in memories, and how they are related. */
export class GraphVerbs {

  constructor(protected readonly link: ServiceConnection) {}

  /** List the people, places and things in memories, most mentioned first. */
  entities(options: { user_id?: string | null; agent_id?: string | null; run_id?: string | null; limit?: number | null; offset?: number | null; } = {}): Promise<types.EntityList> {
    return this.link.call(ROUTES["graph.entities"], { ...options }) as Promise<types.EntityList>;
  }

  /** List how people and things are related, newest first; `valid_to` marks what no longer holds. */
  relations(options: { user_id?: string; agent_id?: string; run_id?: string; limit?: number; offset?: number; } = {}): Promise<types.RelationList> {
    return this.link.call(ROUTES["graph.relations"], { ...options }) as Promise<types.RelationList>;
  }

  /** Compare the graph database with the ledger; `repair` fills in what is missing, or builds it again. */
  check(options: { repair?: boolean; } = {}): Promise<types.GraphReport> {
    return this.link.call(ROUTES["graph.check"], { ...options }) as Promise<types.GraphReport>;
  }

}

/** Share memories, stop sharing them, and move them to someone else. */
export class SharingVerbs {

  constructor(protected readonly link: ServiceConnection) {}

  /** Share a memory with someone else; the user `*` is everybody, `project:<id>` a project. */
  share(memoryId: string, options: { user_id?: string | null; agent_id?: string | null; run_id?: string | null; reason?: string | null; } = {}): Promise<types.ShareResult> {
    return this.link.call(ROUTES["sharing.share"], { memory_id: memoryId, ...options }) as Promise<types.ShareResult>;
  }

  /** Take a memory away from someone. The others keep it; with the last one it is deleted: `event` says so. */
  unshare(memoryId: string, options: { user_id?: string | null; agent_id?: string | null; run_id?: string | null; reason?: string | null; dry_run?: boolean; } = {}): Promise<types.ShareResult> {
    return this.link.call(ROUTES["sharing.unshare"], { memory_id: memoryId, ...options }) as Promise<types.ShareResult>;
  }

  /** Change a shared memory for one of its holders; `update` changes it for all of them. */
  replace(memoryId: string, text: string, options: { user_id?: string | number | null; agent_id?: string | number | null; run_id?: string | number | null; metadata?: Record<string, unknown> | null; reason?: string | null; } = {}): Promise<types.UpdateResult> {
    return this.link.call(ROUTES["sharing.replace"], { memory_id: memoryId, text: text, ...options }) as Promise<types.UpdateResult>;
  }

  /** Move everything of one scope to another: rename a user, or merge two users. */
  reassign(fromScope: Record<string, unknown>, toScope: Record<string, unknown>): Promise<types.ReassignResult> {
    return this.link.call(ROUTES["sharing.reassign"], { from_scope: fromScope, to_scope: toScope }) as Promise<types.ReassignResult>;
  }

}

/** Memories with your own vectors. */
export class VectorVerbs {

  constructor(protected readonly link: ServiceConnection) {}

  /** Store up to 1,000 vectors (`{"id", "values", "metadata"}`) for a user, all of them or none. */
  insert(vectors: (Record<string, unknown>)[], options: { user_id?: string | number | null; } = {}): Promise<types.VectorCount> {
    return this.link.call(ROUTES["vectors.insert"], { vectors: vectors, ...options }) as Promise<types.VectorCount>;
  }

  /** Store vectors as `insert` does, but give an existing id its next version, for all who share it. */
  upsert(vectors: (Record<string, unknown>)[], options: { user_id?: string | number | null; } = {}): Promise<types.VectorCount> {
    return this.link.call(ROUTES["vectors.upsert"], { vectors: vectors, ...options }) as Promise<types.VectorCount>;
  }

  /** Return the vectors of a user that are most similar to one, with the same dimension, best first. */
  query(vector: number[], options: { user_id?: string | number | null; limit?: number; everybody?: boolean; values?: boolean; metadata?: boolean; } = {}): Promise<types.VectorMatches> {
    return this.link.call(ROUTES["vectors.query"], { vector: vector, ...options }) as Promise<types.VectorMatches>;
  }

  /** Return the vectors with these ids that exist: `{"vectors": [{"id", "values", "metadata"}]}`. */
  get(ids: string[]): Promise<types.VectorList> {
    return this.link.call(ROUTES["vectors.get"], { ids: ids }) as Promise<types.VectorList>;
  }

  /** Delete vectors for all who share them; return the ids of those that existed. */
  delete(ids: string[], options: { reason?: string | null; dry_run?: boolean; } = {}): Promise<types.VectorCount> {
    return this.link.call(ROUTES["vectors.delete"], { ids: ids, ...options }) as Promise<types.VectorCount>;
  }

  /** Take a vector away from one user; the others keep it, and with the last one it is deleted. */
  unlink(vectorId: string, options: { user_id?: string | number | null; reason?: string | null; dry_run?: boolean; } = {}): Promise<types.VectorUnlink> {
    return this.link.call(ROUTES["vectors.unlink"], { vector_id: vectorId, ...options }) as Promise<types.VectorUnlink>;
  }

}

/** Settings in the store, and pauses. */
export class SettingVerbs {

  constructor(protected readonly link: ServiceConnection) {}

  /** Return the settings that apply to a user, an agent, both, or (if you name nobody) the tenant. */
  get(options: { user_id?: string; agent_id?: string; names?: "native" | "gateway" | "companion" | "agent"; } = {}): Promise<types.SettingsReport> {
    return this.link.call(ROUTES["settings.get"], { ...options }) as Promise<types.SettingsReport>;
  }

  /** Store settings for a user, an agent or (if you name nobody) the tenant, all or none; they apply at once. */
  set(values: Record<string, unknown>, options: { user_id?: string; agent_id?: string; } = {}): Promise<types.SettingsChange> {
    return this.link.call(ROUTES["settings.set"], { values: values, ...options }) as Promise<types.SettingsChange>;
  }

  /** Remove stored settings; the next level applies again. */
  unset(names?: string[], options: { user_id?: string; agent_id?: string; dry_run?: boolean; } = {}): Promise<types.SettingsRemoval> {
    return this.link.call(ROUTES["settings.unset"], { names: names, ...options }) as Promise<types.SettingsRemoval>;
  }

  /** Pause memory for a user, an agent or a session, until a time or until `resume`. */
  pause(options: { user_id?: string | null; agent_id?: string | null; run_id?: string | null; until?: string | null; } = {}): Promise<types.PauseResult> {
    return this.link.call(ROUTES["settings.pause"], { ...options }) as Promise<types.PauseResult>;
  }

  /** End a pause; name exactly the ids it was made for. */
  resume(options: { user_id?: string; agent_id?: string; run_id?: string; dry_run?: boolean; } = {}): Promise<types.ResumeResult> {
    return this.link.call(ROUTES["settings.resume"], { ...options }) as Promise<types.ResumeResult>;
  }

  /** List the pauses that apply to the ids you name, or with `everybody` all of them, and until when. */
  pauses(options: { user_id?: string; agent_id?: string; run_id?: string; everybody?: boolean; } = {}): Promise<types.PauseList> {
    return this.link.call(ROUTES["settings.pauses"], { ...options }) as Promise<types.PauseList>;
  }

  /** Suggest instructions and settings for a use case in plain words, such as "a cooking coach". */
  suggestInstructions(useCase: string): Promise<types.InstructionSuggestion> {
    return this.link.call(ROUTES["settings.suggest_instructions"], { use_case: useCase }) as Promise<types.InstructionSuggestion>;
  }

}

/** Agents that share this memory, each with its settings. */
export class AgentVerbs {

  constructor(protected readonly link: ServiceConnection) {}

  /** List the agents of this memory, each with its settings and memory count. */
  list(options: { limit?: number; offset?: number; } = {}): Promise<types.AgentList> {
    return this.link.call(ROUTES["agents.list"], { ...options }) as Promise<types.AgentList>;
  }

  /** Return one agent, or None. */
  get(agentId: string): Promise<types.AgentItem | null> {
    return this.link.call(ROUTES["agents.get"], { agent_id: agentId }) as Promise<types.AgentItem | null>;
  }

  /** Create or change an agent; what you leave out stays as it is, and '' removes a model or a prompt. */
  save(agentId: string, options: { name?: string | null; model?: string | null; system_prompt?: string | null; settings?: Record<string, unknown> | null; } = {}): Promise<types.AgentItem> {
    return this.link.call(ROUTES["agents.save"], { agent_id: agentId, ...options }) as Promise<types.AgentItem>;
  }

  /** Remove an agent with its memories, queued work and settings. */
  delete(agentId: string, options: { dry_run?: boolean; } = {}): Promise<types.AgentDeletion> {
    return this.link.call(ROUTES["agents.delete"], { agent_id: agentId, ...options }) as Promise<types.AgentDeletion>;
  }

}

/** API keys of the service. */
export class KeyVerbs {

  constructor(protected readonly link: ServiceConnection) {}

  /** List the keys of this tenant, oldest first; their secrets are not stored. */
  list(): Promise<types.KeyItem[]> {
    return this.link.call(ROUTES["admin.keys.list"], {  }) as Promise<types.KeyItem[]>;
  }

  /** Create a key for this tenant: for its own pools, one user, every user it names, or everything. */
  create(name?: string, options: { verbs?: ("read" | "write" | "admin")[]; user_id?: string | null; agent_id?: string | null; may_assert_user?: boolean; expires_at?: string | null; } = {}): Promise<types.KeySecret> {
    return this.link.call(ROUTES["admin.keys.create"], { name: name, ...options }) as Promise<types.KeySecret>;
  }

  /** Change the name and permissions of a key; what you leave out stays, and so does its secret. */
  update(keyId: string, options: { name?: string | null; verbs?: ("read" | "write" | "admin")[] | null; may_assert_user?: boolean | null; } = {}): Promise<types.KeyItem> {
    return this.link.call(ROUTES["admin.keys.update"], { key_id: keyId, ...options }) as Promise<types.KeyItem>;
  }

  /** Give a key a new secret under the same id; the old one is accepted for `grace_seconds`. */
  rotate(keyId: string, options: { grace_seconds?: number; } = {}): Promise<types.KeySecret> {
    return this.link.call(ROUTES["admin.keys.rotate"], { key_id: keyId, ...options }) as Promise<types.KeySecret>;
  }

  /** Revoke a key immediately. */
  revoke(keyId: string, options: { dry_run?: boolean; } = {}): Promise<types.KeyItem> {
    return this.link.call(ROUTES["admin.keys.revoke"], { key_id: keyId, ...options }) as Promise<types.KeyItem>;
  }

}

/** Accounts of people who log in to the service. */
export class AccountVerbs {

  constructor(protected readonly link: ServiceConnection) {}

  /** List the accounts of this tenant, oldest first. */
  list(): Promise<types.AccountItem[]> {
    return this.link.call(ROUTES["admin.accounts.list"], {  }) as Promise<types.AccountItem[]>;
  }

  /** Create an account with a login (an e-mail address or a name) and a password. */
  create(login: string, password: string, options: { name?: string; role?: "viewer" | "editor" | "admin"; user_id?: string | null; agent_id?: string | null; } = {}): Promise<types.AccountItem> {
    return this.link.call(ROUTES["admin.accounts.create"], { login: login, password: password, ...options }) as Promise<types.AccountItem>;
  }

  /** Change an account, given by its id or login; what you leave out stays, and '' removes a name or a limit. */
  update(account: string, options: { login?: string | null; name?: string | null; role?: "viewer" | "editor" | "admin" | null; password?: string | null; user_id?: string | null; agent_id?: string | null; disabled?: boolean | null; } = {}): Promise<types.AccountItem> {
    return this.link.call(ROUTES["admin.accounts.update"], { account: account, ...options }) as Promise<types.AccountItem>;
  }

  /** Remove an account, given by its id or login, and end its sessions. */
  remove(account: string, options: { dry_run?: boolean; } = {}): Promise<types.AccountRemoval> {
    return this.link.call(ROUTES["admin.accounts.remove"], { account: account, ...options }) as Promise<types.AccountRemoval>;
  }

  /** Change the key that signs login tokens. */
  rotateTokenKey(options: { grace?: boolean; } = {}): Promise<types.TokenKeyRotation> {
    return this.link.call(ROUTES["admin.accounts.rotate_token_key"], { ...options }) as Promise<types.TokenKeyRotation>;
  }

}

/** Backups of the whole store. */
export class BackupVerbs {

  constructor(protected readonly link: ServiceConnection) {}


}

/** Look after a store: health, upkeep, backups, keys and accounts. */
export class AdminVerbs {
  /** API keys of the service. */
  readonly keys: KeyVerbs;
  /** Accounts of people who log in to the service. */
  readonly accounts: AccountVerbs;
  /** Backups of the whole store. */
  readonly backups: BackupVerbs;

  constructor(protected readonly link: ServiceConnection) {
    this.keys = new KeyVerbs(link);
    this.accounts = new AccountVerbs(link);
    this.backups = new BackupVerbs(link);
  }

  /** Erase everything of a scope for good, or with `memory_id` one memory. */
  erase(options: { user_id?: string | number | null; agent_id?: string | number | null; run_id?: string | number | null; memory_id?: string | null; dry_run?: boolean; } = {}): Promise<types.ErasureReport | types.ErasurePreview> {
    return this.link.call(ROUTES["admin.erase"], { ...options }) as Promise<types.ErasureReport | types.ErasurePreview>;
  }

  /** Check that this store wrote an erasure report, and that nothing erased has come back. */
  verifyErasure(report: unknown): Promise<types.ErasureVerification> {
    return this.link.call(ROUTES["admin.verify_erasure"], { report: report }) as Promise<types.ErasureVerification>;
  }

  /** Find secrets in everything that is stored, and with `dry_run=False` mask them in place. */
  redact(options: { dry_run?: boolean; } = {}): Promise<types.RedactResult> {
    return this.link.call(ROUTES["admin.redact"], { ...options }) as Promise<types.RedactResult>;
  }

  /** Build the vectors of the configured embedder beside the old ones, and switch when all are there. */
  reindex(): Promise<types.ReindexResult> {
    return this.link.call(ROUTES["admin.reindex"], {  }) as Promise<types.ReindexResult>;
  }

  /** Rebuild every vector in place, for example after a model changed under its old name. */
  refreshVectors(): Promise<types.RefreshResult> {
    return this.link.call(ROUTES["admin.refresh_vectors"], {  }) as Promise<types.RefreshResult>;
  }

  /** Count the memories waiting for a vector of the configured embedder. */
  pendingVectors(): Promise<number> {
    return this.link.call(ROUTES["admin.pending_vectors"], {  }) as Promise<number>;
  }

  /** Consolidate the memories of a scope, or with `everybody` all memories. */
  consolidate(options: { user_id?: string | number | null; agent_id?: string | number | null; run_id?: string | number | null; everybody?: boolean; dry_run?: boolean; } = {}): Promise<types.ConsolidateResult> {
    return this.link.call(ROUTES["admin.consolidate"], { ...options }) as Promise<types.ConsolidateResult>;
  }

  /** Shorten memories beyond a token budget to their first three sentences. */
  summarize(options: { user_id?: string | number | null; agent_id?: string | number | null; run_id?: string | number | null; max_tokens?: number; older_than_days?: number | null; dry_run?: boolean; } = {}): Promise<types.SummaryResult> {
    return this.link.call(ROUTES["admin.summarize"], { ...options }) as Promise<types.SummaryResult>;
  }

  /** List the users (or with `kind` the `agent` or `run` ids), most memories first. */
  listScopes(kind?: "user" | "agent" | "run", options: { limit?: number; offset?: number; } = {}): Promise<types.ScopeList> {
    return this.link.call(ROUTES["admin.list_scopes"], { kind: kind, ...options }) as Promise<types.ScopeList>;
  }

  /** Return an overview of a scope, or with `everybody` of all, for a management page. */
  dashboard(options: { user_id?: string; agent_id?: string; run_id?: string; everybody?: boolean; limit?: number; } = {}): Promise<types.DashboardResult> {
    return this.link.call(ROUTES["admin.dashboard"], { ...options }) as Promise<types.DashboardResult>;
  }

  /** List the background jobs of a scope, or with `everybody` all of them, newest first. */
  jobs(options: { user_id?: string; agent_id?: string; run_id?: string; everybody?: boolean; task?: string; status?: "success" | "skipped" | "empty" | "error" | "dead_letter"; limit?: number; } = {}): Promise<types.JobList> {
    return this.link.call(ROUTES["admin.jobs"], { ...options }) as Promise<types.JobList>;
  }

  /** Count the memories of a user, or with `everybody` of all, and how often they are replaced and used. */
  metrics(options: { user_id?: string; everybody?: boolean; since?: string; } = {}): Promise<types.MetricsReport> {
    return this.link.call(ROUTES["admin.metrics"], { ...options }) as Promise<types.MetricsReport>;
  }

  /** Check whether memory works: `healthy`, `degraded` or `unavailable`, with reasons. */
  health(): Promise<types.HealthReport> {
    return this.link.call(ROUTES["admin.health"], {  }) as Promise<types.HealthReport>;
  }

  /** Return every channel and service of the engine: whether it is `available`, and if not, the `reason`. */
  status(): Promise<types.EngineInfo> {
    return this.link.call(ROUTES["admin.status"], {  }) as Promise<types.EngineInfo>;
  }

  /** Check the store: where it is, its schema, and whether it is intact. */
  check(): Promise<types.StoreCheck> {
    return this.link.call(ROUTES["admin.check"], {  }) as Promise<types.StoreCheck>;
  }

}

/** The methods of a memory, and the groups with everything else. */
export class MemoryVerbs {
  /** Conversations: store them, end them, read what was said and what they were about. */
  readonly sessions: SessionVerbs;
  /** Look through memories, correct them, and say what was useful. */
  readonly review: ReviewVerbs;
  /** Who a user is: what they wrote about themselves, and what was derived from what they said. */
  readonly identity: IdentityVerbs;
  /** What a model always sees about a user, and what it would see for a message. */
  readonly profile: ProfileVerbs;
  /** People, places and things in memories, and how they are related. */
  readonly graph: GraphVerbs;
  /** Share memories, stop sharing them, and move them to someone else. */
  readonly sharing: SharingVerbs;
  /** Memories with your own vectors. */
  readonly vectors: VectorVerbs;
  /** Settings in the store, and pauses. */
  readonly settings: SettingVerbs;
  /** Agents that share this memory, each with its settings. */
  readonly agents: AgentVerbs;
  /** Look after a store: health, upkeep, backups, keys and accounts. */
  readonly admin: AdminVerbs;

  constructor(protected readonly link: ServiceConnection) {
    this.sessions = new SessionVerbs(link);
    this.review = new ReviewVerbs(link);
    this.identity = new IdentityVerbs(link);
    this.profile = new ProfileVerbs(link);
    this.graph = new GraphVerbs(link);
    this.sharing = new SharingVerbs(link);
    this.vectors = new VectorVerbs(link);
    this.settings = new SettingVerbs(link);
    this.agents = new AgentVerbs(link);
    this.admin = new AdminVerbs(link);
  }

  /** Learn from messages: a text (said by a user), one message, or a list of them. */
  add(messages: string | Record<string, unknown> | (string | Record<string, unknown>)[], options: { user_id?: string | null; agent_id?: string | null; run_id?: string | null; metadata?: Record<string, unknown> | null; filters?: Record<string, unknown> | unknown[] | null; prompt?: string | null; infer?: boolean; strict?: boolean; kind?: "factual" | "episodic" | "procedural" | "semantic" | null; key?: string | null; occurred_at?: string | null; expires_at?: string | null; keep_turns?: boolean | null; project_id?: string | null; } = {}): Promise<types.AddResult> {
    return this.link.call(ROUTES["add"], { messages: messages, ...options }) as Promise<types.AddResult>;
  }

  /** Add up to 1,000 items; each has the arguments of `add`. */
  addMany(items: (Record<string, unknown>)[], options: { idempotency_key?: string; } = {}): Promise<types.AddBatchResult> {
    return this.link.call(ROUTES["add_many"], { items: items, ...options }) as Promise<types.AddBatchResult>;
  }

  /** Store a transcript of any length as it is, turn by turn, without learning from it yet. */
  ingest(turns: string | Record<string, unknown> | (string | Record<string, unknown>)[], options: { user_id?: string | null; agent_id?: string | null; run_id?: string | null; metadata?: Record<string, unknown> | null; occurred_at?: string | null; expires_at?: string | null; learn?: boolean; } = {}): Promise<types.IngestResult> {
    return this.link.call(ROUTES["ingest"], { turns: turns, ...options }) as Promise<types.IngestResult>;
  }

  /** Find memories by words and by meaning, best first. */
  search(query: string, options: { user_id?: string | null; agent_id?: string | null; run_id?: string | null; limit?: number; filters?: Record<string, unknown> | unknown[] | null; min_score?: number | null; layers?: string | string[] | null; as_of?: string | null; strategy?: "hybrid" | "semantic" | "exact" | "recent" | "vector" | "text" | null; explain?: boolean; show_expired?: boolean; scope?: "session" | "owner" | "apiKey" | "global" | null; project_id?: string | null; } = {}): Promise<types.SearchResults> {
    return this.link.call(ROUTES["search"], { query: query, ...options }) as Promise<types.SearchResults>;
  }

  /** Return what to put into a prompt for a message, within a token budget; empty if memory does not help. */
  context(query: string, options: { user_id?: string | null; agent_id?: string | null; run_id?: string | null; budget?: number | null; gate?: "profile" | "always" | "off" | "heuristic" | "llm" | "never" | null; project_id?: string | null; as_of?: string | null; scope?: "session" | "owner" | "apiKey" | "global" | null; } = {}): Promise<types.ContextBlock> {
    return this.link.call(ROUTES["context"], { query: query, ...options }) as Promise<types.ContextBlock>;
  }

  /** Return the record of a context: what was considered, chosen and dropped, why, and how long each step took. */
  receipt(receiptId: string): Promise<types.ContextReceipt | null> {
    return this.link.call(ROUTES["receipt"], { receipt_id: receiptId }) as Promise<types.ContextReceipt | null>;
  }

  /** Return one memory by its id, or `None`. */
  get(memoryId: string): Promise<types.MemoryItem | null> {
    return this.link.call(ROUTES["get"], { memory_id: memoryId }) as Promise<types.MemoryItem | null>;
  }

  /** List the memories of a scope, most recently written first. */
  getAll(options: { user_id?: string | number | null; agent_id?: string | number | null; run_id?: string | number | null; limit?: number | null; offset?: number | null; page?: number | null; filters?: Record<string, unknown> | unknown[] | null; layers?: string | string[] | null; kind?: string | null; q?: string | null; status?: string | null; as_of?: string | null; show_expired?: boolean; counts?: boolean; } = {}): Promise<types.MemoryList> {
    return this.link.call(ROUTES["get_all"], { ...options }) as Promise<types.MemoryList>;
  }

  /** Change a memory. Its id and creation time stay, and the old version stays in the history. */
  update(memoryId: string, text?: string | null, options: { metadata?: Record<string, unknown> | null; kind?: "factual" | "episodic" | "procedural" | "semantic" | null; key?: string | null; expires_at?: string | null; occurred_at?: string | null; } = {}): Promise<types.UpdateResult> {
    return this.link.call(ROUTES["update"], { memory_id: memoryId, text: text, ...options }) as Promise<types.UpdateResult>;
  }

  /** Change up to 1,000 memories in one transaction; each item has the arguments of `update`. */
  updateMany(items: (Record<string, unknown>)[], options: { idempotency_key?: string; } = {}): Promise<types.UpdateBatchResult> {
    return this.link.call(ROUTES["update_many"], { items: items, ...options }) as Promise<types.UpdateBatchResult>;
  }

  /** Delete a memory; its history stays. Raise `NotFoundError` if there is none. */
  delete(memoryId: string, options: { dry_run?: boolean; } = {}): Promise<types.DeleteResult> {
    return this.link.call(ROUTES["delete"], { memory_id: memoryId, ...options }) as Promise<types.DeleteResult>;
  }

  /** Delete up to 1,000 memories in one transaction, with a result for each. */
  deleteMany(ids: string[], options: { idempotency_key?: string; dry_run?: boolean; } = {}): Promise<types.DeleteBatchResult> {
    return this.link.call(ROUTES["delete_many"], { ids: ids, ...options }) as Promise<types.DeleteBatchResult>;
  }

  /** Delete everything in a scope, in every layer. Returns `{"deleted": n}`. */
  deleteAll(options: { user_id?: string | number | null; agent_id?: string | number | null; run_id?: string | number | null; filters?: Record<string, unknown> | unknown[] | null; dry_run?: boolean; } = {}): Promise<types.DeleteAllResult> {
    return this.link.call(ROUTES["delete_all"], { ...options }) as Promise<types.DeleteAllResult>;
  }

  /** List everything that happened to a memory, oldest first; deleted memories keep their history. */
  history(memoryId: string): Promise<types.HistoryEvent[]> {
    return this.link.call(ROUTES["history"], { memory_id: memoryId }) as Promise<types.HistoryEvent[]>;
  }

  /** Explain why a memory is known: its words, the `turn` they come from, and every change with its reason. */
  explain(memoryId: string): Promise<types.Explanation> {
    return this.link.call(ROUTES["explain"], { memory_id: memoryId }) as Promise<types.Explanation>;
  }

  /** Count live memories (and how many of them are turns), events, full-text rows, vectors and queued work. */
  stats(): Promise<types.StoreStats> {
    return this.link.call(ROUTES["stats"], {  }) as Promise<types.StoreStats>;
  }

  /** Undo one change, or with `job_id` everything a job did; all of it or nothing. */
  undo(eventId?: string | null, options: { job_id?: string | null; } = {}): Promise<types.UndoResult> {
    return this.link.call(ROUTES["undo"], { event_id: eventId, ...options }) as Promise<types.UndoResult>;
  }

}
