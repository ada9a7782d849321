import { beforeAll, describe, expect, test } from 'vitest';
import type { Vendor } from '../../../src/http/compat/vendors.ts';
import { isCompat, ruleOf } from '../../../src/http/endpoint.ts';
import { isRouteName, ROUTES } from '../../../src/http/route-table.ts';
import { BATCHES, POSTMARK, RESEND, SENDGRID, SENDS, said, useTenant } from './tenant.ts';

const { now, ask, accepted } = useTenant();

const compat = Object.keys(ROUTES).filter(isRouteName).filter(isCompat);

describe('without a key, or with another permission', () => {
  test.each(compat)('%s', async (name) => {
    const [method = '', url = ''] = name.split(' ');
    const [, , vendor = '', ...rest] = url.split('/');
    const rule = ruleOf(name);
    const permissions = [rule.permission === 'manage' ? 'send' : 'manage'] as const;
    const { value: theirs } = await now.service.makeKey(now.organizationId, now.domainId, { permissions });
    const path = `/${rest.join('/')}`.replaceAll(/:\w+/g, 'msg_none');
    for (const [by, status] of [
      ['ob_live_none', 401],
      ['', 401],
      [theirs, 403],
    ] as const) {
      const answer = await ask(vendor as Vendor, method as 'POST', path, {
        by,
        payload: ['GET', 'DELETE'].includes(method) ? undefined : {},
      });
      expect([answer.status, said(vendor as Vendor, answer)]).toEqual([status, expect.stringContaining('API key')]);
      expect(answer.headers['x-request-id']).toMatch(/^req_/);
    }
  });

  test('postmark accepts its key in its own header only', async () => {
    const answer = await ask('postmark', 'POST', '/email', {
      by: '',
      payload: POSTMARK,
      headers: { authorization: `Bearer ${now.key}` },
    });
    expect([answer.status, answer.body.ErrorCode]).toEqual([401, 10]);
  });
});

describe("another organization's message, or one of another environment", () => {
  let id: string;
  let strangers: readonly string[];
  beforeAll(async () => {
    const scheduled = { ...RESEND, scheduled_at: new Date(Date.now() + 3_600_000).toISOString() };
    id = (await ask('resend', 'POST', '/emails', { payload: scheduled })).body.id;
    const other = await now.service.makeOrganization();
    const theirs = await now.service.makeKey(other, await now.service.makeDomain(other, 'b.test'));
    const simulated = await now.service.makeKey(now.organizationId, now.domainId, { environment: 'test' });
    strangers = [theirs.value, simulated.value];
  });

  test.each([
    ['resend', 'GET', '/emails/:id', undefined],
    ['resend', 'PATCH', '/emails/:id', { scheduled_at: '2030-01-01T09:00:00Z' }],
    ['resend', 'POST', '/emails/:id/cancel', undefined],
    ['postmark', 'GET', '/messages/outbound/:id/details', undefined],
    ['postmark', 'GET', '/messages/outbound/:id/dump', undefined],
  ] as const)('is not found by %s %s %s, and nothing happens to it', async (vendor, method, path, payload) => {
    for (const by of strangers) {
      const answer = await ask(vendor, method, path.replace(':id', id), { by, payload });
      expect(answer.status).toBe(vendor === 'resend' ? 404 : 422);
      expect(said(vendor, answer)).not.toContain('b@example.org');
    }
    expect((await ask('resend', 'GET', `/emails/${id}`)).body.last_event).toBe('scheduled');
  });
});

test("another organization's template is not found", async () => {
  const other = await now.service.makeOrganization();
  const theirs = await now.service.makeKey(other, await now.service.makeDomain(other, 'd.test'));
  const post = (url: string, payload: object) =>
    now.service.request({ method: 'POST', url: `/v1/templates${url}`, key: theirs.value, payload });
  const { id } = (await post('', { alias: 'd-theirs', name: 'A', subject: 'A', html: '<p>A</p>' })).json();
  expect((await post(`/${id}/publish`, {})).statusCode).toBe(200);
  const before = await accepted();
  for (const name of [id, 'd-theirs']) {
    const { subject: _, text: __, ...resend } = RESEND;
    const { Subject: ___, TextBody: ____, ...postmark } = POSTMARK;
    const { subject: _____, content: ______, ...sendgrid } = SENDGRID;
    for (const [vendor, path, payload] of [
      ['resend', '/emails', { ...resend, template: { id: name } }],
      ['postmark', '/email/withTemplate', { ...postmark, TemplateAlias: name }],
      ['sendgrid', '/v3/mail/send', { ...sendgrid, template_id: name }],
    ] as const)
      expect(said(vendor, await ask(vendor, 'POST', path, { payload }))).toContain(
        'is not a template of your organization',
      );
  }
  expect(await accepted()).toBe(before);
});

