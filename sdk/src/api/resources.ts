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
   * Takes the body of a send, sends nothing and stores nothing. The same message gets the same answer:
   * nothing is looked up. A finding is an `error` where the message should not leave as it is, a `warning` where it will
   * suffer, an `info` where it is worth knowing; the verdict is `fail` with any error, `warn` with any warning.
   * The score begins at 100; each rule takes its points for every finding, up to its own maximum. Rules: version
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
   * separately, and the response is 202 even if all are rejected. It is not one transaction: after a 503 the same request with the same
   * `Idempotency-Key` completes it.
   *
   * Needs a key with `send`. Counts against its limit of `send` requests.
   */
  sendBatch: (body: SendBatch, options?: SendOptions) =>
    call.json<Batch>({ method: 'POST', path: '/v1/messages/batch', body, takesIdempotencyKey: true }, options),
  /**
   * List messages, newest first
   *
   * With `at`, those that had been accepted by then, in the state of then; a page may hold fewer than
   * its limit. `status` cannot be asked for then.
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
   * Earlier or later, at most 30 days ahead, until an attempt starts. The time to live stays as long as it was, counted from the new time.
   *
   * Needs a key with `send`. Counts against its limit of `send` requests.
   */
  reschedule: (id: string, body: RescheduleMessageRequest, options?: ChangeOptions) =>
    call.json<Message>({ method: 'PATCH', path: path`/v1/messages/${id}`, body }, options),
  /**
   * Read the content of a message
   *
   * It is kept for as long as the organization wants (`content_retention_days`), and then 410.
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
   * RFC 5322 with MIME, as a file. What each copy has of its own is not in it: DKIM signatures, tracking, managed unsubscribe links and `Feedback-ID`. `Bcc` recipients are in no copy. Reading it is put on record.
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
   * The whole history: the request, the key, the checks, every attempt with replies and transport security, waits with their reasons and ends, and each webhook attempt. `facts` holds the codes behind each sentence. Sentences are for people and may change; types and facts are stable. Addresses and reply texts are null once the content has expired. With `at`, what was known at that moment.
   *
   * Needs a key with `read`. Counts against its limit of `read` requests.
   */
  explain: (id: string, query: ExplainMessageQuery = {}, options?: RequestOptions) =>
    call.json<ExplainMessageAnswer>({ method: 'GET', path: path`/v1/messages/${id}/explain`, query }, options),
  /**
   * Cancel a message
   *
   * Recipients that are accepted, scheduled or deferred become `cancelled`. While the message is being sent the request is refused (409). Cancelling a cancelled message succeeds and changes nothing.
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
   * A new key has at most the networks and the lifetime of the key that creates it.
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
   * Changes and refused changes, also of a deleted key. Never its values.
   *
   * Needs a key with `manage`. Counts against its limit of `read` requests.
   */
  listHistory: (id: string, query: ListKeyHistoryQuery = {}, options?: RequestOptions) =>
    call.list<ApiKeyHistoryEntry, ListKeyHistoryAnswer>({ method: 'GET', path: path`/v1/api-keys/${id}/history`, query }, options),
  /**
   * List the values that an API key has had, newest first
   *
   * Who made each value, when it ended and why, and how much was sent with it; also of a deleted key. Never the values themselves. Counts stay when messages are erased. `GET /v1/messages?key_id=<id>&secret=<number>` lists the messages. With `at`, the values as they were then, and what was sent up to now.
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
   * Waiting messages of the domain stay as they are and fail when they become due. Cancel them first to end them at once.
   *
   * Needs a key of the live environment with `manage`. Counts against its limit of `manage` requests.
   */
  delete: (id: string, options?: ChangeOptions) =>
    call.json<void>({ method: 'DELETE', path: path`/v1/domains/${id}` }, options),
  /**
   * Check the DNS records of a domain now
   *
   * Asks the DNS without a cache and reports for each record what was found and what is wrong. A domain is verified once the `required` records are valid. If the DNS does not answer, nothing changes.
   *
   * Needs a key of the live environment with `manage`. Counts against its limit of `manage` requests.
   */
  verify: (id: string, options?: ChangeOptions) =>
    call.json<Domain>({ method: 'POST', path: path`/v1/domains/${id}/verify` }, options),
  /**
   * Rotate the DKIM keys of a domain
   *
   * The current keys sign until the new RSA record is seen in the DNS, by an automatic check or by `verify`. Keep the earlier records until `safe_to_remove_at`: mail in transit is verified with them. Rotating again before that replaces the waiting keys.
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
   * Restarts the count of bounces and complaints. Waiting mail leaves within seconds; a long backlog takes turns with other mail. Restrictions of the whole organization have their own release.
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
   * Fields that are absent stay as they are; `variables` and `locales` are replaced as a whole. What is published is sent as it was until the draft is published.
   *
   * Needs a key of the live environment with `manage`. Counts against its limit of `manage` requests.
   */
  change: (id: string, body: ChangeTemplateRequest = {}, options?: ChangeOptions) =>
    call.json<Template>({ method: 'PATCH', path: path`/v1/templates/${id}`, body }, options),
  /**
   * Delete a template
   *
   * Nothing new can be sent with it. Messages that were sent with it stay as they are.
   *
   * Needs a key of the live environment with `manage`. Counts against its limit of `manage` requests.
   */
  delete: (id: string, options?: ChangeOptions) =>
    call.json<void>({ method: 'DELETE', path: path`/v1/templates/${id}` }, options),
  /**
   * Publish the draft as the next version
   *
   * Every variable that a part uses must be declared and every declared one used; the template is rendered with the values of the examples, and must make valid HTML. A version never changes.
   *
   * Needs a key of the live environment with `manage`. Counts against its limit of `manage` requests.
   */
  publish: (id: string, options?: ChangeOptions) =>
    call.json<PublishedTemplateVersion>({ method: 'POST', path: path`/v1/templates/${id}/publish` }, options),
  /**
   * Send an earlier version again
   *
   * Sends that name no version use this one from now on. The draft stays as it is.
   *
   * Needs a key of the live environment with `manage`. Counts against its limit of `manage` requests.
   */
  rollBack: (id: string, body: RollBackTemplateRequest, options?: ChangeOptions) =>
    call.json<ListedTemplate>({ method: 'POST', path: path`/v1/templates/${id}/rollback`, body }, options),
  /**
   * List the versions of a template, newest first
   *
   * Also of a template that was deleted: messages name its versions.
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
   * Nothing is written.
   *
   * Needs a key with `manage`. Counts against its limit of `read` requests.
   */
  render: (id: string, body: RenderTemplateRequest = {}, options?: RequestOptions) =>
    call.json<RenderedTemplate>({ method: 'POST', path: path`/v1/templates/${id}/render`, body, changesNothing: true }, options),
  /**
   * Preview a template as a page
   *
   * The html of a message with the values of the examples, in a document of its own that runs, posts and loads nothing; links open a new window. Nothing is written.
   *
   * Needs a key with `manage`. Counts against its limit of `read` requests.
   */
  preview: (id: string, query: PreviewTemplateQuery = {}, options?: RequestOptions) =>
    call.response({ method: 'GET', path: path`/v1/templates/${id}/preview`, query }, options),
  /**
   * Send a template to those who try it
   *
   * The subject begins with `[Test]`. The message is delivered as any other, is not billed, and counts neither in statistics nor in warm-up quotas nor in sender reputation. It is from the sender of the template, or from `test@` the domain of the key.
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
   * Until the grace period ends, `webhook-signature` holds a signature by each, the new one first.
   *
   * Needs a key with `manage`. Counts against its limit of `manage` requests.
   */
  rotateSecret: (id: string, body: RotateWebhookSecretRequest = {}, options?: ChangeOptions) =>
    call.json<RotatedWebhook>({ method: 'POST', path: path`/v1/webhooks/${id}/rotate-secret`, body }, options),
  /**
   * Take over a webhook from the key that made it
   *
   * A webhook is paused when the key in `owned_by` expires or is bound to networks, and ends. A member, or a key without these bounds, adopts it: it goes on with the events that waited. Adopt the webhooks of a key before you revoke it, and nothing waits.
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
   * The filters look through at most 5,000 deliveries a page, so a page may be empty although `has_more` is true: go on with `next_cursor`.
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
   * Whether it was delivered, has failed or waits. It keeps the id of its event and its attempts. It is retried as often as is left of the schedule. Who asked for it is on record.
   *
   * Needs a key with `manage`. Counts against its limit of `manage` requests.
   */
  resendDelivery: (id: string, delivery: string, options?: RequestOptions) =>
    call.json<WebhookDelivery>({ method: 'POST', path: path`/v1/webhooks/${id}/deliveries/${delivery}/resend` }, options),
  /**
   * Post events of the past again
   *
   * Posts the events of that time that match the webhook’s current subscription and filters, at most 100 a second. They keep their ids; `webhook-replay` names the replay. A webhook has one replay at a time. It goes on after a restart, and waits while the webhook is disabled.
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
   * Read how far a replay is
   *
   * Needs a key with `manage`. Counts against its limit of `read` requests.
   */
  getReplay: (id: string, replay: string, options?: RequestOptions) =>
    call.json<WebhookReplay>({ method: 'GET', path: path`/v1/webhooks/${id}/replays/${replay}` }, options),
  /**
   * Cancel a replay
   *
   * Deliveries that were not tried yet are dropped; those that wait for a retry are not.
   *
   * Needs a key with `manage`. Counts against its limit of `manage` requests.
   */
  cancelReplay: (id: string, replay: string, options?: RequestOptions) =>
    call.json<void>({ method: 'DELETE', path: path`/v1/webhooks/${id}/replays/${replay}` }, options),
});

