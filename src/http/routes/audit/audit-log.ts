import { z } from 'zod';
import { readWholeStream } from '../../../commands/execute.ts';
import { type Leaf, treeOf } from '../../../domain/audit/leaf.ts';
import type { Position } from '../../../domain/kernel/event-store.ts';
import { isId } from '../../../domain/kernel/ids.ts';
import { messageStream } from '../../../domain/kernel/streams.ts';
import { readYourWrites } from '../../consistency.ts';
import type { HttpDependencies } from '../../dependencies.ts';
import { endpoint } from '../../endpoint.ts';
import { decodeParts, encodeParts, invalidCursor } from '../../lists.ts';
import { type AuditEntry, auditEntrySchema } from '../../schemas/audit.ts';
import { listOf, listSchema } from '../../schemas/envelope.ts';
import type { RequestFacts } from '../../schemas/key-history.ts';
import { line, pageParameters, timeParameter } from '../../validation/fields.ts';
import { readRequestFacts } from '../api-keys/request-facts.ts';

const serializeEntry = (index: number, leaf: Leaf, facts: RequestFacts): AuditEntry => {
  const { actor, occurredAt, requestId, secret = null, session = null } = leaf.metadata;
  const [type = '', id = null] = actor.split(':', 2);
  return {
    object: 'audit_entry',
    leaf_index: index,
    event_id: leaf.id,
    type: leaf.type,
    occurred_at: occurredAt,
    actor: { type, id, secret, secret_last4: facts.secretLast4(leaf.metadata), session_id: session },
    address: facts.address(leaf.metadata),
    request_id: requestId,
    stream: leaf.stream,
    revision: leaf.revision,
    data: leaf.data,
  };
};

const FILTER_CHARACTERS_MAX = 100;
const filter = () => line(FILTER_CHARACTERS_MAX).optional();

const query = z.strictObject({
  ...pageParameters,
  order: z.enum(['asc', 'desc']).default('desc').describe('`desc`: newest first.'),
  actor: filter().describe(
    '`key:<id>`, `auditor:<id>`, `member:<id>`, `worker:<name>`, `operator`, `service` or `recipient`.',
  ),
  key_id: filter().describe('Events caused by this key or about it.'),
  domain_id: filter().describe('Events about this sending domain.'),
  message_id: filter().describe('Events about this message, including reads of it.'),
  type: filter().describe('Type of the events, such as `KeyRotated`.'),
  since: timeParameter().optional().describe('From this time on, or this day in the time zone of the organization.'),
  until: timeParameter().optional().describe('Before this time, or this day in the time zone of the organization.'),
});
type Query = z.infer<typeof query>;

const facetsOf = ({ actor, key_id: key, domain_id: domain, type }: Query): readonly string[] =>
  [
    actor === undefined ? '' : `actor:${actor}`,
    key === undefined ? '' : `key:${key}`,
    domain === undefined ? '' : `domain:${domain}`,
    type === undefined ? '' : `type:${type}`,
  ].filter((facet) => facet !== '');

/** Log positions of a message's events; empty if the message does not exist or belongs to another organization. */
const positionsOf = async ({ context }: HttpDependencies, tree: string, id: string): Promise<readonly Position[]> => {
  const events = isId('msg', id) ? await readWholeStream(context.store, messageStream(id)) : [];
  return events.filter((event) => treeOf(event) === tree).map(({ position }) => position);
};

const INDEX = /^(?:0|[1-9]\d{0,14})$/;

/** @throws {DomainError} `invalid_cursor`. */
const decodeIndex = (order: string, cursor: string | undefined): number | null => {
  if (cursor === undefined) return null;
  const [name, index = ''] = decodeParts(cursor, 2);
  if (name !== `audit:${order}` || !INDEX.test(index)) throw invalidCursor();
  return Number(index);
};

export const listAuditLogRoute = endpoint(
  'GET /v1/audit/log',
  {
    summary: 'List what happened in the organization',
    description:
      'Every event of the log as stored, in both environments. If a filter matches few events, a page may have fewer ' +
      'entries than its limit, or none, although `has_more` is true: continue with the cursor.',
    query,
    answer: listSchema(auditEntrySchema),
  },
  async ({ caller, query: by }, { deps }) => {
    const { organizationId: tree } = caller;
    const { message_id: messageId } = by;
    const after = decodeIndex(by.order, by.after);
    await readYourWrites(deps, ['audit']);
    const { leaves, next } = await deps.readModels.audit.search({
      tree,
      facets: facetsOf(by),
      message:
        messageId === undefined ? undefined : { id: messageId, positions: await positionsOf(deps, tree, messageId) },
      since: by.since,
      until: by.until,
      order: by.order,
      after,
      limit: by.limit,
    });
    const cursor = next === null ? null : encodeParts([`audit:${by.order}`, String(next)]);
    const contexts = leaves.map(({ parsed }) => parsed.metadata);
    const facts = await readRequestFacts(deps, caller, contexts);
    return listOf(
      leaves.map(({ index, parsed }) => serializeEntry(index, parsed, facts)),
      next !== null,
      cursor,
    );
  },
);
