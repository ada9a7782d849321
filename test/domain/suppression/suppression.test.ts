import { describe, expect, test } from 'vitest';
import type { RecordedEvent } from '../../../src/domain/kernel/event-store.ts';
import type { SuppressionEvent } from '../../../src/domain/kernel/events.ts';
import {
  type AddSuppression,
  addSuppression,
  isSuppressing,
  isUnsubscribed,
  removeSuppression,
  type SuppressingEvent,
  type Suppression,
  strongestEntry,
  suppression,
  suppressionFor,
  suppressionId,
} from '../../../src/domain/suppression/suppression.ts';
import { contextAt, NOW, positionOf, specify } from '../../support/specification.ts';

type Added = Extract<SuppressionEvent, { type: 'SuppressionAdded' }>;

const LATER = '2026-11-22T12:00:00.000Z';
const source = { messageId: 'msg_1', recipientId: 'rcp_1', eventId: 'event-1' };
const mine = { organizationId: 'org_mine', environment: 'live' } as const;

const added = (data: Partial<Added['data']> = {}): Added => ({
  type: 'SuppressionAdded',
  data: {
    suppressionId: 'sup_1',
    digest: 'digest-1',
    contentId: 'content-1',
    reason: 'manual',
    scope: 'all',
    expiresAt: null,
    source: null,
    ...data,
  },
});
const bounced = added({ reason: 'bounce', source });
const removed: SuppressionEvent = {
  type: 'SuppressionRemoved',
  data: { suppressionId: 'sup_1', contentId: 'content-1' },
};

const resubscribed = (topicId: string | null, by: typeof source | null): SuppressionEvent => ({
  type: 'AddressResubscribed',
  data: { suppressionId: 'sup_1', digest: 'digest-1', contentId: 'content-1', topicId, source: by },
});

const add =
  (data: Partial<AddSuppression> = {}) =>
  (state: Suppression) =>
    addSuppression(state, { ...added().data, now: NOW, causedAt: null, ...data });

describe('adding a suppression', () => {
  const { given } = specify(suppression);

  test('is an event', () => {
    given([]).when(add()).thenEvents(added());
  });
  test('does nothing if the same is already in force', () => {
    given([added()])
      .when(add({ contentId: 'content-2' }))
      .thenNothing();
    given([bounced])
      .when(add({ ...bounced.data, contentId: 'content-2', causedAt: positionOf(2) }))
      .thenNothing();
  });
  test('with another expiry is an event: the later one counts', () => {
    given([added()])
      .when(add({ expiresAt: LATER }))
      .thenEvents(added({ expiresAt: LATER }));
    given([added(), added({ expiresAt: LATER })])
      .when((state) => {
        expect(strongestEntry(state, { stream: 'bulk', topicId: null }, LATER)).toBeNull();
        return [];
      })
      .thenNothing();
  });
  test('is an event again after the address was removed, or the entry expired', () => {
    given([added(), removed]).when(add()).thenEvents(added());
    given([added({ expiresAt: LATER })])
      .when(add({ now: LATER }))
      .thenEvents(added());
  });
  test('is refused when it has expired already', () => {
    given([])
      .when(add({ expiresAt: NOW }))
      .thenRefused('invalid_request');
  });
  test('keeps entries for other reasons and scopes', () => {
    given([bounced])
      .when(add({ scope: 'bulk', contentId: 'content-2' }))
      .thenState({ entries: [{ reason: 'bounce' }, { reason: 'manual', scope: 'bulk' }] });
  });
});

describe('an event from before the address was removed', () => {
  const { given } = specify(suppression);

  test('does not add it again, however often it is reported; a later event does', () => {
    given([bounced, removed])
      .when(add({ ...bounced.data, causedAt: positionOf(1) }))
      .thenNothing();
    given([bounced, removed])
      .when(add({ ...bounced.data, causedAt: positionOf(3) }))
      .thenEvents(bounced);
  });
});

describe('removing an address from the list', () => {
  const { given } = specify(suppression);
  const remove = (state: Suppression) => removeSuppression(state, mine);

  test('ends all entries in force and keeps them on record', () => {
    given([bounced, added({ contentId: 'content-2' })])
      .when(remove)
      .thenEvents({ type: 'SuppressionRemoved', data: { suppressionId: 'sup_1', contentId: 'content-2' } });
    given([bounced])
      .when(remove)
      .thenState({ removedAt: NOW, entries: [{ reason: 'bounce', removedAt: NOW }] });
  });
  test('that is not on it does nothing', () => {
    given([bounced, removed]).when(remove).thenNothing();
  });
  test('is refused for another organization, for another environment, and if it is not there', () => {
    given([bounced], 'org_other').when(remove).thenRefused('other_organization');
    given([bounced])
      .when((state) => removeSuppression(state, { ...mine, environment: 'test' }))
      .thenRefused('not_found');
    given([]).when(remove).thenRefused('not_found');
  });
});

const stateOf = (...events: SuppressionEvent[]): Suppression =>
  events.reduce(
    (state, event, index) => suppression.evolve(state, event, contextAt(NOW), positionOf(index + 1)),
    suppression.initial,
  );

