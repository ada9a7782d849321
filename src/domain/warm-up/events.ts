import { z } from 'zod';

/** Recipients per day and destination, from the first day on. */
const plan = z.array(z.number().int()).min(1);

/**
 * Stream `warmUp-<domainId>`: the live mail that each destination may get from a sending domain while the domain is
 * new.
 */
export const warmUpEvents = {
  /** Replaces an earlier plan. Days are UTC; `startsOn` is the first, `YYYY-MM-DD`. */
  WarmUpStarted: z.object({ domainId: z.string(), startsOn: z.string(), plan }),
  /** Ended by an authorized person before the last day was over. */
  WarmUpEnded: z.object({ domainId: z.string() }),
};

/** Stream `warmUpDay-<domainId>.<day>`: reservations of a day's caps. */
export const dailyQuotaEvents = {
  /** Reserves quota: only the process that appended the event may send to these numbers of recipients that day. */
  WarmUpPlacesTaken: z.object({
    domainId: z.string(),
    day: z.string(),
    taken: z.array(z.object({ operator: z.string(), places: z.number().int() })).min(1),
  }),
};
