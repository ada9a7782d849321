import { z } from 'zod';
import { LogContradiction, signCheckpoint } from '../../../commands/audit.ts';
import { DomainError } from '../../../domain/kernel/errors.ts';
import { isId } from '../../../domain/kernel/ids.ts';
import type { FoundLeaf } from '../../../domain/ports/audit-trees.ts';
import {
  consistencyRanges,
  inclusionRanges,
  parseCheckpoint,
  parseNote,
} from '../../../lib/transparency/transparency.ts';
import type { StoredCheckpoint } from '../../../projections/audit/tree.ts';
import { acceptedIn } from '../../accept.ts';
import { readYourWrites } from '../../consistency.ts';
import type { HttpDependencies } from '../../dependencies.ts';
import { endpoint } from '../../endpoint.ts';
import { decodeParts, encodeParts, invalidCursor } from '../../lists.ts';
import {
  type AuditCheckpoint,
  auditCheckpointSchema,
  auditConsistencySchema,
  auditProofSchema,
} from '../../schemas/audit.ts';
import { listOf, listSchema } from '../../schemas/envelope.ts';
import { integerParameter, pageParameters } from '../../validation/fields.ts';

const serializeCheckpoint = ({ note, vkey, signedAt }: StoredCheckpoint): AuditCheckpoint => {
  const { origin, size, root } = parseCheckpoint(parseNote(note).text);
  return {
    object: 'audit_checkpoint',
    origin,
    size,
    root_hash: root.toString('base64'),
    note,
    verifier_key: vkey,
    signed_at: signedAt,
  };
};

const SIZE_MAX = 2 ** 49;
const SIZE = /^[1-9]\d{0,14}$/;

/** @throws {DomainError} `invalid_cursor`. */
const decodeSize = (cursor: string | undefined): number | undefined => {
  if (cursor === undefined) return undefined;
  const [name, size = ''] = decodeParts(cursor, 2);
  if (name !== 'checkpoints' || !SIZE.test(size)) throw invalidCursor();
  return Number(size);
};

export const listCheckpointsRoute = endpoint(
  'GET /v1/audit/checkpoints',
  {
    summary: 'List signed checkpoints, newest first',
    query: z.strictObject(pageParameters),
    answer: listSchema(auditCheckpointSchema),
  },
  async ({ caller: { organizationId: tree }, query: { limit, after } }, { deps }) => {
    const below = decodeSize(after);
    await readYourWrites(deps, ['audit']);
    const found = await deps.readModels.audit.checkpoints({
      tree,
      limit: limit + 1,
      ...(below !== undefined && { below }),
    });
    const page = found.slice(0, limit);
    const hasMore = found.length > limit;
    const cursor = hasMore ? encodeParts(['checkpoints', String(page.at(-1)?.size)]) : null;
    return listOf(page.map(serializeCheckpoint), hasMore, cursor);
  },
);

const RETRY_AFTER_SECONDS = 60;

const unsigned = (what: string): DomainError =>
  new DomainError('not_signed_yet', `${what} is not in a signed checkpoint yet`, {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });

/** The newest checkpoint of a tree that is about more than so many leaves. @throws {DomainError} `not_signed_yet`. */
export const requireCheckpoint = async (
  { readModels }: Pick<HttpDependencies, 'readModels'>,
  tree: string,
  what: string,
  moreThan = 0,
): Promise<StoredCheckpoint> => {
  const [checkpoint] = await readModels.audit.checkpoints({ tree, limit: 1 });
  if (checkpoint === undefined || checkpoint.size <= moreThan) throw unsigned(what);
  return checkpoint;
};

const signingStopped = (error: unknown): never => {
  throw error instanceof LogContradiction ? new DomainError('signing_stopped', error.message) : error;
};

export const createCheckpointRoute = endpoint(
  'POST /v1/audit/checkpoints',
  {
    summary: 'Sign a checkpoint now',
    description:
      'Covers all events so far. A checkpoint is also signed automatically every minute while there are new events.',
    answer: auditCheckpointSchema,
  },
  async ({ caller: { organizationId: tree }, origin }, { deps }) => {
    await readYourWrites(deps, ['audit']);
    const { host } = new URL(deps.publicUrl);
    await signCheckpoint(deps.context, { tree, trees: deps.readModels.audit, host, origin }).catch(signingStopped);
    await readYourWrites(deps, ['audit']);
    return serializeCheckpoint(await requireCheckpoint(deps, tree, 'the organization'));
  },
);

