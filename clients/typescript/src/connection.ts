import { BackendRejected, BackendTimeout, BackendUnavailable, ConfigError, ERRORS, MemstoneError, TooManyRequests } from "./errors.js";

/** How a verb is asked for; the table of all of them is in `verbs.ts`. */
export interface Route {
  method: string;
  path: string;
  /** The one argument that is the whole body. */
  body?: string;
  /** The answer is this field of what is sent. */
  field?: string;
  /** Arguments of a POST or PUT that are sent in the query. */
  query?: readonly string[];
  /** The answer is null where the service answers 404. */
  noneIfMissing?: boolean;
  /** Twice is the same as once, so a failed call may be tried again. */
  repeatable?: boolean;
  /** It may take minutes. */
  long?: boolean;
}

export interface ConnectionOptions {
  /** Milliseconds for one request; long calls may take ten minutes. */
  timeout?: number;
  /** How often a failed call is tried again, where that is safe. */
  maxRetries?: number;
  /** Another `fetch`, for tests or proxies. */
  fetch?: typeof fetch;
}

type Arguments = Record<string, unknown>;

const LONG_MS = 600_000;
const FIRST_WAIT_MS = 250;
const MAX_WAIT_MS = 60_000;
const PASSING = new Set([408, 429, 502, 503, 504]);
const ALWAYS_SAFE = new Set([429, 503]);
const BATCH_PATH = "/v1/memories/batch";

/** The way to a service: one request for each call, tried again where that is safe. */
export class ServiceConnection {
  readonly #base: string;
  readonly #key: string;
  readonly #timeout: number;
  readonly #retries: number;
  readonly #fetch: typeof fetch;

  constructor(baseUrl: string, key: string, options: ConnectionOptions = {}) {
    this.#base = checkedAddress(baseUrl);
    if (!/^[\x20-\x7e]+$/.test(key)) {
      throw new ConfigError("the key contains a character that cannot be sent", { code: "config" });
    }
    this.#key = key;
    this.#timeout = options.timeout ?? 30_000;
    this.#retries = options.maxRetries ?? 2;
    this.#fetch = options.fetch ?? fetch;
  }

  /** Ask for a verb; return what the method of the Python library returns. */
  async call(route: Route, values: Arguments): Promise<unknown> {
    const { idempotency_key: key, ...rest } = values;
    const { path, body } = addressOf(route, rest);
    const headers: Record<string, string> = {};
    if (route.path === BATCH_PATH) headers["idempotency-key"] = String(key ?? crypto.randomUUID()); // once, though sent twice
    const response = await this.#sendWithRetries(route, path, body, headers);
    if (route.noneIfMissing && response.status === 404) return null;
    if (!response.ok) throw await failureOf(response);
    const answer = (await response.json()) as Record<string, unknown>;
    return route.field ? answer[route.field] : answer;
  }

  /** Open a stream; it is not tried again, and ends when `signal` says so. */
  async open(method: string, path: string, body?: unknown, init: { headers?: Record<string, string>; signal?: AbortSignal } = {}): Promise<Response> {
    const response = await this.#send(method, path, body, init.headers ?? {}, init.signal);
    if (!response.ok) throw await failureOf(response);
    return response;
  }

  async #sendWithRetries(route: Route, path: string, body: unknown, headers: Record<string, string>): Promise<Response> {
    const limit = route.long ? Math.max(this.#timeout, LONG_MS) : this.#timeout;
    for (let attempt = 0; ; attempt++) {
      const isLast = attempt >= this.#retries;
      let wanted = 0;
      try {
        const response = await this.#send(route.method, path, body, headers, AbortSignal.timeout(limit));
        wanted = retryAfter(response) ?? 0;
        const safe = route.repeatable || ALWAYS_SAFE.has(response.status);
        if (isLast || !safe || wanted * 1000 > MAX_WAIT_MS || !PASSING.has(response.status)) return response;
        await response.body?.cancel();
      } catch (error) {
        if (isLast || !(error instanceof MemstoneError) || !(route.repeatable || isNotSent(error))) throw error;
      }
      await pause(attempt, wanted);
    }
  }

