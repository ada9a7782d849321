import { beforeEach, describe, expect, test } from 'vitest';
import { AnalysisUnavailable } from '../../../../src/domain/analysis/facts.ts';
import { closedAfterTest } from '../../../support/after-test.ts';
import { createInMemoryResolver } from '../../../support/in-memory/dns.ts';
import { type Overrides, type Service, startService } from '../../support/service.ts';

const VALID = {
  from: 'Shop <a@example.test>',
  to: 'b@example.org',
  subject: 'Your order of Friday',
  html: '<p>Thank you for your order.</p>',
  text: 'Thank you for your order.',
};

let service: Service;
let organizationId: string;
let domainId: string;
let key: string;

const start = async (overrides: Overrides = {}): Promise<void> => {
  service = closedAfterTest(await startService(overrides));
  organizationId = await service.makeOrganization();
  domainId = await service.makeDomain(organizationId, 'example.test');
  key = (await service.makeKey(organizationId, domainId, { permissions: ['send'] })).value;
};
beforeEach(() => start());

const analyze = (payload: object, headers: Record<string, string> = {}, by = key) =>
  service.request({ method: 'POST', url: '/v1/messages/analyze', key: by, payload, headers });

const rulesOf = (answer: Awaited<ReturnType<typeof analyze>>): readonly string[] =>
  answer.json().findings.map(({ rule }: { rule: string }) => rule);

describe('POST /v1/messages/analyze', () => {
  test('answers 200 with the score, the verdict, the findings and the size', async () => {
    const answer = await analyze({ ...VALID, html: '<p>Hello {{name}}</p>\n<a href="http://example.test/">x</a>' });
    expect(answer.statusCode).toBe(200);
    expect(answer.json()).toEqual({
      object: 'analysis',
      score: 82,
      verdict: 'fail',
      size_bytes: 83,
      findings: [
        {
          rule: 'template-marker',
          severity: 'error',
          field: 'html',
          line: 1,
          column: 10,
          message: '"{{name}}" was not filled in.',
          fix: 'Replace the placeholder with a value before you send.',
        },
        {
          rule: 'link-plain-http',
          severity: 'warning',
          field: 'html',
          line: 2,
          column: 1,
          message: '"http://example.test/" is not encrypted.',
          fix: 'Use the https address.',
        },
        expect.objectContaining({ rule: 'mail-captured', severity: 'info', field: 'from' }),
      ],
    });
  });

  test('gives the same answer to the same message', async () => {
    const message = { ...VALID, html: `${VALID.html.repeat(500)}<b>` };
    const [one, other] = await Promise.all([analyze(message), analyze(message)]);
    expect(one?.json()).toEqual(other?.json());
  });

  test('reports broken html as a finding with its place, in small and in large messages', async () => {
    for (const before of ['', '<p>x</p>\n'.repeat(5000)]) {
      const answer = await analyze({ ...VALID, html: `${before}<p>x</div>` });
      expect(answer.statusCode).toBe(200);
      expect(answer.json().findings[0]).toMatchObject({ rule: 'html-invalid', severity: 'error', column: 5 });
    }
  });

  test('refuses what a send refuses of the shape, all at once', async () => {
    const answer = await analyze({ to: ['b@example.org', 'nobody'], subject: 'a\nb', html: '<b>', reply: 'x' });
    expect([answer.statusCode, answer.json().error.code]).toEqual([400, 'invalid_request']);
    expect(answer.json().error.details).toEqual({
      from: ['from is required'],
      to: ['to[1] is not an email address: it has no @'],
      subject: ['subject must not contain line breaks or control characters'],
      reply: ['reply is not a known field'],
    });
    const nothing = await analyze({ ...VALID, html: undefined, text: undefined });
    expect(nothing.json().error.details).toEqual({ html: ['html or text is required'] });
  });

  test('refuses a from address outside the domain of the key', async () => {
    const answer = await analyze({ ...VALID, from: 'a@example.org' });
    expect([answer.statusCode, answer.json().error.code]).toEqual([403, 'from_domain_mismatch']);
  });

  test('refuses an Idempotency-Key, since nothing can be repeated', async () => {
    const answer = await analyze(VALID, { 'idempotency-key': 'x' });
    expect([answer.statusCode, answer.json().error.code]).toEqual([400, 'header_not_allowed']);
  });

  test('needs the permission send, and uses the rate limit of sends', async () => {
    const reader = await service.makeKey(organizationId, domainId, { permissions: ['read', 'manage'] });
    const refused = await analyze(VALID, {}, reader.value);
    expect([refused.statusCode, refused.json().error.code]).toEqual([403, 'permission_missing']);
    const limited = await service.makeKey(organizationId, domainId, { rateLimits: { send: 1, read: 9, manage: 9 } });
    expect((await analyze(VALID, {}, limited.value)).statusCode).toBe(200);
    expect((await analyze(VALID, {}, limited.value)).statusCode).toBe(429);
  });

  test('writes nothing', async () => {
    const before = await service.deps.context.store.head();
    await analyze(VALID);
    await analyze({ ...VALID, html: '<b>' });
    expect(await service.deps.context.store.head()).toBe(before);
  });

  test('accepts everything that a send accepts, and looks at its attachments', async () => {
    const answer = await analyze({
      ...VALID,
      cc: 'c@example.org',
      reply_to: ['d@example.org'],
      tags: [{ name: 'a', value: 'b' }],
      headers: { 'X-A': 'b' },
      metadata: { a: 'b' },
      ttl_seconds: 60,
      stream: 'bulk',
      attachments: [
        { filename: 'a.txt', content: 'aGVsbG8=' },
        { filename: 'invoice.pdf', content: 'TVqQAAMAAAA=' },
      ],
    });
    expect(answer.statusCode).toBe(200);
    expect(answer.json().findings).toContainEqual(
      expect.objectContaining({ rule: 'attachment-executable', field: 'attachments[1]' }),
    );
    expect(rulesOf(answer)).toContain('unsubscribe-missing');
  });
});

