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
} from './resources/api-keys/api-keys.ts';
import { listKeyHistoryRoute, listKeySecretsRoute } from './resources/api-keys/key-history.ts';
import { createKeyRoute, updateKeyRoute } from './resources/api-keys/write-key.ts';
import { getTlogPolicyRoute } from './resources/audit/checkpoints.ts';
import {
  choosePlanRoute,
  getBillingRoute,
  getInvoiceRoute,
  getUsageRoute,
  listInvoicesRoute,
  listPlansRoute,
} from './resources/billing.ts';
import {
  deleteDomainRoute,
  getDomainRoute,
  listDomainsRoute,
  registerDomainRoute,
  rotateDkimRoute,
  updateDomainRoute,
  verifyDomainRoute,
} from './resources/domains/domains.ts';
import {
  endWarmUpRoute,
  getDomainReputationRoute,
  getWarmUpRoute,
  releaseSendingRoute,
  startWarmUpRoute,
} from './resources/domains/reputation.ts';
import { readEventsRoute } from './resources/events/read-events.ts';
import { cancelMessagesRoute } from './resources/messages/cancel-messages.ts';
import { explainMessageRoute } from './resources/messages/explain-route.ts';
import { listMessagesRoute } from './resources/messages/find-messages.ts';
import {
  cancelMessageRoute,
  getMessageContentRoute,
  getMessageRoute,
  getRawMessageRoute,
  listMessageEventsRoute,
  previewMessageRoute,
  rescheduleMessageRoute,
} from './resources/messages/messages.ts';
import { sendBatchRoute } from './resources/messages/send-batch.ts';
import { analyzeMessageRoute, sendMessageRoute } from './resources/messages/send-message.ts';
import {
  savePreferencesRoute,
  showPreferencesPageRoute,
  showUnsubscribePageRoute,
  unsubscribeRecipientRoute,
  viewMailRoute,
} from './resources/recipients.ts';
import {
  countRefusedRequestsRoute,
  getRefusedRequestRoute,
  listRefusedRequestsRoute,
} from './resources/refused-requests.ts';
import { searchRoute } from './resources/search.ts';
import {
  docsRoute,
  getServiceRoute,
  getSubmissionRoute,
  livezRoute,
  openapiRoute,
  readyzRoute,
  rootRoute,
} from './resources/service.ts';
import { getStatsRoute } from './resources/stats.ts';
import { addSuppressionsRoute } from './resources/suppressions/add-suppressions.ts';
import { exportSuppressionsRoute, importSuppressionsRoute } from './resources/suppressions/suppression-file.ts';
import {
  checkSuppressionRoute,
  deleteSuppressionRoute,
  getSuppressionRoute,
  listSuppressionsRoute,
} from './resources/suppressions/suppressions.ts';
import {
  previewTemplateRoute,
  renderTemplateRoute,
  testSendTemplateRoute,
} from './resources/templates/render-template.ts';
import {
  changeTemplateRoute,
  compareTemplateVersionsRoute,
  createTemplateRoute,
  deleteTemplateRoute,
  getTemplateRoute,
  getTemplateVersionRoute,
  listTemplatesRoute,
  listTemplateVersionsRoute,
  publishTemplateRoute,
  rollBackTemplateRoute,
} from './resources/templates/templates.ts';
import {
  createTopicRoute,
  deleteTopicRoute,
  getTopicRoute,
  listOptInsRoute,
  listTopicsRoute,
  optInRoute,
  updateTopicRoute,
} from './resources/topics.ts';
import { followLinkRoute, loadPixelRoute } from './resources/tracking.ts';
import {
  cancelWebhookReplayRoute,
  getWebhookDeliveryRoute,
  getWebhookReplayRoute,
  listWebhookDeliveriesRoute,
  listWebhookReplaysRoute,
  replayWebhookRoute,
  resendWebhookDeliveryRoute,
} from './resources/webhooks/deliveries.ts';
import {
  adoptWebhookRoute,
  deleteWebhookRoute,
  getWebhookRoute,
  listWebhooksRoute,
  pingWebhookRoute,
  registerWebhookRoute,
  rotateWebhookSecretRoute,
  updateWebhookRoute,
} from './resources/webhooks/webhooks.ts';

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
