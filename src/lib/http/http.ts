/**
 * Bounds for a server of HTTP, which hold before it knows what a request is about. Node accepts every connection and
 * every byte; this module bounds both.
 *
 * - Connections: `boundHttpConnections` gives each network a share of those that have not authenticated, and closes idle
 *   ones for new ones. `oneAtATime` runs the pipelined requests of a connection in order, as RFC 9112 §9.3.2 requires.
 *   `inCohorts` begins requests that arrive in one turn of the event loop together.
 * - Bodies: `createBodyBudget` reserves memory for a whole body before its first byte is read, fairly between
 *   organizations. `createBoundedJson` scans JSON while it arrives and stops at the first byte that breaks a bound, so
 *   that nothing too deep, too wide or too long is ever parsed. `createBoundedForm` reads a form, whose files become base64.
 *   Both throw a `BodyError`.
 * - Answers: `jsonAnswer` writes a large value in pieces, so that no answer holds the event loop. `acceptedIn` reads what
 *   a client accepts, `isNotModified` what it has.
 *
 * Networks, organizations and proxies are texts and functions of the caller. Every wait is bounded, and a request that
 * finds no place is refused.
 */
export { acceptedIn, isNotModified, jsonAnswer } from './answers.ts';
export {
  type BodyBudget,
  type BodyEnd,
  createBodyBudget,
  endOf,
  type Reservation,
  SMALL_BODY_BYTES_MAX,
} from './body-budget.ts';
export { createBoundedForm, FORM_TYPES, type FormFile, isForm } from './bounded-form.ts';
export {
  BodyError,
  type BoundedBody,
  createBoundedJson,
  type JsonBounds,
  notJson,
  type SentJson,
} from './bounded-json.ts';
export {
  announcedBytes,
  boundHttpConnections,
  connectionsMax,
  inCohorts,
  oneAtATime,
  REQUESTS_MAX,
  UNANNOUNCED_BYTES,
  UNAUTHENTICATED_PER_NETWORK_MAX,
} from './connections.ts';
