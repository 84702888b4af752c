import { ServiceConnection, addressOf, type ConnectionOptions } from "./connection.js";
import { BackendUnavailable, MemstoneError } from "./errors.js";
import { eventsOf, linesOf } from "./streams.js";
import type * as types from "./types.js";
import { MemoryVerbs, ROUTES } from "./verbs.js";

/** A line of an export: the header, a version, a link, an event. */
export type ExportLine = Record<string, unknown>;

export interface StreamEventsOptions {
  user_id?: string;
  agent_id?: string;
  run_id?: string;
  /** The cursor after which to begin; 0 is everything. */
  after?: number;
  /** Ends the stream. */
  signal?: AbortSignal;
}

/** A request to a model through the gateway, as OpenAI's chat completions take it. */
export interface ChatRequest {
  model: string;
  messages: { role: string; content: unknown; [name: string]: unknown }[];
  [name: string]: unknown;
}

export interface ChatOptions {
  /** Further headers, such as `x-memstone-user`. */
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

const PAGE_CHARS = 1_000_000;
const RECONNECT_MS = 1_000;

/**
 * A memory in a service: `memstone serve` at `baseUrl`, used with a `key`.
 *
 * The methods have the names of the Python library, in the same groups, in camelCase; what a service takes and returns
 * keeps its names (`user_id`). Temporary failures are tried again where that is safe.
 */
export class Client extends MemoryVerbs {
  constructor(baseUrl: string, key: string, options: ConnectionOptions = {}) {
    super(new ServiceConnection(baseUrl, key, options));
  }

  /** Export every version, link and event of a scope, or with `everybody` of all, line by line as they come. */
  async *export(options: { user_id?: string; agent_id?: string; run_id?: string; everybody?: boolean } = {}): AsyncGenerator<ExportLine> {
    const { path } = addressOf(ROUTES.export, { ...options });
    const response = await this.link.open("GET", path, undefined, { headers: { accept: "application/x-ndjson" } });
    for await (const line of linesOf(response)) if (line.trim()) yield JSON.parse(line) as ExportLine;
  }

  /** Restore an export with ids and history; what already exists is left alone. */
  async load(records: AsyncIterable<ExportLine> | Iterable<ExportLine>): Promise<Record<string, number>> {
    const counts: Record<string, number> = {};
    let header: string | undefined;
    let page: string[] = [];
    let size = 0;
    let any = false;
    const send = async (): Promise<void> => {
      const body = [header, ...page].filter((line) => line !== undefined).join("\n") + "\n";
      const response = await this.link.open("POST", ROUTES.load.path, body, { headers: { "content-type": "application/x-ndjson" } });
      for (const [name, count] of Object.entries((await response.json()) as Record<string, number>)) {
        counts[name] = (counts[name] ?? 0) + count;
      }
      [page, size, any] = [[], 0, true];
    };
    for await (const record of records) {
      const line = JSON.stringify(record);
      if (header === undefined) {
        header = line;
        continue;
      }
      if (page.length && size + line.length > PAGE_CHARS) await send();
      page.push(line);
      size += line.length;
    }
    if (page.length || !any) await send();
    return counts;
  }

  /** Remove all memories of the tenant, with their history and indexes. */
  async reset(): Promise<void> {
    const me = (await this.link.call({ method: "GET", path: "/v1/me", repeatable: true }, {})) as { tenant_id: string };
    await this.link.call(ROUTES.reset, { confirm: me.tenant_id });
  }

  /** Stream what happens to memories. A stream that breaks off continues where it stopped. */
  async *streamEvents(options: StreamEventsOptions = {}): AsyncGenerator<types.FeedEvent> {
    const { signal, ...scope } = options;
    let after = options.after ?? 0;
    for (;;) {
      const { path } = addressOf({ method: "GET", path: "/v1/events/stream" }, { ...scope, after });
      try {
        const init = { headers: { accept: "text/event-stream" }, ...(signal ? { signal } : {}) };
        for await (const one of eventsOf(await this.link.open("GET", path, undefined, init))) {
          if (one.id === undefined) continue;
          after = Number(one.id);
          yield JSON.parse(one.data) as types.FeedEvent;
        }
      } catch (error) {
        if (signal?.aborted) return;
        if (error instanceof MemstoneError && !(error instanceof BackendUnavailable)) throw error;
      }
      if (signal?.aborted) return;
      await new Promise((resolve) => setTimeout(resolve, RECONNECT_MS));
    }
  }

  /** Ask a model through the gateway, which adds what is known and learns from what is said. */
  async chat(request: ChatRequest, options: ChatOptions = {}): Promise<Record<string, unknown>> {
    const response = await this.link.open("POST", "/v1/chat/completions", { ...request, stream: false }, options);
    return (await response.json()) as Record<string, unknown>;
  }

  /** The same, as a stream of the chunks that the model sends. */
  async *streamChat(request: ChatRequest, options: ChatOptions = {}): AsyncGenerator<Record<string, unknown>> {
    const init = { ...options, headers: { accept: "text/event-stream", ...options.headers } };
    const response = await this.link.open("POST", "/v1/chat/completions", { ...request, stream: true }, init);
    for await (const one of eventsOf(response)) {
      if (one.data === "[DONE]") return;
      yield JSON.parse(one.data) as Record<string, unknown>;
    }
  }
}
