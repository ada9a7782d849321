import type { CustomerEvent } from '../customer-events.ts';
import { sha256 } from '../digest.ts';
import { formatId } from '../ids.ts';
import type { Position } from './event-store.ts';

/**
 * PORT: what each webhook endpoint is owed, and every try to hand it over. In the vault, beside the checkpoint up to
 * which the log has been turned into rows. Adapters: `adapters/webhook-deliveries/{in-memory,postgres}`.
 */

/** `pending`: owed, the next try stands in `dueAt`. `failed`: all tries are used up. */
export type WebhookDeliveryState = 'pending' | 'delivered' | 'failed';

/** One event owed to one endpoint. It holds no personal data: addresses and texts are added when it is posted. */
export interface OwedDelivery {
  readonly id: string;
  readonly webhookId: string;
  readonly event: CustomerEvent;
  /** The replay that it is part of; absent: none. */
  readonly replayId?: string;
}

/** Events that the same endpoints of one organization are owed, whose deliveries are not made yet. */
export interface OwedEvents {
  readonly organizationId: string;
  readonly events: readonly CustomerEvent[];
  readonly webhookIds: readonly string[];
}

export interface StoredOwedEvents extends OwedEvents {
  readonly number: string;
  /** Deliveries that were made already: of the first event to each endpoint, then of the second. */
  readonly made: number;
}

/** Deliveries that one page with filters looks through. Higher: slower pages. Lower: more of them are empty. */
export const SCANNED_MAX = 5_000;

/** The same event is owed to the same endpoint once, and once more by each replay: the id follows from them. */
export const deliveryId = (webhookId: string, eventId: string, replayId?: string): string =>
  formatId('dlv', sha256([webhookId, eventId, ...(replayId === undefined ? [] : [replayId])].join('\0')));

/** A place in the feed of an organization: after this event. */
export interface ReplayPlace {
  readonly position: Position;
  readonly index: number;
}

/** Events of the past that one endpoint gets again. */
export interface WebhookReplay {
  readonly id: string;
  readonly webhookId: string;
  readonly state: 'running' | 'completed' | 'cancelled';
  /** Of the events; null: from the place where it began. */
  readonly since: Date | null;
  readonly until: Date;
  /** Events up to here were looked through. */
  readonly place: ReplayPlace;
  /** The log ended here when it was asked for. */
  readonly upTo: Position;
  readonly createdAt: Date;
  /** null: it runs. */
  readonly endedAt: Date | null;
}

/** How many of its deliveries are in each state. */
export type ReplayCounts = Readonly<Record<WebhookDeliveryState, number>>;
export type CountedReplay = WebhookReplay & { readonly counts: ReplayCounts };

export interface ReplayPage<Replay> {
  readonly replays: readonly Replay[];
  /** Pass as `after` for the next page; null: there is none. */
  readonly next: string | null;
}

export interface ClaimedDelivery extends OwedDelivery {
  /** Tries made before this claim. */
  readonly attempts: number;
}

/** What was posted, without what is secret. */
export interface PostedRequest {
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
  /** HTTP status; null where none came. */
  readonly status: number | null;
  readonly durationMs: number;
  /** First 1 kB of the answer, or why there was none. */
  readonly text: string;
}

/** What a try came to. */
export interface FinishedTry extends WebhookTry {
  readonly deliveryId: string;
  /** 1 for the first. */
  readonly attempt: number;
  readonly state: WebhookDeliveryState;
  /** When to try again; only counts while `pending`. */
  readonly dueAt: Date;
}

export interface WebhookDelivery extends OwedDelivery {
  readonly state: WebhookDeliveryState;
  /** Next try; null once it has ended. */
  readonly dueAt: Date | null;
  readonly createdAt: Date;
  /** Oldest first. */
  readonly tries: readonly WebhookTry[];
}

export interface WebhookDeliveryPage {
  readonly deliveries: readonly WebhookDelivery[];
  /** Pass as `after` for the next page; null: there is none. */
  readonly next: string | null;
}

/** How far the log has been turned into owed deliveries, and which log. */
export interface RecordingCheckpoint {
  readonly logId: string;
  readonly position: Position;
}

export interface WebhookDeliveries {
  /** null: nothing was ever recorded. */
  checkpoint(): Promise<RecordingCheckpoint | null>;

