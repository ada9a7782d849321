import { createSystem } from '../adapters/system.ts';
import { createPostgresUsageMarks } from '../adapters/usage-marks/postgres.ts';
import { createKey, deleteKey, type KeyChange, revokeKey, rotateKey, updateKey } from '../commands/api-key.ts';
import type { CommandContext } from '../commands/execute.ts';
import { readDirectory } from '../composition/first-start.ts';
import type { Operator } from '../composition/open-operator.ts';
import { formatSecret, SECRET_RANDOM_BYTES, type UsageMark } from '../domain/api-key/secret.ts';
import { definedIn } from '../http/fields.ts';
import { serializeApiKey } from '../http/resources/api-keys/api-keys.ts';
import { type Invocation, type OperatorCommand, optional, type PlainCommand, required } from './command.ts';
import { UsageError } from './failures.ts';
import {
  cidrsOf,
  environmentOf,
  expiresAtOf,
  graceOf,
  limitsOf,
  nameOf,
  permissionsOf,
  shownKey,
} from './key-options.ts';
import { operatorOrigin } from './operator-origin.ts';

export const generateKeyCommand: PlainCommand = {
  name: 'keys generate',
  usage: '[--environment live|test]',
  summary: 'prints a new key value for OUTBOX_ADMIN_KEY; it is not stored',
  needs: 'nothing',
  run: (invocation) => ({
    key: formatSecret(environmentOf(invocation), createSystem().randomBytes(SECRET_RANDOM_BYTES)),
  }),
};

export const createKeyCommand: OperatorCommand = {
  name: 'keys create',
  usage:
    '--organization ORG_ID --domain DOM_ID --permissions send,read [--name NAME] [--environment live|test] [--cidr NETWORK,…] [--expires-at TIME] [--send N] [--read N] [--manage N]',
  summary: 'creates a key and shows its value once; the numbers are its limits per minute',
  run: async ({ context, system }, invocation) => {
    const origin = await operatorOrigin(context, required(invocation, 'organization'));
    const { key, value } = await createKey(context, origin, {
      by: 'operator',
      domainId: required(invocation, 'domain'),
      name: nameOf(invocation) ?? 'created by the operator',
      permissions: permissionsOf(invocation) ?? [],
      environment: environmentOf(invocation),
      rateLimits: limitsOf(invocation),
      allowedCidrs: cidrsOf(invocation) ?? [],
      expiresAt: expiresAtOf(invocation, system.now().toISOString()) ?? null,
    });
    return { ...shownKey(key, await readDirectory(context)), status: key.status, key: value };
  },
};

const marksOf = async (
  { pool, system, logger }: Operator,
  keyIds: readonly string[],
): Promise<readonly UsageMark[]> => {
  const usageMarks = createPostgresUsageMarks({ pool, system, logger });
  try {
    return await usageMarks.of(keyIds);
  } finally {
    await usageMarks.close();
  }
};

export const listKeysCommand: OperatorCommand = {
  name: 'keys list',
  usage: '[--organization ORG_ID]',
  summary: 'lists the keys without their values; last use may be a minute old',
  run: async (operator, invocation) => {
    const { context, system } = operator;
    const of = optional(invocation, 'organization');
    if (of !== undefined) await operatorOrigin(context, of);
    const directory = await readDirectory(context);
    const wanted = [...directory.keys.values()].filter(
      ({ key }) => key.status !== 'deleted' && (of === undefined || key.organizationId === of),
    );
    const marks = await marksOf(
      operator,
      wanted.map(({ key }) => key.keyId),
    );
    const now = system.now().toISOString();
    return wanted.map(({ key, endedWithDomain }) => {
      const { status, last_used_at, last_used_address } = serializeApiKey(key, { marks, now, endedWithDomain });
      return { ...shownKey(key, directory), status, last_used_at, last_used_address };
    });
  },
};

const changeOf = (context: CommandContext, invocation: Invocation): KeyChange => ({
  by: 'operator',
  keyId: required(invocation, 'key'),
  loadKeyCache: () => readDirectory(context),
});

export const rotateKeyCommand: OperatorCommand = {
  name: 'keys rotate',
  usage: '--organization ORG_ID --key KEY_ID [--grace-minutes N]',
  summary: 'gives a key a new value, shown once; the old value works until the grace period ends',
  run: async ({ context }, invocation) => {
    const origin = await operatorOrigin(context, required(invocation, 'organization'));
    const { key, value, previousKeyExpiresAt } = await rotateKey(context, origin, {
      ...changeOf(context, invocation),
      gracePeriodMinutes: graceOf(invocation),
      revokePrevious: false,
    });
    return {
      ...shownKey(key, await readDirectory(context)),
      previous_key_expires_at: previousKeyExpiresAt,
      key: value,
    };
  },
};

const changesOf = (invocation: Invocation, now: string) => {
  const rateLimits = limitsOf(invocation);
  return definedIn({
    name: nameOf(invocation),
    permissions: permissionsOf(invocation),
    allowedCidrs: cidrsOf(invocation),
    expiresAt: expiresAtOf(invocation, now),
    rateLimits: Object.keys(rateLimits).length === 0 ? undefined : rateLimits,
  });
};

export const updateKeyCommand: OperatorCommand = {
  name: 'keys update',
  usage:
    '--organization ORG_ID --key KEY_ID [--name NAME] [--permissions send,read] [--cidr NETWORK,…|any] [--expires-at TIME|never] [--send N] [--read N] [--manage N]',
  summary: 'changes a key, even the last admin key; omitted options stay unchanged',
  run: async ({ context, system }, invocation) => {
    const origin = await operatorOrigin(context, required(invocation, 'organization'));
    const changes = changesOf(invocation, system.now().toISOString());
    if (Object.keys(changes).length === 0) throw new UsageError('name something to change');
    const change = { ...changeOf(context, invocation), changes, leavesOutRequester: false };
    const { key } = await updateKey(context, origin, change);
    return shownKey(key, await readDirectory(context));
  },
};

const endKeyCommand = (
  name: string,
  summary: string,
  endKey: typeof revokeKey | typeof deleteKey,
): OperatorCommand => ({
  name,
  usage: '--organization ORG_ID --key KEY_ID',
  summary,
  run: async ({ context }, invocation) => {
    const origin = await operatorOrigin(context, required(invocation, 'organization'));
    const { key } = await endKey(context, origin, changeOf(context, invocation));
    return { ...shownKey(key, await readDirectory(context)), status: key.status };
  },
});

export const revokeKeyCommand = endKeyCommand('keys revoke', 'revokes a key, even the last admin key', revokeKey);

export const deleteKeyCommand = endKeyCommand(
  'keys delete',
  'revokes a key, even the last admin key, and removes it from the lists',
  deleteKey,
);
