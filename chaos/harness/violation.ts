/** Something a promise forbids, in one sentence that names what it is about. */
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
