import type { Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Script } from '../../../support/scripted-smtp-server/scripted-server.ts';
import { outgoingMail } from '../outgoing-mail.ts';
import { createMailWorld, type MailWorld, send, system } from './mail-world.ts';

const ONE = '127.0.0.11';
const TWO = '127.0.0.12';
const NOBODY = '127.0.0.13';

let world: MailWorld;
beforeEach(async () => {
  world = await createMailWorld();
  const MX = ['first.b.test', 'second.b.test'].map((host, at) => [at, host] as const);
  world.dns.change({ 'b.test': { MX }, 'first.b.test': { A: [ONE] }, 'second.b.test': { A: [TWO] } });
});
afterEach(() => world.close());

const both = async (first: Script, second: Script = {}) => ({
  first: await world.startScripted(ONE, first),
  second: await world.startScripted(TWO, second),
});

/** Reached in clear text: the servers here do not support TLS. */
const FROM_SECOND = { outcome: 'delivered', mx: 'second.b.test', address: TWO };

describe('the next server is tried', () => {
  it('if the first does not accept the connection, and the first is left alone for a while', async () => {
    world.dns.change({ 'first.b.test': { A: [NOBODY] } });
    await world.startScripted(TWO, {});
    const transport = world.transport();
    expect(await send(transport)).toMatchObject([FROM_SECOND]);
    const first = await world.startScripted(NOBODY, {});
    expect(await send(transport)).toMatchObject([FROM_SECOND]);
    expect(first.connections()).toBe(0);
  });

  it('if the first says nothing', async () => {
    const { first } = await both({ connect: () => 'silence' });
    expect(await send(world.transport({ connectMs: 300 }))).toMatchObject([FROM_SECOND]);
    expect(first.connections()).toBe(1);
  });

  it.each<[string, Script]>([
    ['ends the connection', { connect: () => 'drop' }],
    ['greets with 421', { connect: () => '421 4.7.0 Too many connections' }],
    ['greets with 554', { connect: () => '554 5.7.1 Your address is on a list' }],
    ['refuses the EHLO and the HELO', { EHLO: () => '550 5.7.1 No', HELO: () => '550 5.7.1 No' }],
    ['says 421 to EHLO', { EHLO: () => '421 4.3.2 Closing' }],
    ['ends the connection at MAIL', { MAIL: () => 'drop' }],
    ['says 421 to MAIL', { MAIL: () => '421 4.7.0 Try later' }],
    ['defers at MAIL', { MAIL: () => '451 4.7.1 Reputation' }],
    ['refuses at MAIL', { MAIL: () => '550 5.7.1 Policy' }],
    ['says 421 to DATA', { DATA: () => '421 4.7.0 Closing' }],
    ['says 421 to RCPT', { RCPT: () => '421 4.7.0 Closing' }],
    ['takes DATA without waiting for the message', { DATA: () => '250 2.0.0 Ok' }],
    ['ends the connection at RCPT', { RCPT: () => 'drop' }],
  ])('if the first %s', async (_, script) => {
    const { first, second } = await both(script);
    expect(await send(world.transport())).toMatchObject([FROM_SECOND]);
    expect([first.messages.length, second.messages.length]).toEqual([0, 1]);
  });

  it('at the next address of the same name first', async () => {
    world.dns.change({ 'first.b.test': { A: [NOBODY, ONE] } });
    await both({});
    const transport = world.transport();
    for (let count = 0; count < 5; count += 1) {
      expect(await send(transport)).toMatchObject([{ outcome: 'delivered', mx: 'first.b.test', address: ONE }]);
    }
  });

  it('only for recipients about whom the first has said nothing', async () => {
    const script: Script = {
      RCPT: (line) =>
        ({ '<one@b.test>': '550 5.1.1 No such user', '<three@b.test>': '421 4.3.2 Closing' })[line.slice(8)],
    };
    const { second } = await both(script);
    const envelopeTo = ['one@b.test', 'two@b.test', 'three@b.test'];
    expect(await send(world.transport(), { envelopeTo })).toMatchObject([
      { outcome: 'bounced', code: 550, mx: 'first.b.test' },
      FROM_SECOND,
      FROM_SECOND,
    ]);
    expect(second.lines.filter((line) => line.startsWith('RCPT'))).toEqual([
      'RCPT TO:<two@b.test>',
      'RCPT TO:<three@b.test>',
    ]);
  });
});

describe('the next server is not tried', () => {
  it.each<[string, Script, object]>([
    ['for a recipient who is refused', { RCPT: () => '550 5.1.1 No' }, { outcome: 'bounced', code: 550 }],
    ['by greylisting', { RCPT: () => '451 4.7.1 Greylisted' }, { outcome: 'deferred', code: 451 }],
    ['for what is said to DATA', { DATA: () => '451 4.7.1 Later' }, { outcome: 'deferred', code: 451 }],
    ['for a message that is refused', { dot: () => '554 5.7.1 Spam' }, { outcome: 'bounced', code: 554 }],
    ['for a message that is deferred', { dot: () => '451 4.7.1 Later' }, { outcome: 'deferred', code: 451 }],
    ['where a copy may be out', { dot: () => 'drop' }, { outcome: 'unknown', code: 0 }],
    ['for what is too large', { MAIL: () => '552 5.3.4 Too large' }, { outcome: 'bounced', code: 552 }],
  ])('%s', async (_, script, outcome) => {
    const { first, second } = await both(script);
    expect(await send(world.transport())).toMatchObject([{ ...outcome, mx: 'first.b.test', address: ONE }]);
    expect([first.connections(), second.connections()]).toEqual([1, 0]);
  });

  it('when the time is over', async () => {
    const { second } = await both({ connect: () => 'silence' });
    expect(await send(world.transport({ connectMs: 5_000 }), {}, 300)).toMatchObject([
      { outcome: 'deferred', code: 0, mx: 'first.b.test' },
    ]);
    expect(second.connections()).toBe(0);
  });
});

