import { Resend } from 'resend';
import { beforeAll, describe, expect, test } from 'vitest';
import { RESEND_EVENTS, RESEND_TYPES } from '../../../src/domain/webhook/resend.ts';
import { postOf } from '../../../src/http/compat/webhook-formats.ts';
import type { SerializedEvent } from '../../../src/http/resources/events/serialize-events.ts';
import { startDatabaseService } from '../support/database-service.ts';
import { useTenant } from './tenant.ts';

/** The published client, unmodified. */

const { now, ask } = useTenant(() => startDatabaseService());

let baseUrl: string;
beforeAll(async () => {
  baseUrl = `${await now.service.server.listen({ port: 0, host: '127.0.0.1' })}/compat/resend`;
});

const webhooks = (by = now.key) => new Resend(by, { baseUrl }).webhooks;
const ours = async (path: string) => (await now.service.request({ url: `/v1/webhooks/${path}`, key: now.key })).json();
const ENDPOINT = 'http://127.0.0.1:9/hook';

describe('webhooks', () => {
  test('create, get, list, update, rotateSigningSecret and remove', async () => {
    const { data: made, error } = await webhooks().create({
      endpoint: ENDPOINT,
      events: ['email.sent', 'email.failed', 'email.bounced'],
    });
    expect([error, made]).toEqual([
      null,
      { object: 'webhook', id: expect.stringMatching(/^whk_/), signing_secret: expect.stringMatching(/^whsec_/) },
    ]);
    const id = made?.id ?? '';
    expect(await ours(id)).toMatchObject({
      url: ENDPOINT,
      format: 'resend',
      events: ['message.accepted', 'message.failed', 'message.expired', 'message.bounced'],
    });
    const shown = { id, status: 'enabled', endpoint: ENDPOINT, created_at: expect.any(String) };
    const types = ['email.sent', 'email.bounced', 'email.failed'];
    expect((await webhooks().get(id)).data).toEqual({ object: 'webhook', ...shown, events: types });
    expect((await webhooks().list()).data).toEqual({
      object: 'list',
      has_more: false,
      data: [{ ...shown, events: types }],
    });

    const endpoint = 'http://127.0.0.1:9/other';
    expect((await webhooks().update(id, { endpoint, events: ['email.opened'], status: 'disabled' })).data).toEqual({
      object: 'webhook',
      id,
    });
    expect((await webhooks().get(id)).data).toMatchObject({ endpoint, events: ['email.opened'], status: 'disabled' });
    expect((await webhooks().update(id, { status: 'enabled' })).error).toBeNull();
    expect((await webhooks().get(id)).data).toMatchObject({ events: ['email.opened'], status: 'enabled' });

    const { data: rotated } = await webhooks().rotateSigningSecret(id);
    expect(rotated).toEqual({ object: 'webhook', id, signing_secret: expect.stringMatching(/^whsec_/) });
    expect(rotated?.signing_secret).not.toBe(made?.signing_secret);

    expect((await webhooks().remove(id)).data).toEqual({ object: 'webhook', id, deleted: true });
    expect((await webhooks().get(id)).error).toMatchObject({ statusCode: 404, name: 'not_found' });
    expect((await webhooks().remove(id)).error).toMatchObject({ statusCode: 404, name: 'not_found' });
  });

  test('shows a webhook of whole families by the types that it gets, page by page', async () => {
    const payload = { url: ENDPOINT, events: ['message.*', 'domain.*'] };
    const { id } = (await now.service.request({ method: 'POST', url: '/v1/webhooks', key: now.key, payload })).json();
    const { data: second } = await webhooks().create({ endpoint: ENDPOINT, events: ['email.clicked'] });
    const { data: first } = await webhooks().list({ limit: 1 });
    expect([first?.has_more, first?.data.map((one) => one.id)]).toEqual([true, [second?.id]]);
    const { data: rest } = await webhooks().list({ limit: 1, after: second?.id ?? '' });
    expect(rest?.data).toMatchObject([{ id, events: Object.keys(RESEND_TYPES) }]);
    expect((await webhooks().update(id, { status: 'disabled' })).error).toBeNull();
    expect(await ours(id)).toMatchObject({ status: 'disabled', events: ['message.*', 'domain.*'], format: 'outbox' });
  });

  test('refuses by the name of the field that the program wrote', async () => {
    const create = (body: object) => ask('resend', 'POST', '/webhooks', { payload: body });
    for (const [body, words] of [
      [{ events: ['email.sent'] }, 'endpoint is required'],
      [{ endpoint: ENDPOINT }, 'events is required'],
      [{ endpoint: 'ftp://a.test/', events: ['email.sent'] }, /^endpoint /],
      [{ endpoint: `${ENDPOINT}\r\nX: y`, events: ['email.sent'] }, /^endpoint /],
      [{ endpoint: `${ENDPOINT}\0`, events: ['email.sent'] }, /^endpoint /],
      [{ endpoint: [ENDPOINT], events: ['email.sent'] }, /^endpoint /],
      [{ endpoint: ENDPOINT, events: [] }, /^events /],
      [{ endpoint: ENDPOINT, events: 'email.sent' }, /^events must be an array/],
      [{ endpoint: ENDPOINT, events: Array.from({ length: 101 }, () => 'email.sent') }, /^events must have at most/],
      [{ endpoint: ENDPOINT, events: ['email.sent', 'email.received'] }, /^events\[1\] must be one of email\.sent, /],
      [{ endpoint: ENDPOINT, events: ['message.delivered'] }, /^events\[0\] must be one of .*: a webhook of POST/],
      [{ endpoint: ENDPOINT, events: ['constructor', null] }, /^events\[0\] .*; events\[1\] /],
      [{ endpoint: ENDPOINT, events: ['email.sent'], format: 'outbox' }, 'format is not a known field'],
    ] as const) {
      const { status, body: answer } = await create(body);
      expect([status, answer]).toEqual([
        400,
        {
          statusCode: 400,
          name: 'validation_error',
          message: typeof words === 'string' ? words : expect.stringMatching(words),
        },
      ]);
    }
    const large = await create({ endpoint: ENDPOINT, events: ['x'.repeat(10_000_000)] });
    expect(large.status).toBe(413);

    const { data: made } = await webhooks().create({ endpoint: ENDPOINT, events: ['email.sent'] });
    const change = async (body: object) =>
      (await ask('resend', 'PATCH', `/webhooks/${made?.id}`, { payload: body })).body.message;
    expect(await change({ status: 'paused' })).toBe('status must be enabled or disabled');
    expect(await change({ endpoint: 7 })).toMatch(/^endpoint /);
    expect(await change({ events: ['email.none'] })).toMatch(/^events\[0\] /);
  });

  test('belong to one organization and environment, and need manage', async () => {
    const { data: made } = await webhooks().create({ endpoint: ENDPOINT, events: ['email.sent'] });
    const id = made?.id ?? '';
    const keyOf = async (organizationId: string, domainId: string, more: object) =>
      (await now.service.makeKey(organizationId, domainId, more)).value;
    const other = await now.service.makeOrganization();
    const stranger = await keyOf(other, await now.service.makeDomain(other, 'other.test'), {});
    const inTest = await keyOf(now.organizationId, now.domainId, { environment: 'test' });
    for (const by of [stranger, inTest]) {
      for (const { error } of [
        await webhooks(by).get(id),
        await webhooks(by).update(id, { status: 'disabled' }),
        await webhooks(by).rotateSigningSecret(id),
        await webhooks(by).remove(id),
      ])
        expect(error).toMatchObject({ statusCode: 404, name: 'not_found' });
    }
    const sender = await keyOf(now.organizationId, now.domainId, { permissions: ['send', 'read'] });
    expect((await webhooks(sender).list()).error).toMatchObject({ statusCode: 403, name: 'restricted_api_key' });
    expect((await webhooks().get(id)).data?.status).toBe('enabled');
  });
});

