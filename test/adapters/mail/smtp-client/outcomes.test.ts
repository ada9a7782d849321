import { describe, expect, it, onTestFinished } from 'vitest';
import { createSmtpTransport, type SmtpTransportOptions } from '../../../../src/adapters/mail/smarthost.ts';
import { createSystem } from '../../../../src/adapters/system.ts';
import type { MailTransport, RecipientOutcome } from '../../../../src/domain/ports/mail.ts';
import { freePort } from '../../../support/free-port.ts';
import {
  type Script,
  type ScriptedServer,
  startScriptedServer,
} from '../../../support/scripted-smtp-server/scripted-server.ts';
import { slowness } from '../../../support/slowness.ts';
import { type MailParts, outgoingMail } from '../outgoing-mail.ts';

const system = createSystem();
const start = async (
  script: Script,
  options: Partial<SmtpTransportOptions> = {},
): Promise<{ server: ScriptedServer; transport: MailTransport }> => {
  const server = await startScriptedServer(script);
  const transport = createSmtpTransport({ url: server.url, ehloName: 'sender.a.test', system, ...options });
  onTestFinished(server.close);
  onTestFinished(transport.close);
  return { server, transport };
};

const send = (
  transport: MailTransport,
  parts: MailParts = {},
  withinMs = 5_000,
): Promise<readonly RecipientOutcome[]> =>
  transport.send(outgoingMail(parts), { deadlineMs: system.monotonicMs() + withinMs });

const outcomesOf = async (script: Script, parts: MailParts = {}, withinMs = 5_000) =>
  (await send((await start(script)).transport, parts, withinMs)).map(({ outcome, code, enhanced, text }) => [
    outcome,
    code,
    enhanced,
    text,
  ]);

const three: MailParts = {
  recipients: [
    { id: 'rcp_1', kind: 'to', address: 'one@b.test' },
    { id: 'rcp_2', kind: 'cc', address: 'two@b.test' },
    { id: 'rcp_3', kind: 'bcc', address: 'three@b.test' },
  ],
};

