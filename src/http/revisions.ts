import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Condition } from '../commands/execute.ts';
import type { Revision } from '../domain/ports/event-store.ts';

/** Revisions have no more digits than a double holds exactly; what has leading zeros was never an `ETag`. */
const ETAG = /^"(0|[1-9]\d{0,14})"$/;

/** `ETag` of a single resource: the revision of its stream. */
export const setRevision = (reply: FastifyReply, revision: Revision | 'no-stream'): void => {
  reply.header('etag', `"${revision}"`);
};

/** What `If-Match` asks of a change (RFC 9110 §13.1.1); an entity tag that we never give is at no revision. */
export const ifMatch = ({ headers }: FastifyRequest): Condition => {
  const wanted = headers['if-match'];
  if (wanted === undefined || wanted.trim() === '*') return {};
  const tags = wanted.split(',').map((one) => ETAG.exec(one.trim())?.[1]);
  return { atRevisions: tags.filter((one) => one !== undefined).map(Number) };
};
