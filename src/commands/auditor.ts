import { type Caller, requireWithin } from '../domain/api-key/caller.ts';
import type { LoadKeyCache } from '../domain/api-key/key-cache-projection.ts';
import { formatSecret, SECRET_RANDOM_BYTES, secretFacts } from '../domain/api-key/secret.ts';
import {
  type Auditor,
  auditor,
  removeAuditor as decideRemoveAuditor,
  type ExistingAuditor,
  requireAuditor,
} from '../domain/audit/audit.ts';
import type { ExistingErasure } from '../domain/erasure/erasure.ts';
import { DomainError } from '../domain/kernel/errors.ts';
import { formatId, ID_BYTES, isId } from '../domain/kernel/ids.ts';
import { auditorStream, organizationStream } from '../domain/kernel/streams.ts';
import { organization } from '../domain/organization/organization.ts';
import { type ContactAddress, type Contents, isRemoved, type StoredBody } from '../domain/ports/contents.ts';
import { digestOfAddress, erasureOrigin, type Person } from './erasure.ts';
import {
  type CommandContext,
  type Condition,
  eventContext,
  execute,
  type LoadedStream,
  load,
  type Origin,
  readWholeStream,
} from './execute.ts';

type Context = Pick<CommandContext, 'store' | 'system' | 'contents'>;

/** Each is written to daily, and their tokens are held in memory. */
export const AUDITORS_MAX = 100;

interface Vault {
  readonly contents: Pick<Contents, 'get'>;
}

/** An auditor's personal data in the vault. */
interface Contact {
  /** null: it was erased. */
  readonly name: string | null;
  /** null: they are not written to. */
  readonly email: string | null;
}

export interface NamedAuditor extends ExistingAuditor, Contact {}

interface AuditorAtRevision {
  readonly auditor: NamedAuditor;
  readonly revision: LoadedStream<Auditor>['revision'];
}

interface AddAuditor extends Pick<NamedAuditor, 'email' | 'contents' | 'expiresAt'> {
  readonly name: string;
  /** Beyond whose networks and end the token does not reach. */
  readonly by: Caller;
  readonly loadKeyCache: LoadKeyCache;
}

/** Auditors of an organization that were not removed, the newest first. @throws {DomainError} `unavailable`. */
const auditorsOf = async (loadKeyCache: LoadKeyCache, organizationId: string): Promise<readonly ExistingAuditor[]> =>
  [...(await loadKeyCache()).auditors.values()]
    .filter((one) => one.organizationId === organizationId)
    .sort((one, other) => (one.createdAt < other.createdAt ? 1 : -1));

/**
 * Adds an auditor.
 * @returns their token, which is not stored.
 * @throws {DomainError} `wider_than_own_key`, `too_many_auditors`, `unavailable`.
 */
export const addAuditor = async (
  context: Context,
  origin: Origin,
  { by, loadKeyCache, name, email, contents, expiresAt }: AddAuditor,
): Promise<AuditorAtRevision & { readonly token: string }> => {
  const { organizationId } = origin;
  const { system } = context;
  const { allowedCidrs } = by.bounds;
  requireWithin(by, { allowedCidrs, expiresAt, rateLimits: {} });
  if ((await auditorsOf(loadKeyCache, organizationId)).length >= AUDITORS_MAX)
    throw new DomainError(
      'too_many_auditors',
      `an organization has at most ${AUDITORS_MAX} auditors: remove one first`,
    );
  const auditorId = formatId('aud', system.randomBytes(ID_BYTES));
  const contactId = system.uuid();
  const token = formatSecret('audit', system.randomBytes(SECRET_RANDOM_BYTES));
  const { hash, last4 } = secretFacts(token);
  const body: ContactAddress = { kind: 'contact', address: email, auditor: { id: auditorId, name } };
  const { state, revision } = await execute(context, {
    aggregate: auditor,
    stream: auditorStream(auditorId),
    context: eventContext({ ...origin, environment: null }, system.now().toISOString()),
    decide: () => [
      {
        type: 'AuditorAdded',
        data: { auditorId, contactId, contents, expiresAt, allowedCidrs: [...allowedCidrs], secret: { hash, last4 } },
      },
    ],
    contents: [{ id: contactId, organizationId, body }],
    known: { state: auditor.initial, revision: 'no-stream' },
  });
  return { auditor: { ...requireAuditor(state, organizationId), name, email }, revision, token };
};

const contactIn = ({ contactId, auditorId }: ExistingAuditor, body: StoredBody | undefined): Contact => {
  if (body !== undefined && isRemoved(body)) return { name: null, email: null };
  if (body?.kind !== 'contact' || body.auditor === undefined)
    throw new Error(`the vault holds no contact ${contactId} of ${auditorId}`);
  return { name: body.auditor.name, email: body.address };
};

/** @throws {Error} the vault holds none of them: a fault. */
const named = async (
  { contents }: Pick<Context, 'contents'>,
  auditors: readonly ExistingAuditor[],
): Promise<readonly NamedAuditor[]> => {
  const bodies = await contents.get(auditors.map(({ contactId }) => contactId));
  return auditors.map((one) => ({ ...one, ...contactIn(one, bodies.get(one.contactId)) }));
};

/** Name and address of an auditor. @throws {Error} if the vault lacks them, which is a fault. */
export const requireContact = async ({ contents }: Vault, one: ExistingAuditor): Promise<Contact> =>
  contactIn(one, (await contents.get([one.contactId])).get(one.contactId));

