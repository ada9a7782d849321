import { onTestFinished } from 'vitest';
import { createSystem } from '../../../../src/adapters/system.ts';
import { createStubResolver, type StubResolver } from '../../../../src/lib/smtp/dns/stub-resolver.ts';
import type { Zone } from '../../../support/dns-zone.ts';
import { startNameServer, type TestNameServer } from '../../../support/name-server.ts';

/** Longer: slow tests. Shorter: time-outs on loopback under load. */
const TIMEOUT_MS = 250;

export interface Asking {
  readonly resolver: StubResolver;
  readonly server: TestNameServer;
  readonly servers: readonly TestNameServer[];
  /** Advances the clock of the cache. Time-outs are not affected. */
  advance(ms: number): void;
}

/** A resolver with a name server for each zone. They are closed after the test. */
export const asking = async (zone: Zone, ...more: readonly Zone[]): Promise<Asking> => {
  const system = createSystem();
  let aheadMs = 0;
  const server = await startNameServer(zone);
  const servers = [server, ...(await Promise.all(more.map((each) => startNameServer(each))))];
  for (const each of servers) onTestFinished(each.close);
  const resolver = createStubResolver({
    system: { ...system, monotonicMs: () => system.monotonicMs() + aheadMs },
    servers,
    timeoutMs: TIMEOUT_MS,
  });
  onTestFinished(resolver.close);
  return {
    resolver,
    server,
    servers,
    advance: (ms) => {
      aheadMs += ms;
    },
  };
};