describe('the suppression that applies to a message', () => {
  const kept = (state: Suppression, at = NOW) =>
    (['transactional', 'bulk'] as const).map(
      (stream) => strongestEntry(state, { stream, topicId: null }, at)?.reason ?? null,
    );

  test('is in force for the stream of the message', () => {
    expect(kept(stateOf())).toEqual([null, null]);
    expect(kept(stateOf(added({ scope: 'bulk' })))).toEqual([null, 'manual']);
    expect(kept(stateOf(added({ scope: 'transactional' })))).toEqual(['manual', null]);
    expect(kept(stateOf(bounced))).toEqual(['bounce', 'bounce']);
    expect(kept(stateOf(bounced, removed))).toEqual([null, null]);
  });
  test('ends at its expiry, to the millisecond', () => {
    const state = stateOf(added({ expiresAt: LATER }));
    expect(kept(state, '2026-11-22T11:59:59.999Z')).toEqual(['manual', 'manual']);
    expect(kept(state, LATER)).toEqual([null, null]);
  });
  test('is the strongest of several: all mail before some, the recipient before us', () => {
    const unsubscribed = added({ reason: 'unsubscribe', scope: 'bulk' });
    expect(kept(stateOf(unsubscribed, added()))).toEqual(['manual', 'manual']);
    expect(kept(stateOf(added(), added({ reason: 'complaint' })))).toEqual(['complaint', 'complaint']);
    expect(kept(stateOf(unsubscribed, added({ expiresAt: LATER })), LATER)).toEqual([null, 'unsubscribe']);
  });
  test('never has more than one entry for each reason and scope', () => {
    const events = Array.from({ length: 100 }, (_, index) => [added({ contentId: `content-${index}` }), removed]);
    const state = stateOf(...events.flat());
    expect(state.status === 'absent' ? 0 : state.entries.length).toBe(1);
  });
});

describe('an event of a message', () => {
  const event = (type: string, data: object = {}) => ({ type, data }) as unknown as RecordedEvent;
  const suppressingEvent = (type: string, data: object = {}) => event(type, data) as SuppressingEvent;

  test.each([
    ['RecipientBounced', { category: 'no_mailbox' }, true],
    ['RecipientBounced', { category: 'mailbox_disabled' }, true],
    ['RecipientBounced', { category: 'mailbox_full' }, false],
    ['RecipientBounced', { category: 'reputation' }, false],
    ['RecipientBounced', {}, false],
    ['RecipientComplained', {}, true],
    ['RecipientUnsubscribed', {}, true],
    ['RecipientDeferred', { category: 'no_mailbox' }, false],
    ['RecipientDelivered', {}, false],
  ])('%s %j suppresses: %s', (type, data, expected) => {
    expect(isSuppressing(event(type, data))).toBe(expected);
  });
  test('suppresses all mail, except for an unsubscription from bulk mail', () => {
    expect(suppressionFor(suppressingEvent('RecipientBounced'), 'bulk')).toEqual({ reason: 'bounce', scope: 'all' });
    expect(suppressionFor(suppressingEvent('RecipientComplained'), 'bulk')).toEqual({
      reason: 'complaint',
      scope: 'all',
    });
    const unsubscribed = suppressingEvent('RecipientUnsubscribed');
    expect(suppressionFor(unsubscribed, 'bulk')).toEqual({ reason: 'unsubscribe', scope: 'bulk' });
    expect(suppressionFor(unsubscribed, 'transactional')).toEqual({ reason: 'unsubscribe', scope: 'all' });
  });
});

test('an address has another id in each environment', () => {
  expect(suppressionId('live', 'digest')).toMatch(/^sup_[a-z2-7]{26}$/);
  expect(suppressionId('live', 'digest')).not.toBe(suppressionId('test', 'digest'));
  expect(suppressionId('live', 'digest')).not.toBe(suppressionId('live', 'digest2'));
});

describe('an unsubscription by the recipient', () => {
  const unsubscribed = added({ reason: 'unsubscribe', scope: 'bulk' });
  /** @param after the number of events that precede the opt-out. */
  const stands = (
    events: readonly SuppressionEvent[],
    { after = 0, at = NOW, stream = 'bulk' }: { after?: number; at?: string; stream?: 'transactional' | 'bulk' } = {},
  ) => {
    const said = { at, position: `${positionOf(after)}.5` };
    return isUnsubscribed(stateOf(...events), { stream, topicId: null, said, now: LATER });
  };

  test('counts before it is on the list, and while it is there', () => {
    expect(stands([])).toBe(true);
    expect(stands([bounced])).toBe(true);
    expect(stands([unsubscribed])).toBe(true);
    expect(stands([bounced, removed], { after: 2 })).toBe(true);
  });
  test('no longer counts once it was removed, whatever else is on the list since', () => {
    expect(stands([unsubscribed, removed])).toBe(false);
    expect(stands([unsubscribed, removed, bounced])).toBe(false);
    expect(stands([unsubscribed, removed, unsubscribed])).toBe(true);
    expect(stands([unsubscribed, removed, unsubscribed], { stream: 'transactional' })).toBe(false);
  });
  test.each([
    ['was taken off', removed],
    ['subscribed again', resubscribed(null, source)],
    ['asked for a topic', resubscribed('top_1', source)],
  ])('is ordered against one that %s by the log, whatever the clocks say', (_, event) => {
    expect(stands([bounced, event], { after: 1, at: '2030-01-01T00:00:00.000Z' })).toBe(false);
    expect(stands([bounced, event], { after: 2, at: '2020-01-01T00:00:00.000Z' })).toBe(true);
  });
  test('is not undone by the sender, who recorded that they asked for a topic', () => {
    expect(stands([bounced, resubscribed('top_1', null)], { after: 1 })).toBe(true);
  });
  test('no longer counts once its entry has expired', () => {
    expect(stands([added({ ...unsubscribed.data, expiresAt: LATER })])).toBe(false);
    expect(stands([added({ expiresAt: LATER })])).toBe(true);
  });
});
