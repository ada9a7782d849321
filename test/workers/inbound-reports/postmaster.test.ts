import { simpleParser } from 'mailparser';
import { describe, expect, test } from 'vitest';
import { createPostmaster } from '../../../src/adapters/inbound-reports/receive-inbound-reports.ts';
import type { MailTransport, RecipientOutcome } from '../../../src/domain/ports/mail.ts';
import { talkSmtp } from '../../submission/support/smtp-talk.ts';
import { statuses } from '../delivering.ts';
import { BOUNCE_DOMAIN, deliveryReport, openReceiving } from './receiving.ts';
import { openReturning, send } from './returning.ts';

const ADDRESS = `postmaster@${BOUNCE_DOMAIN}`;
const READER = 'ops@example.com';
const MAIL = 'From: Ann <ann@example.org>\r\nSubject: Stop it\r\n\r\nPlease.\r\n';

/** A listener that forwards the postmaster's mail to `READER` through the service's own transport. */
const openRead = async (transport?: MailTransport, aheadMs = () => 0) => {
  const service = await openReturning();
  const { logger } = service;
  const system = { ...service.system, monotonicMs: () => service.system.monotonicMs() + aheadMs() };
  const postmaster = createPostmaster({
    domain: BOUNCE_DOMAIN,
    address: READER,
    transport: transport ?? service.dependencies.transports.live,
    system,
    logger,
  });
  return { ...service, ...(await openReceiving(service, {}, { postmaster })) };
};

const saying = (outcome: 'deferred' | 'bounced' | 'unknown'): MailTransport => ({
  send: async () => [
    { recipientId: 'x', outcome, code: 550, enhanced: null, mx: 'mx', tls: null, text: '' } satisfies RecipientOutcome,
  ],
  close: async () => undefined,
});

describe('mail to the postmaster', () => {
  test('is refused with a reason if it is not configured', async () => {
    const { port } = await openReturning();
    const talk = await talkSmtp(port);
    await talk.ask('EHLO mx.example.org\r\n');
    await talk.ask('MAIL FROM:<ann@example.org>\r\n');
    for (const address of ['postmaster', ADDRESS, `PostMaster@${BOUNCE_DOMAIN.toUpperCase()}`]) {
      expect(await talk.ask(`RCPT TO:<${address}>\r\n`)).toMatch(/^550 5\.2\.1 .*is not read here/);
    }
    talk.close();
  });

  test.each(['postmaster', ADDRESS, 'PostMaster@bounces.shop.example'])(
    'to %s is forwarded completely, with an empty sender, before it is accepted',
    async (address) => {
      const service = await openRead();
      const talk = await talkSmtp(service.port);
      for (const line of ['EHLO x', 'MAIL FROM:<ann@example.org>', `RCPT TO:<${address}>`, 'DATA']) {
        expect(await talk.ask(`${line}\r\n`)).toMatch(/^[23]5/);
      }
      expect(await talk.ask(`${MAIL}.\r\n`)).toMatch(/^250/);
      talk.close();
      expect(service.sink.mails).toMatchObject([{ from: '', to: [READER] }]);
      const passed = await simpleParser(service.sink.mails[0]?.raw ?? '');
      expect(passed.from?.value).toMatchObject([{ address: ADDRESS }]);
      expect(passed.text).toContain('ann@example.org');
      expect(passed.headers.get('auto-submitted')).toBe('auto-forwarded');
      expect(passed.attachments.map(({ content }) => content.toString())).toEqual([MAIL]);
      expect(service.logger.outcomes()).toEqual(['postmaster']);
    },
  );

  test('together with a report is forwarded, and the report recorded', async () => {
    const service = await openRead();
    const { id, from } = await send(service, 'ann@example.org');
    expect(await service.bring([from, ADDRESS], deliveryReport({ address: 'ann@example.org' }))).toBe(250);
    expect(await statuses(service, id)).toEqual(['bounced']);
    expect(service.sink.mails.at(-1)).toMatchObject({ to: [READER] });
  });

  test.each(['deferred', 'bounced', 'unknown'] as const)(
    'is deferred if forwarding is %s, and the operator sees why',
    async (outcome) => {
      const service = await openRead(saying(outcome));
      expect(await service.bring(ADDRESS, MAIL)).toBe(451);
      expect(service.logger.said('error')).toEqual(['could not forward a mail for the postmaster: check POSTMASTER']);
    },
  );

  test('is not forwarded a second time', async () => {
    const service = await openRead();
    await service.bring(ADDRESS, MAIL);
    expect(await service.bring(ADDRESS, service.sink.mails[0]?.raw ?? '')).toBe(554);
    expect(service.sink.mails).toHaveLength(1);
  });

  test('is forwarded thirty times an hour, and the rest is deferred', async () => {
    let ahead = 0;
    const service = await openRead(undefined, () => ahead);
    for (let turn = 0; turn < 30; turn += 1) expect(await service.bring(ADDRESS, MAIL)).toBe(250);
    expect(await service.bring(ADDRESS, MAIL)).toBe(451);
    ahead = 3_600_000;
    expect(await service.bring(ADDRESS, MAIL)).toBe(250);
  });

  test('above a megabyte is refused, not truncated', async () => {
    const service = await openRead();
    expect(await service.bring(ADDRESS, `${MAIL}${'x\r\n'.repeat(400_000)}`)).toBe(552);
    expect(service.sink.mails).toHaveLength(0);
  });
});
