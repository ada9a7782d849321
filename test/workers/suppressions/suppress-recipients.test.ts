import { describe, expect, test } from 'vitest';
import type { Origin } from '../../../src/commands/execute.ts';
import { removeSuppression } from '../../../src/commands/suppression.ts';
import type { EventStore } from '../../../src/domain/kernel/event-store.ts';
import { StoreUnavailable } from '../../../src/lib/async/async.ts';
import { createSuppressRecipients } from '../../../src/workers/create-workers.ts';
import { createInMemoryWebhookDeliveries } from '../../support/in-memory/webhook-deliveries.ts';
import { openDelivering as open, statuses, until } from '../delivering.ts';
import type { Service } from '../service.ts';
import { bounce, complain, suppressing, suppressions, unsubscribe } from './happenings.ts';

const ANN = 'ann@example.org';
const BULK = { stream: 'bulk' } as const;

const origin = ({ organizationId }: Service): Origin => ({
  actor: 'key:key_1',
  organizationId,
  environment: 'live',
  requestId: null,
  correlationId: 'test',
  causationId: 'test',
});

const react = async (service: Service): Promise<void> =>
  createSuppressRecipients(service.dependencies)(await suppressing(service));

const typesOf = async (service: Service): Promise<readonly string[]> =>
  (await suppressions(service)).map(({ type }) => type);

describe('a bounce for a bad address', () => {
  test('suppresses the next message to it, in any spelling, and no other', async () => {
    const service = await open();
    await bounce(service, await service.send(ANN), 'no_mailbox');
    service.workers().start();
    await until(async () => expect(await typesOf(service)).toEqual(['SuppressionAdded']));
    const id = await service.send(['Ann@Example.ORG', 'bob@example.org']);
    await until(async () => expect(await statuses(service, id)).toEqual(['suppressed', 'delivered']));
    expect((await service.message(id)).recipients[0]?.reason).toBe(
      'the address is suppressed: an earlier message to it bounced',
    );
    expect(service.sink.mails.map(({ to }) => to)).toEqual([['bob@example.org']]);
    const alone = await service.send(ANN);
    await until(async () => expect(await statuses(service, alone)).toEqual(['suppressed']));
    expect(await service.history(alone)).toEqual(['MessageAccepted', 'RecipientSuppressed']);
  });

  test('keeps the address and the server’s text outside the log', async () => {
    const service = await open();
    await bounce(service, await service.send(ANN), 'no_mailbox');
    await react(service);
    const [added] = await suppressions(service);
    const [cause] = await suppressing(service);
    expect(added).toMatchObject({
      data: { reason: 'bounce', scope: 'all', expiresAt: null, source: { eventId: cause?.id } },
      metadata: { actor: 'worker:suppress-recipients', $causationId: cause?.id, environment: 'live' },
    });
    expect(JSON.stringify(added)).not.toMatch(/ann|no such user/i);
    const contentId = added?.data.contentId ?? '';
    expect((await service.dependencies.contents.get([contentId])).get(contentId)).toEqual({
      kind: 'suppression',
      address: ANN,
      text: '5.1.1 no such user',
    });
  });
});

test.each(['mailbox_full', 'spam', 'policy', 'reputation', 'unknown'] as const)(
  'a bounce for %s suppresses no address',
  async (category) => {
    const service = await open();
    await bounce(service, await service.send(ANN), category);
    await createSuppressRecipients(service.dependencies)(
      (await service.dependencies.store.readAll({ limit: 100 })).events,
    );
    expect(await typesOf(service)).toEqual([]);
  },
);

describe('a recipient who unsubscribes', () => {
  test('from bulk mail still receives transactional mail', async () => {
    const service = await open();
    await unsubscribe(service, await service.send(ANN, 'live', 'News', BULK));
    await react(service);
    const [bulk, own] = [await service.send(ANN, 'live', 'News', BULK), await service.send(ANN)];
    service.workers().start();
    await until(async () => {
      expect(await statuses(service, own)).toEqual(['delivered']);
      expect(await statuses(service, bulk)).toEqual(['suppressed']);
    });
  });
});

