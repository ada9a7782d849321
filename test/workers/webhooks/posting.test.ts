import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { CustomerEvent } from '../../../src/domain/customer-events/customer-events.ts';
import { LOG_START } from '../../../src/domain/kernel/event-store.ts';
import type { Secrets } from '../../../src/domain/ports/secrets.ts';
import type { WebhookAnswer, WebhookPost } from '../../../src/domain/ports/webhooks.ts';
import { serializePosts } from '../../../src/http/compat/webhook-formats.ts';
import {
  createEndpoints,
  createReadyEndpoints,
  type Endpoints,
  owedDelivery,
} from '../../../src/workers/webhooks/endpoints.ts';
import { WEBHOOK_TIMES } from '../../../src/workers/webhooks/post-once.ts';
import { createPostWebhooks } from '../../../src/workers/webhooks/post-webhooks.ts';
import { createInMemoryWebhookDeliveries } from '../../support/in-memory/webhook-deliveries.ts';
import { createSteppableSystem } from '../../support/system.ts';
import { createRecordingLogger } from '../recording-logger.ts';
import { service } from './opened.ts';

/** Interval at which due deliveries are looked for. */
const POLL_MS = 500;

const OK: WebhookAnswer = { status: 204, durationMs: 1, text: '', retryAfterSeconds: null };

/** Enough turns of the event loop for anything that does not wait. */
const turns = async (): Promise<void> => {
  for (let count = 0; count < 50; count += 1) await turn();
};

interface Options {
  readonly webhooks?: number;
  secrets?(plain: Secrets): Pick<Secrets, 'get'>;
  post?(post: WebhookPost): Promise<WebhookAnswer>;
}

/** Posts to the endpoints of an organization, with a clock that only `system.advance` moves. */
const open = async ({ webhooks = 1, secrets = (plain) => plain, post = async () => OK }: Options = {}) => {
  const outbox = await service();
  const { context, dependencies, organizationId } = outbox;
  const system = createSteppableSystem({ start: context.system.now().toISOString() });
  const registered: string[] = [];
  for (let number = 0; number < webhooks; number += 1) {
    const { webhook } = await outbox.webhook(`http://127.0.0.1:9/${number}`, ['topic.*'], 'test');
    registered.push(webhook.webhookId);
  }
  const all = createEndpoints();
  const { events } = await context.store.readAll({ from: LOG_START, limit: 1_000 });
  for (const event of events) all.apply(event);
  let isDisabled = false;
  const endpoints: Endpoints = { ...all, get: (webhookId) => (isDisabled ? undefined : all.get(webhookId)) };
  const webhookDeliveries = createInMemoryWebhookDeliveries();
  const logger = createRecordingLogger();
  const posts: WebhookPost[] = [];
  const stop = new AbortController();
  const { posting, probing } = createPostWebhooks({
    ...{ system, logger, endpoints, webhookDeliveries, webhookTimes: WEBHOOK_TIMES },
    ...{ store: context.store, contents: dependencies.contents, readyEndpoints: createReadyEndpoints() },
    serializeEvents: serializePosts,
    serializeMail: dependencies.serializeMail,
    secrets: secrets(dependencies.secrets),
    webhookTarget: {
      ...dependencies.webhookTarget,
      post: async (one) => {
        posts.push(one);
        return post(one);
      },
    },
  });
  const start = (): Promise<unknown> => {
    const ended = Promise.all([posting, probing].map((work) => work(stop.signal, () => undefined)));
    onTestFinished(async () => {
      stop.abort();
      await turns();
      await system.advance(10_000);
      await ended;
    });
    return ended;
  };
  let position: string | null = null;
  /** Records so many events, each for all the endpoints. */
  const owe = async (count: number, prefix = 'evt'): Promise<void> => {
    const owed = Array.from({ length: count }, (_, index): CustomerEvent => {
      const about = { type: 'topic.created', subjectId: 'top_1', sequence: 1, contentId: null } as const;
      const at = { timestamp: system.now().toISOString(), organizationId, environment: null } as const;
      return { id: `${prefix}_${index}`, ...about, ...at, recipientId: null, facts: {} };
    }).flatMap((event) => registered.map((webhookId) => owedDelivery(event, webhookId)));
    const to = `${position ?? ''}1`;
    await webhookDeliveries.record({ logId: 'log', from: position, to, owed, now: system.now() });
    position = to;
  };
  return {
    ...{ system, logger, posts, stop, owe, start, outbox, webhookDeliveries },
    disable: () => {
      isDisabled = true;
    },
    eventIds: () => posts.map(({ headers }) => headers['webhook-id']),
    /** Ids of events that another process could claim now. */
    claimable: async (): Promise<readonly string[]> => {
      const wanted = registered.map((webhookId) => ({ webhookId, limit: 1_000 }));
      const now = system.now();
      return (await webhookDeliveries.claim(wanted, { now, leaseUntil: now })).map(({ event }) => event.id);
    },
  };
};

/** The vault without the values that `isMissing` selects, for as long as it does. */
const vaultWithout =
  (isMissing: () => boolean) =>
  (plain: Secrets): Pick<Secrets, 'get'> => ({ get: async (id) => (isMissing() ? undefined : plain.get(id)) });

