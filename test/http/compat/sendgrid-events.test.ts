import { describe, expect, test } from 'vitest';
import { SENDGRID_EVENTS } from '../../../src/domain/webhook/sendgrid.ts';
import { postOf } from '../../../src/http/compat/webhook-formats.ts';
import type { SerializedEvent } from '../../../src/http/resources/events/serialize-events.ts';
import { useTenant } from './tenant.ts';

const { now } = useTenant();

const SMTP = { ...{ code: 250, enhanced: '2.0.0', text: 'Ok', mx: 'mx.example.net', tls: 'TLSv1.3' } };
const smtp = { ...SMTP, cipher: null, policy: null, address: '192.0.2.25', stage: null };
const refusal = { ...smtp, code: 550, enhanced: '5.1.1', text: 'no such user', tls: null };

const eventOf = (type: string, data: object = {}): SerializedEvent =>
  ({
    ...{ id: 'evt_1', object: 'event', type, timestamp: '2026-01-31T12:00:00.500Z', environment: 'live', sequence: 1 },
    data: {
      message_id: 'msg_1',
      recipient: { id: 'rcp_1', address: 'ann@example.net', kind: 'to' },
      tags: [
        { name: 'category', value: 'news' },
        { name: 'order', value: '7' },
        { name: 'category', value: 'spring' },
      ],
      metadata: { customer: '42', email: 'eve@example.net', event: 'open', __proto__: 'x' },
      ...data,
    },
  }) as unknown as SerializedEvent;

const COMMON = {
  customer: '42',
  email: 'ann@example.net',
  timestamp: 1_769_860_800,
  category: ['news', 'spring'],
  sg_event_id: 'evt_1',
  sg_message_id: 'msg_1',
};

describe('an event in the format of SendGrid', () => {
  test.each([
    ['message.accepted', {}, { event: 'processed' }],
    ['message.delivered', { smtp }, { event: 'delivered', response: '250 2.0.0 Ok', ip: '192.0.2.25', tls: 1 }],
    [
      'message.deferred',
      { smtp: { ...refusal, code: 451, enhanced: null }, attempt: 3 },
      { event: 'deferred', attempt: '3', response: '451 no such user', ip: '192.0.2.25', tls: 0 },
    ],
    ['message.deferred', { attempt: 1 }, { event: 'deferred', attempt: '1', response: '', tls: 0 }],
    [
      'message.bounced',
      { smtp: refusal, reason: 'refused', category: 'no_mailbox' },
      {
        ...{ event: 'bounce', type: 'bounce', reason: '550 5.1.1 no such user', status: '5.1.1' },
        ...{ bounce_classification: 'Invalid Address', ip: '192.0.2.25', tls: 0 },
      },
    ],
    [
      'message.bounced',
      { reason: 'refused', category: 'spam' },
      {
        ...{
          event: 'bounce',
          type: 'blocked',
          reason: 'refused',
          status: '',
          bounce_classification: 'Content',
          tls: 0,
        },
      },
    ],
    ['message.expired', { reason: 'late' }, { event: 'bounce', type: 'blocked', reason: 'late', status: '' }],
    ['message.failed', { reason: 'why' }, { event: 'dropped', reason: 'why' }],
    ['message.suppressed', { reason: 'why' }, { event: 'dropped', reason: 'why' }],
    ['message.opened', { machine: true }, { event: 'open', sg_machine_open: true }],
    ['message.clicked', { url: 'https://a.test/' }, { event: 'click', url: 'https://a.test/' }],
    ['message.complained', {}, { event: 'spamreport' }],
    ['message.unsubscribed', { method: 'link' }, { event: 'unsubscribe' }],
  ])('%s %j', (type, data, shown) => {
    expect(postOf({ event: eventOf(type, data), head: null }, 'sendgrid')).toEqual([{ ...COMMON, ...shown }]);
  });

  test('leaves out what was erased, and events that SendGrid does not have', () => {
    const erased = { recipient: { id: 'rcp_1', address: null, kind: null }, tags: [], metadata: {}, url: null };
    const { customer: _, category: __, ...left } = COMMON;
    expect(postOf({ event: eventOf('message.clicked', erased), head: null }, 'sendgrid')).toEqual([
      { ...left, email: '', event: 'click', url: '' },
    ]);
    for (const type of ['webhook.ping', 'message.sending', 'constructor', 'domain.verified'])
      expect(postOf({ event: eventOf(type), head: null }, 'sendgrid')).toEqual([]);
    const event = eventOf('message.clicked');
    expect(postOf({ event, head: null }, undefined)).toBe(event);
  });
});

describe('a webhook in the format of SendGrid', () => {
  const URL = 'http://127.0.0.1:9/';
  const create = (payload: object) =>
    now.service.request({ method: 'POST', url: '/v1/webhooks', key: now.key, payload: { url: URL, ...payload } });

  test('shows its format, and its verification key once', async () => {
    const answer = await create({ events: ['message.delivered'], format: 'sendgrid' });
    expect(answer.statusCode).toBe(201);
    const { id, secret, verification_key: key } = answer.json();
    expect([answer.json().format, secret, key]).toEqual([
      'sendgrid',
      expect.stringMatching(/^whsec_/),
      expect.stringMatching(/^MFkw/),
    ]);
    const url = `/v1/webhooks/${id}`;
    const shown = (await now.service.request({ url, key: now.key })).json();
    expect([shown.format, 'verification_key' in shown, 'secret' in shown]).toEqual(['sendgrid', false, false]);
    const rotated = await now.service.request({
      method: 'POST',
      url: `${url}/rotate-secret`,
      key: now.key,
      payload: {},
    });
    expect(rotated.json().verification_key).toMatch(/^MFkw/);
    expect(rotated.json().verification_key).not.toBe(key);

    const patch = (payload: object) => now.service.request({ method: 'PATCH', url, key: now.key, payload });
    expect((await patch({ events: [...SENDGRID_EVENTS] })).statusCode).toBe(200);
    for (const events of [['message.*'], ['message.sending'], ['message.delivered', 'domain.verified']])
      expect((await patch({ events })).json().error.details.events[0]).toContain(
        'events must be among message.accepted',
      );
    expect((await patch({ format: 'outbox' })).json().error.details).toHaveProperty('format');
  });

  test('has no verification key in another format', async () => {
    for (const more of [{}, { format: 'outbox' }, { format: null }]) {
      const { format, verification_key: key } = (await create({ events: ['message.*'], ...more })).json();
      expect([format, key]).toEqual(['outbox', null]);
    }
  });

  test.each([
    [{ events: ['message.*'], format: 'sendgrid' }, 'events'],
    [{ events: ['message.sending'], format: 'sendgrid' }, 'events'],
    [{ events: ['message.delivered'], format: 'postmark' }, 'format'],
    [{ events: ['message.delivered'], format: 'constructor' }, 'format'],
    [{ events: ['message.delivered'], format: 'sendgrid\r\n' }, 'format'],
    [{ events: ['message.delivered'], format: ['sendgrid'] }, 'format'],
    [{ events: ['message.delivered'], headers: { 'X-Twilio-Email-Event-Webhook-Signature': 'x' } }, 'headers'],
  ])('is not created from %j', async (payload, field) => {
    const answer = await create(payload);
    expect([answer.statusCode, Object.keys(answer.json().error.details)]).toEqual([400, [field]]);
  });
});
