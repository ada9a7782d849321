import { expect, test } from 'vitest';
import { formatId } from '../../../src/domain/kernel/ids.ts';
import { message } from '../../../src/domain/message/message.ts';
import { isLinkToken, readLinkToken } from '../../../src/domain/message/tokens.ts';
import type { MessageBody } from '../../../src/domain/ports/contents.ts';
import type { OutgoingMail } from '../../../src/domain/ports/mail.ts';
import { readClick, readOpen, type Tracking } from '../../../src/domain/tracking/tracking.ts';
import { composeMails, type LoadMailsParts, loadMaterial } from '../../../src/workers/delivery/deliver.ts';
import { createSendingDomains, type SendingDomains } from '../../../src/workers/domains/sending-domains.ts';
import { messageAccepted, recipient } from '../../support/controls/message.ts';
import { createInMemoryContents } from '../../support/in-memory/contents.ts';
import { createInMemorySecrets } from '../../support/in-memory/secrets.ts';
import { contextAt, NOW } from '../../support/specification.ts';
import { TRACKING_KEYS } from '../../support/tracking-keys.ts';
import { createShiftableSystem } from '../shiftable-system.ts';

const messageId = formatId('msg', new Uint8Array(16));
const ANN = formatId('rcp', new Uint8Array(16).fill(1));
const BOB = formatId('rcp', new Uint8Array(16).fill(2));

interface ComposedMail {
  readonly from?: string;
  readonly bounceDomain?: string;
  readonly tracking?: Tracking;
  readonly body?: Partial<MessageBody>;
  /** Domain with a tracking host that points to this service. */
  readonly trackedName?: string;
}

/** The mails that an attempt sends to Ann and Bob. */
const compose = async (with_: ComposedMail = {}): Promise<readonly OutgoingMail[]> => {
  const { from = 'shop@example.test', bounceDomain, tracking, body: more, trackedName } = with_;
  const contents = createInMemoryContents();
  const secrets = createInMemorySecrets();
  await secrets.put('org_mine', 'org_mine', Buffer.alloc(32).toString('base64'));
  const body: MessageBody = {
    kind: 'message',
    messageId,
    from: { address: from },
    replyTo: [],
    subject: 'Hello',
    text: 'Hello',
    headers: {},
    attachments: [],
    tags: [],
    metadata: {},
    recipients: [
      { id: ANN, kind: 'to', address: 'ann@example.org' },
      { id: BOB, kind: 'to', address: 'bob@example.org' },
    ],
    ...more,
  };
  await contents.put([{ id: 'content-1', organizationId: 'org_mine', body }]);
  const recipients = [recipient(ANN), recipient(BOB)];
  const accepted = messageAccepted({ messageId, recipients, ...(tracking === undefined ? {} : { tracking }) });
  const state = message.evolve(message.initial, accepted, contextAt(NOW));
  if (state.status === 'absent') throw new Error('not accepted');
  const sendingDomains: SendingDomains = {
    ...createSendingDomains({ secrets }),
    trackedNameOf: () => trackedName ?? null,
  };
  const parts: LoadMailsParts = {
    contents,
    secrets,
    system: createShiftableSystem(),
    publicUrl: () => 'https://a.test',
    bounceDomain,
    sendingDomains,
    trackingKeys: TRACKING_KEYS,
  };
  return composeMails(
    parts,
    { claimed: true, message: { state, revision: 1 }, attempt: 1, recipientIds: [ANN, BOB], events: [] },
    await loadMaterial(parts, state),
  );
};

const sendersOf = async (from: string, bounceDomain?: string): Promise<readonly string[]> =>
  (await compose({ from, ...(bounceDomain === undefined ? {} : { bounceDomain }) })).map(
    ({ envelope }) => envelope.from,
  );

test('undelivered mail returns to this service, unless its non-ASCII sender reveals that it needs SMTPUTF8', async () => {
  expect(await sendersOf('shop@example.test')).toEqual(['shop@example.test']);
  expect(await sendersOf('shop@example.test', 'b.test')).toEqual([expect.stringMatching(/^b[0-9a-v]{48}@b\.test$/)]);
  expect(await sendersOf('jörg@example.test', 'b.test')).toEqual(['jörg@example.test']);
});

