/**
 * Every code a client can be answered with: what it means, and what to do about it. `http/errors/error-statuses.ts`
 * gives each its status; a test provokes each. The OpenAPI document and `docs/errors.md` are made from it.
 */
export const ERROR_CATALOGUE = {
  invalid_request: {
    meaning: 'Fields or parameters are missing, malformed, of the wrong type or unknown.',
    remedy: 'Correct the fields named in `details`.',
  },
  invalid_json: {
    meaning: 'The body is not well-formed JSON in UTF-8, or names a field `__proto__`.',
    remedy: 'Send well-formed JSON in UTF-8.',
  },
  invalid_cursor: {
    meaning: '`after` is not a cursor that this list gave.',
    remedy: 'Use `next_cursor` of the page before, unchanged, with the same filters.',
  },
  invalid_html: {
    meaning: 'The HTML of the message is not valid; nothing else is wrong with the request.',
    remedy: 'Correct the HTML at the line and column given in `details.html`.',
  },
  header_not_allowed: {
    meaning: 'The request has a header that this endpoint does not take.',
    remedy: 'Leave the header out: this endpoint does not take it.',
  },
  unauthorized: {
    meaning: 'There is no `Authorization: Bearer` header with an API key that is accepted.',
    remedy: 'Send `Authorization: Bearer <API key>` with a key that is valid and not expired, revoked or deleted.',
  },
  permission_missing: {
    meaning: 'The key lacks the permission that this needs.',
    remedy: 'Use a key that has the permission named in the message.',
  },
  wider_than_own_key: {
    meaning: 'The key would make, widen or rotate a key that reaches further than itself.',
    remedy: 'Stay within the bounds named in `details`, or use a key with wider ones.',
  },
  environment_not_allowed: {
    meaning: 'A test key asked for what only a live key may do.',
    remedy: 'Use a live key: a test key cannot do this.',
  },
  address_not_allowed: {
    meaning: 'The request comes from an address outside the networks that the key may be used from.',
    remedy: 'Send from an address in the key’s `allowed_cidrs`.',
  },
  from_domain_mismatch: {
    meaning: 'The `from` address is not on the domain that the key is bound to.',
    remedy: 'Send from an address on the domain the key is bound to.',
  },
  other_organization: {
    meaning: 'The resource belongs to another organization.',
    remedy: 'Use an id of your own organization.',
  },
  not_found: {
    meaning: 'There is no such path, or no such resource that this key can see.',
    remedy: 'Check the id and the path.',
  },
  method_not_allowed: {
    meaning: 'The path exists, and does not take this method.',
    remedy: 'Use one of the methods in the `Allow` header.',
  },
  domain_already_exists: {
    meaning: 'Your organization has this domain already, or another one has verified it.',
    remedy: 'Use the existing domain, or register another name.',
  },
  domain_is_public_suffix: {
    meaning: 'Names are registered below this one by anybody (`com`, `co.uk`): it is nobody’s own.',
    remedy: 'Register a name of your own below it, such as `example.co.uk`.',
  },
  key_not_active: {
    meaning: 'The API key to be changed is revoked or expired, or its domain was deleted.',
    remedy: 'Give an expired key another `expires_at`; in place of one that ended for good, create a new one.',
  },
  too_many_live_secrets: {
    meaning: 'Two earlier values of the key still work; a third may not.',
    remedy: 'Wait for an earlier secret to end, or rotate with `grace_period_minutes: 0` or `revoke_previous: true`.',
  },
  last_admin_key: {
    meaning: 'The organization would be left without a usable key with `admin` that lasts as long.',
    remedy: 'Create another admin key first.',
  },
  message_being_sent: {
    meaning: 'The message is being handed over at this moment.',
    remedy: 'Wait for the outcome of the attempt: what is being handed over cannot be taken back.',
  },
  message_ended: {
    meaning: 'Every recipient of the message has its final outcome.',
    remedy: 'Send a new message.',
  },
  message_not_scheduled: {
    meaning: 'The message does not wait for a time that was set.',
    remedy: 'Cancel it, or let it go: only a message that waits for its time can be given another.',
  },
  resource_conflict: {
    meaning: 'Somebody changed the resource at the same moment.',
    remedy: 'Read it again and retry.',
  },
  precondition_failed: {
    meaning: 'The resource is no longer what `If-Match` says.',
    remedy: 'Read the resource again and send its current `ETag` as `If-Match`.',
  },
  body_too_large: {
    meaning: 'The body, or the message it would become, is larger than is taken.',
    remedy: 'Send a smaller body.',
  },
  unsupported_media_type: {
    meaning: 'The body is not declared as a type that is taken here, or is compressed.',
    remedy:
      'Send `Content-Type: application/json`, to the page behind an unsubscribe link that of a form, and no `Content-Encoding`.',
  },
  domain_not_verified: {
    meaning: 'The key’s domain is not verified yet, or failed since: no live mail may be sent from it.',
    remedy: 'Publish the domain’s records as `GET /v1/domains/{id}` tells, and verify it.',
  },
  schedule_not_possible: {
    meaning: '`scheduled_at` lies in the past, or too far ahead.',
    remedy: 'Name a time in the future, at most 30 days ahead.',
  },
  batch_exceeds_limit: {
    meaning: 'The batch holds more messages than the key may send in a minute, however long it waits.',
    remedy: 'Send fewer messages at once: a batch counts one `send` for each.',
  },
  analysis_failed: {
    meaning: 'The message was sent with `analysis: "block"`, and its analysis found errors.',
    remedy: 'Correct the findings in `details`, or send with `analysis: "warn"`.',
  },
  idempotency_key_reused: {
    meaning: 'This `Idempotency-Key` was used for a request with another body.',
    remedy: 'Use a new `Idempotency-Key` for another request.',
  },
  rate_limit_exceeded: {
    meaning: 'The key has made more requests of this kind in a minute than its limit.',
    remedy: 'Wait `retry_after` seconds.',
  },
  unavailable: {
    meaning: 'Something the service depends on does not answer just now, or too much is in hand.',
    remedy: 'Retry after `Retry-After` seconds with the same `Idempotency-Key`.',
  },
  internal_error: {
    meaning: 'The service made a mistake, and has logged it under the request id.',
    remedy: 'Retry with the same `Idempotency-Key`; report the request id if it persists.',
  },
} as const satisfies Readonly<Record<string, { readonly meaning: string; readonly remedy: string }>>;

export type ErrorCode = keyof typeof ERROR_CATALOGUE;
