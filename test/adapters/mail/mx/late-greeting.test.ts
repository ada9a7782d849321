import type { Socket } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createSmtpTransport } from '../../../../src/adapters/mail/smarthost.ts';
import { GREETING_TIMEOUTS } from '../../../../src/lib/smtp/smtp.ts';
import { REMOTE_ATTEMPT_TIMES } from '../../../../src/workers/create-workers.ts';
import { slowness } from '../../../support/slowness.ts';
import { createMailWorld, type MailWorld, send, system } from './mail-world.ts';

const ADDRESS = '127.0.0.11';
const LATE_MS = 400;
const greeting = { firstMs: 150, againMs: 3_000 };
/** An address that failed is not tried again for some seconds. */
const LATER_MS = 6_000;

let world: MailWorld;
beforeEach(async () => {
  world = await createMailWorld();
  world.dns.change({ 'b.test': { A: [ADDRESS] } });
});
afterEach(() => world.close());

const greetsLate = (socket: Socket, text: string): void => {
  const write = (): void => void (socket.destroyed || socket.write(text));
  if (text.startsWith('220')) setTimeout(write, LATE_MS);
  else write();
};

it('mail for a server that greets late is accepted on the second try, and at once from then on', async () => {
  await world.startScripted(ADDRESS, {}, { write: greetsLate });
  let aheadMs = 0;
  const clock = { ...system, monotonicMs: () => system.monotonicMs() + aheadMs };
  const transport = world.transport({ system: clock, greeting, sessionsPerServerMax: 1 });
  const sendLater = () => send(transport, {}, aheadMs + 10_000);
  expect(await sendLater()).toMatchObject([{ outcome: 'deferred', text: 'Greeting never received' }]);
  aheadMs += LATER_MS;
  expect(await sendLater()).toMatchObject([{ outcome: 'delivered' }]);
});

it('mail for a smarthost that greets late is treated the same', async () => {
  const { port } = await world.startScripted('127.0.0.1', {}, { write: greetsLate });
  const transport = createSmtpTransport({ url: `smtp://127.0.0.1:${port}`, ehloName: 'x.test', system, greeting });
  expect(await send(transport)).toMatchObject([{ outcome: 'deferred' }]);
  expect(await send(transport)).toMatchObject([{ outcome: 'delivered' }]);
  await transport.close();
});

it('a greeting after 45 s is awaited at once, and one after three minutes within an attempt', () => {
  expect(GREETING_TIMEOUTS.firstMs).toBeGreaterThan(45_000);
  expect(GREETING_TIMEOUTS.againMs).toBeGreaterThan(180_000);
  expect(GREETING_TIMEOUTS.againMs).toBeLessThan(REMOTE_ATTEMPT_TIMES.attemptMs);
});

it('an address that accepts no connections is abandoned sooner than a late greeting', async () => {
  // A reserved address (RFC 5737). Networks react to it differently, but the wait is bounded by the connection
  // time-out.
  world.dns.change({ 'b.test': { A: ['192.0.2.1'] } });
  const begunMs = system.monotonicMs();
  const transport = world.transport({ connectMs: 200, greeting: { firstMs: 5_000, againMs: 5_000 } });
  expect(await send(transport)).toMatchObject([{ outcome: 'deferred', code: 0 }]);
  expect(system.monotonicMs() - begunMs).toBeLessThan(2_000 * slowness());
});