const HTML = { html: '<a href="https://shop.test/">Shop</a>' };
const BOTH = { opens: true, clicks: true };

const tokenIn = (url: string | null | undefined, path: string): string =>
  new RegExp(`^https://[^/]+/${path}/([\\w-]+)(?:\\?|$)`).exec(url ?? '')?.[1] ?? '';

test('tracked html is sent as a copy for each recipient, whose links name them', async () => {
  const mails = await compose({ tracking: BOTH, body: HTML });
  expect(mails.map(({ envelope }) => envelope.to.map(({ recipientId }) => recipientId))).toEqual([[ANN], [BOB]]);
  for (const { tracking, envelope } of mails) {
    const recipientId = envelope.to[0]?.recipientId;
    const target = tracking?.targetOf('https://shop.test') ?? '';
    const href = tracking?.hrefOf(target, 3, 9);
    expect(href).toMatch(/^https:\/\/a\.test\/c\/[\w-]{96}\?u=https%3A%2F%2Fshop\.test%2F$/);
    const link = { messageId, recipientId, link: 3, links: 9 };
    expect(readClick(TRACKING_KEYS, tokenIn(href, 'c'), 'https://shop.test/')).toMatchObject(link);
    expect(readOpen(TRACKING_KEYS, tokenIn(tracking?.pixelUrl, 'o'))).toMatchObject({ messageId, recipientId });
  }
});

test('links use the tracking host of the domain once its DNS points here', async () => {
  const [mail] = await compose({ tracking: BOTH, body: HTML, trackedName: 'example.test' });
  expect(mail?.tracking?.pixelUrl).toMatch(/^https:\/\/track\.example\.test\/o\//);
  expect(mail?.tracking?.hrefOf('https://shop.test/', 0, 1)).toMatch(/^https:\/\/track\.example\.test\/c\//);
});

test('only the requested kinds are tracked', async () => {
  const [opens] = await compose({ tracking: { opens: true, clicks: false }, body: HTML });
  expect(opens?.tracking?.targetOf('https://shop.test/')).toBeNull();
  expect(opens?.tracking?.pixelUrl).toMatch(/\/o\//);
  const [clicks] = await compose({ tracking: { opens: false, clicks: true }, body: HTML });
  expect(clicks?.tracking?.pixelUrl).toBeNull();
});

test('a message without html, or without tracking, is one mail that is sent unchanged', async () => {
  for (const composed of [{ tracking: BOTH }, { body: HTML }]) {
    const mails = await compose(composed);
    expect(mails).toHaveLength(1);
    expect(mails[0]).not.toHaveProperty('tracking');
  }
});

test('a tracked message with a managed unsubscribe link has both, and its own return path', async () => {
  const mails = await compose({
    tracking: BOTH,
    bounceDomain: 'b.test',
    body: { ...HTML, unsubscribe: 'managed' },
  });
  expect(new Set(mails.map(({ envelope }) => envelope.from)).size).toBe(2);
  for (const { unsubscribe, tracking } of mails) {
    expect(unsubscribe?.url).toMatch(/^https:\/\/a\.test\/unsubscribe\//);
    expect(tracking?.targetOf(unsubscribe?.url ?? '')).toBeNull();
  }
});

test.each([
  ['html', { html: '<a href="{{view_url}}">View</a>' }],
  ['text', { text: 'View: {{ view_url }}' }],
])('recipients of %s that contains the address of the copy each get a copy of their own', async (_where, body) => {
  const mails = await compose({ body });
  expect(mails.map(({ envelope: { to } }) => to.map(({ recipientId }) => recipientId))).toEqual([[ANN], [BOB]]);
  const tokens = mails.map(({ viewUrl }) => readLinkToken(viewUrl?.replace('https://a.test/view/', '') ?? ''));
  expect(tokens.map((token) => token?.recipientId)).toEqual([ANN, BOB]);
  for (const token of tokens) expect(token !== null && isLinkToken(new Uint8Array(32), 'view', token)).toBe(true);
});
