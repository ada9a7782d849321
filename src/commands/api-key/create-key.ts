import { requireOwn } from '../../domain/aggregate.ts';
import { apiKey, type ExistingApiKey } from '../../domain/api-key/api-key.ts';
import { type CreateKey as Decision, createKey as decideCreateKey } from '../../domain/api-key/create-key.ts';
import { formatSecret, SECRET_RANDOM_BYTES, secretFacts } from '../../domain/api-key/secret.ts';
import { formatId, ID_BYTES } from '../../domain/ids.ts';
import { requireOwnDomain, sendingDomain } from '../../domain/sending-domain/sending-domain.ts';
import { apiKeyStream, sendingDomainStream } from '../../domain/streams.ts';
import { type CommandContext, eventContext, type Origin } from '../context.ts';
import { execute, load } from '../execute.ts';

export interface CreateKey extends Omit<Decision, 'keyId' | 'secret'> {
  /** Chosen by the operator, well-formed (`readSecret`). Absent: generated. */
  readonly value?: string;
}

export interface KeyWithValue {
  readonly key: ExistingApiKey;
  /** The full key value, shown only now. */
  readonly value: string;
  readonly revision: number;
}

/**
 * Creates a key bound to a domain of the organization (spec §4).
 * @throws {DomainError} `not_found`, `other_organization` (the domain); `permission_missing`, `environment_not_allowed`.
 */
export const createKey = async (context: CommandContext, origin: Origin, command: CreateKey): Promise<KeyWithValue> => {
  const { system, store } = context;
  const { value: given, ...rest } = command;
  const domain = await load(store, sendingDomain, sendingDomainStream(rest.domainId));
  requireOwnDomain(domain.state, origin.organizationId);
  const value = given ?? formatSecret(rest.environment, system.randomBytes(SECRET_RANDOM_BYTES));
  const keyId = formatId('key', system.randomBytes(ID_BYTES));
  const { state, revision } = await execute(context, {
    aggregate: apiKey,
    stream: apiKeyStream(keyId),
    context: eventContext({ ...origin, environment: rest.environment }, system.now().toISOString()),
    decide: (before) => decideCreateKey(before, { ...rest, keyId, secret: secretFacts(value) }),
    known: { state: apiKey.initial, revision: 'no-stream' },
  });
  const key = requireOwn(state, origin.organizationId, 'API key');
  return { key, value, revision: Number(revision) };
};
