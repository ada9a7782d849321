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
  CompareTemplateVersionsQuery,
  CountRefusedRequestsQuery,
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
  GetConsistencyProofQuery,
  GetDomainAnswer,
  GetDomainQuery,
  GetDomainReputationAnswer,
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
  TestSendTemplateRequest,
  Topic,
  TopicOptIn,
  TopicOptIns,
  UpdateDomainRequest,
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
   * Send a message
   *
   * Needs a key with `send`. Counts against its limit of `send` requests.
   */
  send: (body: SendMessage, options?: SendOptions) =>
    call.json<SentMessage>({ method: 'POST', path: '/v1/messages/send', body, takesIdempotencyKey: true }, options),
  /**
   * Analyse a message without sending it
   *
   * Accepts the body of a send, and neither sends nor stores it. The result depends only on the message, not on lookups.
   * A finding is an `error` if the message should not be sent as it is, a `warning` if it reduces the quality or delivery of
   * the message, and an `info` otherwise. The verdict is `fail` with any error and `warn` with any warning.
   * The score starts at 100. Each rule subtracts its points for every finding, up to its own maximum. Rules: version
   * 4.
   *
   * Needs a key with `send`. Counts against its limit of `send` requests.
   */
  analyze: (body: SendMessage, options?: RequestOptions) =>
    call.json<Analysis>({ method: 'POST', path: '/v1/messages/analyze', body, changesNothing: true }, options),
  /**
   * Send up to 500 messages
   *
   * Each message is the body of a send and uses one request of the limit. More messages than the whole limit are 422
   * `batch_exceeds_limit`, even if the limit is unused. `strict`: one invalid message
   * rejects the batch and nothing is sent; `details` names `messages[3].to`. `partial`: each is accepted or rejected
   * separately, and the response is 202 even if all are rejected, unless the organization is suspended. It is not one transaction: after a
   * 503 the same request with the same `Idempotency-Key` completes it.
   *
   * Needs a key with `send`. Counts against its limit of `send` requests.
   */
  sendBatch: (body: SendBatch, options?: SendOptions) =>
    call.json<Batch>({ method: 'POST', path: '/v1/messages/batch', body, takesIdempotencyKey: true }, options),
  /**
   * List messages, newest first
   *
   * With `at`, messages accepted by that moment in their state at that moment. A page may then have fewer messages than
   * its limit, and the filter `status` is not available.
   *
   * Needs a key with `read`. Counts against its limit of `read` requests.
   */
  list: (query: ListMessagesQuery = {}, options?: RequestOptions) =>
    call.list<ListedMessage, ListMessagesAnswer>({ method: 'GET', path: '/v1/messages', query }, options),
  /**
   * Read a message and its status
   *
   * Needs a key with `read`. Counts against its limit of `read` requests.
   */
  get: (id: string, query: GetMessageQuery = {}, options?: RequestOptions) =>
    call.json<GetMessageAnswer>({ method: 'GET', path: path`/v1/messages/${id}`, query }, options),
  /**
   * Reschedule a message
   *
   * Moves a message to an earlier or later time, at most 30 days ahead, until an attempt starts. The time to live keeps its length and starts at the new time.
   *
   * Needs a key with `send`. Counts against its limit of `send` requests.
   */
  reschedule: (id: string, body: RescheduleMessageRequest, options?: ChangeOptions) =>
    call.json<Message>({ method: 'PATCH', path: path`/v1/messages/${id}`, body }, options),
  /**
   * Read the content of a message
   *
   * The content is stored for the retention time of the organization (`content_retention_days`). After that the response is 410.
   *
   * Needs a key with `read`. Counts against its limit of `read` requests.
   */
  getContent: (id: string, options?: RequestOptions) =>
    call.json<MessageContent>({ method: 'GET', path: path`/v1/messages/${id}/content` }, options),
  /**
   * Preview a message as a page
   *
   * The html or the text in a sandboxed document, which cannot run scripts, submit forms or load remote content. Images from its own attachments are included, and links open a new window. Viewing is not counted as an opening, but it is recorded in the audit log.
   *
   * Needs a key with `read`. Counts against its limit of `read` requests.
   */
  preview: (id: string, query: PreviewMessageQuery = {}, options?: RequestOptions) =>
    call.response({ method: 'GET', path: path`/v1/messages/${id}/preview`, query }, options),
  /**
   * Read the source of a message
   *
   * RFC 5322 with MIME, as a file. Parts that differ between copies are missing: DKIM signatures, tracking, managed unsubscribe links and `Feedback-ID`. No copy contains `Bcc` recipients. Reading it is recorded in the audit log.
   *
   * Needs a key with `read`. Counts against its limit of `read` requests.
   */
  getRaw: (id: string, options?: RequestOptions) =>
    call.response({ method: 'GET', path: path`/v1/messages/${id}/raw` }, options),
  /**
   * List the events of a message, newest first
   *
   * Needs a key with `read`. Counts against its limit of `read` requests.
   */
  listEvents: (id: string, query: ListMessageEventsQuery = {}, options?: RequestOptions) =>
    call.list<OutboxEvent, ListMessageEventsAnswer>({ method: 'GET', path: path`/v1/messages/${id}/events`, query }, options),
  /**
   * Explain the status of a message step by step
   *
   * Returns the complete history: the request, the key, the checks, every attempt with replies and transport security, waits with their reasons and ends, and each webhook attempt. `facts` contains the codes behind each sentence. Sentences are for people and may change; types and facts are stable. Addresses and reply texts are null once the content has expired. With `at`, the history as known at that moment.
   *
   * Needs a key with `read`. Counts against its limit of `read` requests.
   */
  explain: (id: string, query: ExplainMessageQuery = {}, options?: RequestOptions) =>
    call.json<ExplainMessageAnswer>({ method: 'GET', path: path`/v1/messages/${id}/explain`, query }, options),
  /**
   * Cancel a message
   *
   * Recipients that are accepted, scheduled or deferred become `cancelled`. While the message is being sent, the response is 409. Cancelling a cancelled message succeeds without effect.
   *
   * Needs a key with `send`. Counts against its limit of `send` requests.
   */
  cancel: (id: string, options?: ChangeOptions) =>
    call.json<Message>({ method: 'POST', path: path`/v1/messages/${id}/cancel` }, options),
  /**
   * Cancel many messages
   *
   * Cancels the listed messages, or up to 500 waiting messages that match a filter. Each is cancelled separately: one that is being sent or has ended is reported in `data` and does not stop the others. Repeating the request has no further effect. A filter needs the permission `read` in addition to `send`. Every 25 messages use one request of the limit `send`, with `dry_run` too: a key with a low limit can cancel fewer in one request.
   *
   * Needs a key with `send`. Counts against its limit of `send` requests.
   */
  cancelMany: (body: CancelMessagesRequest, options?: RequestOptions) =>
    call.json<CancelMessagesAnswer>({ method: 'POST', path: '/v1/messages/cancel', body }, options),
});

