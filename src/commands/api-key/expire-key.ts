import { apiKey, apiKeyStream } from '../../domain/api-key/api-key.ts';
import { expireKey as decideExpireKey } from '../../domain/api-key/expire-key.ts';
import { type CommandContext, eventContext } from '../context.ts';
import { execute, load } from '../execute.ts';

/** Notes that the time of a key is over, if it is and nobody has noted it. */
export const expireKey = async (
  context: Pick<CommandContext, 'store' | 'system'>,
  { keyId, actor }: { readonly keyId: string; readonly actor: string },
): Promise<void> => {
  const { store, system } = context;
  const stream = apiKeyStream(keyId);
  const known = await load(store, apiKey, stream);
  if (known.state.status === 'absent') return;
  const { organizationId, environment } = known.state;
  const correlationId = system.uuid();
  const now = system.now().toISOString();
  const origin = { actor, organizationId, environment, requestId: null, correlationId, causationId: correlationId };
  await execute(context, {
    ...{ aggregate: apiKey, stream, known },
    context: eventContext(origin, now),
    decide: (state) => decideExpireKey(state, now),
  });
};
