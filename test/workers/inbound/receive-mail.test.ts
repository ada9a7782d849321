import { describe, expect, onTestFinished, test } from 'vitest';
import { createInboundRoute } from '../../../src/commands/inbound/route.ts';
import type { RouteRule } from '../../../src/domain/inbound/route.ts';
import { messageStream } from '../../../src/domain/kernel/streams.ts';
import { StoreUnavailable } from '../../../src/lib/async/async.ts';
import { talkSmtp } from '../../submission/support/smtp-talk.ts';
import { messageAccepted } from '../../support/controls/message.ts';
import { FAILED, openReceivingMail, PASSED, type ReceivingMail } from './receiving-mail.ts';

const MAIL = [
  'From: Ann <ann@example.net>',
  'To: support@shop.test',
  'Subject: My order',
  'Message-ID: <1@example.net>',
  '',
  'Where is it?',
  '',
].join('\r\n');

const withField = (field: string, value: string): string => `${field}: ${value}\r\n${MAIL}`;

const openShop = async (options: Parameters<typeof openReceivingMail>[0] = {}) => {
  const service = await openReceivingMail(options);
  const organizationId = await service.makeOrganization();
  const domainId = await service.makeDomain(organizationId, 'shop.test');
  return { ...service, organizationId, domainId };
};

const onlyEvent = async (service: ReceivingMail) => {
  const [event, ...others] = await service.events();
  expect(others).toEqual([]);
  if (event === undefined) throw new Error('nothing was received');
  return event;
};

describe('a mail for a domain that receives mail', () => {
  test('is stored for each recipient, and its event holds no personal data', async () => {
    const shop = await openShop();
    expect(await shop.bring(['support@shop.test', 'Sales@SHOP.test'], MAIL)).toMatch(/^250/);
    const events = await shop.events();
    expect(events).toHaveLength(2);
    for (const event of events) {
      expect(event.data).toMatchObject({ domainId: shop.domainId, bytes: MAIL.length, action: 'webhook' });
      expect(event.metadata).toMatchObject({ organizationId: shop.organizationId, environment: 'live' });
      expect(JSON.stringify(event)).not.toMatch(/example|support|sales|order/i);
      expect((await shop.rawOf(event)).toString()).toBe(MAIL);
    }
    const bodies = await Promise.all(events.map(shop.bodyOf));
    expect(bodies.map(({ envelope }) => envelope.to)).toEqual(['support@shop.test', 'Sales@shop.test']);
    expect(bodies[0]).toMatchObject({
      from: [{ address: 'ann@example.net', name: 'Ann' }],
      subject: 'My order',
      text: 'Where is it?\n',
      reply: 'Where is it?',
      problems: [],
    });
  });

  test('is stored once, however often it is sent, and once more for another return path', async () => {
    const shop = await openShop();
    for (const _ of [1, 2, 3]) expect(await shop.bring('support@shop.test', MAIL)).toMatch(/^250/);
    expect(shop.results.map(({ outcome }) => outcome)).toEqual(['received', 'repeated', 'repeated']);
    expect(new Set(shop.results.flatMap(({ inboundIds }) => inboundIds)).size).toBe(1);
    expect(await shop.events()).toHaveLength(1);
    expect(await shop.bring('support@shop.test', MAIL, '')).toMatch(/^250/);
    expect(await shop.events()).toHaveLength(2);
  });

  test('sent by many connections at once is stored once', async () => {
    const shop = await openShop();
    const replies = await Promise.all(Array.from({ length: 8 }, () => shop.bring('support@shop.test', MAIL)));
    expect(replies.filter((reply) => !reply.startsWith('250'))).toEqual([]);
    expect(await shop.events()).toHaveLength(1);
  });

  test('is not accepted while the log is away, and is accepted later', async () => {
    const state = { away: true };
    const shop = await openShop({
      wrap: (store) => ({
        ...store,
        append: (append) => (state.away ? Promise.reject(new StoreUnavailable('away')) : store.append(append)),
      }),
    });
    expect(await shop.bring('support@shop.test', MAIL)).toMatch(/^451/);
    expect(await shop.events()).toEqual([]);
    state.away = false;
    expect(await shop.bring('support@shop.test', MAIL)).toMatch(/^250/);
    expect(await shop.events()).toHaveLength(1);
  });

  test('is not accepted without memory for it', async () => {
    const none = {
      bytesMax: 0,
      largeBytesMax: 0,
      organizationBytesMax: 0,
      organizationSmallBytesMax: 0,
      patienceMs: 1,
    };
    const shop = await openShop({ bodies: none });
    expect(await shop.bring('support@shop.test', MAIL)).toMatch(/^452 4\.3\.1/);
  });

  test('is not accepted above 25 MB', async () => {
    const shop = await openShop();
    const large = `${MAIL}${'x'.repeat(70)}\r\n`.padEnd(25_000_100, `${'x'.repeat(70)}\r\n`);
    expect(await shop.bring('support@shop.test', large)).toMatch(/^552 5\.3\.4/);
    expect(await shop.events()).toEqual([]);
  });
});