/** Operations on `/v1/api-keys`. */
export const apiKeys = (call: Call) => ({
  /**
   * Create an API key; its value is shown only once
   *
   * A new key cannot have more networks or a later expiry than the key that creates it.
   *
   * Needs a key with `manage`. Counts against its limit of `manage` requests.
   */
  create: (body: CreateKeyRequest, options?: RequestOptions) =>
    call.json<CreatedApiKey>({ method: 'POST', path: '/v1/api-keys', body }, options),
  /**
   * List API keys, newest first
   *
   * Needs a key with `manage`. Counts against its limit of `read` requests.
   */
  list: (query: ListKeysQuery = {}, options?: RequestOptions) =>
    call.list<ApiKey, ListKeysAnswer>({ method: 'GET', path: '/v1/api-keys', query }, options),
  /**
   * Read an API key, without its value
   *
   * Needs a key with `manage`. Counts against its limit of `read` requests.
   */
  get: (id: string, query: GetKeyQuery = {}, options?: RequestOptions) =>
    call.json<GetKeyAnswer>({ method: 'GET', path: path`/v1/api-keys/${id}`, query }, options),
  /**
   * Change an API key
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
   * Revokes the key and removes it from the list. Its history stays readable.
   *
   * Needs a key with `manage`. Counts against its limit of `manage` requests.
   */
  delete: (id: string, options?: ChangeOptions) =>
    call.json<void>({ method: 'DELETE', path: path`/v1/api-keys/${id}` }, options),
  /**
   * List the history of an API key, newest first
   *
   * Changes and refused changes, also of a deleted key. Values of the key are never returned.
   *
   * Needs a key with `manage`. Counts against its limit of `read` requests.
   */
  listHistory: (id: string, query: ListKeyHistoryQuery = {}, options?: RequestOptions) =>
    call.list<ApiKeyHistoryEntry, ListKeyHistoryAnswer>({ method: 'GET', path: path`/v1/api-keys/${id}/history`, query }, options),
  /**
   * List the values that an API key has had, newest first
   *
   * The creator of each value, the time and reason of its end, and how much was sent with it; also for a deleted key. The values themselves are never returned. Counts stay when messages are erased. `GET /v1/messages?key_id=<id>&secret=<number>` lists the messages. With `at`, the values as they were then, and what was sent up to now.
   *
   * Needs a key with `manage`. Counts against its limit of `read` requests.
   */
  listSecrets: (id: string, query: ListKeySecretsQuery = {}, options?: RequestOptions) =>
    call.list<ApiKeySecret, ListKeySecretsAnswer>({ method: 'GET', path: path`/v1/api-keys/${id}/secrets`, query }, options),
  /**
   * Rotate an API key; the old value works until its grace period ends
   *
   * Refused for a key with more networks or a later expiry than the requesting key (`allowed_cidrs`, `expires_at`).
   *
   * Needs a key with `manage`. Counts against its limit of `manage` requests.
   */
  rotate: (id: string, body: RotateKeyRequest = {}, options?: ChangeOptions) =>
    call.json<RotatedApiKey>({ method: 'POST', path: path`/v1/api-keys/${id}/rotate`, body }, options),
  /**
   * Revoke an API key
   *
   * Needs a key with `manage`. Counts against its limit of `manage` requests.
   */
  revoke: (id: string, options?: ChangeOptions) =>
    call.json<ApiKey>({ method: 'POST', path: path`/v1/api-keys/${id}/revoke` }, options),
});

/** Operations on `/v1/domains`. */
export const domains = (call: Call) => ({
  /**
   * Register a sending domain
   *
   * Needs a key of the live environment with `manage`. Counts against its limit of `manage` requests.
   */
  register: (body: RegisterDomainRequest, options?: RequestOptions) =>
    call.json<Domain>({ method: 'POST', path: '/v1/domains', body }, options),
  /**
   * List sending domains, newest first
   *
   * Needs a key with `manage`. Counts against its limit of `read` requests.
   */
  list: (query: ListDomainsQuery = {}, options?: RequestOptions) =>
    call.list<Domain, ListDomainsAnswer>({ method: 'GET', path: '/v1/domains', query }, options),
  /**
   * Read a domain and its DNS records
   *
   * Needs a key with `manage`. Counts against its limit of `read` requests.
   */
  get: (id: string, query: GetDomainQuery = {}, options?: RequestOptions) =>
    call.json<GetDomainAnswer>({ method: 'GET', path: path`/v1/domains/${id}`, query }, options),
  /**
   * Change the settings of a domain
   *
   * Absent fields stay unchanged.
   *
   * Needs a key of the live environment with `manage`. Counts against its limit of `manage` requests.
   */
  update: (id: string, body: UpdateDomainRequest = {}, options?: ChangeOptions) =>
    call.json<Domain>({ method: 'PATCH', path: path`/v1/domains/${id}`, body }, options),
  /**
   * Delete a domain and revoke the keys bound to it
   *
   * Waiting messages of the domain stay unchanged and fail when they become due. Cancel them first to end them immediately.
   *
   * Needs a key of the live environment with `manage`. Counts against its limit of `manage` requests.
   */
  delete: (id: string, options?: ChangeOptions) =>
    call.json<void>({ method: 'DELETE', path: path`/v1/domains/${id}` }, options),
  /**
   * Check the DNS records of a domain now
   *
   * Queries the DNS without a cache and reports the value found and the problem for each record. A domain is verified once the `required` records are valid. If the DNS does not answer, nothing changes.
   *
   * Needs a key of the live environment with `manage`. Counts against its limit of `manage` requests.
   */
  verify: (id: string, options?: ChangeOptions) =>
    call.json<Domain>({ method: 'POST', path: path`/v1/domains/${id}/verify` }, options),
  /**
   * Rotate the DKIM keys of a domain
   *
   * The current keys sign until the new RSA record is seen in the DNS, by an automatic check or by `verify`. Keep the earlier records until `safe_to_remove_at`: mail in transit is verified with them. Rotating again before that replaces the pending keys.
   *
   * Needs a key of the live environment with `manage`. Counts against its limit of `manage` requests.
   */
  rotateDkim: (id: string, options?: ChangeOptions) =>
    call.json<Domain>({ method: 'POST', path: path`/v1/domains/${id}/dkim/rotate` }, options),
  /**
   * Read the bounce and complaint rates of a domain’s bulk mail and their effect
   *
   * Live bulk mail of the last seven days, by the day (UTC) of its outcome. Fewer than 200 recipients, or fewer than five bounces or complaints, are not evaluated. A level lasts until the rate falls a fifth below its limit.
   *
   * Needs a key with `manage`. Counts against its limit of `read` requests.
   */
  getReputation: (id: string, options?: RequestOptions) =>
    call.json<GetDomainReputationAnswer>({ method: 'GET', path: path`/v1/domains/${id}/reputation` }, options),
  /**
   * Release a domain’s bulk mail that was slowed down or paused
   *
   * Restarts the count of bounces and complaints. Waiting mail is sent within seconds; a long backlog takes turns with other mail. Restrictions of the whole organization have their own release.
   *
   * Needs a key of the live environment with `admin`. Counts against its limit of `manage` requests.
   */
  releaseSending: (id: string, options?: RequestOptions) =>
    call.json<ReleaseSendingAnswer>({ method: 'POST', path: path`/v1/domains/${id}/release` }, options),
  /**
   * Read the warm-up of a domain and today’s numbers by destination
   *
   * Needs a key with `manage`. Counts against its limit of `read` requests.
   */
  getWarmUp: (id: string, options?: RequestOptions) =>
    call.json<GetWarmUpAnswer>({ method: 'GET', path: path`/v1/domains/${id}/warm-up` }, options),
  /**
   * Start the warm-up of a domain: a daily quota that grows
   *
   * Starts today and replaces another plan; the same plan continues if it runs. A destination is the mailbox provider of a recipient’s domain, or each recipient domain when one server takes all mail (`MAIL_URL=smtp://…`). All live mail of the domain counts. Bulk mail above the quota waits for a later day; its `ttl_seconds` pause until then unless they are below the default. Transactional mail never waits. Days are UTC.
   *
   * Needs a key of the live environment with `manage`. Counts against its limit of `manage` requests.
   */
  startWarmUp: (id: string, body: StartWarmUpRequest = {}, options?: RequestOptions) =>
    call.json<StartWarmUpAnswer>({ method: 'PUT', path: path`/v1/domains/${id}/warm-up`, body }, options),
  /**
   * End the warm-up of a domain early
   *
   * Its mail is no longer held. Waiting mail leaves within seconds; a long backlog takes turns with other mail. Without a plan nothing changes.
   *
   * Needs a key of the live environment with `manage`. Counts against its limit of `manage` requests.
   */
  endWarmUp: (id: string, options?: RequestOptions) =>
    call.json<void>({ method: 'DELETE', path: path`/v1/domains/${id}/warm-up` }, options),
});

