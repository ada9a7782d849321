import { describe, expect, test } from 'vitest';
import type { Origin } from '../../../src/commands/execute.ts';
import { sendMessage } from '../../../src/commands/message/send-message.ts';
import { createOrganization } from '../../../src/commands/organization.ts';
import { registerWebhook } from '../../../src/commands/webhook.ts';
import { TTL_SECONDS_DEFAULT } from '../../../src/domain/message/retry-schedule.ts';
import type { WebhookAnswer, WebhookDeliveries, WebhookTarget } from '../../../src/domain/ports/webhooks.ts';
import { closedAfterTest } from '../../support/after-test.ts';
import { callerWith } from '../../support/controls/api-key.ts';
import { createInMemoryWebhookDeliveries } from '../../support/in-memory/webhook-deliveries.ts';
import { until } from '../delivering.ts';
import { openService, type Service } from '../service.ts';

const HANGING = 300;
const MESSAGES = 100;
const OWN_POSTS = 20;

/** The healthy endpoint. All others hang. */
const OWN_URL = 'http://127.0.0.1:9/own';

interface World {
  readonly service: Service;
  /** Rows requested and claims made in the database, in order. */
  readonly statements: { readonly rows: number; readonly mine: boolean }[];
  readonly hanging: Set<string>;
  readonly own: string[];
  sendOwn(): Promise<void>;
}

const NO_ANSWER: WebhookAnswer = { status: null, durationMs: 0, text: 'no answer', retryAfterSeconds: null };
const THANKS: WebhookAnswer = { ...NO_ANSWER, status: 200, text: 'thanks' };

/** A tenant with a healthy endpoint, and one with endpoints that hang until the test ends. */
const openWorld = async (): Promise<World> => {
  const statements: World['statements'] = [];
  const plain = createInMemoryWebhookDeliveries();
  const webhookDeliveries: WebhookDeliveries = {
    ...plain,
    record: (recording) => {
      const { owed, owedLater = [] } = recording;
      const mine = owed.some(({ event }) => event.organizationId === organizationId);
      statements.push({ rows: owed.length + owedLater.length, mine });
      return plain.record(recording);
    },
    claim: async (...asked) => {
      const claimed = await plain.claim(...asked);
      statements.push({
        rows: claimed.length,
        mine: claimed.some(({ event }) => event.organizationId === organizationId),
      });
      return claimed;
    },
  };
  const service = closedAfterTest(await openService({ webhookDeliveries }));
  const organizationId = await createOrganization(service.context, { name: 'Own', ceilings: null });
  const ended = Promise.withResolvers<WebhookAnswer>();
  const hanging = new Set<string>();
  const own: string[] = [];
  const webhookTarget: WebhookTarget = {
    ...service.context.webhookTarget,
    post: ({ url, headers }) => {
      const id = headers['webhook-id'] ?? '';
      if (url === OWN_URL) {
        own.push(id);
        return Promise.resolve(THANKS);
      }
      hanging.add(`${url} ${id}`);
      return ended.promise;
    },
  };
  closedAfterTest({ close: async () => ended.resolve(NO_ANSWER) });
  service.workers({ webhookTarget }).start();
  const origin: Origin = {
    ...{ actor: 'operator', organizationId, environment: 'test', requestId: null },
    ...{ correlationId: 'test', causationId: 'test' },
  };
  const caller = callerWith({ keyId: 'key_1', organizationId, environment: 'test', permissions: ['send'] });
  await registerWebhook(service.context, origin, {
    ...{ url: OWN_URL, events: ['message.accepted'], environment: 'test', description: null },
  });
  return {
    service,
    statements,
    hanging,
    own,
    sendOwn: async () => {
      await sendMessage(service.context, origin, caller, {
        ...{ body: null, idempotencyKey: null },
        draft: {
          ...{ from: { address: 'shop@example.test' }, recipients: [{ address: 'ann@example.org', kind: 'to' }] },
          ...{ replyTo: [], subject: 'Hello', text: 'Hello', headers: {}, attachments: [], tags: [], metadata: {} },
          ...{ stream: 'transactional', ttlSeconds: TTL_SECONDS_DEFAULT },
        },
      });
    },
  };
};

/** Number of statements until each of the healthy tenant's events has been posted, one after the other. */
const statementsForOwn = async ({ statements, own, sendOwn }: World): Promise<number> => {
  await sendOwn();
  await until(() => expect(own).toHaveLength(1)); // the endpoint is known to work
  const before = statements.length;
  for (let count = 2; count <= OWN_POSTS; count += 1) {
    await sendOwn();
    await until(() => expect(own).toHaveLength(count));
  }
  return statements.slice(before).filter(({ rows }) => rows > 0).length;
};

/** @returns the id of the last hanging endpoint. */
const attack = async ({ service, hanging }: World): Promise<string> => {
  let last = '';
  for (let count = 0; count < HANGING; count += 1) {
    const { webhook } = await service.webhook(`http://127.0.0.1:9/hangs/${count}`, ['message.*'], 'test');
    last = webhook.webhookId;
  }
  await Promise.all(Array.from({ length: MESSAGES }, (_, count) => service.send(`u${count}@example.org`, 'test')));
  await until(() => expect(hanging.size).toBe(64)); // its full share
  return last;
};

describe('300 endpoints of one organization that never answer', () => {
  test('use only their own share of posts, and those of another take at most 3 times the statements', async () => {
    const alone = await statementsForOwn(await openWorld());
    const beside = await openWorld();
    await attack(beside);
    expect(await statementsForOwn(beside)).toBeLessThanOrEqual(3 * alone);
    expect(beside.hanging.size).toBe(64);
    expect(beside.own).toHaveLength(OWN_POSTS);
  });

  test('cause at most 250 deliveries and a row for 50 events in a statement that records deliveries to others', async () => {
    const world = await openWorld();
    await attack(world);
    await world.sendOwn();
    await until(() => expect(world.own).toHaveLength(1));
    const recorded = world.statements.filter(({ rows }) => rows > 64);
    for (const { rows } of recorded) expect(rows).toBeLessThanOrEqual(250 + (3 * MESSAGES) / 50 + 3);
  });

  test('are still owed every event', async () => {
    const world = await openWorld();
    const webhookId = await attack(world);
    const { webhookDeliveries } = world.service.dependencies;
    await until(async () => expect(await webhookDeliveries.pendingOf(webhookId, 1_000)).toBe(3 * MESSAGES));
    expect(await webhookDeliveries.owedEvents('')).toBeNull();
  });
});
