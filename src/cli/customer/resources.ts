import type { z } from 'zod';
import type { SerializedApiKey } from '../../http/resources/api-keys/api-keys.ts';
import type { domainSchema } from '../../http/resources/domains/domain.ts';
import type { SerializedSuppression } from '../../http/resources/suppressions/add-suppressions.ts';
import { type Invocation, optional, type Result, required, type ServiceCommand } from '../command.ts';
import { CommandFailed, EXIT, type Terminal } from '../terminal.ts';
import { textIn } from './messages.ts';
import {
  definedIn,
  type Fields,
  LISTED_MAX,
  listCommand,
  listed,
  oneCommand,
  PAGE,
  type Page,
} from './resource-commands.ts';
import {
  deletedText,
  keyEndedText,
  messageCancelledText,
  suppressionAddedText,
  suppressionCheckText,
  suppressionImportText,
  suppressionRemovedText,
  webhookAddedText,
  webhookPingText,
  webhookText,
} from './result-texts.ts';
import type { Service } from './service.ts';

/**
 * Commands that list and change the resources of an organization: domains, keys, suppressions, webhooks, templates,
 * events and captured mail. Each is one request, or one for each page of a list.
 */

// Domains

type Domain = z.infer<typeof domainSchema>;

const DOMAIN = 'domain: NAME or DOM_ID';
const DOMAIN_ID = /^dom_[a-z2-7]{26}$/;

interface NamedDomain {
  readonly id: string;
  readonly name: string;
}

const ownDomains = async (service: Service): Promise<readonly NamedDomain[]> => {
  const { found } = await listed(service, '/v1/domains', { limit: LISTED_MAX });
  return found.map(({ id, name }) => ({ id: String(id), name: String(name) }));
};

const domainIn = (domains: readonly NamedDomain[], idOrName: string): NamedDomain => {
  const name = idOrName.toLowerCase();
  const match = domains.find((one) => one.id === idOrName || one.name === name);
  if (match !== undefined) return match;
  throw new CommandFailed(`domain ${name} not found. List domains with \`outbox domains list\``);
};

/** @param domain id or name, percent-encoded. @throws {CommandFailed} if the organization has no such domain. */
const domainIdOf = async (service: Service, domain: string): Promise<string> =>
  DOMAIN_ID.test(domain) ? domain : domainIn(await ownDomains(service), decodeURIComponent(domain)).id;

/**
 * The domain that `--domain` names by id or name. Without it: the only one of the organization, or the one that the user
 * chooses.
 * @throws {UsageError} if there are several and no person to choose.
 */
export const chosenDomain = async (
  service: Service,
  invocation: Invocation,
  { ask }: Pick<Terminal, 'ask'>,
): Promise<NamedDomain> => {
  const given = optional(invocation, 'domain');
  const domains = await ownDomains(service);
  if (given !== undefined) return domainIn(domains, given);
  const [first, ...others] = domains;
  if (first === undefined) throw new CommandFailed('you have no domain: add one with `outbox domains add NAME`');
  if (others.length === 0) return first;
  const names = domains.map(({ name }) => name).join(', ');
  return domainIn(domains, await ask(`Domain (${names}):`, { otherwise: `choose a domain with --domain: ${names}` }));
};

const recordLines = ({ name, status, records }: Domain): string => {
  const shown = records.flatMap(({ type, name: host, value, status: state, purpose }) => [
    `${purpose}: ${state}`,
    `  ${type}  ${host}`,
    `  ${value}`,
  ]);
  return [`${name}: ${status}`, ...shown].join('\n');
};

const domainText = (result: Result): string => recordLines(result as unknown as Domain);

const showDomain = async (service: Service, domain: string, method = 'GET', action = ''): Promise<Fields> =>
  (await service.ask<Fields>(method, `/v1/domains/${await domainIdOf(service, domain)}${action}`)).body;

const domainCommands: readonly ServiceCommand[] = [
  listCommand({
    name: 'domains list',
    summary: 'lists your domains',
    path: '/v1/domains',
    columns: { ID: 'id', STATUS: 'status', NAME: 'name' },
  }),
  oneCommand(
    {
      name: 'domains add',
      usage: 'NAME',
      summary: 'adds a domain and prints its DNS records',
      what: 'name: NAME',
      textOf: domainText,
    },
    async ({ ask }, name) =>
      (await ask<Fields>('POST', '/v1/domains', { body: { name: decodeURIComponent(name) } })).body,
  ),
  oneCommand(
    {
      name: 'domains records',
      usage: 'DOMAIN',
      summary: 'prints the DNS records to publish, and the state of each',
      what: DOMAIN,
      textOf: domainText,
    },
    (service, domain) => showDomain(service, domain),
  ),
  oneCommand(
    {
      name: 'domains verify',
      usage: 'DOMAIN',
      summary: 'checks the DNS records of a domain now',
      what: DOMAIN,
      textOf: domainText,
    },
    (service, domain) => showDomain(service, domain, 'POST', '/verify'),
  ),
  oneCommand(
    {
      name: 'domains delete',
      usage: 'DOMAIN',
      summary: 'deletes a domain and its keys',
      what: DOMAIN,
      textOf: deletedText('domain'),
    },
    async (service, domain) => {
      await service.ask('DELETE', `/v1/domains/${await domainIdOf(service, domain)}`);
      return undefined;
    },
  ),
];

