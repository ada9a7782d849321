import { createSystem } from '../adapters/system.ts';
import { createKey } from '../commands/api-key/create-key.ts';
import { revokeKey } from '../commands/api-key/revoke-key.ts';
import { rotateKey } from '../commands/api-key/rotate-key.ts';
import { readDirectory } from '../composition/directory.ts';
import type { ExistingApiKey } from '../domain/api-key/api-key.ts';
import { type Permission, permissionSchema } from '../domain/api-key/permissions.ts';
import { GRACE_PERIOD_MINUTES_DEFAULT, GRACE_PERIOD_MINUTES_MAX } from '../domain/api-key/rotate-key.ts';
import { formatSecret, SECRET_RANDOM_BYTES } from '../domain/api-key/secret.ts';
import { type Environment, environmentSchema } from '../domain/environment.ts';
import {
  type Invocation,
  type OperatorCommand,
  optional,
  optionalCount,
  type PlainCommand,
  required,
  UsageError,
} from './command.ts';
import { operatorOrigin } from './operator-origin.ts';
import { limitOptions, limitsOf } from './organizations.ts';

const environmentOf = (invocation: Invocation): Environment => {
  const parsed = environmentSchema.safeParse(optional(invocation, 'environment') ?? 'live');
  if (!parsed.success) throw new UsageError('--environment must be live or test');
  return parsed.data;
};

const permissionsOf = (invocation: Invocation): readonly Permission[] =>
  required(invocation, 'permissions')
    .split(',')
    .map((text) => {
      const parsed = permissionSchema.safeParse(text.trim());
      if (!parsed.success)
        throw new UsageError(`--permissions: '${text}' is none of ${permissionSchema.options.join(', ')}`);
      return parsed.data;
    });

const shown = (key: ExistingApiKey) => ({
  key_id: key.keyId,
  organization_id: key.organizationId,
  domain_id: key.domainId,
  name: key.name,
  environment: key.environment,
  permissions: key.permissions,
  rate_limits: key.rateLimits,
  status: key.status,
});

export const generateKeyCommand: PlainCommand = {
  name: 'keys generate',
  usage: '[--environment live|test]',
  summary: 'prints a well-formed key value, for OUTBOX_ADMIN_KEY; nothing knows it yet',
  options: { environment: { type: 'string' } },
  needs: 'nothing',
  run: (invocation) => ({
    key: formatSecret(environmentOf(invocation), createSystem().randomBytes(SECRET_RANDOM_BYTES)),
  }),
};

export const createKeyCommand: OperatorCommand = {
  name: 'keys create',
  usage:
    '--organization ORG_ID --domain DOM_ID --permissions send,read [--name NAME] [--environment live|test] [--send N] [--read N] [--manage N]',
  summary: 'makes a key and shows its value once; the numbers are its limits a minute',
  options: {
    ...{ organization: { type: 'string' }, domain: { type: 'string' }, permissions: { type: 'string' } },
    ...{ name: { type: 'string' }, environment: { type: 'string' }, ...limitOptions },
  },
  needs: 'engines',
  run: async ({ context }, invocation) => {
    const origin = await operatorOrigin(context, required(invocation, 'organization'));
    const { key, value } = await createKey(context, origin, {
      by: 'operator',
      domainId: required(invocation, 'domain'),
      name: optional(invocation, 'name') ?? 'made by the operator',
      permissions: permissionsOf(invocation),
      environment: environmentOf(invocation),
      rateLimits: limitsOf(invocation),
      allowedCidrs: [],
      expiresAt: null,
    });
    return { ...shown(key), key: value };
  },
};

const graceOf = (invocation: Invocation): number => {
  if (optional(invocation, 'grace-minutes') === '0') return 0;
  const minutes = optionalCount(invocation, 'grace-minutes') ?? GRACE_PERIOD_MINUTES_DEFAULT;
  if (minutes > GRACE_PERIOD_MINUTES_MAX)
    throw new UsageError(`--grace-minutes must be at most ${GRACE_PERIOD_MINUTES_MAX}`);
  return minutes;
};

export const rotateKeyCommand: OperatorCommand = {
  name: 'keys rotate',
  usage: '--organization ORG_ID --key KEY_ID [--grace-minutes N]',
  summary: 'gives a key a new value, shown once; the old one works until the grace period ends',
  options: { organization: { type: 'string' }, key: { type: 'string' }, 'grace-minutes': { type: 'string' } },
  needs: 'engines',
  run: async ({ context }, invocation) => {
    const origin = await operatorOrigin(context, required(invocation, 'organization'));
    const { key, value, previousKeyExpiresAt } = await rotateKey(context, origin, {
      ...{ by: 'operator', keyId: required(invocation, 'key') },
      ...{ gracePeriodMinutes: graceOf(invocation), revokePrevious: false },
    });
    return { ...shown(key), previous_key_expires_at: previousKeyExpiresAt, key: value };
  },
};

export const revokeKeyCommand: OperatorCommand = {
  name: 'keys revoke',
  usage: '--organization ORG_ID --key KEY_ID',
  summary: 'ends a key, the last admin key too',
  options: { organization: { type: 'string' }, key: { type: 'string' } },
  needs: 'engines',
  run: async ({ context }, invocation) => {
    const origin = await operatorOrigin(context, required(invocation, 'organization'));
    const keyId = required(invocation, 'key');
    const { key } = await revokeKey(context, origin, { by: 'operator', keyId, otherAdminKeys: [] });
    return shown(key);
  },
};

export const listKeysCommand: OperatorCommand = {
  name: 'keys list',
  usage: '[--organization ORG_ID]',
  summary: 'lists the keys, never their values',
  options: { organization: { type: 'string' } },
  needs: 'engines',
  run: async ({ context }, invocation) => {
    const of = optional(invocation, 'organization');
    const { keys } = await readDirectory(context.store);
    return [...keys.values()]
      .flatMap((each) => (each.status === 'absent' ? [] : [each]))
      .filter(({ organizationId }) => of === undefined || organizationId === of)
      .map(shown);
  },
};
