import { randomBytes } from 'node:crypto';
import { get, type IncomingMessage } from 'node:http';
import { afterAll, beforeAll, onTestFinished, vi } from 'vitest';
import { openAdminTenant } from './admin-tenant.ts';
import { type DatabaseService, startDatabaseService } from './database-service.ts';

export const BUNDLE = 256;
/** More data than gzip searches for repetitions. */
const LEAVES = Array.from({ length: BUNDLE }, () => JSON.stringify({ data: randomBytes(600).toString('base64') }));

/** A service whose audit log is as large as a test wants, and its export over HTTP. Call it inside a `describe`. */
export const serveLargeLog = () => {
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

  return {
    ask: (url: string) => service.request({ url, key }),
    /** @param read is called with the number of a bundle before the bundle is returned. */
    withLeaves: (size: number, read: (bundle: number) => Promise<void>): void => {
      const { audit } = service.deps.readModels;
      const large = note.replace(/\n\d+\n/, `\n${size}\n`);
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
    },
    exported: (encoding: string): Promise<IncomingMessage> =>
      new Promise((resolve, reject) => {
        const headers = { authorization: `Bearer ${key}`, 'accept-encoding': encoding };
        const request = get(`${baseUrl}/v1/audit/export`, { headers }, resolve).on('error', reject);
        onTestFinished(() => void request.destroy());
      }),
  };
};
