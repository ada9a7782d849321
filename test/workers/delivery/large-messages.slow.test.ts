import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { MailTransport } from '../../../src/domain/ports/mail.ts';
import { openDelivering as open, statuses, until } from '../delivering.ts';

describe('large messages', () => {
  const MB = 1_000_000;

  test('are sent a few at a time, so that they fit into memory', async () => {
    const service = await open();
    const { test: simulated } = service.dependencies.transports;
    let bytes = 0;
    let most = 0;
    let mostClaimed = 0;
    const claimedBytes = async (): Promise<number> => {
      const all = await Promise.all(ids.map((id) => statuses(service, id)));
      return all.reduce(
        (sum, [status], index) => sum + (status === 'sending' ? (texts[index % 3] ?? '').length : 0),
        0,
      );
    };
    const weighed: MailTransport = {
      ...simulated,
      send: async (mail, options) => {
        const size = mail.body.text?.length ?? 0;
        bytes += size;
        most = Math.max(most, bytes);
        mostClaimed = Math.max(mostClaimed, await claimedBytes());
        await sleep(20);
        bytes -= size;
        return simulated.send(mail, options);
      },
    };
    const texts = ['x'.repeat(25 * MB), 'x'.repeat(80 * MB), 'x'.repeat(10)];
    const ids = await Promise.all(
      Array.from({ length: 12 }, (_, index) => service.send(`u${index}@example.org`, 'test', texts[index % 3])),
    );
    service.workers({ transports: { ...service.dependencies.transports, test: weighed } }).start();
    await until(async () => {
      const all = await Promise.all(ids.map((id) => statuses(service, id)));
      expect(all.flat().every((status) => status === 'delivered')).toBe(true);
    });
    const small = 4 * 10; // small messages do not wait for large ones
    for (const bytesMax of [most, mostClaimed]) {
      expect(bytesMax).toBeGreaterThanOrEqual(80 * MB); // a large one runs alone
      expect(bytesMax).toBeLessThanOrEqual(80 * MB + small); // mail that waits for room is not claimed
    }
  });

  test('that wait for memory are not claimed once the workers have stopped', async () => {
    const service = await open();
    const { test: simulated } = service.dependencies.transports;
    const blocked: MailTransport = {
      ...simulated,
      send: async (mail, { signal }) => {
        await new Promise((resolve) => signal?.addEventListener('abort', resolve, { once: true }));
        throw new Error(`${mail.messageId} was cut off`);
      },
    };
    const text = 'x'.repeat(80 * MB);
    const ids = await Promise.all(['a', 'b'].map((name) => service.send(`${name}@example.org`, 'test', text)));
    const workers = service.workers({ transports: { ...service.dependencies.transports, test: blocked } });
    workers.start();
    const histories = async () => Promise.all(ids.map((id) => service.history(id)));
    await until(async () => expect((await histories()).flat()).toContain('AttemptStarted'));
    await workers.stop();
    for (let turn = 0; turn < 100; turn += 1) await nextTurn();
    const claimed = (await histories()).filter((history) => history.includes('AttemptStarted'));
    expect(claimed).toHaveLength(1);
  });
});
