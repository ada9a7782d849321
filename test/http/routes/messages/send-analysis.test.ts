import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createAnalyzer } from '../../../../src/adapters/html/analyzer.ts';
import type { Analysis } from '../../../../src/domain/analysis/analysis.ts';
import { type Service, startService } from '../../support/service.ts';

let service: Service;
let key: string;
/** A replacement result for every analysis, as a later version of the rules might give. */
let instead: Analysis | null = null;
let analyses = 0;

beforeAll(async () => {
  const analyzer = createAnalyzer();
  const analyze: typeof analyzer.analyze = async (subject, organizationId) => {
    analyses += 1;
    return instead ?? analyzer.analyze(subject, organizationId);
  };
  service = await startService({ analyzer: { ...analyzer, analyze } });
  const organizationId = await service.makeOrganization();
  key = (await service.makeKey(organizationId, await service.makeDomain(organizationId, 'example.test'))).value;
});
afterAll(() => service.close());

const VALID = { from: 'a@example.test', to: 'b@example.org', subject: 'Hello', html: '<p>Hello</p>' };
const UNFILLED = { ...VALID, html: '<p>Dear {{first_name}},</p><p><a href="http://shop.example/">Shop</a></p>' };

const send = (payload: object, name?: string) =>
  service.request({
    method: 'POST',
    url: '/v1/messages/send',
    key,
    payload,
    headers: name === undefined ? {} : { 'idempotency-key': name },
  });

describe('a send', () => {
  test('is not analysed unless it requests that', async () => {
    const before = analyses;
    for (const payload of [UNFILLED, { ...UNFILLED, analysis: 'off' }]) {
      const answer = await send(payload);
      expect([answer.statusCode, 'analysis' in answer.json()]).toEqual([202, false]);
    }
    expect(analyses).toBe(before);
  });

  test('with analysis in mode warn is accepted with what the analysis endpoint says', async () => {
    const answer = await send({ ...UNFILLED, analysis: 'warn' });
    expect(answer.statusCode).toBe(202);
    const { score, verdict, findings } = (
      await service.request({ method: 'POST', url: '/v1/messages/analyze', key, payload: UNFILLED })
    ).json();
    expect(verdict).toBe('fail');
    expect(answer.json().analysis).toEqual({ score, verdict, findings });
  });

  test('with analysis in mode block is refused only for errors, naming each with its remedy', async () => {
    const program = { filename: 'a.exe', content: 'aGVsbG8=' };
    const answer = await send({ ...UNFILLED, analysis: 'block', attachments: [program] });
    expect(answer.statusCode).toBe(422);
    const { code, details } = answer.json().error;
    expect(code).toBe('analysis_failed');
    expect(details).toEqual({
      html: [
        'html: line 1, column 9: "{{first_name}}" was not filled in. Replace the placeholder with a value before you send.',
      ],
      attachments: [expect.stringMatching(/^attachments\[0\]: "a\.exe" is a program\. Link /)],
    });
  });

  test('with analysis in mode block and no errors is accepted with its analysis', async () => {
    const answer = await send({ ...VALID, analysis: 'block' });
    expect(answer.statusCode).toBe(202);
    expect(answer.json().analysis).toMatchObject({ score: expect.any(Number), findings: expect.any(Array) });
  });

  test('with broken HTML is 400 in any mode', async () => {
    for (const analysis of ['off', 'warn', 'block']) {
      const answer = await send({ ...VALID, html: '<div>', analysis });
      expect([answer.statusCode, answer.json().error.code]).toEqual([400, 'invalid_html']);
    }
  });

  test.each(['on', true, ['warn']])('refuses %j for analysis', async (analysis) => {
    const answer = await send({ ...VALID, analysis });
    expect(answer.statusCode).toBe(400);
    expect(answer.json().error.details).toEqual({ analysis: ['analysis must be one of off, warn, block'] });
  });

  test('is replayed with its original analysis, whatever the rules say now', async () => {
    const payload = { ...VALID, subject: 'Replayed', analysis: 'block' };
    const first = await send(payload, 'analysed');
    expect(first.statusCode).toBe(202);
    const finding = {
      rule: 'subject-blank',
      severity: 'error',
      field: 'subject',
      message: 'No.',
      fix: 'Write.',
    } as const;
    instead = { score: 1, verdict: 'fail', findings: [finding], sizeBytes: 1 };
    const second = await send(payload, 'analysed');
    const unheardOf = await send(payload, 'not analysed before');
    instead = null;
    expect([second.statusCode, second.body]).toEqual([202, first.body]);
    expect(second.headers['idempotent-replayed']).toBe('true');
    expect(unheardOf.json().error).toMatchObject({
      code: 'analysis_failed',
      details: { subject: ['subject: No. Write.'] },
    });
  });

  test('stores its analysis in the vault, outside the head from which lists are made', async () => {
    const { id } = (await send({ ...VALID, analysis: 'warn' })).json();
    const { context } = service.deps;
    const [accepted] = await context.store.readStream(`message-${id}`);
    const contentId = accepted?.type === 'MessageAccepted' ? accepted.data.contentId : '';
    expect((await context.contents.get([contentId])).get(contentId)).toHaveProperty('analysis.score');
    expect((await context.contents.heads([contentId])).get(contentId)).not.toHaveProperty('analysis');
  });
});