const PROOF = 'text/plain';

const base64 = (hashes: readonly Buffer[]): string[] => hashes.map((hash) => hash.toString('base64'));

/** A proof in the form of C2SP tlog-proof. */
const proofText = (index: number, hashes: readonly Buffer[], note: string): string =>
  ['c2sp.org/tlog-proof@v1', `index ${index}`, ...base64(hashes), '', note].join('\n');

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const uuidsIn = (id: string): readonly string[] => (UUID.test(id) ? [id] : []);

/**
 * The event of an audit entry, by its id or by that of a customer event that it made.
 * @throws {DomainError} `not_found`: it is not in this tree.
 */
export const requireEvent = async (deps: HttpDependencies, tree: string, id: string): Promise<FoundLeaf> => {
  const { audit } = deps.readModels;
  await readYourWrites(deps, ['audit']);
  const found = isId('evt', id)
    ? await audit.findCustomerEvent(tree, id)
    : (await audit.findAll(tree, uuidsIn(id))).get(id);
  if (found === undefined || found === null) throw new DomainError('not_found', 'event not found');
  return found;
};

export const getAuditProofRoute = endpoint(
  'GET /v1/audit/proof/:id',
  {
    summary: 'Prove that an event is in the log',
    description:
      'Accepts the `event_id` of an audit entry, or the id of a customer event, `evt_…`, as in `GET /v1/events` and webhooks. ' +
      `With \`Accept: ${PROOF}\` the response is a C2SP tlog-proof. If no checkpoint covers the event yet, the response is ` +
      '409: try again after a minute, or sign a checkpoint.',
    answer: auditProofSchema,
    etag: false,
    otherMediaTypes: [PROOF],
  },
  async ({ caller: { organizationId: tree }, id, request, reply }, { deps }) => {
    const found = await requireEvent(deps, tree, id);
    const { size, note } = await requireCheckpoint(deps, tree, 'the event', found.index);
    const hashes = await deps.readModels.audit.hashes(tree, inclusionRanges(found.index, size));
    reply.header('vary', 'accept');
    if (acceptedIn(request.headers.accept)[0] === PROOF) {
      reply.type(`${PROOF}; charset=utf-8`);
      return proofText(found.index, hashes, note);
    }
    return {
      object: 'audit_proof',
      event_id: found.parsed.id,
      leaf_index: found.index,
      leaf: found.leaf,
      hashes: base64(hashes),
      checkpoint: note,
    };
  },
);

export const getConsistencyProofRoute = endpoint(
  'GET /v1/audit/consistency',
  {
    summary: 'Prove that the log was only added to',
    description:
      'Proof between two sizes, such as those of two checkpoints. Default of `to`: the size of the newest checkpoint.',
    query: z.strictObject({
      from: integerParameter(1, SIZE_MAX).describe('The smaller size.'),
      to: integerParameter(1, SIZE_MAX).optional().describe('The larger size.'),
    }),
    answer: auditConsistencySchema,
  },
  async ({ caller: { organizationId: tree }, query: { from, to } }, { deps }) => {
    await readYourWrites(deps, ['audit']);
    const { size, note } = await requireCheckpoint(deps, tree, `a log of ${to ?? from} events`, (to ?? from) - 1);
    const until = to ?? size;
    if (from > until) {
      throw new DomainError('invalid_request', 'from is larger than to', {
        details: { from: ['from must not be larger than to'] },
      });
    }
    const ranges = [{ from: 0, to: from }, { from: 0, to: until }, ...consistencyRanges(from, until)];
    const [before, after, ...hashes] = base64([...(await deps.readModels.audit.hashes(tree, ranges))]);
    return {
      object: 'audit_consistency',
      from: { size: from, root_hash: before },
      to: { size: until, root_hash: after },
      hashes,
      checkpoint: note,
    };
  },
);
