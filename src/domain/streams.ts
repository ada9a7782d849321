/**
 * Register of the log's streams. A stream is named `<category>-<id>` and holds the events of one family (`events.ts`): the
 * history of one aggregate. A category has no dash.
 */
import type { StreamName } from './ports/event-store.ts';

export const CATEGORIES = {
  organization: 'organization',
  /** Quota and invoice of an organization's month. */
  invoice: 'invoice',
  apiKey: 'apiKey',
  /** Refused changes of a key, beside its own stream: that one's revision is the key's `ETag`. */
  apiKeyRefusal: 'apiKeyRefusal',
  domain: 'domain',
  /** What the DNS says of a domain's records. */
  domainRecords: 'domainRecords',
  /** Which domain has proved that a name is its own. */
  domainName: 'domainName',
  message: 'message',
  template: 'template',
  /** All that is known against one address. */
  suppression: 'suppression',
  /** A kind of mail that recipients choose or refuse by itself. */
  topic: 'topic',
  webhook: 'webhook',
  /** Of all that is stored about one address. */
  erasure: 'erasure',
  /** Mail servers of a mailbox provider. */
  destination: 'destination',
  /** Reputation of a sender: a domain, or an organization with all of its domains. */
  reputation: 'reputation',
  warmUp: 'warmUp',
  /** The daily quota of a warm-up. */
  warmUpDay: 'warmUpDay',
  /** Keys and checkpoints of an audit tree. */
  audit: 'audit',
  /** Who may read the audit log of an organization without a key: an auditor each. */
  auditor: 'auditor',
  /** Everybody who may use the dashboard of an organization. */
  members: 'members',
  /** A browser in which a member has signed in: an event each for its begin and its end. */
  session: 'session',
  /** That somebody read what may say something about people: an event each. */
  reading: 'reading',
} as const;
type Category = keyof typeof CATEGORIES;

const streamOf = (category: Category, id: string): StreamName => `${CATEGORIES[category]}-${id}`;

export const organizationStream = (organizationId: string): StreamName => streamOf('organization', organizationId);
/** @param invoiceId follows from organization and month. */
export const invoiceStream = (invoiceId: string): StreamName => streamOf('invoice', invoiceId);
export const apiKeyStream = (keyId: string): StreamName => streamOf('apiKey', keyId);
export const keyRefusalsStream = (keyId: string): StreamName => streamOf('apiKeyRefusal', keyId);
export const sendingDomainStream = (domainId: string): StreamName => streamOf('domain', domainId);
export const domainRecordsStream = (domainId: string): StreamName => streamOf('domainRecords', domainId);
export const domainNameStream = (name: string): StreamName => streamOf('domainName', name);
export const messageStream = (messageId: string): StreamName => streamOf('message', messageId);
export const suppressionStream = (suppressionId: string): StreamName => streamOf('suppression', suppressionId);
export const topicStream = (topicId: string): StreamName => streamOf('topic', topicId);
export const webhookStream = (webhookId: string): StreamName => streamOf('webhook', webhookId);
export const erasureStream = (erasureId: string): StreamName => streamOf('erasure', erasureId);
export const templateStream = (templateId: string): StreamName => streamOf('template', templateId);
/** @param destination a mailbox provider, `@` and a recipient domain, or either behind the id of a sending domain. */
export const destinationStream = (destination: string): StreamName => streamOf('destination', destination);
/** @param senderId of a domain or an organization. */
export const reputationStream = (senderId: string): StreamName => streamOf('reputation', senderId);
export const warmUpStream = (domainId: string): StreamName => streamOf('warmUp', domainId);
export const readingStream = (readingId: string): StreamName => streamOf('reading', readingId);
/** @param tree an organization's id, or `service`. */
export const auditStream = (tree: string): StreamName => streamOf('audit', tree);
export const auditorStream = (auditorId: string): StreamName => streamOf('auditor', auditorId);
export const membersStream = (organizationId: string): StreamName => streamOf('members', organizationId);
export const sessionStream = (sessionId: string): StreamName => streamOf('session', sessionId);
/** @param day `YYYY-MM-DD`, UTC. */
export const dailyQuotaStream = (domainId: string, day: string): StreamName =>
  streamOf('warmUpDay', `${domainId}.${day}`);