// API keys

const KEY = 'key: KEY_ID';

const keyCommands: readonly ServiceCommand[] = [
  listCommand({
    name: 'keys list',
    summary: 'lists your API keys without their secrets',
    path: '/v1/api-keys',
    columns: {
      ID: 'id',
      STATUS: 'status',
      ENVIRONMENT: 'environment',
      PERMISSIONS: 'permissions',
      'LAST USED': 'last_used_at',
      NAME: 'name',
    },
  }),
  oneCommand(
    {
      name: 'keys revoke',
      usage: 'KEY_ID',
      summary: 'revokes a key at once',
      what: KEY,
      textOf: keyEndedText,
    },
    async ({ ask }, id) => {
      const { body } = await ask<SerializedApiKey>('POST', `/v1/api-keys/${id}/revoke`);
      return { id: body.id, name: body.name, status: body.status };
    },
  ),
];

// Suppressions

const SUPPRESSION = 'suppression: ADDRESS or SUP_ID';
const SUPPRESSION_ID = /^sup_[a-z2-7]{26}$/;

/** @param given id or address, percent-encoded. @throws {CommandFailed} if the address is not suppressed. */
const suppressionIdsOf = async ({ ask }: Service, given: string): Promise<readonly string[]> => {
  if (SUPPRESSION_ID.test(given)) return [given];
  const address = decodeURIComponent(given);
  const { body } = await ask<Page>('GET', '/v1/suppressions', { query: { address, limit: PAGE } });
  if (body.data.length === 0) throw new CommandFailed(`${address} is not suppressed`);
  return body.data.map(({ id }) => String(id));
};

/** All reasons in force: a row that `--reason` finds shows that reason. */
const activeReasons = (row: Fields): readonly string[] => {
  const { entries } = row as unknown as SerializedSuppression;
  return [...new Set(entries.flatMap(({ status, reason }) => (status === 'active' ? [reason] : [])))];
};

const suppressionCommands: readonly ServiceCommand[] = [
  listCommand({
    name: 'suppressions list',
    summary: 'lists the addresses that you do not send to, newest first',
    path: '/v1/suppressions',
    filters: { address: 'address', reason: 'reason', scope: 'scope' },
    columns: { ID: 'id', 'CREATED AT': 'created_at', REASON: activeReasons, SCOPE: 'scope', ADDRESS: 'address' },
  }),
  oneCommand(
    {
      name: 'suppressions add',
      usage: 'ADDRESS [--scope all|transactional|bulk] [--note TEXT]',
      summary: 'suppresses an address: no mail is sent to it',
      what: 'address: ADDRESS',
      textOf: suppressionAddedText,
    },
    async ({ ask }, address, invocation) => {
      const [scope, note] = ['scope', 'note'].map((option) => optional(invocation, option));
      const body = definedIn({ address: decodeURIComponent(address), scope, note });
      return (await ask<Fields>('POST', '/v1/suppressions', { body })).body;
    },
  ),
  oneCommand(
    {
      name: 'suppressions check',
      usage: 'ADDRESS',
      summary: 'says if an address is suppressed',
      what: 'address: ADDRESS',
      textOf: suppressionCheckText,
    },
    async ({ ask }, address) =>
      (await ask<Fields>('GET', '/v1/suppressions/check', { query: { address: decodeURIComponent(address) } })).body,
  ),
  oneCommand(
    {
      name: 'suppressions remove',
      usage: 'ADDRESS',
      summary: 'removes the suppressions of an address, so that it gets mail again',
      what: SUPPRESSION,
      textOf: suppressionRemovedText,
    },
    async (service, given) => {
      for (const id of await suppressionIdsOf(service, given)) await service.ask('DELETE', `/v1/suppressions/${id}`);
      return undefined;
    },
  ),
  {
    name: 'suppressions import',
    usage: '--file FILE|-',
    summary: 'adds the addresses of a CSV file with the column address, and optionally reason, scope and note',
    needs: 'service',
    exitCode: (result) => ('refused' in result && result.refused !== 0 ? EXIT.different : 0),
    textOf: suppressionImportText,
    run: async ({ ask }, invocation) => {
      const body = { csv: await textIn(optional(invocation, 'file') ?? '-') };
      return (await ask<Fields>('POST', '/v1/suppressions/import', { body })).body;
    },
  },
];

