import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { closePeriod } from '../../../src/commands/billing.ts';
import { changePlan, createOrganization } from '../../../src/commands/organization.ts';
import { BUILT_IN_PLANS, type Plan } from '../../../src/domain/billing/plan.ts';
import type { MessageEvent } from '../../../src/domain/kernel/events.ts';
import { messageStream } from '../../../src/domain/kernel/streams.ts';
import { SERVICE_SENDER } from '../../../src/domain/message/events.ts';
import { LATER_EVENTS } from '../../projections/support/message-events.ts';
import { messageAccepted, recipient } from '../../support/controls/message.ts';
import { contextAt } from '../../support/specification.ts';
import { type DatabaseService, startDatabaseService } from '../support/database-service.ts';
import { operator } from '../support/service.ts';

const plan = (id: string): Plan => ({ ...BUILT_IN_PLANS.default, id, name: id });
const PLANS = { ...BUILT_IN_PLANS, offered: [plan('first'), plan('second')] };
const MONTHS = ['2026-09', '2026-10', '2026-11'];

interface Line {
  readonly kind: string;
  readonly from: string;
  readonly to: string;
  readonly quantity: number;
  readonly events: string | null;
}

let service: DatabaseService;
beforeAll(async () => {
  service = await startDatabaseService({ plans: PLANS });
});
afterAll(() => service.close());

/** An organization created in September, with another plan from the 16th on, and mail of all kinds. */
const open = async (name: string) => {
  const { context, readModels } = service.deps;
  const at = (time: string) => ({ ...context, system: { ...context.system, now: () => new Date(time) } });
  const organizationId = await createOrganization(at('2026-09-01T00:00:00.000Z'), { name, ceilings: null });
  const choose = (planId: string, time: string) =>
    changePlan(at(time), operator(organizationId), { planId, plans: PLANS });
  const domainId = await service.makeDomain(organizationId, `${name}.test`);
  const { value: key } = await service.makeKey(organizationId, domainId);

  const contentId = context.system.uuid(); // erased

  const append = async (id: string, time: string, event: MessageEvent, environment: 'live' | 'test' = 'live') => {
    const stream = messageStream(`msg_${name}${id}`);
    const last = (await context.store.readStream(stream)).at(-1);
    await context.store.append({
      stream,
      expected: last?.revision ?? 'no-stream',
      events: [{ ...event, id: context.system.uuid() }],
      context: { ...contextAt(`2026-${time}`, organizationId), environment },
    });
  };
  const accept = (id: string, time: string, recipients: number, more: { notice?: true; test?: true } = {}) => {
    const event = messageAccepted({
      messageId: `msg_${name}${id}`,
      contentId,
      domainId,
      recipients: Array.from({ length: recipients }, (_, number) => recipient(`rcp_${name}${id}${number}`)),
      ...(more.notice && { keyId: SERVICE_SENDER }),
    });
    return append(id, time, event, more.test ? 'test' : 'live');
  };
  const end = (type: 'RecipientFailed' | 'RecipientSuppressed', id: string, number: number, time: string) => {
    const recipientId = `rcp_${name}${id}${number}`;
    const { data, ...event } = LATER_EVENTS[type];
    return append(id, time, {
      ...event,
      data: { ...data, messageId: `msg_${name}${id}`, contentId, recipientId },
    } as MessageEvent);
  };
  const close = async (month: string): Promise<void> => {
    expect(await readModels.waitFor(['billing'], await context.store.head())).toBe(true);
    await closePeriod(context, { organizationId, month, count: readModels.billing.count });
  };
  const get = async (url: string) => (await service.request({ method: 'GET', url, key })).json();
  return { key, choose, accept, end, close, get };
};
type Open = Awaited<ReturnType<typeof open>>;

