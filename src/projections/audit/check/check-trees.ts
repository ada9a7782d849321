import { treeOf } from '../../../domain/audit/leaf.ts';
import { MalformedEvent, UnknownEvent } from '../../../domain/kernel/codec.ts';
import { foreignEvents } from '../../../domain/kernel/event-macs.ts';
import {
  type EventStore,
  EventsDetached,
  LOG_START,
  type Page,
  type Position,
  type RecordedEvent,
} from '../../../domain/kernel/event-store.ts';
import type { Contents } from '../../../domain/ports/contents.ts';
import type { RequestOrigins } from '../../../domain/ports/requests.ts';
import { pause, StoreUnavailable, type System } from '../../../lib/async/async.ts';
import type { Database } from '../../../lib/projections/projections.ts';
import type { Policy } from '../../../lib/transparency/transparency.ts';
import { auditProjection, type Tree } from '../projection.ts';
import { TILE_WIDTH } from '../tiles.ts';
import { isCosigned, isSigned } from '../tree.ts';
import { type AgreedTree, agreedTree, type Begin, type ChooseBegin, chooseBegin, noteEnd } from './agreed.ts';
import { type AnchorWatch, type KeptCheckpoint, treeOfOrigin, watchAnchors } from './anchors.ts';
import {
  type ContentComparison,
  createContentComparison,
  createOriginComparison,
  type OriginComparison,
} from './compare-contents.ts';
import { createTreeComparison, type TreeComparison } from './compare-tree.ts';
import { type Finding, reportOf } from './findings.ts';
import { createLogTree, type LogTree, positionNow, type TreesAt, treesAt } from './rows.ts';

/**
 * Reads the log from its start, or from where the last check ended, and compares it with the rows of the audit trees, up to the position that the projection
 * has read to when the check begins: what is behind it is late and no fault. Signed checkpoints, cosignatures, contents
 * and clients are compared up to the end of the log. Memory grows with the number of trees alone.
 */
export interface CheckTrees extends Pick<ChooseBegin, 'notes' | 'fullAfterMs'> {
  readonly db: Database;
  readonly store: Pick<
    EventStore,
    'isAuthentic' | 'seals' | 'compareColumns' | 'logId' | 'head' | 'readAll' | 'readStream'
  >;
  readonly contents: Pick<Contents, 'get'>;
  readonly origins: Pick<RequestOrigins, 'partOf'>;
  /** Witnesses whose cosignatures are verified, and how many of them vouch for a checkpoint. */
  readonly policy: Policy;
  /** Checkpoints that were kept outside the service. Default: none. */
  readonly kept?: readonly KeptCheckpoint[];
  readonly system: Pick<System, 'now' | 'monotonicMs' | 'sleep'>;
  /** Only this one is compared. Absent: all. */
  readonly tree?: string | undefined;
  /** Rest after each page, in times of what it took: the service goes first. */
  readonly restShare: number;
  readonly signal: AbortSignal;
}

export interface TreeCheckResult extends ContentComparison, OriginComparison {
  /**
   * `no fault`: the log agrees with an anchor outside the service. `consistent`: it agrees with itself, but there was nothing
   * outside to compare it with, so an intruder with the database and `SECRET_KEY` may have rewritten it. `undecided`: `doubts`
   * say why.
   */
  readonly verdict: 'no fault' | 'consistent' | 'faults' | 'undecided';
  readonly anchored: {
    /** Leaves that an anchor covers. */
    readonly leaves: number;
    /** Trees that have an anchor. */
    readonly trees: number;
    /** Witnesses and files of the anchors. */
    readonly by: readonly string[];
  };
  /** The first ones, a sentence each. */
  readonly faults: readonly string[];
  /** All that were found. */
  readonly faultCount: number;
  /** True if events of the log were changed, and not only tables that are made from it. */
  readonly isLogChanged: boolean;
  readonly doubts: readonly string[];
  /** The check that this one began after, and the leaves that it covered; null: everything was read. */
  readonly since: { readonly at: string; readonly leaves: number } | null;
  readonly trees: number;
  /** All, also those before. */
  readonly leaves: number;
  readonly checkpoints: number;
  readonly cosignatures: number;
  /** Trees that a witness contradicts. They are no longer signed. */
  readonly disputed: readonly string[];
}

