import { type AddressObject, type ParsedMail, simpleParser } from 'mailparser';
import { afterAll, beforeAll, expect } from 'vitest';
import { type CaptureServer, startCaptureServer } from '../../../src/adapters/mail/capture.ts';
import { createSmtpTransport } from '../../../src/adapters/mail/smarthost.ts';
import { createSystem } from '../../../src/adapters/system.ts';
import type { Inbox, MailTransport, ReceivedMail, RecipientOutcome } from '../../../src/domain/ports/mail.ts';
import { createInMemoryInbox } from '../../support/in-memory/inbox.ts';
import { silentLogger } from '../../support/logger.ts';
import { type MailParts, outgoingMail } from './outgoing-mail.ts';

const SEND_MS = 10_000;

export interface ArrivedMail extends ParsedMail {
  /** Each byte is one character. */
  readonly raw: string;
  readonly envelope: ReceivedMail;
}

/** A transport and the capturing server, for a test file. An independent parser reads the received mail. */
export const createPostOffice = () => {
  const system = createSystem();
  const inbox = createInMemoryInbox();
  const received: ReceivedMail[] = [];
  let server: CaptureServer;
  let transport: MailTransport;

  beforeAll(async () => {
    const store: Inbox['store'] = (mail) => {
      received.push(mail);
      return inbox.store(mail);
    };
    server = await startCaptureServer({ inbox: { ...inbox, store }, system, logger: silentLogger });
    transport = createSmtpTransport({ url: server.url, ehloName: 'sender.a.test', system });
  });
  afterAll(async () => {
    await transport.close();
    await server.close();
  });

  const send = (parts: MailParts): Promise<readonly RecipientOutcome[]> =>
    transport.send(outgoingMail(parts), { deadlineMs: system.monotonicMs() + SEND_MS });

  /** Sends a mail, expects its delivery and returns the received copy. */
  const sent = async (parts: MailParts): Promise<ArrivedMail> => {
    const outcomes = await send(parts);
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(outcomes.map(() => 'delivered'));
    const envelope = received.at(-1) as ReceivedMail;
    const raw = Buffer.from(envelope.raw);
    return { ...(await simpleParser(raw, { skipImageLinks: true })), raw: raw.toString('latin1'), envelope };
  };
  return { send, sent, inbox };
};

export const addresses = (field: AddressObject | AddressObject[] | undefined) =>
  [field ?? []].flat().flatMap(({ value }) => value.map(({ address, name }) => ({ address, name })));

/** Lines end in CRLF on the wire, and in LF after parsing. */
export const withLineFeeds = (text: string): string => text.replace(/\r\n?/g, '\n');

export const longestLine = (raw: string): number => Math.max(...raw.split('\r\n').map((line) => line.length));

/** The value of a header, unfolded but still encoded. */
export const headerOf = ({ headerLines }: ArrivedMail, name: string): string | undefined =>
  headerLines
    .find(({ key }) => key === name)
    ?.line.replace(/\r?\n/g, '')
    .replace(/^[^:]*:\s*/, '');
