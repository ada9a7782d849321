import { expect, test } from 'vitest';
import type { ExistingMessage } from '../../../src/domain/message/message.ts';
import type { ReplyText } from '../../../src/domain/ports/contents.ts';
import { leafHash } from '../../../src/lib/transparency/transparency.ts';
import { reportOf } from '../../../src/workers/delivery/record.ts';

const said = { recipientId: 'rcp_1', enhanced: '5.6.7', mx: 'mx.b.test', tls: null, text: 'SMTPUTF8 is not offered' };
const MADE = { uuid: () => 'id', randomBytes: (length: number) => new Uint8Array(length) };
const message = { organizationId: 'org_1', accepted: { messageId: 'msg_1' } } as ExistingMessage;

test.each([true, false])(
  'a recipient who cannot be delivered to bounces with that reason, whether the service is stopping (%s) or not',
  (stopping) => {
    const { outcomes } = reportOf(message, [{ ...said, code: 0, outcome: 'bounced' }], {
      ...MADE,
      cutOff: stopping ? 'the service was stopping' : null,
    });
    expect(outcomes).toMatchObject([{ outcome: 'bounced', reason: 'it cannot be delivered there' }]);
  },
);

test.each([
  [true, 0, 'the service was stopping'],
  [true, 451, 'the mail server may accept it later'],
  [false, 0, 'no answer from the mail server'],
  [false, 451, 'the mail server may accept it later'],
])('a deferred recipient has the right reason: stopping %s, reply %d', (stopping, code, reason) => {
  const { outcomes } = reportOf(message, [{ ...said, code, outcome: 'deferred' }], {
    ...MADE,
    cutOff: stopping ? 'the service was stopping' : null,
  });
  expect(outcomes).toMatchObject([{ outcome: 'deferred', reason }]);
});

test.each([
  ['no server was tried', { destination: '@b.test', address: null }],
  ['no answer from the mail server', { destination: '@b.test', address: '192.0.2.1' }],
  ['no answer from the mail server', { destination: 'provider.test', address: '192.0.2.1' }],
])('the reason is "%s" for %j', (reason, facts) => {
  const { outcomes } = reportOf(message, [{ ...said, code: 0, outcome: 'deferred', stage: 'connect', ...facts }], {
    ...MADE,
    cutOff: null,
  });
  expect(outcomes).toMatchObject([{ outcome: 'deferred', reason, destination: facts.destination }]);
});

test.each([
  ['4.7.10', 'TLS is required, and the mail server offers none', 'policy'],
  ['4.7.5', 'TLS is required, and with the mail server it failed', 'network'],
])('the finding %s about a session is the reason, unless the service is stopping', (enhanced, reason, category) => {
  const found = { ...said, enhanced, code: 0, outcome: 'deferred', stage: 'session', address: '192.0.2.1' } as const;
  const { outcomes } = reportOf(message, [found], { ...MADE, cutOff: null });
  expect(outcomes).toMatchObject([{ outcome: 'deferred', reason, category }]);
  expect(reportOf(message, [found], { ...MADE, cutOff: 'the service was stopping' }).outcomes).toMatchObject([
    { outcome: 'deferred', reason: 'the service was stopping' },
  ]);
  // The same status in a reply comes from the server.
  expect(reportOf(message, [{ ...found, code: 454 }], { ...MADE, cutOff: null }).outcomes).toMatchObject([
    { reason: 'the mail server may accept it later' },
  ]);
});

test('each reply is linked to its event with a salt of its own', () => {
  const { outcomes, replies } = reportOf(message, [{ ...said, code: 550, outcome: 'bounced' }], {
    ...MADE,
    cutOff: null,
  });
  const [body] = replies.map((reply) => reply.body as ReplyText);
  expect(body).toEqual({ kind: 'reply', messageId: 'msg_1', text: said.text, salt: 'A'.repeat(22) });
  const hash = leafHash(`["${'A'.repeat(22)}","reply","${said.text}"]`).toString('base64');
  expect(outcomes).toMatchObject([{ smtp: { replyId: 'id', replyRoot: hash } }]);
});

test('an outcome has the known facts of the SMTP session, and no others', () => {
  const session = {
    cipher: 'TLS_AES_256_GCM_SHA384',
    policy: 'dane',
    address: '192.0.2.1',
    stage: 'recipient',
  } as const;
  const reported = [
    { ...said, code: 550, outcome: 'bounced', ...session } as const,
    { ...said, code: 550, outcome: 'bounced' } as const,
  ];
  const { outcomes } = reportOf(message, reported, { ...MADE, cutOff: null });
  const bound = { replyId: 'id', replyRoot: expect.any(String) };
  const bare = { code: 550, enhanced: '5.6.7', mx: 'mx.b.test', tls: null, ...bound };
  expect(outcomes.map((each) => 'smtp' in each && each.smtp)).toStrictEqual([{ ...bare, ...session }, bare]);
});

