import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { formatId } from '../../../src/domain/kernel/ids.ts';
import { auditStream, readingStream } from '../../../src/domain/kernel/streams.ts';
import {
  createCosigner,
  createSigner,
  leafHash,
  meetsQuorum,
  parseCheckpoint,
  parseNote,
  parsePolicy,
  parseVerifierKey,
  rootOfComplete,
  signedAt,
  subtreesOf,
} from '../../../src/lib/transparency/transparency.ts';
import { decodeEntries, TILE_WIDTH, tilePath } from '../../../src/projections/audit/tiles.ts';
import { contextAt, NOW } from '../../support/specification.ts';
import { type DatabaseService, startDatabaseService } from '../support/database-service.ts';

const EVENTS = 600;

const WITNESS = createCosigner('witness.example', randomBytes(32)).verifierKey.text;
const WITNESSES = `witness w ${WITNESS} https://operator:secret@witness.internal/\ngroup all-of-us all w\nquorum all-of-us\n`;

let service: DatabaseService;
let organizationId: string;
let key: string;
let other: string;
let stranger: string;
let token: string;
let size: number;

/** Fills a tree with three bundles, the last of which is partial. */
const fill = async (): Promise<void> => {
  const { store, system } = service.deps.context;
  const data = { organizationId, what: 'suppressions' as const, subjectId: null, percent: 100 };
  const events = Array.from({ length: EVENTS }, () => ({ id: system.uuid(), type: 'DataRead' as const, data }));
  const stream = readingStream(system.uuid());
  await store.append({ stream, expected: 'no-stream', events, context: contextAt(NOW, organizationId) });
};

beforeAll(async () => {
  service = await startDatabaseService({ witnessPolicy: parsePolicy(WITNESSES) });
  organizationId = await service.makeOrganization();
  key = (await service.makeKey(organizationId, await service.makeDomain(organizationId, 'tlog.test'))).value;
  stranger = await service.makeOrganization();
  other = (await service.makeKey(stranger, await service.makeDomain(stranger, 'stranger.test'))).value;
  const payload = { name: 'Ann', expires_at: '2099-01-01T00:00:00Z' };
  token = (await service.request({ method: 'POST', url: '/v1/audit/auditors', key, payload })).json().token;
  await fill();
  const signed = await service.request({ method: 'POST', url: '/v1/audit/checkpoints', key, payload: {} });
  size = signed.json().size;
});
afterAll(() => service.close());

const read = async (path: string, by = token, tree = organizationId) => {
  const answer = await service.request({ url: `/v1/audit/tlog/${tree}/${path}`, key: by });
  const isJson = String(answer.headers['content-type']).startsWith('application/json');
  return {
    status: answer.statusCode,
    code: isJson ? answer.json().error.code : null,
    bytes: answer.rawPayload,
    headers: answer.headers,
  };
};
const policy = (tree = organizationId) => service.request({ url: `/.well-known/outbox-audit/${tree}` });

