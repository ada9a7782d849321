import { describe, expect, test } from 'vitest';
import type { SendingDomainEvent } from '../../../src/domain/kernel/events.ts';
import type { DkimKey } from '../../../src/domain/sending-domain/events.ts';
import { formerKeys, unneededKeys } from '../../../src/domain/sending-domain/sending-domain.ts';
import { contextAt } from '../../support/specification.ts';

const DAY_MS = 86_400_000;
const START_MS = Date.parse('2026-11-01T00:00:00.000Z');
const at = (days: number): string => new Date(START_MS + days * DAY_MS).toISOString();

const keys = (name: string): DkimKey[] =>
  (['rsa-sha256', 'ed25519-sha256'] as const).map((algorithm) => ({
    selector: `${name}-${algorithm}`,
    algorithm,
    publicKey: 'p',
    secretId: `secret ${name} ${algorithm}`,
  }));
const about = { domainId: 'dom_1', name: 'a.test' };
const registered = (name: string): SendingDomainEvent => ({
  type: 'DomainRegistered',
  data: { ...about, token: 't', dkim: keys(name) },
});
const added = (name: string): SendingDomainEvent => ({
  type: 'DkimKeysAdded',
  data: { domainId: 'dom_1', keys: keys(name) },
});
const activated = (name: string, safeToRemoveAt: string | null, selectors = keys(name)): SendingDomainEvent => ({
  type: 'DkimKeysActivated',
  data: { domainId: 'dom_1', selectors: selectors.map(({ selector }) => selector), safeToRemoveAt },
});
const deleted: SendingDomainEvent = { type: 'DomainDeleted', data: about };
const destroyed = (name: string): SendingDomainEvent => ({
  type: 'DkimKeysDestroyed',
  data: { domainId: 'dom_1', keys: keys(name).map(({ selector, secretId }) => ({ selector, secretId })) },
});

/** Applies the events, one per day. */
const after = (...events: readonly SendingDomainEvent[]) =>
  events.reduce((state, event, day) => formerKeys.evolve(state, event, contextAt(at(day))), formerKeys.initial);
const names = (state: ReturnType<typeof after>, days: number): readonly string[] => [
  ...new Set(unneededKeys(state, at(days)).map(({ secretId }) => secretId.split(' ')[1] ?? '')),
];

describe('keys that are no longer needed', () => {
  test('include none that sign, or wait to', () => {
    expect(names(after(registered('a'), activated('a', null)), 10_000)).toEqual([]);
    expect(names(after(registered('a'), activated('a', null), added('b')), 10_000)).toEqual([]);
    const [rsa] = keys('a');
    const fewer = after(registered('a'), activated('a', null), activated('a', null, rsa === undefined ? [] : [rsa]));
    expect(names(fewer, 10_000)).toEqual([]);
  });

  test('include a pair that another has replaced, once its records may go', () => {
    const state = after(registered('a'), activated('a', null), added('b'), activated('b', at(10)));
    expect([names(state, 9.99), names(state, 10)]).toEqual([[], ['a']]);
    expect(unneededKeys(state, at(10))).toHaveLength(2);
  });

  test('include those that were replaced before they signed, a day later', () => {
    const state = after(registered('a'), added('b'), added('c'));
    expect([names(state, 1.99), names(state, 2), names(state, 3)]).toEqual([[], ['a'], ['a', 'b']]);
  });

  test('include all of a deleted domain, a day later, and none of the domain that is registered again', () => {
    const state = after(registered('a'), activated('a', null), added('b'), deleted, registered('c'));
    expect([names(state, 3.99), names(state, 4), names(state, 10_000)]).toEqual([[], ['a', 'b'], ['a', 'b']]);
  });

  test('are forgotten when they are destroyed, also after their domain was deleted', () => {
    const state = after(registered('a'), added('b'), deleted, destroyed('a'));
    expect(names(state, 10_000)).toEqual(['b']);
    expect(state.domain.status).toBe('deleted');
  });
});
