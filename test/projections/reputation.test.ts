import { describe, expect, test } from 'vitest';
import type { MessageEvent } from '../../src/domain/kernel/events.ts';
import { reputationStream } from '../../src/domain/kernel/streams.ts';
import {
  countsOfSender,
  countsOfSources,
  pageOfCounts,
  reputationProjection,
} from '../../src/projections/reputation.ts';
import { messageAccepted } from '../support/controls/message.ts';
import { openApplied } from './support/applied.ts';
import { LATER_EVENTS, laterTypes } from './support/message-events.ts';
import { rowsOf } from './support/read-model-rows.ts';

const FROM = '2026-11-15';
const DAY = '2026-11-20T10:00:00.000Z';
const DOMAIN = { from: FROM, senderId: 'dom_1' };
const NONE = {
  senderId: 'dom_1',
  organizationId: 'org_mine',
  releasedAt: null,
  delivered: 0,
  bounced: 0,
  complained: 0,
};

const bounced = (more: object): MessageEvent => {
  const { type, data } = LATER_EVENTS.RecipientBounced;
  return { type, data: { ...data, category: 'no_mailbox', ...more } };
};

const open = async () => {
  const applied = await openApplied(reputationProjection);
  const { given, pool } = applied;
  return {
    ...applied,
    send: (id: string, data: object = {}, context: object = {}) =>
      given(`message-${id}`, [messageAccepted({ messageId: id, stream: 'bulk', ...data })], context),
    next: (id: string, event: MessageEvent, occurredAt = DAY, more: object = {}) =>
      given(`message-${id}`, [{ ...event, data: { ...event.data, messageId: id } } as MessageEvent], {
        occurredAt,
        ...more,
      }),
    release: (occurredAt: string) =>
      given(reputationStream('dom_1'), [{ type: 'SendingReleased', data: { domainId: 'dom_1' } }], { occurredAt }),
    counts: () => countsOfSender(pool, { organizationId: 'org_mine', ...DOMAIN }),
  };
};

