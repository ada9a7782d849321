// Generated from /openapi.json: see docs/contributing.md.

import type { SendBatch, SendMessage } from '../message-body.ts';
import type { Call } from '../call.ts';
import { type ChangeOptions, path, type RequestOptions, type SendOptions } from '../request.ts';
import type {
  AddAuditorRequest,
  AddSuppressionsAnswer,
  AddSuppressionsRequest,
  AddedAuditor,
  Analysis,
  ApiKey,
  ApiKeyHistoryEntry,
  ApiKeySecret,
  AuditCheckpoint,
  AuditConsistency,
  AuditDisclosure,
  AuditEntry,
  AuditProof,
  AuditReport,
  Auditor,
  Batch,
  Billing,
  CancelMessagesAnswer,
  CancelMessagesRequest,
  CapturedMail,
  ChangeMemberRequest,
  ChangeTemplateRequest,
  CheckSuppressionAnswer,
  CheckSuppressionQuery,
  ChoosePlanRequest,
  ChosenPlan,
  CompareTemplateVersionsQuery,
  CountRefusedRequestsQuery,
  CreateInboundRouteRequest,
  CreateKeyRequest,
  CreateTemplateRequest,
  CreateTopicRequest,
  CreatedApiKey,
  CreatedWebhook,
  DeleteInboxQuery,
  DestinationBacklog,
  Domain,
  Erasure,
  ExplainMessageAnswer,
  ExplainMessageQuery,
  ExportAuditLogQuery,
  GetAccessReviewQuery,
  GetConsistencyProofQuery,
  GetDomainAnswer,
  GetDomainQuery,
  GetDomainReputationAnswer,
  GetInboundRouteAnswer,
  GetInboundRouteQuery,
  GetKeyAnswer,
  GetKeyQuery,
  GetKeyReportQuery,
  GetMessageAnswer,
  GetMessageQuery,
  GetMessageReportQuery,
  GetOrganizationAnswer,
  GetOrganizationReputationAnswer,
  GetStatsQuery,
  GetSuppressionAnswer,
  GetSuppressionQuery,
  GetTemplateAnswer,
  GetTemplateQuery,
  GetTopicAnswer,
  GetTopicQuery,
  GetUsageQuery,
  GetWarmUpAnswer,
  GetWebhookAnswer,
  GetWebhookQuery,
  ImportSuppressionsAnswer,
  ImportSuppressionsRequest,
  InboundMessage,
  InboundRoute,
  InviteMemberRequest,
  InvitedMember,
  Invoice,
  ListAuditLogAnswer,
  ListAuditLogQuery,
  ListAuditorsAnswer,
  ListCheckpointsAnswer,
  ListCheckpointsQuery,
  ListDestinationsAnswer,
  ListDestinationsQuery,
  ListDomainsAnswer,
  ListDomainsQuery,
  ListErasuresAnswer,
  ListErasuresQuery,
  ListInboundAnswer,
  ListInboundDeliveriesAnswer,
  ListInboundQuery,
  ListInboundRoutesAnswer,
  ListInboundRoutesQuery,
  ListInboxAnswer,
  ListInboxQuery,
  ListInvoicesAnswer,
  ListInvoicesQuery,
  ListKeyHistoryAnswer,
  ListKeyHistoryQuery,
  ListKeySecretsAnswer,
  ListKeySecretsQuery,
  ListKeysAnswer,
  ListKeysQuery,
  ListMemberPasskeysAnswer,
  ListMemberSessionsAnswer,
  ListMembersAnswer,
  ListMessageEventsAnswer,
  ListMessageEventsQuery,
  ListMessagesAnswer,
  ListMessagesQuery,
  ListOptInsAnswer,
  ListOptInsQuery,
  ListPlansAnswer,
  ListRefusedRequestsAnswer,
  ListRefusedRequestsQuery,
  ListSuppressionsAnswer,
  ListSuppressionsQuery,
  ListTemplateVersionsAnswer,
  ListTemplateVersionsQuery,
  ListTemplatesAnswer,
  ListTemplatesQuery,
  ListTopicsAnswer,
  ListTopicsQuery,
  ListWebhookDeliveriesAnswer,
  ListWebhookDeliveriesQuery,
  ListWebhookReplaysAnswer,
  ListWebhookReplaysQuery,
  ListWebhooksAnswer,
  ListWebhooksQuery,
  ListedCapturedMail,
  ListedInboundMessage,
  ListedMessage,
  ListedTemplate,
  ListedTemplateVersion,
  Member,
  MemberSession,
  Message,
  MessageContent,
  OptInRequest,
  OutboxEvent,
  Passkey,
  PauseBulkMailAnswer,
  PauseBulkMailRequest,
  Plan,
  PreviewErasureAnswer,
  PreviewErasureRequest,
  PreviewInboundQuery,
  PreviewMessageQuery,
  PreviewTemplateQuery,
  PublishedTemplateVersion,
  ReadEventsAnswer,
  ReadEventsQuery,
  RegisterDomainRequest,
  RegisterWebhookRequest,
  ReleaseDestinationAnswer,
  ReleaseDestinationRequest,
  ReleaseOrganizationSendingAnswer,
  ReleaseSendingAnswer,
  RenderTemplateRequest,
  RenderedTemplate,
  ReplayWebhookRequest,
  RequestErasureRequest,
  RequestRefusal,
  RequestRefusalCounts,
  RescheduleMessageRequest,
  ResendInboundAnswer,
  ResendMessageRequest,
  ResendMessagesAnswer,
  ResendMessagesRequest,
  ResentMessage,
  RollBackTemplateRequest,
  RotateKeyRequest,
  RotateWebhookSecretRequest,
  RotatedApiKey,
  RotatedWebhook,
  SearchAnswer,
  SearchQuery,
  SearchResult,
  SentMessage,
  Session,
  SetContentsRolesAnswer,
  SetContentsRolesRequest,
  SetLegalHoldAnswer,
  SetLegalHoldRequest,
  ShownRequestRefusal,
  ShownWebhookDelivery,
  SignInLink,
  StartWarmUpAnswer,
  StartWarmUpRequest,
  Stats,
  Submission,
  Suppression,
  Template,
  TemplateDiff,
  TemplateVersion,
  TestInboundRequest,
  TestSendTemplateRequest,
  Topic,
  TopicOptIn,
  TopicOptIns,
  UpdateDomainRequest,
  UpdateInboundRouteRequest,
  UpdateKeyRequest,
  UpdateOrganizationAnswer,
  UpdateOrganizationRequest,
  UpdateTopicRequest,
  UpdateWebhookRequest,
  Usage,
  Webhook,
  WebhookDelivery,
  WebhookPing,
  WebhookReplay,
} from './schemas.ts';

