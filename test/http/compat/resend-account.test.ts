import { Resend } from 'resend';
import { beforeAll, describe, expect, test } from 'vitest';
import { startDatabaseService } from '../support/database-service.ts';
import { useTenant } from './tenant.ts';

/** The published client, unmodified. */

const { now, ask, accepted } = useTenant(() => startDatabaseService());

let baseUrl: string;
beforeAll(async () => {
  baseUrl = `${await now.service.server.listen({ port: 0, host: '127.0.0.1' })}/compat/resend`;
});

const client = (by = now.key): Resend => new Resend(by, { baseUrl });
const keyWith = async (permissions: readonly ('send' | 'read' | 'manage')[], environment: 'live' | 'test' = 'live') =>
  (await now.service.makeKey(now.organizationId, now.domainId, { permissions, environment })).value;
const ours = async (url: string) => (await now.service.request({ url, key: now.key })).json();

describe('resend', () => {
  test('domains: create, list, get, update, verify and remove', async () => {
    const { domains } = client();
    const { data: made, error } = await domains.create({ name: 'news.a.test', openTracking: true });
    expect(error).toBeNull();
    expect(made).toMatchObject({ name: 'news.a.test', open_tracking: true, click_tracking: false });
    const id = made?.id ?? '';
    expect(made?.records.map(({ record }) => record)).toEqual(expect.arrayContaining(['DKIM', 'SPF']));
    expect(await ours(`/v1/domains/${id}`)).toMatchObject({ name: 'news.a.test', tracking: { opens: true } });
    expect((await domains.get(id)).data).toMatchObject({ object: 'domain', id, name: 'news.a.test' });
    expect((await domains.update({ id, clickTracking: true })).data).toEqual({ object: 'domain', id });
    expect((await domains.get(id)).data).toMatchObject({ open_tracking: true, click_tracking: true });
    expect((await domains.verify(id)).data).toEqual({ object: 'domain', id });

    const { data: first } = await domains.list({ limit: 1 });
    expect([first?.object, first?.has_more, first?.data.map((one) => one.id)]).toEqual(['list', true, [id]]);
    const { data: second } = await domains.list({ limit: 1, after: id });
    expect(second?.data.map(({ name }) => name)).toEqual(['a.test']);

    expect((await domains.remove(id)).data).toEqual({ object: 'domain', id, deleted: true });
    expect((await domains.get(id)).error).toMatchObject({ statusCode: 404, name: 'not_found' });
    const again = await domains.create({ name: 'a.test' });
    expect(again.error).toMatchObject({ statusCode: 409 });
    const region = await domains.create({ name: 'b.a.test', region: 'eu-west-1', openTracking: 7 as never });
    expect(region.error?.message).toContain('region is not supported');
    expect((await domains.update({ id: now.domainId, openTracking: 7 as never })).error?.message).toContain(
      'open_tracking',
    );
    expect((await domains.create({ name: 'x\r\ny' })).error?.message).toBe('name is not a domain name');
  });

  test('apiKeys: create, list and remove', async () => {
    const { apiKeys } = client();
    const { data: made, error } = await apiKeys.create({ name: 'Sender', permission: 'sending_access' });
    expect(error).toBeNull();
    expect(made?.token).toMatch(/^ob_live_/);
    const id = made?.id ?? '';
    expect(await ours(`/v1/api-keys/${id}`)).toMatchObject({ permissions: ['send'], domain_id: now.domainId });
    const mail = { from: 'a@a.test', to: 'b@example.org', subject: 'Hi', text: 'Hi' };
    expect((await client(made?.token).emails.send(mail)).error).toBeNull();
    expect((await client(made?.token).apiKeys.list()).error).toMatchObject({ statusCode: 403 });
    const { data: list } = await apiKeys.list({ limit: 1 });
    expect(list?.data).toEqual([
      { id, name: 'Sender', created_at: expect.any(String), last_used_at: expect.any(String) },
    ]);
    expect((await apiKeys.list({ limit: 1, after: id })).data?.data[0]?.id).not.toBe(id);
    expect((await apiKeys.remove(id)).error).toBeNull();
    expect((await client(made?.token).emails.send(mail)).error).toMatchObject({ statusCode: 401 });
    const full = await apiKeys.create({ name: 'Full' });
    expect(await ours(`/v1/api-keys/${full.data?.id}`)).toMatchObject({ permissions: ['send', 'read', 'manage'] });
    expect((await apiKeys.create({ name: 'x', permission: 'all' as never })).error?.message).toBe(
      'permission must be full_access or sending_access',
    );
    // A key cannot give what it does not hold.
    expect((await client(await keyWith(['read'])).apiKeys.create({ name: 'x' })).error).toMatchObject({
      statusCode: 403,
    });
  });

  test('contacts: the flag unsubscribed is a suppression of bulk mail', async () => {
    const { contacts } = client();
    const email = 'ann@example.net';
    const { data: made, error } = await contacts.create({ email, unsubscribed: true });
    expect([error, made]).toEqual([null, { object: 'contact', id: expect.stringMatching(/^sup_/) }]);
    const { data: kept } = await ours(`/v1/suppressions?address=${email}`);
    expect(kept).toMatchObject([{ address: email, scope: 'bulk', status: 'active', reason: 'manual' }]);
    for (const by of [{ email }, { id: made?.id ?? '' }, { email, audienceId: 'x' }])
      expect((await contacts.get(by)).data).toMatchObject({ object: 'contact', email, unsubscribed: true });
    expect((await contacts.list()).data).toMatchObject({ has_more: false, data: [{ email, unsubscribed: true }] });

    expect((await contacts.update({ email, unsubscribed: false })).error).toBeNull();
    expect((await contacts.get({ email })).error).toMatchObject({ statusCode: 404, name: 'not_found' });
    // Older clients name an audience.
    expect((await contacts.update({ email, audienceId: 'x', unsubscribed: true })).error).toBeNull();
    expect((await contacts.get({ email })).data?.unsubscribed).toBe(true);
    expect((await contacts.create({ email, audienceId: 'x', unsubscribed: false })).error).toBeNull();
    expect((await contacts.list()).data?.data).toEqual([]);

    for (const by of [{ email }, { email, audienceId: 'x' }]) {
      await contacts.create({ email, unsubscribed: true });
      expect((await contacts.remove(by)).data).toEqual({ object: 'contact', contact: email, deleted: true });
      expect((await ours(`/v1/suppressions?address=${email}`)).data).toEqual([]);
      expect((await contacts.remove(by)).error).toMatchObject({ statusCode: 404, name: 'not_found' });
    }

    expect((await contacts.create({ email, firstName: 'Ann' })).error?.message.split('; ')).toEqual([
      'first_name is not supported: of a contact, only unsubscribed is stored',
      'unsubscribed must be true or false: nothing else of a contact is stored',
    ]);
    expect((await contacts.create({ email: 'nobody', unsubscribed: true })).error?.message).toContain('email');
    expect((await contacts.create({ email: 'a@b.test\r\nX: y', unsubscribed: true })).error).toMatchObject({
      statusCode: 400,
    });
  });

  test('contacts: the flag does not undo a complaint', async () => {
    const email = 'bob@example.org';
    const csv = `address,reason,scope\n${email},complaint,all\n`;
    const payload = { csv };
    await now.service.request({ method: 'POST', url: '/v1/suppressions/import', key: now.key, payload });
    const { contacts } = client();
    expect((await contacts.get({ email })).error).toMatchObject({ statusCode: 404 });
    expect((await contacts.create({ email, unsubscribed: true })).error).toBeNull();
    expect((await contacts.remove(email)).error).toMatchObject({ statusCode: 409 });
    expect((await contacts.update({ email, unsubscribed: false })).error).toMatchObject({
      statusCode: 409,
      message: expect.stringMatching(/another reason or stream \(complaint, all\).*DELETE \/v1\/suppressions\/sup_/),
    });
    expect((await ours(`/v1/suppressions?address=${email}`)).data).toHaveLength(1);
  });

  test('emails: lists back from an email that before names', async () => {
    const mail = (subject: string) => ({ from: 'a@a.test', to: 'b@example.org', subject, text: 'Hi' });
    const ids: string[] = [];
    for (const subject of ['1', '2', '3', '4']) ids.push((await client().emails.send(mail(subject))).data?.id ?? '');
    const { data } = await client().emails.list({ before: ids[0] ?? '', limit: 2 });
    expect([data?.has_more, data?.data.map(({ id }) => id)]).toEqual([true, [ids[2], ids[1]]]);
    const rest = await client().emails.list({ before: ids[2] ?? '', limit: 2 });
    expect([rest.data?.has_more, rest.data?.data.map(({ id }) => id)]).toEqual([false, [ids[3]]]);
    expect((await client().emails.list({ before: 'msg_none' })).error).toMatchObject({ statusCode: 404 });
    const both = await ask('resend', 'GET', `/emails?before=${ids[0]}&after=${ids[1]}`);
    expect([both.status, both.body.message]).toEqual([400, 'before is not allowed together with after']);
  });

  test('accepts a base URL that ends in a slash, and a Buffer as older clients write it', async () => {
    const before = await accepted();
    const { error } = await new Resend(now.key, { baseUrl: `${baseUrl}/` }).emails.send({
      from: 'a@a.test',
      to: 'b@example.org',
      subject: 'Slash',
      text: 'Hi',
    });
    expect([error, await accepted()]).toEqual([null, before + 1]);
    const file = Buffer.from(Array.from({ length: 5_000 }, (_, index) => index % 256));
    const mail = { from: 'a@a.test', to: 'b@example.org', subject: 'File', text: 'Hi' };
    const payload = { ...mail, attachments: [{ filename: 'a.bin', content: file }] };
    for (const [path, body] of [
      ['/emails', payload],
      ['/emails/batch', [payload]],
    ] as const) {
      const answer = await ask('resend', 'POST', path, { payload: body });
      expect(answer.status).toBe(200);
      const id = answer.body.id ?? answer.body.data[0].id;
      const content = await ours(`/v1/messages/${id}/content`);
      expect(content.attachments).toMatchObject([{ filename: 'a.bin', content: file.toString('base64') }]);
    }
    const wrong = { ...mail, attachments: [{ filename: 'a', content: { type: 'Buffer', data: [256] } }] };
    expect((await ask('resend', 'POST', '/emails', { payload: wrong })).status).toBe(400);
    const other = { ...mail, attachments: [{ filename: 'a', content: { type: 'Other', data: [1] } }] };
    expect((await ask('resend', 'POST', '/emails', { payload: other })).body.message).toContain(
      'attachments[0].content',
    );
  });
});
