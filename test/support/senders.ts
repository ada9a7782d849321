import { type ApiClient, eventually } from './api-client.ts';

export interface Sending {
  /** Ids of messages that were answered with 202, in order of acceptance. */
  readonly accepted: readonly string[];
  /** Resolves when all requests have ended, successfully or not. */
  readonly done: Promise<void>;
}

/** Sends `count` messages, `concurrency` at a time. Requests that fail because the service dies are not counted. */
export const sendMany = (api: ApiClient, count: number, concurrency = 16): Sending => {
  const accepted: string[] = [];
  let next = 0;
  const sender = async (): Promise<void> => {
    while (next < count) {
      const number = next++;
      const message = {
        from: 'Shop <shop@example.test>',
        to: `customer-${number}@example.net`,
        subject: `Order ${number}`,
        html: `<p>Order ${number}</p>`,
      };
      const answer = await api.post('/v1/messages/send', message).catch(() => undefined);
      if (answer?.status === 202) accepted.push(answer.body.id);
    }
  };
  return { accepted, done: Promise.all(Array.from({ length: concurrency }, sender)).then(() => undefined) };
};

/** Status of each message, from the API's list. */
export const statuses = async (api: ApiClient): Promise<ReadonlyMap<string, string>> => {
  const found = new Map<string, string>();
  let after = '';
  for (;;) {
    const { status, body } = await api.get(`/v1/messages?limit=100${after}`);
    if (status !== 200) throw new Error(`list answered ${status}`);
    for (const { id, status: each } of body.data) found.set(id, each);
    if (!body.has_more) return found;
    after = `&after=${encodeURIComponent(body.next_cursor)}`;
  }
};

/** Waits until each of these messages is delivered. @throws after `timeoutMs`, with those that are not. */
export const allDelivered = async (api: ApiClient, ids: readonly string[], timeoutMs: number): Promise<void> => {
  const missing = async (): Promise<readonly string[]> => {
    const now = await statuses(api).catch(() => new Map<string, string>());
    return ids.filter((id) => now.get(id) !== 'delivered').map((id) => `${id} ${now.get(id)}`);
  };
  await eventually(missing, (left) => left.length === 0, timeoutMs);
};