/** Operations on `/v1/suppressions`. */
export const suppressions = (call: Call) => ({
  /**
   * Put one address or several on the list
   *
   * One `address` is answered with its suppression, several `addresses` with what became of each. An address that is on
   * the list already stays there, and can be given another `expires_at`. Several are not one transaction: after a fault, send
   * the same again.
   *
   * Needs a key with `manage`. Counts against its limit of `manage` requests.
   */
  add: (body: AddSuppressionsRequest = {}, options?: RequestOptions) =>
    call.json<AddSuppressionsAnswer>({ method: 'POST', path: '/v1/suppressions', body }, options),
  /**
   * List suppressed addresses, newest first
   *
   * Those in force in the key's environment, the latest addition first; with `at`, the one that was last new first.
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
   * All that is in force, in no order, as CSV (RFC 4180) with the columns `address, scope, reason, expires_at, note, topic_id`: a row for each
   * reason. The import takes it as it is. A cell that a spreadsheet would take for a formula has an apostrophe in front.
   * Addresses that were erased are not in it. A key with only `send` or `read` gets what messages of its own domain have
   * caused. An answer that breaks off is not the whole list.
   *
   * Needs a key with `read`. Counts against its limit of `read` requests.
   */
  export: (options?: RequestOptions) =>
    call.response({ method: 'GET', path: '/v1/suppressions/export' }, options),
  /**
   * Suppress the addresses of a CSV file
   *
   * Takes what the export gives, and what spreadsheets make (RFC 4180; semicolons and tabs do as well as commas). A row that
   * cannot be taken is told by its line, and the others are taken. It is not one transaction: where no answer comes, or a 503,
   * some rows may be on the list; send the same again, and what is there already counts as unchanged.
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
   * It can be sent to again from now on, until something new happens. What spoke against it stays on record; adding the
   * address puts it back.
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
   * Name it in the field `topic` of a send. An organization has at most 100, of both environments.
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
   * For consent that they gave you elsewhere: in a shop, on paper. They get mail about a topic with `default: "out"` from now on. It takes back their own refusal of this topic; an unsubscription from all mail, bounces, complaints and entries of your own stay in force. They can opt out on the preference page, and you for them by a suppression with the scope `topic`: what was said last, by the order of the log, counts. Several are not one transaction: after a fault, send the same again.
   *
   * Needs a key with `manage`. Counts against its limit of `manage` requests.
   */
  optIn: (id: string, body: OptInRequest, options?: RequestOptions) =>
    call.json<TopicOptIns>({ method: 'POST', path: path`/v1/topics/${id}/opt-ins`, body }, options),
  /**
   * List who opted in to a topic, the latest first
   *
   * In the key’s environment, with the latest time each of them said so. Who has opted out since is not listed; something else can keep mail from an address that is, which `GET /v1/suppressions/check` tells. A key with only `send` or `read` sees who opted in by a link in a message of its own domain.
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
   * Fields that are absent stay as they are.
   *
   * Needs a key of the live environment with `manage`. Counts against its limit of `manage` requests.
   */
  update: (id: string, body: UpdateTopicRequest = {}, options?: ChangeOptions) =>
    call.json<Topic>({ method: 'PATCH', path: path`/v1/topics/${id}`, body }, options),
  /**
   * Delete a topic
   *
   * Nothing new can be sent about it, and recipients are not shown it any more. Messages that were accepted before are sent; what recipients said of it stays on record.
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
   * The feed has no gaps: events are in the order of the log, and a cursor is good for ever. Each event has an `id` that never
   * changes; one that is read again after a fault has the same `id`.
   *
   * The filters `message_id`, `tag`, `recipient_domain` and `billed_from` look through at most 1,000 events a page, so a page
   * may be empty although `has_more` is true: go on with `next_cursor`. `tag` and `recipient_domain` match nothing in messages
   * whose content has expired.
   *
   * With `Accept: text/event-stream` the same events come as server-sent events, each with its cursor as `id`: the stream begins
   * after `Last-Event-ID` or `after`, or without both with what happens from now on. Its first frame has the cursor it begins
   * at. A comment comes every 15 s. A reader that reads nothing for 60 s is disconnected. When the service ends a stream itself,
   * its last event is `end` with the `reason` and the `next_cursor` to go on from.
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
   * With `Accept: text/csv` or `Accept: application/x-ndjson` the buckets come as a table: a row, or a JSON object a
   * line, for each bucket and group, without totals. `compare=previous` counts the period before as well: as many whole
   * hours, days, weeks or months earlier, by the clocks of the time zone, as it takes for it to end when the period begins, or
   * before. At most 25 groups are shown, those with most recipients accepted; the others together are the group `(other)`.
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
   * Ids, addresses, `Message-ID`s, request ids, SMTP codes, recipient domains, words of subjects, tags,
   * and beginnings of names of API keys, domains, templates, topics and URLs of webhooks. At most 20 results, best
   * first. What the caller may not read is not found; who sees no contents of mail finds nothing by an address, a subject or a
   * tag. What was made in the last moment may be missing.
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
   * Requests that an API key or a member sent and that were answered 4xx, for seven days. Those over a rate limit, and those beyond what is recorded of one organization, are counted by the minute: `count` is above 1. Keys without `manage` or `admin` see those of their own domain.
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
   * It holds at once for quotas, and for the bill from the start of the day (UTC). The plan before is charged for its days.
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
   * Every event of the log as it is stored, of both environments. A filter that finds little answers a page with fewer entries than its limit, or none, and `has_more`: go on with the cursor.
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
   * By the `event_id` of an audit entry, or by the id of a customer event, `evt_…`, as `GET /v1/events` and webhooks show it. With `Accept: text/plain` it comes as a C2SP tlog-proof. An event that no checkpoint is about yet is answered 409: ask again within a minute, or sign a checkpoint.
   *
   * Needs a key of the live environment with `admin`, or the token of an auditor. Counts against its limit of `read` requests.
   */
  getProof: (id: string, options?: RequestOptions) =>
    call.json<AuditProof>({ method: 'GET', path: path`/v1/audit/proof/${id}` }, options),
  /**
   * Disclose the content that an event is bound to
   *
   * By the `event_id` of an audit entry, or by the id of a customer event, `evt_…`. The hashes of the parts make the `content_root` of the event, and each part can be shown alone. What was removed is a hash. Each disclosure is on record as `DataRead`.
   *
   * Needs a key of the live environment with `admin`, or the token of an auditor. Counts against its limit of `read` requests.
   */
  getDisclosure: (id: string, options?: RequestOptions) =>
    call.json<AuditDisclosure>({ method: 'GET', path: path`/v1/audit/disclosures/${id}` }, options),
  /**
   * Prove that the log was only added to
   *
   * Between two sizes, such as those of two checkpoints. Default of `to`: the size of the newest checkpoint.
   *
   * Needs a key of the live environment with `admin`, or the token of an auditor. Counts against its limit of `read` requests.
   */
  getConsistencyProof: (query: GetConsistencyProofQuery, options?: RequestOptions) =>
    call.json<AuditConsistency>({ method: 'GET', path: '/v1/audit/consistency', query }, options),
  /**
   * Export the log for an auditor
   *
   * JSON Lines, compressed with gzip where the client takes it: a header, each event as a line of its leaf, behind each 256
   * their hashes, and at the end the newest signed checkpoint. `npm run outbox -- audit verify` checks it without the
   * service. An answer that breaks off has no checkpoint. Each export is an event of the log itself.
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
   * Hashes of a level (`tile/<level>/<index>`) or leaves (`tile/entries/<index>`), whole or up to a width (`.p/<width>`), as C2SP tlog-tiles names them. What a tile holds never changes.
   *
   * Needs a key of the live environment with `admin`, or the token of an auditor. Counts against its limit of `read` requests.
   */
  getTlogTile: (organization: string, tile: string, options?: RequestOptions) =>
    call.response({ method: 'GET', path: path`/v1/audit/tlog/${organization}/tile/${tile}` }, options),
  /**
   * Report what happened to an API key
   *
   * For people who have never seen this service: who did what, when, from where and with which secret, in sentences; with the proofs that it is in the signed log, which the PDF has as an attachment.
   *
   * Needs a key of the live environment with `admin`, or the token of an auditor. Counts against its limit of `read` requests.
   */
  getKeyReport: (id: string, query: GetKeyReportQuery = {}, options?: RequestOptions) =>
    call.json<AuditReport>({ method: 'GET', path: path`/v1/audit/reports/api-keys/${id}`, query }, options),
  /**
   * Report what happened to a message
   *
   * For people who have never seen this service: who did what, when, from where and with which secret, in sentences; with the proofs that it is in the signed log, which the PDF has as an attachment. While its contents are kept it shows addresses and the subject, and that it was read is on record.
   *
   * Needs a key of the live environment with `admin`, or the token of an auditor. Counts against its limit of `read` requests.
   */
  getMessageReport: (id: string, query: GetMessageReportQuery = {}, options?: RequestOptions) =>
    call.json<AuditReport>({ method: 'GET', path: path`/v1/audit/reports/messages/${id}`, query }, options),
  /**
   * Give an auditor a token that reads the audit log
   *
   * The token is shown only once. It is a bearer token that reads the audit endpoints and nothing else, from the networks
   * that the requesting key may be used from. What an auditor exports is on record under `auditor:<id>`. An organization has
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
   * Their token ends within a second. What they read stays on record.
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
   * Removes what is stored about an address, in both environments: messages to it with all of their contents, once they have
   * ended for all of their recipients; replies of mail servers, clicked links, notes and evidence of suppressions, answers of
   * webhooks, captured mail, and the contact of the organization and of its auditors. What has not been sent to it is cancelled. Ids, digests, recipient domains, times, codes and
   * counts stay, and so do suppressions, by digest. It takes some time: `erasure.completed` says when it is done. While an
   * erasure of the address runs, it is the answer to further requests.
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
   * Changes nothing. Of very many messages the newest thousand are counted.
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
   * While it is active no contents of the organization are removed: the retention waits, and erasures are `held`. Its beginning and end are on record.
   *
   * Needs a key of the live environment with `admin`. Counts against its limit of `manage` requests.
   */
  setLegalHold: (body: SetLegalHoldRequest, options?: ChangeOptions) =>
    call.json<SetLegalHoldAnswer>({ method: 'PUT', path: '/v1/organization/holds', body }, options),
  /**
   * Say which roles see contents of mail
   *
   * Analysts and auditors see no addresses, subjects and bodies of mail unless an owner allows it here. It holds for open sessions and streams of events within a second. Owners alone can do this, not API keys; it is on record.
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
   * While it is paused, live bulk mail of all domains is accepted and waits; it expires at the end of its time to live. What is being sent at that moment is not stopped. Transactional mail is never held. Resumed, it leaves as after a release. Both are on record.
   *
   * Needs a key of the live environment with `admin`. Counts against its limit of `manage` requests.
   */
  pauseBulkMail: (body: PauseBulkMailRequest, options?: RequestOptions) =>
    call.json<PauseBulkMailAnswer>({ method: 'PUT', path: '/v1/organization/bulk-mail', body }, options),
});

