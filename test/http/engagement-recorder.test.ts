import { setTimeout as sleep } from 'node:timers/promises';
import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { sendMessage } from '../../src/commands/message/send-message.ts';
import { createOrganization } from '../../src/commands/organization.ts';
import { messageStream } from '../../src/domain/kernel/streams.ts';
import { createEngagementRecorder } from '../../src/http/engagement-recorder.ts';
import { StoreUnavailable } from '../../src/lib/async/async.ts';
import { callerWith } from '../support/controls/api-key.ts';
import { createInMemoryContents } from '../support/in-memory/contents.ts';
import { createInMemorySecrets } from '../support/in-memory/secrets.ts';
import { silentLogger } from '../support/logger.ts';
import { createShiftableSystem } from '../workers/shiftable-system.ts';
import { createMemoryStore, operator } from './support/service.ts';

const OPENING = {
  click: null,
  at: '2026-01-01T00:00:00Z',
  count: 1,
  machine: null,
  family: 'other',
  network: 'other',
} as const;
const TIMES = { bufferMs: 20, coalesceMs: 600, tickMs: 5 };

/** A recorder, and a message that it can receive opens and clicks for. */
const open = async () => {
  let stoppedMs: number | null = null;
  const real = createShiftableSystem();
  const system = { ...real, monotonicMs: () => stoppedMs ?? real.monotonicMs() };
  const contents = createInMemoryContents();
  const store = createMemoryStore(contents);
  const secrets = createInMemorySecrets();
  let isAway = false;
  let refused = 0;
  const readStream: typeof store.readStream = async (...asked) => {
    if (!isAway) return store.readStream(...asked);
    refused += 1;
    throw new StoreUnavailable('away');
  };
  const context = { contents, store: { ...store, readStream }, secrets, system } as never;
  const organizationId = await createOrganization(context, { name: 'Test', ceilings: null });
  const caller = callerWith({ organizationId, permissions: ['send'] });
  const { message } = await sendMessage(context, operator(organizationId), caller, {
    draft: {
      from: { address: `a@${caller.domain.name}` },
      recipients: [{ address: 'b@example.org', kind: 'to' }],
      replyTo: [],
      subject: 'x',
      html: '<p>x</p>',
      headers: {},
      attachments: [],
      tags: [],
      metadata: {},
      stream: 'transactional',
      ttlSeconds: 3600,
      tracking: { opens: true, clicks: true },
    },
    body: {},
    idempotencyKey: null,
  });
  const { messageId } = message.accepted;
  const copy = { messageId, organizationId, recipientId: message.recipients[0]?.id ?? '' };
  const registry = new Registry();
  const recorder = createEngagementRecorder({ context, logger: silentLogger, registry, times: TIMES });
  const noteOf = (organizationId: string, more: object): void =>
    recorder.note({ ...copy, messageId: 'msg_aaaaaaaaaaaaaaaaaaaaaaaaaa', organizationId }, { ...OPENING, ...more });
  const note = (url: string | null = null, more: object = {}): void =>
    recorder.note(copy, {
      click: url === null ? null : { link: url.length, links: 9, url },
      at: new Date().toISOString(),
      count: 1,
      machine: null,
      family: 'firefox',
      network: 'other',
      ...more,
    });
  const recorded = async () =>
    (await store.readStream(messageStream(messageId)))
      .filter(({ type }) => type === 'RecipientOpened' || type === 'RecipientClicked')
      .map(({ type, data }) => ({ type, ...(data as { count: number; linkId?: string }) }));
  return {
    note,
    noteOf,
    recorded,
    recorder,
    registry,
    contents,
    copy,
    stopClock: () => {
      stoppedMs = real.monotonicMs();
    },
    pass: (ms: number) => {
      stoppedMs = system.monotonicMs() + ms;
    },
    /** Number of reads of the log while it was away. */
    refused: () => refused,
    away: (away: boolean) => {
      isAway = away;
    },
  };
};

/** Waits until `count` records exist. */
const until = async (count: number, recorded: () => Promise<readonly unknown[]>): Promise<void> => {
  for (let turn = 0; turn < 200 && (await recorded()).length < count; turn += 1) await sleep(10);
};