/** Operations on `/v1/templates`. */
export const templates = (call: Call) => ({
  /**
   * Create a template, as a draft
   *
   * Needs a key of the live environment with `manage`. Counts against its limit of `manage` requests.
   */
  create: (body: CreateTemplateRequest, options?: RequestOptions) =>
    call.json<Template>({ method: 'POST', path: '/v1/templates', body }, options),
  /**
   * List templates, newest first
   *
   * Needs a key with `manage`. Counts against its limit of `read` requests.
   */
  list: (query: ListTemplatesQuery = {}, options?: RequestOptions) =>
    call.list<ListedTemplate, ListTemplatesAnswer>({ method: 'GET', path: '/v1/templates', query }, options),
  /**
   * Read a template and its newest content
   *
   * Needs a key with `manage`. Counts against its limit of `read` requests.
   */
  get: (id: string, query: GetTemplateQuery = {}, options?: RequestOptions) =>
    call.json<GetTemplateAnswer>({ method: 'GET', path: path`/v1/templates/${id}`, query }, options),
  /**
   * Change the draft of a template
   *
   * Absent fields stay unchanged; `variables` and `locales` are replaced as a whole. Sends use the published version until the draft is published.
   *
   * Needs a key of the live environment with `manage`. Counts against its limit of `manage` requests.
   */
  change: (id: string, body: ChangeTemplateRequest = {}, options?: ChangeOptions) =>
    call.json<Template>({ method: 'PATCH', path: path`/v1/templates/${id}`, body }, options),
  /**
   * Delete a template
   *
   * The template can no longer be used. Messages sent with it stay unchanged.
   *
   * Needs a key of the live environment with `manage`. Counts against its limit of `manage` requests.
   */
  delete: (id: string, options?: ChangeOptions) =>
    call.json<void>({ method: 'DELETE', path: path`/v1/templates/${id}` }, options),
  /**
   * Publish the draft as the next version
   *
   * Every variable that a part uses must be declared, and every declared variable must be used. The template is rendered with the values of the examples and must produce valid HTML. A version never changes.
   *
   * Needs a key of the live environment with `manage`. Counts against its limit of `manage` requests.
   */
  publish: (id: string, options?: ChangeOptions) =>
    call.json<PublishedTemplateVersion>({ method: 'POST', path: path`/v1/templates/${id}/publish` }, options),
  /**
   * Send an earlier version again
   *
   * Sends that do not specify a version use this one from now on. The draft stays unchanged.
   *
   * Needs a key of the live environment with `manage`. Counts against its limit of `manage` requests.
   */
  rollBack: (id: string, body: RollBackTemplateRequest, options?: ChangeOptions) =>
    call.json<ListedTemplate>({ method: 'POST', path: path`/v1/templates/${id}/rollback`, body }, options),
  /**
   * List the versions of a template, newest first
   *
   * Also works for deleted templates, because messages refer to their versions.
   *
   * Needs a key with `manage`. Counts against its limit of `read` requests.
   */
  listVersions: (id: string, query: ListTemplateVersionsQuery = {}, options?: RequestOptions) =>
    call.list<ListedTemplateVersion, ListTemplateVersionsAnswer>({ method: 'GET', path: path`/v1/templates/${id}/versions`, query }, options),
  /**
   * Read a version of a template
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
   * Render a template without sending it
   *
   * Nothing is stored.
   *
   * Needs a key with `manage`. Counts against its limit of `read` requests.
   */
  render: (id: string, body: RenderTemplateRequest = {}, options?: RequestOptions) =>
    call.json<RenderedTemplate>({ method: 'POST', path: path`/v1/templates/${id}/render`, body, changesNothing: true }, options),
  /**
   * Preview a template as a page
   *
   * The html of a message with the values of the examples, in a sandboxed document that cannot run scripts, submit forms or load remote content; links open a new window. Nothing is stored.
   *
   * Needs a key with `manage`. Counts against its limit of `read` requests.
   */
  preview: (id: string, query: PreviewTemplateQuery = {}, options?: RequestOptions) =>
    call.response({ method: 'GET', path: path`/v1/templates/${id}/preview`, query }, options),
  /**
   * Send a test message from a template
   *
   * The subject begins with `[Test]`. The message is delivered like any other, but it is not billed and not included in statistics, warm-up quotas or sender reputation. The sender is that of the template, or else `test@` the domain of the key.
   *
   * Needs a key with `send`. Counts against its limit of `send` requests.
   */
  testSend: (id: string, body: TestSendTemplateRequest, options?: RequestOptions) =>
    call.json<SentMessage>({ method: 'POST', path: path`/v1/templates/${id}/test-send`, body }, options),
});

