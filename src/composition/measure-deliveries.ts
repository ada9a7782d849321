import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { DeliveryMetrics, DeliveryOutcome } from '../workers/delivery/attempt-log.ts';

/** Each is there from the start: what has never happened is 0, and can be alarmed about. */
const OUTCOMES: Readonly<Record<DeliveryOutcome, true>> = {
  ...{ delivered: true, deferred: true, bounced: true, unknown: true },
  ...{ suppressed: true, failed: true, expired: true },
};

/** From a server on this machine to one that takes all the time it is given. */
const BUCKETS_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 240];
const MS_PER_SECOND = 1000;

/**
 * Counts what comes of mail in this process. @param sessions with mail servers now.
 * @returns undefined: nobody looks.
 */
export const measureDeliveries = (
  registry: Registry | undefined,
  sessions: () => number,
): DeliveryMetrics | undefined => {
  if (registry === undefined) return undefined;
  const registers = [registry];
  const recipients = new Counter({
    ...{ name: 'outbox_delivery_recipients_total', help: 'Recipients of live mail, by what an attempt came to' },
    ...{ labelNames: ['outcome'], registers },
  });
  for (const outcome of Object.keys(OUTCOMES)) recipients.inc({ outcome }, 0);
  const seconds = new Histogram({
    ...{
      name: 'outbox_delivery_attempt_duration_seconds',
      help: 'Time of an attempt with a mail server, waits for a session included',
    },
    ...{ buckets: BUCKETS_SECONDS, registers },
  });
  new Gauge({
    ...{ name: 'outbox_smtp_sessions', help: 'Sessions with mail servers, open or being opened', registers },
    collect() {
      this.set(sessions());
    },
  });
  return {
    count: (outcome) => recipients.inc({ outcome }),
    took: (ms) => seconds.observe(ms / MS_PER_SECOND),
  };
};
