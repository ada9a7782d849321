import { createHash, randomUUID } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { parseLeaf } from '../../../src/domain/audit/leaf.ts';
import {
  isConsistent,
  leafHash,
  parseCheckpoint,
  parseNote,
  parseVerifierKey,
  rootOfInclusion,
  signedAt,
} from '../../../src/lib/transparency/transparency.ts';
import { verify } from '../../support/audit-export.ts';
import { openAdminTenant } from '../support/admin-tenant.ts';
import { type DatabaseService, startDatabaseService } from '../support/database-service.ts';

let service: DatabaseService;
let organizationId: string;
let domainId: string;
let key: string;
let other: string;

beforeAll(async () => {
  service = await startDatabaseService();
  ({ organizationId, domainId, key } = await openAdminTenant(service, 'audit.example'));
  other = (await openAdminTenant(service, 'stranger.example')).key;
});
afterAll(() => service.close());

const ask = async (url: string, by = key, headers: Record<string, string> = {}) => {
  const answer = await service.request({ url, key: by, headers });
  return {
    status: answer.statusCode,
    body: answer.headers['content-type']?.toString().includes('application/json;') ? answer.json() : null,
    answer,
  };
};
const sign = async (by = key) =>
  (await service.request({ method: 'POST', url: '/v1/audit/checkpoints', key: by, payload: {} })).json();
const makeSome = async (count: number) => {
  const made: string[] = [];
  for (let n = 0; n < count; n += 1) {
    made.push((await service.makeKey(organizationId, domainId, { permissions: ['send'] })).id);
  }
  return made;
};
/** All entries, oldest first, page by page. */
const wholeLog = async (query = '', by = key) => {
  const entries: { leaf_index: number; event_id: string; type: string; occurred_at: string; stream: string }[] = [];
  let cursor = '';
  for (let more = true; more; ) {
    const { body } = await ask(`/v1/audit/log?order=asc&limit=100${query}${cursor}`, by);
    entries.push(...body.data);
    more = body.has_more;
    cursor = `&after=${body.next_cursor}`;
  }
  return entries;
};
const rootOf = (checkpoint: { note: string; verifier_key: string }) => {
  const note = parseNote(checkpoint.note);
  expect(signedAt(note, parseVerifierKey(checkpoint.verifier_key))).toBe(0);
  return parseCheckpoint(note.text);
};
const hashes = (texts: readonly string[]) => texts.map((text) => Buffer.from(text, 'base64'));