/** A page holds the event loop for some 10 ms. Larger delays requests, smaller costs queries. */
const PAGE_EVENTS_MAX = 500;
const PAGE_BYTES_MAX = 4_000_000;
/** Findings before those that follow from others are left out. More take memory, fewer may be about one change alone. */
const FINDINGS_MAX = 5_000;
/** Sentences that are shown. More fill a log. */
const FAULTS_KEPT_MAX = 100;

interface TreeToCompare {
  readonly log: LogTree;
  readonly anchors: AnchorWatch;
  readonly comparison: TreeComparison;
}

/** Why nothing can be compared; null: it can. */
const doubtOf = async ({ store }: CheckTrees, at: TreesAt | null): Promise<string | null> => {
  if (at === null) return 'the audit trees do not exist yet: start a process with the role projections';
  if (at.version !== auditProjection.version) return 'the audit trees have an older version: they are being rebuilt';
  return at.logId === (await store.logId()) ? null : 'the audit trees were built from another log';
};

/** @returns null: the next event cannot be read, which is said to `onFault`. */
const nextPage = async (
  { store }: CheckTrees,
  after: Position,
  { to, last, onFault }: { readonly to: Position; readonly last: string; readonly onFault: OnFault },
): Promise<Page | null> => {
  try {
    return await store.readAll({ from: after, to, limit: PAGE_EVENTS_MAX, bytesMax: PAGE_BYTES_MAX });
  } catch (error) {
    if (!(error instanceof MalformedEvent)) throw error;
  }
  try {
    return await store.readAll({ from: after, to, limit: 1 });
  } catch (error) {
    if (!(error instanceof MalformedEvent)) throw error;
    const reason = error.message.split('\n')[0];
    onFault({
      kind: 'other',
      sentence: `the check ended after event ${last}, because the next entry of the log is not a valid event: ${reason}. The database was changed from outside the service`,
    });
    return null;
  }
};

type OnFault = (finding: Finding) => void;

const other = (sentence: string): Finding => ({ kind: 'other', sentence });

interface Begun extends Begin {
  readonly at: TreesAt;
}