/** Operations on `/v1/messages`. */
export const messages = (call: Call) => ({
  /**
   * Send an email
   *
   * Accepts a message for its recipients and stores it durably before it answers 202; delivery follows within moments, or at `scheduled_at`. Requires `from`, `to`, and a `subject` with `html` or `text`, or a `template`. Send an `Idempotency-Key` so that you can safely repeat the request. Follow the outcome with `GET /v1/messages/{id}`, events or webhooks.
   *
   * Needs a key with `send`. Counts against its limit of `send` requests.
   */
  send: (body: SendMessage, options?: SendOptions) =>
    call.json<SentMessage>({ method: 'POST', path: '/v1/messages/send', body, takesIdempotencyKey: true }, options),
  /**
   * Analyze a message
   *
   * Checks the content of a message without sending or storing it. The body is the one of a send. The result depends only
   * on the message: nothing is looked up.
   *
   * A finding is an `error` if you should not send the message as it is, a `warning` if the message will look or deliver
   * worse, and an `info` otherwise. The verdict is `fail` with any error, and `warn` with any warning. The score starts at
   * 100; each rule subtracts its points for every finding, up to its own maximum. Version of the rules: 4.
   *
   * Needs a key with `send`. Counts against its limit of `send` requests.
   */
  analyze: (body: SendMessage, options?: RequestOptions) =>
    call.json<Analysis>({ method: 'POST', path: '/v1/messages/analyze', body, changesNothing: true }, options),
  /**
   * Send a batch of messages
   *
   * Sends up to 500 messages with one request. Each message has the fields of a single send and uses one request of the
   * rate limit. A batch with more messages than the limit of the key is always 422 `batch_exceeds_limit`.
   *
   * - `strict`: if one message is invalid, nothing is sent, and `details` names the field, such as `messages[3].to`.
   * - `partial`: each message is accepted or rejected separately. The response is 202 even if all are rejected, unless the
   *   organization is suspended.
   *
   * A batch is not one transaction: after a 503, send the same request with the same `Idempotency-Key` to complete it.
   *
   * Needs a key with `send`. Counts against its limit of `send` requests.
   */
  sendBatch: (body: SendBatch, options?: SendOptions) =>
    call.json<Batch>({ method: 'POST', path: '/v1/messages/batch', body, takesIdempotencyKey: true }, options),
  /**
   * List messages
   *
   * With `at`, messages accepted by that moment in their state at that moment. A page may then have fewer messages than
   * its limit, and the filters `status` and `outcome` are not available.
   *
   * Needs a key with `read`, or the token of an auditor. Counts against its limit of `read` requests.
   */
  list: (query: ListMessagesQuery = {}, options?: RequestOptions) =>
    call.list<ListedMessage, ListMessagesAnswer>({ method: 'GET', path: '/v1/messages', query }, options),
  /**
   * Get a message
   *
   * Needs a key with `read`, or the token of an auditor. Counts against its limit of `read` requests.
   */
  get: (id: string, query: GetMessageQuery = {}, options?: RequestOptions) =>
    call.json<GetMessageAnswer>({ method: 'GET', path: path`/v1/messages/${id}`, query }, options),
  /**
   * Reschedule a message
   *
   * Moves a scheduled message to an earlier or later time, at most 30 days ahead. This is possible until the first attempt starts. The time to live keeps its length and starts at the new time.
   *
   * Needs a key with `send`. Counts against its limit of `send` requests.
   */
  reschedule: (id: string, body: RescheduleMessageRequest, options?: ChangeOptions) =>
    call.json<Message>({ method: 'PATCH', path: path`/v1/messages/${id}`, body }, options),
  /**
   * Get the content of a message
   *
   * Returns the subject, bodies, headers and attachments. They are stored for the retention time of the organization (`content_retention_days`); afterwards the response is 410.
   *
   * Needs a key with `read`. Counts against its limit of `read` requests.
   */
  getContent: (id: string, options?: RequestOptions) =>
    call.json<MessageContent>({ method: 'GET', path: path`/v1/messages/${id}/content` }, options),
  /**
   * Preview a message
   *
   * Returns the html, or the text, in a sandboxed document that cannot run scripts, submit forms or load remote content. Images from its attachments are included, and links open in a new window. Viewing is not counted as an opening, but it is recorded in the audit log.
   *
   * Needs a key with `read`. Counts against its limit of `read` requests.
   */
  preview: (id: string, query: PreviewMessageQuery = {}, options?: RequestOptions) =>
    call.response({ method: 'GET', path: path`/v1/messages/${id}/preview`, query }, options),
  /**
   * Get the source of a message
   *
   * Returns the message as a file (RFC 5322 with MIME). Parts that differ between copies are missing: DKIM signatures, tracking, managed unsubscribe links and `Feedback-ID`. No copy contains `Bcc` recipients. Reading the source is recorded in the audit log.
   *
   * Needs a key with `read`. Counts against its limit of `read` requests.
   */
  getRaw: (id: string, options?: RequestOptions) =>
    call.response({ method: 'GET', path: path`/v1/messages/${id}/raw` }, options),
  /**
   * List the events of a message
   *
   * Needs a key with `read`, or the token of an auditor. Counts against its limit of `read` requests.
   */
  listEvents: (id: string, query: ListMessageEventsQuery = {}, options?: RequestOptions) =>
    call.list<OutboxEvent, ListMessageEventsAnswer>({ method: 'GET', path: path`/v1/messages/${id}/events`, query }, options),
  /**
   * Explain a message
   *
   * Explains in sentences what happened to a message and what happens next: the request, the key, the checks, every attempt with replies and transport security, every wait with its reason, and each webhook attempt. `facts` contains the codes behind each sentence. Sentences are for people and can change; types and facts are stable. Once the content has expired, addresses and reply texts are null. With `at`, returns what was known at that time.
   *
   * Needs a key with `read`, or the token of an auditor. Counts against its limit of `read` requests.
   */
  explain: (id: string, query: ExplainMessageQuery = {}, options?: RequestOptions) =>
    call.json<ExplainMessageAnswer>({ method: 'GET', path: path`/v1/messages/${id}/explain`, query }, options),
  /**
   * Cancel a message
   *
   * Stops a message that has not been sent: recipients that are accepted, scheduled or deferred become `cancelled`. While the message is being sent, the response is 409. Cancelling a cancelled message succeeds and changes nothing.
   *
   * Needs a key with `send`. Counts against its limit of `send` requests.
   */
  cancel: (id: string, options?: ChangeOptions) =>
    call.json<Message>({ method: 'POST', path: path`/v1/messages/${id}/cancel` }, options),
  /**
   * Cancel several messages
   *
   * Cancels the listed messages, or up to 500 waiting messages that match a filter. Each message is cancelled separately: a message that is being sent or has ended is reported in `data` and does not stop the others. Repeating the request has no further effect. A filter requires the permission `read` in addition to `send`. Every 25 messages use one request of the rate limit `send`, also with `dry_run`, so a key with a low limit can cancel fewer messages per request.
   *
   * Needs a key with `send`. Counts against its limit of `send` requests.
   */
  cancelMany: (body: CancelMessagesRequest, options?: RequestOptions) =>
    call.json<CancelMessagesAnswer>({ method: 'POST', path: '/v1/messages/cancel', body }, options),
  /**
   * Send a message again
   *
   * Recipients that bounced, failed, expired or were suppressed are sent the same content in a new message. Each recipient is
   * sent to again once: repeating the request returns the new message and sends nothing. If the new message fails too, send
   * that one again.
   *
   * Suppressed addresses are refused (409 `recipient_suppressed`) until you remove the suppression. When the content is no
   * longer stored, the response is 409 `content_removed`. The new message counts like any other: against the rate limit, the
   * quota and the plan.
   *
   * Needs a key with `send`. Counts against its limit of `send` requests.
   */
  resend: (id: string, body: ResendMessageRequest = {}, options?: ChangeOptions) =>
    call.json<ResentMessage>({ method: 'POST', path: path`/v1/messages/${id}/resend`, body }, options),
  /**
   * Send several messages again
   *
   * Sends up to 100 messages again, each separately: one that cannot be sent again is reported in `data` and does not stop the others. Recipients that bounced, failed, expired or were suppressed are sent the same content in a new message. Each recipient is
   * sent to again once: repeating the request returns the new message and sends nothing. If the new message fails too, send
   * that one again.
   *
   * Suppressed addresses are refused (409 `recipient_suppressed`) until you remove the suppression. When the content is no
   * longer stored, the response is 409 `content_removed`. The new message counts like any other: against the rate limit, the
   * quota and the plan. Each message uses one request of the rate limit `send`.
   *
   * Needs a key with `send`. Counts against its limit of `send` requests.
   */
  resendMany: (body: ResendMessagesRequest, options?: RequestOptions) =>
    call.json<ResendMessagesAnswer>({ method: 'POST', path: '/v1/messages/resend', body }, options),
});

/** Operations on `/v1/api-keys`. */
export const apiKeys = (call: Call) => ({
  /**
   * Create an API key
   *
   * A new key cannot have more networks or a later expiry than the key that creates it.
   *
   * Needs a key with `manage`. Counts against its limit of `manage` requests.
   */
  create: (body: CreateKeyRequest, options?: RequestOptions) =>
    call.json<CreatedApiKey>({ method: 'POST', path: '/v1/api-keys', body }, options),
  /**
   * List API keys
   *
   * Needs a key with `manage`, or the token of an auditor. Counts against its limit of `read` requests.
   */
  list: (query: ListKeysQuery = {}, options?: RequestOptions) =>
    call.list<ApiKey, ListKeysAnswer>({ method: 'GET', path: '/v1/api-keys', query }, options),
  /**
   * Get an API key
   *
   * Returns the key without its secret.
   *
   * Needs a key with `manage`, or the token of an auditor. Counts against its limit of `read` requests.
   */
  get: (id: string, query: GetKeyQuery = {}, options?: RequestOptions) =>
    call.json<GetKeyAnswer>({ method: 'GET', path: path`/v1/api-keys/${id}`, query }, options),
  /**
   * Update an API key
   *
   * Omitted fields stay unchanged. Only `admin` sets `rate_limits` and changes keys with `admin`. A key cannot get more networks or a later expiry than the requesting key.
   *
   * Needs a key with `manage`. Counts against its limit of `manage` requests.
   */
  update: (id: string, body: UpdateKeyRequest, options?: ChangeOptions) =>
    call.json<ApiKey>({ method: 'PATCH', path: path`/v1/api-keys/${id}`, body }, options),
  /**
   * Delete an API key
   *
   * Revokes the key and removes it from the list. You can still read its history.
   *
   * Needs a key with `manage`. Counts against its limit of `manage` requests.
   */
  delete: (id: string, options?: ChangeOptions) =>
    call.json<void>({ method: 'DELETE', path: path`/v1/api-keys/${id}` }, options),
  /**
   * List the history of an API key
   *
   * Returns changes and refused changes, the newest first, also of a deleted key. Secrets are never returned.
   *
   * Needs a key with `manage`, or the token of an auditor. Counts against its limit of `read` requests.
   */
  listHistory: (id: string, query: ListKeyHistoryQuery = {}, options?: RequestOptions) =>
    call.list<ApiKeyHistoryEntry, ListKeyHistoryAnswer>({ method: 'GET', path: path`/v1/api-keys/${id}/history`, query }, options),
  /**
   * List the secrets of an API key
   *
   * Returns who created each secret, when and why it ended, and how much was sent with it; the newest first, also for a deleted key. The secrets themselves are never returned. Counts stay when messages are erased. `GET /v1/messages?key_id=<id>&secret=<number>` lists the messages. With `at`, the secrets are as they were at that time, but the counts include everything sent until now.
   *
   * Needs a key with `manage`, or the token of an auditor. Counts against its limit of `read` requests.
   */
  listSecrets: (id: string, query: ListKeySecretsQuery = {}, options?: RequestOptions) =>
    call.list<ApiKeySecret, ListKeySecretsAnswer>({ method: 'GET', path: path`/v1/api-keys/${id}/secrets`, query }, options),
  /**
   * Rotate an API key
   *
   * Creates a new secret and returns it once. The previous secret works until the grace period ends. You cannot rotate a key that has more networks (`allowed_cidrs`) or a later expiry (`expires_at`) than the key that sends the request.
   *
   * Needs a key with `manage`. Counts against its limit of `manage` requests.
   */
  rotate: (id: string, body: RotateKeyRequest = {}, options?: ChangeOptions) =>
    call.json<RotatedApiKey>({ method: 'POST', path: path`/v1/api-keys/${id}/rotate`, body }, options),
  /**
   * Revoke an API key
   *
   * All secrets of the key stop working within a second. This cannot be undone.
   *
   * Needs a key with `manage`. Counts against its limit of `manage` requests.
   */
  revoke: (id: string, options?: ChangeOptions) =>
    call.json<ApiKey>({ method: 'POST', path: path`/v1/api-keys/${id}/revoke` }, options),
});