describe('a recipient', () => {
  test.each(['ann@example.net', 'support@other.test', 'support@bounces.service.test', '"a b"@other.test'])(
    '%s is refused: nothing is relayed',
    async (address) => {
      const shop = await openShop();
      expect(await shop.bring(address, MAIL)).toMatch(/^550/);
    },
  );

  test('at the test domain is received for the domain of the first start, where mail is captured', async () => {
    const shop = await openShop();
    await shop.stopReceiving(shop.organizationId, shop.domainId);
    expect(await shop.bring('anything@inbound.outbox.test', MAIL)).toMatch(/^250/);
    expect((await onlyEvent(shop)).data.domainId).toBe(shop.domainId);
  });

  test('is refused once its domain no longer receives mail', async () => {
    const shop = await openShop();
    await shop.stopReceiving(shop.organizationId, shop.domainId);
    expect(await shop.bring('support@shop.test', MAIL)).toMatch(/^550 5\.1\.1/);
  });

  test('is deferred until all domains are known', async () => {
    const state = { isReady: false };
    const shop = await openShop({ isReady: () => state.isReady });
    expect(await shop.bring('support@shop.test', MAIL)).toMatch(/^451/);
    state.isReady = true;
    expect(await shop.bring('support@shop.test', MAIL)).toMatch(/^250/);
  });

  test.each([
    ['of another organization', 'info@other.test'],
    ['of reports', 'fbl@bounces.service.test'],
  ])('%s must come in a transaction of its own', async (_name, other) => {
    const shop = await openShop();
    await shop.makeDomain(await shop.makeOrganization(), 'other.test');
    expect(await shop.bring(['support@shop.test', other], MAIL)).toMatch(/^partly 250/);
    expect(await shop.bring([other, 'support@shop.test'], MAIL)).toMatch(/^partly 250/);
    for (const event of await shop.events()) {
      const isShop = event.metadata.organizationId === shop.organizationId;
      expect((await shop.bodyOf(event)).envelope.to).toBe(isShop ? 'support@shop.test' : other);
    }
  });

  test('of a domain that stops receiving while the message arrives gets nothing, and the client tries again', async () => {
    const shop = await openShop();
    const talk = await talkSmtp(shop.port);
    onTestFinished(talk.close);
    await talk.ask('EHLO mx.example.net\r\n');
    await talk.ask('MAIL FROM:<ann@example.net>\r\n');
    expect(await talk.ask('RCPT TO:<support@shop.test>\r\n')).toMatch(/^250/);
    expect(await talk.ask('DATA\r\n')).toMatch(/^354/);
    await shop.stopReceiving(shop.organizationId, shop.domainId);
    expect(await talk.ask(`${MAIL}.\r\n`)).toMatch(/^451/);
    expect(await shop.events()).toEqual([]);
  });
});

describe('a route', () => {
  const openRouted = async (rule: Partial<RouteRule>) => {
    const shop = await openShop();
    const plain: RouteRule = { match: 'support+*', action: 'webhook', webhookId: null, order: 1 };
    const command = { domainId: shop.domainId, ...plain, ...rule };
    const { route } = await createInboundRoute(shop.context, shop.originOf(shop.organizationId), command);
    await shop.follow();
    return { ...shop, routeId: route.routeId };
  };

  test('that refuses answers 550 at RCPT, and only for what it matches', async () => {
    const shop = await openRouted({ action: 'refuse' });
    expect(await shop.bring('Support+1@shop.test', MAIL)).toMatch(/^550 5\.7\.1/);
    expect(await shop.bring('sales@shop.test', MAIL)).toMatch(/^250/);
    expect((await onlyEvent(shop)).data).toMatchObject({ routeId: null, action: 'webhook', webhookId: null });
  });

  test.each([
    { action: 'store', webhookId: null },
    { action: 'webhook', webhookId: 'whk_1' },
  ] as const)('says what happens to the mail: %j', async (rule) => {
    const shop = await openRouted(rule);
    expect(await shop.bring('support+1@shop.test', MAIL)).toMatch(/^250/);
    expect((await onlyEvent(shop)).data).toMatchObject({ routeId: shop.routeId, ...rule });
  });
});

