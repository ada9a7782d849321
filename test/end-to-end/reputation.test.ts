import { expect, test, vi } from 'vitest';
import { evaluateReputation, pauseBulkMail, releaseSending } from '../../src/commands/reputation.ts';
import type { MessageEvent } from '../../src/domain/kernel/events.ts';
import { reputationStream } from '../../src/domain/kernel/streams.ts';
import { LATER_EVENTS } from '../projections/support/message-events.ts';
import { closedAfterTest } from '../support/after-test.ts';
import { messageAccepted, recipient } from '../support/controls/message.ts';
import { openProjectedPostgres } from '../support/projected-postgres.ts';
import { slowness } from '../support/slowness.ts';
import { contextAt } from '../support/specification.ts';
import { openService } from '../workers/service.ts';
import { openSmtpSink } from '../workers/smtp-sink.ts';

/** Only a hang takes this long. */
const WAIT = { timeout: 60_000, interval: 50 };
/** How long mail may take once it may be sent. Called when it may. */
const within10Seconds = () => ({ timeout: 10_000 * slowness(), interval: 50 });

/** The service with its log, vault and read models in PostgreSQL. */
const open = async () => {
  const { contents, store, system, readModels } = await openProjectedPostgres();
  const sink = await openSmtpSink();
  closedAfterTest(sink);
  const service = await openService({
    store,
    contents,
    smtpUrl: sink.url,
    timetable: readModels.deliveries,
    heldMail: readModels.deliveries,
  });
  closedAfterTest(service);
  return { service, store, system, readModels, sink };
};

test('ten bounces of two hundred recipients pause their domain, based on the log and by one of two processes', async () => {
  const { service, store, system, readModels } = await open();
  const recipients = Array.from({ length: 200 }, (_, index) => recipient(`rcp_${index}`));
  const { RecipientBounced: bounced, RecipientDelivered: delivered } = LATER_EVENTS;
  const outcomes = recipients.map(({ id: recipientId }, index): MessageEvent => {
    if (index >= 10) return { ...delivered, data: { ...delivered.data, recipientId } };
    return { ...bounced, data: { ...bounced.data, recipientId, category: 'no_mailbox' } };
  });
  await store.append({
    stream: 'message-msg_1',
    expected: 'no-stream',
    context: contextAt(system.now().toISOString()),
    events: [messageAccepted({ stream: 'bulk', recipients }), ...outcomes].map((event) => ({
      ...event,
      id: system.uuid(),
    })),
  });
  const senders = {
    counts: readModels.reputation.page,
    limits: { bounces: [2, 4, 5], complaints: null },
  } as const;
  service.workers({ senders }).start();
  service.workers({ senders }).start();
  await vi.waitFor(
    async () =>
      expect(await store.readStream(reputationStream('dom_1'))).toMatchObject([
        { type: 'SendingPaused', data: { measure: 'bounces', count: 10, of: 200, limitPercent: 5 } },
      ]),
    WAIT,
  );
}, 300_000);

test('mail of a paused domain waits without being checked, and is sent within seconds of the release', async () => {
  const { service, sink } = await open();
  const { dependencies, organizationId } = service;
  const limits = { bounces: [2, 4, 5], complaints: null } as const;
  const counts = { releasedAt: null, delivered: 900, bounced: 100, complained: 0 };
  await evaluateReputation(dependencies, { domainId: 'dom_1', organizationId, counts, limits });
  service.workers().start();
  const ids: string[] = [];
  for (let number = 0; number < 120; number += 1) {
    ids.push(await service.send(`ann@d${number % 7}.example`, 'live', 'News', { stream: 'bulk' }));
  }
  const held = async (): Promise<number> =>
    (await Promise.all(ids.map((id) => service.message(id)))).filter(({ recipients }) => recipients[0]?.held !== null)
      .length;
  await vi.waitFor(async () => expect(await held()).toBe(120), WAIT);
  // Later mail that may be sent is delivered, and the held mail is not touched.
  const passing = await service.send('bob@d1.example', 'live', 'Receipt');
  await vi.waitFor(async () => expect((await service.history(passing)).at(-1)).toBe('RecipientDelivered'), WAIT);
  for (const id of ids) expect(await service.history(id)).toEqual(['MessageAccepted', 'RecipientsHeld']);
  expect(sink.mails).toHaveLength(1);
  const origin = { actor: 'operator', organizationId, environment: 'live', requestId: null } as const;
  await releaseSending(dependencies, { ...origin, correlationId: 'test', causationId: 'test' }, 'dom_1');
  await vi.waitFor(() => expect(sink.mails).toHaveLength(121), within10Seconds());
  expect(await service.history(ids[0] ?? '')).toEqual([
    ...['MessageAccepted', 'RecipientsHeld', 'AttemptStarted', 'RecipientDelivered'],
  ]);
}, 300_000);

test('bulk mail paused by a user waits, and is sent within seconds once it is resumed; other mail does not wait', async () => {
  const { service, sink } = await open();
  const { dependencies, organizationId } = service;
  const origin = { actor: 'operator', organizationId, environment: 'live', requestId: null } as const;
  const pause = (paused: boolean) =>
    pauseBulkMail(dependencies, { ...origin, correlationId: 'test', causationId: 'test' }, paused);
  service.workers().start();
  await pause(true);
  // Releasing a sender that was restricted for its rates does not release one that was paused manually.
  const counts = { releasedAt: null, delivered: 900, bounced: 100, complained: 0 };
  const limits = { bounces: [2, 4, 5], complaints: null } as const;
  await evaluateReputation(dependencies, { domainId: null, organizationId, counts, limits });
  await releaseSending(dependencies, { ...origin, correlationId: 'test', causationId: 'test' }, null);
  const bulk: string[] = [];
  for (let number = 0; number < 20; number += 1)
    bulk.push(await service.send(`ann@d${number % 3}.example`, 'live', 'News', { stream: 'bulk' }));
  await service.send('bob@d1.example', 'live', 'Receipt');
  await vi.waitFor(async () => {
    const held = await Promise.all(bulk.map((id) => service.message(id)));
    expect(held.map(({ recipients }) => recipients[0]?.held?.reason)).toEqual(bulk.map(() => 'bulk_mail_paused'));
  }, WAIT);
  await vi.waitFor(() => expect(sink.mails).toHaveLength(1), WAIT);
  // Accepted later, and sent before any of the paused mail.
  await service.send('bob@d2.example', 'live', 'Receipt');
  await vi.waitFor(() => expect(sink.mails).toHaveLength(2), WAIT);
  await pause(false);
  await vi.waitFor(() => expect(sink.mails).toHaveLength(22), within10Seconds());
}, 300_000);