describe('the audit log', () => {
  test('lists every event of the organization and none of another', async () => {
    const made = await makeSome(3);
    const entries = await wholeLog();
    expect(entries.map(({ leaf_index }) => leaf_index)).toEqual(entries.map((_, index) => index));
    expect(entries.map(({ type }) => type).slice(0, 2)).toEqual(['OrganizationCreated', 'DomainRegistered']);
    expect(entries.slice(-3).map(({ stream }) => stream)).toEqual(made.map((id) => `apiKey-${id}`));
    const { body } = await ask('/v1/audit/log?limit=2');
    expect(body.data).toEqual(entries.slice(-2).reverse());
    const strange = await wholeLog('', other);
    expect(strange.some(({ event_id }) => entries.some((own) => own.event_id === event_id))).toBe(false);
  });

  test('is filtered by key, domain, type, actor and time', async () => {
    const [keyId = ''] = await makeSome(1);
    await service.request({ method: 'POST', url: `/v1/api-keys/${keyId}/rotate`, key, payload: {} });
    const entries = await wholeLog();
    expect((await wholeLog(`&key_id=${keyId}`)).map(({ type }) => type)).toEqual(['KeyCreated', 'KeyRotated']);
    expect((await wholeLog(`&domain_id=${domainId}&type=KeyCreated`)).length).toBe(
      entries.filter(({ type }) => type === 'KeyCreated').length,
    );
    const rotated = await wholeLog('&type=KeyRotated');
    expect(rotated).toMatchObject([{ actor: { type: 'key', secret: 1 }, data: { keyId } }]);
    const at = rotated[0]?.occurred_at ?? '';
    expect((await wholeLog(`&since=${at}`)).every(({ occurred_at }) => occurred_at >= at)).toBe(true);
    expect((await wholeLog(`&until=${at}`)).every(({ occurred_at }) => occurred_at < at)).toBe(true);
    expect(await wholeLog('&actor=nobody')).toEqual([]);
  });

  test('continues over full bundles, with a filter and without, in both orders', async () => {
    const before = (await wholeLog()).length;
    await makeSome(300);
    const entries = await wholeLog();
    expect(entries.length).toBe(before + 300);
    expect(await wholeLog('&type=OrganizationCreated')).toHaveLength(1);
    const backwards: number[] = [];
    for (let cursor = ''; ; ) {
      const { body } = await ask(`/v1/audit/log?limit=90${cursor}`);
      backwards.push(...body.data.map(({ leaf_index }: { leaf_index: number }) => leaf_index));
      if (!body.has_more) break;
      cursor = `&after=${body.next_cursor}`;
    }
    expect(backwards).toEqual(entries.map(({ leaf_index }) => leaf_index).reverse());
  });

  test.each([
    'after=x',
    'order=up',
    'since=yesterday',
    'limit=0',
    'type=',
    `actor=${'a'.repeat(101)}`,
    'key_id=%00',
    'tree=org_a',
  ])('refuses %s', async (query) => {
    const { status, body } = await ask(`/v1/audit/log?${query}`);
    expect(status).toBe(400);
    expect(Object.keys(body.error.details)).toHaveLength(1);
  });
});

