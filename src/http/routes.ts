import type { RouteContext } from './endpoint.ts';
import { createKeyRoute } from './routes/api-keys/create-key.ts';
import { deleteKeyRoute } from './routes/api-keys/delete-key.ts';
import { getKeyRoute } from './routes/api-keys/get-key.ts';
import { listKeyHistoryRoute } from './routes/api-keys/list-key-history.ts';
import { listKeysRoute } from './routes/api-keys/list-keys.ts';
import { revokeKeyRoute } from './routes/api-keys/revoke-key.ts';
import { rotateKeyRoute } from './routes/api-keys/rotate-key.ts';
import { updateKeyRoute } from './routes/api-keys/update-key.ts';
import { listDestinationsRoute } from './routes/destinations/list-destinations.ts';
import { releaseDestinationRoute } from './routes/destinations/release-destination.ts';
import { deleteDomainRoute } from './routes/domains/delete-domain.ts';
import { endWarmUpRoute } from './routes/domains/end-warm-up.ts';
import { getDomainRoute } from './routes/domains/get-domain.ts';
import { getStandingRoute } from './routes/domains/get-standing.ts';
import { getWarmUpRoute } from './routes/domains/get-warm-up.ts';
import { listDomainsRoute } from './routes/domains/list-domains.ts';
import { registerDomainRoute } from './routes/domains/register-domain.ts';
import { releaseSendingRoute } from './routes/domains/release-sending.ts';
import { rotateDkimRoute } from './routes/domains/rotate-dkim.ts';
import { startWarmUpRoute } from './routes/domains/start-warm-up.ts';
import { verifyDomainRoute } from './routes/domains/verify-domain.ts';
import { getStatsRoute } from './routes/events/get-stats.ts';
import { readEventsRoute } from './routes/events/read-events.ts';
import { deleteInboxRoute } from './routes/inbox/delete-inbox.ts';
import { listInboxRoute } from './routes/inbox/list-inbox.ts';
import { analyzeMessageRoute } from './routes/messages/analyze-message.ts';
import { cancelMessageRoute } from './routes/messages/cancel-message.ts';
import { explainMessageRoute } from './routes/messages/explain-message.ts';
import { getMessageRoute } from './routes/messages/get-message.ts';
import { getMessageContentRoute } from './routes/messages/get-message-content.ts';
import { listMessageEventsRoute } from './routes/messages/list-message-events.ts';
import { listMessagesRoute } from './routes/messages/list-messages.ts';
import { rescheduleMessageRoute } from './routes/messages/reschedule-message.ts';
import { sendBatchRoute } from './routes/messages/send-batch.ts';
import { sendMessageRoute } from './routes/messages/send-message.ts';
import { getBillingRoute } from './routes/organization/get-billing.ts';
import { getOrganizationRoute } from './routes/organization/get-organization.ts';
import { getOrganizationStandingRoute } from './routes/organization/get-organization-standing.ts';
import { getUsageRoute } from './routes/organization/get-usage.ts';
import { releaseOrganizationSendingRoute } from './routes/organization/release-organization-sending.ts';
import { livezRoute, readyzRoute } from './routes/probes/health.ts';
import { docsRoute, openapiRoute, rootRoute } from './routes/reference/documentation.ts';
import { addSuppressionsRoute } from './routes/suppressions/add-suppressions.ts';
import { checkSuppressionRoute } from './routes/suppressions/check-suppression.ts';
import { deleteSuppressionRoute } from './routes/suppressions/delete-suppression.ts';
import { exportSuppressionsRoute } from './routes/suppressions/export-suppressions.ts';
import { getSuppressionRoute } from './routes/suppressions/get-suppression.ts';
import { importSuppressionsRoute } from './routes/suppressions/import-suppressions.ts';
import { listSuppressionsRoute } from './routes/suppressions/list-suppressions.ts';
import { showUnsubscribePageRoute } from './routes/unsubscribe/show-unsubscribe-page.ts';
import { unsubscribeRecipientRoute } from './routes/unsubscribe/unsubscribe-recipient.ts';
import { deleteWebhookRoute } from './routes/webhooks/delete-webhook.ts';
import { getWebhookRoute } from './routes/webhooks/get-webhook.ts';
import { listWebhookDeliveriesRoute } from './routes/webhooks/list-webhook-deliveries.ts';
import { listWebhooksRoute } from './routes/webhooks/list-webhooks.ts';
import { registerWebhookRoute } from './routes/webhooks/register-webhook.ts';

/** Everything that is registered; `route-table.ts` says what each needs. */
export const REGISTRATIONS: readonly ((route: RouteContext) => void)[] = [
  sendMessageRoute,
  analyzeMessageRoute,
  sendBatchRoute,
  listMessagesRoute,
  getMessageRoute,
  getMessageContentRoute,
  listMessageEventsRoute,
  explainMessageRoute,
  cancelMessageRoute,
  rescheduleMessageRoute,
  createKeyRoute,
  listKeysRoute,
  getKeyRoute,
  updateKeyRoute,
  deleteKeyRoute,
  listKeyHistoryRoute,
  rotateKeyRoute,
  revokeKeyRoute,
  registerDomainRoute,
  listDomainsRoute,
  getDomainRoute,
  deleteDomainRoute,
  verifyDomainRoute,
  rotateDkimRoute,
  getStandingRoute,
  releaseSendingRoute,
  getWarmUpRoute,
  startWarmUpRoute,
  endWarmUpRoute,
  registerWebhookRoute,
  listWebhooksRoute,
  getWebhookRoute,
  deleteWebhookRoute,
  listWebhookDeliveriesRoute,
  addSuppressionsRoute,
  listSuppressionsRoute,
  checkSuppressionRoute,
  exportSuppressionsRoute,
  importSuppressionsRoute,
  getSuppressionRoute,
  deleteSuppressionRoute,
  readEventsRoute,
  getStatsRoute,
  getBillingRoute,
  getUsageRoute,
  getOrganizationRoute,
  getOrganizationStandingRoute,
  releaseOrganizationSendingRoute,
  listInboxRoute,
  deleteInboxRoute,
  listDestinationsRoute,
  releaseDestinationRoute,
  showUnsubscribePageRoute,
  unsubscribeRecipientRoute,
  rootRoute,
  livezRoute,
  readyzRoute,
  openapiRoute,
  docsRoute,
];
