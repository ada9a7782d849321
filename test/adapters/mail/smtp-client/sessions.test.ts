import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createSmtpTransport, type SmtpTransportOptions } from '../../../../src/adapters/mail/smarthost.ts';
import { createSystem } from '../../../../src/adapters/system.ts';
import type { MailTransport, SendOptions } from '../../../../src/domain/ports/mail.ts';
import { type Script, startScriptedServer } from '../../../support/scripted-smtp-server/scripted-server.ts';
import { type MailParts, outgoingMail } from '../outgoing-mail.ts';

const system = createSystem();
const start = async (script: Script = {}, options: Partial<SmtpTransportOptions> = {}) => {
  const server = await startScriptedServer(script);
  const transport = createSmtpTransport({ url: server.url, ehloName: 'sender.a.test', system, ...options });
  onTestFinished(server.close);
  onTestFinished(transport.close);
  return { server, transport };
};

const outcomeOf = async (transport: MailTransport, parts: MailParts = {}, options: Partial<SendOptions> = {}) => {
  const deadlineMs = system.monotonicMs() + 5_000;
  const [outcome] = await transport.send(outgoingMail(parts), { deadlineMs, ...options });
  return outcome?.outcome;
};

const many = <T>(count: number, make: () => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, make));

describe('sessions', () => {
  it('are reused for the next message, and greet with the configured name', async () => {
    const { server, transport } = await start();
    for (let count = 0; count < 5; count += 1) expect(await outcomeOf(transport)).toBe('delivered');
    expect(server.connections()).toBe(1);
    expect(server.lines.filter((line) => line.startsWith('EHLO'))).toEqual(['EHLO sender.a.test']);
  });

  it('are never more than allowed', async () => {
    const { server, transport } = await start({}, { sessionsMax: 3 });
    expect(await many(50, () => outcomeOf(transport))).toEqual(Array(50).fill('delivered'));
    expect(server.connections()).toBe(3);
  });

  it('are left for others while the server hangs on the mail of some organizations', async () => {
    const script: Script = { RCPT: (line) => (line.includes('hangs@') ? 'silence' : undefined) };
    const { server, transport } = await start(script, { sessionsMax: 20 });
    const deadlineMs = system.monotonicMs() + 5_000;
    const send = (organizationId: string, envelopeTo: readonly string[]) =>
      transport.send({ ...outgoingMail({ envelopeTo }), organizationId }, { deadlineMs });
    const hanging = ['org_a', 'org_b'].flatMap((organizationId) =>
      Array.from({ length: 30 }, () => send(organizationId, ['hangs@b.test'])),
    );
    await expect.poll(() => server.lines.filter((line) => line.includes('hangs@')).length).toBe(15 + 4);
    const outcomes = await many(50, () => send('org_c', ['to@b.test']));
    expect(outcomes.flat().map(({ outcome }) => outcome)).toEqual(Array(50).fill('delivered'));
    expect(system.monotonicMs()).toBeLessThan(deadlineMs);
    await transport.close();
    await Promise.all(hanging);
  });

  it('that could not be opened count for no organization: its share is as large as before', async () => {
    let isDown = true;
    const { server, transport } = await start({ connect: () => (isDown ? '421 busy' : undefined) }, { sessionsMax: 4 });
    const send = () => outcomeOf(transport, { organizationId: 'org_a' });
    for (let count = 0; count < 12; count += 1) expect(await send()).toBe('deferred');
    isDown = false;
    expect(await many(12, send)).toEqual(Array(12).fill('delivered'));
    expect(server.connections()).toBe(12 + 3); // one is left for others
  });

  it('are shared by organizations, which take turns while all are in use', async () => {
    const { server, transport } = await start({}, { sessionsMax: 1 });
    const sent: string[] = [];
    const send = async (organizationId: string): Promise<void> => {
      await transport.send({ ...outgoingMail(), organizationId }, { deadlineMs: system.monotonicMs() + 5_000 });
      sent.push(organizationId);
    };
    await Promise.all([...Array(20).fill('org_a'), 'org_b'].map(send));
    expect(sent.indexOf('org_b')).toBeLessThan(4);
    expect(server.messages).toHaveLength(21);
  });

  it('are renewed before servers end them for their number of messages', async () => {
    const { server, transport } = await start({}, { sessionsMax: 1 });
    expect(await many(200, () => outcomeOf(transport))).toEqual(Array(200).fill('delivered'));
    expect(server.connections()).toBe(3);
  });

  it('closed by the server while idle cost no attempt', async () => {
    const { server, transport } = await start();
    expect(await outcomeOf(transport)).toBe('delivered');
    server.dropAll();
    await sleep(50);
    expect(await outcomeOf(transport)).toBe('delivered');
    expect(server.connections()).toBe(2);
  });

  it('found dead when the next message begins are replaced', async () => {
    const { server, transport } = await start({ MAIL: (_, times) => (times === 1 ? 'drop' : undefined) });
    expect(await outcomeOf(transport)).toBe('delivered');
    expect(await outcomeOf(transport)).toBe('delivered');
    expect([server.connections(), server.messages.length]).toEqual([2, 2]);
  });

  it('that break after the final dot are not retried', async () => {
    const { server, transport } = await start({ dot: (_, times) => (times === 1 ? 'drop' : undefined) });
    expect(await outcomeOf(transport)).toBe('delivered');
    expect(await outcomeOf(transport)).toBe('unknown');
    expect(server.messages).toHaveLength(2);
  });

  it('end with QUIT when the transport closes, after mail in flight', async () => {
    const { server, transport } = await start({}, { sessionsMax: 1 });
    const sending = outcomeOf(transport);
    await sleep(30);
    await transport.close();
    expect(await sending).toBe('delivered');
    expect(server.lines.at(-1)).toBe('QUIT');
    expect(await outcomeOf(transport)).toBe('deferred');
  });
});