describe('a webhook whose signing secret is not in the vault', () => {
  test('gets no post, which is reported, and gets it after the lease if the secret is back', async () => {
    let isMissing = true;
    const { owe, start, system, posts, logger, claimable } = await open({ secrets: vaultWithout(() => isMissing) });
    await owe(1);
    start();
    await turns();
    expect(posts).toEqual([]);
    expect(logger.said('error')).toEqual(['the vault has no signing secret or headers for this webhook']);
    isMissing = false;
    await system.advance(WEBHOOK_TIMES.leaseMs - 1);
    expect([posts, await claimable()]).toEqual([[], []]);
    await system.advance(1 + POLL_MS);
    await turns();
    expect(posts).toHaveLength(1);
    expect(posts[0]?.headers['webhook-signature']).toMatch(/^v1,\S{44}$/);
  });
});

describe('a fault of the vault', () => {
  test('delays only the deliveries that it concerns, and they are claimed again soon', async () => {
    let isAway = true;
    let failing: string | undefined;
    const { owe, start, system, eventIds, logger, posts } = await open({
      webhooks: 3,
      secrets: (plain) => ({
        get: async (id) => {
          failing ??= id;
          if (isAway && id === failing) throw new Error('the vault is away');
          return plain.get(id);
        },
      }),
    });
    await owe(1);
    start();
    await turns();
    expect(posts).toHaveLength(2);
    expect(logger.fieldsOf('warn')).toMatchObject([{ count: 1, err: new Error('the vault is away') }]);
    isAway = false;
    await system.advance(POLL_MS);
    await turns();
    expect(eventIds()).toEqual(['evt_0', 'evt_0', 'evt_0']);
    expect(new Set(posts.map(({ url }) => url)).size).toBe(3);
  });
});

describe('a claim', () => {
  test('keeps other processes away until its lease ends', async () => {
    const hanging = Promise.withResolvers<WebhookAnswer>();
    const { owe, start, system, claimable, posts } = await open({ post: () => hanging.promise });
    await owe(1);
    start();
    await turns();
    expect(posts).toMatchObject([{ timeoutMs: WEBHOOK_TIMES.postMs }]);
    await system.advance(WEBHOOK_TIMES.leaseMs - 1);
    expect(await claimable()).toEqual([]);
    hanging.resolve(OK);
    await turns();
    await system.advance(1);
    expect(await claimable()).toEqual([]);
  });

  test('of an endpoint that is disabled at that moment is left to its lease', async () => {
    const read = Promise.withResolvers<void>();
    const { owe, start, disable, claimable, system, posts, logger, webhookDeliveries } = await open();
    const { claim } = webhookDeliveries;
    Object.assign(webhookDeliveries, {
      claim: async (...asked: Parameters<typeof claim>) => {
        const claimed = await claim(...asked);
        if (claimed.length > 0) disable();
        read.resolve();
        return claimed;
      },
    });
    await owe(1);
    start();
    await read.promise;
    await turns();
    Object.assign(webhookDeliveries, { claim });
    expect([posts, await claimable(), logger.said('warn')]).toEqual([[], [], []]);
    await system.advance(WEBHOOK_TIMES.leaseMs);
    expect(await claimable()).toEqual(['evt_0']);
  });

  test('follows the other without a wait while an endpoint that succeeds is owed more', async () => {
    const { owe, start, eventIds, system } = await open();
    await owe(400);
    start();
    await turns();
    for (let waits = 0; waits < 3; waits += 1) await system.advance(POLL_MS); // until it is known to succeed
    for (let rounds = 0; rounds < 20; rounds += 1) await turns();
    expect(new Set(eventIds()).size).toBe(400);
    expect(eventIds()).toHaveLength(400);
  });
});

describe('a stop', () => {
  test('gives back what it has claimed and not started, at once', async () => {
    const hanging = Promise.withResolvers<WebhookAnswer>();
    let isHanging = false;
    const { owe, start, stop, system, posts, claimable } = await open({
      post: async () => (isHanging ? hanging.promise : OK),
    });
    await owe(1, 'first');
    const ended = start();
    await turns();
    expect(posts).toHaveLength(1);
    isHanging = true;
    await owe(20);
    await system.advance(POLL_MS);
    await turns();
    expect(posts).toHaveLength(9); // eight at a time
    expect(await claimable()).toEqual([]);
    stop.abort();
    await turns();
    hanging.resolve(OK);
    await ended;
    expect(await claimable()).toHaveLength(12);
    expect(posts).toHaveLength(9);
  });

  test('gives back what it was preparing, without a warning', async () => {
    const read = Promise.withResolvers<void>();
    const { owe, start, stop, posts, claimable, logger } = await open({
      secrets: (plain) => ({
        get: async (id) => {
          await read.promise;
          return plain.get(id);
        },
      }),
    });
    await owe(1);
    const ended = start();
    await turns();
    expect(await claimable()).toEqual([]);
    stop.abort();
    await turns();
    read.resolve();
    await ended;
    expect([posts, logger.said('warn')]).toEqual([[], []]);
    expect(await claimable()).toEqual(['evt_0']);
  });
});
