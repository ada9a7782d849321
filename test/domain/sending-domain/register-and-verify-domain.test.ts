import { describe, expect, test } from 'vitest';
import { requireOwn } from '../../../src/domain/kernel/aggregate.ts';
import type { DomainNameEvent, SendingDomainEvent } from '../../../src/domain/kernel/events.ts';
import { isId } from '../../../src/domain/kernel/ids.ts';
import { domainName, releaseName, takeName } from '../../../src/domain/sending-domain/domain-records.ts';
import type { DkimKey } from '../../../src/domain/sending-domain/events.ts';
import {
  isVerified,
  lifeOf,
  registerDomain,
  sendingDomain,
  sendingDomainId,
  verifyByCapture,
} from '../../../src/domain/sending-domain/sending-domain.ts';
import { specify } from '../../support/specification.ts';

const KEYS: DkimKey[] = [
  { selector: 'ob-r-1', algorithm: 'rsa-sha256', publicKey: 'cnNh', secretId: 's1' },
  { selector: 'ob-e-1', algorithm: 'ed25519-sha256', publicKey: 'ZWQ=', secretId: 's2' },
];
const domain = { domainId: 'dom_1', name: 'example.test', token: 'token' };
const registered: SendingDomainEvent = { type: 'DomainRegistered', data: { ...domain, dkim: KEYS } };
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
      .when((state) => registerDomain(state, { ...domain, dkim: KEYS, takenByAnother: false }))
      .thenEvents(registered);
  });
  test('turns inbound mail on with it, also when a deleted domain is registered again', () => {
    const enabled: SendingDomainEvent = { type: 'InboundEnabled', data: { domainId: 'dom_1' } };
    const deleted: SendingDomainEvent = { type: 'DomainDeleted', data: { domainId: 'dom_1', name: 'example.test' } };
    const register = (mx: boolean) => (state: Parameters<typeof registerDomain>[0]) =>
      registerDomain(state, { ...domain, dkim: KEYS, takenByAnother: false, inbound: { mx } });
    given([]).when(register(true)).thenEvents(registered, enabled);
    given([]).when(register(false)).thenEvents(registered);
    given([registered, enabled, deleted]).when(register(false)).thenEvents(registered);
    given([registered, deleted]).when(register(true)).thenEvents(registered, enabled);
  });
  test('is refused when the organization has it already', () => {
    given([registered])
      .when((state) => registerDomain(state, { ...domain, dkim: KEYS, takenByAnother: false }))
      .thenRefused('domain_already_exists');
  });
  test('is refused when another organization has verified it', () => {
    given([])
      .when((state) => registerDomain(state, { ...domain, dkim: KEYS, takenByAnother: true }))
      .thenRefused('domain_already_exists');
  });
  test('gives one organization one id for one name', () => {
    const id = sendingDomainId('org_a', 'example.test');
    expect(isId('dom', id)).toBe(true);
    expect(sendingDomainId('org_a', 'example.test')).toBe(id);
    expect(sendingDomainId('org_b', 'example.test')).not.toBe(id);
  });
});

describe('verifying a domain by capture', () => {
  const { given } = specify(sendingDomain);
  const mine = (state: Parameters<typeof sendingDomain.evolve>[0]) =>
    verifyByCapture(requireOwn(state, 'org_mine', 'domain'));

  test('is recorded once, but not if it was verified by DNS', () => {
    given([registered]).when(mine).thenEvents(verified('capture'));
    given([registered, verified('capture')])
      .when(mine)
      .thenNothing();
    given([registered, verified('dns')])
      .when(mine)
      .thenNothing();
  });
  test('counts only while mail is captured', () => {
    const existing = requireOwn(given([registered, verified('capture')]).state, 'org_mine', 'domain');
    expect([isVerified(existing, true), isVerified(existing, false)]).toEqual([true, false]);
    expect([lifeOf(existing, true), lifeOf(existing, false)]).toEqual(['verified', 'pending']);
  });
});

describe('claiming a name', () => {
  const { given } = specify(domainName);
  const take =
    (method: 'capture' | 'dns', formerHolder: string | null = null) =>
    (state: Parameters<typeof domainName.evolve>[0]) =>
      takeName(state, { name: 'example.test', domainId: 'dom_1', method, formerHolder });

  test('succeeds for the first that proves it', () => {
    given([]).when(take('dns')).thenEvents(taken('dom_1', 'dns'));
  });
  test('is refused when another has proved it', () => {
    given([taken('dom_2', 'dns')])
      .when(take('dns'))
      .thenRefused('domain_already_exists');
  });
  test('from an organization that claimed it while mail was captured needs proof', () => {
    const { when } = given([taken('dom_2', 'capture')]);
    when(take('capture')).thenRefused('domain_already_exists');
    when(take('dns')).thenEvents(taken('dom_1', 'dns'));
  });
  test('from a deleted domain needs nothing more', () => {
    given([taken('dom_2', 'dns')])
      .when(take('dns', 'dom_2'))
      .thenEvents(taken('dom_1', 'dns'));
    given([taken('dom_3', 'dns')])
      .when(take('dns', 'dom_2'))
      .thenRefused('domain_already_exists');
  });
  test('is open to the next that proves it once its holder has released it', () => {
    const released: DomainNameEvent = { type: 'DomainNameReleased', data: { name: 'example.test', domainId: 'dom_2' } };
    given([taken('dom_2', 'dns'), released])
      .when(take('dns'))
      .thenEvents(taken('dom_1', 'dns'));
    given([taken('dom_3', 'dns'), released])
      .when(take('dns'))
      .thenRefused('domain_already_exists');
  });
  test('is undone only by its holder', () => {
    const name = 'example.test';
    given([taken('dom_1', 'dns')])
      .when((state) => releaseName(state, { name, domainId: 'dom_1' }))
      .thenEvents({ type: 'DomainNameReleased', data: { name, domainId: 'dom_1' } });
    given([taken('dom_2', 'dns')])
      .when((state) => releaseName(state, { name, domainId: 'dom_1' }))
      .thenNothing();
    given([])
      .when((state) => releaseName(state, { name, domainId: 'dom_1' }))
      .thenNothing();
  });
  test('again changes nothing', () => {
    given([taken('dom_1', 'dns')])
      .when(take('dns'))
      .thenNothing();
  });
});
