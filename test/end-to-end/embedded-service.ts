/** A stand-in for a service: opens the built-in PostgreSQL, prints its location, and runs until it is killed. */

import { claimOwnership, openEmbeddedPostgres } from '../../src/adapters/embedded-postgres/embedded-postgres.ts';
import { createSystem } from '../../src/adapters/system.ts';
import { silentLogger } from '../support/logger.ts';

const system = createSystem();
process.on('SIGINT', () => {}); // behaves like a service that is still finishing its work

try {
  const dataDir = process.argv[2] ?? '';
  const { url, adopted, location, pid } = await openEmbeddedPostgres({ dataDir, system, logger: silentLogger });
  await claimOwnership({ url, system, logger: silentLogger, onLost: () => process.exit(3) });
  process.stdout.write(`${JSON.stringify({ url, adopted, location, pid })}\n`);
  setInterval(() => {}, 1_000_000);
} catch (error) {
  process.stdout.write(`${JSON.stringify({ refused: (error as Error).message })}\n`);
}
