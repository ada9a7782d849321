import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { verifyReport } from '../../../src/domain/audit/verifier/verify-report.ts';
import type { Report } from '../../../src/http/resources/audit/report.ts';
import {
  leafHash,
  NO_POLICY,
  parseCheckpoint,
  parseNote,
  parseVerifierKey,
  rootOfInclusion,
} from '../../../src/lib/transparency/transparency.ts';
import { expectEachWordChecked } from '../../support/forged-reports.ts';
import { openAdminTenant } from '../support/admin-tenant.ts';
import { type DatabaseService, startDatabaseService } from '../support/database-service.ts';

const URL = '/v1/audit/reports/access';

let service: DatabaseService;
let key: string;
let domainId: string;
let before: string;
let keyId: string;

const ask = (url: string, by = key) => service.request({ url, key: by });
const send = async (method: 'POST' | 'PATCH' | 'DELETE', url: string, payload: object = {}) => {
  const answer = await service.request({ method, url, key, payload });
  return answer.body === '' ? {} : answer.json();
};
const reviewAt = async (at?: string): Promise<Report> =>
  (await ask(at === undefined ? URL : `${URL}?at=${encodeURIComponent(at)}`)).json();
const rowOf = ({ access }: Report, id: string) => access.find((row) => row.id === id);

beforeAll(async () => {
  service = await startDatabaseService();
  ({ key, domainId } = await openAdminTenant(service, 'access.example'));
  ({ id: keyId } = await send('POST', '/v1/api-keys', { name: '=Shop', domain_id: domainId, permissions: ['send'] }));
  const [entry] = (await ask('/v1/audit/log?type=KeyCreated&limit=1')).json().data;
  before = `leaf:${entry.leaf_index}`;
  await send('PATCH', `/v1/api-keys/${keyId}`, { permissions: ['send', 'read'], allowed_cidrs: ['192.0.2.0/24'] });
  await send('POST', `/v1/api-keys/${keyId}/revoke`);
});
afterAll(() => service.close());

