import type { WebhookAnswer, WebhookTarget } from '../../../src/domain/ports/webhooks.ts';
import type { Ground } from '../ground.ts';
import type { Fate, Process } from '../process.ts';

/** The customers' endpoints. */
export interface Receiver {
  /** Number of posts by event id. */
  readonly posted: Map<string, number>;
}

export const createReceiver = (): Receiver => ({ posted: new Map() });

const answered = (status: number | null): WebhookAnswer => ({
  status,
  durationMs: 1,
  text: '',
  retryAfterSeconds: null,
});

/** The endpoints as accessed by one process. */
export const processWebhookTarget = (ground: Ground, { posted }: Receiver, process: Process): WebhookTarget => {
  const { faults, latencyMs } = ground;

  const fateOf = (timeoutMs: number): Fate =>
    faults.strikes('webhook unanswered')
      ? { arrivesAfterMs: latencyMs(), failure: { afterMs: timeoutMs, error: new Error('no answer') } }
      : ground.plainFate();

  const take = async (id: string): Promise<WebhookAnswer> => {
    if (faults.strikes('webhook fails')) return answered(503);
    posted.set(id, (posted.get(id) ?? 0) + 1);
    return answered(200);
  };

  return {
    problemWith: async () => null,
    post: async ({ headers, timeoutMs }) => {
      const id = headers['webhook-id'] ?? '';
      try {
        return await process.call({ what: `posts ${id}`, work: () => take(id), fate: fateOf(timeoutMs) });
      } catch {
        return answered(null);
      }
    },
    close: async () => undefined,
  };
};