describe('the outcome when no server accepts the message', () => {
  const refusing: Script = { connect: () => '554 5.7.1 Your address is on a list' };

  it('is the reply of the last one', async () => {
    await both(refusing, { MAIL: () => '451 4.7.1 Later' });
    expect(await send(world.transport())).toMatchObject([
      { outcome: 'deferred', code: 451, text: 'Later', mx: 'second.b.test', stage: 'mail' },
    ]);
  });

  it('is a reply, rather than the silence of another server', async () => {
    await both(refusing, { connect: () => 'drop' });
    expect(await send(world.transport())).toMatchObject([
      { outcome: 'deferred', code: 554, enhanced: '5.7.1', mx: 'first.b.test', stage: 'session' },
    ]);
  });

  it('says that none answered, if none did', async () => {
    world.dns.change({ 'first.b.test': { A: [NOBODY] }, 'second.b.test': { A: [NOBODY] } });
    expect(await send(world.transport())).toMatchObject([
      { outcome: 'deferred', code: 0, text: expect.stringContaining('ECONNREFUSED'), stage: 'connect' },
    ]);
  });
});

describe('a server that did not answer', () => {
  it('is tried first again after five minutes', async () => {
    world.dns.change({ 'first.b.test': { A: [NOBODY] } });
    await world.startScripted(TWO, {});
    let aheadMs = 0;
    const later = { ...system, monotonicMs: () => system.monotonicMs() + aheadMs };
    const transport = world.transport({ system: later });
    const sendLater = () => transport.send(outgoingMail(), { deadlineMs: later.monotonicMs() + 10_000 });
    expect(await sendLater()).toMatchObject([FROM_SECOND]);
    await world.startScripted(NOBODY, {});
    aheadMs = 299_000;
    expect(await sendLater()).toMatchObject([FROM_SECOND]);
    aheadMs = 301_000;
    expect(await sendLater()).toMatchObject([{ outcome: 'delivered', mx: 'first.b.test' }]);
  });

  it('is not considered dead while it has sessions, but gets no more of them', async () => {
    world.dns.change({ 'b.test': { MX: [[10, 'first.b.test']] } });
    const server = await world.startScripted(ONE, { connect: (_, times) => (times === 0 ? undefined : 'drop') });
    const transport = world.transport();
    const outcomes = (await Promise.all([send(transport), send(transport)])).flat();
    expect(outcomes.map(({ outcome }) => outcome).sort()).toEqual(['deferred', 'delivered']);
    const more = (await Promise.all([send(transport), send(transport)])).flat();
    expect(more.map(({ outcome }) => outcome).sort()).toEqual(['deferred', 'delivered']);
    expect(server.connections()).toBe(3);
  });

  it('is not awaited by one message after another', async () => {
    world.dns.change({ 'b.test': { MX: [[10, 'first.b.test']] } });
    const server = await world.startScripted(ONE, { connect: () => 'silence' });
    const transport = world.transport({ connectMs: 400, sessionsPerServerMax: 1 });
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => send(transport)));
    for (const [outcome] of outcomes) expect(outcome).toMatchObject({ outcome: 'deferred', code: 0 });
    expect(server.connections()).toBe(1);
  });
});

describe('an endless list of servers', () => {
  it('is not tried completely in one attempt', async () => {
    const MX = Array.from({ length: 50 }, (_, index) => [index, `mx${index}.b.test`] as const);
    world.dns.change({ 'b.test': { MX } });
    for (const [index, host] of MX) {
      world.dns.change({ [host]: { A: Array.from({ length: 5 }, (_, at) => `127.0.${index + 1}.${at + 1}`) } });
    }
    expect(await send(world.transport())).toMatchObject([{ outcome: 'deferred' }]);
    const asked = world.dns.asked.filter(({ type }) => type === 'A').map(({ name }) => name);
    expect(asked).toEqual(['mx0.b.test', 'mx1.b.test', 'mx2.b.test']);
  });
});

/** Offers TLS and breaks the connection at its first byte. */
const brokenTls = (socket: Socket, text: string): void => {
  socket.write(text);
  if (text.startsWith('220 Ready')) socket.once('data', () => socket.destroy());
};

const OFFERS_TLS: Script = {
  EHLO: () => '250-scripted\r\n250 STARTTLS',
  STAR: () => '220 Ready',
};

describe('TLS that fails', () => {
  it('is skipped on a new connection, and not tried for every message', async () => {
    const server = await world.startScripted(ONE, OFFERS_TLS, { write: brokenTls });
    const transport = world.transport();
    for (let count = 0; count < 5; count += 1) {
      expect(await send(transport)).toMatchObject([{ outcome: 'delivered', mx: 'first.b.test', tls: null }]);
    }
    expect(server.connections()).toBe(2);
    expect(server.messages).toHaveLength(5);
  });

  it('is not skipped if it is required: the next server is tried', async () => {
    const first = await world.startScripted(ONE, OFFERS_TLS, { write: brokenTls });
    const second = await world.startServer(TWO);
    const security = {
      ofDomain: async () => async () => ({ tls: { required: true, check: 'none' } as const, key: 'required' }),
    };
    expect(await send(world.transport({ security }))).toMatchObject([{ ...FROM_SECOND, tls: 'TLSv1.3' }]);
    expect(first.messages).toEqual([]);
    expect(second.taken).toMatchObject([{ secure: true }]);
  });
});
