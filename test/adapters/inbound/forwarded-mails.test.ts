import { Readable } from 'node:stream';
import { authenticate } from 'mailauth';
import { describe, expect, test } from 'vitest';
import { createForwardedMails } from '../../../src/adapters/inbound/forwarded-mails.ts';
import type { ForwardedMail } from '../../../src/domain/ports/inbound.ts';
import { createInMemoryDkimKeys } from '../../support/in-memory/dkim-keys.ts';

const NOW = new Date('2026-07-01T12:00:00Z');
const RAW = 'From: Ann <ann@example.net>\r\nSubject: a\r\nMessage-ID: <a@example.net>\r\n\r\nHello\r\n';
const mailOf = (raw: string | Buffer = RAW, more: Partial<ForwardedMail> = {}): ForwardedMail => ({
  inboundId: `inb_${'a'.repeat(26)}`,
  raw: Buffer.from(raw),
  from: 'ann@example.net',
  verdicts: { spf: 'pass', dkim: 'pass', dmarc: 'pass', arc: 'none' },
  domain: 'shop.test',
  host: 'bounces.service.test',
  ...more,
});
const made = await createInMemoryDkimKeys().make();
const keys = made.map(({ algorithm, privateKey }) => ({ domain: 'shop.test', selector: 'ob1', algorithm, privateKey }));
const [published = ''] = made.flatMap(({ algorithm, publicKey }) =>
  algorithm === 'rsa-sha256' ? [`v=DKIM1; k=rsa; p=${publicKey}`] : [],
);
const mails = createForwardedMails();
const compose = (mail: ForwardedMail, by = keys) => mails.compose(mail, by, NOW);

const verify = async (raw: Buffer) => {
  const resolver = async (name: string): Promise<string[][]> => {
    if (name === 'ob1._domainkey.shop.test') return [[published]];
    throw Object.assign(new Error('no record'), { code: 'ENOTFOUND' });
  };
  const { arc } = await authenticate(Readable.from([raw]), { resolver, mta: 'test', disableBimi: true });
  return arc ? arc.status.result : null;
};

describe('a forwarded mail', () => {
  test('keeps its bytes below the fields of this service', async () => {
    const forwarded = await compose(mailOf());
    expect(forwarded.subarray(-RAW.length).toString()).toBe(RAW);
    expect(forwarded.subarray(0, -RAW.length).toString()).toMatch(
      /^ARC-Seal:[\s\S]*\r\nReceived: by bounces\.service\.test \(Outbox\) with ESMTP id inb_a{26};\r\n\tWed, 01 Jul 2026 12:00:00 \+0000\r\n$/,
    );
  });

  test('has an ARC set that verifies, and says what this service has found', async () => {
    const forwarded = await compose(mailOf());
    expect(await verify(forwarded)).toBe('pass');
    expect(forwarded.toString()).toContain('spf=pass smtp.mailfrom=ann@example.net');
    const changed = Buffer.from(forwarded.toString().replace('Hello', 'Hallo'));
    expect(await verify(changed)).toBe('fail');
  });

  test('continues a chain that is good, and leaves a broken one alone', async () => {
    const first = await compose(mailOf(RAW, { domain: 'shop.test' }));
    const passed = { spf: 'pass', dkim: 'pass', dmarc: 'pass', arc: 'pass' } as const;
    const second = await compose(mailOf(first, { verdicts: passed }));
    expect(second.toString()).toContain('i=2;');
    expect(await verify(second)).toBe('pass');
    const broken = await compose(mailOf(first, { verdicts: { ...passed, arc: 'fail' } }));
    expect(broken.toString()).toMatch(/^Received:/);
  });

  test('leaves without a set if the domain has no key', async () => {
    expect((await compose(mailOf(), [])).toString()).toMatch(/^Received:/);
  });

  test.each(['ann@example.net; dmarc=pass', 'a\r\nX: y@example.net', '"a b"@example.net', 'ä@example.net', ''])(
    'does not repeat the return path %j',
    async (from) => {
      const head = (await compose(mailOf(RAW, { from }))).toString().split('\r\nReceived:')[0] ?? '';
      expect(head).not.toContain('smtp.mailfrom');
      expect(await verify(await compose(mailOf(RAW, { from })))).toBe('pass');
    },
  );

  test('of 25 MB does not hold the event loop', async () => {
    const raw = Buffer.concat([Buffer.from(RAW), Buffer.alloc(25_000_000, `${'a'.repeat(76)}\r\n`)]);
    const whole = raw.subarray(0, raw.lastIndexOf('\n') + 1);
    let turns = 0;
    const counting = setInterval(() => (turns += 1), 1);
    await mails.inspect(mailOf(whole));
    await compose(mailOf(whole));
    clearInterval(counting);
    expect(turns).toBeGreaterThan(50);
  });
});

describe('a mail to be forwarded', () => {
  test.each([
    ['plain', RAW, { wasForwarded: false, isMalformed: false }],
    ['a bare LF', RAW.replace('Hello\r\n', 'Hello\n.\r\n'), { wasForwarded: false, isMalformed: true }],
    ['a bare CR', RAW.replace('Hello', 'Hel\rlo'), { wasForwarded: false, isMalformed: true }],
    ['a bare CR at its end', `${RAW}\r`, { wasForwarded: false, isMalformed: true }],
    [
      'a seal of the domain',
      `ARC-Seal: i=1; a=rsa-sha256; t=1;\r\n\tcv=none; d=Shop.test; s=a; b=\r\n${RAW}`,
      { wasForwarded: true, isMalformed: false },
    ],
    [
      'a seal of another domain',
      `ARC-Seal: i=1; a=rsa-sha256; cv=none; d=example.net; s=a; b=\r\n${RAW}`,
      { wasForwarded: false, isMalformed: false },
    ],
    [
      'a field of another server',
      `Received: from a by b with ESMTP id 1; Wed, 01 Jul 2026 12:00:00 +0000\r\n${RAW}`,
      { wasForwarded: false, isMalformed: false },
    ],
    [
      'a field of this service in the body',
      `${RAW}\r\nReceived: by b (Outbox) with ESMTP id inb_${'a'.repeat(26)}; x\r\n`,
      { wasForwarded: false, isMalformed: false },
    ],
  ])('with %s is known as such', async (_, raw, facts) => {
    expect(await mails.inspect(mailOf(raw))).toEqual(facts);
  });

  test('that this service has forwarded is known, whatever the name of the service', async () => {
    const forwarded = await compose(mailOf(RAW, { domain: 'other.test' }), []);
    expect((await mails.inspect(mailOf(forwarded, { host: 'elsewhere.test' }))).wasForwarded).toBe(true);
  });
});
