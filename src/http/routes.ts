import { MAILGUN_ROUTES } from './compat/mailgun-reads.ts';
import { POSTMARK_ROUTES } from './compat/postmark.ts';
import { POSTMARK_BOUNCE_ROUTES } from './compat/postmark-bounces.ts';
import { POSTMARK_READ_ROUTES } from './compat/postmark-reads.ts';
import { POSTMARK_STATISTICS_ROUTES } from './compat/postmark-statistics.ts';
import { POSTMARK_TEMPLATE_ROUTES } from './compat/postmark-templates.ts';
import {
  cancelResendEmailRoute,
  getResendEmailRoute,
  listResendEmailsRoute,
  rescheduleResendEmailRoute,
  sendResendBatchRoute,
  sendResendEmailRoute,
} from './compat/resend.ts';
import { RESEND_ACCOUNT_ROUTES } from './compat/resend-account.ts';
import { RESEND_TEMPLATE_ROUTES } from './compat/resend-templates.ts';
import { RESEND_WEBHOOK_ROUTES } from './compat/resend-webhooks.ts';
import { sendSendgridMailRoute } from './compat/sendgrid.ts';
import { SENDGRID_READ_ROUTES } from './compat/sendgrid-reads.ts';
import { SENDGRID_TEMPLATE_ROUTES } from './compat/sendgrid-templates.ts';
import { dashboardAssetRoute, dashboardRoute } from './dashboard.ts';
import type { Registration } from './endpoint.ts';
import {
  deleteKeyRoute,
  getKeyRoute,
  listKeysRoute,
  revokeKeyRoute,
  rotateKeyRoute,
} from './resources/api-keys/api-keys.ts';
import { listKeyHistoryRoute, listKeySecretsRoute } from './resources/api-keys/key-history.ts';
import { createKeyRoute, updateKeyRoute } from './resources/api-keys/write-key.ts';
import { getAccessReviewRoute } from './resources/audit/access-review.ts';
import { addAuditorRoute, getAuditorRoute, listAuditorsRoute, removeAuditorRoute } from './resources/audit/auditors.ts';
import {
  createCheckpointRoute,
  getAuditProofRoute,
  getConsistencyProofRoute,
  getTlogCheckpointRoute,
  getTlogPolicyRoute,
  getTlogTileRoute,
  listCheckpointsRoute,
} from './resources/audit/checkpoints.ts';
import { exportAuditLogRoute, getDisclosureRoute, listAuditLogRoute } from './resources/audit/log.ts';
import { getKeyReportRoute, getMessageReportRoute } from './resources/audit/reports.ts';
import { choosePlanRoute, getBillingRoute, getUsageRoute, listPlansRoute } from './resources/billing.ts';
import { getBacklogRoute, listDestinationsRoute, releaseDestinationRoute } from './resources/destinations.ts';
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
  getOrganizationReputationRoute,
  getWarmUpRoute,
  pauseBulkMailRoute,
  releaseOrganizationSendingRoute,
  releaseSendingRoute,
  startWarmUpRoute,
} from './resources/domains/reputation.ts';
import { getErasureRoute, listErasuresRoute, previewErasureRoute, requestErasureRoute } from './resources/erasures.ts';
import { readEventsRoute } from './resources/events/read-events.ts';
import { FORWARD_PAGE_ROUTES } from './resources/forward-confirmation.ts';
import { INBOUND_ROUTES } from './resources/inbound.ts';
import { INBOUND_DELIVERY_ROUTES } from './resources/inbound-deliveries.ts';
import { INBOUND_ROUTE_ROUTES } from './resources/inbound-routes.ts';
import { INBOX_ROUTES } from './resources/inbox.ts';
import { getInvoiceRoute, listInvoicesRoute } from './resources/invoices.ts';
import {
  changeMemberRoute,
  createMemberLinkRoute,
  endMemberSessionRoute,
  getMemberRoute,
  getMemberSessionRoute,
  inviteMemberRoute,
  listMemberSessionsRoute,
  listMembersRoute,
  removeMemberRoute,
} from './resources/members/members.ts';
import { listMembershipsRoute, startOidcRoute } from './resources/members/oidc.ts';
import { listOperationsRoute } from './resources/members/operations.ts';
import {
  addPasskeyRoute,
  createChallengeRoute,
  listMemberPasskeysRoute,
  listPasskeysRoute,
  removeMemberPasskeyRoute,
  removePasskeyRoute,
} from './resources/members/passkeys.ts';
import {
  getSessionRoute,
  getSignInMethodsRoute,
  mailSignInLinkRoute,
  provePresenceRoute,
  signInRoute,
  signOutRoute,
} from './resources/members/session.ts';
import { VIEW_ROUTES } from './resources/members/views.ts';
import { cancelMessagesRoute } from './resources/messages/cancel-messages.ts';
import { explainMessageRoute } from './resources/messages/explain.ts';
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
import { resendMessageRoute, resendMessagesRoute } from './resources/messages/resend-message.ts';
import { sendBatchRoute } from './resources/messages/send-batch.ts';
import { analyzeMessageRoute, sendMessageRoute } from './resources/messages/send-message.ts';
import {
  getOrganizationRoute,
  setContentsRolesRoute,
  setLegalHoldRoute,
  updateOrganizationRoute,
} from './resources/organization.ts';
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
import { testInboundRoute } from './resources/test-inbound.ts';
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
  resendMessageRoute,
  resendMessagesRoute,
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
  ...INBOUND_ROUTES,
  ...INBOUND_DELIVERY_ROUTES,
  testInboundRoute,
  ...INBOUND_ROUTE_ROUTES,
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
  listAuditLogRoute,
  listCheckpointsRoute,
  createCheckpointRoute,
  getAuditProofRoute,
  getDisclosureRoute,
  getConsistencyProofRoute,
  exportAuditLogRoute,
  getTlogCheckpointRoute,
  getTlogTileRoute,
  getAccessReviewRoute,
  getKeyReportRoute,
  getMessageReportRoute,
  addAuditorRoute,
  listAuditorsRoute,
  getAuditorRoute,
  removeAuditorRoute,
  requestErasureRoute,
  previewErasureRoute,
  listErasuresRoute,
  getErasureRoute,
  getOrganizationRoute,
  getOrganizationReputationRoute,
  updateOrganizationRoute,
  setLegalHoldRoute,
  setContentsRolesRoute,
  releaseOrganizationSendingRoute,
  pauseBulkMailRoute,
  signInRoute,
  createChallengeRoute,
  mailSignInLinkRoute,
  startOidcRoute,
  listMembershipsRoute,
  getSignInMethodsRoute,
  getSessionRoute,
  listOperationsRoute,
  signOutRoute,
  provePresenceRoute,
  ...VIEW_ROUTES,
  listPasskeysRoute,
  addPasskeyRoute,
  removePasskeyRoute,
  inviteMemberRoute,
  listMembersRoute,
  getMemberRoute,
  changeMemberRoute,
  removeMemberRoute,
  createMemberLinkRoute,
  listMemberPasskeysRoute,
  removeMemberPasskeyRoute,
  listMemberSessionsRoute,
  getMemberSessionRoute,
  endMemberSessionRoute,
  ...INBOX_ROUTES,
  listDestinationsRoute,
  getBacklogRoute,
  releaseDestinationRoute,
  sendResendEmailRoute,
  sendResendBatchRoute,
  listResendEmailsRoute,
  getResendEmailRoute,
  rescheduleResendEmailRoute,
  cancelResendEmailRoute,
  ...RESEND_ACCOUNT_ROUTES,
  ...RESEND_TEMPLATE_ROUTES,
  ...RESEND_WEBHOOK_ROUTES,
  ...POSTMARK_ROUTES,
  ...POSTMARK_READ_ROUTES,
  ...POSTMARK_BOUNCE_ROUTES,
  ...POSTMARK_STATISTICS_ROUTES,
  ...POSTMARK_TEMPLATE_ROUTES,
  ...SENDGRID_READ_ROUTES,
  ...SENDGRID_TEMPLATE_ROUTES,
  ...MAILGUN_ROUTES,
  sendSendgridMailRoute,
  showUnsubscribePageRoute,
  viewMailRoute,
  unsubscribeRecipientRoute,
  followLinkRoute,
  loadPixelRoute,
  showPreferencesPageRoute,
  savePreferencesRoute,
  ...FORWARD_PAGE_ROUTES,
  dashboardRoute,
  dashboardAssetRoute,
  getTlogPolicyRoute,
  rootRoute,
  livezRoute,
  readyzRoute,
  openapiRoute,
  docsRoute,
};
