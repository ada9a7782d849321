import { describe, expect, test } from 'vitest';
import type { Caller, CallingMember } from '../../../src/domain/api-key/caller.ts';
import { DomainError } from '../../../src/domain/kernel/errors.ts';
import type { Role } from '../../../src/domain/member/events.ts';
import { POWERS } from '../../../src/domain/member/powers.ts';
import {
  requireOpenFilters,
  requirePermission,
  seesContents,
  visibleDomainId,
} from '../../../src/http/auth/permissions.ts';
import { callerWith } from '../../support/controls/api-key.ts';

/** Returns the code of the domain error that a function throws, or `allowed`. */
const outcomeOf = (check: () => void): string => {
  try {
    check();
    return 'allowed';
  } catch (error) {
    if (error instanceof DomainError) return error.code;
    throw error;
  }
};

const member = (role: Role, more: Partial<CallingMember> = {}): Caller => {
  const { permissions, withoutContents, safeMethodsOnly } = POWERS[role];
  const presentAt = '2026-01-01T00:00:00.000Z';
  return callerWith({
    permissions,
    member: {
      ...{ sessionId: 'ses_1', role, isOperator: false, presentAt, withoutContents, safeMethodsOnly },
      ...more,
    },
  });
};
const auditor = (contents: boolean): Caller => callerWith({ permissions: [], auditor: { contents } });
const key = (...permissions: Caller['permissions']): Caller => callerWith({ permissions });

const LIVE = { permission: 'manage', environments: ['live'] } as const;
const BOTH = { permission: 'read', environments: ['live', 'test'] } as const;

describe('a route', () => {
  const asked = (caller: Caller, required: Parameters<typeof requirePermission>[1], method = 'GET'): string =>
    outcomeOf(() => requirePermission(caller, required, method));

  test('of live keys refuses keys of the test environment', () => {
    const tester = callerWith({ permissions: ['manage', 'read'], environment: 'test' });
    expect(asked(tester, LIVE)).toBe('environment_not_allowed');
    expect(asked(tester, BOTH)).toBe('allowed');
    expect(asked(key('manage'), LIVE)).toBe('allowed');
  });

  test('needs its permission, and `admin` has all', () => {
    expect(['send', 'read', 'manage', 'admin'].map((one) => asked(key(one as 'send'), LIVE))).toEqual([
      'permission_missing',
      'permission_missing',
      'allowed',
      'allowed',
    ]);
    expect(asked(key('send'), { ...LIVE, permission: 'any' })).toBe('allowed');
  });

  test('is open to auditors only if it says so, and with contents only to those who see them', () => {
    const forAuditors = { ...BOTH, auditors: true } as const;
    expect(asked(auditor(true), BOTH)).toBe('permission_missing');
    expect(asked(auditor(false), forAuditors)).toBe('allowed');
    expect(asked(auditor(false), { ...forAuditors, contents: true })).toBe('permission_missing');
    expect(asked(auditor(true), { ...forAuditors, contents: true })).toBe('allowed');
  });

  test('of members refuses keys, and one of operators refuses members who are not operators', () => {
    const ofMembers = { ...BOTH, membersOnly: true } as const;
    expect([asked(key('admin'), ofMembers), asked(member('analyst'), ofMembers)]).toEqual([
      'permission_missing',
      'allowed',
    ]);
    const ofOperators = { ...BOTH, operatorsOnly: true } as const;
    expect(
      [key('admin'), member('owner'), member('owner', { isOperator: true })].map((one) => asked(one, ofOperators)),
    ).toEqual(['permission_missing', 'permission_missing', 'allowed']);
  });

  test('that names roles checks the role, and no permission', () => {
    const ofOwners = { ...LIVE, permission: 'read', roles: ['owner'] } as const;
    expect([
      asked(member('owner'), ofOwners),
      asked(member('developer'), ofOwners),
      asked(key('read'), ofOwners),
    ]).toEqual(['allowed', 'permission_missing', 'allowed']);
  });

  test('with contents refuses members who see none, and one that changes something refuses read-only members', () => {
    const blind = member('owner', { withoutContents: true });
    expect([asked(blind, BOTH), asked(blind, { ...BOTH, contents: true })]).toEqual(['allowed', 'permission_missing']);
    const reader = member('owner', { safeMethodsOnly: true });
    expect(['GET', 'HEAD', 'POST', 'DELETE'].map((method) => asked(reader, BOTH, method))).toEqual([
      'allowed',
      'allowed',
      'permission_missing',
      'permission_missing',
    ]);
    expect(asked(reader, { ...BOTH, ownSession: true }, 'DELETE')).toBe('allowed');
  });
});

describe('a filter of a caller who sees no contents', () => {
  const blind = member('owner', { withoutContents: true });
  const filtered = (query: object, route: object = {}, caller = blind): string =>
    outcomeOf(() => requireOpenFilters(caller, route, query));

  test('may not be a content, unless the route itself searches for it', () => {
    for (const name of ['to', 'from', 'subject', 'address', 'metadata', 'q']) {
      expect([name, filtered({ [name]: 'x' })]).toEqual([name, 'permission_missing']);
      expect([name, filtered({ [name]: 'x' }, { searches: true })]).toEqual([name, 'allowed']);
      expect([name, filtered({ [name]: 'x' }, {}, member('owner'))]).toEqual([name, 'allowed']);
    }
  });

  test('may be a range of time if `from` and `to` are one', () => {
    const range = { from: '2026-01-01', to: '2026-02-01' };
    expect([filtered(range), filtered(range, { ranges: true })]).toEqual(['permission_missing', 'allowed']);
    expect(filtered({ ...range, subject: 'x' }, { ranges: true })).toBe('permission_missing');
  });

  test('may contain no address, except a Message-ID, which the service made', () => {
    expect(filtered({ tag: 'user:ann@example.org' })).toBe('permission_missing');
    expect(filtered({ tag: ['a', 'user:ann@example.org'] })).toBe('permission_missing');
    expect(filtered({ tag: 'user:ann', limit: 5 })).toBe('allowed');
    expect(filtered({ message_id: '<abc@mail.example.org>' })).toBe('allowed');
  });
});

test('contents are shown to keys, and to members and auditors who may see them', () => {
  const blind = member('owner', { withoutContents: true });
  expect([key('read'), member('owner'), auditor(true), blind, auditor(false)].map(seesContents)).toEqual([
    true,
    true,
    true,
    false,
    false,
  ]);
});

test('keys that only send or read see their own domain; all others see every domain', () => {
  expect([key('send'), key('read'), key('send', 'read')].map(visibleDomainId)).toEqual(['dom_1', 'dom_1', 'dom_1']);
  expect([key('manage'), key('admin'), auditor(false), member('analyst')].map(visibleDomainId)).toEqual([
    null,
    null,
    null,
    null,
  ]);
});
