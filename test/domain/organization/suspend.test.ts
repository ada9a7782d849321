import { describe, expect, test } from 'vitest';
import { fold } from '../../../src/domain/kernel/aggregate.ts';
import type { RecordedEvent } from '../../../src/domain/kernel/event-store.ts';
import type { OrganizationEvent } from '../../../src/domain/kernel/events.ts';
import {
  organization,
  resumeOrganization,
  suspendOrganization,
  suspensionOf,
} from '../../../src/domain/organization/organization.ts';

const ID = 'org_aaaaaaaaaaaaaaaaaaaaaaaaaa';
const created: OrganizationEvent = {
  type: 'OrganizationCreated',
  data: { organizationId: ID, name: 'Shop', ceilings: null },
};
const suspended = (reason: string): OrganizationEvent => ({
  type: 'OrganizationSuspended',
  data: { organizationId: ID, reason },
});
const resumed: OrganizationEvent = { type: 'OrganizationResumed', data: { organizationId: ID, reason: 'Solved.' } };

/** Applies the events, one per minute. */
const after = (...events: readonly OrganizationEvent[]) =>
  fold(
    organization,
    events.map((event, minute) => ({
      ...event,
      metadata: { occurredAt: `2026-11-21T12:0${minute}:00.000Z` },
    })) as unknown as readonly RecordedEvent<OrganizationEvent>[],
  );

describe('the suspension of an organization', () => {
  test('begins with the reason of the operator, and repeating it does nothing', () => {
    expect(suspendOrganization(after(created), 'Spam.')).toEqual([suspended('Spam.')]);
    const state = after(created, suspended('Spam.'));
    expect(suspensionOf(state)).toEqual({ since: '2026-11-21T12:01:00.000Z', reason: 'Spam.' });
    expect(suspendOrganization(state, 'Spam.')).toEqual([]);
  });

  test('can get another reason, and keeps its start', () => {
    const state = after(created, suspended('Spam.'));
    expect(suspendOrganization(state, 'Phishing.')).toEqual([suspended('Phishing.')]);
    const changed = after(created, suspended('Spam.'), suspended('Phishing.'));
    expect(suspensionOf(changed)).toEqual({ since: '2026-11-21T12:01:00.000Z', reason: 'Phishing.' });
  });

  test('ends once, and not before it began', () => {
    expect(resumeOrganization(after(created), 'Solved.')).toEqual([]);
    const state = after(created, suspended('Spam.'));
    expect(resumeOrganization(state, 'Solved.')).toEqual([resumed]);
    const again = after(created, suspended('Spam.'), resumed);
    expect(suspensionOf(again)).toBeNull();
    expect(resumeOrganization(again, 'Solved.')).toEqual([]);
  });

  test('needs an existing organization', () => {
    for (const decide of [suspendOrganization, resumeOrganization])
      expect(() => decide(organization.initial, 'Spam.')).toThrow(/organization not found/);
    expect(suspensionOf(undefined)).toBeNull();
  });
});
