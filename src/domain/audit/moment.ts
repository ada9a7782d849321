import type { RecordedEvent } from '../kernel/event-store.ts';
import { treeOf } from './leaf.ts';

const LEAF = /^leaf:(0|[1-9]\d{0,14})$/;

/** Parses `leaf:<n>`; null if the text is not of this form. */
export const leafIn = (text: string): number | null => {
  const leaf = LEAF.exec(text)?.[1];
  return leaf === undefined ? null : Number(leaf);
};

/**
 * The end of the part of a log that is read: a time (ISO 8601), or a leaf of an organization's tree, inclusive. With an
 * organization, only its events are read; with null, those of all.
 */
export type Moment =
  | { readonly organizationId: string | null; readonly time: string; readonly leaf?: never }
  | { readonly organizationId: string; readonly leaf: number; readonly time?: never };

/** Decides for each event, in log order, whether it existed at a moment. */
export interface LogCut {
  holds(event: RecordedEvent): boolean;
  /** Whether all later events are excluded. */
  isOver(): boolean;
}

/**
 * A time cuts each organization's log separately, before its first event that is later. Everything after that event is
 * excluded too. The same time therefore always selects the same events, whatever the clocks of processes were, and as
 * many leaves of each audit tree as `?at=` sees. Organizations share no moment: if the clock of one ran ahead, its log
 * is cut earlier and the others are unaffected.
 */
export const cutAt = ({ organizationId, time, leaf = 0 }: Moment): LogCut => {
  /** Trees that have reached their cut. */
  const ended = new Set<string>();
  let leaves = 0;
  const ends = ({ metadata }: RecordedEvent): boolean =>
    time === undefined ? leaves > leaf : metadata.occurredAt > time;
  return {
    holds: (event) => {
      const tree = treeOf(event);
      if ((organizationId !== null && tree !== organizationId) || ended.has(tree)) return false;
      if (ends(event)) {
        ended.add(tree);
        return false;
      }
      leaves += 1;
      return true;
    },
    isOver: () => (organizationId !== null && ended.has(organizationId)) || (time === undefined && leaves > leaf),
  };
};
