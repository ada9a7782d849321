import { COMPAT_REGISTRATIONS } from './compat/registrations.ts';
import { dashboardAssetRoute, dashboardRoute } from './dashboard/routes.ts';
import type { Registration } from './endpoint.ts';
import { ORGANIZATION_REGISTRATIONS } from './organization-registrations.ts';
import {
  deleteKeyRoute,
  getKeyRoute,
  listKeysRoute,
  revokeKeyRoute,
  rotateKeyRoute,
} from './routes/api-keys/api-keys.ts';
import { listKeyHistoryRoute } from './routes/api-keys/key-history.ts';
import { listKeySecretsRoute } from './routes/api-keys/key-secrets.ts';
import { createKeyRoute, updateKeyRoute } from './routes/api-keys/write-key.ts';
import { getTlogPolicyRoute } from './routes/audit/tlog.ts';
import { choosePlanRoute, getBillingRoute, getUsageRoute, listPlansRoute } from './routes/billing.ts';
import {
  deleteDomainRoute,
  getDomainRoute,
  listDomainsRoute,
  registerDomainRoute,
  rotateDkimRoute,
  updateDomainRoute,
  verifyDomainRoute,
} from './routes/domains.ts';
import { readEventsRoute } from './routes/events/read-events.ts';
import { getInvoiceRoute, listInvoicesRoute } from './routes/invoices.ts';
import { analyzeMessageRoute } from './routes/messages/analyze-message.ts';
import { cancelMessagesRoute } from './routes/messages/cancel-messages.ts';
import { explainMessageRoute } from './routes/messages/explain-message.ts';
import { listMessagesRoute } from './routes/messages/list-messages.ts';
import { getRawMessageRoute, previewMessageRoute } from './routes/messages/message-source.ts';
import {
  cancelMessageRoute,
  getMessageContentRoute,
  getMessageRoute,
  listMessageEventsRoute,
  rescheduleMessageRoute,
} from './routes/messages/messages.ts';
import { sendBatchRoute } from './routes/messages/send-batch.ts';
import { sendMessageRoute } from './routes/messages/send-message.ts';
import { savePreferencesRoute, showPreferencesPageRoute } from './routes/recipients/preferences.ts';
import { showUnsubscribePageRoute, unsubscribeRecipientRoute } from './routes/recipients/unsubscribe.ts';
import { viewMailRoute } from './routes/recipients/view-mail.ts';
import {
  countRefusedRequestsRoute,
  getRefusedRequestRoute,
  listRefusedRequestsRoute,
} from './routes/refused-requests.ts';
import { searchRoute } from './routes/search.ts';
import { getDomainReputationRoute, releaseSendingRoute } from './routes/sender-reputation.ts';
import { docsRoute, livezRoute, openapiRoute, readyzRoute, rootRoute } from './routes/service.ts';
import { getServiceRoute } from './routes/service-health.ts';
import { getStatsRoute } from './routes/stats.ts';
import { getSubmissionRoute } from './routes/submission.ts';
import { addSuppressionsRoute } from './routes/suppressions/add-suppressions.ts';
import { listOptInsRoute, optInRoute } from './routes/suppressions/opt-ins.ts';
import { exportSuppressionsRoute, importSuppressionsRoute } from './routes/suppressions/suppression-file.ts';
import {
  checkSuppressionRoute,
  deleteSuppressionRoute,
  getSuppressionRoute,
  listSuppressionsRoute,
} from './routes/suppressions/suppressions.ts';
import { previewTemplateRoute, renderTemplateRoute } from './routes/templates/render-template.ts';
import {
  changeTemplateRoute,
  createTemplateRoute,
  deleteTemplateRoute,
  getTemplateRoute,
  listTemplatesRoute,
  publishTemplateRoute,
  rollBackTemplateRoute,
} from './routes/templates/templates.ts';
import { testSendTemplateRoute } from './routes/templates/test-send.ts';
import {
  compareTemplateVersionsRoute,
  getTemplateVersionRoute,
  listTemplateVersionsRoute,
} from './routes/templates/versions.ts';
import {
  createTopicRoute,
  deleteTopicRoute,
  getTopicRoute,
  listTopicsRoute,
  updateTopicRoute,
} from './routes/topics.ts';
import { followLinkRoute, loadPixelRoute } from './routes/tracking.ts';
import { endWarmUpRoute, getWarmUpRoute, startWarmUpRoute } from './routes/warm-up.ts';
import {
  getWebhookDeliveryRoute,
  listWebhookDeliveriesRoute,
  resendWebhookDeliveryRoute,
} from './routes/webhooks/deliveries.ts';
import {
  cancelWebhookReplayRoute,
  getWebhookReplayRoute,
  listWebhookReplaysRoute,
  replayWebhookRoute,
} from './routes/webhooks/replays.ts';
import {
  adoptWebhookRoute,
  deleteWebhookRoute,
  getWebhookRoute,
  listWebhooksRoute,
  pingWebhookRoute,
  registerWebhookRoute,
  rotateWebhookSecretRoute,
  updateWebhookRoute,
} from './routes/webhooks/webhooks.ts';

