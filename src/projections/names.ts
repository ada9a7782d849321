/** Every projection, by the name of its read model. */
export type ProjectionName =
  | 'api-keys'
  | 'domains'
  | 'messages'
  | 'events'
  | 'stats'
  | 'billing'
  | 'webhooks'
  | 'suppressions'
  | 'deliveries'
  | 'destinations'
  | 'standings'
  | 'live-views';
