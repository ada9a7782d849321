import { z } from 'zod';

/** Recipients a day and destination, from the first day on. */
const plan = z.array(z.number().int()).min(1);

/** Stream `warmUp-<domainId>`: how much of a sending domain's live mail each destination gets while the domain is new. */
export const warmUpEvents = {
  /** In place of a plan that ran before. Days are UTC; `startsOn` is the first, `YYYY-MM-DD`. */
  WarmUpStarted: z.object({ domainId: z.string(), startsOn: z.string(), plan }),
  /** By somebody who may, before its last day was over. */
  WarmUpEnded: z.object({ domainId: z.string() }),
};

/** Stream `dailyQuota-<domainId>.<day>`: what was taken of a day's caps. */
export const dailyQuotaEvents = {
  /** Reserves quota: only the process that appended it may send to these numbers of recipients that day. */
  WarmUpPlacesTaken: z.object({
    domainId: z.string(),
    day: z.string(),
    taken: z.array(z.object({ operator: z.string(), places: z.number().int() })).min(1),
  }),
};
