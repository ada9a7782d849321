import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startCaptureServer } from '../../../src/adapters/mail/capture.ts';
import { createSmtpTransport } from '../../../src/adapters/mail/smarthost.ts';
import { createSystem } from '../../../src/adapters/system.ts';
import type { Inbox } from '../../../src/domain/ports/mail.ts';
import { createInMemoryInbox } from '../../support/in-memory/inbox.ts';
import { silentLogger } from '../../support/logger.ts';
import { outgoingMail } from './outgoing-mail.ts';

const system = createSystem();
const start = async (inbox: Inbox = createInMemoryInbox()) => {
  const server = await startCaptureServer({ inbox, system, logger: silentLogger });
  const transport = createSmtpTransport({ url: server.url, ehloName: 'x.test', system });
  onTestFinished(server.close);
  onTestFinished(transport.close);
  const send = (parts = {}) => transport.send(outgoingMail(parts), { deadlineMs: system.monotonicMs() + 10_000 });
  return { server, inbox, send };
};

/** Sends each line after the reply to the previous one. Returns the last reply. */
const dialogue = async (port: number, lines: readonly string[]): Promise<string> => {
  const socket = connect(port, '127.0.0.1');
  let reply = String((await once(socket, 'data'))[0]);
  for (const line of lines) {
    socket.write(`${line}\r\n`);
    reply = String((await once(socket, 'data'))[0]);
  }
  socket.destroy();
  return reply;
};

describe('the capturing server', () => {
  it('stores a message before it accepts it', async () => {
    const { inbox, send } = await start();
    expect(await send()).toMatchObject([{ outcome: 'delivered', code: 250, enhanced: '2.0.0', mx: '127.0.0.1' }]);
    const { mails } = await inbox.list({ limit: 10 });
    expect(mails).toMatchObject([{ subject: 'Subject', envelope: { from: 'from@a.test', to: ['to@b.test'] } }]);
    expect(Date.now() - (mails[0]?.receivedAt.getTime() ?? 0)).toBeLessThan(5_000);
  });

  it('defers what could not be stored', async () => {
    const store = () => Promise.reject(new Error('disk full'));
    const { send } = await start({ ...createInMemoryInbox(), store });
    expect(await send()).toMatchObject([{ outcome: 'deferred', code: 451, enhanced: '4.3.0' }]);
  });

  it('announces the extensions of mail, but neither TLS nor AUTH', async () => {
    const { server } = await start();
    const reply = await dialogue(server.port, ['EHLO x.test']);
    for (const extension of ['PIPELINING', '8BITMIME', 'SMTPUTF8', 'SIZE 26500000']) expect(reply).toContain(extension);
    expect(reply).not.toMatch(/STARTTLS|AUTH/);
  });

  it('refuses a message over its limit, announced or not', async () => {
    const { server, inbox } = await start();
    const envelope = ['EHLO x.test', 'MAIL FROM:<a@a.test>', 'RCPT TO:<b@b.test>', 'DATA'];
    expect(await dialogue(server.port, ['EHLO x.test', 'MAIL FROM:<a@a.test> SIZE=26500001'])).toMatch(/^552 /);
    expect(await dialogue(server.port, [...envelope, `${'x'.repeat(26_500_001)}\r\n.`])).toMatch(/^552 /);
    expect((await inbox.list({ limit: 1 })).mails).toEqual([]);
  });

  it('accepts the null sender and many recipients', async () => {
    const { server, inbox } = await start();
    const recipients = Array.from({ length: 60 }, (_, index) => `RCPT TO:<r${index}@b.test>`);
    const lines = ['EHLO x.test', 'MAIL FROM:<>', ...recipients, 'DATA', 'Subject: bounce\r\n\r\nx\r\n.'];
    expect(await dialogue(server.port, lines)).toMatch(/^250 /);
    const [mail] = (await inbox.list({ limit: 1 })).mails;
    expect([mail?.envelope.from, mail?.envelope.to.length]).toEqual(['', 60]);
  });
});