/** Operations on `/v1/webhooks`. */
export const webhooks = (call: Call) => ({
  /**
   * Register a webhook; its secret is shown only once
   *
   * An organization has at most 50 webhooks, of both environments, unless the operator of the service allows another number.
   *
   * Needs a key with `manage`. Counts against its limit of `manage` requests.
   */
  register: (body: RegisterWebhookRequest, options?: RequestOptions) =>
    call.json<CreatedWebhook>({ method: 'POST', path: '/v1/webhooks', body }, options),
  /**
   * List webhooks, newest first
   *
   * Needs a key with `manage`. Counts against its limit of `read` requests.
   */
  list: (query: ListWebhooksQuery = {}, options?: RequestOptions) =>
    call.list<Webhook, ListWebhooksAnswer>({ method: 'GET', path: '/v1/webhooks', query }, options),
  /**
   * Read a webhook, without its secret
   *
   * Needs a key with `manage`. Counts against its limit of `read` requests.
   */
  get: (id: string, query: GetWebhookQuery = {}, options?: RequestOptions) =>
    call.json<GetWebhookAnswer>({ method: 'GET', path: path`/v1/webhooks/${id}`, query }, options),
  /**
   * Change, enable or disable a webhook
   *
   * Absent fields stay unchanged; `filters` and `headers` are replaced as a whole. Events that happened while the webhook was disabled are not posted automatically: replay them.
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
   * Give a webhook another secret, which is shown only once
   *
   * Until the grace period ends, `webhook-signature` contains signatures with both secrets, the new one first.
   *
   * Needs a key with `manage`. Counts against its limit of `manage` requests.
   */
  rotateSecret: (id: string, body: RotateWebhookSecretRequest = {}, options?: ChangeOptions) =>
    call.json<RotatedWebhook>({ method: 'POST', path: path`/v1/webhooks/${id}/rotate-secret`, body }, options),
  /**
   * Take over a webhook from the key that made it
   *
   * A webhook is paused when the key in `owned_by` ends, if that key had an expiry or was restricted to networks. A member, or a key without these restrictions, can adopt the webhook, which then continues with the waiting events. Adopt the webhooks of a key before you revoke it to avoid the pause.
   *
   * Needs a key with `manage`. Counts against its limit of `manage` requests.
   */
  adopt: (id: string, options?: ChangeOptions) =>
    call.json<Webhook>({ method: 'POST', path: path`/v1/webhooks/${id}/adopt` }, options),
  /**
   * Post an event to a webhook, to see whether it answers
   *
   * Posts a `webhook.ping` to this endpoint only, even if it does not subscribe to it.
   *
   * Needs a key with `manage`. Counts against its limit of `manage` requests.
   */
  ping: (id: string, options?: ChangeOptions) =>
    call.json<WebhookPing>({ method: 'POST', path: path`/v1/webhooks/${id}/ping` }, options),
  /**
   * List the deliveries of a webhook with all attempts, newest first
   *
   * The filters search at most 5,000 deliveries per page, so a page may be empty although `has_more` is true: continue with `next_cursor`.
   *
   * Needs a key with `manage`. Counts against its limit of `read` requests.
   */
  listDeliveries: (id: string, query: ListWebhookDeliveriesQuery = {}, options?: RequestOptions) =>
    call.list<WebhookDelivery, ListWebhookDeliveriesAnswer>({ method: 'GET', path: path`/v1/webhooks/${id}/deliveries`, query }, options),
  /**
   * Read a delivery of a webhook with all attempts
   *
   * Needs a key with `manage`. Counts against its limit of `read` requests.
   */
  getDelivery: (id: string, delivery: string, options?: RequestOptions) =>
    call.json<ShownWebhookDelivery>({ method: 'GET', path: path`/v1/webhooks/${id}/deliveries/${delivery}` }, options),
  /**
   * Post a delivery again now
   *
   * Works for delivered, failed and waiting deliveries. The delivery keeps the id of its event and its attempts, and is retried for the rest of its schedule. The request is recorded with its sender.
   *
   * Needs a key with `manage`. Counts against its limit of `manage` requests.
   */
  resendDelivery: (id: string, delivery: string, options?: RequestOptions) =>
    call.json<WebhookDelivery>({ method: 'POST', path: path`/v1/webhooks/${id}/deliveries/${delivery}/resend` }, options),
  /**
   * Post events of the past again
   *
   * Posts the events of that time that match the webhook’s current subscription and filters, at most 100 a second. They keep their ids; the header `webhook-replay` has the id of the replay. A webhook has one replay at a time. It continues after a restart, and waits while the webhook is disabled.
   *
   * Needs a key with `manage`. Counts against its limit of `manage` requests.
   */
  replay: (id: string, body: ReplayWebhookRequest, options?: RequestOptions) =>
    call.json<WebhookReplay>({ method: 'POST', path: path`/v1/webhooks/${id}/replay`, body }, options),
  /**
   * List the replays of a webhook, newest first
   *
   * Replays are deleted 30 days after they ended.
   *
   * Needs a key with `manage`. Counts against its limit of `read` requests.
   */
  listReplays: (id: string, query: ListWebhookReplaysQuery = {}, options?: RequestOptions) =>
    call.list<WebhookReplay, ListWebhookReplaysAnswer>({ method: 'GET', path: path`/v1/webhooks/${id}/replays`, query }, options),
  /**
   * Read the progress of a replay
   *
   * Needs a key with `manage`. Counts against its limit of `read` requests.
   */
  getReplay: (id: string, replay: string, options?: RequestOptions) =>
    call.json<WebhookReplay>({ method: 'GET', path: path`/v1/webhooks/${id}/replays/${replay}` }, options),
  /**
   * Cancel a replay
   *
   * Deliveries that have not been tried yet are dropped. Those that wait for a retry are kept.
   *
   * Needs a key with `manage`. Counts against its limit of `manage` requests.
   */
  cancelReplay: (id: string, replay: string, options?: RequestOptions) =>
    call.json<void>({ method: 'DELETE', path: path`/v1/webhooks/${id}/replays/${replay}` }, options),
});

/** Operations on `/v1/suppressions`. */
export const suppressions = (call: Call) => ({
  /**
   * Suppress one or several addresses
   *
   * For one `address` the response is its suppression, for several `addresses` a result for each. An address that is
   * already on the list stays there, and its `expires_at` can be changed. Several addresses are not one transaction: after a
   * fault, repeat the request.
   *
   * Needs a key with `manage`. Counts against its limit of `manage` requests.
   */
  add: (body: AddSuppressionsRequest = {}, options?: RequestOptions) =>
    call.json<AddSuppressionsAnswer>({ method: 'POST', path: '/v1/suppressions', body }, options),
  /**
   * List suppressed addresses, newest first
   *
   * Active suppressions in the key's environment, latest addition first; with `at`, newest suppression first.
   * A key with only `send` or `read` sees what messages of its own domain have caused. A suppression holds for
   * all domains of the organization: `GET /v1/suppressions/check` answers such a key yes or no for any address.
   *
   * Needs a key with `read`. Counts against its limit of `read` requests.
   */
  list: (query: ListSuppressionsQuery = {}, options?: RequestOptions) =>
    call.list<Suppression, ListSuppressionsAnswer>({ method: 'GET', path: '/v1/suppressions', query }, options),
  /**
   * Check whether an address is suppressed now
   *
   * `suppressed` is the answer for every key. A key with only `send` or `read` sees what messages of its own domain have caused. A suppression holds for
   * all domains of the organization: `GET /v1/suppressions/check` answers such a key yes or no for any address. `opted_in` and `suppression` show it no more.
   *
   * Needs a key with `read`. Counts against its limit of `read` requests.
   */
  check: (query: CheckSuppressionQuery, options?: RequestOptions) =>
    call.json<CheckSuppressionAnswer>({ method: 'GET', path: '/v1/suppressions/check', query }, options),
  /**
   * Export all suppressed addresses as CSV
   *
   * All active entries, in no particular order, as CSV (RFC 4180) with the columns `address, scope, reason, expires_at, note, topic_id`, one row
   * per reason. The import accepts this file unchanged. An apostrophe precedes cells that a spreadsheet would read as a formula.
   * Erased addresses are omitted. A key with only `send` or `read` gets only entries caused by messages of its own domain.
   * A response that ends early is incomplete.
   *
   * Needs a key with `read`. Counts against its limit of `read` requests.
   */
  export: (options?: RequestOptions) =>
    call.response({ method: 'GET', path: '/v1/suppressions/export' }, options),
  /**
   * Suppress the addresses of a CSV file
   *
   * Accepts the format of the export, and CSV from spreadsheets (RFC 4180; separated by commas, semicolons or tabs). Invalid
   * rows are reported with their line, and the others are imported. The import is not one transaction: without a response, or
   * after a 503, some rows may be on the list. Repeat the request; existing entries are then reported as unchanged.
   *
   * Needs a key with `manage`. Counts against its limit of `manage` requests.
   */
  importMany: (body: ImportSuppressionsRequest, options?: RequestOptions) =>
    call.json<ImportSuppressionsAnswer>({ method: 'POST', path: '/v1/suppressions/import', body }, options),
  /**
   * Read a suppression
   *
   * A removed suppression can still be read, with all its entries. A key with only `send` or `read` sees what messages of its own domain have caused. A suppression holds for
   * all domains of the organization: `GET /v1/suppressions/check` answers such a key yes or no for any address.
   *
   * Needs a key with `read`. Counts against its limit of `read` requests.
   */
  get: (id: string, query: GetSuppressionQuery = {}, options?: RequestOptions) =>
    call.json<GetSuppressionAnswer>({ method: 'GET', path: path`/v1/suppressions/${id}`, query }, options),
  /**
   * Remove a suppression
   *
   * The address can receive mail again, until it is suppressed for a new reason. The evidence stays on record. Adding the
   * address suppresses it again.
   *
   * Needs a key with `manage`. Counts against its limit of `manage` requests.
   */
  delete: (id: string, options?: ChangeOptions) =>
    call.json<void>({ method: 'DELETE', path: path`/v1/suppressions/${id}` }, options),
});

