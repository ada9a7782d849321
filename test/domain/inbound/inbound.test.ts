import { describe, expect, test } from 'vitest';
import {
  inbound,
  inboundId,
  type ReceiveInbound,
  receiveInbound,
  requireInbound,
} from '../../../src/domain/inbound/inbound.ts';
import { isId } from '../../../src/domain/kernel/ids.ts';
import { specify } from '../../support/specification.ts';

const received: ReceiveInbound = {
  inboundId: 'inb_1',
  domainId: 'dom_1',
  contentId: 'content-1',
  rawId: 'content-2',
  bytes: 10,
  sha256: 'ab',
  toDigest: 'digest-1',
  fromDigests: ['digest-2'],
  verdicts: { spf: 'pass', dkim: 'pass', dmarc: 'pass', arc: 'none' },
  routeId: null,
  action: 'webhook',
  webhookId: null,
  inReplyToMessageId: null,
};

const { given } = specify(inbound);

test('a message is received once, however often it is sent', () => {
  const again = { ...received, contentId: 'content-3', rawId: 'content-4' };
  const event = { type: 'InboundReceived', data: received } as const;
  given([])
    .when((state) => receiveInbound(state, received))
    .thenEvents(event);
  given([event])
    .when((state) => receiveInbound(state, again))
    .thenNothing();
});

test('a message that was not received does not exist', () => {
  expect(() => requireInbound(inbound.initial, 'org_1')).toThrow('inbound message not found');
});

describe('the id of a message', () => {
  const mail = {
    organizationId: 'org_1',
    environment: 'live',
    recipient: 'a@b.test',
    sender: 'c@d.test',
    sha256: 'ab',
  } as const;

  test('is the same whenever the same mail is sent again', () => {
    expect(isId('inb', inboundId(mail))).toBe(true);
    expect(inboundId({ ...mail })).toBe(inboundId(mail));
  });

  test.each([
    ['another organization', { organizationId: 'org_2' }],
    ['another environment', { environment: 'test' }],
    ['another recipient', { recipient: 'b@b.test' }],
    ['another sender', { sender: '' }],
    ['other bytes', { sha256: 'ac' }],
  ] as const)('differs for %s', (_name, other) => {
    expect(inboundId({ ...mail, ...other })).not.toBe(inboundId(mail));
  });
});
