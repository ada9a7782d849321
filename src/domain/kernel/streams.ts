/**
 * Registry of the log's streams. A stream is named `<category>-<id>` and holds the events of one family (`events.ts`):
 * the history of one aggregate. A category contains no dash.
 */
import type { StreamName } from '../../lib/event-log/event-log.ts';

export const CATEGORIES = {
  organization: 'organization',
  /** Quota notices and invoice of an organization's month. */
  invoice: 'invoice',
  apiKey: 'apiKey',
  /** Refused changes of a key, separate from its own stream, whose revision is the key's `ETag`. */
  apiKeyRefusal: 'apiKeyRefusal',
  domain: 'domain',
  /** DNS results for a domain's records. */
  domainRecords: 'domainRecords',
  /** The domain that has proved ownership of a name. */
  domainName: 'domainName',
  message: 'message',
  /** A mail that was received for a domain. */
  inbound: 'inbound',
  template: 'template',
  /** Suppression of one address. */
  suppression: 'suppression',
  /** A kind of mail that recipients can choose or refuse separately. */
  topic: 'topic',
  /** A rule for received mail to some addresses of a domain. */
  inboundRoute: 'inboundRoute',
  webhook: 'webhook',
  /** Erasure of everything stored about one address. */
  erasure: 'erasure',
  /** Mail servers of a mailbox provider. */
  destination: 'destination',
  /** Reputation of a sender: a domain, or an organization with all its domains. */
  reputation: 'reputation',
  warmUp: 'warmUp',
  /** Daily quota of a warm-up. */
  warmUpDay: 'warmUpDay',
  /** Keys and checkpoints of an audit tree. */
  audit: 'audit',
  /** An auditor, who may read an organization's audit log without a key. */
  auditor: 'auditor',
  /** People who may use the dashboard of an organization. */
  members: 'members',
  /** A browser session of a member. One event starts it, another ends it. */
  session: 'session',
  /** Access to data about people, one event for each read. */
  reading: 'reading',
} as const;
type Category = keyof typeof CATEGORIES;

const streamOf = (category: Category, id: string): StreamName => `${CATEGORIES[category]}-${id}`;

export const organizationStream = (organizationId: string): StreamName => streamOf('organization', organizationId);
/** @param invoiceId derived from organization and month. */
export const invoiceStream = (invoiceId: string): StreamName => streamOf('invoice', invoiceId);
export const apiKeyStream = (keyId: string): StreamName => streamOf('apiKey', keyId);
export const keyRefusalsStream = (keyId: string): StreamName => streamOf('apiKeyRefusal', keyId);
export const sendingDomainStream = (domainId: string): StreamName => streamOf('domain', domainId);
export const domainRecordsStream = (domainId: string): StreamName => streamOf('domainRecords', domainId);
export const domainNameStream = (name: string): StreamName => streamOf('domainName', name);
export const messageStream = (messageId: string): StreamName => streamOf('message', messageId);
export const inboundStream = (inboundId: string): StreamName => streamOf('inbound', inboundId);
export const suppressionStream = (suppressionId: string): StreamName => streamOf('suppression', suppressionId);
export const topicStream = (topicId: string): StreamName => streamOf('topic', topicId);
export const inboundRouteStream = (routeId: string): StreamName => streamOf('inboundRoute', routeId);
export const webhookStream = (webhookId: string): StreamName => streamOf('webhook', webhookId);
export const erasureStream = (erasureId: string): StreamName => streamOf('erasure', erasureId);
export const templateStream = (templateId: string): StreamName => streamOf('template', templateId);
/**
 * @param destination a mailbox provider, `@` and a recipient domain, or either of them after the id of a sending
 * domain.
 */
export const destinationStream = (destination: string): StreamName => streamOf('destination', destination);
/** @param senderId id of a domain or organization. */
export const reputationStream = (senderId: string): StreamName => streamOf('reputation', senderId);
export const warmUpStream = (domainId: string): StreamName => streamOf('warmUp', domainId);
export const readingStream = (readingId: string): StreamName => streamOf('reading', readingId);
/** @param tree an organization's id, or `service`. */
export const auditStream = (tree: string): StreamName => streamOf('audit', tree);
/** Adoptions of events without proof, which concern all trees. */
export const adoptionsStream = (): StreamName => streamOf('audit', 'adoptions');
export const auditorStream = (auditorId: string): StreamName => streamOf('auditor', auditorId);
export const membersStream = (organizationId: string): StreamName => streamOf('members', organizationId);
export const sessionStream = (sessionId: string): StreamName => streamOf('session', sessionId);
/** @param ownerId a domain's id or an IP address. @param day `YYYY-MM-DD`, UTC. */
export const dailyQuotaStream = (ownerId: string, day: string): StreamName =>
  streamOf('warmUpDay', `${ownerId}.${day}`);