/** Operations on `/v1/topics`. */
export const topics = (call: Call) => ({
  /**
   * Make a topic that recipients can choose or refuse
   *
   * Use its id in the field `topic` of a send. An organization has at most 100 topics, in both environments together.
   *
   * Needs a key of the live environment with `manage`. Counts against its limit of `manage` requests.
   */
  create: (body: CreateTopicRequest, options?: RequestOptions) =>
    call.json<Topic>({ method: 'POST', path: '/v1/topics', body }, options),
  /**
   * List topics, newest first
   *
   * Needs a key with `manage`. Counts against its limit of `read` requests.
   */
  list: (query: ListTopicsQuery = {}, options?: RequestOptions) =>
    call.list<Topic, ListTopicsAnswer>({ method: 'GET', path: '/v1/topics', query }, options),
  /**
   * Record that recipients opted in to a topic
   *
   * For consent given elsewhere, such as in a shop or on paper. From now on the recipients get mail about a topic with `default: "out"`. An opt-in withdraws their own refusal of this topic; unsubscriptions from all mail, bounces, complaints and your own entries stay active. They can opt out on the preference page, and you can do so for them with a suppression with scope `topic`. The latest choice in the order of the log applies. Several addresses are not one transaction: after a fault, repeat the request.
   *
   * Needs a key with `manage`. Counts against its limit of `manage` requests.
   */
  optIn: (id: string, body: OptInRequest, options?: RequestOptions) =>
    call.json<TopicOptIns>({ method: 'POST', path: path`/v1/topics/${id}/opt-ins`, body }, options),
  /**
   * List recipients who opted in to a topic, latest first
   *
   * Opt-ins in the key’s environment, each with its latest time. Recipients who have opted out since are not listed. A listed address may be suppressed for another reason: see `GET /v1/suppressions/check`. A key with only `send` or `read` sees only opt-ins by a link in a message of its own domain.
   *
   * Needs a key with `read`. Counts against its limit of `read` requests.
   */
  listOptIns: (id: string, query: ListOptInsQuery = {}, options?: RequestOptions) =>
    call.list<TopicOptIn, ListOptInsAnswer>({ method: 'GET', path: path`/v1/topics/${id}/opt-ins`, query }, options),
  /**
   * Read a topic
   *
   * Needs a key with `manage`. Counts against its limit of `read` requests.
   */
  get: (id: string, query: GetTopicQuery = {}, options?: RequestOptions) =>
    call.json<GetTopicAnswer>({ method: 'GET', path: path`/v1/topics/${id}`, query }, options),
  /**
   * Change the name or the description of a topic
   *
   * Absent fields stay unchanged.
   *
   * Needs a key of the live environment with `manage`. Counts against its limit of `manage` requests.
   */
  update: (id: string, body: UpdateTopicRequest = {}, options?: ChangeOptions) =>
    call.json<Topic>({ method: 'PATCH', path: path`/v1/topics/${id}`, body }, options),
  /**
   * Delete a topic
   *
   * Messages can no longer be sent about it, and recipients no longer see it. Messages accepted before are still sent. The choices of recipients stay on record.
   *
   * Needs a key of the live environment with `manage`. Counts against its limit of `manage` requests.
   */
  delete: (id: string, options?: ChangeOptions) =>
    call.json<void>({ method: 'DELETE', path: path`/v1/topics/${id}` }, options),
});

/** Operations on `/v1/events`. */
export const events = (call: Call) => ({
  /**
   * Events, oldest first from a cursor, or the newest page without one; waits for new ones if asked
   *
   * Every page is oldest first. `after=start` begins with the first event; without `after` the page
   * contains the newest events. `next_cursor` is always present: pass it as `after` to get the following events.
   * `has_more` says whether there are any yet; if not, use `wait`. Events are kept forever.
   *
   * The feed has no gaps: events are in the order of the log, and a cursor never expires. The `id` of an event never
   * changes: an event that you read again after a fault has the same `id`.
   *
   * The filters `message_id`, `tag`, `recipient_domain` and `billed_from` search at most 1,000 events per page, so a page
   * may be empty although `has_more` is true: continue with `next_cursor`. `tag` and `recipient_domain` do not match messages
   * whose content has expired.
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
   * Count recipients by outcome over time
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
   * Find what an id, an address, a code or the beginning of a name leads to
   *
   * Searches ids, addresses, `Message-ID`s, request ids, SMTP codes, recipient domains, words of subjects, tags, and the
   * beginnings of names of API keys, domains, templates and topics and of webhook URLs. Returns at most 20 results,
   * best first, and only resources that the caller may read. Callers who may not see contents of mail cannot search by address,
   * subject or tag. Very recent changes may be missing.
   *
   * Needs a key with `read`. Counts against its limit of `read` requests.
   */
  search: (query: SearchQuery, options?: RequestOptions) =>
    call.list<SearchResult, SearchAnswer>({ method: 'GET', path: '/v1/search', query }, options),
});

/** Operations on `/v1/submission`. */
export const submission = (call: Call) => ({
  /**
   * Get the SMTP submission servers
   *
   * Settings for programs that can only send by SMTP. The password is an API key with `send`; the user name is ignored. docs/smtp.md describes which messages are accepted.
   *
   * Needs a key with `read`. Counts against its limit of `read` requests.
   */
  get: (options?: RequestOptions) =>
    call.json<Submission>({ method: 'GET', path: '/v1/submission' }, options),
});

/** Operations on `/v1/requests`. */
export const requests = (call: Call) => ({
  /**
   * List refused requests, newest first
   *
   * Requests of API keys and members that were answered with 4xx in the last seven days. Requests over a rate limit, and those above the recording limit of an organization, are counted per minute: `count` is then above 1. Keys without `manage` or `admin` see only those of their own domain.
   *
   * Needs a key with `read`. Counts against its limit of `read` requests.
   */
  listRefused: (query: ListRefusedRequestsQuery = {}, options?: RequestOptions) =>
    call.list<RequestRefusal, ListRefusedRequestsAnswer>({ method: 'GET', path: '/v1/requests', query }, options),
  /**
   * Count refused requests by code and by who sent them
   *
   * The most frequent first. At most the newest 50,000 entries of the list are counted.
   *
   * Needs a key with `read`. Counts against its limit of `read` requests.
   */
  countRefused: (query: CountRefusedRequestsQuery = {}, options?: RequestOptions) =>
    call.json<RequestRefusalCounts>({ method: 'GET', path: '/v1/requests/counts', query }, options),
  /**
   * Read a refused request with its body
   *
   * By the `X-Request-Id` of its answer. Of those that were counted by the minute, only the first is found.
   *
   * Needs a key with `read`. Counts against its limit of `read` requests.
   */
  getRefused: (id: string, options?: RequestOptions) =>
    call.json<ShownRequestRefusal>({ method: 'GET', path: path`/v1/requests/${id}` }, options),
});

