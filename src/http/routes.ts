import type { House } from './endpoint.ts';
import { createKeyRoute } from './routes/api-keys/create-key.ts';
import { getKeyRoute } from './routes/api-keys/get-key.ts';
import { listKeysRoute } from './routes/api-keys/list-keys.ts';
import { revokeKeyRoute } from './routes/api-keys/revoke-key.ts';
import { rotateKeyRoute } from './routes/api-keys/rotate-key.ts';
import { getDomainRoute } from './routes/domains/get-domain.ts';
import { listDomainsRoute } from './routes/domains/list-domains.ts';
import { registerDomainRoute } from './routes/domains/register-domain.ts';
import { verifyDomainRoute } from './routes/domains/verify-domain.ts';
import { getStatsRoute } from './routes/events/get-stats.ts';
import { readEventsRoute } from './routes/events/read-events.ts';
import { listInboxRoute } from './routes/inbox/list-inbox.ts';
import { getMessageRoute } from './routes/messages/get-message.ts';
import { getMessageContentRoute } from './routes/messages/get-message-content.ts';
import { listMessageEventsRoute } from './routes/messages/list-message-events.ts';
import { listMessagesRoute } from './routes/messages/list-messages.ts';
import { sendMessageRoute } from './routes/messages/send-message.ts';
import { getBillingRoute } from './routes/organization/get-billing.ts';
import { getOrganizationRoute } from './routes/organization/get-organization.ts';
import { getUsageRoute } from './routes/organization/get-usage.ts';
import { livezRoute, readyzRoute } from './routes/probes/health.ts';
import { docsRoute, openapiRoute } from './routes/reference/documentation.ts';
import { deleteWebhookRoute } from './routes/webhooks/delete-webhook.ts';
import { getWebhookRoute } from './routes/webhooks/get-webhook.ts';
import { listWebhookDeliveriesRoute } from './routes/webhooks/list-webhook-deliveries.ts';
import { listWebhooksRoute } from './routes/webhooks/list-webhooks.ts';
import { registerWebhookRoute } from './routes/webhooks/register-webhook.ts';

/** Everything that is registered; `route-table.ts` says what each needs. */
export const REGISTRATIONS: readonly ((house: House) => void)[] = [
  sendMessageRoute,
  listMessagesRoute,
  getMessageRoute,
  getMessageContentRoute,
  listMessageEventsRoute,
  createKeyRoute,
  listKeysRoute,
  getKeyRoute,
  rotateKeyRoute,
  revokeKeyRoute,
  registerDomainRoute,
  listDomainsRoute,
  getDomainRoute,
  verifyDomainRoute,
  registerWebhookRoute,
  listWebhooksRoute,
  getWebhookRoute,
  deleteWebhookRoute,
  listWebhookDeliveriesRoute,
  readEventsRoute,
  getStatsRoute,
  getBillingRoute,
  getUsageRoute,
  getOrganizationRoute,
  listInboxRoute,
  livezRoute,
  readyzRoute,
  openapiRoute,
  docsRoute,
];