/** Operations on `/v1/domains`. */
export const domains = (call: Call) => ({
  /**
   * Add a sending domain
   *
   * Needs a key of the live environment with `manage`. Counts against its limit of `manage` requests.
   */
  register: (body: RegisterDomainRequest, options?: RequestOptions) =>
    call.json<Domain>({ method: 'POST', path: '/v1/domains', body }, options),
  /**
   * List sending domains
   *
   * Needs a key with `manage`, or the token of an auditor. Counts against its limit of `read` requests.
   */
  list: (query: ListDomainsQuery = {}, options?: RequestOptions) =>
    call.list<Domain, ListDomainsAnswer>({ method: 'GET', path: '/v1/domains', query }, options),
  /**
   * Get a domain and its DNS records
   *
   * Needs a key with `manage`, or the token of an auditor. Counts against its limit of `read` requests.
   */
  get: (id: string, query: GetDomainQuery = {}, options?: RequestOptions) =>
    call.json<GetDomainAnswer>({ method: 'GET', path: path`/v1/domains/${id}`, query }, options),
  /**
   * Update a domain
   *
   * Changes the tracking, the appearance of recipient pages and whether mail is received. Omitted fields stay unchanged.
   *
   * Needs a key of the live environment with `manage`. Counts against its limit of `manage` requests.
   */
  update: (id: string, body: UpdateDomainRequest = {}, options?: ChangeOptions) =>
    call.json<Domain>({ method: 'PATCH', path: path`/v1/domains/${id}`, body }, options),
  /**
   * Delete a domain
   *
   * Deletes the domain and revokes the API keys bound to it. Waiting messages of the domain fail when they become due: cancel them first to end them now.
   *
   * Needs a key of the live environment with `manage`. Counts against its limit of `manage` requests.
   */
  delete: (id: string, options?: ChangeOptions) =>
    call.json<void>({ method: 'DELETE', path: path`/v1/domains/${id}` }, options),
  /**
   * Verify a domain
   *
   * Queries the DNS without a cache, and returns the value and the problem found for each record. The domain is verified once all `required` records are valid. If the DNS does not answer, nothing changes.
   *
   * Needs a key of the live environment with `manage`. Counts against its limit of `manage` requests.
   */
  verify: (id: string, options?: ChangeOptions) =>
    call.json<Domain>({ method: 'POST', path: path`/v1/domains/${id}/verify` }, options),
  /**
   * Rotate the DKIM keys of a domain
   *
   * Creates new DKIM keys and returns the DNS records to publish. The current keys sign until a check finds the new RSA record in the DNS; the check runs automatically, or when you call `verify`. Keep the earlier records until `safe_to_remove_at`: receivers verify mail in transit with them. Rotating again before the new record is found replaces the pending keys.
   *
   * Needs a key of the live environment with `manage`. Counts against its limit of `manage` requests.
   */
  rotateDkim: (id: string, options?: ChangeOptions) =>
    call.json<Domain>({ method: 'POST', path: path`/v1/domains/${id}/dkim/rotate` }, options),
  /**
   * Get the reputation of a domain
   *
   * Returns the bounce and complaint rates of live bulk mail, the level that follows from them, and its effect. Counts the outcomes of the last seven days (UTC). Fewer than 200 recipients, or fewer than five bounces or complaints, are not evaluated. A level ends when the rate has fallen a fifth below its limit.
   *
   * Needs a key with `manage`. Counts against its limit of `read` requests.
   */
  getReputation: (id: string, options?: RequestOptions) =>
    call.json<GetDomainReputationAnswer>({ method: 'GET', path: path`/v1/domains/${id}/reputation` }, options),
  /**
   * Release the bulk mail of a domain
   *
   * Ends the restriction of a domain that was slowed or paused because of its rates, and restarts the count of bounces and complaints. Waiting mail is sent within seconds; a long backlog shares capacity with other mail. A restriction of the whole organization is released with `POST /v1/organization/release`.
   *
   * Needs a key of the live environment with `admin`. Counts against its limit of `manage` requests.
   */
  releaseSending: (id: string, options?: RequestOptions) =>
    call.json<ReleaseSendingAnswer>({ method: 'POST', path: path`/v1/domains/${id}/release` }, options),
  /**
   * Get the warm-up of a domain
   *
   * Needs a key with `manage`. Counts against its limit of `read` requests.
   */
  getWarmUp: (id: string, options?: RequestOptions) =>
    call.json<GetWarmUpAnswer>({ method: 'GET', path: path`/v1/domains/${id}/warm-up` }, options),
  /**
   * Start the warm-up of a domain
   *
   * Limits how many recipients the domain sends to per day and destination, with a quota that grows daily. The plan starts today (UTC) and replaces another plan; if the same plan is running, it continues. A destination is the mailbox provider of a recipient domain, or the recipient domain itself if a smarthost accepts all mail (`MAIL_URL=smtp://…`). All live mail counts. Bulk mail above the quota waits for a later day, and its `ttl_seconds` do not count down while it waits, unless they are below the default. Transactional mail never waits.
   *
   * Needs a key of the live environment with `manage`. Counts against its limit of `manage` requests.
   */
  startWarmUp: (id: string, body: StartWarmUpRequest = {}, options?: RequestOptions) =>
    call.json<StartWarmUpAnswer>({ method: 'PUT', path: path`/v1/domains/${id}/warm-up`, body }, options),
  /**
   * End the warm-up of a domain
   *
   * Ends the plan early. Waiting mail is sent within seconds; a long backlog shares capacity with other mail. Without a plan, nothing changes.
   *
   * Needs a key of the live environment with `manage`. Counts against its limit of `manage` requests.
   */
  endWarmUp: (id: string, options?: RequestOptions) =>
    call.json<void>({ method: 'DELETE', path: path`/v1/domains/${id}/warm-up` }, options),
});

/** Operations on `/v1/templates`. */
export const templates = (call: Call) => ({
  /**
   * Create a template
   *
   * Needs a key of the live environment with `manage`. Counts against its limit of `manage` requests.
   */
  create: (body: CreateTemplateRequest, options?: RequestOptions) =>
    call.json<Template>({ method: 'POST', path: '/v1/templates', body }, options),
  /**
   * List templates
   *
   * Needs a key with `manage`, or the token of an auditor. Counts against its limit of `read` requests.
   */
  list: (query: ListTemplatesQuery = {}, options?: RequestOptions) =>
    call.list<ListedTemplate, ListTemplatesAnswer>({ method: 'GET', path: '/v1/templates', query }, options),
  /**
   * Get a template
   *
   * Needs a key with `manage`, or the token of an auditor. Counts against its limit of `read` requests.
   */
  get: (id: string, query: GetTemplateQuery = {}, options?: RequestOptions) =>
    call.json<GetTemplateAnswer>({ method: 'GET', path: path`/v1/templates/${id}`, query }, options),
  /**
   * Update a template
   *
   * Changes the draft. Omitted fields stay unchanged; `variables` and `locales` are replaced as a whole. Messages use the published version until you publish the draft.
   *
   * Needs a key of the live environment with `manage`. Counts against its limit of `manage` requests.
   */
  change: (id: string, body: ChangeTemplateRequest = {}, options?: ChangeOptions) =>
    call.json<Template>({ method: 'PATCH', path: path`/v1/templates/${id}`, body }, options),
  /**
   * Delete a template
   *
   * New messages can no longer use the template. Messages that were sent with it stay unchanged.
   *
   * Needs a key of the live environment with `manage`. Counts against its limit of `manage` requests.
   */
  delete: (id: string, options?: ChangeOptions) =>
    call.json<void>({ method: 'DELETE', path: path`/v1/templates/${id}` }, options),
  /**
   * Publish a template
   *
   * Every variable that a part uses must be declared, and every declared variable must be used. The template is rendered with the values of the examples and must produce valid HTML. A version never changes.
   *
   * Needs a key of the live environment with `manage`. Counts against its limit of `manage` requests.
   */
  publish: (id: string, options?: ChangeOptions) =>
    call.json<PublishedTemplateVersion>({ method: 'POST', path: path`/v1/templates/${id}/publish` }, options),
  /**
   * Roll back a template
   *
   * Makes an earlier version the published one: messages that do not name a version use it from now on. The draft stays unchanged.
   *
   * Needs a key of the live environment with `manage`. Counts against its limit of `manage` requests.
   */
  rollBack: (id: string, body: RollBackTemplateRequest, options?: ChangeOptions) =>
    call.json<ListedTemplate>({ method: 'POST', path: path`/v1/templates/${id}/rollback`, body }, options),
  /**
   * List the versions of a template
   *
   * Returns the published versions, also of a deleted template, because its messages refer to them.
   *
   * Needs a key with `manage`, or the token of an auditor. Counts against its limit of `read` requests.
   */
  listVersions: (id: string, query: ListTemplateVersionsQuery = {}, options?: RequestOptions) =>
    call.list<ListedTemplateVersion, ListTemplateVersionsAnswer>({ method: 'GET', path: path`/v1/templates/${id}/versions`, query }, options),
  /**
   * Get a version of a template
   *
   * Needs a key with `manage`. Counts against its limit of `read` requests.
   */
  getVersion: (id: string, version: string, options?: RequestOptions) =>
    call.json<TemplateVersion>({ method: 'GET', path: path`/v1/templates/${id}/versions/${version}` }, options),
  /**
   * Compare two versions of a template
   *
   * Needs a key with `manage`. Counts against its limit of `read` requests.
   */
  compareVersions: (id: string, version: string, query: CompareTemplateVersionsQuery, options?: RequestOptions) =>
    call.json<TemplateDiff>({ method: 'GET', path: path`/v1/templates/${id}/versions/${version}/diff`, query }, options),
  /**
   * Render a template
   *
   * Returns the subject, html and text of a message, and an analysis of them. For the draft, also why it cannot be published. Nothing is sent or stored.
   *
   * Needs a key with `manage`. Counts against its limit of `read` requests.
   */
  render: (id: string, body: RenderTemplateRequest = {}, options?: RequestOptions) =>
    call.json<RenderedTemplate>({ method: 'POST', path: path`/v1/templates/${id}/render`, body, changesNothing: true }, options),
  /**
   * Preview a template
   *
   * Returns the html of a message, rendered with the example values, in a sandboxed document that cannot run scripts, submit forms or load remote content. Links open in a new window. Nothing is stored.
   *
   * Needs a key with `manage`. Counts against its limit of `read` requests.
   */
  preview: (id: string, query: PreviewTemplateQuery = {}, options?: RequestOptions) =>
    call.response({ method: 'GET', path: path`/v1/templates/${id}/preview`, query }, options),
  /**
   * Send a test message from a template
   *
   * Sends a real message whose subject begins with `[Test]`. It is billed like any message, but not counted in statistics, warm-up quotas or the sender reputation. The sender is the one in the template, or else `test@` your domain.
   *
   * Needs a key with `send`. Counts against its limit of `send` requests.
   */
  testSend: (id: string, body: TestSendTemplateRequest, options?: RequestOptions) =>
    call.json<SentMessage>({ method: 'POST', path: path`/v1/templates/${id}/test-send`, body }, options),
});

