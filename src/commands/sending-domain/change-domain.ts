import { parse } from 'tldts';
import type { KeyAuthority } from '../../domain/api-key/caller.ts';
import {
  type KeyCacheState,
  type KeyEntry,
  type LoadKeyCache,
  workingAdminKeys,
} from '../../domain/api-key/key-cache-projection.ts';
import { requireOwn } from '../../domain/kernel/aggregate.ts';
import type { SendingDomainEvent } from '../../domain/kernel/events.ts';
import { sendingDomainStream } from '../../domain/kernel/streams.ts';
import type { Secrets } from '../../domain/ports/secrets.ts';
import { isTakenByAnother, RECORDS_UNKNOWN } from '../../domain/sending-domain/domain-records.ts';
import type { DkimKey } from '../../domain/sending-domain/events.ts';
import {
  type ChangeDomain,
  changeDomain as decideChangeDomain,
  deleteDomain as decideDeleteDomain,
  registerDomain as decideRegisterDomain,
  rotateDkim as decideRotateDkim,
  dkimHost,
  type ExistingSendingDomain,
  formerKeys,
  requireOwnDomain,
  type SendingDomain,
  sendingDomain,
  sendingDomainId,
  signingKeys,
  unneededKeys,
  verifyByCapture,
} from '../../domain/sending-domain/sending-domain.ts';
import type { SigningKey } from '../../lib/smtp/smtp.ts';
import {
  type Change,
  type CommandContext,
  type Condition,
  eventContext,
  execute,
  executeOnce,
  internalOrigin,
  type LoadedStream,
  load,
  type Origin,
  requireRevision,
  retryConflicts,
} from '../execute.ts';
import { releaseAdminKeys } from '../organization.ts';
import { type CheckedDomain, checkDomain, type DomainAtRevision, nameHolder, takeName } from './check-domain.ts';

/** Use cases by which a customer changes a sending domain: register, verify, change its settings, delete. */

/**
 * True if anyone can register names directly below this one (`co.uk`), by the ICANN section of the list at
 * publicsuffix.org. Names in its other section (`github.io`) have an owner, who may send from them.
 * @param name A-labels, lower case.
 */
export const isPublicSuffix = (name: string): boolean => {
  const { publicSuffix, isIcann } = parse(name, { extractHostname: false, allowPrivateDomains: false });
  return isIcann === true && publicSuffix === name;
};

const TOKEN_BYTES = 20;

/**
 * Registers a name and makes its keys; while mail is captured it is verified at once.
 * @param name A-labels, lower case.
 * @throws {DomainError} `domain_already_exists`, `domain_is_public_suffix`.
 * @throws {DkimKeysBusy}
 */
export const registerDomain = async (
  context: CommandContext,
  origin: Origin,
  { name, inbound }: { readonly name: string } & Pick<ChangeDomain, 'inbound'>,
): Promise<DomainAtRevision> => {
  const { system, store, capturing } = context;
  const domainId = sendingDomainId(origin.organizationId, name);
  const { holder, formerHolder } = await nameHolder(store, name);
  const takenByAnother = isTakenByAnother(holder.state, { domainId, capturing, formerHolder });
  const token = Buffer.from(system.randomBytes(TOKEN_BYTES)).toString('hex');
  const command = { domainId, name, token, takenByAnother, isPublicSuffix: isPublicSuffix(name), inbound };
  const stream = sendingDomainStream(domainId);
  const known = await load(store, sendingDomain, stream);
  decideRegisterDomain(known.state, { ...command, dkim: [] }); // what is refused costs no keys
  const dkim = await makeKeys(context, origin.organizationId);
  const { state, revision } = await execute(context, {
    aggregate: sendingDomain,
    stream,
    known,
    context: eventContext({ ...origin, environment: null }, system.now().toISOString()),
    decide: (before) => decideRegisterDomain(before, { ...command, dkim }),
  });
  if (capturing) return verifyDomain(context, origin, { domainId, known: { state, revision } });
  return { domain: requireOwn(state, origin.organizationId, 'domain'), revision: Number(revision) };
};

