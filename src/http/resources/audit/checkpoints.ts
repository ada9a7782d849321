import { z } from 'zod';
import { LogContradiction, loadAuditLog, signCheckpoint } from '../../../commands/audit.ts';
import { load } from '../../../commands/execute.ts';
import type { Caller } from '../../../domain/api-key/caller.ts';
import { clientNetworkOf } from '../../../domain/kernel/addresses.ts';
import { DomainError } from '../../../domain/kernel/errors.ts';
import { isId } from '../../../domain/kernel/ids.ts';
import { organizationStream } from '../../../domain/kernel/streams.ts';
import { organization } from '../../../domain/organization/organization.ts';
import type { FoundLeaf } from '../../../domain/ports/requests.ts';
import { acceptedIn } from '../../../lib/http/http.ts';
import {
  consistencyRanges,
  inclusionRanges,
  parseCheckpoint,
  parseNote,
  parseVerifierKey,
  policyText,
} from '../../../lib/transparency/transparency.ts';
import { encodeEntries, parseTilePath, TILE_WIDTH, type TileName } from '../../../projections/audit/tiles.ts';
import type { StoredCheckpoint } from '../../../projections/audit/tree.ts';
import { requireConsistent, requireIncluded, requireSameInLog } from '../../compare-leaves.ts';
import type { HttpDependencies } from '../../dependencies.ts';
import { endpoint, type RouteContext, routeSchema } from '../../endpoint.ts';
import { integerParameter, listOf, listSchema, pageParameters, timeSchema } from '../../fields.ts';
import { decodeParts, encodeParts, invalidCursor, readYourWrites } from '../../reading.ts';
import { addressSchema } from '../api-keys/key-events.ts';
import { auditSubjectSchema } from './actions.ts';

/** The audit log, its signed checkpoints, and proofs. */

export const auditEntrySchema = z
  .strictObject({
    object: z.literal('audit_entry'),
    leaf_index: z.number().int().describe('Index in the tree, from 0.'),
    event_id: z.string(),
    type: z.string(),
    action: z.string().describe('The action in words: `invited a member`.'),
    occurred_at: timeSchema(),
    actor: z.strictObject({
      type: z.string(),
      id: z.string().nullable(),
      name: z
        .string()
        .nullable()
        .describe('Name of the member, auditor or key. null: it has none, or it is no longer stored.'),
      secret: z
        .number()
        .int()
        .nullable()
        .describe(
          'Number of the secret that was used, from 1; each rotation creates the next one. null: the actor is not an API key.',
        ),
      secret_last4: z.string().nullable().describe('Last four characters of that secret.'),
      session_id: z.string().nullable().describe('Session of the member. null: the actor is not a member.'),
    }),
    subject: auditSubjectSchema.nullable().describe('Subject of the event. null: the organization as a whole.'),
    address: addressSchema(),
    request_id: z.string().nullable(),
    stream: z.string().describe('Log stream that contains the event, such as `apiKey-<id>`.'),
    revision: z.number().int().describe('Position in the stream, from 0, without gaps.'),
    data: z.record(z.string(), z.unknown()).describe('The data of the event, as stored.'),
  })
  .meta({ id: 'AuditEntry' });

export type AuditEntry = z.infer<typeof auditEntrySchema>;

const auditCheckpointSchema = z
  .strictObject({
    object: z.literal('audit_checkpoint'),
    origin: z.string().describe('Name of the tree.'),
    size: z.number().int().describe('Number of leaves that the checkpoint covers, counted from the first.'),
    root_hash: z.string().describe('Root of the Merkle tree of these leaves (RFC 9162), in base64.'),
    note: z.string().describe('The signed note (C2SP signed-note, tlog-checkpoint).'),
    verifier_key: z.string().describe('The public key that signed it (C2SP signed-note). Keep the first that you see.'),
    signed_at: timeSchema(),
  })
  .meta({ id: 'AuditCheckpoint' });

export type AuditCheckpoint = z.infer<typeof auditCheckpointSchema>;

const auditProofSchema = z
  .strictObject({
    object: z.literal('audit_proof'),
    event_id: z.string().describe('Id of the event, as in the audit entry.'),
    leaf_index: z.number().int(),
    leaf: z.string().describe('The hashed data: a line of canonical JSON (RFC 8785).'),
    hashes: z.array(z.string()).describe('Proof of inclusion (RFC 9162 §2.1.3), in base64, from the leaf upwards.'),
    checkpoint: z.string().describe('The signed note that the proof refers to.'),
  })
  .meta({ id: 'AuditProof' });

