import { z } from 'zod';
import { CUSTOMER_EVENT_TYPES, type CustomerEventType } from '../../../domain/customer-events/customer-event-types.ts';
import type { SerializedEvent } from '../../../projections/events/serialize-events.ts';
import { recipientDomain } from '../../validation/fields.ts';

/** Filters of the feed, the same for pages and for streams. */

const ANY = '.*';
const FAMILIES: ReadonlySet<string> = new Set(CUSTOMER_EVENT_TYPES.map((type) => type.slice(0, type.indexOf('.'))));
const TYPES: ReadonlySet<string> = new Set(CUSTOMER_EVENT_TYPES);
/** Longer than all types and families together. */
const TYPES_CHARACTERS_MAX = 4_000;

const isFamily = (text: string): boolean => text.endsWith(ANY) && FAMILIES.has(text.slice(0, -ANY.length));

const typesOf = (text: string): readonly CustomerEventType[] => {
  const asked = new Set(text.split(','));
  return CUSTOMER_EVENT_TYPES.filter((type) => asked.has(type) || asked.has(type.slice(0, type.indexOf('.')) + ANY));
};

export const filterParameters = {
  types: z
    .string()
    .max(TYPES_CHARACTERS_MAX)
    .refine(
      (text) => text.split(',').every((one) => TYPES.has(one) || isFamily(one)),
      `must be a list, with commas, of ${CUSTOMER_EVENT_TYPES.join(', ')}, or of families such as message.*`,
    )
    .transform(typesOf)
    .optional()
    .describe('Types or families such as `message.*`, separated by commas. Absent: all.'),
  message_id: z.string().max(64).optional().describe('Events of this message only.'),
  domain_id: z.string().max(64).optional().describe('Events of this sending domain and of its messages only.'),
  tag: z
    .string()
    .min(1)
    .max(300)
    .optional()
    .describe('Events of messages with this tag only, by name and value: `order:1234`.'),
  recipient_domain: recipientDomain().optional().describe('Events of recipients at this domain only.'),
};

export type EventFilters = {
  readonly [Name in keyof typeof filterParameters]?: z.output<(typeof filterParameters)[Name]>;
};

type Holds = (event: SerializedEvent) => boolean;

const hasTag = (tag: string): Holds => {
  return ({ data }) => data.tags?.some(({ name, value }) => tag === `${name}:${value}`) ?? false;
};

const isAt = (domain: string): Holds => {
  const end = `@${domain}`;
  return ({ data }) => data.recipient?.address?.toLowerCase().endsWith(end) ?? false;
};

/**
 * Filters that no index supports; null if the request has none. Tags and addresses are removed when the contents of a
 * message expire, and its events then match no such filter.
 */
export const furtherFilter = ({ message_id, tag, recipient_domain }: EventFilters): Holds | null => {
  const all: Holds[] = [];
  if (message_id !== undefined) all.push(({ data }) => data.message_id === message_id);
  if (tag !== undefined) all.push(hasTag(tag));
  if (recipient_domain !== undefined) all.push(isAt(recipient_domain));
  return all.length === 0 ? null : (event) => all.every((holds) => holds(event));
};
