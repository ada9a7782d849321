import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Submitting, startSubmitting } from '../../../submission/support/submitting.ts';

/** HTML that each entry point accepts, and the findings that are recorded for it. */

let submitting: Submitting;
beforeAll(async () => {
  submitting = await startSubmitting({}, {}, () => undefined);
});
afterAll(() => submitting.close());

const FIELDS = { from: 'ann@example.test', to: 'bob@example.org', subject: 'Hello' };
/** Browsers display it, although an end tag matches nothing and an element is left open. */
const BROKEN = '<div><b>Hello\r\n</i> you</b>';
const PROBLEMS = [
  ['html-invalid', 'error', 'html', 1, 1],
  ['html-invalid', 'error', 'html', 2, 1],
];
const REPEATED = '<!doctype html><html xmlns="a" xmlns="b"><p class="a" CLASS=b>Hello</p></html>';

const ask = async (method: 'GET' | 'PATCH' | 'POST', url: string, payload?: object, more: object = {}) => {
  const body = payload === undefined ? {} : { payload };
  const answer = await submitting.service.request({ method, url, key: submitting.key, ...body, ...more });
  return { status: answer.statusCode, body: answer.json() };
};
const withRules = async (rules: object, work: () => Promise<void>): Promise<void> => {
  expect((await ask('PATCH', '/v1/organization', { html_validation: rules })).status).toBe(200);
  try {
    await work();
  } finally {
    await ask('PATCH', '/v1/organization', { html_validation: { api: 'strict', compat: 'browser', smtp: 'browser' } });
  }
};

const resend = (html: string) => ask('POST', '/compat/resend/emails', { ...FIELDS, html });
const postmark = async (html: string) => {
  const answer = await submitting.service.request({
    method: 'POST',
    url: '/compat/postmark/email',
    headers: { 'x-postmark-server-token': submitting.key },
    payload: { From: FIELDS.from, To: FIELDS.to, Subject: 'Hello', HtmlBody: html },
  });
  return { status: answer.statusCode, body: { id: answer.json().MessageID } };
};
const sendgrid = async (html: string) => {
  const answer = await submitting.service.request({
    method: 'POST',
    url: '/compat/sendgrid/v3/mail/send',
    key: submitting.key,
    payload: {
      from: { email: FIELDS.from },
      subject: 'Hello',
      content: [{ type: 'text/html', value: html }],
      personalizations: [{ to: [{ email: FIELDS.to }] }],
    },
  });
  return { status: answer.statusCode, body: { id: answer.headers['x-message-id'] } };
};
const bySmtp = async (html: string) => {
  const reply = await submitting.send({ to: FIELDS.to, html, text: 'x', textEncoding: 'base64' });
  return { status: 202, body: { id: /msg_\w+/.exec(reply)?.[0] } };
};

const contentOf = async (id: unknown) => (await ask('GET', `/v1/messages/${id}/content`)).body;
const findingsOf = async (id: unknown) =>
  (await contentOf(id)).findings.map(({ rule, severity, field, line, column }: Readonly<Record<string, unknown>>) => [
    rule,
    severity,
    field,
    line,
    column,
  ]);
const stepOf = async (id: unknown): Promise<string> => {
  const { steps } = (await ask('GET', `/v1/messages/${id}/explain`)).body;
  return steps.find(({ type }: { readonly type: string }) => type === 'html_checked').sentence;
};

const LENIENT = [
  ['resend', resend],
  ['postmark', postmark],
  ['sendgrid', sendgrid],
] as const;

