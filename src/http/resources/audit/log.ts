import { createHash } from 'node:crypto';
import { pipeline, Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import { z } from 'zod';
import { noteExport } from '../../../commands/audit.ts';
import { readWholeStream } from '../../../commands/execute.ts';
import {
  BUNDLE_LEAVES,
  exportEndBegin,
  exportEndRest,
  exportHashes,
  exportHeader,
  type Leaf,
  treeOf,
} from '../../../domain/audit/leaf.ts';
import { DomainError } from '../../../domain/kernel/errors.ts';
import type { Position } from '../../../domain/kernel/event-store.ts';
import { isId } from '../../../domain/kernel/ids.ts';
import { messageStream } from '../../../domain/kernel/streams.ts';
import { replyPart, saltedParts } from '../../../domain/message/draft.ts';
import type { SmtpFacts } from '../../../domain/message/events.ts';
import {
  isKeptPart,
  isRemoved,
  type RemovedContent,
  type RemovedPart,
  type StoredBody,
} from '../../../domain/ports/contents.ts';
import { ORIGIN_DAYS } from '../../../domain/ports/requests.ts';
import { inTurns } from '../../../lib/async/async.ts';
import {
  leafHash,
  parseCheckpoint,
  parseNote,
  partLeaf,
  type SaltedPart,
  subtreesOf,
} from '../../../lib/transparency/transparency.ts';
import { requireSameInLog } from '../../compare-leaves.ts';
import type { HttpDependencies } from '../../dependencies.ts';
import { defineEndpoint, endpoint, type RouteContext } from '../../endpoint.ts';
import {
  idParameter,
  integerParameter,
  line,
  listOf,
  listSchema,
  pageParameters,
  timeParameter,
  timeSchema,
} from '../../fields.ts';
import { decodeParts, encodeParts, invalidCursor, readYourWrites } from '../../reading.ts';
import { recordReading } from '../../readings.ts';
import { type RequestFacts, readRequestFacts } from '../api-keys/key-events.ts';
import { requireShowable } from '../messages/message.ts';
import { type AuditEntry, auditEntrySchema, requireCheckpoint, requireEvent } from './checkpoints.ts';
import { auditWordFilters, type EntryNames, readNames, searchByWords } from './find-entries.ts';

const serializeEntry = (index: number, leaf: Leaf, facts: RequestFacts, names: EntryNames): AuditEntry => {
  const { actor, occurredAt, requestId, secret = null, session = null } = leaf.metadata;
  const [type = '', id = null] = actor.split(':', 2);
  return {
    object: 'audit_entry',
    leaf_index: index,
    event_id: leaf.id,
    type: leaf.type,
    action: names.action,
    occurred_at: occurredAt,
    actor: {
      type,
      id,
      name: names.actorName,
      secret,
      secret_last4: facts.secretLast4(leaf.metadata),
      session_id: session,
    },
    subject: names.subject,
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
  order: z.enum(['asc', 'desc']).default('desc').describe('`desc`: newest first. `asc`: oldest first.'),
  actor: filter().describe(
    '`key:<id>`, `auditor:<id>`, `member:<id>`, `worker:<name>`, `operator`, `service`, `recipient` or ' +
      '`link` (who has the link to an attachment).',
  ),
  key_id: idParameter('key').describe('Only events caused by this key or about it.'),
  domain_id: idParameter('domain').describe('Only events about this sending domain.'),
  message_id: idParameter('message').describe('Only events about this message, including reads of it.'),
  ...auditWordFilters(),
  since: timeParameter()
    .optional()
    .describe('Only events at or after this time, or from this day on (time zone of the organization).'),
  until: timeParameter()
    .optional()
    .describe('Only events before this time, or before this day (time zone of the organization).'),
});
type Query = z.infer<typeof query>;

const facetsOf = ({ actor, key_id: key, domain_id: domain }: Query): readonly string[] =>
  [
    actor === undefined ? '' : `actor:${actor}`,
    key === undefined ? '' : `key:${key}`,
    domain === undefined ? '' : `domain:${domain}`,
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
    summary: 'List audit log entries',
    description:
      'Returns the events of the log as they are stored, in both environments. With a filter that matches few events, a ' +
      'page can have fewer entries than `limit`, or none, although `has_more` is true: continue with the cursor.',
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
      ...(await searchByWords(deps, caller, by)),
      message:
        messageId === undefined ? undefined : { id: messageId, positions: await positionsOf(deps, tree, messageId) },
      since: by.since,
      until: by.until,
      order: by.order,
      after,
      limit: by.limit,
    });
    await requireSameInLog(deps.context, leaves);
    const cursor = next === null ? null : encodeParts([`audit:${by.order}`, String(next)]);
    const contexts = leaves.map(({ parsed }) => parsed.metadata);
    const facts = await readRequestFacts(deps, caller, contexts);
    const namesOf = await readNames(
      deps,
      caller,
      leaves.map(({ parsed }) => parsed),
    );
    return listOf(
      leaves.map(({ index, parsed }) => serializeEntry(index, parsed, facts, namesOf(parsed))),
      next !== null,
      cursor,
    );
  },
);

