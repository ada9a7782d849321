import type { BadDays, ServerStyle } from './bad-days.ts';
import type { Toll } from './costs.ts';
import type { StoredLog } from './stored-log.ts';

/** State shared by the handlers of the double. */
export interface ServerState {
  readonly log: StoredLog;
  readonly badDays: BadDays;
  readonly style: ServerStyle;
  readonly toll: Toll;
  cutConnections(): void;
  /** Whether this node of a cluster accepts appends. Absent: it always does. */
  isLeader?(): boolean;
}