describe('checkpoints and proofs', () => {
  test('prove that each event is in the log that was signed', async () => {
    await makeSome(2);
    const checkpoint = await sign();
    const { size, root } = rootOf(checkpoint);
    const entries = await wholeLog();
    for (const { event_id: id, leaf_index: index } of [
      entries[0],
      entries[size - 1],
      entries[Math.floor(size / 2)],
    ].filter((one) => one !== undefined)) {
      const { body } = await ask(`/v1/audit/proof/${id}`);
      expect(body).toMatchObject({ event_id: id, leaf_index: index });
      expect(parseLeaf(body.leaf).id).toBe(id);
      const proved = parseCheckpoint(parseNote(body.checkpoint).text);
      expect(rootOfInclusion(index, proved.size, leafHash(body.leaf), hashes(body.hashes))).toEqual(proved.root);
      expect(proved.root).toEqual(root);
      const { answer } = await ask(`/v1/audit/proof/${id}`, key, { accept: 'text/plain' });
      expect(answer.body).toBe(
        ['c2sp.org/tlog-proof@v1', `index ${index}`, ...body.hashes, '', body.checkpoint].join('\n'),
      );
    }
  });

  test('prove events by the ids that customers know them by', async () => {
    const message = { from: 'a@audit.example', to: ['b@example.org', 'c@example.org'], subject: 'Hi', text: 'Hi' };
    await service.request({ method: 'POST', url: '/v1/messages/send', key, payload: message });
    await sign();
    const { body: feed } = await ask('/v1/events');
    const accepted = feed.data.filter(({ type }: { type: string }) => type === 'message.accepted');
    const proofs = accepted.map(async ({ id }: { id: string }) => (await ask(`/v1/audit/proof/${id}`)).body);
    const [first, second] = await Promise.all(proofs);
    expect(accepted.map(({ data }: { data: object }) => data)).toHaveLength(2);
    expect(second).toEqual(first);
    expect(first).toEqual((await ask(`/v1/audit/proof/${first.event_id}`)).body);
    expect(parseLeaf(first.leaf)).toMatchObject({ id: first.event_id, type: 'MessageAccepted' });
    const [{ id }] = accepted;
    expect((await ask(`/v1/audit/proof/${id}`, other)).status).toBe(404);
    expect((await ask(`/v1/audit/proof/${id.slice(0, -2)}aa`)).status).toBe(404);
  });

  test('prove that the log was only added to', async () => {
    const first = await sign();
    await makeSome(5);
    const second = await sign();
    expect(second.size).toBeGreaterThan(first.size);
    const { body } = await ask(`/v1/audit/consistency?from=${first.size}&to=${second.size}`);
    expect(body.from).toEqual({ size: first.size, root_hash: first.root_hash });
    const [before, after] = [rootOf(first), rootOf(second)];
    expect(isConsistent([before.size, before.root], [after.size, after.root], hashes(body.hashes))).toBe(true);
    const { body: list } = await ask('/v1/audit/checkpoints?limit=2');
    expect(list.data).toEqual([second, first]);
    const { body: next } = await ask(`/v1/audit/checkpoints?limit=1&after=${list.next_cursor}`);
    expect(next.data.map(({ size }: { size: number }) => size < first.size)).not.toContain(false);
    const { body: events } = await ask('/v1/events?types=audit.checkpoint&limit=1'); // the format of webhooks
    const { origin, size, root_hash, note } = second;
    expect(events.data[0].data).toMatchObject({ origin, size, root_hash, note });
  });

  test('are signed once, however often they are requested', async () => {
    const [one] = await Promise.all([sign(), sign(), sign()]);
    const { body } = await ask('/v1/audit/checkpoints?limit=100');
    expect(body.data.filter(({ size }: { size: number }) => size === one.size)).toHaveLength(1);
  });

  test('are refused too early', async () => {
    const signed = await sign();
    await makeSome(1);
    const newest = (await wholeLog()).at(-1);
    for (const url of [`/v1/audit/proof/${newest?.event_id}`, `/v1/audit/consistency?from=${signed.size + 1000}`]) {
      const { status, body, answer } = await ask(url);
      expect([status, body.error.code, answer.headers['retry-after']]).toEqual([409, 'not_signed_yet', '60']);
    }
    expect((await ask('/v1/audit/consistency?from=5&to=4')).body.error.details).toEqual({
      from: ['from must not be greater than to'],
    });
  });

  test('reveal nothing about another organization, and nothing to a key without admin', async () => {
    const [entry] = await wholeLog();
    await sign(other);
    expect((await ask(`/v1/audit/proof/${entry?.event_id}`, other)).status).toBe(404);
    for (const id of [randomUUID(), 'x', '..%2f', '%00'])
      expect([404, 422, 400]).toContain((await ask(`/v1/audit/proof/${id}`)).status);
    const { value } = await service.makeKey(organizationId, domainId, { permissions: ['manage'] });
    expect((await ask('/v1/audit/export', value)).status).toBe(403);
  });
});

