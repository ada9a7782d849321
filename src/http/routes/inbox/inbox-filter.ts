import { z } from 'zod';
import type { Caller } from '../../../domain/caller.ts';
import type { InboxFilter } from '../../../domain/ports/inbox.ts';
import type { RouteContext } from '../../endpoint.ts';

const TEXT_CHARACTERS_MAX = 998;

/** Which captured mail; together they narrow. */
export const inboxFilterFields = {
  id: z.string().max(TEXT_CHARACTERS_MAX).optional().describe('This one alone.'),
  to: z.string().max(TEXT_CHARACTERS_MAX).optional().describe('Mail to this address, by its envelope.'),
  subject: z.string().max(TEXT_CHARACTERS_MAX).optional().describe('Mail with this in its subject, in whatever case.'),
};

type Asked = Pick<InboxFilter, 'id' | 'to' | 'subject'>;

/** An organization sees the mail that was sent from its domains; a test key, what was simulated. */
export const inboxFilterOf = (
  { auth }: RouteContext,
  { organizationId, environment }: Caller,
  { id, to, subject }: Asked,
): InboxFilter => ({
  id,
  to,
  subject,
  environment,
  fromDomains: auth.keyCache.domainNamesOf(organizationId),
});
