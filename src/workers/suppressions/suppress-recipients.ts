import { mapConcurrently } from '../../async/map-concurrently.ts';
import type { CommandContext } from '../../commands/context.ts';
import { suppressRecipient } from '../../commands/suppression/suppress-recipient.ts';
import { isSuppressing } from '../../domain/suppression/suppressing-event.ts';
import type { Reaction } from '../reaction.ts';

/** Their reads share queries and their appends commits; more of them would keep those of messages waiting. */
const LANES = 32;

/** Puts addresses on the list that bounced for good, whose owners complained, or who unsubscribed. */
export const createSuppressRecipients =
  (context: Pick<CommandContext, 'store' | 'contents' | 'system'>): Reaction =>
  async (events) => {
    const suppressing = events.filter(isSuppressing);
    await mapConcurrently(suppressing, { system: context.system, concurrency: LANES }, (event) =>
      suppressRecipient(context, event),
    );
  };