describe('while the tables of the tree are not those of the log', () => {
  const connect = async () => {
    const database = new Client({ connectionString: service.url });
    await database.connect();
    onTestFinished(() => database.end());
    return database;
  };
  const refusals = async (urls: readonly string[]) => {
    const answers = await Promise.all(urls.map((url) => ask(url)));
    return answers.map(({ status, body }) => [status, body.error.message]);
  };

  test('a changed leaf is neither proved nor disclosed', async () => {
    const [made = ''] = await makeSome(1);
    const id = (await wholeLog(`&key_id=${made}`))[0]?.event_id;
    await sign();
    const database = await connect();
    const change = (from: string, to: string) =>
      database.query('update read_models.audit_tail set leaf = replace(leaf, $1, $2)', [from, to]);
    const name = `"keyId":"${made}"`;
    await change(name, '"keyId":"key_forged"');
    const differs = [
      503,
      expect.stringMatching(/^leaf \d+ of the audit log, event \S+, differs from the event in the log/),
    ];
    expect(await refusals([`/v1/audit/proof/${id}`, `/v1/audit/disclosures/${id}`])).toEqual([differs, differs]);
    const { answer } = await ask(`/v1/audit/proof/${id}`, key, { accept: 'text/plain' });
    expect([answer.statusCode, answer.body.includes('tlog-proof')]).toEqual([503, false]);
    await change('"keyId":"key_forged"', name);
    expect((await ask(`/v1/audit/proof/${id}`)).status).toBe(200);
  });

  test('a proof that does not lead to the signed root is not returned', async () => {
    const first = await sign();
    await makeSome(300);
    const last = await sign();
    const entries = await wholeLog();
    const id = entries[last.size - 1]?.event_id;
    const database = await connect();
    const change = () =>
      database.query(
        'update read_models.audit_tiles set hashes = set_byte(hashes, 0, get_byte(hashes, 0) # 1) where level = 1 and tree = $1',
        [organizationId],
      );
    const consistency = `/v1/audit/consistency?from=${first.size}&to=${last.size}`;
    const urls = [`/v1/audit/proof/${id}`, consistency, `/v1/audit/reports/access`];
    await change();
    expect(await refusals(urls)).toEqual([
      [
        503,
        expect.stringMatching(
          /^the proof of leaf \d+ of the audit log does not lead to the signed root of \d+ leaves: /,
        ),
      ],
      [
        503,
        expect.stringMatching(/^the proof does not lead from the root of \d+ leaves of the audit log to that of \d+: /),
      ],
      [503, expect.stringMatching(/^the proof of leaf \d+ of the audit log does not lead to the signed root/)],
    ]);
    await change();
    expect((await ask(consistency)).status).toBe(200);
  });
});

describe('an export', () => {
  const exported = async (query = '') => {
    const { answer } = await ask(`/v1/audit/export${query}`, key, { 'accept-encoding': 'gzip' });
    const text = gunzipSync(answer.rawPayload).toString();
    return { text, lines: text.trimEnd().split('\n') };
  };

  test('contains each leaf with its hash, and ends with the checkpoint of all of them', async () => {
    await makeSome(20);
    const checkpoint = await sign();
    const { text, lines } = await exported();
    const header = JSON.parse(lines[0] ?? '');
    expect(header).toEqual({ audit_export: 1, edge: [], from: 0, origin: checkpoint.origin, size: checkpoint.size });
    const end = JSON.parse(lines.at(-1) ?? '');
    expect(end.checkpoint).toBe(checkpoint.note);
    const rest = text.slice(0, text.lastIndexOf(',"sha256":'));
    expect(end.sha256).toBe(createHash('sha256').update(rest).digest('hex'));
    const leaves = lines.slice(1, -1).filter((line) => line.startsWith('{"data"'));
    const tiles = lines
      .slice(1, -1)
      .filter((line) => line.startsWith('{"hashes"'))
      .map((line) => JSON.parse(line));
    expect(leaves).toHaveLength(checkpoint.size);
    expect(Buffer.concat(tiles.map((tile) => Buffer.from(tile.hashes, 'base64')))).toEqual(
      Buffer.concat(leaves.map(leafHash)),
    );
    expect((await wholeLog('&type=AuditExported')).length).toBeGreaterThan(0);
    const keys = [parseVerifierKey(checkpoint.verifier_key)];
    expect(await verify(text, { keys })).toMatchObject({ verdict: 'consistent', size: checkpoint.size });
  });

  test('continues from a bundle, with the hashes of what comes before it', async () => {
    const { text, lines } = await exported('?from=300');
    const keys = [parseVerifierKey((await sign()).verifier_key)];
    expect(await verify(text, { keys })).toMatchObject({ verdict: 'consistent', faults: [] });
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ from: 256, edge: [expect.stringMatching(/^.{43}=$/)] });
    expect((await ask('/v1/audit/export?from=-1')).status).toBe(400);
    expect((await ask('/v1/audit/export?from=99999999')).status).toBe(409);
  });
});