  async #send(method: string, path: string, body: unknown, more: Record<string, string>, signal?: AbortSignal): Promise<Response> {
    const headers: Record<string, string> = { authorization: `Bearer ${this.#key}`, accept: "application/json", ...more };
    const init: RequestInit = { method, headers, redirect: "manual", ...(signal ? { signal } : {}) };
    if (body !== undefined) {
      headers["content-type"] ??= "application/json";
      init.body = typeof body === "string" ? body : JSON.stringify(body);
    }
    try {
      return await this.#fetch(this.#base + path, init);
    } catch (error) {
      if (error instanceof DOMException && error.name === "AbortError") throw error; // the caller's own wish
      const host = new URL(this.#base).host;
      if (error instanceof DOMException && error.name === "TimeoutError") {
        throw new BackendTimeout(`${host} did not answer in time`, { code: "backend_timeout", retryable: true, cause: error });
      }
      throw new BackendUnavailable(`${host} cannot be reached`, { code: "backend_unavailable", retryable: true, cause: error });
    }
  }
}

function checkedAddress(baseUrl: string): string {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  if (!url || !["http:", "https:"].includes(url.protocol) || url.username || url.search || url.hash) {
    throw new ConfigError("the address of the service must be http(s)://host, without a user or a query", { code: "config" });
  }
  return baseUrl.replace(/\/+$/, "");
}

/** Return the path of a call with its query, and its body. */
export function addressOf(route: Route, values: Arguments): { path: string; body: unknown } {
  const rest = new Map(Object.entries(values).filter(([, value]) => value !== undefined));
  let path = route.path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = String(rest.get(name));
    rest.delete(name);
    return encodeURIComponent(value);
  });
  const allInQuery = (route.method === "GET" || route.method === "DELETE") && route.path !== BATCH_PATH;
  const query = new URLSearchParams();
  for (const [name, value] of rest) {
    if (!allInQuery && !route.query?.includes(name)) continue;
    rest.delete(name);
    for (const one of Array.isArray(value) ? value : [value]) if (one !== null) query.append(name, String(one));
  }
  if (query.size) path += `?${query}`;
  if (route.body) return { path, body: rest.get(route.body) };
  const hasBody = route.method !== "GET" && (route.method !== "DELETE" || rest.size > 0);
  return { path, body: hasBody ? Object.fromEntries(rest) : undefined };
}

async function failureOf(response: Response): Promise<MemstoneError> {
  const body = await problemOf(response);
  const retry = retryAfter(response);
  const status = response.status;
  if (typeof body["code"] !== "string") {
    const text = `the service answered ${status}`;
    if (status === 429) return new TooManyRequests(text, { code: "too_many_requests", status, retryable: true, retryAfter: retry ?? 0 });
    const kind = PASSING.has(status) || status >= 500 ? BackendUnavailable : BackendRejected;
    return new kind(text, { code: status >= 500 ? "backend_unavailable" : "backend_rejected", status });
  }
  const inner = body["error"] as { details?: unknown[] } | undefined;
  const kind = ERRORS[body["code"]] ?? (status >= 500 ? BackendUnavailable : BackendRejected);
  const requestId = String(body["request_id"] ?? response.headers.get("x-request-id") ?? "");
  return new kind(String(body["detail"] ?? ""), {
    code: body["code"],
    hint: String(body["hint"] ?? ""),
    retryable: Boolean(body["retryable"]),
    status,
    details: inner?.details ?? [],
    ...(requestId ? { requestId } : {}),
    ...(retry === undefined ? {} : { retryAfter: retry }),
  });
}

async function problemOf(response: Response): Promise<Record<string, unknown>> {
  try {
    const body: unknown = await response.json();
    return typeof body === "object" && body !== null ? (body as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** Return the seconds that a service asks to wait: a number, or the time until a date. */
export function retryAfter(response: Response): number | undefined {
  const value = response.headers.get("retry-after");
  if (value === null) return undefined;
  const seconds = Number(value);
  if (Number.isFinite(seconds)) return Math.max(0, seconds);
  const until = Date.parse(value);
  return Number.isNaN(until) ? undefined : Math.max(0, (until - Date.now()) / 1000);
}

function isNotSent(error: MemstoneError): boolean {
  const cause = (error.cause as { cause?: { code?: string } } | undefined)?.cause;
  return ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT"].includes(cause?.code ?? "");
}

/** Wait before the next try: twice as long each time, with chance, and at least as long as the service asks. */
function pause(attempt: number, wanted: number): Promise<void> {
  const wait = Math.max(FIRST_WAIT_MS * 2 ** attempt * (0.5 + Math.random() / 2), wanted * 1000);
  return new Promise((resolve) => setTimeout(resolve, Math.min(wait, MAX_WAIT_MS)));
}