describe('html that browsers show and the strict rule refuses', () => {
  test.each(LENIENT)('is accepted unchanged from clients of %s, with its problems as findings', async (_, send) => {
    const { status, body } = await send(BROKEN);
    expect(Math.floor(status / 100)).toBe(2);
    expect((await contentOf(body.id)).html).toBe(BROKEN);
    expect(await findingsOf(body.id)).toEqual(PROBLEMS);
    expect(await stepOf(body.id)).toBe('The HTML is not valid and was accepted unchanged: see line 1, column 1.');
  });

  test('is accepted by SMTP, with its problems as findings', async () => {
    const { body } = await bySmtp(BROKEN);
    expect((await contentOf(body.id)).html).toBe(BROKEN.replace('\r\n', '\n'));
    expect(await findingsOf(body.id)).toEqual(PROBLEMS);
  });

  test('is refused by /v1, individually and in a batch', async () => {
    const alone = await ask('POST', '/v1/messages/send', { ...FIELDS, html: BROKEN });
    expect([alone.status, alone.body.error.code]).toEqual([400, 'invalid_html']);
    const batch = await ask('POST', '/v1/messages/batch', { messages: [{ ...FIELDS, html: BROKEN }] });
    expect([batch.status, batch.body.error.code]).toEqual([400, 'invalid_html']);
  });

  test('follows the rule that the organization sets for each entry', async () => {
    await withRules({ api: 'browser' }, async () => {
      const alone = await ask('POST', '/v1/messages/send', { ...FIELDS, html: BROKEN });
      expect(alone.status).toBe(202);
      expect(await findingsOf(alone.body.id)).toEqual(PROBLEMS);
      const batch = await ask('POST', '/v1/messages/batch', { messages: [{ ...FIELDS, html: BROKEN }] });
      expect(await findingsOf(batch.body.data[0].id)).toEqual(PROBLEMS);
      expect((await resend(BROKEN)).status).toBe(200);
    });
    await withRules({ compat: 'strict' }, async () => {
      for (const [, send] of LENIENT) expect([400, 422]).toContain((await send(BROKEN)).status);
      expect((await bySmtp(BROKEN)).body.id).toMatch(/^msg_/);
    });
    await withRules({ smtp: 'strict' }, async () => {
      await expect(bySmtp(BROKEN)).rejects.toThrow(/554 5\.6\.0 html must be valid HTML: line 1, column 1/);
      expect((await resend(BROKEN)).status).toBe(200);
    });
  });

  test('is still refused if the organization refuses messages with errors', async () => {
    await ask('PATCH', '/v1/organization', { default_analysis: 'block' });
    const refused = await resend(BROKEN);
    await ask('PATCH', '/v1/organization', { default_analysis: 'off' });
    expect(refused.status).toBe(422);
  });

  test('has the findings of its analysis, each once', async () => {
    await ask('PATCH', '/v1/organization', { default_analysis: 'warn' });
    const { body } = await resend(BROKEN);
    await ask('PATCH', '/v1/organization', { default_analysis: 'off' });
    const invalid = (await findingsOf(body.id)).filter(([rule]: readonly string[]) => rule === 'html-invalid');
    expect(invalid).toEqual(PROBLEMS);
  });

  test('has the same response when it is sent again with its Idempotency-Key under another rule', async () => {
    const again = { headers: { 'idempotency-key': 'broken html' } };
    const first = await ask('POST', '/compat/resend/emails', { ...FIELDS, html: BROKEN }, again);
    const second = await ask('POST', '/compat/resend/emails', { ...FIELDS, html: BROKEN }, again);
    expect([second.status, second.body]).toEqual([first.status, first.body]);
  });

  test('has at most ten findings, the last of which counts the others', async () => {
    const { body } = await resend('</i>'.repeat(200));
    const { findings } = await contentOf(body.id);
    expect(findings).toHaveLength(10);
    expect(findings[9].message).toContain('(and 10 more of this rule)');
  });
});

describe('a repeated attribute', () => {
  test('is accepted everywhere, the html unchanged, without a finding of a message that is not analyzed', async () => {
    const { status, body } = await ask('POST', '/v1/messages/send', { ...FIELDS, html: REPEATED });
    expect(status).toBe(202);
    expect(await contentOf(body.id)).toMatchObject({ html: REPEATED, findings: [] });
    expect(await stepOf(body.id)).toBe('The HTML was checked and is valid.');
    for (const [, send] of LENIENT) expect((await contentOf((await send(REPEATED)).body.id)).findings).toEqual([]);
  });

  test('is a warning of the analysis, at its place', async () => {
    const { body } = await ask('POST', '/v1/messages/analyze', { ...FIELDS, html: REPEATED });
    const repeated = body.findings.filter(({ rule }: { readonly rule: string }) => rule === 'html-attribute-repeated');
    expect(repeated).toMatchObject([
      { severity: 'warning', message: 'The attribute xmlns appears twice in one tag.', line: 1, column: 32 },
      { severity: 'warning', message: 'The attribute class appears twice in one tag.', line: 1, column: 55 },
    ]);
  });
});

describe('the setting', () => {
  test('shows the rules of all entries, keeps absent ones, and is written once', async () => {
    const { organizationId, service } = submitting;
    const rules = async () => (await ask('GET', '/v1/organization')).body.html_validation;
    const events = async () => (await service.deps.context.store.readStream(`organization-${organizationId}`)).length;
    expect(await rules()).toEqual({ api: 'strict', compat: 'browser', smtp: 'browser' });
    await withRules({ smtp: 'strict' }, async () => {
      expect(await rules()).toEqual({ api: 'strict', compat: 'browser', smtp: 'strict' });
      const before = await events();
      await ask('PATCH', '/v1/organization', { html_validation: { smtp: 'strict' } });
      await ask('PATCH', '/v1/organization', { html_validation: {} });
      expect(await events()).toBe(before);
    });
  });

  test.each([
    [{ api: 'lenient' }, 'html_validation.api must be one of strict, browser'],
    [{ imap: 'strict' }, 'html_validation.imap is not a known field'],
    ['strict', 'html_validation must be an object'],
    [['strict'], 'html_validation'],
    [{ __proto__: null, constructor: 'strict' }, 'html_validation.constructor is not a known field'],
  ])('refuses %j', async (rules, sentence) => {
    const { status, body } = await ask('PATCH', '/v1/organization', { html_validation: rules });
    expect(status).toBe(400);
    expect(JSON.stringify(body.error.details)).toContain(sentence);
  });

  test('of one organization does not apply to another', async () => {
    const { service } = submitting;
    const other = await service.makeOrganization();
    const { value: key } = await service.makeKey(other, await service.makeDomain(other, 'other.test'));
    await withRules({ api: 'browser' }, async () => {
      const payload = { ...FIELDS, from: 'a@other.test', html: BROKEN };
      const answer = await service.request({ method: 'POST', url: '/v1/messages/send', key, payload });
      expect(answer.statusCode).toBe(400);
    });
  });
});
