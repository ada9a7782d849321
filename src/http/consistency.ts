import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Condition } from '../commands/execute.ts';
import { DomainError } from '../domain/kernel/errors.ts';
import type { Position, Revision } from '../domain/kernel/event-store.ts';
import type { ProjectionName } from '../projections/projection.ts';
import type { HttpDependencies } from './dependencies.ts';

/** Revisions fit a double exactly, without leading zeros. */
const ETAG = /^"(0|[1-9]\d{0,14})"$/;

/** Sets the `ETag` of a resource: the revision of its stream. */
export const setRevision = (reply: FastifyReply, revision: Revision | 'no-stream'): void => {
  reply.header('etag', `"${revision}"`);
};

/** Condition that `If-Match` puts on a change (RFC 9110 §13.1.1). An entity tag of another form matches no revision. */
export const ifMatch = ({ headers }: FastifyRequest): Condition => {
  const wanted = headers['if-match'];
  if (wanted === undefined || wanted.trim() === '*') return {};
  const tags = wanted.split(',').map((one) => ETAG.exec(one.trim())?.[1]);
  return { atRevisions: tags.filter((one) => one !== undefined).map(Number) };
};

const RETRY_AFTER_SECONDS = 2;

/** Whole seconds; 0: it is not known. */
const secondsBehind = async (
  { readModels }: Pick<HttpDependencies, 'readModels'>,
  names: readonly string[],
): Promise<number> => {
  const models = await readModels.lag().catch(() => []); // the answer is 503 as well
  return Math.ceil(Math.max(0, ...models.filter(({ name }) => names.includes(name)).map(({ seconds }) => seconds)));
};

/**
 * Read your writes: waits until the read models have applied everything in the log at the time of the call.
 * @returns the head of the log at that time.
 * @throws {DomainError} `unavailable` after 2 s.
 */
export const readYourWrites = async (
  { context, readModels }: Pick<HttpDependencies, 'context' | 'readModels'>,
  names: readonly ProjectionName[],
): Promise<Position> => {
  const head = await context.store.head();
  if (await readModels.waitFor(names, head)) return head;
  const seconds = await secondsBehind({ readModels }, names);
  const why = seconds === 0 ? 'is not up to date just now' : `is ${seconds} s behind what happened`;
  throw new DomainError('unavailable', `this list ${why}`, { retryAfterSeconds: RETRY_AFTER_SECONDS });
};