describe('the sender of a mail', () => {
  test.each([
    ['accept', 250, undefined],
    ['mark', 250, true],
    ['refuse', 550, undefined],
  ] as const)('that fails DMARC is treated as the organization chooses: %s', async (policy, code, isMarked) => {
    const shop = await openShop();
    await shop.setPolicy(shop.organizationId, policy);
    shop.authenticated(FAILED);
    expect(await shop.bring('support@shop.test', MAIL)).toMatch(new RegExp(`^${code}`));
    expect((await shop.events()).map(({ data }) => data.isMarked)).toEqual(code === 250 ? [isMarked] : []);
  });

  test('is not refused if its domain asks for no refusal', async () => {
    const shop = await openShop();
    await shop.setPolicy(shop.organizationId, 'refuse');
    shop.authenticated({ ...FAILED, dmarcPolicy: 'none' });
    expect(await shop.bring('support@shop.test', MAIL)).toMatch(/^250/);
    expect((await onlyEvent(shop)).data).toMatchObject({ isMarked: true, verdicts: FAILED.verdicts });
  });

  test('is not marked if it passes', async () => {
    const shop = await openShop();
    shop.authenticated(PASSED);
    await shop.bring('support@shop.test', MAIL);
    expect((await onlyEvent(shop)).data).not.toHaveProperty('isMarked');
  });
});

describe('a mail of a machine', () => {
  test('that more than 30 servers have passed on is a loop', async () => {
    const shop = await openShop();
    const received = (count: number): string => 'Received: from a.test by b.test; 1 Jan 2026\r\n'.repeat(count) + MAIL;
    expect(await shop.bring('support@shop.test', received(31))).toMatch(/^554 5\.4\.6/);
    expect(await shop.bring('support@shop.test', received(30))).toMatch(/^250/);
  });

  test.each([
    ['Auto-Submitted', 'auto-replied', true],
    ['Auto-Submitted', 'no', undefined],
    ['Precedence', 'bulk', true],
    ['X-Other', 'auto-replied', undefined],
  ] as const)('with %s: %s is flagged: %s', async (field, value, isAutomatic) => {
    const shop = await openShop();
    expect(await shop.bring('support@shop.test', withField(field, value))).toMatch(/^250/);
    expect((await onlyEvent(shop)).data.isAutomatic).toBe(isAutomatic);
  });

  test('that this service has sent itself is flagged', async () => {
    const shop = await openShop();
    const own = MAIL.replace('<1@example.net>', `<msg_${'a'.repeat(26)}@shop.test>`);
    await shop.bring('support@shop.test', own);
    expect((await onlyEvent(shop)).data.isAutomatic).toBe(true);
  });
});

describe('an answer', () => {
  const ID = `msg_${'b'.repeat(26)}`;

  const openAnswered = async (isOwn: boolean) => {
    const shop = await openShop();
    const organizationId = isOwn ? shop.organizationId : await shop.makeOrganization();
    await shop.context.store.append({
      stream: messageStream(ID),
      expected: 'no-stream',
      events: [{ ...messageAccepted({ messageId: ID }), id: shop.context.system.uuid() }],
      context: {
        ...{ $correlationId: 'test', $causationId: 'test', actor: 'operator', requestId: null },
        ...{ organizationId, environment: 'live', occurredAt: shop.context.system.now().toISOString() },
      },
    });
    return shop;
  };

  test.each([
    ['In-Reply-To', `<${ID}@shop.test>`],
    ['References', `<x@y.test> <${ID}@shop.test> <1@example.net>`],
  ])('names the message that it answers, by %s', async (field, value) => {
    const shop = await openAnswered(true);
    await shop.bring('support@shop.test', withField(field, value));
    expect((await onlyEvent(shop)).data.inReplyToMessageId).toBe(ID);
  });

  test('to a message of another organization, or to none, names no message', async () => {
    const shop = await openAnswered(false);
    await shop.bring('support@shop.test', withField('In-Reply-To', `<${ID}@shop.test>`));
    expect((await onlyEvent(shop)).data.inReplyToMessageId).toBeNull();
  });
});