/** Operations on `/v1/webhooks`. */
export const webhooks = (call: Call) => ({
  /**
   * Create a webhook
   *
   * Registers a URL that events are posted to. The response contains the signing secret, which is shown only once. An organization has at most 50 webhooks, in both environments together, unless the operator of the service has set another limit.
   *
   * Needs a key with `manage`. Counts against its limit of `manage` requests.
   */
  register: (body: RegisterWebhookRequest, options?: RequestOptions) =>
    call.json<CreatedWebhook>({ method: 'POST', path: '/v1/webhooks', body }, options),
  /**
   * List webhooks
   *
   * Needs a key with `manage`, or the token of an auditor. Counts against its limit of `read` requests.
   */
  list: (query: ListWebhooksQuery = {}, options?: RequestOptions) =>
    call.list<Webhook, ListWebhooksAnswer>({ method: 'GET', path: '/v1/webhooks', query }, options),
  /**
   * Get a webhook
   *
   * Returns the webhook without its secret.
   *
   * Needs a key with `manage`, or the token of an auditor. Counts against its limit of `read` requests.
   */
  get: (id: string, query: GetWebhookQuery = {}, options?: RequestOptions) =>
    call.json<GetWebhookAnswer>({ method: 'GET', path: path`/v1/webhooks/${id}`, query }, options),
  /**
   * Update a webhook
   *
   * Changes, enables or disables a webhook. Omitted fields stay unchanged; `filters` and `headers` are replaced as a whole. Events that happened while the webhook was disabled are not posted automatically: use a replay.
   *
   * Needs a key with `manage`. Counts against its limit of `manage` requests.
   */
  update: (id: string, body: UpdateWebhookRequest = {}, options?: ChangeOptions) =>
    call.json<Webhook>({ method: 'PATCH', path: path`/v1/webhooks/${id}`, body }, options),
  /**
   * Delete a webhook
   *
   * Needs a key with `manage`. Counts against its limit of `manage` requests.
   */
  delete: (id: string, options?: ChangeOptions) =>
    call.json<void>({ method: 'DELETE', path: path`/v1/webhooks/${id}` }, options),
  /**
   * Rotate the secret of a webhook
   *
   * Creates a new secret and returns it once. Until the grace period ends, `webhook-signature` contains signatures with both secrets, the new one first. The signature of the format `sendgrid` uses the new one only.
   *
   * Needs a key with `manage`. Counts against its limit of `manage` requests.
   */
  rotateSecret: (id: string, body: RotateWebhookSecretRequest = {}, options?: ChangeOptions) =>
    call.json<RotatedWebhook>({ method: 'POST', path: path`/v1/webhooks/${id}/rotate-secret`, body }, options),
  /**
   * Adopt a webhook
   *
   * Makes you the owner of a webhook whose key has ended, or will end. A webhook is paused when the key in `owned_by` ends, if that key had an expiry or was restricted to networks. A member, or a key without these restrictions, can adopt the webhook, which then continues with the waiting events. Adopt the webhooks of a key before you revoke it to avoid the pause.
   *
   * Needs a key with `manage`. Counts against its limit of `manage` requests.
   */
  adopt: (id: string, options?: ChangeOptions) =>
    call.json<Webhook>({ method: 'POST', path: path`/v1/webhooks/${id}/adopt` }, options),
  /**
   * Ping a webhook
   *
   * Posts the event `webhook.ping` to this webhook only, even if it does not subscribe to it. The delivery shows how your endpoint answered.
   *
   * Needs a key with `manage`. Counts against its limit of `manage` requests.
   */
  ping: (id: string, options?: ChangeOptions) =>
    call.json<WebhookPing>({ method: 'POST', path: path`/v1/webhooks/${id}/ping` }, options),
  /**
   * List the deliveries of a webhook
   *
   * Returns the deliveries with all of their attempts. The filters search at most 5,000 deliveries per page, so a page can be empty although `has_more` is true: continue with `next_cursor`.
   *
   * Needs a key with `manage`. Counts against its limit of `read` requests.
   */
  listDeliveries: (id: string, query: ListWebhookDeliveriesQuery = {}, options?: RequestOptions) =>
    call.list<WebhookDelivery, ListWebhookDeliveriesAnswer>({ method: 'GET', path: path`/v1/webhooks/${id}/deliveries`, query }, options),
  /**
   * Get a delivery of a webhook
   *
   * Needs a key with `manage`. Counts against its limit of `read` requests.
   */
  getDelivery: (id: string, delivery: string, options?: RequestOptions) =>
    call.json<ShownWebhookDelivery>({ method: 'GET', path: path`/v1/webhooks/${id}/deliveries/${delivery}` }, options),
  /**
   * Resend a delivery
   *
   * Posts the event again now. Works for delivered, failed and waiting deliveries. The delivery keeps its event id and its attempts, and follows the rest of its retry schedule. The request is recorded.
   *
   * Needs a key with `manage`. Counts against its limit of `manage` requests.
   */
  resendDelivery: (id: string, delivery: string, options?: RequestOptions) =>
    call.json<WebhookDelivery>({ method: 'POST', path: path`/v1/webhooks/${id}/deliveries/${delivery}/resend` }, options),
  /**
   * Replay past events
   *
   * Posts the events of a past period again: those that match the current subscription and filters of the webhook, at most 100 a second. Events keep their ids; the header `webhook-replay` contains the id of the replay. A webhook can have one replay at a time. A replay continues after a restart of the service, and waits while the webhook is disabled.
   *
   * Needs a key with `manage`. Counts against its limit of `manage` requests.
   */
  replay: (id: string, body: ReplayWebhookRequest, options?: RequestOptions) =>
    call.json<WebhookReplay>({ method: 'POST', path: path`/v1/webhooks/${id}/replay`, body }, options),
  /**
   * List the replays of a webhook
   *
   * A replay is deleted 30 days after it ended.
   *
   * Needs a key with `manage`. Counts against its limit of `read` requests.
   */
  listReplays: (id: string, query: ListWebhookReplaysQuery = {}, options?: RequestOptions) =>
    call.list<WebhookReplay, ListWebhookReplaysAnswer>({ method: 'GET', path: path`/v1/webhooks/${id}/replays`, query }, options),
  /**
   * Get a replay
   *
   * Needs a key with `manage`. Counts against its limit of `read` requests.
   */
  getReplay: (id: string, replay: string, options?: RequestOptions) =>
    call.json<WebhookReplay>({ method: 'GET', path: path`/v1/webhooks/${id}/replays/${replay}` }, options),
  /**
   * Cancel a replay
   *
   * Drops the deliveries that have not been attempted yet. Deliveries that wait for a retry are kept.
   *
   * Needs a key with `manage`. Counts against its limit of `manage` requests.
   */
  cancelReplay: (id: string, replay: string, options?: RequestOptions) =>
    call.json<void>({ method: 'DELETE', path: path`/v1/webhooks/${id}/replays/${replay}` }, options),
});

/** Operations on `/v1/suppressions`. */
export const suppressions = (call: Call) => ({
  /**
   * Suppress addresses
   *
   * Blocks mail to one `address`, or to several `addresses`. The response is the suppression, or one result for each
   * address. An address that is already on the list stays there; `expires_at` can change its end. Several addresses are
   * recorded one by one: if the request fails, repeat it.
   *
   * Needs a key with `manage`. Counts against its limit of `manage` requests.
   */
  add: (body: AddSuppressionsRequest = {}, options?: RequestOptions) =>
    call.json<AddSuppressionsAnswer>({ method: 'POST', path: '/v1/suppressions', body }, options),
  /**
   * List suppressions
   *
   * Returns the active suppressions in the key's environment, the latest addition first. With `at`, the newest suppression is first.
   * A suppression applies to all domains of the organization, but a key with only `send` or `read` sees only
   * suppressions that messages of its own domain caused. For any other address, `GET /v1/suppressions/check` tells it
   * whether the address is suppressed.
   *
   * Needs a key with `read`, or the token of an auditor. Counts against its limit of `read` requests.
   */
  list: (query: ListSuppressionsQuery = {}, options?: RequestOptions) =>
    call.list<Suppression, ListSuppressionsAnswer>({ method: 'GET', path: '/v1/suppressions', query }, options),
  /**
   * Check an address
   *
   * Returns whether mail to this address would be suppressed now. Every key gets `suppressed`. A suppression applies to all domains of the organization, but a key with only `send` or `read` sees only
   * suppressions that messages of its own domain caused. For any other address, `GET /v1/suppressions/check` tells it
   * whether the address is suppressed.
   *
   * Needs a key with `read`. Counts against its limit of `read` requests.
   */
  check: (query: CheckSuppressionQuery, options?: RequestOptions) =>
    call.json<CheckSuppressionAnswer>({ method: 'GET', path: '/v1/suppressions/check', query }, options),
  /**
   * Export suppressions as CSV
   *
   * Returns all active entries as CSV (RFC 4180), one row per reason, in no particular order. Columns:
   * `address, scope, reason, expires_at, note, topic_id`. You can import this file unchanged. An apostrophe precedes cells that a spreadsheet
   * would read as a formula. Erased addresses are omitted. A key with only `send` or `read` gets only entries that messages
   * of its own domain caused.
   *
   * Needs a key with `read`. Counts against its limit of `read` requests.
   */
  export: (options?: RequestOptions) =>
    call.response({ method: 'GET', path: '/v1/suppressions/export' }, options),
  /**
   * Import suppressions from CSV
   *
   * Suppresses the addresses of a CSV file: an export of this service, or a file from a spreadsheet (RFC 4180; separated by
   * commas, semicolons or tabs). Invalid rows are reported with their line; all other rows are imported. The import is not
   * one transaction: after a 503 or a lost connection, some rows may already be on the list. Repeat the request; rows that
   * are already on the list are counted as unchanged.
   *
   * Needs a key with `manage`. Counts against its limit of `manage` requests.
   */
  importMany: (body: ImportSuppressionsRequest, options?: RequestOptions) =>
    call.json<ImportSuppressionsAnswer>({ method: 'POST', path: '/v1/suppressions/import', body }, options),
  /**
   * Get a suppression
   *
   * Returns a suppression with all of its entries, also after it was removed. A suppression applies to all domains of the organization, but a key with only `send` or `read` sees only
   * suppressions that messages of its own domain caused. For any other address, `GET /v1/suppressions/check` tells it
   * whether the address is suppressed.
   *
   * Needs a key with `read`, or the token of an auditor. Counts against its limit of `read` requests.
   */
  get: (id: string, query: GetSuppressionQuery = {}, options?: RequestOptions) =>
    call.json<GetSuppressionAnswer>({ method: 'GET', path: path`/v1/suppressions/${id}`, query }, options),
  /**
   * Remove a suppression
   *
   * Removes the suppression, so that the address can receive mail again. It is suppressed again for the next reason, such
   * as a bounce, or when you add it. The evidence stays on record.
   *
   * Needs a key with `manage`. Counts against its limit of `manage` requests.
   */
  delete: (id: string, options?: ChangeOptions) =>
    call.json<void>({ method: 'DELETE', path: path`/v1/suppressions/${id}` }, options),
});

