import { describe, expect, test } from 'vitest';
import type { MessageEvent } from '../../src/domain/kernel/events.ts';
import { SERVICE_SENDER } from '../../src/domain/message/events.ts';
import type { ListCursor, ListPage } from '../../src/lib/projections/projections.ts';
import { billedOn, billingProjection, billingUsage, listInvoicedMonths } from '../../src/projections/billing.ts';
import { messageAccepted, recipient } from '../support/controls/message.ts';
import { openApplied } from './support/applied.ts';
import { LATER_EVENTS, laterTypes } from './support/message-events.ts';

const NOVEMBER = { organizationId: 'org_mine', start: '2026-11-01', end: '2026-12-01' };
const TWO = [recipient('rcp_1'), recipient('rcp_2')];

describe('usage', () => {
  test('is zero, with no position, while nothing has happened', async () => {
    const { pool } = await openApplied(billingProjection);
    expect(await billingUsage(pool, NOVEMBER)).toEqual({
      billableRecipients: 0,
      byDay: [],
      countedUpTo: null,
      position: '',
    });
  });

  test('counts live recipients by UTC day of acceptance, for one organization and period', async () => {
    const { given, pool } = await openApplied(billingProjection);
    const send = (id: string, occurredAt: string, more: object = {}) =>
      given(`message-${id}`, [messageAccepted({ messageId: id, recipients: TWO })], { occurredAt, ...more });
    await send('msg_1', '2026-10-31T23:59:59.999Z');
    await send('msg_2', '2026-11-01T00:00:00.000Z');
    await send('msg_3', '2026-11-30T23:59:59.999Z');
    await send('msg_4', '2026-11-30T10:00:00.000Z');
    await send('msg_5', '2026-11-02T10:00:00.000Z', { environment: 'test' });
    await send('msg_6', '2026-11-02T10:00:00.000Z', { organizationId: 'org_other' });
    await send('msg_7', '2026-12-01T00:00:00.000Z');
    expect(await billingUsage(pool, NOVEMBER)).toMatchObject({
      billableRecipients: 6,
      byDay: [
        { date: '2026-11-01', billableRecipients: 2 },
        { date: '2026-11-30', billableRecipients: 4 },
      ],
      countedUpTo: '2026-12-01T00:00:00.000Z',
    });
  });

  test('counts test sends of templates, and leaves out notices of the service and those that failed', async () => {
    const { given, pool } = await openApplied(billingProjection);
    const at = { occurredAt: '2026-11-05T10:00:00.000Z' };
    await given('message-msg_1', [messageAccepted({ recipients: TWO, trial: true })], at);
    const notice = { messageId: 'msg_2', recipients: TWO, trial: true, keyId: SERVICE_SENDER } as const;
    await given('message-msg_2', [messageAccepted(notice)], at);
    const { data, ...failed } = LATER_EVENTS.RecipientFailed;
    await given('message-msg_2', [{ ...failed, data: { ...data, messageId: 'msg_2' } } as MessageEvent], at);
    expect((await billingUsage(pool, NOVEMBER)).billableRecipients).toBe(2);
  });

  const FREE = ['RecipientFailed', 'RecipientSuppressed'];
  for (const type of laterTypes) {
    test(`${FREE.includes(type) ? 'is credited back for' : 'does not change with'} ${type}, even days later`, async () => {
      const { given, pool } = await openApplied(billingProjection);
      await given('message-msg_1', [messageAccepted({ recipients: TWO })], { occurredAt: '2026-11-05T10:00:00.000Z' });
      await given('message-msg_1', [LATER_EVENTS[type]], { occurredAt: '2026-11-08T10:00:00.000Z' });
      const billableRecipients = FREE.includes(type) ? 1 : 2;
      const { byDay } = await billingUsage(pool, NOVEMBER);
      expect(byDay).toEqual([{ date: '2026-11-05', billableRecipients, after: expect.stringMatching(/^0+$/) }]);
    });
  }
});

describe('messages billed for days', () => {
  test('are those of the days from the first one to before the last one', async () => {
    const { given, pool } = await openApplied(billingProjection);
    const messageIds = ['msg_1', 'msg_2', 'msg_3'];
    for (const [index, id] of messageIds.entries())
      await given(`message-${id}`, [messageAccepted({ messageId: id, recipients: TWO })], {
        occurredAt: `2026-11-0${index + 1}T10:00:00.000Z`,
      });
    const billed = async (from: string | null, to: string | null): Promise<readonly string[]> => [
      ...(await billedOn(pool, { organizationId: 'org_mine', messageIds, from, to })),
    ];
    expect(await billed('2026-11-02', '2026-11-03')).toEqual(['msg_2']);
    expect((await billed(null, '2026-11-03')).toSorted()).toEqual(['msg_1', 'msg_2']);
    expect((await billed('2026-11-02', null)).toSorted()).toEqual(['msg_2', 'msg_3']);
  });
});

test('months with an invoice are listed page by page, the newest month first and each once', async () => {
  const { given, pool } = await openApplied(billingProjection);
  const months = ['2026-08', '2026-09', '2026-10'];
  for (const month of months) {
    const data = {
      ...{ organizationId: 'org_mine', invoiceId: `inv_${month}`, month, currency: 'EUR', lines: [], total: 0 },
      countedTo: { position: '', at: null },
    };
    await given(`invoice-inv_${month}`, [{ type: 'InvoiceClosed', data }]);
  }
  const listed: string[] = [];
  let after: ListCursor | null = null;
  do {
    const page: ListPage<string> = await listInvoicedMonths(pool, { organizationId: 'org_mine', limit: 1, after });
    listed.push(...page.items);
    after = page.next;
  } while (after !== null);
  expect(listed).toEqual(months.toReversed());
});