test.each([
  [451, 'Greylisted, try again in 300 seconds', { category: 'greylisted', askedSeconds: 300 }],
  [421, 'Too much mail from you: retry after 2 hours', { askedSeconds: 7200 }],
])('a time stated in a reply of %d is passed on', (code, text, expected) => {
  const { outcomes } = reportOf(message, [{ ...said, code, text, enhanced: null, outcome: 'deferred' }], {
    ...MADE,
    cutOff: null,
  });
  expect(outcomes).toMatchObject([{ outcome: 'deferred', ...expected }]);
});

test('a time in a sentence of the service is not a wait that the mail server asked for', () => {
  const silent = { ...said, code: 0, text: 'no answer: try again in 300 seconds', outcome: 'deferred' } as const;
  const { outcomes } = reportOf(message, [silent], { ...MADE, cutOff: null });
  expect(outcomes[0]).not.toHaveProperty('askedSeconds');
});

const reportOn = (outcome: Parameters<typeof reportOf>[1][number], stopping = false) =>
  reportOf(message, [outcome], { ...MADE, cutOff: stopping ? 'the service was stopping' : null }).outcomes[0];

test('a recipient whom the server refused for good bounces with that reason, and its kind', () => {
  const refused = { ...said, enhanced: '5.1.1', code: 550, text: 'no such user', outcome: 'bounced' } as const;
  for (const stopping of [true, false]) {
    expect(reportOn(refused, stopping)).toMatchObject({
      ...{ outcome: 'bounced', reason: 'the mail server rejected it permanently', category: 'no_mailbox' },
    });
  }
});

test('an attempt that a stop cut off says nothing about the server, and is repeated at once', () => {
  const silent = { ...said, enhanced: null, code: 0, text: 'no answer', outcome: 'deferred' } as const;
  const waiting = { ...silent, retryAfterSeconds: 600 };
  expect(reportOn(waiting)).toMatchObject({ category: 'network', retryAfterSeconds: 600 });
  const stopped = reportOn(waiting, true);
  expect(stopped).toMatchObject({ reason: 'the service was stopping', retryAfterSeconds: 0 });
  expect(stopped).not.toHaveProperty('category');
});

test('a reply counts even if the service is stopping: its recipient waits as long as otherwise', () => {
  const busy = { ...said, code: 451, enhanced: '4.2.1', text: 'later', outcome: 'deferred' } as const;
  expect(reportOn(busy, true)).toEqual(reportOn(busy));
  expect(reportOn(busy)).not.toHaveProperty('retryAfterSeconds');
  expect(reportOn({ ...busy, retryAfterSeconds: 5 }, true)).toMatchObject({ retryAfterSeconds: 5 });
});

test('a recipient who is suppressed, or whose outcome is unknown, has no reply', () => {
  const suppressed = { ...said, code: 0, text: 'suppressed in the sandbox', outcome: 'suppressed' } as const;
  const unknown = { ...said, code: 0, outcome: 'unknown' } as const;
  expect(reportOf(message, [suppressed, unknown], { ...MADE, cutOff: null })).toEqual({
    outcomes: [
      { recipientId: 'rcp_1', outcome: 'suppressed', reason: 'suppressed in the sandbox' },
      { recipientId: 'rcp_1', outcome: 'unknown' },
    ],
    replies: [],
  });
});

test('a delivered recipient complains only if the sandbox says so', () => {
  const delivered = { ...said, code: 250, outcome: 'delivered' } as const;
  expect(reportOn(delivered)).toMatchObject({ outcome: 'delivered', complained: false });
  expect(reportOn(delivered)).not.toHaveProperty('destination');
  expect(reportOn({ ...delivered, complained: true })).toMatchObject({ complained: true });
});

test('an attempt names the address of this service that it came from', () => {
  const reply = { ...said, code: 250, source: '192.0.2.8', outcome: 'delivered' } as const;
  expect(reportOf(message, [reply], { ...MADE, cutOff: null }).outcomes).toMatchObject([
    { outcome: 'delivered', smtp: { source: '192.0.2.8' } },
  ]);
});

test('mail that waits for the quota of its source addresses says so, and is not blamed on the mail server', () => {
  const waits = { ...said, code: 0, enhanced: '4.4.5', outcome: 'deferred', retryAfterSeconds: 43_200 } as const;
  const { outcomes } = reportOf(message, [waits], { ...MADE, cutOff: null });
  expect(outcomes).toMatchObject([
    {
      outcome: 'deferred',
      reason: 'each address that may send it is warming up and has used its quota of the day',
      retryAfterSeconds: 43_200,
      ownFault: true,
    },
  ]);
  expect(outcomes[0]).not.toHaveProperty('category');
  // A server that says the same is congested.
  expect(reportOf(message, [{ ...waits, code: 451 }], { ...MADE, cutOff: null }).outcomes).toMatchObject([
    { reason: 'the mail server may accept it later' },
  ]);
});
