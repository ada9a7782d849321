import { createKey, type KeyWithValue } from '../commands/api-key/create-key.ts';
import { rotateKey } from '../commands/api-key/rotate-key.ts';
import type { CommandContext, Origin } from '../commands/context.ts';
import { createOrganization } from '../commands/organization/create-organization.ts';
import { registerDomain } from '../commands/sending-domain/register-domain.ts';
import { works } from '../domain/api-key/key-life.ts';
import { secretFacts } from '../domain/api-key/secret.ts';
import type { Environment } from '../domain/environment.ts';
import { sendingDomainId } from '../domain/sending-domain/sending-domain.ts';
import { StartRefused } from '../domain/start-refused.ts';
import { type Directory, firstAdminKey, readDirectory } from './directory.ts';

const DEFAULT_ORGANIZATION = 'default';
const DEFAULT_DOMAIN = 'example.test';

/** Secrets to be printed once; null at every later start. */
export interface FirstKeys {
  /** null: the operator gave it (`OUTBOX_ADMIN_KEY`) and knows it. */
  readonly live: string | null;
  readonly test: string;
}

export const serviceOrigin = (context: CommandContext, organizationId: string): Origin => {
  const id = context.system.uuid();
  return {
    ...{ actor: 'service', organizationId, environment: null, requestId: null },
    ...{ correlationId: id, causationId: id },
  };
};

const findOrganization = ({ organizations }: Directory): string | undefined =>
  [...organizations].find(
    ([, { status, ...rest }]) => status === 'active' && 'name' in rest && rest.name === DEFAULT_ORGANIZATION,
  )?.[0];

const ensureDomain = async (context: CommandContext, organizationId: string, domains: Directory['domains']) => {
  const domainId = sendingDomainId(organizationId, DEFAULT_DOMAIN);
  if (!domains.has(domainId))
    await registerDomain(context, serviceOrigin(context, organizationId), { name: DEFAULT_DOMAIN });
  return domainId;
};

const makeKeys = async (
  context: CommandContext,
  directory: Directory,
  adminKey: string | undefined,
): Promise<FirstKeys> => {
  const organizationId =
    findOrganization(directory) ?? (await createOrganization(context, { name: DEFAULT_ORGANIZATION, ceilings: null }));
  const domainId = await ensureDomain(context, organizationId, directory.domains);
  const make = (environment: Environment, value?: string): Promise<KeyWithValue> =>
    createKey(context, serviceOrigin(context, organizationId), {
      ...{ by: 'operator', domainId, name: `first ${environment} admin key`, permissions: ['admin'], environment },
      ...{ rateLimits: {}, allowedCidrs: [], expiresAt: null },
      ...(value === undefined ? {} : { value }),
    });
  // The live key last: it is what tells a first start that ended from one that was cut off.
  const test = await make('test');
  const live = await make('live', adminKey);
  return { live: adminKey === undefined ? live.value : null, test: test.value };
};

/**
 * The operator's admin key, when it is another than the operator last gave, takes its place at once. One that was rotated
 * away by the API meanwhile does not come back.
 */
const followAdminKey = async (context: CommandContext, directory: Directory, value: string): Promise<void> => {
  const first = firstAdminKey(directory);
  if (first === undefined || directory.serviceSecrets.get(first.key.keyId) === secretFacts(value).hash) return;
  const { key, endedWithDomain } = first;
  if (!works(key, { now: context.system.now().toISOString(), endedWithDomain })) {
    throw new StartRefused(
      'OUTBOX_ADMIN_KEY: the first admin key works no more; unset it and use `npm run outbox -- keys create`',
    );
  }
  await rotateKey(context, serviceOrigin(context, key.organizationId), {
    ...{ by: 'operator', keyId: key.keyId, gracePeriodMinutes: 0, revokePrevious: true, value },
    register: async () => directory,
  });
};

/**
 * With an empty log, makes an organization, a domain and two admin keys; a first start that was cut off is completed.
 * Callers hold a lock: of several processes that start at once, one does this.
 */
export const firstStart = async (context: CommandContext, adminKey: string | undefined): Promise<FirstKeys | null> => {
  const directory = await readDirectory(context.store);
  if (firstAdminKey(directory) === undefined) return makeKeys(context, directory, adminKey);
  if (adminKey !== undefined) await followAdminKey(context, directory, adminKey);
  return null;
};
