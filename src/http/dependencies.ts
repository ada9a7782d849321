import type { Registry } from 'prom-client';
import type { CommandContext } from '../commands/context.ts';
import type { Analyzer } from '../domain/ports/analyzer.ts';
import type { EventStore } from '../domain/ports/event-store.ts';
import type { HtmlChecker } from '../domain/ports/html-checker.ts';
import type { Inbox } from '../domain/ports/inbox.ts';
import type { Logger } from '../domain/ports/logger.ts';
import type { RequestOrigins } from '../domain/ports/request-origins.ts';
import type { UsageMarks } from '../domain/ports/usage-marks.ts';
import type { WebhookDeliveries } from '../domain/ports/webhook-deliveries.ts';
import type { RateLimiter } from '../domain/rate-limits.ts';
import type { ReadModels } from '../projections/read-models.ts';
import type { BodyBudget } from './bodies/body-budget.ts';

/** Something that is about to keep the event loop for a moment: a request, at one of its stages. */
export interface LoopWork {
  /** `POST /v1/messages/send`: never a path, which names customers' things. */
  readonly route: string;
  readonly requestId: string;
}

/** Everything the API is built on; whoever opened it closes it after the server. */
export interface HttpDependencies {
  readonly context: CommandContext;
  readonly readModels: ReadModels;
  readonly rateLimiter: RateLimiter;
  readonly htmlChecker: HtmlChecker;
  readonly analyzer: Analyzer;
  /** Captured mail; null: mail leaves this machine. */
  readonly inbox: Inbox | null;
  readonly usageMarks: UsageMarks;
  readonly requestOrigins: Pick<RequestOrigins, 'put'>;
  readonly webhookDeliveries: Pick<WebhookDeliveries, 'list' | 'find'>;
  /** Who runs the mail servers of a recipient's domain (A-labels); absent: one server takes everything. */
  readonly operatorOf?: (domain: string) => Promise<string>;
  /** Addresses of those servers; absent: not known. */
  readonly serversOf?: (domain: string) => Promise<readonly string[]>;
  readonly logger: Logger;
  /** Where keys are followed; the log on a connection of its own where there is one. Default: `context.store`. */
  readonly keyStore?: Pick<EventStore, 'readAll' | 'head'>;
  /** Addresses and networks whose `X-Forwarded-For` is believed. */
  readonly trustedProxies: readonly string[];
  /** Where clients reach this service; in the OpenAPI document. */
  readonly publicUrl: string;
  /** What has to answer before this process is ready, by name; each rejects when it does not. */
  readonly probes: Readonly<Record<string, () => Promise<unknown>>>;
  /** Told of each stage of a request; absent: nobody looks how long it holds the event loop. */
  readonly eventLoop?: { touch(work: LoopWork): void };
  /** Room for the bodies of requests. Absent: as `BODY_LIMITS` has it. */
  readonly bodies?: BodyBudget;
  /** Where times of answers are counted; absent: nowhere. */
  readonly registry?: Registry;
}