test('events that arrive together are recorded together, and one repeated within a minute once more at its end', async () => {
  const { note, recorded, recorder, stopClock, pass } = await open();
  stopClock();
  note();
  note();
  note('https://a.test/');
  pass(TIMES.bufferMs);
  await until(2, recorded);
  expect(await recorded()).toMatchObject([
    { type: 'RecipientOpened', count: 2, first: true },
    { type: 'RecipientClicked', count: 1, first: true },
  ]);
  note();
  note();
  note('https://another.test/');
  pass(TIMES.bufferMs);
  await until(3, recorded);
  expect((await recorded()).map(({ type }) => type)).toEqual([
    'RecipientOpened',
    'RecipientClicked',
    'RecipientClicked',
  ]);
  pass(TIMES.coalesceMs);
  await until(4, recorded);
  expect((await recorded())[3]).toMatchObject({ type: 'RecipientOpened', count: 2 });
  expect((await recorded())[3]).not.toHaveProperty('first');
  await recorder.close();
});

test('a repeated event waits for the end of its minute, whatever else the recipient does', async () => {
  const { note, recorded, recorder, stopClock, pass } = await open();
  stopClock();
  note();
  pass(TIMES.bufferMs);
  await until(1, recorded);
  note();
  note('https://a.test/');
  pass(TIMES.bufferMs);
  await until(2, recorded);
  note();
  note('https://another.test/');
  pass(TIMES.bufferMs);
  await until(3, recorded);
  expect((await recorded()).map(({ type }) => type)).toEqual([
    'RecipientOpened',
    'RecipientClicked',
    'RecipientClicked',
  ]);
  pass(TIMES.coalesceMs);
  await until(4, recorded);
  expect((await recorded())[3]).toMatchObject({ type: 'RecipientOpened', count: 2 });
  await recorder.close();
});

test('programs, networks and links are distinguished', async () => {
  const { note, recorded, recorder } = await open();
  note();
  note(null, { family: 'chrome' });
  note(null, { network: 'google' });
  note(null, { machine: 'scanner' });
  note('https://a.test/');
  note('https://ab.test/');
  await recorder.close();
  expect(await recorded()).toHaveLength(6);
});

test('the address of a link is in the vault, once, and not in the log', async () => {
  const { note, recorded, recorder, contents } = await open();
  note('https://a.test/?me=ann');
  note('https://a.test/?me=ann', { machine: 'scanner' });
  await recorder.close();
  const events = await recorded();
  expect(JSON.stringify(events)).not.toContain('a.test');
  const ids = new Set(events.map(({ linkId = '' }) => linkId));
  expect(ids.size).toBe(1);
  expect([...(await contents.get([...ids])).values()]).toMatchObject([{ kind: 'link', url: 'https://a.test/?me=ann' }]);
});

test('while the log is unavailable everything is kept, and recorded afterwards', async () => {
  const { note, recorded, recorder, away, refused } = await open();
  away(true);
  note();
  await expect.poll(refused).toBeGreaterThan(0);
  note();
  away(false);
  await until(1, recorded);
  expect(await recorded()).toMatchObject([{ type: 'RecipientOpened', count: 2 }]);
  await recorder.close();
});

test('an event that does not fit is lost, and counted; another organization has its share', async () => {
  const { note, noteOf, recorder, registry, away } = await open();
  away(true);
  for (let number = 0; number < 20_010; number += 1) note('https://a.test/', { machine: `reason ${number}` });
  expect(await registry.metrics()).toContain('outbox_engagements_lost_total 10');
  for (let number = 0; number < 5_000; number += 1) noteOf('org_other', { machine: `reason ${number}` });
  expect(await registry.metrics()).toContain('outbox_engagements_lost_total 10');
  await recorder.close();
});

test('events that were recorded leave their room to others', async () => {
  const { noteOf, recorder, registry } = await open();
  const noteAll = (): void => {
    for (let number = 0; number < 20_010; number += 1) noteOf('org_other', { machine: `reason ${number}` });
  };
  noteAll();
  await recorder.close();
  expect(await registry.metrics()).toMatch(/^outbox_engagements_lost_total 10$/m);
  noteAll();
  expect(await registry.metrics()).toMatch(/^outbox_engagements_lost_total 20$/m);
  await recorder.close();
});

test('an event that the log refuses for good is lost, and counted', async () => {
  const { note, recorder, registry, recorded } = await open();
  note(null, { family: 'unheard of' });
  await recorder.close();
  expect(await recorded()).toEqual([]);
  expect(await registry.metrics()).toContain('outbox_engagements_lost_total 1');
});

test('messages that do not exist are not recorded', async () => {
  const { recorder, recorded } = await open();
  recorder.note(
    { messageId: 'msg_aaaaaaaaaaaaaaaaaaaaaaaaaa', recipientId: 'rcp_1', organizationId: null },
    { click: null, at: new Date().toISOString(), count: 1, machine: null, family: 'other', network: 'other' },
  );
  await recorder.close();
  expect(await recorded()).toEqual([]);
});
