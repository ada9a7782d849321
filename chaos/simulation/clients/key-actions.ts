import {
  createKey,
  deleteKey,
  type KeyChange,
  revokeKey,
  rotateKey,
  updateKey,
} from '../../../src/commands/api-key.ts';
import type { Origin } from '../../../src/commands/execute.ts';
import type { ErrorCode } from '../../../src/domain/kernel/errors.ts';
import type { Life } from '../life.ts';
import type { Desk } from './desk.ts';
import type { Action } from './mail-actions.ts';

const TRIES = 4;
const LIFE_MS_MAX = 20_000;

const create: Action = async (desk) => {
  const { ask, tenant, world, expect } = desk;
  const { random, scheduler, startMs } = world.ground;
  const isAdmin = random.chance(0.5);
  // Admin keys do not expire: with clocks that differ, it is undefined whether another admin key is left when one
  // expires.
  const expiresAt = isAdmin
    ? null
    : new Date(startMs + scheduler.nowMs() + random.between(1000, LIFE_MS_MAX)).toISOString();
  const told = await ask(
    'create a key',
    ({ context }) =>
      createKey(context, tenant.origin('live'), {
        by: tenant.caller('live'),
        domainId: tenant.domainId,
        name: 'another',
        environment: 'live',
        permissions: isAdmin ? ['admin'] : ['send'],
        rateLimits: {},
        allowedCidrs: [],
        expiresAt,
      }),
    1,
  );
  const done = expect('create a key', told, []);
  if (done !== null) tenant.keyIds.push(done.key.keyId);
};

type Change = (life: Life, origin: Origin, change: KeyChange) => Promise<unknown>;

const CHANGES: Readonly<Record<string, Change>> = {
  revoke: ({ context }, origin, change) => revokeKey(context, origin, change),
  delete: ({ context }, origin, change) => deleteKey(context, origin, change),
  demote: ({ context }, origin, change) =>
    updateKey(context, origin, { ...change, changes: { permissions: ['send'] }, leavesOutRequester: false }),
  rotate: ({ context }, origin, change) =>
    rotateKey(context, origin, { ...change, gracePeriodMinutes: 1, revokePrevious: false }),
};

/** A repeated request may have been carried out the first time. */
const REFUSED: readonly ErrorCode[] = ['last_admin_key', 'key_not_active', 'not_found', 'too_many_live_secrets'];

const change = async (desk: Desk, name: string): Promise<void> => {
  const { ask, tenant, world, expect } = desk;
  const keyId = world.ground.random.pick(tenant.keyIds);
  const does = CHANGES[name];
  if (does === undefined) return;
  const told = await ask(
    `${name} ${keyId}`,
    (life) => does(life, tenant.origin('live'), { by: tenant.caller('live'), keyId, loadKeyCache: life.loadKeyCache }),
    TRIES,
  );
  expect(`${name} ${keyId}`, told, REFUSED);
};

export const KEY_ACTIONS: readonly Action[] = [
  create,
  ...Object.keys(CHANGES).map(
    (name): Action =>
      (desk) =>
        change(desk, name),
  ),
];
