import { describe, expect, test } from 'vitest';
import type { Caller, CallingMember } from '../../../src/domain/api-key/caller.ts';
import { requireOwnerPresence, requirePresence } from '../../../src/http/auth/permissions.ts';
import { callerWith } from '../../support/controls/api-key.ts';
import { createSteppableSystem } from '../../support/system.ts';

const MINUTE_MS = 60_000;
/** How long a proof counts. */
const PRESENCE_MS = 10 * MINUTE_MS;
const ADMIN_KEY = 'key_admin';

type Presence = Parameters<typeof requirePresence>[1]['presence'];

const open = () => {
  const system = createSteppableSystem();
  const at = (ms: number): string => new Date(system.now().getTime() + ms).toISOString();
  const caller = (member: Partial<CallingMember> = {}): Caller =>
    callerWith({
      member: {
        ...{ sessionId: 'ses_1', role: 'owner', isOperator: false, presentAt: at(0) },
        ...{ withoutContents: false, safeMethodsOnly: false },
        ...member,
      },
    });
  let looks = 0;
  const auth = {
    system,
    keyCache: { isAdminKey: (_: string, id: string) => id === ADMIN_KEY },
  } as unknown as Parameters<typeof requirePresence>[0];
  const asking = (one: Caller, now: Caller) => ({
    caller: one,
    callerNow: async () => {
      looks += 1;
      return now;
    },
  });
  return {
    ...{ system, at, caller },
    looks: () => looks,
    requires: (presence: Presence, one: Caller, { id = 'key_1', body = {}, now = one } = {}) =>
      requirePresence(auth, { ...(presence !== undefined && { presence }) }, { ...asking(one, now), id, body }),
    requiresOwner: (one: Caller, now = one) => requireOwnerPresence(auth, asking(one, now)),
  };
};

const REQUIRED = { code: 'presence_required' };

describe('a route that requires presence', () => {
  test('is open for ten minutes after a proof, and then closed', async () => {
    const { requires, caller, system, looks } = open();
    const member = caller();
    await system.advance(PRESENCE_MS - 1);
    await requires('always', member);
    expect(looks()).toBe(0);
    await system.advance(1);
    await expect(requires('always', member)).rejects.toMatchObject(REQUIRED);
  });

  test('looks into the log once more, for a proof that another process accepted', async () => {
    const { requires, caller, at, system, looks } = open();
    const member = caller();
    await system.advance(PRESENCE_MS);
    await requires('always', member, { now: caller({ presentAt: at(0) }) });
    expect(looks()).toBe(1);
    await expect(requires('always', member, { now: callerWith() })).rejects.toMatchObject(REQUIRED);
  });

  test('requires nothing of keys, and other routes require nothing', async () => {
    const { requires, caller, system } = open();
    const member = caller();
    await system.advance(PRESENCE_MS);
    await requires('always', callerWith());
    await requires(undefined, member);
    await expect(requires('always', member)).rejects.toMatchObject(REQUIRED);
  });

  test('for keys with `admin` is open for all others', async () => {
    const { requires, caller, system } = open();
    const member = caller();
    await system.advance(PRESENCE_MS);
    await requires('ofAdminKeys', member, { body: { permissions: ['send'] } });
    await requires('ofAdminKeys', member);
    for (const about of [{ id: ADMIN_KEY }, { body: { permissions: ['send', 'admin'] } }])
      await expect(requires('ofAdminKeys', member, about)).rejects.toMatchObject(REQUIRED);
  });

  test('for the first passkey is open as long as the link of the operator allows', async () => {
    const { requires, caller, at, system } = open();
    const first = caller({ firstPasskeyUntil: at(PRESENCE_MS + MINUTE_MS) });
    const other = caller();
    await system.advance(PRESENCE_MS);
    await requires('unlessFirst', first);
    await expect(requires('unlessFirst', other)).rejects.toMatchObject(REQUIRED);
    await expect(requires('always', first)).rejects.toMatchObject(REQUIRED);
    await system.advance(MINUTE_MS - 1);
    await requires('unlessFirst', first);
    await system.advance(1);
    await expect(requires('unlessFirst', first)).rejects.toMatchObject(REQUIRED);
  });
});

test('mail by which its reader could sign in is for owners who are present', async () => {
  const { requiresOwner, caller, system } = open();
  const owner = caller();
  await requiresOwner(owner);
  for (const one of [caller({ role: 'developer' }), callerWith({ permissions: ['admin'] })])
    await expect(requiresOwner(one)).rejects.toMatchObject({ code: 'permission_missing' });
  await system.advance(PRESENCE_MS);
  await expect(requiresOwner(owner)).rejects.toMatchObject(REQUIRED);
  await requiresOwner(owner, caller());
});
