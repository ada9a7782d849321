import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  type ConnectionBounds,
  type SmtpListener,
  type SmtpTask,
  smtpAnswer,
  startSmtpListener,
} from '../../../../src/lib/smtp/listener/smtp-listener.ts';
import { plain, type SmtpTalk, talkSmtp } from '../../../submission/support/smtp-talk.ts';
import { makeTlsPair } from '../../../submission/support/tls-pair.ts';
import { closedAfterTest } from '../../../support/after-test.ts';
import { silentLogger } from '../../../support/logger.ts';

const PER_NETWORK = 5;

const BOUNDS: ConnectionBounds = { max: 50, perNetwork: PER_NETWORK, authMs: 30_000, durationMs: 30_000 };

/** Every address is its own network. */
const open = (task: SmtpTask, more: Partial<Parameters<typeof startSmtpListener>[1]> = {}): Promise<SmtpListener> =>
  startSmtpListener(task, {
    ...{ host: '127.0.0.1', port: 0, networkOf: (address) => address, logger: silentLogger, ...more },
  });

/** A listener with implicit TLS. */
const openImplicit = async (): Promise<SmtpListener> =>
  open(
    { bounds: BOUNDS, serve: () => ({ authOptional: true, closeTimeout: 100 }) },
    { tls: await makeTlsPair(), tlsBegins: 'implicit' },
  );

const openSilent = async (port: number, localAddress: string): Promise<Socket> => {
  const socket = connect({ port, host: '127.0.0.1', localAddress });
  onTestFinished(() => {
    socket.destroy();
  });
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket.resume();
};

/** The password is the id of the organization. A received message is held until the test ends it. */
const openSubmission = async (bounds: Partial<ConnectionBounds>, monotonicMs = () => 0): Promise<number> => {
  const task: SmtpTask = {
    bounds: { ...BOUNDS, ...bounds },
    serve: ({ authenticated }) => ({
      authOptional: bounds.perOrganization === undefined,
      allowInsecureAuth: true,
      closeTimeout: 100,
      onAuth: ({ password }, session, callback) => {
        const refusal = authenticated(session, password ?? '');
        if (refusal === null) callback(null, { user: password });
        else callback(smtpAnswer(421, refusal));
      },
      onData: (stream, _session, callback) => {
        stream.resume().once('end', () => callback());
        stream.once('error', () => undefined);
      },
    }),
  };
  return closedAfterTest(await open(task, { tls: await makeTlsPair(), monotonicMs })).port;
};

const talk = async (port: number, localAddress = '127.0.0.1') => {
  const opened = await talkSmtp(port, '127.0.0.1', localAddress);
  onTestFinished(opened.close);
  return opened;
};

const login = async (port: number, organization: string): Promise<SmtpTalk & { readonly reply: string }> => {
  const opened = await talk(port);
  await opened.ask('EHLO client.test\r\n');
  return { ...opened, reply: await opened.ask(plain(organization)) };
};

const enterData = async <Talk extends SmtpTalk>(opened: Talk): Promise<Talk> => {
  await opened.ask('EHLO client.test\r\n');
  await opened.ask('MAIL FROM:<ann@example.test>\r\n');
  await opened.ask('RCPT TO:<bob@example.org>\r\n');
  expect(await opened.ask('DATA\r\n')).toMatch(/^354/);
  return opened;
};

const endMessage = (opened: SmtpTalk): Promise<string> => opened.ask('Subject: x\r\n\r\nHi\r\n.\r\n');

test('a network that opens connections and never begins TLS takes no places from others', async () => {
  const { port, close } = await openImplicit();
  onTestFinished(close);
  const sockets = await Promise.all(Array.from({ length: 60 }, () => openSilent(port, '127.0.0.2')));
  await expect
    .poll(() => sockets.filter((socket) => !socket.closed).length, { timeout: 5_000 })
    .toBeLessThanOrEqual(PER_NETWORK);

  const welcome = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false });
  onTestFinished(() => {
    welcome.destroy();
  });
  expect(String((await once(welcome, 'data'))[0])).toMatch(/^220 /);
});

