import { describe, expect, test } from 'vitest';
import { settleDomain } from '../../../src/domain/sending-domain/domain-records.ts';
import { isVerified, lifeOf } from '../../../src/domain/sending-domain/sending-domain.ts';
import { NOW } from '../../support/specification.ts';
import {
  activated,
  added,
  after,
  captured,
  degraded,
  domainAfter,
  failed,
  look,
  NAME,
  OWNERSHIP,
  registered,
  settled,
  verified,
} from './checked-domain.ts';

const HOUR_MS = 3_600_000;
const FAILS_AT = after(72 * HOUR_MS);
const ALL = { [OWNERSHIP]: 'valid', r1: 'valid', e1: 'valid' } as const;
const RSA_HOST = `r1._domainkey.${NAME}`;
const SOUND = [registered, verified, activated(['r1', 'e1'])];

describe('a pending domain', () => {
  test('is verified, and its keys sign, once all required records are seen', () => {
    expect(settled([registered], ALL)).toEqual([verified, activated(['r1', 'e1'])]);
  });
  test('does not need its second key', () => {
    expect(settled([registered], { ...ALL, e1: 'missing' })).toEqual([verified, activated(['r1'])]);
  });
  test.each([
    ['its ownership is not proved', { ...ALL, [OWNERSHIP]: 'missing' }],
    ['its ownership is not known', { ...ALL, [OWNERSHIP]: 'unknown' }],
    ['its first key is wrong', { ...ALL, r1: 'invalid' }],
    ['its first key is not known', { ...ALL, r1: 'unknown' }],
    ['nothing is there', {}],
  ] as const)('stays as it is if %s', (_why, states) => {
    expect(settled([registered], states)).toEqual([]);
  });
  test('that was registered again since the check stays as it is', () => {
    expect(settleDomain(domainAfter([registered]), { ...look(ALL), token: 'earlier' })).toEqual([]);
  });
  test('that was verified by capture needs all records', () => {
    expect(settled([registered, captured], { ...ALL, r1: 'missing' })).toEqual([]);
    expect(settled([registered, captured], ALL)).toEqual([verified, activated(['r1', 'e1'])]);
  });
});

describe('a verified domain', () => {
  test('stays so while nothing changes, and while the DNS does not answer', () => {
    expect(settled(SOUND, ALL)).toEqual([]);
    expect(settled(SOUND, { [OWNERSHIP]: 'unknown', r1: 'unknown', e1: 'unknown' })).toEqual([]);
  });
  test.each([
    ['missing', { ...ALL, [OWNERSHIP]: 'missing' }, [OWNERSHIP]],
    ['wrong', { ...ALL, r1: 'invalid' }, [RSA_HOST]],
    ['missing while another is not known', { r1: 'missing', [OWNERSHIP]: 'unknown', e1: 'valid' }, [RSA_HOST]],
  ] as const)('is degraded when a record it needs is %s, and still sends and signs', (_what, states, hosts) => {
    const events = settled(SOUND, states);
    expect(events).toEqual([degraded(FAILS_AT, ...hosts)]);
    const domain = domainAfter([...SOUND, ...events]);
    expect([isVerified(domain, false), lifeOf(domain, false)]).toEqual([true, 'degraded']);
    expect(domain.dkim.active?.signing).toEqual(['r1', 'e1']);
  });
  test('loses only its second key, and gets it back', () => {
    expect(settled(SOUND, { ...ALL, e1: 'missing' })).toEqual([activated(['r1'])]);
    const alone = [...SOUND, activated(['r1'])];
    expect(settled(alone, ALL)).toEqual([activated(['r1', 'e1'])]);
    expect(settled(alone, { ...ALL, e1: 'unknown' })).toEqual([]);
  });
});

describe('a degraded domain', () => {
  const TROUBLED = [...SOUND, degraded(FAILS_AT, OWNERSHIP)];
  const LOST = { ...ALL, [OWNERSHIP]: 'missing' } as const;

  test('is verified again when its records are back', () => {
    expect(settled(TROUBLED, ALL, after(HOUR_MS))).toEqual([verified]);
    expect(lifeOf(domainAfter([...TROUBLED, verified]), false)).toBe('verified');
  });
  test('fails when its time is over, not before', () => {
    expect(settled(TROUBLED, LOST, after(72 * HOUR_MS - 1))).toEqual([]);
    expect(settled(TROUBLED, LOST, FAILS_AT)).toEqual([failed]);
  });
  test('does not fail for a DNS that does not answer, however late it is', () => {
    expect(settled(TROUBLED, { ...ALL, [OWNERSHIP]: 'unknown' }, after(1000 * HOUR_MS))).toEqual([]);
  });
});

describe('a failed domain', () => {
  const FAILED = [...SOUND, degraded(FAILS_AT, OWNERSHIP), failed];
  test('sends nothing, except where mail is captured', () => {
    const domain = domainAfter(FAILED);
    expect([isVerified(domain, false), isVerified(domain, true)]).toEqual([false, true]);
  });
  test('is verified again when its records are back, and signs by the same keys', () => {
    expect(settled(FAILED, ALL)).toEqual([verified]);
    expect(settled(FAILED, { ...ALL, r1: 'missing' })).toEqual([]);
  });
  test('does not start to use new keys before that', () => {
    expect(settled([...FAILED, added(2)], { r2: 'valid' })).toEqual([]);
    expect(settled([...FAILED, added(2)], { r2: 'valid', [OWNERSHIP]: 'valid' })).toEqual([
      verified,
      activated(['r2'], after(7 * 24 * HOUR_MS)),
    ]);
  });
});

describe('new keys', () => {
  const ROTATING = [...SOUND, added(2)];
  const SAFE = after(7 * 24 * HOUR_MS);
  test('wait until their record is seen', () => {
    expect(settled(ROTATING, ALL)).toEqual([]);
    expect(settled(ROTATING, { ...ALL, r2: 'invalid', e2: 'valid' })).toEqual([]);
  });
  test('take over once it is seen, and the old ones are needed for another week', () => {
    expect(settled(ROTATING, { ...ALL, r2: 'valid' })).toEqual([activated(['r2'], SAFE)]);
    const { dkim } = domainAfter([...ROTATING, activated(['r2'], SAFE)]);
    expect(dkim).toMatchObject({
      active: { signing: ['r2'], activatedAt: NOW },
      pending: null,
      retired: [{ selectors: ['r1', 'e1'], safeToRemoveAt: SAFE }],
    });
  });
  test('are what the domain needs from then on', () => {
    const rotated = [...ROTATING, activated(['r2'], SAFE)];
    expect(settled(rotated, { [OWNERSHIP]: 'valid', r2: 'valid' })).toEqual([]);
    expect(settled(rotated, { ...ALL })).toEqual([degraded(FAILS_AT, `r2._domainkey.${NAME}`)]);
  });
  test('repair a domain whose old key is gone', () => {
    const states = { [OWNERSHIP]: 'valid', r2: 'valid' } as const;
    expect(settled([...ROTATING, degraded(FAILS_AT, RSA_HOST)], states)).toEqual([verified, activated(['r2'], SAFE)]);
    expect(settled(ROTATING, states)).toEqual([activated(['r2'], SAFE)]);
  });
  test('replace those that wait, which are never used', () => {
    expect(settled([...ROTATING, added(3)], { ...ALL, r2: 'valid' })).toEqual([]);
    expect(settled([...ROTATING, added(3)], { ...ALL, r2: 'valid', r3: 'valid' })).toEqual([activated(['r3'], SAFE)]);
  });
});
