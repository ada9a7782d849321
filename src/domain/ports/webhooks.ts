import type { CustomerEvent } from '../customer-events/customer-events.ts';
import { sha256 } from '../kernel/digest.ts';
import type { Position } from '../kernel/event-store.ts';
import { formatId } from '../kernel/ids.ts';

/**
 * PORT: deliveries owed to each webhook endpoint, with every try. Stored in the vault, with the checkpoint up to which
 * the log has been converted to rows. Adapter: `adapters/webhook-deliveries`.
 */

/** `pending`: owed; the next try is at `dueAt`. `failed`: all tries are used up. */
export type WebhookDeliveryState = 'pending' | 'delivered' | 'failed';

/** `failing`: failed for good, or waiting for another attempt after a failed one. */
type WebhookDeliveryFilter = WebhookDeliveryState | 'failing';

/** One event owed to one endpoint. It contains no personal data: addresses and texts are added when it is posted. */
export interface OwedDelivery {
  readonly id: string;
  readonly webhookId: string;
  readonly event: CustomerEvent;
  /** Replay to which it belongs. Absent: none. */
  readonly replayId?: string;
}

/** Events owed to the same endpoints of one organization, whose deliveries have not been created yet. */
export interface OwedEvents {
  readonly organizationId: string;
  readonly events: readonly CustomerEvent[];
  readonly webhookIds: readonly string[];
}

export interface StoredOwedEvents extends OwedEvents {
  readonly number: string;
  /** Number of deliveries created so far: the first event for each endpoint, then the second, and so on. */
  readonly made: number;
}

/** Deliveries that one filtered page examines. Higher: slower pages. Lower: more empty pages. */
export const SCANNED_MAX = 5_000;

/** Derived from its inputs: an event is owed to an endpoint once, and once more for each replay. */
export const deliveryId = (webhookId: string, eventId: string, replayId?: string): string =>
  formatId('dlv', sha256([webhookId, eventId, ...(replayId === undefined ? [] : [replayId])].join('\0')));

/** A position in the feed of an organization, after this event. */
interface ReplayPlace {
  readonly position: Position;
  readonly index: number;
}

/** Past events that are delivered again to one endpoint. */
export interface WebhookReplay {
  readonly id: string;
  readonly webhookId: string;
  readonly state: 'running' | 'completed' | 'cancelled';
  /** Start of the range of events; null: from the place where the replay started. */
  readonly since: Date | null;
  readonly until: Date;
  /** Events up to here have been processed. */
  readonly place: ReplayPlace;
  /** End of the log when the replay was requested. */
  readonly upTo: Position;
  readonly createdAt: Date;
  /** Null while it runs. */
  readonly endedAt: Date | null;
}

/** Numbers of its deliveries by state. */
export type ReplayCounts = Readonly<Record<WebhookDeliveryState, number>>;
export type CountedReplay = WebhookReplay & { readonly counts: ReplayCounts };

export interface ReplayPage<Replay> {
  readonly replays: readonly Replay[];
  /** Pass as `after` for the next page; null on the last page. */
  readonly next: string | null;
}

export interface ClaimedDelivery extends OwedDelivery {
  /** Number of tries before this claim. */
  readonly attempts: number;
}

/** A posted request, without its secrets. */
interface PostedRequest {
  readonly url: string;
  /** Names of the customer's own headers. */
  readonly headerNames: readonly string[];
  readonly bodyBytes: number;
  /** Hex. */
  readonly bodySha256: string;
}

export interface WebhookTry {
  readonly at: Date;
  readonly request: PostedRequest;
  /** HTTP status; null if there was no response. */
  readonly status: number | null;
  readonly durationMs: number;
  /** First 1 kB of the response, or the reason why there was none. */
  readonly text: string;
}

/** A try with its result. */
export interface FinishedTry extends WebhookTry {
  readonly deliveryId: string;
  /** Number of the try, from 1. */
  readonly attempt: number;
  readonly state: WebhookDeliveryState;
  /** Time of the next try; only used while `pending`. */
  readonly dueAt: Date;
}

export interface WebhookDelivery extends OwedDelivery {
  readonly state: WebhookDeliveryState;
  /** Time of the next try; null once it has ended. */
  readonly dueAt: Date | null;
  readonly createdAt: Date;
  /** Oldest first. */
  readonly tries: readonly WebhookTry[];
}

interface WebhookDeliveryPage {
  readonly deliveries: readonly WebhookDelivery[];
  /** Pass as `after` for the next page; null on the last page. */
  readonly next: string | null;
}

/** Position up to which a log has been converted to owed deliveries. */
export interface RecordingCheckpoint {
  readonly logId: string;
  readonly position: Position;
}

export interface WebhookDeliveries {
  /** Null if nothing was ever recorded. */
  checkpoint(): Promise<RecordingCheckpoint | null>;

  /**
   * Stores the deliveries owed for the log between two positions, and advances the checkpoint, in one transaction.
   * @param recording `from` is the checkpoint known to this recorder; otherwise null.
   * @returns false, without storing anything, if another process has advanced it.
   */
  record(recording: {
    readonly logId: string;
    readonly from: Position | null;
    readonly to: Position;
    readonly owed: readonly OwedDelivery[];
    /** Events whose deliveries `distribute` creates. Default: none. */
    readonly owedLater?: readonly OwedEvents[];
    readonly now: Date;
  }): Promise<boolean>;