export type AuditProof = z.infer<typeof auditProofSchema>;

const auditConsistencySchema = z
  .strictObject({
    object: z.literal('audit_consistency'),
    from: z.strictObject({ size: z.number().int(), root_hash: z.string() }),
    to: z.strictObject({ size: z.number().int(), root_hash: z.string() }),
    hashes: z.array(z.string()).describe('Proof of consistency (RFC 9162 §2.1.4), in base64.'),
    checkpoint: z.string().describe('The newest signed note.'),
  })
  .meta({ id: 'AuditConsistency' });

export type AuditConsistency = z.infer<typeof auditConsistencySchema>;

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
    summary: 'List signed checkpoints',
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
  new DomainError(
    'not_signed_yet',
    `${what} is not covered by a signed checkpoint yet: try again in a minute, or sign one with POST /v1/audit/checkpoints`,
    {
      retryAfterSeconds: RETRY_AFTER_SECONDS,
    },
  );

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
      'Signs a checkpoint that covers all events so far. While there are new events, one is also signed automatically every minute.',
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

export const base64 = (hashes: readonly Buffer[]): string[] => hashes.map((hash) => hash.toString('base64'));

/** A proof in the form of C2SP tlog-proof. */
const proofText = (index: number, hashes: readonly Buffer[], note: string): string =>
  ['c2sp.org/tlog-proof@v1', `index ${index}`, ...base64(hashes), '', note].join('\n');

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const uuidsIn = (id: string): readonly string[] => (UUID.test(id) ? [id] : []);

/**
 * The event of an audit entry, by its id or by that of a customer event that it made.
 * @throws {DomainError} `not_found`: it is not in this tree; `unavailable`: its leaf differs from the log.
 */
export const requireEvent = async (deps: HttpDependencies, tree: string, id: string): Promise<FoundLeaf> => {
  const { audit } = deps.readModels;
  await readYourWrites(deps, ['audit']);
  const found = isId('evt', id)
    ? await audit.findCustomerEvent(tree, id)
    : (await audit.findAll(tree, uuidsIn(id))).get(id);
  if (found === undefined || found === null) throw new DomainError('not_found', 'event not found');
  await requireSameInLog(deps.context, [found]);
  return found;
};

export const getAuditProofRoute = endpoint(
  'GET /v1/audit/proof/:id',
  {
    summary: 'Get the inclusion proof of an event',
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
    requireIncluded(found, hashes, note);
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
    summary: 'Get a consistency proof',
    description:
      'Proves that events were only added to the log between two sizes, such as those of two checkpoints: no earlier event was changed or removed. `to` defaults to the size of the newest checkpoint.',
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
        details: { from: ['from must not be greater than to'] },
      });
    }
    const roots = [from, until].map((to) => ({ from: 0, to }));
    const proof = consistencyRanges(from, until);
    const all = await deps.readModels.audit.hashes(tree, [...roots, ...proof, ...consistencyRanges(until, size)]);
    const [before, after] = all as [Buffer, Buffer];
    const hashes = all.slice(roots.length, roots.length + proof.length);
    requireConsistent([from, before], [until, after], hashes);
    requireConsistent(
      [until, after],
      [size, parseCheckpoint(parseNote(note).text).root],
      all.slice(roots.length + proof.length),
    );
    return {
      object: 'audit_consistency',
      from: { size: from, root_hash: before.toString('base64') },
      to: { size: until, root_hash: after.toString('base64') },
      hashes: base64(hashes),
      checkpoint: note,
    };
  },
);

/**
 * The audit log as a transparency log (C2SP tlog-tiles), up to the last signed size, for those who may read it; and the key
 * that signs it, as a trust policy (C2SP tlog-policy) for everybody.
 */

const HASH_BYTES = 32;

const named = (params: unknown): string => (params as { readonly organization: string }).organization;

/** The tree of the caller, whose organization the path names. @throws {DomainError} `not_found`, `other_organization`. */
const treeOf = async (
  { context: { store } }: Pick<HttpDependencies, 'context'>,
  { organizationId }: Caller,
  id: string,
): Promise<string> => {
  if (id === organizationId) return id;
  const { state } = isId('org', id)
    ? await load(store, organization, organizationStream(id))
    : { state: organization.initial };
  if (state.status === 'absent') throw new DomainError('not_found', 'audit log not found');
  throw new DomainError('other_organization', 'this audit log belongs to another organization');
};

