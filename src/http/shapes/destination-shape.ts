import { z } from 'zod';
import type { Suspension } from '../../domain/destination/destination.ts';
import { timeShape } from './time-shape.ts';

/** Of whoever runs mail servers: a host's name, in A-labels. */
export const DESTINATION = /^[a-z0-9_](?:[a-z0-9_.-]{0,251}[a-z0-9_])?$/;

const SENTENCES = {
  busy: 'It asked for less mail for now, even one message at a time.',
  unreachable: 'None of its servers could be reached.',
} as const;

export const suspensionShape = z.strictObject({
  object: z.literal('suspended_destination'),
  /** Who runs the mail servers; recipients' domains with the same operator wait together. */
  destination: z.string(),
  reason: z.enum(['busy', 'unreachable']),
  message: z.string(),
  since: timeShape(),
  until: timeShape(),
  /** Suspensions in a row: each lasts longer, up to half an hour. */
  times: z.number().int(),
  smtp: z.strictObject({ code: z.number().int(), enhanced: z.string().nullable(), mx: z.string().nullable() }),
});

export const showSuspension = (suspension: Suspension): z.infer<typeof suspensionShape> => {
  const { operator, reason, since, until, times, code, enhanced, mx } = suspension;
  return {
    ...{ object: 'suspended_destination', destination: operator, reason, message: SENTENCES[reason] },
    ...{ since, until, times, smtp: { code, enhanced, mx } },
  };
};
