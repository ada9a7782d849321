import { createHash } from 'node:crypto';
import { pipeline, Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import { z } from 'zod';
import { noteExport } from '../../../commands/audit.ts';
import {
  BUNDLE_LEAVES,
  exportEndBegin,
  exportEndRest,
  exportHashes,
  exportHeader,
} from '../../../domain/audit/export-format.ts';
import { leafHash, parseCheckpoint, parseNote, subtreesOf } from '../../../lib/transparency/transparency.ts';
import { readYourWrites } from '../../consistency.ts';
import { defineEndpoint, type RouteContext } from '../../endpoint.ts';
import { integerParameter } from '../../validation/fields.ts';
import { requireCheckpoint } from './checkpoints.ts';

const MEDIA_TYPE = 'application/jsonl';
const SIZE_MAX = 2 ** 49;

const DESCRIPTION = `JSON Lines, compressed with gzip if the client accepts it: a header, each event as a line with its leaf, hashes after
every 256 events, and finally the newest signed checkpoint. \`npm run outbox -- audit verify\` verifies an export without
the service. An incomplete response has no checkpoint. Each export is itself recorded in the log.`;

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
      summary: 'Export the log for an auditor',
      description: DESCRIPTION,
      query: z.strictObject({
        from: integerParameter(0, SIZE_MAX)
          .default(0)
          .describe('Index of the first leaf; the export begins with the bundle of 256 that it is in.'),
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
