import { describe, expect, test } from 'vitest';
import { fold } from '../../../src/domain/kernel/aggregate.ts';
import type { MessageEvent } from '../../../src/domain/kernel/events.ts';
import { type Message, message } from '../../../src/domain/message/message.ts';
import { type Engagement, recordEngagement } from '../../../src/domain/message/recipient-feedback.ts';
import { attemptStarted, messageAccepted, recipient } from '../../support/controls/message.ts';
import { contextAt } from '../../support/specification.ts';

const at = (second: number): string => new Date(Date.UTC(2026, 10, 21, 12, 0, second)).toISOString();
const about = { messageId: 'msg_1', contentId: 'content-1', recipientId: 'rcp_1' };
const SMTP = { code: 250, enhanced: '2.0.0', mx: null, tls: null, replyId: null };

const delivered: MessageEvent = {
  type: 'RecipientDelivered',
  data: { ...about, sequence: 4, attempt: 1, smtp: SMTP },
};

const evolve = (state: Message, events: readonly MessageEvent[], second: number): Message =>
  events.reduce((before, event) => message.evolve(before, event, contextAt(at(second))), state);

const ACCEPTED = [messageAccepted({ recipients: [recipient('rcp_1'), recipient('rcp_2')] })];
const SENDING = evolve(message.initial, [...ACCEPTED, attemptStarted(1, ['rcp_1'])], 0);
/** A message that was delivered at second 10. */
const DELIVERED = evolve(SENDING, [delivered], 10);

const open = (more: Partial<Engagement> = {}): Engagement => ({
  click: null,
  at: at(60),
  count: 1,
  machine: null,
  family: 'firefox',
  network: 'other',
  ...more,
});
const click = (link: number, links: number, more: Partial<Engagement> = {}): Engagement =>
  open({ click: { link, links, linkId: `link-${link}` }, ...more });

const record = (state: Message, ...engagements: readonly Engagement[]): readonly MessageEvent[] =>
  recordEngagement(state, { recipientId: 'rcp_1', engagements });

const told = (events: readonly MessageEvent[]) =>
  events.map(({ type, data }) => {
    const { first, machine } = data as { first?: true; machine?: string };
    return [type, first === true, machine ?? null];
  });

describe('an opening or a click', () => {
  test('is recorded with its program and network, and the first is marked', () => {
    expect(record(DELIVERED, open({ count: 3 }))).toEqual([
      {
        type: 'RecipientOpened',
        data: { ...about, sequence: 5, first: true, count: 3, client: 'firefox', network: 'other' },
      },
    ]);
    const [clicked] = record(DELIVERED, click(2, 9));
    expect(clicked).toMatchObject({ type: 'RecipientClicked', data: { first: true, link: 2, linkId: 'link-2' } });
  });

  test('is the first of its kind once for people and once for machines', () => {
    const first = record(DELIVERED, open(), open({ at: at(61), family: 'chrome' }), open({ machine: 'image_proxy' }));
    expect(told(first)).toEqual([
      ['RecipientOpened', true, null],
      ['RecipientOpened', true, 'image_proxy'],
      ['RecipientOpened', false, null],
    ]);
    const after = evolve(DELIVERED, first, 61);
    expect(told(record(after, open(), open({ machine: 'scanner' }), click(0, 5)))).toEqual([
      ['RecipientOpened', false, null],
      ['RecipientOpened', false, 'scanner'],
      ['RecipientClicked', true, null],
    ]);
  });

  test('changes neither the status of the recipient nor when it last changed', () => {
    const after = evolve(DELIVERED, record(DELIVERED, open(), click(0, 5)), 99);
    if (after.status === 'absent' || DELIVERED.status === 'absent') throw new Error('it is there');
    const [before] = DELIVERED.recipients;
    const engagement = {
      openedAt: at(99),
      clickedAt: at(99),
      machineOpenedAt: null,
      machineClickedAt: null,
      events: 2,
    };
    expect(after.recipients[0]).toEqual({ ...before, engagement });
    expect(after.recipients[1]).toEqual(DELIVERED.recipients[1]);
  });

  test('of a stranger, or of a message that does not exist, is not recorded', () => {
    expect(recordEngagement(DELIVERED, { recipientId: 'rcp_9', engagements: [open()] })).toEqual([]);
    expect(recordEngagement(message.initial, { recipientId: 'rcp_1', engagements: [open()] })).toEqual([]);
  });

  test('is not recorded beyond the two hundredth event of a recipient', () => {
    let state = DELIVERED;
    for (let turn = 0; turn < 30; turn += 1) {
      state = evolve(state, record(state, ...Array.from({ length: 9 }, () => open())), 70);
    }
    expect(state.status !== 'absent' && state.recipients[0]?.engagement.events).toBe(200);
    expect(record(state, open())).toEqual([]);
  });
});

describe('a machine is recognised', () => {
  test('by coming with the delivery', () => {
    const machines = [record(SENDING, open({ at: at(5) })), record(DELIVERED, open({ at: at(12) }))];
    for (const events of machines) expect(told(events)).toEqual([['RecipientOpened', true, 'at_delivery']]);
    expect(told(record(DELIVERED, open({ at: at(13) })))).toEqual([['RecipientOpened', true, null]]);
  });

  test('by following every link at once', () => {
    const all = [0, 1, 2].map((link) => click(link, 3, { at: at(60 + link) }));
    expect(told(record(DELIVERED, ...all, open()))).toEqual([
      ['RecipientClicked', true, 'every_link'],
      ['RecipientOpened', true, 'every_link'],
      ['RecipientClicked', false, 'every_link'],
      ['RecipientClicked', false, 'every_link'],
    ]);
  });

  test('by following five of many links at once', () => {
    const some = (count: number) => Array.from({ length: count }, (_, link) => click(link, 40));
    expect(told(record(DELIVERED, ...some(5))).every(([, , machine]) => machine === 'every_link')).toBe(true);
    expect(told(record(DELIVERED, ...some(4))).every(([, , machine]) => machine === null)).toBe(true);
  });

  test('not by following the only link, or all of them one after another', () => {
    expect(told(record(DELIVERED, click(0, 1)))).toEqual([['RecipientClicked', true, null]]);
    const slowly = [click(0, 2), click(1, 2, { at: at(64) })];
    expect(told(record(DELIVERED, ...slowly)).every(([, , machine]) => machine === null)).toBe(true);
  });

  test('without counting what a person does at the same time', () => {
    const filter = [click(0, 2, { family: 'chrome' }), click(1, 2, { family: 'chrome' })];
    expect(told(record(DELIVERED, ...filter, click(0, 2, { at: at(61) })))).toEqual([
      ['RecipientClicked', true, 'every_link'],
      ['RecipientClicked', false, 'every_link'],
      ['RecipientClicked', true, null],
    ]);
  });
});

test('engagement folds alike from the log', () => {
  const events = [...ACCEPTED, attemptStarted(1, ['rcp_1']), delivered];
  const recorded = events.map((event) => ({ ...event, metadata: contextAt(at(10)) })) as never;
  const folded = fold(message, recorded);
  expect(folded).toMatchObject({ recipients: [{ deliveredAt: at(10) }, { deliveredAt: null }] });
});