  /**
   * The oldest events of one organization whose deliveries have not been created; otherwise null. Organizations
   * take turns.
   * @param after id of the organization of the previous turn; '' starts with the first.
   */
  owedEvents(after: string): Promise<StoredOwedEvents | null>;

  /**
   * Stores the next deliveries of owed events, in one transaction. Stores nothing if another process has done so.
   * @param distribution `isLast`: these are the last deliveries, and the events are dropped.
   */
  distribute(distribution: {
    readonly of: Pick<StoredOwedEvents, 'number' | 'made'>;
    readonly owed: readonly OwedDelivery[];
    readonly isLast: boolean;
    readonly now: Date;
  }): Promise<void>;

  /**
   * Claims due deliveries, oldest first and at most `limit` for each endpoint. No other process gets them until
   * `leaseUntil`, when they are due again.
   */
  claim(
    wanted: readonly { readonly webhookId: string; readonly limit: number }[],
    times: { readonly now: Date; readonly leaseUntil: Date },
  ): Promise<readonly ClaimedDelivery[]>;

  /** Makes claimed deliveries due now, because they were not tried. */
  release(ids: readonly string[], now: Date): Promise<void>;

  /** Stores the results of tries in one write. */
  finish(tries: readonly FinishedTry[]): Promise<void>;

  /**
   * Time of each endpoint's first failure since its last success. Endpoints without one are left out. Determined by the
   * tries in the order in which they were stored; within one write, a success outweighs failures.
   */
  failingSince(webhookIds: readonly string[]): Promise<ReadonlyMap<string, Date>>;
  /** Time at which the oldest pending delivery of each endpoint was made. Endpoints without one are left out. */
  waitingSince(webhookIds: readonly string[]): Promise<ReadonlyMap<string, Date>>;

  /** Deliveries with these ids, newest first and at most `limit`. Unknown ids are ignored. */
  find(options: { readonly ids: readonly string[]; readonly limit: number }): Promise<readonly WebhookDelivery[]>;

  /**
   * Deliveries of one endpoint, newest first. Filters examine a bounded number of them, so that a page may be empty
   * although there is a `next`.
   * @param after `next` of the previous page.
   */
  list(options: {
    readonly webhookId: string;
    readonly limit: number;
    readonly after?: string;
    readonly state?: WebhookDeliveryFilter | undefined;
    /** Type of the event. */
    readonly type?: string | undefined;
  }): Promise<WebhookDeliveryPage>;

  /** @returns false if another replay of the endpoint is running. */
  startReplay(replay: Omit<WebhookReplay, 'state' | 'endedAt'>): Promise<boolean>;
  findReplay(id: string): Promise<CountedReplay | null>;
  /** Replays of an endpoint, newest first. */
  listReplays(options: {
    readonly webhookId: string;
    readonly limit: number;
    readonly after?: string;
  }): Promise<ReplayPage<CountedReplay>>;
  /** Running replays, oldest first. */
  runningReplays(options: {
    readonly limit: number;
    readonly after: string | null;
  }): Promise<ReplayPage<WebhookReplay>>;
  /**
   * Stores the deliveries owed for the events between two places, and advances the place, in one transaction.
   * @returns false, without storing anything, if another process has advanced or ended the replay.
   */
  advanceReplay(advance: {
    readonly replay: Pick<WebhookReplay, 'id' | 'place'>;
    readonly to: ReplayPlace;
    readonly owed: readonly OwedDelivery[];
    /** True if this completes the replay. */
    readonly isLast: boolean;
    readonly now: Date;
  }): Promise<boolean>;
  /** Cancels a running replay, and drops its deliveries that were not tried. */
  cancelReplay(id: string, now: Date): Promise<void>;
  /** Number of pending deliveries of an endpoint, counted up to `limit`. */
  pendingOf(webhookId: string, limit: number): Promise<number>;

  /** Makes a delivery due now, whether or not it has ended. The numbering of its tries continues. */
  resend(id: string, now: Date): Promise<void>;
}

/** PORT: outbound requests to customers' endpoints. Adapter: `adapters/webhook-target/http.ts`. */
export interface WebhookTarget {
  /** The reason why a webhook cannot post to this URL, in one phrase; null if it can. */
  problemWith(url: string): Promise<string | null>;
  /** Sends one POST: no redirects, at most 1 kB of the response is read, and every resolved address must be allowed. */
  post(request: WebhookPost): Promise<WebhookAnswer>;
  close(): Promise<void>;
}

export interface WebhookPost {
  /** Organizations share no connections, so that hanging connections of one delay no other. */
  readonly organizationId: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
  readonly timeoutMs: number;
}

export interface WebhookAnswer {
  /** HTTP status; null if there was no response. */
  readonly status: number | null;
  readonly durationMs: number;
  /** First 1 kB of the body, or the reason why there was none. */
  readonly text: string;
  /** Value of `Retry-After`, in seconds. */
  readonly retryAfterSeconds: number | null;
}