describe('a recipient is', () => {
  it.each<[string, Script, unknown]>([
    ['delivered when the final dot is accepted', {}, ['delivered', 250, '2.0.0', 'Ok: queued as 1']],
    ['bounced by a 5xx to RCPT', { RCPT: () => '550 5.1.1 No such user' }, ['bounced', 550, '5.1.1', 'No such user']],
    ['bounced by a 5xx without an enhanced code', { RCPT: () => '550 No' }, ['bounced', 550, null, 'No']],
    ['deferred by a 4xx to RCPT', { RCPT: () => '450 4.2.0 Greylisted' }, ['deferred', 450, '4.2.0', 'Greylisted']],
    [
      'deferred by a 552 that means too many recipients',
      { RCPT: () => '552 5.5.3 Too many recipients' },
      ['deferred', 552, '5.5.3', 'Too many recipients'],
    ],
    ['bounced by a full mailbox', { RCPT: () => '552 5.2.2 Full' }, ['bounced', 552, '5.2.2', 'Full']],
    ['bounced by a 5xx to the content', { dot: () => '554 5.7.1 Spam' }, ['bounced', 554, '5.7.1', 'Spam']],
    ['bounced by a 5xx to DATA', { DATA: () => '554 5.6.0 Refused' }, ['bounced', 554, '5.6.0', 'Refused']],
    ['deferred by a 4xx to the content', { dot: () => '451 4.3.0 Later' }, ['deferred', 451, '4.3.0', 'Later']],
    ['deferred by a 421 to the final dot', { dot: () => '421 4.3.2 Closing' }, ['deferred', 421, '4.3.2', 'Closing']],
    ['deferred by the other system’s own 5xx', { dot: () => '554 5.3.0 Broken' }, ['deferred', 554, '5.3.0', 'Broken']],
    ['bounced when the content is too large', { dot: () => '552 5.3.4 Big' }, ['bounced', 552, '5.3.4', 'Big']],
    [
      'deferred by a 5xx to MAIL',
      { MAIL: () => '550 5.7.1 Your IP is blocked' },
      ['deferred', 550, '5.7.1', 'Your IP is blocked'],
    ],
    ['deferred by a 4xx to MAIL', { MAIL: () => '451 4.7.1 Slow down' }, ['deferred', 451, '4.7.1', 'Slow down']],
    [
      'bounced when the reply to MAIL says that the message is too large',
      { MAIL: () => '552 5.3.4 Big' },
      ['bounced', 552, '5.3.4', 'Big'],
    ],
    ['deferred by a 5xx greeting', { connect: () => '554 5.7.1 Go away' }, ['deferred', 554, '5.7.1', 'Go away']],
    ['deferred by a 4xx greeting', { connect: () => '421 4.7.0 Busy' }, ['deferred', 421, '4.7.0', 'Busy']],
    ['deferred by a 421 to EHLO', { EHLO: () => '421 4.3.2 Closing' }, ['deferred', 421, '4.3.2', 'Closing']],
    ['deferred where authentication is wanted', { RCPT: () => '530 5.7.0 Login' }, ['deferred', 530, '5.7.0', 'Login']],
    [
      'told every line of a reply',
      { RCPT: () => '550-5.1.1 No such user,\r\n550-5.1.1 see\r\n550 5.1.1 https://b.test' },
      ['bounced', 550, '5.1.1', 'No such user, see https://b.test'],
    ],
  ])('%s', async (_, script, expected) => {
    expect(await outcomesOf(script)).toEqual([expected]);
  });

  it.each<[string, Script, unknown]>([
    ['deferred when the connection drops before EHLO', { connect: () => 'drop' }, 'deferred'],
    ['deferred when it drops at MAIL', { MAIL: () => 'drop' }, 'deferred'],
    ['deferred when it drops at RCPT', { RCPT: () => 'drop' }, 'deferred'],
    ['deferred when it drops at DATA', { DATA: () => 'drop' }, 'deferred'],
    ['unknown when it drops after the final dot', { dot: () => 'drop' }, 'unknown'],
    ['unknown when the answer to the final dot is no reply', { dot: () => 'what?' }, 'unknown'],
    ['deferred when the server is silent at first', { connect: () => 'silence' }, 'deferred'],
    ['deferred when it is silent at RCPT', { RCPT: () => 'silence' }, 'deferred'],
    ['deferred when it is silent at DATA', { DATA: () => 'silence' }, 'deferred'],
    ['unknown when it is silent after the final dot', { dot: () => 'silence' }, 'unknown'],
  ])('%s', async (_, script, outcome) => {
    const withinMs = 1_000 * slowness();
    const started = performance.now();
    const [[found, code] = []] = await outcomesOf(script, {}, withinMs);
    expect([found, code]).toEqual([
      outcome,
      found === 'unknown' && script.dot?.('', 0) === 'what?' ? expect.any(Number) : 0,
    ]);
    expect(performance.now() - started).toBeLessThan(withinMs + 2_000);
  });

  it('deferred when nothing listens', async () => {
    const { transport } = await start({}, { url: `smtp://127.0.0.1:${await freePort()}` });
    expect(await send(transport)).toMatchObject([{ outcome: 'deferred', code: 0, mx: '127.0.0.1', tls: null }]);
  });
});

