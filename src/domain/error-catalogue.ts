/**
 * Every code a client can be answered with, and what to do about it. `http/errors/error-statuses.ts` gives each its
 * status; a test provokes each.
 */
export const ERROR_CATALOGUE = {
  invalid_request: 'Correct the fields named in `details`.',
  invalid_json: 'Send well-formed JSON in UTF-8.',
  invalid_cursor: 'Use `next_cursor` of the page before, unchanged, with the same filters.',
  invalid_html: 'Correct the HTML at the line and column given in `details.html`.',
  header_not_allowed: 'Leave the header out: this endpoint does not take it.',
  unauthorized: 'Send `Authorization: Bearer <API key>` with a key that is valid and not expired, revoked or deleted.',
  permission_missing: 'Use a key that has the permission named in the message.',
  environment_not_allowed: 'Use a live key: a test key cannot do this.',
  address_not_allowed: 'Send from an address in the key’s `allowed_cidrs`.',
  from_domain_mismatch: 'Send from an address on the domain the key is bound to.',
  other_organization: 'Use an id of your own organization.',
  not_found: 'Check the id and the path.',
  method_not_allowed: 'Use one of the methods in the `Allow` header.',
  domain_already_exists: 'Use the existing domain, or register another name.',
  key_not_active: 'The key is revoked or deleted: create a new one.',
  too_many_live_secrets:
    'Wait for an earlier secret to end, or rotate with `grace_period_minutes: 0` or `revoke_previous: true`.',
  last_admin_key: 'Create another admin key first.',
  resource_conflict: 'Somebody changed the resource at the same moment: read it again and retry.',
  precondition_failed: 'Read the resource again and send its current `ETag` as `If-Match`.',
  body_too_large: 'Send a smaller body.',
  unsupported_media_type: 'Send `Content-Type: application/json`.',
  domain_not_verified: 'Publish the domain’s records and verify it first.',
  idempotency_key_reused: 'Use a new `Idempotency-Key` for another request.',
  rate_limit_exceeded: 'Wait `retry_after` seconds.',
  unavailable: 'Retry after `Retry-After` seconds with the same `Idempotency-Key`.',
  internal_error: 'Retry with the same `Idempotency-Key`; report the request id if it persists.',
} as const;

export type ErrorCode = keyof typeof ERROR_CATALOGUE;