/** Operations on `/v1/billing`. */
export const billing = (call: Call) => ({
  /**
   * Read the plan, the period and its usage
   *
   * Needs a key with `admin`. Counts against its limit of `read` requests.
   */
  get: (options?: RequestOptions) =>
    call.json<Billing>({ method: 'GET', path: '/v1/billing' }, options),
  /**
   * Count the billable recipients of a month by day
   *
   * Needs a key with `admin`. Counts against its limit of `read` requests.
   */
  getUsage: (query: GetUsageQuery = {}, options?: RequestOptions) =>
    call.json<Usage>({ method: 'GET', path: '/v1/billing/usage', query }, options),
  /**
   * List the plans that the organization can choose
   *
   * Needs a key with `admin`. Counts against its limit of `read` requests.
   */
  listPlans: (options?: RequestOptions) =>
    call.list<Plan, ListPlansAnswer>({ method: 'GET', path: '/v1/billing/plans' }, options),
  /**
   * Choose a plan
   *
   * The new plan applies to quotas immediately, and to the invoice from the start of the day (UTC). The previous plan is charged for its days.
   *
   * Needs a key of the live environment with `admin`. Counts against its limit of `manage` requests.
   */
  choosePlan: (body: ChoosePlanRequest, options?: ChangeOptions) =>
    call.json<Plan>({ method: 'PUT', path: '/v1/billing/plan', body }, options),
  /**
   * List invoices, newest first
   *
   * Needs a key with `admin`. Counts against its limit of `read` requests.
   */
  listInvoices: (query: ListInvoicesQuery = {}, options?: RequestOptions) =>
    call.list<Invoice, ListInvoicesAnswer>({ method: 'GET', path: '/v1/billing/invoices', query }, options),
  /**
   * Read an invoice
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
   * List what happened in the organization
   *
   * Every event of the log as stored, in both environments. If a filter matches few events, a page may have fewer entries than its limit, or none, although `has_more` is true: continue with the cursor.
   *
   * Needs a key of the live environment with `admin`, or the token of an auditor. Counts against its limit of `read` requests.
   */
  listLog: (query: ListAuditLogQuery = {}, options?: RequestOptions) =>
    call.list<AuditEntry, ListAuditLogAnswer>({ method: 'GET', path: '/v1/audit/log', query }, options),
  /**
   * List signed checkpoints, newest first
   *
   * Needs a key of the live environment with `admin`, or the token of an auditor. Counts against its limit of `read` requests.
   */
  listCheckpoints: (query: ListCheckpointsQuery = {}, options?: RequestOptions) =>
    call.list<AuditCheckpoint, ListCheckpointsAnswer>({ method: 'GET', path: '/v1/audit/checkpoints', query }, options),
  /**
   * Sign a checkpoint now
   *
   * Covers all events so far. A checkpoint is also signed automatically every minute while there are new events.
   *
   * Needs a key of the live environment with `admin`. Counts against its limit of `manage` requests.
   */
  createCheckpoint: (options?: RequestOptions) =>
    call.json<AuditCheckpoint>({ method: 'POST', path: '/v1/audit/checkpoints' }, options),
  /**
   * Prove that an event is in the log
   *
   * Accepts the `event_id` of an audit entry, or the id of a customer event, `evt_…`, as in `GET /v1/events` and webhooks. With `Accept: text/plain` the response is a C2SP tlog-proof. If no checkpoint covers the event yet, the response is 409: try again after a minute, or sign a checkpoint.
   *
   * Needs a key of the live environment with `admin`, or the token of an auditor. Counts against its limit of `read` requests.
   */
  getProof: (id: string, options?: RequestOptions) =>
    call.json<AuditProof>({ method: 'GET', path: path`/v1/audit/proof/${id}` }, options),
  /**
   * Disclose the content that an event is bound to
   *
   * Accepts the `event_id` of an audit entry, or the id of a customer event, `evt_…`. The hashes of the parts form the `content_root` of the event, and each part can be shown separately. For removed parts only the hash is returned. Each disclosure is recorded as `DataRead`.
   *
   * Needs a key of the live environment with `admin`, or the token of an auditor. Counts against its limit of `read` requests.
   */
  getDisclosure: (id: string, options?: RequestOptions) =>
    call.json<AuditDisclosure>({ method: 'GET', path: path`/v1/audit/disclosures/${id}` }, options),
  /**
   * Prove that the log was only added to
   *
   * Proof between two sizes, such as those of two checkpoints. Default of `to`: the size of the newest checkpoint.
   *
   * Needs a key of the live environment with `admin`, or the token of an auditor. Counts against its limit of `read` requests.
   */
  getConsistencyProof: (query: GetConsistencyProofQuery, options?: RequestOptions) =>
    call.json<AuditConsistency>({ method: 'GET', path: '/v1/audit/consistency', query }, options),
  /**
   * Export the log for an auditor
   *
   * JSON Lines, compressed with gzip if the client accepts it: a header, each event as a line with its leaf, hashes after
   * every 256 events, and finally the newest signed checkpoint. `npm run outbox -- audit verify` verifies an export without
   * the service. An incomplete response has no checkpoint. Each export is itself recorded in the log.
   *
   * Needs a key of the live environment with `admin`, or the token of an auditor. Counts against its limit of `read` requests.
   */
  exportLog: (query: ExportAuditLogQuery = {}, options?: RequestOptions) =>
    call.response({ method: 'GET', path: '/v1/audit/export', query }, options),
  /**
   * Read the newest checkpoint, as a transparency log
   *
   * A signed note (C2SP tlog-tiles, tlog-checkpoint). Tiles are served up to its size.
   *
   * Needs a key of the live environment with `admin`, or the token of an auditor. Counts against its limit of `read` requests.
   */
  getTlogCheckpoint: (organization: string, options?: RequestOptions) =>
    call.response({ method: 'GET', path: path`/v1/audit/tlog/${organization}/checkpoint` }, options),
  /**
   * Read a tile of the audit log, as a transparency log
   *
   * Hashes of a level (`tile/<level>/<index>`) or leaves (`tile/entries/<index>`), whole or up to a width (`.p/<width>`), with the names of C2SP tlog-tiles. The contents of a tile never change.
   *
   * Needs a key of the live environment with `admin`, or the token of an auditor. Counts against its limit of `read` requests.
   */
  getTlogTile: (organization: string, tile: string, options?: RequestOptions) =>
    call.response({ method: 'GET', path: path`/v1/audit/tlog/${organization}/tile/${tile}` }, options),
  /**
   * Report what happened to an API key
   *
   * For readers who do not know this service: who did what, when, from where and with which secret, in sentences, with proofs that each event is in the signed log. The PDF contains the proofs as an attachment.
   *
   * Needs a key of the live environment with `admin`, or the token of an auditor. Counts against its limit of `read` requests.
   */
  getKeyReport: (id: string, query: GetKeyReportQuery = {}, options?: RequestOptions) =>
    call.json<AuditReport>({ method: 'GET', path: path`/v1/audit/reports/api-keys/${id}`, query }, options),
  /**
   * Report what happened to a message
   *
   * For readers who do not know this service: who did what, when, from where and with which secret, in sentences, with proofs that each event is in the signed log. The PDF contains the proofs as an attachment. While its contents are stored, it shows addresses and the subject, and reading it is recorded.
   *
   * Needs a key of the live environment with `admin`, or the token of an auditor. Counts against its limit of `read` requests.
   */
  getMessageReport: (id: string, query: GetMessageReportQuery = {}, options?: RequestOptions) =>
    call.json<AuditReport>({ method: 'GET', path: path`/v1/audit/reports/messages/${id}`, query }, options),
  /**
   * Add an auditor, whose token reads the audit log
   *
   * The token is shown only once. It is a bearer token for reading the audit endpoints only, from the networks
   * that are allowed for the requesting key. Exports by an auditor are recorded under `auditor:<id>`. An organization has
   * at most 100 auditors.
   *
   * Needs a key of the live environment with `admin`. Counts against its limit of `manage` requests.
   */
  addAuditor: (body: AddAuditorRequest, options?: RequestOptions) =>
    call.json<AddedAuditor>({ method: 'POST', path: '/v1/audit/auditors', body }, options),
  /**
   * List auditors, newest first
   *
   * Needs a key of the live environment with `admin`. Counts against its limit of `read` requests.
   */
  listAuditors: (options?: RequestOptions) =>
    call.list<Auditor, ListAuditorsAnswer>({ method: 'GET', path: '/v1/audit/auditors' }, options),
  /**
   * Read an auditor
   *
   * Needs a key of the live environment with `admin`. Counts against its limit of `read` requests.
   */
  getAuditor: (id: string, options?: RequestOptions) =>
    call.json<Auditor>({ method: 'GET', path: path`/v1/audit/auditors/${id}` }, options),
  /**
   * Remove an auditor
   *
   * Their token stops working within a second. The record of what they read is kept.
   *
   * Needs a key of the live environment with `admin`. Counts against its limit of `manage` requests.
   */
  removeAuditor: (id: string, options?: ChangeOptions) =>
    call.json<void>({ method: 'DELETE', path: path`/v1/audit/auditors/${id}` }, options),
});

