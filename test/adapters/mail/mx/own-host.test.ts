import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ownHostProblem } from '../../../../src/adapters/mail/mx/mx.ts';
import { parseReply } from '../../../../src/lib/smtp/smtp.ts';
import { createRecordingLogger } from '../../../workers/recording-logger.ts';
import { createMailWorld, type MailWorld, send, system } from './mail-world.ts';

const ONE = '127.0.0.11';
const LISTED = '554 5.7.1 Service unavailable; Client host [192.0.2.1] blocked using zen.spamhaus.org';
const NO_PTR =
  '550-5.7.25 [192.0.2.1] The IP address sending this message does not have a PTR\r\n550-5.7.25 record setup, or the corresponding forward DNS entry does not\r\n550 5.7.25 match the sending IP. a1-b2 - gsmtp';

describe('a permanent refusal that is about this machine', () => {
  let world: MailWorld;
  beforeEach(async () => {
    world = await createMailWorld();
    world.dns.change({ 'b.test': { A: [ONE] } });
  });
  afterEach(() => world.close());

  const openTold = () => {
    const logger = createRecordingLogger();
    let aheadMs = 0;
    const clock = { ...system, monotonicMs: () => system.monotonicMs() + aheadMs };
    return { logger, transport: world.transport({ logger, system: clock }), wait: (ms: number) => (aheadMs += ms) };
  };

  test('keeps the mail at the recipient and after the message, and is logged once in ten minutes', async () => {
    let isAfterMessage = false;
    await world.startScripted(ONE, {
      RCPT: () => (isAfterMessage ? undefined : LISTED),
      dot: () => NO_PTR,
    });
    const { logger, transport, wait } = openTold();
    expect(await send(transport)).toMatchObject([{ outcome: 'deferred', code: 554, enhanced: '5.7.1' }]);
    await send(transport);
    isAfterMessage = true;
    expect(await send(transport)).toMatchObject([{ outcome: 'deferred', code: 550, enhanced: '5.7.25' }]);
    expect(logger.said('error')).toEqual([
      expect.stringMatching(/^mail waits because mail servers reject this machine: a block list has the address/),
      expect.stringMatching(/^mail waits because mail servers reject this machine: .* no reverse name \(PTR\)/),
    ]);
    expect(logger.fieldsOf('error')[0]).toEqual({ mx: 'b.test', code: 554, enhanced: '5.7.1' });
    wait(11 * 60_000);
    isAfterMessage = false;
    await send(transport, {}, 20 * 60_000);
    expect(logger.said('error')).toHaveLength(3);
  });

  test('is not one about the recipient, the content or the sending domain: that mail has bounced', async () => {
    for (const said of [
      '550 5.1.1 <ann@b.test>: Recipient address rejected: User unknown',
      '550 5.7.1 Service unavailable; Sender address [x@y.test] blocked using dbl.spamhaus.org',
      '550 5.7.1 blocked',
    ]) {
      const server = await world.startScripted(ONE, { RCPT: () => said });
      const { logger, transport } = openTold();
      expect(await send(transport)).toMatchObject([{ outcome: 'bounced' }]);
      expect(logger.said('error')).toEqual([]);
      await transport.close();
      await server.close();
    }
  });

  test.each([
    ['listed', LISTED],
    ['listed', '550 5.7.1 Service unavailable, Client host [192.0.2.1] blocked using Spamhaus. To request removal'],
    ['listed', '550 rejected because 192.0.2.1 is in a black list at zen.spamhaus.org'],
    ['listed', '550 5.7.1 Rejected: 192.0.2.1 listed at zen.example.com'],
    ['listed', '550 5.7.1 Mail from 192.0.2.1 refused by blackhole site zen.spamhaus.org'],
    ['reverse_name', NO_PTR],
    ['reverse_name', '550 5.7.25 no'],
    ['reverse_name', '550 5.7.25 Client host rejected: cannot find your reverse hostname, [192.0.2.1]'],
    ['reverse_name', '550 5.7.1 Fix reverse DNS for 192.0.2.1'],
    ['ehlo_name', '550 5.7.1 <x>: Helo command rejected: Host not found'],
    ['ehlo_name', '554 5.7.1 Service unavailable; Helo command [x.test] blocked using dbl.spamhaus.org'],
    [
      'blocked',
      "550 5.7.1 Unfortunately, messages from [192.0.2.1] weren't sent. Part of their network is on our block list (S3140)",
    ],
    ['blocked', '550 5.7.606 Access denied, banned sending IP [192.0.2.1]'],
    ['blocked', '550 5.7.649 no'],
    ['blocked', '553 5.7.1 [BL21] Connections will not be accepted from 192.0.2.1'],
    ['blocked', '554 5.7.1 <unknown[192.0.2.1]>: Client host rejected: Access denied'],
    [null, '450 4.7.25 Client host rejected: cannot find your reverse hostname, [192.0.2.1]'],
    [null, "550 5.7.26 Unauthenticated email from a.test is not accepted due to domain's DMARC policy"],
    [null, '550 5.7.1 This message is likely unsolicited mail'],
    [null, '550 5.7.1 Message rejected due to the reputation of a link'],
    [null, '550 5.7.1 RESOLVER.RST.AuthRequired; authentication required'],
    [null, '554 5.7.1 <a@b.test>: Relay access denied'],
    [null, '550 5.7.511 Access denied, banned sender'],
    [null, '550 5.7.1 Access denied'],
    [null, '250 2.1.5 Ok'],
  ])('is recognised as %s: %s', (problem, said) => {
    const reply = { ...parseReply(said), mx: 'mx.test', tls: null, recipientId: 'rcp_1', stage: 'recipient' } as const;
    expect(ownHostProblem({ ...reply, outcome: 'bounced' })).toBe(problem);
  });

  test('is not inferred from what is said of the content', () => {
    const reply = parseReply('550 5.7.1 a link: 192.0.2.1 is in a black list at multi.surbl.org');
    const about = { ...reply, mx: 'mx.test', tls: null, recipientId: 'rcp_1', outcome: 'bounced' } as const;
    expect(ownHostProblem({ ...about, stage: 'content' })).toBeNull();
    expect(ownHostProblem({ ...about, stage: 'recipient' })).toBe('listed');
  });
});