describe('a hostile mail', () => {
  const nested = (depth: number): string => {
    const parts = Array.from(
      { length: depth },
      (_, at) => `Content-Type: multipart/mixed; boundary=b${at}\r\n\r\n--b${at}\r\n`,
    );
    return `From: ann@example.net\r\nSubject: nested\r\n${parts.join('')}\r\nend`;
  };
  const attached = (count: number): string => {
    const part = '--B\r\nContent-Type: application/pdf; name="../../../etc/passwd"\r\n\r\nx\r\n';
    return `From: ann@example.net\r\nContent-Type: multipart/mixed; boundary=B\r\n\r\n${part.repeat(count)}--B--\r\n`;
  };

  test.each([
    ['with 10,000 nested parts', nested(10_000)],
    ['with 10,000 attachments', attached(10_000)],
    ['with 50,000 header fields', 'X-A: b\r\n'.repeat(50_000) + MAIL],
    ['with a field of 5 MB', `X-A: ${`${'b'.repeat(70)}\r\n `.repeat(70_000)}c\r\n${MAIL}`],
    ['with 1 MB of empty lines', `Subject: a\r\n\r\n${'\r\n'.repeat(500_000)}`],
    ['with 100,000 nested elements', `Content-Type: text/html\r\n\r\n${'<div>\r\n'.repeat(100_000)}`],
    ['with NUL and bytes that are no text', Buffer.concat([Buffer.from(MAIL), Buffer.from([0, 255, 254, 13, 10])])],
    ['without a header', '\r\n\r\nno header'],
    ['with half of everything', 'Content-Type: multipart/mixed; boundary="B\r\nFrom: <a@\r\n\r\n--B\r\nContent-Tr'],
  ])('%s is stored as it is', async (_name, raw) => {
    const shop = await openShop();
    expect(await shop.bring('support@shop.test', raw)).toMatch(/^250/);
    const event = await onlyEvent(shop);
    const stored = (await shop.rawOf(event)).toString('latin1').replace(/\r\n$/, '');
    expect(stored).toBe(Buffer.from(raw).toString('latin1').replace(/\r\n$/, ''));
    expect((await shop.bodyOf(event)).attachments.map(({ filename }) => filename)).not.toContain('../../../etc/passwd');
  });

  test('with html of more than 4,000,000 characters is stored, and says that only the original has it', async () => {
    const shop = await openShop();
    const raw = `Content-Type: text/html\r\n\r\n${'<b>x</b>\r\n'.repeat(450_000)}`;
    expect(await shop.bring('support@shop.test', raw)).toMatch(/^250/);
    const event = await onlyEvent(shop);
    expect(await shop.bodyOf(event)).toMatchObject({
      html: null,
      sanitizedHtml: null,
      problems: ['a text or html is too long: only the original mail has it'],
    });
    expect((await shop.rawOf(event)).length).toBeGreaterThan(4_000_000);
  });

  test('with html that acts is stored with a copy that only shows', async () => {
    const shop = await openShop();
    const html =
      '<p onclick="a()">Hi<script>alert(1)</script><a href="javascript:b()">c</a><iframe src="//d"></iframe></p>';
    await shop.bring('support@shop.test', `Content-Type: text/html\r\n\r\n${html}\r\n`);
    const body = await shop.bodyOf(await onlyEvent(shop));
    expect([body.html?.trim(), body.sanitizedHtml?.trim()]).toEqual([html, '<p>Hi<a>c</a></p>']);
  });
});

test('the extensions that senders use are offered', async () => {
  const shop = await openShop();
  const talk = await talkSmtp(shop.port);
  const offered = await talk.ask('EHLO mx.example.net\r\n');
  talk.close();
  for (const extension of ['PIPELINING', '8BITMIME', 'SMTPUTF8', 'SIZE ']) expect(offered).toContain(extension);
  expect(offered).not.toContain('AUTH');
});
