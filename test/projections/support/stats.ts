import type { QueryStats } from '../../../src/projections/stats/queries.ts';
import { messageAccepted } from '../../support/controls/message.ts';

export const AT = '2026-11-20T10:07:00.000Z';

/** A query for the day of `AT`. */
export const DAY: QueryStats = {
  organizationId: 'org_mine',
  environment: 'live',
  from: '2026-11-20T00:00:00.000Z',
  to: '2026-11-21T00:00:00.000Z',
  granularity: 'day',
  timezone: 'UTC',
  attribution: 'cohort',
  groupBy: [],
  comparesPrevious: false,
  where: {},
};

/** The acceptance of a message, with its stream. */
export const send = (id: string, data: Parameters<typeof messageAccepted>[0] = {}) =>
  [`message-${id}`, [messageAccepted({ messageId: id, ...data })]] as const;