describe('an idempotency key', () => {
  // `batchWithTemplates` needs templates: the end-to-end test covers it.
  const paths = [...SENDS, ...BATCHES].filter(([, path]) => path !== '/email/batchWithTemplates');
  test.each(paths)('%s %s replays, and is refused with another body', async (vendor, path, good) => {
    const headers = { 'idempotency-key': `${vendor}${path}${Math.random()}` };
    const first = await ask(vendor, 'POST', path, { payload: good, headers });
    expect(first.status).toBeLessThan(300);
    const before = await accepted();
    const [again, twice] = await Promise.all([
      ask(vendor, 'POST', path, { payload: good, headers }),
      ask(vendor, 'POST', path, { payload: good, headers }),
    ]);
    for (const one of [again, twice]) {
      expect([one.status, one.body, one.headers['idempotent-replayed']]).toEqual([first.status, first.body, 'true']);
      expect(one.headers['x-message-id']).toBe(first.headers['x-message-id']);
    }
    const other = JSON.parse(JSON.stringify(good).replace('b@example.org', 'c@example.org'));
    const refused = await ask(vendor, 'POST', path, { payload: other, headers });
    expect(refused.status).toBe({ resend: 409, postmark: 422, sendgrid: 400, mailgun: 400 }[vendor]);
    expect(await accepted()).toBe(before);
  });

  test('is refused if nothing is sent', async () => {
    const headers = { 'idempotency-key': 'x' };
    expect((await ask('resend', 'POST', '/emails/msg_none/cancel', { headers })).status).toBe(400);
  });
});

describe('a rate limit', () => {
  test('counts every message of a batch, all or none', async () => {
    for (const [vendor, path, one, many] of [
      ['resend', '/emails/batch', [RESEND], [RESEND, RESEND, RESEND]],
      ['postmark', '/email/batch', [POSTMARK], [POSTMARK, POSTMARK, POSTMARK]],
      [
        'sendgrid',
        '/v3/mail/send',
        SENDGRID,
        { ...SENDGRID, personalizations: [1, 2, 3].map(() => SENDGRID.personalizations[0]) },
      ],
    ] as const) {
      const by = (await now.service.makeKey(now.organizationId, now.domainId, { rateLimits: { send: 3 } })).value;
      const before = await accepted();
      expect((await ask(vendor, 'POST', path, { by, payload: one })).status).toBeLessThan(300);
      const over = await ask(vendor, 'POST', path, { by, payload: many });
      expect([over.status, Number(over.headers['retry-after']) > 0]).toEqual([429, true]);
      expect(await accepted()).toBe(before + 1);
      expect((await ask(vendor, 'POST', path, { by, payload: one })).status).toBeLessThan(300);
    }
  });
});

describe('a refused request', () => {
  test('is recorded in the names of the client, without its contents', async () => {
    // An organization with few rejections so far, so that each request is recorded individually.
    const other = await now.service.makeOrganization();
    const by = (await now.service.makeKey(other, await now.service.makeDomain(other, 'c.test'))).value;
    const payload = { ...POSTMARK, To: 'nobody', HtmlBody: 'secret', Metadata: { status: 'ill' }, Tag: 'ill' };
    const model = { ...POSTMARK, TemplateAlias: 'x', TemplateModel: { status: 'ill' } };
    const args = { ...SENDGRID, custom_args: { status: 'ill' }, sections: { status: 'ill' } };
    for (const [vendor, path, body, field] of [
      ['postmark', '/email', payload, 'To'],
      ['postmark', '/email/withTemplate', model, 'Subject'],
      ['sendgrid', '/v3/mail/send', args, 'sections'],
    ] as const) {
      const { headers } = await ask(vendor, 'POST', path, { by, payload: body });
      const asked = await now.service.request({ url: `/v1/requests/${headers['x-request-id']}`, key: by });
      const { problems, body: shown } = asked.json();
      expect(problems.map((one: { field: string; pointer: string }) => [one.field, one.pointer])).toContainEqual([
        field,
        `/${field}`,
      ]);
      expect(shown.text).not.toMatch(/secret|ill"/);
    }
  });
});