test('a connection that arrives while closing, and says nothing, does not crash the process', async () => {
  const listener = await openImplicit();
  const silent = await openSilent(listener.port, '127.0.0.1');
  const closed = listener.close();
  silent.destroy();
  await closed;
  // If the connection had a fault, the process would end at one of its events, all of which precede 'close'.
  if (!silent.closed) await once(silent, 'close');
  await expect(openSilent(listener.port, '127.0.0.1')).rejects.toThrow('ECONNREFUSED');
});

describe('connections that have not authenticated', () => {
  test('are limited for each network: the one that is silent for the longest is closed for a new one', async () => {
    const port = await openSubmission({ perNetwork: 2 });
    const first = await talk(port);
    const second = await talk(port);
    const stranger = await talk(port, '127.0.0.2');
    await first.ask('EHLO client.test\r\n');
    await first.ask('MAIL FROM:<ann@example.test>\r\n');
    const third = await talk(port);
    expect(third.greeting).toMatch(/^220/);
    expect(await second.next()).toBe('421 4.3.2 this connection was idle and was closed for a new one: connect again');
    expect(await second.next()).toBe('');
    for (const each of [first, third, stranger]) expect(await each.ask('NOOP\r\n')).toMatch(/^250/);
  });

  test('are refused if all of the network are receiving, and those of others are not', async () => {
    const port = await openSubmission({ perNetwork: 2 });
    const busy = [await enterData(await talk(port)), await enterData(await talk(port))];
    // However many are refused one after another, each reads why.
    for (let count = 0; count < 5; count += 1) {
      const refused = await talk(port);
      expect(refused.greeting).toMatch(/^421 4\.7\.0 too many connections from this network/);
      expect(await refused.next()).toBe('');
    }
    expect(await endMessage(await enterData(await talk(port, '127.0.0.2')))).toMatch(/^250/);
    for (const each of busy) expect(await endMessage(each)).toMatch(/^250/);
    expect((await talk(port)).greeting).toMatch(/^220/);
  });

  test('of several greedy networks leave a place for one that has none yet', async () => {
    const port = await openSubmission({ max: 8, perNetwork: 8 });
    const takeAll = async (network: string): Promise<number> => {
      const greetings: string[] = [];
      for (let count = 0; count < 8; count += 1) {
        const opened = await talk(port, network);
        greetings.push(opened.greeting);
        if (opened.greeting.startsWith('220')) await enterData(opened);
      }
      return greetings.filter((greeting) => greeting.startsWith('220')).length;
    };
    const admitted = [await takeAll('127.0.0.2'), await takeAll('127.0.0.3')];
    expect(admitted).toEqual([4, 2]);
    expect(await endMessage(await enterData(await talk(port, '127.0.0.4')))).toMatch(/^250/);
  });

  test('may be closed for another during a TLS handshake', async () => {
    const port = await openSubmission({ perNetwork: 1 });
    const begun = await talk(port);
    await begun.ask('EHLO client.test\r\n');
    expect(await begun.ask('STARTTLS\r\n')).toMatch(/^220/);
    begun.socket.write(Buffer.from([0x16, 0x03, 0x01]));
    expect((await talk(port)).greeting).toMatch(/^220/);
    await expect.poll(() => begun.socket.closed, { timeout: 5_000 }).toBe(true);
    expect((await talk(port)).greeting).toMatch(/^220/);
  });
});

