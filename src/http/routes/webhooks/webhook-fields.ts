import { z } from 'zod';
import { allows } from '../../../domain/api-key/events.ts';
import type { Caller } from '../../../domain/api-key/key-authority.ts';
import { CUSTOMER_EVENT_TYPES } from '../../../domain/customer-events/customer-event-types.ts';
import { DomainError } from '../../../domain/kernel/errors.ts';
import type { WebhookFilters } from '../../../domain/webhook/events.ts';
import type { HttpDependencies } from '../../dependencies.ts';
import { atMost, line } from '../../validation/fields.ts';
import { loadDomain } from '../domains.ts';

/** Fields of registering and of updating a webhook. */

const URL_CHARACTERS_MAX = 2048;
const DESCRIPTION_CHARACTERS_MAX = 500;
/** More than there are types; duplicates are ignored. */
const EVENTS_MAX = 100;
/** Compared with every event. */
const FILTERED_MAX = 100;
const TAG_CHARACTERS_MAX = 300;
/** Sent with every post. */
const HEADERS_MAX = 10;
const HEADER_NAME_CHARACTERS_MAX = 64;
const HEADER_VALUE_CHARACTERS_MAX = 1024;

const FAMILIES = [...new Set(CUSTOMER_EVENT_TYPES.map((type) => `${type.slice(0, type.indexOf('.'))}.*`))];
const WANTED: readonly string[] = [...CUSTOMER_EVENT_TYPES, ...FAMILIES];

const TOKEN = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/;
/** Headers that the service sets, that verifiers read instead, or that concern the connection (RFC 9110 §7.6.1). */
const RESERVED =
  /^(?:webhook-.*|svix-.*|content-.*|proxy-.*|host|user-agent|date|expect|connection|keep-alive|te|trailer|transfer-encoding|upgrade)$/;
const VISIBLE = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

const headerValue = z
  .string()
  .max(HEADER_VALUE_CHARACTERS_MAX)
  .refine((value) => VISIBLE.test(value), 'must be visible ASCII characters, with spaces inside only');
const customHeaders = z
  .record(z.string(), headerValue)
  .refine(
    (headers) => Object.keys(headers).every((name) => name.length <= HEADER_NAME_CHARACTERS_MAX && TOKEN.test(name)),
    `must have names of HTTP headers, of at most ${HEADER_NAME_CHARACTERS_MAX} characters`,
  )
  .refine(
    (headers) => !Object.keys(headers).some((name) => RESERVED.test(name.toLowerCase())),
    'must not have headers that the service or the connection sets',
  );

const unique = (texts: readonly string[]): string[] => [...new Set(texts)];

export const webhookFields = {
  url: line(URL_CHARACTERS_MAX).describe(
    'Events are posted here: HTTPS at a globally routable address, port 443 or 8443, without user and ' +
      'password. While mail is captured (`MAIL_URL=capture:`), plain HTTP, any port and loopback addresses ' +
      'are allowed too. The name is resolved at registration and at every post.',
  ),
  events: atMost(
    EVENTS_MAX,
    z.array(z.string().refine((text) => WANTED.includes(text), `must be one of ${WANTED.join(', ')}`)).min(1),
  )
    .transform(unique)
    .describe(`Event types (\`message.delivered\`) or families: ${FAMILIES.map((one) => `\`${one}\``).join(', ')}.`),
  description: line(DESCRIPTION_CHARACTERS_MAX, 0).nullable().describe('A note for people.'),
  filters: z
    .strictObject({
      domain_ids: atMost(FILTERED_MAX, z.array(z.string().max(64)))
        .transform(unique)
        .default([])
        .describe('Only events of these sending domains and of their messages; empty: all.'),
      tags: atMost(FILTERED_MAX, z.array(line(TAG_CHARACTERS_MAX)))
        .transform(unique)
        .default([])
        .describe('Only events of messages with one of these tags, by name and value: `order:1234`; empty: all.'),
    })
    .describe('Filters for the events that are posted. Both must match.'),
  headers: atMost(HEADERS_MAX, customHeaders).describe(
    `At most ${HEADERS_MAX} headers for every post, such as \`authorization\`. Their values are kept encrypted and not shown ` +
      'again. Not allowed: `webhook-*`, `svix-*`, `content-*`, `host`, `user-agent`, and headers about the connection.',
  ),
};

interface SentFilters {
  readonly domain_ids: readonly string[];
  readonly tags: readonly string[];
}

/** @throws {DomainError} `permission_missing` for tags; `not_found`, `other_organization` for a domain. */
export const filtersOf = async (
  deps: Pick<HttpDependencies, 'context'>,
  caller: Caller,
  { domain_ids, tags }: SentFilters,
): Promise<WebhookFilters> => {
  if (tags.length > 0 && !allows(caller.permissions, 'read')) {
    throw new DomainError('permission_missing', "API key lacks 'read' permission: it cannot filter by tags");
  }
  const found = await Promise.all(domain_ids.map((id) => loadDomain(deps, caller, id)));
  return { domains: found.map(({ domain: { domainId: id, name } }) => ({ id, name })), tags: [...tags] };
};

/** Names of headers are not case-sensitive (RFC 9110 §5.1). */
export const headersOf = (headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