const capture = async (
  context: CommandContext,
  origin: Origin,
  known: LoadedStream<SendingDomain>,
  condition: Condition,
): Promise<CheckedDomain> => {
  const { organizationId } = origin;
  const { name, domainId } = requireOwnDomain(known.state, organizationId);
  await takeName(context, origin, { name, domainId, method: 'capture' });
  const { state, revision } = await execute(context, {
    aggregate: sendingDomain,
    stream: sendingDomainStream(domainId),
    known,
    context: eventContext({ ...origin, environment: null }, context.system.now().toISOString()),
    decide: (before) => verifyByCapture(requireOwnDomain(before, organizationId)),
    ...condition,
  });
  return { domain: requireOwnDomain(state, organizationId), revision: Number(revision), records: RECORDS_UNKNOWN };
};

/**
 * Looks for the domain's records now; without those it needs the domain stays as it is.
 * @throws {DomainError} `not_found`, `other_organization`, `domain_already_exists`, `precondition_failed`, `resource_conflict`.
 */
export const verifyDomain = async (
  context: CommandContext,
  origin: Origin,
  { domainId, known: loaded, ...condition }: Change<SendingDomain> & { readonly domainId: string },
): Promise<CheckedDomain> => {
  const known = loaded ?? (await load(context.store, sendingDomain, sendingDomainStream(domainId)));
  requireOwnDomain(known.state, origin.organizationId);
  // Before the name is taken: a refused change leaves nothing behind.
  requireRevision(condition, known);
  return context.capturing
    ? capture(context, origin, known, condition)
    : checkDomain(context, origin, { known, isAsked: true, ...condition });
};

/**
 * Changes the settings of a domain. Mail that was accepted before keeps what it was accepted with.
 * @throws {DomainError} `not_found`, `other_organization`, `precondition_failed`, `resource_conflict`.
 */
export const changeDomain = async (
  context: Pick<CommandContext, 'store' | 'system'>,
  origin: Origin,
  {
    domainId,
    settings,
    ...condition
  }: Change<SendingDomain> & {
    readonly domainId: string;
    readonly settings: Omit<ChangeDomain, 'organizationId'>;
  },
): Promise<DomainAtRevision> => {
  const { organizationId } = origin;
  const { state, revision } = await execute(context, {
    aggregate: sendingDomain,
    stream: sendingDomainStream(domainId),
    context: eventContext({ ...origin, environment: null }, context.system.now().toISOString()),
    decide: (before) => decideChangeDomain(before, { organizationId, ...settings }),
    ...condition,
  });
  return { domain: requireOwnDomain(state, organizationId), revision: Number(revision) };
};

interface DeleteDomain extends Change<SendingDomain> {
  readonly by: KeyAuthority;
  readonly domainId: string;
  readonly loadKeyCache: LoadKeyCache;
}

const boundTo = ({ keys }: KeyCacheState, domainId: string): readonly KeyEntry[] =>
  [...keys.values()].filter(
    ({ key, endedWithDomain }) => key.domainId === domainId && key.status === 'active' && !endedWithDomain,
  );

/**
 * Deletes a domain at the revision at which that was decided. The keys bound to it end with it.
 * @throws {DomainError} of the decision; `last_admin_key`, `precondition_failed`, `unavailable`; `resource_conflict` after too
 * many conflicts.
 */
export const deleteDomain = async (
  context: CommandContext,
  origin: Origin,
  { by, domainId, loadKeyCache, known: loaded, ...condition }: DeleteDomain,
): Promise<void> => {
  const { store, system } = context;
  const { organizationId } = origin;
  const stream = sendingDomainStream(domainId);
  let before = loaded;
  await retryConflicts(async () => {
    const known = before ?? (await load(store, sendingDomain, stream));
    before = undefined;
    const now = system.now().toISOString();
    const keys = boundTo(await loadKeyCache(), domainId).map(({ key }) => key);
    const adminKeys = (fresh: KeyCacheState): readonly KeyEntry[] =>
      workingAdminKeys(fresh, organizationId, now).filter(({ key }) => key.domainId === domainId);
    return executeOnce(context, {
      aggregate: sendingDomain,
      stream,
      known,
      context: eventContext({ ...origin, environment: null }, now),
      decide: (state) => decideDeleteDomain(state, { by, organizationId, keys }),
      // Also without admin keys: one may be created at this moment, and another request may rely on it.
      beforeAppend: async () =>
        by === 'operator' ||
        releaseAdminKeys(context, origin, {
          loadKeyCache,
          lost: adminKeys,
          domain: { domainId, revision: Number(known.revision) },
        }),
      ...condition,
    });
  });
};

