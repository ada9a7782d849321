import { createKey, type KeyWithValue, rotateKey } from '../commands/api-key.ts';
import { type CommandContext, internalOrigin, type Origin } from '../commands/execute.ts';
import { createSignInLink, inviteMember } from '../commands/member.ts';
import { createOrganization } from '../commands/organization.ts';
import { registerDomain } from '../commands/sending-domain/change-domain.ts';
import { works } from '../domain/api-key/api-key.ts';
import {
  createKeyCacheProjection,
  KEY_CACHE_CATEGORIES,
  type KeyCacheState,
  type KeyEntry,
} from '../domain/api-key/key-cache-projection.ts';
import { secretFacts } from '../domain/api-key/secret.ts';
import type { Environment } from '../domain/kernel/environment.ts';
import {
  type EventStore,
  type ReadAllOptions,
  type RecordedEvent,
  readFamilies,
} from '../domain/kernel/event-store.ts';
import { FIRST_LINK_MINUTES } from '../domain/member/member.ts';
import { sendingDomainId } from '../domain/sending-domain/sending-domain.ts';
import { retryWhileAway, StartRefused, type System } from '../lib/async/async.ts';

/** Organizations, domains and keys, folded from the log. */
export interface Directory extends KeyCacheState {
  /** Hash of the last secret that the service itself gave a key, by key id. */
  readonly serviceSecrets: ReadonlyMap<string, string>;
}

export interface DirectorySource {
  readonly store: Pick<EventStore, 'head' | 'readAll'>;
  readonly system: Pick<System, 'monotonicMs' | 'sleep'>;
}

const secretIn = ({ data }: RecordedEvent): { readonly keyId: string; readonly hash: string } | null =>
  'secret' in data && 'keyId' in data ? { keyId: data.keyId, hash: data.secret.hash } : null;

/** Notes the secret of an event that the service itself caused. */
const noteService = (serviceSecrets: Map<string, string>, event: RecordedEvent): void => {
  const given = event.metadata.actor === 'service' ? secretIn(event) : null;
  if (given !== null) serviceSecrets.set(given.keyId, given.hash);
};

/** Folds the directory from the log. Retries while the log is unavailable for a moment. */
export const readDirectory = async ({ store, system }: DirectorySource): Promise<Directory> => {
  const keyCache = createKeyCacheProjection();
  const serviceSecrets = new Map<string, string>();
  const head = await retryWhileAway({ system }, store.head);
  const patient = { readAll: (options: ReadAllOptions) => retryWhileAway({ system }, () => store.readAll(options)) };
  for await (const { events } of readFamilies(patient, { categories: KEY_CACHE_CATEGORIES, to: head })) {
    for (const event of events) {
      keyCache.apply(event);
      noteService(serviceSecrets, event);
    }
  }
  return { ...keyCache, serviceSecrets };
};

/** The admin key created at the first start, in whatever state. */
export const firstAdminKey = ({ keys, serviceSecrets }: Directory): KeyEntry | undefined =>
  [...keys.values()].find(({ key }) => key.environment === 'live' && serviceSecrets.has(key.keyId));

const DEFAULT_ORGANIZATION = 'default';
/** Domain of the organization that the first start creates. */
export const DEFAULT_DOMAIN = 'example.test';

/** Vault rows for later starts: the first keys were created, and were printed. */
const CREATED = 'first-keys-made';
const SHOWN = 'first-keys-shown';

/** Secrets to print once. */
export interface FirstKeys {
  /** null: set by the operator (`OUTBOX_ADMIN_KEY`). */
  readonly live: string | null;
  /** null: the operator set the live key and can create a test key with it; or it was revoked before it was printed. */
  readonly test: string | null;
  /** Token of a link to sign in to the dashboard; null: the first owner has signed in. */
  readonly link: string | null;
}

