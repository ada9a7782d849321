import { describe, expect, onTestFinished, test } from 'vitest';
import { deleteDomain } from '../../../src/commands/sending-domain/change-domain.ts';
import { createKeyCacheProjection } from '../../../src/domain/api-key/key-cache-projection.ts';
import { type SmtpTalk, talkSmtp } from '../../submission/support/smtp-talk.ts';
import { deliveryReport } from '../inbound-reports/receiving.ts';
import { openReceivingMail } from './receiving-mail.ts';

/**
 * Clients that attack the receiver of mail. Attacks on connections, which all listeners share, are in
 * `test/lib/smtp/listener`, those on STARTTLS in `../inbound-reports/listener.test.ts`, those by contents in
 * `receive-mail.test.ts`, and a process that dies before its reply in `chaos/crashes/inbound-mail.ts`.
 */

const MAIL = 'From: Ann <ann@example.net>\r\nSubject: My order\r\n\r\nWhere is it?\r\n';
const FROM = 'MAIL FROM:<ann@example.net>\r\n';
const TO = 'RCPT TO:<support@shop.test>\r\n';

const openShop = async () => {
  const service = await openReceivingMail();
  const organizationId = await service.makeOrganization();
  const domainId = await service.makeDomain(organizationId, 'shop.test');
  const talk = async (localAddress?: string): Promise<SmtpTalk> => {
    const client = await talkSmtp(service.port, '127.0.0.1', localAddress);
    onTestFinished(client.close);
    return client;
  };
  /** @returns the replies. */
  const say = async (...commands: readonly string[]): Promise<readonly string[]> => {
    const client = await talk();
    const replies: string[] = [];
    for (const command of ['EHLO mx.example.net\r\n', ...commands])
      replies.push(await client.ask(Buffer.from(command, 'latin1')));
    return replies.slice(1);
  };
  return { ...service, organizationId, domainId, talk, say };
};

