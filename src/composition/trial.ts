import type { AttemptTimes } from '../workers/delivery/deliver-message.ts';
import type { WebhookTimes } from '../workers/webhooks/webhook-times.ts';

interface TrialTimes {
  readonly times: AttemptTimes;
  readonly webhookTimes: WebhookTimes;
}

/**
 * What a crash interrupted is taken up within seconds. A loaded machine needs most of the time given here; more would be
 * waited out after every crash of a trial.
 */
export const QUICK_TRIAL: TrialTimes = {
  times: { attemptMs: 4_000, leaseMs: 6_000 },
  webhookTimes: { postMs: 3_000, recordMs: 2_000, leaseMs: 8_000 },
};
