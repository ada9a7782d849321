import type { Log } from './log.ts';

/** An attempt that was claimed and still has recipients without an outcome. */
export interface AttemptInFlight {
  /** The process that claimed it. */
  readonly by: string;
  /** When its lease ends, Unix time in milliseconds. */
  readonly leaseUntilMs: number;
}

/** Attempts by recipient id, according to the log. Their worker need not hold a queue job. */
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