/** Operations on `/v1/topics`. */
export const topics = (call: Call) => ({
  /**
   * Create a topic
   *
   * Creates a kind of mail that recipients can choose separately, such as offers or event invitations. Send the returned id as `topic` with each message about it. An organization has at most 100 topics, shared by both environments.
   *
   * Needs a key of the live environment with `manage`. Counts against its limit of `manage` requests.
   */
  create: (body: CreateTopicRequest, options?: RequestOptions) =>
    call.json<Topic>({ method: 'POST', path: '/v1/topics', body }, options),
  /**
   * List topics
   *
   * Needs a key with `manage`. Counts against its limit of `read` requests.
   */
  list: (query: ListTopicsQuery = {}, options?: RequestOptions) =>
    call.list<Topic, ListTopicsAnswer>({ method: 'GET', path: '/v1/topics', query }, options),
  /**
   * Record opt-ins to a topic
   *
   * Records consent that you collected elsewhere, such as in a shop or on paper. From now on these recipients get mail about a topic with `default: "out"`. An opt-in cancels an earlier opt-out of this topic. It does not lift unsubscriptions from all mail, bounces, complaints or suppressions that you added. Recipients can opt out again on the preference page; you can opt them out with a suppression of scope `topic`. The latest choice applies. Addresses are recorded one by one: if the request fails, repeat it.
   *
   * Needs a key with `manage`. Counts against its limit of `manage` requests.
   */
  optIn: (id: string, body: OptInRequest, options?: RequestOptions) =>
    call.json<TopicOptIns>({ method: 'POST', path: path`/v1/topics/${id}/opt-ins`, body }, options),
  /**
   * List opt-ins to a topic
   *
   * Returns the current opt-ins in the key’s environment, the latest first. Recipients who opted out later are not listed. A listed address can still be suppressed for another reason: check it with `GET /v1/suppressions/check`. A key with only `send` or `read` sees only opt-ins made through messages of its own domain.
   *
   * Needs a key with `read`. Counts against its limit of `read` requests.
   */
  listOptIns: (id: string, query: ListOptInsQuery = {}, options?: RequestOptions) =>
    call.list<TopicOptIn, ListOptInsAnswer>({ method: 'GET', path: path`/v1/topics/${id}/opt-ins`, query }, options),
  /**
   * Get a topic
   *
   * Needs a key with `manage`. Counts against its limit of `read` requests.
   */
  get: (id: string, query: GetTopicQuery = {}, options?: RequestOptions) =>
    call.json<GetTopicAnswer>({ method: 'GET', path: path`/v1/topics/${id}`, query }, options),
  /**
   * Update a topic
   *
   * Changes the name or the description. Omitted fields stay unchanged.
   *
   * Needs a key of the live environment with `manage`. Counts against its limit of `manage` requests.
   */
  update: (id: string, body: UpdateTopicRequest = {}, options?: ChangeOptions) =>
    call.json<Topic>({ method: 'PATCH', path: path`/v1/topics/${id}`, body }, options),
  /**
   * Delete a topic
   *
   * New messages can no longer use the topic, and recipients no longer see it. Messages that were already accepted are still sent. The choices of recipients stay on record.
   *
   * Needs a key of the live environment with `manage`. Counts against its limit of `manage` requests.
   */
  delete: (id: string, options?: ChangeOptions) =>
    call.json<void>({ method: 'DELETE', path: path`/v1/topics/${id}` }, options),
});

/** Operations on `/v1/inbound`. */
export const inbound = (call: Call) => ({
  /**
   * List inbound messages
   *
   * Lists received messages without their bodies, newest first. Filters are combined by and.
   *
   * Needs a key with `read`. Counts against its limit of `read` requests.
   */
  list: (query: ListInboundQuery = {}, options?: RequestOptions) =>
    call.list<ListedInboundMessage, ListInboundAnswer>({ method: 'GET', path: '/v1/inbound', query }, options),
  /**
   * Get an inbound message
   *
   * Returns a received message with its headers and bodies. They are stored for the retention time of the organization (`content_retention_days`); afterwards the response is 410. Each reading is recorded in the audit log. The id of an inbound message does not begin with a time: the same mail, received twice, has the same id.
   *
   * Needs a key with `read`. Counts against its limit of `read` requests.
   */
  get: (id: string, options?: RequestOptions) =>
    call.json<InboundMessage>({ method: 'GET', path: path`/v1/inbound/${id}` }, options),
  /**
   * Preview an inbound message
   *
   * Returns the sanitized html, or the text, in a sandboxed document that cannot run scripts, submit forms or load remote content. Images from its attachments are included, and links open in a new window. Viewing is recorded in the audit log.
   *
   * Needs a key with `read`. Counts against its limit of `read` requests.
   */
  preview: (id: string, query: PreviewInboundQuery = {}, options?: RequestOptions) =>
    call.response({ method: 'GET', path: path`/v1/inbound/${id}/preview`, query }, options),
  /**
   * Get the source of an inbound message
   *
   * Returns the message as it was received (RFC 5322 with MIME).
   *
   * Needs a key with `read`. Counts against its limit of `read` requests.
   */
  getRaw: (id: string, options?: RequestOptions) =>
    call.response({ method: 'GET', path: path`/v1/inbound/${id}/raw` }, options),
  /**
   * Get an attachment of an inbound message
   *
   * Returns the attachment at this place in `attachments`, counted from 0. Always `application/octet-stream`, so that no browser runs it.
   *
   * Needs a key with `read`. Counts against its limit of `read` requests.
   */
  getAttachment: (id: string, place: string, options?: RequestOptions) =>
    call.response({ method: 'GET', path: path`/v1/inbound/${id}/attachments/${place}` }, options),
  /**
   * List the deliveries of an inbound message
   *
   * Returns the deliveries of its event `inbound.received` with all of their attempts, one for each webhook. Replays have deliveries of their own, which are left out. Deliveries can be missing if a webhook was deleted, or if there are more than 100 webhooks.
   *
   * Needs a key with `manage`. Counts against its limit of `read` requests.
   */
  listDeliveries: (id: string, options?: RequestOptions) =>
    call.list<WebhookDelivery, ListInboundDeliveriesAnswer>({ method: 'GET', path: path`/v1/inbound/${id}/deliveries` }, options),
  /**
   * Resend an inbound message to its webhooks
   *
   * Posts the event `inbound.received` again now to the webhooks that got it, as `POST /v1/webhooks/{id}/deliveries/{delivery}/resend` does. The id of the event stays the same. Webhooks that are disabled or paused are left out. A webhook that did not exist when the mail arrived gets it by a replay. An empty list: no webhook got the message. 409: all of them are disabled.
   *
   * Needs a key with `manage`. Counts against its limit of `manage` requests.
   */
  resend: (id: string, options?: RequestOptions) =>
    call.list<WebhookDelivery, ResendInboundAnswer>({ method: 'POST', path: path`/v1/inbound/${id}/resend` }, options),
  /**
   * Receive a test message
   *
   * Receives a message as if it had come by SMTP: it is read, checked and routed in the same way, is listed in `GET /v1/inbound`, and creates the event `inbound.received` in the environment of the key. There is no client, so SPF is not checked.
   *
   * The domain of `to` must belong to your organization. It needs `inbound.mx`, unless it is the domain of the key; its MX record is not needed. Keys without `manage` can use only their own domain.
   *
   * The same `raw`, `to` and `from` again return the same message with the same id and create no event. The request can have 8 MB; larger mail must come by SMTP.
   *
   * Needs a key with `send`. Counts against its limit of `send` requests.
   */
  test: (body: TestInboundRequest, options?: RequestOptions) =>
    call.json<InboundMessage>({ method: 'POST', path: '/v1/inbound/test', body }, options),
});

/** Operations on `/v1/inbound-routes`. */
export const inboundRoutes = (call: Call) => ({
  /**
   * Create an inbound route
   *
   * Decides what happens to received mail for some addresses of a domain. Mail that no route matches is stored, and posted to all webhooks that subscribe to `inbound.received`. A domain has at most 100 routes, shared by both environments.
   *
   * Needs a key of the live environment with `manage`. Counts against its limit of `manage` requests.
   */
  create: (body: CreateInboundRouteRequest, options?: RequestOptions) =>
    call.json<InboundRoute>({ method: 'POST', path: '/v1/inbound-routes', body }, options),
  /**
   * List inbound routes
   *
   * Needs a key with `manage`. Counts against its limit of `read` requests.
   */
  list: (query: ListInboundRoutesQuery = {}, options?: RequestOptions) =>
    call.list<InboundRoute, ListInboundRoutesAnswer>({ method: 'GET', path: '/v1/inbound-routes', query }, options),
  /**
   * Get an inbound route
   *
   * Needs a key with `manage`. Counts against its limit of `read` requests.
   */
  get: (id: string, query: GetInboundRouteQuery = {}, options?: RequestOptions) =>
    call.json<GetInboundRouteAnswer>({ method: 'GET', path: path`/v1/inbound-routes/${id}`, query }, options),
  /**
   * Update an inbound route
   *
   * Omitted fields stay unchanged, except that another action drops the webhook or the forwarding address. Mail received before keeps what happened to it.
   *
   * Needs a key of the live environment with `manage`. Counts against its limit of `manage` requests.
   */
  update: (id: string, body: UpdateInboundRouteRequest = {}, options?: ChangeOptions) =>
    call.json<InboundRoute>({ method: 'PATCH', path: path`/v1/inbound-routes/${id}`, body }, options),
  /**
   * Delete an inbound route
   *
   * The next matching route applies to later mail. Mail received before is kept.
   *
   * Needs a key of the live environment with `manage`. Counts against its limit of `manage` requests.
   */
  delete: (id: string, options?: ChangeOptions) =>
    call.json<void>({ method: 'DELETE', path: path`/v1/inbound-routes/${id}` }, options),
  /**
   * Ask the forwarding address to confirm
   *
   * Mails the address in `forward_to` another link, which works for 7 days. Earlier links still work. An address gets at most 3 such mails a day from your organization. If the address has confirmed, nothing is mailed.
   *
   * Needs a key of the live environment with `manage`. Counts against its limit of `manage` requests.
   */
  confirm: (id: string, options?: RequestOptions) =>
    call.json<InboundRoute>({ method: 'POST', path: path`/v1/inbound-routes/${id}/confirmations` }, options),
});

