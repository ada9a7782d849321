/** Parts common to all events: place in the log, origin, stored form. */
import type { z } from 'zod';
import type { AddressClass } from './addresses.ts';
import type { Environment } from './environment.ts';

/** The events of one family, from the schemas of their data by type. */
export type EventsOf<Schemas extends Record<string, z.ZodType>> = {
  [Type in keyof Schemas & string]: { readonly type: Type; readonly data: Readonly<z.infer<Schemas[Type]>> };
}[keyof Schemas & string];

/** The day (UTC) of a time as events have it (ISO 8601): `2026-11-28`. */
export const dayOf = (time: string): string => time.slice(0, 'YYYY-MM-DD'.length);

/** Person or machine that ran an operator command. */
export interface OperatorHost {
  readonly user: string;
  readonly host: string;
}

/** Origin of an event: the actor, the organization and the operation. Stored with every event. */
export interface EventContext {
  readonly $correlationId: string;
  readonly $causationId: string;
  readonly occurredAt: string;
  /** `key:<id>`, `auditor:<id>`, `member:<id>`, `worker:<job>`, `operator` or `service`. */
  readonly actor: string;
  readonly organizationId: string;
  readonly environment: Environment | null;
  readonly requestId: string | null;
  /** Number of the secret that authenticated the key, 1 for its first. Absent: the actor is not a key. */
  readonly secret?: number;
  /** Id of the member's session. Absent: the actor is not a member. */
  readonly session?: string;
  /** Kind of network that the request came from. Absent: the event was not caused by a request to this service. */
  readonly sourceClass?: AddressClass;
  /** Vault id of address and user agent (`RequestOrigins`) for requests that manage something. */
  readonly originId?: string;
  /** Root over address and user agent, base64. */
  readonly originRoot?: string;
  /** Present for operator commands. */
  readonly operator?: OperatorHost;
}

/** Data stored with an event: the context, and the version of the event's schema, stamped by the codec. */
export interface EventMetadata extends EventContext {
  readonly schemaVersion: number;
}
