import { Client } from 'pg';
import { describe, expect, test, vi } from 'vitest';
import { claimOwnership } from '../../src/adapters/embedded-postgres/embedded-postgres.ts';
import { createSystem } from '../../src/adapters/system.ts';
import { ADVISORY_LOCKS } from '../../src/lib/postgres/postgres.ts';
import { silentLogger } from '../support/logger.ts';
import { killServer, open, query, temporaryFolder } from './embedded-support.ts';

const own = (url: string, onLost = (): void => undefined) =>
  claimOwnership({ url, system: createSystem(), logger: silentLogger, onLost });

const HELD = `select 1 from pg_locks where locktype = 'advisory' and granted and objid = ${ADVISORY_LOCKS.ownership}`;

/** Resolves when a service owns the data. */
const owned = (url: string): Promise<void> =>
  vi.waitFor(async () => expect(await query(url, HELD)).toHaveLength(1), { timeout: 30_000, interval: 50 });

describe('the built-in PostgreSQL', () => {
  test('is still owned by its service after an interruption', async () => {
    const embedded = await open({ dataDir: await temporaryFolder(), supervised: true });
    const ownership = await own(embedded.url);
    await killServer(embedded.location);
    await owned(embedded.url);
    await expect(own(embedded.url)).rejects.toThrow(/another Outbox service \(process \d+\) is already running/);
    await ownership.release();
    await (await own(embedded.url)).release();
    await embedded.close();
  });

  test('is still owned by its service when the server has not noticed that the earlier connection ended', async () => {
    const embedded = await open({ dataDir: await temporaryFolder() });
    const onLost = vi.fn();
    const ownership = await own(embedded.url, onLost);
    const [owner] = (await query(
      embedded.url,
      "select pid, application_name as name from pg_stat_activity where application_name like 'outbox owner%'",
    )) as { pid: number; name: string }[];
    const earlier = new Client({ connectionString: embedded.url, application_name: owner?.name });
    earlier.on('error', () => undefined);
    await earlier.connect();
    const locked = earlier.query('select pg_advisory_lock($1)', [ADVISORY_LOCKS.ownership]);
    await query(embedded.url, `select pg_terminate_backend(${owner?.pid})`);
    await locked;
    await new Promise((resolve) => earlier.once('end', resolve));
    await owned(embedded.url);
    await expect(own(embedded.url)).rejects.toThrow(/already running/);
    expect(onLost).not.toHaveBeenCalled();
    await ownership.release();
    await embedded.close();
  });
});