/** Operations on `/v1/events`. */
export const events = (call: Call) => ({
  /**
   * Read events
   *
   * Returns a page of events, oldest first. To read all events, begin with `after=start`, and pass the `next_cursor` of
   * each page as `after` of the next request. Without `after`, the page contains the newest events. `next_cursor` is always
   * present. If `has_more` is false, set `wait` to wait for new events. Events are kept forever.
   *
   * The feed has no gaps: events are in the order of the log, and a cursor never expires. The `id` of an event never
   * changes, so you recognize an event that you read a second time.
   *
   * The filters `message_id`, `tag`, `recipient_domain` and `billed_from` search at most 1,000 events per page, so a page
   * can be empty although `has_more` is true: continue with `next_cursor`. `tag` and `recipient_domain` do not match
   * messages whose content has expired.
   *
   * With `Accept: text/event-stream` the same events are sent as server-sent events, each with its cursor as `id`. The stream
   * starts after `Last-Event-ID` or `after`; without both, it starts with new events. The first frame contains the starting
   * cursor. A comment is sent every 15 s. A client that reads nothing for 60 s is disconnected. If the service ends a stream,
   * the last event is `end` with the `reason` and the `next_cursor` from which to continue.
   *
   * Needs a key with `read`. Counts against its limit of `read` requests.
   */
  read: (query: ReadEventsQuery = {}, options?: RequestOptions) =>
    call.list<OutboxEvent, ReadEventsAnswer>({ method: 'GET', path: '/v1/events', query }, options),
});

/** Operations on `/v1/stats`. */
export const stats = (call: Call) => ({
  /**
   * Get statistics
   *
   * With `Accept: text/csv` or `Accept: application/x-ndjson` the buckets are returned as a table: one row, or one JSON
   * object per line, for each bucket and group, without totals. `compare=previous` also counts an earlier period, shifted by
   * the smallest number of whole hours, days, weeks or months (in the time zone) for which the periods do not overlap. At most
   * 25 groups are returned, those with the most accepted recipients; the group `(other)` contains the rest.
   *
   * Needs a key with `read`. Counts against its limit of `read` requests.
   */
  get: (query: GetStatsQuery = {}, options?: RequestOptions) =>
    call.json<Stats>({ method: 'GET', path: '/v1/stats', query }, options),
});

/** Operations on `/v1/search`. */
export const search = (call: Call) => ({
  /**
   * Search
   *
   * Finds resources by id, address, `Message-ID`, request id, SMTP code, recipient domain, words of the subject, tag, or the
   * beginning of a name (API key, domain, template, topic) or of a webhook URL. Returns at most 20 results, the best
   * match first, and only what you may read. If you may not see mail contents, you cannot search by address, subject or tag.
   * Changes of the last moments may be missing.
   *
   * Needs a key with `read`. Counts against its limit of `read` requests.
   */
  search: (query: SearchQuery, options?: RequestOptions) =>
    call.list<SearchResult, SearchAnswer>({ method: 'GET', path: '/v1/search', query }, options),
});

/** Operations on `/v1/submission`. */
export const submission = (call: Call) => ({
  /**
   * List the SMTP submission servers
   *
   * Returns the settings for programs that can only send by SMTP. The password is an API key with `send`; the user name is ignored.
   *
   * Needs a key with `read`. Counts against its limit of `read` requests.
   */
  get: (options?: RequestOptions) =>
    call.json<Submission>({ method: 'GET', path: '/v1/submission' }, options),
});

/** Operations on `/v1/requests`. */
export const requests = (call: Call) => ({
  /**
   * List refused requests
   *
   * Returns the requests of API keys and members that were answered with 4xx in the last seven days. Requests over a rate limit, and requests beyond the recording limit of an organization, are counted per minute: their `count` is above 1. Keys without `manage` or `admin` see only the requests of their own domain.
   *
   * Needs a key with `read`. Counts against its limit of `read` requests.
   */
  listRefused: (query: ListRefusedRequestsQuery = {}, options?: RequestOptions) =>
    call.list<RequestRefusal, ListRefusedRequestsAnswer>({ method: 'GET', path: '/v1/requests', query }, options),
  /**
   * Count refused requests
   *
   * Counts the refused requests by error code and by who sent them, the most frequent first. Counts at most the newest 50,000 entries of the list.
   *
   * Needs a key with `read`. Counts against its limit of `read` requests.
   */
  countRefused: (query: CountRefusedRequestsQuery = {}, options?: RequestOptions) =>
    call.json<RequestRefusalCounts>({ method: 'GET', path: '/v1/requests/counts', query }, options),
  /**
   * Get a refused request
   *
   * Returns a refused request with its body, by the `X-Request-Id` of its response. Of requests that were counted per minute, only the first can be found.
   *
   * Needs a key with `read`. Counts against its limit of `read` requests.
   */
  getRefused: (id: string, options?: RequestOptions) =>
    call.json<ShownRequestRefusal>({ method: 'GET', path: path`/v1/requests/${id}` }, options),
});

/** Operations on `/v1/billing`. */
export const billing = (call: Call) => ({
  /**
   * Get the plan and its usage
   *
   * Needs a key with `admin`. Counts against its limit of `read` requests.
   */
  get: (options?: RequestOptions) =>
    call.json<Billing>({ method: 'GET', path: '/v1/billing' }, options),
  /**
   * Get the usage of a month by day
   *
   * Needs a key with `admin`. Counts against its limit of `read` requests.
   */
  getUsage: (query: GetUsageQuery = {}, options?: RequestOptions) =>
    call.json<Usage>({ method: 'GET', path: '/v1/billing/usage', query }, options),
  /**
   * List available plans
   *
   * Needs a key with `admin`. Counts against its limit of `read` requests.
   */
  listPlans: (options?: RequestOptions) =>
    call.list<Plan, ListPlansAnswer>({ method: 'GET', path: '/v1/billing/plans' }, options),
  /**
   * Choose a plan
   *
   * Changes the plan. A plan that lowers neither the price, the rate, the included recipients nor the limit applies at once, and its price applies to the whole day (UTC). Any other plan applies from the next day (UTC): until then, `GET /v1/billing` returns it as `next_plan`. Each plan is charged for its days.
   *
   * Needs a key of the live environment with `admin`. Counts against its limit of `manage` requests.
   */
  choosePlan: (body: ChoosePlanRequest, options?: ChangeOptions) =>
    call.json<ChosenPlan>({ method: 'PUT', path: '/v1/billing/plan', body }, options),
  /**
   * List invoices
   *
   * Needs a key with `admin`. Counts against its limit of `read` requests.
   */
  listInvoices: (query: ListInvoicesQuery = {}, options?: RequestOptions) =>
    call.list<Invoice, ListInvoicesAnswer>({ method: 'GET', path: '/v1/billing/invoices', query }, options),
  /**
   * Get an invoice
   *
   * With `Accept: application/pdf` it comes as a document for people.
   *
   * Needs a key with `admin`. Counts against its limit of `read` requests.
   */
  getInvoice: (id: string, options?: RequestOptions) =>
    call.json<Invoice>({ method: 'GET', path: path`/v1/billing/invoices/${id}` }, options),
});