describe('the outcomes of bulk mail', () => {
  test('do not count reports that others could have forged', async () => {
    const { send, next, counts } = await open();
    await send('msg_1');
    await next('msg_1', LATER_EVENTS.RecipientDelivered);
    await next('msg_1', bounced({ late: true, shared: true }));
    const { type, data } = LATER_EVENTS.RecipientComplained;
    await next('msg_1', { type, data: { ...data, shared: true } });
    expect(await counts()).toEqual(NONE);
  });

  for (const type of laterTypes) {
    test(`count ${type} as an outcome of its kind`, async () => {
      const { send, next, counts } = await open();
      await send('msg_1');
      await next('msg_1', type === 'RecipientBounced' ? bounced({}) : LATER_EVENTS[type]);
      const expected = {
        RecipientDelivered: 'delivered',
        RecipientBounced: 'bounced',
        RecipientComplained: 'complained',
      };
      const counted = (expected as Readonly<Record<string, string>>)[type];
      expect(await counts()).toEqual({ ...NONE, ...(counted === undefined ? {} : { [counted]: 1 }) });
    });
  }

  test('are counted for the address that all live mail was sent from', async () => {
    const { send, next, pool } = await open();
    const from = (event: MessageEvent, source: string): MessageEvent => {
      const { type, data } = event;
      const facts = 'smtp' in data ? { smtp: { ...data.smtp, source } } : { source };
      return { type, data: { ...data, ...facts } } as MessageEvent;
    };
    for (const id of ['msg_1', 'msg_2', 'msg_3']) await send(id, { stream: 'transactional' });
    await send('msg_4', {}, { environment: 'test' });
    for (const id of ['msg_1', 'msg_2']) await next(id, from(LATER_EVENTS.RecipientDelivered, '192.0.2.8'));
    await next('msg_1', from(LATER_EVENTS.RecipientComplained, '192.0.2.8'));
    await next('msg_2', from(bounced({ late: true }), '192.0.2.8'));
    await next('msg_3', from(bounced({}), '2001:db8::7'));
    await next('msg_4', from(LATER_EVENTS.RecipientDelivered, '192.0.2.8'), DAY, { environment: 'test' });
    await next('msg_3', from(LATER_EVENTS.RecipientDelivered, '192.0.2.9'), '2026-11-14T23:59:59.999Z');
    expect(await countsOfSources(pool, FROM)).toEqual([
      { source: '192.0.2.8', releasedAt: null, delivered: 1, bounced: 1, complained: 1 },
      { source: '2001:db8::7', releasedAt: null, delivered: 0, bounced: 1, complained: 0 },
    ]);
    const page = await pageOfCounts(pool, { from: FROM, after: '', limit: 10 });
    expect(page.map(({ senderId }) => senderId)).not.toContain('192.0.2.8');
  });

  test('exclude transactional mail and the test environment', async () => {
    const { send, next, counts } = await open();
    await send('msg_1', { stream: 'transactional' });
    await send('msg_2', {}, { environment: 'test' });
    await next('msg_1', LATER_EVENTS.RecipientDelivered);
    await next('msg_2', LATER_EVENTS.RecipientDelivered, DAY, { environment: 'test' });
    expect(await counts()).toBeNull();
  });

  test('count only bounces that blame the address, and late ones as no longer delivered', async () => {
    const { send, next, counts } = await open();
    for (const id of ['msg_1', 'msg_2', 'msg_3']) await send(id);
    await next('msg_1', LATER_EVENTS.RecipientDelivered);
    await next('msg_2', LATER_EVENTS.RecipientDelivered);
    await next('msg_3', bounced({ category: 'spam' }));
    expect(await counts()).toMatchObject({ delivered: 2, bounced: 0 });
    await next('msg_1', bounced({ late: true }), '2026-11-21T10:00:00.000Z');
    await next('msg_2', bounced({ late: true, category: 'policy' }), '2026-11-21T10:00:00.000Z');
    expect(await counts()).toMatchObject({ delivered: 0, bounced: 1 });
  });

  test('are counted by the day they became known, and restart with a release', async () => {
    const { send, next, counts, release } = await open();
    for (const id of ['msg_1', 'msg_2', 'msg_3']) await send(id);
    await next('msg_1', LATER_EVENTS.RecipientDelivered, '2026-11-14T23:59:59.999Z');
    expect(await counts()).toEqual(NONE);
    await next('msg_2', LATER_EVENTS.RecipientDelivered, '2026-11-15T00:00:00.000Z');
    expect(await counts()).toMatchObject({ delivered: 1 });
    await release('2026-11-15T00:00:01.234Z');
    await next('msg_3', LATER_EVENTS.RecipientDelivered, '2026-11-15T00:00:02.000Z');
    await next('msg_2', bounced({ late: true }), '2026-11-15T00:00:03.000Z');
    expect(await counts()).toEqual({ ...NONE, bounced: 1, releasedAt: '2026-11-15T00:00:01.234Z' });
  });

  test('have the same rows in one batch as event by event', async () => {
    const one = await open();
    await one.send('msg_1');
    await one.next('msg_1', LATER_EVENTS.RecipientDelivered);
    await one.release('2026-11-20T11:00:00.000Z');
    await one.next('msg_1', LATER_EVENTS.RecipientComplained);
    const { events, position } = await one.store.readAll({ limit: 100 });
    const other = await openApplied(reputationProjection);
    await other.apply({ ...other.lastBatch(), events, position });
    const rows = await rowsOf(other.pool, reputationProjection);
    expect(rows).toEqual(await rowsOf(one.pool, reputationProjection));
    expect(rows.reputation_counts).toEqual(['(dom_1,2026-11-20,0,0,1)', '(org_mine,2026-11-20,1,0,1)']);
  });

  test('are also counted for the organization, which is released separately', async () => {
    const { given, send, next, counts, release, pool } = await open();
    const all = () => countsOfSender(pool, { organizationId: 'org_mine', from: FROM, senderId: 'org_mine' });
    await send('msg_1');
    await send('msg_2', { domainId: 'dom_2' });
    await next('msg_1', LATER_EVENTS.RecipientDelivered);
    await next('msg_2', bounced({}));
    expect(await all()).toEqual({ ...NONE, senderId: 'org_mine', delivered: 1, bounced: 1 });
    await release('2026-11-20T11:00:00.000Z');
    expect(await counts()).toMatchObject({ delivered: 0 });
    expect(await all()).toMatchObject({ delivered: 1, bounced: 1, releasedAt: null });
    const releasedAt = '2026-11-20T12:00:00.000Z';
    await given(
      reputationStream('org_mine'),
      [{ type: 'OrganizationSendingReleased', data: { organizationId: 'org_mine' } }],
      { occurredAt: releasedAt },
    );
    await next('msg_1', LATER_EVENTS.RecipientComplained);
    expect(await all()).toEqual({ ...NONE, senderId: 'org_mine', complained: 1, releasedAt });
    expect(await counts()).toMatchObject({ complained: 1 });
  });

  test('are listed page by page, with organizations where more than one domain sent any', async () => {
    const { send, pool } = await open();
    for (const domainId of ['dom_3', 'dom_1', 'dom_2']) await send(`msg_${domainId}`, { domainId });
    await send('msg_4', { domainId: 'dom_4' }, { organizationId: 'org_small' });
    const page = async (after: string) =>
      (await pageOfCounts(pool, { from: FROM, after, limit: 2 })).map(({ senderId }) => senderId);
    expect(await page('')).toEqual(['dom_1', 'dom_2']);
    expect(await page('dom_2')).toEqual(['dom_3', 'dom_4']);
    expect(await page('dom_4')).toEqual(['org_mine']);
  });
});
