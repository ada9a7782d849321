import { retryWhileAway } from '../async/retry.ts';
import { createKey, type KeyWithValue } from '../commands/api-key/create-key.ts';
import { rotateKey } from '../commands/api-key/rotate-key.ts';
import { type CommandContext, internalOrigin, type Origin } from '../commands/context.ts';
import { createOrganization } from '../commands/organization.ts';
import { registerDomain } from '../commands/sending-domain/register-domain.ts';
import { works } from '../domain/api-key/api-key.ts';
import { secretFacts } from '../domain/api-key/secret.ts';
import type { Environment } from '../domain/environment.ts';
import type { KeyEntry } from '../domain/key-cache.ts';
import { sendingDomainId } from '../domain/sending-domain/sending-domain.ts';
import { StartRefused } from '../domain/start-refused.ts';
import { type Directory, firstAdminKey, readDirectory } from './directory.ts';

const DEFAULT_ORGANIZATION = 'default';
const DEFAULT_DOMAIN = 'example.test';

/** Rows of the vault that nobody reads but a later start: the first keys were to be made, and somebody was shown them. */
const MADE = 'first-keys-made';
const SHOWN = 'first-keys-shown';

/** Secrets to be printed once. */
export interface FirstKeys {
  /** null: the operator gave it (`OUTBOX_ADMIN_KEY`) and knows it. */
  readonly live: string | null;
  /** null: the operator gave the live key and makes a test key by it; or it was ended before it was ever printed. */
  readonly test: string | null;
}

export const serviceOrigin = ({ system }: CommandContext, organizationId: string): Origin =>
  internalOrigin({ actor: 'service', organizationId, causeId: system.uuid() });

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
      by: 'operator',
      domainId,
      name: `first ${environment} admin key`,
      permissions: ['admin'],
      environment,
      rateLimits: {},
      allowedCidrs: [],
      expiresAt: null,
      ...(value === undefined ? {} : { value }),
    });
  // The live key last: it is what tells a first start that ended from one that was cut off.
  const test = adminKey === undefined ? (await make('test')).value : null;
  const live = await make('live', adminKey);
  return { live: adminKey === undefined ? live.value : null, test };
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
    by: 'operator',
    keyId: key.keyId,
    gracePeriodMinutes: 0,
    revokePrevious: true,
    value,
    loadKeyCache: async () => directory,
  });
};

/** The last of several: a first start that was cut off may have left others. */
const firstTestKey = ({ keys, serviceSecrets }: Directory): KeyEntry | undefined =>
  [...keys.values()].findLast(({ key }) => key.environment === 'test' && serviceSecrets.has(key.keyId));

/** Gives a key another value, the old one ends at once. null: the key is not there, or has ended. */
const replaceValue = async (
  context: CommandContext,
  directory: Directory,
  entry: KeyEntry | undefined,
): Promise<string | null> => {
  const now = context.system.now().toISOString();
  if (entry === undefined || !works(entry.key, { now, endedWithDomain: entry.endedWithDomain })) return null;
  const { value } = await rotateKey(context, serviceOrigin(context, entry.key.organizationId), {
    by: 'operator',
    keyId: entry.key.keyId,
    gracePeriodMinutes: 0,
    revokePrevious: true,
    loadKeyCache: async () => directory,
  });
  return value;
};

/** Values that a start ended before printing are known to nobody: the keys get others. */
const makeKnown = async (
  context: CommandContext,
  directory: Directory,
  adminKey: string | undefined,
): Promise<FirstKeys> => ({
  live: adminKey === undefined ? await replaceValue(context, directory, firstAdminKey(directory)) : null,
  test: await replaceValue(context, directory, firstTestKey(directory)),
});

/** Keys made by a version that kept no such rows were printed by it. */
const areUnknown = async ({ secrets, system }: CommandContext): Promise<boolean> =>
  retryWhileAway(
    { system },
    async () => (await secrets.get(MADE)) !== undefined && (await secrets.get(SHOWN)) === undefined,
  );

/**
 * With an empty log, makes an organization, a domain and two admin keys; a first start that was cut off is completed, and
 * keys that none has printed yet get new values. Callers hold a lock until the keys have been printed and
 * `noteKeysShown` has said so: of several processes that start at once, one does this.
 * @returns null: the keys have been shown before.
 */
export const firstStart = async (context: CommandContext, adminKey: string | undefined): Promise<FirstKeys | null> => {
  const directory = await readDirectory(context);
  if (firstAdminKey(directory) === undefined) {
    await retryWhileAway(context, () => context.secrets.put(MADE, '', 'yes'));
    return makeKeys(context, directory, adminKey);
  }
  if (adminKey !== undefined) await followAdminKey(context, directory, adminKey);
  return (await areUnknown(context)) ? makeKnown(context, directory, adminKey) : null;
};

/** From now on the first keys' values are somebody else's to keep. */
export const noteKeysShown = ({ secrets }: CommandContext): Promise<void> => secrets.put(SHOWN, '', 'yes');
