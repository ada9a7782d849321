import { z } from 'zod';

/** `in`: sent to everyone who has not opted out. `out`: sent only to those who opted in. */
export const TOPIC_DEFAULTS = ['in', 'out'] as const;
export type TopicDefault = (typeof TOPIC_DEFAULTS)[number];

const shown = { name: z.string(), description: z.string().nullable() };

export const topicEvents = {
  TopicCreated: z.object({
    topicId: z.string(),
    ...shown,
    /** Permanent, because recipients made their choices under it. */
    default: z.enum(TOPIC_DEFAULTS),
    /** The only domain whose mail can have this topic; null for all domains of the organization. */
    domainId: z.string().nullable(),
  }),
  TopicChanged: z.object({ topicId: z.string(), ...shown }),
  /** It accepts no more sends and choices. Recorded choices are kept. */
  TopicDeleted: z.object({ topicId: z.string() }),
};