/**
 * Names and addresses of auditors, in lower case. Auditors whose personal data is gone have none.
 * @param added data of events `AuditorAdded`.
 */
export const namesOfAuditors = async (
  { contents }: Vault,
  added: readonly Readonly<Record<string, unknown>>[],
): Promise<readonly { readonly id: string; readonly names: string }[]> => {
  const bodies = await contents.get(added.map(({ contactId }) => String(contactId)));
  return added.flatMap(({ auditorId, contactId }) => {
    const body = bodies.get(String(contactId));
    if (body?.kind !== 'contact') return [];
    return [{ id: String(auditorId), names: `${body.auditor?.name ?? ''}\n${body.address ?? ''}`.toLowerCase() }];
  });
};

/** Contents that say who auditors of an organization are, where they have the address of this digest. */
const auditorContactsTo = async (
  context: Pick<CommandContext, 'secrets'> & Vault,
  { organizationId, digest }: { readonly organizationId: string; readonly digest: string },
  auditors: Iterable<ExistingAuditor>,
): Promise<readonly string[]> => {
  const contactIds: string[] = [];
  for (const one of [...auditors].filter((each) => each.organizationId === organizationId)) {
    const { email } = await requireContact(context, one);
    const own = email === null ? null : await digestOfAddress(context, organizationId, email);
    if (own === digest) contactIds.push(one.contactId);
  }
  return contactIds;
};

/** Auditors that were not removed, the newest first. @throws {DomainError} `unavailable`. */
export const listAuditors = async (
  context: Pick<Context, 'contents'>,
  loadKeyCache: LoadKeyCache,
  organizationId: string,
): Promise<readonly NamedAuditor[]> => named(context, await auditorsOf(loadKeyCache, organizationId));

/** @throws {DomainError} `not_found`, `other_organization`, `unavailable`. */
export const loadAuditor = async (
  context: Pick<Context, 'store' | 'contents'>,
  organizationId: string,
  auditorId: string,
): Promise<AuditorAtRevision> => {
  if (!isId('aud', auditorId)) throw new DomainError('not_found', 'auditor not found');
  const { state, revision } = await load(context.store, auditor, auditorStream(auditorId));
  const [found] = await named(context, [requireAuditor(state, organizationId)]);
  if (found === undefined) throw new Error('one auditor has one name');
  return { auditor: found, revision };
};

/** Ends a token. @throws {DomainError} `not_found`, `other_organization`, `precondition_failed`, `resource_conflict`. */
export const removeAuditor = async (
  context: Pick<Context, 'store' | 'system'>,
  origin: Origin,
  { auditorId, ...condition }: Condition & { readonly auditorId: string },
): Promise<void> => {
  if (!isId('aud', auditorId)) throw new DomainError('not_found', 'auditor not found');
  await execute(context, {
    ...condition,
    aggregate: auditor,
    stream: auditorStream(auditorId),
    context: eventContext({ ...origin, environment: null }, context.system.now().toISOString()),
    decide: (state) => decideRemoveAuditor(state, origin.organizationId),
  });
};

/** Addresses that an organization and its auditors are written to, where a person who is erased has one of them. */

type ContactContext = Pick<CommandContext, 'store' | 'secrets'> & { readonly contents: Pick<Contents, 'get'> };

const addressIn = (body: StoredBody | undefined): string | null => (body?.kind === 'contact' ? body.address : null);

/** The organization's, also those before the one it has: they stay for as long as contents do. */
const organizationContactsTo = async (
  context: ContactContext,
  { organizationId, digest }: Pick<Person, 'organizationId' | 'digest'>,
): Promise<readonly string[]> => {
  const events = await readWholeStream(context.store, organizationStream(organizationId));
  const ids = events.flatMap(({ type, data }) =>
    type === 'OrganizationUpdated' && typeof data.contactId === 'string' ? [data.contactId] : [],
  );
  const bodies = await context.contents.get(ids);
  const own: string[] = [];
  for (const id of ids) {
    const address = addressIn(bodies.get(id));
    if (address !== null && (await digestOfAddress(context, organizationId, address)) === digest) own.push(id);
  }
  return own;
};

/** Contents that hold the address as a contact. @param auditors of any organization. */
export const contactsTo = async (
  context: ContactContext,
  person: Pick<Person, 'organizationId' | 'digest'>,
  auditors: Iterable<ExistingAuditor>,
): Promise<readonly string[]> => [
  ...(await organizationContactsTo(context, person)),
  ...(await auditorContactsTo(context, person, auditors)),
];

/** Leaves the organization without a contact if it has one of these. Repeating it changes nothing. */
export const clearContact = async (
  context: Pick<CommandContext, 'store' | 'system'>,
  running: ExistingErasure,
  contactIds: readonly string[],
): Promise<void> => {
  if (contactIds.length === 0) return;
  const { organizationId } = running;
  await execute(context, {
    aggregate: organization,
    stream: organizationStream(organizationId),
    context: eventContext(erasureOrigin(running), context.system.now().toISOString()),
    decide: (state) =>
      state.status === 'active' && contactIds.includes(state.settings.contactId ?? '')
        ? [{ type: 'OrganizationUpdated', data: { organizationId, contactId: null } }]
        : [],
  });
};
