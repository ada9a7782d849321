import { z } from 'zod';

/** `bounces`: addresses that do not exist, of all recipients that were answered for; `complaints`: of those delivered to. */
export const MEASURES = ['bounces', 'complaints'] as const;
export type Measure = (typeof MEASURES)[number];

/** What reached which limit. */
const found = {
  domainId: z.string(),
  measure: z.enum(MEASURES),
  count: z.number().int(),
  of: z.number().int(),
  limitPercent: z.number(),
};

/** Stream `standing-<domainId>`: what becomes of the live bulk mail of a sending domain, and what follows from that. */
export const standingEvents = {
  /** Nothing follows yet. */
  SendingWarned: z.object(found),
  /** Its bulk mail leaves message by message. */
  SendingSlowed: z.object(found),
  /** Its bulk mail waits. */
  SendingPaused: z.object(found),
  SendingRecovered: z.object({ domainId: z.string() }),
  /** By somebody who may: counts begin anew. */
  SendingReleased: z.object({ domainId: z.string() }),
};
