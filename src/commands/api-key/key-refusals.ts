import { fold } from '../../domain/aggregate.ts';
import type { ExistingApiKey } from '../../domain/api-key/api-key.ts';
import {
  noteRefusal as decideNoteRefusal,
  type KeyChangeName,
  keyRefusals,
  REFUSALS_PER_MINUTE_MAX,
} from '../../domain/api-key/key-refusals.ts';
import type { ErrorCode } from '../../domain/error-catalogue.ts';
import { keyRefusalsStream } from '../../domain/streams.ts';
import { type CommandContext, eventContext, type Origin } from '../context.ts';
import { execute } from '../execute.ts';

/** Records a refused change for the key's history. */
export const noteRefusal = async (
  context: CommandContext,
  origin: Origin,
  refused: { readonly key: ExistingApiKey; readonly change: KeyChangeName; readonly code: ErrorCode },
): Promise<void> => {
  const { keyId, environment } = refused.key;
  const stream = keyRefusalsStream(keyId);
  const latest = await context.store.readStream(stream, { direction: 'backwards', limit: REFUSALS_PER_MINUTE_MAX });
  const at = context.system.now().toISOString();
  await execute(context, {
    aggregate: keyRefusals,
    stream,
    context: eventContext({ ...origin, environment }, at),
    known: { state: fold(keyRefusals, latest.toReversed()), revision: latest[0]?.revision ?? 'no-stream' },
    decide: (state) =>
      decideNoteRefusal(state, { keyId, change: refused.change, code: refused.code, actor: origin.actor, at }),
  });
};
