import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { load } from '../../../src/commands/execute.ts';
import { destination } from '../../../src/domain/destination/suspension.ts';
import { destinationStream } from '../../../src/domain/kernel/streams.ts';
import { createMailWorld } from '../../adapters/mail/mx/mail-world.ts';
import { closedAfterTest } from '../../support/after-test.ts';
import { statuses, until } from '../delivering.ts';
import { openService, type Service } from '../service.ts';

const QUICK = '127.0.0.32';
/** Servers that reject recipients above a rate, with their replies. */
const STRICT = [
  { domain: 'strict.test', address: '127.0.0.31', refusal: '450 4.7.28 Rate limited' },
  { domain: 'closing.test', address: '127.0.0.33', refusal: '421 4.7.28 Rate limited' },
] as const;
const PER_SECOND = 10;
const MESSAGES = 80;
/** Time until attempts in flight have been rejected and the server's second is over. */
const SETTLED_MS = 2_000;
const WATCHED_MS = 5_000;

interface AttemptTime {
  readonly atMs: number;
  readonly refused: boolean;
}

type World = Awaited<ReturnType<typeof createMailWorld>>;

/** A server that accepts at most `PER_SECOND` recipients per second. */
const startStrict = async (world: World, { domain, address, refusal }: (typeof STRICT)[number]) => {
  world.dns.change({ [domain]: { MX: [[10, `mx.${domain}`]] }, [`mx.${domain}`]: { A: [address] } });
  const asked: AttemptTime[] = [];
  const server = await world.startScripted(address, {
    RCPT: () => {
      const atMs = performance.now();
      const lately = asked.filter((each) => !each.refused && each.atMs > atMs - 1_000).length;
      asked.push({ atMs, refused: lately >= PER_SECOND });
      return lately >= PER_SECOND ? refusal : undefined;
    },
  });
  return { domain, asked, server };
};

/** The strict servers, and one that accepts all recipients. */
const openWorld = async () => {
  const world = closedAfterTest(await createMailWorld());
  world.dns.change({ 'quick.test': { MX: [[10, 'mx.quick.test']] }, 'mx.quick.test': { A: [QUICK] } });
  await world.startScripted(QUICK, {});
  const strict = await Promise.all(STRICT.map((each) => startStrict(world, each)));
  const service = closedAfterTest(await openService());
  const live = world.transport();
  service
    .workers({
      transports: { ...service.dependencies.transports, live },
      destinations: { providerOf: async (domain) => domain },
    })
    .start();
  return { service, strict };
};

const sendMany = (service: Service, domain: string): Promise<readonly string[]> =>
  Promise.all(Array.from({ length: MESSAGES }, (_, at) => service.send(`user${at}@${domain}`)));

describe('servers with a rate limit', () => {
  test('receive fewer messages once they refuse some, and delay no other server', async () => {
    const { service, strict } = await openWorld();
    for (const { domain } of strict) await sendMany(service, domain);
    await until(() => expect(strict.every(({ asked }) => asked.some(({ refused }) => refused))).toBe(true));
    const sentMs = performance.now();
    for (const id of await sendMany(service, 'quick.test')) {
      await until(async () => expect(await statuses(service, id)).toEqual(['delivered']));
    }
    expect(performance.now() - sentMs).toBeLessThan(WATCHED_MS);
    await sleep(SETTLED_MS);
    const fromMs = performance.now();
    await sleep(WATCHED_MS);
    for (const { domain, asked, server } of strict) {
      const later = asked.filter(({ atMs }) => atMs > fromMs);
      expect(later.length).toBeGreaterThan(0);
      expect(later.length).toBeLessThan((PER_SECOND * WATCHED_MS) / 1_000 / 2);
      expect(later.every(({ refused }) => !refused)).toBe(true);
      const delivered = server.copies.filter(({ to }) => to.length > 0);
      expect(delivered.length).toBe(asked.filter(({ refused }) => !refused).length);
      const { state } = await load(service.dependencies.store, destination, destinationStream(domain));
      expect(state.suspension).toBeNull();
    }
  });
});
