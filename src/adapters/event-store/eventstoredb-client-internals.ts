import type { EventStoreDBClient } from '@eventstore/db-client';

/** What the client has and its types hide. Its version 6.2.1 is its last, so this does not move. */
interface ClientInternals {
  /** The open channel; opens one where there is none. */
  getChannel(): Promise<{ close(): void }>;
  /** What the server says of itself; asked once per channel. */
  readonly capabilities: Promise<{ readonly serverVersion: string }>;
}

export const internalsOf = (client: EventStoreDBClient): ClientInternals => client as unknown as ClientInternals;