const MEDIA_TYPE = 'application/jsonl';
const SIZE_MAX = 2 ** 49;

const DESCRIPTION = `Returns JSON Lines, compressed with gzip if the client accepts it: a header, one line for each event with its leaf,
hashes after every 256 events, and the newest signed checkpoint at the end. A response without a checkpoint is
incomplete. \`outbox audit verify\` verifies an export without the service. Every export is itself recorded in
the log.`;

export const exportAuditLogRoute = (route: RouteContext): void => {
  const { deps, closing, largeAnswers } = route;
  const trees = deps.readModels.audit;

  /** Reads a bundle once the client has taken the one before: memory holds one. */
  async function* lines(tree: string, from: number, note: string): AsyncGenerator<string> {
    const { origin, size } = parseCheckpoint(parseNote(note).text);
    const digest = createHash('sha256');
    const line = (text: string): string => {
      digest.update(`${text}\n`);
      return `${text}\n`;
    };
    const subtrees = subtreesOf({ from: 0, to: from });
    const ranges = subtrees.map(({ level, index }) => ({ from: index * 2 ** level, to: (index + 1) * 2 ** level }));
    yield line(exportHeader({ edge: await trees.hashes(tree, ranges), from, origin, size }));
    for (let first = from; first < size; first += BUNDLE_LEAVES) {
      closing.throwIfAborted();
      const bundle = first / BUNDLE_LEAVES;
      const leaves = (await trees.leaves(tree, bundle, bundle + 1)).slice(0, size - first);
      const hashes = Buffer.concat(leaves.map(leafHash));
      yield leaves.map(line).join('') + line(exportHashes({ hashes, tile: bundle }));
    }
    const end = exportEndBegin(note);
    yield `${end}${exportEndRest(digest.update(end).digest('hex'))}\n`;
  }

  defineEndpoint(
    route,
    'GET /v1/audit/export',
    {
      summary: 'Export the audit log',
      description: DESCRIPTION,
      query: z.strictObject({
        from: integerParameter(0, SIZE_MAX)
          .default(0)
          .describe('Index of the first leaf. The export begins at the bundle of 256 leaves that contains it.'),
      }),
      answer: z.string(),
      mediaType: MEDIA_TYPE,
    },
    async ({ caller: { organizationId: tree }, query, origin, request, reply }) => {
      largeAnswers.beginExport(tree, reply);
      await readYourWrites(deps, ['audit']);
      const { size, note } = await requireCheckpoint(deps, tree, 'what you ask for', query.from);
      const from = query.from - (query.from % BUNDLE_LEAVES);
      await noteExport(deps.context, origin, { tree, from, to: size });
      reply.type(MEDIA_TYPE).header('vary', 'accept-encoding');
      reply.header('content-disposition', `attachment; filename="audit-${tree}-${from}-${size}.jsonl"`);
      const text = Readable.from(lines(tree, from, note));
      if (!/\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''))) return text;
      reply.header('content-encoding', 'gzip');
      // Either end of it ends the other. The answer breaks off, which is logged.
      return pipeline(text, createGzip(), () => undefined);
    },
  );
};

const partSchema = z.strictObject({
  name: z.string(),
  leaf: z
    .string()
    .nullable()
    .describe('The hashed data: `[salt, name, value]` as canonical JSON. null: the value was removed.'),
  hash: z.string().describe('Hash of the leaf (RFC 9162), in base64.'),
  removed: z
    .strictObject({ reason: z.enum(['expired', 'erased']), at: timeSchema(), erasure_id: z.string().nullable() })
    .nullable(),
});

const boundPartSchema = z
  .strictObject({ root: z.string().describe('Root hash recorded in the event, in base64.'), part: partSchema })
  .nullable();

const disclosureSchema = z
  .strictObject({
    object: z.literal('audit_disclosure'),
    event_id: z.string(),
    leaf_index: z.number().int(),
    content_root: z
      .string()
      .nullable()
      .describe('Root hash of the content recorded in the event, in base64. null: the event has no content.'),
    parts: z.array(partSchema).describe('The parts, in the order in which they form the root (RFC 9162).'),
    reply: boundPartSchema.describe(
      'Part `reply`: the reply of the mail server. Its hash is the root. null: there was no reply.',
    ),
    origin: boundPartSchema.describe(
      'Part `client`: the address and user agent that sent the request. Its hash is the root. null: not recorded for this kind of request.',
    ),
  })
  .meta({ id: 'AuditDisclosure' });

