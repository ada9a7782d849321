import { Pool } from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { writeCsv } from '../../../src/http/csv.ts';
import {
  proofSentence,
  type Report,
  reportHtml,
  reportPdf,
  reportRows,
} from '../../../src/http/resources/audit/report.ts';
import { leafHash, parseCheckpoint, parseNote, rootOfInclusion } from '../../../src/lib/transparency/transparency.ts';
import { expectEachWordChecked, verifyOwn } from '../../support/forged-reports.ts';
import { textOf } from '../../support/pdf-text.ts';
import { openAdminTenant } from '../support/admin-tenant.ts';
import { type DatabaseService, startDatabaseService } from '../support/database-service.ts';

let service: DatabaseService;
let organizationId: string;
let domainId: string;
let key: string;

beforeAll(async () => {
  service = await startDatabaseService();
  ({ organizationId, domainId, key } = await openAdminTenant(service, 'reports.example'));
});
afterAll(() => service.close());

const ask = (url: string, headers: Record<string, string> = {}, by = key) => service.request({ url, key: by, headers });
const post = async (url: string, payload: object) =>
  (await service.request({ method: 'POST', url, key, payload })).json();

/** Asserts that each signed event is in the tree of the checkpoint. */
const expectProofs = ({ events, checkpoint }: Report): void => {
  const { root, size } = parseCheckpoint(parseNote(checkpoint?.note ?? '').text);
  expect(size).toBe(checkpoint?.size);
  expect(events.length).toBeGreaterThan(0);
  for (const { leaf_index: index, proof } of events) {
    const hashes = (proof?.hashes ?? []).map((hash) => Buffer.from(hash, 'base64'));
    const proved = rootOfInclusion(index ?? -1, size, leafHash(proof?.leaf ?? ''), hashes);
    expect(proved?.toString('hex')).toBe(root.toString('hex'));
  }
};

/** Each change of what a report says about a key is a fault, as JSON and as the file attached to its PDF. */
const expectForgeriesRefused = (report: Report): void => {
  const [created, rotated] = report.events;
  const forgeries: readonly (readonly [string, string | undefined, (text: string) => string])[] = [
    ['sentence', created?.sentence, (text) => text.replace('The key "=', 'The key "Shop =')],
    ['sentence', created?.sentence, (text) => text.replace('reports.example', 'other.example')],
    ['sentence', created?.sentence, (text) => text.replace('permission send', 'permission admin')],
    ['sentence', created?.sentence, (text) => text.replace('from anywhere', 'only from 192.0.2.0/24')],
    ['sentence', rotated?.sentence, (text) => text.replace(/ends in \w{4}/, 'ends in XXXX')],
    ['sentence', rotated?.sentence, (text) => text.replace('ended at once', 'still work')],
    ['by', rotated?.by, (text) => text.replace(/ends in \w{4}/, 'ends in XXXX')],
    ['by', rotated?.by, (text) => text.replace(/key_\w+/, 'key_nobody')],
    ['by', rotated?.by, (text) => text.replace('number 1', 'number 2')],
    ['at', rotated?.at, () => '2020-01-01T00:00:00.000Z'],
  ];
  for (const [name, said = '', forge] of forgeries) {
    expect(forge(said)).not.toBe(said);
    for (const spaces of [0, 2]) {
      const events = report.events.map((event) =>
        event[name as 'by'] === said ? { ...event, [name]: forge(said) } : event,
      );
      const forged = JSON.stringify({ ...report, events }, null, spaces);
      expect(verifyOwn(report, forged)).toMatchObject({ verdict: 'not verified' });
    }
  }
  const partly = JSON.stringify({ ...report, evidence: null });
  expect(verifyOwn(report, partly)).toMatchObject({ verdict: 'undecided', faults: [] });
};

const HOSTILE = '=HYPERLINK("x")<script>alert(1)</script>\u202e\u0007☃';