describe('an access review', () => {
  test('states roles, scopes, who granted and changed access, and when it ended', async () => {
    const report = await reviewAt();
    expect(report).toMatchObject({ type: 'access_review', title: 'Who has access' });
    expect(rowOf(report, keyId)).toMatchObject({
      ...{ kind: 'api_key', name: '=Shop', role: null, permissions: ['send', 'read'], state: 'ended' },
      scope: `access.example (${domainId}), live mail, only from 192.0.2.0/24`,
      ...{
        granted_by: expect.stringMatching(/^API key ".+" \(key_\w+\)$/),
        changed_by: expect.stringMatching(/^API key ".+" \(key_\w+\)$/),
      },
      ...{ ended_at: expect.any(String), ended_by: expect.stringMatching(/^API key ".+" \(key_\w+\)$/) },
    });
    expect(report.access.at(-1)?.state).toBe('ended');
    expect(report.access[0]).toMatchObject({
      kind: 'api_key',
      permissions: ['admin'],
      state: 'active',
      ended_at: null,
    });
  });

  test('as of an earlier moment knows nothing of what came later', async () => {
    const report = await reviewAt(before);
    expect(rowOf(report, keyId)).toMatchObject({ permissions: ['send'], state: 'active', changed_at: null });
    expect(report.events.every(({ type }) => type === 'KeyCreated')).toBe(true);
    const longAgo = await reviewAt('2020-01-01');
    expect([longAgo.access, longAgo.events]).toEqual([[], []]);
    expect(longAgo.facts).toContainEqual({ name: 'As of', value: 'before the first event' });
    const today = new Date().toISOString().slice(0, 10);
    const fact = (await reviewAt(today)).facts.find(({ name }) => name === 'As of');
    expect(fact?.value).toContain(`${today} so far in UTC`);
    expect((await ask(`${URL}?at=2999-01-01`)).statusCode).toBe(400);
  });

  test('covers members and auditors, by name, and says who may see contents', async () => {
    const member = await send('POST', '/v1/members', { email: 'ada@access.example', name: 'Ada', role: 'analyst' });
    await send('PATCH', `/v1/members/${member.id}`, { role: 'developer' });
    const auditor = await send('POST', '/v1/audit/auditors', { name: 'Audit Ltd', expires_at: '2099-01-01T00:00:00Z' });
    const report = await reviewAt();
    expect(rowOf(report, member.id)).toMatchObject({
      ...{ kind: 'member', name: 'Ada', role: 'developer', permissions: ['send', 'read', 'manage'], state: 'active' },
    });
    expect(rowOf(report, auditor.id)).toMatchObject({ kind: 'auditor', name: 'Audit Ltd', state: 'active' });
    await send('DELETE', `/v1/members/${member.id}`);
    expect(rowOf(await reviewAt(), member.id)).toMatchObject({ state: 'ended', role: 'developer' });
    expect(report.facts).toContainEqual({ name: 'Roles that see mail contents', value: 'owner and developer' });
    expect(report.facts).toContainEqual({
      name: 'With access',
      value: expect.stringMatching(/^\d+ now, \d+ in all, including those that ended$/),
    });
  });

  test('proves each of its events against the signed log', async () => {
    await send('POST', '/v1/audit/checkpoints');
    const { events, checkpoint } = await reviewAt();
    const { root, size } = parseCheckpoint(parseNote(checkpoint?.note ?? '').text);
    expect(events.length).toBeGreaterThan(2);
    for (const { leaf_index: index, proof } of events) {
      const hashes = (proof?.hashes ?? []).map((hash) => Buffer.from(hash, 'base64'));
      const proved = rootOfInclusion(index ?? -1, size, leafHash(proof?.leaf ?? ''), hashes);
      expect(proved?.toString('hex')).toBe(root.toString('hex'));
    }
  });

  test('is refused while a leaf behind it differs from the log', async () => {
    const database = new Client({ connectionString: service.url });
    await database.connect();
    onTestFinished(() => database.end());
    const change = (from: string, to: string) =>
      database.query('update read_models.audit_tail set leaf = replace(leaf, $1, $2)', [from, to]);
    await change('"name":"=Shop"', '"name":"=Ship"');
    const refused = await ask(URL);
    expect([refused.statusCode, refused.json().error.message]).toEqual([
      503,
      expect.stringMatching(/^leaf \d+ of the audit log, event \S+, differs from the event in the log/),
    ]);
    await change('"name":"=Ship"', '"name":"=Shop"');
    expect((await ask(URL)).statusCode).toBe(200);
  });

  const verify = (report: Report) => {
    const keys = [parseVerifierKey(report.checkpoint?.verifier_key ?? '')];
    const quorum = { policy: NO_POLICY, count: null };
    return verifyReport(JSON.stringify(report), { keys, quorum, since: [], expected: [], disclosures: [] });
  };

  /** A signed review with a member, a key and an auditor of each kind. */
  const signedReview = async (): Promise<Report> => {
    const member = await send('POST', '/v1/members', { email: 'bo@access.example', name: 'Bo', role: 'analyst' });
    await send('PATCH', `/v1/members/${member.id}`, { role: 'developer' });
    await send('POST', `/v1/api-keys/${keyId}/rotate`);
    await send('POST', '/v1/audit/auditors', { name: 'Verified Ltd', expires_at: '2099-01-01T00:00:00Z' });
    await send('POST', '/v1/audit/checkpoints');
    return reviewAt();
  };

  test('is derived from its leaves again by the program for auditors, which prints its rows', async () => {
    const report = await signedReview();
    expect(report.events.map(({ type }) => type)).toEqual(expect.arrayContaining(['KeyCreated', 'AuditorAdded']));
    const { verdict, faults, doubts, notices, disclosed } = verify(report);
    expect({ verdict, faults, doubts }).toEqual({ verdict: 'consistent', faults: [], doubts: [] });
    expect(notices).toContainEqual(expect.stringMatching(/^not proved: names: .*Verified Ltd \(/));
    const html = (await ask(`${URL}?format=html`)).body.replaceAll('&quot;', '"').replaceAll('&#39;', "'");
    for (const row of disclosed.slice(0, report.access.length)) expect(html).toContain(row);
  });

  test('states nothing that is neither derived again nor listed as not proved', async () => {
    await send('POST', '/v1/audit/checkpoints');
    expectEachWordChecked(await reviewAt());
  });

  type Row = Report['access'][number];
  const FORGERIES: readonly (readonly [string, (row: Row) => Partial<Row>])[] = [
    ['name', ({ name }) => ({ name: `${name} Ltd` })],
    ['role', ({ role }) => ({ role: role === 'owner' ? 'analyst' : 'owner' })],
    ['permissions', ({ permissions }) => ({ permissions: [...permissions, 'admin'] })],
    ['scope', ({ scope }) => ({ scope: scope.replace('access.example', 'other.example').concat(', also more') })],
    ['state', ({ state }) => ({ state: state === 'active' ? 'ended' : 'active' })],
    ['granted_at', () => ({ granted_at: '2020-01-01T00:00:00.000Z' })],
    ['granted_by', () => ({ granted_by: 'the service' })],
    ['changed_by', () => ({ changed_by: 'the service' })],
    ['ended_at', () => ({ ended_at: '2020-01-01T00:00:00.000Z' })],
    ['expires_at', () => ({ expires_at: '2098-01-01T00:00:00.000Z' })],
    ['id', () => ({ id: 'mbr_nobody' })],
  ];

  test.each(FORGERIES)('is not verified with another %s in a row of its table', async (field, forge) => {
    const report = await reviewAt();
    for (const kind of ['member', 'api_key', 'auditor']) {
      const access = report.access.map((row) => (row.kind === kind ? { ...row, ...forge(row) } : row));
      const { verdict, faults } = verify({ ...report, access });
      expect(verdict).toBe('not verified');
      const what = new RegExp(
        `^row \\d+ of the table, \\w+ \\w+, ${field}: the report says .+, but its leaves say .+$`,
      );
      expect(faults.every((fault) => what.test(fault))).toBe(true);
    }
  });

  test('is not verified with other sentences, facts, rows or events', async () => {
    const report = await reviewAt();
    const withEvents = (change: (text: string) => string, name: 'sentence' | 'by'): Report => {
      const events = report.events.map((event) => ({ ...event, [name]: change(event[name]) }));
      expect(events).not.toEqual(report.events);
      return { ...report, events };
    };
    const forged: readonly Report[] = [
      withEvents((text) => text.replace(/ends in \w{4}/, 'ends in XXXX'), 'sentence'),
      withEvents((text) => text.replace('=Shop', 'Shop'), 'sentence'),
      withEvents((text) => text.replace('Verified Ltd', 'Other Ltd'), 'sentence'),
      withEvents((text) => text.replace(/ends in \w{4}/, 'ends in XXXX'), 'by'),
      withEvents((text) => text.replace(/key_\w+/, 'key_nobody'), 'by'),
      { ...report, access: [] },
      { ...report, access: report.access.slice(1) },
      { ...report, access: report.access.toReversed() },
      {
        ...report,
        events: report.events.slice(1),
        evidence: [...(report.evidence ?? []), ...report.events.slice(0, 1)],
      },
      {
        ...report,
        facts: report.facts.map((fact) => ({ ...fact, value: fact.value.replace('owner and', 'owner, analyst and') })),
      },
      { ...report, names: report.names.map(({ id }) => ({ id, name: 'Other Ltd' })) },
      { ...report, type: 'api_key' },
      { ...report, as_of: '2100-01-01T00:00:00.000Z' },
    ];
    for (const each of forged) expect(verify(each).verdict).toBe('not verified');
    expect(verify({ ...report, evidence: null })).toMatchObject({ verdict: 'undecided', faults: [] });
  });

  test('comes as CSV with a line for each principal, as page and as PDF', async () => {
    const report = await reviewAt();
    const csv = (await ask(`${URL}?format=csv`)).body;
    const [head, ...rows] = csv.trim().split('\r\n');
    expect(head).toBe(
      'kind,id,name,role,permissions,scope,state,granted_at,granted_by,changed_at,changed_by,expires_at,ended_at,ended_by',
    );
    expect(rows).toHaveLength(report.access.length);
    expect(csv).not.toContain(',=Shop');
    const html = (await ask(`${URL}?format=html`)).body;
    expect(html).toContain('<h2>Who has access</h2>');
    expect(html).toContain('<h2>Whose access ended</h2>');
    const pdf = await ask(`${URL}?format=pdf`);
    expect(pdf.rawPayload.subarray(0, 5).toString()).toBe('%PDF-');
  });

  test('shows no other organization', async () => {
    const other = await openAdminTenant(service, 'stranger.example');
    const { access }: Report = (await ask(URL, other.key)).json();
    expect(access.map(({ id }) => id)).not.toContain(keyId);
    expect(access).toHaveLength(1);
  });
});
