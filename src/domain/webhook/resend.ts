import type { CustomerEventType } from '../customer-events/customer-event-types.ts';

/**
 * Webhooks in the format of Resend, which posts by Svix: the signature of Standard Webhooks under the older names of its
 * headers, and types of events of its own.
 */

/** Our events by their name at Resend. */
export const RESEND_TYPES = {
  'email.sent': ['message.accepted'],
  'email.scheduled': ['message.scheduled'],
  'email.delivered': ['message.delivered'],
  'email.delivery_delayed': ['message.deferred'],
  'email.bounced': ['message.bounced'],
  'email.failed': ['message.failed', 'message.expired'],
  'email.suppressed': ['message.suppressed'],
  'email.opened': ['message.opened'],
  'email.clicked': ['message.clicked'],
  'email.complained': ['message.complained'],
} as const satisfies Readonly<Record<string, readonly CustomerEventType[]>>;

type ResendType = keyof typeof RESEND_TYPES;

/** Our events that have an event of Resend. */
export const RESEND_EVENTS = Object.values(RESEND_TYPES).flat();

/** Resend's name of one of our events; undefined: it has none. */
export const resendTypeOf = (type: string): ResendType | undefined =>
  (Object.keys(RESEND_TYPES) as ResendType[]).find((theirs) =>
    RESEND_TYPES[theirs].some((ours: string) => ours === type),
  );

/** Headers of a post under the names of Svix. @param signed headers of Standard Webhooks. */
export const asSvix = (signed: object): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(signed).map(([name, value]) => [name.replace(/^webhook-/, 'svix-'), value]));