/** Operations on `/v1/audit`. */
export const audit = (call: Call) => ({
  /**
   * List audit log entries
   *
   * Returns the events of the log as they are stored, in both environments. With a filter that matches few events, a page can have fewer entries than `limit`, or none, although `has_more` is true: continue with the cursor.
   *
   * Needs a key of the live environment with `admin`, or the token of an auditor. Counts against its limit of `read` requests.
   */
  listLog: (query: ListAuditLogQuery = {}, options?: RequestOptions) =>
    call.list<AuditEntry, ListAuditLogAnswer>({ method: 'GET', path: '/v1/audit/log', query }, options),
  /**
   * List signed checkpoints
   *
   * Needs a key of the live environment with `admin`, or the token of an auditor. Counts against its limit of `read` requests.
   */
  listCheckpoints: (query: ListCheckpointsQuery = {}, options?: RequestOptions) =>
    call.list<AuditCheckpoint, ListCheckpointsAnswer>({ method: 'GET', path: '/v1/audit/checkpoints', query }, options),
  /**
   * Sign a checkpoint now
   *
   * Signs a checkpoint that covers all events so far. While there are new events, one is also signed automatically every minute.
   *
   * Needs a key of the live environment with `admin`. Counts against its limit of `manage` requests.
   */
  createCheckpoint: (options?: RequestOptions) =>
    call.json<AuditCheckpoint>({ method: 'POST', path: '/v1/audit/checkpoints' }, options),
  /**
   * Get the inclusion proof of an event
   *
   * Accepts the `event_id` of an audit entry, or the id of a customer event, `evt_…`, as in `GET /v1/events` and webhooks. With `Accept: text/plain` the response is a C2SP tlog-proof. If no checkpoint covers the event yet, the response is 409: try again after a minute, or sign a checkpoint.
   *
   * Needs a key of the live environment with `admin`, or the token of an auditor. Counts against its limit of `read` requests.
   */
  getProof: (id: string, options?: RequestOptions) =>
    call.json<AuditProof>({ method: 'GET', path: path`/v1/audit/proof/${id}` }, options),
  /**
   * Disclose the content of an event
   *
   * Returns the content that the event commits to by hash, such as the recipients and the subject. Pass the `event_id` of an audit entry, or the id of a customer event (`evt_…`). The hashes of the parts form the `content_root` of the event, so you can show each part separately. For a removed part only its hash is returned. Each disclosure is recorded as `DataRead`.
   *
   * Needs a key of the live environment with `admin`, or the token of an auditor. Counts against its limit of `read` requests.
   */
  getDisclosure: (id: string, options?: RequestOptions) =>
    call.json<AuditDisclosure>({ method: 'GET', path: path`/v1/audit/disclosures/${id}` }, options),
  /**
   * Get a consistency proof
   *
   * Proves that events were only added to the log between two sizes, such as those of two checkpoints: no earlier event was changed or removed. `to` defaults to the size of the newest checkpoint.
   *
   * Needs a key of the live environment with `admin`, or the token of an auditor. Counts against its limit of `read` requests.
   */
  getConsistencyProof: (query: GetConsistencyProofQuery, options?: RequestOptions) =>
    call.json<AuditConsistency>({ method: 'GET', path: '/v1/audit/consistency', query }, options),
  /**
   * Export the audit log
   *
   * Returns JSON Lines, compressed with gzip if the client accepts it: a header, one line for each event with its leaf,
   * hashes after every 256 events, and the newest signed checkpoint at the end. A response without a checkpoint is
   * incomplete. `outbox audit verify` verifies an export without the service. Every export is itself recorded in
   * the log.
   *
   * Needs a key of the live environment with `admin`, or the token of an auditor. Counts against its limit of `read` requests.
   */
  exportLog: (query: ExportAuditLogQuery = {}, options?: RequestOptions) =>
    call.response({ method: 'GET', path: '/v1/audit/export', query }, options),
  /**
   * Get the newest checkpoint of a transparency log
   *
   * Returns a signed note (C2SP tlog-tiles, tlog-checkpoint). Tiles are served up to its size.
   *
   * Needs a key of the live environment with `admin`, or the token of an auditor. Counts against its limit of `read` requests.
   */
  getTlogCheckpoint: (organization: string, options?: RequestOptions) =>
    call.response({ method: 'GET', path: path`/v1/audit/tlog/${organization}/checkpoint` }, options),
  /**
   * Get a tile of a transparency log
   *
   * Returns the hashes of a level (`tile/<level>/<index>`) or the leaves (`tile/entries/<index>`), complete or up to a width (`.p/<width>`), named as in C2SP tlog-tiles. The contents of a tile never change.
   *
   * Needs a key of the live environment with `admin`, or the token of an auditor. Counts against its limit of `read` requests.
   */
  getTlogTile: (organization: string, tile: string, options?: RequestOptions) =>
    call.response({ method: 'GET', path: path`/v1/audit/tlog/${organization}/tile/${tile}` }, options),
  /**
   * Review access
   *
   * Lists the members, API keys and auditors that have or had access, with roles, permissions and scopes, who granted and changed them, and when they ended; the active ones first. `at` reviews an earlier day. Each event behind it has a proof that it is in the signed log. The CSV has one line for each member, key and auditor.
   *
   * Needs a key of the live environment with `admin`, or the token of an auditor. Counts against its limit of `read` requests.
   */
  getAccessReview: (query: GetAccessReviewQuery = {}, options?: RequestOptions) =>
    call.json<AuditReport>({ method: 'GET', path: '/v1/audit/reports/access', query }, options),
  /**
   * Get the report of an API key
   *
   * For readers who do not know this service: who did what, when, from where and with which secret, in sentences, with proofs that each event is in the signed log. The PDF contains the proofs as an attachment.
   *
   * Needs a key of the live environment with `admin`, or the token of an auditor. Counts against its limit of `read` requests.
   */
  getKeyReport: (id: string, query: GetKeyReportQuery = {}, options?: RequestOptions) =>
    call.json<AuditReport>({ method: 'GET', path: path`/v1/audit/reports/api-keys/${id}`, query }, options),
  /**
   * Get the report of a message
   *
   * For readers who do not know this service: who did what, when, from where and with which secret, in sentences, with proofs that each event is in the signed log. The PDF contains the proofs as an attachment. While its contents are stored, it shows addresses and the subject, and reading it is recorded.
   *
   * Needs a key of the live environment with `admin`, or the token of an auditor. Counts against its limit of `read` requests.
   */
  getMessageReport: (id: string, query: GetMessageReportQuery = {}, options?: RequestOptions) =>
    call.json<AuditReport>({ method: 'GET', path: path`/v1/audit/reports/messages/${id}`, query }, options),
  /**
   * Add an auditor
   *
   * Creates a bearer token that can only read the audit log and the resources that it is about, from the networks that the
   * requesting key allows. The token is shown only once. Exports by an auditor are recorded under `auditor:<id>`. An organization has at most
   * 100 auditors.
   *
   * Needs a key of the live environment with `admin`. Counts against its limit of `manage` requests.
   */
  addAuditor: (body: AddAuditorRequest, options?: RequestOptions) =>
    call.json<AddedAuditor>({ method: 'POST', path: '/v1/audit/auditors', body }, options),
  /**
   * List auditors
   *
   * Needs a key of the live environment with `admin`, or the token of an auditor. Counts against its limit of `read` requests.
   */
  listAuditors: (options?: RequestOptions) =>
    call.list<Auditor, ListAuditorsAnswer>({ method: 'GET', path: '/v1/audit/auditors' }, options),
  /**
   * Get an auditor
   *
   * Needs a key of the live environment with `admin`, or the token of an auditor. Counts against its limit of `read` requests.
   */
  getAuditor: (id: string, options?: RequestOptions) =>
    call.json<Auditor>({ method: 'GET', path: path`/v1/audit/auditors/${id}` }, options),
  /**
   * Remove an auditor
   *
   * The token stops working within a second. The record of what the auditor read is kept.
   *
   * Needs a key of the live environment with `admin`. Counts against its limit of `manage` requests.
   */
  removeAuditor: (id: string, options?: ChangeOptions) =>
    call.json<void>({ method: 'DELETE', path: path`/v1/audit/auditors/${id}` }, options),
});

/** Operations on `/v1/erasures`. */
export const erasures = (call: Call) => ({
  /**
   * Erase an address
   *
   * Removes everything stored about an address, in both environments, and cancels mail to it that has not been sent.
   *
   * - Removed: the contents of messages to the address, once the messages have ended for all of their recipients; inbound
   *   messages from and to the address; replies of mail servers; clicked links; notes and evidence of suppressions; responses of webhooks; captured mail; and the address
   *   as a contact of the organization or of an auditor.
   * - Kept: ids, digests, recipient domains, times, codes, counts, and suppressions (by digest).
   *
   * The erasure runs in the background and ends with the event `erasure.completed`. If one is already running for this
   * address, the response is that erasure.
   *
   * Needs a key of the live environment with `admin`. Counts against its limit of `manage` requests.
   */
  request: (body: RequestErasureRequest, options?: RequestOptions) =>
    call.json<Erasure>({ method: 'POST', path: '/v1/erasures', body }, options),
  /**
   * List erasures
   *
   * Needs a key with `admin`, or the token of an auditor. Counts against its limit of `read` requests.
   */
  list: (query: ListErasuresQuery = {}, options?: RequestOptions) =>
    call.list<Erasure, ListErasuresAnswer>({ method: 'GET', path: '/v1/erasures', query }, options),
  /**
   * Preview an erasure
   *
   * Counts what an erasure would remove, and changes nothing. Counts at most the newest 1,000 messages.
   *
   * Needs a key of the live environment with `admin`. Counts against its limit of `manage` requests.
   */
  preview: (body: PreviewErasureRequest, options?: RequestOptions) =>
    call.json<PreviewErasureAnswer>({ method: 'POST', path: '/v1/erasures/preview', body, changesNothing: true }, options),
  /**
   * Get an erasure
   *
   * Needs a key with `admin`, or the token of an auditor. Counts against its limit of `read` requests.
   */
  get: (id: string, options?: RequestOptions) =>
    call.json<Erasure>({ method: 'GET', path: path`/v1/erasures/${id}` }, options),
});

/** Operations on `/v1/organization`. */
export const organization = (call: Call) => ({
  /**
   * Get the organization
   *
   * Needs a key with `admin`. Counts against its limit of `read` requests.
   */
  get: (options?: RequestOptions) =>
    call.json<GetOrganizationAnswer>({ method: 'GET', path: '/v1/organization' }, options),
  /**
   * Update the organization
   *
   * Changes the settings. Omitted fields stay unchanged. Only the operator of the service can set rate limit ceilings.
   *
   * Needs a key of the live environment with `admin`. Counts against its limit of `manage` requests.
   */
  update: (body: UpdateOrganizationRequest = {}, options?: ChangeOptions) =>
    call.json<UpdateOrganizationAnswer>({ method: 'PATCH', path: '/v1/organization', body }, options),
  /**
   * Get the reputation of the organization
   *
   * Applies the rules of domains to all domains of the organization together. An organization is evaluated once more than one of its domains has sent bulk mail.
   *
   * Needs a key with `manage`. Counts against its limit of `read` requests.
   */
  getReputation: (options?: RequestOptions) =>
    call.json<GetOrganizationReputationAnswer>({ method: 'GET', path: '/v1/organization/reputation' }, options),
  /**
   * Begin or end a legal hold
   *
   * Begins or ends a legal hold. During the hold nothing of the organization is removed: retention is suspended, and erasures are `held`. Start and end are recorded.
   *
   * Needs a key of the live environment with `admin`. Counts against its limit of `manage` requests.
   */
  setLegalHold: (body: SetLegalHoldRequest, options?: ChangeOptions) =>
    call.json<SetLegalHoldAnswer>({ method: 'PUT', path: '/v1/organization/holds', body }, options),
  /**
   * Choose which roles may see mail contents
   *
   * Analysts and auditors cannot see addresses, subjects and bodies of mail unless an owner allows it here. Only owners can call this, not API keys. The change applies to open sessions and event streams within a second, and is recorded.
   *
   * Needs a key of the live environment with `admin`. Counts against its limit of `manage` requests.
   */
  setContentsRoles: (body: SetContentsRolesRequest, options?: ChangeOptions) =>
    call.json<SetContentsRolesAnswer>({ method: 'PUT', path: '/v1/organization/contents', body }, options),
  /**
   * Release the bulk mail of the organization
   *
   * Ends the restriction of an organization that was slowed or paused because of its rates, and restarts the count of bounces and complaints. A domain that is restricted by its own rates is released with `POST /v1/domains/{id}/release`.
   *
   * Needs a key of the live environment with `admin`. Counts against its limit of `manage` requests.
   */
  releaseSending: (options?: RequestOptions) =>
    call.json<ReleaseOrganizationSendingAnswer>({ method: 'POST', path: '/v1/organization/release' }, options),
  /**
   * Pause or resume all bulk mail
   *
   * While bulk mail is paused, live bulk mail of all domains is still accepted, but it waits, and expires when its time to live ends. Messages that are being sent are not stopped, and transactional mail is not affected. When you resume, waiting mail is sent within seconds. Both actions are recorded.
   *
   * Needs a key of the live environment with `admin`. Counts against its limit of `manage` requests.
   */
  pauseBulkMail: (body: PauseBulkMailRequest, options?: RequestOptions) =>
    call.json<PauseBulkMailAnswer>({ method: 'PUT', path: '/v1/organization/bulk-mail', body }, options),
});

