import type { Plans } from '../domain/billing/plan.ts';
import type { Environment } from '../domain/kernel/environment.ts';
import type { EventContext, EventStore } from '../domain/kernel/event-store.ts';
import type { Contents } from '../domain/ports/contents.ts';
import type { DkimKeys, Secrets } from '../domain/ports/secrets.ts';
import type { WebhookTarget } from '../domain/ports/webhooks.ts';
import type { System } from '../lib/async/async.ts';
import type { Resolver } from '../lib/smtp/smtp.ts';
import type { SendingQuotas } from './message/enforce-quota.ts';

/** The ports that commands use, and how this service sends. */
export interface CommandContext {
  readonly store: EventStore;
  readonly contents: Contents;
  readonly secrets: Secrets;
  readonly resolver: Resolver;
  readonly dkimKeys: DkimKeys;
  readonly webhookTarget: WebhookTarget;
  readonly system: System;
  /** Mail is captured on this machine, so domains need no verification. */
  readonly capturing: boolean;
  /** Domain that receives bounces. Absent: bounces are not received, and domains need no return path. */
  readonly bounceDomain?: string | null;
  /** Host that tracking hosts of domains point to; absent: the service has no name, and domains need no tracking host. */
  readonly trackingTarget?: string | null;
  /** Plans of the operator; absent: the built-in ones. */
  readonly plans?: Plans | undefined;
  /** How many readings of contents and exports are put on record, in percent. Absent: all. */
  readonly readingsPercent?: number | undefined;
  /** Counts for hard limits of plans; absent: no limits. */
  readonly quotas?: SendingQuotas | undefined;
}

/** The cause of a command: a principal or a process. It becomes the metadata of the events. */
export interface Origin
  extends Pick<EventContext, 'secret' | 'session' | 'sourceClass' | 'originId' | 'originRoot' | 'operator'> {
  /** `key:<id>`, `auditor:<id>`, `member:<id>`, `worker:<job>`, `recipient:<id>`, `operator` or `service`. */
  readonly actor: string;
  readonly organizationId: string;
  readonly environment: Environment | null;
  readonly requestId: string | null;
  /** Shared by everything that follows from one cause. */
  readonly correlationId: string;
  /** The request or event that caused this directly. */
  readonly causationId: string;
}

export interface InternalCause extends Pick<Origin, 'actor' | 'organizationId'> {
  /** Default: null. */
  readonly environment?: Environment | null;
  /** Id of what caused it: correlation and causation id. */
  readonly causeId: string;
}

/** The origin of a command without a request. */
export const internalOrigin = ({ actor, organizationId, environment = null, causeId }: InternalCause): Origin => ({
  actor,
  organizationId,
  environment,
  requestId: null,
  correlationId: causeId,
  causationId: causeId,
});

export const eventContext = (origin: Origin, now: string): EventContext => ({
  $correlationId: origin.correlationId,
  $causationId: origin.causationId,
  occurredAt: now,
  actor: origin.actor,
  organizationId: origin.organizationId,
  environment: origin.environment,
  requestId: origin.requestId,
  ...(origin.secret === undefined ? {} : { secret: origin.secret }),
  ...(origin.session === undefined ? {} : { session: origin.session }),
  ...(origin.sourceClass === undefined ? {} : { sourceClass: origin.sourceClass }),
  ...(origin.originId === undefined ? {} : { originId: origin.originId }),
  ...(origin.originRoot === undefined ? {} : { originRoot: origin.originRoot }),
  ...(origin.operator === undefined ? {} : { operator: origin.operator }),
});
