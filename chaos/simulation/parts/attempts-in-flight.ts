import type { Log } from './log.ts';

/** An attempt that was claimed, and has not come to its end for all of its recipients. */
export interface AttemptInFlight {
  /** The process that claimed it. */
  readonly by: string;
  /** When it is over anyway (ms since the epoch). */
  readonly leaseUntilMs: number;
}

/** Claimed recipients by id, as the log has them: their worker need not have a job of the queue. */
export const watchAttempts = (log: Log): ReadonlyMap<string, AttemptInFlight> => {
  const inFlight = new Map<string, AttemptInFlight>();
  log.onEvent(({ event: { type, data }, writer }) => {
    switch (type) {
      case 'AttemptStarted':
        for (const id of data.recipientIds) inFlight.set(id, { by: writer, leaseUntilMs: Date.parse(data.leaseUntil) });
        break;
      case 'AttemptOutcomeUnknown':
        for (const id of data.recipientIds) inFlight.delete(id);
        break;
      case 'RecipientDelivered':
      case 'RecipientDeferred':
      case 'RecipientBounced':
      case 'RecipientSuppressed':
      case 'RecipientFailed':
        inFlight.delete(data.recipientId);
        break;
      default:
    }
  });
  return inFlight;
};
