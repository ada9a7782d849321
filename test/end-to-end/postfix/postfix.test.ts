import { randomBytes } from 'node:crypto';
import { simpleParser } from 'mailparser';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createSmtpTransport } from '../../../src/adapters/mail/smarthost.ts';
import { createSystem } from '../../../src/adapters/system.ts';
import type { RecipientOutcome } from '../../../src/domain/ports/mail.ts';
import { type MailParts, outgoingMail } from '../../adapters/mail/outgoing-mail.ts';
import { MESSAGE_BYTES_MAX } from '../../support/postfix/configuration.ts';
import { CREDENTIALS, type Postfix, postfixIsMissing, startPostfix } from '../../support/postfix/postfix.ts';

const NAMES = ['one', 'two', 'jörg', ...Array.from({ length: 12 }, (_, at) => `r${at}`)];
const system = createSystem();

describe.skipIf(postfixIsMissing)('Postfix', () => {
  let postfix: Postfix;
  beforeAll(async () => {
    postfix = await startPostfix(NAMES);
  });
  afterEach(() => postfix.empty());
  afterAll(() => postfix?.stop());

  const sendTo = async (url: string, parts: MailParts): Promise<readonly RecipientOutcome[]> => {
    const transport = createSmtpTransport({ url, ehloName: 'sender.a.test', system });
    onTestFinished(transport.close);
    return transport.send(outgoingMail(parts), { deadlineMs: system.monotonicMs() + 20_000 });
  };
  const send = (parts: MailParts) => sendTo(`smtp://127.0.0.1:${postfix.port}`, parts);
  const submit = (password: string, parts: MailParts = { envelopeTo: ['one@b.test'] }) => {
    const who = `${encodeURIComponent(CREDENTIALS.user)}:${encodeURIComponent(password)}`;
    return sendTo(`smtp://${who}@127.0.0.1:${postfix.submissionPort}`, parts);
  };
  const textOf = async (raw: string | undefined) => simpleParser(Buffer.from(raw ?? '', 'latin1'));

  it('delivers a message to each of its recipients, over TLS, and refuses unknown ones', async () => {
    const outcomes = await send({
      envelopeTo: ['one@b.test', 'nobody@b.test', 'two@b.test'],
      text: 'Zwölf\n.\n..\nend',
    });
    expect(outcomes).toMatchObject([
      { outcome: 'delivered', code: 250, enhanced: '2.0.0', tls: 'TLSv1.3', address: '127.0.0.1', stage: 'content' },
      { outcome: 'bounced', code: 550, enhanced: '5.1.1', stage: 'recipient' },
      { outcome: 'delivered', code: 250 },
    ]);
    for (const name of ['one', 'two']) {
      const [raw, ...more] = await postfix.mailOf(name, 1);
      expect([(await textOf(raw)).text?.trim(), more]).toEqual(['Zwölf\n.\n..\nend', []]);
    }
  });

  it('delivers to a non-ASCII address', async () => {
    const parts = {
      envelopeTo: ['jörg@b.test'],
      recipients: [{ id: 'rcp_1', kind: 'to', address: 'jörg@b.test' }],
    } as const;
    expect(await send({ ...parts, subject: 'Grüße' })).toMatchObject([{ outcome: 'delivered' }]);
    const [raw] = await postfix.mailOf('jörg', 1);
    expect(await textOf(raw)).toMatchObject({ subject: 'Grüße', to: { text: 'jörg@b.test' } });
  });

  it('delivers an attachment of 5 MB unchanged, as a chunk', async () => {
    const bytes = randomBytes(5_000_000);
    const attachment = {
      filename: 'a.bin',
      contentType: 'application/octet-stream',
      content: bytes.toString('base64'),
    };
    expect(await send({ envelopeTo: ['one@b.test'], attachments: [attachment] })).toMatchObject([
      { outcome: 'delivered' },
    ]);
    const [raw] = await postfix.mailOf('one', 1);
    expect((await textOf(raw)).attachments[0]?.content.equals(bytes)).toBe(true);
    expect(postfix.log()).not.toMatch(/improper command pipelining|syntax error/i);
  });

  it('is not sent messages above its declared maximum size', async () => {
    const text = 'A line.\r\n'.repeat(MESSAGE_BYTES_MAX / 8);
    expect(await send({ envelopeTo: ['one@b.test'], text })).toMatchObject([{ outcome: 'bounced', enhanced: '5.3.4' }]);
  });

  it('accepts more recipients than fit into one transaction, each once', async () => {
    const names = NAMES.slice(3);
    const outcomes = await send({ envelopeTo: names.map((name) => `${name}@b.test`) });
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(names.map(() => 'delivered'));
    for (const name of names) expect(await postfix.mailOf(name, 1)).toHaveLength(1);
  });

  it('as a smarthost relays for clients that have authenticated over TLS', async () => {
    const outcomes = await submit(CREDENTIALS.pass);
    expect(outcomes).toMatchObject([{ outcome: 'delivered', tls: 'TLSv1.3', code: 250 }]);
    expect(await postfix.mailOf('one', 1)).toHaveLength(1);
  });

  it('as a smarthost defers mail if the password is wrong or missing, and the reason says so', async () => {
    const wrong = {
      outcome: 'deferred',
      code: 535,
      enhanced: '5.7.8',
      stage: 'session',
      text: /authentication failed/i,
    };
    const { text, ...rest } = wrong;
    const [outcome] = await submit('wrong');
    expect(outcome).toMatchObject(rest);
    expect(outcome?.text).toMatch(text);
    const anonymous = await sendTo(`smtp://127.0.0.1:${postfix.submissionPort}`, { envelopeTo: ['one@b.test'] });
    expect(anonymous).not.toMatchObject([{ outcome: 'delivered' }]);
  });
});
