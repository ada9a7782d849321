import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { SendingDomainEvent } from '../../../src/domain/kernel/events.ts';
import { settleDomain } from '../../../src/domain/sending-domain/domain-records.ts';
import type { DkimKey, SeenRecord } from '../../../src/domain/sending-domain/events.ts';
import {
  dkimHost,
  type ExistingSendingDomain,
  isVerified,
  rotateDkim,
  type SendingDomain,
  sendingDomain,
} from '../../../src/domain/sending-domain/sending-domain.ts';
import { contextAt } from '../../support/specification.ts';
import { after, domainAfter, NAME, OWNERSHIP, pair, registered, TOKEN } from './checked-domain.ts';

const HOUR_MS = 3_600_000;
/** The longest time after which a receiver may verify a signature. */
const VERIFIED_WITHIN_MS = 7 * 24 * HOUR_MS;

/**
 * Steps of the owner, the clock and the service, in any order. The owner only removes records that the service has
 * declared safe to remove.
 */
type Step =
  | { readonly do: 'wait'; readonly hours: number }
  | { readonly do: 'look'; readonly unanswered: number }
  | { readonly do: 'rotate' }
  | { readonly do: 'publish'; readonly rsa: boolean; readonly ed: boolean }
  | { readonly do: 'withdraw the waiting' }
  | { readonly do: 'clear up' }
  | { readonly do: 'send' };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant('wait' as const), hours: fc.integer({ min: 1, max: 100 }) }),
  // A bit mask of the hosts for which the DNS does not answer.
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('look' as const), unanswered: fc.constantFrom(0, 0, 0, 1, 5, 255) }),
  },
  fc.constant({ do: 'rotate' } as const),
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('publish' as const), rsa: fc.boolean(), ed: fc.boolean() }),
  },
  fc.constant({ do: 'withdraw the waiting' } as const),
  fc.constant({ do: 'clear up' } as const),
  { weight: 2, arbitrary: fc.constant({ do: 'send' } as const) },
);

interface Signature {
  readonly selector: string;
  readonly signedMs: number;
}

/** A domain, its zone, and mail that receivers have not verified yet. */
const createWorld = () => {
  let state: ExistingSendingDomain = domainAfter([registered]);
  let nowMs = 0;
  let pairs = 1;
  const published = new Set(pair(1).map(({ selector }) => selector));
  const seen = new Set<string>();
  const signatures: Signature[] = [];

  const apply = (events: readonly SendingDomainEvent[]): void => {
    const next = events.reduce<SendingDomain>(
      (before, event) => sendingDomain.evolve(before, event, contextAt(after(nowMs))),
      state,
    );
    if (next.status !== 'absent') state = next;
  };

  const see = (host: string, isThere: boolean, isAnswered: boolean): SeenRecord => ({
    kind: host === OWNERSHIP ? 'ownership' : 'dkim',
    host,
    problem: null,
    seen: [],
    state: isAnswered ? (isThere ? 'valid' : 'missing') : 'unknown',
  });

  const look = (unanswered: number): void => {
    const keys = [state.dkim.active, state.dkim.pending].flatMap((each): readonly DkimKey[] => each?.keys ?? []);
    const records = keys.map(({ selector }, index) => {
      const isAnswered = (unanswered & (2 << index)) === 0;
      if (isAnswered && published.has(selector)) seen.add(selector);
      return see(dkimHost(NAME, selector), published.has(selector), isAnswered);
    });
    const ownership = see(OWNERSHIP, true, (unanswered & 1) === 0);
    apply(settleDomain(state, { records: [ownership, ...records], token: TOKEN, now: after(nowMs) }));
  };

  const publish = (rsa: boolean, ed: boolean): void => {
    const [first, second] = state.dkim.pending?.keys ?? [];
    if (rsa && first !== undefined) published.add(first.selector);
    if (ed && second !== undefined) published.add(second.selector);
  };

  const clearUp = (): void => {
    const removable = state.dkim.retired.filter(({ safeToRemoveAt }) => after(nowMs) >= safeToRemoveAt);
    for (const selector of removable.flatMap(({ selectors }) => selectors)) published.delete(selector);
  };

  const withdraw = (): void => {
    for (const { selector } of state.dkim.pending?.keys ?? []) published.delete(selector);
  };

  const rotate = (): void => {
    pairs += 1;
    apply(rotateDkim(state, { organizationId: 'org_mine', keys: pair(pairs) }));
  };

  const send = (): void => {
    for (const selector of state.dkim.active?.signing ?? []) signatures.push({ selector, signedMs: nowMs });
  };

  const run = (each: Step): void => {
    switch (each.do) {
      case 'wait':
        nowMs += each.hours * HOUR_MS;
        break;
      case 'look':
        look(each.unanswered);
        break;
      case 'publish':
        publish(each.rsa, each.ed);
        break;
      case 'clear up':
        clearUp();
        break;
      case 'withdraw the waiting':
        withdraw();
        break;
      case 'rotate':
        rotate();
        break;
      case 'send':
        send();
        break;
      default:
        each satisfies never;
    }
  };

  /** Verifies all mail that a receiver may verify at this moment. */
  const check = (): void => {
    const underWay = signatures.filter(({ signedMs }) => nowMs - signedMs < VERIFIED_WITHIN_MS);
    expect(underWay.filter(({ selector }) => !published.has(selector))).toEqual([]);
    expect(signatures.filter(({ selector }) => !seen.has(selector))).toEqual([]);
    const signing = state.dkim.active?.signing ?? [];
    expect(signing.filter((selector) => !published.has(selector))).toEqual([]);
    if (state.verification === null) return;
    expect(isVerified(state, false)).toBe(true);
    expect(signing.some((selector) => selector.startsWith('r'))).toBe(true);
  };

  return { run, check, signed: () => signatures.length };
};

test('however keys are rotated, published and cleaned up, mail is signed by keys that exist as long as they are needed', () => {
  let signed = 0;
  fc.assert(
    fc.property(fc.array(step, { minLength: 5, maxLength: 60 }), (steps) => {
      const world = createWorld();
      for (const each of steps) {
        world.run(each);
        world.check();
      }
      signed += world.signed();
    }),
    { numRuns: 2000 },
  );
  expect(signed).toBeGreaterThan(1000);
});