describe('a report about an API key', () => {
  test('lists the earlier secrets that still work, also after a rotation without grace', async () => {
    const { id } = await post('/v1/api-keys', { name: 'Rotated', domain_id: domainId, permissions: ['send'] });
    await post(`/v1/api-keys/${id}/rotate`, { grace_period_minutes: 60 });
    const rotated = await post(`/v1/api-keys/${id}/rotate`, { grace_period_minutes: 0 });
    expect(rotated.earlier_secrets).toHaveLength(1);
    const [{ last4 }] = rotated.earlier_secrets;
    const report: Report = (await ask(`/v1/audit/reports/api-keys/${id}`)).json();
    const working = expect.stringMatching(new RegExp(`^number 1, which ends in ${last4}, until `));
    expect(report.facts).toContainEqual({ name: 'Earlier secrets that still work', value: working });
    const [, first, second] = report.events.map(({ sentence }) => sentence);
    expect(first).toMatch(new RegExp(`Secret 1 \\(…${last4}\\) is valid until [^.]+ at the latest\\.$`));
    expect(second).toContain(`Secret 1 (…${last4}) is valid until `);
    expect(second).not.toContain('Secret 2 ');
    await post(`/v1/api-keys/${id}/rotate`, { revoke_previous: true });
    const after: Report = (await ask(`/v1/audit/reports/api-keys/${id}`)).json();
    expect(after.facts).toContainEqual({ name: 'Earlier secrets that still work', value: 'none' });
    expect(after.events.at(-1)?.sentence).toContain('All earlier secrets ended at once.');
  });

  test('says in sentences what happened, by whom and with which secret, and proves it', async () => {
    const { id } = await post('/v1/api-keys', {
      name: HOSTILE.replace('\u0007', ''),
      domain_id: domainId,
      permissions: ['send'],
    });
    await post(`/v1/api-keys/${id}/rotate`, { revoke_previous: true });
    await post(`/v1/api-keys/${id}/revoke`, {});
    await post('/v1/audit/checkpoints', {});
    const report: Report = (await ask(`/v1/audit/reports/api-keys/${id}`)).json();
    expect(report.events.map(({ type }) => type)).toEqual(['KeyCreated', 'KeyRotated', 'KeyRevoked']);
    expect(report.events[1]?.sentence).toMatch(
      /^It was rotated to secret number 2, which ends in \w{4}\. All earlier secrets ended at once\.$/,
    );
    expect(report.events[1]?.by).toMatch(/^API key key_\w+, with its secret number 1, which ends in \w{4}$/);
    expect(report.left_out).toBeNull();
    expect(report.facts.slice(0, 1)).toEqual([{ name: 'Organization', value: `Test (${organizationId})` }]);
    expect(report.facts).toContainEqual({ name: 'Sends', value: `live mail of reports.example (${domainId})` });
    expect(report.events[0]?.sentence).toContain(`was created for live mail of reports.example (${domainId}), with`);
    expectProofs(report);
    expect(verifyOwn(report)).toMatchObject({
      verdict: 'consistent',
      faults: [],
      doubts: [],
      disclosed: { length: 3 },
    });
    expectForgeriesRefused(report);
    expectEachWordChecked(report);
    expect(proofSentence(report)).toContain(`The first ${report.checkpoint?.size} events of the log were signed at `);
    expect(proofSentence(report)).toContain(', and all events of this report are proved to be among them.');

    const html = await ask(`/v1/audit/reports/api-keys/${id}`, { accept: 'text/html,*/*;q=0.8' });
    expect(html.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(html.headers['content-security-policy']).toMatch(/^default-src 'none'; style-src 'sha256-[^']+'; /);
    expect(html.body).not.toContain('<script');
    expect(html.body).toContain('&lt;script&gt;');
    const pdf = await ask(`/v1/audit/reports/api-keys/${id}?format=pdf`);
    expect([pdf.headers['content-type'], pdf.rawPayload.subarray(0, 5).toString()]).toEqual([
      'application/pdf',
      '%PDF-',
    ]);
    expect(pdf.rawPayload.toString('latin1')).toContain(`(${id}.json)`);
    expect(textOf(pdf.rawPayload)).toContain(
      'A question mark in a name can stand for a letter that this font does not have.',
    );
    const csv = await ask(`/v1/audit/reports/api-keys/${id}?format=csv`);
    expect(csv.headers['content-type']).toBe('text/csv; charset=utf-8');
    expect(csv.body.split('\r\n')).toHaveLength(7);

    await service.request({ method: 'DELETE', url: `/v1/api-keys/${id}`, key });
    const later: Report = (await ask(`/v1/audit/reports/api-keys/${id}`)).json();
    expect(later.events.at(-1)).toMatchObject({ type: 'KeyDeleted', proof: null });
    expect(proofSentence(later)).toContain(', and 3 of the 4 events of this report are proved');
  });

  test.each([
    [
      'the last characters of a secret',
      'KeyCreated',
      `set data = regexp_replace(data, '"last4":"[^"]{4}"', '"last4":"XXXX"')`,
    ],
    [
      'the actor',
      'KeyRotated',
      `set metadata = regexp_replace(metadata, '"actor":"[^"]+"', '"actor":"key:key_nobody"')`,
    ],
  ])('is refused if %s was changed in the database', async (_, type, change) => {
    const { id } = await post('/v1/api-keys', { name: 'x', domain_id: domainId, permissions: ['send'] });
    await post(`/v1/api-keys/${id}/rotate`, {});
    await post('/v1/audit/checkpoints', {});
    const database = new Pool({ connectionString: service.url, max: 1 });
    onTestFinished(() => database.end());
    const where = `where stream = 'apiKey-${id}' and type = '${type}'`;
    const { rows } = await database.query(`select id, data, metadata from event_log.events ${where}`);
    await database.query(`update event_log.events ${change} ${where}`);
    for (const format of ['json', 'html', 'csv', 'pdf']) {
      const answer = await ask(`/v1/audit/reports/api-keys/${id}?format=${format}`);
      expect([answer.statusCode, answer.json().error?.code]).toEqual([409, 'signing_stopped']);
      expect(answer.json().error.message).toContain(`event ${rows[0].id} was changed in the database`);
    }
    const { data, metadata } = rows[0];
    await database.query(`update event_log.events set data = $1, metadata = $2 ${where}`, [data, metadata]);
    expect((await ask(`/v1/audit/reports/api-keys/${id}`)).statusCode).toBe(200);
  });

  test('says how much was sent with each secret, in each format', async () => {
    const first = await post('/v1/api-keys', { name: 'x', domain_id: domainId, permissions: ['send'] });
    const sendWith = async (by: string, to: string | string[]): Promise<void> => {
      const payload = { from: 'a@reports.example', to, subject: 'x', text: 'x' };
      const url = '/v1/messages/send';
      expect((await service.request({ method: 'POST', url, key: by, payload })).statusCode).toBe(202);
    };
    await sendWith(first.key, ['a@example.org', 'b@example.org']);
    await sendWith(first.key, 'c@example.org');
    const second = await post(`/v1/api-keys/${first.id}/rotate`, {});
    await post(`/v1/api-keys/${first.id}/rotate`, {});
    await sendWith(second.key, 'd@example.org');
    const url = `/v1/audit/reports/api-keys/${first.id}`;
    const { sends }: Report = (await ask(url)).json();
    expect(sends).toMatchObject([
      { secret: 3, messages: 0, recipients: 0, first_at: null, last_at: null },
      { secret: 2, last4: second.key.slice(-4), messages: 1, recipients: 1 },
      { secret: 1, last4: first.key.slice(-4), messages: 2, recipients: 3 },
    ]);
    expect(sends.map(({ first_at: from, last_at: to }) => (from ?? '') <= (to ?? ''))).toEqual([true, true, true]);
    const sentence = `Secret number 1, which ends in ${first.key.slice(-4)}, sent 2 messages to 3 recipients: the first at `;
    for (const format of ['html', 'csv']) expect((await ask(`${url}?format=${format}`)).body).toContain(sentence);
    expect((await ask(`${url}?format=pdf`)).statusCode).toBe(200);
  });

  test('of more events than it shows says so', async () => {
    const { id } = await post('/v1/api-keys', { name: 'busy', domain_id: domainId, permissions: ['send'] });
    for (
      let n = 0;
      n < 160;
      n += 1 // more than a report shows
    )
      await service.request({ method: 'PATCH', url: `/v1/api-keys/${id}`, key, payload: { name: `busy ${n}` } });
    const report: Report = (await ask(`/v1/audit/reports/api-keys/${id}`)).json();
    expect(report.events).toHaveLength(150);
    expect(report.events.at(-1)?.sentence).toBe('It was changed. Its new name is "busy 159".');
    expect(report.left_out).toContain(`GET /v1/audit/log?key_id=${id}`);
  });
});

describe('a report about a message', () => {
  test('says what happened to it, and that reading it is on record', async () => {
    const message = { from: 'shop@reports.example', to: 'ann@example.net', subject: 'Hello Ann', text: 'Hello' };
    const { id } = await post('/v1/messages/send', message);
    await post('/v1/audit/checkpoints', {});
    const report: Report = (await ask(`/v1/audit/reports/messages/${id}`)).json();
    expect(report.facts).toContainEqual({ name: 'Subject', value: 'Hello Ann' });
    expect(report.events[0]?.sentence).toMatch(/^Accepted for ann@example\.net as transactional mail\. /);
    expectProofs(report);
    expect(report.facts).toContainEqual({ name: 'To ann@example.net', value: 'accepted' });
    expectEachWordChecked(report);
    const read = (await ask('/v1/audit/log?type=DataRead')).json().data;
    expect(read[0].data).toMatchObject({ what: 'message_content', subjectId: id });
  });

  test('has the state of each recipient that the message has', async () => {
    const to = ['delivered', 'bounced', 'deferred'].map((word) => `${word}@example.net`);
    const message = { from: 'shop@reports.example', to, subject: 'x', text: 'x' };
    const { id } = await post('/v1/messages/send', {
      ...message,
      scheduled_at: new Date(Date.now() + 3_600_000).toISOString(),
    });
    const states = async () => {
      const { facts }: Report = (await ask(`/v1/audit/reports/messages/${id}`)).json();
      return facts.filter(({ name }) => name.startsWith('To ')).map(({ value }) => value);
    };
    const current = async () =>
      (await ask(`/v1/messages/${id}`)).json().recipients.map(({ status }: { status: string }) => status);
    expect(await states()).toEqual(['scheduled', 'scheduled', 'scheduled']);
    expect(await states()).toEqual(await current());
    await post(`/v1/messages/${id}/cancel`, {});
    expect(await states()).toEqual(await current());
    expect(await states()).toEqual(['cancelled', 'cancelled', 'cancelled']);
    await post('/v1/audit/checkpoints', {});
    expectEachWordChecked((await ask(`/v1/audit/reports/messages/${id}`)).json());
  });

  test('is not shown to anyone else', async () => {
    const { id } = await post('/v1/messages/send', {
      from: 'shop@reports.example',
      to: 'bo@example.net',
      subject: 'x',
      text: 'x',
    });
    const { key: other } = await openAdminTenant(service, 'stranger.example');
    const reader = (await service.makeKey(organizationId, domainId, { permissions: ['read'] })).value;
    const url = `/v1/audit/reports/messages/${id}`;
    expect((await ask(url, {}, other)).json().error.code).toBe('other_organization');
    expect((await ask(url, {}, reader)).json().error.code).toBe('permission_missing');
    expect((await ask('/v1/audit/reports/messages/msg_none')).statusCode).toBe(404);
    expect((await ask(`${url}?format=exe`)).statusCode).toBe(400);
  });
});

test('hostile words are only words in each format', async () => {
  const event = {
    ...{ at: '2026-01-01T00:00:00.000Z', sentence: HOSTILE, by: HOSTILE, address: null, request_id: null },
    ...{ type: 'KeyCreated', event_id: 'x', leaf_index: null, proof: null },
  };
  const report: Report = {
    ...{ object: 'audit_report', type: 'api_key', id: 'key_x', title: HOSTILE, made_at: event.at, as_of: null },
    ...{ access: [], names: [], evidence: [] },
    ...{ facts: [{ name: HOSTILE, value: HOSTILE }], left_out: HOSTILE, events: [event], checkpoint: null },
    sends: [{ secret: 1, last4: HOSTILE, messages: 1, recipients: 1, first_at: event.at, last_at: event.at }],
  };
  expect(reportHtml(report)).not.toContain('<script');
  expect(writeCsv(reportRows(report))).toContain(`"'=HYPERLINK(""x"")`);
  const chunks: Buffer[] = [];
  for await (const chunk of await reportPdf(report)) chunks.push(chunk);
  expect(Buffer.concat(chunks).subarray(-6).toString().trim()).toBe('%%EOF');
});