describe('the deadline', () => {
  it('also limits waiting for a session', async () => {
    const { transport } = await start({ dot: () => 'silence' }, { sessionsMax: 1 });
    const first = outcomeOf(transport, {}, { deadlineMs: system.monotonicMs() + 400 });
    const second = outcomeOf(transport, {}, { deadlineMs: system.monotonicMs() + 200 });
    expect(await Promise.all([first, second])).toEqual(['unknown', 'deferred']);
  });

  it('that has passed sends nothing', async () => {
    const { server, transport } = await start();
    expect(await outcomeOf(transport, {}, { deadlineMs: system.monotonicMs() - 1 })).toBe('deferred');
    expect(await outcomeOf(transport, {}, { signal: AbortSignal.abort() })).toBe('deferred');
    expect(server.messages).toEqual([]);
  });

  it('is checked before the final dot: a message that was too slow is never completed', async () => {
    let now = 0;
    // The clock jumps while the server delays its reply to DATA, as if the process had been frozen.
    const script: Script = {
      DATA: () => {
        now = 10_000;
        return undefined;
      },
    };
    const { server, transport } = await start(script, { system: { ...system, monotonicMs: () => now } });
    expect(await outcomeOf(transport, {}, { deadlineMs: 5_000 })).toBe('deferred');
    await expect.poll(server.openConnections).toBe(0);
    expect(server.messages).toEqual([]);
  });

  it('aborted in the middle of a transaction closes the session', async () => {
    const { server, transport } = await start({ RCPT: () => 'silence' });
    const controller = new AbortController();
    const sending = outcomeOf(transport, {}, { signal: controller.signal });
    await sleep(50);
    controller.abort();
    expect(await sending).toBe('deferred');
    await expect.poll(server.openConnections).toBe(0);
    expect(server.messages).toEqual([]);
  });
});

describe('a kept session', () => {
  it('is not used for mail whose deadline has passed', async () => {
    const { server, transport } = await start();
    expect(await outcomeOf(transport)).toBe('delivered');
    for (let late = 0; late < 3; late += 1) {
      expect(await outcomeOf(transport, {}, { deadlineMs: system.monotonicMs() - 1 })).toBe('deferred');
    }
    expect(await outcomeOf(transport)).toBe('delivered');
    expect(server.connections()).toBe(1);
  });

  it('closed by the server as the next message begins costs that message nothing', async () => {
    const { server, transport } = await start({ MAIL: (_, times) => (times === 1 ? '421 4.4.2 Idle' : undefined) });
    expect(await outcomeOf(transport)).toBe('delivered');
    expect(await outcomeOf(transport)).toBe('delivered');
    expect(server.connections()).toBe(2);
  });

  it('whose RSET is not answered is replaced within seconds', async () => {
    const refusedOnce: Script = {
      RCPT: (_, times) => (times === 0 ? '451 4.7.1 Greylisted' : undefined),
      RSET: () => 'silence',
    };
    const { server, transport } = await start(refusedOnce, { sessionsMax: 1 });
    expect(await outcomeOf(transport)).toBe('deferred');
    const deadlineMs = system.monotonicMs() + 20_000;
    expect(await outcomeOf(transport, {}, { deadlineMs })).toBe('delivered');
    expect(server.connections()).toBe(2);
  });

  it('needs no RSET after an accepted message, even with refused recipients', async () => {
    const { server, transport } = await start({ RCPT: (line) => (line.includes('two@') ? '550 5.1.1 No' : undefined) });
    const envelopeTo = ['one@b.test', 'two@b.test'];
    expect(await outcomeOf(transport, { envelopeTo })).toBe('delivered');
    expect(await outcomeOf(transport)).toBe('delivered');
    expect(server.lines).not.toContain('RSET');
    expect(server.connections()).toBe(1);
  });
});
