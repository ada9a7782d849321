import { z } from 'zod';
import { addSuppressions } from '../../../commands/suppression/add-suppressions.ts';
import type { RecordedSuppression } from '../../../commands/suppression/record-suppression.ts';
import { DomainError } from '../../../domain/domain-error.ts';
import { bodyOf } from '../../bodies/json-bodies.ts';
import { defineEndpoint, type RouteContext } from '../../endpoint.ts';
import { addedSuppressionsShape, showSuppressions, suppressionShape } from '../../schemas/suppression.ts';
import { atMost } from '../../validation/at-most.ts';
import type { Problem } from '../../validation/wording.ts';
import { addressField, distinct, suppressionFields } from './suppression-fields.ts';

/** Each costs a read and an append; whoever has more imports them. */
const ADDRESSES_MAX = 1000;
/** Of as many addresses as long as they can be. */
const BODY_BYTES_MAX = 500_000;
const DEADLINE_MS = 30_000;

const body = z.strictObject({
  address: addressField().optional().describe('One address; or several, in `addresses`.'),
  addresses: atMost(ADDRESSES_MAX, z.array(addressField()).min(1).max(ADDRESSES_MAX))
    .optional()
    .describe('Several, all for the same reason.'),
  ...suppressionFields,
});

const DESCRIPTION = `One \`address\` is answered with its suppression, several \`addresses\` with what became of each. An address that is on
the list already stays there, and can be given another \`expires_at\`. Several are not one transaction: after a fault, send
the same again.`;

const given = z.object({ address: z.unknown(), addresses: z.unknown(), expires_at: suppressionFields.expires_at });

/** What no schema of one field sees. */
const problemsWith = (sent: unknown, now: string): readonly Problem[] => {
  const { data } = given.partial().safeParse(sent);
  if (data === undefined) return [];
  const { address, addresses, expires_at: expiresAt = null } = data;
  return [
    ...(address === undefined && addresses === undefined ? [['address', 'address is required'] as const] : []),
    ...(address !== undefined && addresses !== undefined
      ? [['addresses', 'addresses must not stand beside address'] as const]
      : []),
    ...(expiresAt !== null && expiresAt <= now ? [['expires_at', 'expires_at must be in the future'] as const] : []),
  ];
};

const requireAll = (results: readonly (RecordedSuppression | DomainError)[]): readonly RecordedSuppression[] =>
  results.map((result) => {
    if (result instanceof DomainError) throw result;
    return result;
  });

export const addSuppressionsRoute = (route: RouteContext): void => {
  const { context } = route.deps;
  const now = (): string => context.system.now().toISOString();

  defineEndpoint(
    route,
    'POST /v1/suppressions',
    {
      summary: 'Put one address or several on the list',
      description: DESCRIPTION,
      body,
      examples: {
        One: { address: 'ann@example.net', note: 'Asked for it by telephone' },
        'Several, for a while, of bulk mail': {
          addresses: ['ann@example.net', 'bob@example.org'],
          scope: 'bulk',
          expires_at: '2099-12-31T23:59:59Z',
        },
      },
      answer: z.union([suppressionShape, addedSuppressionsShape]),
      bounds: bodyOf(BODY_BYTES_MAX),
      deadlineMs: DEADLINE_MS,
      etag: false,
      problems: (sent) => problemsWith(sent, now()),
    },
    async ({ caller: { environment }, origin, body: asked, reply }) => {
      const { address, addresses = [], scope, expires_at: expiresAt, note } = asked;
      const wanted = distinct(address === undefined ? addresses : [address]);
      const about = { environment, reason: 'manual', scope, expiresAt, text: note } as const;
      const results = requireAll(
        await addSuppressions(
          context,
          origin,
          wanted.map((one) => ({ ...about, address: one })),
        ),
      );
      const data = await showSuppressions(
        context.contents,
        results.map(({ suppression }) => suppression),
        now(),
      );
      const [only] = data;
      if (address !== undefined && only !== undefined) {
        reply.header('location', `/v1/suppressions/${only.id}`);
        return only;
      }
      reply.header('location', '/v1/suppressions');
      const added = results.filter((result) => result.added).length;
      return { object: 'suppressions_added', added, unchanged: results.length - added, data };
    },
  );
};
