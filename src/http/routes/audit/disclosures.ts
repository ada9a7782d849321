import { z } from 'zod';
import { inTurns } from '../../../async/turns.ts';
import { noteReading } from '../../../commands/audit.ts';
import type { Caller } from '../../../domain/api-key/key-authority.ts';
import { partLeaf, type SaltedPart } from '../../../domain/audit/content-proof.ts';
import { leafHash } from '../../../domain/audit/merkle-tree.ts';
import { DomainError } from '../../../domain/domain-error.ts';
import { saltedParts } from '../../../domain/message/content-parts.ts';
import {
  isKeptPart,
  isRemoved,
  type RemovedContent,
  type RemovedPart,
  type StoredBody,
} from '../../../domain/ports/contents.ts';
import { endpoint } from '../../endpoint.ts';
import { timeSchema } from '../../schemas/envelope.ts';
import { requireEvent } from './checkpoints.ts';

const partSchema = z.strictObject({
  name: z.string(),
  leaf: z
    .string()
    .nullable()
    .describe('What is hashed: `[salt, name, value]` as canonical JSON; null: it was removed.'),
  hash: z.string().describe('Of the leaf (RFC 9162), in base64.'),
  removed: z
    .strictObject({ reason: z.enum(['expired', 'erased']), at: timeSchema(), erasure_id: z.string().nullable() })
    .nullable(),
});

const disclosureSchema = z
  .strictObject({
    object: z.literal('audit_disclosure'),
    event_id: z.string(),
    leaf_index: z.number().int(),
    content_root: z.string().nullable().describe('As the event says it, in base64; null: it is bound to no content.'),
    parts: z.array(partSchema).describe('In the order in which the root is made of them (RFC 9162).'),
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

/** @throws {DomainError} `unavailable` */
const partsOf = async (body: StoredBody | undefined): Promise<readonly Part[]> => {
  if (body === undefined) throw unavailable();
  if (isRemoved(body)) {
    const { parts = [] } = body;
    return parts.map((part) => (isKeptPart(part) ? disclosed(part) : removedPart(part, body)));
  }
  const parts = body.kind === 'message' ? await inTurns(saltedParts(body)) : null;
  if (parts === null) throw unavailable();
  return parts.map(disclosed);
};

/** Who may see contents: keys with `admin`, and auditors who were given that. @throws {DomainError} `permission_missing` */
const requireContents = ({ auditor }: Caller): void => {
  if (auditor?.contents === false) {
    throw new DomainError('permission_missing', 'contents are not disclosed to this auditor');
  }
};

export const getDisclosureRoute = endpoint(
  'GET /v1/audit/disclosures/:id',
  {
    summary: 'Disclose the content that an event is bound to',
    description:
      'By the `event_id` of an audit entry, or by the id of a customer event, `evt_…`. The hashes of the parts make the ' +
      '`content_root` of the event, and each part can be shown alone. What was removed is a hash. Each disclosure is on record as `DataRead`.',
    answer: disclosureSchema,
    etag: false,
  },
  async ({ caller, id, origin }, { deps }) => {
    requireContents(caller);
    const found = await requireEvent(deps, caller.organizationId, id);
    const { contentId, contentRoot, messageId } = found.parsed.data;
    const answer = { object: 'audit_disclosure', event_id: found.parsed.id, leaf_index: found.index };
    if (typeof contentRoot !== 'string') return { ...answer, content_root: null, parts: [] };
    const parts = await partsOf((await deps.context.contents.get([String(contentId)])).get(String(contentId)));
    await noteReading(deps.context, origin, { what: 'message_content', subjectId: String(messageId) });
    return { ...answer, content_root: contentRoot, parts };
  },
);
