import { z } from 'zod';
import { type SecretLife, secretHistory } from '../../../domain/api-key/secret-history.ts';
import { DomainError } from '../../../domain/kernel/errors.ts';
import type { SecretSends } from '../../../projections/messages/key-sends.ts';
import { atParameter, routeAsOf } from '../../as-of.ts';
import { readYourWrites } from '../../consistency.ts';
import { endpoint } from '../../endpoint.ts';
import { decodePlace, encodePlace } from '../../lists.ts';
import { asOfFields, listOf, listSchema } from '../../schemas/envelope.ts';
import { type RequestFacts, serializeActor } from '../../schemas/key-history.ts';
import { keySecretSchema, type SerializedKeySecret } from '../../schemas/key-secret.ts';
import { pageParameters } from '../../validation/fields.ts';
import { readKeyLife } from './key-history.ts';
import { readRequestFacts } from './request-facts.ts';

/** Every secret that a key ever had, and what was sent with it. */

/** Data needed to serialize a secret. */
interface SecretContext {
  /** ISO 8601. */
  readonly now: string;
  readonly newest: number;
  /** By number. */
  readonly sends: ReadonlyMap<number, SecretSends>;
  readonly facts: RequestFacts;
}

const statusOf = ({ number, end }: SecretLife, { now, newest }: SecretContext): SerializedKeySecret['status'] => {
  if (end !== null && end.at <= now) return 'ended';
  return number === newest ? 'current' : 'grace';
};

const serializeSecret = (life: SecretLife, context: SecretContext): SerializedKeySecret => {
  const { data, metadata } = life.created;
  const sends = context.sends.get(life.number);
  return {
    object: 'api_key_secret',
    number: life.number,
    last4: data.secret.last4,
    status: statusOf(life, context),
    created_at: metadata.occurredAt,
    created_by: serializeActor(metadata, context.facts),
    address: context.facts.address(metadata),
    request_id: metadata.requestId,
    ends_at: life.end?.at ?? null,
    end_reason: life.end?.reason ?? null,
    sends: sends?.messages ?? 0,
    recipients: sends?.recipients ?? 0,
    first_send_at: sends?.firstAt.toISOString() ?? null,
    last_send_at: sends?.lastAt.toISOString() ?? null,
  };
};

export const listKeySecretsRoute = endpoint(
  'GET /v1/api-keys/:id/secrets',
  {
    summary: 'List the values that an API key has had, newest first',
    description:
      'The creator of each value, the time and reason of its end, and how much was sent with it; also for a deleted key. The ' +
      'values themselves are never returned. Counts stay when messages are erased. `GET /v1/messages?key_id=<id>&secret=<number>` lists the messages. With `at`, the values as they were then, and what was sent up to now.',
    query: z.strictObject({ ...pageParameters, at: atParameter() }),
    answer: listSchema(keySecretSchema).extend(asOfFields()),
  },
  async ({ caller, id, query: { limit, after, at } }, route) => {
    const past = await routeAsOf(route, caller, at);
    if (past === null) throw new DomainError('not_found', 'nothing was there yet at that time');
    const { deps } = past?.route ?? route;
    const { context, readModels } = deps;
    const list = `key-secrets:${id}`;
    const place = decodePlace(list, after);
    const { key, life } = await readKeyLife(context.store, caller, id);
    const all = secretHistory(
      life.map(({ event }) => event),
      key.expiresAt,
    );
    const rest = all.filter(({ number }) => place.after === undefined || number < Number(place.after));
    const page = rest.slice(0, limit);
    const [first, last] = [page.at(-1)?.number ?? 0, page[0]?.number ?? 0];
    await readYourWrites(deps, ['messages']);
    const secretContext = {
      now: context.system.now().toISOString(),
      newest: all[0]?.number ?? 0,
      sends: await readModels.apiKeys.sends({ keyId: id, from: first, to: last }),
      facts: await readRequestFacts(
        deps,
        caller,
        page.map(({ created }) => created.metadata),
      ),
    };
    const hasMore = rest.length > page.length;
    const answer = listOf(
      page.map((secret) => serializeSecret(secret, secretContext)),
      hasMore,
      encodePlace(list, hasMore ? String(first) : null),
    );
    return past === undefined ? answer : { ...answer, as_of: past.asOf };
  },
);
