import { z } from 'zod';
import { loadAuditLog } from '../../../commands/audit.ts';
import { load } from '../../../commands/execute.ts';
import type { Caller } from '../../../domain/api-key/key-authority.ts';
import { clientNetworkOf } from '../../../domain/kernel/addresses.ts';
import { DomainError } from '../../../domain/kernel/errors.ts';
import { isId } from '../../../domain/kernel/ids.ts';
import { organizationStream } from '../../../domain/kernel/streams.ts';
import { organization } from '../../../domain/organization/organization.ts';
import { parseVerifierKey, policyText } from '../../../lib/transparency/transparency.ts';
import { encodeEntries, parseTilePath, TILE_WIDTH, type TileName } from '../../../projections/audit/tiles.ts';
import { readYourWrites } from '../../consistency.ts';
import type { HttpDependencies } from '../../dependencies.ts';
import { endpoint, type RouteContext } from '../../endpoint.ts';
import { routeSchema } from '../../openapi/operation.ts';
import { requireCheckpoint } from './checkpoints.ts';

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
  throw new DomainError('other_organization', 'audit log belongs to another organization');
};

export const getTlogCheckpointRoute = endpoint(
  'GET /v1/audit/tlog/:organization/checkpoint',
  {
    summary: 'Read the newest checkpoint, as a transparency log',
    description: 'A signed note (C2SP tlog-tiles, tlog-checkpoint). Tiles are served up to its size.',
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
    summary: 'Read a tile of the audit log, as a transparency log',
    description:
      'Hashes of a level (`tile/<level>/<index>`) or leaves (`tile/entries/<index>`), whole or up to a width (`.p/<width>`), ' +
      'with the names of C2SP tlog-tiles. The contents of a tile never change.',
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
    summary: 'Read the key that signs an audit log',
    description:
      'A trust policy (C2SP tlog-policy), for everybody: verifiers take it as it is. It names the witnesses that cosign, and how ' +
      'many of them must. Keep the first that you see: its `log` lines must not change unless the log says why.',
    answer: z.string(),
    mediaType: 'text/plain',
  });
  server.get('/.well-known/outbox-audit/:organization', { schema }, async (request, reply) => {
    const network = clientNetworkOf(request.ip);
    const { allowed, retryAfterSeconds } = await auth.rateLimiter.take(`policy:${network}`, 1, POLICY_REQUESTS_MAX);
    if (!allowed) {
      throw new DomainError('rate_limit_exceeded', 'too many requests from this address', {
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
