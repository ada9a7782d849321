import type { CommandContext } from '../commands/execute.ts';
import { suppressRecipient } from '../commands/suppression.ts';
import { isSuppressing } from '../domain/suppression/suppression.ts';
import { mapConcurrently } from '../lib/async/async.ts';
import type { EventsReaction } from './webhooks/record-webhook-deliveries.ts';

/** Their reads share queries and their appends commits; more would delay those of messages. */
const CONCURRENCY = 32;

/** Suppresses addresses that bounced for good, complained or unsubscribed. */
export const createSuppressRecipients =
  (context: Pick<CommandContext, 'store' | 'contents' | 'system'>): EventsReaction =>
  async (events) => {
    const suppressing = events.filter(isSuppressing);
    await mapConcurrently(suppressing, { system: context.system, concurrency: CONCURRENCY }, (event) =>
      suppressRecipient(context, event),
    );
  };