/** Operations on `/v1/session`. */
export const session = (call: Call) => ({
  /**
   * Get the current session or key
   *
   * Returns the key or member that sends the request, and its permissions. Any key can call it.
   *
   * Needs a key with any permission. Counts against its limit of `read` requests.
   */
  get: (options?: RequestOptions) =>
    call.json<Session>({ method: 'GET', path: '/v1/session' }, options),
});

/** Operations on `/v1/members`. */
export const members = (call: Call) => ({
  /**
   * Invite a member
   *
   * `owner`: everything. `developer`: `send`, `read` and `manage`. `analyst`: `read`, without addresses,
   * subjects and bodies of mail. `auditor`: can read everything except these, and change nothing. Owners can allow both
   * roles to see them with `PUT /v1/organization/contents`. The response contains the link that accepts the invitation. It works once, for 7 days, and is shown only here. If this service sends mail, the link is also mailed to the person (`link.mailed`). To renew the invitation, create another link (`POST /v1/members/:id/links`). To withdraw it, remove the member (`DELETE /v1/members/:id`). An organization has at most 200 members.
   *
   * Needs a key of the live environment with `admin`. Counts against its limit of `manage` requests.
   */
  invite: (body: InviteMemberRequest, options?: RequestOptions) =>
    call.json<InvitedMember>({ method: 'POST', path: '/v1/members', body }, options),
  /**
   * List members
   *
   * Needs a key of the live environment with `admin`, or the token of an auditor. Counts against its limit of `read` requests.
   */
  list: (options?: RequestOptions) =>
    call.list<Member, ListMembersAnswer>({ method: 'GET', path: '/v1/members' }, options),
  /**
   * Get a member
   *
   * Needs a key of the live environment with `admin`, or the token of an auditor. Counts against its limit of `read` requests.
   */
  get: (id: string, options?: RequestOptions) =>
    call.json<Member>({ method: 'GET', path: path`/v1/members/${id}` }, options),
  /**
   * Change the role of a member
   *
   * `owner`: everything. `developer`: `send`, `read` and `manage`. `analyst`: `read`, without addresses,
   * subjects and bodies of mail. `auditor`: can read everything except these, and change nothing. Owners can allow both
   * roles to see them with `PUT /v1/organization/contents`. The change applies to open sessions within a second. You cannot change the role of the last owner who has signed in.
   *
   * Needs a key of the live environment with `admin`. Counts against its limit of `manage` requests.
   */
  change: (id: string, body: ChangeMemberRequest, options?: RequestOptions) =>
    call.json<Member>({ method: 'PATCH', path: path`/v1/members/${id}`, body }, options),
  /**
   * Remove a member
   *
   * Removes the member and ends their sessions within a second. Their actions stay on record. If the person has not joined yet, this withdraws the invitation: its links stop working.
   *
   * Needs a key of the live environment with `admin`. Counts against its limit of `manage` requests.
   */
  remove: (id: string, options?: RequestOptions) =>
    call.json<void>({ method: 'DELETE', path: path`/v1/members/${id}` }, options),
  /**
   * Create a sign-in link for a member
   *
   * The link works once, for 15 minutes, and is shown only here. For a person who has not joined yet, it renews the invitation: the link works for 7 days and is mailed like the first one. Earlier links keep working. At most 5 links are valid at once; another link revokes the oldest.
   *
   * Needs a key of the live environment with `admin`. Counts against its limit of `manage` requests.
   */
  createLink: (id: string, options?: RequestOptions) =>
    call.json<SignInLink>({ method: 'POST', path: path`/v1/members/${id}/links` }, options),
  /**
   * List the passkeys of a member
   *
   * Needs a key of the live environment with `admin`. Counts against its limit of `read` requests.
   */
  listPasskeys: (id: string, options?: RequestOptions) =>
    call.list<Passkey, ListMemberPasskeysAnswer>({ method: 'GET', path: path`/v1/members/${id}/passkeys` }, options),
  /**
   * Remove a passkey of a member
   *
   * Use this when a device is lost. The passkey can no longer sign in. End the open sessions of the member as well.
   *
   * Needs a key of the live environment with `admin`. Counts against its limit of `manage` requests.
   */
  removePasskey: (id: string, passkey: string, options?: RequestOptions) =>
    call.json<void>({ method: 'DELETE', path: path`/v1/members/${id}/passkeys/${passkey}` }, options),
});

/** Operations on `/v1/sessions`. */
export const sessions = (call: Call) => ({
  /**
   * List open sessions
   *
   * Needs a key of the live environment with `admin`. Counts against its limit of `read` requests.
   */
  list: (options?: RequestOptions) =>
    call.list<MemberSession, ListMemberSessionsAnswer>({ method: 'GET', path: '/v1/sessions' }, options),
  /**
   * Get an open session
   *
   * Needs a key of the live environment with `admin`. Counts against its limit of `read` requests.
   */
  get: (id: string, options?: RequestOptions) =>
    call.json<MemberSession>({ method: 'GET', path: path`/v1/sessions/${id}` }, options),
  /**
   * End a session
   *
   * Signs the browser out within a second.
   *
   * Needs a key of the live environment with `admin`. Counts against its limit of `manage` requests.
   */
  end: (id: string, options?: RequestOptions) =>
    call.json<void>({ method: 'DELETE', path: path`/v1/sessions/${id}` }, options),
});

/** Operations on `/v1/inbox`. */
export const inbox = (call: Call) => ({
  /**
   * List captured mail
   *
   * Lists the mail that this service captured instead of sending it, without contents.
   *
   * Needs a key with `admin`. Counts against its limit of `read` requests.
   */
  list: (query: ListInboxQuery = {}, options?: RequestOptions) =>
    call.list<ListedCapturedMail, ListInboxAnswer>({ method: 'GET', path: '/v1/inbox', query }, options),
  /**
   * Delete captured mail
   *
   * Deletes the mail that the query selects, or all of it without a query.
   *
   * Needs a key with `admin`. Counts against its limit of `manage` requests.
   */
  delete: (query: DeleteInboxQuery = {}, options?: RequestOptions) =>
    call.json<void>({ method: 'DELETE', path: '/v1/inbox', query }, options),
  /**
   * Get a captured mail
   *
   * Returns headers, text and html, each cut at 1 MB. A mail with a sign-in link (`confidential`) is shown only to an owner who has confirmed their presence.
   *
   * Needs a key with `admin`. Counts against its limit of `read` requests.
   */
  getCapturedMail: (id: string, options?: RequestOptions) =>
    call.json<CapturedMail>({ method: 'GET', path: path`/v1/inbox/${id}` }, options),
  /**
   * Delete a captured mail
   *
   * Needs a key with `admin`. Counts against its limit of `manage` requests.
   */
  deleteCapturedMail: (id: string, options?: RequestOptions) =>
    call.json<void>({ method: 'DELETE', path: path`/v1/inbox/${id}` }, options),
  /**
   * Get the source of a captured mail
   *
   * Needs a key with `admin`. Counts against its limit of `read` requests.
   */
  getRawCapturedMail: (id: string, options?: RequestOptions) =>
    call.response({ method: 'GET', path: path`/v1/inbox/${id}/raw` }, options),
  /**
   * Get an attachment of a captured mail
   *
   * Returns the attachment at this place in `attachments`, counted from 0.
   *
   * Needs a key with `admin`. Counts against its limit of `read` requests.
   */
  getCapturedAttachment: (id: string, place: string, options?: RequestOptions) =>
    call.response({ method: 'GET', path: path`/v1/inbox/${id}/attachments/${place}` }, options),
});

/** Operations on `/v1/destinations`. */
export const destinations = (call: Call) => ({
  /**
   * List suspended destinations
   *
   * Lists the destinations to which no mail is sent at the moment. A destination that does not answer or asks for less mail is suspended for one minute, then longer each time, up to half an hour. Its messages wait, and expire when their time to live ends. Other destinations are not affected. A destination that asked only your sending domain for less mail is suspended for this domain only, and listed as `dom_…@google.com`. Recipient domains with broken DNS records or policies are not listed: see `GET /v1/messages/{id}/explain`.
   *
   * Needs a key of the live environment with `admin`. Counts against its limit of `read` requests.
   */
  list: (query: ListDestinationsQuery = {}, options?: RequestOptions) =>
    call.list<{
  object: 'suspended_destination';
  destination: string;
  reason: 'busy' | 'unreachable' | 'refused' | 'recipient_domain';
  message: string;
  since: string;
  until: string;
  times: number;
  smtp: {
    code: number;
    enhanced: string | null;
    mx: string | null;
  };
}, ListDestinationsAnswer>({ method: 'GET', path: '/v1/destinations', query }, options),
  /**
   * Count deferred mail by recipient domain
   *
   * Counts the recipients whose mail was deferred and waits for its next attempt, with the newest reply of each recipient domain. Examines the newest 2000 deferrals. Mail that is due, scheduled or held is not counted.
   *
   * Needs a key with `admin`. Counts against its limit of `read` requests.
   */
  getBacklog: (options?: RequestOptions) =>
    call.json<DestinationBacklog>({ method: 'GET', path: '/v1/destinations/backlog' }, options),
  /**
   * Release a suspended destination
   *
   * Ends the suspension early. Mail that is due is sent within seconds; deferred mail keeps the time of its next attempt. If the problem persists, the destination is suspended again.
   *
   * Needs a key of the live environment with `admin`. Counts against its limit of `manage` requests.
   */
  release: (body: ReleaseDestinationRequest, options?: RequestOptions) =>
    call.json<ReleaseDestinationAnswer>({ method: 'POST', path: '/v1/destinations/release', body }, options),
});