/** All trees, as far as the log was read. */
const createComparison = (options: CheckTrees, { at, resumed }: Begun, onFault: OnFault) => {
  const { db, store, policy, kept = [], signal, tree: only } = options;
  const all = new Map<string, TreeToCompare>();
  const onOther = (sentence: string): void => onFault(other(sentence));
  const contents = createContentComparison({ contents: options.contents, store, signal, onFault: onOther });
  const origins = createOriginComparison({
    origins: options.origins,
    system: options.system,
    signal,
    onFault: onOther,
  });
  const leavesBefore = resumed?.agreed.trees.reduce((sum, { size }) => sum + size, 0) ?? 0;
  const counts = { leaves: leavesBefore, checkpoints: 0, cosignatures: 0 };
  /** Contradictions of witnesses since the log was last reopened, by tree. */
  const disputes = new Map<string, { readonly witness: string; readonly cosignedSize: number }>();
  let isEnded = false;
  /** The trees at the position that the projection has read to. */
  let ended: readonly AgreedTree[] = [];
  /** Foreign events so far that are not adopted: the first ones of them, and how many more. */
  let foreign: { first: readonly Finding[]; more: number } = { first: [], more: 0 };

  const noteForeign = (events: readonly RecordedEvent[], leaves: ReadonlyMap<RecordedEvent, number>): void => {
    const { adoptsEarlier, events: found } = foreignEvents(events, store.isAuthentic);
    if (adoptsEarlier) foreign = { first: [], more: 0 };
    const findings = found
      .filter(isAsked)
      .map((event): Finding => ({ kind: 'foreign', tree: treeOf(event), leaf: leaves.get(event) ?? 0, event }));
    const first = [...foreign.first, ...findings];
    const more = foreign.more + Math.max(0, first.length - FAULTS_KEPT_MAX);
    foreign = { first: first.slice(0, FAULTS_KEPT_MAX), more };
  };

  const begin = (log: LogTree, since?: AgreedTree): TreeToCompare => {
    const anchors = watchAnchors(log, { policy, kept, since: since?.anchors });
    const comparison = createTreeComparison(log, { db, store, policy, anchors, since: since?.counted, onFault });
    const created = { log, anchors, comparison };
    all.set(log.tree, created);
    return created;
  };

  const comparedOf = (tree: string): TreeToCompare => all.get(tree) ?? begin(createLogTree(tree));

  for (const each of resumed?.agreed.trees ?? []) {
    const log = resumed?.logs.get(each.tree);
    if (log !== undefined) begin(log, each);
  }

  const isAsked = (event: RecordedEvent): boolean => only === undefined || treeOf(event) === only;
  const isUnknown = ({ tree }: Tree): boolean => !all.has(tree) && (only === undefined || tree === only);

  /** Compares what the projection has read. */
  const end = async (): Promise<void> => {
    if (isEnded) return;
    isEnded = true;
    for (const [tree, { comparison }] of all) await comparison.end(at.trees.get(tree));
    [...at.trees.values()].filter(isUnknown).map(({ tree, size }) =>
      onFault({
        kind: 'table',
        sentence: `${tree}: audit_trees has a row with ${size} leaves, but the log has no events of this tree`,
      }),
    );
    ended = [...all.values()].map(({ log, comparison, anchors }) =>
      agreedTree(log, { counted: comparison.counted(), anchors: anchors.state() }),
    );
  };

  const closeBundle = async ({ log, comparison }: TreeToCompare, isRead: boolean): Promise<void> => {
    if (isRead) await comparison.bundle();
    else log.closeBundle();
  };

  const compareSigned = async (comparison: TreeComparison, event: RecordedEvent, isRead: boolean): Promise<void> => {
    if (isSigned(event)) {
      counts.checkpoints += 1;
      await comparison.checkpoint(event, isRead);
    } else if (isCosigned(event)) {
      counts.cosignatures += event.data.lines.length;
      await comparison.cosignatures(event, isRead);
    } else if (event.type === 'AuditDisputed') disputes.set(treeOf(event), event.data);
    else if (event.type === 'AuditReopened') disputes.delete(treeOf(event));
  };

  /** Compares the log with what is kept outside the service. */
  const compareOutside = (): void => {
    for (const { anchors, log } of all.values())
      for (const sentence of anchors.compareKept(log))
        onFault({ kind: 'follows', tree: log.tree, ofTable: false, sentence });
    for (const [tree, { witness, cosignedSize }] of disputes)
      onFault({
        kind: 'other',
        sentence:
          `${tree}: the witness ${witness} has cosigned ${cosignedSize} leaves of a different history: the log was rewritten or ` +
          'restored from a backup. Keep this log and its backups as they are until you know which',
      });
  };

  const add = async (event: RecordedEvent): Promise<void> => {
    const isRead = event.position <= at.position;
    if (!isRead) await end();
    const compared = comparedOf(treeOf(event));
    await compareSigned(compared.comparison, event, isRead);
    compared.log.add(event);
    compared.anchors.add(event, compared.log);
    counts.leaves += Number(isRead);
    if (compared.log.pending.length === TILE_WIDTH) await closeBundle(compared, isRead);
  };

  const anchored = () => {
    // Checkpoints of leaves that the projection had not read when the check began are verified, but these leaves are not compared.
    const own = [...all]
      .map(([tree, { anchors }]) => ({ ...anchors.anchored(), read: at.trees.get(tree)?.size ?? 0 }))
      .map(({ size, by, read }) => ({ size: Math.min(size, read), by }))
      .filter(({ size }) => size > 0);
    const by = [...new Set(own.flatMap((one) => [...one.by]))].sort();
    return { trees: own.length, leaves: own.reduce((sum, { size }) => sum + size, 0), by };
  };

  return {
    end,
    compareOutside,
    foreign: () => foreign,
    ended: () => ended,
    doubts: () => [
      ...[...all].flatMap(([tree, { anchors }]) => anchors.doubts(options.system.now(), disputes.has(tree))),
      ...kept
        .filter(({ origin }) => only === undefined && !all.has(treeOfOrigin(origin) ?? ''))
        .map(({ name, origin }) => `${name}: the log has no events of ${origin}`),
    ],
    addAll: async (events: readonly RecordedEvent[]): Promise<void> => {
      const asked = events.filter(isAsked);
      const leaves = new Map<RecordedEvent, number>();
      for (const event of asked) {
        await add(event);
        leaves.set(event, comparedOf(treeOf(event)).log.size - 1);
      }
      noteForeign(events, leaves);
      await contents.compare(asked);
      await origins.compare(asked);
    },
    counts: () => ({
      since: resumed === null ? null : { at: resumed.agreed.at, leaves: leavesBefore },
      trees: all.size,
      ...counts,
      ...contents.counts(),
      ...origins.counts(),
      anchored: anchored(),
      disputed: [...disputes.keys()],
    }),
  };
};

