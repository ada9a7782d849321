import type { Registry } from 'prom-client';
import type { CommandContext } from '../commands/execute.ts';
import type { ReceivingPorts } from '../commands/inbound/receive-mail.ts';
import type { Analyzer } from '../domain/analysis/facts.ts';
import type { UsageMarks } from '../domain/api-key/secret.ts';
import type { EventStore } from '../domain/kernel/event-store.ts';
import type { RateLimiter } from '../domain/kernel/rate-limits.ts';
import type { IdentityProvider } from '../domain/member/session.ts';
import type { Retention } from '../domain/ports/contents.ts';
import type { HtmlTracker, Inbox, MessageSources } from '../domain/ports/mail.ts';
import type { MemberViews } from '../domain/ports/member-views.ts';
import type { RefusedRequests, RequestOrigins } from '../domain/ports/requests.ts';
import type { WebhookDeliveries } from '../domain/ports/webhooks.ts';
import type { ReputationLimits } from '../domain/reputation/reputation.ts';
import type { TrackingKeys } from '../domain/tracking/tracking.ts';
import type { Logger } from '../lib/async/async.ts';
import type { HtmlChecker, TextAlternatives } from '../lib/html/html.ts';
import type { BodyBudget } from '../lib/http/http.ts';
import type { MailParser } from '../lib/mime/mime.ts';
import type { TemplateCompiler, TemplateRenderer } from '../lib/templates/templates.ts';
import type { Policy } from '../lib/transparency/transparency.ts';
import type { ReadModels } from '../projections/read-models.ts';
import type { LiveFeed } from './resources/events/live-feed.ts';
import type { HealthParts } from './service-health.ts';

/** A request at a stage that is about to occupy the event loop. */
export interface LoopWork {
  /** `POST /v1/messages/send`; never the path, which holds ids. */
  readonly route: string;
  readonly requestId: string;
}

/** An address on which this process accepts mail by SMTP. */
export interface SubmissionServer {
  readonly host: string;
  readonly port: number;
  /** `none`: only clients on the same machine are accepted. */
  readonly tls: 'none' | 'starttls' | 'implicit';
}

/** Dependencies of the API. The caller that opened them closes them after the server. */
export interface HttpDependencies {
  readonly context: CommandContext;
  readonly readModels: ReadModels;
  /** Newest events for open event streams. */
  readonly liveFeed: LiveFeed;
  readonly rateLimiter: RateLimiter;
  readonly htmlChecker: HtmlChecker;
  readonly analyzer: Analyzer;
  readonly htmlTracker: HtmlTracker;
  readonly textAlternatives: TextAlternatives;
  readonly messageSources: MessageSources;
  /** Reads received mail. */
  readonly mailParser: MailParser;
  /** Reads and authenticates inbound mail that did not come by SMTP. */
  readonly receiving: ReceivingPorts;
  readonly templateRenderer: TemplateRenderer;
  readonly templateCompiler: TemplateCompiler;
  /** Captured mail; null: mail is delivered. */
  readonly inbox: Inbox | null;
  readonly usageMarks: UsageMarks;
  readonly requestOrigins: Pick<RequestOrigins, 'put' | 'addressesOf' | 'userAgentsOf' | 'partOf'>;
  readonly refusedRequests: RefusedRequests;
  readonly memberViews: MemberViews;
  readonly webhookDeliveries: Pick<
    WebhookDeliveries,
    | 'list'
    | 'find'
    | 'failingSince'
    | 'waitingSince'
    | 'resend'
    | 'startReplay'
    | 'findReplay'
    | 'listReplays'
    | 'cancelReplay'
  >;
  /** Webhooks of an organization. Default: `WEBHOOKS_MAX_DEFAULT`. */
  readonly webhooksMax?: number;
  /** Mailbox provider of a recipient domain (A-labels); absent: all mail goes to one smarthost. */
  readonly providerOf?: (domain: string) => Promise<string>;
  /** Addresses of its mail servers; absent: unknown. */
  readonly serversOf?: (domain: string) => Promise<readonly string[]>;
  /** Counts of items that erasures removed or would remove. */
  readonly retention: Pick<Retention, 'erasureProgress' | 'countErasable'>;
  readonly logger: Logger;
  /** The log for the key cache, on a connection of its own if the engine has one. Default: `context.store`. */
  readonly keyStore?: Pick<EventStore, 'readAll' | 'head'>;
  /** Addresses and networks whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies: readonly string[];
  /** Open files that the process may have. Absent: any number. */
  readonly descriptors?: number;
  /** Provider with which members may sign in; null: none. */
  readonly identityProvider: IdentityProvider | null;
  /** Prove tracked links. */
  readonly trackingKeys: TrackingKeys;
  /** Rates from which the bulk mail of a sender is restricted. */
  readonly sendingLimits: ReputationLimits;
  /** Witnesses that cosign checkpoints, and how many must. */
  readonly witnessPolicy: Policy;
  /** Version of this service. */
  readonly version: string;
  /** URL at which clients reach this service; for the OpenAPI document. */
  readonly publicUrl: string;
  /** Empty: mail is not taken by SMTP. */
  readonly submissionServers: readonly SubmissionServer[];
  /** Readiness probes by name; each rejects if its dependency is unavailable. */
  readonly probes: Readonly<Record<string, () => Promise<unknown>>>;
  /** Health of each part, for `GET /v1/service`. */
  readonly health: HealthParts;
  /** Notified of each stage of a request; absent: event loop delay is not measured. */
  readonly eventLoop?: { touch(work: LoopWork): void };
  /** Memory for bodies in flight. Default: `BODY_LIMITS`. */
  readonly bodies?: BodyBudget;
  /** Registry for request metrics; absent: none. */
  readonly registry?: Registry;
}
