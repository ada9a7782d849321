import type { FastifyRequest } from 'fastify';
import type { SendRequest } from '../../../commands/message/prepare-message.ts';
import type { Caller } from '../../../domain/caller.ts';
import { DomainError } from '../../../domain/domain-error.ts';
import type { KeyCache } from '../../auth/key-cache.ts';
import { domainFactsFor } from '../../domain-facts.ts';
import type { RouteContext } from '../../endpoint.ts';
import { type BeyondBody, draftOf, type SendBody } from './send-body.ts';

const PRINTABLE = /^[\x20-\x7e]{1,255}$/;

const malformed = (problem: string): DomainError =>
  new DomainError('invalid_request', 'the Idempotency-Key is malformed', { details: { 'Idempotency-Key': [problem] } });

/** What comes twice Node joins into one value, which would be another key than the one it comes with alone. */
const isRepeated = ({ raw }: FastifyRequest): boolean =>
  raw.rawHeaders.filter((text, index) => index % 2 === 0 && text.toLowerCase() === 'idempotency-key').length > 1;

/** @throws {DomainError} `invalid_request`. */
export const idempotencyKey = (request: FastifyRequest): string | null => {
  const header = request.headers['idempotency-key'];
  if (header === undefined) return null;
  if (isRepeated(request)) throw malformed('Idempotency-Key must be given once');
  if (typeof header === 'string' && PRINTABLE.test(header)) return header;
  throw malformed('Idempotency-Key must be 1 to 255 printable ASCII characters');
};

/** A domain verified a moment ago counts: the log is asked again before its mail is refused. */
export const withFreshDomain = async (keyCache: KeyCache, caller: Caller): Promise<Caller> => {
  if (caller.domain.verified || caller.environment === 'test') return caller;
  await keyCache.catchUp();
  return { ...caller, domain: keyCache.domainOf(caller.domain.id) };
};

/** One message as the command takes it, analysed where it asks for it. @throws {DomainError} `body_too_large`. */
export const sendRequestOf = async (
  { deps, auth }: Pick<RouteContext, 'deps' | 'auth'>,
  caller: Caller,
  body: SendBody,
  beyond?: BeyondBody,
): Promise<SendRequest> => {
  const draft = draftOf(body, beyond);
  if (body.analysis === 'off') return { draft };
  const domain = await domainFactsFor(auth.keyCache, caller);
  return {
    draft,
    analysed: {
      analysis: await deps.analyzer.analyze({ draft, domain }, caller.organizationId),
      blocks: body.analysis === 'block',
    },
  };
};