type Part = z.infer<typeof partSchema>;

const disclosed = (part: SaltedPart): Part => {
  const leaf = partLeaf(part);
  return { name: part.name, leaf, hash: leafHash(leaf).toString('base64'), removed: null };
};

const removedPart = ({ name, hash, later }: RemovedPart, record: RemovedContent): Part => {
  const removal = later ?? record;
  const erasureId = removal.kind === 'erased' ? removal.erasureId : null;
  return { name, leaf: null, hash, removed: { reason: removal.kind, at: removal.at, erasure_id: erasureId } };
};

const unavailable = (): DomainError =>
  new DomainError('unavailable', 'the contents of the event cannot be read at the moment: try again');

type BoundPart = z.infer<typeof boundPartSchema>;

/** @throws {DomainError} `unavailable` */
const bodyOf = async ({ context: { contents } }: HttpDependencies, id: string): Promise<StoredBody> => {
  const body = (await contents.get([id])).get(id);
  if (body === undefined) throw unavailable();
  return body;
};

/** @throws {DomainError} `unavailable`, `content_gone` */
const partsOf = async (body: StoredBody): Promise<readonly Part[]> => {
  if (isRemoved(body)) {
    const { parts = [] } = body;
    return parts.map((part) => (isKeptPart(part) ? disclosed(part) : removedPart(part, body)));
  }
  if (body.kind === 'message') requireShowable(body);
  const parts = body.kind === 'message' ? await inTurns(saltedParts(body)) : null;
  if (parts === null) throw unavailable();
  return parts.map(disclosed);
};

const contentOf = async (deps: HttpDependencies, { contentId, contentRoot }: Leaf['data']) =>
  typeof contentRoot === 'string'
    ? { content_root: contentRoot, parts: await partsOf(await bodyOf(deps, String(contentId))) }
    : { content_root: null, parts: [] };

/** @throws {DomainError} `unavailable` */
const replyOf = async (
  deps: HttpDependencies,
  { smtp }: { readonly smtp?: Partial<SmtpFacts> },
): Promise<BoundPart> => {
  const { replyId, replyRoot: root } = smtp ?? {};
  if (root === undefined) return null;
  const body = await bodyOf(deps, String(replyId));
  if (isRemoved(body)) return { root, part: removedPart({ name: 'reply', hash: root }, body) };
  const part = body.kind === 'reply' ? replyPart(body) : null;
  if (part === null) throw unavailable();
  return { root, part: disclosed(part) };
};

const DAY_MS = 24 * 60 * 60 * 1000;

const originOf = async ({ requestOrigins }: HttpDependencies, { metadata }: Leaf): Promise<BoundPart> => {
  const { organizationId, originId = '', originRoot: root, occurredAt } = metadata;
  if (root === undefined) return null;
  const part = await requestOrigins.partOf(organizationId, originId);
  if (part !== null) return { root, part: disclosed(part) };
  // Nothing but its time removes it.
  const at = new Date(Date.parse(occurredAt) + ORIGIN_DAYS * DAY_MS).toISOString();
  return { root, part: removedPart({ name: 'client', hash: root }, { kind: 'expired', at }) };
};

export const getDisclosureRoute = endpoint(
  'GET /v1/audit/disclosures/:id',
  {
    summary: 'Disclose the content of an event',
    large: true,
    description:
      'Returns the content that the event commits to by hash, such as the recipients and the subject. Pass the `event_id` ' +
      'of an audit entry, or the id of a customer event (`evt_…`). The hashes of the parts form the `content_root` of the ' +
      'event, so you can show each part separately. For a removed part only its hash is returned. Each disclosure is ' +
      'recorded as `DataRead`.',
    answer: disclosureSchema,
    etag: false,
  },
  async ({ caller, id, origin, request }, { deps }) => {
    const found = await requireEvent(deps, caller.organizationId, id);
    const { parsed, index } = found;
    const content = await contentOf(deps, parsed.data);
    const reply = await replyOf(deps, parsed.data);
    if (content.content_root !== null || reply !== null) {
      const subjectId = String(parsed.data.messageId);
      await recordReading(deps, { origin, request }, { what: 'message_content', subjectId });
    }
    return {
      object: 'audit_disclosure',
      event_id: parsed.id,
      leaf_index: index,
      ...content,
      reply,
      origin: await originOf(deps, parsed),
    };
  },
);
