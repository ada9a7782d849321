import { z } from 'zod';

/** `in`: everybody gets it who has not opted out; `out`: only those who opted in. */
export const TOPIC_DEFAULTS = ['in', 'out'] as const;
export type TopicDefault = (typeof TOPIC_DEFAULTS)[number];

const shown = { name: z.string(), description: z.string().nullable() };

export const topicEvents = {
  TopicCreated: z.object({
    topicId: z.string(),
    ...shown,
    /** For good: recipients chose by it. */
    default: z.enum(TOPIC_DEFAULTS),
    /** The only domain whose mail can be about it; null: any of the organization's. */
    domainId: z.string().nullable(),
  }),
  TopicChanged: z.object({ topicId: z.string(), ...shown }),
  /** No more sends and no more choices; what recipients said of it stays on record. */
  TopicDeleted: z.object({ topicId: z.string() }),
};
