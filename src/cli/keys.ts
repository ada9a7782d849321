import { createSystem } from '../adapters/system.ts';
import { createPostgresUsageMarks } from '../adapters/usage-marks.ts';
import { createKey, deleteKey, type KeyChange, revokeKey, rotateKey, updateKey } from '../commands/api-key.ts';
import type { CommandContext } from '../commands/execute.ts';
import { readDirectory } from '../composition/first-start.ts';
import type { Operator } from '../composition/open-operator.ts';
import {
  type ExistingApiKey,
  GRACE_PERIOD_MINUTES_DEFAULT,
  GRACE_PERIOD_MINUTES_MAX,
} from '../domain/api-key/api-key.ts';
import { type Permission, permissionSchema } from '../domain/api-key/events.ts';
import type { KeyCacheState } from '../domain/api-key/key-cache-projection.ts';
import { formatSecret, SECRET_RANDOM_BYTES, type UsageMark } from '../domain/api-key/secret.ts';
import { rangeProblem } from '../domain/kernel/addresses.ts';
import { type Environment, environmentSchema } from '../domain/kernel/environment.ts';
import { effectiveLimits, type RateLimits } from '../domain/kernel/rate-limits.ts';
import type { Organization } from '../domain/organization/organization.ts';
import { definedIn, line, parseTime } from '../http/fields.ts';
import { serializeApiKey, serializeRateLimits } from '../http/resources/api-keys/api-keys.ts';
import {
  type Invocation,
  type OperatorCommand,
  optional,
  optionalCount,
  type PlainCommand,
  repeated,
  required,
} from './command.ts';
import { keyEndedText } from './customer/result-texts.ts';
import { operatorOrigin } from './operator-origin.ts';
import { UsageError } from './terminal.ts';

const NAME_CHARACTERS_MAX = 200;
/** Value that removes the expiry. */
const NEVER = 'never';

/** The rate limits given, per minute. */
const limitsOf = (invocation: Invocation): RateLimits => {
  const [send, read, manage] = (['send', 'read', 'manage'] as const).map((kind) => optionalCount(invocation, kind));
  return definedIn({ send, read, manage });
};

/** The highest limits of an organization; null if no option is given. */
export const ceilingsOf = (invocation: Invocation): RateLimits | null => {
  const limits = limitsOf(invocation);
  return Object.keys(limits).length === 0 ? null : limits;
};

const environmentOf = (invocation: Invocation): Environment => {
  const parsed = environmentSchema.safeParse(optional(invocation, 'environment') ?? 'live');
  if (!parsed.success) throw new UsageError('--environment must be live or test');
  return parsed.data;
};

const permissionOf = (text: string): Permission => {
  const parsed = permissionSchema.safeParse(text.trim());
  if (parsed.success) return parsed.data;
  throw new UsageError(`--permissions: '${text}' must be one of ${permissionSchema.options.join(', ')}`);
};

/** undefined if the option is absent. */
const permissionsOf = (invocation: Invocation): readonly Permission[] | undefined => {
  const given = optional(invocation, 'permissions');
  return given === undefined ? undefined : [...new Set(given.split(',').map(permissionOf))];
};

/** undefined if the option is absent. */
const nameOf = (invocation: Invocation): string | undefined => {
  const given = optional(invocation, 'name');
  if (given === undefined || line(NAME_CHARACTERS_MAX).safeParse(given).success) return given;
  throw new UsageError(`--name must be 1 to ${NAME_CHARACTERS_MAX} characters on one line`);
};

/** Networks, repeatable and separated by commas; undefined: option absent; `any`: no restriction. */
const cidrsOf = (invocation: Invocation): readonly string[] | undefined => {
  const given = repeated(invocation, 'cidr')?.flatMap((text) => text.split(',').map((one) => one.trim()));
  if (given === undefined) return undefined;
  if (given.length === 1 && given[0] === 'any') return [];
  const problems = given.map((text) => [text, rangeProblem(text)] as const);
  const [wrong] = problems.filter(([, problem]) => problem !== null);
  if (wrong !== undefined) throw new UsageError(`--cidr: '${wrong[0]}' ${wrong[1]}`);
  return given;
};

/** undefined: option absent; null: never expires. @param now ISO 8601. */
const expiresAtOf = (invocation: Invocation, now: string): string | null | undefined => {
  const given = optional(invocation, 'expires-at');
  if (given === undefined) return undefined;
  if (given === NEVER) return null;
  const time = parseTime(given);
  if (time === null || time <= now)
    throw new UsageError(`--expires-at must be a time in the future, 2026-12-31T23:59:59Z, or ${NEVER}`);
  return time;
};

const graceOf = (invocation: Invocation): number => {
  if (optional(invocation, 'grace-minutes') === '0') return 0;
  const minutes = optionalCount(invocation, 'grace-minutes') ?? GRACE_PERIOD_MINUTES_DEFAULT;
  if (minutes > GRACE_PERIOD_MINUTES_MAX)
    throw new UsageError(`--grace-minutes must be at most ${GRACE_PERIOD_MINUTES_MAX}`);
  return minutes;
};

const ceilingsIn = (found: Organization | undefined): RateLimits | null =>
  found?.status === 'active' ? found.ceilings : null;

/** A key as shown to operators, without its value. Effective limits include the organization's ceilings. */
const shownKey = (key: ExistingApiKey, { organizations }: Pick<KeyCacheState, 'organizations'>) => ({
  key_id: key.keyId,
  organization_id: key.organizationId,
  domain_id: key.domainId,
  name: key.name,
  environment: key.environment,
  permissions: key.permissions,
  rate_limits: serializeRateLimits(key.rateLimits),
  effective_rate_limits: effectiveLimits(key.rateLimits, ceilingsIn(organizations.get(key.organizationId))),
  allowed_cidrs: key.allowedCidrs,
  expires_at: key.expiresAt,
});

export const generateKeyCommand: PlainCommand = {
  name: 'keys generate',
  usage: '[--environment live|test]',
  summary: 'prints a new secret for OUTBOX_ADMIN_KEY; it is not stored',
  needs: 'nothing',
  run: (invocation) => ({
    key: formatSecret(environmentOf(invocation), createSystem().randomBytes(SECRET_RANDOM_BYTES)),
  }),
};

export const createKeyCommand: OperatorCommand = {
  name: 'keys create',
  usage:
    '--organization ORG_ID --domain DOM_ID --permissions send,read [--name NAME] [--environment live|test] [--cidr NETWORK,…] [--expires-at TIME] [--send N] [--read N] [--manage N]',
  summary: 'creates a key and prints its secret once; --send, --read and --manage set its limits per minute',
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
  usage: '[--organization ORG_ID] [--all]',
  summary: 'lists the keys without their secrets; last use may be a minute old',
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
  summary: 'gives a key a new secret and prints it once; the old one works until the grace period ends',
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
    if (Object.keys(changes).length === 0) throw new UsageError('nothing to change: pass at least one option');
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
  textOf: keyEndedText,
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