  /**
   * Stores what the log between two positions owes, and moves the checkpoint, in one transaction.
   * @param recording `from` is the checkpoint as this recorder knows it; null: there is none yet.
   * @returns false, and nothing is stored, when somebody else has moved it meanwhile.
   */
  record(recording: {
    readonly logId: string;
    readonly from: Position | null;
    readonly to: Position;
    readonly owed: readonly OwedDelivery[];
    /** Their deliveries are made by `distribute`. Default: none. */
    readonly owedLater?: readonly OwedEvents[];
    readonly now: Date;
  }): Promise<boolean>;

  /**
   * The oldest events of one organization whose deliveries are not made yet; null: all are made. Organizations take turns.
   * @param after id of the organization that had the turn before; '' begins with the first.
   */
  owedEvents(after: string): Promise<StoredOwedEvents | null>;

  /**
   * Stores the next deliveries of owed events, in one transaction. Nothing is stored if another process has done so.
   * @param distribution `isLast`: all of them are made then, and the events are dropped.
   */
  distribute(distribution: {
    readonly of: Pick<StoredOwedEvents, 'number' | 'made'>;
    readonly owed: readonly OwedDelivery[];
    readonly isLast: boolean;
    readonly now: Date;
  }): Promise<void>;

  /**
   * Takes due deliveries, oldest first and at most `limit` of each endpoint: nobody else gets them until `leaseUntil`,
   * when they are due again.
   */
  claim(
    wanted: readonly { readonly webhookId: string; readonly limit: number }[],
    times: { readonly now: Date; readonly leaseUntil: Date },
  ): Promise<readonly ClaimedDelivery[]>;

  /** Makes claimed deliveries due now: they were not tried. */
  release(ids: readonly string[], now: Date): Promise<void>;

  /** Stores what tries came to, all in one write. */
  finish(tries: readonly FinishedTry[]): Promise<void>;

  /**
   * When each of these endpoints failed for the first time since it last took something; those that never failed, or took
   * something later, are left out. Told by the tries in the order in which they were stored; of those stored in one
   * write, one that succeeded outweighs the others.
   */
  failingSince(webhookIds: readonly string[]): Promise<ReadonlyMap<string, Date>>;

  /** Deliveries among these ids, newest first and at most `limit`; ids that there are none of are passed over. */
  find(options: { readonly ids: readonly string[]; readonly limit: number }): Promise<readonly WebhookDelivery[]>;

  /**
   * Deliveries of one endpoint, newest first. Filters look through a bounded number of them, so that a page may be empty
   * although there is a `next`.
   * @param after `next` of the page before.
   */
  list(options: {
    readonly webhookId: string;
    readonly limit: number;
    readonly after?: string;
    readonly state?: WebhookDeliveryState | undefined;
    /** Of the event. */
    readonly type?: string | undefined;
  }): Promise<WebhookDeliveryPage>;

  /** @returns false: another replay of the endpoint runs. */
  startReplay(replay: Omit<WebhookReplay, 'state' | 'endedAt'>): Promise<boolean>;
  findReplay(id: string): Promise<CountedReplay | null>;
  /** Those of an endpoint, newest first. */
  listReplays(options: {
    readonly webhookId: string;
    readonly limit: number;
    readonly after?: string;
  }): Promise<ReplayPage<CountedReplay>>;
  /** Those that run, oldest first. */
  runningReplays(options: {
    readonly limit: number;
    readonly after: string | null;
  }): Promise<ReplayPage<WebhookReplay>>;
  /**
   * Stores what the events between two places owe, and moves the place, in one transaction.
   * @returns false, and nothing is stored, when somebody else has moved or ended it meanwhile.
   */
  advanceReplay(advance: {
    readonly replay: Pick<WebhookReplay, 'id' | 'place'>;
    readonly to: ReplayPlace;
    readonly owed: readonly OwedDelivery[];
    /** It is completed. */
    readonly isLast: boolean;
    readonly now: Date;
  }): Promise<boolean>;
  /** Ends a replay that runs, and drops those of its deliveries that were not tried. */
  cancelReplay(id: string, now: Date): Promise<void>;
  /** How many deliveries of an endpoint are pending, counted up to `limit`. */
  pendingOf(webhookId: string, limit: number): Promise<number>;

  /** Makes a delivery due now, whether it has ended or not; its tries are numbered on. */
  resend(id: string, now: Date): Promise<void>;
}
