/** Base of all errors: what went wrong, a stable code, and a hint that says what to do. */
export class MemstoneError extends Error {
  /** The stable name of the error, such as `not_found`. */
  readonly code: string;
  /** What to do about it; may be empty. */
  readonly hint: string;
  /** Whether the same call may succeed a moment later. */
  readonly retryable: boolean;
  /** The status of the answer; undefined if there was none. */
  readonly status: number | undefined;
  /** Under which the service logged it. */
  readonly requestId: string | undefined;
  /** What was wrong with which field. */
  readonly details: unknown[];
  /** Seconds after which the service wants to be asked again. */
  readonly retryAfter: number | undefined;

  constructor(message: string, options: FailureOptions = {}) {
    super(options.hint ? `${message} (${options.hint})` : message, options.cause ? { cause: options.cause } : undefined);
    this.name = new.target.name;
    this.code = options.code ?? "memstone_error";
    this.hint = options.hint ?? "";
    this.retryable = options.retryable ?? false;
    this.status = options.status;
    this.requestId = options.requestId;
    this.details = options.details ?? [];
    this.retryAfter = options.retryAfter;
  }
}

export interface FailureOptions {
  code?: string;
  hint?: string;
  retryable?: boolean;
  status?: number;
  requestId?: string;
  details?: unknown[];
  retryAfter?: number;
  cause?: unknown;
}
