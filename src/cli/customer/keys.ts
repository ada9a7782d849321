import type { z } from 'zod';
import type { createdKeySchema, rotatedKeySchema, SerializedApiKey } from '../../http/resources/api-keys/api-keys.ts';
import type { SerializedSession } from '../../http/resources/members/members.ts';
import { type Invocation, optional, optionalCount, repeated, required, type ServiceCommand } from '../command.ts';
import { UsageError } from '../failures.ts';
import { nameIn } from './messages.ts';
import { readProfile, writeProfile } from './profile.ts';
import type { Service } from './service.ts';

/**
 * Commands for the keys of the caller's organization, through the API. The operator commands with these names take
 * `--organization`.
 */

type CreatedKey = z.infer<typeof createdKeySchema>;
type RotatedKey = z.infer<typeof rotatedKeySchema>;

/** The domain of the calling key. @throws {UsageError} if the caller is a member, who has no domain. */
const ownDomain = async ({ ask }: Service): Promise<string> => {
  const { body: session } = await ask<SerializedSession>('GET', '/v1/session');
  if (session.api_key_id === null) throw new UsageError('--domain is required: `GET /v1/domains` lists them');
  return (await ask<SerializedApiKey>('GET', `/v1/api-keys/${session.api_key_id}`)).body.domain_id;
};

const limitsOf = (invocation: Invocation): Readonly<Record<string, number>> | undefined => {
  const given = ['send', 'read', 'manage'].flatMap((kind) => {
    const limit = optionalCount(invocation, kind);
    return limit === undefined ? [] : [[kind, limit] as const];
  });
  return given.length === 0 ? undefined : Object.fromEntries(given);
};

const listIn = (text: string): readonly string[] => text.split(',').map((each) => each.trim());

export const createOwnKeyCommand: ServiceCommand = {
  name: 'keys create',
  usage:
    '--name NAME --permissions send,read [--domain DOM_ID] [--environment live|test] [--cidr NETWORK,…] [--expires-at TIME] [--send N] [--read N] [--manage N]',
  summary:
    'creates a key and shows its value once; the numbers are its limits per minute (operators name --organization)',
  needs: 'service',
  run: async (service, invocation) => {
    const given = {
      name: required(invocation, 'name'),
      domain_id: optional(invocation, 'domain') ?? (await ownDomain(service)),
      permissions: listIn(required(invocation, 'permissions')),
      environment: optional(invocation, 'environment'),
      allowed_cidrs: repeated(invocation, 'cidr')?.flatMap(listIn),
      expires_at: optional(invocation, 'expires-at'),
      rate_limits: limitsOf(invocation),
    };
    const body = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
    return (await service.ask<CreatedKey>('POST', '/v1/api-keys', { body })).body;
  },
  textOf: (result) => {
    const { id, name, permissions, environment, key } = result as unknown as CreatedKey;
    return `id: ${id}\nname: ${name}\npermissions: ${permissions.join(', ')}\nenvironment: ${environment}\nkey: ${key}\nThe key is shown this once.`;
  },
};

const graceOf = (invocation: Invocation): number | undefined =>
  optional(invocation, 'grace-minutes') === '0' ? 0 : optionalCount(invocation, 'grace-minutes');

/**
 * True if the key is the one stored in the profile. Check this before rotating it: afterwards the old value may be
 * invalid.
 */
const isKept = async ({ ask, target: { key, profile } }: Service, id: string): Promise<boolean> =>
  profile !== null && key !== undefined && (await ask<SerializedSession>('GET', '/v1/session')).body.api_key_id === id;

/** Stores the new value in the profile. @returns a sentence that says what was done. */
const keepOwn = async ({ target: { profile } }: Service, key: string): Promise<string | null> => {
  const kept = profile === null ? null : await readProfile(profile);
  if (profile === null || kept === null) return null;
  await writeProfile(profile, { ...kept, key });
  return `profile ${profile} has the new value`;
};

export const rotateOwnKeyCommand: ServiceCommand = {
  name: 'keys rotate',
  usage: 'KEY_ID [--grace-minutes N] [--revoke-previous]',
  summary:
    'gives a key a new value, shown once; the old one works until the grace period ends (operators name --organization)',
  needs: 'service',
  run: async (service, invocation) => {
    const minutes = graceOf(invocation);
    const id = nameIn(invocation, 'key: KEY_ID');
    const isOwn = await isKept(service, id);
    const { body } = await service.ask<RotatedKey>('POST', `/v1/api-keys/${id}/rotate`, {
      body: {
        ...(minutes === undefined ? {} : { grace_period_minutes: minutes }),
        revoke_previous: invocation.values['revoke-previous'] === true,
      },
    });
    // Prints the new value even if storing it fails: it cannot be read again.
    const kept = isOwn
      ? await keepOwn(service, body.key).catch((error: Error) => `the profile was not changed: ${error.message}`)
      : null;
    return { ...body, kept };
  },
  textOf: (result) => {
    const { id, name, key, previous_key_expires_at: until, kept } = result as unknown as RotatedKey & { kept: unknown };
    return [
      `id: ${id}`,
      `name: ${name}`,
      `key: ${key}`,
      `The old value works until ${until}. The new one is shown this once.`,
      ...(typeof kept === 'string' ? [kept] : []),
    ].join('\n');
  },
};
