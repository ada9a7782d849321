import type { Environment } from '../domain/environment.ts';
import type { Contents } from '../domain/ports/contents.ts';
import type { DkimKeys } from '../domain/ports/dkim-keys.ts';
import type { EventContext, EventStore } from '../domain/ports/event-store.ts';
import type { Resolver } from '../domain/ports/resolver.ts';
import type { Secrets } from '../domain/ports/secrets.ts';
import type { System } from '../domain/ports/system.ts';
import type { WebhookTarget } from '../domain/ports/webhook-target.ts';

/** What every use case is given. */
export interface CommandContext {
  readonly store: EventStore;
  readonly contents: Contents;
  readonly secrets: Secrets;
  readonly resolver: Resolver;
  readonly dkimKeys: DkimKeys;
  readonly webhookTarget: WebhookTarget;
  readonly system: System;
  /** Mail is captured on this machine: domains need no proof. */
  readonly capturing: boolean;
  /** Where bounces come back to; absent: nowhere, and no domain needs a return path of its own. */
  readonly bounceDomain?: string | null;
}

/** Where a command comes from: becomes the events' metadata. */
export interface Origin extends Pick<EventContext, 'secret' | 'sourceClass' | 'originId' | 'operator'> {
  /** `key:<id>`, `worker:<job>`, `recipient:<id>`, `operator` or `service`. */
  readonly actor: string;
  readonly organizationId: string;
  readonly environment: Environment | null;
  readonly requestId: string | null;
  /** Of the first message of the chain; the request id, or the id of the event that caused this. */
  readonly correlationId: string;
  readonly causationId: string;
}

export const eventContext = (origin: Origin, now: string): EventContext => ({
  $correlationId: origin.correlationId,
  $causationId: origin.causationId,
  occurredAt: now,
  actor: origin.actor,
  organizationId: origin.organizationId,
  environment: origin.environment,
  requestId: origin.requestId,
  ...(origin.secret === undefined ? {} : { secret: origin.secret }),
  ...(origin.sourceClass === undefined ? {} : { sourceClass: origin.sourceClass }),
  ...(origin.originId === undefined ? {} : { originId: origin.originId }),
  ...(origin.operator === undefined ? {} : { operator: origin.operator }),
});
