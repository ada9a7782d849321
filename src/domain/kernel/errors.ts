/**
 * Every error code of the API with its meaning and remedy. `http/errors.ts` assigns the statuses, and a
 * test provokes each error. The OpenAPI document and `docs/errors.md` are generated from this catalogue.
 */
export const ERROR_CATALOGUE = {
  invalid_request: {
    meaning: 'The request has missing, malformed or unknown fields or parameters.',
    remedy: 'Correct the fields that `details` names.',
  },
  invalid_json: {
    meaning: 'The body is not valid JSON in UTF-8, or has a field `__proto__`.',
    remedy: 'Send valid JSON in UTF-8.',
  },
  invalid_cursor: {
    meaning: '`after` is not a cursor of this list.',
    remedy: 'Pass the `next_cursor` of the previous page unchanged, with the same filters.',
  },
  invalid_html: {
    meaning: 'The HTML of the message is not valid. The rest of the request is valid.',
    remedy: 'Correct the HTML at the line and column that `details.html` names.',
  },
  header_not_allowed: {
    meaning: 'The request has a header that this endpoint does not accept, such as `Idempotency-Key`.',
    remedy: 'Remove the header.',
  },
  unauthorized: {
    meaning: 'The API key is missing or malformed, or it is unknown, expired, revoked or deleted.',
    remedy: 'Send `Authorization: Bearer <API key>` with a working key.',
  },
  cross_site_request: {
    meaning: 'The request has a session cookie, but was not sent by a page of this service.',
    remedy: 'Use the dashboard, or send an API key instead of the cookie.',
  },
  permission_missing: {
    meaning: 'Your key or role lacks the permission that the endpoint requires.',
    remedy: 'Use a key with the permission that the message names. Members: ask an owner for another role.',
  },
  presence_required: {
    meaning: 'The action requires a recent sign-in, and you last confirmed your presence more than 10 minutes ago.',
    remedy: 'Confirm it with a passkey or a new link at `POST /v1/session/presence`, then repeat the request.',
  },
  wider_than_own_key: {
    meaning:
      'The request would create, change or rotate a key with more rights than the key that sends the request, or let a webhook outlive that key.',
    remedy: 'Stay within the limits that `details` names, or use a key with more rights.',
  },
  environment_not_allowed: {
    meaning: 'The request was sent with a test key, but requires a live key.',
    remedy: 'Use a live key (`ob_live_…`).',
  },
  address_not_allowed: {
    meaning: 'The request came from an address outside `allowed_cidrs` of the key.',
    remedy: 'Send the request from an allowed network, or change `allowed_cidrs` of the key.',
  },
  from_domain_mismatch: {
    meaning: 'The sender (`from`, `Resent-From` or `Resent-Sender`) is not on the domain that the key is bound to.',
    remedy: 'Use a sender on the domain of the key, or a key of the other domain.',
  },
  organization_suspended: {
    meaning:
      'The operator of the service has suspended your organization, so it cannot send mail. Reading, cancelling and managing still work.',
    remedy: 'Ask the operator to resume your organization. The message names their reason.',
  },
  other_organization: {
    meaning: 'The resource belongs to another organization.',
    remedy: 'Use an id from your own organization.',
  },
  not_found: {
    meaning: 'The path or the resource does not exist, or your key may not see it.',
    remedy: 'Check the path and the id. For a misspelled path the message suggests the nearest one.',
  },
  content_gone: {
    meaning:
      'The content of the message is no longer stored: it was erased, or its retention has ended. Or it contains a sign-in link, which is never shown. Or the link to an attachment has expired.',
    remedy:
      'Removed content cannot be restored. Ask the recipient, who may still have the mail. Get a new link to an attachment with `GET /v1/inbound/{id}`.',
  },
  link_suspended: {
    meaning: 'The sender of this mail is suspended, so its tracked links and browser view do not work.',
    remedy: 'Ask the operator of the service to resume the sender. Unsubscribe links still work.',
  },
  not_signed_yet: {
    meaning: 'The event is not covered by a signed checkpoint yet.',
    remedy: 'Repeat the request after `Retry-After`, or sign a checkpoint now with `POST /v1/audit/checkpoints`.',
  },
  signing_stopped: {
    meaning:
      'The log does not match what was signed before: it was restored from an older copy, or changed. Until this is resolved, no checkpoints are signed, and no report shows a changed event.',
    remedy: 'Tell the operator of the service, who can reopen the log once the reason is known.',
  },
  method_not_allowed: {
    meaning: 'The path exists, but does not support this method.',
    remedy: 'Use a method that the `Allow` header names.',
  },
  domain_already_exists: {
    meaning: 'Your organization already has this domain, or another organization has verified it.',
    remedy: 'Use the existing domain, or add another one.',
  },
  domain_is_public_suffix: {
    meaning: 'The name is a public suffix such as `com` or `co.uk`, which no organization can own.',
    remedy: 'Add a domain that you own, such as `example.co.uk`.',
  },
  key_not_active: {
    meaning: 'The API key that you want to change is revoked or expired, or its domain was deleted.',
    remedy: 'Set a new `expires_at` for an expired key. Create a new key instead of a revoked one.',
  },
  too_many_live_secrets: {
    meaning: 'Two earlier secrets of the key or webhook still work, which is the maximum.',
    remedy:
      'Wait until one of them expires, or rotate with `grace_period_minutes: 0`. For a key you can also send `revoke_previous: true`.',
  },
  webhook_disabled: {
    meaning: 'The webhook is disabled or paused, so nothing can be posted to it.',
    remedy:
      'Enable a disabled webhook with `PATCH /v1/webhooks/:id` and `enabled: true`, or adopt a paused one with `POST /v1/webhooks/:id/adopt`. Then repeat the request.',
  },
  last_admin_key: {
    meaning: 'The change would leave your organization without a working `admin` key.',
    remedy: 'Create another `admin` key first.',
  },
  message_being_sent: {
    meaning: 'The message is being sent at this moment.',
    remedy: 'Wait for the outcome of the attempt. Mail in transit cannot be cancelled.',
  },
  message_ended: {
    meaning: 'The message has ended for all of its recipients, so it cannot be changed.',
    remedy: 'Send a new message.',
  },
  nothing_to_resend: {
    meaning: 'No recipient of the message, or none that you named, has bounced, failed, expired or been suppressed.',
    remedy: 'Wait for the outcome, or send a new message. `details` names the recipients that cannot be sent to again.',
  },
  recipient_suppressed: {
    meaning: 'A recipient is suppressed, so the message cannot be sent to it again.',
    remedy:
      'If the address works again, remove the suppression with `DELETE /v1/suppressions/:id`. Otherwise send to the other recipients with `skip_suppressed: true`.',
  },
  content_removed: {
    meaning:
      'The content of the message is no longer stored, so it cannot be sent again: it was erased, or its retention has ended. Or it contains a sign-in link, which is sent only once.',
    remedy: 'Send a new message with its own content, or request a new sign-in link.',
  },
  message_not_scheduled: {
    meaning: 'The message is not waiting for a scheduled time.',
    remedy: 'You can reschedule only messages with the status `scheduled`. Cancel other messages.',
  },
  template_invalid: {
    meaning: 'The draft of the template has errors and cannot be published.',
    remedy: 'Correct the errors that `details` lists by field, line and column, then publish again.',
  },
  template_not_published: {
    meaning: 'The template or the version does not exist, or the template is not published.',
    remedy: 'Publish the template, or use a template and a version that exist.',
  },
  template_variables_invalid: {
    meaning: 'Values of template variables are missing, have the wrong type, or cannot be rendered.',
    remedy: 'Correct the variables that `details` names.',
  },
  resource_conflict: {
    meaning: 'Another request changed the resource at the same time.',
    remedy: 'Read the resource again, then retry.',
  },
  precondition_failed: {
    meaning: 'The resource has changed: `If-Match` does not match its `ETag`.',
    remedy: 'Read the resource again and send its current `ETag` as `If-Match`.',
  },
  body_too_large: {
    meaning: 'The body, or the encoded message, exceeds the size limit.',
    remedy: 'Send a smaller body, for example with links instead of attachments.',
  },
  unsupported_media_type: {
    meaning: 'The endpoint does not support this `Content-Type`, or the body is compressed.',
    remedy: 'Send uncompressed JSON with `Content-Type: application/json`. (Unsubscribe pages accept a form.)',
  },
  domain_not_verified: {
    meaning: 'The domain of the key is not verified, so it cannot send live mail.',
    remedy: 'Publish the DNS records that `GET /v1/domains/{id}` lists, then call `POST /v1/domains/{id}/verify`.',
  },
  too_many_topics: {
    meaning: 'Your organization has reached the maximum number of topics.',
    remedy: 'Delete topics that you no longer use.',
  },
  too_many_inbound_routes: {
    meaning: 'The domain has reached the maximum number of inbound routes.',
    remedy: 'Delete routes that you no longer use, or use one route with a `*` for several addresses.',
  },
  too_many_webhooks: {
    meaning: 'Your organization has reached its maximum number of webhooks.',
    remedy: 'Delete webhooks that you no longer need, or ask the operator of the service for a higher limit.',
  },
  last_owner: {
    meaning: 'The change would leave your organization without an owner who has signed in.',
    remedy: 'Make another member an owner first, and ask them to sign in.',
  },
  member_already_exists: {
    meaning: 'A member of your organization already has this address.',
    remedy: 'Create a new sign-in link for this member, or change their role.',
  },
  too_many_members: {
    meaning: 'Your organization has reached the maximum number of members.',
    remedy: 'Remove members who no longer need the dashboard.',
  },
  sign_in_link_invalid: {
    meaning: 'The sign-in link was already used, has expired, was replaced, or never existed.',
    remedy: 'Request a new link on the sign-in page, ask an owner for one, or print one with `outbox members link`.',
  },
  passkey_invalid: {
    meaning:
      'The passkey is unknown or was removed, its response was already used or came too late, or the device did not verify you.',
    remedy: 'Try again, use another passkey, or sign in with a link.',
  },
  oidc_invalid: {
    meaning:
      'The sign-in at the identity provider was already used, took longer than ten minutes, was started in another browser, or was not confirmed by the provider.',
    remedy: 'Start again on the sign-in page, or sign in with a link or a passkey.',
  },
  oidc_address_unverified: {
    meaning: 'The identity provider has not verified your email address (`email_verified`).',
    remedy: 'Verify the address at the identity provider, or sign in with a link or a passkey.',
  },
  oidc_no_member: {
    meaning:
      'The address that the identity provider verified belongs to no member or to members of several organizations, or the membership or invitation has ended.',
    remedy: 'Ask an owner for an invitation, or sign in at the provider again and choose an organization.',
  },
  too_many_passkeys: {
    meaning: 'You have reached the maximum number of passkeys.',
    remedy: 'Remove passkeys of devices that you no longer use.',
  },
  too_many_auditors: {
    meaning: 'Your organization has reached the maximum number of auditors.',
    remedy: 'Remove auditors who no longer need their token.',
  },
  topic_not_usable: {
    meaning: 'The `topic` of the message was deleted, or belongs to another domain.',
    remedy: 'Use a topic from `GET /v1/topics` whose `domain_id` is null or the domain of the key.',
  },
  schedule_not_possible: {
    meaning: '`scheduled_at` is in the past, or more than 30 days ahead.',
    remedy: 'Choose a time within the next 30 days.',
  },
  quota_exceeded: {
    meaning: 'The plan of your organization allows no more recipients this month.',
    remedy: 'Choose another plan with `PUT /v1/billing/plan`, or wait until the month (UTC) ends.',
  },
  plan_not_offered: {
    meaning: 'The plan does not exist, or organizations cannot choose it.',
    remedy: 'Choose a plan that `GET /v1/billing/plans` lists.',
  },
  batch_exceeds_limit: {
    meaning: 'The request has more messages than the key may send or cancel per minute.',
    remedy:
      'Send or cancel fewer messages per request. Each message sent, and every 25 messages cancelled, use one request of the limit `send`.',
  },
  analysis_failed: {
    meaning:
      'The message was rejected because its analysis found errors, and the request or your organization has `analysis: "block"`.',
    remedy: 'Correct the findings in `details`, or send the message with `analysis: "warn"`.',
  },
  idempotency_key_reused: {
    meaning: 'The `Idempotency-Key` was already used with another body.',
    remedy: 'Use a new `Idempotency-Key` for each new request.',
  },
  rate_limit_exceeded: {
    meaning:
      'The key has sent more requests per minute than its limit for this kind of request, or has too many requests in progress.',
    remedy: 'Wait `retry_after` seconds, then retry.',
  },
  unavailable: {
    meaning: 'The service is overloaded, or a part that it needs does not answer.',
    remedy: 'Retry after `Retry-After` seconds, with the same `Idempotency-Key`.',
  },
  internal_error: {
    meaning: 'The service failed. Its log contains the error under the request id.',
    remedy: 'Retry with the same `Idempotency-Key`. If it fails again, report the request id to the operator.',
  },
} as const satisfies Readonly<Record<string, { readonly meaning: string; readonly remedy: string }>>;

export type ErrorCode = keyof typeof ERROR_CATALOGUE;

/** Problems by field name: `{ to: ['to is required'] }`. */
export type Details = Readonly<Record<string, readonly string[]>>;

/**
 * The error for a command that was understood and refused. `code` is from the catalogue. Decisions throw no other
 * exception.
 */
export class DomainError extends Error {
  override readonly name = 'DomainError';
  readonly code: ErrorCode;
  readonly details: Details | undefined;
  readonly retryAfterSeconds: number | undefined;
  constructor(code: ErrorCode, message: string, more: { details?: Details; retryAfterSeconds?: number } = {}) {
    super(message);
    this.code = code;
    this.details = more.details;
    this.retryAfterSeconds = more.retryAfterSeconds;
  }
}
