import type { RecordedEvent } from '../ports/event-store.ts';
import { treeOf } from './leaf.ts';

const LEAF = /^leaf:(0|[1-9]\d{0,14})$/;

/** The leaf that `leaf:<n>` names; null: the text names none. */
export const leafIn = (text: string): number | null => {
  const leaf = LEAF.exec(text)?.[1];
  return leaf === undefined ? null : Number(leaf);
};

/**
 * Until when a log is read: a time (ISO 8601), or up to and with a leaf of an organization's tree. With an organization,
 * only its events; null: those of all.
 */
export type Moment =
  | { readonly organizationId: string | null; readonly time: string; readonly leaf?: never }
  | { readonly organizationId: string; readonly leaf: number; readonly time?: never };

/** Decides of each event of the log, asked for in its order, whether it was there at a moment. */
export interface LogCut {
  holds(event: RecordedEvent): boolean;
  /** Whether no later event can have been there. */
  isOver(): boolean;
}

/**
 * A time cuts the log of each organization by itself: before the first of its events that is later, or stands behind one
 * that is. The same time always gives the same events, whatever clocks said, and of each audit tree so many leaves as
 * `?at=` sees. Organizations share no moment: one whose clock ran ahead ends earlier and takes nothing from the others.
 */
export const cutAt = ({ organizationId, time, leaf = 0 }: Moment): LogCut => {
  /** Trees that have ended. */
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
