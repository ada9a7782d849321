import { describe, expect, test } from 'vitest';
import {
  bounceForward,
  deferForward,
  failForward,
  forwardRefusal,
  recordForward,
  startForward,
} from '../../../src/domain/inbound/forward.ts';
import { type Inbound, inbound, type ReceiveInbound } from '../../../src/domain/inbound/inbound.ts';
import type { InboundEvent } from '../../../src/domain/kernel/events.ts';
import type { SmtpFacts } from '../../../src/domain/message/events.ts';

const RECEIVED: ReceiveInbound = {
  inboundId: 'inb_1',
  domainId: 'dom_1',
  contentId: 'c',
  rawId: 'r',
  bytes: 10,
  sha256: '',
  toDigest: '',
  fromDigests: [],
  verdicts: { spf: 'pass', dkim: 'pass', dmarc: 'pass', arc: 'none' },
  routeId: 'irt_1',
  action: 'forward',
  webhookId: null,
  inReplyToMessageId: null,
};
const START = Date.parse('2026-07-01T12:00:00.000Z');
const at = (minutes: number): string => new Date(START + minutes * 60_000).toISOString();
const SMTP: SmtpFacts = { code: 451, enhanced: '4.7.1', mx: 'mx.example.net', tls: null, replyId: null };
const context = { organizationId: 'org_1', environment: 'live', occurredAt: at(0) } as Parameters<
  typeof inbound.evolve
>[2];
const fold = (events: readonly InboundEvent[]): Inbound =>
  events.reduce((state, event) => inbound.evolve(state, event, context, null), inbound.initial);

const received: InboundEvent = { type: 'InboundReceived', data: RECEIVED };
const now = (minutes: number) => ({ now: at(minutes), random: 0.5 });
const claim = (minutes: number) => ({ ...now(minutes), leaseUntil: at(minutes + 5) });
const started: InboundEvent = {
  type: 'InboundForwardStarted',
  data: { inboundId: 'inb_1', attempt: 1, leaseUntil: at(5) },
};
const forwarded: InboundEvent = {
  type: 'InboundForwarded',
  data: { inboundId: 'inb_1', domainId: 'dom_1', attempt: 1, smtp: SMTP },
};
const failed = (reason: string, smtp: SmtpFacts | null = null) => ({
  type: 'InboundForwardFailed',
  data: { inboundId: 'inb_1', domainId: 'dom_1', reason, smtp },
});

describe('an attempt to forward', () => {
  test('is claimed once', () => {
    expect(startForward(fold([received]), claim(0))).toEqual([started]);
    expect(startForward(fold([received, started]), claim(1))).toEqual([]);
  });

  test('without an outcome is repeated when its lease has ended', () => {
    const [lost] = startForward(fold([received, started]), claim(5));
    expect(lost).toMatchObject({ type: 'InboundForwardDeferred', data: { reason: 'unknown', nextAttemptAt: at(6) } });
    const again = fold([received, started, lost as InboundEvent]);
    expect(startForward(again, claim(5))).toEqual([]);
    expect(startForward(again, claim(6))).toMatchObject([{ data: { attempt: 2 } }]);
  });

  test('is recorded by the process that holds the claim', () => {
    const reported = { outcome: 'forwarded', smtp: SMTP } as const;
    const record = (attempt: number, ...events: readonly InboundEvent[]) =>
      recordForward(fold([received, ...events]), { ...now(1), attempt, reported });
    expect(record(1, started)).toEqual([forwarded]);
    expect(record(2, started)).toEqual([]);
    expect(record(1)).toEqual([]);
    expect(record(1, started, forwarded)).toEqual([]);
  });

  test('is repeated by the schedule of mail until three days are over', () => {
    const record = (minutes: number) =>
      recordForward(fold([received, started]), {
        ...now(minutes),
        attempt: 1,
        reported: { outcome: 'deferred', smtp: SMTP },
      });
    expect(record(0)).toMatchObject([{ data: { reason: 'deferred', nextAttemptAt: at(1), smtp: SMTP } }]);
    expect(record(72 * 60 - 0.5)).toMatchObject([{ data: { nextAttemptAt: at(72 * 60) } }]);
    expect(record(72 * 60)).toEqual([failed('expired', SMTP)]);
  });

  test('that is put off waits longer each time', () => {
    const [first] = deferForward(fold([received]), { reason: 'deferred', ...now(0) });
    expect(first).toMatchObject({ data: { attempt: 1, nextAttemptAt: at(1) } });
    const [second] = deferForward(fold([received, first as InboundEvent]), { reason: 'deferred', ...now(1) });
    expect(second).toMatchObject({ data: { attempt: 2, nextAttemptAt: at(6) } });
  });
});

describe('forwarding', () => {
  test('concerns only mail whose route forwards it', () => {
    const stored = fold([{ type: 'InboundReceived', data: { ...RECEIVED, action: 'store' } }]);
    expect(startForward(stored, claim(0))).toEqual([]);
    expect(failForward(stored, { reason: 'loop', now: at(0) })).toEqual([]);
    expect(bounceForward(stored, SMTP)).toEqual([]);
    expect(stored).not.toHaveProperty('forward');
  });

  test('fails once, and not while an attempt is under way', () => {
    expect(failForward(fold([received]), { reason: 'loop', now: at(0) })).toEqual([failed('loop')]);
    const over = fold([received, failed('loop') as InboundEvent]);
    expect(failForward(over, { reason: 'loop', now: at(1) })).toEqual([]);
    expect(startForward(over, claim(1))).toEqual([]);
    expect(failForward(fold([received, started]), { reason: 'loop', now: at(9) })).toEqual([]);
  });

  test('fails when the copy bounces, once, also before its outcome is known', () => {
    expect(bounceForward(fold([received]), SMTP)).toEqual([]);
    for (const events of [[started], [started, forwarded]]) {
      const bounced = bounceForward(fold([received, ...events]), SMTP);
      expect(bounced).toEqual([failed('bounced', SMTP)]);
      expect(bounceForward(fold([received, ...events, ...bounced]), SMTP)).toEqual([]);
    }
  });

  const plain = { isOwnSender: false, wasForwarded: false, isMalformed: false };
  test.each([
    [{}, null],
    [{ isAutomatic: true }, 'automatic'],
    [{ isMarked: true }, 'dmarc_failed'],
    [{ isOwnSender: true }, 'loop'],
    [{ wasForwarded: true, isAutomatic: true }, 'loop'],
    [{ isMalformed: true }, 'malformed'],
  ] as const)('of mail with %j is refused as %s', (facts, reason) => {
    expect(forwardRefusal({ ...plain, ...facts })).toBe(reason);
  });
});
