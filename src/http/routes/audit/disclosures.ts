import { z } from 'zod';
import { noteReading } from '../../../commands/audit.ts';
import type { Leaf } from '../../../domain/audit/leaf.ts';
import { DomainError } from '../../../domain/kernel/errors.ts';
import { replyPart, saltedParts } from '../../../domain/message/content-parts.ts';
import type { SmtpFacts } from '../../../domain/message/events.ts';
import {
  isKeptPart,
  isRemoved,
  type RemovedContent,
  type RemovedPart,
  type StoredBody,
} from '../../../domain/ports/contents.ts';
import { ORIGIN_DAYS } from '../../../domain/ports/request-origins.ts';
import { inTurns } from '../../../lib/async/async.ts';
import { leafHash, partLeaf, type SaltedPart } from '../../../lib/transparency/transparency.ts';
import type { HttpDependencies } from '../../dependencies.ts';
import { endpoint } from '../../endpoint.ts';
import { timeSchema } from '../../schemas/envelope.ts';
import { requireShowable } from '../../schemas/message-content.ts';
import { requireEvent } from './checkpoints.ts';

const partSchema = z.strictObject({
  name: z.string(),
  leaf: z
    .string()
    .nullable()
    .describe('The hashed data: `[salt, name, value]` as canonical JSON; null: it was removed.'),
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
      .describe('Root hash of the content recorded in the event, in base64; null: the event has no content.'),
    parts: z.array(partSchema).describe('In the order in which they form the root (RFC 9162).'),
    reply: boundPartSchema.describe(
      'Reply of the mail server, `reply`: the root is its hash. null: there was no reply.',
    ),
    origin: boundPartSchema.describe(
      'Origin of the request, `client`: address and user agent. The root is its hash. null: not recorded for such requests.',
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
  new DomainError('unavailable', 'the contents of the event cannot be read just now');

type Bound = z.infer<typeof boundPartSchema>;

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
const replyOf = async (deps: HttpDependencies, { smtp }: { readonly smtp?: Partial<SmtpFacts> }): Promise<Bound> => {
  const { replyId, replyRoot: root } = smtp ?? {};
  if (root === undefined) return null;
  const body = await bodyOf(deps, String(replyId));
  if (isRemoved(body)) return { root, part: removedPart({ name: 'reply', hash: root }, body) };
  const part = body.kind === 'reply' ? replyPart(body) : null;
  if (part === null) throw unavailable();
  return { root, part: disclosed(part) };
};

const DAY_MS = 24 * 60 * 60 * 1000;

const originOf = async ({ requestOrigins }: HttpDependencies, { metadata }: Leaf): Promise<Bound> => {
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
    summary: 'Disclose the content that an event is bound to',
    large: true,
    description:
      'Accepts the `event_id` of an audit entry, or the id of a customer event, `evt_…`. The hashes of the parts form the ' +
      '`content_root` of the event, and each part can be shown separately. For removed parts only the hash is returned. ' +
      'Each disclosure is recorded as `DataRead`.',
    answer: disclosureSchema,
    etag: false,
  },
  async ({ caller, id, origin }, { deps }) => {
    const found = await requireEvent(deps, caller.organizationId, id);
    const { parsed, index } = found;
    const content = await contentOf(deps, parsed.data);
    const reply = await replyOf(deps, parsed.data);
    if (content.content_root !== null || reply !== null) {
      await noteReading(deps.context, origin, { what: 'message_content', subjectId: String(parsed.data.messageId) });
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
