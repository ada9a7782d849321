/** A broken promise, with a sentence that names what it affects. */
export interface Violation {
  readonly promise:
    | 'accepted is settled'
    | 'no strange mail'
    | 'one copy'
    | 'read models'
    | 'webhooks'
    | 'suppressions'
    | 'domains'
    | 'scenario';
  readonly what: string;
}