/** @param closes is called when a month would be closed, with the events logged by then. */
const live = async ({ choose, accept, end }: Open, closes: (month: string) => Promise<void>): Promise<void> => {
  await choose('first', '2026-09-01T00:00:00.000Z');
  await choose('second', '2026-09-16T08:00:00.000Z');
  await accept('none', '09-02T10:00:00.000Z', 1);
  await end('RecipientSuppressed', 'none', 0, '09-02T10:00:01.000Z');
  await accept('early', '09-05T10:00:00.000Z', 3);
  await accept('notice', '09-05T10:00:00.000Z', 2, { notice: true });
  await accept('test', '09-05T10:00:00.000Z', 2, { test: true });
  await accept('late', '09-16T00:00:00.000Z', 2);
  await end('RecipientFailed', 'early', 0, '09-20T10:00:00.000Z');
  await end('RecipientFailed', 'notice', 0, '09-20T10:00:00.000Z');
  await accept('next', '10-01T00:00:30.000Z', 2);
  await closes('2026-09');
  await end('RecipientFailed', 'early', 1, '10-05T10:00:00.000Z');
  await accept('slow', '09-30T23:59:59.999Z', 2);
  await end('RecipientSuppressed', 'next', 0, '10-06T10:00:00.000Z');
  await accept('after', '11-01T00:00:00.000Z', 5);
  await closes('2026-10');
  await end('RecipientFailed', 'late', 0, '11-02T10:00:00.000Z');
  await end('RecipientFailed', 'after', 0, '11-02T10:00:00.000Z');
  await closes('2026-11');
  await end('RecipientFailed', 'after', 1, '12-02T10:00:00.000Z');
};

/** All events of a link, page by page. */
const follow = async ({ get }: Open, url: string) => {
  const events: { readonly id: string; readonly type: string }[] = [];
  for (let page = await get(`${url}&limit=2`); ; ) {
    events.push(...page.data);
    if (page.has_more === false) return events;
    page = await get(`${url.replace(/&after=[^&]+/, '')}&limit=2&after=${page.next_cursor}`);
  }
};

const linesOf = async ({ get }: Open): Promise<readonly Line[]> =>
  (await get('/v1/billing/invoices')).data
    .toReversed()
    .flatMap(({ lines }: { readonly lines: readonly Line[] }) => lines.filter(({ kind }) => kind !== 'plan'));

/** Counts each line's events by following its link, and asserts that no event belongs to two lines. */
const counted = async (from: Open): Promise<readonly string[]> => {
  const shown: string[] = [];
  const seen = new Set<string>();
  for (const { kind, from: first, quantity, events: url } of await linesOf(from)) {
    const events = await follow(from, url ?? '');
    for (const { id } of events) {
      expect(seen.has(id)).toBe(false);
      seen.add(id);
    }
    const accepted = events.filter(({ type }) => type === 'message.accepted').length;
    shown.push(`${kind} of ${first}: ${quantity} = ${accepted} - ${events.length - accepted}`);
  }
  return shown;
};

describe('the link of an invoice line', () => {
  test('leads to exactly the events that it counts, also after a change of plan and of earlier months', async () => {
    const opened = await open('monthly');
    await live(opened, opened.close);
    expect(await counted(opened)).toEqual([
      'recipients of 2026-09-01: 2 = 4 - 2',
      'recipients of 2026-09-16: 2 = 2 - 0',
      'recipients of 2026-10-01: 1 = 2 - 1',
      'late_recipients of 2026-09-01: -1 = 0 - 1',
      'late_recipients of 2026-09-16: 2 = 2 - 0',
      'recipients of 2026-11-01: 4 = 5 - 1',
      'late_recipients of 2026-09-16: -1 = 0 - 1',
    ]);
  });

  test('does so if months are closed long after their end', async () => {
    const opened = await open('belated');
    await live(opened, async () => undefined);
    for (const month of MONTHS) await opened.close(month);
    expect(await counted(opened)).toEqual([
      'recipients of 2026-09-01: 1 = 4 - 3',
      'recipients of 2026-09-16: 3 = 4 - 1',
      'recipients of 2026-10-01: 1 = 2 - 1',
      'recipients of 2026-11-01: 3 = 5 - 2',
    ]);
  });

  test('has bounds that pages accept and streams refuse', async () => {
    const { get, key } = await open('bounds');
    for (const bad of ['billed_from=1969-12-31', 'billed_to=2026-02-30']) {
      expect((await get(`/v1/events?${bad}`)).error.code).toBe('invalid_request');
    }
    const headers = { accept: 'text/event-stream' };
    const streamed = await service.request({ method: 'GET', url: '/v1/events?billed_from=2026-09-01', key, headers });
    expect([streamed.statusCode, Object.keys(streamed.json().error.details)]).toEqual([400, ['billed_from']]);
  });
});