describe('each recipient has its own outcome', () => {
  const rcpt = (line: string): string | undefined => {
    if (line.includes('one@')) return '550 5.1.1 one';
    return line.includes('two@') ? '451 4.2.1 two' : undefined;
  };

  it('independent of the replies for the others', async () => {
    expect(await outcomesOf({ RCPT: rcpt }, three)).toEqual([
      ['bounced', 550, '5.1.1', 'one'],
      ['deferred', 451, '4.2.1', 'two'],
      ['delivered', 250, '2.0.0', 'Ok: queued as 1'],
    ]);
  });

  it('and those refused at RCPT keep theirs when the content is refused or the connection breaks', async () => {
    const refused = await outcomesOf({ RCPT: rcpt, dot: () => '554 5.7.1 Spam' }, three);
    expect(refused.map(([outcome, code]) => [outcome, code])).toEqual([
      ['bounced', 550],
      ['deferred', 451],
      ['bounced', 554],
    ]);
    const broken = await outcomesOf({ RCPT: rcpt, dot: () => 'drop' }, three);
    expect(broken.map(([outcome]) => outcome)).toEqual(['bounced', 'deferred', 'unknown']);
  });

  it('if none is accepted nothing is sent, and the session is kept', async () => {
    const { server, transport } = await start(
      { RCPT: (_, times) => (times < 3 ? '550 5.1.1 No' : undefined) },
      { sessionsMax: 1 },
    );
    expect((await send(transport, three)).map(({ outcome }) => outcome)).toEqual(['bounced', 'bounced', 'bounced']);
    expect((await send(transport)).map(({ outcome }) => outcome)).toEqual(['delivered']);
    expect(server.connections()).toBe(1);
    expect(server.messages.filter((message) => message.includes('Subject:'))).toHaveLength(1);
  });

  it('equal addresses share one RCPT', async () => {
    const { server, transport } = await start({});
    const outcomes = await send(transport, { envelopeTo: ['to@b.test', 'to@b.test'] });
    expect(outcomes.map(({ recipientId, outcome }) => [recipientId, outcome])).toEqual([
      ['rcp_1', 'delivered'],
      ['rcp_2', 'delivered'],
    ]);
    expect(server.lines.filter((line) => line.startsWith('RCPT'))).toHaveLength(1);
  });

  it('a non-ASCII address bounces on a server without SMTPUTF8, the others get the message', async () => {
    const { server, transport } = await start({ EHLO: () => '250-x\r\n250 PIPELINING' });
    const outcomes = await send(transport, {
      recipients: [
        { id: 'rcp_1', kind: 'to', address: 'jörg@b.test', name: 'Jörg' },
        { id: 'rcp_2', kind: 'to', address: 'two@b.test' },
      ],
    });
    expect(outcomes).toMatchObject([
      { outcome: 'bounced', code: 0, enhanced: '5.6.7' },
      { outcome: 'delivered', code: 250 },
    ]);
    expect(server.messages[0]).toMatch(/^[\r\n -~]*$/);
    expect((await send(transport, { from: { address: 'jörg@a.test' } }))[0]).toMatchObject({ outcome: 'bounced' });
  });

  it('a message larger than the server announced is bounced unsent', async () => {
    const { server, transport } = await start({ EHLO: () => '250-x\r\n250 SIZE 500' });
    expect(await send(transport, { text: 'x'.repeat(600) })).toMatchObject([{ outcome: 'bounced', enhanced: '5.3.4' }]);
    expect(server.lines.some((line) => line.startsWith('MAIL'))).toBe(false);
  });

  it('a smarthost without the TLS that a login needs gets nothing, and is named in the outcome', async () => {
    const server = await startScriptedServer({ EHLO: () => '250-x\r\n250 AUTH PLAIN', STAR: () => '502 5.5.2 What?' });
    onTestFinished(server.close);
    const url = `smtp://me:secret@[::ffff:127.0.0.1]:${server.port}`; // a spelling that is not treated as local
    const transport = createSmtpTransport({ url, ehloName: 'sender.a.test', system });
    onTestFinished(transport.close);
    const text = 'the server offers no TLS, and the settings of this service require it';
    expect(await send(transport)).toMatchObject([
      { outcome: 'deferred', code: 0, enhanced: '4.7.10', text, stage: 'session', policy: 'required' },
    ]);
    expect(server.lines).toEqual(['EHLO sender.a.test', 'STARTTLS']);
  });
});