/** All routes by operation id with `Route`, in the order of the OpenAPI document; `route-table.ts` says what each requires. */
export const REGISTRATIONS: Readonly<Record<string, Registration>> = {
  sendMessageRoute,
  analyzeMessageRoute,
  sendBatchRoute,
  listMessagesRoute,
  getMessageRoute,
  getMessageContentRoute,
  previewMessageRoute,
  getRawMessageRoute,
  listMessageEventsRoute,
  explainMessageRoute,
  cancelMessageRoute,
  cancelMessagesRoute,
  rescheduleMessageRoute,
  createKeyRoute,
  listKeysRoute,
  getKeyRoute,
  updateKeyRoute,
  deleteKeyRoute,
  listKeyHistoryRoute,
  listKeySecretsRoute,
  rotateKeyRoute,
  revokeKeyRoute,
  registerDomainRoute,
  listDomainsRoute,
  getDomainRoute,
  updateDomainRoute,
  deleteDomainRoute,
  verifyDomainRoute,
  rotateDkimRoute,
  getDomainReputationRoute,
  releaseSendingRoute,
  getWarmUpRoute,
  startWarmUpRoute,
  endWarmUpRoute,
  createTemplateRoute,
  listTemplatesRoute,
  getTemplateRoute,
  changeTemplateRoute,
  deleteTemplateRoute,
  publishTemplateRoute,
  rollBackTemplateRoute,
  listTemplateVersionsRoute,
  getTemplateVersionRoute,
  compareTemplateVersionsRoute,
  renderTemplateRoute,
  previewTemplateRoute,
  testSendTemplateRoute,
  registerWebhookRoute,
  listWebhooksRoute,
  getWebhookRoute,
  updateWebhookRoute,
  deleteWebhookRoute,
  rotateWebhookSecretRoute,
  adoptWebhookRoute,
  pingWebhookRoute,
  listWebhookDeliveriesRoute,
  getWebhookDeliveryRoute,
  resendWebhookDeliveryRoute,
  replayWebhookRoute,
  listWebhookReplaysRoute,
  getWebhookReplayRoute,
  cancelWebhookReplayRoute,
  addSuppressionsRoute,
  listSuppressionsRoute,
  checkSuppressionRoute,
  exportSuppressionsRoute,
  importSuppressionsRoute,
  getSuppressionRoute,
  deleteSuppressionRoute,
  createTopicRoute,
  optInRoute,
  listOptInsRoute,
  listTopicsRoute,
  getTopicRoute,
  updateTopicRoute,
  deleteTopicRoute,
  readEventsRoute,
  getStatsRoute,
  searchRoute,
  getSubmissionRoute,
  getServiceRoute,
  listRefusedRequestsRoute,
  countRefusedRequestsRoute,
  getRefusedRequestRoute,
  getBillingRoute,
  getUsageRoute,
  listPlansRoute,
  choosePlanRoute,
  listInvoicesRoute,
  getInvoiceRoute,
  ...ORGANIZATION_REGISTRATIONS,
  ...COMPAT_REGISTRATIONS,
  showUnsubscribePageRoute,
  viewMailRoute,
  unsubscribeRecipientRoute,
  followLinkRoute,
  loadPixelRoute,
  showPreferencesPageRoute,
  savePreferencesRoute,
  dashboardRoute,
  dashboardAssetRoute,
  getTlogPolicyRoute,
  rootRoute,
  livezRoute,
  readyzRoute,
  openapiRoute,
  docsRoute,
};
