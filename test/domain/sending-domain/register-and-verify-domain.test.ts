import { describe, expect, test } from 'vitest';
import type { DomainNameEvent, SendingDomainEvent } from '../../../src/domain/events.ts';
import { isId } from '../../../src/domain/ids.ts';
import { requireOwn } from '../../../src/domain/ownership.ts';
import { domainName } from '../../../src/domain/sending-domain/domain-name.ts';
import { registerDomain } from '../../../src/domain/sending-domain/register-domain.ts';
import { isVerified, sendingDomain, sendingDomainId } from '../../../src/domain/sending-domain/sending-domain.ts';
import { takeName, verifyDomain } from '../../../src/domain/sending-domain/verify-domain.ts';
import { specify } from '../../support/specification.ts';

const domain = { domainId: 'dom_1', name: 'example.test', token: 'token' };
const registered: SendingDomainEvent = { type: 'DomainRegistered', data: domain };
const verified = (method: 'capture' | 'dns'): SendingDomainEvent => ({
  type: 'DomainVerified',
  data: { domainId: 'dom_1', name: 'example.test', method },
});
const taken = (domainId: string, method: 'capture' | 'dns'): DomainNameEvent => ({
  type: 'DomainNameTaken',
  data: { name: 'example.test', domainId, method },
});

describe('registering a domain', () => {
  const { given } = specify(sendingDomain);
  test('is recorded', () => {
    given([])
      .when((state) => registerDomain(state, { ...domain, takenByAnother: false }))
      .thenEvents(registered);
  });
  test('is refused when the organization has it already', () => {
    given([registered])
      .when((state) => registerDomain(state, { ...domain, takenByAnother: false }))
      .thenRefused('domain_already_exists');
  });
  test('is refused when another organization has verified it', () => {
    given([])
      .when((state) => registerDomain(state, { ...domain, takenByAnother: true }))
      .thenRefused('domain_already_exists');
  });
  test('gives one organization one id for one name', () => {
    const id = sendingDomainId('org_a', 'example.test');
    expect(isId('dom', id)).toBe(true);
    expect(sendingDomainId('org_a', 'example.test')).toBe(id);
    expect(sendingDomainId('org_b', 'example.test')).not.toBe(id);
  });
});

describe('verifying a domain', () => {
  const { given } = specify(sendingDomain);
  const mine = (method: 'capture' | 'dns') => (state: Parameters<typeof sendingDomain.evolve>[0]) =>
    verifyDomain(requireOwn(state, 'org_mine', 'domain'), method);

  test('by DNS is recorded once', () => {
    given([registered]).when(mine('dns')).thenEvents(verified('dns'));
    given([registered, verified('dns')])
      .when(mine('dns'))
      .thenNothing();
  });
  test('by capture counts only while mail is captured, and is done again by DNS', () => {
    const { state, when } = given([registered, verified('capture')]);
    const existing = requireOwn(state, 'org_mine', 'domain');
    expect([isVerified(existing, true), isVerified(existing, false)]).toEqual([true, false]);
    when(mine('dns')).thenEvents(verified('dns'));
  });
});

describe('taking a name', () => {
  const { given } = specify(domainName);
  const take =
    (method: 'capture' | 'dns', formerHolder: string | null = null) =>
    (state: Parameters<typeof domainName.evolve>[0]) =>
      takeName(state, { name: 'example.test', domainId: 'dom_1', method, formerHolder });

  test('goes to the first that proves it', () => {
    given([]).when(take('dns')).thenEvents(taken('dom_1', 'dns'));
  });
  test('is refused when another has proved it', () => {
    given([taken('dom_2', 'dns')])
      .when(take('dns'))
      .thenRefused('domain_already_exists');
  });
  test('from somebody who took it while mail was captured needs proof', () => {
    const { when } = given([taken('dom_2', 'capture')]);
    when(take('capture')).thenRefused('domain_already_exists');
    when(take('dns')).thenEvents(taken('dom_1', 'dns'));
  });
  test('from a domain that was deleted needs nothing more', () => {
    given([taken('dom_2', 'dns')])
      .when(take('dns', 'dom_2'))
      .thenEvents(taken('dom_1', 'dns'));
    given([taken('dom_3', 'dns')])
      .when(take('dns', 'dom_2'))
      .thenRefused('domain_already_exists');
  });
  test('again changes nothing', () => {
    given([taken('dom_1', 'dns')])
      .when(take('dns'))
      .thenNothing();
  });
});