describe('connections of an organization', () => {
  test('count for it and no longer for their network', async () => {
    const port = await openSubmission({ perNetwork: 1, perOrganization: 5 });
    const members = [await login(port, 'org_a'), await login(port, 'org_b'), await login(port, 'org_a')];
    expect((await talk(port)).greeting).toMatch(/^220/);
    for (const member of members) expect(await endMessage(await enterData(member))).toMatch(/^250/);
  });

  test('are limited: the one that is idle for the longest is closed for a new one of the same organization', async () => {
    const port = await openSubmission({ perOrganization: 2 });
    const other = await login(port, 'org_b');
    const first = await login(port, 'org_a');
    const second = await login(port, 'org_a');
    expect(await endMessage(await enterData(first))).toMatch(/^250/);
    const third = await login(port, 'org_a');
    expect(third.reply).toMatch(/^235/);
    expect(await second.next()).toMatch(/^421 4\.3\.2 this connection was idle/);
    for (const each of [other, first, third]) expect(await endMessage(await enterData(each))).toMatch(/^250/);
  });

  test('that all receive messages are not closed: another is refused, and other organizations are served', async () => {
    const port = await openSubmission({ perOrganization: 2 });
    const busy = [await enterData(await login(port, 'org_a')), await enterData(await login(port, 'org_a'))];
    const refused = await login(port, 'org_a');
    expect(refused.reply).toMatch(/^421 4\.7\.0 too many connections are sending for this organization/);
    expect(await refused.next()).toBe('');
    expect(await endMessage(await enterData(await login(port, 'org_b')))).toMatch(/^250/);
    for (const each of busy) expect(await endMessage(each)).toMatch(/^250/);
    expect((await login(port, 'org_a')).reply).toMatch(/^235/);
  });

  test('count once when it authenticates again after STARTTLS', async () => {
    const port = await openSubmission({ perOrganization: 1 });
    const member = await login(port, 'org_a');
    expect(await member.ask('STARTTLS\r\n')).toMatch(/^220/);
    const secure = connectTls({ socket: member.socket, rejectUnauthorized: false });
    await once(secure, 'secureConnect');
    const ask = async (text: string): Promise<string> => {
      secure.write(text);
      return String((await once(secure, 'data'))[0]);
    };
    expect(await ask('EHLO client.test\r\n')).toMatch(/^250/);
    expect(await ask(plain('org_a'))).toMatch(/^235/);
    expect(await ask('NOOP\r\n')).toMatch(/^250/);
  });
});

describe('when all places are taken', () => {
  test('idle connections that have not authenticated are closed first, then idle ones that have', async () => {
    const port = await openSubmission({ max: 3, perOrganization: 3 });
    const busy = await enterData(await login(port, 'org_a'));
    const idle = await login(port, 'org_b');
    const stranger = await talk(port, '127.0.0.2');
    const next = await talk(port, '127.0.0.3');
    expect(await stranger.next()).toMatch(/^421 4\.3\.2/);
    await next.ask('EHLO client.test\r\n');
    expect(await next.ask(plain('org_c'))).toMatch(/^235/);
    expect((await talk(port, '127.0.0.4')).greeting).toMatch(/^220/);
    expect(await idle.next()).toMatch(/^421 4\.3\.2/);
    expect(await endMessage(busy)).toMatch(/^250/);
    expect(await next.ask('NOOP\r\n')).toMatch(/^250/);
  });

  test('and receive messages, a new connection is refused for now', async () => {
    const port = await openSubmission({ max: 2, perNetwork: 2 });
    const busy = [await enterData(await talk(port)), await enterData(await talk(port, '127.0.0.2'))];
    expect((await talk(port, '127.0.0.3')).greeting).toMatch(/^421 4\.3\.2 too many connections are open/);
    for (const each of busy) expect(await endMessage(each)).toMatch(/^250/);
  });

  test('and receive messages, one that a client sends byte by byte is closed after ten seconds', async () => {
    let ms = 0;
    const port = await openSubmission({ max: 3, perNetwork: 2 }, () => ms);
    const busy = await enterData(await talk(port));
    const slow = await enterData(await talk(port, '127.0.0.2'));
    await enterData(await talk(port, '127.0.0.3'));
    busy.socket.write(`${'x'.repeat(20_000)}\r\n`);
    slow.socket.write('S');
    ms = 9_000;
    expect((await talk(port, '127.0.0.4')).greeting).toMatch(/^421 4\.3\.2 too many connections are open/);
    ms = 11_000;
    expect((await talk(port, '127.0.0.4')).greeting).toMatch(/^220/);
    expect(await slow.next()).toMatch(/^421 4\.3\.2 this message arrived too slowly/);
    expect(await endMessage(busy)).toMatch(/^250/);
  });
});
