import { z } from 'zod';
import type { Suspension } from '../../domain/destination/destination.ts';
import { timeShape } from './time.ts';

/** Of a mailbox provider: a name in A-labels; of a recipient domain alone the same behind an `@`. */
export const DESTINATION = /^@?[a-z0-9_](?:[a-z0-9_.-]{0,251}[a-z0-9_])?$/;

const SENTENCES = {
  busy: 'It asked for less mail for now, even one message at a time.',
  unreachable: 'None of its servers could be reached.',
  refused: 'Its servers take no sessions with this service.',
  recipient_domain:
    'What the domain itself says is in the way: its DNS, its MTA-STS policy or its TLSA records. Its mailbox provider is not meant.',
} as const;

export const suspensionShape = z.strictObject({
  object: z.literal('suspended_destination'),
  /**
   * Mailbox provider, whose recipient domains wait together, as far as they have the servers that were tried; or one
   * recipient domain alone, `@example.com`.
   */
  destination: z.string(),
  reason: z.enum(['busy', 'unreachable', 'refused', 'recipient_domain']),
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
