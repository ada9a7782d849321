/** Addresses that an organization and its auditors are written to, where a person who is erased has one of them. */
import type { ExistingAuditor } from '../domain/audit/audit.ts';
import type { ExistingErasure } from '../domain/erasure/erasure.ts';
import { organizationStream } from '../domain/kernel/streams.ts';
import { organization } from '../domain/organization/organization.ts';
import type { Contents, StoredBody } from '../domain/ports/contents.ts';
import { auditorContactsTo } from './auditor.ts';
import { type CommandContext, eventContext } from './context.ts';
import { digestOfAddress, erasureOrigin, type Person } from './erasure.ts';
import { execute, readWholeStream } from './execute.ts';

type Context = Pick<CommandContext, 'store' | 'secrets'> & { readonly contents: Pick<Contents, 'get'> };

const addressIn = (body: StoredBody | undefined): string | null => (body?.kind === 'contact' ? body.address : null);

/** The organization's, also those before the one it has: they stay for as long as contents do. */
const organizationContactsTo = async (
  context: Context,
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
  context: Context,
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
