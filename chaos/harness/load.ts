import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

/** A message for which a client got a 202. */
export interface AcceptedMessage {
  readonly id: string;
  /** RFC 5322 Message-ID with angle brackets. */
  readonly internetMessageId: string;
  /** Value of `X-Load` in the mail, the same for every repetition of the request. */
  readonly marker: string;
  readonly recipients: readonly string[];
}

/** A request that a client repeats until it gets a 202. */
interface Request {
  readonly path: string;
  readonly idempotencyKey: string;
  readonly body: unknown;
  readonly messages: readonly { readonly marker: string; readonly recipients: readonly string[] }[];
}

interface Answer {
  readonly id: string;
  readonly message_id: string;
}

/**
 * A client that sends messages, records which were accepted, and repeats other requests with the same Idempotency-Key.
 */
export interface Load {
  readonly accepted: readonly AcceptedMessage[];
  /** Markers of permanently rejected messages: their scheduled time had passed by the repetition. */
  readonly refused: readonly string[];
  /**
   * Sends messages to one recipient each, several at a time. @returns when every request has ended, accepted or not.
   */
  singles(count: number): Promise<void>;
  /** Like `singles`, in the bulk stream. */
  bulk(count: number): Promise<void>;
  /** Sends one message to several recipients. */
  toMany(recipients: number): Promise<void>;
  batch(count: number): Promise<void>;
  /** Sends one message scheduled this many seconds from now. */
  scheduled(seconds: number): Promise<void>;
  /** Number of requests that were neither accepted nor rejected yet. */
  pending(): number;
  /** Repeats pending requests until all have a response. @throws {Error} on time-out, with the last response. */
  settle(timeoutMs?: number): Promise<void>;
}

export interface LoadOptions {
  /** Called before every request, because a restarted service has another address. */
  baseUrl(): string;
  readonly key: string;
  readonly from: string;
}

/** Longer: waits for frozen processes. Shorter: mistakes a busy machine for a dead one. */
const REQUEST_MS = 10_000;
const SETTLE_MS = 60_000;
const AGAIN_MS = 200;
const CONCURRENCY = 8;

export const createLoad = ({ baseUrl, key, from }: LoadOptions): Load => {
  const accepted: AcceptedMessage[] = [];
  const refused: string[] = [];
  const pending = new Set<Request>();
  let lastProblem = '';

  const messageOf = (recipientsCount: number, more: object = {}) => {
    const marker = randomUUID();
    const recipients = Array.from({ length: recipientsCount }, (_, index) => `to-${index}-${marker}@example.net`);
    const body = {
      from,
      to: recipients,
      subject: `Load ${marker}`,
      text: `Hello\n.\nfrom ${marker}`,
      headers: { 'X-Load': marker },
      ...more,
    };
    return { marker, recipients, body };
  };

  const note = ({ messages }: Request, answers: readonly Answer[]): void => {
    for (const [index, { marker, recipients }] of messages.entries()) {
      const answer = answers[index];
      if (answer === undefined) throw new Error(`no answer about message ${index} of a batch`);
      accepted.push({ id: answer.id, internetMessageId: answer.message_id, marker, recipients });
    }
  };

  const take = (request: Request, status: number, text: string): void => {
    lastProblem = `${status} ${text}`;
    if (status !== 202 && status !== 422) return;
    pending.delete(request);
    if (status === 422) {
      refused.push(...request.messages.map(({ marker }) => marker));
      return;
    }
    const answer = JSON.parse(text) as Answer & { readonly data?: readonly Answer[] };
    note(request, answer.data ?? [answer]);
  };

  const ask = async (request: Request): Promise<void> => {
    const { path, idempotencyKey, body } = request;
    const response = await fetch(baseUrl() + path, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'idempotency-key': idempotencyKey,
      },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(REQUEST_MS),
    });
    take(request, response.status, await response.text());
  };

  const attempt = async (request: Request): Promise<void> => {
    pending.add(request);
    await ask(request).catch((error: unknown) => {
      lastProblem = error instanceof Error ? `${error} (${error.cause})` : String(error);
    });
  };

  const askAgain = async (): Promise<void> => {
    for (const each of [...pending]) await attempt(each);
  };

  const request = (path: string, messages: readonly ReturnType<typeof messageOf>[], body: unknown): Request => ({
    path,
    idempotencyKey: randomUUID(),
    body,
    messages: messages.map(({ marker, recipients }) => ({ marker, recipients })),
  });

  const single = (recipients: number, more?: object): Promise<void> => {
    const message = messageOf(recipients, more);
    return attempt(request('/v1/messages/send', [message], message.body));
  };

  const singles = async (count: number, more?: object): Promise<void> => {
    let left = count;
    const sender = async (): Promise<void> => {
      while (left-- > 0) await single(1, more);
    };
    await Promise.all(Array.from({ length: Math.min(CONCURRENCY, count) }, sender));
  };

  return {
    accepted,
    refused,
    singles: (count) => singles(count),
    bulk: (count) => singles(count, { stream: 'bulk' }),
    toMany: (recipients) => single(recipients),
    batch: (count) => {
      const messages = Array.from({ length: count }, () => messageOf(1));
      const body = { messages: messages.map(({ body: each }) => each) };
      return attempt(request('/v1/messages/batch', messages, body));
    },
    scheduled: (seconds) => single(1, { scheduled_at: new Date(Date.now() + seconds * 1000).toISOString() }),
    pending: () => pending.size,
    settle: async (timeoutMs = SETTLE_MS) => {
      const endMs = performance.now() + timeoutMs;
      await askAgain();
      while (pending.size > 0) {
        if (performance.now() > endMs) throw new Error(`${pending.size} requests are not answered: ${lastProblem}`);
        await sleep(AGAIN_MS);
        await askAgain();
      }
    },
  };
};
