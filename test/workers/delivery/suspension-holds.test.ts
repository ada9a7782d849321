import { expect, test } from 'vitest';
import { SERVICE_SENDER } from '../../../src/domain/message/events.ts';
import type { ExistingMessage } from '../../../src/domain/message/message.ts';
import type { Organization } from '../../../src/domain/organization/organization.ts';
import { createSuspensionHolds } from '../../../src/workers/delivery/suspensions.ts';
import { createSteppableSystem } from '../../support/system.ts';

const organization = (suspension: object | null): Organization => ({ status: 'active', suspension }) as never;

/** `org_bad` is suspended, and so is one whose id looks like a stream. */
const holds = createSuspensionHolds(
  new Map([
    ['org_bad', organization({ reason: 'It sent spam.', since: '2026-01-01T00:00:00.000Z' })],
    ['org_good', organization(null)],
  ]),
  createSteppableSystem(),
);

const message = (organizationId: string, keyId = 'key_1') =>
  ({ organizationId, accepted: { keyId } }) as Pick<ExistingMessage, 'organizationId' | 'accepted'>;

test('the holder of mail is the stream of a suspended organization, and no other', () => {
  const holders = ['organization-org_bad', 'organization-org_good', 'organization-org_none', 'org_bad', 'dom_1', ''];
  expect(holders.filter(holds.keeps)).toEqual(['organization-org_bad']);
  expect(holds.keeps(`${'x'.repeat('organization-'.length)}org_bad`)).toBe(false);
});

test('mail of a suspended organization is held for about a day, except that of the service itself', () => {
  expect(holds.of(message('org_bad'))).toMatchObject({
    reason: 'organization_suspended',
    heldBy: 'organization-org_bad',
  });
  const { waitSeconds = 0 } = holds.of(message('org_bad')) ?? {};
  expect(Math.abs(waitSeconds - 86_400)).toBeLessThan(20_000);
  expect(holds.of(message('org_bad', SERVICE_SENDER))).toBeNull();
  expect(holds.of(message('org_good'))).toBeNull();
  expect(holds.of(message('org_none'))).toBeNull();
});
