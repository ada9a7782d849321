import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { load } from '../../../src/commands/execute.ts';
import { destination, destinationStream } from '../../../src/domain/destination/destination.ts';
import { createMailWorld } from '../../adapters/mail/direct/mail-world.ts';
import { closedAfterTest, statuses, until } from '../delivering.ts';
import { openService, type Service } from '../service.ts';

const [STRICT, QUICK] = ['127.0.0.31', '127.0.0.32'] as const;
const PER_SECOND = 10;
const MESSAGES = 80;
/** What was in hand has been refused, and the server's second is over. */
const SETTLED_MS = 2_000;
const WATCHED_MS = 5_000;

interface Asked {
  readonly atMs: number;
  readonly refused: boolean;
}

/** A server at which no more than so many recipients a second are welcome, and one at which all are. */
const openWorld = async (refusal: string) => {
  const world = closedAfterTest(await createMailWorld());
  world.dns.change({
    ...{ 'strict.test': { MX: [[10, 'mx.strict.test']] }, 'mx.strict.test': { A: [STRICT] } },
    ...{ 'quick.test': { MX: [[10, 'mx.quick.test']] }, 'mx.quick.test': { A: [QUICK] } },
  });
  const asked: Asked[] = [];
  const strict = await world.startScripted(STRICT, {
    RCPT: () => {
      const atMs = performance.now();
      const lately = asked.filter((each) => !each.refused && each.atMs > atMs - 1_000).length;
      asked.push({ atMs, refused: lately >= PER_SECOND });
      return lately >= PER_SECOND ? refusal : undefined;
    },
  });
  await world.startScripted(QUICK, {});
  const service = closedAfterTest(await openService());
  const live = world.transport();
  service
    .workers({
      transports: { ...service.dependencies.transports, live },
      destinations: { operatorOf: async (domain) => domain },
    })
    .start();
  return { service, asked, strict };
};

const sendMany = (service: Service, domain: string): Promise<readonly string[]> =>
  Promise.all(Array.from({ length: MESSAGES }, (_, at) => service.send(`user${at}@${domain}`)));

describe('a server that takes so many messages in a time', () => {
  test.each(['450 4.7.28 Rate limited', '421 4.7.28 Rate limited'])(
    'and says %s to more gets fewer from then on, and no other gets them later',
    async (refusal) => {
      const { service, asked, strict } = await openWorld(refusal);
      await sendMany(service, 'strict.test');
      await until(() => expect(asked.some(({ refused }) => refused)).toBe(true));
      const sentMs = performance.now();
      for (const id of await sendMany(service, 'quick.test')) {
        await until(async () => expect(await statuses(service, id)).toEqual(['delivered']));
      }
      expect(performance.now() - sentMs).toBeLessThan(WATCHED_MS);
      await sleep(SETTLED_MS);
      const fromMs = performance.now();
      await sleep(WATCHED_MS);
      const later = asked.filter(({ atMs }) => atMs > fromMs);
      expect(later.length).toBeGreaterThan(0);
      expect(later.length).toBeLessThan((PER_SECOND * WATCHED_MS) / 1_000 / 2);
      expect(later.every(({ refused }) => !refused)).toBe(true);
      const delivered = strict.copies.filter(({ to }) => to.length > 0);
      expect(delivered.length).toBe(asked.filter(({ refused }) => !refused).length);
      const { state } = await load(service.dependencies.store, destination, destinationStream('strict.test'));
      expect(state.suspension).toBeNull();
    },
    30_000,
  );
});