// Webhooks

const WEBHOOK = 'webhook: WHK_ID';
/** Higher: the webhook scrolls out of the window. Lower: the retries of one event hide the others. */
const DELIVERIES_SHOWN = 10;

const webhookCommands: readonly ServiceCommand[] = [
  listCommand({
    name: 'webhooks list',
    summary: 'lists your webhooks',
    path: '/v1/webhooks',
    columns: { ID: 'id', STATUS: 'status', EVENTS: 'events', URL: 'url' },
  }),
  {
    name: 'webhooks add',
    usage: '--url URL --events TYPES [--description TEXT]',
    summary: 'adds a webhook and prints its signing secret once',
    needs: 'service',
    textOf: webhookAddedText,
    run: async ({ ask }, invocation) => {
      const events = required(invocation, 'events')
        .split(',')
        .map((type) => type.trim());
      const body = definedIn({
        url: optional(invocation, 'url'),
        events,
        description: optional(invocation, 'description'),
      });
      return (await ask<Fields>('POST', '/v1/webhooks', { body })).body;
    },
  },
  oneCommand(
    {
      name: 'webhooks show',
      usage: 'WHK_ID',
      summary: 'shows a webhook and its last deliveries',
      what: WEBHOOK,
      textOf: webhookText,
    },
    async ({ ask }, id) => {
      const { body } = await ask<Fields>('GET', `/v1/webhooks/${id}`);
      const query = { limit: DELIVERIES_SHOWN };
      const { body: page } = await ask<Page>('GET', `/v1/webhooks/${id}/deliveries`, { query });
      return { ...body, deliveries: page.data };
    },
  ),
  oneCommand(
    {
      name: 'webhooks ping',
      usage: 'WHK_ID',
      summary: 'posts a test event to a webhook',
      what: WEBHOOK,
      textOf: webhookPingText,
    },
    async ({ ask }, id) => (await ask<Fields | undefined>('POST', `/v1/webhooks/${id}/ping`)).body,
  ),
  oneCommand(
    {
      name: 'webhooks delete',
      usage: 'WHK_ID',
      summary: 'deletes a webhook',
      what: WEBHOOK,
      textOf: deletedText('webhook'),
    },
    async ({ ask }, id) => (await ask<undefined>('DELETE', `/v1/webhooks/${id}`)).body,
  ),
];

const otherCommands: readonly ServiceCommand[] = [
  listCommand({
    name: 'templates list',
    summary: 'lists your templates',
    path: '/v1/templates',
    columns: { ID: 'id', STATUS: 'status', VERSION: 'published_version', ALIAS: 'alias', NAME: 'name' },
  }),
  oneCommand(
    {
      name: 'messages cancel',
      usage: 'MSG_ID',
      summary: 'cancels a message that has not been sent yet',
      what: 'message: MSG_ID',
      textOf: messageCancelledText,
    },
    async ({ ask }, id) => {
      const { body } = await ask<Fields>('POST', `/v1/messages/${id}/cancel`);
      return { id: body.id, status: body.status };
    },
  ),
  listCommand({
    name: 'events list',
    summary: 'lists recent events, the oldest first; --after continues from a cursor',
    path: '/v1/events',
    filters: { types: 'types', message: 'message_id', domain: 'domain_id', tag: 'tag' },
    columns: { ID: 'id', TIME: 'timestamp', TYPE: 'type' },
  }),
  listCommand({
    name: 'inbox list',
    summary: 'lists captured mail, while the service captures it instead of sending it',
    path: '/v1/inbox',
    filters: { to: 'to' },
    columns: { ID: 'id', RECEIVED: 'received_at', SUBJECT: 'subject' },
  }),
];

const inboundCommands: readonly ServiceCommand[] = [
  listCommand({
    name: 'inbound list',
    summary: 'lists received messages, newest first',
    path: '/v1/inbound',
    filters: { from: 'from', to: 'to', domain: 'domain_id', subject: 'subject' },
    columns: { ID: 'id', RECEIVED: 'received_at', SUBJECT: 'subject' },
  }),
  oneCommand(
    {
      name: 'inbound show',
      usage: 'INB_ID',
      summary: 'shows a received message',
      what: 'inbound message: INB_ID',
    },
    async ({ ask }, id) => (await ask<Fields>('GET', `/v1/inbound/${id}`)).body,
  ),
];

export const RESOURCE_COMMANDS: readonly ServiceCommand[] = [
  ...domainCommands,
  ...keyCommands,
  ...suppressionCommands,
  ...webhookCommands,
  ...inboundCommands,
  ...otherCommands,
];
