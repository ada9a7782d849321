import { afterEach, expect, test, vi } from 'vitest';
import { createPostgresContents } from '../../../src/adapters/contents/postgres.ts';
import { createPostgresEventStore } from '../../../src/adapters/event-store/postgres.ts';
import { createPool } from '../../../src/adapters/postgres/pool.ts';
import { createSystem } from '../../../src/adapters/system.ts';
import { eventCodec } from '../../../src/domain/codec.ts';
import type { MessageEvent } from '../../../src/domain/events.ts';
import { standingStream } from '../../../src/domain/standing/standing.ts';
import { createReadModels } from '../../../src/projections/read-models.ts';
import { createProjectionRunner, RUNNER_CONNECTIONS } from '../../../src/projections/runner.ts';
import { LATER_EVENTS } from '../../projections/support/message-events.ts';
import { messageAccepted, recipient } from '../../support/controls/message.ts';
import { silentLogger } from '../../support/logger.ts';
import { migratedDatabase } from '../../support/postgres.ts';
import { contextAt } from '../../support/specification.ts';
import { openService } from '../service.ts';

const closers: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

test('ten bounces of two hundred recipients pause their domain, by what the log says and by one process of two', async () => {
  const { url, drop } = await migratedDatabase();
  closers.push(drop);
  const system = createSystem();
  const logger = silentLogger;
  const store = await createPostgresEventStore({ url, codec: eventCodec, system, logger });
  const pool = createPool({ url, name: 'test', logger, max: RUNNER_CONNECTIONS + 5 });
  closers.push(() => pool.end());
  const service = await openService({ store, contents: createPostgresContents({ pool }) });
  closers.push(() => service.close());
  const stopping = new AbortController();
  const running = createProjectionRunner({ pool, store, system, logger }).run(stopping.signal);
  closers.push(() => {
    stopping.abort();
    return running;
  });
  const recipients = Array.from({ length: 200 }, (_, index) => recipient(`rcp_${index}`));
  const { RecipientBounced: bounced, RecipientDelivered: delivered } = LATER_EVENTS;
  const outcomes = recipients.map(({ id: recipientId }, index): MessageEvent => {
    if (index >= 10) return { ...delivered, data: { ...delivered.data, recipientId } };
    return { ...bounced, data: { ...bounced.data, recipientId, category: 'no_mailbox' } };
  });
  await store.append({
    ...{ stream: 'message-msg_1', expected: 'no-stream', context: contextAt(system.now().toISOString()) },
    events: [messageAccepted({ stream: 'bulk', recipients }), ...outcomes].map((event) => ({
      ...{ ...event, id: system.uuid() },
    })),
  });
  const senders = {
    counts: createReadModels({ pool, store, system }).standings.page,
    limits: { bounces: [2, 4, 5], complaints: null },
  } as const;
  service.workers({ senders }).start();
  service.workers({ senders }).start();
  await vi.waitFor(
    async () =>
      expect(await store.readStream(standingStream('dom_1'))).toMatchObject([
        { type: 'SendingPaused', data: { measure: 'bounces', count: 10, of: 200, limitPercent: 5 } },
      ]),
    { timeout: 20_000, interval: 100 },
  );
}, 45_000);
