import { z } from 'zod';
import {
  AUDITORS_MAX,
  addAuditor,
  listAuditors,
  loadAuditor,
  type NamedAuditor,
  removeAuditor,
} from '../../../commands/auditor.ts';
import { defineEndpoint, endpoint, type RouteContext } from '../../endpoint.ts';
import { listOf, listSchema, shownLine, timeParameter, timeSchema } from '../../fields.ts';
import { ifMatch, setRevision } from '../../reading.ts';
import { expiryProblems } from '../api-keys/write-key.ts';
import { bareAddress } from '../messages/send-fields.ts';

const auditorSchema = z
  .strictObject({
    id: z.string(),
    object: z.literal('auditor'),
    name: z.string().nullable().describe('null: the address was erased.'),
    email: z.string().nullable(),
    contents: z.boolean(),
    status: z.enum(['active', 'expired']),
    expires_at: timeSchema(),
    token_last4: z.string(),
    created_at: timeSchema(),
  })
  .meta({ id: 'Auditor' });

/** @param now ISO 8601. */
const serializeAuditor = (auditor: NamedAuditor, now: string): z.infer<typeof auditorSchema> => ({
  id: auditor.auditorId,
  object: 'auditor',
  name: auditor.name,
  email: auditor.email,
  contents: auditor.contents,
  status: auditor.expiresAt <= now ? 'expired' : 'active',
  expires_at: auditor.expiresAt,
  token_last4: auditor.secret.last4,
  created_at: auditor.createdAt,
});

const NAME_CHARACTERS_MAX = 100;

const body = z.strictObject({
  name: shownLine(NAME_CHARACTERS_MAX).describe('Name of the auditor.'),
  email: bareAddress.nullable().default(null).describe('One email address without a name. null: no contact.'),
  expires_at: timeParameter().describe(
    'Time when the token expires (ISO 8601), at the latest when the requesting key expires.',
  ),
  contents: z
    .boolean()
    .default(false)
    .describe('true: the auditor may also see mail contents. false: addresses and subjects of mail are masked.'),
});

const DESCRIPTION = `Creates a bearer token that can only read the audit log and the resources that it is about, from the networks that the
requesting key allows. The token is shown only once. Exports by an auditor are recorded under \`auditor:<id>\`. An organization has at most
${AUDITORS_MAX} auditors.`;

export const addAuditorRoute = (route: RouteContext): void => {
  const { context } = route.deps;
  const now = (): string => context.system.now().toISOString();

  defineEndpoint(
    route,
    'POST /v1/audit/auditors',
    {
      summary: 'Add an auditor',
      description: DESCRIPTION,
      body,
      examples: {
        'A yearly audit': {
          name: 'Example Auditors',
          email: 'audit@example.net',
          expires_at: '2099-12-31T23:59:59Z',
        },
      },
      answer: auditorSchema.extend({ token: z.string() }).meta({ id: 'AddedAuditor' }),
      problems: (sent) => expiryProblems(sent, now()),
    },
    async ({ caller, origin, body: { expires_at: expiresAt, ...asked }, reply }) => {
      const command = { ...asked, expiresAt, by: caller, loadKeyCache: route.auth.keyCache.load };
      const { auditor, revision, token } = await addAuditor(context, origin, command);
      setRevision(reply, revision);
      reply.header('location', `/v1/audit/auditors/${auditor.auditorId}`);
      return { ...serializeAuditor(auditor, now()), token };
    },
  );
};

export const listAuditorsRoute = endpoint(
  'GET /v1/audit/auditors',
  { summary: 'List auditors', answer: listSchema(auditorSchema) },
  async ({ caller: { organizationId } }, { deps: { context }, auth: { keyCache } }) => {
    const found = await listAuditors(context, keyCache.load, organizationId);
    const now = context.system.now().toISOString();
    return listOf(
      found.map((auditor) => serializeAuditor(auditor, now)),
      false,
      null,
    );
  },
);

export const getAuditorRoute = endpoint(
  'GET /v1/audit/auditors/:id',
  { summary: 'Get an auditor', answer: auditorSchema },
  async ({ caller: { organizationId }, id, reply }, { deps: { context } }) => {
    const { auditor, revision } = await loadAuditor(context, organizationId, id);
    setRevision(reply, revision);
    return serializeAuditor(auditor, context.system.now().toISOString());
  },
);

export const removeAuditorRoute = endpoint(
  'DELETE /v1/audit/auditors/:id',
  {
    summary: 'Remove an auditor',
    description: 'The token stops working within a second. The record of what the auditor read is kept.',
  },
  async ({ origin, id, request }, { deps: { context } }) => {
    await removeAuditor(context, origin, { auditorId: id, ...ifMatch(request) });
  },
);
