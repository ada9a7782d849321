import { describe, expect, test } from 'vitest';
import type { SendingDomainEvent } from '../../../src/domain/kernel/events.ts';
import { deleteDomain, registerDomain, sendingDomain } from '../../../src/domain/sending-domain/sending-domain.ts';
import { specify } from '../../support/specification.ts';

const domain = { domainId: 'dom_1', name: 'example.test', token: 'token' };
const registered: SendingDomainEvent = { type: 'DomainRegistered', data: { ...domain, dkim: [] } };
const verified: SendingDomainEvent = {
  type: 'DomainVerified',
  data: { domainId: 'dom_1', name: 'example.test', method: 'dns' },
};
const deleted: SendingDomainEvent = { type: 'DomainDeleted', data: { domainId: 'dom_1', name: 'example.test' } };

const { given } = specify(sendingDomain);
const remove = (state: Parameters<typeof sendingDomain.evolve>[0]) =>
  deleteDomain(state, { by: 'operator', organizationId: 'org_mine', keys: [] });

describe('deleting a domain', () => {
  test('is recorded, verified or not', () => {
    given([registered]).when(remove).thenEvents(deleted);
    given([registered, verified]).when(remove).thenEvents(deleted);
  });
  test('is refused if it no longer exists', () => {
    given([]).when(remove).thenRefused('not_found');
    given([registered, deleted]).when(remove).thenRefused('not_found');
  });
  test('is refused to another organization', () => {
    given([registered], 'org_other').when(remove).thenRefused('other_organization');
  });
  test('frees the name for the organization itself, which must prove it again', () => {
    const again = { ...domain, token: 'other token' };
    const { when } = given([registered, verified, deleted]);
    when((state) => registerDomain(state, { ...again, dkim: [], takenByAnother: false })).thenState({
      status: 'registered',
      token: 'other token',
      verification: null,
    });
    expect(given([registered, verified, deleted]).state).toMatchObject({ status: 'deleted', verification: null });
  });
});