/** Operations on `/v1/erasures`. */
export const erasures = (call: Call) => ({
  /**
   * Erase what is stored about an address
   *
   * Removes the data stored about an address, in both environments: messages to it with all of their contents, once they have
   * ended for all of their recipients; replies of mail servers, clicked links, notes and evidence of suppressions, responses of
   * webhooks, captured mail, and the contact of the organization and of its auditors. Mail to it that has not been sent is
   * cancelled. Ids, digests, recipient domains, times, codes and counts stay, and so do suppressions, by digest. The erasure
   * runs in the background: `erasure.completed` is sent at the end. While an erasure of the address is running, further
   * requests return it.
   *
   * Needs a key of the live environment with `admin`. Counts against its limit of `manage` requests.
   */
  request: (body: RequestErasureRequest, options?: RequestOptions) =>
    call.json<Erasure>({ method: 'POST', path: '/v1/erasures', body }, options),
  /**
   * List erasures, newest first
   *
   * Needs a key with `admin`. Counts against its limit of `read` requests.
   */
  list: (query: ListErasuresQuery = {}, options?: RequestOptions) =>
    call.list<Erasure, ListErasuresAnswer>({ method: 'GET', path: '/v1/erasures', query }, options),
  /**
   * Count what an erasure would remove
   *
   * Changes nothing. At most the newest thousand messages are counted.
   *
   * Needs a key of the live environment with `admin`. Counts against its limit of `manage` requests.
   */
  preview: (body: PreviewErasureRequest, options?: RequestOptions) =>
    call.json<PreviewErasureAnswer>({ method: 'POST', path: '/v1/erasures/preview', body, changesNothing: true }, options),
  /**
   * Read an erasure, its progress and its certificate
   *
   * Needs a key with `admin`. Counts against its limit of `read` requests.
   */
  get: (id: string, options?: RequestOptions) =>
    call.json<Erasure>({ method: 'GET', path: path`/v1/erasures/${id}` }, options),
});

/** Operations on `/v1/organization`. */
export const organization = (call: Call) => ({
  /**
   * Read the key's organization
   *
   * Needs a key with `admin`. Counts against its limit of `read` requests.
   */
  get: (options?: RequestOptions) =>
    call.json<GetOrganizationAnswer>({ method: 'GET', path: '/v1/organization' }, options),
  /**
   * Change the settings of the organization
   *
   * Absent fields stay unchanged. Rate limit ceilings are set by the operator of the service.
   *
   * Needs a key of the live environment with `admin`. Counts against its limit of `manage` requests.
   */
  update: (body: UpdateOrganizationRequest = {}, options?: ChangeOptions) =>
    call.json<UpdateOrganizationAnswer>({ method: 'PATCH', path: '/v1/organization', body }, options),
  /**
   * Read the bounce and complaint rates of the organization’s bulk mail and their effect
   *
   * The same rules as for a domain, applied to all domains together. An organization is evaluated once more than one of its domains has sent bulk mail.
   *
   * Needs a key with `manage`. Counts against its limit of `read` requests.
   */
  getReputation: (options?: RequestOptions) =>
    call.json<GetOrganizationReputationAnswer>({ method: 'GET', path: '/v1/organization/reputation' }, options),
  /**
   * Begin or end a legal hold
   *
   * While it is active, no contents of the organization are removed: retention is suspended, and erasures are `held`. Its start and end are recorded.
   *
   * Needs a key of the live environment with `admin`. Counts against its limit of `manage` requests.
   */
  setLegalHold: (body: SetLegalHoldRequest, options?: ChangeOptions) =>
    call.json<SetLegalHoldAnswer>({ method: 'PUT', path: '/v1/organization/holds', body }, options),
  /**
   * Choose which roles may see contents of mail
   *
   * Analysts and auditors cannot see addresses, subjects and bodies of mail unless an owner allows it here. The change applies to open sessions and event streams within a second. Only owners can make it, not API keys, and it is recorded.
   *
   * Needs a key of the live environment with `admin`. Counts against its limit of `manage` requests.
   */
  setContentsRoles: (body: SetContentsRolesRequest, options?: ChangeOptions) =>
    call.json<SetContentsRolesAnswer>({ method: 'PUT', path: '/v1/organization/contents', body }, options),
  /**
   * Release bulk mail that was slowed down or paused by the organization’s rates
   *
   * Restarts the count of bounces and complaints of the organization. A domain restricted by its own rates has its own release.
   *
   * Needs a key of the live environment with `admin`. Counts against its limit of `manage` requests.
   */
  releaseSending: (options?: RequestOptions) =>
    call.json<ReleaseOrganizationSendingAnswer>({ method: 'POST', path: '/v1/organization/release' }, options),
  /**
   * Pause all bulk mail of the organization, or resume it
   *
   * While paused, live bulk mail of all domains is accepted and waits; it expires at the end of its time to live. Messages in flight are not stopped, and transactional mail is never held. After resuming, mail is sent as after a release. Both actions are recorded.
   *
   * Needs a key of the live environment with `admin`. Counts against its limit of `manage` requests.
   */
  pauseBulkMail: (body: PauseBulkMailRequest, options?: RequestOptions) =>
    call.json<PauseBulkMailAnswer>({ method: 'PUT', path: '/v1/organization/bulk-mail', body }, options),
});

/** Operations on `/v1/session`. */
export const session = (call: Call) => ({
  /**
   * Read the current session or key
   *
   * Returns the owner and the permissions of the key or session that sends the request. Any key may use it.
   *
   * Needs a key with any permission. Counts against its limit of `read` requests.
   */
  get: (options?: RequestOptions) =>
    call.json<Session>({ method: 'GET', path: '/v1/session' }, options),
});