type FirstValues = Omit<FirstKeys, 'link'>;

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
  { adminKey, organizationId }: { readonly adminKey: string | undefined; readonly organizationId: string },
): Promise<FirstValues> => {
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
  // The live key last: it marks a completed first start.
  const test = adminKey === undefined ? (await make('test')).value : null;
  const live = await make('live', adminKey);
  return { live: adminKey === undefined ? live.value : null, test };
};

/**
 * Replaces the first admin key when the operator set another `OUTBOX_ADMIN_KEY`. A value that was rotated away by the API
 * does not come back.
 */
const followAdminKey = async (context: CommandContext, directory: Directory, value: string): Promise<void> => {
  const first = firstAdminKey(directory);
  if (first === undefined || directory.serviceSecrets.get(first.key.keyId) === secretFacts(value).hash) return;
  const { key, endedWithDomain } = first;
  if (!works(key, { now: context.system.now().toISOString(), endedWithDomain })) {
    throw new StartRefused(
      'OUTBOX_ADMIN_KEY: the first admin key was revoked or has expired; unset it and use `outbox keys create`',
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

/** The last one: interrupted first starts may have left others. */
const firstTestKey = ({ keys, serviceSecrets }: Directory): KeyEntry | undefined =>
  [...keys.values()].findLast(({ key }) => key.environment === 'test' && serviceSecrets.has(key.keyId));

/** Rotates a key; the old value ends immediately. @returns null if no working key exists. */
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

/** Replaces keys whose values were never printed: they cannot be known. */
const replaceUnprinted = async (
  context: CommandContext,
  directory: Directory,
  adminKey: string | undefined,
): Promise<FirstValues> => ({
  live: adminKey === undefined ? await replaceValue(context, directory, firstAdminKey(directory)) : null,
  test: await replaceValue(context, directory, firstTestKey(directory)),
});

/** A link for the first owner, created if the organization has no owner. */
const makeLink = async (
  context: CommandContext,
  { members }: Directory,
  organizationId: string,
): Promise<string | null> => {
  const origin = serviceOrigin(context, organizationId);
  const [first] = Object.values(members.get(organizationId)?.members ?? {});
  if (first?.status === 'joined') return null;
  const linkMinutes = FIRST_LINK_MINUTES;
  if (first !== undefined)
    return (await createSignInLink(context, origin, { memberId: first.memberId, linkMinutes })).token;
  const { link } = await inviteMember(context, origin, {
    name: 'First owner',
    email: null,
    role: 'owner',
    linkMinutes,
  });
  return link.token;
};

/** Whether the first keys were created but never printed. */
const areUnprinted = async ({ secrets, system }: CommandContext): Promise<boolean> =>
  retryWhileAway(
    { system },
    async () => (await secrets.get(CREATED)) !== undefined && (await secrets.get(SHOWN)) === undefined,
  );

/**
 * On an empty log, creates an organization, a domain, two admin keys and an owner. Completes an interrupted first start, and replaces
 * keys that were never printed. Callers hold a lock until the keys are printed and `noteKeysShown` is called, so that one
 * of several starting processes does this.
 * @returns null: the keys were printed before.
 */
export const firstStart = async (context: CommandContext, adminKey: string | undefined): Promise<FirstKeys | null> => {
  const directory = await readDirectory(context);
  const first = firstAdminKey(directory);
  if (first === undefined) {
    await retryWhileAway(context, () => context.secrets.put(CREATED, '', 'yes'));
    const organizationId =
      findOrganization(directory) ??
      (await createOrganization(context, { name: DEFAULT_ORGANIZATION, ceilings: null }));
    const values = await makeKeys(context, directory, { adminKey, organizationId });
    return { ...values, link: await makeLink(context, directory, organizationId) };
  }
  if (adminKey !== undefined) await followAdminKey(context, directory, adminKey);
  if (!(await areUnprinted(context))) return null;
  const values = await replaceUnprinted(context, directory, adminKey);
  return { ...values, link: await makeLink(context, directory, first.key.organizationId) };
};

/** Records that the first keys were printed. */
export const noteKeysShown = ({ secrets }: CommandContext): Promise<void> => secrets.put(SHOWN, '', 'yes');
