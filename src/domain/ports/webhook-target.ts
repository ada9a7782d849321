/** PORT: outbound requests to customers' endpoints. Adapter: `adapters/webhook-target/http`. */
export interface WebhookTarget {
  /** The reason why a webhook cannot post to this URL, in one phrase; null if it can. */
  problemWith(url: string): Promise<string | null>;
  /** Sends one POST: no redirects, at most 1 kB of the response is read, and every resolved address must be allowed. */
  post(request: WebhookPost): Promise<WebhookAnswer>;
  close(): Promise<void>;
}

export interface WebhookPost {
  /** Organizations share no connections, so that hanging connections of one delay no other. */
  readonly organizationId: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly timeoutMs: number;
}

export interface WebhookAnswer {
  /** HTTP status; null if there was no response. */
  readonly status: number | null;
  readonly durationMs: number;
  /** First 1 kB of the body, or the reason why there was none. */
  readonly text: string;
  /** Value of `Retry-After`, in seconds. */
  readonly retryAfterSeconds: number | null;
}
