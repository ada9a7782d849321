import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Service, startService } from '../support/service.ts';
import { GUARDED } from '../support/walk-routes.ts';

let service: Service;

beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

/** The parts of an OpenAPI schema that this test reads. */
interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: unknown;
  readonly const?: unknown;
  readonly format?: string;
  readonly items?: Schema;
  readonly additionalProperties?: Schema | false;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
}

/** Values, list items and properties of a schema, each with the name of its field. */
const partsOf = (schema: Schema, name: string): readonly (readonly [name: string, part: Schema])[] => {
  const { items, additionalProperties, properties = {}, anyOf = [], oneOf = [] } = schema;
  const same = [...anyOf, ...oneOf, ...(items ? [items] : [])].map((part) => [name, part] as const);
  const named = additionalProperties ? [[`${name}.*`, additionalProperties] as const] : [];
  return [...same, ...named, ...Object.entries(properties)];
};

const isText = ({ type, format, ...schema }: Schema): boolean =>
  [type].flat().includes('string') && format === undefined && !('enum' in schema || 'const' in schema);

type Schemas = Readonly<Record<string, Schema>>;

const referred = (schemas: Schemas, { $ref = '' }: Schema): Schema | undefined => schemas[$ref.split('/').at(-1) ?? ''];

/** Adds the names of all fields of a schema that can hold text. */
const addTexts = (found: Set<string>, schemas: Schemas, schema: Schema): void => {
  const seen = new Set<Schema>();
  const look = (name: string, part: Schema): void => {
    const whole = referred(schemas, part) ?? part;
    if (isText(whole)) found.add(name);
    if (seen.has(whole)) return;
    seen.add(whole);
    for (const [field, one] of partsOf(whole, name)) look(field, one);
  };
  look('', schema);
};

/** Withheld, with any content. */
const WITHHELD = [
  ...['body', 'content_id', 'evidence', 'filename', 'metadata.*', 'reply', 'response', 'sanitized_html', 'subject'],
];
/** Reviewed fields, which are shown with all addresses masked. `text` is withheld next to an SMTP code. */
const LOOKED_AT = `address advice alias allowed_cidrs api_key_id api_key_name auditor_id body_sha256 calculation cipher client client_address
  color contact content_digest content_type currency cursor date description destination destinations domain_id domain_ids enhanced
  erasure_id event_id event_type events field forward_to from group group.* header_names headers.* hosts html id in_reply_to_message_id inbound_id internet_message_id inbound_route_id invoice_id
  key_id last4 last_used_address layout left_out log_position logo_url match meaning member_id member_name message
  message_id method mx name network next_cursor note number organization_id origin overage_per_1000 path period plan
  pointer position preheader previous_last4 problem problems published_by rate rate_per_1000 reason recipient_domain recipient_id
  recipient_ids remedy replay_id reply_to request_id resend_of resent_as root_hash route route_id secret_last4 seen sentence session_id signing
  stream summary tags tax_id template_id text timezone title tls to topic_id type url user_agent value verdict version
  webhook_id`;

test('roles without access to contents see only fields that were reviewed', async () => {
  const { paths, components } = (await service.request({ url: '/openapi.json' })).json();
  const found = new Set<string>();
  for (const { url, method, rule } of GUARDED) {
    if (method !== 'GET' || rule.mail === 'none' || rule.contents === true) continue;
    const { content } = paths[url.replaceAll(/:(\w+)/g, '{$1}')].get.responses['200'];
    if (content['application/json'] !== undefined)
      addTexts(found, components.schemas, content['application/json'].schema);
  }
  expect([...found].sort()).toEqual([...WITHHELD, ...LOOKED_AT.split(/\s+/)].sort());
});
