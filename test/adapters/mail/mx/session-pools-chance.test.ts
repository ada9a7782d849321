import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createSessionPools, type DeliveryTarget } from '../../../../src/adapters/mail/mx/session-pools.ts';
import { noReply, type PooledSession, SmtpConnectFailed, type SmtpSession } from '../../../../src/lib/smtp/smtp.ts';

const deliveryTarget = (key: string, address: string): DeliveryTarget => ({
  key,
  target: {
    host: key,
    address,
    port: 25,
    implicitTls: false,
    credentials: null,
    tls: { required: false, check: 'none' },
  },
});

/** Sessions that open, fail and end after random delays. The counts are independent of the pools. */
const createSessions = (chance: () => number) => {
  const counts = { open: 0, most: 0, mostAtOne: 0, at: new Map<string, number>() };
  const change = (address: string, by: 1 | -1): void => {
    counts.open += by;
    counts.at.set(address, (counts.at.get(address) ?? 0) + by);
    counts.most = Math.max(counts.most, counts.open);
    counts.mostAtOne = Math.max(counts.mostAtOne, counts.at.get(address) ?? 0);
  };
  const open = async (
    { target: { address = '' } }: DeliveryTarget,
    _signal: AbortSignal,
    onEnd: () => void,
  ): Promise<SmtpSession> => {
    change(address, 1);
    await sleep(chance() * 3);
    if (chance() < 0.2) {
      change(address, -1);
      throw new SmtpConnectFailed(noReply('refused'));
    }
    let isOpen = true;
    const end = (): void => {
      if (!isOpen) return;
      isOpen = false;
      change(address, -1);
      setTimeout(onEnd, 0);
    };
    if (chance() < 0.2) setTimeout(end, chance() * 10); // closed by the server
    const unused = async (): Promise<never> => Promise.reject(new Error('not asked for'));
    const peer = { mx: 'x', address: null, tls: null, cipher: null, policy: null };
    const quit = (): void => void setTimeout(end, chance() * 3);
    const common = { transmit: unused, reset: unused, ask: unused };
    return { ...common, peer, acceptsUtf8: () => true, isOpen: () => isOpen, quit, close: end };
  };
  return { counts, open };
};

describe('sessions with many servers, whatever happens to them,', () => {
  it('never exceed their limits, never wait forever, and are forgotten', async () => {
    const seeds = fc.record({
      chances: fc.array(fc.integer({ min: 0, max: 99 }), { minLength: 50, maxLength: 200 }),
      servers: fc.integer({ min: 1, max: 12 }),
      addresses: fc.integer({ min: 1, max: 12 }),
      sessionsPerAddressMax: fc.integer({ min: 1, max: 4 }),
      sessionsMax: fc.integer({ min: 1, max: 5 }),
      sessionsPerServerMax: fc.integer({ min: 1, max: 3 }),
    });
    const property = fc.asyncProperty(seeds, async ({ chances, servers, addresses, ...bounds }) => {
      let drawn = 0;
      const chance = (): number => (chances[drawn++ % chances.length] ?? 0) / 100;
      const { counts, open } = createSessions(chance);
      const pools = createSessionPools({ open, ...bounds });
      const work = async ({ session, release }: PooledSession): Promise<void> => {
        await sleep(chance() * 3);
        if (chance() < 0.1) session.close();
        release(chance() < 0.8);
      };
      const use = async (index: number): Promise<void> => {
        await sleep(chance() * 5);
        const signal = AbortSignal.timeout(chance() < 0.1 ? 3 : 5_000);
        await pools.acquire(hopOf(index % servers), signal).then(work, (error) => {
          expect(error).toBeInstanceOf(SmtpConnectFailed);
        });
      };
      const hopOf = (server: number): DeliveryTarget =>
        deliveryTarget(`server ${server}`, `address ${server % addresses}`);
      const begunMs = performance.now();
      await Promise.all(Array.from({ length: 60 }, (_, index) => use(index)));
      expect(performance.now() - begunMs).toBeLessThan(4_000); // no caller waited until its deadline
      expect(counts.most).toBeLessThanOrEqual(bounds.sessionsMax);
      expect(counts.mostAtOne).toBeLessThanOrEqual(bounds.sessionsPerAddressMax);
      await pools.close();
      expect([pools.size(), counts.open]).toEqual([0, 0]);
    });
    await fc.assert(property, { numRuns: 40 });
  });
});