describe('the sending domain', () => {
  test('that is captured is not judged by its records', async () => {
    expect(rulesOf(await analyze(VALID))).toEqual(['mail-captured']);
  });

  test('is an error while it is not verified, except for a test key, whose mail does not leave', async () => {
    await start({ context: { capturing: false } });
    const answer = await analyze(VALID);
    expect(answer.json().verdict).toBe('fail');
    expect(rulesOf(answer)).toEqual(['domain-not-verified', ...Array(3).fill('authentication-unchecked')]);
    const simulated = await service.makeKey(organizationId, domainId, { environment: 'test' });
    const other = await analyze(VALID, {}, simulated.value);
    expect([other.json().verdict, ...rulesOf(other)]).toEqual(['pass', ...Array(3).fill('authentication-unchecked')]);
  });

  test('is judged by the records found at verification, without another look-up', async () => {
    const asked: string[] = [];
    const records: Record<string, readonly string[]> = { '_dmarc.example.test': ['v=DMARC1; p=none'] };
    const txt = (host: string): readonly string[] => {
      asked.push(host);
      return records[host] ?? [];
    };
    await start({ context: { capturing: false, resolver: createInMemoryResolver({ txt }) } });
    const { value } = await service.makeKey(organizationId, domainId);
    const domain = (await service.request({ url: `/v1/domains/${domainId}`, key: value })).json();
    for (const { name, value: proof, required } of domain.records) if (required) records[name] = [proof];
    const verify = { method: 'POST', url: `/v1/domains/${domainId}/verify`, key: value } as const;
    expect((await service.request(verify)).json().status).toBe('verified');
    asked.length = 0;
    const answer = await analyze(VALID);
    expect(rulesOf(answer)).toEqual(['spf-not-valid']);
    expect(answer.json().findings[0].message).toBe('The SPF record of example.test is missing.');
    expect(asked).toEqual([]);
  });
});

test('an analysis that does not finish in time is 503, worth a retry', async () => {
  const analyzer = { analyze: () => Promise.reject(new AnalysisUnavailable('busy')), close: async () => undefined };
  await start({ analyzer });
  const answer = await analyze(VALID);
  expect([answer.statusCode, answer.json().error.code, answer.headers['retry-after']]).toEqual([
    503,
    'unavailable',
    '1',
  ]);
});
