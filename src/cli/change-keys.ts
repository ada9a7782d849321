import { type KeyChange, updateKey } from '../commands/api-key/change-key.ts';
import { deleteKey, revokeKey } from '../commands/api-key/end-key.ts';
import { rotateKey } from '../commands/api-key/rotate-key.ts';
import type { CommandContext } from '../commands/context.ts';
import { readDirectory } from '../composition/directory.ts';
import { type Invocation, type OperatorCommand, required, UsageError } from './command.ts';
import {
  cidrsOf,
  expiresAtOf,
  graceOf,
  limitOptions,
  limitsOf,
  nameOf,
  permissionsOf,
  shownKey,
} from './key-options.ts';
import { operatorOrigin } from './operator-origin.ts';

const whichKey = { organization: { type: 'string' }, key: { type: 'string' } } as const;

/** What the operator does with a key needs nobody's leave. */
const changeOf = (context: CommandContext, invocation: Invocation): KeyChange => ({
  ...{ by: 'operator', keyId: required(invocation, 'key') },
  loadKeyCache: () => readDirectory(context),
});

export const rotateKeyCommand: OperatorCommand = {
  name: 'keys rotate',
  usage: '--organization ORG_ID --key KEY_ID [--grace-minutes N]',
  summary: 'gives a key a new value, shown once; the old one works until the grace period ends',
  options: { ...whichKey, 'grace-minutes': { type: 'string' } },
  needs: 'engines',
  run: async ({ context }, invocation) => {
    const origin = await operatorOrigin(context, required(invocation, 'organization'));
    const { key, value, previousKeyExpiresAt } = await rotateKey(context, origin, {
      ...changeOf(context, invocation),
      ...{ gracePeriodMinutes: graceOf(invocation), revokePrevious: false },
    });
    return {
      ...shownKey(key, await readDirectory(context)),
      previous_key_expires_at: previousKeyExpiresAt,
      key: value,
    };
  },
};

const changesOf = (invocation: Invocation, now: string) => {
  const [name, permissions, allowedCidrs] = [nameOf(invocation), permissionsOf(invocation), cidrsOf(invocation)];
  const [expiresAt, rateLimits] = [expiresAtOf(invocation, now), limitsOf(invocation)];
  return {
    ...(name === undefined ? {} : { name }),
    ...(permissions === undefined ? {} : { permissions }),
    ...(allowedCidrs === undefined ? {} : { allowedCidrs }),
    ...(expiresAt === undefined ? {} : { expiresAt }),
    ...(Object.keys(rateLimits).length === 0 ? {} : { rateLimits }),
  };
};

export const updateKeyCommand: OperatorCommand = {
  name: 'keys update',
  usage:
    '--organization ORG_ID --key KEY_ID [--name NAME] [--permissions send,read] [--cidr NETWORK,…|any] [--expires-at TIME|never] [--send N] [--read N] [--manage N]',
  summary: 'changes a key, the last admin key too; what is left out stays as it is',
  options: {
    ...{ ...whichKey, name: { type: 'string' }, permissions: { type: 'string' }, ...limitOptions },
    ...{ cidr: { type: 'string', multiple: true }, 'expires-at': { type: 'string' } },
  },
  needs: 'engines',
  run: async ({ context, system }, invocation) => {
    const origin = await operatorOrigin(context, required(invocation, 'organization'));
    const changes = changesOf(invocation, system.now().toISOString());
    if (Object.keys(changes).length === 0) throw new UsageError('name something to change');
    const change = { ...changeOf(context, invocation), changes, leavesOutRequester: false };
    const { key } = await updateKey(context, origin, change);
    return shownKey(key, await readDirectory(context));
  },
};

export const revokeKeyCommand: OperatorCommand = {
  name: 'keys revoke',
  usage: '--organization ORG_ID --key KEY_ID',
  summary: 'ends a key, the last admin key too',
  options: whichKey,
  needs: 'engines',
  run: async ({ context }, invocation) => {
    const origin = await operatorOrigin(context, required(invocation, 'organization'));
    const { key } = await revokeKey(context, origin, changeOf(context, invocation));
    return { ...shownKey(key, await readDirectory(context)), status: key.status };
  },
};

export const deleteKeyCommand: OperatorCommand = {
  name: 'keys delete',
  usage: '--organization ORG_ID --key KEY_ID',
  summary: 'ends a key, the last admin key too, and takes it out of the lists',
  options: whichKey,
  needs: 'engines',
  run: async ({ context }, invocation) => {
    const origin = await operatorOrigin(context, required(invocation, 'organization'));
    const { key } = await deleteKey(context, origin, changeOf(context, invocation));
    return { ...shownKey(key, await readDirectory(context)), status: key.status };
  },
};