describe('a client', () => {
  // RFC 5321 §4.1.1.4: only <CRLF>.<CRLF> ends a message (CVE-2023-51764 and similar).
  test.each([
    ['LF . LF', '\n.\n'],
    ['CR . CR', '\r.\r'],
    ['LF . CRLF', '\n.\r\n'],
    ['CR . CRLF', '\r.\r\n'],
    ['CRLF . LF', '\r\n.\n'],
    ['CRLF . CR', '\r\n.\r'],
    ['CRLF NUL . CRLF', '\r\n\0.\r\n'],
  ])('smuggles no second mail behind %s', async (_what, end) => {
    const shop = await openShop();
    const smuggled = `MAIL FROM:<ceo@shop.test>\r\n${TO}DATA\r\nSubject: smuggled\r\n\r\n`;
    const replies = await shop.say(FROM, TO, 'DATA\r\n', `${MAIL}${end}${smuggled}\r\n.\r\n`, 'QUIT\r\n');
    expect(replies.slice(-2).map((reply) => reply.slice(0, 3))).toEqual(['250', '221']);
    const events = await shop.events();
    expect(events).toHaveLength(1);
    for (const event of events) expect((await shop.bodyOf(event)).subject).toBe('My order');
  });

  test.each([
    'ann%example.net@other.test',
    '@shop.test:ann@example.net',
    'shop.test!ann@example.net',
    '"ann@example.net"@other.test',
    'ann@shop.test@example.net',
  ])('relays nothing by %s', async (address) => {
    const shop = await openShop();
    const [, reply] = await shop.say(FROM, `RCPT TO:<${address}>\r\n`);
    expect(reply).toMatch(/^5(?:01|50|53)/);
  });

  test('gets no mail, even if it forges a sender that does not exist', async () => {
    const shop = await openShop();
    const before = (await shop.logged()).length;
    expect(await shop.bring('stranger@shop.test', MAIL, 'victim@example.org')).toMatch(/^250/);
    expect((await shop.logged()).slice(before).map(({ type }) => type)).toEqual(['InboundReceived']);
  });

  test('that sends a report to a domain sends a mail like any other', async () => {
    const shop = await openShop();
    expect(await shop.bring('support@shop.test', deliveryReport({ address: 'ann@example.org' }), '')).toMatch(/^250/);
    expect(await shop.events()).toHaveLength(1);
    expect(shop.reports).toEqual([]);
  });

  test('is offered no BDAT, and is refused it', async () => {
    const shop = await openShop();
    const client = await shop.talk();
    expect(await client.ask('EHLO mx.example.net\r\n')).not.toContain('CHUNKING');
    for (const command of [FROM, TO]) expect(await client.ask(command)).toMatch(/^250/);
    expect(await client.ask('BDAT 4 LAST\r\n')).toMatch(/^50/);
    expect(await shop.events()).toEqual([]);
  });

  test.each([
    ['octets that are no text', 'RCPT TO:<\xff\xfe@shop.test>\r\n'],
    ['a NUL', 'RCPT TO:<a\0b@shop.test>\r\n'],
    ['100,000 characters', `RCPT TO:<${'a'.repeat(100_000)}@shop.test>\r\n`],
    ['no address', 'RCPT TO:<>\r\n'],
    ['a line feed', 'RCPT TO:<a\nb@shop.test>\r\n'],
  ])('is refused a recipient with %s', async (_what, command) => {
    const shop = await openShop();
    const [, reply] = await shop.say(FROM, command);
    expect(reply).toMatch(/^(?:5|421)/);
  });

  test('is heard with an address in UTF-8 (RFC 6531)', async () => {
    const shop = await openShop();
    const address = Buffer.from('grüße@shop.test').toString('latin1');
    const replies = await shop.say(
      `${FROM.trimEnd()} SMTPUTF8\r\n`,
      `RCPT TO:<${address}>\r\n`,
      'DATA\r\n',
      `${MAIL}.\r\n`,
    );
    expect(replies.map((reply) => reply.slice(0, 3))).toEqual(['250', '250', '354', '250']);
    const [event] = await shop.events();
    expect(event && (await shop.bodyOf(event)).envelope.to).toBe('grüße@shop.test');
  });

  test('may send a line of a million characters', async () => {
    const shop = await openShop();
    const raw = `${MAIL}${'x'.repeat(1_000_000)}\r\n`;
    expect(await shop.bring('support@shop.test', raw)).toMatch(/^250/);
    const [event] = await shop.events();
    expect(event && (await shop.rawOf(event)).length).toBe(raw.length);
  });

  test('may open a thousand connections, and others deliver mail', async () => {
    const shop = await openShop();
    const greetings: string[] = [];
    for (let lot = 0; lot < 20; lot += 1) {
      const clients = Array.from({ length: 50 }, (_, at) => shop.talk(`127.0.${lot + 1}.${at + 1}`));
      greetings.push(...(await Promise.all(clients)).map(({ socket }) => String(socket.remotePort)));
    }
    expect(greetings).toHaveLength(1_000);
    expect(await shop.bring('support@shop.test', MAIL)).toMatch(/^250/);
  });

  test('that leaves before the end of its mail has sent nothing', async () => {
    const shop = await openShop();
    const client = await shop.talk();
    for (const command of ['EHLO mx.example.net\r\n', FROM, TO, 'DATA\r\n']) await client.ask(command);
    client.socket.write(MAIL);
    client.socket.resetAndDestroy();
    expect(await shop.bring('sales@shop.test', MAIL)).toMatch(/^250/);
    const [event, ...more] = await shop.events();
    expect(more).toEqual([]);
    expect(event && (await shop.bodyOf(event)).envelope.to).toBe('sales@shop.test');
  });
});

test('a mail for a domain that is deleted while it arrives is deferred, and then refused', async () => {
  const shop = await openShop();
  const client = await shop.talk();
  for (const command of ['EHLO mx.example.net\r\n', FROM, TO, 'DATA\r\n']) await client.ask(command);
  const byOperator = { by: 'operator', loadKeyCache: async () => createKeyCacheProjection() } as const;
  await deleteDomain(shop.context, shop.originOf(shop.organizationId), { ...byOperator, domainId: shop.domainId });
  await shop.follow();
  expect(await client.ask(`${MAIL}.\r\n`)).toMatch(/^451/);
  expect(await client.ask(FROM)).toMatch(/^250/);
  expect(await client.ask(TO)).toMatch(/^550/);
  expect(await shop.events()).toEqual([]);
});