const smtp = {
  ...{ code: 550, enhanced: '5.1.1', text: 'no such user', mx: 'mx.example.net', tls: null },
  ...{ cipher: null, policy: null, address: null, stage: null },
};
const AT = '2026-01-31T12:00:00.500Z';

const eventOf = (type: string, data: object = {}): SerializedEvent =>
  ({
    ...{ id: 'evt_1', object: 'event', type, timestamp: AT, environment: 'live', sequence: 1 },
    data: {
      message_id: 'msg_1',
      recipient: { id: 'rcp_1', address: 'ann@example.net', kind: 'to' },
      tags: [
        { name: 'kind', value: 'receipt' },
        { name: '__proto__', value: 'x' },
      ],
      metadata: {},
      ...data,
    },
  }) as unknown as SerializedEvent;

const head = { from: { address: 'shop@a.test', name: 'Shop, the' }, subject: 'Your order' };

describe('an event in the format of Resend', () => {
  test.each([
    ['message.accepted', 'email.sent', {}, {}],
    ['message.scheduled', 'email.scheduled', {}, {}],
    ['message.delivered', 'email.delivered', { smtp }, {}],
    ['message.deferred', 'email.delivery_delayed', {}, {}],
    [
      'message.bounced',
      'email.bounced',
      { smtp, category: 'no_mailbox' },
      { bounce: { message: '550 5.1.1 no such user', type: 'Permanent', subType: 'NoEmail' } },
    ],
    [
      'message.bounced',
      'email.bounced',
      { reason: 'refused', category: 'policy' },
      { bounce: { message: 'refused', type: 'Transient', subType: 'General' } },
    ],
    ['message.failed', 'email.failed', { reason: 'why' }, { failed: { reason: 'why' } }],
    ['message.expired', 'email.failed', { reason: 'late' }, { failed: { reason: 'late' } }],
    [
      'message.suppressed',
      'email.suppressed',
      { reason: 'why' },
      { suppressed: { message: 'why', type: 'OnAccountSuppressionList' } },
    ],
    ['message.opened', 'email.opened', {}, {}],
    [
      'message.clicked',
      'email.clicked',
      { url: 'https://a.test/' },
      { click: { link: 'https://a.test/', timestamp: AT } },
    ],
    ['message.complained', 'email.complained', {}, {}],
  ])('%s is %s', (type, theirs, data, more) => {
    const posted = postOf({ event: eventOf(type, data), head }, 'resend') as {
      readonly data: { readonly tags: object };
    };
    expect(posted).toMatchObject({
      type: theirs,
      created_at: AT,
      data: {
        email_id: 'msg_1',
        from: '"Shop, the" <shop@a.test>',
        to: ['ann@example.net'],
        subject: 'Your order',
        ...more,
      },
    });
    expect(Object.entries(posted.data.tags)).toEqual([
      ['kind', 'receipt'],
      ['__proto__', 'x'],
    ]);
  });

  test('has every event that a webhook in this format can get', () => {
    for (const type of RESEND_EVENTS)
      expect(postOf({ event: eventOf(type), head }, 'resend')).toMatchObject({
        type: expect.stringMatching(/^email\./),
      });
  });

  test('leaves out what was erased, and keeps the type of an event that Resend does not have', () => {
    const erased = { recipient: { id: 'rcp_1', address: null, kind: null }, tags: [], url: null };
    expect(postOf({ event: eventOf('message.clicked', erased), head: null }, 'resend')).toEqual({
      type: 'email.clicked',
      created_at: AT,
      data: { email_id: 'msg_1', from: '', to: [''], subject: '', tags: {}, click: { link: '', timestamp: AT } },
    });
    for (const type of ['webhook.ping', 'message.sending', 'constructor'])
      expect(postOf({ event: eventOf(type), head }, 'resend')).toEqual({ type, created_at: AT, data: {} });
  });
});
