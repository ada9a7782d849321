/**
 * Every error code of the API with its meaning and remedy. `http/errors.ts` assigns the statuses, and a
 * test provokes each error. The OpenAPI document and `docs/errors.md` are generated from this catalogue.
 */
export const ERROR_CATALOGUE = {
  invalid_request: {
    meaning: 'Fields or parameters are missing, malformed, of the wrong type or unknown.',
    remedy: 'Correct the fields named in `details`.',
  },
  invalid_json: {
    meaning: 'The body is not well-formed JSON in UTF-8, or has a field `__proto__`.',
    remedy: 'Send well-formed JSON in UTF-8.',
  },
  invalid_cursor: {
    meaning: '`after` is not a cursor of this list.',
    remedy: 'Pass the `next_cursor` of the previous page unchanged, with the same filters.',
  },
  invalid_html: {
    meaning: 'The HTML of the message is invalid; the rest of the request is valid.',
    remedy: 'Correct the HTML at the line and column given in `details.html`.',
  },
  header_not_allowed: {
    meaning: 'The request has a header that this endpoint does not accept.',
    remedy: 'Remove the header.',
  },
  unauthorized: {
    meaning: 'The `Authorization: Bearer` header is missing, or its API key is not valid.',
    remedy: 'Send `Authorization: Bearer <API key>` with a key that is valid and not expired, revoked or deleted.',
  },
  cross_site_request: {
    meaning: 'The request has the cookie of a session, and does not come from a page of this service.',
    remedy: 'Use the dashboard, or an API key.',
  },
  permission_missing: {
    meaning: 'The key lacks the permission that the endpoint requires.',
    remedy: 'Use a key that has the permission named in the message.',
  },
  presence_required: {
    meaning:
      'A member asks for what a browser that was left open must not allow, and last proved who they are more than 10 minutes ago.',
    remedy: 'Prove it with a passkey or a fresh link at `POST /v1/session/presence`, and repeat the request.',
  },
  wider_than_own_key: {
    meaning:
      'The request would create, widen or rotate a key with more rights than the key that asks, or let a webhook outlive it.',
    remedy: 'Stay within the bounds named in `details`, or use a key with more rights.',
  },
  environment_not_allowed: {
    meaning: 'The endpoint requires a live key.',
    remedy: 'Use a live key.',
  },
  address_not_allowed: {
    meaning: 'The client address is outside the key’s `allowed_cidrs`.',
    remedy: 'Call from an allowed address, or change `allowed_cidrs`.',
  },
  from_domain_mismatch: {
    meaning:
      'The `from` address, or one in `Resent-From` or `Resent-Sender`, is not on the domain that the key is bound to.',
    remedy: 'Use addresses on the key’s domain.',
  },
  organization_suspended: {
    meaning:
      'The operator of the service has suspended your organization. It sends no mail; reading, cancelling and managing still work.',
    remedy: 'Ask the operator of the service, who can resume the organization. The message names their reason.',
  },
  other_organization: {
    meaning: 'The resource belongs to another organization.',
    remedy: 'Use an id of your own organization.',
  },
  not_found: {
    meaning: 'The path or the resource does not exist, or the key cannot see it.',
    remedy: 'Check the id and the path.',
  },
  content_gone: {
    meaning:
      'The content of the message is no longer kept: it was erased, or its retention has ended. Or it lets its recipient sign in, and only they may see it.',
    remedy: 'Nothing brings it back; the recipient may still have the mail.',
  },
  link_suspended: {
    meaning: 'The sender of the mail is suspended: tracked links and the browser view of its mail do not work.',
    remedy: 'Only the operator of the service can resume the sender. Links to unsubscribe still work.',
  },
  not_signed_yet: {
    meaning: 'No signed checkpoint is about it yet.',
    remedy: 'Ask again after `Retry-After`, or sign a checkpoint with `POST /v1/audit/checkpoints`.',
  },
  signing_stopped: {
    meaning: 'The log is not the one that was signed: it was restored from an older copy, or changed.',
    remedy: 'Tell the operator, who reopens the log once the reason is known.',
  },
  method_not_allowed: {
    meaning: 'The path does not support this method.',
    remedy: 'Use one of the methods in the `Allow` header.',
  },
  domain_already_exists: {
    meaning: 'Your organization already has this domain, or another organization has verified it.',
    remedy: 'Use the existing domain, or register another name.',
  },
  domain_is_public_suffix: {
    meaning: 'The name is a public suffix (`com`, `co.uk`), which no organization owns.',
    remedy: 'Register a name that you own, such as `example.co.uk`.',
  },
  key_not_active: {
    meaning: 'The API key to change is revoked or expired, or its domain is deleted.',
    remedy: 'Give an expired key a new `expires_at`; replace a revoked key by a new one.',
  },
  too_many_live_secrets: {
    meaning: 'Two earlier secrets of the key or webhook still work, which is the maximum.',
    remedy:
      'Wait until an earlier secret expires, or rotate with `grace_period_minutes: 0`, or a key with `revoke_previous: true`.',
  },
  webhook_disabled: {
    meaning: 'The webhook is disabled or paused, and nothing is posted to it.',
    remedy:
      'Enable it with `PATCH /v1/webhooks/:id` and `enabled: true`, or adopt a paused one with `POST /v1/webhooks/:id/adopt`, then try again.',
  },
  last_admin_key: {
    meaning: 'The change would leave the organization without a working `admin` key.',
    remedy: 'Create another admin key first.',
  },
  message_being_sent: {
    meaning: 'The message is being sent right now.',
    remedy: 'Wait for the outcome of the attempt; mail in transit cannot be cancelled.',
  },
  message_ended: {
    meaning: 'Every recipient of the message has its final outcome.',
    remedy: 'Send a new message.',
  },
  message_not_scheduled: {
    meaning: 'The message is not scheduled.',
    remedy: 'Reschedule only messages that are `scheduled`; cancel others.',
  },
  template_invalid: {
    meaning: 'The draft of the template cannot be published as it is.',
    remedy: 'Correct what `details` names by part, line and column, and publish again.',
  },
  template_not_published: {
    meaning: 'The template does not exist, or no version of it is published.',
    remedy: 'Publish the template, or name one of its versions.',
  },
  template_variables_invalid: {
    meaning: 'The values for the template’s variables are missing, of another type, or cannot be rendered.',
    remedy: 'Send what `details` names.',
  },
  resource_conflict: {
    meaning: 'The resource was changed concurrently.',
    remedy: 'Read it again and retry.',
  },
  precondition_failed: {
    meaning: 'The resource has changed: `If-Match` does not match its `ETag`.',
    remedy: 'Read the resource again and send its current `ETag` as `If-Match`.',
  },
  body_too_large: {
    meaning: 'The body, or the message made from it, exceeds the size limit.',
    remedy: 'Send a smaller body.',
  },
  unsupported_media_type: {
    meaning: 'The `Content-Type` is not supported here, or the body is compressed.',
    remedy: 'Send `Content-Type: application/json` (unsubscribe pages: a form) without `Content-Encoding`.',
  },
  domain_not_verified: {
    meaning: 'The key’s domain is not verified, so it may not send live mail.',
    remedy: 'Publish the records that `GET /v1/domains/{id}` lists, and verify the domain.',
  },
  too_many_topics: {
    meaning: 'The organization has as many topics as a page for recipients can show.',
    remedy: 'Delete topics that are no longer used.',
  },
  too_many_webhooks: {
    meaning: 'The organization has as many webhooks as it can have.',
    remedy: 'Delete webhooks that you no longer need, or ask the operator of the service for more.',
  },
  last_owner: {
    meaning: 'The organization would have no owner left who has signed in.',
    remedy: 'Make another member an owner first, and let them sign in.',
  },
  member_already_exists: {
    meaning: 'A member of the organization already has this address.',
    remedy: 'Give them a new link, or another role.',
  },
  too_many_members: {
    meaning: 'The organization has as many members as it can have.',
    remedy: 'Remove members who need the dashboard no more.',
  },
  sign_in_link_invalid: {
    meaning: 'The link was used before, has expired, was replaced, or never existed.',
    remedy: 'Ask an owner for a new link, or print one with `npm run outbox -- members link`.',
  },
  passkey_invalid: {
    meaning:
      'The passkey is unknown or was removed, its answer was used before or came too late, or the person was not verified.',
    remedy: 'Try again, use another passkey, or sign in with a link.',
  },
  oidc_invalid: {
    meaning:
      'The sign-in at the identity provider was used before, took longer than ten minutes, began in another browser, or the provider did not confirm it.',
    remedy: 'Begin again on the sign-in page, or sign in with a link or a passkey.',
  },
  oidc_address_unverified: {
    meaning: 'The identity provider has not verified an address of the person (`email_verified`).',
    remedy: 'Verify the address at the provider, or sign in with a link or a passkey.',
  },
  oidc_no_member: {
    meaning:
      'The person whose address the identity provider verified has joined no organization, or several, or has no membership or invitation left.',
    remedy: 'Ask an owner for an invitation, or choose an organization after signing in at the provider again.',
  },
  too_many_passkeys: {
    meaning: 'The member has as many passkeys as they can have.',
    remedy: 'Remove passkeys of devices that are used no more.',
  },
  too_many_auditors: {
    meaning: 'The organization has as many auditors as it can have.',
    remedy: 'Remove auditors who need their token no more.',
  },
  topic_not_usable: {
    meaning: 'The `topic` of the message does not exist any more, or belongs to another domain.',
    remedy: 'Use a topic that `GET /v1/topics` lists, of the key’s domain or of none.',
  },
  schedule_not_possible: {
    meaning: '`scheduled_at` is in the past or too far ahead.',
    remedy: 'Use a time within the next 30 days.',
  },
  quota_exceeded: {
    meaning: 'The organization’s plan allows no more recipients this month.',
    remedy: 'Wait until the month (UTC) is over, or choose another plan with `PUT /v1/billing/plan`.',
  },
  plan_not_offered: {
    meaning: 'The plan does not exist, or organizations cannot choose it themselves.',
    remedy: 'Choose one of `GET /v1/billing/plans`.',
  },
  batch_exceeds_limit: {
    meaning: 'The batch has more messages than the key may send, or cancel, per minute.',
    remedy:
      'Send or cancel fewer messages per request. One message sent, or 25 messages cancelled, use one `send` of the limit.',
  },
  analysis_failed: {
    meaning:
      'The analysis found errors, and the request, or by default its organization, asked for `analysis: "block"`.',
    remedy: 'Correct the findings in `details`, or send with `analysis: "warn"`.',
  },
  idempotency_key_reused: {
    meaning: 'The `Idempotency-Key` was used before with another body.',
    remedy: 'Use a new `Idempotency-Key` for each request.',
  },
  rate_limit_exceeded: {
    meaning:
      'The key exceeded its limit of requests per minute for this kind of action, or its share of what is open at once.',
    remedy: 'Wait `retry_after` seconds.',
  },
  unavailable: {
    meaning: 'A dependency does not answer, or the service is overloaded.',
    remedy: 'Retry after `Retry-After` seconds with the same `Idempotency-Key`.',
  },
  internal_error: {
    meaning: 'The service failed; its log has the error under the request id.',
    remedy: 'Retry with the same `Idempotency-Key`; report the request id if it persists.',
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