/** Enough to tell the few keys of a domain apart. */
const SELECTOR_BYTES = 3;
const PREFIXES = { 'rsa-sha256': 'ob-r', 'ed25519-sha256': 'ob-e' } as const;

/** Generates one key per algorithm. The private keys are in the vault when it resolves. @throws {DkimKeysBusy} */
export const makeKeys = async (
  { dkimKeys, secrets, system }: Pick<CommandContext, 'dkimKeys' | 'secrets' | 'system'>,
  organizationId: string,
): Promise<readonly DkimKey[]> => {
  const made = await dkimKeys.make();
  const letters = Buffer.from(system.randomBytes(SELECTOR_BYTES)).toString('hex');
  return Promise.all(
    made.map(async ({ algorithm, publicKey, privateKey }) => {
      const secretId = system.uuid();
      await secrets.put(secretId, organizationId, privateKey);
      return { selector: `${PREFIXES[algorithm]}-${letters}`, algorithm, publicKey, secretId };
    }),
  );
};

/**
 * Generates new keys for a domain. Its current keys sign until the new ones are seen in the DNS.
 * @throws {DomainError} `not_found`, `other_organization`, `precondition_failed`, `resource_conflict`.
 * @throws {DkimKeysBusy}
 */
export const rotateDkim = async (
  context: CommandContext,
  origin: Origin,
  { domainId, known: loaded, ...condition }: Change<SendingDomain> & { readonly domainId: string },
): Promise<DomainAtRevision> => {
  const { organizationId } = origin;
  const stream = sendingDomainStream(domainId);
  const known = loaded ?? (await load(context.store, sendingDomain, stream));
  requireOwnDomain(known.state, organizationId);
  requireRevision(condition, known);
  const keys = await makeKeys(context, organizationId);
  const { state, revision } = await execute(context, {
    aggregate: sendingDomain,
    stream,
    known,
    context: eventContext({ ...origin, environment: null }, context.system.now().toISOString()),
    decide: (before) => decideRotateDkim(before, { organizationId, keys }),
    ...condition,
  });
  return { domain: requireOwnDomain(state, organizationId), revision: Number(revision) };
};

/**
 * The keys that sign a domain's mail (`signingKeys`), with their private keys.
 * @throws {Error} the vault lacks one: mail would go out unsigned.
 * @throws {WrongSecretKey}
 */
export const activeSigningKeys = async (
  { name, dkim }: Pick<ExistingSendingDomain, 'name' | 'dkim'>,
  secrets: Pick<Secrets, 'get'>,
  capturing = false,
): Promise<readonly SigningKey[]> =>
  Promise.all(
    signingKeys(dkim, capturing).map(async ({ selector, algorithm, secretId }) => {
      const privateKey = await secrets.get(secretId);
      if (privateKey === undefined) throw new Error(`the vault lacks the key of ${dkimHost(name, selector)}`);
      return { domain: name, selector, algorithm, privateKey };
    }),
  );

/**
 * Destroys the private keys a domain no longer needs, then records it. In this order a crash in between repeats the work
 * instead of skipping it.
 * @throws {DomainError} `resource_conflict`.
 */
export const destroyFormerKeys = async (
  { store, system, secrets }: Pick<CommandContext, 'store' | 'system' | 'secrets'>,
  domainId: string,
): Promise<void> => {
  const stream = sendingDomainStream(domainId);
  const now = system.now().toISOString();
  const known = await load(store, formerKeys, stream);
  const { domain } = known.state;
  const keys = unneededKeys(known.state, now);
  if (keys.length === 0 || domain.status === 'absent') return;
  const destroyed = new Set(keys.map(({ secretId }) => secretId));
  await secrets.destroy([...destroyed]);
  const { organizationId } = domain;
  await execute(
    { store, system },
    {
      aggregate: formerKeys,
      stream,
      known,
      context: eventContext(internalOrigin({ actor: 'worker:destroy-keys', organizationId, causeId: domainId }), now),
      decide: ({ former }): readonly SendingDomainEvent[] => {
        const gone = former.flatMap(({ selector, secretId }) =>
          destroyed.has(secretId) ? [{ selector, secretId }] : [],
        );
        return gone.length === 0 ? [] : [{ type: 'DkimKeysDestroyed', data: { domainId, keys: gone } }];
      },
    },
  );
};
