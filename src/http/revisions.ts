import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Revision } from '../domain/event-store.ts';
import { Refusal } from '../domain/refusal.ts';

const etagOf = (revision: Revision | 'no-stream'): string => `"${revision}"`;

/** `ETag` of a single resource: the revision of its stream. */
export const setRevision = (reply: FastifyReply, revision: Revision | 'no-stream'): void => {
  reply.header('etag', etagOf(revision));
};

/**
 * Honours `If-Match` on a change.
 * @param read the resource's revision now; only asked where the header was sent.
 * @throws {Refusal} `precondition_failed`.
 */
export const requireMatch = async (
  { headers }: FastifyRequest,
  read: () => Promise<Revision | 'no-stream'>,
): Promise<void> => {
  const wanted = headers['if-match'];
  if (wanted === undefined || wanted.trim() === '*') return;
  const current = etagOf(await read());
  if (wanted.split(',').some((one) => one.trim() === current)) return;
  throw new Refusal('precondition_failed', 'the resource has changed: If-Match does not name its current ETag');
};