/** Operations on `/v1/members`. */
export const members = (call: Call) => ({
  /**
   * Invite a person to the dashboard
   *
   * `owner`: everything. `developer`: `send`, `read` and `manage`. `analyst`: `read`, without addresses,
   * subjects and bodies of mail. `auditor`: reads everything but these, and changes nothing. Owners may allow either to see them:
   * `PUT /v1/organization/contents`. The response contains the link that accepts the invitation. It works once, for 7 days, and is shown only here. If this service sends mail, the link is also mailed to the person (`link.mailed`). To renew the invitation, make another link (`POST /v1/members/:id/links`). To withdraw it, remove the member (`DELETE /v1/members/:id`). An organization has at most 200 members.
   *
   * Needs a key of the live environment with `admin`. Counts against its limit of `manage` requests.
   */
  invite: (body: InviteMemberRequest, options?: RequestOptions) =>
    call.json<InvitedMember>({ method: 'POST', path: '/v1/members', body }, options),
  /**
   * List members, the longest known first
   *
   * Needs a key of the live environment with `admin`. Counts against its limit of `read` requests.
   */
  list: (options?: RequestOptions) =>
    call.list<Member, ListMembersAnswer>({ method: 'GET', path: '/v1/members' }, options),
  /**
   * Read a member
   *
   * Needs a key of the live environment with `admin`. Counts against its limit of `read` requests.
   */
  get: (id: string, options?: RequestOptions) =>
    call.json<Member>({ method: 'GET', path: path`/v1/members/${id}` }, options),
  /**
   * Give a member another role
   *
   * `owner`: everything. `developer`: `send`, `read` and `manage`. `analyst`: `read`, without addresses,
   * subjects and bodies of mail. `auditor`: reads everything but these, and changes nothing. Owners may allow either to see them:
   * `PUT /v1/organization/contents`. The change applies to open sessions within a second. The last owner who has signed in cannot lose the role.
   *
   * Needs a key of the live environment with `admin`. Counts against its limit of `manage` requests.
   */
  change: (id: string, body: ChangeMemberRequest, options?: RequestOptions) =>
    call.json<Member>({ method: 'PATCH', path: path`/v1/members/${id}`, body }, options),
  /**
   * Remove a member
   *
   * Their sessions end within a second. Their actions stay on record. If they have not joined yet, this withdraws the invitation: its links stop working.
   *
   * Needs a key of the live environment with `admin`. Counts against its limit of `manage` requests.
   */
  remove: (id: string, options?: RequestOptions) =>
    call.json<void>({ method: 'DELETE', path: path`/v1/members/${id}` }, options),
  /**
   * Make another link for a member
   *
   * The link works once, for 15 minutes, and is shown only here. For a member who has not joined yet, it renews the invitation: the link works for 7 days and is mailed like the first one. Earlier links keep working. At most 5 are valid at once; another link revokes the oldest.
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
   * Use it for a lost device. The passkey can no longer sign in; end the open sessions of the member as well.
   *
   * Needs a key of the live environment with `admin`. Counts against its limit of `manage` requests.
   */
  removePasskey: (id: string, passkey: string, options?: RequestOptions) =>
    call.json<void>({ method: 'DELETE', path: path`/v1/members/${id}/passkeys/${passkey}` }, options),
});

/** Operations on `/v1/sessions`. */
export const sessions = (call: Call) => ({
  /**
   * List open sessions of members, newest first
   *
   * Needs a key of the live environment with `admin`. Counts against its limit of `read` requests.
   */
  list: (options?: RequestOptions) =>
    call.list<MemberSession, ListMemberSessionsAnswer>({ method: 'GET', path: '/v1/sessions' }, options),
  /**
   * Read an open session
   *
   * Needs a key of the live environment with `admin`. Counts against its limit of `read` requests.
   */
  get: (id: string, options?: RequestOptions) =>
    call.json<MemberSession>({ method: 'GET', path: path`/v1/sessions/${id}` }, options),
  /**
   * End a session
   *
   * The browser is signed out within a second.
   *
   * Needs a key of the live environment with `admin`. Counts against its limit of `manage` requests.
   */
  end: (id: string, options?: RequestOptions) =>
    call.json<void>({ method: 'DELETE', path: path`/v1/sessions/${id}` }, options),
});

/** Operations on `/v1/inbox`. */
export const inbox = (call: Call) => ({
  /**
   * List captured mail, newest first
   *
   * Without contents: read a single mail for those.
   *
   * Needs a key with `admin`. Counts against its limit of `read` requests.
   */
  list: (query: ListInboxQuery = {}, options?: RequestOptions) =>
    call.list<ListedCapturedMail, ListInboxAnswer>({ method: 'GET', path: '/v1/inbox', query }, options),
  /**
   * Delete captured mail
   *
   * All of it, or the mail that the query selects.
   *
   * Needs a key with `admin`. Counts against its limit of `manage` requests.
   */
  delete: (query: DeleteInboxQuery = {}, options?: RequestOptions) =>
    call.json<void>({ method: 'DELETE', path: '/v1/inbox', query }, options),
  /**
   * Read a captured mail
   *
   * Headers, text and html are cut at 1 MB each. A mail that lets its recipient sign in (`confidential`) is shown only to an owner who has proved their presence.
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
   * Read the source of a captured mail
   *
   * Needs a key with `admin`. Counts against its limit of `read` requests.
   */
  getRawCapturedMail: (id: string, options?: RequestOptions) =>
    call.response({ method: 'GET', path: path`/v1/inbox/${id}/raw` }, options),
  /**
   * Read an attachment of a captured mail
   *
   * By its place in `attachments`, from 0.
   *
   * Needs a key with `admin`. Counts against its limit of `read` requests.
   */
  getCapturedAttachment: (id: string, place: string, options?: RequestOptions) =>
    call.response({ method: 'GET', path: path`/v1/inbox/${id}/attachments/${place}` }, options),
});

/** Operations on `/v1/destinations`. */
export const destinations = (call: Call) => ({
  /**
   * List suspended destinations, newest first
   *
   * A destination that does not answer or asks for less mail is suspended for a minute, then longer each time, up to half an hour. Its messages wait and expire at the end of their time to live; other destinations are not affected. Domains that wait because of their own DNS or policy are not listed: see `GET /v1/messages/{id}/explain`. If a destination has asked only senders of one organization for less mail, it is suspended for each of these sending domains separately and listed for their organization as `dom_…@google.com`.
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
   * Count what waits after a deferral, by recipient domain
   *
   * The organization's mail that was deferred and waits for its next attempt, with the newest reply of each recipient domain: among the newest 2000 deferrals. Mail that is due, scheduled or held is not counted.
   *
   * Needs a key with `admin`. Counts against its limit of `read` requests.
   */
  getBacklog: (options?: RequestOptions) =>
    call.json<DestinationBacklog>({ method: 'GET', path: '/v1/destinations/backlog' }, options),
  /**
   * End the suspension of a destination
   *
   * Due mail is sent within seconds; deferred mail keeps the time of its next attempt. If the problem persists, the destination is suspended again.
   *
   * Needs a key of the live environment with `admin`. Counts against its limit of `manage` requests.
   */
  release: (body: ReleaseDestinationRequest, options?: RequestOptions) =>
    call.json<ReleaseDestinationAnswer>({ method: 'POST', path: '/v1/destinations/release', body }, options),
});