/** Operations on `/v1/session`. */
export const session = (call: Call) => ({
  /**
   * Read who asks
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
   * `PUT /v1/organization/contents`. The answer has the link that accepts the invitation. It works once, for 7 days, and is shown only here. Where mail leaves this machine, the link is also mailed to the person (`link.mailed`). To renew the invitation, make another link (`POST /v1/members/:id/links`). To withdraw it, remove the member (`DELETE /v1/members/:id`). An organization has at most 200 members.
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
   * `PUT /v1/organization/contents`. It holds for open sessions within a second. The last owner who has signed in stays one.
   *
   * Needs a key of the live environment with `admin`. Counts against its limit of `manage` requests.
   */
  change: (id: string, body: ChangeMemberRequest, options?: RequestOptions) =>
    call.json<Member>({ method: 'PATCH', path: path`/v1/members/${id}`, body }, options),
  /**
   * Remove a member
   *
   * Their sessions end within a second. What they did stays on record. If they have not joined yet, this withdraws the invitation: its links stop working.
   *
   * Needs a key of the live environment with `admin`. Counts against its limit of `manage` requests.
   */
  remove: (id: string, options?: RequestOptions) =>
    call.json<void>({ method: 'DELETE', path: path`/v1/members/${id}` }, options),
  /**
   * Make another link for a member
   *
   * It works once, for 15 minutes, and is shown only here. For a member who has not joined yet it renews the invitation: the link works for 7 days, and is mailed as the first one was. Earlier links keep working; at most 5 do at once, and one more ends the oldest.
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
   * A destination that does not answer or asks for less mail is suspended for a minute, then longer each time, up to half an hour. Its messages wait and expire at the end of their time to live; other destinations are not affected. Domains that wait because of their own DNS or policy are not listed: see `GET /v1/messages/{id}/explain`. A destination that has asked senders of one organization alone for less mail is suspended for each of these sending domains separately, and listed for their organization as `dom_…@google.com`.
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