describe('the environments', () => {
  test('are separate: a complaint in the test environment suppresses nothing in the live one', async () => {
    const service = await open();
    await complain(service, await service.send(ANN, 'test'));
    await react(service);
    const [simulated, live] = [await service.send(ANN, 'test'), await service.send(ANN)];
    service.workers().start();
    await until(async () => {
      expect(await statuses(service, simulated)).toEqual(['suppressed']);
      expect(await statuses(service, live)).toEqual(['delivered']);
    });
  });

  test('do not suppress sandbox addresses, which are listed but still sent to', async () => {
    const service = await open();
    service.workers().start();
    for (const round of [1, 2]) {
      const id = await service.send('complained@sandbox.outbox.test', 'test');
      await until(async () => expect([round, await statuses(service, id)]).toEqual([round, ['delivered']]));
      await until(async () => expect(await typesOf(service)).toEqual(['SuppressionAdded']));
    }
  });
});

describe('a repeated event', () => {
  test('is recorded once, whether one after the other or by two processes at the same moment', async () => {
    const service = await open();
    const id = await service.send(ANN);
    await bounce(service, id, 'no_domain');
    await complain(service, id);
    await Promise.all([react(service), react(service)]);
    await react(service);
    const added = await suppressions(service);
    expect(added.map(({ data }) => ('reason' in data ? data.reason : null)).sort()).toEqual(['bounce', 'complaint']);
  });

  test('does not undo a later removal from the list', async () => {
    const service = await open();
    await complain(service, await service.send(ANN));
    await react(service);
    service.system.shift(1);
    const [added] = await suppressions(service);
    const suppressionId = added?.data.suppressionId ?? '';
    await removeSuppression(service.dependencies, origin(service), { suppressionId, environment: 'live' });
    await react(service);
    expect(await typesOf(service)).toEqual(['SuppressionAdded', 'SuppressionRemoved']);
    service.system.shift(1000);
    await complain(service, await service.send(ANN));
    await react(service);
    expect((await typesOf(service)).at(-1)).toBe('SuppressionAdded');
  });
});

describe('a process that crashes in the middle', () => {
  test('before the suppression is in the log loses nothing', async () => {
    const service = await open();
    await bounce(service, await service.send(ANN), 'no_mailbox');
    const { store } = service.dependencies;
    let failures = 0;
    const failing: EventStore = {
      ...store,
      append: (append) => {
        if (!append.stream.startsWith('suppression-') || failures >= 2) return store.append(append);
        failures += 1;
        return Promise.reject(new StoreUnavailable('gone'));
      },
    };
    service.workers({ store: failing }).start();
    await until(async () => expect(await typesOf(service)).toEqual(['SuppressionAdded']));
    expect(failures).toBe(2);
  });

  test('after the append, before the checkpoint, adds no duplicate', async () => {
    const service = await open();
    await bounce(service, await service.send(ANN), 'no_mailbox');
    const deliveries = createInMemoryWebhookDeliveries();
    let failures = 0;
    const failing = {
      ...deliveries,
      record: (recording: Parameters<typeof deliveries.record>[0]) => {
        if (failures >= 2) return deliveries.record(recording);
        failures += 1;
        return Promise.reject(new Error('gone'));
      },
    };
    await service.webhook('http://127.0.0.1:9/', ['suppression.*']);
    service.workers({ webhookDeliveries: failing }).start();
    await until(async () => expect(await deliveries.checkpoint()).not.toBeNull());
    expect(failures).toBe(2);
    expect(await typesOf(service)).toEqual(['SuppressionAdded']);
  });
});

test('nothing is sent while the log cannot say who is suppressed', async () => {
  const service = await open();
  const { store } = service.dependencies;
  let isDown = true;
  const failing: EventStore = {
    ...store,
    readStream: (stream, options) =>
      isDown && stream.startsWith('suppression-')
        ? Promise.reject(new StoreUnavailable('gone'))
        : store.readStream(stream, options),
  };
  await complain(service, await service.send(ANN));
  await react(service);
  const id = await service.send(ANN);
  service.workers({ store: failing }).start();
  await until(() => expect(service.logger.said('error')).not.toEqual([]));
  expect(await statuses(service, id)).toEqual(['accepted']);
  isDown = false;
  await until(async () => expect(await statuses(service, id)).toEqual(['suppressed']));
  expect(service.sink.mails).toEqual([]);
});
