/** PORT: the way out to customers' endpoints. Adapter: `adapters/webhook-target/http`. */
export interface WebhookTarget {
  /** Why a webhook cannot post to this URL (one phrase), or null when it can. */
  problemWith(url: string): Promise<string | null>;
  /** One POST: no redirects, at most 1 kB of the answer read, refused unless every resolved address may be reached. */
  post(request: WebhookPost): Promise<WebhookAnswer>;
  close(): Promise<void>;
}

export interface WebhookPost {
  /** Organizations share no connections: those of one that hang delay no other. */
  readonly organizationId: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly timeoutMs: number;
}

export interface WebhookAnswer {
  /** HTTP status; null where none came. */
  readonly status: number | null;
  readonly durationMs: number;
  /** First 1 kB of the body, or why there was none. */
  readonly text: string;
  /** From `Retry-After`. */
  readonly retryAfterSeconds: number | null;
}