const positionOf = ({ resumed }: Begin): Position => (resumed?.agreed.position ?? LOG_START) as Position;

const compareAll = async (options: CheckTrees, begun: Begun, onFault: OnFault) => {
  const { system, store, restShare, signal } = options;
  const comparison = createComparison(options, begun, onFault);
  const to = await store.head();
  const from = positionOf(begun);
  let last = 'the start';
  for (let position = from; position < to; ) {
    signal.throwIfAborted();
    const begunMs = system.monotonicMs();
    const page = await nextPage(options, position, { to, last, onFault });
    // Rows after an unreadable event cannot be compared.
    if (page === null) return comparison;
    await comparison.addAll(page.events);
    if (page.position <= position) throw new StoreUnavailable('the log cannot be read up to its end');
    last = page.events.at(-1)?.id ?? last;
    position = page.position;
    await pause(system, (system.monotonicMs() - begunMs) * restShare, signal);
  }
  await comparison.end();
  for (const difference of (await store.compareColumns?.({ after: from, to })) ?? [])
    onFault({ kind: 'columns', ...difference });
  comparison.compareOutside();
  return comparison;
};

const NOTHING = {
  since: null,
  trees: 0,
  leaves: 0,
  checkpoints: 0,
  cosignatures: 0,
  contents: 0,
  replies: 0,
  withoutHashes: 0,
  clients: 0,
  anchored: { trees: 0, leaves: 0, by: [] },
  disputed: [],
};

const undecided = (doubt: string): TreeCheckResult => ({
  verdict: 'undecided',
  faults: [],
  faultCount: 0,
  isLogChanged: false,
  doubts: [doubt],
  ...NOTHING,
});

/** Commits of projections do not wait for the disk: a crash takes the last ones back. */
const isSetBack = async (db: Database, { position, version }: TreesAt): Promise<boolean> => {
  const now = await positionNow(db);
  return now === null || now.position < position || now.version !== version;
};

const verdictOf = (
  faults: number,
  doubts: readonly string[],
  anchored: TreeCheckResult['anchored'],
): TreeCheckResult['verdict'] => {
  if (faults > 0) return 'faults';
  if (doubts.length > 0) return 'undecided';
  return anchored.trees === 0 ? 'consistent' : 'no fault';
};

const compared = async (options: CheckTrees, at: TreesAt): Promise<TreeCheckResult> => {
  const begunAt = options.system.now();
  const begin = await chooseBegin(options, at);
  const findings = begin.fault === null ? [] : [other(begin.fault)];
  let more = 0;
  const comparison = await compareAll(options, { ...begin, at }, (finding) => {
    if (findings.length < FINDINGS_MAX) findings.push(finding);
    else more += 1;
  });
  if (await isSetBack(options.db, at)) return undecided('the audit trees were reset during the check: run it again');
  const foreign = comparison.foreign();
  // The changes that explain it are said instead.
  if (begin.contradiction !== null && findings.length + foreign.first.length === 0)
    findings.push(other(begin.contradiction));
  const { sentences, isLogChanged } = reportOf([...findings, ...foreign.first]);
  const faultCount = sentences.length + more + foreign.more;
  const faults = sentences.slice(0, FAULTS_KEPT_MAX);
  const counts = comparison.counts();
  const doubts = comparison.doubts();
  const verdict = verdictOf(faultCount, doubts, counts.anchored);
  await noteEnd(options, at, { begunAt, begin, verdict, trees: comparison.ended() });
  return { verdict, faults, faultCount, isLogChanged, doubts, ...counts };
};

/** @throws {StoreUnavailable} and other temporary faults. */
export const checkTrees = async (options: CheckTrees): Promise<TreeCheckResult> => {
  const at = await treesAt(options.db);
  const doubt = await doubtOf(options, at);
  if (at === null || doubt !== null) return undecided(doubt ?? '');
  try {
    return await compared(options, at);
  } catch (error) {
    if (error instanceof EventsDetached || error instanceof UnknownEvent) return undecided(error.message);
    throw error;
  }
};
