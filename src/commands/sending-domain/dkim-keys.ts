import type { SendingDomainEvent } from '../../domain/kernel/events.ts';
import { sendingDomainStream } from '../../domain/kernel/streams.ts';
import type { Secrets } from '../../domain/ports/secrets.ts';
import type { DkimKey } from '../../domain/sending-domain/events.ts';
import {
  rotateDkim as decideRotateDkim,
  dkimHost,
  type ExistingSendingDomain,
  formerKeys,
  requireOwnDomain,
  type SendingDomain,
  sendingDomain,
  signingKeys,
  unneededKeys,
} from '../../domain/sending-domain/sending-domain.ts';
import type { SigningKey } from '../../lib/smtp/smtp.ts';
import { type CommandContext, eventContext, internalOrigin, type Origin } from '../context.ts';
import { type Change, execute, load, requireRevision } from '../execute.ts';
import type { DomainAtRevision } from './check-domain.ts';

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