export const getTlogCheckpointRoute = endpoint(
  'GET /v1/audit/tlog/:organization/checkpoint',
  {
    summary: 'Get the newest checkpoint of a transparency log',
    description: 'Returns a signed note (C2SP tlog-tiles, tlog-checkpoint). Tiles are served up to its size.',
    answer: z.string(),
    mediaType: 'text/plain',
    etag: false,
  },
  async ({ caller, request, reply }, { deps }) => {
    const tree = await treeOf(deps, caller, named(request.params));
    await readYourWrites(deps, ['audit']);
    const { note } = await requireCheckpoint(deps, tree, 'the organization');
    reply.type('text/plain; charset=utf-8').header('cache-control', 'no-cache');
    return note;
  },
);

/** Number of hashes or entries in a tile of a tree with `size` leaves. */
const widthOf = ({ level, tile }: TileName, size: number): number =>
  Math.min(TILE_WIDTH, Math.floor(size / TILE_WIDTH ** (level === 'entries' ? 0 : level)) - tile * TILE_WIDTH);

const bytesOf = async (
  { readModels: { audit } }: HttpDependencies,
  tree: string,
  { level, tile, width }: TileName,
): Promise<Buffer> => {
  if (level !== 'entries') return (await audit.tile(tree, { level, tile })).subarray(0, width * HASH_BYTES);
  return encodeEntries((await audit.leaves(tree, tile, tile + 1)).slice(0, width));
};

export const getTlogTileRoute = endpoint(
  'GET /v1/audit/tlog/:organization/tile/*',
  {
    summary: 'Get a tile of a transparency log',
    description:
      'Returns the hashes of a level (`tile/<level>/<index>`) or the leaves (`tile/entries/<index>`), complete or up to a ' +
      'width (`.p/<width>`), named as in C2SP tlog-tiles. The contents of a tile never change.',
    answer: z.string(),
    mediaType: 'application/octet-stream',
    etag: false,
  },
  async ({ caller, request, reply }, { deps }) => {
    const tree = await treeOf(deps, caller, named(request.params));
    const name = parseTilePath(`tile/${(request.params as { readonly '*': string })['*']}`);
    const [checkpoint] = await deps.readModels.audit.checkpoints({ tree, limit: 1 });
    if (name === null || name.width > widthOf(name, checkpoint?.size ?? 0))
      throw new DomainError('not_found', 'tile not found');
    reply.type('application/octet-stream').header('cache-control', 'private, max-age=31536000, immutable');
    return bytesOf(deps, tree, name);
  },
);

/** A network asks once a day. */
const POLICY_REQUESTS_MAX = 60;

export const getTlogPolicyRoute = ({ server, deps, auth, operationId }: RouteContext): void => {
  const name = 'GET /.well-known/outbox-audit/:organization';
  const schema = routeSchema(operationId, name, {
    summary: 'Get the signing key of an audit log',
    description:
      'Returns a trust policy (C2SP tlog-policy) that verifiers accept unchanged. It is public. It names the key of the log, ' +
      'the witnesses that cosign, and how many of them must. Keep the first policy that you receive: its `log` lines change ' +
      'only if an event of the log gives the reason.',
    answer: z.string(),
    mediaType: 'text/plain',
  });
  server.get('/.well-known/outbox-audit/:organization', { schema }, async (request, reply) => {
    const network = clientNetworkOf(request.ip);
    const { allowed, retryAfterSeconds } = await auth.rateLimiter.take(`policy:${network}`, 1, POLICY_REQUESTS_MAX);
    if (!allowed) {
      throw new DomainError('rate_limit_exceeded', 'too many requests from this address: try again later', {
        retryAfterSeconds: Math.max(1, retryAfterSeconds),
      });
    }
    const id = named(request.params);
    const { signing, former } = isId('org', id)
      ? (await loadAuditLog(deps.context, id)).state
      : { signing: null, former: null };
    if (signing === null) throw new DomainError('not_found', 'audit log not found');
    const keys = former === null ? [signing.key] : [former, signing.key];
    // Both keys sign the checkpoint that replaces a key, so keeping the former one in the policy is safe.
    reply.type('text/plain; charset=utf-8').header('cache-control', 'public, max-age=300');
    return policyText({ ...deps.witnessPolicy, logs: keys.map(({ vkey }) => parseVerifierKey(vkey)) });
  });
};
