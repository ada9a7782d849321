import { randomBytes } from 'node:crypto';
import { get, type IncomingMessage } from 'node:http';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { openAdminTenant } from '../support/admin-tenant.ts';
import { type DatabaseService, startDatabaseService } from '../support/database-service.ts';

let service: DatabaseService;
let baseUrl: string;
let key: string;
let note: string;

beforeAll(async () => {
  service = await startDatabaseService();
  baseUrl = await service.server.listen({ host: '127.0.0.1', port: 0 });
  ({ key } = await openAdminTenant(service, 'audit.example'));
  const signed = await service.request({ method: 'POST', url: '/v1/audit/checkpoints', key, payload: {} });
  ({ note } = signed.json());
});
afterAll(() => service.close());

const BUNDLE = 256;
/** More than gzip looks back for what is alike. */
const LEAVES = Array.from({ length: BUNDLE }, () => JSON.stringify({ data: randomBytes(600).toString('base64') }));

/** A log of so many leaves. @param read takes the number of a bundle before it is answered. */
const withLeaves = (size: number, read: (bundle: number) => Promise<void>): void => {
  const { audit } = service.deps.readModels;
  const [origin = '', , root = ''] = note.split('\n');
  const large = note.replace(/^[^\n]*\n\d+\n[^\n]*\n/, `${origin}\n${size}\n${root}\n`);
  const checkpoints = vi
    .spyOn(audit, 'checkpoints')
    .mockResolvedValue([{ size, note: large, vkey: '', signedAt: '2026-01-01T00:00:00.000Z' }]);
  const leaves = vi.spyOn(audit, 'leaves').mockImplementation(async (_, bundle) => {
    await read(bundle);
    return LEAVES;
  });
  onTestFinished(() => {
    checkpoints.mockRestore();
    leaves.mockRestore();
  });
};

const exported = (encoding: string): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${key}`, 'accept-encoding': encoding };
    const request = get(`${baseUrl}/v1/audit/export`, { headers }, resolve).on('error', reject);
    onTestFinished(() => void request.destroy());
  });

/** What fits into the buffers of the kernel and of two streams, some MB. */
const STALLED_BUNDLES_MAX = 200;

describe.each(['gzip', 'identity'])('an export as %s', (encoding) => {
  test('breaks off where the database does, and the service goes on', async () => {
    withLeaves(1_000 * BUNDLE, async (bundle) => {
      if (bundle === 3) throw new Error('the database is away');
    });
    const answer = await exported(encoding);
    const broken = new Promise((resolve) => answer.once('error', resolve).resume().once('end', () => resolve('whole')));
    expect(await broken).toMatchObject({ code: 'ECONNRESET' });
    expect((await service.request({ url: '/v1/audit/checkpoints', key })).statusCode).toBe(200);
  });

  test('reads no further than its client, and ends with it', async () => {
    let read = 0;
    withLeaves(100_000 * BUNDLE, async (bundle) => {
      read = bundle;
    });
    const answer = await exported(encoding);
    const readFor = async (ms: number): Promise<number> => {
      await new Promise((resolve) => setTimeout(resolve, ms));
      return read;
    };
    await expect.poll(async () => (await readFor(0)) === (await readFor(300)), { timeout: 20_000 }).toBe(true);
    const stalledAt = read;
    expect(stalledAt).toBeLessThan(STALLED_BUNDLES_MAX);
    await new Promise<void>((resolve) => {
      answer.on('data', () => {
        if (read > stalledAt + 50) resolve();
      });
    });
    answer.destroy();
    await expect.poll(async () => (await readFor(0)) === (await readFor(300)), { timeout: 20_000 }).toBe(true);
    expect(read).toBeLessThan(100_000);
  });
});