describe('the audit log as a transparency log', () => {
  test('serves tiles and entries that lead to the root of its checkpoint, whose key the policy names', async () => {
    const checkpoint = await read('checkpoint');
    expect([checkpoint.status, checkpoint.headers['content-type'], checkpoint.headers['cache-control']]).toEqual([
      200,
      'text/plain; charset=utf-8',
      'no-cache',
    ]);
    const note = parseNote(checkpoint.bytes.toString());
    const answer = await policy();
    expect([answer.statusCode, answer.headers['cache-control']]).toEqual([200, 'public, max-age=300']);
    const { logs, quorum } = parsePolicy(answer.body);
    expect([logs.length, quorum]).toEqual([1, 'all-of-us']);
    expect(signedAt(note, logs[0] ?? parseVerifierKey(''))).toBe(0);
    const { root } = parseCheckpoint(note.text);
    const hashes: Buffer[] = [];
    for (let tile = 0; tile * TILE_WIDTH < size; tile += 1) {
      const width = Math.min(TILE_WIDTH, size - tile * TILE_WIDTH);
      const served = await read(tilePath({ level: 0, tile, width }));
      expect(served.headers).toMatchObject({
        'content-type': 'application/octet-stream',
        'cache-control': 'private, max-age=31536000, immutable',
      });
      const entries = await read(tilePath({ level: 'entries', tile, width }));
      expect(Buffer.concat(decodeEntries(entries.bytes).map(leafHash))).toEqual(served.bytes);
      hashes.push(served.bytes);
    }
    const all = Buffer.concat(hashes);
    expect(all.length).toBe(size * 32);
    const above = await read('tile/1/000.p/2');
    expect(above.bytes).toEqual(Buffer.concat(hashes.slice(0, 2).map((tile) => rootOfComplete(tile))));
    const subtrees = subtreesOf({ from: 0, to: size }).map(({ level, index }) =>
      rootOfComplete(all.subarray(index * 2 ** level * 32, (index + 1) * 2 ** level * 32)),
    );
    const [audited] = await service.deps.readModels.audit.hashes(organizationId, [{ from: 0, to: size }]);
    expect(audited).toEqual(root);
    expect(subtrees.length).toBeGreaterThan(1);
  });

  test('serves a part of a tile, which does not change when the tile grows, to keys with admin too', async () => {
    const whole = await read('tile/0/000', key);
    const part = await read('tile/0/000.p/17', key);
    expect([whole.bytes.length, part.bytes]).toEqual([TILE_WIDTH * 32, whole.bytes.subarray(0, 17 * 32)]);
    expect(decodeEntries((await read('tile/entries/001.p/3', key)).bytes)).toHaveLength(3);
    expect((await read('tile/0%2F000', key)).bytes).toEqual(whole.bytes);
  });

  test('serves nothing that is not signed yet', async () => {
    const { store, system } = service.deps.context;
    const events = [
      {
        id: system.uuid(),
        type: 'DataRead' as const,
        data: { organizationId, what: 'suppressions' as const, subjectId: null, percent: 100 },
      },
    ];
    const stream = readingStream(system.uuid());
    await store.append({ stream, expected: 'no-stream', events, context: contextAt(NOW, organizationId) });
    const inTail = size - 2 * TILE_WIDTH;
    const statuses = async (...paths: string[]) => Promise.all(paths.map(async (path) => (await read(path)).status));
    expect(
      await statuses(`tile/0/002.p/${inTail}`, `tile/0/002.p/${inTail + 1}`, 'tile/0/002', 'tile/0/003.p/1'),
    ).toEqual([200, 404, 404, 404]);
    expect(
      await statuses(`tile/entries/002.p/${inTail + 1}`, 'tile/1/000.p/3', 'tile/1/000', 'tile/2/000.p/1'),
    ).toEqual([404, 404, 404, 404]);
  });

  test.each([
    ...['tile/', 'tile/0', 'tile/0/', 'tile/0/0', 'tile/00/000', 'tile/0/x000/000', 'tile/-1/000', 'tile/64/000'],
    ...['tile/63/000.p/1', 'tile/0/000.p/0', 'tile/0/000.p/256', 'tile/0/000.p/257', 'tile/0/000.p/01', 'tile/0/000/'],
    ...['tile/0/x999/x999/x999/x999/999', 'tile/0/x999/x999/x999/x999/x999/999', 'tile/data/000', 'tile/0/000?x=1'],
    ...['tile/..%2f..%2fcheckpoint', 'tile/0/000%00', 'tile/0/000%0d%0a', 'tile/0/%F0%9D%9F%8E00'],
    ...[
      `tile/0/${'x000/'.repeat(1_000)}000`,
      `tile/0/${'0'.repeat(10_000)}`,
      'checkpoint/',
      'checkpoint%00',
      'tile/%zz',
    ],
  ])('refuses %s', async (path) => {
    const { status, bytes } = await read(path);
    expect([400, 404]).toContain(status);
    expect(bytes.length).toBeLessThan(25_000);
  });

  test('belongs to one organization', async () => {
    for (const path of ['checkpoint', 'tile/0/000.p/1', 'tile/entries/000.p/1']) {
      expect(await read(path, other)).toMatchObject({ status: 403, code: 'other_organization' });
      expect(await read(path, token, stranger)).toMatchObject({ status: 403, code: 'other_organization' });
      for (const id of [formatId('org', new Uint8Array(16)), 'service', 'org_', '%00'])
        expect([id, (await read(path, token, id)).status]).toEqual([id, 404]);
      expect((await read(path, '')).status).toBe(401);
    }
    expect(await read('checkpoint', other, stranger)).toMatchObject({ status: 409, code: 'not_signed_yet' });
    expect(await read('tile/0/000.p/1', other, stranger)).toMatchObject({ status: 404, code: 'not_found' });
  });
});

describe('the policy of a log', () => {
  test('exists once something was signed, for an id of an organization', async () => {
    for (const id of [stranger, formatId('org', new Uint8Array(16)), 'service', '..%2f', '%00', 'o'.repeat(10_000)])
      expect([id, (await policy(id)).statusCode]).toEqual([id, 404]);
  });

  test('names the witnesses that the operator asks and their quorum, but not their addresses', async () => {
    const { body } = await policy();
    const [log, ...witnesses] = body.split('\n');
    expect(log).toMatch(/^log localhost\/v1\/audit\/tlog\/org_/);
    expect(witnesses).toEqual([`witness w ${WITNESS}`, 'group all-of-us 1 w', 'quorum all-of-us', '']);
    const met = (name: string) => meetsQuorum(parsePolicy(body), new Set([name]));
    expect(['w', 'v'].map(met)).toEqual([true, false]);
  });

  test('names both keys while one replaces the other', async () => {
    const { store, system } = service.deps.context;
    const before = (await policy()).body;
    const [last] = await store.readStream(auditStream(organizationId), { direction: 'backwards', limit: 1 });
    const vkey = createSigner('next.example', randomBytes(32)).verifierKey.text;
    await store.append({
      stream: auditStream(organizationId),
      expected: last?.revision ?? 'no-stream',
      events: [
        { id: system.uuid(), type: 'AuditKeyAdded', data: { organizationId, origin: 'o', vkey, secretId: 's' } },
      ],
      context: contextAt(NOW, organizationId),
    });
    expect((await policy()).body).toBe(before.replace('\nwitness', `\nlog ${vkey}\nwitness`));
  });

  test('cannot be requested again and again by one network', async () => {
    const ask = () => service.request({ url: `/.well-known/outbox-audit/${stranger}`, remoteAddress: '192.0.2.9' });
    const statuses = await Promise.all(Array.from({ length: 70 }, async () => (await ask()).statusCode));
    expect(new Set(statuses)).toEqual(new Set([404, 429]));
  });
});
